//! The layout: the order of messages, with frames around slots.
//!
//! One revision pays for the layout's own texts after the slots, from the remaining budget. The other prints them
//! first, holds their cost in a reserve of the lane `layout`, and places them from it.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::budget::LimitMeter;
use super::plan::message;
use super::{Message, OutputPiece, RenderError, RenderRun};
use crate::template::form::{FramePiece, LayoutNode, MessageBlock, Template};

/// The conversation under construction. One message can occur at several places.
#[derive(Default)]
pub(super) struct DraftConversation {
    /// The messages.
    pub(super) cells: Vec<Message>,
    /// The order of the messages: indexes of `cells`.
    pub(super) order: Vec<usize>,
    /// Named points, as the number of messages before them.
    pub(super) anchors: Vec<(Arc<str>, usize)>,
}

impl DraftConversation {
    fn push(&mut self, message: Message) {
        self.order.push(self.cells.len());
        self.cells.push(message);
    }

    fn anchor(&mut self, key: Arc<str>) {
        self.anchors.push((key, self.order.len()));
    }
}

/// The layout with its own texts printed, one element per node.
pub(super) struct PreparedLayout(Vec<PreparedNode>);

enum PreparedNode {
    Nothing,
    Message(Message, u64),
    Anchor(Arc<str>),
    Slot { header: Vec<PreparedNode>, footer: Vec<PreparedNode> },
}

impl PreparedLayout {
    /// The cost of all of it, in tokens.
    pub(super) fn cost(&self) -> u64 {
        self.0.iter().map(PreparedNode::cost).fold(0, u64::saturating_add)
    }
}

impl PreparedNode {
    fn cost(&self) -> u64 {
        match self {
            PreparedNode::Message(_, cost) => *cost,
            PreparedNode::Slot { header, footer } => header.iter().chain(footer).map(PreparedNode::cost).fold(0, u64::saturating_add),
            PreparedNode::Nothing | PreparedNode::Anchor(_) => 0,
        }
    }
}

/// The content of a slot, and the places of its messages once they have been placed.
struct FilledSlot {
    pieces: Vec<OutputPiece>,
    /// Whether it holds a message and not only points.
    speaks: bool,
    cells: Vec<usize>,
    placed: bool,
}

fn filled(slots: Vec<Vec<OutputPiece>>) -> Vec<FilledSlot> {
    let fill = |pieces: Vec<OutputPiece>| {
        let speaks = pieces.iter().any(|piece| matches!(piece, OutputPiece::Message(_)));
        FilledSlot { pieces, speaks, cells: Vec::new(), placed: false }
    };
    slots.into_iter().map(fill).collect()
}

impl RenderRun<'_, '_> {
    /// Builds the layout and pays for its texts on the way.
    pub(super) fn lay(&mut self, template: &Template, slots: Vec<Vec<OutputPiece>>) -> Result<DraftConversation, RenderError> {
        let (mut page, mut slots) = (DraftConversation::default(), filled(slots));
        for (n, node) in template.layout.iter().enumerate() {
            let laid = match node {
                LayoutNode::Message(block) => self.emit(block, &mut page).map(drop),
                LayoutNode::Anchor(anchor) => self.anchor(anchor).map(|key| key.into_iter().for_each(|key| page.anchor(key))),
                LayoutNode::Slot { slot, header, footer, omit_if_empty } => match slots.get_mut(*slot) {
                    Some(filled) if filled.speaks || !omit_if_empty => {
                        let top = self.frames(template, header, &mut page).map_err(|e| e.under("header"));
                        top.and_then(|()| self.place(template, filled, &mut page))
                            .and_then(|()| self.frames(template, footer, &mut page).map_err(|e| e.under("footer")))
                    }
                    _ => Ok(()),
                },
            };
            laid.map_err(|e| e.under(n).under("layout"))?;
        }
        Ok(page)
    }

