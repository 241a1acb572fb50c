//! Fields that a conversion loses without a word: rules read them, and nothing of the result depends on them.
//!
//! The rules say what they read, and not what they do with it. So fields are given other values, and the document is
//! converted once more: if the result stays the same, they are lost. All fields are tried together, and halves of those that
//! make a difference, so that a document of very many lost fields takes a few conversions. This is tried on a few elements of
//! each list, which have all fields of the others.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Value as Json, json};

use crate::import::Contents;
use crate::layout::{head, table};
use crate::model::{Map, Value, WorkLimits};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::program::foreign::{FieldOutcome, FieldReport, ImportedDocument};
use crate::text::work::BudgetScope;

/// The most conversions of a document that are tried.
const MOST: usize = 1_000;
/// How many elements of a list are looked at, beside those with fields that the others do not have.
const FIRST: usize = 2;
/// A key and a value that no document has.
const OTHER: &str = "~other~";
/// What a row of `map` does with a value; without any of these, it says that the value needs no place.
const USES: [&str; 5] = ["to", "drop", "approximate", "warn", "item"];

/// The single values of a document by their paths, in which elements of lists have no number.
type DocumentLeaves<'d> = IndexMap<String, Vec<&'d Value>>;

/// Adds to the report of a conversion the fields that are lost although rules read them. `again` is the conversion.
pub(super) fn add_lost_fields(
    made: &mut ImportedDocument,
    document: &Value,
    rules: &Ruleset,
    again: &dyn Fn(Value) -> Option<ImportedDocument>,
) {
    let few = few_elements(document, "");
    let Some(usual) = again(few.clone()) else { return };
    let mut all = DocumentLeaves::new();
    leaves(document, "", &mut all);
    let excused = paths_read_without_use(rules);
    let bad = made.fields.iter().filter(|field| matches!(field.fate, FieldOutcome::Dropped | FieldOutcome::Approximated));
    let told: Vec<String> = bad.map(|field| field.field.clone()).collect();
    let is_told = |path: &str| told.iter().any(|field| is_within(path, field)) || excused.iter().any(|read| is_last(path, read));
    let format = rules.programs().formats.iter().find(|format| *format.name == *made.format);
    let format = format.and_then(|format| format.makes.as_deref()).unwrap_or(&made.format).to_owned();
    let door = BudgetScope::open(WorkLimits { steps: u64::MAX, bytes: u64::MAX });
    let tried = ConversionSample::new(&few, &usual, again, &door);
    let open = all.keys().map(String::as_str).filter(|path| !is_told(path) && !tried.is_there(path));
    let mut lost = HashSet::new();
    tried.same(&open.collect::<Vec<_>>(), &mut lost);
    lost.retain(|path| !tried.is_copied(path));
    let texts = tried.texts_of_lists(&lost);
    for (path, values) in all.iter().filter(|(path, _)| lost.contains(path.as_str())) {
        let note = loss_note(path, &format, values, &texts);
        made.fields.push(FieldReport { field: path.clone(), fate: FieldOutcome::Dropped, to: String::new(), note, times: values.len() });
    }
    if tried.untried.get() > 0 {
        let untried = tried.untried.get();
        made.warnings.push(format!("{untried} fields were not tried out, so they may be lost without being named"));
    }
}

/// The report with every field of tables and lists that are dropped as a whole.
pub(super) fn split_dropped_fields(fields: Vec<FieldReport>, document: &Value) -> Vec<FieldReport> {
    let mut all = DocumentLeaves::new();
    leaves(document, "", &mut all);
    let split = |field: FieldReport| {
        // a row that makes its values itself is named by its own name
        if field.fate != FieldOutcome::Dropped || field.field.contains('/') {
            return vec![field];
        }
        let below = all.iter().filter(|(path, _)| **path != field.field && is_within(path, &field.field));
        let below = below.map(|(path, values)| FieldReport { field: path.clone(), times: values.len(), ..field.clone() });
        let below: Vec<FieldReport> = below.collect();
        if below.is_empty() { vec![field] } else { below }
    };
    fields.into_iter().flat_map(split).collect()
}

