//! The layout of TOML rule files: text in, text out.
//!
//! Lines are at most as wide as the [`TomlLayout`] says, in TOML 1.0, which all editors read. Line breaks of the author
//! stay, and lines that fit stay unchanged: only lines that are too long are laid out again. An array gets a line for
//! each item; an inline table becomes a section below its row (`[pass.where]`), or dotted keys where a section would
//! change the order of keys; a long text gets line breaks that are not part of its value. A file whose meaning or
//! comments would change is refused, so that nothing can be lost.

mod arrange;
mod convert;
mod read;
mod write;

use std::ops::Range;

use toml::{Table, Value};
use toml_parser::Source;
use toml_parser::lexer::{Token, TokenKind};

use crate::diag::{Code, Diagnostic, SourceId, Span, limits, memory};
use arrange::is_free;
pub use convert::convert;

/// Most times that a text is laid out until nothing changes any more.
const MAX_ROUNDS: usize = 8;

/// How a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TomlLayout {
    /// Most characters of a line.
    pub width: usize,
}

impl Default for TomlLayout {
    fn default() -> Self {
        Self { width: 120 }
    }
}

/// A text that was laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormattedText {
    /// The text.
    pub text: String,
    /// Lines of it that are still too long, as byte ranges: a key, a literal text or a word that cannot be broken.
    pub long: Vec<Range<usize>>,
}

/// Why a text was not laid out.
#[derive(Debug, Clone, PartialEq)]
pub enum FormatRefusal {
    /// It is not TOML; the reader of rule files reports all the reasons.
    Syntax(Box<Diagnostic>),
    /// Its values would take too much memory.
    Large(Box<Diagnostic>),
    /// It is TOML, but cannot be laid out without a loss.
    Loss(Box<Diagnostic>),
}

/// Lays out a text. The places of diagnostics refer to `source`.
///
/// ```
/// let text = "[[pass]]\nname='lore/sort'\ndo   = 'sort'\n";
/// let formatted = tapster_cli::format::format(Default::default(), text, Default::default()).unwrap();
/// assert_eq!(formatted.text, "[[pass]]\nname = \"lore/sort\"\ndo = \"sort\"\n");
/// ```
///
/// # Errors
/// The text is not TOML, is nested too deep, has too many values, or would change its meaning.
pub fn format(source: SourceId, text: &str, layout: TomlLayout) -> Result<FormattedText, FormatRefusal> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let before = checked_table(source, text)?;
    let newline = newline_of(text);
    let mut formatted = lay_out(source, text, layout, newline)?;
    let words = words_of_comments(text);
    keeps(source, &before, &words, &formatted)?;
    // a row one of whose texts was broken may have another one broken the next time
    for _ in 1..MAX_ROUNDS {
        match lay_out(source, &formatted, layout, newline) {
            Ok(again) if again != formatted && keeps(source, &before, &words, &again).is_ok() => formatted = again,
            _ => break,
        }
    }
    let long = long_lines(&formatted, layout.width);
    Ok(FormattedText { text: formatted, long })
}

/// The values of a text that is neither too deep nor too large.
fn checked_table(source: SourceId, text: &str) -> Result<toml::Table, FormatRefusal> {
    if let Some(at) = too_deep(text) {
        let message = format!("values are nested deeper than {} levels", limits::RULE_NESTING);
        let help = "use fewer dots in keys and fewer brackets inside brackets";
        let complaint = Diagnostic::new(Code::FileTooDeep, message).at(Span::new(source, at, at + 1)).help(help);
        return Err(FormatRefusal::Syntax(Box::new(complaint)));
    }
    if memory::exceeds(text.as_bytes(), limits::INPUT_MEMORY) {
        let message = format!("the values of this file take more than {} MiB of memory", limits::INPUT_MEMORY >> 20);
        let complaint = Diagnostic::new(Code::FileTooLarge, message).at(Span::new(source, 0, 0)).help("split it into several files");
        return Err(FormatRefusal::Large(Box::new(complaint)));
    }
    toml::from_str(text).map_err(|error| syntax(source, text, &error))
}

/// How the lines of a text end.
fn newline_of(text: &str) -> &'static str {
    if text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r')) { "\r\n" } else { "\n" }
}

fn lay_out(source: SourceId, text: &str, layout: TomlLayout, newline: &str) -> Result<String, FormatRefusal> {
    let mut document = read::read(text).ok_or_else(|| loss(source, "it cannot be read in parts"))?;
    arrange::arrange(&mut document, layout.width);
    Ok(write::write(&document, layout.width, newline))
}

