//! What a TOML or JSON text holds, also where it is broken, as a text that is being written always is: tables, lists and values with
//! their places. Nothing here reports mistakes; the engine's own readers do.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// How deep values are followed; a deeper one is taken as a whole.
const MOST_DEPTH: usize = 64;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Toml,
    Json,
}

impl Syntax {
    /// The syntax of a file by its ending, else by how its text begins.
    pub(crate) fn of(path: &Path, text: &str) -> Self {
        let is_json = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => true,
            Some("toml") => false,
            _ => text.trim_start_matches('\u{FEFF}').trim_start().starts_with('{'),
        };
        if is_json { Self::Json } else { Self::Toml }
    }
}

/// The number of a node.
pub(crate) type NodeId = usize;

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutlineNode {
    /// Of a table of TOML with a header: up to the next header.
    pub(crate) range: Range<usize>,
    pub(crate) content: NodeContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeContent {
    Table(Vec<OutlineEntry>),
    List(Vec<NodeId>),
    /// A text: where it is written without its quotes.
    Text(Range<usize>),
    /// A number, a truth value, or anything else.
    Other,
    /// Nothing is written yet.
    Missing,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutlineEntry {
    pub(crate) key: String,
    pub(crate) key_range: Range<usize>,
    pub(crate) node: NodeId,
}

/// A step from a value to one in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

/// What is written at a place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CursorRole {
    /// A key, or the empty place of one.
    Key(Range<usize>),
    /// A name in a header of TOML.
    Header(Range<usize>),
    /// A value: all of it, and its text without quotes, if it is one.
    Value {
        whole: Range<usize>,
        text: Option<Range<usize>>,
    },
    Comment,
}

/// A place in an outline: the way to it, and what is written there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cursor {
    /// From the root to the table that is written in, or to the value.
    pub(crate) path: Vec<PathStep>,
    /// The tables and lists on the way, the root first, and the value at last.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) role: CursorRole,
}

/// The values of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    nodes: Vec<OutlineNode>,
    comments: Vec<Range<usize>>,
    /// The names in headers of TOML.
    headers: Vec<HeaderName>,
    /// The whole path of each header.
    header_paths: Vec<Vec<PathStep>>,
}

/// A name in a header: where it is written, and the number of steps of the path of its header that lead to it.
#[derive(Debug, Clone)]
struct HeaderName {
    range: Range<usize>,
    header: usize,
    steps: usize,
}

pub(crate) const ROOT: NodeId = 0;

impl Outline {
    pub(crate) fn read(text: &str, syntax: Syntax) -> Self {
        let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, syntax, out: Outline::default(), known: HashMap::new() };
        scanner.document();
        scanner.out
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&OutlineNode> {
        self.nodes.get(id)
    }

    pub(crate) fn entries(&self, id: NodeId) -> &[OutlineEntry] {
        match self.node(id).map(|node| &node.content) {
            Some(NodeContent::Table(entries)) => entries,
            _ => &[],
        }
    }

    pub(crate) fn elements(&self, id: NodeId) -> &[NodeId] {
        match self.node(id).map(|node| &node.content) {
            Some(NodeContent::List(list)) => list,
            _ => &[],
        }
    }

    pub(crate) fn entry(&self, id: NodeId, key: &str) -> Option<&OutlineEntry> {
        self.entries(id).iter().find(|entry| entry.key == key)
    }

