//! Loops: a sorted and limited list, whose items each run the loop's nodes under one common ceiling.
//!
//! An item that cannot fit is skipped by its length, if that is known without printing the item ([`super::reach`]).

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use icu_collator::CollatorBorrowed;
use icu_collator::options::CollatorOptions;

use super::budget::LimitMeter;
use super::reach::{ListId, LoopDemand, LoopLists};
use super::{Message, OutputPiece, RenderError, RenderRun};
use crate::model::Value;
use crate::template::form::{SortOrder, SourceLoop};
use crate::template::view::SourceValue;

/// Where the output of the loop goes.
enum LoopOutput<'o> {
    /// After the existing output.
    Append(&'o mut Vec<OutputPiece>),
    /// Item by item in the order in which they ran; later ones are placed first. Separators follow at the end.
    Prepend { runs: Vec<Vec<OutputPiece>>, behind: Vec<OutputPiece>, out: &'o mut Vec<OutputPiece> },
}

impl RenderRun<'_, '_> {
    /// Runs a loop.
    pub(super) fn each(&mut self, each: &SourceLoop, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        if each.budget.is_some() && each.stops && !self.budget.has_any() {
            return Ok(());
        }
        let items = match each.order {
            None => self.data.see(&each.source),
            Some(order) => match self.data.resolve(&each.source) {
                Some(Value::List(items)) => Some(Value::List(ordered(&mut self.lists, &items, order, &mut self.meter)?).into()),
                _ => None,
            },
        };
        let Some(items) = items.filter(SourceValue::is_list) else { return Ok(()) };
        let count = each.limit.and_then(|n| usize::try_from(n).ok()).map_or(items.len(), |n| n.min(items.len()));
        let fill = if each.prepend { LoopOutput::Prepend { runs: Vec::new(), behind: Vec::new(), out } } else { LoopOutput::Append(out) };
        let depth = self.budget.enter(each.budget);
        let ran = self.items(each, &items, count, fill);
        self.budget.leave(depth);
        ran
    }

    fn items(&mut self, each: &SourceLoop, items: &SourceValue, count: usize, mut fill: LoopOutput<'_>) -> Result<(), RenderError> {
        let mut reach = LoopDemand::of(each, count, self.budget.room(), self.inputs.ruler);
        self.meter.step(reach.as_ref().map_or(0, |reach| reach.work))?;
        let list = reach.as_ref().and_then(|_| self.lists.enter(items));
        let mut at = 0;
        while at < count {
            if each.stops && !self.budget.has_any() {
                break;
            }
            match self.next(reach.as_mut(), list, at, count)? {
                Some(next) => at = next,
                None => break,
            }
            let Some(item) = items.get(at) else { break };
            self.data.push(item.clone(), at);
            let ran = self.item(each, &mut fill, at + 1 < count);
            self.data.pop();
            ran?;
            at += 1;
        }
        if let LoopOutput::Prepend { runs, behind, out } = fill {
            out.extend(runs.into_iter().rev().flatten().chain(behind));
        }
        Ok(())
    }

    /// The next item from index `at` that may give output.
    fn next(
        &mut self,
        reach: Option<&mut LoopDemand>,
        list: Option<ListId>,
        at: usize,
        count: usize,
    ) -> Result<Option<usize>, RenderError> {
        let (Some(reach), Some(list), Some(room)) = (reach, list, self.budget.room()) else { return Ok(Some(at)) };
        if !self.budget.has_any() {
            return Ok(None); // not even an empty text gets through
        }
        let (found, looked) = self.lists.next(list, reach, at..count, |units| self.inputs.ruler.least(units) <= room);
        self.meter.step(looked)?;
        Ok(found)
    }

    fn item(&mut self, each: &SourceLoop, fill: &mut LoopOutput<'_>, more: bool) -> Result<(), RenderError> {
        match fill {
            LoopOutput::Append(out) => self.map(each, out)?,
            LoopOutput::Prepend { runs, .. } => {
                let mut run = Vec::new();
                self.map(each, &mut run)?;
                if !run.is_empty() {
                    runs.push(run);
                }
            }
        }
        if more && let Some(separator) = self.separator(each)? {
            match fill {
                LoopOutput::Append(out) => out.push(separator),
                LoopOutput::Prepend { behind, .. } => behind.push(separator),
            }
        }
        Ok(())
    }

    /// Runs the nodes of one item. Those after the one that spent the last token do not run.
    fn map(&mut self, each: &SourceLoop, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        self.meter.sink()?;
        for (n, node) in each.map.iter().enumerate() {
            self.node(node, out).map_err(|e| e.under(n).under("map"))?;
            if each.stops && !self.budget.has_any() {
                break;
            }
        }
        self.meter.rise();
        self.meter.step(1)
    }

    fn separator(&mut self, each: &SourceLoop) -> Result<Option<OutputPiece>, RenderError> {
        let Some(leaf) = &each.separator else { return Ok(None) };
        let text = self.print(leaf).map_err(|e| e.under("interleave"))?.text;
        if text.is_empty() || !self.budget.take(self.inputs.ruler.cost(&text)) {
            return Ok(None);
        }
        self.meter.keep(&text)?;
        Ok(Some(OutputPiece::Message(Message { role: self.revision.separator_role.clone(), content: text, prefix: false })))
    }
}

/// The list in the requested order; a list that was sorted before is shared.
fn ordered(
    lists: &mut LoopLists<'_>,
    items: &Arc<Vec<Value>>,
    order: SortOrder,
    meter: &mut LimitMeter,
) -> Result<Arc<Vec<Value>>, RenderError> {
    if let Some(known) = lists.ordered(items, order) {
        return Ok(known);
    }
    meter.step(items.len() as u64)?;
    let sorted = sort(items, order).map_or_else(|| items.clone(), Arc::new);
    lists.keep_ordered(items, order, &sorted);
    Ok(sorted)
}

/// The list sorted, numbers by size and texts as English readers expect them; `None` if none of its items can be compared.
///
/// Only two numbers or two texts are compared; all other pairs count as equal. A list of both kinds therefore has no
/// consistent order: its result is that of a stable binary insertion sort, which JavaScript uses for lists of fewer
/// than 64 items.
fn sort(items: &[Value], order: SortOrder) -> Option<Vec<Value>> {
    let numbers = items.iter().filter(|v| v.as_f64().is_some()).count();
    let texts = items.iter().filter(|v| v.as_str().is_some()).count();
    if numbers < 2 && texts < 2 {
        return None;
    }
    let compare = |a: &Value, b: &Value| if order == SortOrder::Asc { compare(a, b) } else { compare(b, a) };
    let mut sorted = items.to_vec();
    if numbers == items.len() || texts == items.len() {
        sorted.sort_by(compare);
    } else {
        for run in sorted.chunks_mut(MOST_INSERTED) {
            insert(run, compare);
        }
        sorted = merge(sorted, compare);
    }
    Some(sorted)
}

/// The most items that are sorted by insertion.
const MOST_INSERTED: usize = 63;

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => collator().compare(a, b),
        _ => a.as_f64().zip(b.as_f64()).map_or(Ordering::Equal, |(a, b)| a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b))),
    }
}

