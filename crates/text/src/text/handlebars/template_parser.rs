//! From a template's text to its parts: content, tags, and blocks with their contents.

use std::ops::Range;

use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::Pair;

use super::{LIMITS, TagArg, TagBlock, TagCall, TagPath, TemplateNode, UnknownNames};
use crate::model::Value;
use crate::text::{Mistake, TextError};

/// A part of a template before white space is stripped.
pub(super) enum TemplatePart {
    Content(TextContent),
    Put(TemplateNode, StripSides),
    Comment(StripSides),
    Block(Box<BlockPart>),
}

/// Text between tags.
#[derive(Default)]
pub(super) struct TextContent {
    /// As written.
    pub original: Box<str>,
    /// The text after stripping.
    pub value: String,
    pub left_stripped: bool,
    pub right_stripped: bool,
}

pub(super) struct BlockPart {
    pub call: TagCall,
    pub then: Option<Vec<TemplatePart>>,
    pub otherwise: Option<Vec<TemplatePart>>,
    /// `otherwise` is the one block that `{{else name}}` opened.
    pub chained: bool,
    /// It is such a block itself.
    pub chain: bool,
    pub open: StripSides,
    pub middle: StripSides,
    pub close: StripSides,
}

/// The parts of a template.
pub(super) fn parts(text: &str, unknown: UnknownNames) -> Result<Vec<TemplatePart>, Mistake> {
    let mut tree = TreeBuilder { text, unknown, done: Vec::new(), open: Vec::new() };
    let (mut done, mut from) = (0, 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("{{")).map(|found| from + found) {
        let before = text.get(done..at).unwrap_or_default();
        if unknown == UnknownNames::Asked && before.ends_with('\\') {
            let escaped = !before.ends_with("\\\\");
            tree.content(before.strip_suffix('\\').unwrap_or_default());
            if escaped {
                // a tag behind a backslash is text
                done = end_of_escaped(text, at);
                from = done;
                tree.content(text.get(at..done).unwrap_or_default());
                continue;
            }
            done = at;
        }
        let Some(tag) = read(text, at, unknown)?.filter(|tag| tree.takes(tag)) else {
            from = at + 2;
            continue;
        };
        tree.content(text.get(done..at).unwrap_or_default());
        done = tag.range.end;
        from = done;
        tree.tag(tag)?;
    }
    tree.content(text.get(done..).unwrap_or_default());
    tree.finish()
}

/// The end of the text that an escaped tag begins: the next tag, escaped or not.
fn end_of_escaped(text: &str, at: usize) -> usize {
    let rest = text.get(at + 2..).unwrap_or_default();
    match rest.find("{{") {
        None => text.len(),
        Some(next) => {
            let before = rest.get(..next).unwrap_or_default();
            let slashes = before.len() - before.trim_end_matches('\\').len();
            at + 2 + next - slashes.min(2)
        }
    }
}

/// An open block.
struct OpenSection {
    call: TagCall,
    offset: usize,
    open: StripSides,
    middle: StripSides,
    inverted: bool,
    /// Opened by `{{else name}}`: closed together with the block around it.
    chained: bool,
    first: Vec<TemplatePart>,
    second: Option<Vec<TemplatePart>>,
}

struct TreeBuilder<'t> {
    text: &'t str,
    unknown: UnknownNames,
    done: Vec<TemplatePart>,
    open: Vec<OpenSection>,
}