/// Whether a text has the meaning and the comments of the text before it.
fn keeps(source: SourceId, before: &toml::Table, words: &[&str], formatted: &str) -> Result<(), FormatRefusal> {
    let after: toml::Table = toml::from_str(formatted).map_err(|_| loss(source, "the result would not be TOML"))?;
    if !means_the_same(before, &after) {
        return Err(loss(source, "its meaning would change"));
    }
    if words_of_comments(formatted) != words {
        return Err(loss(source, "a comment would be lost"));
    }
    Ok(())
}

fn syntax(source: SourceId, text: &str, error: &toml::de::Error) -> FormatRefusal {
    let range = error.span().unwrap_or(0..0);
    let end = range.end.min(text.len());
    let message = error.message().replace('\n', ", ");
    let span = Span::new(source, range.start.min(end), end);
    let help = "see https://toml.io for how TOML is written";
    FormatRefusal::Syntax(Box::new(Diagnostic::new(Code::SyntaxToml, message).at(span).help(help)))
}

fn loss(source: SourceId, why: &str) -> FormatRefusal {
    let message = format!("the file is left as it is: {why}");
    let help = "this is a defect of the formatter; please report it with the file, and lay the file out by hand until it is mended";
    FormatRefusal::Loss(Box::new(Diagnostic::new(Code::FormatRefused, message).at(Span::new(source, 0, 0)).help(help)))
}

/// The words of all comments, sorted: a comment may be wrapped, and may move above its line.
fn words_of_comments(text: &str) -> Vec<&str> {
    let comments = Source::new(text).lex().filter(|token| token.kind() == TokenKind::Comment);
    let texts = comments.filter_map(|token| text.get(token.span().start()..token.span().end()));
    let mut words: Vec<&str> = texts.flat_map(|comment| comment.trim_start_matches('#').split_whitespace()).collect();
    words.sort_unstable();
    words
}

fn long_lines(text: &str, most: usize) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut long = Vec::new();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        if read::width(body) > most {
            long.push(start..start + body.len());
        }
        start += line.len();
    }
    long
}

/// Where nesting first exceeds the limit of rule files, counting the parts of dotted keys, so that no recursion over the values can overflow a stack.
fn too_deep(text: &str) -> Option<usize> {
    // the depth and dots around each open bracket
    let mut open: Vec<usize> = Vec::new();
    let (mut header, mut dots) = (0, 0);
    let mut fresh = true;
    let mut in_header = false;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                if open.is_empty() && fresh {
                    (in_header, header) = (true, 0);
                }
                open.push(dots);
                // the parts of a header count once, after it
                dots = if in_header { dots } else { 0 };
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                let outer = open.pop().unwrap_or(0);
                if in_header && open.is_empty() {
                    (in_header, header) = (false, dots + 1);
                }
                dots = if in_header { dots } else { outer };
            }
            TokenKind::Dot => dots += 1,
            TokenKind::Comma => dots = 0,
            TokenKind::Newline if open.is_empty() => dots = 0,
            _ => {}
        }
        fresh = match token.kind() {
            TokenKind::Newline => open.is_empty(),
            TokenKind::Whitespace => fresh,
            _ => false,
        };
        if header + open.len() + open.iter().sum::<usize>() + dots > limits::RULE_NESTING {
            return Some(start_of(&token));
        }
    }
    None
}

fn start_of(token: &Token) -> usize {
    token.span().start()
}

/// Whether two documents are equal. Where the layout may move keys, their order is not compared.
fn means_the_same(before: &Table, after: &Table) -> bool {
    let free = is_free(0, false);
    are_same_tables(before, after, free, |a, b| match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let row = |(a, b): (&Value, &Value)| match (a, b) {
                // the rows of a list of the file
                (Value::Table(a), Value::Table(b)) => are_same_tables(a, b, is_free(1, true), are_same_values),
                _ => are_same_values(a, b),
            };
            a.len() == b.len() && a.iter().zip(b).all(row)
        }
        _ => are_same_values(a, b),
    })
}

fn are_same_tables(before: &Table, after: &Table, free: bool, each: impl Fn(&Value, &Value) -> bool) -> bool {
    let ordered = free || before.keys().eq(after.keys());
    ordered && before.len() == after.len() && before.iter().all(|(key, value)| after.get(key).is_some_and(|other| each(value, other)))
}

/// Recursion is bounded by the depth of the text, which is checked first.
fn are_same_values(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Table(a), Value::Table(b)) => are_same_tables(a, b, false, are_same_values),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_same_values(a, b)),
        // `nan` counts as equal to itself
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        _ => before == after,
    }
}
