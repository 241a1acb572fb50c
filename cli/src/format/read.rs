//! From the parser's events to the tree. Every comment and blank line is attached to the element that it belongs to: a
//! comment after a value on the same line belongs to that value, and one on a line of its own belongs to what follows.

use std::borrow::Cow;

use toml_parser::decoder::Encoding;
use toml_parser::parser::{Event, EventKind, parse_document};
use toml_parser::{ParseError, Source};

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

/// A whole file.
#[derive(Debug)]
pub(super) struct TomlTree<'s> {
    /// The keys before the first header come first, as a section without a header.
    pub(super) sections: Vec<TomlSection<'s>>,
    /// Comments and blank lines after the last key.
    pub(super) tail: Vec<KeylessLine<'s>>,
}

/// A line of its own that holds no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeylessLine<'s> {
    /// An empty line.
    Blank,
    /// A comment with its `#`.
    Comment(&'s str),
}

/// A comment at the end of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineComment<'s> {
    /// The number of white space characters before it.
    pub(super) gap: usize,
    /// The comment with its `#`.
    pub(super) text: &'s str,
}

/// A `[header]` or `[[header]]` with the keys below it.
#[derive(Debug)]
pub(super) struct TomlSection<'s> {
    pub(super) lead: Vec<KeylessLine<'s>>,
    pub(super) header: Option<SectionHeader<'s>>,
    pub(super) note: Option<LineComment<'s>>,
    pub(super) entries: Vec<TomlEntry<'s>>,
}

/// The name of a section.
#[derive(Debug, Clone)]
pub(super) struct SectionHeader<'s> {
    pub(super) path: Vec<&'s str>,
    /// Whether it is a row of a list: `[[header]]`.
    pub(super) is_row: bool,
}

/// One `key = value`; a dotted key has a path of several parts.
#[derive(Debug)]
pub(super) struct TomlEntry<'s> {
    pub(super) lead: Vec<KeylessLine<'s>>,
    pub(super) path: Vec<&'s str>,
    pub(super) value: TomlValue<'s>,
    pub(super) note: Option<LineComment<'s>>,
}

#[derive(Debug)]
pub(super) enum TomlValue<'s> {
    Scalar(TomlScalar<'s>),
    Array(TomlArray<'s>),
    Table(InlineTable<'s>),
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarKind {
    /// A number, a truth value, a date.
    Bare,
    /// `"text"`
    Basic,
    /// `'text'`
    Literal,
    /// `"""text"""`
    LongBasic,
    /// `'''text'''`
    LongLiteral,
}

#[derive(Debug)]
pub(super) struct TomlScalar<'s> {
    /// The value as written, with its quotes.
    pub(super) text: Cow<'s, str>,
    pub(super) kind: ScalarKind,
    /// Width in characters.
    pub(super) flat: usize,
    /// Decided by the layout: the text is broken over lines, and this many characters follow its closing quotes.
    pub(super) split: Option<usize>,
}

#[derive(Debug)]
pub(super) struct TomlArray<'s> {
    pub(super) items: Vec<ArrayItem<'s>>,
    /// Comments and blank lines before the closing bracket.
    pub(super) tail: Vec<KeylessLine<'s>>,
    /// Width in characters when it is written on one line.
    pub(super) flat: usize,
    /// Whether it must be written over several lines, because its author did so or because it contains a comment or
    /// such an array.
    pub(super) forced: bool,
    /// Decided by the layout: it is written over several lines.
    pub(super) broken: bool,
}

#[derive(Debug)]
pub(super) struct ArrayItem<'s> {
    pub(super) lead: Vec<KeylessLine<'s>>,
    pub(super) value: TomlValue<'s>,
    pub(super) note: Option<LineComment<'s>>,
    /// Whether its author began a new line at it.
    pub(super) fresh: bool,
}

/// An inline table.
#[derive(Debug)]
pub(super) struct InlineTable<'s> {
    pub(super) entries: Vec<TomlEntry<'s>>,
    /// Comments before the closing brace.
    pub(super) tail: Vec<KeylessLine<'s>>,
    /// Width in characters when it is written on one line.
    pub(super) flat: usize,
    /// Whether it or a table in it contains a comment outside of any array.
    pub(super) remarked: bool,
    /// Whether an array inside is `forced`.
    pub(super) forced: bool,
}

