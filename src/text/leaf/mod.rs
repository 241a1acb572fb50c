//! Leaf strings: the texts of a template, with tags that print what the context holds.
//!
//! Two syntaxes have one compiled form: tags that are paths, and tags that are expressions or blocks. Compiling never
//! fails: what cannot be read is a literal text. Values that hold tags are compiled and printed again, to a depth.

use std::sync::Arc;

use crate::model::{Map, Value};

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
}

/// What a leaf gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: Arc<str>,
    /// There is a tag, and one of them printed something that is not blank.
    pub produced: bool,
}

impl Leaf {
    /// Compiles a text. Never fails.
    #[must_use]
    pub fn compile(text: &str, _syntax: Syntax) -> Self {
        Self { written: text.into() }
    }

    /// The text as written.
    #[must_use]
    pub fn written(&self) -> &Arc<str> {
        &self.written
    }
}
