//! From the parser's events to the tree. Every comment and blank line is attached to the element that it belongs to: a
//! comment after a value on the same line belongs to that value, and one on a line of its own belongs to what follows.

use std::borrow::Cow;

use toml_parser::decoder::Encoding;
use toml_parser::parser::{Event, EventKind, parse_document};
use toml_parser::{ParseError, Source};

use super::tree::{
    ArrayItem, InlineTable, KeylessLine, LineComment, ScalarKind, SectionHeader, TomlArray, TomlEntry, TomlScalar, TomlSection, TomlTree,
    TomlValue,
};

/// Reads a text that is known to be valid TOML and not too deep. `None` if the parser disagrees.
pub(super) fn read(text: &str) -> Option<TomlTree<'_>> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::with_capacity(tokens.len());
    let mut errors: Vec<ParseError> = Vec::new();
    parse_document(&tokens, &mut events, &mut errors);
    if !errors.is_empty() {
        return None;
    }
    LayoutReader { text, events: &events, at: 0 }.document()
}

struct LayoutReader<'s, 'e> {
    text: &'s str,
    events: &'e [Event],
    at: usize,
}

/// The white space and comments between two elements.
#[derive(Default)]
struct ElementTrivia<'s> {
    /// The comment on the line of the previous element.
    note: Option<LineComment<'s>>,
    /// The separate lines after that.
    lines: Vec<KeylessLine<'s>>,
    /// Whether a line ended.
    fresh: bool,
}

impl<'s> ElementTrivia<'s> {
    /// The lines, with the comment of the line before as the first of them.
    fn all(self) -> Vec<KeylessLine<'s>> {
        self.note.map(|note| KeylessLine::Comment(note.text)).into_iter().chain(self.lines).collect()
    }
}

impl<'s> LayoutReader<'s, '_> {
    fn peek(&self) -> Option<EventKind> {
        self.events.get(self.at).map(Event::kind)
    }

    fn next(&mut self) -> Option<(EventKind, Option<Encoding>, &'s str)> {
        let event = self.events.get(self.at)?;
        self.at += 1;
        let text = self.text.get(event.span().start()..event.span().end())?;
        Some((event.kind(), event.encoding(), text))
    }

    /// Reads white space, line breaks and comments up to the next element. `fresh`: nothing precedes them on the line.
    fn between(&mut self, fresh: bool) -> ElementTrivia<'s> {
        let mut found = ElementTrivia { fresh, ..ElementTrivia::default() };
        let mut gap = 0;
        let mut empty = fresh;
        while let Some(EventKind::Whitespace | EventKind::Newline | EventKind::Comment) = self.peek() {
            let Some((kind, _, text)) = self.next() else { break };
            match kind {
                EventKind::Whitespace => gap = text.chars().count(),
                EventKind::Comment => {
                    let text = text.trim_end();
                    if found.fresh {
                        found.lines.push(KeylessLine::Comment(text));
                    } else {
                        found.note = Some(LineComment { gap, text });
                    }
                    empty = false;
                }
                _ => {
                    // one blank line of several is kept
                    if empty && found.fresh && found.lines.last() != Some(&KeylessLine::Blank) {
                        found.lines.push(KeylessLine::Blank);
                    }
                    found.fresh = true;
                    empty = true;
                    gap = 0;
                }
            }
        }
        found
    }

    fn document(mut self) -> Option<TomlTree<'s>> {
        let mut sections = vec![TomlSection { lead: Vec::new(), header: None, note: None, entries: Vec::new() }];
        let mut lead = self.between(true).lines;
        while let Some(kind) = self.peek() {
            let (note, lines) = match kind {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let header = self.header()?;
                    let ElementTrivia { note, lines, .. } = self.between(false);
                    sections.push(TomlSection { lead, header: Some(header), note, entries: Vec::new() });
                    (None, lines)
                }
                _ => {
                    let (path, value) = self.key_value(&mut lead)?;
                    let ElementTrivia { note, lines, .. } = self.between(false);
                    sections.last_mut()?.entries.push(TomlEntry { lead, path, value, note: None });
                    (note, lines)
                }
            };
            if let Some(note) = note {
                sections.last_mut()?.entries.last_mut()?.note = Some(note);
            }
            lead = lines;
        }
        Some(TomlTree { sections, tail: lead })
    }

    fn header(&mut self) -> Option<SectionHeader<'s>> {
        let is_row = self.next()?.0 == EventKind::ArrayTableOpen;
        let mut path = Vec::new();
        loop {
            match self.next()? {
                (EventKind::SimpleKey, _, key) => path.push(key),
                (EventKind::KeySep | EventKind::Whitespace, ..) => {}
                (EventKind::StdTableClose | EventKind::ArrayTableClose, ..) => return Some(SectionHeader { path, is_row }),
                _ => return None,
            }
        }
    }

    /// A key and its value. The parser takes line breaks between them in an inline table; comments there go to `lead`.
    fn key_value(&mut self, lead: &mut Vec<KeylessLine<'s>>) -> Option<(Vec<&'s str>, TomlValue<'s>)> {
        let mut path = Vec::new();
        loop {
            lead.extend(comments(self.between(false).all()));
            match self.next()? {
                (EventKind::SimpleKey, _, key) => path.push(key),
                (EventKind::KeySep, ..) => {}
                (EventKind::KeyValSep, ..) => break,
                _ => return None,
            }
        }
        lead.extend(comments(self.between(false).all()));
        Some((path, self.value()?))
    }

    /// Recursion is bounded, because the depth of the text is checked first.
    fn value(&mut self) -> Option<TomlValue<'s>> {
        match self.next()? {
            (EventKind::Scalar, encoding, text) => Some(TomlValue::Scalar(scalar(text, encoding))),
            (EventKind::ArrayOpen, ..) => self.array().map(TomlValue::Array),
            (EventKind::InlineTableOpen, ..) => self.table().map(TomlValue::Table),
            _ => None,
        }
    }

    fn array(&mut self) -> Option<TomlArray<'s>> {
        let mut items: Vec<ArrayItem<'s>> = Vec::new();
        let mut before = self.between(false);
        loop {
            // a line break alone after the last item is part of the layout, not of the text
            if self.peek()? == EventKind::ArrayClose {
                self.at += 1;
                let fresh = before.fresh;
                if let Some(note) = before.note.take() {
                    remark(&mut items, &mut before.lines, note);
                }
                without_outer_blanks(&mut before.lines);
                let mut array = TomlArray::new(items, before.lines);
                let is_broken = fresh && !array.items.is_empty();
                array.forced |= is_broken;
                array.broken |= is_broken;
                return Some(array);
            }
            let fresh = before.fresh;
            let mut lead = if items.is_empty() { before.all() } else { before.lines };
            if items.is_empty() {
                while lead.first() == Some(&KeylessLine::Blank) {
                    lead.remove(0);
                }
            }
            let value = self.value()?;
            items.push(ArrayItem { lead, value, note: None, fresh });
            before = self.after(&mut items)?;
        }
    }

    /// Reads what follows an item up to the next one: a comment on its line belongs to the item, before or after the
    /// comma.
    fn after(&mut self, items: &mut Vec<ArrayItem<'s>>) -> Option<ElementTrivia<'s>> {
        let mut before = self.between(false);
        if self.peek()? != EventKind::ValueSep {
            return Some(before);
        }
        self.at += 1;
        if let Some(note) = before.note.take() {
            remark(items, &mut before.lines, note);
        }
        let mut behind = self.between(before.fresh);
        if let Some(note) = behind.note.take() {
            remark(items, &mut before.lines, note);
        }
        behind.lines.splice(0..0, before.lines);
        Some(behind)
    }

    fn table(&mut self) -> Option<InlineTable<'s>> {
        let mut entries: Vec<TomlEntry<'s>> = Vec::new();
        let mut lead = comments(self.between(false).all());
        loop {
            if self.peek()? == EventKind::InlineTableClose {
                self.at += 1;
                return Some(InlineTable::new(entries, lead));
            }
            let (path, value) = self.key_value(&mut lead)?;
            let before = self.between(false);
            let mut entry = TomlEntry { lead, path, value, note: before.note };
            lead = comments(before.lines);
            if self.peek()? == EventKind::ValueSep {
                self.at += 1;
                let behind = self.between(false);
                if entry.note.is_none() {
                    entry.note = behind.note;
                    lead.extend(comments(behind.lines));
                } else {
                    lead.extend(comments(behind.all()));
                }
            }
            entries.push(entry);
        }
    }
}