/// A document with few elements, what it becomes, and the conversion.
struct ConversionSample<'t> {
    few: &'t Value,
    usual: &'t ImportedDocument,
    again: &'t dyn Fn(Value) -> Option<ImportedDocument>,
    /// The single values of the document.
    own: DocumentLeaves<'t>,
    /// Those of what it becomes, as [`known`] gives them.
    result: HashSet<(String, Arc<str>)>,
    /// Whether another value in a table or list is copied, by its path.
    copied: RefCell<HashMap<String, bool>>,
    door: &'t BudgetScope,
    conversions: Cell<usize>,
    /// Fields that were not tried out.
    untried: Cell<usize>,
}

impl<'t> ConversionSample<'t> {
    fn new(
        few: &'t Value,
        usual: &'t ImportedDocument,
        again: &'t dyn Fn(Value) -> Option<ImportedDocument>,
        door: &'t BudgetScope,
    ) -> Self {
        let (mut own, mut result) = (DocumentLeaves::new(), DocumentLeaves::new());
        leaves(few, "", &mut own);
        leaves(&usual.scene, "", &mut result);
        let result = result.iter().flat_map(|(at, found)| found.iter().map(|value| value_key(at, value))).collect();
        let (copied, conversions, untried) = Default::default();
        Self { few, usual, again, own, result, copied, door, conversions, untried }
    }

    /// Whether no more conversions may be tried.
    fn is_spent(&self) -> bool {
        self.conversions.get() >= MOST || self.door.spent().0 > WorkLimits::default().steps
    }

    fn convert(&self, document: Value) -> Option<ImportedDocument> {
        self.conversions.set(self.conversions.get() + 1);
        (self.again)(document)
    }

    /// Adds those of the paths on whose values the result does not depend.
    fn same<'p>(&self, paths: &[&'p str], same: &mut HashSet<&'p str>) {
        if paths.is_empty() {
            return;
        }
        if self.is_spent() {
            return self.untried.set(self.untried.get() + paths.len());
        }
        let meant: HashSet<&str> = paths.iter().copied().collect();
        let differs = |n: usize| {
            let changed = with_changed_values(self.few, "", &|path| meant.contains(path), &|value| changed_value(value, n));
            self.convert(changed).is_none_or(|made| !is_same(&made, self.usual))
        };
        if !(0..2).any(differs) {
            same.extend(paths);
        } else if let (first, second @ [_, ..]) = paths.split_at(paths.len() / 2)
            && !first.is_empty()
        {
            self.same(first, same);
            self.same(second, same);
        }
    }

    /// Whether the result holds the values at a path: texts anywhere, and others under the same name.
    fn is_there(&self, path: &str) -> bool {
        let has = |value: &&Value| self.result.contains(&value_key(path, value));
        self.own.get(path).is_some_and(|values| values.iter().all(has))
    }

    /// Whether a table or list is copied as a whole, so that another value would stand above this one.
    fn is_copied(&self, path: &str) -> bool {
        let above = parent_path(path);
        if let Some(known) = self.copied.borrow().get(above) {
            return *known;
        }
        if self.is_spent() {
            self.untried.set(self.untried.get() + 1);
            return true;
        }
        let copied = self.texts(with_added_values(self.few, "", above)).contains(OTHER);
        self.copied.borrow_mut().insert(above.to_owned(), copied);
        copied
    }

    /// The texts of what a document becomes.
    fn texts(&self, document: Value) -> HashSet<Arc<str>> {
        let Some(made) = self.convert(document) else { return HashSet::new() };
        let mut result = DocumentLeaves::new();
        leaves(&made.scene, "", &mut result);
        let texts = result.values().flatten().filter_map(|value| value.as_str());
        texts.map(Arc::from).collect()
    }

    /// The texts that the result holds if each of the lost ones stands in a list.
    fn texts_of_lists(&self, lost: &HashSet<&str>) -> HashSet<Arc<str>> {
        let listed = || with_changed_values(self.few, "", &|path| lost.contains(path), &|value| Value::list(vec![value.clone()]));
        if lost.is_empty() { HashSet::new() } else { self.texts(listed()) }
    }
}

/// By what a value is found again: a text by itself, another one with its name.
fn value_key(path: &str, value: &Value) -> (String, Arc<str>) {
    let name = if value.as_str().is_some() { String::new() } else { format!("{}:", last_name(path)) };
    (name, value.to_text())
}

