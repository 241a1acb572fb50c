//! The words of a file for editors that colour them: keys and values of TOML, and what rules and macros name inside of texts.

use std::collections::HashMap;
use std::ops::Range;

use lsp_types::{Position, SemanticToken, SemanticTokenType, SemanticTokens, SemanticTokensLegend};

use crate::document::OpenDocument;
use crate::outline::{NodeContent, NodeId, Outline};
use crate::subject::word_around;

/// What a word is. The order is that of [`legend`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Comment,
    Table,
    Key,
    Text,
    Number,
    Keyword,
    Function,
    Reference,
    Macro,
}

type Token = (Range<usize>, TokenKind);

/// The kinds of words, as the protocol names them.
pub(crate) fn legend() -> SemanticTokensLegend {
    let token_types = vec![
        SemanticTokenType::COMMENT,
        SemanticTokenType::NAMESPACE,
        SemanticTokenType::PROPERTY,
        SemanticTokenType::STRING,
        SemanticTokenType::NUMBER,
        SemanticTokenType::KEYWORD,
        SemanticTokenType::FUNCTION,
        SemanticTokenType::VARIABLE,
        SemanticTokenType::MACRO,
    ];
    SemanticTokensLegend { token_types, token_modifiers: Vec::new() }
}

/// The words of a document. Editors colour JSON themselves: only words inside of its texts are listed.
pub(crate) fn semantic_tokens(document: &OpenDocument) -> SemanticTokens {
    let outline = document.outline();
    let mut found: Vec<Token> = Vec::new();
    if document.ending() == Some("json") {
        outline.texts().for_each(|(_, inner)| words(&document.text, inner, &mut found));
    } else {
        whole_values(outline, &document.text, &mut found);
    }
    found.sort_by_key(|(range, _)| range.start);
    encode(document, found)
}

fn whole_values(outline: &Outline, text: &str, found: &mut Vec<Token>) {
    found.extend(outline.comments().iter().map(|range| (range.clone(), TokenKind::Comment)));
    found.extend(outline.header_names().map(|range| (range.clone(), TokenKind::Table)));
    let mut named: HashMap<NodeId, TokenKind> = HashMap::new();
    for entry in outline.all_entries() {
        found.push((entry.key_range.clone(), TokenKind::Key));
        let kind = match entry.key.as_str() {
            "kind" => TokenKind::Keyword,
            "do" | "fn" => TokenKind::Function,
            _ => continue,
        };
        named.insert(entry.node, kind);
    }
    for (id, node) in outline.all_nodes() {
        match &node.content {
            NodeContent::Text(inner) => match named.get(&id) {
                Some(kind) => found.push((node.range.clone(), *kind)),
                None => {
                    let mut own = Vec::new();
                    words(text, inner, &mut own);
                    // the rest of the text lies between them
                    let mut at = node.range.start;
                    for (range, kind) in own {
                        found.extend([(at..range.start, TokenKind::Text), (range.clone(), kind)]);
                        at = range.end;
                    }
                    found.push((at..node.range.end, TokenKind::Text));
                }
            },
            NodeContent::Other => found.push((node.range.clone(), TokenKind::Number)),
            _ => {}
        }
    }
}

/// References, macros, and the functions of an expression inside of a text, in order.
fn words(text: &str, inner: &Range<usize>, found: &mut Vec<Token>) {
    let Some(value) = text.get(inner.clone()) else { return };
    let is_expression = value.starts_with('=');
    if !is_expression && !value.starts_with(['$', '@']) {
        found.extend(macros(value).into_iter().map(|part| (inner.start + part.start..inner.start + part.end, TokenKind::Macro)));
        return;
    }
    let mut at = 0;
    while let Some(offset) =
        value.get(at..).and_then(|rest| rest.find(|letter: char| letter.is_alphanumeric() || matches!(letter, '$' | '@')))
    {
        let word = word_around(value, at + offset);
        let start = at + offset;
        let end = word.end.max(start + 1);
        let is_call = || value.get(end..).is_some_and(|rest| rest.starts_with('('));
        let kind = match value.get(start..end) {
            Some(name) if name.starts_with(['$', '@']) => Some(TokenKind::Reference),
            Some(_) if is_expression && is_call() => Some(TokenKind::Function),
            _ => None,
        };
        found.extend(kind.map(|kind| (inner.start + start..inner.start + end, kind)));
        at = end;
    }
}

/// The `{{…}}` of a text, in order; one inside of another is part of it. A `{{` that is never closed is plain text.
fn macros(text: &str) -> Vec<Range<usize>> {
    let (mut open, mut found) = (Vec::new(), Vec::<Range<usize>>::new());
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(['{', '}'])) {
        let start = at + next;
        at = start + 2;
        match text.get(start..at) {
            Some("{{") => open.push(start),
            Some("}}") => {
                let Some(start) = open.pop() else { continue };
                found.truncate(found.partition_point(|known| known.start < start));
                found.push(start..at);
            }
            _ => at = start + 1,
        }
    }
    found
}

/// Words as the protocol counts them: each from the one before it. A word of several lines is one for each line.
fn encode(document: &OpenDocument, found: Vec<Token>) -> SemanticTokens {
    let mut data = Vec::with_capacity(found.len());
    let (mut end, mut last) = (0, (0, Position::default()));
    for (range, kind) in found {
        // a header is a key too
        if range.start < end {
            continue;
        }
        let Some(whole) = document.text.get(range.clone()) else { continue };
        end = range.end;
        let mut start = range.start;
        for piece in whole.split_inclusive('\n') {
            let length = piece.trim_end_matches(['\n', '\r']).encode_utf16().count();
            let at = start;
            start += piece.len();
            let Ok(length) = u32::try_from(length) else { continue };
            if length == 0 {
                continue;
            }
            let place = document.lines.position_after(&document.text, last, at);
            let delta_line = place.line.saturating_sub(last.1.line);
            let delta_start = if delta_line == 0 { place.character.saturating_sub(last.1.character) } else { place.character };
            data.push(SemanticToken { delta_line, delta_start, length, token_type: kind as u32, token_modifiers_bitset: 0 });
            last = (at, place);
        }
    }
    SemanticTokens { result_id: None, data }
}
