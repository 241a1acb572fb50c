//! Leaf strings: the texts of a template, with tags that print what the context holds.
//!
//! Two syntaxes have one compiled form: tags that are paths, and tags that are expressions or blocks. Compiling never
//! fails: a text that cannot be parsed is literal. Values that hold tags are compiled and printed too, up to a depth.

use std::sync::Arc;

use crate::model::{Map, Value};
use crate::text::{js, work};

mod code;
mod expression;
mod path;
mod print;
mod run;

pub use path::{LeafPath, path};
pub use print::{same, value_text};

use code::{LeafCode, LeafStep};

/// Which tags a leaf may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeafSyntax {
    /// Only `{{path}}`; a tag that is not a path is literal, and the other tags still count.
    Paths,
    /// `{{ expression }}` and `{{#if …}} … {{#else}} … {{#endif}}`; one mistake makes the whole text literal.
    Expressions,
}

/// The names that the paths of a leaf are resolved in. The first step is searched in `over`, `root`, `under`, in this
/// order.
#[derive(Debug, Clone, Copy)]
pub struct LeafScope<'a> {
    /// Names that hide all others, even if they have no value (`item` outside of a loop).
    pub over: &'a [(&'a str, Option<&'a Value>)],
    /// The names of the context.
    pub root: Option<&'a Map>,
    /// Names that all others hide (`ctx`).
    pub under: &'a [(&'a str, &'a Value)],
    /// A table in which a whole path is tried again if it was not found.
    pub globals: Option<&'a Map>,
}

/// A compiled leaf; immutable.
#[derive(Debug, Clone)]
pub struct Leaf {
    written: Arc<str>,
    syntax: LeafSyntax,
    code: Arc<LeafCode>,
    /// UTF-16 units of its literal parts; `None` if it prints more than those and paths.
    literal: Option<usize>,
}

/// The result of printing a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedLeaf {
    /// The text.
    pub text: Arc<str>,
    /// There is a tag, and one of them printed something that is not blank.
    pub produced: bool,
    /// The steps that it took for values that hold tags and for comparisons, in addition to those of the leaf itself.
    pub work: usize,
}

/// Why a text was not printed, or values were not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// The text would be longer than so many bytes.
    #[error("the text is longer than {0} bytes")]
    Text(usize),
    /// Values that hold tags multiply, or there is too much to compare.
    #[error("the values in the text take too many steps")]
    Work,
    /// A value nests deeper than any that a file may hold.
    #[error("a value in the text is nested too deep")]
    Deep,
}

impl Leaf {
    /// Compiles a text. Never fails.
    #[must_use]
    pub fn compile(text: &str, syntax: LeafSyntax) -> Self {
        let code = LeafCode::read(text, syntax);
        let literal = literal(text, &code);
        Self { written: text.into(), syntax, code: Arc::new(code), literal }
    }

    /// The text as written.
    #[must_use]
    pub fn written(&self) -> &Arc<str> {
        &self.written
    }

    /// There is a tag; otherwise the text is printed as written.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        !self.code.steps.is_empty()
    }

    /// The place of the first `{{` that begins no tag, in bytes: it is printed as it is written.
    #[must_use]
    pub fn broken(&self) -> Option<usize> {
        let literal = |part: &std::ops::Range<usize>| Some(part.start + self.written.get(part.clone())?.find("{{")?);
        if self.code.steps.is_empty() {
            return literal(&(0..self.written.len()));
        }
        self.code.steps.iter().find_map(|step| if let LeafStep::Text(part) = step { literal(part) } else { None })
    }

    /// All paths that it may look up, in the order written.
    #[must_use]
    pub fn paths(&self) -> &[LeafPath] {
        &self.code.paths
    }

    /// The length of what it prints: the UTF-16 units of its literal parts, and the paths that are each printed once (a
    /// text at a path that holds `{{` is evaluated too, so its own length says nothing). `None` if the leaf has blocks,
    /// operators, or the path of the whole scope.
    #[must_use]
    pub fn parts(&self) -> Option<(usize, &[LeafPath])> {
        self.literal.map(|units| (units, &*self.code.paths))
    }

    /// Prints the leaf. Tags in a text at a path are evaluated too, with the same syntax, up to five levels deep.
    ///
    /// # Errors
    /// The text exceeds `most` bytes, or values multiply each other or nest too deep.
    pub fn render(&self, scope: &LeafScope<'_>, most: usize) -> Result<PrintedLeaf, TooLong> {
        if !self.has_tags() {
            let text = self.written.clone();
            return if text.len() > most { Err(TooLong::Text(most)) } else { Ok(PrintedLeaf { text, produced: false, work: 0 }) };
        }
        let mut run = run::LeafRun::new(scope, self.syntax, most);
        let produced = run.text(&self.written, &self.code, 0);
        let compared = run.work();
        let steps = (self.code.steps.len() as u64).saturating_mul(work::STEPS_PER_TAG).saturating_add(compared as u64);
        // a run that failed has been paid for too
        work::spend(steps).map_err(|_| TooLong::Work)?;
        let produced = produced?;
        Ok(PrintedLeaf { text: run.out.text.into(), produced, work: compared })
    }
}

fn literal(text: &str, code: &LeafCode) -> Option<usize> {
    if code.steps.is_empty() {
        return Some(js::length(text));
    }
    code.steps.iter().try_fold(0, |units, step| match step {
        LeafStep::Text(part) => Some(units + js::length(text.get(part.clone()).unwrap_or_default())),
        LeafStep::Tag(place) if code.paths.get(*place).is_some_and(|path| !path.is_empty()) => Some(units),
        _ => None,
    })
}
