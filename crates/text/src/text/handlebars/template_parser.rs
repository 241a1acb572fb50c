//! From a template's text to its parts: content, tags, and blocks with their contents.

use std::ops::Range;

use crate::text::{Mistake, TextError};

use super::tag::{StripSides, Tag, TagKind, read};
use super::{LIMITS, TagBlock, TagCall, TemplateNode, UnknownNames};

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
