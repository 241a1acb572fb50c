//! Moves values that do not fit on their line: an inline table becomes a section below its row, a list of tables
//! becomes rows, and where neither is possible, the keys of an inline table are written dotted.
//!
//! The order of keys is kept. Only in a row of a list of the file (`[[pass]]`), and before the first header, can a
//! table move after the plain keys, because the order of keys has no meaning there. Anywhere else a table becomes a
//! section only if everything after it is a section.

use std::collections::HashMap;

use crate::format::read::{
    InlineTable, KeylessLine, ScalarKind, SectionHeader, TomlArray, TomlEntry, TomlScalar, TomlSection, TomlTree, TomlValue, path_width,
    width,
};

/// The number of short tables that may become sections too, because they follow a long one.
const COMPANIONS: usize = 1;

/// Arranges a whole file, and decides how every value in it is broken.
pub(super) fn arrange(document: &mut TomlTree<'_>, most: usize) {
    let mut out = Vec::with_capacity(document.sections.len());
    for section in std::mem::take(&mut document.sections) {
        SectionArranger { most, out: &mut out }.section(section, false);
    }
    document.sections = out;
}

/// Whether the order of a section's keys has no meaning; `depth` counts the parts of its header.
pub(super) fn is_free(depth: usize, is_row: bool) -> bool {
    depth == 0 || is_row && depth == 1
}

struct SectionArranger<'o, 's> {
    most: usize,
    out: &'o mut Vec<TomlSection<'s>>,
}

impl<'s> SectionArranger<'_, 's> {
    /// Recursion is bounded: each level takes one from the depth of the values.
    fn section(&mut self, mut section: TomlSection<'s>, is_made: bool) {
        let (path, is_row) = section.header.as_ref().map_or((Vec::new(), false), |h| (h.path.clone(), h.is_row));
        let mut entries = std::mem::take(&mut section.entries);
        let wishes: Vec<bool> = entries.iter_mut().map(|entry| wishes_to_leave(entry, self.most)).collect();
        let leaves = leaves(&entries, &wishes, is_free(path.len(), is_row));
        if let (None, Some(first), Some(true)) = (&section.header, entries.first_mut(), leaves.first()) {
            section.lead = preamble(&mut first.lead);
        }
        let mut leaving = Vec::new();
        for ((entry, wish), leave) in entries.into_iter().zip(wishes).zip(leaves) {
            match (leave, wish) {
                (true, _) => leaving.push(entry),
                (false, true) => dotted(entry, self.most, &mut section.entries),
                (false, false) => section.entries.push(entry),
            }
        }
        // `[a.b]` needs no `[a]` before it
        let needless = is_made && !is_row && section.entries.is_empty() && section.note.is_none() && !leaving.is_empty();
        if needless {
            if let Some(first) = leaving.first_mut() {
                first.lead.splice(0..0, section.lead);
            }
        } else {
            self.out.push(section);
        }
        for entry in leaving {
            self.leave(entry, &path);
        }
    }

    /// Writes an entry as one section, or as rows.
    fn leave(&mut self, entry: TomlEntry<'s>, path: &[&'s str]) {
        let TomlEntry { mut lead, path: own, value, note } = entry;
        let path: Vec<&str> = path.iter().chain(&own).copied().collect();
        match value {
            TomlValue::Table(table) => {
                lead.extend(table.tail);
                let header = Some(SectionHeader { path, is_row: false });
                self.section(TomlSection { lead, header, note, entries: table.entries }, true);
            }
            TomlValue::Array(array) => {
                lead.extend(note.map(|note| KeylessLine::Comment(note.text)));
                for item in array.items {
                    let TomlValue::Table(table) = item.value else { continue };
                    lead.extend(item.lead);
                    lead.extend(table.tail);
                    let header = Some(SectionHeader { path: path.clone(), is_row: true });
                    let lead = std::mem::take(&mut lead);
                    self.section(TomlSection { lead, header, note: item.note, entries: table.entries }, true);
                }
            }
            TomlValue::Scalar(_) => {}
        }
    }
}

/// Whether an entry should become a section; if not, decides how it is broken.
fn wishes_to_leave(entry: &mut TomlEntry<'_>, most: usize) -> bool {
    let column = path_width(&entry.path) + 3;
    let is_rows = can_leave(&entry.value);
    let remarked = is_remarked(&entry.value);
    let value = &mut entry.value;
    let mut fits = |effort| fit(value, most, 0, column, 0, effort);
    if !is_rows {
        fits(BreakLevel::Texts);
        return false;
    }
    if !remarked && fits(BreakLevel::Written) {
        return false;
    }
    let breaks = match &mut entry.value {
        TomlValue::Table(table) if !is_chain(table) => None,
        TomlValue::Table(_) => Some(BreakLevel::Lists),
        TomlValue::Array(array) => Some(if mostly_fits(array, most) { BreakLevel::Texts } else { BreakLevel::Arrays }),
        TomlValue::Scalar(_) => return false,
    };
    remarked || breaks.is_none_or(|effort| !fit(&mut entry.value, most, 0, column, 0, effort))
}

