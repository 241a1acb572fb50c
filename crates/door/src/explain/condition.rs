//! The conditions of a pass, part by part: what each part looks at, its value at the end of the build, and whether it
//! holds. Parts that cannot be evaluated by themselves are shown as they are written, without a verdict.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::build::state;
use crate::diag::{DocumentNode, FieldMap};
use crate::layout::{head, place_of};
use crate::model::{Item, Map, Pack, Plan, Scene, Value};
use crate::pack::{ExpressionPlace, Ruleset, table_of};
use crate::terms::select::pass_env;
use crate::terms::{BuildState, CurrentItem, PassMemo};

/// The most characters that are shown of a test or a value.
const TEXT: usize = 160;
/// The deepest nesting of conditions that is taken apart.
const DEPTH: usize = 8;
/// The most parts of one condition.
const PARTS: usize = 60;
/// The tests that a condition from data knows.
const TESTS: [&str; 15] =
    ["ne", "gt", "ge", "lt", "le", "in", "contains", "meets", "starts", "matches", "exists", "nonempty", "given", "every", "between"];

/// One part of a condition.
pub struct ConditionPart {
    /// `all`, `any` (one of several is enough) or `not`.
    pub how: &'static str,
    /// What it looks at: a path of the scene, or `@field`.
    pub path: String,
    /// Whether the whole condition holds only if this part does: it is not one of several that would do.
    certain: bool,
    /// The test as it is written.
    pub test: Json,
    /// The value at the end of the build; `None` if it cannot be said.
    pub now: Option<Value>,
    /// Whether the part holds with that value; `None` if it cannot be said.
    pub holds: Option<bool>,
}

/// Where a part of a condition stands.
#[derive(Clone, Copy)]
struct PartPosition {
    how: &'static str,
    certain: bool,
    depth: usize,
}

/// What is known about the run of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKnowledge {
    /// It has done something, so its conditions held then.
    Ran,
    /// Nothing.
    Nothing,
}

impl ConditionPart {
    pub fn as_json(&self) -> Json {
        let now = self.now.as_ref().map(short);
        json!({ "how": self.how, "path": self.path, "test": head(&self.test.to_string(), TEXT), "now": now, "holds": self.holds })
    }
}

/// Whether the value of a key `script` is a function, and not that of a field of this name.
fn is_function(node: &DocumentNode) -> bool {
    node.as_text().is_some_and(|text| text.contains("::"))
}

/// A value as bounded JSON text.
pub fn short(value: &Value) -> String {
    // a long list or table is not written out only to be cut
    if !value.fits(16, 4_000) {
        return "(long)".to_owned();
    }
    head(&value.to_json().to_string(), TEXT)
}

/// A field as text; empty if there is none.
pub fn field(value: &Value, name: &str) -> String {
    value.get(name).map(|v| v.to_text().to_string()).unwrap_or_default()
}

/// The end of a build, where conditions can be evaluated again.
pub struct ConditionProbe<'a> {
    pub rules: &'a Ruleset,
    pub plan: &'a Plan,
    /// The scene as it was given to the build: hooks may have changed that of the plan.
    pub given: &'a Value,
    st: BuildState,
}

impl<'a> ConditionProbe<'a> {
    pub fn new(rules: &'a Ruleset, plan: &'a Plan, given: &'a Value) -> Self {
        let scene = Scene { data: plan.scene.clone(), trace: false, strict: false, ..plan.given.clone() };
        let st = state(rules, &scene);
        *st.set.borrow_mut() = plan.set.clone();
        Self { rules, plan, given, st }
    }

    /// The value at a path: what passes have set, over the scene, over the values of the pack.
    pub fn read(&self, path: &str) -> Value {
        let names: Vec<Arc<str>> = path.split('.').filter(|name| !name.is_empty()).map(Arc::from).collect();
        self.st.lookup(&names, None)
    }

