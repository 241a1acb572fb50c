//! What a row that patches another one inherits from it: shown at the end of the line in which the row begins.

use lsp_types::{InlayHint, InlayHintLabel, InlayHintTooltip, MarkupContent, MarkupKind, Position, Range as LspRange};
use tapster::diag::Span;
use tapster::machinery::pack::files::shown;
use tapster::machinery::terms::names::PackNames;
use tapster::model::Pack;
use tapster_door::explain::rules::place;

use crate::document::OpenDocument;
use crate::hover::short;
use crate::outline::{NodeId, ROOT};
use crate::subject::RuleText;

/// The most terms that a hint names.
const MOST_TERMS: usize = 4;
/// The most terms that its tooltip describes.
const MOST_LINES: usize = 24;

/// The hints of the rows that begin in a range of a document.
pub(crate) fn inlay_hints(document: &OpenDocument, pack: &Pack, names: &PackNames, range: LspRange) -> Vec<InlayHint> {
    let Some(own) = own_layer(document, pack) else { return Vec::new() };
    let text = RuleText { text: &document.text, outline: document.outline(), pack, names };
    let rows = text.outline.entries(ROOT).iter().flat_map(|entry| {
        let rows = text.outline.elements(entry.node);
        rows.iter().map(|row| (entry.key.as_str(), *row))
    });
    rows.filter_map(|(table, row)| {
        let start = text.outline.node(row)?.range.start;
        let line = document.lines.position(&document.text, start).line;
        if !(range.start.line..=range.end.line).contains(&line) {
            return None;
        }
        let inherited = inherited_terms(&text, own, table, row, &text.full_name(table, &document.name_of_row(row)?));
        hint(document, line, &inherited)
    })
    .collect()
}

/// The number of the layer that a document belongs to.
fn own_layer(document: &OpenDocument, pack: &Pack) -> Option<usize> {
    let name = shown(document.path.as_deref()?);
    let mut sources = pack.sources.ids().filter_map(|id| pack.sources.get(id));
    let own = sources.find(|source| *source.name == *name)?;
    pack.layers.iter().rposition(|layer| layer.name == own.layer)
}

/// The terms of a row that a lower layer decides, each with its value and where that is written.
fn inherited_terms<'p>(text: &RuleText<'p>, own: usize, table: &str, row: NodeId, name: &str) -> Vec<(&'p str, String, String)> {
    let pack = text.pack;
    let layer = |span: Span| {
        let layer = pack.sources.layer(span);
        pack.layers.iter().position(|known| known.name == layer)
    };
    let is_lower = |span: Span| layer(span).is_some_and(|layer| layer < own);
    let Some(merged) = pack.row(table, name).filter(|merged| is_lower(merged.span)) else { return Vec::new() };
    let fields = merged.fields.iter().filter(|(key, field)| is_lower(field.node.span) && text.outline.entry(row, key).is_none());
    fields.map(|(key, field)| (&**key, field.node.to_json().to_string(), place(pack, field.node.span).unwrap_or_default())).collect()
}

fn hint(document: &OpenDocument, line: u32, inherited: &[(&str, String, String)]) -> Option<InlayHint> {
    if inherited.is_empty() {
        return None;
    }
    let names: Vec<&str> = inherited.iter().take(MOST_TERMS).map(|(key, ..)| *key).collect();
    let more = inherited.len().saturating_sub(MOST_TERMS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let lines = inherited.iter().take(MOST_LINES).map(|(key, value, place)| format!("- `{key}`: `{}` ({place})", short(value)));
    let value = std::iter::once("Terms that lower layers decide:\n".to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
    let end = document.lines.offset(&document.text, Position::new(line, u32::MAX));
    Some(InlayHint {
        position: document.lines.position(&document.text, end),
        label: InlayHintLabel::String(format!("inherits {}{more}", names.join(", "))),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    })
}
