//! Liquid with the semantics of LiquidJS, based on the crate `liquid`: outputs with filters, conditions, loops,
//! assignments.
//!
//! The crate parses a template and renders it; where LiquidJS differs, we use our own tags and filters (`tags.rs`,
//! `filters.rs`), over a runtime of our values (`state.rs`). Before the crate's parser sees a template, it is split
//! into plain words (`scan.rs`, `words.rs`), because the parser itself has no bounds.
//!
//! A template is parsed once and rendered often. Rendering depends on nothing but its table: there are no partials, no
//! clock and no randomness. Everything has a bound: the template's length and its words, the nesting of its blocks, the
//! work, and the length of lists and of the output. An unknown filter leaves its value unchanged and is reported by
//! [`Liquid::unknown_filters`]; an unknown tag is an error. No input is known on which the crate panics after the
//! pre-scan. If it panics all the same, the panic is caught and becomes an ordinary error; the panic hook of the
//! process has then already printed its message, because a library must not replace the hook of the program.

mod expr;
mod filters;
mod lists;
mod scan;
mod state;
mod tags;
mod texts;
mod val;
mod words;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use liquid::Error;
use liquid_core::runtime::RuntimeBuilder;
use liquid_core::{Language, Renderable as _, Template, parser};

use super::cache::Cache;
use super::{Mistake, TextError, TextLimits, work};
use crate::model::Value;
use state::{NameRuntime, RenderState};

/// Most words of a template; the crate's parser keeps some hundred bytes for each.
const MOST_WORDS: usize = 1 << 18;

/// The options of a rendering: its limits, and how missing names are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiquidOptions {
    /// Whether an unknown name is an error; otherwise it is nil.
    pub strict: bool,
    /// The bounds of work and of the text.
    pub limits: TextLimits,
}

impl Default for LiquidOptions {
    fn default() -> Self {
        Self { strict: false, limits: TextLimits::LIQUID }
    }
}

/// A compiled template, immutable.
pub struct Liquid {
    source: Arc<str>,
    template: Template,
    constants: Arc<[val::LiquidValue]>,
    unknown: Vec<String>,
}

impl Liquid {
    /// Compiles a template.
    ///
    /// # Errors
    /// Tags that are unknown, cut off, not closed or closed wrongly, expressions that cannot be read, and templates
    /// beyond a bound; the first of them, with its place.
    pub fn parse(template: &str) -> Result<Self, TextError> {
        TextError::refuse_long(template, TextLimits::LIQUID.length)?;
        let written = scan::template(template).map_err(|mistake| mistake.within(template))?;
        match guarded(|| parser::parse(&written.text, &LANGUAGE).map(Template::new)) {
            Ok(parsed) => {
                Ok(Self { source: template.into(), template: parsed, constants: written.constants.into(), unknown: written.unknown })
            }
            Err(error) => Err(told(&error, &written.spots).within(template)),
        }
    }

    /// The compiled template of a text, from a cache if possible.
    ///
    /// # Errors
    /// As [`Liquid::parse`].
    pub fn known(template: &str) -> Result<Arc<Self>, TextError> {
        static KNOWN: LazyLock<Cache<Liquid>> = LazyLock::new(Cache::default);
        KNOWN.get(template, Self::parse)
    }

    /// Renders over a table of names.
    ///
    /// # Errors
    /// A bound that is reached and, with `strict`, an unknown name; with the place of the tag.
    pub fn render(&self, names: &Value, options: &LiquidOptions) -> Result<String, TextError> {
        let _door = work::BudgetScope::join();
        let mut page = BoundedPage::new(&options.limits);
        let runtime = RuntimeBuilder::new().build();
        *state::state(&runtime) = RenderState::new(names, options, &self.constants);
        // names are looked up in the state: the crate has no values of its own
        match guarded(|| self.template.render_to(&mut page, &NameRuntime(&runtime))) {
            Ok(()) => Ok(page.text()),
            Err(error) => Err(told(&error, &[]).within(&self.source)),
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

/// The language of templates: our tags and filters and none of the crate's own.
static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
    let mut language = Language::empty();
    for block in tags::BLOCKS {
        language.blocks.register(block.0.to_owned(), (*block).into());
    }
    for tag in tags::ALONE {
        language.tags.register((*tag).to_owned(), tags::LiquidTag(tag, "").into());
    }
    for filter in filters::all() {
        language.filters.register(filter.name.to_owned(), filter.into());
    }
    language
});

/// An expression that a filter evaluates, in the midst of a rendering.
fn expression(text: &str, state: &mut RenderState) -> Result<Template, String> {
    static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
        let mut language = Language::empty();
        language.tags.register(tags::ANSWER.to_owned(), tags::LiquidTag(tags::ANSWER, "").into());
        language
    });
    let written = scan::expression(text, tags::ANSWER, state.at, state.mark()).map_err(|mistake| mistake.message)?;
    for constant in written.constants {
        state.keep(constant);
    }
    let parsed = parser::parse(&written.text, &LANGUAGE);
    parsed.map(Template::new).map_err(|error| told(&error, &written.spots).message)
}

/// Calls the crate; a panic of it becomes an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::with_msg("the template cannot be handled: its engine has failed")))
}

/// The output, up to a bound.
struct BoundedPage {
    text: Vec<u8>,
    most: usize,
}

impl BoundedPage {
    fn new(limits: &TextLimits) -> Self {
        Self { text: Vec::new(), most: limits.output }
    }

    fn text(self) -> String {
        String::from_utf8(self.text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for BoundedPage {
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

/// A mistake that is passed through the crate, whose errors show the source of their cause and not the cause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("a mistake in the template")]
struct MistakeCarrier(#[source] CarriedMistake);

#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.message)]
struct CarriedMistake(Mistake);

fn carried(mistake: Mistake) -> Error {
    Error::with_msg(mistake.message.clone()).cause(MistakeCarrier(CarriedMistake(mistake)))
}

/// Converts an error of the crate: either a mistake of ours that was passed through, or an error at a line of the text
/// for its parser, which `spots` maps back to the template.
fn told(error: &Error, spots: &[usize]) -> Mistake {
    let carried = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<CarriedMistake>());
    if let Some(CarriedMistake(mistake)) = carried {
        return mistake.clone();
    }
    let text = error.to_string();
    let place = text.split_once("--> ").and_then(|(_, rest)| rest.lines().next()?.split_once(':'));
    let (line, column): (usize, usize) = place.map_or((1, 1), |(line, column)| (line.parse().unwrap_or(1), column.parse().unwrap_or(1)));
    // an error after a word is reported at the next word
    let line = if column > 1 { line } else { line.saturating_sub(1) };
    let at = spots.get(line).or(spots.last()).copied().unwrap_or_default();
    let message = text.lines().find_map(|line| line.trim_start().strip_prefix("= ")).unwrap_or(text.trim());
    // the expected rules are named by the crate's grammar, which means nothing to a reader
    let message = match message.split_once("expected ") {
        Some((_, rules)) if rules.contains("Value") || rules.contains("Literal") => "a value is missing here",
        Some(_) => "the tag cannot be read from here on",
        None => message,
    };
    Mistake::at(at, message)
}

/// The names of all filters, sorted.
#[must_use]
pub fn filter_names() -> Vec<&'static str> {
    let mut names: Vec<_> = filters::all().map(|filter| filter.name).collect();
    names.sort_unstable();
    names
}

/// The names of all tags that open something or stand alone, sorted.
#[must_use]
pub fn tag_names() -> &'static [&'static str] {
    scan::TAGS
}
