//! The compiled form of both syntaxes: a row of steps with jumps, so that no nesting costs recursion.

use std::ops::Range;

use crate::model::Value;
use crate::text::js;

use super::Syntax;
use super::path::{Path, path};

/// What a text does when it is printed. Without steps the text is literal.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    pub(super) paths: Vec<Path>,
}

/// One step. Those that make a value push it, those that need one pop it.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Prints a part of the text, in bytes.
    Text(Range<usize>),
    /// Prints what a path leads to.
    Tag(usize),
    /// Pushes what a path leads to.
    Path(usize),
    /// Pushes a constant.
    Constant(Value),
    /// Turns the truth of a value round.
    Not,
    /// Takes the right value, then the left.
    Binary(Binary),
    /// Prints a value.
    Print,
    /// Goes on there unless a value is true.
    Unless(usize),
    /// Goes on there.
    Jump(usize),
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Code {
    pub(super) fn read(text: &str, syntax: Syntax) -> Self {
        if !text.contains("{{") {
            return Self::default();
        }
        match syntax {
            Syntax::Paths => Self::of_paths(text),
            Syntax::Expressions => super::expression::read(text).unwrap_or_default(),
        }
    }

    /// A tag is two braces, something without braces, and two braces; all else is literal.
    fn of_paths(text: &str) -> Self {
        let mut code = Self::default();
        let (mut done, mut at) = (0, 0);
        while let Some(open) = find(text, at, "{{") {
            let inner = open + 2;
            let end = text.get(inner..).and_then(|rest| rest.find(['{', '}'])).map_or(text.len(), |n| inner + n);
            let tag = text.get(inner..end).filter(|tag| !tag.is_empty());
            let closed = text.get(end..).is_some_and(|rest| rest.starts_with("}}"));
            let Some(tag) = tag.filter(|_| closed) else {
                // the next tag may open with the second brace of this one
                at = if end == inner { open + 1 } else { end };
                continue;
            };
            code.text(done..open);
            let place = code.path(path(js::trim(tag)));
            code.steps.push(Step::Tag(place));
            (done, at) = (end + 2, end + 2);
        }
        if !code.steps.is_empty() {
            code.text(done..text.len());
        }
        code
    }

    pub(super) fn text(&mut self, part: Range<usize>) {
        if !part.is_empty() {
            self.steps.push(Step::Text(part));
        }
    }

    /// Keeps a path; gives its place.
    pub(super) fn path(&mut self, path: Path) -> usize {
        self.paths.push(path);
        self.paths.len() - 1
    }
}

/// Where `what` stands next, from a byte on.
pub(super) fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|n| from + n)
}