    fn frames(&mut self, template: &Template, frames: &[FramePiece], page: &mut DraftConversation) -> Result<(), RenderError> {
        for (n, frame) in frames.iter().enumerate() {
            match frame {
                FramePiece::Message(block) => {
                    let fits = self.emit(block, page).map_err(|e| e.under(n))?;
                    if !fits && template.revision.frame_stops {
                        break;
                    }
                }
                FramePiece::Anchor(anchor) => self.anchor(anchor).map_err(|e| e.under(n))?.into_iter().for_each(|key| page.anchor(key)),
            }
        }
        Ok(())
    }

    /// Prints a block and adds its message. Returns false if the message did not fit; a block without text counts as
    /// fitting.
    fn emit(&mut self, block: &MessageBlock, page: &mut DraftConversation) -> Result<bool, RenderError> {
        self.meter.step(1)?;
        if !self.budget.has_any() {
            return Ok(false);
        }
        if !self.all(&block.when)? {
            return Ok(true);
        }
        let Some(text) = self.text(block)? else { return Ok(true) };
        if !self.budget.take(self.inputs.ruler.cost(&text)) {
            return Ok(false);
        }
        if !text.is_empty() {
            self.meter.keep(&text)?;
            page.push(message(block, text));
        }
        Ok(true)
    }

    /// Adds the content of a slot, which has been paid for. If messages are shared, every place gets the same ones.
    fn place(&mut self, template: &Template, filled: &mut FilledSlot, page: &mut DraftConversation) -> Result<(), RenderError> {
        if !filled.speaks {
            return Ok(());
        }
        let mut shared = filled.cells.iter().copied();
        let mut cells = Vec::new();
        for piece in &filled.pieces {
            match piece {
                OutputPiece::Anchor(key) => page.anchor(key.clone()),
                OutputPiece::Message(message) => {
                    if filled.placed {
                        self.meter.keep(&message.content)?;
                    }
                    match shared.next().filter(|_| template.revision.joins_shared) {
                        Some(cell) => page.order.push(cell),
                        None => page.push(message.clone()),
                    }
                    cells.extend(page.order.last());
                }
            }
        }
        filled.cells = cells;
        filled.placed = true;
        Ok(())
    }

    /// Prints the layout's own texts.
    pub(super) fn prepare(&mut self, template: &Template) -> Result<PreparedLayout, RenderError> {
        let mut ready = Vec::new();
        for (n, node) in template.layout.iter().enumerate() {
            let made = match node {
                LayoutNode::Message(block) => self.ready(block),
                LayoutNode::Anchor(anchor) => self.anchor(anchor).map(|key| key.map_or(PreparedNode::Nothing, PreparedNode::Anchor)),
                LayoutNode::Slot { header, footer, .. } => {
                    let header = self.ready_frames(header).map_err(|e| e.under("header"));
                    header.and_then(|header| {
                        let footer = self.ready_frames(footer).map_err(|e| e.under("footer"))?;
                        Ok(PreparedNode::Slot { header, footer })
                    })
                }
            };
            ready.push(made.map_err(|e| e.under(n).under("layout"))?);
        }
        Ok(PreparedLayout(ready))
    }

    fn ready_frames(&mut self, frames: &[FramePiece]) -> Result<Vec<PreparedNode>, RenderError> {
        let ready = frames.iter().enumerate().map(|(n, frame)| {
            let made = match frame {
                FramePiece::Message(block) => self.ready(block),
                FramePiece::Anchor(anchor) => self.anchor(anchor).map(|key| key.map_or(PreparedNode::Nothing, PreparedNode::Anchor)),
            };
            made.map_err(|e| e.under(n))
        });
        ready.collect()
    }

    fn ready(&mut self, block: &MessageBlock) -> Result<PreparedNode, RenderError> {
        self.meter.step(1)?;
        if !self.all(&block.when)? {
            return Ok(PreparedNode::Nothing);
        }
        let Some(text) = self.text(block)?.filter(|text| !text.is_empty()) else { return Ok(PreparedNode::Nothing) };
        self.meter.keep(&text)?;
        let cost = self.inputs.ruler.cost(&text);
        Ok(PreparedNode::Message(message(block, text), cost))
    }

