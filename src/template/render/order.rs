//! The order of a loop: numbers by size, texts as English readers expect them, anything else in the given order.
//!
//! Only two numbers or two texts are compared; all other pairs count as equal. A list of both kinds therefore has no
//! consistent order: its result is that of a stable binary insertion sort, which JavaScript uses for lists of fewer
//! than 64 items.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use icu_collator::CollatorBorrowed;
use icu_collator::options::CollatorOptions;

use super::super::form::SortOrder;
use super::RenderError;
use super::meter::LimitMeter;
use super::reach::LoopLists;
use crate::model::Value;

/// The list in the requested order; a list that was sorted before is shared.
pub(super) fn ordered(
    lists: &mut LoopLists,
    items: Arc<Vec<Value>>,
    order: Option<SortOrder>,
    meter: &mut LimitMeter,
) -> Result<Arc<Vec<Value>>, RenderError> {
    let Some(order) = order else { return Ok(items) };
    if let Some(known) = lists.ordered(&items, order) {
        return Ok(known);
    }
    meter.step(items.len() as u64)?;
    let sorted = sort(&items, order).map_or_else(|| items.clone(), Arc::new);
    lists.keep_ordered(&items, order, &sorted);
    Ok(sorted)
}

/// The sorted list; `None` if none of its items can be compared.
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
