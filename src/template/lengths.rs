//! The lengths of the items of lists, as far as they have been measured, and what later renders of a template know of them.
//!
//! A length is what an item prints at least, in UTF-16 units. Above the lengths stands the least one of every 64 and of
//! every 4,096 items, so that a loop whose ceiling is nearly spent skips thousands of items at once.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memchr::memchr_iter;

use super::view::SourceValue;
use crate::diag::limits;
use crate::model::Value;
use crate::text::js;
use crate::text::leaf::LeafPath;

/// Paths below an item that are printed, each once.
#[derive(Clone, PartialEq)]
pub(super) struct PrintedPaths {
    pub(super) paths: Vec<LeafPath>,
    /// Whether the texts at these paths are printed unchanged; otherwise a text with `{{` may become shorter.
    pub(super) verbatim: bool,
}

/// Which list is seen: its address, the part, and whether that is in reverse.
pub(super) type SeenList = (usize, Range<usize>, bool);

/// Which list a value is; `None` for any other value.
pub(super) fn seen_list(items: &SourceValue) -> Option<SeenList> {
    let (part, reversed) = items.seen_part();
    Some((identity(items.seen_list()?), part, reversed))
}

/// The identity of a list, valid as long as the list is kept.
pub(super) fn identity(items: &Arc<Vec<Value>>) -> usize {
    Arc::as_ptr(items).addr()
}

/// A list, with the lengths of its items by what is printed of them.
pub(super) struct MeasuredList {
    items: SourceValue,
    lengths: Vec<(PrintedPaths, ItemLengths)>,
}

impl MeasuredList {
    /// A list with what is known of it. It counts as not measured yet, so that every render takes the same work.
    pub(super) fn of(items: SourceValue, seen: &SeenList, memory: Option<&LengthMemory>) -> Self {
        let mut lengths = memory.map(|memory| memory.take(seen)).unwrap_or_default();
        lengths.iter_mut().for_each(|(_, lengths)| lengths.seen = 0);
        Self { items, lengths }
    }

    /// The first item within `range` whose length fits; `looked` counts the places that were checked to find it.
    pub(super) fn next(&mut self, of: &PrintedPaths, range: Range<usize>, fits: impl Fn(u32) -> bool, looked: &mut u64) -> Option<usize> {
        if of.paths.is_empty() {
            *looked += 1;
            return (fits(0) && !range.is_empty()).then_some(range.start);
        }
        let known = self.lengths.iter().position(|(printing, _)| printing == of).unwrap_or_else(|| {
            self.lengths.push((of.clone(), ItemLengths::default()));
            self.lengths.len() - 1
        });
        let (_, lengths) = self.lengths.get_mut(known)?;
        lengths.next(range, fits, looked, |at| self.items.get(at).map_or(0, |item| length(of, item)))
    }
}

/// The lengths that earlier renders of a template have measured, of lists that something else keeps.
#[derive(Default)]
pub(super) struct LengthMemory(Mutex<Vec<KeptLengths>>);

/// The lengths of one list.
struct KeptLengths {
    seen: SeenList,
    // as long as this is held, no other list gets the address, and this one is not changed in place
    list: Weak<Vec<Value>>,
    lengths: Vec<(PrintedPaths, ItemLengths)>,
}

impl std::fmt::Debug for LengthMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LengthMemory")
    }
}

impl LengthMemory {
    /// What is known of a list, which is taken out.
    fn take(&self, seen: &SeenList) -> Vec<(PrintedPaths, ItemLengths)> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|known| known.seen == *seen && known.list.strong_count() > 0);
        known.map(|known| kept.swap_remove(known).lengths).unwrap_or_default()
    }

    /// Keeps the lengths of a list, as long as something else keeps the list.
    pub(super) fn keep(&self, MeasuredList { items, lengths }: MeasuredList) {
        let Some((seen, list)) = seen_list(&items).zip(items.seen_list()) else { return };
        let list = Arc::downgrade(list);
        drop(items);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|known| known.list.strong_count() > 0 && known.seen != seen);
        if list.strong_count() > 0 {
            kept.push(KeptLengths { seen, list, lengths });
        }
        if kept.len() > limits::CACHE_ENTRIES {
            kept.remove(0);
        }
    }
}

