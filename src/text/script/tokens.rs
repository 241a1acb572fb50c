//! The tokens of a script, and how many of them a script may have.
//!
//! The parser and the optimizer of the interpreter take the square of the number of cases, fields, parameters and constants,
//! and a list of a script takes a hundred times the memory of its text. So a script that has too many is not given to them.

use std::ops::Range;

use super::literals::{comment, number, quoted, raw};
use super::words::{OWN, RESERVED};

/// The deepest nesting of brackets and of expressions in texts.
const DEEPEST: usize = 256;

/// The most commas inside of one pair of brackets, and the most cases of one `switch`.
const MOST_COMMAS: usize = 2_000;

/// The most constants of a script.
const MOST_CONSTANTS: usize = 2_000;

/// The most tokens of a script.
const MOST_TOKENS: usize = 200_000;

/// The most tokens of all scripts of a pack.
pub(super) const MOST_TOKENS_OF_ALL: usize = 500_000;

/// The most bytes of a script that cannot be read, and that the interpreter is given all the same, to say what is wrong.
const MOST_UNREAD: usize = 1 << 20;

/// Why a script cannot be changed: the interpreter is given it as it is, and refuses it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// A text, a comment or a bracket is not closed; the interpreter says where.
    Syntax,
    /// It uses a name of the engine.
    Name,
    /// It uses a word that copies a value in each call. Where the word begins.
    Copying(usize),
    /// Brackets are nested too deeply.
    Deep,
    /// It has more of something than compiling it may take. Where that is, and what.
    Large(usize, Large),
}

/// What a script has too many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Large {
    Commas,
    Cases,
    Constants,
    Tokens,
}

impl Large {
    /// What is wrong, and what to do.
    pub(super) fn message(self) -> String {
        let rows = "keep a large table as rows of a table of the pack, or split it";
        match self {
            Self::Commas => format!("more than {MOST_COMMAS} elements, fields or parameters stand in one pair of brackets; {rows}"),
            Self::Cases => format!("more than {MOST_COMMAS} cases stand in one pair of brackets; {rows}"),
            Self::Constants => format!("the script has more than {MOST_CONSTANTS} constants; {rows}"),
            Self::Tokens => format!("the script has more than {MOST_TOKENS} words, numbers, texts and marks; split the script, or {rows}"),
        }
    }

    /// The same for all scripts of a pack together.
    pub(super) fn message_of_all() -> String {
        format!(
            "the scripts up to this one have more than {MOST_TOKENS_OF_ALL} words, numbers, texts and marks together; \
             keep large tables as rows of tables of the pack, or leave scripts out"
        )
    }
}

/// Whether the interpreter may read a script whose tokens are not known: it has few of everything, wherever that stands.
pub(super) fn is_small(source: &str) -> bool {
    let few = |what: &str, most: usize| source.matches(what).nth(most).is_none();
    source.len() <= MOST_UNREAD && few(",", MOST_COMMAS) && few("=>", MOST_COMMAS) && few("const", MOST_CONSTANTS)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// A number, a character or a text.
    Literal,
    /// An operator or a bracket; the bracket that closes it, if it opens one.
    Mark(Option<usize>),
}

pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

pub(super) struct Lexer<'a> {
    source: &'a str,
    pub(super) tokens: Vec<Token>,
    /// The numbers of the brackets that are open.
    open: Vec<usize>,
    /// The commas and the cases outside of all brackets, and inside of each that is open.
    counts: Vec<(usize, usize)>,
    constants: usize,
    /// Where a carriage return ends a line for the interpreter.
    pub(super) breaks: Vec<usize>,
}

