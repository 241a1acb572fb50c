//! Rule files from the words of one version to those of the other.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::read::{InlineTable, ScalarKind, TomlArray, TomlEntry, TomlScalar, TomlTree, TomlValue, read};
use super::{FormatRefusal, checked_table, loss, newline_of, write};
use crate::diag::{Code, Diagnostic, SourceId, Span};
use crate::pack::read::newest_words;
use crate::pack::words::{RenamedWord, WordDirection, WordPlace};

/// Writes a rule file in the words of version 1 or 2 of the language. Its rules stay the same.
///
/// # Errors
/// As of [`format`](super::format()); the file has no version that can be converted, or would say something else.
pub fn convert(source: SourceId, text: &str, version: i64) -> Result<String, FormatRefusal> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let table = checked_table(source, text)?;
    let kind = table.get("kind").and_then(Value::as_str).unwrap_or_default();
    // cases have had a version more
    let own = version + i64::from(kind == "case");
    if !table.contains_key("kind") || matches!(kind, "pack" | "template") {
        return Ok(text.to_owned());
    }
    let direction = if version == 1 { WordDirection::ToOld } else { WordDirection::ToNew };
    let other = own - 1 + 2 * i64::from(version == 1);
    match table.get("version").and_then(Value::as_integer) {
        Some(from) if from == own => return Ok(text.to_owned()),
        Some(from) if from == other => {}
        _ => {
            let help = format!("write it as version {other} first; docs/reference/{kind}.md shows how");
            let complaint =
                Diagnostic::new(Code::FormatSkipped, format!("only version {other} of `{kind}` can be written as version {own}"));
            return Err(FormatRefusal::Loss(Box::new(complaint.at(Span::new(source, 0, 0)).help(help))));
        }
    }
    let before = newest_words(text).ok_or_else(|| loss(source, "it is no rule file; `tapster check` says why"))?;
    // the name of the schema for editors
    let schema = |version: i64| format!("{kind}.v{version}.json");
    let comments = text.split_inclusive('\n').take_while(|line| line.starts_with('#') || line.trim().is_empty()).map(str::len).sum();
    let (comments, rest) = text.split_at(comments);
    let renamed = format!("{}{rest}", comments.replace(&schema(other), &schema(own)));
    let mut tree = read(&renamed).ok_or_else(|| loss(source, "it cannot be read in parts"))?;
    let mut converter = FileConverter { direction, rows: BTreeMap::new(), own };
    converter.convert_tree(&mut tree, &table).ok_or_else(|| loss(source, "its parts cannot be found again"))?;
    let out = write::write(&tree, UNBROKEN, newline_of(text));
    if newest_words(&out).as_ref() != Some(&before) {
        return Err(loss(source, "its meaning would change"));
    }
    Ok(out)
}

/// A width at which no line is broken: the layout is decided afterwards.
const UNBROKEN: usize = usize::MAX / 2;

struct FileConverter {
    direction: WordDirection,
    /// How many rows of each list of tables have begun, by its path.
    rows: BTreeMap<String, usize>,
    own: i64,
}

/// A table of the file, and what its keys mean.
#[derive(Clone, Copy)]
struct ConvertedTable<'t> {
    table: &'t Table,
    place: WordPlace,
}

impl ConvertedTable<'_> {
    fn find_word(&self, key: &str, direction: WordDirection) -> Option<&'static RenamedWord> {
        self.place.find_word(key, direction, &|key| self.table.get(key).and_then(Value::as_str))
    }
}

/// A key without its quotes.
fn unquote(key: &str) -> String {
    if !key.starts_with(['"', '\'']) {
        return key.to_owned();
    }
    let parsed: Option<Table> = toml::from_str(&format!("{key} = 0")).ok();
    parsed.and_then(|table| table.keys().next().cloned()).unwrap_or_else(|| key.to_owned())
}

impl FileConverter {
    fn convert_tree(&mut self, tree: &mut TomlTree<'_>, root: &Table) -> Option<()> {
        let file = ConvertedTable { table: root, place: WordPlace::File };
        for section in &mut tree.sections {
            let mut inside = file;
            if let Some(header) = &mut section.header {
                let (mut path, last) = (String::new(), header.path.len().saturating_sub(1));
                for (n, key) in header.path.iter_mut().enumerate() {
                    let name = unquote(key);
                    path.push_str(&name);
                    path.push('\n');
                    if n == last && header.is_row {
                        *self.rows.entry(path.clone()).or_default() += 1;
                        let inner = self.rows.range(format!("{path}\u{0}")..).map(|(known, _)| known.clone());
                        let inner: Vec<String> = inner.take_while(|known| known.starts_with(&path)).collect();
                        for known in inner {
                            self.rows.remove(&known);
                        }
                    }
                    let value = inside.table.get(&name)?;
                    let mut place = inside.place.place_under(&name, &|key| value.get(key).is_some());
                    if let Some(word) = inside.find_word(&name, self.direction) {
                        *key = self.new_name(word);
                    }
                    let value = match value {
                        Value::Array(rows) => {
                            let row = rows.get(self.rows.get(&path)?.checked_sub(1)?)?;
                            place = place.place_of_element(&|key| row.get(key).is_some());
                            row
                        }
                        other => other,
                    };
                    inside = ConvertedTable { table: value.as_table()?, place };
                }
            }
            for entry in &mut section.entries {
                self.convert_entry(entry, inside)?;
            }
        }
        Some(())
    }

