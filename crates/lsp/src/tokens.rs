//! The words of a file for editors that colour them: keys and values of TOML, and what rules and macros name inside of texts.

use std::collections::HashMap;
use std::ops::Range;

use lsp_types::{SemanticToken, SemanticTokenType, SemanticTokens, SemanticTokensLegend};

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
        let mut at = 0;
        while let Some((start, end)) = next_macro(value, at) {
            found.push((inner.start + start..inner.start + end, TokenKind::Macro));
            at = end;
        }
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

/// The first `{{…}}` at a byte or behind it; one inside of another is part of it.
fn next_macro(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find("{{")?;
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        let rest = text.get(at..)?;
        let next = rest.find(['{', '}'])?;
        let brace = rest.get(next..next + 2);
        depth = match brace {
            Some("{{") => depth + 1,
            Some("}}") => depth.saturating_sub(1),
            _ => {
                at += next + 1;
                continue;
            }
        };
        at += next + 2;
        if depth == 0 {
            return Some((start, at));
        }
    }
}

/// Words as the protocol counts them: each from the one before it. A word of several lines is one for each line.
fn encode(document: &OpenDocument, found: Vec<Token>) -> SemanticTokens {
    let mut data = Vec::with_capacity(found.len());
    let (mut end, mut line, mut column) = (0, 0, 0);
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
            let place = document.lines.position(&document.text, start);
            start += piece.len();
            let Ok(length) = u32::try_from(length) else { continue };
            if length == 0 {
                continue;
            }
            let delta_start = if place.line == line { place.character.saturating_sub(column) } else { place.character };
            let delta_line = place.line.saturating_sub(line);
            data.push(SemanticToken { delta_line, delta_start, length, token_type: kind as u32, token_modifiers_bitset: 0 });
            (line, column) = (place.line, place.character);
        }
    }
    SemanticTokens { result_id: None, data }
}