/// Why the values at a path are lost, and what to do. `texts` are those that would be taken from a list.
fn loss_note(path: &str, format: &str, values: &[&Value], texts: &HashSet<Arc<str>>) -> String {
    let kind = match values.first() {
        Some(Value::Text(_)) => "text",
        Some(Value::Bool(_)) => "truth value",
        _ => "number",
    };
    let why = format!("`{format}` takes nothing from this {kind}");
    let mut own = values.iter().filter_map(|value| value.as_str()).filter(|_| !path.ends_with("[]"));
    match own.next() {
        Some(text) if texts.contains(text) => format!("{why}, but it does from a list: write `[…]` around the text"),
        _ => why,
    }
}

fn is_same(a: &ImportedDocument, b: &ImportedDocument) -> bool {
    a.scene == b.scene && a.rest == b.rest && a.warnings == b.warnings
}

/// What rows read without any use for it, because another value says the same.
fn paths_read_without_use(rules: &Ruleset) -> Vec<String> {
    let rows = rules.pack().tables.get("map").into_iter().flat_map(|rows| rows.values());
    let unused = rows.filter(|row| !USES.iter().any(|key| row.fields.contains_key(*key)));
    let from = unused.filter_map(|row| row.fields.get("from")).map(|field| &field.node);
    let texts = from.flat_map(|node| node.as_list().unwrap_or(std::slice::from_ref(node))).filter_map(|node| node.as_text());
    texts.filter_map(|text| text.strip_prefix('@')).map(str::to_owned).collect()
}

/// Whether a path is that of a field, or below it. A field of a row that makes its values itself is known by its end.
fn is_within(path: &str, field: &str) -> bool {
    let below = path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    below || field.contains('/') && field.split_once("[].").is_some_and(|(_, end)| path.ends_with(&format!("[].{end}")))
}

/// Whether a path is another one, or ends with it.
fn is_last(path: &str, end: &str) -> bool {
    path == end || path.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
}

/// The name that a path ends with.
fn last_name(path: &str) -> &str {
    path.trim_end_matches("[]").rsplit(['.', ']']).next().unwrap_or(path)
}

/// The path of the table or list that a value stands in.
fn parent_path(path: &str) -> &str {
    path.strip_suffix("[]").or_else(|| path.rsplit_once('.').map(|(above, _)| above)).unwrap_or_default()
}

/// Another value of the same kind; of a number there are two.
fn changed_value(value: &Value, n: usize) -> Value {
    match value {
        Value::Bool(is) => Value::Bool(!is),
        Value::Int(0) if n > 0 => Value::Int(-1),
        Value::Int(_) if n > 0 => Value::Int(0),
        Value::Int(number) => Value::Int(number.saturating_add(1)),
        Value::Num(_) if n > 0 => Value::Num(0.0),
        Value::Num(number) => Value::Num(number + 1.0),
        Value::Text(text) => Value::text(format!("{text}{OTHER}")),
        value => value.clone(),
    }
}

/// What a list or a table holds, each with its path. The keys of a table that are numbers are those of elements.
fn children<'v>(value: &'v Value, at: &str) -> Vec<(String, &'v Value)> {
    match value {
        Value::List(list) => list.iter().map(|one| (format!("{at}[]"), one)).collect(),
        Value::Map(map) if is_numbered(map) => map.values().map(|one| (format!("{at}[]"), one)).collect(),
        Value::Map(map) => {
            let dot = if at.is_empty() { "" } else { "." };
            map.iter().map(|(key, one)| (format!("{at}{dot}{key}"), one)).collect()
        }
        _ => Vec::new(),
    }
}

fn is_numbered(map: &Map) -> bool {
    !map.is_empty() && map.keys().all(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()))
}

/// The single values of a document that say something.
fn leaves<'d>(value: &'d Value, at: &str, out: &mut DocumentLeaves<'d>) {
    match value {
        Value::List(_) | Value::Map(_) => children(value, at).into_iter().for_each(|(path, one)| leaves(one, &path, out)),
        one if one.is_empty() => {}
        one => out.entry(at.to_owned()).or_default().push(one),
    }
}

/// A document with few elements in each list: the first ones, and those with fields that no other one has.
fn few_elements(value: &Value, at: &str) -> Value {
    let mut seen = IndexSet::new();
    let mut is_new = |n: usize, path: &str, one: &Value| {
        let (before, mut own) = (seen.len(), DocumentLeaves::new());
        leaves(one, path, &mut own);
        seen.extend(own.into_keys());
        n < FIRST || seen.len() > before
    };
    let are_elements = value.as_map().is_none_or(is_numbered);
    let inner = children(value, at);
    let kept: Vec<bool> = inner.iter().enumerate().map(|(n, (path, one))| !are_elements || is_new(n, path, one)).collect();
    let inner = inner.into_iter().zip(kept).map(|((path, one), is_kept)| is_kept.then(|| few_elements(one, &path)));
    match value {
        Value::List(_) => Value::list(inner.flatten().collect()),
        Value::Map(map) => Value::map(map.keys().cloned().zip(inner).filter_map(|(key, one)| Some((key, one?))).collect()),
        one => one.clone(),
    }
}

