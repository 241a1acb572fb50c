//! Conditions: from `path = test` in a rule file to the compiled form.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, short, source, suggest};
use crate::text::pattern::Pattern;
use crate::text::script::{Script, ScriptPlace};

use crate::model::Value;
use crate::terms::cond::{Cond, CondComparison, CondTest};
use crate::terms::expr::Expr;
use crate::terms::expr::{ItemQuery, ScriptCall};
use crate::terms::expression::Operation;
use crate::terms::names::{self, ValueType};

use super::context::CompileContext;

/// The meaning of a bare path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMode {
    /// A path of the scene (`when`, `that`).
    Scene,
    /// A field of the item (`where`, `protect`, …).
    Item,
}

/// The words of tests.
pub const TESTS: &[&str] =
    &["ne", "gt", "ge", "lt", "le", "in", "contains", "meets", "starts", "matches", "exists", "nonempty", "given", "every", "between"];

impl CompileContext<'_> {
    /// A condition.
    pub fn cond(&mut self, node: &DocumentNode, mode: PathMode) -> Cond {
        match &node.data {
            NodeValue::Bool(b) => Cond::Const(*b),
            NodeValue::Table(table) => {
                self.deeper();
                let cond = if self.depth > 64 {
                    self.fail(Code::FileTooDeep, node.span, "conditions are nested too deeply", Some("name a part as a fact".into()));
                    Cond::Const(false)
                } else {
                    self.cond_table(table, node, mode)
                };
                self.depth -= 1;
                cond
            }
            _ => {
                let help = match node.as_text() {
                    Some(text) if names::is_reference(text) => format!("write `{{ \"{text}\" = true }}`"),
                    Some(text) if text.starts_with('=') => {
                        "write `version = 2` at the top of the file: expressions came with it".to_owned()
                    }
                    _ => "write `{ path = test }`, or `true` for always".to_owned(),
                };
                self.fail(Code::TermType, node.span, format!("a condition is a table, not {}", node.kind()), Some(help.into()));
                Cond::Const(false)
            }
        }
    }

    fn cond_table(&mut self, table: &FieldMap, node: &DocumentNode, mode: PathMode) -> Cond {
        if super::values::is_pipe(table) {
            let test = table.get("is").map_or(CondTest::Nonempty(true), |f| self.test(&f.node, None));
            return Cond::test(self.pipe(table), test, false);
        }
        if table.contains_key("of") {
            let is = table.get("is").map(|f| f.node.clone());
            let query = self.query(table);
            match (&is, &query) {
                (Some(is), Some(query)) => self.check_presence(is, query),
                (None, Some(query)) if query.count => {
                    let help = "write `is = { gt = 0 }`, or leave out `count`: a query without `is` holds if it finds something";
                    self.fail(Code::ConditionType, node.span, "a number is never empty, so that this always holds", Some(help.into()));
                }
                _ => {}
            }
            let test = is.map_or(CondTest::Nonempty(true), |n| self.test(&n, None));
            return query.map_or(Cond::Const(false), |q| Cond::Query(Box::new(q), test));
        }
        // a value that is true or false, and no test of a field `is`
        let is_tests = |tests: &FieldMap| tests.keys().all(|key| TESTS.contains(&key.as_ref()));
        if let (Some(field), 1) = (table.get("is").filter(|field| field.node.as_table().is_some_and(|inner| !is_tests(inner))), table.len())
        {
            return self.cond(&field.node, PathMode::Scene);
        }
        if let (Some(field), 1) = (table.get("="), table.len()) {
            // true or false, and nothing that only counts as one of them
            let truth = Operation::All(vec![self.expression(&field.node)]);
            return Cond::test(Expr::Operation(Box::new(truth)), CondTest::Is(true), false);
        }
        if names::is_script(table) {
            let scripted = self.scripted(table, node.span, &[]);
            return scripted.map_or(Cond::Const(false), |scripted| Cond::Script(Box::new(scripted)));
        }
        if table.contains_key("op") && table.contains_key("path") {
            return self.triple(table, node, mode);
        }
        if table.is_empty() {
            let help = "write `{ path = test }`, or `true` for a condition that always holds";
            self.fail(Code::ConditionType, node.span, "a condition needs at least one key", Some(help.into()));
        }
        let mut all = Vec::new();
        for (key, field) in table {
            all.push(self.cond_key(key, field.key, &field.node, mode));
        }
        if all.len() == 1 { all.pop().unwrap_or(Cond::Const(true)) } else { Cond::All(all.into()) }
    }

    /// Reports a test of presence for what a query gives, unless that is one item: a list, a number or a text is always
    /// present.
    fn check_presence(&mut self, is: &DocumentNode, query: &ItemQuery) {
        let Some(test) = ["exists", "given"].into_iter().find(|word| is.as_table().is_some_and(|tests| tests.contains_key(*word))) else {
            return;
        };
        let what = match query {
            _ if query.one => return,
            _ if query.count => "a number, of which 0 is one too",
            _ if query.join.is_some() => "a text, even an empty one",
            _ => "a list, even an empty one",
        };
        let help = "write `is = { nonempty = true }`, or `take = 1` to test one item";
        self.fail(Code::ConditionType, is.span, format!("`{test}` tests nothing here: `of` always gives {what}"), Some(help.into()));
    }

    fn cond_key(&mut self, key: &str, key_span: Span, node: &DocumentNode, mode: PathMode) -> Cond {
        let list = |cx: &mut Self| -> Box<[Cond]> {
            match node.as_list() {
                Some(l) => l.iter().map(|n| cx.cond(n, mode)).collect(),
                None => {
                    cx.fail(
                        Code::TermType,
                        node.span,
                        format!("`{key}` takes a list of conditions"),
                        Some(format!("write `{key} = [{{ … }}, {{ … }}]`").into()),
                    );
                    Box::new([])
                }
            }
        };
        match key {
            "all" => match list(self) {
                all if all.is_empty() => Cond::Const(true),
                all => Cond::All(all),
            },
            "any" => Cond::Any(list(self)),
            "not" => Cond::Not(Box::new(self.cond(node, mode))),
            "rhai" => self.rhai(node),
            // beside other tests
            "script" if self.is_function(node) => {
                let function = self.literal(node, "a function's name");
                self.function(&function, node.span, super::context::ITEM_AND_SCENE);
                Cond::Script(Box::new(ScriptCall { function, args: None, sets: None }))
            }
            "host" => Cond::Host(node.as_text().unwrap_or("").into()),
            "fact" => self.fact(node),
            _ => self.path_test(key, key_span, node, mode),
        }
    }

    fn rhai(&mut self, node: &DocumentNode) -> Cond {
        let source = node.as_text().unwrap_or("");
        match Script::compile_among(source, &mut self.script_bytes) {
            Ok(script) => {
                let place = self.pack.sources.place(source::place_in_text(&self.pack.sources, node, 0));
                let origin = place.map(|place| ScriptPlace { file: place.file, line: place.line, column: place.column });
                Cond::Rhai(Arc::new(script.within(self.rights_of(node.span)).written_at(origin)))
            }
            Err(e) => {
                let offset = offset_of(source, e.line, e.column);
                let span = source::place_in_text(&self.pack.sources, node, offset);
                self.fail(
                    Code::ScriptBad,
                    span,
                    format!("the script cannot be compiled: {}", e.message),
                    Some("see docs/reference/language/texts.md, scripts".into()),
                );
                Cond::Const(false)
            }
        }
    }

    fn subject(&mut self, key: &str, span: Span, mode: PathMode) -> (Expr, bool) {
        let node = DocumentNode { span, data: NodeValue::Text(key.into()) };
        let item = match (key.chars().next(), mode) {
            (Some('$'), _) => return (self.path(key.get(1..).unwrap_or(""), span, &node, 0), false),
            (Some('@'), _) => key.get(1..).unwrap_or(""),
            (_, PathMode::Item) => key,
            (_, PathMode::Scene) => return (self.path(key, span, &node, 0), false),
        };
        let condition = !item.contains('.') && self.names.field_type(self.types().as_deref(), item) == Some(ValueType::Condition);
        (self.field(item, span, &node, 0), condition)
    }

    fn path_test(&mut self, key: &str, key_span: Span, node: &DocumentNode, mode: PathMode) -> Cond {
        if let Some(table) = node.as_table() {
            // an unquoted dotted key in TOML, `a.b = x`, is the path `a.b`
            let (tests, deeper): (Vec<_>, Vec<_>) = table.iter().partition(|(k, _)| TESTS.contains(&k.as_ref()));
            if !deeper.is_empty() && !names::is_form(table) {
                let known = self.plausible(&deeper, key, mode);
                if known {
                    let mut all: Vec<Cond> =
                        deeper.iter().map(|(k, f)| self.cond_key(&format!("{key}.{k}"), f.key, &f.node, mode)).collect();
                    if !tests.is_empty() {
                        let own = tests.into_iter().map(|(word, field)| (word.clone(), field.clone())).collect();
                        all.push(self.path_test(key, key_span, &DocumentNode { span: node.span, data: NodeValue::Table(own) }, mode));
                    }
                    return Cond::All(all.into());
                }
                for (word, field) in deeper {
                    let help = self
                        .report
                        .words
                        .help(word, TESTS.iter().copied())
                        .or_else(|| Some(format!("tests are {}", TESTS.join(", ")).into()));
                    // or a longer path that is not declared
                    self.fail_for(word, Code::ConditionType, field.key, format!("there is no test `{word}`"), help);
                }
                return Cond::Const(false);
            }
        }
        if mode == PathMode::Scene {
            self.check_list_test(key, key_span, node);
        }
        let (subject, condition) = self.subject(key, key_span, mode);
        let kind = match &subject {
            Expr::Field(f) if f.rest.is_empty() => {
                f.field.as_ref().and_then(|(_, name)| self.names.field_type(self.types().as_deref(), name))
            }
            _ => None,
        };
        self.check_subject_words(&subject, node);
        let declared = match &subject {
            // the values of options are checked as such
            Expr::Path(path) if !path.text.starts_with("option.") => self.names.paths.get(&*path.text).map(|declared| declared.kind),
            // what a document of another program holds is not what the pack declares
            _ => kind.filter(|_| self.types().is_some_and(|types| !types.is_empty())),
        };
        if let Some(declared) = declared {
            self.check_comparable(node, declared);
        }
        let test = self.test(node, kind);
        Cond::test(subject, test, condition)
    }

    /// Warns of literals of which none equals a value of the declared type. A truth value is compared with the truth of any.
    /// Where one fits, the others are for values that are stored otherwise. A scene may hold any single value as a list of one.
    fn check_comparable(&mut self, node: &DocumentNode, declared: ValueType) {
        if matches!(declared, ValueType::List | ValueType::Condition) {
            return;
        }
        let mut literals = Vec::new();
        collect_literals(node, &mut literals);
        if literals.iter().any(|node| matches!(node.data, NodeValue::Bool(_)) || declared.accepts(&node.data)) {
            return;
        }
        for node in literals {
            let message = format!("{} never equals what is declared as `{}`", node.kind(), declared.word());
            let help = format!("write a value of type `{}`, or change the declaration", declared.word());
            self.warn(Diagnostic::warning(Code::ConditionType, message).at(node.span).help(help));
        }
    }

    /// Warns of literals that are nearly one of the words of the path or the field that they are compared with.
    fn check_subject_words(&mut self, subject: &Expr, node: &DocumentNode) {
        match subject {
            Expr::Field(f) => {
                if let Some((_, name)) = f.field.clone().filter(|_| f.rest.is_empty()) {
                    self.check_words(&name, node);
                }
            }
            Expr::Path(path) => self.literals(node, &mut |cx, word, at| {
                if path.text.starts_with("option.") {
                    cx.check_choice(&path.text, word, at);
                    return;
                }
                cx.check_path_word(&path.text, word, at);
            }),
            _ => {}
        }
    }

    /// Reports a bare name that is a list of the pack and also a field of the items at hand: `when = { candidate = true }`
    /// holds because there is such a list, whatever the field of an item says.
    fn check_list_test(&mut self, key: &str, span: Span, node: &DocumentNode) {
        let is_list = self.lists.iter().any(|list| list.name.as_ref() == key);
        if !is_list || node.as_bool().is_none() || self.names.paths.contains_key(key) {
            return;
        }
        if let Some(row_type) = self.row_type_of_field(key) {
            let message = format!("`{key}` is a list here, and also a field of `{row_type}`");
            let help = format!("for the field write `where = {{ {key} = … }}`; for the list write `\"${key}\" = {{ nonempty = true }}`");
            self.fail(Code::ConditionType, span, message, Some(help.into()));
        }
    }

    /// Whether `key.word` is a declared name, so that a table under `key` is meant as a longer path.
    fn plausible(&self, deeper: &[(&Arc<str>, &crate::diag::TableField)], key: &str, mode: PathMode) -> bool {
        let bare = key.trim_start_matches(['$', '@']);
        let scene = key.starts_with('$') || (mode == PathMode::Scene && !key.starts_with('@'));
        let is_test = |word: &str| {
            !self.names.paths.contains_key(format!("{bare}.{word}").as_str())
                && TESTS.iter().any(|test| test.len() > 3 && suggest::is_one_off(word, test))
        };
        if deeper.iter().any(|(word, _)| is_test(word)) {
            return false;
        }
        if scene {
            return deeper.iter().all(|(word, _)| self.names.knows_path(&format!("{bare}.{word}")));
        }
        // what is below a field of items is not declared; a text or a number has nothing below it
        let (field, is_below) = bare.split_once('.').map_or((bare, false), |(field, _)| (field, true));
        match self.types().and_then(|types| self.names.field_type(Some(&types), field)) {
            None | Some(ValueType::Table | ValueType::Any) => true,
            Some(ValueType::List) => {
                is_below || deeper.iter().all(|(word, _)| ["count", "last"].contains(&&***word) || word.parse::<usize>().is_ok())
            }
            _ => false,
        }
    }

    /// A test; `kind` is the declared type of the subject.
    pub fn test(&mut self, node: &DocumentNode, kind: Option<ValueType>) -> CondTest {
        match &node.data {
            NodeValue::Bool(b) => CondTest::Is(*b),
            NodeValue::List(list) => CondTest::OneOf(list.iter().map(|n| self.operand(n, kind)).collect()),
            NodeValue::Table(table) if table.is_empty() => {
                let help = "write `path = value`, or `path = { nonempty = true }`; for nothing at all write `path = { nonempty = false }`";
                self.fail(Code::ConditionType, node.span, "a table of tests needs at least one test", Some(help.into()));
                CondTest::And(Box::new([]))
            }
            NodeValue::Table(table) if !names::is_form(table) => {
                let tests: Vec<CondTest> = table.iter().map(|(word, f)| self.test_word(word, f.key, &f.node, kind)).collect();
                let mut tests = tests;
                if tests.len() == 1 { tests.pop().unwrap_or(CondTest::And(Box::new([]))) } else { CondTest::And(tests.into()) }
            }
            _ => CondTest::Eq(self.operand(node, kind)),
        }
    }

    /// A compared value; a constant is checked against the declared names if the subject holds such a name.
    pub fn operand(&mut self, node: &DocumentNode, kind: Option<ValueType>) -> Expr {
        self.check_constant(node, kind);
        self.expr(node)
    }

    /// The value of a field; a constant must be of the field's type.
    pub fn field_value(&mut self, node: &DocumentNode, kind: Option<ValueType>, name: &str) -> Expr {
        self.check_literal(node, kind, name);
        if node.as_text().is_some() {
            self.check_words(name, node);
        }
        self.operand(node, kind).meant_for(name, kind)
    }

    fn test_word(&mut self, word: &str, span: Span, node: &DocumentNode, kind: Option<ValueType>) -> CondTest {
        let flag = |cx: &mut Self| match node.as_bool() {
            Some(b) => b,
            None => {
                cx.fail(Code::ConditionType, node.span, format!("`{word}` takes true or false, not {}", node.kind()), None);
                true
            }
        };
        let cmp = |cx: &mut Self, c: CondComparison| {
            let literal = node.as_text().is_some_and(|t| !names::is_reference(t)) || node.as_bool().is_some();
            if literal {
                let help = Some(format!("write a number or a reference behind `{word}`").into());
                cx.fail(Code::ConditionType, node.span, format!("`{word}` compares numbers, not {}", node.kind()), help);
            }
            CondTest::Cmp(c, cx.expr(node))
        };
        match word {
            "ne" => CondTest::Ne(match node.as_list() {
                Some(l) => l.iter().map(|n| self.operand(n, kind)).collect(),
                None => Box::new([self.operand(node, kind)]),
            }),
            "gt" => cmp(self, CondComparison::Gt),
            "ge" => cmp(self, CondComparison::Ge),
            "lt" => cmp(self, CondComparison::Lt),
            "le" => cmp(self, CondComparison::Le),
            "in" => CondTest::In(self.expr(node)),
            "contains" => CondTest::Contains(self.expr(node)),
            "meets" => CondTest::Meets(self.expr(node)),
            "starts" => CondTest::Starts(match node.as_list() {
                Some(l) => l.iter().map(|n| self.expr(n)).collect(),
                None => Box::new([self.expr(node)]),
            }),
            "matches" if node.as_text().is_some_and(names::is_reference) => CondTest::MatchesOf(self.expr(node)),
            "matches" => CondTest::Matches(self.test_pattern(node)),
            "exists" => CondTest::Exists(flag(self)),
            "nonempty" => CondTest::Nonempty(flag(self)),
            "given" => CondTest::Given(flag(self)),
            "every" => CondTest::Every(self.expr(node)),
            "between" => self.between(node),
            _ => {
                let help =
                    self.report.words.help(word, TESTS.iter().copied()).or_else(|| Some(format!("tests are {}", TESTS.join(", ")).into()));
                self.fail(Code::ConditionType, span, format!("there is no test `{word}`"), help);
                CondTest::And(Box::new([]))
            }
        }
    }

    /// The pattern of `matches`, which is not a plain text: that would be found as it is, `^` and all.
    fn test_pattern(&mut self, node: &DocumentNode) -> Arc<Pattern> {
        let text = node.as_text();
        if text.is_none_or(|text| Pattern::split(text).is_none()) {
            let found = text.map_or_else(|| node.kind().to_owned(), |text| format!("`{}`", short::word(text)));
            let source = text.filter(|text| !text.is_empty()).map_or("…".to_owned(), |text| short::word(&text.replace('/', "\\/")));
            let help = format!("write `matches = '/{source}/'`; a piece of a text is found by `contains`, and its beginning by `starts`");
            self.fail(Code::RegexBad, node.span, format!("`matches` takes a pattern `/…/flags`, not {found}"), Some(help.into()));
            return Arc::new(Pattern::literal(text.unwrap_or_default()));
        }
        self.pattern(node)
    }

    /// `between = [low, high]`: a bound that is missing or not written is open.
    fn between(&mut self, node: &DocumentNode) -> CondTest {
        let bounds = node.as_list().unwrap_or(&[]);
        let help = || Some("write `between = [low, high]`, or `between = [low]` for no upper bound".into());
        if !matches!(bounds.len(), 1 | 2) {
            let found = if node.as_list().is_some() { format!("a list of {}", bounds.len()) } else { node.kind().to_owned() };
            self.fail(Code::ConditionType, node.span, format!("`between` takes a list of two bounds, not {found}"), help());
        }
        let mut bound = |n: usize| {
            let Some(node) = bounds.get(n) else { return Expr::Const(Value::Null) };
            if node.as_text().is_some_and(|t| !names::is_reference(t)) || node.as_bool().is_some() {
                self.fail(Code::ConditionType, node.span, format!("a bound is a number, not {}", node.kind()), help());
            }
            self.expr(node)
        };
        CondTest::Between(Box::new([bound(0), bound(1)]))
    }

    /// The compiled form that JSON tools write: `{ path, op, value }`.
    fn triple(&mut self, table: &FieldMap, node: &DocumentNode, mode: PathMode) -> Cond {
        let (Some(path), Some(op)) = (table.get("path"), table.get("op")) else { return Cond::Const(false) };
        let (subject, condition) = self.subject(path.node.as_text().unwrap_or(""), path.node.span, mode);
        let value = table.get("value").map_or(DocumentNode { span: node.span, data: NodeValue::Null }, |f| f.node.clone());
        let op_text = op.node.as_text().unwrap_or("").to_owned();
        if matches!(op_text.as_str(), "eq" | "ne" | "in") {
            self.check_subject_words(&subject, &value);
        }
        let test = match op_text.as_str() {
            "eq" => self.test(&value, None),
            word => self.test_word(word, op.node.span, &value, None),
        };
        Cond::Test { subject, test, condition }
    }
}

/// The values that a subject is compared with, if they are written there.
fn collect_literals<'n>(node: &'n DocumentNode, into: &mut Vec<&'n DocumentNode>) {
    match &node.data {
        NodeValue::List(list) => list.iter().for_each(|node| collect_literals(node, into)),
        NodeValue::Table(table) if !names::is_form(table) => {
            ["ne", "in"].iter().filter_map(|test| table.get(*test)).for_each(|field| collect_literals(&field.node, into));
        }
        _ => into.push(node),
    }
}

/// The byte offset of a line and column, both from 1.
fn offset_of(source: &str, line: usize, column: usize) -> usize {
    let start: usize = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = source.get(start..).unwrap_or("");
    start + rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
}
