//! From the arranged tree to text.

use super::text::{rewrap, split, wrap};
use super::tree::{
    ArrayItem, KeylessLine, LineComment, ScalarKind, TomlArray, TomlEntry, TomlScalar, TomlSection, TomlTree, TomlValue, width,
};

use super::fit::INDENT;

/// Writes a whole file.
pub(super) fn write(document: &TomlTree<'_>, most: usize, newline: &str) -> String {
    let mut writer = TomlWriter { out: String::new(), most, newline };
    let mut depth = 0;
    for section in &document.sections {
        let own = section.header.as_ref().map_or(0, |header| header.path.len());
        // a blank line follows a row with sections of its own, so that the next row is easy to find
        if own == 1 && depth > 1 {
            writer.lines(&[KeylessLine::Blank], 0);
        }
        depth = own;
        writer.section(section);
    }
    writer.lines(&document.tail, 0);
    let end = writer.out.trim_end_matches(['\r', '\n']).len();
    writer.out.truncate(end);
    if end > 0 {
        writer.end_line();
    }
    writer.out
}

struct TomlWriter<'n> {
    out: String,
    most: usize,
    newline: &'n str,
}

impl TomlWriter<'_> {
    fn end_line(&mut self) {
        self.out.push_str(self.newline);
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn section(&mut self, section: &TomlSection<'_>) {
        self.lines(&section.lead, 0);
        if let Some(header) = &section.header {
            let start = self.out.len();
            let (open, close) = if header.is_row { ("[[", "]]") } else { ("[", "]") };
            self.out.push_str(open);
            self.out.push_str(&header.path.join("."));
            self.out.push_str(close);
            self.note(section.note, start, 0);
            self.end_line();
        }
        for entry in &section.entries {
            self.entry(entry);
        }
    }

    fn entry(&mut self, entry: &TomlEntry<'_>) {
        self.lines(&entry.lead, 0);
        self.hoist(&entry.value, 0);
        let start = self.out.len();
        self.out.push_str(&entry.path.join("."));
        self.out.push_str(" = ");
        match &entry.value {
            TomlValue::Scalar(text) => self.scalar(text, 0, true),
            value => self.value(value, 0),
        }
        self.note(entry.note, start, 0);
        self.end_line();
    }

    fn lines(&mut self, lines: &[KeylessLine<'_>], indent: usize) {
        for line in lines {
            match line {
                KeylessLine::Comment(text) => self.comment(text, indent),
                KeylessLine::Blank if self.out.is_empty() || self.out.ends_with("\n\n") || self.out.ends_with("\n\r\n") => {}
                KeylessLine::Blank => self.end_line(),
            }
        }
    }

    fn comment(&mut self, text: &str, indent: usize) {
        for line in wrap(text, self.most.saturating_sub(indent)) {
            self.indent(indent);
            self.out.push_str(&line);
            self.end_line();
        }
    }

    /// Writes the comments in inline tables above the line, because TOML 1.0 does not allow them there.
    fn hoist(&mut self, value: &TomlValue<'_>, indent: usize) {
        let TomlValue::Table(table) = value else { return };
        if table.remarked {
            for entry in &table.entries {
                self.lines(&entry.lead, indent);
                if let Some(note) = entry.note {
                    self.comment(note.text, indent);
                }
                self.hoist(&entry.value, indent);
            }
            self.lines(&table.tail, indent);
        }
    }

    /// Writes a comment after the text since `start`, or above it if the line would be too long.
    fn note(&mut self, note: Option<LineComment<'_>>, start: usize, indent: usize) {
        let Some(note) = note else { return };
        let last = self.out.rfind('\n').map_or(0, |n| n + 1);
        let used = self.out.get(last..).map_or(0, width);
        let room = self.most.saturating_sub(used + width(note.text));
        if room > 0 {
            self.indent(note.gap.clamp(1, room));
            self.out.push_str(note.text);
        } else {
            let written = self.out.split_off(start);
            // what was written begins with the indent of its own line
            self.comment(note.text, indent);
            self.out.push_str(&written);
        }
    }

    fn value(&mut self, value: &TomlValue<'_>, indent: usize) {
        match value {
            TomlValue::Scalar(text) => self.scalar(text, indent, false),
            TomlValue::Array(array) if array.broken => self.broken(array, indent),
            TomlValue::Array(array) => {
                self.out.push('[');
                for (n, item) in array.items.iter().enumerate() {
                    self.out.push_str(if n > 0 { ", " } else { "" });
                    self.value(&item.value, indent);
                }
                self.out.push(']');
            }
            TomlValue::Table(table) if table.entries.is_empty() => self.out.push_str("{}"),
            TomlValue::Table(table) => {
                for (n, entry) in table.entries.iter().enumerate() {
                    self.out.push_str(if n > 0 { ", " } else { "{ " });
                    self.out.push_str(&entry.path.join("."));
                    self.out.push_str(" = ");
                    self.value(&entry.value, indent);
                }
                self.out.push_str(" }");
            }
        }
    }

    fn broken(&mut self, array: &TomlArray<'_>, indent: usize) {
        self.out.push('[');
        self.end_line();
        if !array.items.is_empty() && array.is_filled() {
            self.filled(&array.items, indent + INDENT);
        } else {
            for item in &array.items {
                self.item(item, indent + INDENT);
            }
        }
        self.lines(&array.tail, indent + INDENT);
        self.indent(indent);
        self.out.push(']');
    }

    fn item(&mut self, item: &ArrayItem<'_>, indent: usize) {
        self.lines(&item.lead, indent);
        self.hoist(&item.value, indent);
        let start = self.out.len();
        self.indent(indent);
        self.value(&item.value, indent);
        self.out.push(',');
        self.note(item.note, start, indent);
        self.end_line();
    }

    /// Short items side by side; a new line where the author began one, and where the line is full.
    fn filled(&mut self, items: &[ArrayItem<'_>], indent: usize) {
        let mut column = 0;
        for (n, item) in items.iter().enumerate() {
            let flat = item.value.flat() + 1;
            if n > 0 && (item.fresh || column + 1 + flat > self.most) {
                self.end_line();
                column = 0;
            }
            if column == 0 {
                self.indent(indent);
                column = indent;
            } else {
                self.out.push(' ');
                column += 1;
            }
            self.value(&item.value, indent);
            self.out.push(',');
            column += flat;
        }
        self.end_line();
    }

    fn scalar(&mut self, text: &TomlScalar<'_>, indent: usize, is_whole: bool) {
        match (text.split, text.kind) {
            (Some(after), _) => {
                let pad = if is_whole { 0 } else { indent + INDENT };
                self.out.push_str(&split(text, pad, after, self.most, self.newline));
            }
            (None, ScalarKind::LongBasic) => {
                let last = self.out.rfind('\n').map_or(0, |n| n + 1);
                let column = self.out.get(last..).map_or(0, width);
                self.out.push_str(&rewrap(&text.text, column, self.most, self.newline));
            }
            (None, _) => self.out.push_str(&text.text),
        }
    }
}
