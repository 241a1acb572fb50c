//! A compiled row: what stands at which path of a reply, an event of a stream, or an element of a list in it.

use std::sync::Arc;

use super::path::{ElementPath, Path, Test};
use super::tree::Tree;

/// A row of table `reply_part`.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    /// What must hold of the document.
    pub(super) when: Vec<Test>,
    /// The elements that the row is about; without it, the document.
    pub(super) each: Option<ElementPath>,
    /// What must hold of an element.
    pub(super) of_which: Vec<Test>,
    pub(super) text: Vec<Path>,
    /// Thoughts, and the field of the message that they belong in.
    pub(super) reasoning: Vec<(Path, Arc<str>)>,
    pub(super) signature: Vec<Path>,
    pub(super) call: Option<Call>,
    pub(super) detail: Option<Detail>,
    pub(super) message: Option<WholeMessage>,
    /// The first that there is counts.
    pub(super) finish: Vec<Path>,
    pub(super) usage: Vec<Path>,
    pub(super) error: Option<Trouble>,
    /// The stream is over with this event.
    pub(super) ends: bool,
}

/// Where the parts of a tool call stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) index: Option<Path>,
    pub(super) id: Option<Path>,
    pub(super) name: Option<Path>,
    pub(super) arguments: Option<Path>,
    pub(super) signature: Option<Path>,
    /// Other fields of the element are kept.
    pub(super) rest: bool,
}

impl Call {
    /// Whether there is anything of a call.
    pub(super) fn is_at(&self, at: &Tree<'_>) -> bool {
        [&self.id, &self.name, &self.arguments].into_iter().flatten().any(|path| path.of(at).is_some())
    }

    /// The keys of an element that are read.
    pub(super) fn reads(&self, key: &str) -> bool {
        let paths = [&self.index, &self.id, &self.name, &self.arguments, &self.signature];
        paths.into_iter().flatten().filter_map(|path| path.0.first()).any(|step| step.key.as_ref() == key)
    }
}

/// Where a block stands that is kept as it is, such as a signed thought.
#[derive(Debug, Clone, Default)]
pub(super) struct Detail {
    pub(super) index: Option<Path>,
    /// The block.
    pub(super) at: Option<Path>,
    /// Texts that are appended to a field of the block.
    pub(super) add: Vec<(Arc<str>, Path)>,
}

impl Detail {
    /// Whether there is anything of a block.
    pub(super) fn is_at(&self, at: &Tree<'_>) -> bool {
        self.at.iter().chain(self.add.iter().map(|(_, path)| path)).any(|path| path.of(at).is_some())
    }
}

/// Where a message in the shape of chat completions stands: its fields are taken as they are.
#[derive(Debug, Clone, Default)]
pub(super) struct WholeMessage {
    pub(super) at: Path,
    /// Fields that rows read by themselves.
    pub(super) skip: Vec<Arc<str>>,
    /// Texts that are appended to what earlier events gave; other fields are replaced.
    pub(super) append: Vec<Vec<Arc<str>>>,
}

/// Where an error stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Trouble {
    pub(super) at: Path,
    pub(super) message: Path,
    /// A number, or a word of the dialect's `statuses`.
    pub(super) status: Vec<Path>,
}
