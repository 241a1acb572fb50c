//! Leaf strings: the texts of a template, with tags that print what the context holds.
//!
//! Two syntaxes have one compiled form: tags that are paths, and tags that are expressions or blocks. Compiling never
//! fails: what cannot be read is a literal text. Values that hold tags are compiled and printed again, to a depth.

use std::sync::Arc;

use crate::model::{Map, Value};
use crate::text::js;

mod code;
mod expression;
mod path;
mod print;
mod run;

pub use path::{Path, path};
pub use print::{same, value_text};

use code::{Code, Step};

/// Which tags a leaf may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `{{path}}` and nothing else; what is no path between braces is literal, tag by tag.
    Paths,
    /// `{{ expression }}` and `{{#if …}} … {{#else}} … {{#endif}}`; one mistake makes the whole text literal.
    Expressions,
}

/// What the paths of a leaf are looked up in. The first step is looked for in `over`, `root`, `under`, in this order.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Names that hide all others, also where they hold nothing (`item` outside of a loop).
    pub over: &'a [(&'a str, Option<&'a Value>)],
    /// The names of the context.
    pub root: Option<&'a Map>,
    /// Names that everything else hides (`ctx`).
    pub under: &'a [(&'a str, &'a Value)],
    /// Where a path that leads nowhere is tried once more, whole.
    pub globals: Option<&'a Map>,
}

/// A compiled leaf; immutable.
#[derive(Debug, Clone)]
pub struct Leaf {
    written: Arc<str>,
    syntax: Syntax,
    code: Arc<Code>,
    /// UTF-16 units of its literal parts; nothing where what it prints is more than those and paths.
    literal: Option<usize>,
}

/// What a leaf gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: Arc<str>,
    /// There is a tag, and one of them printed something that is not blank.
    pub produced: bool,
    /// Steps that it took beyond those that are written in the leaf: values that hold tags, and comparing.
    pub work: usize,
}

/// Why a text was not printed, or values not compared.
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
    pub fn compile(text: &str, syntax: Syntax) -> Self {
        let code = Code::read(text, syntax);
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

    /// All paths that it may look up, in the order written.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        &self.code.paths
    }

    /// The length of what it prints: the UTF-16 units of its literal parts, and the paths that are each printed once
    /// (a text at a path that holds `{{` is read again, so its own length says nothing). Nothing where the leaf is more
    /// than that: blocks, operators, the path of all.
    #[must_use]
    pub fn parts(&self) -> Option<(usize, &[Path])> {
        self.literal.map(|units| (units, &*self.code.paths))
    }

    /// Prints the leaf. A text at a path is read for tags again, as this leaf is, five levels deep at most.
    ///
    /// # Errors
    /// More than `most` bytes; values that multiply each other, or nest too deep.
    pub fn render(&self, scope: &Scope<'_>, most: usize) -> Result<Printed, TooLong> {
        if !self.has_tags() {
            let text = self.written.clone();
            return if text.len() > most { Err(TooLong::Text(most)) } else { Ok(Printed { text, produced: false, work: 0 }) };
        }
        let mut run = run::Run::new(scope, self.syntax, most);
        let produced = run.text(&self.written, &self.code, 0)?;
        let work = run.work();
        Ok(Printed { text: run.out.text.into(), produced, work })
    }
}

fn literal(text: &str, code: &Code) -> Option<usize> {
    if code.steps.is_empty() {
        return Some(js::length(text));
    }
    code.steps.iter().try_fold(0, |units, step| match step {
        Step::Text(part) => Some(units + js::length(text.get(part.clone()).unwrap_or_default())),
        Step::Tag(place) if code.paths.get(*place).is_some_and(|path| !path.is_empty()) => Some(units),
        _ => None,
    })
}