const MARKS: &[&str] = &[
    "**=", "<<=", ">>=", "..=", "...", "===", "!==", "::", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "?[", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**", "..", "#{", "++", "--", "->", "|>", "<|", "!in", ":=", "<-",
];

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, tokens: Vec::new(), open: Vec::new(), counts: vec![(0, 0)], constants: 0, breaks: Vec::new() }
    }

    /// Reads the whole script.
    pub(super) fn all(&mut self) -> Result<(), Unreadable> {
        self.code(0, self.source.len(), 0)?;
        if self.open.is_empty() { Ok(()) } else { Err(Unreadable::Syntax) }
    }

    fn rest(&self, at: usize, end: usize) -> &str {
        self.source.get(at..end).unwrap_or_default()
    }

    /// Notes a place at which the interpreter takes a carriage return for the end of a line.
    fn ends_line(&mut self, at: usize) {
        if self.source.get(at..).is_some_and(|rest| rest.starts_with('\r') && !rest.starts_with("\r\n")) {
            self.breaks.push(at);
        }
    }

    fn push(&mut self, kind: Kind, at: Range<usize>) -> Result<(), Unreadable> {
        if self.tokens.len() >= MOST_TOKENS {
            return Err(Unreadable::Large(at.start, Large::Tokens));
        }
        self.tokens.push(Token { kind, at });
        Ok(())
    }

    /// Counts a comma or a case of the bracket that is open.
    fn count(&mut self, what: Large, at: usize) -> Result<(), Unreadable> {
        let Some((commas, cases)) = self.counts.last_mut() else { return Ok(()) };
        let count = if what == Large::Cases { cases } else { commas };
        *count += 1;
        if *count > MOST_COMMAS { Err(Unreadable::Large(at, what)) } else { Ok(()) }
    }

    fn constant(&mut self, at: usize) -> Result<(), Unreadable> {
        self.constants += 1;
        if self.constants > MOST_CONSTANTS { Err(Unreadable::Large(at, Large::Constants)) } else { Ok(()) }
    }

    fn open(&mut self, at: Range<usize>) -> Result<(), Unreadable> {
        if self.open.len() > DEEPEST {
            return Err(Unreadable::Deep);
        }
        self.open.push(self.tokens.len());
        self.counts.push((0, 0));
        self.push(Kind::Mark(None), at)
    }

    fn close(&mut self, at: Range<usize>) -> Result<(), Unreadable> {
        let open = self.open.pop().ok_or(Unreadable::Syntax)?;
        self.counts.pop();
        let closing = self.tokens.len();
        if let Some(token) = self.tokens.get_mut(open) {
            token.kind = Kind::Mark(Some(closing));
        }
        self.push(Kind::Mark(None), at)
    }

    /// Reads code up to `end`, or up to the brace that closes an expression inside of a text. Returns where it ends.
    fn code(&mut self, start: usize, end: usize, depth: usize) -> Result<usize, Unreadable> {
        if depth > DEEPEST / 8 {
            return Err(Unreadable::Deep);
        }
        let floor = self.open.len();
        let mut at = start;
        if start == 0 && self.rest(0, end).starts_with("#!") {
            at = self.rest(0, end).find('\n').unwrap_or(end);
        }
        while let Some(c) = self.rest(at, end).chars().next() {
            let rest = self.rest(at, end);
            let width = c.len_utf8();
            if c.is_whitespace() {
                at += width;
            } else if rest.starts_with("//") {
                // a carriage return ends it, too
                at += rest.find(['\r', '\n']).unwrap_or(rest.len());
                self.ends_line(at);
            } else if rest.starts_with("/*") {
                at = comment(rest).map(|length| at + length).ok_or(Unreadable::Syntax)?;
            } else if c.is_alphabetic() || c == '_' {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                if rest.get(..length).is_some_and(|word| OWN.contains(&word)) {
                    return Err(Unreadable::Name);
                }
                if rest.get(..length).is_some_and(|word| RESERVED.contains(&word)) {
                    return Err(Unreadable::Copying(at));
                }
                if rest.get(..length) == Some("const") {
                    self.constant(at)?;
                }
                self.push(Kind::Word, at..at + length)?;
                at += length;
            } else if c.is_ascii_digit() {
                let length = number(rest);
                self.push(Kind::Literal, at..at + length)?;
                at += length;
            } else if c == '"' || c == '\'' {
                let length = quoted(rest, c).ok_or(Unreadable::Syntax)?;
                self.push(Kind::Literal, at..at + length)?;
                at += length;
            } else if c == '#' && !rest.starts_with("#{") {
                if !rest.trim_start_matches('#').starts_with('"') {
                    // such a mark means nothing
                    return Err(Unreadable::Syntax);
                }
                let length = raw(rest).ok_or(Unreadable::Syntax)?;
                self.push(Kind::Literal, at..at + length)?;
                at += length;
            } else if c == '`' {
                at = self.interpolated(at, end, depth)?;
            } else if c == '}' && self.open.len() == floor && depth > 0 {
                return Ok(at);
            } else {
                let mark = MARKS.iter().find(|mark| rest.starts_with(**mark)).map_or(width, |mark| mark.len());
                let place = at..at + mark;
                match rest.get(..mark).unwrap_or_default() {
                    "(" | "[" | "{" | "#{" | "?[" => self.open(place)?,
                    ")" | "]" | "}" => self.close(place)?,
                    "," => {
                        self.count(Large::Commas, at)?;
                        self.push(Kind::Mark(None), place)?;
                    }
                    "=>" => {
                        self.count(Large::Cases, at)?;
                        self.push(Kind::Mark(None), place)?;
                    }
                    _ => self.push(Kind::Mark(None), place)?,
                }
                at += mark;
            }
        }
        if depth > 0 { Err(Unreadable::Syntax) } else { Ok(at) }
    }

    /// Reads a text that holds expressions: the whole is one literal, with the tokens of the expressions before it.
    fn interpolated(&mut self, start: usize, end: usize, depth: usize) -> Result<usize, Unreadable> {
        let mut at = start + 1;
        self.ends_line(at);
        // the expressions are in brackets of their own, so that nothing of them joins what stands around the text
        self.open(start..start)?;
        loop {
            let rest = self.rest(at, end);
            let c = rest.chars().next().ok_or(Unreadable::Syntax)?;
            if rest.starts_with("``") {
                at += 2;
            } else if c == '`' {
                at += 1;
                break;
            } else if rest.starts_with("\\${") {
                // the only use of a backslash here
                at += 3;
            } else if rest.starts_with("${") {
                self.open(at..at + 2)?;
                at = self.code(at + 2, end, depth + 1)?;
                self.close(at..at + 1)?;
                at += 1;
            } else {
                at += c.len_utf8();
            }
        }
        self.close(at..at)?;
        Ok(at)
    }
}
