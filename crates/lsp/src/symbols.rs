//! The rows of a rule file, for outlines of editors; and the ranges that can be folded.

use lsp_types::{DocumentSymbol, FoldingRange, SymbolKind};

use crate::document::OpenDocument;
use crate::outline::{NodeContent, NodeId, OutlineEntry, ROOT};

/// The rows and values of a document.
pub(crate) fn document_symbols(document: &OpenDocument) -> Vec<DocumentSymbol> {
    let outline = document.outline();
    let mut found = Vec::new();
    for OutlineEntry { key, key_range, node } in outline.entries(ROOT) {
        let Some(content) = outline.node(*node).map(|node| &node.content) else { continue };
        match content {
            NodeContent::List(rows) if rows.iter().any(|row| !outline.entries(*row).is_empty()) => {
                found.extend(rows.iter().filter_map(|row| row_symbol(document, key, *row)));
            }
            NodeContent::Table(_) => found.extend(symbol(document, (key, ""), SymbolKind::NAMESPACE, key_range.clone(), *node)),
            _ => found.extend(symbol(document, (key, ""), SymbolKind::PROPERTY, key_range.clone(), *node)),
        }
    }
    found.sort_by_key(|symbol| (symbol.range.start.line, symbol.range.start.character));
    found
}

/// A row, by its name.
fn row_symbol(document: &OpenDocument, table: &str, row: NodeId) -> Option<DocumentSymbol> {
    let outline = document.outline();
    let named = ["name", "id", "key"].iter().find_map(|key| outline.entry(row, key));
    let place = match named.and_then(|entry| outline.node(entry.node)) {
        Some(node) => node.range.clone(),
        None => {
            let start = outline.node(row)?.range.start;
            start..start
        }
    };
    let name = named.and_then(|entry| outline.text_at(row, &entry.key, &document.text)).filter(|name| !name.is_empty());
    let kind = match table {
        "pass" | "round" => SymbolKind::FUNCTION,
        "program" => SymbolKind::MODULE,
        "field" => SymbolKind::FIELD,
        "path" | "state" => SymbolKind::VARIABLE,
        "value" | "fact" => SymbolKind::CONSTANT,
        "case" => SymbolKind::METHOD,
        _ => SymbolKind::OBJECT,
    };
    symbol(document, (name.unwrap_or(table), table), kind, place, row)
}

fn symbol(
    document: &OpenDocument,
    (name, detail): (&str, &str),
    kind: SymbolKind,
    place: std::ops::Range<usize>,
    node: NodeId,
) -> Option<DocumentSymbol> {
    let whole = document.outline().node(node)?.range.clone();
    // a selection lies inside of its range
    let whole = whole.start.min(place.start)..whole.end.max(place.end);
    #[expect(deprecated, reason = "the protocol's type has no other way to be made")]
    Some(DocumentSymbol {
        name: if name.is_empty() { "(no name)".to_owned() } else { name.to_owned() },
        detail: Some(detail.to_owned()).filter(|detail| !detail.is_empty()),
        kind,
        tags: None,
        deprecated: None,
        range: document.lines.range(&document.text, &whole),
        selection_range: document.lines.range(&document.text, &place),
        children: None,
    })
}

/// The rows that take more than one line.
pub(crate) fn folding_ranges(document: &OpenDocument) -> Vec<FoldingRange> {
    let symbols = document_symbols(document).into_iter().filter(|symbol| symbol.range.end.line > symbol.range.start.line);
    symbols
        .map(|symbol| FoldingRange { start_line: symbol.range.start.line, end_line: symbol.range.end.line, ..FoldingRange::default() })
        .collect()
}
