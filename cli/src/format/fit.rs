//! Decides where one value is broken over lines. Only arrays can be broken and, as the last resort, texts: an inline
//! table stays on one line, except for the arrays in it.
//!
//! The arrays and texts at which one line can be broken are found first, outside of other arrays; then as few of them
//! as possible are broken, the longest first. The items of a broken array begin new lines and are decided separately,
//! so the work for each level is linear in the size of the value.

use super::tree::{InlineTable, ScalarKind, TomlArray, TomlScalar, TomlValue, path_width, width};

/// Spaces before the items of a broken array.
pub(super) const INDENT: usize = 2;
/// Texts that are shorter are not broken.
const SHORT_TEXT: usize = 40;
/// The number of breaks that are tried one by one before all are used.
const TRIES: usize = 4;

/// What may be broken; each variant includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BreakLevel {
    /// Only what its author broke.
    Written,
    /// Arrays that hold tables, and long arrays.
    Lists,
    /// All arrays.
    Arrays,
    /// Texts.
    Texts,
}

/// Decides how a value is broken. There are `column` characters before it on its line, which is indented by `indent`,
/// and `after` characters after it. Returns whether all of its lines fit.
pub(super) fn fit(value: &mut TomlValue<'_>, most: usize, indent: usize, column: usize, after: usize, effort: BreakLevel) -> bool {
    let mut line = LineFitter { most, indent, column, after };
    let mut sizes = BreakWidths::default();
    sizes.of(value);
    sizes.sort();
    let mut ok = line.settle(value, &sizes, effort);
    broken_in(value, &mut |array| {
        let column = indent + INDENT;
        for item in &mut array.items {
            // every item ends with a comma
            ok &= fit(&mut item.value, most, column, column, 1, effort);
        }
    });
    ok
}

/// Calls `each` for the broken arrays that are not inside other arrays.
fn broken_in(value: &mut TomlValue<'_>, each: &mut impl FnMut(&mut TomlArray<'_>)) {
    match value {
        TomlValue::Array(array) if array.broken => each(array),
        TomlValue::Scalar(_) | TomlValue::Array(_) => {}
        TomlValue::Table(table) => table.entries.iter_mut().for_each(|entry| broken_in(&mut entry.value, each)),
    }
}

/// Widths of what a line can be broken at.
#[derive(Default)]
struct BreakWidths {
    lists: Vec<usize>,
    arrays: Vec<usize>,
    texts: Vec<usize>,
}

impl BreakWidths {
    fn of(&mut self, value: &TomlValue<'_>) {
        match value {
            TomlValue::Scalar(text) if is_breakable(text) => self.texts.push(text.flat),
            TomlValue::Scalar(_) => {}
            TomlValue::Array(array) if array.items.is_empty() => {}
            TomlValue::Array(array) if array.is_worth_breaking() => self.lists.push(array.flat),
            TomlValue::Array(array) => self.arrays.push(array.flat),
            TomlValue::Table(table) => table.entries.iter().for_each(|entry| self.of(&entry.value)),
        }
    }

