//! The length index of loops: finds the items of a list that cannot fit, without printing them.
//!
//! The least cost of an item's message follows from its length: the letters of the leaf, and the texts at the paths
//! below `item`. The lengths of a list are measured once, as far as loops get, and shared by all loops that print the
//! same paths. Above them the index keeps the least length of every 64 and of every 4,096 items, so that a loop whose
//! ceiling is nearly spent skips thousands of items at once. The index is only used for loops whose items have no other
//! effect: where a loop has separators, points or nested nodes, or asks a source that may fail, every item runs.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr_iter;
use rustc_hash::FxHashMap;

use super::super::form::{MessageBlock, SlotCondition, SlotNode, SortOrder, SourceLoop, TextSource};
use super::budget::Ruler;
use crate::diag::limits;
use crate::model::Value;
use crate::text::js;
use crate::text::leaf::{LeafPath, path};

/// The least cost of the messages of a loop.
pub(super) struct LoopDemand {
    asks: Vec<MessageDemand>,
    /// The cost of finding it out, in steps.
    pub(super) work: u64,
}

/// One message: its letters, and what it prints of an item.
struct MessageDemand {
    units: u64,
    of: PrintedPaths,
    /// No item before this index fits. The remaining budget never grows while a loop runs.
    from: usize,
}

/// Paths below an item that are printed, each once.
#[derive(PartialEq)]
struct PrintedPaths {
    paths: Vec<LeafPath>,
    /// Whether the texts at these paths are printed unchanged; otherwise a text with `{{` may become shorter.
    verbatim: bool,
}

impl LoopDemand {
    /// The index for a loop over `count` items; `None` if its items have to run.
    pub(super) fn of(each: &SourceLoop, count: usize, room: Option<u64>, ruler: &dyn Ruler) -> Option<Self> {
        if count < limits::LONG_LIST || room.is_none() || each.separator.is_some() || ruler.least(u64::from(u32::MAX)) == 0 {
            return None;
        }
        let mut reach = Self { asks: Vec::new(), work: 0 };
        reach.nodes(&each.map)?;
        Some(reach)
    }

    fn nodes(&mut self, nodes: &[SlotNode]) -> Option<()> {
        nodes.iter().try_for_each(|node| match node {
            SlotNode::Message(block, _) => self.block(block),
            SlotNode::If { when, then, otherwise } if is_quiet(when) => {
                self.nodes(then)?;
                self.nodes(otherwise)
            }
            SlotNode::If { .. } | SlotNode::Each(_) | SlotNode::Anchor(_) => None,
        })
    }

    fn block(&mut self, block: &MessageBlock) -> Option<()> {
        if !block.when.iter().all(is_quiet) {
            return None;
        }
        let ask = match &block.text {
            TextSource::None => return Some(()),
            TextSource::Leaf(leaf) => {
                let (units, paths) = leaf.parts()?;
                self.work += 1 + leaf.written().len() as u64 / 32;
                if units == 0 && paths.is_empty() {
                    return Some(());
                }
                let paths = paths.iter().filter(|p| p.first() == "item").map(LeafPath::rest).collect();
                MessageDemand { units: units as u64, of: PrintedPaths { paths, verbatim: false }, from: 0 }
            }
            TextSource::From(from) if &*from.source == "$item" => {
                let below = from.args.as_ref().and_then(|a| a.as_map()?.get("path")?.as_str()).unwrap_or_default();
                self.work += 1 + below.len() as u64 / 32;
                MessageDemand { units: 0, of: PrintedPaths { paths: vec![path(below)], verbatim: true }, from: 0 }
            }
            TextSource::From(_) => return None,
        };
        self.asks.push(ask);
        Some(())
    }
}

/// Whether a condition only reads values that cannot fail.
fn is_quiet(when: &SlotCondition) -> bool {
    matches!(when, SlotCondition::Typed(when) if super::super::RESERVED.contains(&&*when.on.source))
}

/// A list of this render.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListId(usize);

/// The lists that loops have iterated over, by identity. Each is kept alive, so that no other list can get its address.
#[derive(Default)]
pub(super) struct LoopLists {
    places: FxHashMap<usize, usize>,
    all: Vec<MeasuredList>,
    sorted: FxHashMap<(usize, bool), SortedList>,
}

/// A list, and its sorted forms.
struct SortedList {
    from: Arc<Vec<Value>>,
    to: Arc<Vec<Value>>,
}

/// The identity of a list, valid as long as the list is kept.
fn identity(items: &Arc<Vec<Value>>) -> usize {
    Arc::as_ptr(items).addr()
}

