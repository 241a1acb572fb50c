//! The compiled form of a template, the same for all revisions: names are resolved to indexes, and texts are compiled
//! to leaves.
//!
//! Immutable, `Send + Sync`, and independent of the text that it was compiled from. Parts that only some revisions know
//! are empty in the others.

use std::sync::Arc;

use crate::diag::Span;
use crate::model::Value;
use crate::text::leaf::Leaf;

use super::lengths::LengthMemory;
use super::revision::{MessageRole, Revision};

/// A compiled template.
#[derive(Debug)]
pub struct Template {
    /// The `id` of the file.
    pub id: Arc<str>,
    /// The `name` of the file.
    pub name: Arc<str>,
    /// The kind of task that it is written for.
    pub task: Arc<str>,
    /// The revision of the template language that it is written in.
    pub revision: Arc<Revision>,
    /// The layout of the conversation, in order.
    pub layout: Box<[LayoutNode]>,
    /// The slots, in the order of the file as JavaScript reads it: names that are whole numbers first, ascending.
    pub slots: Box<[Slot]>,
    /// Indexes of `slots`, by ascending priority; slots of equal priority in their order.
    pub order: Box<[usize]>,
    /// Lanes that the template merges over those of its task (`attachments`).
    pub lanes: Box<[AttachmentLane]>,
    /// What earlier renders have learned of lists that are still there.
    pub(super) lengths: LengthMemory,
}

/// A node of the layout.
#[derive(Debug)]
pub enum LayoutNode {
    /// A message of the layout itself.
    Message(MessageBlock),
    /// The content of a slot, with frames around it.
    Slot {
        /// Index in [`Template::slots`].
        slot: usize,
        /// The header.
        header: Box<[FramePiece]>,
        /// The footer.
        footer: Box<[FramePiece]>,
        /// Leaves out header and footer if the slot has no messages.
        omit_if_empty: bool,
    },
    /// A named point for injections.
    Anchor(NamedAnchor),
}

/// A piece of a header or footer.
#[derive(Debug)]
pub enum FramePiece {
    /// A message.
    Message(MessageBlock),
    /// A named point for injections.
    Anchor(NamedAnchor),
}

/// A message block.
#[derive(Debug)]
pub struct MessageBlock {
    /// The role of the message.
    pub role: MessageRole,
    /// The source of its text.
    pub text: TextSource,
    /// Whether the model continues this message.
    pub prefix: bool,
    /// Whether the message is left out if no tag of its text printed anything (`skipIfEmptyInterpolation`).
    pub skip_if_empty: bool,
    /// Conditions that must all hold; an empty list holds.
    pub when: Box<[SlotCondition]>,
}

/// The source of a block's text.
#[derive(Debug)]
pub enum TextSource {
    /// None: the block gives no message.
    None,
    /// The template text in `content`.
    Leaf(Leaf),
    /// The source in `from`, which takes precedence over `content` even if it returns nothing. Its text is not searched
    /// for tags.
    From(DataRef),
}

/// A slot.
#[derive(Debug)]
pub struct Slot {
    /// Its name.
    pub name: Arc<str>,
    /// Its priority; lower numbers run first.
    pub priority: u64,
    /// The condition on which it runs.
    pub when: Option<SlotCondition>,
    /// Its ceiling, in tokens.
    pub budget: Option<u64>,
    /// The nodes that fill it, in order.
    pub plan: Box<[SlotNode]>,
}

/// A node of a slot's plan.
#[derive(Debug)]
pub enum SlotNode {
    /// A message, with an optional ceiling of its own in tokens.
    Message(MessageBlock, Option<u64>),
    /// A loop.
    Each(Box<SourceLoop>),
    /// A branch.
    If {
        /// The condition.
        when: SlotCondition,
        /// The nodes that run if it holds.
        then: Box<[SlotNode]>,
        /// The nodes that run if it does not hold.
        otherwise: Box<[SlotNode]>,
    },
    /// A named point for injections.
    Anchor(NamedAnchor),
}

/// A loop over a source.
#[derive(Debug)]
pub struct SourceLoop {
    /// The source that it iterates over; anything but a list gives nothing.
    pub source: DataRef,
    /// The nodes that run for each item.
    pub map: Box<[SlotNode]>,
    /// The direction in which numbers and texts are sorted; `None` keeps the order of the source.
    pub order: Option<SortOrder>,
    /// Whether the output of later items is placed before that of earlier ones.
    pub prepend: bool,
    /// The most items, counted after sorting.
    pub limit: Option<u64>,
    /// The block that follows each item but the last.
    pub separator: Option<Leaf>,
    /// The ceiling for all items together, in tokens.
    pub budget: Option<u64>,
    /// Whether the loop ends when the global budget is spent.
    pub stops: bool,
}

/// The direction of sorting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortOrder {
    /// Ascending.
    Asc,
    /// Descending.
    Desc,
}