impl TreeBuilder<'_> {
    fn add(&mut self, part: TemplatePart) {
        match self.open.last_mut() {
            None => self.done.push(part),
            Some(open) => open.second.as_mut().unwrap_or(&mut open.first).push(part),
        }
    }

    fn content(&mut self, text: &str) {
        if !text.is_empty() {
            self.add(TemplatePart::Content(TextContent { original: text.into(), value: text.to_owned(), ..TextContent::default() }));
        }
    }

    /// Whether the tag is a tag here. Outside of a block, an `{{else}}` is text if unknown tags stay.
    fn takes(&self, tag: &Tag) -> bool {
        self.unknown == UnknownNames::Asked || !self.open.is_empty() || !matches!(tag.kind, TagKind::Else | TagKind::Chain(_))
    }

    fn tag(&mut self, tag: Tag) -> Result<(), Mistake> {
        let Tag { kind, strip, range } = tag;
        let at = range.start;
        match kind {
            TagKind::Comment => self.add(TemplatePart::Comment(strip)),
            TagKind::Put(node) => self.add(TemplatePart::Put(node, strip)),
            TagKind::Open(call) => return self.begin(call, strip, at, false, false),
            TagKind::OpenInverse(call) => return self.begin(call, strip, at, true, false),
            TagKind::Else => self.switch(strip, at)?,
            TagKind::Chain(call) => {
                self.switch(strip, at)?;
                return self.begin(call, strip, at, false, true);
            }
            TagKind::Close(name) => return self.end(&name, strip, &range),
        }
        Ok(())
    }

    fn begin(&mut self, call: TagCall, open: StripSides, offset: usize, inverted: bool, chained: bool) -> Result<(), Mistake> {
        if self.open.len() >= LIMITS.depth {
            return Err(Mistake::bound(offset, format!("blocks are nested deeper than {}", LIMITS.depth)));
        }
        let middle = StripSides::default();
        self.open.push(OpenSection { call, offset, open, middle, inverted, chained, first: Vec::new(), second: None });
        Ok(())
    }

    fn switch(&mut self, strip: StripSides, at: usize) -> Result<(), Mistake> {
        let Some(open) = self.open.last_mut() else {
            return Err(Mistake::at(at, "this `{{else}}` is not in a block"));
        };
        if open.second.is_some() {
            return Err(Mistake::at(at, format!("this `{{{{#{}}}}}` has a second `{{{{else}}}}`", open.call.path.name)));
        }
        open.middle = strip;
        open.second = Some(Vec::new());
        Ok(())
    }

    fn end(&mut self, name: &str, close: StripSides, tag: &Range<usize>) -> Result<(), Mistake> {
        let written = self.text.get(tag.clone()).unwrap_or_default();
        loop {
            let Some(open) = self.open.pop() else {
                return Err(Mistake::at(tag.start, format!("`{written}` closes nothing")));
            };
            let (chained, opened) = (open.chained, &*open.call.path.name);
            if !chained && opened != name {
                let line = TextError::at(self.text, open.offset, "").line;
                let message = format!("`{written}` closes the `{{{{#{opened}}}}}` of line {line}; write `{{{{/{opened}}}}}`");
                return Err(Mistake::at(tag.start, message));
            }
            self.add(open.into_part(close));
            if !chained {
                return Ok(());
            }
        }
    }

    fn finish(self) -> Result<Vec<TemplatePart>, Mistake> {
        match self.open.iter().rfind(|open| !open.chained) {
            None => Ok(self.done),
            Some(open) => Err(Mistake::at(open.offset, format!("this `{{{{#{0}}}}}` has no `{{{{/{0}}}}}`", open.call.path.name))),
        }
    }
}

impl OpenSection {
    fn into_part(self, close: StripSides) -> TemplatePart {
        let chained = matches!(self.second.as_deref(), Some([TemplatePart::Block(inner)]) if inner.chain);
        let (then, otherwise) = match (self.inverted, self.second) {
            (false, second) => (Some(self.first), second),
            (true, second) => (second, Some(self.first)),
        };
        let (open, middle, chain) = (self.open, self.middle, self.chained);
        TemplatePart::Block(Box::new(BlockPart { call: self.call, then, otherwise, chained, chain, open, middle, close }))
    }
}

/// The nodes that are rendered. Depth has been bounded by the parser.
pub(super) fn nodes(parts: Vec<TemplatePart>) -> Vec<TemplateNode> {
    let mut out: Vec<TemplateNode> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            TemplatePart::Comment(_) => {}
            TemplatePart::Content(content) if content.value.is_empty() => {}
            TemplatePart::Content(content) => out.push(TemplateNode::Text(content.value.into())),
            TemplatePart::Put(node, _) => out.push(node),
            TemplatePart::Block(block) => {
                let BlockPart { call, then, otherwise, .. } = *block;
                out.push(TemplateNode::Block(Box::new(TagBlock { call, then: then.map(nodes), otherwise: otherwise.map(nodes) })));
            }
        }
    }
    out
}

// One tag of a template, read by `grammar/handlebars.pest`: its kind, its call, and the white space that it strips.

/// Longest tag that is not a comment, in bytes.
const LONGEST: usize = 1 << 16;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/handlebars.pest"]
struct TagGrammar;

/// A tag.
pub(super) struct Tag {
    pub kind: TagKind,
    pub strip: StripSides,
    /// Its position, in bytes.
    pub range: Range<usize>,
}

pub(super) enum TagKind {
    Comment,
    Put(TemplateNode),
    /// `{{#name}}`
    Open(TagCall),
    /// `{{^name}}`
    OpenInverse(TagCall),
    /// `{{else}}` or `{{^}}`
    Else,
    /// `{{else name}}`
    Chain(TagCall),
    /// `{{/name}}`
    Close(Box<str>),
}

/// The sides that have a `~`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StripSides {
    pub open: bool,
    pub close: bool,
}