    fn sort(&mut self) {
        for sizes in [&mut self.lists, &mut self.arrays, &mut self.texts] {
            sizes.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

fn is_breakable(text: &TomlScalar<'_>) -> bool {
    matches!(text.kind, ScalarKind::Basic | ScalarKind::Literal) && text.flat > SHORT_TEXT
}

/// The least width of arrays and texts that are broken.
#[derive(Debug, Clone, Copy)]
struct MinimumWidths {
    lists: usize,
    arrays: usize,
    texts: usize,
}

const NOTHING: MinimumWidths = MinimumWidths { lists: usize::MAX, arrays: usize::MAX, texts: usize::MAX };

/// The places between the lines that one value is written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BreakPoints {
    Array,
    Text,
    /// A text that its author wrote over several lines.
    Written,
}

struct LineFitter {
    most: usize,
    indent: usize,
    column: usize,
    after: usize,
}

impl LineFitter {
    /// Breaks as little as the effort allows, and returns whether the line fits.
    fn settle(&mut self, value: &mut TomlValue<'_>, sizes: &BreakWidths, effort: BreakLevel) -> bool {
        if self.attempt(value, NOTHING) {
            return true;
        }
        let mut from = NOTHING;
        if effort >= BreakLevel::Lists {
            for lists in steps(&sizes.lists) {
                from.lists = lists;
                if self.attempt(value, from) {
                    return true;
                }
            }
        }
        let lists = from;
        if effort >= BreakLevel::Arrays {
            for arrays in steps(&sizes.arrays) {
                from.arrays = arrays;
                if self.attempt(value, from) {
                    return true;
                }
            }
        }
        if effort >= BreakLevel::Texts {
            for start in [NOTHING, lists, from] {
                for texts in steps(&sizes.texts) {
                    if self.attempt(value, MinimumWidths { texts, ..start }) {
                        return true;
                    }
                }
            }
        }
        // nothing helps, so breaks that only look bad are omitted
        self.attempt(value, lists);
        false
    }

    fn attempt(&mut self, value: &mut TomlValue<'_>, from: MinimumWidths) -> bool {
        mark(value, from);
        let mut runs = PieceWidths { length: self.column, list: Vec::new() };
        runs.value(value);
        let last = runs.length + self.after;
        let mut ok = true;
        let mut start = 0;
        for (length, end) in &runs.list {
            ok &= start + length <= self.most;
            start = match end {
                BreakPoints::Array => self.indent,
                // its last line holds at least one word of the text
                BreakPoints::Text => self.indent + INDENT + 8,
                BreakPoints::Written => 0,
            };
        }
        ok &= start + last <= self.most;
        if ok && runs.list.iter().any(|(_, end)| *end == BreakPoints::Text) {
            let follow = runs.list.iter().skip(1).map(|(length, _)| *length).chain([last]);
            let mut follow = runs.list.iter().map(|(_, end)| *end).zip(follow).filter(|(end, _)| *end == BreakPoints::Text).map(|(_, n)| n);
            reserve(value, &mut follow);
        }
        ok
    }
}

/// The widths to break from, in the order of the tries: one more each time, then all.
fn steps(sizes: &[usize]) -> impl Iterator<Item = usize> {
    let all = sizes.last().filter(|_| sizes.len() > TRIES);
    sizes.iter().take(TRIES).chain(all).copied()
}

/// Marks what is broken.
fn mark(value: &mut TomlValue<'_>, from: MinimumWidths) {
    match value {
        TomlValue::Scalar(text) => text.split = (is_breakable(text) && text.flat >= from.texts).then_some(0),
        TomlValue::Array(array) => {
            let least = if array.is_worth_breaking() { from.lists } else { from.arrays };
            array.broken = array.forced || !array.items.is_empty() && array.flat >= least;
            if !array.broken {
                array.items.iter_mut().for_each(|item| mark(&mut item.value, NOTHING));
            }
        }
        TomlValue::Table(table) => table.entries.iter_mut().for_each(|entry| mark(&mut entry.value, from)),
    }
}

/// Sets for each broken text how many characters follow its closing quotes.
fn reserve(value: &mut TomlValue<'_>, follow: &mut impl Iterator<Item = usize>) {
    match value {
        TomlValue::Scalar(text) if text.split.is_some() => text.split = follow.next(),
        TomlValue::Scalar(_) | TomlValue::Array(_) => {}
        TomlValue::Table(table) => table.entries.iter_mut().for_each(|entry| reserve(&mut entry.value, follow)),
    }
}

/// The lengths of the pieces between breaks.
struct PieceWidths {
    length: usize,
    list: Vec<(usize, BreakPoints)>,
}

impl PieceWidths {
    fn cut(&mut self, end: BreakPoints, next: usize) {
        self.list.push((self.length, end));
        self.length = next;
    }

    fn value(&mut self, value: &TomlValue<'_>) {
        match value {
            TomlValue::Scalar(text) => self.scalar(text),
            TomlValue::Array(array) if array.broken => {
                self.length += 1;
                self.cut(BreakPoints::Array, 1);
            }
            TomlValue::Array(array) => {
                self.length += 2;
                for (n, item) in array.items.iter().enumerate() {
                    self.length += if n > 0 { 2 } else { 0 };
                    self.value(&item.value);
                }
            }
            TomlValue::Table(table) => self.table(table),
        }
    }

    fn table(&mut self, table: &InlineTable<'_>) {
        self.length += if table.entries.is_empty() { 2 } else { 4 };
        for (n, entry) in table.entries.iter().enumerate() {
            self.length += path_width(&entry.path) + 3 + if n > 0 { 2 } else { 0 };
            self.value(&entry.value);
        }
    }

    fn scalar(&mut self, text: &TomlScalar<'_>) {
        if text.split.is_some() {
            self.length += 4;
            self.cut(BreakPoints::Text, 3);
        } else if let Some((first, last)) = text.ends() {
            self.length += width(first);
            self.cut(BreakPoints::Written, width(last));
        } else {
            self.length += text.flat;
        }
    }
}
