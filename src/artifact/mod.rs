//! Artifacts: named values with versions that outlive a turn, as a pack declares them.
//!
//! A row of the table `artifact` says what a value is, who may write it, how long its versions live and where it is
//! shown. Here is what holds for every pack, because it protects data: that a tag has one writer, that a value has the
//! declared type, and what is left of a value that is not kept. How an artifact enters a prompt is a program of the
//! pack. Source: the contract of artifacts (`docs/reference/artifact.md`), whose gaps are decided in
//! `ambiguities-tv.md`, A3.

mod declare;
mod diff;
mod policy;
mod project;
mod run;
mod stored;

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::Span;

pub(crate) use declare::{RETENTION_BY_KIND, retention};
pub use diff::diff;
pub use policy::WriteRefusal;
pub(crate) use project::NOWHERE;
pub use project::{ProjectedItem, Projection, ShownAs};
pub use run::{RunArtifact, RunArtifacts, ValueTrace};
pub use stored::{Artifact, VersionWindow};

/// The artifacts and writers that a pack declares.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    /// The rows of table `artifact`, in order.
    pub artifacts: Vec<DeclaredArtifact>,
    /// Who may write, by name.
    pub writers: IndexMap<Arc<str>, Writer>,
}

/// One row of table `artifact`.
#[derive(Debug, Clone)]
pub struct DeclaredArtifact {
    /// The name of the row.
    pub name: Arc<str>,
    /// The tag under which it is read; a persisted artifact has one.
    pub tag: Option<Arc<str>>,
    /// What sort of thing it is; `state` may also be written with the grant `state_write`.
    pub kind: Arc<str>,
    /// The writer that it belongs to.
    pub writer: Option<Arc<str>>,
    /// Whether it outlives the run.
    pub persisted: bool,
    /// Whether it takes part in prompts, and whether it may be shown.
    pub visibility: Visibility,
    /// Where it is shown: `chat_history`, `panel:ID`, `feed:ID`, `overlay:ID`, or `internal` for nowhere.
    pub surface: Arc<str>,
    /// What its value is.
    pub content_type: ContentType,
    /// How many versions are kept.
    pub keep: VersionWindow,
    /// How it is shown.
    pub presentation: Presentation,
    /// How many earlier values a prompt (`last_n`) or a display (`max_items`) of it asks for; 0 if neither says a number.
    pub asks: u32,
    /// Where the row is written.
    pub span: Span,
}

/// Whether an artifact takes part in prompts, and whether it may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Visibility {
    /// Only in prompts.
    PromptOnly,
    /// Only shown.
    UiOnly,
    /// Both.
    PromptAndUi,
    /// Neither.
    #[default]
    Internal,
}

impl Visibility {
    /// Whether it may be shown.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(self, Self::UiOnly | Self::PromptAndUi)
    }
}

/// What the value of an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentType {
    /// A text.
    #[default]
    Text,
    /// Any JSON value, also null.
    Json,
    /// A text in Markdown.
    Markdown,
}

/// How an artifact is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presentation {
    /// Which versions; `None`: as usual for its surface.
    pub mode: Option<VersionMode>,
    /// The greatest number of versions of a timeline; the newest are kept.
    pub max_items: Option<u32>,
}

/// Which versions of an artifact are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionMode {
    /// The latest: the default of every surface but a feed.
    LatestOnly,
    /// All that are kept, oldest first: the default of a feed.
    Timeline,
    /// The latest and the one before it, with what changed.
    Diff,
}

/// Who may write artifacts: a row of table `writer`, or an operation.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    /// Whether it may write artifacts of every kind.
    pub artifact_write: bool,
    /// Whether it may write artifacts of kind `state`.
    pub state_write: bool,
}

impl Declarations {
    /// The persisted artifact of a tag.
    #[must_use]
    pub fn persisted(&self, tag: &str) -> Option<&DeclaredArtifact> {
        self.artifacts.iter().find(|a| a.persisted && a.tag.as_deref() == Some(tag))
    }

    /// The artifact of a row.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&DeclaredArtifact> {
        self.artifacts.iter().find(|a| &*a.name == name)
    }

    /// The tags of all persisted artifacts, with how many versions are kept of each.
    #[must_use]
    pub fn windows(&self) -> Vec<(String, VersionWindow)> {
        self.artifacts.iter().filter(|a| a.persisted).filter_map(|a| Some((a.tag.as_deref()?.to_owned(), a.keep))).collect()
    }
}
