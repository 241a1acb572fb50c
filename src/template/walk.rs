//! A walk over the parts of a checked file, each with its place in words: for lint, structure and advice.
//!
//! It visits the parts that the revision knows and ignores the rest, as the renderer does.

use std::fmt::Write as _;

use super::parts;
use super::revision::Revision;
use crate::diag::{DocumentNode, FieldMap, limits};
use crate::text::js;

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A message of the layout.
    LayoutMessage,
    /// A place of the layout for the messages of a slot.
    LayoutSlot,
    /// A message of a header or footer.
    Frame,
    /// A message of a plan.
    Message,
    /// A named point.
    Anchor,
    /// A slot.
    Slot,
    /// A loop.
    Each,
    /// A branch.
    If,
    /// A condition with a `type`.
    Condition,
    /// A condition of the rule language.
    Rule,
    /// A reference to a source.
    Ref(SourceUse),
    /// A lane for attachments.
    Lane,
    /// A group of a lane.
    Group,
    /// An anchor where the revision has none; the kinds that a part can be of there.
    Unknown(&'static [&'static str]),
}

impl PartKind {
    /// Whether it is a message block.
    pub(super) fn is_block(self) -> bool {
        matches!(self, PartKind::LayoutMessage | PartKind::Frame | PartKind::Message)
    }
}

/// What a source is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceUse {
    /// The text of a message.
    Text,
    /// The list of a loop.
    Items,
    /// The condition of a slot or branch.
    When,
    /// A condition in the list of a message or anchor, which the source lint does not check.
    WhenList,
}

/// The place of a part.
#[derive(Debug, Default)]
pub(super) struct PartPlace {
    /// `slots.a.plan.0.map.1`.
    pub(super) path: String,
    /// `slots.a.plan[0].forEach.map[1].plan[0]`; conditions and references have the place of the part that they belong
    /// to.
    pub(super) crumb: String,
    /// The number of loops around it.
    pub(super) loops: usize,
}

impl PartPlace {
    /// The path of a key of the part.
    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Visits all parts: the layout in order, then slots in JavaScript's order of keys, then lanes.
pub(super) fn walk<'a>(root: &'a DocumentNode, revision: &Revision, visit: &mut dyn FnMut(PartKind, &'a DocumentNode, &PartPlace)) {
    let mut walk = TemplateWalk { revision, visit, at: PartPlace::default(), depth: 0 };
    for (n, node) in items(root, "layout").enumerate() {
        walk.inside(&format!("layout.{n}"), &format!("layout[{n}]"), |walk| walk.layout(node));
    }
    let slots = root.get("slots").and_then(DocumentNode::as_table).map(in_order).unwrap_or_default();
    for (name, node) in slots {
        walk.inside(&format!("slots.{name}"), &format!("slots.{name}"), |walk| walk.slot(node));
    }
    if revision.knows_anchors {
        for (n, node) in items(root, "attachments").enumerate() {
            walk.inside(&format!("attachments.{n}"), "", |walk| walk.lane(node));
        }
    }
}

/// The fields of a table in JavaScript's order of keys: names that are whole numbers first, ascending.
pub(super) fn in_order(table: &FieldMap) -> Vec<(&str, &DocumentNode)> {
    let mut all: Vec<(&str, &DocumentNode)> = table.iter().map(|(name, field)| (&**name, &field.node)).collect();
    all.sort_by_key(|(name, _)| js::index_key(name).unwrap_or(u32::MAX));
    all
}

fn items<'a>(node: &'a DocumentNode, key: &str) -> impl Iterator<Item = &'a DocumentNode> + use<'a> {
    node.get(key).and_then(DocumentNode::as_list).unwrap_or(&[]).iter()
}

struct TemplateWalk<'v, 'a> {
    revision: &'v Revision,
    visit: &'v mut dyn FnMut(PartKind, &'a DocumentNode, &PartPlace),
    at: PartPlace,
    depth: usize,
}