/// A document with other single values at the paths that are meant.
fn with_changed_values(value: &Value, at: &str, is_meant: &dyn Fn(&str) -> bool, change: &dyn Fn(&Value) -> Value) -> Value {
    let inner = |(below, one): (String, &Value)| with_changed_values(one, &below, is_meant, change);
    match value {
        Value::List(_) => Value::list(children(value, at).into_iter().map(inner).collect()),
        Value::Map(map) => Value::map(map.keys().cloned().zip(children(value, at).into_iter().map(inner)).collect()),
        one if !one.is_empty() && is_meant(at) => change(one),
        one => one.clone(),
    }
}

/// A document with another value in each table or list at a path.
fn with_added_values(value: &Value, at: &str, path: &str) -> Value {
    let inner = |(below, one): (String, &Value)| with_added_values(one, &below, path);
    match value {
        Value::List(_) | Value::Map(_) if !path.starts_with(at) => value.clone(),
        Value::List(_) => {
            let more = (at == path).then(|| Value::text(OTHER));
            Value::list(children(value, at).into_iter().map(inner).chain(more).collect())
        }
        Value::Map(map) => {
            let more = (at == path).then(|| (Arc::<str>::from(OTHER), Value::text(OTHER)));
            Value::map(map.keys().cloned().zip(children(value, at).into_iter().map(inner)).chain(more).collect())
        }
        one => one.clone(),
    }
}

/// The most characters that the table shows of a field, and of what is said about it.
const FIELD: usize = 80;
const NOTE: usize = 200;

/// Shows what became of each field of a file.
pub(crate) fn report_fields(brought: &ImportedDocument, contents: &Contents, file: &Path, show: &mut Console<'_>) {
    let skipped = contents.skipped;
    if show.is_json() {
        let mut out = json!({ "file": file, "format": brought.format, "kept": contents.kept, "skipped": skipped });
        if let Json::Object(out) = &mut out {
            out.insert("fields".to_owned(), json!(brought.fields));
            out.insert("warnings".to_owned(), json!(brought.warnings));
        }
        show.json(&out);
        return;
    }
    let rows: Vec<Vec<String>> = brought
        .fields
        .iter()
        .map(|f| vec![outcome_word(f.fate).to_owned(), head(&counted_field(f), FIELD), head(&f.to, FIELD), head(&f.note, NOTE)])
        .collect();
    let lines = if skipped > 0 { format!("; {} lines kept, {skipped} skipped", contents.kept) } else { String::new() };
    show.result(&format!("format {}\n{}{}{lines}\n", brought.format, table(&rows), outcome_counts(brought)));
}

/// The field, and in how many elements it was found.
fn counted_field(field: &FieldReport) -> String {
    if field.times > 1 { format!("{} ({})", field.field, field.times) } else { field.field.clone() }
}

/// The fields that are not as they were, one line each.
pub(crate) fn field_losses(brought: &ImportedDocument) -> Vec<String> {
    let bad = brought.fields.iter().filter(|f| matches!(f.fate, FieldOutcome::Approximated | FieldOutcome::Dropped));
    bad.map(|f| format!("`{}` is {}: {}", counted_field(f), outcome_word(f.fate), f.note)).collect()
}

fn outcome_counts(brought: &ImportedDocument) -> String {
    let of = |fate: FieldOutcome| brought.fields.iter().filter(|f| f.fate == fate).count();
    [FieldOutcome::Kept, FieldOutcome::Mapped, FieldOutcome::Approximated, FieldOutcome::Dropped]
        .map(|f| format!("{} {}", of(f), outcome_word(f)))
        .join(", ")
}

fn outcome_word(fate: FieldOutcome) -> &'static str {
    match fate {
        FieldOutcome::Kept => "kept",
        FieldOutcome::Mapped => "mapped",
        FieldOutcome::Approximated => "approximated",
        FieldOutcome::Dropped => "dropped",
    }
}
