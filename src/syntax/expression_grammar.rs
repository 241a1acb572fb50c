//! The grammar of expressions, and what it leaves to be done by hand: bounds, and escapes in texts. Nothing here needs the rest of
//! the crate: `build.rs` reads the expressions of the shipped packs with it.

use std::sync::LazyLock;

use pest::iterators::Pair;
use pest::pratt_parser::{Assoc, Op as Precedence, PrattParser};

/// The bytes that an expression may have.
pub(super) const LENGTH: usize = 1 << 16;
/// How deep its brackets may nest.
pub(super) const NESTING: usize = 96;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/expression.pest"]
pub(super) struct ExpressionGrammar;

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WrittenNumber {
    /// Without a point or an exponent.
    Int(i64),
    /// Any other.
    Float(f64),
}

/// The precedence of the operators, weakest first.
pub(super) static PRECEDENCE: LazyLock<PrattParser<Rule>> = LazyLock::new(|| {
    let left = |rule| Precedence::infix(rule, Assoc::Left);
    PrattParser::new()
        .op(left(Rule::or))
        .op(left(Rule::and))
        .op(left(Rule::le) | left(Rule::ge) | left(Rule::eq) | left(Rule::ne) | left(Rule::lt) | left(Rule::gt) | left(Rule::within))
        .op(left(Rule::add) | left(Rule::sub))
        .op(left(Rule::mul) | left(Rule::div) | left(Rule::rem))
});

/// Refuses text that would nest too deeply for the parser, which recurses at brackets and at `?`.
///
/// # Errors
/// Where it becomes too deep, in bytes.
pub(super) fn check_nesting(text: &str) -> Result<(), usize> {
    let (mut depth, mut choices) = (0_usize, 0_usize);
    // what matters here is ASCII
    let is_marked = |c: &u8| matches!(c, b'(' | b'[' | b'{' | b')' | b']' | b'}' | b'?' | b'"' | b'\'' | b'/');
    let mut at = 0;
    while let Some(found) = text.as_bytes().get(at..).and_then(|rest| rest.iter().position(is_marked)) {
        at += found;
        let rest = text.get(at..).unwrap_or_default();
        let Some(c) = rest.chars().next() else { break };
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '?' => choices += 1,
            _ => {}
        }
        if depth > NESTING || choices > 2 * NESTING {
            return Err(at);
        }
        let is_raw = text.get(..at).is_some_and(|before| before.ends_with(['r', 'R']));
        at += match c {
            '"' | '\'' => string_length(rest, c, is_raw),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
    }
    Ok(())
}

/// The bytes of the string with which a text begins.
fn string_length(text: &str, quote: char, is_raw: bool) -> usize {
    let triple = String::from(quote).repeat(3);
    let end = if text.starts_with(&triple) { triple } else { quote.to_string() };
    let mut at = end.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty() && !rest.starts_with(&end)) {
        let escape = usize::from(rest.starts_with('\\') && !is_raw);
        at += rest.chars().take(1 + escape).map(char::len_utf8).sum::<usize>();
    }
    at + end.len()
}

/// Whether a text is a name as variables and fields have it.
pub(super) fn is_word(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_') && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// The name that a call without arguments is, or any other atom as it is.
pub(super) fn read_atom(atom: Pair<'_, Rule>) -> Pair<'_, Rule> {
    let mut inner = atom.clone().into_inner();
    match (atom.as_rule(), inner.next(), inner.next()) {
        (Rule::call, Some(name), None) => name,
        _ => atom,
    }
}

/// A number as it is written; `None` if it is too large.
pub(super) fn read_number(text: &str) -> Option<WrittenNumber> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok().map(WrittenNumber::Int),
        None if text.contains(['.', 'e', 'E']) => text.parse().ok().map(WrittenNumber::Float),
        None => text.parse().ok().map(WrittenNumber::Int),
    }
}

/// The text that a string means; or where an escape is wrong, and why.
///
/// # Errors
/// The byte of the escape, and a sentence.
pub(super) fn read_string(pair: &Pair<'_, Rule>) -> Result<String, (usize, String)> {
    let Some(inner) = pair.clone().into_inner().next() else { return Ok(String::new()) };
    if matches!(inner.as_rule(), Rule::raw | Rule::raw_s | Rule::raw_3 | Rule::raw_3s) {
        return Ok(inner.as_str().to_owned());
    }
    unescape(inner.as_str()).map_err(|(offset, message)| (inner.as_span().start() + offset, message))
}

/// A text with its escapes replaced; or where one is wrong, and why.
fn unescape(text: &str) -> Result<String, (usize, String)> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some((_, escape)) = letters.next() else { return Err((at, "the text ends in an escape".into())) };
        let mut number = |first: Option<char>, more: usize, radix: u32| -> Option<char> {
            let digits: String = first.into_iter().chain(letters.by_ref().take(more).map(|(_, c)| c)).collect();
            let whole = digits.len() == more + usize::from(first.is_some()) && digits.chars().all(|c| c.is_digit(radix));
            u32::from_str_radix(&digits, radix).ok().filter(|_| whole).and_then(char::from_u32)
        };
        let letter = match escape {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            '\\' | '?' | '"' | '\'' | '`' => Some(escape),
            'x' | 'X' => number(None, 2, 16),
            'u' => number(None, 4, 16),
            'U' => number(None, 8, 16),
            '0'..='3' => number(Some(escape), 2, 8),
            _ => None,
        };
        out.push(letter.ok_or_else(|| (at, format!("`\\{escape}` is no escape")))?);
    }
    Ok(out)
}
