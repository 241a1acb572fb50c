//! The tokens of a script, and how many of everything it has.

use std::ops::Range;

use super::large::{Counts, Large};
use super::literals::{comment, number, quoted, raw};
use super::words::{OWN, RESERVED};

/// The deepest nesting of brackets and of expressions in texts.
const DEEPEST: usize = 256;

/// Why a script cannot be changed, and where that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// A text, a comment or a bracket is not closed, or a mark means nothing. The interpreter refuses it too.
    Syntax(usize),
    /// It uses a name of the engine.
    Name(usize),
    /// It uses a word that copies a value in each call.
    Copying(usize),
    /// Brackets are nested too deeply.
    Deep(usize),
    /// It has more of something than compiling it may take.
    Large(usize, Large),
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
    /// What stands outside of all brackets, and inside of each that is open.
    counts: Vec<Counts>,
    constants: usize,
    /// The next brace begins the body of a function.
    declares: bool,
    /// Where a carriage return ends a line for the interpreter.
    pub(super) breaks: Vec<usize>,
}

const MARKS: &[&str] = &[
    "**=", "<<=", ">>=", "..=", "...", "===", "!==", "::", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "?[", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**", "..", "#{", "++", "--", "->", "|>", "<|", "!in", ":=", "<-",
];

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            tokens: Vec::new(),
            open: Vec::new(),
            counts: vec![Counts::default()],
            constants: 0,
            declares: false,
            breaks: Vec::new(),
        }
    }

    /// Reads the whole script.
    pub(super) fn all(&mut self) -> Result<(), Unreadable> {
        self.code(0, self.source.len(), 0)?;
        let open = self.open.last().and_then(|open| self.tokens.get(*open));
        open.map_or(Ok(()), |open| Err(Unreadable::Syntax(open.at.start)))
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
        if Large::Tokens.is_over(self.tokens.len() + 1) {
            return Err(Unreadable::Large(at.start, Large::Tokens));
        }
        self.tokens.push(Token { kind, at });
        Ok(())
    }

    /// Counts something inside of the brackets that are open.
    fn count(&mut self, what: Large, at: usize) -> Result<(), Unreadable> {
        let counted = self.counts.last_mut().is_none_or(|counts| counts.add(what));
        if counted { Ok(()) } else { Err(Unreadable::Large(at, what)) }
    }

    fn constant(&mut self, at: usize) -> Result<(), Unreadable> {
        self.constants += 1;
        if Large::Constants.is_over(self.constants) { Err(Unreadable::Large(at, Large::Constants)) } else { Ok(()) }
    }

    fn open(&mut self, at: Range<usize>) -> Result<(), Unreadable> {
        if self.open.len() > DEEPEST {
            return Err(Unreadable::Deep(at.start));
        }
        self.open.push(self.tokens.len());
        self.counts.push(Counts::default());
        self.push(Kind::Mark(None), at)
    }

    /// The brace of a block.
    fn block(&mut self, at: Range<usize>) -> Result<(), Unreadable> {
        let start = at.start;
        let declares = std::mem::take(&mut self.declares);
        if !declares {
            self.count(Large::Blocks, start)?;
        }
        self.open(at)?;
        if declares && let Some(counts) = self.counts.last_mut() {
            *counts = Counts::of_function();
        }
        Ok(())
    }

    fn close(&mut self, at: Range<usize>) -> Result<(), Unreadable> {
        let open = self.open.pop().ok_or(Unreadable::Syntax(at.start))?;
        if let (Some(inner), Some(outer)) = (self.counts.pop(), self.counts.last_mut()) {
            outer.join(&inner).map_err(|what| Unreadable::Large(at.start, what))?;
        }
        let closing = self.tokens.len();
        if let Some(token) = self.tokens.get_mut(open) {
            token.kind = Kind::Mark(Some(closing));
        }
        self.push(Kind::Mark(None), at)
    }

    /// Looks at a word that has a meaning of its own.
    fn word(&mut self, word: &str, at: usize) -> Result<(), Unreadable> {
        match word {
            "const" => self.constant(at),
            "let" => self.count(Large::Variables, at),
            "fn" => {
                self.declares = true;
                Ok(())
            }
            word if OWN.contains(&word) => Err(Unreadable::Name(at)),
            word if RESERVED.contains(&word) => Err(Unreadable::Copying(at)),
            _ => Ok(()),
        }
    }

    /// Reads code up to `end`, or up to the brace that closes an expression inside of a text. Returns where it ends.
    fn code(&mut self, start: usize, end: usize, depth: usize) -> Result<usize, Unreadable> {
        if depth > DEEPEST / 8 {
            return Err(Unreadable::Deep(start));
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
                at = comment(rest).map(|length| at + length).ok_or(Unreadable::Syntax(at))?;
            } else if c.is_alphabetic() || c == '_' {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let word = self.source.get(at..at + length).unwrap_or_default();
                self.word(word, at)?;
                self.push(Kind::Word, at..at + length)?;
                at += length;
            } else if c.is_ascii_digit() {
                let length = number(rest);
                self.push(Kind::Literal, at..at + length)?;
                at += length;
            } else if c == '"' || c == '\'' {
                let length = quoted(rest, c).ok_or(Unreadable::Syntax(at))?;
                self.push(Kind::Literal, at..at + length)?;
                at += length;
            } else if c == '#' && !rest.starts_with("#{") {
                if !rest.trim_start_matches('#').starts_with('"') {
                    // such a mark means nothing
                    return Err(Unreadable::Syntax(at));
                }
                let length = raw(rest).ok_or(Unreadable::Syntax(at))?;
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
                    "{" => self.block(place)?,
                    "(" | "[" | "#{" | "?[" => self.open(place)?,
                    ")" | "]" | "}" => self.close(place)?,
                    "," => {
                        self.count(Large::Commas, at)?;
                        self.push(Kind::Mark(None), place)?;
                    }
                    "=>" => {
                        self.count(Large::Cases, at)?;
                        self.push(Kind::Mark(None), place)?;
                    }
                    ";" => {
                        self.count(Large::Statements, at)?;
                        self.push(Kind::Mark(None), place)?;
                    }
                    _ => self.push(Kind::Mark(None), place)?,
                }
                at += mark;
            }
        }
        if depth > 0 { Err(Unreadable::Syntax(start)) } else { Ok(at) }
    }

    /// Reads a text that holds expressions: the whole is one literal, with the tokens of the expressions before it.
    fn interpolated(&mut self, start: usize, end: usize, depth: usize) -> Result<usize, Unreadable> {
        let mut at = start + 1;
        self.ends_line(at);
        // the expressions are in brackets of their own, so that nothing of them joins what stands around the text
        self.open(start..start)?;
        loop {
            let rest = self.rest(at, end);
            let c = rest.chars().next().ok_or(Unreadable::Syntax(start))?;
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
