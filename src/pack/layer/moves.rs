//! Rows that stand next to another row: `before` and `after`.

use super::*;

impl LayerMerger<'_> {
    /// Moves rows in the order written, except that a row moves after its anchor if the anchor moves too.
    pub(super) fn moves(&mut self, table: &str, moves: &[(Arc<str>, RowMove)]) {
        let Some(rows) = self.merged.tables.get(table) else { return };
        let mut order = RowOrder::of(rows.len());
        // by index of the row that moves; a row that could not be added has already been reported
        let mut pending: IndexMap<usize, &RowMove> = IndexMap::new();
        let mut lost = Vec::new();
        for (name, place) in moves {
            if let Some(row) = rows.get_index_of(name) {
                pending.insert(row, place);
            }
        }
        let mut done = vec![false; rows.len()];
        for first in pending.keys() {
            let mut chain = Vec::new();
            let mut next = Some(*first);
            while let Some((row, place)) = next.and_then(|row| Some((row, *pending.get(&row)?))) {
                if done.get(row).copied().unwrap_or(true) {
                    break;
                }
                done.iter_mut().skip(row).take(1).for_each(|d| *d = true);
                let anchor = rows.get_index(row).and_then(|(name, _)| anchor(rows, table, name, &place.anchor)).filter(|to| *to != row);
                chain.push((row, anchor, place));
                next = anchor;
            }
            for (row, anchor, place) in chain.into_iter().rev() {
                match anchor {
                    Some(to) => order.put(row, to, place.before),
                    None => lost.extend(rows.get_index(row).map(|(name, _)| (name.clone(), place))),
                }
            }
        }
        let rank = order.ranks();
        let now: HashMap<Arc<str>, usize> = rows.keys().cloned().zip(rank).collect();
        if let Some(rows) = self.merged.tables.get_mut(table) {
            rows.sort_by_cached_key(|name, _| now.get(name).copied());
        }
        for (name, place) in lost {
            if self.complete {
                self.lost(table, &name, &place.anchor, place.span);
            }
        }
    }

    fn lost(&mut self, table: &str, name: &str, anchor: &str, span: Span) {
        let itself = name == anchor || name.rsplit_once('/').is_some_and(|(_, last)| last == anchor);
        let of = |name: &str| name.rsplit_once('/').map(|(of, _)| of.to_owned());
        let (own, other) = (of(name), of(anchor));
        let foreign = order::is_ordered_apart(table) && !itself && other.is_some() && own != other;
        if foreign {
            self.lost_abroad(table, name, anchor, span);
            return;
        }
        let why = if itself { "which is itself" } else { "which no layer has" };
        let message = format!("{table} `{name}` is to stand next to `{anchor}`, {why}");
        let full = name.rsplit_once('/').map_or_else(|| anchor.to_owned(), |(program, _)| format!("{program}/{anchor}"));
        let help = self.near(table, &full).or_else(|| self.near(table, anchor)).unwrap_or_else(|| "name a row of the same table".into());
        let complaint = Diagnostic::new(Code::MoveUnknown, message).at(span).label("no such row").missing(anchor);
        self.complain(complaint.rule(self.rule(table, name)).help(help));
    }
}
