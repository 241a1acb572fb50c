//! What a place means: descriptions, types, defaults, and the value in force with the layers that decide it.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;
use tapster::diag::short::head;
use tapster::machinery::verbs::VERBS;
use tapster_door::explain::rules::NamedRules;

use crate::document::OpenDocument;
use crate::outline::{Cursor, CursorRole, PathStep, ROOT};
use crate::schema::{KnownKey, SchemaReader};
use crate::subject::{RuleText, Subject, SubjectAt, about_row, function_doc, sentence};

/// The most characters of a value that is shown.
const MOST_LETTERS: usize = 400;
/// The most lines about what decides a row.
const MOST_LINES: usize = 12;

/// What is known of a byte of a document, as Markdown, and what it is about.
pub(crate) fn describe_place(
    document: &OpenDocument,
    rules: Option<&RuleText<'_>>,
    schema: Option<Arc<Json>>,
    offset: usize,
) -> Option<(String, Range<usize>)> {
    let cursor = document.outline().cursor(offset);
    let subject = rules.and_then(|rules| Some((rules, rules.subject(offset)?)));
    if let Some((rules, SubjectAt { subject, range })) = subject
        && let Some(text) = describe_subject(rules, &subject)
    {
        return Some((text, range));
    }
    let range = match &cursor.role {
        CursorRole::Key(range) | CursorRole::Header(range) if !range.is_empty() => range.clone(),
        _ => return None,
    };
    let key = document.text.get(range.clone())?.trim_matches(['"', '\'']);
    let mut parts = Vec::new();
    if let Some(schema) = schema.as_deref() {
        let reader = SchemaReader { root: schema, outline: document.outline(), text: &document.text };
        let nodes = if matches!(cursor.role, CursorRole::Header(_)) { [ROOT].as_slice() } else { &cursor.nodes };
        let schemas = reader.at(&cursor.path, nodes);
        parts.extend(reader.keys(&schemas).get(key).map(|known| describe_key(key, known)));
    }
    parts.extend(rules.and_then(|rules| value_in_force(rules, &cursor, key)));
    (!parts.is_empty()).then(|| (parts.join("\n\n---\n\n"), range))
}

fn describe_key(key: &str, known: &KnownKey) -> String {
    let kind = if known.kind.is_empty() { String::new() } else { format!(": {}", known.kind) };
    let default = known.default.as_ref().filter(|_| !known.doc.contains("Default:"));
    let default = default.map(|value| format!("\n\nDefault: `{value}`.")).unwrap_or_default();
    format!("**{key}**{kind}\n\n{}{default}", known.doc)
}

fn describe_subject(rules: &RuleText<'_>, subject: &Subject) -> Option<String> {
    match subject {
        Subject::Verb(name) => {
            let verb = VERBS.iter().find(|verb| verb.name == name)?;
            let terms: Vec<String> = verb.terms.iter().map(|term| format!("- `{}`: {}", term.name, term.description())).collect();
            Some(format!("**{name}**: {}\n\n{}", sentence(verb.doc), terms.join("\n")))
        }
        Subject::Function(name) => function_doc(name),
        Subject::Row { table, name } => {
            let row = rules.pack.row(table, name)?;
            let about = about_row(row).map(|about| format!("\n\n{about}")).unwrap_or_default();
            Some(format!("**{name}** ({table}){about}\n\n{}", deciders(rules, table, name)?))
        }
        Subject::ScenePath(path) => describe_path(rules, path),
        Subject::Field(field) => {
            let types = rules.names.fields.iter().filter_map(|(row, fields)| Some((row, fields.get(field.as_str())?)));
            let lines: Vec<String> = types
                .map(|(row, known)| format!("- of `{row}`, {}: {}", known.kind.word(), sentence(&known.doc)))
                .take(MOST_LINES)
                .collect();
            (!lines.is_empty()).then(|| format!("**@{field}**: a field of items\n\n{}", lines.join("\n")))
        }
        Subject::Pack(name) => {
            let layer = rules.pack.layers.iter().find(|layer| *layer.name == **name)?;
            let place = layer.folder.as_ref().map_or("it comes with the program".to_owned(), |folder| format!("`{}`", folder.display()));
            Some(format!("**{name}** {}: {place}", layer.release))
        }
    }
}

