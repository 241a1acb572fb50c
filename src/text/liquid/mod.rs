//! Liquid, as LiquidJS means it, by the crate `liquid`: outputs with filters, conditions, loops, assignments.
//!
//! The crate parses a template and renders it; what LiquidJS does otherwise are tags and filters of its own kind
//! (`tags.rs`, `filters.rs`), over a runtime of our values (`state.rs`). Before the crate's parser sees a template, it is
//! cut into plain words (`scan.rs`, `words.rs`), because the parser itself has no bounds.
//!
//! A template is parsed once and rendered often. Rendering looks at nothing but its table: there are no partials, no
//! clock and no chance. Everything has a bound: the template's length and its words, the nesting of its blocks, the
//! work, the length of lists and of what is written. A filter that is not known leaves its value as it is, which
//! [`Liquid::unknown_filters`] tells; a tag that is not known is an error. No input is known on which the crate panics
//! behind the pre-scan. Should it panic all the same, that is caught and becomes an error like any other; the panic hook
//! of the process has then printed its line, since a hook belongs to the program and not to a library.

mod expr;
mod filters;
mod lists;
mod numbers;
mod scan;
mod state;
mod tags;
mod texts;
mod val;
mod words;

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use liquid_core::{Error, Language};

use super::kept::Kept;
use crate::model::Value;
use state::State;

/// Longest template, in bytes.
pub const LONGEST: usize = 1 << 20;
/// Deepest nesting of blocks, and of brackets in one expression.
const DEEPEST: usize = 64;
/// Most words of a template; the crate's parser keeps some hundred bytes for each.
const MOST_WORDS: usize = 1 << 18;
/// Longest list that a range or a filter may make.
const MOST_ELEMENTS: usize = 100_000;
/// The block that holds a whole template.
const PAGE: &str = "page";

/// Why a template is refused, or could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct LiquidError {
    /// Where in the template, in bytes.
    pub offset: usize,
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
pub struct Liquid {
    source: Arc<str>,
    template: liquid::Template,
    constants: Arc<[val::Val]>,
    unknown: Vec<String>,
}

impl Liquid {
    /// Compiles a template.
    ///
    /// # Errors
    /// Tags that are unknown, cut off, not closed or closed wrongly, expressions that cannot be read, and templates
    /// beyond a bound; the first of them, with its place.
    pub fn parse(template: &str) -> Result<Self, LiquidError> {
        if template.len() > LONGEST {
            return Err(Trouble::bound(0, format!("the template is longer than {LONGEST} bytes")).placed(template));
        }
        let written = scan::template(template).map_err(|trouble| trouble.placed(template))?;
        match guarded(|| PARSER.parse(&written.text)) {
            Ok(parsed) => Ok(Self {
                source: template.into(),
                template: parsed,
                constants: written.constants.into(),
                unknown: written.unknown,
            }),
            Err(error) => Err(Trouble::told(&error, &written.spots).placed(template)),
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
    /// A bound that is reached and, with `strict`, a name that leads nowhere; with the place of the tag.
    pub fn render(&self, names: &Value, options: &Options) -> Result<String, LiquidError> {
        let mut page = Page::new(options);
        HANDED.set(State::new(names, options, &self.constants));
        // names are looked up in the state: the crate has no values of its own
        match guarded(|| self.template.render_to(&mut page, &liquid::Object::new())) {
            Ok(()) => Ok(page.text()),
            Err(error) => Err(Trouble::told(&error, &[]).placed(&self.source)),
        }
    }

    /// Filters that the template calls and that do not exist, each once.
    #[must_use]
    pub fn unknown_filters(&self) -> &[String] {
        &self.unknown
    }
}

impl std::fmt::Debug for Liquid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Liquid").field("source", &self.source).finish_non_exhaustive()
    }
}

thread_local! {
    /// What the next rendering of this thread begins with. The crate makes the registers in which it is kept only when
    /// a rendering begins, and the block that holds the template takes it from here at once.
    static HANDED: Cell<State> = Cell::default();
}