    fn new_name(&self, word: &RenamedWord) -> &'static str {
        if self.direction == WordDirection::ToNew { word.new } else { word.old }
    }

    fn convert_entry(&self, entry: &mut TomlEntry<'_>, mut inside: ConvertedTable<'_>) -> Option<()> {
        let last = entry.path.len().saturating_sub(1);
        for (n, key) in entry.path.iter_mut().enumerate() {
            let name = unquote(key);
            let value = inside.table.get(&name)?;
            let place = inside.place.place_under(&name, &|key| value.get(key).is_some());
            let word = inside.find_word(&name, self.direction);
            if let Some(word) = word {
                *key = self.new_name(word);
            }
            if n < last {
                inside = ConvertedTable { table: value.as_table()?, place };
                continue;
            }
            if inside.place == WordPlace::File && name == "version" {
                entry.value = TomlValue::Scalar(TomlScalar::new(self.own.to_string(), ScalarKind::Bare));
            } else if let Some(renamed) = value.as_str().and_then(|text| word?.renamed_value(text, self.direction)) {
                entry.value = TomlValue::Scalar(TomlScalar::new(format!("\"{renamed}\""), ScalarKind::Basic));
            } else if place != WordPlace::Literal && name != "=" {
                self.convert_value(&mut entry.value, value, place)?;
            }
        }
        Some(())
    }

    /// Recursion is bounded by the depth of the text, which was checked.
    fn convert_value(&self, written: &mut TomlValue<'_>, value: &Value, place: WordPlace) -> Option<()> {
        match (&mut *written, value) {
            (TomlValue::Table(table), Value::Table(values)) => {
                if let Some(text) = self.expression_text(table, values) {
                    *written = TomlValue::Scalar(text);
                    return Some(());
                }
                for entry in &mut table.entries {
                    self.convert_entry(entry, ConvertedTable { table: values, place })?;
                }
                *table = InlineTable::new(std::mem::take(&mut table.entries), std::mem::take(&mut table.tail));
            }
            (TomlValue::Array(array), Value::Array(values)) => {
                for (item, value) in array.items.iter_mut().zip(values) {
                    let inside = place.place_of_element(&|key| value.get(key).is_some());
                    self.convert_value(&mut item.value, value, inside)?;
                }
                let (forced, broken) = (array.forced, array.broken);
                *array = TomlArray::new(std::mem::take(&mut array.items), std::mem::take(&mut array.tail));
                array.forced |= forced;
                array.broken |= broken;
            }
            (TomlValue::Scalar(scalar), Value::String(text)) if text.starts_with('=') => {
                let new = match self.direction {
                    WordDirection::ToNew => TomlValue::Scalar(insert_mark(scalar, "=")),
                    WordDirection::ToOld if text.starts_with("==") => TomlValue::Scalar(remove_mark(scalar, text)),
                    WordDirection::ToOld => {
                        let value = TomlValue::Scalar(TomlScalar::new(scalar.text.clone(), scalar.kind));
                        TomlValue::Table(InlineTable::new(
                            vec![TomlEntry { lead: Vec::new(), path: vec!["\"=\""], value, note: None }],
                            Vec::new(),
                        ))
                    }
                };
                *written = new;
            }
            _ => {}
        }
        Some(())
    }

    /// The text of `{ "=" = "…" }`.
    fn expression_text<'s>(&self, table: &InlineTable<'s>, values: &Table) -> Option<TomlScalar<'s>> {
        let [entry] = &table.entries[..] else { return None };
        let (TomlValue::Scalar(text), Some(Value::String(value))) = (&entry.value, values.get("=")) else { return None };
        let is_plain = !table.remarked && self.direction == WordDirection::ToNew;
        is_plain.then(|| if value.starts_with('=') { TomlScalar::new(text.text.clone(), text.kind) } else { insert_mark(text, "= ") })
    }
}

/// The length of the quotes with which a text begins, and of a line break behind them, which is not part of the text.
fn opening_length(scalar: &TomlScalar<'_>) -> usize {
    let quotes = if matches!(scalar.kind, ScalarKind::LongBasic | ScalarKind::LongLiteral) { 3 } else { 1 };
    let rest = scalar.text.get(quotes..).unwrap_or_default();
    quotes + if quotes == 3 { rest.len() - rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')).unwrap_or(rest).len() } else { 0 }
}

fn insert_mark<'s>(scalar: &TomlScalar<'s>, before: &str) -> TomlScalar<'s> {
    let mut text = scalar.text.clone().into_owned();
    text.insert_str(opening_length(scalar).min(text.len()), before);
    TomlScalar::new(text, scalar.kind)
}

/// The text without its first letter, which may be written as an escape.
fn remove_mark<'s>(scalar: &TomlScalar<'s>, text: &str) -> TomlScalar<'s> {
    let at = opening_length(scalar);
    let mut written = scalar.text.clone().into_owned();
    if written.get(at..).is_some_and(|rest| rest.starts_with('=')) {
        written.remove(at);
        return TomlScalar::new(written, scalar.kind);
    }
    let shorter = text.chars().skip(1).collect::<String>();
    TomlScalar::new(serde_json::Value::from(shorter).to_string(), ScalarKind::Basic)
}
