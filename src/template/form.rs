//! The one compiled form of a template, whatever its revision: names turned into places, texts into leaves.
//!
//! Immutable, `Send + Sync`, and free of the text it came from. What only one revision knows is empty in the other.

use std::sync::Arc;

use crate::model::Value;
use crate::text::leaf::Leaf;

use super::revision::Revision;

/// A compiled template.
#[derive(Debug)]
pub struct Template {
    /// `id` of the file.
    pub id: Arc<str>,
    /// `name` of the file.
    pub name: Arc<str>,
    /// The kind of task that it is written for.
    pub task: Arc<str>,
    /// How it is rendered.
    pub revision: &'static Revision,
    /// What the conversation is, in order.
    pub layout: Box<[Layout]>,
    /// The slots, in the order of the file as JavaScript reads it: integer-like names first, ascending.
    pub slots: Box<[Slot]>,
    /// Places in `slots`, by priority; ties in their order.
    pub order: Box<[usize]>,
    /// Lanes that the template lays over those of its task (`attachments`).
    pub lanes: Box<[Lane]>,
}

/// A node of the layout.
#[derive(Debug)]
pub enum Layout {
    /// A message of its own.
    Message(Block),
    /// What a slot holds, between frames.
    Slot {
        /// Place in [`Template::slots`].
        slot: usize,
        /// Stands in front of it.
        header: Box<[Frame]>,
        /// Stands behind it.
        footer: Box<[Frame]>,
        /// Without messages there is no frame either.
        omit_if_empty: bool,
    },
    /// A named point.
    Anchor(Anchor),
}

/// A piece of a header or footer.
#[derive(Debug)]
pub enum Frame {
    /// A message.
    Message(Block),
    /// A named point.
    Anchor(Anchor),
}

/// A message block.
#[derive(Debug)]
pub struct Block {
    /// Who speaks.
    pub role: Role,
    /// Where its text comes from.
    pub text: Text,
    /// The model is to go on from this message.
    pub prefix: bool,
    /// Left out where no tag of its text printed anything (`skipIfEmptyInterpolation`).
    pub skip_if_empty: bool,
    /// All must hold; an empty list holds.
    pub when: Box<[Condition]>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `system`.
    System,
    /// `user`.
    User,
    /// `assistant`.
    Assistant,
}

/// Where a block's text comes from.
#[derive(Debug)]
pub enum Text {
    /// Nowhere: the block gives no message.
    None,
    /// `content`.
    Leaf(Leaf),
    /// `from`, which wins over `content` also where it gives nothing; never read for tags.
    From(DataRef),
}

/// A slot.
#[derive(Debug)]
pub struct Slot {
    /// Its name.
    pub name: Arc<str>,
    /// Lower runs first.
    pub priority: u64,
    /// When it runs.
    pub when: Option<Condition>,
    /// Ceiling, in tokens.
    pub budget: Option<u64>,
    /// What it emits, in order.
    pub plan: Box<[Node]>,
}

/// A node of a plan.
#[derive(Debug)]
pub enum Node {
    /// A message, perhaps under a ceiling of its own.
    Message(Block, Option<u64>),
    /// A loop.
    Each(Box<Each>),
    /// A branch.
    If {
        /// What decides.
        when: Condition,
        /// Where it holds.
        then: Box<[Node]>,
        /// Where it does not.
        otherwise: Box<[Node]>,
    },
    /// A named point.
    Anchor(Anchor),
}

/// A loop over a source.
#[derive(Debug)]
pub struct Each {
    /// What it goes over; anything but a list gives nothing.
    pub source: DataRef,
    /// What each item gives.
    pub map: Box<[Node]>,
    /// Sorts numbers and texts; `None` keeps the order of the source.
    pub order: Option<Order>,
    /// Later items stand in front of earlier ones.
    pub prepend: bool,
    /// Most items, after ordering.
    pub limit: Option<u64>,
    /// Stands behind each item but the last.
    pub separator: Option<Leaf>,
    /// Ceiling for all items together, in tokens.
    pub budget: Option<u64>,
    /// Ends when the global budget is spent.
    pub stops: bool,
}

