//! Source texts and places in them: every value of a rule file keeps the file, line and column it came from.
//!
//! A [`DocumentNode`] is one value of a TOML or JSON document with its span. Layering moves whole nodes, so every value keeps
//! its origin. Nothing here reads a file.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

/// A handle to one text of a [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A byte range in one source text; `start <= end`, both on character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// The text that the range is in.
    pub source: SourceId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span over the bytes `start..end` of `source`; offsets beyond 4 GiB are clipped.
    #[must_use]
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { source, start: clip(start), end: clip(end.max(start)) }
    }
}

/// One text: a file of a pack, a foreign file, or a text given on the command line.
#[derive(Debug)]
pub struct Source {
    /// The name shown in messages: a path as the user would type it.
    pub name: Arc<str>,
    /// The pack or overlay that the text belongs to; empty if it belongs to none.
    pub layer: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// Where each line begins: made for the first message.
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let ends = memchr::memchr_iter(b'\n', self.text.as_bytes());
            std::iter::once(0).chain(ends.map(|n| u32::try_from(n + 1).unwrap_or(u32::MAX))).collect()
        })
    }

    /// The byte of a line and a column in characters, both from 1; 0 if there is no such line.
    #[must_use]
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let Some(start) = line.checked_sub(1).and_then(|line| self.lines().get(line)) else { return 0 };
        let start = *start as usize;
        let rest = self.text.get(start..).unwrap_or("");
        start + rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
    }
}

/// A place as a person would look it up. Displayed as `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// The name of the source.
    pub file: Arc<str>,
    /// The pack or overlay that the source belongs to; empty if it belongs to none.
    pub layer: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// All texts of one run. Cloning shares the texts.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    list: Vec<Arc<Source>>,
}

impl Sources {
    /// Adds a text and returns its handle.
    pub fn add(&mut self, name: &str, layer: &str, text: &str) -> SourceId {
        let id = self.next_id();
        self.share(Arc::new(Source { name: name.into(), layer: layer.into(), text: text.into(), lines: OnceLock::new() }));
        id
    }

    /// Adds a text of another run.
    pub fn share(&mut self, source: Arc<Source>) {
        self.list.push(source);
    }

    /// The handle that the next text will have.
    #[must_use]
    pub fn next_id(&self) -> SourceId {
        SourceId(u32::try_from(self.list.len()).unwrap_or(u32::MAX))
    }

    /// The handles of all texts.
    pub fn ids(&self) -> impl Iterator<Item = SourceId> {
        (0..u32::try_from(self.list.len()).unwrap_or(u32::MAX)).map(SourceId)
    }

    /// The text behind a handle; `None` for a handle of another run.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize).map(Arc::as_ref)
    }

    /// The same, to be kept.
    #[must_use]
    pub fn shared(&self, id: SourceId) -> Option<Arc<Source>> {
        self.list.get(id.0 as usize).cloned()
    }

    /// The place where a span begins; `None` for a span of another run.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<SourcePlace> {
        let (source, line) = self.line(span)?;
        let begin = source.lines().get(line - 1).copied().unwrap_or(0) as usize;
        let before = source.text.get(begin..span.start as usize).unwrap_or("");
        Some(SourcePlace { file: source.name.clone(), layer: source.layer.clone(), line, column: before.chars().count() + 1 })
    }

    /// The place of a line and a column of a file, as a span; `None` if no text has this name.
    #[must_use]
    pub fn span_at(&self, file: &str, line: usize, column: usize) -> Option<Span> {
        let id = self.ids().find(|id| self.get(*id).is_some_and(|source| *source.name == *file))?;
        let start = self.get(id)?.offset(line, column);
        Some(Span::new(id, start, start))
    }

    /// The file and the line where a span begins, counted from 1. It costs less than [`place`](Self::place), which counts the
    /// characters of the line.
    #[must_use]
    pub fn line(&self, span: Span) -> Option<(&Source, usize)> {
        let source = self.get(span.source)?;
        Some((source, source.lines().partition_point(|start| *start <= span.start).max(1)))
    }

    /// The pack or overlay that a span belongs to; empty if it belongs to none.
    #[must_use]
    pub fn layer(&self, span: Span) -> Arc<str> {
        self.get(span.source).map(|source| source.layer.clone()).unwrap_or_default()
    }

    /// The text that a span covers; empty for a span of another run.
    #[must_use]
    pub fn snippet(&self, span: Span) -> &str {
        self.get(span.source).and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }
}

/// One value of a document, with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentNode {
    /// Where the value is written.
    pub span: Span,
    /// The value.
    pub data: NodeValue,
}

