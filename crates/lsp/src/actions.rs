//! Changes that an editor makes: certain repairs, and the layout of a file.

use std::collections::HashMap;
use std::path::Path;

use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, Range as LspRange, TextEdit, Uri, WorkspaceEdit};
use serde::Deserialize;
use serde_json::Value as Json;
use tapster::diag::{Report, SourceId};
use tapster::machinery::pack::{json, toml};

use crate::diagnostics::FileDiagnostics;
use crate::document::OpenDocument;
use crate::outline::Syntax;

/// The certain repair that a diagnostic carries.
#[derive(Deserialize)]
struct CarriedRepair {
    path: std::path::PathBuf,
    edit: TextEdit,
}

fn repair_of(diagnostic: &lsp_types::Diagnostic) -> Option<CarriedRepair> {
    CarriedRepair::deserialize(diagnostic.data.as_ref().unwrap_or(&Json::Null)).ok()
}

/// The repairs for a range of a document: each one by itself, and all of the file at once.
pub(crate) fn code_actions(document: &OpenDocument, path: &Path, range: LspRange, found: &FileDiagnostics) -> Vec<CodeActionOrCommand> {
    let own = found.get(path).into_iter().flatten();
    let fixable: Vec<(&lsp_types::Diagnostic, CarriedRepair)> =
        own.filter_map(|one| Some((one, repair_of(one)?))).filter(|(_, repair)| repair.path == path).collect();
    let mut actions = Vec::new();
    for (diagnostic, repair) in &fixable {
        let is_here = overlaps(diagnostic.range, range) || overlaps(repair.edit.range, range);
        if is_here && can_be_read(document, path, std::slice::from_ref(&repair.edit)) {
            let was = document.text.get(document.lines.bytes(&document.text, repair.edit.range)).unwrap_or_default();
            let title = match (was, repair.edit.new_text.as_str()) {
                ("\u{FEFF}", _) => "Remove the byte order mark".to_owned(),
                (was, "") => format!("Remove `{}`", was.trim()),
                ("", is) => format!("Insert `{}`", is.trim()),
                (was, is) => format!("Replace `{was}` with `{is}`"),
            };
            actions.push(action(document, title, CodeActionKind::QUICKFIX, vec![repair.edit.clone()], Some((*diagnostic).clone())));
        }
    }
    let mut all: Vec<TextEdit> = Vec::new();
    for (_, repair) in fixable {
        if all.iter().all(|edit| !overlaps(edit.range, repair.edit.range)) {
            all.push(repair.edit);
        }
    }
    // one may be right by itself, and not with those before it
    if !can_be_read(document, path, &all) {
        for edit in std::mem::take(&mut all) {
            all.push(edit);
            if !can_be_read(document, path, &all) {
                all.pop();
            }
        }
    }
    if !all.is_empty() {
        let title = format!("Fix all that tapster can fix in this file ({})", all.len());
        actions.push(action(document, title, CodeActionKind::SOURCE_FIX_ALL, all, None));
    }
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

/// Whether the file can be read after these edits, none of which overlap: it has no errors of syntax, and no key twice.
fn can_be_read(document: &OpenDocument, path: &Path, edits: &[TextEdit]) -> bool {
    let mut edits: Vec<(std::ops::Range<usize>, &str)> =
        edits.iter().map(|edit| (document.lines.bytes(&document.text, edit.range), edit.new_text.as_str())).collect();
    edits.sort_by_key(|(bytes, _)| std::cmp::Reverse(bytes.start));
    let mut text = String::from(&*document.text);
    for (bytes, new) in edits {
        text.replace_range(bytes, new);
    }
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut report = Report::default();
    let read = match Syntax::of(path, text) {
        Syntax::Toml => toml::parse(SourceId::default(), text, &mut report),
        Syntax::Json => json::parse(SourceId::default(), text, &mut report),
    };
    read.is_some() && !report.has_errors()
}

fn action(
    document: &OpenDocument,
    title: String,
    kind: CodeActionKind,
    edits: Vec<TextEdit>,
    of: Option<lsp_types::Diagnostic>,
) -> CodeAction {
    #[expect(clippy::mutable_key_type, reason = "the protocol's type")]
    let changes: HashMap<Uri, Vec<TextEdit>> = [(document.address.clone(), edits)].into_iter().collect();
    CodeAction {
        title,
        is_preferred: of.as_ref().map(|_| true),
        kind: Some(kind),
        diagnostics: of.map(|of| vec![of]),
        edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
        ..CodeAction::default()
    }
}

/// Whether two ranges have a place in common; one that is empty has its own.
fn overlaps(a: LspRange, b: LspRange) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The edit that makes a document to this text; nothing if it is that already.
pub(crate) fn whole_edit(document: &OpenDocument, text: String) -> Vec<TextEdit> {
    if *document.text == *text {
        return Vec::new();
    }
    vec![TextEdit::new(document.lines.range(&document.text, &(0..document.text.len())), text)]
}