    /// A pass with the place and the words of its rule, and the parts of its conditions. `item` is what its `where` is
    /// asked about.
    pub fn pass(&self, pass: &str, item: Option<&Value>, known: RunKnowledge) -> Json {
        let row = self.rules.pack().tables.get("pass").and_then(|rows| rows.get(pass));
        let field = |name: &str| row.and_then(|row| row.fields.get(name)).map(|field| &field.node);
        let each = field("each").and_then(|each| each.get("where"));
        let parts = |node: Option<&DocumentNode>, item: Option<&Value>| -> Vec<Json> {
            let parts = node.map(|node| self.parts(node, item)).unwrap_or_default();
            let then = |part: &ConditionPart| known == RunKnowledge::Ran && part.certain && part.holds == Some(false);
            let told = |part: &ConditionPart| {
                let mut json = part.as_json();
                // a later pass has changed the value that it looked at
                if let Some(fields) = json.as_object_mut().filter(|_| then(part)) {
                    fields.insert("holds".into(), json!("then"));
                }
                json
            };
            parts.iter().map(told).collect()
        };
        json!({
            "pass": pass, "rule": place_of(self.rules, pass), "about": field("about").and_then(DocumentNode::as_text),
            "do": field("do").and_then(DocumentNode::as_text), "when": parts(field("when"), None),
            "where": parts(field("where").or(each), Some(item.unwrap_or(&Value::Null))),
        })
    }

    /// The parts of the `when` of a pass.
    pub fn when(&self, pass: &str) -> Vec<ConditionPart> {
        let row = self.rules.pack().tables.get("pass").and_then(|rows| rows.get(pass));
        row.and_then(|row| row.fields.get("when")).map(|when| self.parts(&when.node, None)).unwrap_or_default()
    }

    /// The parts of a condition. With an item, plain names are its fields; without, they are paths of the scene.
    pub fn parts(&self, node: &DocumentNode, item: Option<&Value>) -> Vec<ConditionPart> {
        let mut out = Vec::new();
        self.take_apart(node, item, PartPosition { how: "all", certain: true, depth: 0 }, &mut out);
        out
    }

    fn take_apart(&self, node: &DocumentNode, item: Option<&Value>, under: PartPosition, out: &mut Vec<ConditionPart>) {
        let PartPosition { how, certain, depth } = under;
        let Some(table) = node.as_table().filter(|_| depth < DEPTH && out.len() < PARTS) else {
            if depth == 0 {
                let holds = node.as_bool();
                out.push(ConditionPart { how, certain, path: String::new(), test: node.to_json(), now: None, holds });
            }
            return;
        };
        // an expression is shown as the tests that it is made of
        if let (Some(expression), 1) = (table.get("="), table.len())
            && let Some(tests) = table_of(&self.rules.pack().sources, &expression.node, ExpressionPlace::Parts)
            && tests.get("=").is_none()
        {
            return self.take_apart(&tests, item, PartPosition { depth: depth + 1, ..under }, out);
        }
        for (key, field) in table {
            let below = |how, certain, out: &mut Vec<ConditionPart>| {
                let under = PartPosition { how, certain, depth: depth + 1 };
                match field.node.as_list() {
                    Some(list) => list.iter().for_each(|node| self.take_apart(node, item, under, out)),
                    None => self.take_apart(&field.node, item, under, out),
                }
            };
            let is_single = field.node.as_table().is_some_and(|table| table.len() == 1);
            match &**key {
                // one part that does not hold is enough where not all are to hold
                "all" => below(how, certain && how != "not", out),
                // they belong to the function
                "args" if table.get("script").is_some_and(|script| is_function(&script.node)) => {}
                // where not any is to hold, none is
                "any" if how == "not" => below(how, certain, out),
                "any" => below("any", false, out),
                "not" if how == "not" => below("all", false, out),
                "not" => below("not", certain && how == "all" && is_single, out),
                "fact" => match field.node.as_text().and_then(|name| self.fact(name)) {
                    Some((is, over)) => {
                        self.take_apart(is, if over { item } else { None }, PartPosition { depth: depth + 1, ..under }, out)
                    }
                    None => out.push(self.part(under, key, &field.node, item, table)),
                },
                _ => out.push(self.part(under, key, &field.node, item, table)),
            }
        }
    }