impl<'a> TemplateWalk<'_, 'a> {
    /// Visits one part with its path.
    fn inside(&mut self, path: &str, crumb: &str, go: impl FnOnce(&mut Self)) {
        let (path_len, crumb_len) = (self.at.path.len(), self.at.crumb.len());
        let dot = if path_len == 0 { "" } else { "." };
        let _ = write!(self.at.path, "{dot}{path}");
        self.at.crumb.push_str(crumb);
        go(self);
        self.at.path.truncate(path_len);
        self.at.crumb.truncate(crumb_len);
    }

    fn see(&mut self, sort: PartKind, node: &'a DocumentNode) {
        (self.visit)(sort, node, &self.at);
    }

    fn layout(&mut self, node: &'a DocumentNode) {
        match node.get("kind").and_then(DocumentNode::as_text) {
            Some("message") => self.block(PartKind::LayoutMessage, node),
            Some("slot") => {
                self.see(PartKind::LayoutSlot, node);
                self.frames(node, "header");
                self.frames(node, "footer");
            }
            Some("anchor") => self.anchor(node, &["message", "slot"]),
            _ => {}
        }
    }

    fn frames(&mut self, node: &'a DocumentNode, key: &str) {
        let Some(written) = node.get(key) else { return };
        for (n, frame) in written.as_list().unwrap_or(std::slice::from_ref(written)).iter().enumerate() {
            let path = if written.as_list().is_some() { format!("{key}.{n}") } else { key.to_owned() };
            self.inside(&path, &format!(".{key}[{n}]"), |walk| {
                if parts::is_anchor(frame, walk.revision) { walk.anchor(frame, &[]) } else { walk.block(PartKind::Frame, frame) }
            });
        }
    }

    fn block(&mut self, sort: PartKind, node: &'a DocumentNode) {
        self.see(sort, node);
        self.data_ref(node, "from", SourceUse::Text);
        self.when_list(node);
    }

    /// An anchor, or a part that is none, where the parts of these kinds can stand.
    fn anchor(&mut self, node: &'a DocumentNode, others: &'static [&'static str]) {
        if self.revision.knows_anchors {
            self.see(PartKind::Anchor, node);
            self.when_list(node);
        } else {
            self.see(PartKind::Unknown(others), node);
        }
    }

    fn data_ref(&mut self, node: &'a DocumentNode, key: &str, used: SourceUse) {
        if let Some(reference) = node.get(key) {
            self.inside(key, "", |walk| walk.see(PartKind::Ref(used), reference));
        }
    }

    fn when_list(&mut self, node: &'a DocumentNode) {
        if !self.revision.knows_conditions {
            return;
        }
        for (n, condition) in items(node, "when").enumerate() {
            self.inside(&format!("when.{n}"), "", |walk| walk.condition(condition, SourceUse::WhenList));
        }
    }

    fn when(&mut self, node: &'a DocumentNode) {
        if let Some(condition) = node.get("when") {
            self.inside("when", "", |walk| walk.condition(condition, SourceUse::When));
        }
    }

    fn condition(&mut self, node: &'a DocumentNode, used: SourceUse) {
        if parts::is_rule_condition(node) {
            return self.see(PartKind::Rule, node);
        }
        self.see(PartKind::Condition, node);
        self.data_ref(node, "ref", used);
    }

    fn slot(&mut self, node: &'a DocumentNode) {
        self.see(PartKind::Slot, node);
        self.when(node);
        for (n, step) in items(node, "plan").enumerate() {
            self.inside(&format!("plan.{n}"), &format!(".plan[{n}]"), |walk| walk.step(step));
        }
    }

    fn step(&mut self, node: &'a DocumentNode) {
        if self.depth >= limits::NESTING {
            return;
        }
        self.depth += 1;
        match node.get("kind").and_then(DocumentNode::as_text) {
            Some("message") => self.block(PartKind::Message, node),
            Some("forEach") => {
                self.see(PartKind::Each, node);
                self.data_ref(node, "source", SourceUse::Items);
                self.at.loops += 1;
                self.steps(node, "map", "forEach");
                self.at.loops -= 1;
            }
            Some("if") => {
                self.see(PartKind::If, node);
                self.when(node);
                self.steps(node, "then", "if");
                self.steps(node, "else", "if");
            }
            Some("anchor") => self.anchor(node, &["message", "forEach", "if"]),
            _ => {}
        }
        self.depth -= 1;
    }

    fn steps(&mut self, node: &'a DocumentNode, key: &str, word: &str) {
        for (n, step) in items(node, key).enumerate() {
            self.inside(&format!("{key}.{n}"), &format!(".{word}.{key}[{n}].plan[0]"), |walk| walk.step(step));
        }
    }

    fn lane(&mut self, node: &'a DocumentNode) {
        self.see(PartKind::Lane, node);
        for (n, group) in items(node, "groups").enumerate() {
            self.inside(&format!("groups.{n}"), "", |walk| walk.see(PartKind::Group, group));
        }
    }
}
