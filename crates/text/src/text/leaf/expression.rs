//! Parses tags that hold expressions or blocks, with a stack of waiting operators and a stack of open blocks. The
//! tokens of a tag are read by hand, because a template may hold a tag for every ten bytes: a tag is `{{`, texts in quotes,
//! numbers, words and signs with white space between them, and `}}`. Anything else in it is a mistake.

use crate::model::Value;
use crate::text::{Limits, js};

use super::code::{BinaryOperator, Code, Step, find};
use super::path::Path;

/// All signs, the longer ones first.
const SIGNS: [&str; 15] = ["||", "&&", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ".", "#"];

/// A token of a tag.
#[derive(Clone, Copy, PartialEq)]
enum Token<'t> {
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
struct Block {
    skip: usize,
    other: bool,
}

/// Parses a whole text; `None` if it has a mistake.
pub(super) fn read(text: &str) -> Option<Code> {
    let mut code = Code::default();
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
fn tokens(text: &str) -> Option<(Vec<Token<'_>>, usize)> {
    // a longer tag counts as a mistake
    let text = text.get(..text.floor_char_boundary(Limits::LEAF.length)).unwrap_or(text);
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
fn token<'t>(text: &'t str) -> Option<(Token<'t>, &'t str)> {
    let (made, length): (fn(&'t str) -> Token<'t>, _) = match text.chars().next()? {
        quote @ ('"' | '\'') => (Token::Text, quoted(text, quote)?),
        '-' | '0'..='9' => (Token::Number, number(text)?),
        'a'..='z' | 'A'..='Z' | '_' | '$' => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '$'));
            (Token::Word, end.unwrap_or(text.len()))
        }
        _ => (Token::Sign, SIGNS.iter().find(|sign| text.starts_with(**sign))?.len()),
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

fn tag(tokens: &[Token<'_>], code: &mut Code, open: &mut Vec<Block>) -> Option<()> {
    match tokens {
        [Token::Sign("#"), Token::Word("if"), condition @ ..] => {
            expression(condition, code)?;
            open.push(Block { skip: code.steps.len(), other: false });
            code.steps.push(Step::Unless(0));
        }
        [Token::Sign("#"), Token::Word("else")] => {
            let block = open.last_mut().filter(|block| !block.other)?;
            let jump = code.steps.len();
            code.steps.push(Step::Jump(0));
            land(code, block.skip);
            *block = Block { skip: jump, other: true };
        }
        [Token::Sign("#"), Token::Word("endif")] => land(code, open.pop()?.skip),
        tokens => {
            let start = code.steps.len();
            expression(tokens, code)?;
            match code.steps.get_mut(start..) {
                Some([step @ Step::Path(_)]) => {
                    if let Step::Path(place) = *step {
                        *step = Step::Tag(place);
                    }
                }
                _ => code.steps.push(Step::Print),
            }
        }
    }
    Some(())
}

/// Sets the target of a jump to the end of the steps.
fn land(code: &mut Code, jump: usize) {
    let here = code.steps.len();
    if let Some(Step::Unless(to) | Step::Jump(to)) = code.steps.get_mut(jump) {
        *to = here;
    }
}

/// Writes the steps of an expression: values in the order written, operators behind their values.
fn expression(mut tokens: &[Token<'_>], code: &mut Code) -> Option<()> {
    let mut waiting = Vec::new();
    let mut wants_value = true;
    while let Some((token, rest)) = tokens.split_first() {
        tokens = rest;
        match token {
            Token::Sign("!") if wants_value => waiting.push(WaitingOperator::Not),
            Token::Sign("(") if wants_value => waiting.push(WaitingOperator::Open),
            Token::Sign(")") if !wants_value => while release(waiting.pop()?, code) {},
            Token::Sign(sign) if !wants_value => {
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
fn release(waiting: WaitingOperator, code: &mut Code) -> bool {
    match waiting {
        WaitingOperator::Open => return false,
        WaitingOperator::Not => code.steps.push(Step::Not),
        WaitingOperator::Binary(binary) => code.steps.push(Step::Binary(binary)),
    }
    true
}

/// Writes the step of a value and returns the tokens after it.
fn value<'t, 's>(token: Token<'t>, rest: &'s [Token<'t>], code: &mut Code) -> Option<&'s [Token<'t>]> {
    let constant = match token {
        Token::Text(written) => Value::text(unescaped(written)),
        Token::Number(written) => js::value(written.parse().ok()?),
        Token::Word("true") => Value::Bool(true),
        Token::Word("false") => Value::Bool(false),
        Token::Word("null") => Value::Null,
        Token::Word(first) if !is_keyword(first) => {
            let (path, rest) = path(first, rest)?;
            let place = code.path(path);
            code.steps.push(Step::Path(place));
            return Some(rest);
        }
        _ => return None,
    };
    code.steps.push(Step::Constant(constant));
    Some(rest)
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "else" | "endif" | "true" | "false" | "null")
}

fn path<'t, 's>(first: &str, mut rest: &'s [Token<'t>]) -> Option<(Path, &'s [Token<'t>])> {
    let mut steps = vec![first.to_owned()];
    loop {
        rest = match rest {
            [Token::Sign("."), Token::Word(name), behind @ ..] if !is_keyword(name) => {
                steps.push((*name).to_owned());
                behind
            }
            [Token::Sign("["), Token::Number(place), Token::Sign("]"), behind @ ..] => {
                steps.push(js::string(&js::value(place.parse().ok()?)));
                behind
            }
            [Token::Sign("." | "["), ..] => return None,
            _ => return Some((Path::of_steps(steps.iter().map(String::as_str)), rest)),
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
