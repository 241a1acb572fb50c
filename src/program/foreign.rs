//! Foreign formats: how a JSON document of another program becomes a part of a scene, said in data.
//!
//! A `[[format]]` row names a format and describes how its documents are recognized; `[[map]]` rows (`format/name`)
//! say where each value comes from (`@` is the document below `root`) and which scene path it is written to. Fields
//! that no row reads are not lost: they are returned beside the scene.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::diag::{Code, Node, short};
use crate::model::{Map, Value};
use crate::syntax::CompileContext;
use crate::syntax::conditions::Mode;
use crate::syntax::context::Scope;
use crate::terms::select::pass_env;
use crate::terms::state::put;
use crate::terms::{Cond, Current, Expr, Fault, Memo, State};

/// A compiled foreign format.
pub struct Format {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub about: Arc<str>,
    detect: Option<Cond>,
    root: Option<Expr>,
    maps: Vec<Mapping>,
}

/// One row of `map`.
struct Mapping {
    name: Arc<str>,
    from: Expr,
    reads: Vec<Arc<str>>,
    to: Vec<Arc<str>>,
    code: Option<Arc<str>>,
    default: Option<Expr>,
    when: Option<Cond>,
    /// Why the value is only approximated, or dropped.
    approximate: Option<Arc<str>>,
    drop: Option<Arc<str>>,
    /// A message about the value, or about each of its elements, instead of a scene path to write it to.
    warn: Option<Arc<str>>,
}

/// What became of one field of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// The value as it was; or no rule reads the field, and it is carried along.
    Kept,
    /// The value under another name or spelling.
    Mapped,
    /// A value that means nearly the same.
    Approximated,
    /// Nothing: the rules say why.
    Dropped,
}

/// One line of an import report.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FieldReport {
    /// The field of the document, or the row that makes a value without one.
    pub field: String,
    /// What became of it.
    pub fate: Fate,
    /// The scene path, where there is one.
    pub to: String,
    /// Why, where there is more to say.
    pub note: String,
}

/// A document of another program as scene data: the result of [`import_document`](crate::import_document).
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// The name of the format that read the document.
    pub format: String,
    /// The part of a scene that the document gives; [`Scene::merge`](crate::Scene::merge) adds it to a scene.
    pub scene: Value,
    /// The fields that no rule of the format reads, unchanged.
    pub rest: Value,
    /// What happened to each field of the document.
    pub fields: Vec<FieldReport>,
    /// One message for each value that is not used as given, for people.
    pub warnings: Vec<String>,
}

/// Compiles all formats of a pack.
pub fn compile(cx: &mut CompileContext<'_>) -> Vec<Format> {
    let pack = cx.pack;
    let rows = |table: &str| pack.tables.get(table).into_iter().flatten().map(|(_, r)| r).collect::<Vec<_>>();
    let mut formats = Vec::new();
    for row in rows("format") {
        cx.rule = format!("format {}", row.name);
        let (detect, root) = cx.within(Scope::Any, |cx| {
            (row.fields.get("detect").map(|f| cx.cond(&f.node, Mode::Item)), row.fields.get("root").map(|f| cx.expr(&f.node)))
        });
        let about = row.fields.get("about").and_then(|f| f.node.as_text()).unwrap_or("").into();
        formats.push(Format { name: row.name.clone(), about, detect, root, maps: Vec::new() });
    }
    let names: Vec<Arc<str>> = formats.iter().map(|f| f.name.clone()).collect();
    for row in rows("map") {
        cx.rule = format!("map {}", row.name);
        let owner = row.name.split_once('/').map_or("", |(f, _)| f);
        let owner = cx.named("format", &names, owner, row.span);
        let text = |key: &str| row.fields.get(key).and_then(|f| f.node.as_text()).map(Arc::<str>::from);
        let to = text("to").unwrap_or_default();
        if !to.is_empty() && !cx.names.knows_path(&to) {
            let known: Vec<String> = cx.names.path_names().map(str::to_owned).collect();
            let span = row.fields.get("to").map_or(row.span, |f| f.node.span);
            cx.unknown("scene path", &to, span, known.iter().map(String::as_str));
        }
        if let (Some(code), Some(f)) = (text("code"), row.fields.get("code")) {
            let codes: Vec<Arc<str>> = rows("code").iter().map(|r| r.name.clone()).collect();
            cx.named("code", &codes, &code, f.node.span);
        }
        let dropped = text("drop");
        let Some(from) = row.fields.get("from").map(|f| &f.node) else {
            cx.fail(Code::TermMissing, row.span, "a map row needs `from`", Some("write `from = \"@field\"`".into()));
            continue;
        };
        let mapping = cx.within(Scope::Any, |cx| Mapping {
            name: row.name.clone(),
            reads: heads(from),
            from: cx.expr(from),
            to: to.split('.').filter(|s| !s.is_empty()).map(Arc::from).collect(),
            code: text("code"),
            default: row.fields.get("default").map(|f| cx.expr(&f.node)),
            when: row.fields.get("when").map(|f| cx.cond(&f.node, Mode::Item)),
            approximate: text("approximate"),
            drop: dropped,
            warn: text("warn"),
        });
        if let Some(format) = formats.get_mut(owner) {
            format.maps.push(mapping);
        }
    }
    formats
}

