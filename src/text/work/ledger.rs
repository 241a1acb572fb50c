//! Who spent what in a call: what each rule spent, and what an error about a bound says.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::left;
use crate::model::{Value, WorkLimits};

/// So many rules that ran on a thread keep their numbers for later calls.
const MOST_RULES: usize = 4096;
/// So many texts that a call paid as a whole do not give their room back.
const MOST_PAID: usize = 64;

/// The upper 11 bits of a product are a place among 2,048 numbers of rules that are found without a search.
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
    /// The rules that ran on the thread, and what they spent in this call.
    pub(super) rules: Vec<(Arc<str>, Spent)>,
    /// The numbers of those that spent something in this call, in the order in which they began to.
    pub(super) spenders: Vec<usize>,
    /// The number of a rule in `rules` by the address of its name, which `rules` keeps alive.
    numbers: FxHashMap<usize, usize>,
    /// The numbers that were found last, by a part of the address: a build runs the same passes for many items. `rules` has
    /// the last word.
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
    fn is_nothing(self) -> bool {
        self.steps == 0 && self.bytes == 0
    }

    pub(super) fn of(self, steps: bool) -> u64 {
        if steps { self.steps } else { self.bytes }
    }
}

impl Ledger {
    /// Charges the running rule for what was spent since the last time.
    pub(super) fn settle(&mut self) {
        let now = left();
        if let Some((number, (_, spent))) = self.current.and_then(|n| Some((n, self.rules.get_mut(n)?))) {
            let more = Spent { steps: self.mark.steps.saturating_sub(now.steps), bytes: self.mark.bytes.saturating_sub(now.bytes) };
            if !more.is_nothing() && spent.is_nothing() {
                self.spenders.push(number);
            }
            spent.steps = spent.steps.saturating_add(more.steps);
            spent.bytes = spent.bytes.saturating_add(more.bytes);
        }
        self.mark = now;
    }

    /// Forgets the call. The rules keep their numbers, because the next call usually runs the same ones.
    pub(super) fn clear(&mut self) {
        if self.rules.len() > MOST_RULES {
            *self = Self { near: std::mem::take(&mut self.near), ..Self::default() };
            return;
        }
        let Self { limits, rules, spenders, numbers: _, near: _, current, mark, largest, over, asked, given, parts, remedy, paid } = self;
        for number in spenders.drain(..) {
            if let Some((_, spent)) = rules.get_mut(number) {
                *spent = Spent::default();
            }
        }
        if paid.len() > MOST_PAID {
            *paid = FxHashSet::default();
        } else if !paid.is_empty() {
            paid.clear();
        }
        (*limits, *current, *mark, *over, *asked) = (WorkLimits::default(), None, Spent::default(), None, (0, None));
        (*largest, *given, *parts, *remedy) = (None, None, None, None);
    }

    /// The rules that spent something in this call, and the one that asked for more than there was.
    pub(super) fn spent(&self) -> impl Iterator<Item = (usize, &(Arc<str>, Spent))> {
        let asker = self.asked.1.filter(|asker| !self.spenders.contains(asker));
        self.spenders.iter().copied().chain(asker).filter_map(|n| Some((n, self.rules.get(n)?)))
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
