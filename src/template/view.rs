//! What a source gives: a value, or a list that is seen from its end or in part. Nothing is copied until all of it is asked for.

use std::ops::Range;
use std::sync::Arc;

use crate::model::Value;

/// A value of a source. A list may be a part of another one, or that in reverse.
#[derive(Debug, Clone)]
pub struct SourceValue {
    whole: Value,
    /// The part that is seen, by the indexes of the whole list.
    part: Range<usize>,
    reversed: bool,
}

impl From<Value> for SourceValue {
    fn from(whole: Value) -> Self {
        let part = 0..whole.as_list().map_or(0, <[Value]>::len);
        Self { whole, part, reversed: false }
    }
}

impl SourceValue {
    /// The list from its other end; any other value as it is.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { reversed: !self.reversed, ..self }
    }

    /// The elements at these indexes, as far as there are any; nothing is left of a range that ends before it begins.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        let length = self.len();
        let (start, end) = (range.start.min(length), range.end.min(length));
        let end = end.max(start);
        let Range { start: first, end: last } = self.part;
        let part = if self.reversed { last - end..last - start } else { first + start..first + end };
        Self { part, ..self }
    }

    /// The number of elements; 0 for any value but a list.
    #[must_use]
    pub fn len(&self) -> usize {
        self.part.len()
    }

    /// Whether it is no list, or one without elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.part.is_empty()
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.whole.as_list().is_some()
    }

    /// An element.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&Value> {
        let elements = self.whole.as_list()?.get(self.part.clone())?;
        if self.reversed { elements.get(elements.len().checked_sub(at + 1)?) } else { elements.get(at) }
    }

    /// Its elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// All of it as a value; a part of a list is copied.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let is_whole = !self.reversed && self.whole.as_list().is_none_or(|list| self.part == (0..list.len()));
        if is_whole { self.whole.clone() } else { Value::list(self.iter().cloned().collect()) }
    }

    /// The list that is seen, of which this is a part.
    pub(super) fn seen_list(&self) -> Option<&Arc<Vec<Value>>> {
        if let Value::List(list) = &self.whole { Some(list) } else { None }
    }

    /// The part of the list that is seen, and whether it is in reverse.
    pub(super) fn seen_part(&self) -> (Range<usize>, bool) {
        (self.part.clone(), self.reversed)
    }
}