    /// Builds the layout from the printed texts, paid from the reserve of the lane `layout`.
    pub(super) fn lay_prepared(
        &mut self,
        template: &Template,
        prepared: &PreparedLayout,
        slots: Vec<Vec<OutputPiece>>,
        lane: &Arc<str>,
    ) -> Result<DraftConversation, RenderError> {
        let (mut page, mut slots) = (DraftConversation::default(), filled(slots));
        for (n, (node, ready)) in template.layout.iter().zip(&prepared.0).enumerate() {
            match (node, ready) {
                (LayoutNode::Slot { slot, omit_if_empty, .. }, PreparedNode::Slot { header, footer }) => {
                    let Some(filled) = slots.get_mut(*slot) else { continue };
                    let stands = filled.speaks || !omit_if_empty;
                    self.put_frames(header, stands, lane, &mut page);
                    self.place(template, filled, &mut page).map_err(|e| e.under(n).under("layout"))?;
                    self.put_frames(footer, stands, lane, &mut page);
                }
                _ => self.put(ready, lane, &mut page),
            }
        }
        Ok(page)
    }

    fn put_frames(&mut self, frames: &[PreparedNode], stands: bool, lane: &Arc<str>, page: &mut DraftConversation) {
        for frame in frames {
            if stands {
                self.put(frame, lane, page);
            } else {
                self.budget.release(lane, frame.cost());
            }
        }
    }

    /// Adds the printed texts; the cost of a message that does not fit is released for everyone.
    fn put(&mut self, ready: &PreparedNode, lane: &Arc<str>, page: &mut DraftConversation) {
        match ready {
            PreparedNode::Anchor(key) => page.anchor(key.clone()),
            PreparedNode::Message(message, cost) => {
                self.budget.go(Some(lane.clone()));
                let taken = self.budget.take(*cost);
                self.budget.go(None);
                if taken {
                    page.push(message.clone());
                } else {
                    self.budget.release(lane, *cost);
                }
            }
            PreparedNode::Nothing | PreparedNode::Slot { .. } => {}
        }
    }
}

/// Joins the neighbours of a page. A message that occurs at several places changes at all of them.
pub(super) fn squash(page: DraftConversation, joint: &str, meter: &mut LimitMeter) -> Result<Vec<Message>, RenderError> {
    let DraftConversation { cells, order, .. } = page;
    let mut joined: FxHashMap<usize, String> = FxHashMap::default();
    let mut kept: Vec<usize> = Vec::new();
    for cell in order {
        let Some(message) = cells.get(cell) else { continue };
        let last = kept.last().and_then(|last| Some((*last, cells.get(*last)?))).filter(|(_, before)| before.role == message.role);
        let Some((last, before)) = last else {
            kept.push(cell);
            continue;
        };
        let added = joined.get(&cell).map_or_else(|| message.content.clone(), |text| Arc::from(text.as_str()));
        meter.made(&added)?;
        meter.keep(&added)?;
        let text = match joined.entry(last) {
            Entry::Occupied(text) => text.into_mut(),
            Entry::Vacant(free) => free.insert(before.content.to_string()),
        };
        text.push_str(joint);
        text.push_str(&added);
    }
    finish(&cells, &kept, &joined, meter)
}

/// The messages with their final texts.
fn finish(
    cells: &[Message],
    kept: &[usize],
    joined: &FxHashMap<usize, String>,
    meter: &mut LimitMeter,
) -> Result<Vec<Message>, RenderError> {
    let mut texts: FxHashMap<usize, Arc<str>> = FxHashMap::default();
    let mut messages = Vec::with_capacity(kept.len());
    for place in kept {
        let Some(message) = cells.get(*place) else { continue };
        let content = match joined.get(place) {
            None => message.content.clone(),
            Some(text) => {
                if let Some(again) = texts.get(place) {
                    meter.keep(again)?;
                }
                texts.entry(*place).or_insert_with(|| Arc::from(text.as_str())).clone()
            }
        };
        messages.push(Message { content, ..message.clone() });
    }
    Ok(messages)
}
