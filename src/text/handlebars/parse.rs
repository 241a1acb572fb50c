//! From a template's text to its parts: content, tags, and blocks with what stands in them.

use crate::text::Mistake;

use super::tag::{Kind, Strip, read};
use super::{Block, Call, LIMITS, Node, Path};

/// A part of a template while white space is still to be decided on.
pub(super) enum Part {
    Content(Content),
    Put(Call, Strip),
    Comment(Strip),
    Block(Box<BlockPart>),
}

/// Text between tags.
#[derive(Default)]
pub(super) struct Content {
    /// As written.
    pub original: Box<str>,
    /// What is left of it.
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
pub(super) fn parts(text: &str) -> Result<Vec<Part>, Mistake> {
    let mut tree = Tree::default();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("{{")) {
        let tag_at = at + found;
        let before = text.get(at..tag_at).unwrap_or_default();
        if let Some(plain) = before.strip_suffix('\\').filter(|b| !b.ends_with('\\')) {
            // a tag behind a backslash is text
            tree.content(plain);
            let end = end_of_escaped(text, tag_at);
            tree.content(text.get(tag_at..end).unwrap_or_default());
            at = end;
            continue;
        }
        tree.content(if before.ends_with("\\\\") { before.strip_suffix('\\').unwrap_or_default() } else { before });
        let tag = read(text, tag_at)?;
        at = tag.end;
        tree.tag(tag.kind, tag.strip, tag_at)?;
    }
    tree.content(text.get(at..).unwrap_or_default());
    tree.finish()
}

/// Where the text ends that an escaped tag begins: at the next tag, escaped or not.
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
struct Open {
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

#[derive(Default)]
struct Tree {
    done: Vec<Part>,
    open: Vec<Open>,
}

impl Tree {
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

    fn tag(&mut self, kind: Kind, strip: Strip, at: usize) -> Result<(), Mistake> {
        match kind {
            Kind::Comment => self.add(Part::Comment(strip)),
            Kind::Put(call) => self.add(Part::Put(call, strip)),
            Kind::Open(call) => return self.begin(call, strip, at, false, false),
            Kind::OpenInverse(call) => return self.begin(call, strip, at, true, false),
            Kind::Else => self.switch(strip, at)?,
            Kind::Chain(call) => {
                self.switch(strip, at)?;
                return self.begin(call, strip, at, false, true);
            }
            Kind::Close(path) => return self.end(&path, strip, at),
        }
        Ok(())
    }

    fn begin(&mut self, call: Call, open: Strip, offset: usize, inverted: bool, chained: bool) -> Result<(), Mistake> {
        if self.open.len() >= LIMITS.depth {
            return Err(Mistake::bound(offset, format!("blocks are nested deeper than {}", LIMITS.depth)));
        }
        let middle = Strip::default();
        self.open.push(Open { call, offset, open, middle, inverted, chained, first: Vec::new(), second: None });
        Ok(())
    }

    fn switch(&mut self, strip: Strip, at: usize) -> Result<(), Mistake> {
        let Some(open) = self.open.last_mut() else {
            return Err(Mistake::at(at, "`{{else}}` stands in no block"));
        };
        if open.second.is_some() {
            return Err(Mistake::at(at, format!("`{{{{#{}}}}}` has a second `{{{{else}}}}`", open.call.path.name)));
        }
        open.middle = strip;
        open.second = Some(Vec::new());
        Ok(())
    }

    fn end(&mut self, path: &Path, close: Strip, at: usize) -> Result<(), Mistake> {
        loop {
            let Some(open) = self.open.pop() else {
                return Err(Mistake::at(at, format!("`{{{{/{}}}}}` closes nothing", path.name)));
            };
            let (chained, matches) = (open.chained, open.call.path.name == path.name);
            if !chained && !matches {
                let message = format!("`{{{{/{}}}}}` closes `{{{{#{}}}}}`", path.name, open.call.path.name);
                return Err(Mistake::at(at, message));
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
            Some(open) => Err(Mistake::at(open.offset, format!("`{{{{#{}}}}}` is not closed", open.call.path.name))),
        }
    }
}

impl Open {
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

/// The parts as they are rendered; depth is bounded while reading.
pub(super) fn nodes(parts: Vec<Part>) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Comment(_) => {}
            Part::Content(content) if content.value.is_empty() => {}
            Part::Content(content) => out.push(Node::Text(content.value.into())),
            Part::Put(call, _) => out.push(Node::Put(call)),
            Part::Block(block) => {
                let BlockPart { call, then, otherwise, .. } = *block;
                out.push(Node::Block(Box::new(Block { call, then: then.map(nodes), otherwise: otherwise.map(nodes) })));
            }
        }
    }
    out
}
