//! A TOML document as its author wrote it: sections in the order of the file, with comments and blank lines attached to
//! the element that they belong to. Texts of keys and values are kept as written; nothing here is evaluated.

use std::borrow::Cow;

/// A whole file.
#[derive(Debug)]
pub(super) struct Document<'s> {
    /// The keys before the first header come first, as a section without a header.
    pub(super) sections: Vec<Section<'s>>,
    /// Comments and blank lines after the last key.
    pub(super) tail: Vec<Line<'s>>,
}

/// A line of its own that holds no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'s> {
    /// An empty line.
    Blank,
    /// A comment with its `#`.
    Comment(&'s str),
}

/// A comment at the end of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note<'s> {
    /// The number of white space characters before it.
    pub(super) gap: usize,
    /// The comment with its `#`.
    pub(super) text: &'s str,
}

/// A `[header]` or `[[header]]` with the keys below it.
#[derive(Debug)]
pub(super) struct Section<'s> {
    pub(super) lead: Vec<Line<'s>>,
    pub(super) header: Option<Header<'s>>,
    pub(super) note: Option<Note<'s>>,
    pub(super) entries: Vec<Entry<'s>>,
}

/// The name of a section.
#[derive(Debug, Clone)]
pub(super) struct Header<'s> {
    pub(super) path: Vec<&'s str>,
    /// Whether it is a row of a list: `[[header]]`.
    pub(super) is_row: bool,
}

/// One `key = value`; a dotted key has a path of several parts.
#[derive(Debug)]
pub(super) struct Entry<'s> {
    pub(super) lead: Vec<Line<'s>>,
    pub(super) path: Vec<&'s str>,
    pub(super) value: Value<'s>,
    pub(super) note: Option<Note<'s>>,
}

#[derive(Debug)]
pub(super) enum Value<'s> {
    Scalar(Scalar<'s>),
    Array(Array<'s>),
    Table(Table<'s>),
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) struct Scalar<'s> {
    /// The value as written, with its quotes.
    pub(super) text: Cow<'s, str>,
    pub(super) kind: Kind,
    /// Width in characters.
    pub(super) flat: usize,
    /// Decided by the layout: the text is broken over lines, and this many characters follow its closing quotes.
    pub(super) split: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Array<'s> {
    pub(super) items: Vec<Item<'s>>,
    /// Comments and blank lines before the closing bracket.
    pub(super) tail: Vec<Line<'s>>,
    /// Width in characters when it is written on one line.
    pub(super) flat: usize,
    /// Whether it must be written over several lines, because its author did so or because it contains a comment or
    /// such an array.
    pub(super) forced: bool,
    /// Decided by the layout: it is written over several lines.
    pub(super) broken: bool,
}

#[derive(Debug)]
pub(super) struct Item<'s> {
    pub(super) lead: Vec<Line<'s>>,
    pub(super) value: Value<'s>,
    pub(super) note: Option<Note<'s>>,
    /// Whether its author began a new line at it.
    pub(super) fresh: bool,
}

/// An inline table.
#[derive(Debug)]
pub(super) struct Table<'s> {
    pub(super) entries: Vec<Entry<'s>>,
    /// Comments before the closing brace.
    pub(super) tail: Vec<Line<'s>>,
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

impl<'s> Scalar<'s> {
    pub(super) fn new(text: impl Into<Cow<'s, str>>, kind: Kind) -> Self {
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

impl<'s> Array<'s> {
    pub(super) fn new(items: Vec<Item<'s>>, tail: Vec<Line<'s>>) -> Self {
        let flat = items.iter().map(|item| item.value.flat() + 2).sum::<usize>().max(2);
        let remarked = |item: &Item<'_>| matches!(&item.value, Value::Table(table) if table.remarked);
        let own = |item: &Item<'_>| item.fresh || !item.lead.is_empty() || item.note.is_some();
        let lines = |item: &Item<'_>| own(item) || item.value.is_forced() || remarked(item);
        let forced = !tail.is_empty() || items.iter().any(lines);
        Self { items, tail, flat, forced, broken: forced }
    }

    /// Whether it is a list of inline tables, which could also be written as rows.
    pub(super) fn is_rows(&self) -> bool {
        !self.items.is_empty() && self.items.iter().all(|item| matches!(item.value, Value::Table(_)))
    }

    /// Whether breaking it shows its structure: it holds tables, or is long.
    pub(super) fn is_worth_breaking(&self) -> bool {
        self.flat > 60 || self.items.iter().any(|item| matches!(item.value, Value::Table(_)))
    }

    /// Whether several items may share a line when it is broken; known when the layout is decided.
    pub(super) fn is_filled(&self) -> bool {
        let scalar = |value: &Value<'_>| matches!(value, Value::Scalar(_));
        self.items.iter().all(|item| {
            let short = match &item.value {
                Value::Scalar(text) => text.split.is_none() && !text.text.contains('\n'),
                Value::Array(inner) => !inner.broken && inner.items.iter().all(|i| scalar(&i.value)),
                Value::Table(_) => false,
            };
            short && item.value.flat() <= 30 && item.lead.is_empty() && item.note.is_none()
        })
    }
}

impl<'s> Table<'s> {
    pub(super) fn new(entries: Vec<Entry<'s>>, tail: Vec<Line<'s>>) -> Self {
        let flat = entries.iter().map(|e| path_width(&e.path) + 3 + e.value.flat() + 2).sum::<usize>() + 2;
        let flat = if entries.is_empty() { 2 } else { flat };
        let remark = |e: &Entry<'_>| {
            let inner = matches!(&e.value, Value::Table(t) if t.remarked);
            inner || e.note.is_some() || e.lead.iter().any(|line| matches!(line, Line::Comment(_)))
        };
        let remarked = !tail.is_empty() || entries.iter().any(remark);
        let forced = entries.iter().any(|e| e.value.is_forced());
        Self { entries, tail, flat, remarked, forced }
    }
}

impl Value<'_> {
    /// Width in characters when it is written on one line.
    pub(super) fn flat(&self) -> usize {
        match self {
            Value::Scalar(scalar) => scalar.flat,
            Value::Array(array) => array.flat,
            Value::Table(table) => table.flat,
        }
    }

    /// Whether an array of it has to be written over several lines.
    pub(super) fn is_forced(&self) -> bool {
        match self {
            Value::Scalar(_) => false,
            Value::Array(array) => array.forced,
            Value::Table(table) => table.forced,
        }
    }
}
