//! The order of rows while they are moved: a chain of neighbours, so that a move costs the same in any table.

use crate::model::pack::PackRows;

/// The rows `0..len` as a ring with an end mark, which has the number `len`.
pub(super) struct RowOrder {
    next: Vec<usize>,
    before: Vec<usize>,
}

impl RowOrder {
    /// The current order of the rows.
    pub(super) fn of(len: usize) -> Self {
        let next = (1..=len).chain([0]).collect();
        let before = std::iter::once(len).chain(0..len).collect();
        RowOrder { next, before }
    }

    /// Moves `row` directly before or after another row.
    pub(super) fn put(&mut self, row: usize, other: usize, is_before: bool) {
        let (left, right) = (at(&self.before, row), at(&self.next, row));
        self.join(left, right);
        let left = if is_before { at(&self.before, other) } else { other };
        let right = at(&self.next, left);
        self.join(left, row);
        self.join(row, right);
    }

    /// The new position of each row.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let end = self.next.len().saturating_sub(1);
        let mut ranks = vec![0; end];
        let mut row = at(&self.next, end);
        for rank in 0..end {
            set(&mut ranks, row, rank);
            row = at(&self.next, row);
        }
        ranks
    }

    fn join(&mut self, left: usize, right: usize) {
        set(&mut self.next, left, right);
        set(&mut self.before, right, left);
    }
}

fn at(list: &[usize], place: usize) -> usize {
    list.get(place).copied().unwrap_or(0)
}

fn set(list: &mut [usize], place: usize, value: usize) {
    if let Some(slot) = list.get_mut(place) {
        *slot = value;
    }
}

/// The index of the row that a move names. Within its own program a pass is named without the program.
pub(super) fn anchor(rows: &PackRows, table: &str, name: &str, anchor: &str) -> Option<usize> {
    let own = name.rsplit_once('/').map(|(program, _)| program);
    let inside = own.map(|program| format!("{program}/{anchor}"));
    let other = anchor.rsplit_once('/').map(|(program, _)| program);
    let near = !is_ordered_apart(table) || own == other;
    inside.and_then(|n| rows.get_index_of(n.as_str())).or_else(|| rows.get_index_of(anchor).filter(|_| near))
}

/// Whether only rows of the same program, or of the same pass, have an order among each other.
pub(super) fn is_ordered_apart(table: &str) -> bool {
    matches!(table, "pass" | "round")
}
