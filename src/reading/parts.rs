//! A compiled row: what stands at which path of a reply, an event of a stream, or an element of a list in it.

use std::sync::Arc;

use super::path::{DocumentPath, ElementPath, PathTest};
use super::tree::JsonTree;

/// A row of table `reply_part`.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplyPart {
    /// What must hold of the document.
    pub(super) when: Vec<PathTest>,
    /// The elements that the row is about; without it, the document.
    pub(super) each: Option<ElementPath>,
    /// What must hold of an element.
    pub(super) of_which: Vec<PathTest>,
    pub(super) text: Vec<DocumentPath>,
    /// Thoughts, and the field of the message that they belong in.
    pub(super) reasoning: Vec<(DocumentPath, Arc<str>)>,
    pub(super) signature: Vec<DocumentPath>,
    pub(super) call: Option<CallPaths>,
    pub(super) detail: Option<DetailPaths>,
    pub(super) message: Option<WholeMessage>,
    /// The first that there is counts.
    pub(super) finish: Vec<DocumentPath>,
    pub(super) usage: Vec<DocumentPath>,
    pub(super) error: Option<ErrorPaths>,
    /// The stream is over with this event.
    pub(super) ends: bool,
}

/// Where the parts of a tool call stand.
#[derive(Debug, Clone, Default)]
pub(super) struct CallPaths {
    pub(super) index: Option<DocumentPath>,
    pub(super) id: Option<DocumentPath>,
    pub(super) name: Option<DocumentPath>,
    pub(super) arguments: Option<DocumentPath>,
    pub(super) signature: Option<DocumentPath>,
    /// Other fields of the element are kept.
    pub(super) rest: bool,
}

impl CallPaths {
    /// Whether there is anything of a call.
    pub(super) fn is_at(&self, at: &JsonTree<'_>) -> bool {
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
pub(super) struct DetailPaths {
    pub(super) index: Option<DocumentPath>,
    /// The block.
    pub(super) at: Option<DocumentPath>,
    /// Texts that are appended to a field of the block.
    pub(super) add: Vec<(Arc<str>, DocumentPath)>,
}

impl DetailPaths {
    /// Whether there is anything of a block.
    pub(super) fn is_at(&self, at: &JsonTree<'_>) -> bool {
        self.at.iter().chain(self.add.iter().map(|(_, path)| path)).any(|path| path.of(at).is_some())
    }
}

/// Where a message in the shape of chat completions stands: its fields are taken as they are.
#[derive(Debug, Clone, Default)]
pub(super) struct WholeMessage {
    pub(super) at: DocumentPath,
    /// Fields that rows read by themselves.
    pub(super) skip: Vec<Arc<str>>,
    /// Texts that are appended to what earlier events gave; other fields are replaced.
    pub(super) append: Vec<Vec<Arc<str>>>,
}

/// Where an error stands.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorPaths {
    pub(super) at: DocumentPath,
    pub(super) message: DocumentPath,
    /// A number, or a word of the dialect's `statuses`.
    pub(super) status: Vec<DocumentPath>,
}