    /// The condition of a row of `fact`, and whether it is about an item.
    fn fact(&self, name: &str) -> Option<(&DocumentNode, bool)> {
        let row = self.rules.pack().tables.get("fact")?.get(name)?;
        Some((&row.fields.get("is")?.node, row.fields.contains_key("over")))
    }

    fn part(&self, under: PartPosition, key: &str, node: &DocumentNode, item: Option<&Value>, table: &FieldMap) -> ConditionPart {
        let PartPosition { how, certain, .. } = under;
        let test = node.to_json();
        let unsure = || ConditionPart { how, certain, path: key.to_owned(), test: test.clone(), now: None, holds: None };
        // `{ of = …, is = … }` and scripts look at more than one value
        if table.contains_key("of")
            || matches!(key, "rhai" | "host" | "is" | "fact" | "=")
            || key.contains("@outer")
            || key == "script" && is_function(node)
        {
            return unsure();
        }
        let path = match item {
            Some(_) if !key.starts_with('$') => format!("@{}", key.trim_start_matches('@')),
            _ => key.trim_start_matches('$').to_owned(),
        };
        let now = match path.strip_prefix('@') {
            Some(field) => item.and_then(|item| item.at(field)).cloned().unwrap_or_default(),
            None => self.read(&path),
        };
        if item.is_some_and(Value::is_null) && path.starts_with('@') {
            return ConditionPart { path, ..unsure() };
        }
        let holds =
            self.resolved(&Value::from(&test), item, 0).and_then(|test| self.holds(&path, test, item)).map(|holds| holds != (how == "not"));
        ConditionPart { how, certain, path, test, now: Some(now), holds }
    }

    fn holds(&self, path: &str, test: Value, item: Option<&Value>) -> Option<bool> {
        let condition = Value::map([(Arc::from(path), test)].into_iter().collect());
        let memo = PassMemo::default();
        let env = pass_env(&self.st, &memo);
        let Some(value) = item else { return env.foreign_condition(&condition).ok() };
        let item = Item::from_value(value, &self.st.rules.fields);
        env.inner(CurrentItem::Item(&item, 0)).foreign_condition(&condition).ok()
    }

    /// A test with the values that it refers to; `None` if it needs more than a path or a field.
    fn resolved(&self, test: &Value, item: Option<&Value>, depth: usize) -> Option<Value> {
        match test {
            Value::Text(text) => match (text.strip_prefix('$'), text.strip_prefix('@')) {
                (Some(path), _) => Some(self.read(path)),
                (_, Some(field)) => item.filter(|item| !item.is_null())?.at(field).cloned(),
                _ if text.contains("{{") => None,
                _ => Some(test.clone()),
            },
            Value::List(list) => list.iter().map(|test| self.resolved(test, item, depth + 1)).collect::<Option<_>>().map(Value::list),
            Value::Map(map) if depth == 0 && map.keys().all(|key| TESTS.contains(&&**key)) => {
                let parts = map.iter().map(|(word, test)| Some((word.clone(), self.resolved(test, item, depth + 1)?)));
                parts.collect::<Option<Map>>().map(Value::map)
            }
            Value::Map(_) => None,
            other => Some(other.clone()),
        }
    }
}

/// The lines of conditions for a terminal.
pub fn condition_lines(parts: &Json) -> Vec<Vec<String>> {
    let line = |part: &Json| {
        let verdict = match &part["holds"] {
            Json::Bool(true) => "holds",
            Json::Bool(false) => "does not hold",
            Json::String(_) => "held then",
            _ => "?",
        };
        let how = match part["how"].as_str() {
            Some("any") => "one of: ",
            Some("not") => "not: ",
            _ => "",
        };
        let now =
            part["now"].as_str().map(|now| format!("{} {now}", if part["holds"] == "then" { "is now" } else { "is" })).unwrap_or_default();
        let test = part["test"].as_str().unwrap_or_default();
        let shown = match part["path"].as_str().unwrap_or_default() {
            "=" => format!("{how}{}", test.trim_matches('"').trim_start_matches('=').trim_start()),
            path => format!("{how}{path} = {test}"),
        };
        vec![verdict.to_owned(), head(&shown, TEXT), now]
    };
    parts.as_array().into_iter().flatten().map(line).collect()
}

