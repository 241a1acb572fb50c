//! From the arranged tree to text.

use crate::format::arrange::INDENT;
use crate::format::read::{
    ArrayItem, KeylessLine, LineComment, ScalarKind, TomlArray, TomlEntry, TomlScalar, TomlSection, TomlTree, TomlValue, width,
};

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

/// The least number of characters on a line of a text, whatever the available width is.
const LEAST: usize = 8;

/// A comment in lines of at most `most` characters. Instructions to editors (`#:schema …`) stay whole.
pub(super) fn wrap(comment: &str, most: usize) -> Vec<String> {
    let body = comment.trim_start_matches('#');
    let marks = comment.get(..comment.len() - body.len()).unwrap_or("#");
    let gap: String = body.chars().take_while(|c| c.is_whitespace()).collect();
    let head = format!("{marks}{}", if gap.is_empty() { " " } else { &gap });
    if body.starts_with([':', '!']) || comment.chars().count() <= most {
        return vec![comment.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = format!("{marks}{gap}");
    let mut used = line.chars().count();
    let mut fresh = true;
    for piece in body.trim_start().split_inclusive(' ') {
        let word = piece.trim_end();
        let wide = word.chars().count();
        if !fresh && !word.is_empty() && used + wide > most {
            lines.push(line.trim_end().to_owned());
            line = head.clone();
            used = line.chars().count();
        }
        line.push_str(piece);
        used += piece.chars().count();
        fresh = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// One step of a text: a character, or an escape with its backslash.
fn units(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.chars();
        let length = match chars.next()? {
            '\\' => {
                let kind = chars.next();
                let digits = match kind {
                    Some('u') => 4,
                    Some('U') => 8,
                    _ => 0,
                };
                1 + kind.map_or(0, char::len_utf8) + digits
            }
            c => c.len_utf8(),
        };
        let unit = rest.get(..length).unwrap_or(rest);
        rest = rest.get(unit.len()..).unwrap_or("");
        Some(unit)
    })
}

/// The contents of the quotes, as a basic text of several lines writes them.
fn basic(text: &TomlScalar<'_>) -> String {
    let inner = text.text.get(1..text.text.len().saturating_sub(1)).unwrap_or("");
    if text.kind == ScalarKind::Literal {
        return plain_quotes(&inner.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t"));
    }
    plain_quotes(inner)
}

/// A quote between other characters needs no backslash among three quotes.
fn plain_quotes(text: &str) -> String {
    const QUOTE: &str = "\\\"";
    let mut out = String::with_capacity(text.len());
    let mut rest = units(text).peekable();
    let mut before = "";
    while let Some(unit) = rest.next() {
        let alone = before != QUOTE && rest.peek().is_some_and(|next| *next != QUOTE);
        out.push_str(if unit == QUOTE && alone { "\"" } else { unit });
        before = unit;
    }
    out
}

/// A text of one line over several lines, each indented by `pad`. `after` characters follow its closing quotes.
pub(super) fn split(text: &TomlScalar<'_>, pad: usize, after: usize, most: usize, newline: &str) -> String {
    let inner = basic(text);
    let indent = " ".repeat(pad);
    // a line break of the text can only be written as one if nothing is indented
    let real = pad == 0 && newline == "\n";
    let mut out = String::from(if pad == 0 { "\"\"\"" } else { "\"\"\"\\" });
    let paragraphs: Vec<&str> = if real { paragraphs(&inner) } else { vec![&inner] };
    for (n, paragraph) in paragraphs.iter().enumerate() {
        let is_last = n + 1 == paragraphs.len();
        let end = if is_last { after + 3 } else { 0 };
        let lines = broken(paragraph, most.saturating_sub(pad), end, pad > 0 && n == 0);
        for (n, line) in lines.iter().enumerate() {
            out.push_str(if n > 0 { "\\" } else { "" });
            out.push_str(newline);
            out.push_str(&indent);
            out.push_str(line);
        }
    }
    out.push_str("\"\"\"");
    out
}

/// The pieces between the line breaks of a text. A line break after white space stays an escape, because editors remove
/// white space at the end of a line.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut blank = false;
    for unit in units(text) {
        if unit == "\\n" && !blank {
            found.extend(text.get(start..at));
            start = at + unit.len();
        }
        at += unit.len();
        blank = matches!(unit, " " | "\t");
    }
    found.extend(text.get(start..));
    found
}

/// Breaks a piece of a text into lines of at most `most` characters, including the backslash at the end of each line
/// but the last. `end` characters follow the last line. `trimmed`: white space at the beginning would be lost.
fn broken(text: &str, most: usize, end: usize, trimmed: bool) -> Vec<String> {
    let most = most.max(LEAST + 4);
    let mut lines = Vec::new();
    let mut line: Vec<&str> = Vec::new();
    let mut used = 0;
    let mut rest = units(text).peekable();
    // the remaining length decides whether a line may be the last, so the whole is measured once
    let mut left = text.chars().count();
    if trimmed && let Some(space) = rest.next_if(|unit| matches!(*unit, " " | "\t")) {
        line.push(if space == " " { "\\u0020" } else { "\\t" });
        used += 6;
        left -= 1;
    }
    loop {
        if used + left + end <= most {
            line.extend(rest.by_ref());
            lines.push(line.concat());
            return lines;
        }
        let Some(unit) = rest.next() else {
            // the text has ended, but what follows it does not fit, so part of the text moves to one more line
            let mut room = most.saturating_sub(end);
            let fits = line.iter().rev().take_while(|unit| {
                let wide = unit.chars().count();
                let ok = wide <= room;
                room = room.saturating_sub(wide);
                ok
            });
            let at = cut(&line, line.len() - fits.count());
            let last = line.split_off(at);
            lines.extend(Some(line.concat()).filter(|line| !line.is_empty()));
            lines.push(last.concat());
            return lines;
        };
        let wide = unit.chars().count();
        if used + wide + 1 > most {
            let kept = line.split_off(cut(&line, 0));
            lines.push(std::mem::replace(&mut line, kept).concat());
            used = line.iter().map(|unit| unit.chars().count()).sum();
        }
        // white space at the beginning of a line would be lost
        if line.is_empty() && !lines.is_empty() && matches!(unit, " " | "\t") {
            line.push(if unit == " " { "\\u0020" } else { "\\t" });
            used += if unit == " " { 6 } else { 2 };
        } else {
            line.push(unit);
            used += wide;
        }
        left -= wide;
    }
}

/// Where a line is cut, at `from` or after it: after its last white space, else before a group or a `|` of a pattern or
/// after a comma, else at the limit. The rest does not begin with white space, which would be lost.
fn cut(line: &[&str], from: usize) -> usize {
    let half = line.len() / 2;
    let blank = |n: usize| matches!(line.get(n), Some(&(" " | "\t")));
    let space = |n: usize| (blank(n - 1) || line.get(n - 1) == Some(&"\\n")) && !blank(n);
    let group = |n: usize| line.get(n) == Some(&"(");
    let sign = |n: usize| line.get(n) == Some(&"|") || line.get(n - 1) == Some(&",") && !blank(n);
    let last = |wanted: &dyn Fn(usize) -> bool, least: usize| (least.max(from).max(1)..line.len()).rev().find(|n| wanted(*n));
    let nice = last(&space, half / 2).or_else(|| last(&group, half)).or_else(|| last(&sign, half));
    let must = || if from == 0 { None } else { (from..line.len()).find(|n| !blank(*n)) };
    nice.or_else(must).unwrap_or(line.len())
}

/// Whether a line of a text ends with the backslash that removes the line break and the white space behind it.
fn continues(line: &str) -> bool {
    let line = line.trim_end_matches('\r');
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// A text that its author wrote over several lines, with those of its lines broken that are too long. What is left of such
/// a line stands in front of the line that it continues with.
pub(super) fn rewrap(text: &str, column: usize, most: usize, newline: &str) -> String {
    let body = |line: &str| line.trim_end_matches('\r').chars().count();
    if text.split('\n').enumerate().all(|(n, line)| body(line) + if n == 0 { column } else { 0 } <= most) {
        return text.to_owned();
    }
    let (text, close) = text.strip_suffix("\"\"\"").map_or((text, ""), |text| (text, "\"\"\""));
    let mut out = String::new();
    let mut lines = text.split('\n').enumerate().peekable();
    let mut left: Option<String> = None;
    // whether white space at the beginning of a line is no part of the value
    let mut is_layout = false;
    while let Some((n, line)) = lines.next() {
        out.push_str(if n > 0 { "\n" } else { "" });
        let joined = left.take().map(|left| left + line.trim_start_matches([' ', '\t']));
        let line = joined.as_deref().unwrap_or(line);
        let was_layout = std::mem::replace(&mut is_layout, continues(line));
        // at least a comma may follow the closing quotes
        let end = if lines.peek().is_none() { close.len() + 1 } else { 0 };
        if n == 0 || body(line) + end <= most {
            out.push_str(line);
            continue;
        }
        let (line, end_of_line) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
        let inner = if was_layout { line.trim_start_matches([' ', '\t']) } else { line };
        let indent = line.get(..line.len() - inner.len()).unwrap_or_default();
        let mut pieces = broken(inner, most.saturating_sub(indent.chars().count()), end, false);
        if is_layout && pieces.len() > 1 && lines.peek().is_some_and(|(_, next)| !next.trim().is_empty()) {
            left = pieces.pop().map(|last| format!("{indent}{}", last.strip_suffix('\\').unwrap_or(&last)));
        }
        let ending = format!("\\{newline}");
        out.push_str(&pieces.iter().map(|piece| format!("{indent}{piece}")).collect::<Vec<_>>().join(&ending));
        out.push_str(if left.is_some() { "\\" } else { "" });
        out.push_str(end_of_line);
    }
    out.push_str(close);
    out
}
