//! Liquid, as LiquidJS means it: outputs with filters, conditions, loops, assignments, over one table of names.
//!
//! A template is read once into a tree and rendered often. Rendering looks at nothing but its table: there are no
//! partials, no clock and no chance. Everything has a bound: the template's length, the nesting of its blocks, the
//! work, the length of lists and of what is written. A filter that is not known leaves its value as it is, which
//! [`Liquid::unknown_filters`] tells; a tag that is not known is an error.

mod expr;
mod filters;
mod lists;
mod numbers;
mod parse;
mod run;
mod texts;
mod val;

use std::sync::{Arc, LazyLock};

use super::kept::Kept;
use crate::model::Value;
use expr::Trouble;

/// Longest template, in bytes.
pub const LONGEST: usize = 1 << 20;
/// Deepest nesting of blocks, and of brackets in one expression.
const DEEPEST: usize = 64;
/// Longest list that a range or a filter may make.
const MOST_ELEMENTS: usize = 100_000;

/// Why a template is refused, or could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct LiquidError {
    /// Line in the template, from 1.
    pub line: usize,
    /// Column in the line, from 1, in characters.
    pub column: usize,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// A limit was reached; the template itself may be sound.
    pub bound: bool,
}

/// How far rendering may go, and how it takes what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A name that leads nowhere is an error, and not nothing.
    pub strict: bool,
    /// Units of work: one for each tag, turn of a loop, operator and element of a list, and for each 32 bytes of text.
    pub steps: usize,
    /// Bytes that the text, and any text on the way to it, may have.
    pub output: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: false, steps: 2_000_000, output: 8 << 20 }
    }
}

/// A compiled template, immutable.
#[derive(Debug)]
pub struct Liquid {
    source: Arc<str>,
    nodes: Vec<expr::Node>,
    unknown: Vec<String>,
}

impl Liquid {
    /// Compiles a template.
    ///
    /// # Errors
    /// Tags that are unknown, cut off, not closed or closed wrongly, expressions that cannot be read, and templates
    /// beyond a bound; the first of them, with its place.
    pub fn parse(template: &str) -> Result<Self, LiquidError> {
        let source: Arc<str> = template.into();
        if template.len() > LONGEST {
            let message = format!("the template is longer than {LONGEST} bytes");
            return Err(LiquidError { line: 1, column: 1, message, bound: true });
        }
        let mut parser = parse::Parser::new(template);
        match parser.run() {
            Ok(nodes) => Ok(Self { nodes, unknown: parser.unknown, source }),
            Err(trouble) => Err(placed(&source, &trouble)),
        }
    }

    /// The compiled template of a text, which is kept for the next time.
    ///
    /// # Errors
    /// As [`Liquid::parse`].
    pub fn known(template: &str) -> Result<Arc<Self>, LiquidError> {
        static KNOWN: LazyLock<Kept<Liquid>> = LazyLock::new(Kept::default);
        KNOWN.get(template, Self::parse)
    }

    /// Renders over a table of names.
    ///
    /// # Errors
    /// A bound that is reached and, with `strict`, a name that leads nowhere; with its place.
    pub fn render(&self, names: &Value, options: &Options) -> Result<String, LiquidError> {
        run::render(&self.nodes, names, options).map_err(|trouble| placed(&self.source, &trouble))
    }

    /// Filters that the template calls and that do not exist, each once.
    #[must_use]
    pub fn unknown_filters(&self) -> &[String] {
        &self.unknown
    }
}

/// The names of all filters, sorted.
#[must_use]
pub fn filter_names() -> Vec<&'static str> {
    filters::FILTERS.iter().map(|(name, _)| *name).chain(filters::EXPRESSIONS.iter().copied()).collect()
}

/// The names of all tags that open something or stand alone, sorted.
#[must_use]
pub fn tag_names() -> &'static [&'static str] {
    parse::TAGS
}

fn placed(source: &str, trouble: &Trouble) -> LiquidError {
    let before = source.get(..trouble.at).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    LiquidError { line, column, message: trouble.message.clone(), bound: trouble.bound }
}