    /// The text under a key, as it is written.
    pub(crate) fn text_at<'t>(&self, id: NodeId, key: &str, text: &'t str) -> Option<&'t str> {
        match &self.node(self.entry(id, key)?.node)?.content {
            NodeContent::Text(inner) => text.get(inner.clone()),
            _ => None,
        }
    }

    /// All texts, each with the node that it is.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (NodeId, &Range<usize>)> {
        self.nodes.iter().enumerate().filter_map(|(id, node)| match &node.content {
            NodeContent::Text(inner) => Some((id, inner)),
            _ => None,
        })
    }

    /// All nodes.
    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = (NodeId, &OutlineNode)> {
        self.nodes.iter().enumerate()
    }

    /// The entries of all tables.
    pub(crate) fn all_entries(&self) -> impl Iterator<Item = &OutlineEntry> {
        self.nodes.iter().flat_map(|node| match &node.content {
            NodeContent::Table(entries) => entries.as_slice(),
            _ => &[],
        })
    }

    pub(crate) fn comments(&self) -> &[Range<usize>] {
        &self.comments
    }

    /// Where the names in headers of TOML are written.
    pub(crate) fn header_names(&self) -> impl Iterator<Item = &Range<usize>> {
        self.headers.iter().map(|name| &name.range)
    }

    /// What is written at a byte.
    pub(crate) fn cursor(&self, offset: usize) -> Cursor {
        let (mut path, mut nodes, mut at) = (Vec::new(), vec![ROOT], ROOT);
        if self.comments.iter().any(|comment| comment.start < offset && offset <= comment.end) {
            return Cursor { path, nodes, role: CursorRole::Comment };
        }
        if let Some(name) = self.headers.iter().find(|name| touches(&name.range, offset)) {
            let path = self.header_paths.get(name.header).and_then(|path| path.get(..name.steps)).unwrap_or_default().to_vec();
            return Cursor { path, nodes, role: CursorRole::Header(name.range.clone()) };
        }
        while let Some(node) = self.node(at) {
            let next = match &node.content {
                NodeContent::Table(entries) => {
                    // a key counts before the value in front of it
                    if let Some(entry) = entries.iter().find(|entry| touches(&entry.key_range, offset)) {
                        return Cursor { path, nodes, role: CursorRole::Key(entry.key_range.clone()) };
                    }
                    let holds = |entry: &&OutlineEntry| self.node(entry.node).is_some_and(|node| touches(&node.range, offset));
                    entries.iter().rev().find(holds).map(|entry| (PathStep::Key(entry.key.clone()), entry.node))
                }
                NodeContent::List(list) => {
                    let holds = |(_, id): &(usize, &NodeId)| self.node(**id).is_some_and(|node| touches(&node.range, offset));
                    list.iter().enumerate().rev().find(holds).map(|(index, id)| (PathStep::Index(index), *id))
                }
                _ => None,
            };
            let Some((step, id)) = next else { break };
            path.push(step);
            nodes.push(id);
            at = id;
        }
        let role = match self.node(at) {
            Some(OutlineNode { content: NodeContent::Text(inner), range }) => {
                // a cursor on the quotes is at the nearest end of the text
                CursorRole::Value { whole: range.clone(), text: Some(inner.clone()) }
            }
            Some(OutlineNode { content: NodeContent::Other | NodeContent::Missing, range }) => {
                CursorRole::Value { whole: range.clone(), text: None }
            }
            Some(OutlineNode { content: NodeContent::List(_), .. }) => CursorRole::Value { whole: offset..offset, text: None },
            _ => CursorRole::Key(offset..offset),
        };
        Cursor { path, nodes, role }
    }
}