/// A direction of sorting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Ascending.
    Asc,
    /// Descending.
    Desc,
}

/// A named source and what it is asked with.
#[derive(Debug, Clone)]
pub struct DataRef {
    /// A source of the task, or a reserved name (`$item`, `$index`, `$parent`, `$globals`, `$ctx`).
    pub source: Arc<str>,
    /// Handed to the source as they are.
    pub args: Option<Value>,
}

/// A condition.
#[derive(Debug)]
pub struct Condition {
    /// How it is tested.
    pub test: Test,
    /// What is tested.
    pub on: DataRef,
    /// What it is compared with; `None` where the file says nothing, which is not `null`.
    pub value: Option<Value>,
}

/// A test of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Neither absent nor `null`.
    Exists,
    /// A text or a list that is not empty.
    NonEmpty,
    /// Equal.
    Eq,
    /// Not equal.
    Neq,
    /// Both are numbers, and the left is greater.
    Gt,
    /// Both are numbers, and the left is less.
    Lt,
}

/// A named point that injections may stand at.
#[derive(Debug)]
pub struct Anchor {
    /// Its key; empty: there is no anchor.
    pub key: Leaf,
    /// All must hold.
    pub when: Box<[Condition]>,
}

/// A lane for attachments, as a task offers it or as a template lays over it. `None` is what is not said.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// Its name.
    pub id: Arc<str>,
    /// Off: its requests are ignored. Default: on.
    pub enabled: Option<bool>,
    /// Role of its messages.
    pub role: Option<Role>,
    /// Text of its messages.
    pub template: Option<Leaf>,
    /// Lower runs first. Default 0.
    pub order: Option<i64>,
    /// Tokens that are kept for it.
    pub reserve: Option<u64>,
    /// Ceiling, in tokens.
    pub budget: Option<u64>,
    /// What its texts see as `payload`.
    pub payload: Option<Value>,
    /// Groups of its requests.
    pub groups: Option<Arc<[Group]>>,
}

/// A group of requests of a lane.
#[derive(Debug, Clone)]
pub struct Group {
    /// Takes the requests of this group id.
    pub id: Option<Arc<str>>,
    /// Takes the requests whose group id it fits: a regular expression, compiled when rendering.
    pub pattern: Option<Arc<str>>,
    /// Text of its messages.
    pub template: Option<Leaf>,
    /// Stands in front of its first message.
    pub open: Option<Leaf>,
    /// Stands behind its last message.
    pub close: Option<Leaf>,
    /// Role of its messages.
    pub role: Option<Role>,
    /// Lower is tried first. Default 0.
    pub order: i64,
    /// Laid over the payload of the lane.
    pub payload: Option<Value>,
}

/// Something that asks for a place in the finished layout.
#[derive(Debug, Clone)]
pub struct Request {
    /// The lane it goes through.
    pub lane: Arc<str>,
    /// Where: the first that is there.
    pub targets: Box<[Target]>,
    /// Role of the message.
    pub role: Option<Role>,
    /// Text of the message.
    pub template: Option<Leaf>,
    /// Laid over the payload of group and lane.
    pub payload: Option<Value>,
    /// Lower goes first. Default 0.
    pub priority: f64,
    /// Its group.
    pub group: Option<Arc<str>>,
}

/// Where an injection stands.
#[derive(Debug, Clone)]
pub enum Target {
    /// At an anchor of this key.
    At(Arc<str>, Occurrence),
    /// So many messages from the last anchor of this key.
    Offset(Arc<str>, i64),
    /// So many messages from the top.
    Top(i64),
    /// So many messages from the bottom.
    Bottom(i64),
}

/// Which of several anchors of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// The first.
    First,
    /// The last; the default.
    Last,
    /// By its place, clamped to those there are.
    Nth(i64),
}