/// The least length that an item prints, in UTF-16 units.
fn length(of: &PrintedPaths, item: &Value) -> u32 {
    of.paths.iter().fold(0, |sum, path| sum.saturating_add(path.below(item).map_or(0, |value| units(&value, of.verbatim))))
}

fn units(value: &Value, verbatim: bool) -> u32 {
    match value {
        Value::Text(text) if !verbatim && opens(text.as_bytes()) => 0,
        Value::Text(text) => u32::try_from(js::length(text)).unwrap_or(u32::MAX),
        Value::Bool(_) => 4,
        Value::Int(_) | Value::Num(_) => 1,
        Value::List(_) | Value::Map(_) => 2,
        Value::Null | Value::Rule(_) => 0,
    }
}

/// Whether a text has `{{`. Most texts have no brace at all, which is found out faster than any pair.
fn opens(text: &[u8]) -> bool {
    memchr_iter(b'{', text).any(|at| text.get(at + 1) == Some(&b'{'))
}

/// The number of items that share one least length, and of such groups that share one again.
const STRETCH: usize = 64;

/// The lengths of a list's items, as far as they have been measured.
#[derive(Default)]
struct ItemLengths {
    items: Vec<u32>,
    /// The full groups of items.
    stretches: Vec<LengthGroup>,
    /// The full groups of groups.
    wide: Vec<LengthGroup>,
    /// How many items this render has measured or passed. The others are paid for as if they were not known.
    seen: usize,
}

/// Items beside each other: their least length, and what measuring them takes, in steps.
#[derive(Clone, Copy)]
struct LengthGroup {
    least: u32,
    work: u64,
}

impl LengthGroup {
    fn of(units: u32) -> Self {
        Self { least: units, work: 1 + u64::from(units) / 256 }
    }

    fn with(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), work: self.work + other.work }
    }
}

impl ItemLengths {
    fn next(&mut self, range: Range<usize>, fits: impl Fn(u32) -> bool, looked: &mut u64, measure: impl Fn(usize) -> u32) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            let is_new = at >= self.seen;
            let known = if is_new { range.end } else { self.seen };
            if let Some((size, _)) = self.group(at, known).filter(|(_, group)| !fits(group.least)) {
                *looked += if is_new { size as u64 } else { 1 };
                at += size;
                self.pass(at, looked);
                continue;
            }
            *looked += 1;
            while self.items.len() <= at {
                self.measured(measure(self.items.len()));
            }
            self.pass(at + 1, looked);
            if self.items.get(at).is_none_or(|units| fits(*units)) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// The largest full group that begins at an item and ends before another, with its size.
    fn group(&self, at: usize, end: usize) -> Option<(usize, LengthGroup)> {
        let groups = [(STRETCH * STRETCH, &self.wide), (STRETCH, &self.stretches)];
        groups.into_iter().find_map(|(size, groups)| {
            let begins = at.is_multiple_of(size) && at + size <= end;
            begins.then(|| groups.get(at / size)).flatten().map(|group| (size, *group))
        })
    }

    /// Pays for the items before this index, as far as this render has not.
    fn pass(&mut self, to: usize, looked: &mut u64) {
        while self.seen < to {
            let one = || (1, self.items.get(self.seen).map_or(LengthGroup { least: 0, work: 0 }, |units| LengthGroup::of(*units)));
            let (size, group) = self.group(self.seen, to).unwrap_or_else(one);
            *looked += group.work;
            self.seen += size;
        }
    }

    /// Adds the length of the next item.
    fn measured(&mut self, units: u32) {
        self.items.push(units);
        if self.items.len().is_multiple_of(STRETCH) {
            let last = self.items.iter().rev().take(STRETCH).map(|units| LengthGroup::of(*units));
            self.stretches.extend(last.reduce(LengthGroup::with));
            if self.stretches.len().is_multiple_of(STRETCH) {
                self.wide.extend(self.stretches.iter().rev().take(STRETCH).copied().reduce(LengthGroup::with));
            }
        }
    }
}
