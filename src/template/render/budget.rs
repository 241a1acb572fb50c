//! What a render may spend: one global ceiling, ceilings of nodes within it, and reserves that only their own lane may
//! use.
//!
//! Texts are never shortened: a text fits completely or is left out, and a later one may still fit.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::text::js;

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