/// The data of a [`DocumentNode`]: what TOML and JSON have in common. Dates of TOML are texts.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// JSON `null`; TOML has no such value.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(Arc<str>),
    /// A list.
    List(Vec<DocumentNode>),
    /// A table, in the order in which it is written.
    Table(FieldMap),
}

/// The fields of a table by name.
pub type FieldMap = IndexMap<Arc<str>, TableField, rustc_hash::FxBuildHasher>;

/// One `key = value` of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableField {
    /// Where the key is written.
    pub key: Span,
    /// The value.
    pub node: DocumentNode,
}

impl DocumentNode {
    /// The table; `None` if the node is not a table.
    #[must_use]
    pub fn as_table(&self) -> Option<&FieldMap> {
        if let NodeValue::Table(t) = &self.data { Some(t) } else { None }
    }

    /// What stands at a path below this node (`preset.entries.0.name`), and the place of its key; a key with dots counts as
    /// several steps.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<(Span, &DocumentNode)> {
        let NodeValue::Table(table) = &self.data else {
            let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
            let element = self.as_list()?.get(first.parse::<usize>().ok()?)?;
            return rest.map_or(Some((element.span, element)), |rest| element.at(rest));
        };
        let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
        ends.into_iter().find_map(|end| {
            let field = table.get(path.get(..end)?)?;
            path.get(end + 1..).map_or(Some((field.key, &field.node)), |rest| field.node.at(rest))
        })
    }

    /// The list; `None` if the node is not a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[DocumentNode]> {
        if let NodeValue::List(l) = &self.data { Some(l) } else { None }
    }

    /// The text; `None` if the node is not a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let NodeValue::Text(t) = &self.data { Some(t) } else { None }
    }

    /// The truth value; `None` if the node is not a truth value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let NodeValue::Bool(b) = self.data { Some(b) } else { None }
    }

    /// The value of the field `key` of a table; `None` if there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&DocumentNode> {
        self.as_table()?.get(key).map(|f| &f.node)
    }

    /// The kind of value in the words of messages, such as `a text`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.data {
            NodeValue::Null => "null",
            NodeValue::Bool(_) => "a truth value",
            NodeValue::Int(_) => "a whole number",
            NodeValue::Float(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
        }
    }

    /// The value as JSON, without its places.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as J;
        match &self.data {
            NodeValue::Null => J::Null,
            NodeValue::Bool(b) => J::Bool(*b),
            NodeValue::Int(n) => J::from(*n),
            NodeValue::Float(n) => J::from(*n),
            NodeValue::Text(t) => J::String(t.to_string()),
            NodeValue::List(l) => J::Array(l.iter().map(DocumentNode::to_json).collect()),
            NodeValue::Table(t) => J::Object(t.iter().map(|(k, f)| (k.to_string(), f.node.to_json())).collect()),
        }
    }
}

// Places inside a text value: from an offset in the decoded text to the characters of the file, through escapes.
//
// A `calc`, a regex or a `{{…}}` is parsed from the decoded text of a [`DocumentNode`], but its errors should point at the
// characters that the author typed. The raw text is therefore walked again and checked against the decoded text. Where
// the two do not agree, because no file holds the text as such, the place is the whole value.

/// The span of the characters in the file that stand for byte `offset` of the text of `node`. An offset at the end of
/// the text gives the closing quote; a node that is not a text of a file gives the span of the node.
#[must_use]
pub fn place_in_text(sources: &Sources, node: &DocumentNode, offset: usize) -> Span {
    range_in_text(sources, node, offset..offset)
}

/// Like [`place_in_text`] for a range of the decoded text. An empty range gives the character at its start.
#[must_use]
pub fn range_in_text(sources: &Sources, node: &DocumentNode, range: Range<usize>) -> Span {
    let found = node.as_text().and_then(|text| raw_range(sources.snippet(node.span), text, &range));
    let Some(raw) = found else { return node.span };
    let base = node.span.start as usize;
    Span::new(node.span.source, base + raw.start, base + raw.end)
}

/// Finds places in texts and remembers the last one: the places of one text are mostly asked for from front to back, and
/// a long text with many of them is then walked only once.
#[derive(Debug, Default)]
pub struct PlaceFinder {
    /// The text of the last place.
    of: Option<Span>,
    /// The last place in it.
    seen: WalkPosition,
}

/// A place that a walk has reached: bytes of the raw text, and bytes of the decoded one.
#[derive(Debug, Default, Clone, Copy)]
struct WalkPosition {
    raw: usize,
    decoded: usize,
}

