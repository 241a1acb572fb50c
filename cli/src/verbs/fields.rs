//! What became of each field of a foreign file, as a table, as lines, and as JSON.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::import::Contents;
use crate::layout::head;
use crate::layout::table;
use crate::output::OutputStreams;
use crate::program::foreign::{FieldOutcome, FieldReport, ImportedDocument};

/// The most characters that the table shows of a field, and of what is said about it.
const FIELD: usize = 80;
const NOTE: usize = 200;

/// Shows what became of each field of a file.
pub(crate) fn report(brought: &ImportedDocument, contents: &Contents, file: &Path, show: &mut OutputStreams<'_, '_>) {
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
        .map(|f| vec![fate(f.fate).to_owned(), head(&counted(f), FIELD), head(&f.to, FIELD), head(&f.note, NOTE)])
        .collect();
    let lines = if skipped > 0 { format!("; {} lines kept, {skipped} skipped", contents.kept) } else { String::new() };
    show.result(&format!("format {}\n{}{}{lines}\n", brought.format, table(&rows), counts(brought)));
}

/// The field, and in how many elements it was found.
fn counted(field: &FieldReport) -> String {
    if field.times > 1 { format!("{} ({})", field.field, field.times) } else { field.field.clone() }
}

/// The fields that are not as they were, one line each.
pub(crate) fn losses(brought: &ImportedDocument) -> Vec<String> {
    let bad = brought.fields.iter().filter(|f| matches!(f.fate, FieldOutcome::Approximated | FieldOutcome::Dropped));
    bad.map(|f| format!("`{}` is {}: {}", counted(f), fate(f.fate), f.note)).collect()
}

fn counts(brought: &ImportedDocument) -> String {
    let of = |fate: FieldOutcome| brought.fields.iter().filter(|f| f.fate == fate).count();
    [FieldOutcome::Kept, FieldOutcome::Mapped, FieldOutcome::Approximated, FieldOutcome::Dropped]
        .map(|f| format!("{} {}", of(f), fate(f)))
        .join(", ")
}

fn fate(fate: FieldOutcome) -> &'static str {
    match fate {
        FieldOutcome::Kept => "kept",
        FieldOutcome::Mapped => "mapped",
        FieldOutcome::Approximated => "approximated",
        FieldOutcome::Dropped => "dropped",
    }
}