/// How many times the values that are read are followed to what they are made from.
const ROUNDS: usize = 2;

/// The paths that a row of a table reads.
pub fn paths_of_row(pack: &Pack, table: &str, name: &str, out: &mut BTreeSet<String>) {
    let row = pack.tables.get(table).and_then(|rows| rows.get(name));
    row.into_iter().flat_map(|row| &row.fields).for_each(|(name, field)| paths_in(&json!({ &**name: field.node.to_json() }), out));
}

/// Adds what passes and rounds make the values of these paths from.
pub fn follow_paths(pack: &Pack, paths: &mut BTreeSet<String>) {
    for _ in 0..ROUNDS {
        let mut more = BTreeSet::new();
        for (_, row) in ["pass", "round"].into_iter().filter_map(|table| pack.tables.get(table)).flat_map(|rows| rows.iter()) {
            let Some(set) = row.fields.get("set").and_then(|set| set.node.as_table()) else { continue };
            let of = |key: &str| paths.contains(key.trim_start_matches('$')) || paths.contains(&format!("round.{key}"));
            for (_, field) in set.iter().filter(|(key, _)| of(key)) {
                paths_in(&field.node.to_json(), &mut more);
            }
        }
        paths.extend(more);
    }
}

/// The `$path`s that stand in rules, the paths that their `when` tests, and those of the scene that their `where` tests.
pub fn paths_in(node: &Json, out: &mut BTreeSet<String>) {
    collect_paths(node, TableKeys::Plain, 0, out);
}

/// What the keys of a table are.
#[derive(Clone, Copy)]
enum TableKeys {
    /// Words of the language.
    Plain,
    /// Paths of the scene, or words.
    When,
    /// Fields of an item, words, or with `$` paths of the scene.
    Where,
}

fn collect_paths(node: &Json, keys: TableKeys, depth: usize, out: &mut BTreeSet<String>) {
    if depth > 16 {
        return;
    }
    match node {
        Json::String(text) => out.extend(dollar_paths(text)),
        Json::Array(list) => list.iter().for_each(|node| collect_paths(node, keys, depth + 1, out)),
        Json::Object(map) => {
            if let (1, Some(Json::String(text))) = (map.len(), map.get("=")) {
                out.extend(expression_paths(text));
                return;
            }
            for (key, node) in map {
                let is_path = match keys {
                    TableKeys::Plain => false,
                    TableKeys::When => key.starts_with('$') || key.contains('.') && !key.starts_with('@'),
                    TableKeys::Where => key.starts_with('$'),
                };
                if is_path {
                    out.insert(key.trim_start_matches('$').to_owned());
                }
                let below = match key.as_str() {
                    "when" => TableKeys::When,
                    "where" => TableKeys::Where,
                    _ => keys,
                };
                collect_paths(node, below, depth + 1, out);
            }
        }
        _ => {}
    }
}

/// The paths of the scene that an expression reads: a name before a bracket is a function.
fn expression_paths(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let read = |rest: &str| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (path, behind) = rest.split_at(end);
        let path = if behind.starts_with('(') { path.rsplit_once('.').map_or("", |(path, _)| path) } else { path };
        path.trim_end_matches('.').to_owned()
    };
    text.split('$').skip(1).map(read).filter(|path| !path.is_empty()).collect()
}

fn dollar_paths(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.';
    let names =
        text.split('$').skip(1).map(move |rest| rest.split(|c| !is_part(c)).next().unwrap_or_default().trim_end_matches('.').to_owned());
    names.filter(|name| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && !["account.", "budget.", "table.", "turn."].iter().any(|own| name.starts_with(own))
    })
}
