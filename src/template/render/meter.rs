//! The bounds of a render: steps, bytes and depth. Reaching one is an error that names the node.

use std::fmt::{self, Display};

use crate::text::leaf::{Leaf, PrintedLeaf, TooLong};
use crate::text::{StepCounter, work};

/// The most work and memory that one render may use, whatever the template and the data are.
#[derive(Debug, Clone, Copy)]
pub struct RenderLimits {
    /// Steps: nodes that run, items that are visited, every 32 bytes of text that are read or made, and every 16 values
    /// that are compared.
    pub steps: u64,
    /// Bytes of text that are kept, plus 32 for each message and anchor.
    pub bytes: usize,
    /// Levels of nested nodes.
    pub depth: usize,
}

impl Default for RenderLimits {
    /// 50 million steps, 64 MiB, 128 levels.
    fn default() -> Self {
        Self { steps: 50_000_000, bytes: 64 << 20, depth: 128 }
    }
}

/// What kind of error ended a render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The template is wrong in a way that only rendering shows: a group has a pattern that cannot be compiled.
    Structure,
    /// The values that it was rendered with are wrong.
    Render,
    /// A bound was reached.
    Bound,
}

/// Why a render failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", PlacePrefix(.at))]
pub struct RenderError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The node, as a path in the template (`slots.NAME.plan.0.map.1`); empty if the whole template is meant.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

struct PlacePrefix<'a>(&'a str);

impl Display for PlacePrefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "at `{}`: ", self.0) }
    }
}

impl RenderError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, at: String::new(), message: message.into() }
    }

    /// Adds the surrounding node to the path.
    pub(super) fn under(mut self, step: impl Display) -> Self {
        self.at = if self.at.is_empty() { step.to_string() } else { format!("{step}.{}", self.at) };
        self
    }
}

/// What is left of the limits.
pub(super) struct LimitMeter {
    limits: RenderLimits,
    steps: StepCounter,
    bytes: usize,
    depth: usize,
}

impl LimitMeter {
    pub(super) fn new(limits: RenderLimits) -> Self {
        Self { limits, steps: StepCounter::new(limits.steps, 1), bytes: limits.bytes, depth: limits.depth }
    }

    /// Counts steps.
    pub(super) fn step(&mut self, steps: u64) -> Result<(), RenderError> {
        let most = self.limits.steps;
        self.steps.count(steps).map_err(|reached| bound(reached.message(|| format!("takes more than {most} steps"))))
    }

    /// Counts a text that was made, kept or not.
    pub(super) fn made(&mut self, text: &str) -> Result<(), RenderError> {
        self.step(1 + text.len() as u64 / 32)
    }

    /// Counts a leaf that was printed: its letters, its values, and the resulting text.
    pub(super) fn printed(&mut self, leaf: &Leaf, printed: &PrintedLeaf) -> Result<(), RenderError> {
        self.step((leaf.written().len() / 32 + printed.work / 16) as u64)?;
        self.made(&printed.text)
    }

    /// Counts a message or an anchor that is kept.
    pub(super) fn keep(&mut self, text: &str) -> Result<(), RenderError> {
        self.bytes = self.bytes.checked_sub(text.len().saturating_add(32)).ok_or_else(|| self.full())?;
        Ok(())
    }

    /// The largest size that a text may have, in bytes.
    pub(super) fn most(&self) -> usize {
        self.bytes
    }

    fn full(&self) -> RenderError {
        bound(format!("gives more than {} bytes of text", self.limits.bytes))
    }

    /// The error for a text that is too large to be printed.
    pub(super) fn refused(&self, why: TooLong) -> RenderError {
        match why {
            TooLong::Text(_) => self.full(),
            TooLong::Work if work::is_over() => bound(work::told()),
            TooLong::Work | TooLong::Deep => bound(why.to_string()),
        }
    }

    /// Enters a level; [`LimitMeter::rise`] leaves it.
    pub(super) fn sink(&mut self) -> Result<(), RenderError> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| bound(format!("nests deeper than {} levels", self.limits.depth)))?;
        Ok(())
    }

    /// Leaves a level.
    pub(super) fn rise(&mut self) {
        self.depth += 1;
    }
}

fn bound(message: String) -> RenderError {
    RenderError::new(ErrorKind::Bound, message)
}
