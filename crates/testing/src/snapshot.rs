//! `--update`: writes what came out into the case file, in the place of what was expected. Only the values that differ are
//! replaced, so comments and the layout of everything else stay. What it has written itself is marked `snapshot = true`.

use std::path::PathBuf;

use serde_json::{Map, Value as Json};
use toml_writer::{ToTomlKey, ToTomlValue, TomlStringBuilder};

use super::compare::{Difference, ValueStep, matcher};
use crate::diag::{DocumentNode, Report, Sources, Span, TableField};

/// What `--update` changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotChange {
    /// A part of the case file.
    Text(TextEdit),
    /// A payload file, with its new text.
    Payload(PathBuf, String),
}

/// One replacement in a text: the bytes, and what comes in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What is written there.
    pub text: String,
}

/// The replacement for a difference; an error says why there is none.
///
/// # Errors
/// The value is not written as one value, or is a test that only its author can rewrite.
pub fn of_difference(difference: &Difference, expect: &DocumentNode, sources: &Sources) -> Result<TextEdit, String> {
    let mut node = expect;
    for step in &difference.steps {
        let next = match step {
            ValueStep::Key(key) => node.get(key),
            ValueStep::Index(n) => node.as_list().and_then(|list| list.get(*n)),
        };
        match next {
            Some(found) => node = found,
            None => return Err(format!("`{}` is not written in the file", difference.place())),
        }
    }
    let test = difference.wanted.as_object().and_then(|table| matcher(table, &difference.got));
    if test.is_some_and(|(word, _)| word != "missing") && difference.problem.is_some() {
        return Err(format!("`{}` is a test, which only its author can change", difference.place()));
    }
    let text = toml_value(&pruned(&difference.wanted, &difference.got));
    if test.is_none() && holds_test(&difference.wanted) {
        return Err(format!("`{}` holds tests, which only its author can change", difference.place()));
    }
    if !is_value(sources.snippet(node.span)) {
        return Err(format!("`{}` is not written as one value; write it in the line of its key", difference.place()));
    }
    Ok(TextEdit { start: node.span.start as usize, end: node.span.end as usize, text })
}

/// The lines for a case or turn that expects nothing yet.
///
/// # Errors
/// There is no key of the case in whose next line it can stand.
pub fn new_expect(case: &DocumentNode, expect: &Map<String, Json>, sources: &Sources, source: Span) -> Result<TextEdit, String> {
    let Some(text) = sources.get(source.source).map(|s| s.text.clone()) else { return Err("the file is not at hand".to_owned()) };
    let written = toml_value(&Json::Object(expect.clone()));
    if let Some(TableField { key, node }) = case.as_table().and_then(|table| table.get("expect")) {
        // it is written, and empty
        let (start, end) = (node.span.start as usize, node.span.end as usize);
        if text.get(start..).is_some_and(|at| at.starts_with('{')) {
            return Ok(TextEdit { start, end, text: written });
        }
        let at = text.get(key.end as usize..).and_then(|rest| rest.find('\n')).map_or(text.len(), |n| key.end as usize + n);
        let lines = expect.iter().map(|(name, value)| format!("\n{} = {}", name.to_toml_key(), toml_value(value)));
        return Ok(TextEdit { start: at, end: at, text: lines.collect() });
    }
    let is_marked = case.get("snapshot").is_some();
    if text.get(case.span.start as usize..).is_some_and(|at| at.starts_with('{')) {
        // an inline table: the turn of a list
        let end = case.span.end.saturating_sub(1) as usize;
        let before = text.get(..end).unwrap_or_default().trim_end();
        let comma = if before.ends_with('{') || before.ends_with(',') { " " } else { ", " };
        return Ok(TextEdit {
            start: before.len(),
            end,
            text: format!("{comma}expect = {written}{} ", if is_marked { "" } else { ", snapshot = true" }),
        });
    }
    let fields = case.as_table().into_iter().flatten();
    let line_of = |at: u32| text.get(..at as usize).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
    let is_simple = |key: Span| text.get(line_of(key.start)..key.start as usize).is_some_and(|before| before.trim().is_empty());
    let last = fields.filter(|(_, field)| is_simple(field.key)).map(|(_, field)| field.node.span.end).max();
    let Some(end) = last else { return Err("the case has no key in a line of its own".to_owned()) };
    let at = text.get(end as usize..).and_then(|rest| rest.find('\n')).map_or(text.len(), |n| end as usize + n);
    Ok(TextEdit { start: at, end: at, text: format!("\nexpect = {written}{}", if is_marked { "" } else { "\nsnapshot = true" }) })
}

