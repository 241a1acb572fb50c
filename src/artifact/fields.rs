//! The keys of operations and effects, each with what it belongs to: keys that are missing, and keys without an effect.
//!
//! A row of a layer may only patch some keys, so this is not said by the schema, which sees one layer, but of the row
//! that results.

use super::rows::{place, text};
use crate::diag::{Code, Diagnostic, suggest};
use crate::model::pack::Row;

/// The kinds of operations that are carried out; others are skipped.
const KINDS: [&str; 3] = ["template", "guard", "llm"];
/// Keys that belong to some operations only.
const BY_KIND: [&str; 12] =
    ["template", "strict", "engine", "outputs", "prompt", "system", "output_mode", "parse", "pattern", "schema", "retry", "params"];
/// Keys that belong to some effects only.
const BY_TYPE: [&str; 5] = ["mode", "target", "role", "anchor", "depth"];

/// What is missing in the row of an operation, and what has no effect in it.
pub(super) fn operation(row: &Row) -> Vec<Diagnostic> {
    let kind = text(row, "kind").unwrap_or("template");
    if !KINDS.contains(&kind) {
        return vec![unsupported(row, kind)];
    }
    let by_model = text(row, "engine") == Some("llm");
    let (needed, fitting): (&[&str], &[&str]) = match kind {
        "template" => (&["template"], &["template", "strict"]),
        "guard" if by_model => (&["outputs", "prompt"], &["engine", "outputs", "prompt", "system", "strict", "retry", "params"]),
        "guard" => (&["outputs", "template"], &["engine", "outputs", "template", "strict"]),
        _ => (&["prompt"], &["prompt", "system", "strict", "output_mode", "parse", "pattern", "schema", "retry", "params"]),
    };
    let decided = match (kind, by_model) {
        ("guard", true) => ", decided by a model",
        ("guard", false) => ", decided by a template",
        _ => "",
    };
    let mut found = Vec::new();
    for key in needed.iter().filter(|key| !row.fields.contains_key(**key)) {
        let message = format!("operation `{}` has no `{key}`, and is of kind `{kind}`{decided}", row.name);
        found.push(Diagnostic::new(Code::TermMissing, message).at(row.name_span).help(format!("add `{key}`")));
    }
    for key in BY_KIND.into_iter().filter(|key| !fitting.contains(key)) {
        let why = format!("the operation is of kind `{kind}`{decided}");
        found.extend(idle(row, "operation", key, &why, "remove it, or write another `kind`"));
    }
    if kind == "llm" {
        found.extend(json_only(row));
    }
    if !row.fields.contains_key("artifact") {
        let why = "the operation writes no artifact";
        found.extend(idle(row, "operation", "writer", why, "remove it, or say by `artifact` what is written"));
    }
    found
}

/// What belongs to replies in JSON, and to one way to find it in them.
fn json_only(row: &Row) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if text(row, "output_mode") != Some("json") {
        for key in ["parse", "pattern", "schema"] {
            found.extend(idle(row, "operation", key, "the reply is a text", "remove it, or write `output_mode = \"json\"`"));
        }
    } else if text(row, "parse") != Some("custom_regex") {
        let help = "remove it, or write `parse = \"custom_regex\"`";
        found.extend(idle(row, "operation", "pattern", "the JSON of the reply is not found by a pattern", help));
    } else if !row.fields.contains_key("pattern") {
        let message = format!("operation `{}` finds the JSON of its reply by a pattern, and has no `pattern`", row.name);
        let complaint = Diagnostic::new(Code::TermMissing, message).at(place(row, "parse"));
        found.push(complaint.help("add `pattern = \"/…/\"`, or write another `parse`"));
    }
    found
}

fn unsupported(row: &Row, kind: &str) -> Diagnostic {
    let message = format!("operation `{}` is of kind `{kind}`, which is not carried out: the operation is skipped", row.name);
    let near = suggest::help(kind, KINDS);
    let help = near.unwrap_or_else(|| "write `template`, `guard` or `llm`, or remove the operation".to_owned());
    Diagnostic::warning(Code::NameUnknown, message).at(place(row, "kind")).help(help)
}

/// What is missing in the row of an effect, and what has no effect in it.
pub(super) fn effect(row: &Row) -> Vec<Diagnostic> {
    let Some(what) = text(row, "type") else {
        let message = format!("effect `{}` has no type", row.name);
        let help = "add `type`: `prompt_part`, `prompt_message`, `turn_rewrite` or `ui_inline`";
        // a type of a wrong shape is told by the schema
        let missing = !row.fields.contains_key("type");
        return missing.then(|| Diagnostic::new(Code::TermMissing, message).at(row.name_span).help(help)).into_iter().collect();
    };
    let fitting: &[&str] = match what {
        "prompt_part" => &["mode"],
        "turn_rewrite" => &["target"],
        "prompt_message" | "ui_inline" => &["role", "anchor", "depth"],
        _ => return Vec::new(),
    };
    let why = format!("the effect is of type `{what}`");
    let unfit = BY_TYPE.into_iter().filter(|key| !fitting.contains(key));
    let mut found: Vec<Diagnostic> = unfit.filter_map(|key| idle(row, "effect", key, &why, "remove it, or write another `type`")).collect();
    if fitting.contains(&"depth") && text(row, "anchor") != Some("depth_from_end") {
        let why = "the effect is not placed by its depth";
        found.extend(idle(row, "effect", "depth", why, "remove it, or write `anchor = \"depth_from_end\"`"));
    }
    found
}

/// A key that is written, and that nothing reads.
fn idle(row: &Row, what: &str, key: &str, why: &str, help: &str) -> Option<Diagnostic> {
    let field = row.fields.get(key)?;
    let message = format!("`{key}` of {what} `{}` is accepted and has no effect: {why}", row.name);
    let mut complaint = Diagnostic::new(Code::OperationUnused, message).at(field.node.span).help(help);
    complaint.details.insert("key".into(), key.into());
    Some(complaint)
}