struct MeasuredList {
    items: Arc<Vec<Value>>,
    lengths: Vec<(PrintedPaths, ItemLengths)>,
}

impl LoopLists {
    /// The list as it was sorted before.
    pub(super) fn ordered(&self, items: &Arc<Vec<Value>>, order: SortOrder) -> Option<Arc<Vec<Value>>> {
        let sorted = self.sorted.get(&(identity(items), order == SortOrder::Asc));
        sorted.filter(|sorted| Arc::ptr_eq(&sorted.from, items)).map(|sorted| sorted.to.clone())
    }

    /// Keeps a sorted list.
    pub(super) fn keep_ordered(&mut self, items: &Arc<Vec<Value>>, order: SortOrder, sorted: &Arc<Vec<Value>>) {
        let kept = SortedList { from: items.clone(), to: sorted.clone() };
        self.sorted.insert((identity(items), order == SortOrder::Asc), kept);
    }

    /// The entry of a list, by its identity.
    pub(super) fn enter(&mut self, items: &Arc<Vec<Value>>) -> ListId {
        let all = &mut self.all;
        ListId(*self.places.entry(identity(items)).or_insert_with(|| {
            all.push(MeasuredList { items: items.clone(), lengths: Vec::new() });
            all.len() - 1
        }))
    }

    /// The first item within `range` for which a message may fit, and how many places were checked to find it.
    pub(super) fn next(
        &mut self,
        list: ListId,
        reach: &mut LoopDemand,
        range: Range<usize>,
        fits: impl Fn(u64) -> bool,
    ) -> (Option<usize>, u64) {
        let Some(list) = self.all.get_mut(list.0) else { return (Some(range.start), 0) };
        let (mut end, mut looked) = (range.end, 0);
        for ask in &mut reach.asks {
            let start = ask.from.max(range.start);
            let (units, of) = (ask.units, &ask.of);
            let found = list.next(of, start..end, |more| fits(units.saturating_add(u64::from(more))), &mut looked);
            ask.from = found.unwrap_or(end).max(start);
            end = end.min(ask.from);
        }
        ((end < range.end).then_some(end), looked)
    }
}

impl MeasuredList {
    fn next(&mut self, of: &PrintedPaths, range: Range<usize>, fits: impl Fn(u32) -> bool, looked: &mut u64) -> Option<usize> {
        if of.paths.is_empty() {
            *looked += 1;
            return (fits(0) && !range.is_empty()).then_some(range.start);
        }
        let known = self.lengths.iter().position(|(printing, _)| printing == of).unwrap_or_else(|| {
            let of = PrintedPaths { paths: of.paths.clone(), verbatim: of.verbatim };
            self.lengths.push((of, ItemLengths::default()));
            self.lengths.len() - 1
        });
        let (_, lengths) = self.lengths.get_mut(known)?;
        lengths.next(range, fits, looked, |at| self.items.get(at).map_or(0, |item| length(of, item)))
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
    /// The least length of each full group of items.
    stretches: Vec<u32>,
    /// The least length of each full group of groups.
    wide: Vec<u32>,
}

impl ItemLengths {
    fn next(&mut self, range: Range<usize>, fits: impl Fn(u32) -> bool, looked: &mut u64, measure: impl Fn(usize) -> u32) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            *looked += 1;
            let skip = if whole(&self.wide, at, STRETCH * STRETCH).is_some_and(|least| !fits(least)) {
                STRETCH * STRETCH
            } else if whole(&self.stretches, at, STRETCH).is_some_and(|least| !fits(least)) {
                STRETCH
            } else if fits(self.item(at, looked, &measure)) {
                return Some(at);
            } else {
                1
            };
            at += skip;
        }
        None
    }

    /// The length of an item; all items before it are measured too.
    fn item(&mut self, at: usize, looked: &mut u64, measure: &impl Fn(usize) -> u32) -> u32 {
        while self.items.len() <= at {
            let units = measure(self.items.len());
            *looked += 1 + u64::from(units) / 256;
            self.items.push(units);
            fill(&self.items, &mut self.stretches);
            fill(&self.stretches, &mut self.wide);
        }
        self.items.get(at).copied().unwrap_or(0)
    }
}

/// The least length of the group that begins at `at`, if a full one does.
fn whole(least: &[u32], at: usize, stretch: usize) -> Option<u32> {
    at.is_multiple_of(stretch).then(|| least.get(at / stretch).copied())?
}

/// Adds the least length of the group that has just become full.
fn fill(below: &[u32], above: &mut Vec<u32>) {
    if below.len() / STRETCH > above.len() {
        above.extend(below.get(above.len() * STRETCH..).unwrap_or_default().iter().min());
    }
}
