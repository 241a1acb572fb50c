//! Converts the inside of a tag, word by word, for the crate's parser.
//!
//! The crate gets every literal as a number, the slot of a constant, and every name that its grammar cannot read as a
//! constant too: its parser reads long numbers, quotes and names like `nilly` or `2nd` wrongly, or panics. The
//! structure of the words is left to the crate. Each word stands on a line of its own, so that the line in an error of
//! the crate leads back to the place in the template.

use std::fmt::{Display, Write as _};

use rustc_hash::FxHashMap;

use super::expr::LiquidOperator;
use super::val::LiquidValue;
use super::{MOST_WORDS, filters};
use crate::model::Value;
use crate::text::TextLimits;
use crate::text::{Mistake, js};

/// The name for access by a computed name, which follows in brackets; alone, it is the value that filters after
/// operators are applied to.
pub(super) const NAMED: &str = "_";
/// The name for the value that follows in brackets.
pub(super) const VALUE: &str = "__";

/// What was written for the crate.
#[derive(Default)]
pub(super) struct TranslatedText {
    pub text: String,
    /// The position of each line of `text` in the template, in bytes.
    pub spots: Vec<usize>,
    pub constants: Vec<LiquidValue>,
    /// Filters that the template calls and that do not exist.
    pub unknown: Vec<String>,
}

/// Reads a range of the template and writes it for the crate.
pub(super) struct LiquidReader<'t> {
    pub text: &'t str,
    pub at: usize,
    pub end: usize,
    pub written: TranslatedText,
    /// The slot of the first constant.
    first: usize,
    known: FxHashMap<&'t str, usize>,
}

type WordResult = Result<(), Mistake>;

impl<'t> LiquidReader<'t> {
    pub(super) fn new(text: &'t str, first: usize) -> Self {
        let written = TranslatedText { spots: vec![0], ..TranslatedText::default() };
        Self { text, at: 0, end: text.len(), written, first, known: FxHashMap::default() }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn skip_blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - js::trim_start(rest).len();
    }

    pub(super) fn take(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        self.at += if found { what.len() } else { 0 };
        found
    }

