//! What the running build spends: visits of items, and the bytes of texts.

use crate::text::work;

use super::trees::elements;
use super::{BuildState, EvalFault};

/// The work of one visit, in steps: the item's condition is counted besides.
const STEPS_PER_VISIT: u64 = 2;
/// How many visits each element of the scene's lists adds to the pack's bound.
const VISITS_PER_ELEMENT: u64 = 200;
/// How deep in the scene's tables lists are counted.
const MOST_LEVELS: u32 = 4;

impl BuildState {
    /// Counts work. Returns an error when the bound is reached: the pack's bound plus an allowance for each element
    /// of the scene's lists.
    pub fn visit(&self, items: usize) -> Result<(), EvalFault> {
        work::spend((items as u64).saturating_add(1).saturating_mul(STEPS_PER_VISIT))?;
        let sum = self.visits.get().saturating_add(items as u64).saturating_add(1);
        self.visits.set(sum);
        if sum <= self.rules.limits.pass_visits {
            return Ok(());
        }
        let most = self.most_visits.get().unwrap_or_else(|| {
            let more = elements(&self.scene, MOST_LEVELS).saturating_mul(VISITS_PER_ELEMENT);
            self.rules.limits.pass_visits.saturating_add(more)
        });
        self.most_visits.set(Some(most));
        if sum > most {
            return Err(EvalFault::bound(format!(
                "passes visited more than {most} items; let passes select fewer items, or raise `pass_visits` in `[limits]` of the pack (at most 100,000,000)"
            )));
        }
        Ok(())
    }

    /// An error for a text longer than the pack allows.
    pub fn small_enough(&self, bytes: usize) -> Result<(), EvalFault> {
        if bytes > self.rules.limits.text_bytes {
            return Err(EvalFault::bound(format!(
                "a text grew beyond {} bytes; let the rule make less, or raise `text_bytes` in `[limits]` of the pack (at most 256,000,000)",
                self.rules.limits.text_bytes
            )));
        }
        Ok(())
    }
}
