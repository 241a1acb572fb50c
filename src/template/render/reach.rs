//! The length index of loops: finds the items of a list that cannot fit, without printing them.
//!
//! The least cost of an item's message follows from its length: the letters of the leaf, and the texts at the paths
//! below `item`. The lengths of a list ([`super::super::lengths`]) are measured once, as far as loops get, and shared by
//! all loops that print the same paths, and by later renders of the template as long as the list is there. The index is
//! only used for loops whose items have no other effect: where a loop has separators, points or nested nodes, or asks a
//! source that may fail, every item runs.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::form::{MessageBlock, SlotCondition, SlotNode, SortOrder, SourceLoop, TextSource};
use super::super::lengths::{LengthMemory, MeasuredList, PrintedPaths, SeenList, identity, seen_list};
use super::super::view::SourceValue;
use super::budget::Ruler;
use crate::diag::limits;
use crate::model::Value;
use crate::text::leaf::{LeafPath, path};
use crate::text::work;

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
pub(super) struct LoopLists<'m> {
    places: FxHashMap<SeenList, usize>,
    all: Vec<MeasuredList>,
    sorted: FxHashMap<(usize, bool), SortedList>,
    /// Lengths of earlier renders; `None` without shortcuts.
    memory: Option<&'m LengthMemory>,
}

/// A list, and its sorted forms.
struct SortedList {
    from: Arc<Vec<Value>>,
    to: Arc<Vec<Value>>,
}

impl<'m> LoopLists<'m> {
    /// None yet, with what earlier renders have learned.
    pub(super) fn of(memory: &'m LengthMemory) -> Self {
        let (places, all, sorted) = Default::default();
        Self { places, all, sorted, memory: work::takes_shortcuts().then_some(memory) }
    }

    /// Keeps for later renders what was measured.
    pub(super) fn keep(self) {
        let Some(memory) = self.memory else { return };
        self.all.into_iter().for_each(|list| memory.keep(list));
    }

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

    /// The entry of a list, by its identity; `None` for what is no list.
    pub(super) fn enter(&mut self, items: &SourceValue) -> Option<ListId> {
        let (all, memory) = (&mut self.all, self.memory);
        Some(ListId(*self.places.entry(seen_list(items)?).or_insert_with_key(|seen| {
            all.push(MeasuredList::of(items.clone(), seen, memory));
            all.len() - 1
        })))
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
