//! The inside of a tag, word by word, on its way to the crate's parser.
//!
//! The crate gets every literal as a number, the slot of a constant, and every name that its grammar cannot read as a
//! constant too: its parser reads long numbers, quotes and names like `nilly` or `2nd` wrongly, or panics. Each piece
//! stands on a line of its own, so that the line in an error of the crate leads back to the place in the template.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::expr::Op;
use super::val::Val;
use super::{DEEPEST, MOST_WORDS, Trouble, filters};
use crate::text::js;

/// The name under which a rendering finds what stands in brackets behind it by its computed name; alone, it is the
/// value to which the filters behind operators are applied.
pub(super) const NAMED: &str = "_";
/// The name under which a rendering finds the value that stands in brackets behind it.
pub(super) const VALUE: &str = "__";
/// The filter that a range becomes.
pub(super) const RANGE: &str = "_range";

/// What was written for the crate.
#[derive(Default)]
pub(super) struct Written {
    pub text: String,
    /// Where each line of `text` stands in the template, in bytes.
    pub spots: Vec<usize>,
    pub constants: Vec<Val>,
    /// Filters that the template calls and that do not exist.
    pub unknown: Vec<String>,
}

/// Reads a stretch of the template and writes it down for the crate.
pub(super) struct Words<'t> {
    pub text: &'t str,
    pub at: usize,
    pub end: usize,
    pub written: Written,
    /// The slot of the first constant.
    first: usize,
    depth: usize,
    known: FxHashMap<&'t str, usize>,
}

