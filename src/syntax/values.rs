//! Values and queries: from a node of a rule file to the compiled form.
//!
//! [`CompileContext::sealed`] then wraps every part that depends on no item into a memo cell, so that a pass
//! evaluates it once.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, limits, source, suggest};
use crate::model::Value;
use crate::model::term::names;
use crate::text::functions;

use crate::terms::expr::{CalledFunction, Expr, ExprCall, ItemQuery, QuerySource, TableLookup, ValueChoice, ValueFold};
use crate::terms::names::is_reference;
use crate::terms::steps::StepPipe;
use crate::terms::{calc, names};

use super::conditions::PathMode;
use super::context::{CompileContext, ItemScope, TailQuery};
use super::selections;

/// The keys of each value form, its own key first; calls, queries and forms by name are read separately.
pub const FORMS: &[(&str, &[&str])] = &[
    ("lookup", &["in", "key", "get", "else"]),
    ("first", &[]),
    ("merge", &[]),
    ("if", &["then", "else"]),
    ("is", &[]),
    ("try", &[]),
    ("calc", &[]),
    ("=", &[]),
    ("read", &[]),
    ("none", &[]),
    ("table", &["column"]),
    ("value", &[]),
    ("fold", &["from", "give"]),
    ("script", &["args"]),
];

/// The keys of a query, beside those of a selection.
const QUERY: &[&str] = &["of", "get", "form", "steps", "append_to", "join", "trim", "count", "is", "depth"];

/// Whether a table is a value with steps: only `of` and `steps`, and in a condition a test of the result.
pub(super) fn is_pipe(table: &FieldMap) -> bool {
    table.contains_key("of") && table.contains_key("steps") && table.keys().all(|key| matches!(key.as_ref(), "of" | "steps" | "is"))
}

/// The functions of values: those of the library, and those that need a build.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    functions::FUNCTIONS.iter().map(|function| function.name).chain(["cost", "render", "template"])
}