/// A source with its arguments.
#[derive(Debug, Clone)]
pub struct DataRef {
    /// A source of the task, or a reserved name (`$item`, `$index`, `$parent`, `$globals`, `$ctx`).
    pub source: Arc<str>,
    /// The arguments that the source is given.
    pub args: Option<Value>,
}

/// A condition.
#[derive(Debug)]
pub enum SlotCondition {
    /// A test of one source.
    Typed(TypedCondition),
    /// A condition of the rule language, over sources as values.
    Rule(RuleCondition),
}

/// A condition of the rule language. The pack compiles it, so only a build of the pack can evaluate it.
#[derive(Debug)]
pub struct RuleCondition {
    /// Where it is written, by which the pack knows it.
    pub place: Span,
    /// The values that it may read, by their names in it.
    pub reads: Box<[ConditionInput]>,
}

/// A value that a condition of the rule language may read.
#[derive(Debug)]
pub struct ConditionInput {
    /// Its name in the condition.
    pub name: Arc<str>,
    /// The source.
    pub on: DataRef,
    /// The source if that one gives nothing.
    pub or: Option<DataRef>,
}

/// A test of the value that a source returns.
#[derive(Debug)]
pub struct TypedCondition {
    /// The test.
    pub test: ConditionTest,
    /// The source that is tested.
    pub on: DataRef,
    /// The value that it is compared with; `None` if the file gives none, which is not the same as `null`.
    pub value: Option<Value>,
}

/// A test of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionTest {
    /// The value is neither absent nor `null`.
    Exists,
    /// The value is a text or a list that is not empty.
    NonEmpty,
    /// The values are equal.
    Eq,
    /// The values are not equal.
    Neq,
    /// Both values are numbers, and the left one is greater.
    Gt,
    /// Both values are numbers, and the left one is less.
    Lt,
}

/// A named point that injections can be placed at.
#[derive(Debug)]
pub struct NamedAnchor {
    /// Its key; if it is empty, there is no anchor.
    pub key: Leaf,
    /// Conditions that must all hold.
    pub when: Box<[SlotCondition]>,
}

/// A lane for attachments, as a task offers it or as a template changes it. `None` means that the file does not say.
#[derive(Debug, Clone, Default)]
pub struct AttachmentLane {
    /// Its name.
    pub id: Arc<str>,
    /// Whether it is enabled; the requests of a disabled lane are ignored. Default: true.
    pub enabled: Option<bool>,
    /// The role of its messages.
    pub role: Option<MessageRole>,
    /// The text of its messages.
    pub template: Option<Leaf>,
    /// Lower numbers run first. Default: 0.
    pub order: Option<i64>,
    /// The tokens that are reserved for it.
    pub reserve: Option<u64>,
    /// Its ceiling, in tokens.
    pub budget: Option<u64>,
    /// The value that its texts see as `payload`.
    pub payload: Option<Value>,
    /// The groups of its requests.
    pub groups: Option<Arc<[RequestGroup]>>,
}

/// A group of requests of a lane.
#[derive(Debug, Clone)]
pub struct RequestGroup {
    /// The group id whose requests belong to it.
    pub id: Option<Arc<str>>,
    /// A regular expression; requests whose group id it matches belong to the group. It is compiled when the template
    /// is rendered.
    pub pattern: Option<Arc<str>>,
    /// The text of its messages.
    pub template: Option<Leaf>,
    /// The block before its first message.
    pub open: Option<Leaf>,
    /// The block after its last message.
    pub close: Option<Leaf>,
    /// The role of its messages.
    pub role: Option<MessageRole>,
    /// Lower numbers are tried first. Default: 0.
    pub order: i64,
    /// Fields that are merged over the payload of the lane.
    pub payload: Option<Value>,
}

/// A request to place a message in the finished layout.
#[derive(Debug, Clone)]
pub struct PlacementRequest {
    /// The lane that it belongs to.
    pub lane: Arc<str>,
    /// Where to place the message; the first target that exists is used.
    pub targets: Box<[InjectionTarget]>,
    /// The role of the message.
    pub role: Option<MessageRole>,
    /// The text of the message.
    pub template: Option<Leaf>,
    /// Fields that are merged over the payload of group and lane.
    pub payload: Option<Value>,
    /// Lower numbers are placed first. Default: 0.
    pub priority: f64,
    /// The id of its group.
    pub group: Option<Arc<str>>,
}

/// Where an injection is placed.
#[derive(Debug, Clone)]
pub enum InjectionTarget {
    /// At an anchor of this key.
    At(Arc<str>, AnchorOccurrence),
    /// This many messages after the last anchor of this key; negative numbers count backwards.
    Offset(Arc<str>, i64),
    /// This many messages from the start.
    Top(i64),
    /// This many messages from the end.
    Bottom(i64),
}

/// Which of several anchors of one key is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorOccurrence {
    /// The first.
    First,
    /// The last; this is the default.
    Last,
    /// The one with this index, or the nearest that exists.
    Nth(i64),
}