/// Lays replacements over a text. Of two that overlap, the first is taken. `None` if the result is not TOML.
#[must_use]
pub fn apply(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut sorted: Vec<&TextEdit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for edit in sorted {
        if edit.start < at {
            continue;
        }
        out.push_str(text.get(at..edit.start)?);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(text.get(at..)?);
    is_document(&out).then_some(out)
}

/// Whether there is a test in what is written. What is not there is a value like any other.
fn holds_test(wanted: &Json) -> bool {
    match wanted {
        Json::Object(table) => matcher(table, &Json::Null).is_some_and(|(word, _)| word != "missing") || table.values().any(holds_test),
        Json::Array(list) => list.iter().any(holds_test),
        _ => false,
    }
}

/// What came out, with no more keys than are written. The rows of a list of another length have the keys of the rows that
/// are written.
fn pruned(wanted: &Json, got: &Json) -> Json {
    match (wanted, got) {
        // a test says nothing of the keys
        (Json::Object(table), _) if matcher(table, got).is_some() => got.clone(),
        (Json::Object(table), Json::Object(found)) => {
            let kept = table.iter().map(|(key, value)| (key.clone(), found.get(key).map_or(Json::Null, |got| pruned(value, got))));
            Json::Object(kept.collect())
        }
        (Json::Array(list), Json::Array(found)) => {
            let mut like = Map::new();
            for table in list.iter().filter_map(Json::as_object) {
                like.extend(table.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            let like = Json::Object(like);
            let one = |got: &Json| match got {
                Json::Object(found) if like.as_object().is_some_and(|like| !like.is_empty()) => {
                    // a field that is not there needs no test in a row that is new
                    let kept = like
                        .as_object()
                        .into_iter()
                        .flatten()
                        .filter_map(|(key, value)| Some((key.clone(), pruned(value, found.get(key)?))));
                    Json::Object(kept.collect())
                }
                other => other.clone(),
            };
            Json::Array(found.iter().map(one).collect())
        }
        _ => got.clone(),
    }
}

/// Whether a text is one value of TOML.
fn is_value(text: &str) -> bool {
    is_document(&format!("v = {text}\n"))
}

fn is_document(text: &str) -> bool {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let source = sources.add("", "", text);
    crate::pack::toml::parse(source, text, &mut report).is_some() && !report.has_errors()
}

/// The width up to which a list stays on one line.
const WIDTH: usize = 120;

/// A value as TOML. A list that is too long for one line has one element a line. TOML has no `null`; what is not there is
/// written as the test for it.
fn toml_value(value: &Json) -> String {
    write_toml(value, 0)
}

fn write_toml(value: &Json, indent: usize) -> String {
    match value {
        Json::Null => "{ missing = true }".to_owned(),
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(text) => TomlStringBuilder::new(text).as_basic().to_toml_value(),
        Json::Array(list) if list.is_empty() => "[]".to_owned(),
        Json::Array(list) => {
            let one_line = format!("[{}]", list.iter().map(flat).collect::<Vec<_>>().join(", "));
            if one_line.len() <= WIDTH {
                return one_line;
            }
            let inner = " ".repeat(indent + 2);
            let rows: Vec<String> = list.iter().map(|one| format!("{inner}{},\n", write_toml(one, indent + 2))).collect();
            format!("[\n{}{}]", rows.concat(), " ".repeat(indent))
        }
        Json::Object(table) if table.is_empty() => "{}".to_owned(),
        Json::Object(table) => {
            let fields: Vec<String> =
                table.iter().map(|(name, value)| format!("{} = {}", name.to_toml_key(), write_toml(value, indent))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

fn flat(value: &Json) -> String {
    match value {
        Json::Array(list) => format!("[{}]", list.iter().map(flat).collect::<Vec<_>>().join(", ")),
        Json::Object(table) if !table.is_empty() => {
            let fields: Vec<String> = table.iter().map(|(name, value)| format!("{} = {}", name.to_toml_key(), flat(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => write_toml(other, 0),
    }
}