fn touches(range: &Range<usize>, offset: usize) -> bool {
    range.start <= offset && offset <= range.end
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    syntax: Syntax,
    out: Outline,
    /// The first value of each key of each table: of many headers, none is searched among all.
    known: HashMap<(NodeId, String), NodeId>,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn add(&mut self, range: Range<usize>, content: NodeContent) -> NodeId {
        self.out.nodes.push(OutlineNode { range, content });
        self.out.nodes.len() - 1
    }

    fn document(&mut self) {
        self.add(0..self.text.len(), NodeContent::Table(Vec::new()));
        if self.starts_with("\u{FEFF}") {
            self.at = 3;
        }
        match self.syntax {
            Syntax::Toml => self.toml_document(),
            Syntax::Json => {
                self.skip_blank(true);
                if self.peek() == Some(b'{') {
                    self.at += 1;
                    self.inline_table(ROOT, 0);
                }
            }
        }
    }

    /// White space and comments; also line breaks, if `lines` says so.
    fn skip_blank(&mut self, lines: bool) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\n' | b'\r' if lines => self.at += 1,
                b'#' if self.syntax == Syntax::Toml => {
                    let start = self.at;
                    self.skip_line();
                    self.out.comments.push(start..self.at);
                }
                _ => break,
            }
        }
    }

    /// Goes to the end of the line.
    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn toml_document(&mut self) {
        // the tables of the last header, the root first
        let mut open = vec![ROOT];
        loop {
            self.skip_blank(true);
            let Some(byte) = self.peek() else { break };
            if byte == b'[' {
                let end = self.at;
                self.close(&open, end);
                open = self.header();
                self.skip_blank(false);
            } else {
                let table = open.last().copied().unwrap_or(ROOT);
                self.pair(table, 0);
                self.skip_blank(false);
            }
            // what else stands in the line belongs to nothing
            self.skip_line();
        }
        self.close(&open, self.text.len());
    }

    /// Ends the tables of a header where the next one begins.
    fn close(&mut self, open: &[NodeId], end: usize) {
        for id in open.iter().filter(|id| **id != ROOT) {
            if let Some(node) = self.out.nodes.get_mut(*id) {
                // a touch of the next header is none of this table
                node.range.end = if end == self.text.len() { end } else { end.saturating_sub(1).max(node.range.start) };
            }
        }
    }

    /// A header, `[a.b]` or `[[a.b]]`: gives the tables on the way to it.
    fn header(&mut self) -> Vec<NodeId> {
        let start = self.at;
        let is_row = self.starts_with("[[");
        self.at += if is_row { 2 } else { 1 };
        let (mut open, mut path, mut table) = (vec![ROOT], Vec::new(), ROOT);
        let names = self.dotted_key();
        let last = names.len().saturating_sub(1);
        for (n, (name, range)) in names.into_iter().enumerate() {
            let header = self.out.header_paths.len();
            self.out.headers.push(HeaderName { range: range.clone(), header, steps: path.len() });
            path.push(PathStep::Key(name.clone()));
            let known = self.known.get(&(table, name.clone())).copied();
            let wants_list = is_row && n == last;
            let node = known.unwrap_or_else(|| {
                let content = if wants_list { NodeContent::List(Vec::new()) } else { NodeContent::Table(Vec::new()) };
                let id = self.add(start..start, content);
                self.enter(table, OutlineEntry { key: name, key_range: range, node: id });
                id
            });
            open.push(node);
            table = node;
            let length = match self.out.nodes.get(node).map(|node| &node.content) {
                Some(NodeContent::List(list)) => list.len(),
                _ => continue,
            };
            // a row begins, or the last one goes on
            let row = if wants_list || length == 0 {
                let row = self.add(start..start, NodeContent::Table(Vec::new()));
                if let Some(NodeContent::List(list)) = self.out.nodes.get_mut(node).map(|node| &mut node.content) {
                    list.push(row);
                }
                path.push(PathStep::Index(length));
                row
            } else {
                path.push(PathStep::Index(length - 1));
                self.out.elements(node).last().copied().unwrap_or(node)
            };
            open.push(row);
            table = row;
        }
        self.out.header_paths.push(path);
        while self.peek() == Some(b']') {
            self.at += 1;
        }
        open
    }

    fn enter(&mut self, table: NodeId, entry: OutlineEntry) {
        if let Some(NodeContent::Table(entries)) = self.out.nodes.get_mut(table).map(|node| &mut node.content) {
            self.known.entry((table, entry.key.clone())).or_insert(entry.node);
            entries.push(entry);
        }
    }

    /// The names of a key with their places; an empty one where none is written.
    fn dotted_key(&mut self) -> Vec<(String, Range<usize>)> {
        let mut names = Vec::new();
        loop {
            self.skip_spaces();
            let start = self.at;
            match self.peek() {
                Some(quote @ (b'"' | b'\'')) => {
                    let inner = self.quoted(quote);
                    names.push((self.text.get(inner).unwrap_or_default().to_owned(), start..self.at));
                }
                _ => {
                    while self
                        .peek()
                        .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'@') || byte >= 0x80)
                    {
                        self.at += 1;
                    }
                    names.push((self.text.get(start..self.at).unwrap_or_default().to_owned(), start..self.at));
                }
            }
            self.skip_spaces();
            if self.syntax == Syntax::Json || self.peek() != Some(b'.') {
                return names;
            }
            self.at += 1;
        }
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// A key with its value, in a table. Always goes on by at least one byte, unless a bracket closes something.
    fn pair(&mut self, table: NodeId, depth: usize) {
        let begin = self.at;
        let names = self.dotted_key();
        let sign = if self.syntax == Syntax::Json { b':' } else { b'=' };
        let mut table = table;
        let last = names.len().saturating_sub(1);
        let mut opened = Vec::new();
        let mut end_entry = None;
        for (n, (name, range)) in names.into_iter().enumerate() {
            if n == last {
                end_entry = Some((name, range));
                break;
            }
            let known = self.known.get(&(table, name.clone())).copied();
            let node = known.unwrap_or_else(|| self.add(range.end..range.end, NodeContent::Table(Vec::new())));
            if known.is_none() {
                self.enter(table, OutlineEntry { key: name, key_range: range, node });
            }
            opened.push(node);
            table = node;
        }
        self.skip_blank(self.syntax == Syntax::Json);
        let node = if self.peek() == Some(sign) {
            self.at += 1;
            self.value(depth)
        } else {
            self.add(self.at..self.at, NodeContent::Missing)
        };
        let end = self.at;
        for id in opened {
            if let Some(node) = self.out.nodes.get_mut(id) {
                node.range.end = end;
            }
        }
        if let Some((key, key_range)) = end_entry.filter(|(key, range)| !key.is_empty() || !range.is_empty()) {
            self.enter(table, OutlineEntry { key, key_range, node });
        }
        if self.at == begin && !matches!(self.peek(), Some(b'}' | b']') | None) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> NodeId {
        let before = self.at;
        self.skip_spaces();
        if self.syntax == Syntax::Json {
            self.skip_blank(true);
        }
        let start = self.at;
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => {
                let inner = self.quoted(quote);
                self.add(start..self.at, NodeContent::Text(inner))
            }
            Some(b'[') if depth < MOST_DEPTH => {
                self.at += 1;
                self.list(start, depth + 1)
            }
            Some(b'{') if depth < MOST_DEPTH => {
                self.at += 1;
                let id = self.add(start..start, NodeContent::Table(Vec::new()));
                self.inline_table(id, depth + 1);
                if let Some(node) = self.out.nodes.get_mut(id) {
                    node.range.end = self.at;
                }
                id
            }
            Some(b',' | b']' | b'}' | b'\n' | b'\r' | b'#') | None => self.add(before..start, NodeContent::Missing),
            Some(_) => {
                while self.peek().is_some_and(|byte| !matches!(byte, b',' | b']' | b'}' | b'\n' | b'\r' | b'#')) {
                    self.at += 1;
                }
                let written = self.text.get(start..self.at).unwrap_or_default().trim_end().len();
                self.add(start..start + written, NodeContent::Other)
            }
        }
    }

    /// Whether a header of TOML begins here, so that what is open was never closed.
    fn is_at_header(&self) -> bool {
        if self.syntax == Syntax::Json || self.peek() != Some(b'[') {
            return false;
        }
        let is_first = self.at == 0 || self.bytes.get(self.at - 1).is_some_and(|byte| matches!(byte, b'\n' | b'\r'));
        let line = self.text.get(self.at..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim_end();
        let inner = line.trim_start_matches('[').trim_end_matches(']');
        is_first && line.ends_with(']') && inner.starts_with(|c: char| c.is_ascii_alphabetic()) && !inner.contains([',', '"', ' ', '{'])
    }

    fn list(&mut self, start: usize, depth: usize) -> NodeId {
        let mut elements = Vec::new();
        loop {
            self.skip_blank(true);
            match self.peek() {
                None => break,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                _ if self.is_at_header() => break,
                Some(_) => {
                    let before = self.at;
                    elements.push(self.value(depth));
                    if self.at == before {
                        // a brace that closes nothing here
                        self.at += 1;
                    }
                }
            }
        }
        self.add(start..self.at, NodeContent::List(elements))
    }

    fn inline_table(&mut self, id: NodeId, depth: usize) {
        // without a comma before it, a line break ends a table that was not closed
        let mut goes_on = true;
        loop {
            self.skip_blank(goes_on || self.syntax == Syntax::Json);
            match self.peek() {
                None => return,
                Some(b'}') => {
                    self.at += 1;
                    return;
                }
                Some(b',') => {
                    self.at += 1;
                    goes_on = true;
                }
                Some(b'\n' | b'\r') => {
                    // a table of several lines is closed in one of them
                    let mut ahead = self.at;
                    while self.bytes.get(ahead).is_some_and(|byte| byte.is_ascii_whitespace()) {
                        ahead += 1;
                    }
                    if self.bytes.get(ahead) != Some(&b'}') {
                        return;
                    }
                    self.at = ahead;
                }
                Some(b']') => return,
                _ if self.is_at_header() => return,
                Some(_) => {
                    self.pair(id, depth);
                    goes_on = false;
                }
            }
        }
    }

    /// A text in quotes: where it is written without them. One that is not closed ends with its line.
    fn quoted(&mut self, quote: u8) -> Range<usize> {
        let long = self.syntax == Syntax::Toml && [0, 1, 2].iter().all(|n| self.bytes.get(self.at + n) == Some(&quote));
        let width = if long { 3 } else { 1 };
        self.at += width;
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == b'\\' && quote == b'"' {
                self.at = (self.at + 2).min(self.bytes.len());
                continue;
            }
            let closes = byte == quote && (!long || [1, 2].iter().all(|n| self.bytes.get(self.at + n) == Some(&quote)));
            if closes {
                let end = self.at;
                self.at += width;
                // up to two quotes may stand before the closing ones
                while long && self.peek() == Some(quote) {
                    self.at += 1;
                }
                return start..end;
            }
            if !long && matches!(byte, b'\n' | b'\r') {
                return start..self.at;
            }
            self.at += 1;
        }
        // an escape at the very end
        while !self.text.is_char_boundary(self.at) {
            self.at -= 1;
        }
        start..self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cursor at `|` of a text, as words: the path, and the role with its text.
    fn at(text: &str, syntax: Syntax) -> (String, String) {
        let offset = text.find('|').unwrap();
        let text = text.replace('|', "");
        let cursor = Outline::read(&text, syntax).cursor(offset);
        let step = |step: &PathStep| match step {
            PathStep::Key(key) => key.clone(),
            PathStep::Index(index) => index.to_string(),
        };
        let path: Vec<String> = cursor.path.iter().map(step).collect();
        let written = |range: Range<usize>| text.get(range).unwrap();
        let role = match cursor.role {
            CursorRole::Key(range) => format!("key {}", written(range)),
            CursorRole::Header(range) => format!("header {}", written(range)),
            CursorRole::Value { text: Some(inner), .. } => format!("text {}", written(inner)),
            CursorRole::Value { whole, .. } => format!("value {}", written(whole).trim()),
            CursorRole::Comment => "comment".to_owned(),
        };
        (path.join("/"), role)
    }

    #[test]
    fn a_cursor_knows_where_it_is_in_toml() {
        let cases = [
            ("ki|", "", "key ki"),
            ("kind = \"lo|re\"\n", "kind", "text lore"),
            ("kind = |\n[[pass]]\n", "kind", "value "),
            ("[[pa|ss]]\n", "", "header pass"),
            ("[[pass]]\n[pass.wh|ere]\n", "pass/0", "header where"),
            ("[[pass]]\nname = 1\n[[pass]]\nd|o = 2\n", "pass/1", "key do"),
            ("[[pass]]\nname = 1\n|\n[[pass]]\n", "pass/0", "key "),
            ("[[pass]]\n[pass.where]\nro|\n", "pass/0/where", "key ro"),
            ("[[pass]]\nwhere = { ro|\n[[pass]]\n", "pass/0/where", "key ro"),
            ("[[pass]]\nwhere = { role = { in = [\"a\", \"|\n[[pass]]\n", "pass/0/where/role/in/1", "text "),
            ("[[pass]]\nedit.where.a|ny = 1\n", "pass/0/edit/where", "key any"),
            ("[[pass]]\nedit.where.any = \"|\"\n", "pass/0/edit/where/any", "text "),
            ("a = \"\"\"\nx|y\n\"\"\"\n", "a", "text \nxy\n"),
            ("a = 1 # no|\n", "", "comment"),
            ("a = [\n  { b = 1 },\n  { c| },\n]\n", "a/1", "key c"),
            ("[[pass]]\nset = { a = 1,\n  b = \"|\" }\n", "pass/0/set/b", "text "),
        ];
        for (text, path, role) in cases {
            assert_eq!(at(text, Syntax::Toml), (path.to_owned(), role.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_cursor_knows_where_it_is_in_json() {
        let cases = [
            ("{ \"ki|nd\": \"lore\" }", "", "key \"kind\""),
            ("{ \"kind\": \"lo|re\" }", "kind", "text lore"),
            ("{ \"pass\": [ { \"do\": \"|", "pass/0/do", "text "),
            ("{ \"pass\": [ { \"a\": 1, | } ] }", "pass/0", "key "),
            ("{\n \"pass\": [\n  { \"where\": { \"x|\" } } ] }", "pass/0/where", "key \"x\""),
        ];
        for (text, path, role) in cases {
            assert_eq!(at(text, Syntax::Json), (path.to_owned(), role.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn any_text_has_an_outline() {
        for text in [
            "[",
            "[[",
            "]",
            "{",
            "}",
            "=",
            "\"",
            "'''",
            "a=[[[",
            "a={b={c=",
            "\\",
            "a = \"\\",
            "ä=\u{1F600}",
            "[[a]]\n[a.b]\n[[a.b]]\n[a.b.c]",
            "{{{{",
            "[{[{",
            ",,,",
            "a.b.",
            "[a]\n[a.a]\n[[a]]",
        ] {
            for syntax in [Syntax::Toml, Syntax::Json] {
                let outline = Outline::read(text, syntax);
                (0..=text.len()).for_each(|offset| _ = outline.cursor(offset));
            }
        }
        let deep = "[".repeat(10_000);
        _ = Outline::read(&format!("a = {deep}"), Syntax::Toml).cursor(5_000);
    }
}