/// Attaches a comment to the last item, or to the lines of the next one if the last already has one.
fn remark<'s>(items: &mut [ArrayItem<'s>], lines: &mut Vec<KeylessLine<'s>>, note: LineComment<'s>) {
    match items.last_mut() {
        Some(item) if item.note.is_none() => item.note = Some(note),
        _ => lines.insert(0, KeylessLine::Comment(note.text)),
    }
}

fn comments(mut lines: Vec<KeylessLine<'_>>) -> Vec<KeylessLine<'_>> {
    lines.retain(|line| *line != KeylessLine::Blank);
    lines
}

fn without_outer_blanks(lines: &mut Vec<KeylessLine<'_>>) {
    while lines.last() == Some(&KeylessLine::Blank) {
        lines.pop();
    }
}

/// A scalar in the spelling that TOML 1.0 knows. A time without seconds stays, because it is not the same value with them.
fn scalar(text: &str, encoding: Option<Encoding>) -> TomlScalar<'_> {
    match encoding {
        None => TomlScalar::new(text, ScalarKind::Bare),
        Some(Encoding::BasicString) => TomlScalar::new(old_escapes(text), ScalarKind::Basic),
        Some(Encoding::MlBasicString) => TomlScalar::new(old_escapes(text), ScalarKind::LongBasic),
        Some(Encoding::LiteralString) => literal(text),
        Some(Encoding::MlLiteralString) => TomlScalar::new(text, ScalarKind::LongLiteral),
    }
}

/// Writes a literal text with basic quotes if it does not need literal ones.
fn literal(text: &str) -> TomlScalar<'_> {
    match text.get(1..text.len().saturating_sub(1)) {
        Some(inner) if !inner.contains(['"', '\\', '\t']) => TomlScalar::new(format!("\"{inner}\""), ScalarKind::Basic),
        _ => TomlScalar::new(text, ScalarKind::Literal),
    }
}

/// `\e` and `\xHH` came with TOML 1.1.
fn old_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains("\\e") && !text.contains("\\x") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(c);
        if c == '\\' {
            match chars.next() {
                Some('e') => out.push_str("u001B"),
                Some('x') => out.push_str("u00"),
                Some(other) => out.push(other),
                None => {}
            }
        }
    }
    Cow::Owned(out)
}
