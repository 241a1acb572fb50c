//! A TOML document as its author wrote it: sections in the order of the file, with comments and blank lines attached to
//! the element that they belong to. Texts of keys and values are kept as written; nothing here is evaluated.

use std::borrow::Cow;

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
