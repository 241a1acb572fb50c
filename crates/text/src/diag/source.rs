//! Source texts and places in them: every value of a rule file keeps the file, line and column it came from.
//!
//! A [`DocumentNode`] is one value of a TOML or JSON document with its span. Layering moves whole nodes, so every value keeps
//! its origin. Nothing here reads a file.

use std::sync::Arc;

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
    lines: Vec<u32>,
}

impl Source {
    /// The byte of a line and a column in characters, both from 1; 0 if there is no such line.
    #[must_use]
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let Some(start) = line.checked_sub(1).and_then(|line| self.lines.get(line)) else { return 0 };
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
        let lines = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(n, _)| u32::try_from(n + 1).unwrap_or(u32::MAX)))
            .collect();
        let id = SourceId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        self.list.push(Arc::new(Source { name: name.into(), layer: layer.into(), text: text.into(), lines }));
        id
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

    /// The place where a span begins; `None` for a span of another run.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<SourcePlace> {
        let (source, line) = self.line(span)?;
        let begin = source.lines.get(line - 1).copied().unwrap_or(0) as usize;
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
        Some((source, source.lines.partition_point(|start| *start <= span.start).max(1)))
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
pub type FieldMap = IndexMap<Arc<str>, TableField>;

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
