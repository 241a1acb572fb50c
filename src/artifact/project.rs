//! What a user sees of artifacts: not the data, but a projection of it for a panel, a feed, an overlay or the chat.
//!
//! Source: the contract of artifacts, life in the UI; decisions A3.15 and A3.16.

use serde_json::Value as Json;

use super::{Artifact, Declarations, DeclaredArtifact, VersionMode, diff};

/// The surface that is nowhere.
pub(crate) const NOWHERE: &str = "internal";
/// The surface of messages.
const CHAT: &str = "chat_history";

/// What one artifact shows.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Projection {
    /// Its tag.
    pub tag: String,
    /// Where it is shown.
    pub surface: String,
    /// In the chat: as an item of it, or as a block that only the user sees.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub shown_as: Option<ShownAs>,
    /// What is shown.
    #[serde(flatten)]
    pub item: ProjectedItem,
}

/// How an artifact stands in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownAs {
    /// An item of the chat, which the model sees too.
    Item,
    /// A block that only the user sees.
    Block,
}

/// What is shown of an artifact.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ProjectedItem {
    /// The latest value.
    LatestOnly {
        /// The value.
        value: Json,
    },
    /// All values that are kept, oldest first.
    Timeline {
        /// The values.
        items: Vec<Json>,
    },
    /// The latest value and the one before it.
    Diff {
        /// The value before; null if there is none.
        before: Json,
        /// The latest value.
        after: Json,
        /// What changed, as in the log.
        changes: Json,
    },
}

impl Declarations {
    /// What is shown of these artifacts, sorted by tag. One that is not declared, not visible or without a surface shows
    /// nothing.
    #[must_use]
    pub fn project(&self, artifacts: &[Artifact]) -> Vec<Projection> {
        let shown = |a: &Artifact| self.persisted(&a.tag).and_then(|declared| one(declared, a));
        let mut out: Vec<Projection> = artifacts.iter().filter_map(shown).collect();
        out.sort_by(|a, b| a.tag.cmp(&b.tag));
        out
    }
}

impl DeclaredArtifact {
    /// Which versions are shown: what its row says, or what is usual for its surface.
    pub(crate) fn mode(&self) -> VersionMode {
        let usual = if self.surface.starts_with("feed:") { VersionMode::Timeline } else { VersionMode::LatestOnly };
        self.presentation.mode.unwrap_or(usual)
    }

    /// Whether its surface is nowhere.
    pub(crate) fn is_nowhere(&self) -> bool {
        &*self.surface == NOWHERE
    }
}

fn one(declared: &DeclaredArtifact, artifact: &Artifact) -> Option<Projection> {
    let surface = &*declared.surface;
    if !declared.visibility.is_shown() || declared.is_nowhere() {
        return None;
    }
    let latest = &artifact.value;
    let item = match declared.mode() {
        VersionMode::LatestOnly => ProjectedItem::LatestOnly { value: latest.clone() },
        VersionMode::Timeline => {
            let mut items: Vec<Json> = artifact.history.iter().chain([latest]).cloned().collect();
            let most = declared.presentation.max_items.map_or(items.len(), |n| usize::try_from(n).unwrap_or(usize::MAX));
            items.drain(..items.len().saturating_sub(most));
            ProjectedItem::Timeline { items }
        }
        VersionMode::Diff => {
            let before = artifact.history.last();
            ProjectedItem::Diff {
                before: before.cloned().unwrap_or_default(),
                after: latest.clone(),
                changes: diff(declared.content_type, before, latest),
            }
        }
    };
    let in_chat = if declared.visibility == super::Visibility::PromptAndUi { ShownAs::Item } else { ShownAs::Block };
    Some(Projection { tag: artifact.tag.clone(), surface: surface.to_owned(), shown_as: (surface == CHAT).then_some(in_chat), item })
}
