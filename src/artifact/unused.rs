//! Declarations without an effect: artifacts that nobody can write, keys that nothing reads, writers that write nothing.

use super::inclusion::InclusionWords;
use super::project::NOWHERE;
use super::rows::{text, words};
use super::{DeclaredArtifact, VersionMode, inclusion};
use crate::diag::{Code, Diagnostic, DocumentNode, Span};
use crate::model::pack::{PackRow, PackRows};

/// What has no effect in the row of one artifact.
pub(super) fn artifact(artifact: &DeclaredArtifact, row: &PackRow, operations: &PackRows, modes: InclusionWords<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if artifact.persisted {
        found.extend(unwritten(artifact, row, operations));
        found.extend(unshown(artifact, row));
    } else {
        found.extend(["surface", "presentation", "retention"].into_iter().filter_map(|key| run_only(artifact, row, key)));
    }
    found.extend(excluded(artifact, row));
    found.extend(inclusion::unused(row, modes));
    found
}

/// An artifact that outlives the run, and that has no writer. An operation that writes it is told elsewhere.
fn unwritten(artifact: &DeclaredArtifact, row: &PackRow, operations: &PackRows) -> Option<Diagnostic> {
    let written = operations.values().any(|operation| text(operation, "artifact") == Some(&*row.name));
    if written || row.fields.contains_key("writer") {
        return None;
    }
    let message = format!("artifact `{}` has no writer, so nobody can write it", artifact.name);
    Some(unused(message, row.name_span).help("add `writer`: a row `[[writer]]` or `[[operation]]`"))
}

/// How an artifact is shown that is shown nowhere, and a length of what is no list.
fn unshown(artifact: &DeclaredArtifact, row: &PackRow) -> Option<Diagnostic> {
    let name = &artifact.name;
    let nowhere = artifact.is_nowhere();
    let presentation = row.fields.get("presentation").map(|field| &field.node);
    if !artifact.visibility.is_shown() {
        let key = if nowhere { "presentation" } else { "surface" };
        let field = row.fields.get(key)?;
        let message = format!("`{key}` of artifact `{name}` has no effect: its visibility says that it is not shown");
        let complaint = said(unused(message, field.node.span), row, "visibility", "its visibility is said here");
        return Some(complaint.help("write `visibility = \"ui_only\"` or `\"prompt_and_ui\"`, or remove it"));
    }
    if nowhere {
        let message = format!("`presentation` of artifact `{name}` has no effect: it is shown nowhere");
        return Some(unused(message, presentation?.span).help("add a `surface`, such as `panel:ID`, or remove it"));
    }
    let limit = presentation?.get("max_items").filter(|_| artifact.mode() != VersionMode::Timeline)?;
    let message = format!("`max_items` of artifact `{name}` has no effect: only one version is shown");
    Some(unused(message, limit.span).help("write `mode = \"timeline\"`, or remove it"))
}

fn run_only(artifact: &DeclaredArtifact, row: &PackRow, key: &str) -> Option<Diagnostic> {
    let field = row.fields.get(key)?;
    let harmless = match key {
        "surface" => field.node.as_text() == Some(NOWHERE),
        "retention" => field.node.get("mode").and_then(DocumentNode::as_text) == Some("ephemeral"),
        _ => false,
    };
    if harmless {
        return None;
    }
    let why = if key == "retention" { "nothing of it is kept" } else { "it is gone before anything is shown" };
    let message = format!("`{key}` of artifact `{}` has no effect: it belongs to the run, and {why}", artifact.name);
    let complaint = said(unused(message, field.node.span), row, "access", "its access is said here");
    Some(complaint.help("remove it, or write `access = \"persisted\"`"))
}

/// An inclusion that the visibility forbids.
fn excluded(artifact: &DeclaredArtifact, row: &PackRow) -> Option<Diagnostic> {
    let node = &row.fields.get("inclusion")?.node;
    let never = node.get("mode").and_then(DocumentNode::as_text) == Some("none");
    if never || matches!(artifact.visibility, super::Visibility::PromptOnly | super::Visibility::PromptAndUi) {
        return None;
    }
    let message = format!("`inclusion` of artifact `{}` has no effect: its visibility keeps it out of prompts", artifact.name);
    let complaint = said(unused(message, node.span), row, "visibility", "its visibility is said here");
    Some(complaint.help("write `visibility = \"prompt_only\"` or `\"prompt_and_ui\"`, or remove it"))
}

/// A writer that owns and writes nothing.
pub(super) fn writer(row: &PackRow, artifacts: &[DeclaredArtifact], operations: &PackRows) -> Option<Diagnostic> {
    let owns = artifacts.iter().any(|artifact| artifact.writer.as_deref() == Some(&*row.name));
    let writes = words(row, "writes").next().is_some();
    let named = operations.contains_key(&row.name) || operations.values().any(|o| text(o, "writer") == Some(&*row.name));
    if owns || writes || named {
        return None;
    }
    let message = format!("writer `{}` has no effect: no artifact belongs to it, and it writes none", row.name);
    Some(unused(message, row.name_span).help(format!("write `writer = \"{}\"` in the artifact that it writes, or remove it", row.name)))
}

/// Policies for kinds that no artifact has.
pub(super) fn retention(by_kind: Option<&DocumentNode>, artifacts: &[DeclaredArtifact]) -> Vec<Diagnostic> {
    let kinds = by_kind.and_then(DocumentNode::as_table).into_iter().flatten();
    let idle = kinds.filter(|(kind, _)| !artifacts.iter().any(|artifact| artifact.kind == **kind));
    idle.map(|(kind, field)| {
        let message = format!("the retention of kind `{kind}` has no effect: no artifact is of this kind");
        unused(message, field.key).help(format!("write `kind = \"{kind}\"` in an artifact, or remove it"))
    })
    .collect()
}

/// Points at the value of a key, if the row has it.
fn said(complaint: Diagnostic, row: &PackRow, key: &str, what: &str) -> Diagnostic {
    match row.fields.get(key) {
        Some(field) => complaint.related(field.node.span, what),
        None => complaint,
    }
}

fn unused(message: String, span: Span) -> Diagnostic {
    Diagnostic::new(Code::ArtifactUnused, message).at(span)
}
