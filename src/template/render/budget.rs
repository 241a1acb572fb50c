//! What a render may spend: one global ceiling, ceilings of nodes within it, and reserves that only their lane may touch.
//!
//! Nothing is ever shortened: a text fits whole or is left out, and what comes behind it may still fit.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::text::js;

/// How texts are counted.
pub trait Ruler {
    /// The tokens of a text. An empty text must cost nothing.
    fn cost(&self, text: &str) -> u64;

    /// The least that a text of so many UTF-16 units can cost; must not fall when `units` grows. 0 where nothing can
    /// be said of it: loops then print every item to learn what it costs.
    fn least(&self, units: u64) -> u64 {
        let _ = units;
        0
    }
}

/// One token for every four UTF-16 units, begun ones too.
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

/// What is spent and what is left. Used for several renders, it goes on counting.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    global: Option<u64>,
    total: u64,
    /// What is left of the ceilings that hold now, outermost first.
    ceilings: Vec<u64>,
    reserves: FxHashMap<Arc<str>, u64>,
    /// All reserves together.
    kept: u128,
    lane: Option<Arc<str>>,
}

impl Budget {
    /// A budget of so many tokens; `None` has no end.
    #[must_use]
    pub fn new(global: Option<u64>) -> Self {
        Self { global, ..Self::default() }
    }

    /// What has been spent, in tokens.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Forgets what a render that failed has left open. Reserves stay, as the total does.
    pub(super) fn begin(&mut self) {
        self.ceilings.clear();
        self.lane = None;
    }

    /// What the lane of now may still spend of the global ceiling.
    fn free(&self) -> Option<u64> {
        let own = self.lane.as_ref().and_then(|lane| self.reserves.get(lane)).copied().unwrap_or(0);
        let others = u64::try_from(self.kept.saturating_sub(u128::from(own))).unwrap_or(u64::MAX);
        self.global.map(|global| global.saturating_sub(self.total).saturating_sub(others))
    }

    /// Whether anything at all is left. Ceilings of nodes do not count.
    pub(super) fn has_any(&self) -> bool {
        self.free().is_none_or(|free| free > 0)
    }

    /// The dearest text that would fit; `None`: any.
    pub(super) fn room(&self) -> Option<u64> {
        self.ceilings.iter().copied().chain(self.free()).min()
    }

    /// Whether a text of this cost fits under every ceiling.
    pub(super) fn fits(&self, cost: u64) -> bool {
        if cost == 0 { self.has_any() } else { self.room().is_none_or(|room| cost <= room) }
    }

    /// Takes the cost from everything that holds.
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

    /// Puts a ceiling over what follows, up to [`Budget::leave`]. The result is for that call.
    pub(super) fn enter(&mut self, ceiling: Option<u64>) -> usize {
        let depth = self.ceilings.len();
        self.ceilings.extend(ceiling);
        depth
    }

    /// Takes away the ceilings since the call that gave `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        self.ceilings.truncate(depth);
    }

    /// Goes into a lane, or out of it.
    pub(super) fn go(&mut self, lane: Option<Arc<str>>) {
        self.lane = lane;
    }

    /// Keeps tokens for a lane.
    pub(super) fn reserve(&mut self, lane: &Arc<str>, tokens: u64) {
        let kept = self.reserves.entry(lane.clone()).or_default();
        let more = kept.saturating_add(tokens) - *kept;
        *kept += more;
        self.kept += u128::from(more);
    }

    /// Gives tokens of a lane's reserve back to all, or spends them.
    pub(super) fn release(&mut self, lane: &Arc<str>, tokens: u64) {
        if let Some(kept) = self.reserves.get_mut(lane) {
            let less = tokens.min(*kept);
            *kept -= less;
            self.kept -= u128::from(less);
        }
    }
}
