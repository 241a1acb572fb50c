//! Moves values that do not fit on their line: an inline table becomes a section below its row, a list of tables
//! becomes rows, and where neither is possible, the keys of an inline table are written dotted.
//!
//! The order of keys is kept. Only in a row of a list of the file (`[[pass]]`), and before the first header, can a
//! table move after the plain keys, because the order of keys has no meaning there. Anywhere else a table becomes a
//! section only if everything after it is a section.

use std::collections::HashMap;

use super::fit::{BreakLevel, INDENT, fit};
use super::tree::{InlineTable, KeylessLine, SectionHeader, TomlArray, TomlEntry, TomlSection, TomlTree, TomlValue, path_width};

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