impl PlaceFinder {
    /// As [`place_in_text`].
    pub fn place(&mut self, sources: &Sources, node: &DocumentNode, offset: usize) -> Span {
        if self.of != Some(node.span) || self.seen.decoded > offset {
            *self = Self { of: Some(node.span), seen: WalkPosition::default() };
        }
        let raw = sources.snippet(node.span);
        let found = node.as_text().and_then(|text| walked(raw, text, &(offset..offset), &mut self.seen));
        let Some(raw) = found else { return node.span };
        let base = node.span.start as usize;
        Span::new(node.span.source, base + raw.start, base + raw.end)
    }
}

fn raw_range(raw: &str, text: &str, wanted: &Range<usize>) -> Option<Range<usize>> {
    walked(raw, text, wanted, &mut WalkPosition::default())
}

/// Walks the raw text `raw`, which includes its quotes, in step with the decoded `text`, from the place `seen` on, which is
/// set to that of the start of the range. Returns bytes relative to the start of `raw`.
fn walked(raw: &str, text: &str, wanted: &Range<usize>, seen: &mut WalkPosition) -> Option<Range<usize>> {
    let quotes = QuoteStyle::of(raw)?;
    let (mut at, end) = (quotes.open.max(seen.raw), raw.len().checked_sub(quotes.close)?);
    let mut decoded = seen.decoded;
    let mut start = None;
    while at < end {
        let rest = raw.get(at..end)?;
        let unit = unit(rest, text.get(decoded..)?, &quotes)?;
        let after = decoded + unit.decoded;
        if after > wanted.start && start.is_none() && unit.decoded > 0 {
            start = Some(at);
            *seen = WalkPosition { raw: at, decoded };
        }
        if start.is_some() && after >= wanted.end.max(wanted.start + 1) {
            return Some(start?..at + unit.raw);
        }
        at += unit.raw;
        decoded = after;
    }
    if decoded != text.len() {
        return None;
    }
    // at or past the end of the text: the closing quote, or from the start found to the last character
    Some(start.map_or(end..end + 1, |s| s..end))
}

/// How a text is quoted.
struct QuoteStyle {
    /// Bytes before the first character of the text.
    open: usize,
    /// Bytes after the last.
    close: usize,
    /// Whether a backslash begins an escape.
    escapes: bool,
}

impl QuoteStyle {
    fn of(raw: &str) -> Option<Self> {
        for (mark, escapes) in [("\"\"\"", true), ("'''", false)] {
            if raw.len() >= 6 && raw.starts_with(mark) {
                // the line break right after the opening quotes is not part of the text
                let body = raw.get(3..)?;
                let open = if body.starts_with("\r\n") { 5 } else { 3 + usize::from(body.starts_with('\n')) };
                return Some(QuoteStyle { open, close: 3, escapes });
            }
        }
        let escapes = match raw.chars().next()? {
            '"' => true,
            '\'' => false,
            _ => return None,
        };
        (raw.len() >= 2).then_some(QuoteStyle { open: 1, close: 1, escapes })
    }
}

/// One step of the walk: `raw` bytes of the file stand for `decoded` bytes of the text.
struct DecodedUnit {
    raw: usize,
    decoded: usize,
}

/// The unit at the start of `rest`; `None` if it does not stand for the start of `text`.
fn unit(rest: &str, text: &str, quotes: &QuoteStyle) -> Option<DecodedUnit> {
    let first = rest.chars().next()?;
    if first == '\\' && quotes.escapes {
        return escape(rest, text);
    }
    if first == '\r' && !text.starts_with('\r') && text.starts_with('\n') {
        return Some(DecodedUnit { raw: 2, decoded: 1 });
    }
    text.starts_with(first).then_some(DecodedUnit { raw: first.len_utf8(), decoded: first.len_utf8() })
}

/// An escape of TOML or JSON. What it stands for is taken from the decoded text.
fn escape(rest: &str, text: &str) -> Option<DecodedUnit> {
    let mark = rest.chars().nth(1)?;
    if mark.is_whitespace() {
        // a backslash at the end of a line removes the white space up to the next character
        let swallowed = rest.get(1..)?.chars().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum::<usize>();
        return Some(DecodedUnit { raw: 1 + swallowed, decoded: 0 });
    }
    let digits = match mark {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    let decoded = text.chars().next()?.len_utf8();
    let mut raw = 1 + mark.len_utf8() + digits;
    let pair = mark == 'u' && decoded == 4 && rest.get(raw..).is_some_and(|r| r.starts_with("\\u"));
    if pair {
        raw += 6;
    }
    rest.get(..raw)?;
    Some(DecodedUnit { raw, decoded })
}