/// The order of English, which is the root order of Unicode's locale data. Only the root data is compiled in, because a
/// collator for any locale would include the data of all languages, which is seven times as large.
fn collator() -> &'static CollatorBorrowed<'static> {
    static COLLATOR: LazyLock<CollatorBorrowed<'static>> = LazyLock::new(|| CollatorBorrowed::new_root(CollatorOptions::default()));
    &COLLATOR
}

/// Sorts in place as JavaScript does when the comparison is not consistent: the first run is kept (or reversed if it
/// descends), and each further item is inserted by binary search after all items that it is not less than.
fn insert(items: &mut [Value], compare: impl Fn(&Value, &Value) -> Ordering) {
    let less = |items: &[Value], a: usize, b: usize| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b).is_lt(),
        _ => false,
    };
    let falls = less(items, 1, 0);
    let mut run = items.len().min(2);
    while run < items.len() && less(items, run, run - 1) == falls {
        run += 1;
    }
    if falls && let Some(first) = items.get_mut(..run) {
        first.reverse();
    }
    for at in run..items.len() {
        let (mut low, mut high) = (0, at);
        while low < high {
            let middle = low + (high - low) / 2;
            if less(items, at, middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        if let Some(moved) = items.get_mut(low..=at) {
            moved.rotate_right(1);
        }
    }
}

/// Merges sorted runs of [`MOST_INSERTED`] items, stably. It accepts an inconsistent comparison, on which `sort_by` may
/// panic.
fn merge(mut items: Vec<Value>, compare: impl Fn(&Value, &Value) -> Ordering) -> Vec<Value> {
    let mut width = MOST_INSERTED;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(width * 2) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                let next = if compare(b, a).is_lt() { right.next() } else { left.next() };
                merged.extend(next.cloned());
            }
            merged.extend(left.chain(right).cloned());
        }
        items = merged;
        width *= 2;
    }
    items
}
