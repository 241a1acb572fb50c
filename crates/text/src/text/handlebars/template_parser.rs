//! From a template's text to its parts: content, tags, and blocks with their contents.

use std::ops::Range;

use crate::text::{Mistake, TextError};

use super::tag::{Kind, Strip, Tag, read};
use super::{Block, Call, LIMITS, Node, UnknownNames};

/// A part of a template before white space is stripped.
pub(super) enum Part {
    Content(Content),
    Put(Node, Strip),
    Comment(Strip),
    Block(Box<BlockPart>),
}

/// Text between tags.
#[derive(Default)]
pub(super) struct Content {
    /// As written.
    pub original: Box<str>,
    /// The text after stripping.
    pub value: String,
    pub left_stripped: bool,
    pub right_stripped: bool,
}

pub(super) struct BlockPart {
    pub call: Call,
    pub then: Option<Vec<Part>>,
    pub otherwise: Option<Vec<Part>>,
    /// `otherwise` is the one block that `{{else name}}` opened.
    pub chained: bool,
    /// It is such a block itself.
    pub chain: bool,
    pub open: Strip,
    pub middle: Strip,
    pub close: Strip,
}

/// The parts of a template.
pub(super) fn parts(text: &str, unknown: UnknownNames) -> Result<Vec<Part>, Mistake> {
    let mut tree = Tree { text, unknown, done: Vec::new(), open: Vec::new() };
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
    call: Call,
    offset: usize,
    open: Strip,
    middle: Strip,
    inverted: bool,
    /// Opened by `{{else name}}`: closed together with the block around it.
    chained: bool,
    first: Vec<Part>,
    second: Option<Vec<Part>>,
}

struct Tree<'t> {
    text: &'t str,
    unknown: UnknownNames,
    done: Vec<Part>,
    open: Vec<OpenSection>,
}

impl Tree<'_> {
    fn add(&mut self, part: Part) {
        match self.open.last_mut() {
            None => self.done.push(part),
            Some(open) => open.second.as_mut().unwrap_or(&mut open.first).push(part),
        }
    }

    fn content(&mut self, text: &str) {
        if !text.is_empty() {
            self.add(Part::Content(Content { original: text.into(), value: text.to_owned(), ..Content::default() }));
        }
    }

    /// Whether the tag is a tag here. Outside of a block, an `{{else}}` is text if unknown tags stay.
    fn takes(&self, tag: &Tag) -> bool {
        self.unknown == UnknownNames::Asked || !self.open.is_empty() || !matches!(tag.kind, Kind::Else | Kind::Chain(_))
    }

    fn tag(&mut self, tag: Tag) -> Result<(), Mistake> {
        let Tag { kind, strip, range } = tag;
        let at = range.start;
        match kind {
            Kind::Comment => self.add(Part::Comment(strip)),
            Kind::Put(node) => self.add(Part::Put(node, strip)),
            Kind::Open(call) => return self.begin(call, strip, at, false, false),
            Kind::OpenInverse(call) => return self.begin(call, strip, at, true, false),
            Kind::Else => self.switch(strip, at)?,
            Kind::Chain(call) => {
                self.switch(strip, at)?;
                return self.begin(call, strip, at, false, true);
            }
            Kind::Close(name) => return self.end(&name, strip, &range),
        }
        Ok(())
    }

    fn begin(&mut self, call: Call, open: Strip, offset: usize, inverted: bool, chained: bool) -> Result<(), Mistake> {
        if self.open.len() >= LIMITS.depth {
            return Err(Mistake::bound(offset, format!("blocks are nested deeper than {}", LIMITS.depth)));
        }
        let middle = Strip::default();
        self.open.push(OpenSection { call, offset, open, middle, inverted, chained, first: Vec::new(), second: None });
        Ok(())
    }

    fn switch(&mut self, strip: Strip, at: usize) -> Result<(), Mistake> {
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

    fn end(&mut self, name: &str, close: Strip, tag: &Range<usize>) -> Result<(), Mistake> {
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

    fn finish(self) -> Result<Vec<Part>, Mistake> {
        match self.open.iter().rfind(|open| !open.chained) {
            None => Ok(self.done),
            Some(open) => Err(Mistake::at(open.offset, format!("this `{{{{#{0}}}}}` has no `{{{{/{0}}}}}`", open.call.path.name))),
        }
    }
}

impl OpenSection {
    fn into_part(self, close: Strip) -> Part {
        let chained = matches!(self.second.as_deref(), Some([Part::Block(inner)]) if inner.chain);
        let (then, otherwise) = match (self.inverted, self.second) {
            (false, second) => (Some(self.first), second),
            (true, second) => (second, Some(self.first)),
        };
        let (open, middle, chain) = (self.open, self.middle, self.chained);
        Part::Block(Box::new(BlockPart { call: self.call, then, otherwise, chained, chain, open, middle, close }))
    }
}

/// The nodes that are rendered. Depth has been bounded by the parser.
pub(super) fn nodes(parts: Vec<Part>) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Comment(_) => {}
            Part::Content(content) if content.value.is_empty() => {}
            Part::Content(content) => out.push(Node::Text(content.value.into())),
            Part::Put(node, _) => out.push(node),
            Part::Block(block) => {
                let BlockPart { call, then, otherwise, .. } = *block;
                out.push(Node::Block(Box::new(Block { call, then: then.map(nodes), otherwise: otherwise.map(nodes) })));
            }
        }
    }
    out
}
