//! Values and queries: from a node of a rule file to the compiled form.
//!
//! [`CompileContext::sealed`] then wraps every part that looks at no item into a memo cell, so that a pass works it out once.

use std::sync::Arc;

use crate::diag::{Code, Data, Node, Table, inside, suggest};
use crate::model::Value;
use crate::text::functions;

use crate::terms::cond::Cond;
use crate::terms::expr::{Call, Expr, Function, Lookup, Query, Source};
use crate::terms::names::is_reference;
use crate::terms::select::Select;
use crate::terms::{calc, names};

use super::context::{CompileContext, Scope};

/// Values inside values deeper than this are refused.
const MAX_DEPTH: usize = 96;

/// The keys of each value form, its own key first.
const FORMS: &[(&str, &[&str])] = &[
    ("lookup", &["in", "by", "get", "else"]),
    ("first", &[]),
    ("over", &[]),
    ("calc", &[]),
    ("read", &[]),
    ("none", &[]),
    ("table", &["value"]),
];

/// The keys of a query, beside those of a selection.
const QUERY: &[&str] = &["of", "get", "form", "after", "join", "trim", "count", "is", "depth"];

impl CompileContext<'_> {
    /// A value.
    pub fn expr(&mut self, node: &Node) -> Expr {
        self.depth += 1;
        let expr = if self.depth > MAX_DEPTH {
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

    fn expr_at(&mut self, node: &Node) -> Expr {
        match &node.data {
            Data::Text(text) => self.text(text, node),
            Data::List(list) => {
                let list: Vec<Expr> = list.iter().map(|n| self.expr(n)).collect();
                match list.iter().map(constant).collect::<Option<Vec<_>>>() {
                    Some(values) => Expr::Const(Value::list(values)),
                    None => Expr::List(list.into()),
                }
            }
            Data::Table(table) if names::is_form(table) => self.form_value(table, node),
            Data::Table(table) => {
                let fields: Vec<(Arc<str>, Expr)> = table.iter().map(|(k, f)| (k.clone(), self.expr(&f.node))).collect();
                match fields.iter().map(|(k, e)| Some((k.clone(), constant(e)?))).collect::<Option<_>>() {
                    Some(map) => Expr::Const(Value::map(map)),
                    None => Expr::Table(fields.into()),
                }
            }
            _ => Expr::Const(Value::from(node)),
        }
    }

    /// A text: a literal, a reference, or a text with holes.
    fn text(&mut self, text: &Arc<str>, node: &Node) -> Expr {
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
                        let span = inside::place_in_text(&self.pack.sources, node, open);
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

    fn form_value(&mut self, table: &Table, node: &Node) -> Expr {
        if table.contains_key("fn") {
            return self.call(table, node);
        }
        if table.contains_key("of") {
            return self.query(table).map_or(Expr::Const(Value::Null), |q| Expr::Query(Box::new(q)));
        }
        if let (Some(form), true) = (table.get("form"), table.len() == 1) {
            let forms = self.forms.clone();
            let name = form.node.as_text().unwrap_or("");
            return Expr::Form(self.named("form", &forms, name, form.node.span));
        }
        let Some((word, others)) = FORMS.iter().find(|(word, _)| table.contains_key(*word)) else { return Expr::Const(Value::Null) };
        for (key, field) in table {
            if key.as_ref() != *word && !others.contains(&key.as_ref()) {
                let help = suggest::help(key, others.iter().copied()).or_else(|| Some(format!("`{{ {word} = … }}` takes nothing else")));
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `{word}`"), help);
            }
        }
        let Some(own) = table.get(*word).map(|f| &f.node) else { return Expr::Const(Value::Null) };
        match *word {
            "lookup" => self.lookup(table, own, node),
            "first" => Expr::First(self.list_of(own, "first")),
            "over" => Expr::Over(self.list_of(own, "over")),
            "calc" => self.calc(own),
            "table" => {
                let name = own.as_text().unwrap_or("").to_owned();
                if !self.pack.tables.contains_key(name.as_str()) {
                    let known: Vec<Arc<str>> = self.pack.tables.keys().cloned().collect();
                    self.unknown("table", &name, own.span, known.iter().map(AsRef::as_ref));
                }
                let cell = table.get("value").and_then(|f| f.node.as_text()).unwrap_or("value");
                let looks = self.dependencies.table(&name);
                Expr::Cells(name.into(), cell.into(), looks)
            }
            "read" => Expr::Read(Box::new(self.expr(own))),
            _ => Expr::Const(Value::Null),
        }
    }

    fn list_of(&mut self, node: &Node, word: &str) -> Box<[Expr]> {
        match node.as_list() {
            Some(list) => list.iter().map(|n| self.expr(n)).collect(),
            None => {
                self.fail(
                    Code::TermType,
                    node.span,
                    format!("`{word}` takes a list of values, not {}", node.kind()),
                    Some(format!("write `{word} = [a, b]`")),
                );
                Box::new([])
            }
        }
    }

    fn lookup(&mut self, table: &Table, key: &Node, node: &Node) -> Expr {
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
        let (by, get) = (word("by").unwrap_or_else(|| "name".into()), word("get"));
        let default = table.get("else").map(|f| self.expr(&f.node));
        Expr::Lookup(Box::new(Lookup { key: self.expr(key), table: self.expr(&source.node), by, get, default }))
    }

    /// A `calc` text.
    pub fn calc(&mut self, node: &Node) -> Expr {
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
                let span = inside::place_in_text(&self.pack.sources, node, e.offset);
                let help = "numbers, `$` and `@` references, + - * / ( ), comparisons, min max round floor ceil abs if(c, a, b)";
                self.fail(Code::CalcBad, span, e.message, Some(help.into()));
                Expr::Const(Value::Null)
            }
        }
    }

    fn call(&mut self, table: &Table, node: &Node) -> Expr {
        let name = table.get("fn").and_then(|f| f.node.as_text()).unwrap_or("");
        let span = table.get("fn").map_or(node.span, |f| f.node.span);
        let function = match name {
            "cost" => Function::Cost,
            "render" => match self.language_of_call(table, span) {
                Some(language) => Function::Render(language),
                None => return Expr::Const(Value::Null),
            },
            "template" => {
                self.check_template(table);
                Function::Template
            }
            _ => match functions::FUNCTIONS.iter().position(|f| f.name == name) {
                Some(n) => Function::Text(n),
                None => {
                    let known: Vec<&str> = functions::FUNCTIONS.iter().map(|f| f.name).chain(["cost", "render", "template"]).collect();
                    self.unknown("function", name, span, known);
                    return Expr::Const(Value::Null);
                }
            },
        };
        let compiled = |key: &str| key == "fn" || (key == "lang" && matches!(function, Function::Render(_)));
        let args = table.iter().filter(|(k, _)| !compiled(k)).map(|(k, f)| (k.clone(), self.expr(&f.node))).collect();
        Expr::Fn(Box::new(Call { function, args }))
    }

    /// A query `{ of = … }`; `None` after a complaint.
    pub fn query(&mut self, table: &Table) -> Option<Query> {
        let of = &table.get("of")?.node;
        let (source, scope) = self.source(of);
        for (key, field) in table {
            if !QUERY.contains(&key.as_ref()) && !super::selections::WORDS.contains(&key.as_ref()) {
                let known: Vec<&str> = QUERY.iter().chain(super::selections::WORDS).copied().collect();
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to a query"), suggest::help(key, known));
            }
        }
        let select = self.select(table, scope.clone());
        if let Source::List(id) = source {
            // a query that counts from the newest end needs no more of a long list than that end
            if select.is_tail() && !select.refers(1) {
                self.tails.push((id, select.clone()));
            } else if !self.reads.contains(&id) {
                self.reads.push(id);
            }
        }
        let forms = self.forms.clone();
        let form = table.get("form").map(|f| self.named("form", &forms, f.node.as_text().unwrap_or(""), f.node.span));
        let after = table.get("after").map(|f| self.expr(&f.node));
        let join = table.get("join").map(|f| self.expr(&f.node));
        let get = self.within(scope, |cx| table.get("get").map(|f| cx.expr(&f.node)));
        let flag = |k: &str| table.get(k).is_some_and(|f| f.node.as_bool().unwrap_or(true));
        let trim = match table.get("trim").map(|f| f.node.as_text().unwrap_or("both")) {
            None => (false, false),
            Some("start") => (true, false),
            Some("end") => (false, true),
            Some(_) => (true, true),
        };
        let one = select.per.is_none() && matches!(table.get("take").map(|f| &f.node.data), Some(Data::Int(1)));
        Some(Query { of: source, select, get, form, after, join, trim, count: flag("count"), one, alone: self.memo.is_none() })
    }

    fn source(&mut self, of: &Node) -> (Source, Scope) {
        match of.as_text() {
            Some("part") => (Source::Part, self.scopes.last().cloned().unwrap_or(Scope::Open)),
            Some(name) if !is_reference(name) => {
                let id = self.list(name, of.span);
                (Source::List(id), self.rows_of(id))
            }
            _ => {
                let expr = self.expr(of);
                let scope = match &expr {
                    Expr::Path(p) => match p.root {
                        crate::terms::expr::Root::Scene { list: Some((id, used)) } if p.segs.len() == used => {
                            if !self.reads.contains(&id) && self.lists.get(id).is_some_and(|l| l.from.is_none()) {
                                self.reads.push(id);
                            }
                            self.rows_of(id)
                        }
                        _ => Scope::Open,
                    },
                    // what lies inside a foreign document is foreign too
                    _ if matches!(self.scopes.last(), Some(Scope::Any)) => Scope::Any,
                    _ => Scope::Open,
                };
                (Source::Value(expr), scope)
            }
        }
    }

    /// Wraps what looks at no item into memo cells, as high up as possible.
    pub fn sealed(&mut self, expr: Expr) -> Expr {
        let trivial = matches!(expr, Expr::Const(_) | Expr::Field(_) | Expr::Form(_));
        if trivial {
            return expr;
        }
        if !expr.refers(0) && !expr.draws() {
            return self.remember(expr);
        }
        let mut each = |list: Box<[Expr]>| -> Box<[Expr]> { list.into_vec().into_iter().map(|e| self.sealed(e)).collect() };
        match expr {
            Expr::Text(l) => Expr::Text(each(l)),
            Expr::List(l) => Expr::List(each(l)),
            Expr::First(l) => Expr::First(each(l)),
            Expr::Over(l) => Expr::Over(each(l)),
            Expr::Table(t) => Expr::Table(t.into_vec().into_iter().map(|(k, e)| (k, self.sealed(e))).collect()),
            Expr::Lookup(l) => {
                let Lookup { key, table, by, get, default } = *l;
                // a table by name is answered from its index: a memo cell would only copy it
                let table = if matches!(table, Expr::Path(_)) { table } else { self.sealed(table) };
                let default = default.map(|e| self.sealed(e));
                Expr::Lookup(Box::new(Lookup { key: self.sealed(key), table, by, get, default }))
            }
            Expr::Fn(c) => {
                let Call { function, args } = *c;
                let args = args.into_vec().into_iter().map(|(k, e)| (k, self.sealed(e))).collect();
                Expr::Fn(Box::new(Call { function, args }))
            }
            Expr::Query(q) => Expr::Query(Box::new(self.sealed_query(*q))),
            other => other,
        }
    }

    /// The same for a query.
    pub fn sealed_query(&mut self, mut query: Query) -> Query {
        query.select = self.sealed_select(query.select);
        query.get = query.get.map(|e| self.sealed(e));
        query
    }

    /// The same for a selection.
    pub fn sealed_select(&mut self, mut select: Select) -> Select {
        select.filter = select.filter.map(|c| self.sealed_cond(c));
        select.since = select.since.map(|c| self.sealed_cond(c));
        select.run = select.run.map(|c| self.sealed_cond(c));
        for key in &mut select.by {
            if let crate::terms::keys::How::Ranks(e) = &mut key.how {
                let ranks = std::mem::replace(e, Expr::Const(Value::Null));
                *e = self.sealed(ranks);
            }
        }
        select
    }

    /// The same for a condition.
    pub fn sealed_cond(&mut self, cond: Cond) -> Cond {
        if matches!(cond, Cond::Const(_)) {
            return cond;
        }
        let draws = matches!(&cond, Cond::Query(q, _) if q.select.draw.is_some());
        if !cond.refers(0) && !draws {
            return self.remember_cond(cond);
        }
        match cond {
            Cond::All(l) => Cond::All(l.into_vec().into_iter().map(|c| self.sealed_cond(c)).collect()),
            Cond::Any(l) => Cond::Any(l.into_vec().into_iter().map(|c| self.sealed_cond(c)).collect()),
            Cond::Not(c) => Cond::Not(Box::new(self.sealed_cond(*c))),
            Cond::Test { subject, test, condition } => {
                Cond::Test { subject: self.sealed(subject), test: self.sealed_test(test), condition }
            }
            Cond::Query(q, test) => Cond::Query(Box::new(self.sealed_query(*q)), self.sealed_test(test)),
            other => other,
        }
    }

    fn sealed_test(&mut self, test: crate::terms::Test) -> crate::terms::Test {
        use crate::terms::Test;
        match test {
            Test::Eq(e) => Test::Eq(self.sealed(e)),
            Test::In(e) => Test::In(self.sealed(e)),
            Test::Cmp(c, e) => Test::Cmp(c, self.sealed(e)),
            Test::Contains(e) => Test::Contains(self.sealed(e)),
            Test::Meets(e) => Test::Meets(self.sealed(e)),
            Test::Starts(l) => Test::Starts(l.into_vec().into_iter().map(|e| self.sealed(e)).collect()),
            Test::Ne(l) => Test::Ne(l.into_vec().into_iter().map(|e| self.sealed(e)).collect()),
            Test::And(l) => Test::And(l.into_vec().into_iter().map(|t| self.sealed_test(t)).collect()),
            other => other,
        }
    }
}

fn constant(expr: &Expr) -> Option<Value> {
    if let Expr::Const(v) = expr { Some(v.clone()) } else { None }
}
