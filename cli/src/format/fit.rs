//! Decides where one value is broken over lines. Only arrays can be broken and, as the last resort, texts: an inline
//! table stays on one line, except for the arrays in it.
//!
//! The arrays and texts at which one line can be broken are found first, outside of other arrays; then as few of them
//! as possible are broken, the longest first. The items of a broken array begin new lines and are decided separately,
//! so the work for each level is linear in the size of the value.

use super::tree::{Array, Kind, Scalar, Table, Value, path_width, width};

/// Spaces before the items of a broken array.
pub(super) const INDENT: usize = 2;
/// Texts that are shorter are not broken.
const SHORT_TEXT: usize = 40;
/// The number of breaks that are tried one by one before all are used.
const TRIES: usize = 4;

/// What may be broken; each variant includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effort {
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
pub(super) fn fit(value: &mut Value<'_>, most: usize, indent: usize, column: usize, after: usize, effort: Effort) -> bool {
    let mut line = Ruler { most, indent, column, after };
    let mut sizes = Sizes::default();
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
fn broken_in(value: &mut Value<'_>, each: &mut impl FnMut(&mut Array<'_>)) {
    match value {
        Value::Array(array) if array.broken => each(array),
        Value::Scalar(_) | Value::Array(_) => {}
        Value::Table(table) => table.entries.iter_mut().for_each(|entry| broken_in(&mut entry.value, each)),
    }
}

/// Widths of what a line can be broken at.
#[derive(Default)]
struct Sizes {
    lists: Vec<usize>,
    arrays: Vec<usize>,
    texts: Vec<usize>,
}

impl Sizes {
    fn of(&mut self, value: &Value<'_>) {
        match value {
            Value::Scalar(text) if is_breakable(text) => self.texts.push(text.flat),
            Value::Scalar(_) => {}
            Value::Array(array) if array.items.is_empty() => {}
            Value::Array(array) if array.is_worth_breaking() => self.lists.push(array.flat),
            Value::Array(array) => self.arrays.push(array.flat),
            Value::Table(table) => table.entries.iter().for_each(|entry| self.of(&entry.value)),
        }
    }

    fn sort(&mut self) {
        for sizes in [&mut self.lists, &mut self.arrays, &mut self.texts] {
            sizes.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

fn is_breakable(text: &Scalar<'_>) -> bool {
    matches!(text.kind, Kind::Basic | Kind::Literal) && text.flat > SHORT_TEXT
}

/// The least width of arrays and texts that are broken.
#[derive(Debug, Clone, Copy)]
struct From {
    lists: usize,
    arrays: usize,
    texts: usize,
}

const NOTHING: From = From { lists: usize::MAX, arrays: usize::MAX, texts: usize::MAX };

/// The places between the lines that one value is written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    Array,
    Text,
    /// A text that its author wrote over several lines.
    Written,
}

struct Ruler {
    most: usize,
    indent: usize,
    column: usize,
    after: usize,
}

impl Ruler {
    /// Breaks as little as the effort allows, and returns whether the line fits.
    fn settle(&mut self, value: &mut Value<'_>, sizes: &Sizes, effort: Effort) -> bool {
        if self.attempt(value, NOTHING) {
            return true;
        }
        let mut from = NOTHING;
        if effort >= Effort::Lists {
            for lists in steps(&sizes.lists) {
                from.lists = lists;
                if self.attempt(value, from) {
                    return true;
                }
            }
        }
        let lists = from;
        if effort >= Effort::Arrays {
            for arrays in steps(&sizes.arrays) {
                from.arrays = arrays;
                if self.attempt(value, from) {
                    return true;
                }
            }
        }
        if effort >= Effort::Texts {
            for start in [NOTHING, lists, from] {
                for texts in steps(&sizes.texts) {
                    if self.attempt(value, From { texts, ..start }) {
                        return true;
                    }
                }
            }
        }
        // nothing helps, so breaks that only look bad are omitted
        self.attempt(value, lists);
        false
    }

    fn attempt(&mut self, value: &mut Value<'_>, from: From) -> bool {
        mark(value, from);
        let mut runs = Runs { length: self.column, list: Vec::new() };
        runs.value(value);
        let last = runs.length + self.after;
        let mut ok = true;
        let mut start = 0;
        for (length, end) in &runs.list {
            ok &= start + length <= self.most;
            start = match end {
                Break::Array => self.indent,
                // its last line holds at least one word of the text
                Break::Text => self.indent + INDENT + 8,
                Break::Written => 0,
            };
        }
        ok &= start + last <= self.most;
        if ok && runs.list.iter().any(|(_, end)| *end == Break::Text) {
            let follow = runs.list.iter().skip(1).map(|(length, _)| *length).chain([last]);
            let mut follow = runs.list.iter().map(|(_, end)| *end).zip(follow).filter(|(end, _)| *end == Break::Text).map(|(_, n)| n);
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
fn mark(value: &mut Value<'_>, from: From) {
    match value {
        Value::Scalar(text) => text.split = (is_breakable(text) && text.flat >= from.texts).then_some(0),
        Value::Array(array) => {
            let least = if array.is_worth_breaking() { from.lists } else { from.arrays };
            array.broken = array.forced || !array.items.is_empty() && array.flat >= least;
            if !array.broken {
                array.items.iter_mut().for_each(|item| mark(&mut item.value, NOTHING));
            }
        }
        Value::Table(table) => table.entries.iter_mut().for_each(|entry| mark(&mut entry.value, from)),
    }
}

/// Sets for each broken text how many characters follow its closing quotes.
fn reserve(value: &mut Value<'_>, follow: &mut impl Iterator<Item = usize>) {
    match value {
        Value::Scalar(text) if text.split.is_some() => text.split = follow.next(),
        Value::Scalar(_) | Value::Array(_) => {}
        Value::Table(table) => table.entries.iter_mut().for_each(|entry| reserve(&mut entry.value, follow)),
    }
}

/// The lengths of the pieces between breaks.
struct Runs {
    length: usize,
    list: Vec<(usize, Break)>,
}

impl Runs {
    fn cut(&mut self, end: Break, next: usize) {
        self.list.push((self.length, end));
        self.length = next;
    }

    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Scalar(text) => self.scalar(text),
            Value::Array(array) if array.broken => {
                self.length += 1;
                self.cut(Break::Array, 1);
            }
            Value::Array(array) => {
                self.length += 2;
                for (n, item) in array.items.iter().enumerate() {
                    self.length += if n > 0 { 2 } else { 0 };
                    self.value(&item.value);
                }
            }
            Value::Table(table) => self.table(table),
        }
    }

    fn table(&mut self, table: &Table<'_>) {
        self.length += if table.entries.is_empty() { 2 } else { 4 };
        for (n, entry) in table.entries.iter().enumerate() {
            self.length += path_width(&entry.path) + 3 + if n > 0 { 2 } else { 0 };
            self.value(&entry.value);
        }
    }

    fn scalar(&mut self, text: &Scalar<'_>) {
        if text.split.is_some() {
            self.length += 4;
            self.cut(Break::Text, 3);
        } else if let Some((first, last)) = text.ends() {
            self.length += width(first);
            self.cut(Break::Written, width(last));
        } else {
            self.length += text.flat;
        }
    }
}