/// The top fields of the document that a value mentions, in the order written. Inside a query `@name` is an element's
/// field and `@outer.name` the document's; deeper queries cannot reach the document.
fn heads(node: &Node) -> Vec<Arc<str>> {
    let mut out: Vec<Arc<str>> = Vec::new();
    let mut open = vec![(node, 0)];
    while let Some((node, depth)) = open.pop() {
        if let Some(text) = node.as_text() {
            let found = text.split('@').skip(1).map(|piece| match piece.strip_prefix("outer.") {
                Some(rest) => (1, rest),
                None => (0, piece),
            });
            for (_, rest) in found.filter(|(up, _)| *up == depth) {
                let head = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
                if !head.is_empty() && !out.iter().any(|known| known.as_ref() == head) {
                    out.push(head.into());
                }
            }
        }
        let query = node.get("of").is_some() && node.get("fn").is_none();
        open.extend(node.as_list().unwrap_or(&[]).iter().rev().map(|n| (n, depth)));
        // what a query asks of its elements is one level further in
        let inside = |key: &str| if query && !matches!(key, "of" | "after" | "join" | "skip" | "take") { depth + 1 } else { depth };
        open.extend(node.as_table().into_iter().flatten().rev().map(|(key, f)| (&f.node, inside(key))));
    }
    out
}

impl Format {
    /// Whether a document is in this format.
    pub fn fits(&self, document: &Value, st: &State) -> Result<bool, Fault> {
        let memo = Memo::default();
        match &self.detect {
            Some(detect) => pass_env(st, &memo).inner(Current::Value(document, 0)).holds(detect),
            None => Ok(false),
        }
    }

    /// Converts the document to scene data.
    pub fn bring(&self, document: &Value, st: &State) -> Result<Imported, Fault> {
        let memo = Memo::default();
        let env = pass_env(st, &memo);
        let root = match &self.root {
            Some(root) => env.inner(Current::Value(document, 0)).eval(root)?,
            None => document.clone(),
        };
        let env = env.inner(Current::Value(&root, 0));
        let mut out = Imported { format: self.name.to_string(), scene: Value::map(Map::default()), ..Imported::default() };
        let mut read: FxHashSet<Arc<str>> = FxHashSet::default();
        for map in &self.maps {
            read.extend(map.reads.iter().cloned());
            if let Some(when) = &map.when
                && !env.holds(when)?
            {
                continue;
            }
            let raw = env.eval(&map.from)?;
            if let Some(what) = &map.warn {
                out.warnings.extend(told(what, &raw));
                continue;
            }
            let value = self.coded(map, &raw, st, &mut out);
            let value = match (&value, &map.default) {
                (Value::Null, Some(default)) => env.eval(default)?,
                _ => value,
            };
            // a field that the document does not have is not reported
            if !raw.is_null() || !value.is_null() {
                out.fields.push(map.report(&raw, &value));
            }
            if map.drop.is_none() && !map.to.is_empty() && !value.is_null() {
                put(&mut out.scene, &map.to, value);
            }
        }
        out.rest = rest(&root, &read, &mut out.fields);
        Ok(out)
    }

    fn coded(&self, map: &Mapping, raw: &Value, st: &State, out: &mut Imported) -> Value {
        let Some(code) = &map.code else { return raw.clone() };
        if raw.is_null() {
            return Value::Null;
        }
        let values = st.rules.row("code", code).and_then(|row| row.get("values").cloned()).unwrap_or_default();
        let found = values.get(&raw.to_text()).cloned();
        if found.is_none() {
            let word = short::word(&raw.to_text());
            out.warnings.push(format!("`{}`: `{word}` is no value that `{code}` knows; the default is used", map.name));
        }
        found.unwrap_or_default()
    }
}

impl Mapping {
    fn report(&self, raw: &Value, value: &Value) -> FieldReport {
        let field = self.reads.first().map_or_else(|| self.name.to_string(), ToString::to_string);
        let to = self.to.join(".");
        let (fate, note) = match (&self.drop, &self.approximate) {
            (Some(why), _) => (Fate::Dropped, why.to_string()),
            (None, Some(why)) => (Fate::Approximated, why.to_string()),
            (None, None) if raw.is_null() => (Fate::Mapped, "missing; the default is used".to_owned()),
            (None, None) if raw == value && self.to.last().is_some_and(|l| l.as_ref() == field) => (Fate::Kept, String::new()),
            (None, None) => (Fate::Mapped, String::new()),
        };
        FieldReport { field, fate, to, note }
    }
}

/// A warning about what is wrong with a document; `None` if there is nothing to report.
fn told(what: &str, wrong: &Value) -> Option<String> {
    let words: Vec<Arc<str>> = match wrong {
        Value::List(list) => list.iter().map(Value::to_text).collect(),
        _ if wrong.is_empty() => Vec::new(),
        one => vec![one.to_text()],
    };
    (!words.is_empty()).then(|| format!("{what}: {}", short::listed(words.iter().map(AsRef::as_ref))))
}

/// The fields of the document that no rule reads.
fn rest(root: &Value, read: &FxHashSet<Arc<str>>, fields: &mut Vec<FieldReport>) -> Value {
    let Some(map) = root.as_map() else { return Value::Null };
    let mut rest = Map::default();
    for (key, value) in map.iter().filter(|(k, _)| !read.contains(*k)) {
        rest.insert(key.clone(), value.clone());
        fields.push(FieldReport { field: key.to_string(), fate: Fate::Kept, to: format!("rest.{key}"), note: "no rule reads it".into() });
    }
    Value::map(rest)
}
