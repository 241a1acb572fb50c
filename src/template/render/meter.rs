//! The bounds of a render: steps, bytes, depth. One that is reached is an error that says where.

use std::fmt::{self, Display};

use crate::text::leaf::{Leaf, Printed, TooLong};

/// What a render may cost at most, whatever the template and the data are.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Nodes run, items looked at, every 32 bytes of text read or made, and every 16 values compared.
    pub steps: u64,
    /// Bytes of text that are kept, with 32 for each message and anchor.
    pub bytes: usize,
    /// Levels of nodes within nodes.
    pub depth: usize,
}

impl Default for Limits {
    /// 50 million steps, 64 MiB, 128 levels.
    fn default() -> Self {
        Self { steps: 50_000_000, bytes: 64 << 20, depth: 128 }
    }
}

/// What kind of error ended a render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The template itself is wrong in a way that shows only now (a broken pattern of a group).
    Structure,
    /// What it was rendered with is wrong.
    Render,
    /// A bound was reached.
    Bound,
}

/// Why a render failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", Place(.at))]
pub struct RenderError {
    /// What kind.
    pub kind: ErrorKind,
    /// The node, as a path into the template (`slots.NAME.plan.0.map.1`); empty where it is the whole.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

struct Place<'a>(&'a str);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "at `{}`: ", self.0) }
    }
}

impl RenderError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, at: String::new(), message: message.into() }
    }

    /// The same, seen from the node around it.
    pub(super) fn under(mut self, step: impl Display) -> Self {
        self.at = if self.at.is_empty() { step.to_string() } else { format!("{step}.{}", self.at) };
        self
    }
}

/// What is left of the limits.
pub(super) struct Meter {
    limits: Limits,
    steps: u64,
    bytes: usize,
    depth: usize,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, steps: limits.steps, bytes: limits.bytes, depth: limits.depth }
    }

    /// Counts steps.
    pub(super) fn step(&mut self, steps: u64) -> Result<(), RenderError> {
        self.steps = self.steps.checked_sub(steps).ok_or_else(|| bound(format!("takes more than {} steps", self.limits.steps)))?;
        Ok(())
    }

    /// Counts a text that was made, kept or not.
    pub(super) fn made(&mut self, text: &str) -> Result<(), RenderError> {
        self.step(1 + text.len() as u64 / 32)
    }

    /// Counts a leaf that was printed: its letters, its values, and the text that came of it.
    pub(super) fn printed(&mut self, leaf: &Leaf, printed: &Printed) -> Result<(), RenderError> {
        self.step((leaf.written().len() / 32 + printed.work / 16) as u64)?;
        self.made(&printed.text)
    }

    /// Counts a message or an anchor that is kept.
    pub(super) fn keep(&mut self, text: &str) -> Result<(), RenderError> {
        self.bytes = self.bytes.checked_sub(text.len().saturating_add(32)).ok_or_else(|| self.full())?;
        Ok(())
    }

    /// The bytes that a text may have.
    pub(super) fn most(&self) -> usize {
        self.bytes
    }

    fn full(&self) -> RenderError {
        bound(format!("gives more than {} bytes of text", self.limits.bytes))
    }

    /// The error of a text that is not printed.
    pub(super) fn refused(&self, why: TooLong) -> RenderError {
        if let TooLong::Text(_) = why { self.full() } else { bound(why.to_string()) }
    }

    /// Goes a level down; [`Meter::rise`] comes back.
    pub(super) fn sink(&mut self) -> Result<(), RenderError> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| bound(format!("nests deeper than {} levels", self.limits.depth)))?;
        Ok(())
    }

    /// Comes a level up.
    pub(super) fn rise(&mut self) {
        self.depth += 1;
    }
}

fn bound(message: String) -> RenderError {
    RenderError::new(ErrorKind::Bound, message)
}
