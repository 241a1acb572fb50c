//! The compiled form of both syntaxes: a list of steps with jumps, so that nesting needs no recursion.

use std::ops::Range;

use crate::model::Value;
use crate::text::js;

use super::LeafSyntax;
use super::path::{LeafPath, path};

/// The program that prints a text. Without steps the text is literal.
#[derive(Debug, Clone, Default)]
pub(super) struct LeafCode {
    pub(super) steps: Vec<LeafStep>,
    pub(super) paths: Vec<LeafPath>,
}

/// One step. Those that make a value push it, those that need one pop it.
#[derive(Debug, Clone)]
pub(super) enum LeafStep {
    /// Prints a part of the text, in bytes.
    Text(Range<usize>),
    /// Prints the value at a path.
    Tag(usize),
    /// Pushes the value at a path.
    Path(usize),
    /// Pushes a constant.
    Constant(Value),
    /// Negates the truth of a value.
    Not,
    /// Pops the right value, then the left one.
    Binary(BinaryOperator),
    /// Prints a value.
    Print,
    /// Jumps unless a value is true.
    Unless(usize),
    /// Jumps.
    Jump(usize),
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl LeafCode {
    pub(super) fn read(text: &str, syntax: LeafSyntax) -> Self {
        if !text.contains("{{") {
            return Self::default();
        }
        match syntax {
            LeafSyntax::Paths => Self::of_paths(text),
            LeafSyntax::Expressions => super::expression::read(text).unwrap_or_default(),
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
            code.steps.push(LeafStep::Tag(place));
            (done, at) = (end + 2, end + 2);
        }
        if !code.steps.is_empty() {
            code.text(done..text.len());
        }
        code
    }

    pub(super) fn text(&mut self, part: Range<usize>) {
        if !part.is_empty() {
            self.steps.push(LeafStep::Text(part));
        }
    }

    /// Stores a path and returns its index.
    pub(super) fn path(&mut self, path: LeafPath) -> usize {
        self.paths.push(path);
        self.paths.len() - 1
    }
}

/// The next position of `what`, from a byte on.
pub(super) fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|n| from + n)
}