fn describe_path(rules: &RuleText<'_>, path: &str) -> Option<String> {
    let names = rules.names;
    // the longest declared path that it begins with
    let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
    let heads: Vec<&str> = ends.filter_map(|end| path.get(..end)).collect();
    let known = heads.into_iter().rfind(|head| names.paths.contains_key(*head));
    let list = rules.pack.row("list", path.split('.').next()?);
    let mut text = match (known, list) {
        (Some(known), _) => {
            let declared = names.paths.get(known)?;
            let words = names.words.get(known).map(|words| format!("\n\nOne of `{}`.", words.join("`, `"))).unwrap_or_default();
            format!("**${known}**: {}\n\n{}{words}", declared.kind.word(), sentence(&declared.doc))
        }
        (None, Some(list)) => format!("**${}**: a list\n\n{}", list.name, sentence(about_row(list).unwrap_or_default())),
        (None, None) => return None,
    };
    let section = path.split('.').next().unwrap_or(path);
    let value = NamedRules::find(rules.pack, section).ok().and_then(|found| field_named(&found.as_json(), path));
    text.extend(value.map(|value| format!("\n\n---\n\n{value}")));
    Some(text)
}

/// Which lines of which layers decide a row.
fn deciders(rules: &RuleText<'_>, table: &str, name: &str) -> Option<String> {
    let found = NamedRules::find(rules.pack, &format!("{table}/{name}")).ok()?.as_json();
    let row = found.get("rows")?.as_array()?.iter().find(|row| row.get("table").and_then(Json::as_str) == Some(table))?;
    let decided = row.get("decided")?.as_array()?.iter().filter_map(Json::as_str);
    Some(decided.take(MOST_LINES).map(|place| format!("- {place}")).collect::<Vec<_>>().join("\n"))
}

/// The value in force of a key of a row or of a section, and what it hides.
fn value_in_force(rules: &RuleText<'_>, cursor: &Cursor, key: &str) -> Option<String> {
    if let Some((table, _, name)) = rules.row_around(cursor) {
        let found = NamedRules::find(rules.pack, &format!("{table}/{}", name?)).ok()?.as_json();
        // a key further down belongs to the term above it
        let term = match cursor.path.get(2) {
            Some(PathStep::Key(term)) => term.as_str(),
            _ => key,
        };
        return field_named(&found, term);
    }
    let steps = cursor.path.iter().map(|step| if let PathStep::Key(key) = step { Some(key.as_str()) } else { None });
    let above: Option<Vec<&str>> = steps.collect();
    let path = above?.into_iter().chain([key]).collect::<Vec<_>>().join(".");
    let found = NamedRules::find(rules.pack, path.split('.').next()?).ok()?.as_json();
    field_named(&found, &path)
}

/// A field of what `NamedRules` found, as lines: the value in force with its layer, and those that it hides.
fn field_named(found: &Json, key: &str) -> Option<String> {
    let rows = found.get("rows").and_then(Json::as_array).into_iter().flatten().filter_map(|row| row.get("fields")?.as_array());
    let fields = rows.chain(found.get("values").and_then(Json::as_array)).flatten();
    let field = fields.into_iter().find(|field| field.get("key").and_then(Json::as_str) == Some(key))?;
    let place = field.get("place").and_then(Json::as_str).unwrap_or_default();
    let mut lines = vec![format!("in force: `{}` ({place})", short(&field.get("value")?.to_string()))];
    for hidden in field.get("hidden").and_then(Json::as_array).into_iter().flatten().take(MOST_LINES) {
        let word = if hidden.get("edited") == Some(&Json::Bool(true)) { "edits" } else { "hides" };
        let of = |key: &str| hidden.get(key).and_then(Json::as_str).unwrap_or_default();
        lines.push(format!("{word}: `{}` ({})", short(of("text")), of("place")));
    }
    Some(lines.join("\n\n"))
}

/// A value on one line, cut where it is long.
pub(crate) fn short(text: &str) -> String {
    head(&text.replace(['\n', '`'], " "), MOST_LETTERS)
}