/// Parses the tag at `at`; `None` if it is unknown and therefore text.
pub(super) fn read(text: &str, at: usize, unknown: UnknownNames) -> Result<Option<Tag>, Mistake> {
    match unknown {
        UnknownNames::Asked => whole(text, at).map(Some),
        UnknownNames::Stays => known(text, at),
    }
}

/// Any tag of the language.
fn whole(text: &str, at: usize) -> Result<Tag, Mistake> {
    let rest = text.get(at..).unwrap_or_default();
    let is_comment = rest.starts_with("{{!") || rest.starts_with("{{~!");
    let rest = if is_comment { rest } else { bounded(rest, at)? };
    let tag = TagGrammar::parse(Rule::tag, rest).map_err(|error| {
        let offset = match error.location {
            InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
        };
        if is_comment { Mistake::at(at, "the comment is not closed") } else { unreadable(at + offset) }
    });
    let tag = tag?.next().ok_or_else(|| unreadable(at))?;
    let range = at..at + tag.as_str().len();
    let mut inside = tag.into_inner().peekable();
    let open = inside.next_if(|pair| pair.as_rule() == Rule::left).is_some();
    let inner = inside.next().ok_or_else(|| unreadable(at))?;
    let close = inner.clone().into_inner().any(|pair| pair.as_rule() == Rule::right);
    Ok(Tag { kind: kind(inner, at)?, strip: StripSides { open, close }, range })
}

fn unreadable(at: usize) -> Mistake {
    Mistake::at(at, "the tag cannot be read here")
}

fn kind(pair: Pair<'_, Rule>, at: usize) -> Result<TagKind, Mistake> {
    let refused = |what: &str| Err(Mistake::at(at, format!("{what} are not supported")));
    let rule = pair.as_rule();
    match rule {
        Rule::comment => return Ok(TagKind::Comment),
        Rule::otherwise => return Ok(TagKind::Else),
        Rule::raw_block => return refused("raw blocks"),
        Rule::partial => return refused("partials"),
        Rule::decorator => return refused("decorators"),
        _ => {}
    }
    let inner = pair.into_inner().next().ok_or_else(|| unreadable(at))?;
    Ok(match rule {
        Rule::begin => TagKind::Open(call(inner, at)?),
        Rule::inverse => TagKind::OpenInverse(call(inner, at)?),
        Rule::chain => TagKind::Chain(call(inner, at)?),
        Rule::end => TagKind::Close(callee(&inner, at)?.name),
        _ => TagKind::Put(TemplateNode::Put(call(inner, at)?)),
    })
}

/// The text up to the end of the tag at its start. The nesting of brackets is checked, because the grammar recurses
/// with them.
fn bounded(rest: &str, at: usize) -> Result<&str, Mistake> {
    let mut depth = 0_usize;
    let mut until = None;
    let mut escaped = false;
    for (n, byte) in rest.bytes().enumerate().skip(2) {
        if n >= LONGEST {
            return Err(Mistake::bound(at, format!("the tag is longer than {LONGEST} bytes")));
        }
        match (until, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(end), b'\\') if end != b']' => escaped = true,
            (Some(end), byte) if end == byte => until = None,
            (Some(_), _) => {}
            (None, b'[') => until = Some(b']'),
            (None, b'"' | b'\'') => until = Some(byte),
            (None, b'(') if depth >= LIMITS.depth => {
                return Err(Mistake::bound(at + n, format!("calls are nested deeper than {}", LIMITS.depth)));
            }
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.saturating_sub(1),
            // no tag continues after its braces; up to four of them show which tag it is
            (None, b'}') => return Ok(rest.get(..rest.floor_char_boundary(n + 5)).unwrap_or(rest)),
            (None, _) => {}
        }
    }
    Ok(rest)
}

fn call(pair: Pair<'_, Rule>, at: usize) -> Result<TagCall, Mistake> {
    let mut inner = pair.into_inner();
    let first = inner.next().ok_or_else(|| unreadable(at))?;
    let mut call = TagCall { offset: at + first.as_span().start(), path: callee(&first, at)?, args: Vec::new(), named: Vec::new() };
    for pair in inner {
        if pair.as_rule() == Rule::named {
            let mut parts = pair.into_inner();
            if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                call.named.push((key.as_str().into(), arg(value, at)?));
            }
        } else {
            call.args.push(arg(pair, at)?);
        }
    }
    Ok(call)
}

/// The first part of a call.
fn callee(pair: &Pair<'_, Rule>, at: usize) -> Result<TagPath, Mistake> {
    Ok(match pair.as_rule() {
        Rule::path => path(pair.clone(), at)?,
        Rule::string => TagPath::plain(&unquoted(pair.as_str())),
        _ => TagPath::plain(pair.as_str()),
    })
}

