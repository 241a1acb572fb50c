//! Parses tags that hold expressions or blocks, with a stack of waiting operators and a stack of open blocks. The
//! tokens of a tag are read by hand, because a template may hold a tag for every ten bytes: a tag is `{{`, texts in quotes,
//! numbers, words and signs with white space between them, and `}}`. Anything else in it is a mistake.

use crate::model::Value;
use crate::text::{TextLimits, js};

use super::{BinaryOperator, LeafCode, LeafPath, LeafStep, find};

/// All signs, the longer ones first.
const SIGNS: [&str; 15] = ["||", "&&", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ".", "#"];

/// A token of a tag.
#[derive(Clone, Copy, PartialEq)]
enum TagToken<'t> {
    Text(&'t str),
    Number(&'t str),
    Word(&'t str),
    Sign(&'t str),
}

/// An operator that waits for its right side, or a bracket for its end.
#[derive(Clone, Copy)]
enum WaitingOperator {
    Open,
    Not,
    Binary(BinaryOperator),
}

/// An open block: the step that jumps to its other branch, and whether that branch has begun.
struct OpenBranch {
    skip: usize,
    other: bool,
}

/// Parses a whole text; `None` if it has a mistake.
pub(super) fn read(text: &str) -> Option<LeafCode> {
    let mut code = LeafCode::default();
    let mut open = Vec::new();
    let mut done = 0;
    while let Some(at) = find(text, done, "{{") {
        code.text(done..at);
        let (tokens, length) = tokens(text.get(at..)?)?;
        tag(&tokens, &mut code, &mut open)?;
        done = at + length;
    }
    code.text(done..text.len());
    open.is_empty().then_some(code)
}

/// The tokens and the length of the tag at the start of a text.
fn tokens(text: &str) -> Option<(Vec<TagToken<'_>>, usize)> {
    // a longer tag counts as a mistake
    let text = text.get(..text.floor_char_boundary(TextLimits::LEAF.length)).unwrap_or(text);
    let mut rest = text.strip_prefix("{{")?;
    let mut tokens = Vec::new();
    loop {
        rest = js::trim_start(rest);
        if let Some(behind) = rest.strip_prefix("}}") {
            return Some((tokens, text.len() - behind.len()));
        }
        let (token, behind) = token(rest)?;
        tokens.push(token);
        rest = behind;
    }
}

/// The token at the start of a text, and what follows.
fn token<'t>(text: &'t str) -> Option<(TagToken<'t>, &'t str)> {
    let (made, length): (fn(&'t str) -> TagToken<'t>, _) = match text.chars().next()? {
        quote @ ('"' | '\'') => (TagToken::Text, quoted(text, quote)?),
        '-' | '0'..='9' => (TagToken::Number, number(text)?),
        'a'..='z' | 'A'..='Z' | '_' | '$' => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '$'));
            (TagToken::Word, end.unwrap_or(text.len()))
        }
        _ => (TagToken::Sign, SIGNS.iter().find(|sign| text.starts_with(**sign))?.len()),
    };
    text.split_at_checked(length).map(|(token, behind)| (made(token), behind))
}

/// How long a text in quotes is that may hold escapes.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// How long a number is: `-1`, `2.5`.
fn number(text: &str) -> Option<usize> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = Some(digits(unsigned)).filter(|length| *length > 0)?;
    let fraction = unsigned.get(whole..)?.strip_prefix('.').map(digits).filter(|length| *length > 0);
    Some(text.len() - unsigned.len() + whole + fraction.map_or(0, |length| length + 1))
}

