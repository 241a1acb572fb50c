//! What a render may spend: one global ceiling, ceilings of nodes within it, and reserves that only their own lane may
//! use. And its bounds: steps, bytes and depth, of which reaching one is an error that names the node.
//!
//! Texts are never shortened: a text fits completely or is left out, and a later one may still fit.

use std::fmt;
use std::fmt::Display;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::text::leaf::{Leaf, PrintedLeaf, TooLong};
use crate::text::{StepCounter, js, work};

/// Counts the tokens of texts.
pub trait Ruler {
    /// The number of tokens of a text. An empty text must cost nothing.
    fn cost(&self, text: &str) -> u64;

    /// The least cost of any text with this number of UTF-16 units; it must not decrease when `units` grows. Returns 0
    /// if nothing is known, and loops then print every item to learn its cost.
    fn least(&self, units: u64) -> u64 {
        let _ = units;
        0
    }
}

/// One token per four UTF-16 units, rounded up.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuarterRuler;

impl Ruler for QuarterRuler {
    fn cost(&self, text: &str) -> u64 {
        self.least(js::length(text) as u64)
    }

    fn least(&self, units: u64) -> u64 {
        units.div_ceil(4)
    }
}

/// The spent and remaining tokens. One budget can be used for several renders and continues to count.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    global: Option<u64>,
    total: u64,
    /// What is left of the ceilings that apply now, outermost first.
    ceilings: Vec<u64>,
    reserves: FxHashMap<Arc<str>, u64>,
    /// The sum of all reserves.
    kept: u128,
    lane: Option<Arc<str>>,
}

impl Budget {
    /// A budget of this many tokens; `None` for no limit.
    #[must_use]
    pub fn new(global: Option<u64>) -> Self {
        Self { global, ..Self::default() }
    }

    /// The tokens that have been spent.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Removes the ceilings that a failed render left behind. Reserves and the total stay.
    pub(super) fn begin(&mut self) {
        self.ceilings.clear();
        self.lane = None;
    }

    /// What the current lane may still spend of the global ceiling.
    fn free(&self) -> Option<u64> {
        let own = self.lane.as_ref().and_then(|lane| self.reserves.get(lane)).copied().unwrap_or(0);
        let others = u64::try_from(self.kept.saturating_sub(u128::from(own))).unwrap_or(u64::MAX);
        self.global.map(|global| global.saturating_sub(self.total).saturating_sub(others))
    }

    /// Whether any tokens are left globally. Ceilings of nodes do not count.
    pub(super) fn has_any(&self) -> bool {
        self.free().is_none_or(|free| free > 0)
    }

    /// The largest cost that would fit; `None`: any.
    pub(super) fn room(&self) -> Option<u64> {
        self.ceilings.iter().copied().chain(self.free()).min()
    }

    /// Whether a text of this cost fits under every ceiling.
    pub(super) fn fits(&self, cost: u64) -> bool {
        if cost == 0 { self.has_any() } else { self.room().is_none_or(|room| cost <= room) }
    }

    /// Subtracts the cost from everything that applies.
    pub(super) fn spend(&mut self, cost: u64) {
        self.total = self.total.saturating_add(cost);
        for left in &mut self.ceilings {
            *left = left.saturating_sub(cost);
        }
        if let Some(lane) = self.lane.clone() {
            self.release(&lane, cost);
        }
    }

    /// Spends the cost if it fits.
    pub(super) fn take(&mut self, cost: u64) -> bool {
        let fits = self.fits(cost);
        if fits {
            self.spend(cost);
        }
        fits
    }

    /// Adds a ceiling for what follows, up to [`Budget::leave`]. Pass the result to that call.
    pub(super) fn enter(&mut self, ceiling: Option<u64>) -> usize {
        let depth = self.ceilings.len();
        self.ceilings.extend(ceiling);
        depth
    }

    /// Removes the ceilings that were added since the call that returned `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        self.ceilings.truncate(depth);
    }

    /// Enters a lane, or leaves it.
    pub(super) fn go(&mut self, lane: Option<Arc<str>>) {
        self.lane = lane;
    }

    /// Reserves tokens for a lane.
    pub(super) fn reserve(&mut self, lane: &Arc<str>, tokens: u64) {
        let kept = self.reserves.entry(lane.clone()).or_default();
        let more = kept.saturating_add(tokens) - *kept;
        *kept += more;
        self.kept += u128::from(more);
    }

    /// Releases tokens of a lane's reserve for everyone, or spends them.
    pub(super) fn release(&mut self, lane: &Arc<str>, tokens: u64) {
        if let Some(kept) = self.reserves.get_mut(lane) {
            let less = tokens.min(*kept);
            *kept -= less;
            self.kept -= u128::from(less);
        }
    }
}

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
            TooLong::Work if work::is_over() => bound(work::excess_message()),
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
