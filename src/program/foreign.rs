//! Foreign formats: how a JSON document of another program becomes a part of a scene, or a document of a third
//! program, said in data.
//!
//! A `[[format]]` row names a format and describes how its documents are recognized; `[[map]]` rows (`format/name`)
//! say where each value comes from (`@` is the document below `root`) and which path it is written to. A format with
//! `makes` converts to another format. A row with `item` converts each element of a list by the rows of a further
//! format. Fields that no row reads are not lost in silence: an import returns them beside the scene, and a conversion
//! carries them along, or reports them.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::diag::{Code, DocumentNode, limits, short};
use crate::model::pack::PackRow;
use crate::model::term::{NONEMPTY_TEXT, RowTerms};
use crate::model::{Map, Term, Value};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::terms::expr::{FieldRef, PathSegment, QuerySource};
use crate::terms::expression::Operation;
use crate::terms::select::pass_env;
use crate::terms::trees::put;
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, Expr, PassMemo};
use crate::text::work;
use crate::text::written::ToText as _;

use super::deferred::DeferredCompiler;

/// Keys of `format`.
const FORMAT: &[Term] = &[
    Term::defined("detect", "condition", "what holds of a document of this format (bare paths are fields of the document)"),
    Term::json("root", r#"{}"#, "the part of the document that `@` means in the rows of `map`; the document itself if not given"),
    Term::new(
        "makes",
        NONEMPTY_TEXT,
        "the format that documents are converted to. The rows then make such a document, and not a part of a scene",
    ),
    Term::text("of", "the format whose documents are converted: its `detect` and `root` hold here too, unless the row has its own"),
    Term::text(
        "rest",
        "with `makes`: the path of the result that receives the fields that no row reads; with `.` they stay where they are. \
         Without it, they are reported as lost",
    ),
];

/// Keys of `map`.
const MAP: &[Term] = &[
    Term::json(
        "from",
        r##"{
            "type": ["string", "object", "array"],
            "if": { "type": ["object", "array"] },
            "then": { "$ref": "#/definitions/value" }
        }"##,
        "path in the foreign file, or any value made of it: a query, a list, a look-up",
    ),
    Term::text("to", "path in the scene, or in the document that a conversion makes; there, `.` lays a table over the whole document"),
    Term::text("code", "table of codes (a row of table `code`) that it is read by"),
    Term::json("default", r#"{}"#, "its value if the file has none"),
    Term::text("item", "a format (a row of table `format`) by whose rows each element of the value is converted"),
    Term::defined("key", "value", "with `item`: the elements become a table, and this is the key of each; `@` is what the element became"),
    Term::defined("when", "condition", "on the document: whether the row applies"),
    Term::text("approximate", "why the value means only approximately the same"),
    Term::text("drop", "why the value is not used"),
    Term::new(
        "warn",
        NONEMPTY_TEXT,
        "what is wrong with the document: a warning that names the value, or a few of its elements. There is no warning for an \
         empty value, and nothing is put into the scene",
    ),
];

/// The keys of the rows that are read here.
pub(super) const ROWS: &[RowTerms] = &[("format", &[FORMAT]), ("map", &[MAP])];

/// The names of a path.
type PathNames = Vec<Arc<str>>;

/// A compiled foreign format.
pub struct ForeignFormat {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub about: Arc<str>,
    /// The format that it makes: its documents are converted and do not become parts of a scene.
    pub makes: Option<Arc<str>>,
    detect: Option<Cond>,
    /// The fields whose text `detect` asks for. They say of which kind the document is, which what a conversion makes is not.
    kind: Vec<PathNames>,
    root: Option<Expr>,
    maps: OnceLock<Vec<FieldMapping>>,
    rest: RestTarget,
    /// What compiles its rows of `map`.
    deferred: Option<Arc<DeferredCompiler>>,
}

/// The foreign formats of a pack.
pub struct FormatList {
    all: OnceLock<Vec<ForeignFormat>>,
    deferred: Option<Arc<DeferredCompiler>>,
}

impl FormatList {
    /// Formats that are compiled when they are first asked for.
    pub(super) fn defer(deferred: Arc<DeferredCompiler>) -> Self {
        Self { all: OnceLock::new(), deferred: Some(deferred) }
    }

    pub(super) fn new(all: Vec<ForeignFormat>) -> Self {
        Self { all: all.into(), deferred: None }
    }
}

impl Deref for FormatList {
    type Target = [ForeignFormat];

    fn deref(&self) -> &[ForeignFormat] {
        let compile = || self.deferred.as_ref().map(|deferred| deferred.compile(|cx| formats(cx, Some(deferred)))).unwrap_or_default();
        self.all.get_or_init(compile)
    }
}

/// Where the result of a conversion gets the fields that no row reads.
struct RestTarget {
    /// The table that receives them; if it is empty and they do not stay in place, they are dropped.
    names: PathNames,
    /// They stay where they are in the document.
    in_place: bool,
}

impl RestTarget {
    /// Whether what no row reads has a place.
    fn keeps(&self) -> bool {
        self.in_place || !self.names.is_empty()
    }
}

/// One row of `map`.
struct FieldMapping {
    name: Arc<str>,
    from: Expr,
    reads: Vec<PathNames>,
    to: PathNames,
    /// The value is laid over the whole result.
    whole: bool,
    /// The format that converts each element of the value.
    item: Option<usize>,
    /// The elements become a table: the key of each, on what the element became.
    key: Option<Expr>,
    code: Option<Arc<str>>,
    default: Option<Expr>,
    when: Option<Cond>,
    /// Why the value is only approximated, or dropped.
    approximate: Option<Arc<str>>,
    drop: Option<Arc<str>>,
    /// A message about the value, or about each of its elements, instead of a path to write it to.
    warn: Option<Arc<str>>,
}

/// A document of another program as scene data: the result of [`import_document`](crate::import_document).
#[derive(Debug, Clone, Default)]
pub struct ImportedDocument {
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

impl ForeignFormat {
    fn maps(&self) -> &[FieldMapping] {
        self.maps.get_or_init(|| {
            let compile = |cx: &mut CompileContext<'_>| {
                let (pack, known) = (cx.pack, known_formats(cx));
                let own = pack.rows("map").filter(|row| owner(row) == &*self.name);
                own.filter_map(|row| mapping(cx, row, &known, self.makes.is_some())).collect()
            };
            self.deferred.as_ref().map(|deferred| deferred.compile(compile)).unwrap_or_default()
        })
    }

    /// Whether a document is in this format.
    pub fn fits(&self, document: &Value, st: &BuildState) -> Result<bool, EvalFault> {
        let memo = PassMemo::default();
        match &self.detect {
            Some(detect) => pass_env(st, &memo).inner(CurrentItem::Value(document, 0)).holds(detect),
            None => Ok(false),
        }
    }

    /// Converts the document to scene data, or to a document of the format that this one makes. `all` are the formats
    /// of the pack, by which the elements of lists are converted.
    pub fn bring(&self, document: &Value, st: &BuildState, all: &[ForeignFormat]) -> Result<ImportedDocument, EvalFault> {
        self.bring_at(document, st, all, 0)
    }

    fn bring_at(&self, document: &Value, st: &BuildState, all: &[ForeignFormat], depth: usize) -> Result<ImportedDocument, EvalFault> {
        let _paying = work::rule(&self.name);
        let memo = PassMemo::default();
        let env = pass_env(st, &memo);
        let root = match &self.root {
            Some(root) => env.inner(CurrentItem::Value(document, 0)).eval(root)?,
            None => document.clone(),
        };
        let env = env.inner(CurrentItem::Value(&root, 0));
        let mut out = ImportedDocument { format: self.name.to_string(), scene: Value::map(Map::default()), ..ImportedDocument::default() };
        let mut read: Vec<&PathNames> = Vec::new();
        for map in self.maps() {
            if let Some(when) = &map.when
                && !env.holds(when)?
            {
                // an import has looked at the field and found that it means nothing
                if self.makes.is_none() {
                    read.extend(&map.reads);
                }
                continue;
            }
            read.extend(&map.reads);
            let raw = env.eval(&map.from)?;
            if let Some(what) = &map.warn {
                out.warnings.extend(told(what, &raw));
                continue;
            }
            if let Some(item) = map.item.and_then(|n| all.get(n)) {
                let values = map.each(item, &raw, &env, all, depth, &mut out)?;
                if map.whole {
                    out.scene = values.over(std::mem::take(&mut out.scene));
                } else if !map.to.is_empty() {
                    put(&mut out.scene, &map.to, values);
                }
                continue;
            }
            let value = self.coded(map, &raw, st, &mut out);
            let value = match (&value, &map.default) {
                (Value::Null, Some(default)) => env.eval(default)?,
                _ => value,
            };
            // a field that the document does not have is not reported, nor what a conversion always writes
            let made = self.makes.is_some() && map.reads.is_empty();
            if !made && (!raw.is_null() || !value.is_null()) {
                out.fields.push(map.report(&raw, &value));
            }
            if map.drop.is_some() || value.is_null() {
                continue;
            }
            if map.whole {
                out.scene = value.over(std::mem::take(&mut out.scene));
            } else if !map.to.is_empty() {
                put(&mut out.scene, &map.to, value);
            }
        }
        if self.makes.is_some() && !self.rest.keeps() {
            read.extend(&self.kind);
        }
        let rest = rest(&root, &read, self, &mut out.fields);
        if self.rest.in_place {
            out.scene = std::mem::take(&mut out.scene).over(rest);
        } else if !self.rest.names.is_empty() && !rest.is_empty() {
            let below = self.rest.names.iter().try_fold(&out.scene, |value, name| value.get(name)).cloned();
            put(&mut out.scene, &self.rest.names, below.unwrap_or_default().over(rest));
        } else {
            out.rest = rest;
        }
        // there may be a hundred thousand of them
        if let Value::Map(map) = &mut out.scene
            && let Some(map) = Arc::get_mut(map)
        {
            map.shrink_to_fit();
        }
        Ok(out)
    }

    fn coded(&self, map: &FieldMapping, raw: &Value, st: &BuildState, out: &mut ImportedDocument) -> Value {
        let Some(code) = &map.code else { return raw.clone() };
        if raw.is_null() {
            return Value::Null;
        }
        let values = st.rules.row("code", code).and_then(|row| row.get("values").cloned()).unwrap_or_default();
        let found = values.get(&raw.shown()).cloned();
        if found.is_none() {
            let word = short::word(&raw.shown());
            out.warnings.push(format!("`{}`: `{word}` is no value that `{code}` knows; the default is used", map.name));
        }
        found.unwrap_or_default()
    }
}

/// A warning about what is wrong with a document; `None` if there is nothing to report.
fn told(what: &str, wrong: &Value) -> Option<String> {
    let words: Vec<Arc<str>> = match wrong {
        Value::List(list) => list.iter().map(Value::shown).collect(),
        _ if wrong.is_empty() => Vec::new(),
        one => vec![one.shown()],
    };
    (!words.is_empty()).then(|| format!("{what}: {}", short::listed(words.iter().map(AsRef::as_ref))))
}

impl FieldMapping {
    /// Each element of a list, or of the values of a table, converted by the rows of another format.
    fn each(
        &self,
        by: &ForeignFormat,
        list: &Value,
        env: &Env<'_>,
        all: &[ForeignFormat],
        depth: usize,
        out: &mut ImportedDocument,
    ) -> Result<Value, EvalFault> {
        if depth >= limits::CHAIN {
            let message =
                format!("rows with `item` are nested deeper than {}: `{}` converts itself again and again", limits::CHAIN, by.name);
            return Err(EvalFault::bound(message));
        }
        let elements = match list {
            Value::List(list) => list.to_vec(),
            Value::Map(map) => map.values().cloned().collect(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        let mut made = Vec::with_capacity(elements.len());
        let mut fields = ReportTally::default();
        for element in elements {
            // rows are about the fields of tables
            if element.as_map().is_none() {
                made.push(element);
                continue;
            }
            let one = by.bring_at(&element, env.st, all, depth + 1)?;
            fields.add(one.fields);
            out.warnings.extend(one.warnings);
            made.push(one.scene);
        }
        let named = self.reads.first().map_or_else(|| self.name.to_string(), |names| names.join("."));
        out.fields.extend(fields.under(&named, &self.to.join(".")));
        let Some(key) = &self.key else { return Ok(Value::list(made)) };
        let (mut table, mut free) = (Map::default(), 0_usize);
        for (n, element) in made.into_iter().enumerate() {
            let mut key = env.inner(CurrentItem::Value(&element, n)).eval(key)?.shown();
            // of two elements with one key, the second gets a number that is free
            while table.contains_key(&key) {
                key = Arc::from(free.to_string());
                free += 1;
            }
            table.insert(key, element);
        }
        Ok(Value::map(table))
    }
}

/// What became of one field of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldOutcome {
    /// The value as it was; or no rule reads the field, and it is carried along.
    Kept,
    /// The value under another name or spelling.
    Mapped,
    /// A value that means nearly the same.
    Approximated,
    /// Nothing: the rules say why, or no rule of a conversion reads it.
    Dropped,
}

/// One line of an import report.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FieldReport {
    /// The field of the document, or the row that makes a value without one.
    pub field: String,
    /// What became of it.
    pub fate: FieldOutcome,
    /// The scene path, where there is one.
    pub to: String,
    /// Why, where there is more to say.
    pub note: String,
    /// In how many elements of a list; 1 for a field of the document itself.
    pub times: usize,
}

impl FieldMapping {
    pub(super) fn report(&self, raw: &Value, value: &Value) -> FieldReport {
        let field = self.reads.first().map_or_else(|| self.name.to_string(), |names| names.join("."));
        let to = self.to.join(".");
        let (fate, note) = match (&self.drop, &self.approximate) {
            (Some(why), _) => (FieldOutcome::Dropped, why.to_string()),
            (None, Some(why)) => (FieldOutcome::Approximated, why.to_string()),
            (None, None) if raw.is_null() => (FieldOutcome::Mapped, "missing; the default is used".to_owned()),
            (None, None) if raw == value && self.to.last() == self.reads.first().and_then(|names| names.last()) => {
                (FieldOutcome::Kept, String::new())
            }
            (None, None) => (FieldOutcome::Mapped, String::new()),
        };
        FieldReport { field, fate, to, note, times: 1 }
    }
}

/// The reports about the elements of a list, counted.
#[derive(Default)]
pub(super) struct ReportTally(IndexMap<(String, FieldOutcome, String, String), usize>);

impl ReportTally {
    pub(super) fn add(&mut self, fields: Vec<FieldReport>) {
        for f in fields {
            *self.0.entry((f.field, f.fate, f.to, f.note)).or_default() += f.times;
        }
    }

    /// The reports as those of the list `field`, which becomes the list `to`.
    pub(super) fn under(self, field: &str, to: &str) -> impl Iterator<Item = FieldReport> {
        self.0.into_iter().map(move |((inner, fate, target, note), times)| FieldReport {
            field: format!("{field}[].{inner}"),
            fate,
            to: if target.is_empty() { String::new() } else { format!("{to}[].{target}") },
            note,
            times,
        })
    }
}

/// The fields of the document that no rule reads, at any depth of tables.
pub(super) fn rest(root: &Value, read: &[&PathNames], format: &ForeignFormat, fields: &mut Vec<FieldReport>) -> Value {
    let Some(map) = root.as_map() else { return Value::Null };
    let mut rest = Map::default();
    let read: Vec<&[Arc<str>]> = read.iter().map(|names| names.as_slice()).collect();
    unread(map, &read, "", format, fields, &mut rest);
    Value::map(rest)
}

fn unread(map: &Map, read: &[&[Arc<str>]], above: &str, format: &ForeignFormat, fields: &mut Vec<FieldReport>, rest: &mut Map) {
    for (key, value) in map {
        let below: Vec<_> =
            read.iter().filter_map(|names| names.split_first()).filter(|(head, _)| *head == key).map(|(_, tail)| tail).collect();
        let field = if above.is_empty() { key.to_string() } else { format!("{above}.{key}") };
        if below.iter().any(|tail| tail.is_empty()) {
            continue;
        }
        match value {
            Value::Map(inner) if !below.is_empty() => {
                let mut kept = Map::default();
                unread(inner, &below, &field, format, fields, &mut kept);
                if !kept.is_empty() {
                    rest.insert(key.clone(), Value::map(kept));
                }
            }
            _ if !below.is_empty() => {}
            _ => {
                rest.insert(key.clone(), value.clone());
                fields.push(format.unread(field));
            }
        }
    }
}

impl ForeignFormat {
    /// The report of a field that no rule reads.
    fn unread(&self, field: String) -> FieldReport {
        let (fate, to, note) = match &self.makes {
            None => (FieldOutcome::Kept, format!("rest.{field}"), "no rule reads it".to_owned()),
            Some(_) if self.rest.in_place => (FieldOutcome::Kept, field.clone(), String::new()),
            Some(made) if self.rest.names.is_empty() => (FieldOutcome::Dropped, String::new(), format!("`{made}` has no field for it")),
            Some(made) => {
                let to = format!("{}.{field}", self.rest.names.join("."));
                (FieldOutcome::Kept, to, format!("carried along; `{made}` has no field for it"))
            }
        };
        FieldReport { field, fate, to, note, times: 1 }
    }
}

/// Compiles all formats of a pack.
pub(super) fn compile_formats(cx: &mut CompileContext<'_>) -> FormatList {
    let pack = cx.pack;
    let known = known_formats(cx);
    let mut formats = formats(cx, None);
    for row in pack.rows("map") {
        cx.rule = format!("map {}", row.name);
        let owner = cx.named("format", &known, owner(row), row.span);
        let converts = formats.get(owner).is_some_and(|format| format.makes.is_some());
        if let Some(mapping) = mapping(cx, row, &known, converts)
            && let Some(maps) = formats.get_mut(owner).and_then(|format| format.maps.get_mut())
        {
            maps.push(mapping);
        }
    }
    FormatList::new(formats)
}

/// The names of the formats of a pack.
fn known_formats(cx: &CompileContext<'_>) -> Vec<Arc<str>> {
    cx.pack.rows("format").map(|row| row.name.clone()).collect()
}

/// The format that a row of `map` belongs to.
fn owner(row: &PackRow) -> &str {
    row.name.split_once('/').map_or("", |(format, _)| format)
}

/// Compiles the rows of `format`, whose rows of `map` are compiled when they are needed if a compiler is given.
fn formats(cx: &mut CompileContext<'_>, deferred: Option<&Arc<DeferredCompiler>>) -> Vec<ForeignFormat> {
    let (pack, known) = (cx.pack, known_formats(cx));
    let mut formats = Vec::new();
    for row in pack.rows("format") {
        cx.rule = format!("format {}", row.name);
        // a conversion takes the documents of another format
        let of = row.fields.get("of").map(|f| cx.named("format", &known, f.node.as_text().unwrap_or(""), f.node.span));
        let source = of.and_then(|n| pack.rows("format").nth(n));
        let cell = |key: &str| row.fields.get(key).or_else(|| source?.fields.get(key));
        let (detect, root) = cx.within(ItemScope::Any, |cx| {
            (cell("detect").map(|f| cx.cond(&f.node, PathMode::Item)), cell("root").map(|f| cx.expr(&f.node)))
        });
        let about = row.text("about").unwrap_or("").into();
        let makes = row.text("makes").map(Arc::from);
        if let (Some(rest), None) = (row.fields.get("rest"), &makes) {
            let help = Some("name the format that is made with `makes`; an import returns such fields beside the scene".into());
            cx.fail(Code::TermMissing, rest.node.span, "`rest` is for conversions to another format", help);
        }
        let given = row.text("rest");
        let rest = RestTarget { names: path(given.unwrap_or("")), in_place: given == Some(".") };
        let kind = cell("detect").map(|f| kind_fields(&f.node)).unwrap_or_default();
        let maps = if deferred.is_some() { OnceLock::new() } else { Vec::new().into() };
        formats.push(ForeignFormat { name: row.name.clone(), about, detect, kind, root, maps, makes, rest, deferred: deferred.cloned() });
    }
    formats
}

/// Compiles a row of `map`; `known` are the names of all formats, and `converts` says that its format makes another one.
fn mapping(cx: &mut CompileContext<'_>, row: &PackRow, known: &[Arc<str>], converts: bool) -> Option<FieldMapping> {
    let pack = cx.pack;
    let text = |key: &str| row.text(key).map(Arc::<str>::from);
    let to = text("to").unwrap_or_default();
    // what a conversion makes is not a scene
    if !to.is_empty() && !converts && !cx.names.knows_path(&to) {
        let known: Vec<String> = cx.names.path_names().map(str::to_owned).collect();
        let span = row.fields.get("to").map_or(row.span, |f| f.node.span);
        cx.unknown("scene path", &to, span, known.iter().map(String::as_str));
    }
    if let (Some(code), Some(f)) = (text("code"), row.fields.get("code")) {
        let codes: Vec<Arc<str>> = pack.rows("code").map(|row| row.name.clone()).collect();
        cx.named("code", &codes, &code, f.node.span);
    }
    let item = row.fields.get("item").map(|f| cx.named("format", known, f.node.as_text().unwrap_or(""), f.node.span));
    let dropped = text("drop");
    let Some(from) = row.node("from") else {
        cx.fail(Code::TermMissing, row.span, "a map row needs `from`", Some("write `from = \"@field\"`".into()));
        return None;
    };
    let value = cx.within(ItemScope::Any, |cx| cx.expr(from));
    let mut reads = heads(from);
    value_fields(&value, 0, &mut reads);
    Some(cx.within(ItemScope::Any, |cx| FieldMapping {
        name: row.name.clone(),
        reads,
        from: value,
        whole: to.as_ref() == ".",
        to: path(&to),
        item,
        key: row.fields.get("key").map(|f| cx.expr(&f.node)),
        code: text("code"),
        default: row.fields.get("default").map(|f| cx.expr(&f.node)),
        when: row.fields.get("when").map(|f| cx.cond(&f.node, PathMode::Item)),
        approximate: text("approximate"),
        drop: dropped,
        warn: text("warn"),
    }))
}

/// Adds the fields of the document that the value of an expression as text is made of. A field that only decides which value is
/// taken is not one of them. `depth`: how many items are around the value.
fn value_fields(value: &Expr, depth: u8, out: &mut Vec<PathNames>) {
    let mut each = |parts: &mut dyn Iterator<Item = &Expr>| parts.for_each(|part| value_fields(part, depth, out));
    match value {
        Expr::Text(list) | Expr::List(list) | Expr::First(list) | Expr::Over(list) => each(&mut list.iter()),
        Expr::Fn(call) => each(&mut call.args.iter().map(|(_, value)| value)),
        Expr::Pipe(pipe) => value_fields(&pipe.of, depth, out),
        Expr::Query(query) => {
            if let QuerySource::Value(of) = &query.of {
                value_fields(of, depth, out);
            }
        }
        Expr::Operation(operation) => {
            let conditions = match &**operation {
                Operation::All(_) | Operation::Any(_) | Operation::Presence(_) => return,
                Operation::Choice(_) => 1,
                _ => 0,
            };
            for (part, more) in operation.parts().skip(conditions) {
                value_fields(part, depth.saturating_add_signed(more), out);
            }
        }
        Expr::Field(FieldRef { up, field: Some((_, name)), rest }) if *up == depth => {
            let below = rest.iter().map_while(|step| if let PathSegment::Name(name) = step { Some(name.clone()) } else { None });
            let names: PathNames = std::iter::once(name.clone()).chain(below).collect();
            if !out.contains(&names) {
                out.push(names);
            }
        }
        _ => {}
    }
}

/// The names of a path.
fn path(text: &str) -> PathNames {
    text.split('.').filter(|s| !s.is_empty()).map(Arc::from).collect()
}

/// The fields of the document that a condition compares with one text.
fn kind_fields(detect: &DocumentNode) -> Vec<PathNames> {
    let mut out = Vec::new();
    let mut open = vec![detect];
    while let Some(node) = open.pop() {
        for (key, field) in node.as_table().into_iter().flatten() {
            match key.as_ref() {
                "any" | "all" => open.extend(field.node.as_list().unwrap_or(&[])),
                _ if field.node.as_text().is_some() => out.push(path(key)),
                _ => {}
            }
        }
    }
    out
}

/// The paths of the document that a value mentions, in the order written. Inside a query `@name` is an element's field
/// and `@outer.name` the document's; deeper queries cannot reach the document.
fn heads(node: &DocumentNode) -> Vec<PathNames> {
    let mut out: Vec<PathNames> = Vec::new();
    let mut open = vec![(node, 0)];
    while let Some((node, depth)) = open.pop() {
        if let Some(text) = node.as_text() {
            let found = text.split('@').skip(1).map(|piece| match piece.strip_prefix("outer.") {
                Some(rest) => (1, rest),
                None => (0, piece),
            });
            for (_, rest) in found.filter(|(up, _)| *up == depth) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(rest.len());
                let read = path(rest.get(..end).unwrap_or_default());
                if !read.is_empty() && !out.contains(&read) {
                    out.push(read);
                }
            }
        }
        let query = node.get("of").is_some() && node.get("fn").is_none();
        open.extend(node.as_list().unwrap_or(&[]).iter().rev().map(|n| (n, depth)));
        // what a query asks of its elements is one level further in
        let inside = |key: &str| if query && !matches!(key, "of" | "append_to" | "join" | "skip" | "take") { depth + 1 } else { depth };
        open.extend(node.as_table().into_iter().flatten().rev().map(|(key, f)| (&f.node, inside(key))));
    }
    out
}
