//! From the parser's events to the tree. Every comment and blank line is attached to the element that it belongs to: a
//! comment after a value on the same line belongs to that value, and one on a line of its own belongs to what follows.

use std::borrow::Cow;

use toml_parser::decoder::Encoding;
use toml_parser::parser::{Event, EventKind, parse_document};
use toml_parser::{ParseError, Source};

use super::tree::{Array, Document, Entry, Header, Item, Kind, Line, Note, Scalar, Section, Table, Value};

/// Reads a text that is known to be valid TOML and not too deep. `None` if the parser disagrees.
pub(super) fn read(text: &str) -> Option<Document<'_>> {
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
struct Between<'s> {
    /// The comment on the line of the previous element.
    note: Option<Note<'s>>,
    /// The separate lines after that.
    lines: Vec<Line<'s>>,
    /// Whether a line ended.
    fresh: bool,
}

impl<'s> Between<'s> {
    /// The lines, with the comment of the line before as the first of them.
    fn all(self) -> Vec<Line<'s>> {
        self.note.map(|note| Line::Comment(note.text)).into_iter().chain(self.lines).collect()
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
    fn between(&mut self, fresh: bool) -> Between<'s> {
        let mut found = Between { fresh, ..Between::default() };
        let mut gap = 0;
        let mut empty = fresh;
        while let Some(EventKind::Whitespace | EventKind::Newline | EventKind::Comment) = self.peek() {
            let Some((kind, _, text)) = self.next() else { break };
            match kind {
                EventKind::Whitespace => gap = text.chars().count(),
                EventKind::Comment => {
                    let text = text.trim_end();
                    if found.fresh {
                        found.lines.push(Line::Comment(text));
                    } else {
                        found.note = Some(Note { gap, text });
                    }
                    empty = false;
                }
                _ => {
                    // one blank line of several is kept
                    if empty && found.fresh && found.lines.last() != Some(&Line::Blank) {
                        found.lines.push(Line::Blank);
                    }
                    found.fresh = true;
                    empty = true;
                    gap = 0;
                }
            }
        }
        found
    }

    fn document(mut self) -> Option<Document<'s>> {
        let mut sections = vec![Section { lead: Vec::new(), header: None, note: None, entries: Vec::new() }];
        let mut lead = self.between(true).lines;
        while let Some(kind) = self.peek() {
            let (note, lines) = match kind {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let header = self.header()?;
                    let Between { note, lines, .. } = self.between(false);
                    sections.push(Section { lead, header: Some(header), note, entries: Vec::new() });
                    (None, lines)
                }
                _ => {
                    let (path, value) = self.key_value(&mut lead)?;
                    let Between { note, lines, .. } = self.between(false);
                    sections.last_mut()?.entries.push(Entry { lead, path, value, note: None });
                    (note, lines)
                }
            };
            if let Some(note) = note {
                sections.last_mut()?.entries.last_mut()?.note = Some(note);
            }
            lead = lines;
        }
        Some(Document { sections, tail: lead })
    }

    fn header(&mut self) -> Option<Header<'s>> {
        let is_row = self.next()?.0 == EventKind::ArrayTableOpen;
        let mut path = Vec::new();
        loop {
            match self.next()? {
                (EventKind::SimpleKey, _, key) => path.push(key),
                (EventKind::KeySep | EventKind::Whitespace, ..) => {}
                (EventKind::StdTableClose | EventKind::ArrayTableClose, ..) => return Some(Header { path, is_row }),
                _ => return None,
            }
        }
    }

    /// A key and its value. The parser takes line breaks between them in an inline table; comments there go to `lead`.
    fn key_value(&mut self, lead: &mut Vec<Line<'s>>) -> Option<(Vec<&'s str>, Value<'s>)> {
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
    fn value(&mut self) -> Option<Value<'s>> {
        match self.next()? {
            (EventKind::Scalar, encoding, text) => Some(Value::Scalar(scalar(text, encoding))),
            (EventKind::ArrayOpen, ..) => self.array().map(Value::Array),
            (EventKind::InlineTableOpen, ..) => self.table().map(Value::Table),
            _ => None,
        }
    }

    fn array(&mut self) -> Option<Array<'s>> {
        let mut items: Vec<Item<'s>> = Vec::new();
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
                let mut array = Array::new(items, before.lines);
                let is_broken = fresh && !array.items.is_empty();
                array.forced |= is_broken;
                array.broken |= is_broken;
                return Some(array);
            }
            let fresh = before.fresh;
            let mut lead = if items.is_empty() { before.all() } else { before.lines };
            if items.is_empty() {
                while lead.first() == Some(&Line::Blank) {
                    lead.remove(0);
                }
            }
            let value = self.value()?;
            items.push(Item { lead, value, note: None, fresh });
            before = self.after(&mut items)?;
        }
    }

    /// Reads what follows an item up to the next one: a comment on its line belongs to the item, before or after the
    /// comma.
    fn after(&mut self, items: &mut Vec<Item<'s>>) -> Option<Between<'s>> {
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

    fn table(&mut self) -> Option<Table<'s>> {
        let mut entries: Vec<Entry<'s>> = Vec::new();
        let mut lead = comments(self.between(false).all());
        loop {
            if self.peek()? == EventKind::InlineTableClose {
                self.at += 1;
                return Some(Table::new(entries, lead));
            }
            let (path, value) = self.key_value(&mut lead)?;
            let before = self.between(false);
            let mut entry = Entry { lead, path, value, note: before.note };
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
fn remark<'s>(items: &mut [Item<'s>], lines: &mut Vec<Line<'s>>, note: Note<'s>) {
    match items.last_mut() {
        Some(item) if item.note.is_none() => item.note = Some(note),
        _ => lines.insert(0, Line::Comment(note.text)),
    }
}

fn comments(mut lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    lines.retain(|line| *line != Line::Blank);
    lines
}

fn without_outer_blanks(lines: &mut Vec<Line<'_>>) {
    while lines.last() == Some(&Line::Blank) {
        lines.pop();
    }
}

/// A scalar in the spelling that TOML 1.0 knows. A time without seconds stays, because it is not the same value with them.
fn scalar(text: &str, encoding: Option<Encoding>) -> Scalar<'_> {
    match encoding {
        None => Scalar::new(text, Kind::Bare),
        Some(Encoding::BasicString) => Scalar::new(old_escapes(text), Kind::Basic),
        Some(Encoding::MlBasicString) => Scalar::new(old_escapes(text), Kind::LongBasic),
        Some(Encoding::LiteralString) => literal(text),
        Some(Encoding::MlLiteralString) => Scalar::new(text, Kind::LongLiteral),
    }
}

/// Writes a literal text with basic quotes if it does not need literal ones.
fn literal(text: &str) -> Scalar<'_> {
    match text.get(1..text.len().saturating_sub(1)) {
        Some(inner) if !inner.contains(['"', '\\', '\t']) => Scalar::new(format!("\"{inner}\""), Kind::Basic),
        _ => Scalar::new(text, Kind::Literal),
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
