//! The keys of operations and effects, each with what it belongs to: keys that are missing, and keys without an effect.
//!
//! A row of a layer may only patch some keys, so this is not said by the schema, which sees one layer, but of the row
//! that results.

use std::collections::BTreeSet;

use super::rows::{place, text, words};
use crate::diag::{Code, Diagnostic, suggest};
use crate::model::pack::{PackRow, PackRows};

/// The kinds of operations and the types of effects, which are rows of the pack.
#[derive(Clone, Copy)]
pub(super) struct OperationVocabulary<'a> {
    /// Rows of `operation_kind`.
    pub(super) kinds: &'a PackRows,
    /// Rows of `effect_type`.
    pub(super) types: &'a PackRows,
}

impl<'a> OperationVocabulary<'a> {
    /// The kind of an operation.
    fn kind(self, row: &'a PackRow) -> (&'a str, Option<&'a PackRow>) {
        let kind = text(row, "kind").unwrap_or("template");
        (kind, closest(self.kinds, kind, text(row, "engine")))
    }

    /// The type of an effect.
    pub(super) fn type_of(self, row: &'a PackRow) -> Option<&'a PackRow> {
        closest(self.types, text(row, "type")?, text(row, "target"))
    }

    /// Whether an operation gives answers that conditions may ask for.
    pub(super) fn gives_answers(self, row: &'a PackRow) -> bool {
        self.kind(row).1.is_some_and(|kind| words(kind, "needs").any(|(key, _)| key == "outputs"))
    }
}

/// The row `WORD/DETAIL`, or else the row `WORD`.
fn closest<'a>(rows: &'a PackRows, word: &str, detail: Option<&str>) -> Option<&'a PackRow> {
    let detailed = detail.and_then(|detail| rows.get(format!("{word}/{detail}").as_str()));
    detailed.or_else(|| rows.get(word))
}

fn keys(row: &PackRow) -> impl Iterator<Item = &str> {
    words(row, "needs").chain(words(row, "takes")).map(|(key, _)| key)
}

/// The keys that belong to some rows of a vocabulary and not to this one.
fn unfit<'a>(rows: &'a PackRows, fitting: &'a PackRow) -> BTreeSet<&'a str> {
    let own: BTreeSet<&str> = keys(fitting).collect();
    rows.values().flat_map(keys).filter(|key| !own.contains(key)).collect()
}

/// What is missing in the row of an operation, and what has no effect in it.
pub(super) fn operation(row: &PackRow, vocabulary: OperationVocabulary<'_>) -> Vec<Diagnostic> {
    let (kind, Some(fitting)) = vocabulary.kind(row) else { return vec![unsupported(row, vocabulary)] };
    let decided = text(row, "engine").filter(|_| keys(fitting).any(|key| key == "engine"));
    let decided = decided.map(|engine| format!(" with `engine = \"{engine}\"`")).unwrap_or_default();
    let mut found = Vec::new();
    for (key, _) in words(fitting, "needs").filter(|(key, _)| !row.fields.contains_key(*key)) {
        let message = format!("operation `{}` has no `{key}`, and is of kind `{kind}`{decided}", row.name);
        found.push(Diagnostic::new(Code::TermMissing, message).at(row.name_span).help(format!("add `{key}`")));
    }
    for key in unfit(vocabulary.kinds, fitting) {
        let why = format!("the operation is of kind `{kind}`{decided}");
        found.extend(idle(row, "operation", key, &why, "remove it, or write another `kind`"));
    }
    if keys(fitting).any(|key| key == "output_mode") {
        found.extend(json_only(row));
    }
    if !row.fields.contains_key("artifact") {
        let why = "the operation writes no artifact";
        found.extend(idle(row, "operation", "writer", why, "remove it, or say by `artifact` what is written"));
    }
    found
}

/// What belongs to replies in JSON, and to one way to find it in them.
fn json_only(row: &PackRow) -> Vec<Diagnostic> {
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

/// The words of a vocabulary without their details.
fn plain(rows: &PackRows) -> impl Iterator<Item = &str> {
    rows.keys().map(AsRef::as_ref).filter(|name: &&str| !name.contains('/'))
}

fn unsupported(row: &PackRow, vocabulary: OperationVocabulary<'_>) -> Diagnostic {
    let (kind, _) = vocabulary.kind(row);
    let message = format!("operation `{}` is of kind `{kind}`, which is not carried out: the operation is skipped", row.name);
    let help = suggest::help(kind, plain(vocabulary.kinds));
    let help = help.unwrap_or_else(|| "declare the kind: a row `[[operation_kind]]`, and passes that carry it out".to_owned());
    Diagnostic::warning(Code::NameUnknown, message).at(place(row, "kind")).help(help)
}

/// What is missing in the row of an effect, and what has no effect in it.
pub(super) fn effect(row: &PackRow, vocabulary: OperationVocabulary<'_>) -> Vec<Diagnostic> {
    let known = || suggest::help("", plain(vocabulary.types)).unwrap_or_else(|| "declare it: a row `[[effect_type]]`".to_owned());
    let Some(what) = text(row, "type") else {
        let message = format!("effect `{}` has no type", row.name);
        // a type of a wrong shape is told by the schema
        let missing = !row.fields.contains_key("type");
        return missing.then(|| Diagnostic::new(Code::TermMissing, message).at(row.name_span).help(known())).into_iter().collect();
    };
    let Some(fitting) = vocabulary.type_of(row) else {
        let near = suggest::help(what, plain(vocabulary.types));
        let message = format!("effect `{}` is of type `{what}`, which no row of `effect_type` is called", row.name);
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(place(row, "type")).missing_row(&["effect_type"], what);
        return vec![complaint.help(near.unwrap_or_else(known))];
    };
    let why = format!("the effect is of type `{what}`");
    let unfit = unfit(vocabulary.types, fitting).into_iter();
    let mut found: Vec<Diagnostic> = unfit.filter_map(|key| idle(row, "effect", key, &why, "remove it, or write another `type`")).collect();
    if keys(fitting).any(|key| key == "depth") && text(row, "anchor") != Some("depth_from_end") {
        let why = "the effect is not placed by its depth";
        found.extend(idle(row, "effect", "depth", why, "remove it, or write `anchor = \"depth_from_end\"`"));
    }
    found
}

/// A key that is written, and that nothing reads.
fn idle(row: &PackRow, what: &str, key: &str, why: &str, help: &str) -> Option<Diagnostic> {
    let field = row.fields.get(key)?;
    let message = format!("`{key}` of {what} `{}` is accepted and has no effect: {why}", row.name);
    let mut complaint = Diagnostic::new(Code::OperationUnused, message).at(field.node.span).help(help);
    complaint.details.insert("key".into(), key.into());
    Some(complaint)
}