/// The crate's parser, with our tags and filters and none of its own.
#[expect(clippy::expect_used, reason = "the crate refuses only partials, and there are none")]
static PARSER: LazyLock<liquid::Parser> = LazyLock::new(|| {
    let mut parser = liquid::ParserBuilder::new();
    for block in tags::BLOCKS {
        parser = parser.block(*block);
    }
    for tag in tags::ALONE {
        parser = parser.tag(*tag);
    }
    for filter in filters::all() {
        parser = parser.filter(filter);
    }
    parser.build().expect("a parser without partials")
});

/// An expression that a filter evaluates, in the midst of a rendering.
fn expression(text: &str, state: &mut State) -> Result<liquid_core::Template, String> {
    static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
        let mut language = Language::empty();
        language.tags.register(tags::ANSWER.to_owned(), tags::Alone(tags::ANSWER).into());
        language.filters.register(words::RANGE.to_owned(), filters::RANGES.into());
        language
    });
    let written = scan::expression(text, tags::ANSWER, state.at, state.mark()).map_err(|trouble| trouble.message)?;
    for constant in written.constants {
        state.keep(constant);
    }
    let parsed = liquid_core::parser::parse(&written.text, &LANGUAGE);
    parsed.map(liquid_core::Template::new).map_err(|error| Trouble::told(&error, &written.spots).message)
}

/// Calls the crate; a panic of it becomes an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::with_msg("the template cannot be handled: its engine has failed")))
}

/// What is rendered, up to a bound.
struct Page {
    text: Vec<u8>,
    most: usize,
}

impl Page {
    fn new(options: &Options) -> Self {
        Self { text: Vec::new(), most: options.output }
    }

    fn text(self) -> String {
        String::from_utf8(self.text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len().saturating_add(bytes.len()) > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Something wrong at a place of the template, in bytes.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
struct Trouble {
    at: usize,
    message: String,
    /// A limit was reached.
    bound: bool,
}

/// A trouble on its way through the crate, whose errors show only the source of their cause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
struct Carried(#[source] Trouble);

impl Trouble {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), bound: false }
    }

    fn bound(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), bound: true }
    }

    fn carried(self) -> Error {
        Error::with_msg("see its cause").cause(Carried(self))
    }

    /// What an error of the crate says: a trouble that was carried, or a place in what was written for its parser, where
    /// `spots` lead back from each line.
    fn told(error: &Error, spots: &[usize]) -> Self {
        let carried = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<Self>());
        if let Some(trouble) = carried {
            return trouble.clone();
        }
        let text = error.to_string();
        let place = text.split_once("--> ").and_then(|(_, rest)| rest.lines().next()?.split_once(':'));
        let (line, column) = place.map_or((1, 1), |(line, column)| (line.parse().unwrap_or(1), column.parse().unwrap_or(1)));
        // what is wrong behind a word is wrong where the next one stands
        let line: usize = if column > 1 { line } else { line - 1 };
        let at = spots.get(line).or(spots.last()).copied().unwrap_or_default();
        let message = match (text.split_once("\n  = "), text.lines().next()) {
            (Some((_, message)), _) => message.lines().next().unwrap_or_default(),
            (None, first) => first.unwrap_or_default().trim_start_matches("liquid: "),
        };
        Self::new(at, message)
    }

    fn placed(self, source: &str) -> LiquidError {
        let offset = self.at.min(source.len());
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        LiquidError { offset, line, column, message: self.message, bound: self.bound }
    }
}

/// The names of all filters, sorted.
#[must_use]
pub fn filter_names() -> Vec<&'static str> {
    let mut names: Vec<_> = filters::names().collect();
    names.sort_unstable();
    names
}

/// The names of all tags that open something or stand alone, sorted.
#[must_use]
pub fn tag_names() -> &'static [&'static str] {
    scan::TAGS
}
