//! What a user sees of artifacts: not the data, but a projection of it for a panel, a feed, an overlay or the chat.
//!
//! Source: the contract of artifacts, life in the UI; decisions A3.15 and A3.16.

use serde_json::{Map, Value as Json, json};

use super::{Artifact, ContentType, Declarations, DeclaredArtifact, VersionMode, Visibility};

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
        let shown = |a: &Artifact| self.persisted(&a.tag).and_then(|declared| projection(declared, a));
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

fn projection(declared: &DeclaredArtifact, artifact: &Artifact) -> Option<Projection> {
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
    let in_chat = if declared.visibility == Visibility::PromptAndUi { ShownAs::Item } else { ShownAs::Block };
    Some(Projection { tag: artifact.tag.clone(), surface: surface.to_owned(), shown_as: (surface == CHAT).then_some(in_chat), item })
}

/// Compares two values of an artifact; `before` is `None` if there was none. Texts are compared by their length in
/// characters: `{chars: [before, after]}`. JSON is compared by the JSON Pointers (RFC 6901) of what was added, removed
/// and changed, each list sorted: `{added, removed, changed}`. Only objects are looked into; arrays and everything else
/// count as one value.
#[must_use]
pub fn diff(content_type: ContentType, before: Option<&Json>, after: &Json) -> Json {
    if content_type != ContentType::Json {
        let chars = |value: &Json| value.as_str().map(|text| text.chars().count());
        return json!({ "chars": [before.and_then(chars), chars(after)] });
    }
    let mut found = ItemChanges::default();
    match before {
        None => found.added.push(String::new()),
        Some(before) => found.compare(before, after, &mut String::new()),
    }
    for list in [&mut found.added, &mut found.removed, &mut found.changed] {
        list.sort();
    }
    json!({ "added": found.added, "removed": found.removed, "changed": found.changed })
}

#[derive(Default)]
struct ItemChanges {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

impl ItemChanges {
    /// `at` is the pointer of both values. Values of a store are at most as deep as JSON parsers allow.
    fn compare(&mut self, before: &Json, after: &Json, at: &mut String) {
        match (before, after) {
            (Json::Object(before), Json::Object(after)) => self.fields(before, after, at),
            _ if before == after => {}
            _ => self.changed.push(at.clone()),
        }
    }

    fn fields(&mut self, before: &Map<String, Json>, after: &Map<String, Json>, at: &mut String) {
        let length = at.len();
        for (key, old) in before {
            step(at, key);
            match after.get(key) {
                Some(new) => self.compare(old, new, at),
                None => self.removed.push(at.clone()),
            }
            at.truncate(length);
        }
        for key in after.keys().filter(|key| !before.contains_key(*key)) {
            step(at, key);
            self.added.push(at.clone());
            at.truncate(length);
        }
    }
}

/// Appends a step to a pointer.
fn step(at: &mut String, key: &str) {
    at.push('/');
    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
}