/// Width of a text in characters.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Width of a dotted key.
pub(super) fn path_width(path: &[&str]) -> usize {
    path.iter().map(|key| width(key) + 1).sum::<usize>().saturating_sub(1)
}

impl<'s> TomlScalar<'s> {
    pub(super) fn new(text: impl Into<Cow<'s, str>>, kind: ScalarKind) -> Self {
        let text = text.into();
        Self { flat: width(&text), text, kind, split: None }
    }

    /// The first and the last line of a text that was written over several lines.
    pub(super) fn ends(&self) -> Option<(&str, &str)> {
        let (first, _) = self.text.split_once('\n')?;
        let (_, last) = self.text.rsplit_once('\n')?;
        Some((first.trim_end_matches('\r'), last))
    }
}

impl<'s> TomlArray<'s> {
    pub(super) fn new(items: Vec<ArrayItem<'s>>, tail: Vec<KeylessLine<'s>>) -> Self {
        let flat = items.iter().map(|item| item.value.flat() + 2).sum::<usize>().max(2);
        let remarked = |item: &ArrayItem<'_>| matches!(&item.value, TomlValue::Table(table) if table.remarked);
        let own = |item: &ArrayItem<'_>| item.fresh || !item.lead.is_empty() || item.note.is_some();
        let lines = |item: &ArrayItem<'_>| own(item) || item.value.is_forced() || remarked(item);
        let forced = !tail.is_empty() || items.iter().any(lines);
        Self { items, tail, flat, forced, broken: forced }
    }

    /// Whether it is a list of inline tables, which could also be written as rows.
    pub(super) fn is_rows(&self) -> bool {
        !self.items.is_empty() && self.items.iter().all(|item| matches!(item.value, TomlValue::Table(_)))
    }

    /// Whether breaking it shows its structure: it holds tables, or is long.
    pub(super) fn is_worth_breaking(&self) -> bool {
        self.flat > 60 || self.items.iter().any(|item| matches!(item.value, TomlValue::Table(_)))
    }

    /// Whether several items may share a line when it is broken; known when the layout is decided.
    pub(super) fn is_filled(&self) -> bool {
        let scalar = |value: &TomlValue<'_>| matches!(value, TomlValue::Scalar(_));
        self.items.iter().all(|item| {
            let short = match &item.value {
                TomlValue::Scalar(text) => text.split.is_none() && !text.text.contains('\n'),
                TomlValue::Array(inner) => !inner.broken && inner.items.iter().all(|i| scalar(&i.value)),
                TomlValue::Table(_) => false,
            };
            short && item.value.flat() <= 30 && item.lead.is_empty() && item.note.is_none()
        })
    }
}

impl<'s> InlineTable<'s> {
    pub(super) fn new(entries: Vec<TomlEntry<'s>>, tail: Vec<KeylessLine<'s>>) -> Self {
        let flat = entries.iter().map(|e| path_width(&e.path) + 3 + e.value.flat() + 2).sum::<usize>() + 2;
        let flat = if entries.is_empty() { 2 } else { flat };
        let remark = |e: &TomlEntry<'_>| {
            let inner = matches!(&e.value, TomlValue::Table(t) if t.remarked);
            inner || e.note.is_some() || e.lead.iter().any(|line| matches!(line, KeylessLine::Comment(_)))
        };
        let remarked = !tail.is_empty() || entries.iter().any(remark);
        let forced = entries.iter().any(|e| e.value.is_forced());
        Self { entries, tail, flat, remarked, forced }
    }
}

impl TomlValue<'_> {
    /// Width in characters when it is written on one line.
    pub(super) fn flat(&self) -> usize {
        match self {
            TomlValue::Scalar(scalar) => scalar.flat,
            TomlValue::Array(array) => array.flat,
            TomlValue::Table(table) => table.flat,
        }
    }

    /// Whether an array of it has to be written over several lines.
    pub(super) fn is_forced(&self) -> bool {
        match self {
            TomlValue::Scalar(_) => false,
            TomlValue::Array(array) => array.forced,
            TomlValue::Table(table) => table.forced,
        }
    }
}