type Done = Result<(), Trouble>;

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str, first: usize) -> Self {
        let written = Written { spots: vec![0], ..Written::default() };
        Self { text, at: 0, end: text.len(), written, first, depth: 0, known: FxHashMap::default() }
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
        if found {
            self.at += what.len();
        }
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

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Trouble> {
        Err(Trouble::new(self.at, message))
    }

    /// Begins a tag, which every piece up to [`Words::close`] belongs to.
    pub(super) fn open(&mut self, name: &str) {
        self.written.text.push_str("{%");
        self.written.text.push_str(name);
    }

    pub(super) fn piece(&mut self, at: usize, text: impl std::fmt::Display) -> Done {
        if self.written.spots.len() >= MOST_WORDS {
            return Err(Trouble::bound(at, format!("the template has more than {MOST_WORDS} words")));
        }
        let _ = write!(self.written.text, "\n{text}");
        self.written.spots.push(at);
        Ok(())
    }

    pub(super) fn close(&mut self) -> Done {
        self.piece(self.at, "%}")
    }

    /// The slot of a new constant.
    pub(super) fn constant(&mut self, value: Val) -> usize {
        self.written.constants.push(value);
        self.first + self.written.constants.len() - 1
    }

    /// The slot of a constant; the same one for what is written alike.
    fn interned(&mut self, written: &'t str, value: Val) -> usize {
        if let Some(slot) = self.known.get(written) {
            return *slot;
        }
        let slot = self.constant(value);
        self.known.insert(written, slot);
        slot
    }

    /// A name that is given a value; quotes round it are allowed.
    pub(super) fn name(&mut self) -> Done {
        self.skip_blank();
        let at = self.at;
        let name = if self.rest().starts_with(['"', '\'']) { self.quoted()? } else { self.word().to_owned() };
        if name.is_empty() {
            return self.fail("a name is missing here");
        }
        let slot = self.constant(Val::text(name));
        self.piece(at, slot)
    }

    /// Everything up to the end of the stretch: values, operators and, unless it is `bare`, filters.
    pub(super) fn all(&mut self, bare: bool) -> Done {
        let (mut operators, mut piped) = (false, false);
        loop {
            self.skip_blank();
            let (at, rest) = (self.at, self.rest());
            if rest.is_empty() {
                return Ok(());
            }
            if let Some(sign) = Op::sign(rest) {
                if piped && !matches!(sign, "," | ":") {
                    return self.fail("a value has ended here; only `|` and a filter may follow");
                }
                self.at += sign.len();
                operators |= !matches!(sign, "," | ":" | "=");
                self.piece(at, sign)?;
            } else if !bare && self.take("|") {
                if operators && !piped {
                    self.piece(at, ":")?;
                    self.piece(at, NAMED)?;
                }
                piped = true;
                self.piece(at, "|")?;
                self.filter()?;
            } else if rest.starts_with('(') {
                if piped {
                    return self.fail("a range cannot be the argument of a filter: give it a name with `assign`");
                }
                let range = self.range()?;
                self.piece(at, range)?;
            } else {
                let operand = self.operand()?;
                if operand.is_empty() {
                    return self.fail(format!("`{}` cannot stand here", rest.chars().next().unwrap_or_default()));
                }
                if Op::word(&operand).is_some() {
                    if piped {
                        return self.fail("a value has ended here; only `|` and a filter may follow");
                    }
                    operators = true;
                }
                self.piece(at, operand)?;
            }
        }
    }

    /// The name of a filter. One that does not exist becomes the filter that changes nothing.
    fn filter(&mut self) -> Done {
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

    fn range(&mut self) -> Result<String, Trouble> {
        let at = self.at;
        self.at += 1;
        let from = self.operand()?;
        self.skip_blank();
        let dots = self.take("..");
        let to = self.operand()?;
        self.skip_blank();
        if from.is_empty() || to.is_empty() || !dots || !self.take(")") {
            return Err(Trouble::new(at, "a range is written `(1..3)`"));
        }
        Ok(format!("{from}|{RANGE}:{to}"))
    }

    /// One value as the crate is to read it; empty if none stands here.
    fn operand(&mut self) -> Result<String, Trouble> {
        self.skip_blank();
        if self.depth >= DEEPEST {
            return Err(Trouble::bound(self.at, format!("brackets are nested deeper than {DEEPEST}")));
        }
        self.depth += 1;
        let operand = self.operand_inside();
        self.depth -= 1;
        operand
    }

    fn operand_inside(&mut self) -> Result<String, Trouble> {
        let start = self.at;
        let value = match self.rest().bytes().next() {
            Some(b'"' | b'\'') => Some(Val::text(self.quoted()?)),
            Some(b'[') => {
                // a name that is computed
                let mut path = NAMED.to_owned();
                self.keys(&mut path)?;
                return Ok(path);
            }
            _ => self.number(),
        };
        let word = if value.is_none() { self.word() } else { "" };
        let value = value.or_else(|| literal(word));
        let written = self.text.get(start..self.at).unwrap_or_default();
        let Some(value) = value else {
            if word.is_empty() {
                return Ok(String::new());
            }
            let mut path = if is_plain(word) {
                word.to_owned()
            } else {
                format!("{NAMED}[{}]", self.constant(Val::text(word)))
            };
            self.keys(&mut path)?;
            return Ok(path);
        };
        let slot = self.interned(written, value);
        let mut path = format!("{VALUE}[{slot}]");
        let bare = path.len();
        self.keys(&mut path)?;
        Ok(if path.len() == bare { slot.to_string() } else { path })
    }

    fn keys(&mut self, path: &mut String) -> Done {
        loop {
            if self.take("[") {
                let key = self.operand()?;
                if key.is_empty() {
                    return self.fail("a key is missing between `[` and `]`");
                }
                self.skip_blank();
                if !self.take("]") {
                    return self.fail("`]` is missing here");
                }
                let _ = write!(path, "[{key}]");
            } else if self.rest().starts_with('.') && !self.rest().starts_with("..") {
                self.at += 1;
                let key = self.word();
                if key.is_empty() {
                    return self.fail("a name is missing behind the dot");
                }
                let _ = match is_plain(key) {
                    true => write!(path, ".{key}"),
                    false => write!(path, "[{}]", self.constant(Val::text(key))),
                };
            } else {
                return Ok(());
            }
        }
    }

    fn number(&mut self) -> Option<Val> {
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
        Some(Val::number(value))
    }

    /// A text in quotes, with JavaScript's escapes.
    fn quoted(&mut self) -> Result<String, Trouble> {
        let start = self.at;
        let mut chars = self.rest().chars();
        let quote = chars.next();
        let mut out = String::new();
        loop {
            match chars.next() {
                None => return Err(Trouble::new(start, "the quote that begins here has no end")),
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
const LITERALS: &[(&str, Val)] = &[
    ("true", Val::Is(crate::model::Value::Bool(true))),
    ("false", Val::Is(crate::model::Value::Bool(false))),
    ("nil", Val::Nil),
    ("null", Val::Nil),
    ("empty", Val::Empty),
    ("blank", Val::Blank),
];

fn literal(word: &str) -> Option<Val> {
    LITERALS.iter().find(|(literal, _)| *literal == word).map(|(_, value)| value.clone())
}

/// Whether the crate's grammar reads this as a name. It takes `nil` out of `nilly`.
fn is_plain(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && ![NAMED, VALUE].contains(&word)
        && !LITERALS.iter().any(|(literal, _)| word.starts_with(literal))
}

fn escape(chars: &mut std::str::Chars<'_>, out: &mut String) {
    match chars.next() {
        Some('n') => out.push('\n'),
        Some('r') => out.push('\r'),
        Some('t') => out.push('\t'),
        Some('b') => out.push('\u{8}'),
        Some('f') => out.push('\u{c}'),
        Some('v') => out.push('\u{b}'),
        Some('u') => {
            let digits: String = chars.clone().take(4).take_while(char::is_ascii_hexdigit).collect();
            match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                Some(c) => {
                    out.push(c);
                    *chars = chars.as_str().get(digits.len()..).unwrap_or_default().chars();
                }
                None => out.push('u'),
            }
        }
        Some(c) => out.push(c),
        None => {}
    }
}