    /// A word of letters, digits, `_`, `-`, `?` and everything beyond ASCII; may be empty.
    pub(super) fn word(&mut self) -> &'t str {
        self.skip_blank();
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '?') || js::is_space(c));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        word
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake::at(self.at, message))
    }

    /// Begins a tag, which every word up to [`LiquidReader::close`] belongs to.
    pub(super) fn open(&mut self, name: &str) {
        self.glue("{%");
        self.glue(name);
    }

    pub(super) fn close(&mut self) -> WordResult {
        self.piece(self.at, "%}")
    }

    /// A word on a line of its own.
    pub(super) fn piece(&mut self, at: usize, text: impl Display) -> WordResult {
        if self.written.spots.len() >= MOST_WORDS {
            return Err(Mistake::bound(at, format!("the template has more than {MOST_WORDS} words")));
        }
        self.glue(format_args!("\n{text}"));
        self.written.spots.push(at);
        Ok(())
    }

    /// Appends to the previous word.
    fn glue(&mut self, text: impl Display) {
        let _ = write!(self.written.text, "{text}");
    }

    /// The slot of a new constant.
    pub(super) fn constant(&mut self, value: LiquidValue) -> usize {
        self.written.constants.push(value);
        self.first + self.written.constants.len() - 1
    }

    /// A name that is assigned; quotes around it are allowed.
    pub(super) fn name(&mut self) -> WordResult {
        self.skip_blank();
        let at = self.at;
        let name = if self.rest().starts_with(['"', '\'']) { self.quoted()? } else { self.word().to_owned() };
        if name.is_empty() {
            return self.fail("a name is missing here");
        }
        let slot = self.constant(LiquidValue::text(name));
        self.piece(at, slot)
    }

    /// Everything up to the end of the range: values, operators and, unless it is `bare`, filters.
    pub(super) fn all(&mut self, bare: bool) -> WordResult {
        let (mut operators, mut piped, mut depth, mut range) = (false, false, 0, None);
        // the end of the last value, which a key may be joined to, and whether there has been a value
        let (mut ended, mut begun) = (None, false);
        // the argument of a filter must follow
        let mut awaited = false;
        loop {
            self.skip_blank();
            let (at, rest) = (self.at, self.rest());
            let before = ended.take();
            let joined = before == Some(at);
            let first = rest.chars().next();
            if awaited && matches!(first, None | Some('|')) {
                return self.fail("a value is missing here");
            }
            let Some(first) = first else { break };
            let sign = LiquidOperator::sign(rest);
            if piped && (sign.is_some_and(|sign| !matches!(sign, "," | ":")) || first == '(') {
                return self.fail("a filter is followed only by its arguments, which are single values, and by more filters");
            }
            if let Some(sign) = sign.filter(|_| range.is_none()) {
                operators |= !matches!(sign, "," | ":" | "=");
                awaited = piped;
                self.at += sign.len();
                self.piece(at, sign)?;
                continue;
            }
            // of adjacent values the first counts, as if there were an operator between them
            let mut operator = false;
            awaited = false;
            match first {
                '|' if !bare && begun => {
                    if operators {
                        self.piece(at, ":")?;
                        self.piece(at, NAMED)?;
                    }
                    (piped, operators) = (true, false);
                    self.filter()?;
                    // neither a value nor a key may follow directly
                    ended = Some(usize::MAX);
                }
                '(' if range.is_none() => {
                    self.at += 1;
                    range = Some((at, false));
                    self.piece(at, '(')?;
                }
                ')' if before.is_some() && range.is_some_and(|(_, dots)| dots) => {
                    self.at += 1;
                    // filters are kept apart from a range, as from an operator
                    (range, operators, begun) = (None, true, true);
                    self.piece(at, ')')?;
                }
                '.' if before.is_some() && rest.starts_with("..") && range.is_some_and(|(_, dots)| !dots) => {
                    self.at += 2;
                    range = range.map(|(at, _)| (at, true));
                    self.piece(at, "..")?;
                }
                '.' if joined => {
                    self.at += 1;
                    match self.word() {
                        "" => return self.fail("a name is missing behind the dot"),
                        key if is_plain(key) => self.glue(format_args!(".{key}")),
                        key => {
                            let slot = self.constant(LiquidValue::text(key));
                            self.glue(format_args!("[{slot}]"));
                        }
                    }
                    ended = Some(self.at);
                }
                '[' if depth >= TextLimits::LIQUID.depth => {
                    return Err(Mistake::bound(at, format!("brackets are nested deeper than {}", TextLimits::LIQUID.depth)));
                }
                '[' => {
                    (self.at, depth) = (at + 1, depth + 1);
                    if joined {
                        self.glue('[');
                        continue;
                    }
                    (operator, begun) = (before.is_some(), true);
                    self.piece(at, format_args!("{NAMED}["))?;
                }
                ']' if depth > 0 => {
                    (self.at, depth, ended) = (at + 1, depth - 1, Some(at + 1));
                    self.glue(']');
                }
                _ => {
                    let word = self.operand()?;
                    if word.is_empty() && range.is_none() {
                        return self.fail(format!("`{first}` cannot stand here"));
                    }
                    if word.is_empty() {
                        break;
                    }
                    let is_operator = LiquidOperator::word(word).is_some();
                    operator = is_operator || before.is_some();
                    (ended, begun) = ((!is_operator).then_some(self.at), true);
                }
            }
            operators |= operator;
            if operator && (piped || range.is_some()) {
                return Err(Mistake::at(at, "a value has ended here; only `|` and a filter may follow"));
            }
        }
        match range {
            Some((at, _)) => Err(Mistake::at(at, "a range is written `(1..3)`")),
            None if depth > 0 => self.fail("`]` is missing here"),
            None => Ok(()),
        }
    }

    /// A filter by its name. One that does not exist becomes the filter that changes nothing.
    fn filter(&mut self) -> WordResult {
        self.piece(self.at, "|")?;
        self.at += 1;
        self.skip_blank();
        let (at, name) = (self.at, self.word());
        if name.is_empty() {
            return self.fail("the name of a filter is missing behind `|`");
        }
        if filters::is_known(name) {
            return self.piece(at, name);
        }
        if !self.written.unknown.iter().any(|known| known == name) {
            self.written.unknown.push(name.to_owned());
        }
        self.piece(at, filters::NOTHING)
    }

    /// A literal or a name, as it is written; empty if neither stands here.
    fn operand(&mut self) -> Result<&'t str, Mistake> {
        let at = self.at;
        let quoted = if self.rest().starts_with(['"', '\'']) { Some(LiquidValue::text(self.quoted()?)) } else { None };
        let literal = quoted.or_else(|| self.number()).or_else(|| literal(self.word()));
        let word = self.text.get(at..self.at).unwrap_or_default();
        let Some(literal) = literal else {
            if is_plain(word) {
                self.piece(at, word)?;
            } else if !word.is_empty() {
                let slot = self.constant(LiquidValue::text(word));
                self.piece(at, format_args!("{NAMED}[{slot}]"))?;
            }
            return Ok(word);
        };
        // equal spellings share one slot, so that loops over them and cycles of them are recognised again
        let slot = match self.known.get(word) {
            Some(slot) => *slot,
            None => self.constant(literal),
        };
        self.known.insert(word, slot);
        let has_keys = self.rest().starts_with(['[', '.']) && !self.rest().starts_with("..");
        if has_keys {
            self.piece(at, format_args!("{VALUE}[{slot}]"))?
        } else {
            self.piece(at, slot)?
        }
        Ok(word)
    }

    fn number(&mut self) -> Option<LiquidValue> {
        let rest = self.rest();
        let digits = |from: usize| rest.bytes().skip(from).take_while(u8::is_ascii_digit).count();
        let sign = usize::from(rest.starts_with('-'));
        let whole = digits(sign);
        let mut end = sign + whole;
        if rest.get(end..).is_some_and(|r| r.starts_with('.')) && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        let value = rest.get(..end).filter(|_| whole > 0)?.parse::<f64>().ok()?;
        self.at += end;
        Some(LiquidValue::number(value))
    }

    /// A text in quotes, with JavaScript's escapes.
    fn quoted(&mut self) -> Result<String, Mistake> {
        let mut chars = self.rest().chars();
        let quote = chars.next();
        let mut out = String::new();
        loop {
            match chars.next() {
                None => return self.fail("the quote that begins here has no end"),
                c if c == quote => break,
                Some('\\') => escape(&mut chars, &mut out),
                Some(c) => out.push(c),
            }
        }
        self.at = self.end - chars.as_str().len();
        Ok(out)
    }
}