fn tag(tokens: &[TagToken<'_>], code: &mut LeafCode, open: &mut Vec<OpenBranch>) -> Option<()> {
    match tokens {
        [TagToken::Sign("#"), TagToken::Word("if"), condition @ ..] => {
            expression(condition, code)?;
            open.push(OpenBranch { skip: code.steps.len(), other: false });
            code.steps.push(LeafStep::Unless(0));
        }
        [TagToken::Sign("#"), TagToken::Word("else")] => {
            let block = open.last_mut().filter(|block| !block.other)?;
            let jump = code.steps.len();
            code.steps.push(LeafStep::Jump(0));
            land(code, block.skip);
            *block = OpenBranch { skip: jump, other: true };
        }
        [TagToken::Sign("#"), TagToken::Word("endif")] => land(code, open.pop()?.skip),
        tokens => {
            let start = code.steps.len();
            expression(tokens, code)?;
            match code.steps.get_mut(start..) {
                Some([step @ LeafStep::Path(_)]) => {
                    if let LeafStep::Path(place) = *step {
                        *step = LeafStep::Tag(place);
                    }
                }
                _ => code.steps.push(LeafStep::Print),
            }
        }
    }
    Some(())
}

/// Sets the target of a jump to the end of the steps.
fn land(code: &mut LeafCode, jump: usize) {
    let here = code.steps.len();
    if let Some(LeafStep::Unless(to) | LeafStep::Jump(to)) = code.steps.get_mut(jump) {
        *to = here;
    }
}

/// Writes the steps of an expression: values in the order written, operators behind their values.
fn expression(mut tokens: &[TagToken<'_>], code: &mut LeafCode) -> Option<()> {
    let mut waiting = Vec::new();
    let mut wants_value = true;
    while let Some((token, rest)) = tokens.split_first() {
        tokens = rest;
        match token {
            TagToken::Sign("!") if wants_value => waiting.push(WaitingOperator::Not),
            TagToken::Sign("(") if wants_value => waiting.push(WaitingOperator::Open),
            TagToken::Sign(")") if !wants_value => while release(waiting.pop()?, code) {},
            TagToken::Sign(sign) if !wants_value => {
                let binary = BinaryOperator::of(sign)?;
                while let Some(before) = waiting.pop_if(|before| before.strength() >= binary.strength()) {
                    release(before, code);
                }
                waiting.push(WaitingOperator::Binary(binary));
                wants_value = true;
            }
            token if wants_value => {
                tokens = value(*token, rest, code)?;
                wants_value = false;
            }
            _ => return None,
        }
    }
    while let Some(before) = waiting.pop() {
        release(before, code).then_some(())?;
    }
    (!wants_value).then_some(())
}

/// Writes the step of an operator. Returns false for a bracket, which has none.
fn release(waiting: WaitingOperator, code: &mut LeafCode) -> bool {
    match waiting {
        WaitingOperator::Open => return false,
        WaitingOperator::Not => code.steps.push(LeafStep::Not),
        WaitingOperator::Binary(binary) => code.steps.push(LeafStep::Binary(binary)),
    }
    true
}

/// Writes the step of a value and returns the tokens after it.
fn value<'t, 's>(token: TagToken<'t>, rest: &'s [TagToken<'t>], code: &mut LeafCode) -> Option<&'s [TagToken<'t>]> {
    let constant = match token {
        TagToken::Text(written) => Value::text(unescaped(written)),
        TagToken::Number(written) => js::value(written.parse().ok()?),
        TagToken::Word("true") => Value::Bool(true),
        TagToken::Word("false") => Value::Bool(false),
        TagToken::Word("null") => Value::Null,
        TagToken::Word(first) if !is_keyword(first) => {
            let (path, rest) = path(first, rest)?;
            let place = code.path(path);
            code.steps.push(LeafStep::Path(place));
            return Some(rest);
        }
        _ => return None,
    };
    code.steps.push(LeafStep::Constant(constant));
    Some(rest)
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "else" | "endif" | "true" | "false" | "null")
}

fn path<'t, 's>(first: &str, mut rest: &'s [TagToken<'t>]) -> Option<(LeafPath, &'s [TagToken<'t>])> {
    let mut steps = vec![first.to_owned()];
    loop {
        rest = match rest {
            [TagToken::Sign("."), TagToken::Word(name), behind @ ..] if !is_keyword(name) => {
                steps.push((*name).to_owned());
                behind
            }
            [TagToken::Sign("["), TagToken::Number(place), TagToken::Sign("]"), behind @ ..] => {
                steps.push(js::string(&js::value(place.parse().ok()?)));
                behind
            }
            [TagToken::Sign("." | "["), ..] => return None,
            _ => return Some((LeafPath::of_steps(steps.iter().map(String::as_str)), rest)),
        };
    }
}

impl BinaryOperator {
    fn of(sign: &str) -> Option<Self> {
        Some(match sign {
            "||" => Self::Or,
            "&&" => Self::And,
            "==" => Self::Equal,
            "!=" => Self::Unequal,
            "<" => Self::Less,
            "<=" => Self::AtMost,
            ">" => Self::Greater,
            ">=" => Self::AtLeast,
            _ => return None,
        })
    }

    /// The precedence of an operator; the higher one takes the value between two operators.
    fn strength(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::Unequal => 3,
            Self::Less | Self::AtMost | Self::Greater | Self::AtLeast => 4,
        }
    }
}

impl WaitingOperator {
    fn strength(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Binary(binary) => binary.strength(),
            Self::Not => 5,
        }
    }
}

/// The contents of quotes, with escapes decoded; a backslash that escapes nothing stays.
fn unescaped(quoted: &str) -> String {
    let mut rest = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    let mut units = Vec::new();
    let mut buffer = [0; 2];
    while let Some(c) = rest.chars().next() {
        let escape = rest.strip_prefix('\\').and_then(escape);
        let (code, behind) = escape.unwrap_or((u32::from(c), rest.get(c.len_utf8()..).unwrap_or_default()));
        match char::from_u32(code) {
            Some(c) => units.extend_from_slice(c.encode_utf16(&mut buffer)),
            // half a pair, which the next escape may complete
            None => units.push(u16::try_from(code).unwrap_or(0xfffd)),
        }
        rest = behind;
    }
    String::from_utf16_lossy(&units)
}

/// The character of an escape, and the rest of the text; `text` begins after the backslash.
fn escape(text: &str) -> Option<(u32, &str)> {
    let mut chars = text.chars();
    let plain = match chars.next()? {
        c @ ('\\' | '\'' | '"') => u32::from(c),
        'b' => 8,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        '0' => 0,
        'x' => return hex(text.get(1..3)?, text.get(3..)?),
        'u' => {
            return match text.strip_prefix("u{").and_then(|inner| inner.split_once('}')) {
                Some((digits, behind)) => hex(digits, behind).filter(|(code, _)| *code <= u32::from(char::MAX)),
                None => hex(text.get(1..5)?, text.get(5..)?),
            };
        }
        _ => return None,
    };
    Some((plain, chars.as_str()))
}

fn hex<'t>(digits: &str, behind: &'t str) -> Option<(u32, &'t str)> {
    let whole = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| whole).map(|code| (code, behind))
}
