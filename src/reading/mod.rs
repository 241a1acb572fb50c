//! How replies are read: where the parts of a provider's answer stand is data.
//!
//! Rows of the tables `reply` and `reply_part` say of a dialect at which paths of a whole reply, and of the events of a
//! streamed one, there are texts, thoughts, tool calls, signatures, the finish reason, token counts and errors. They are
//! compiled once per ruleset into [`ReplyReading`]s. An [`ReplyAssembler`] applies one to a reply and gives a message in the shape
//! of chat completions. Nothing here names a provider.

mod assemble;
mod compile;
mod tree;

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

pub use assemble::{AssembledReply, ReplyAssembler, ReplyDelta, ReplyError};
pub use tree::JsonTree;

use compile::ReplyPart;

pub(crate) use compile::ROWS;

/// The readings of a pack, by the name of the dialect.
#[derive(Debug, Clone, Default)]
pub struct ReplyReadings {
    readings: IndexMap<Arc<str>, Arc<ReplyReading>>,
    keys: IndexMap<Arc<str>, KeyPlace>,
}

/// Where a provider expects a key, and where people keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPlace {
    /// Name of the header, in lower case.
    pub header: Arc<str>,
    /// What stands in front of the key: `Bearer `, with its space.
    pub prefix: Arc<str>,
    /// Environment variables to propose.
    pub env: Vec<Arc<str>>,
    /// The provider's own origins, to which a key of one of these variables may go.
    pub origins: Vec<Arc<str>>,
}

impl ReplyReadings {
    /// How replies in a dialect are read; `None` if no row says it.
    #[must_use]
    pub fn get(&self, dialect: &str) -> Option<&Arc<ReplyReading>> {
        self.readings.get(dialect)
    }

    /// Where the key goes in a dialect; `None` if no row says it.
    #[must_use]
    pub fn key(&self, dialect: &str) -> Option<&KeyPlace> {
        self.keys.get(dialect)
    }

    /// The dialects whose replies can be read.
    pub fn dialects(&self) -> impl Iterator<Item = &str> {
        self.readings.keys().map(AsRef::as_ref)
    }
}

/// How replies in one dialect are read.
#[derive(Debug, Default)]
pub struct ReplyReading {
    /// Data of events that say that a stream is over, and hold nothing: `[DONE]`.
    done: Vec<Arc<str>>,
    /// The provider's finish reasons that have a usual name.
    finish: FxHashMap<Arc<str>, Arc<str>>,
    /// HTTP statuses that the provider's words for errors stand for.
    statuses: FxHashMap<Arc<str>, u16>,
    /// What stands where in a whole reply.
    whole: Vec<ReplyPart>,
    /// What stands where in an event of a stream.
    stream: Vec<ReplyPart>,
}