impl CompileContext<'_> {
    /// A value.
    pub fn expr(&mut self, node: &DocumentNode) -> Expr {
        self.deeper();
        let expr = if self.depth > limits::EXPRESSION_NESTING {
            self.fail(
                Code::FileTooDeep,
                node.span,
                "values are nested too deeply",
                Some("split the value, or name a part of it as a fact".into()),
            );
            Expr::Const(Value::Null)
        } else {
            self.expr_at(node)
        };
        self.depth -= 1;
        expr
    }

    fn expr_at(&mut self, node: &DocumentNode) -> Expr {
        match &node.data {
            NodeValue::Text(text) => self.text(text, node),
            NodeValue::List(list) => {
                let list: Vec<Expr> = list.iter().map(|n| self.expr(n)).collect();
                match list.iter().map(constant).collect::<Option<Vec<_>>>() {
                    Some(values) => Expr::Const(Value::list(values)),
                    None => Expr::List(list.into()),
                }
            }
            NodeValue::Table(table) if names::is_form(table) => self.form_value(table, node),
            NodeValue::Table(table) => {
                self.check_nearly_form(table);
                let fields: Vec<(Arc<str>, Expr)> = table.iter().map(|(k, f)| (k.clone(), self.expr(&f.node))).collect();
                match fields.iter().map(|(k, e)| Some((k.clone(), constant(e)?))).collect::<Option<_>>() {
                    Some(map) => Expr::Const(Value::map(map)),
                    None => Expr::Table(fields.into()),
                }
            }
            _ => Expr::Const(Value::from(node)),
        }
    }

    /// Warns of a table that is nearly a value form: `{ frist = [a, b] }` is a table with the key `frist`.
    fn check_nearly_form(&mut self, table: &FieldMap) {
        let forms = FORMS.iter().copied().chain([("fn", &[][..]), ("of", QUERY), ("form", &[][..])]);
        for (key, field) in table {
            // the plural is a frequent word
            let near = |word: &str| word.len() > 2 && !(word == "script" && key.as_ref() == "scripts") && suggest::is_one_off(key, word);
            let others = |others: &[&str]| table.keys().all(|other| other == key || others.contains(&other.as_ref()));
            if let Some((word, _)) = forms.clone().find(|(word, beside)| near(word) && others(beside)) {
                let complaint = Diagnostic::new(Code::NameNearly, format!("this is a table with the key `{key}`, not `{{ {word} = … }}`"));
                self.warn(complaint.at(field.key).help(format!("write `{word}`; if a table is meant, choose a name that is less like it")));
            }
        }
    }

    /// A text: a literal, a reference, or a text with holes.
    fn text(&mut self, text: &Arc<str>, node: &DocumentNode) -> Expr {
        if let Some(rest) = text.strip_prefix("$$") {
            return Expr::text(&format!("${rest}"));
        }
        if is_reference(text) {
            return self.reference(text, node, 0);
        }
        let mut pieces = Vec::new();
        let (mut done, mut at) = (0, 0);
        while let Some(open) = text.get(at..).and_then(|t| t.find("{{")).map(|n| n + at) {
            let inner = text.get(open + 2..).unwrap_or("");
            let close = inner.find("}}");
            match close.and_then(|n| inner.get(..n)).filter(|w| is_reference(w)) {
                Some(word) => {
                    if open > done {
                        pieces.push(Expr::text(text.get(done..open).unwrap_or("")));
                    }
                    pieces.push(self.reference(word, node, open + 2));
                    done = open + 2 + word.len() + 2;
                    at = done;
                }
                None => {
                    let marked = inner.starts_with('$') || inner.starts_with('@');
                    if marked && close.is_none() {
                        let span = source::place_in_text(&self.pack.sources, node, open);
                        self.fail(Code::ReferenceBad, span, "`{{` of a reference is never closed", Some("close it with `}}`".into()));
                    }
                    at = open + 2;
                }
            }
        }
        if pieces.is_empty() {
            return Expr::Const(Value::Text(text.clone()));
        }
        if done < text.len() {
            pieces.push(Expr::text(text.get(done..).unwrap_or("")));
        }
        Expr::Text(pieces.into())
    }

    fn form_value(&mut self, table: &FieldMap, node: &DocumentNode) -> Expr {
        if table.contains_key("fn") {
            return self.call(table, node);
        }
        if is_pipe(table) {
            if let Some(is) = table.get("is") {
                let help = Some("take it out, or write the condition as `{ is = { of = …, steps = …, is = … } }`".into());
                self.fail(Code::SchemaUnknownKey, is.key, "`is` belongs to a condition, not to a value", help);
            }
            return self.pipe(table);
        }
        if table.contains_key("of") {
            return self.query(table).map_or(Expr::Const(Value::Null), |q| Expr::Query(Box::new(q)));
        }
        if let (Some(form), true) = (table.get("form"), table.len() == 1) {
            let name = form.node.as_text().unwrap_or("");
            return Expr::Form(self.row_number("form", name, form.node.span));
        }
        let Some((word, others)) = FORMS.iter().find(|(word, _)| table.contains_key(*word)) else { return Expr::Const(Value::Null) };
        for (key, field) in table {
            if key.as_ref() != *word && !others.contains(&key.as_ref()) {
                let help = self
                    .report
                    .words
                    .help(key, others.iter().copied())
                    .or_else(|| Some(format!("`{{ {word} = … }}` takes nothing else").into()));
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `{word}`"), help);
            }
        }
        let Some(own) = table.get(*word).map(|f| &f.node) else { return Expr::Const(Value::Null) };
        match *word {
            "lookup" => self.lookup(table, own, node),
            "first" => Expr::First(self.list_of(own, "first")),
            "merge" => Expr::Over(self.list_of(own, "merge")),
            "calc" => self.calc(own),
            "=" => self.expression(own),
            "if" => self.choice(table, own),
            // what fails must not fail earlier, in a memo cell that is filled before the value is needed
            "try" => Expr::Try(Box::new(self.in_branch(|cx| cx.expr(own)))),
            "is" => Expr::Is(Box::new(self.cond(own, PathMode::Scene))),
            "value" => self.value_named(own),
            "fold" => self.fold(table, own),
            "script" => match self.scripted(table, node.span, &[]) {
                Some(scripted) => Expr::Script(Box::new(scripted)),
                None => Expr::Const(Value::Null),
            },
            "table" => {
                let name = own.as_text().unwrap_or("").to_owned();
                let said = table.get("column").and_then(|f| Some((f.node.as_text()?, f.node.span)));
                let (cell, at) = said.unwrap_or(("value", own.span));
                if self.check_table(&name, own.span) {
                    self.check_column(&name, cell, at);
                }
                let depends = self.dependencies.table(&name);
                Expr::Cells(name.into(), cell.into(), depends)
            }
            "read" => Expr::Read(Box::new(self.expr(own))),
            _ => Expr::Const(Value::Null),
        }
    }

    /// `{ if = condition, then = value, else = value }`.
    fn choice(&mut self, table: &FieldMap, cond: &DocumentNode) -> Expr {
        let cond = self.cond(cond, PathMode::Scene);
        let Some(then) = table.get("then") else {
            let span = table.get("if").map(|f| f.key).unwrap_or_default();
            self.fail(
                Code::TermMissing,
                span,
                "`if` needs `then`: the value where it holds",
                Some("write `{ if = …, then = …, else = … }`".into()),
            );
            return Expr::Const(Value::Null);
        };
        let other = table.get("else").map(|f| &f.node);
        let (then, other) = self.in_branch(|cx| (cx.expr(&then.node), other.map_or(Expr::Const(Value::Null), |n| cx.expr(n))));
        Expr::If(Box::new(ValueChoice { cond, then, other }))
    }

    /// `{ fold = list, from = value, give = value }`.
    fn fold(&mut self, table: &FieldMap, of: &DocumentNode) -> Expr {
        let Some(give) = table.get("give") else {
            let span = table.get("fold").map(|f| f.key).unwrap_or_default();
            let help = "write `{ fold = list, from = value, give = value }`; in `give`, `@so_far` and `@element` are known";
            self.fail(Code::TermMissing, span, "`fold` needs `give`: the value after each element", Some(help.into()));
            return Expr::Const(Value::Null);
        };
        let of = self.expr(of);
        let from = table.get("from").map_or(Expr::Const(Value::Null), |f| self.expr(&f.node));
        // it may be evaluated never, and what fails in it must not fail earlier
        let give = self.in_branch(|cx| cx.within(ItemScope::Args(crate::terms::calc::names()), |cx| cx.expr(&give.node)));
        Expr::Fold(Box::new(ValueFold { of, from, give }))
    }

    /// `{ of = value, steps = […] }`.
    pub(super) fn pipe(&mut self, table: &FieldMap) -> Expr {
        let (Some(of), Some(steps)) = (table.get("of").map(|f| &f.node), table.get("steps").map(|f| &f.node)) else {
            return Expr::Const(Value::Null);
        };
        if let Some(list) = of.as_text().filter(|name| *name == "part" || self.list_number(name).is_some()) {
            let help = format!("for each item of the list write `{{ of = \"{list}\", get = \"@text\", steps = … }}`");
            self.fail(Code::TermType, of.span, format!("with `steps` alone `of` is a text, but `{list}` is a list"), Some(help.into()));
        }
        let of = self.expr(of);
        Expr::Pipe(Box::new(StepPipe { of, steps: self.steps(steps) }))
    }

    fn list_of(&mut self, node: &DocumentNode, word: &str) -> Box<[Expr]> {
        match node.as_list() {
            Some(list) => list.iter().map(|n| self.expr(n)).collect(),
            None => {
                self.fail(
                    Code::TermType,
                    node.span,
                    format!("`{word}` takes a list of values, not {}", node.kind()),
                    Some(format!("write `{word} = [a, b]`").into()),
                );
                Box::new([])
            }
        }
    }

    fn lookup(&mut self, table: &FieldMap, key: &DocumentNode, node: &DocumentNode) -> Expr {
        let Some(source) = table.get("in") else {
            self.fail(
                Code::TermMissing,
                node.span,
                "`lookup` needs `in`: where to look",
                Some("write `{ lookup = key, in = table }`".into()),
            );
            return Expr::Const(Value::Null);
        };
        let word = |k: &str| table.get(k).and_then(|f| f.node.as_text()).map(Arc::from);
        let (by, get) = (word("key").unwrap_or_else(|| "name".into()), word("get"));
        let default = table.get("else").map(|f| self.expr(&f.node));
        let (key, rows) = (self.expr(key), self.expr(&source.node));
        self.check_lookup(&rows, table);
        Expr::Lookup(Box::new(TableLookup { key, table: rows, by, get, default }))
    }

    /// A `calc` text.
    pub fn calc(&mut self, node: &DocumentNode) -> Expr {
        let Some(text) = node.as_text().map(str::to_owned) else {
            self.fail(
                Code::CalcBad,
                node.span,
                format!("`calc` takes a text, not {}", node.kind()),
                Some("write `{ calc = \"$a + 1\" }`".into()),
            );
            return Expr::Const(Value::Null);
        };
        let result = calc::parse(&text, &mut |word, offset| self.reference(word, node, offset));
        match result {
            Ok(c) => Expr::Calc(Box::new(c)),
            Err(e) => {
                let span = source::place_in_text(&self.pack.sources, node, e.offset);
                let help = "numbers, `$` and `@` references, + - * / ( ), comparisons, min max round floor ceil abs if(c, a, b)";
                self.fail(Code::CalcBad, span, e.message, Some(help.into()));
                Expr::Const(Value::Null)
            }
        }
    }

    fn call(&mut self, table: &FieldMap, node: &DocumentNode) -> Expr {
        let name = table.get("fn").and_then(|f| f.node.as_text()).unwrap_or("");
        let span = table.get("fn").map_or(node.span, |f| f.node.span);
        let function = match name {
            "cost" => CalledFunction::Cost,
            "render" => match self.language_of_call(table, span) {
                Some(language) => CalledFunction::Render(language),
                None => return Expr::Const(Value::Null),
            },
            "template" => {
                self.check_template(table);
                CalledFunction::Template
            }
            _ => match functions::FUNCTIONS.iter().position(|f| f.name == name) {
                Some(n) => CalledFunction::Text(n),
                None => {
                    self.unknown("function", name, span, function_names());
                    return Expr::Const(Value::Null);
                }
            },
        };
        if let Some(known) = function.arguments() {
            self.check_arguments(name, known, table, span);
        }
        let compiled = |key: &str| key == "fn" || (key == "lang" && matches!(function, CalledFunction::Render(_)));
        let args = table.iter().filter(|(k, _)| !compiled(k)).map(|(k, f)| (k.clone(), self.expr(&f.node))).collect();
        Expr::Fn(Box::new(ExprCall { function, args }))
    }

    /// Reports arguments that a function does not have, and those that it needs and does not get.
    fn check_arguments(&mut self, name: &str, known: &[(&str, bool)], table: &FieldMap, span: Span) {
        let names = known.iter().map(|(arg, _)| *arg);
        for (key, field) in table.iter().filter(|(key, _)| key.as_ref() != "fn") {
            if !names.clone().any(|arg| arg == key.as_ref()) {
                let help = self.report.words.help(key, names.clone());
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` is no argument of `{name}`"), help);
            }
        }
        let lacking: Vec<&str> = known.iter().filter(|(arg, must)| *must && !table.contains_key(*arg)).map(|(arg, _)| *arg).collect();
        if let [first, ..] = lacking.as_slice() {
            let help = Some(format!("add `{first} = …`; {}", self.report.words.help("", names).unwrap_or_default()).into());
            self.fail(Code::TermMissing, span, format!("`{name}` needs `{}`", lacking.join("`, `")), help);
        }
    }

    /// Warns of a word that is the same for every item, although the items have a field of this name.
    fn check_bare_field(&mut self, get: Option<&DocumentNode>) {
        let Some((name, span)) = get.and_then(|node| Some((node.as_text()?, node.span))) else { return };
        let is_field = self.is_column(name) || self.types().is_some_and(|types| self.names.knows_field(Some(&types), name));
        if !names::is_reference(name) && is_field {
            let complaint = Diagnostic::new(Code::NameNearly, format!("this gives the word `{name}` for each item, and not its field"));
            self.warn(complaint.at(span).help(format!("write `get = \"@{name}\"` for the field")));
        }
    }

    /// A query `{ of = … }`; `None` after a reported error.
    pub fn query(&mut self, table: &FieldMap) -> Option<ItemQuery> {
        let of = &table.get("of")?.node;
        let (source, scope) = self.source(of);
        for (key, field) in table {
            if !QUERY.contains(&key.as_ref()) && !names(selections::TERMS).any(|term| term == key.as_ref()) {
                let known: Vec<&str> = QUERY.iter().copied().chain(names(selections::TERMS)).collect();
                let help = self.report.words.help(key, known);
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to a query"), help);
            }
        }
        let before = std::mem::take(&mut self.reads_index);
        let select = self.select(table, scope.clone());
        let form = table.get("form").map(|f| self.row_number("form", f.node.as_text().unwrap_or(""), f.node.span));
        let after = table.get("append_to").map(|f| self.expr(&f.node));
        let join = table.get("join").map(|f| self.expr(&f.node));
        let (get, steps) = self.within(scope, |cx| {
            let get = table.get("get").map(|f| cx.expr(&f.node));
            cx.check_bare_field(table.get("get").map(|f| &f.node));
            (get, table.get("steps").map(|f| cx.steps(&f.node)).unwrap_or_default())
        });
        let index = self.reads_index;
        self.reads_index |= before;
        if let QuerySource::List(list) = source {
            // a query that counts from the newest end needs only that end of a long list
            if select.is_tail() && !select.refers(1) {
                self.tails.push(TailQuery { list, select: select.clone(), index });
            } else if !self.reads.contains(&list) {
                self.reads.push(list);
            }
        }
        if let (Some(count), Some(_)) = (table.get("count"), table.get("steps")) {
            self.fail(
                Code::TwoMeanings,
                count.key,
                "a query that counts has nothing that `steps` could change",
                Some("take one of them out".into()),
            );
        }
        let flag = |k: &str| table.get(k).is_some_and(|f| f.node.as_bool().unwrap_or(true));
        let trim = match table.get("trim").map(|f| f.node.as_text().unwrap_or("both")) {
            None => (false, false),
            Some("start") => (true, false),
            Some("end") => (false, true),
            Some(_) => (true, true),
        };
        let one = select.per.is_none() && matches!(table.get("take").map(|f| &f.node.data), Some(NodeValue::Int(1)));
        Some(ItemQuery { of: source, select, get, form, steps, after, join, trim, count: flag("count"), one, alone: self.memo.is_none() })
    }

    fn source(&mut self, of: &DocumentNode) -> (QuerySource, ItemScope) {
        match of.as_text() {
            Some("part") => (QuerySource::Part, self.scopes.last().cloned().unwrap_or(ItemScope::Open)),
            Some(name) if !is_reference(name) => {
                let id = self.list(name, of.span);
                (QuerySource::List(id), self.rows_of(id))
            }
            _ => {
                let expr = self.expr(of);
                let scope = match &expr {
                    Expr::Path(p) => match p.root {
                        crate::terms::expr::PathRoot::Scene { list: Some((id, used)) } if p.segs.len() == used => {
                            if !self.reads.contains(&id) && self.lists.get(id).is_some_and(|l| l.from.is_none()) {
                                self.reads.push(id);
                            }
                            self.rows_of(id)
                        }
                        _ => self.elements_of(&expr),
                    },
                    // whoever writes elements knows their fields
                    _ if of.as_list().is_some() => ItemScope::Any,
                    // everything inside a foreign document is foreign too
                    _ if matches!(self.scopes.last(), Some(ItemScope::Any)) => ItemScope::Any,
                    _ => self.elements_of(&expr),
                };
                (QuerySource::Value(expr), scope)
            }
        }
    }
}

fn constant(expr: &Expr) -> Option<Value> {
    if let Expr::Const(v) = expr { Some(v.clone()) } else { None }
}