/// Whether a value can be written as a section or as rows.
fn can_leave(value: &TomlValue<'_>) -> bool {
    match value {
        TomlValue::Scalar(_) => false,
        TomlValue::Array(array) => array.is_rows() && array.tail.is_empty(),
        TomlValue::Table(table) => !table.entries.is_empty(),
    }
}

/// Whether inline tables contain comments, which TOML 1.0 does not allow.
fn is_remarked(value: &TomlValue<'_>) -> bool {
    let remarked = |value: &TomlValue<'_>| matches!(value, TomlValue::Table(table) if table.remarked);
    match value {
        TomlValue::Array(array) => array.items.iter().any(|item| remarked(&item.value)),
        _ => remarked(value),
    }
}

/// Whether a table only leads to one list: `{ any = [ … ] }`.
fn is_chain(table: &InlineTable<'_>) -> bool {
    match table.entries.as_slice() {
        [TomlEntry { value: TomlValue::Table(inner), .. }] => is_chain(inner),
        [TomlEntry { value: TomlValue::Array(array), .. }] => array.is_worth_breaking(),
        _ => false,
    }
}

/// Whether most of the rows fit on one line each, so that the list reads as a table; the texts of the others are
/// broken.
fn mostly_fits(array: &mut TomlArray<'_>, most: usize) -> bool {
    let fits = array.items.iter_mut().filter_map(|item| fit(&mut item.value, most, INDENT, INDENT, 1, BreakLevel::Written).then_some(()));
    fits.count() * 2 >= array.items.len()
}

/// Whether a table only leads to one plain value: `{ matches = "…" }`.
fn is_pin(value: &TomlValue<'_>) -> bool {
    let TomlValue::Table(table) = value else { return false };
    match table.entries.as_slice() {
        [TomlEntry { value: TomlValue::Scalar(_), .. }] => true,
        [TomlEntry { value, .. }] => is_pin(value),
        _ => false,
    }
}

/// Which entries become sections.
fn leaves(entries: &[TomlEntry<'_>], wishes: &[bool], free: bool) -> Vec<bool> {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for key in entries.iter().filter_map(|entry| entry.path.first()) {
        *named.entry(key).or_default() += 1;
    }
    // a header cannot open a table that other dotted keys extend
    let alone = |entry: &TomlEntry<'_>| entry.path.first().is_some_and(|key| named.get(key) == Some(&1));
    let mut leaves: Vec<bool> = Vec::with_capacity(entries.len());
    if free {
        leaves.extend(entries.iter().zip(wishes).map(|(entry, wish)| *wish && alone(entry)));
        return leaves;
    }
    let mut companions = 0;
    let mut leaving = 0;
    for (n, (entry, wish)) in entries.iter().zip(wishes).rev().enumerate() {
        companions += usize::from(!wish);
        if companions > COMPANIONS || !alone(entry) || !can_leave(&entry.value) || is_pin(&entry.value) {
            break;
        }
        if *wish {
            leaving = n + 1;
        }
    }
    leaves.extend((0..entries.len()).map(|n| n + leaving >= entries.len()));
    leaves
}

/// Writes an entry that must stay, as dotted keys if its lines do not fit.
fn dotted<'s>(entry: TomlEntry<'s>, most: usize, out: &mut Vec<TomlEntry<'s>>) {
    let TomlEntry { mut lead, path, mut value, note } = entry;
    let column = path_width(&path) + 3;
    let table = match value {
        TomlValue::Table(table) if !table.entries.is_empty() => table,
        other => {
            value = other;
            fit(&mut value, most, 0, column, 0, BreakLevel::Texts);
            return out.push(TomlEntry { lead, path, value, note });
        }
    };
    let remarked = table.remarked;
    value = TomlValue::Table(table);
    if !remarked && fit(&mut value, most, 0, column, 0, BreakLevel::Lists) {
        return out.push(TomlEntry { lead, path, value, note });
    }
    let TomlValue::Table(table) = value else { return };
    lead.extend(note.map(|note| KeylessLine::Comment(note.text)));
    lead.extend(table.tail);
    for mut inner in table.entries {
        inner.lead.splice(0..0, std::mem::take(&mut lead));
        inner.path.splice(0..0, path.iter().copied());
        dotted(inner, most, out);
    }
}

/// The comments of the file as a whole, which stay on top when its first key moves.
fn preamble<'s>(lead: &mut Vec<KeylessLine<'s>>) -> Vec<KeylessLine<'s>> {
    let is_of_file =
        |line: &KeylessLine<'_>| matches!(line, KeylessLine::Blank) || matches!(line, KeylessLine::Comment(c) if c.starts_with("#:"));
    let end = lead.iter().rposition(is_of_file).map_or(0, |n| n + 1);
    lead.drain(..end).collect()
}

/// Spaces before the items of a broken array.
pub(super) const INDENT: usize = 2;
/// Texts that are shorter are not broken.
const SHORT_TEXT: usize = 24;
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
