//! Who spent what in a call: what each rule spent, and what an error about a bound says.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::left;
use crate::model::{Value, WorkLimits};

/// So many rules of a call, and texts that it paid as a whole, do not give their room back.
const MOST_KEPT: usize = 64;

/// The numbers of 2,048 rules may be found without a search: a place among them has 64 bits less these.
const NEAR_SHIFT: u32 = 53;

/// Which bound was reached.
#[derive(Debug, Clone, Copy)]
pub(super) enum Over {
    Steps,
    Bytes,
    /// One list or table is larger than what is written out at all.
    Size,
}

/// Who spent what.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) limits: WorkLimits,
    pub(super) rules: Vec<(Arc<str>, Spent)>,
    /// The number of a rule in `rules` by the address of its name, which `rules` keeps alive.
    numbers: FxHashMap<usize, usize>,
    /// The numbers that were found last, by a part of the address: a build runs the same passes for many items. They may be
    /// those of an earlier call, so `rules` has the last word.
    near: Vec<u32>,
    /// The number of the running rule.
    pub(super) current: Option<usize>,
    /// What was left when the running rule was last charged.
    pub(super) mark: Spent,
    /// The largest piece of work, in words.
    pub(super) largest: Option<String>,
    pub(super) over: Option<Over>,
    /// What was asked for when the bound was reached, and the rule that asked.
    pub(super) asked: (u64, Option<usize>),
    /// The data that the call was given, until its size has been added to the bounds.
    pub(super) given: Option<Value>,
    /// The parts of that data, once they have been added.
    pub(super) parts: Option<usize>,
    /// What to do about a bound that is reached, if the caller cannot set it.
    pub(super) remedy: Option<&'static str>,
    /// What was paid as a whole, and is used again.
    pub(super) paid: FxHashSet<Box<str>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) steps: u64,
    pub(super) bytes: u64,
}

impl Spent {
    pub(super) fn of(self, steps: bool) -> u64 {
        if steps { self.steps } else { self.bytes }
    }
}

impl Ledger {
    /// Charges the running rule for what was spent since the last time.
    pub(super) fn settle(&mut self) {
        let now = left();
        if let Some((_, spent)) = self.current.and_then(|n| self.rules.get_mut(n)) {
            spent.steps = spent.steps.saturating_add(self.mark.steps.saturating_sub(now.steps));
            spent.bytes = spent.bytes.saturating_add(self.mark.bytes.saturating_sub(now.bytes));
        }
        self.mark = now;
    }

    /// Forgets the call, and keeps the room of a short list of rules for the next one, because a call may be a single text.
    pub(super) fn clear(&mut self) {
        if self.rules.len() > MOST_KEPT || self.paid.len() > MOST_KEPT {
            *self = Self { near: std::mem::take(&mut self.near), ..Self::default() };
            return;
        }
        let Self { limits, rules, numbers, near: _, current, mark, largest, over, asked, given, parts, remedy, paid } = self;
        if !rules.is_empty() {
            rules.clear();
            numbers.clear();
        }
        if !paid.is_empty() {
            paid.clear();
        }
        (*limits, *current, *mark, *over, *asked) = (WorkLimits::default(), None, Spent::default(), None, (0, None));
        (*largest, *given, *parts, *remedy) = (None, None, None, None);
    }

    /// The number of a rule, which it gets when it runs for the first time.
    #[inline]
    pub(super) fn number(&mut self, name: &Arc<str>) -> usize {
        let address = Arc::as_ptr(name).cast::<u8>().addr();
        // the product's upper bits depend on all bits of the address
        let place = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> NEAR_SHIFT;
        match self.near.get(place as usize) {
            Some(number) if self.rules.get(*number as usize).is_some_and(|(known, _)| Arc::ptr_eq(known, name)) => *number as usize,
            _ => self.searched(name, address, place as usize),
        }
    }

    #[inline(never)]
    fn searched(&mut self, name: &Arc<str>, address: usize, place: usize) -> usize {
        let number = match self.numbers.get(&address) {
            Some(known) => *known,
            None => {
                self.rules.push((name.clone(), Spent::default()));
                self.numbers.insert(address, self.rules.len() - 1);
                self.rules.len() - 1
            }
        };
        if self.near.is_empty() {
            self.near = vec![u32::MAX; 1 << (u64::BITS - NEAR_SHIFT)];
        }
        if let (Some(near), Ok(number)) = (self.near.get_mut(place), u32::try_from(number)) {
            *near = number;
        }
        number
    }
}
