//! From a checked file to the compiled form: slots get indexes, and the layout refers to slots by index.

use std::collections::HashMap;
use std::sync::Arc;

use super::form::{FramePiece, LayoutNode, Slot, SlotNode, SourceLoop, Template};
use super::parts::{self, PartResult};
use super::revision::Revision;
use super::walk::in_order;
use crate::diag::{DocumentNode, limits};

/// Reads a whole template.
pub(super) fn template(root: &DocumentNode, revision: &Arc<Revision>) -> PartResult<Template> {
    let written = in_order(parts::table(root, "slots")?);
    let places = written.iter().enumerate().map(|(place, (name, _))| (*name, place)).collect();
    let reader = TemplateReader { revision, places };
    let slots: Box<[Slot]> = written.iter().map(|(name, node)| reader.slot(name, node)).collect::<PartResult<_>>()?;
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|place| slots.get(*place).map(|slot| slot.priority));
    let layout = parts::list(root, "layout")?.iter().map(|node| reader.layout(node)).collect::<PartResult<_>>()?;
    let lanes = match root.get("attachments").filter(|_| revision.knows_anchors) {
        Some(_) => parts::list(root, "attachments")?.iter().map(|node| parts::lane(node, revision)).collect::<PartResult<_>>()?,
        None => Box::default(),
    };
    Ok(Template {
        id: parts::text(root, "id")?,
        name: parts::text(root, "name")?,
        task: parts::text(root, "task")?,
        revision: revision.clone(),
        layout,
        slots,
        order: order.into(),
        lanes,
        lengths: Default::default(),
    })
}

struct TemplateReader<'a> {
    revision: &'a Revision,
    places: HashMap<&'a str, usize>,
}

impl TemplateReader<'_> {
    fn slot(&self, name: &str, node: &DocumentNode) -> PartResult<Slot> {
        Ok(Slot {
            name: Arc::from(name),
            priority: parts::whole(node, "priority")?.ok_or_else(|| parts::lacks(node, "priority"))?,
            when: parts::condition_of(node)?,
            budget: parts::budget(node)?,
            plan: self.plan(node, "plan", 0)?,
        })
    }

    fn layout(&self, node: &DocumentNode) -> PartResult<LayoutNode> {
        match parts::word(node, "kind")? {
            "message" => Ok(LayoutNode::Message(parts::block(node, self.revision)?)),
            "slot" => {
                let name = parts::word(node, "name")?;
                Ok(LayoutNode::Slot {
                    slot: self.places.get(name).copied().ok_or_else(|| parts::misfit(node, "the name of a slot"))?,
                    header: self.frames(node, "header")?,
                    footer: self.frames(node, "footer")?,
                    omit_if_empty: parts::flag(node, "omitIfEmpty")?.unwrap_or(true),
                })
            }
            "anchor" if self.revision.knows_anchors => Ok(LayoutNode::Anchor(parts::anchor(node, self.revision)?)),
            _ => Err(parts::misfit(node, "a node of a layout")),
        }
    }

    /// Reads a header or footer: a single element or a list of them.
    fn frames(&self, node: &DocumentNode, key: &str) -> PartResult<Box<[FramePiece]>> {
        match node.get(key) {
            None => Ok(Box::default()),
            Some(written) => written.as_list().unwrap_or(std::slice::from_ref(written)).iter().map(|node| self.frame(node)).collect(),
        }
    }

    fn frame(&self, node: &DocumentNode) -> PartResult<FramePiece> {
        if parts::is_anchor(node, self.revision) {
            return Ok(FramePiece::Anchor(parts::anchor(node, self.revision)?));
        }
        Ok(FramePiece::Message(parts::block(node, self.revision)?))
    }

    /// Reads a list of nodes. A file cannot nest deeper than `depth`, but a caller's own tree can.
    fn plan(&self, node: &DocumentNode, key: &str, depth: usize) -> PartResult<Box<[SlotNode]>> {
        if depth >= limits::NESTING {
            return Err(parts::misfit(node, "a plan of so many levels"));
        }
        parts::list(node, key)?.iter().map(|node| self.step(node, depth + 1)).collect()
    }

    fn step(&self, node: &DocumentNode, depth: usize) -> PartResult<SlotNode> {
        match parts::word(node, "kind")? {
            "message" => Ok(SlotNode::Message(parts::block(node, self.revision)?, parts::budget(node)?)),
            "forEach" => Ok(SlotNode::Each(Box::new(self.each(node, depth)?))),
            "if" => Ok(SlotNode::If {
                when: parts::condition_of(node)?.ok_or_else(|| parts::lacks(node, "when"))?,
                then: self.plan(node, "then", depth)?,
                otherwise: if node.get("else").is_some() { self.plan(node, "else", depth)? } else { Box::default() },
            }),
            "anchor" if self.revision.knows_anchors => Ok(SlotNode::Anchor(parts::anchor(node, self.revision)?)),
            _ => Err(parts::misfit(node, "a node of a plan")),
        }
    }

    fn each(&self, node: &DocumentNode, depth: usize) -> PartResult<SourceLoop> {
        let flags = self.revision.knows_flags;
        let source = node.get("source").ok_or_else(|| parts::lacks(node, "source"))?;
        let text = node.get("interleave").filter(|_| flags).and_then(|i| i.get("text")).and_then(DocumentNode::as_text);
        Ok(SourceLoop {
            source: parts::data_ref(source)?,
            map: self.plan(node, "map", depth)?,
            order: parts::order(node)?,
            prepend: node.get("fillDir").and_then(DocumentNode::as_text) == Some("prepend"),
            limit: parts::whole(node, "limit")?,
            separator: text.map(|text| parts::leaf(text, self.revision)),
            budget: parts::budget(node)?,
            stops: if flags { parts::flag(node, "stopWhenOutOfBudget")?.unwrap_or(true) } else { true },
        })
    }
}