/// Depth is bounded by [`bounded`].
fn arg(pair: Pair<'_, Rule>, at: usize) -> Result<TagArg, Mistake> {
    Ok(match pair.as_rule() {
        Rule::path => TagArg::Path(path(pair, at)?),
        Rule::string => TagArg::Value(Value::text(unquoted(pair.as_str()))),
        Rule::sub => TagArg::Call(Box::new(call(pair.into_inner().next().ok_or_else(|| unreadable(at))?, at)?)),
        _ => TagArg::Value(literal(pair.as_str())),
    })
}

fn literal(word: &str) -> Value {
    match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" | "undefined" => Value::Null,
        number => number.parse().map(Value::Int).or_else(|_| number.parse().map(Value::Num)).unwrap_or_default(),
    }
}

/// A quoted text without its quotes. A backslash is literal, except before the quote.
fn unquoted(written: &str) -> String {
    let quote = written.chars().next().unwrap_or('"');
    let inner = written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).unwrap_or_default();
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(next)) => {
                chars.next();
                if next != quote {
                    out.push('\\');
                }
                out.push(next);
            }
            _ => out.push(c),
        }
    }
    out
}

fn path(pair: Pair<'_, Rule>, at: usize) -> Result<TagPath, Mistake> {
    let end = at + pair.as_span().end();
    let mut path = TagPath::default();
    let (mut name, mut scoped) = (String::new(), false);
    for part in pair.into_inner() {
        let written = part.as_str();
        match part.as_rule() {
            Rule::data => {
                path.data = true;
                continue;
            }
            Rule::step => {
                name.push_str(written);
                continue;
            }
            Rule::quoted => {
                let inner = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or_default();
                name.push_str(inner);
                path.parts.push(inner.into());
                continue;
            }
            _ => {}
        }
        scoped |= name.is_empty() && written.starts_with('.');
        name.push_str(written);
        match written {
            "." | "this" | ".." if !path.parts.is_empty() => return Err(Mistake::at(end, format!("`{name}` is not a path"))),
            ".." => path.up += 1,
            "." | "this" => scoped = true,
            _ => path.parts.push(written.into()),
        }
    }
    path.simple = path.parts.len() == 1 && path.up == 0 && !scoped;
    path.helper = path.simple && is_helper(&name);
    path.name = name.into();
    Ok(path)
}

impl TagPath {
    /// A path of one name.
    fn plain(name: &str) -> Self {
        Self { parts: vec![name.into()], simple: true, helper: is_helper(name), name: name.into(), ..Self::default() }
    }
}

fn is_helper(name: &str) -> bool {
    ["if", "unless", "each", "with", "lookup", "log", "trim"].contains(&name)
}

/// A tag that is a field, `if`, `unless` or `else`; `None` for any other.
fn known(text: &str, at: usize) -> Result<Option<Tag>, Mistake> {
    let rest = text.get(at..).unwrap_or_default();
    let Some(tag) = TagGrammar::parse(Rule::known, braced(rest)).ok().and_then(|mut tags| tags.next()) else { return Ok(None) };
    let range = at..at + tag.as_str().len();
    let Some(tag) = tag.into_inner().next() else { return Ok(None) };
    let rule = tag.as_rule();
    let (mut word, mut field) = ("", "");
    let mut offset = at;
    for part in tag.into_inner() {
        match part.as_rule() {
            Rule::word => (word, offset) = (part.as_str(), at + part.as_span().start()),
            _ => field = part.as_str(),
        }
    }
    let block = || {
        let asked = TagPath { helper: false, ..TagPath::plain(field) };
        TagCall { path: TagPath::plain(word), args: vec![TagArg::Path(asked)], named: Vec::new(), offset }
    };
    let kind = match rule {
        Rule::known_begin => TagKind::Open(block()),
        Rule::known_otherwise if word.is_empty() => TagKind::Else,
        Rule::known_otherwise => TagKind::Chain(block()),
        Rule::known_end => TagKind::Close(word.into()),
        Rule::known_broken => return Err(Mistake::at(at, "this block tag is not finished or has not exactly one name")),
        _ => TagKind::Put(TemplateNode::Field { name: field.into(), tag: range.clone() }),
    };
    Ok(Some(Tag { kind, strip: StripSides::default(), range }))
}

/// The text up to the braces that end the tag at its start; no known tag contains braces. Reading no further keeps the
/// time linear for a text full of braces.
fn braced(rest: &str) -> &str {
    let opened = rest.bytes().take(3).take_while(|b| *b == b'{').count();
    let inside = rest.bytes().skip(opened).position(|b| matches!(b, b'{' | b'}')).map_or(rest.len(), |n| n + opened);
    let closed = rest.bytes().skip(inside).take(3).take_while(|b| *b == b'}').count();
    rest.get(..inside + closed).unwrap_or(rest)
}