/// The words that are values.
const LITERALS: &[(&str, LiquidValue)] = &[
    ("true", LiquidValue::Is(Value::Bool(true))),
    ("false", LiquidValue::Is(Value::Bool(false))),
    ("nil", LiquidValue::Nil),
    ("null", LiquidValue::Nil),
    ("empty", LiquidValue::Empty),
    ("blank", LiquidValue::Blank),
];

fn literal(word: &str) -> Option<LiquidValue> {
    LITERALS.iter().find(|(literal, _)| *literal == word).map(|(_, value)| value.clone())
}

/// Whether the crate's grammar reads this as a name; it would read `nil` from `nilly`.
fn is_plain(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && ![NAMED, VALUE].contains(&word)
        && !LITERALS.iter().any(|(literal, _)| word.starts_with(literal))
}

fn escape(chars: &mut std::str::Chars<'_>, out: &mut String) {
    let escaped = chars.next();
    let digits = chars.as_str().bytes().take(4).take_while(u8::is_ascii_hexdigit).count();
    let (digits, rest) = chars.as_str().split_at_checked(digits).unwrap_or_default();
    match (escaped, u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)) {
        (Some('u'), Some(c)) => {
            out.push(c);
            *chars = rest.chars();
        }
        (Some('n'), _) => out.push('\n'),
        (Some('r'), _) => out.push('\r'),
        (Some('t'), _) => out.push('\t'),
        (Some('b'), _) => out.push('\u{8}'),
        (Some('f'), _) => out.push('\u{c}'),
        (Some('v'), _) => out.push('\u{b}'),
        (c, _) => out.extend(c),
    }
}
