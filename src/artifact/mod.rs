//! Artifacts: named values with versions that outlive a turn, as a pack declares them.
//!
//! A row of the table `artifact` says what a value is, who may write it, how long its versions live and where it is
//! shown. Here is what holds for every pack, because it protects data: that a tag has one writer, that a value has the
//! declared type, and what is left of a value that is not kept. How an artifact enters a prompt is a program of the
//! pack. Source: the contract of artifacts (`docs/reference/artifact.md`), whose gaps are decided in
//! `ambiguities-tv.md`, A3.

mod policy;
mod project;

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value as Json;

use crate::diag::{DocumentNode, NodeValue, Span};
use crate::model::pack::PackRow;
use crate::model::term::{NONEMPTY_TEXT, RowTerms};
use crate::model::{Pack, Term};

pub use policy::{RunArtifact, RunArtifacts, ValueTrace, WriteRefusal};
pub(crate) use project::NOWHERE;
pub use project::{ProjectedItem, Projection, ShownAs, diff};

/// Keys of `artifact`.
const ARTIFACT: &[Term] = &[
    Term::new(
        "tag",
        NONEMPTY_TEXT,
        "name under which it is read: `art.TAG`. An artifact that outlives the run has one, of at most 128 lower-case letters, \
         digits and `_`",
    ),
    Term::new("kind", NONEMPTY_TEXT, "what sort of thing it is, in any word; default `any`. The kind `state` is JSON"),
    Term::new("writer", NONEMPTY_TEXT, "who may write it: a row of `writer`, or an operation"),
    Term::word("access", &["persisted", "run_only"], "whether it outlives the run (default), or belongs to one run only"),
    Term::word(
        "visibility",
        &["prompt_only", "ui_only", "prompt_and_ui", "internal"],
        "whether it takes part in prompts, whether it may be shown, or both; default `internal`: neither",
    ),
    Term::json(
        "surface",
        r#"{ "type": "string", "pattern": "^(chat_history|internal|(panel|feed|overlay):.+)$" }"#,
        "where it is shown: `chat_history`, `panel:ID`, `feed:ID`, `overlay:ID`",
    )
    .default("`internal`: nowhere"),
    Term::word("content_type", &["text", "json", "markdown"], "what its value is").default("text"),
    Term::word(
        "origin",
        &["automation", "user_projection"],
        "where its content comes from: a program or model (default), or what the user has just written",
    ),
    Term::json("inclusion", r#"{ "$ref": "artifact.v2.json#/definitions/artifact_inclusion" }"#, ""),
    Term::json("retention", r#"{ "$ref": "artifact.v2.json#/definitions/retention" }"#, ""),
    Term::json("presentation", r#"{ "$ref": "artifact.v2.json#/definitions/presentation" }"#, ""),
];

/// Keys of `writer`.
const WRITER: &[Term] = &[
    Term::json(
        "grants",
        r#"{ "type": "array", "uniqueItems": true, "items": { "enum": ["artifact_write", "state_write"] } }"#,
        "which artifacts of its own it may write: those of every kind (`artifact_write`, the default), or of kind `state` only \
         (`state_write`)",
    ),
    Term::json(
        "writes",
        r#"{ "type": "array", "uniqueItems": true, "items": { "type": "string", "minLength": 1 } }"#,
        "the tags that it writes, to be checked when the pack is compiled",
    ),
];

/// The keys of the rows that are read here.
pub(crate) const ROWS: &[RowTerms] = &[("artifact", &[ARTIFACT]), ("writer", &[WRITER])];

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

/// The value table of a pack that holds the retention of all artifacts of a kind.
pub(crate) const RETENTION_BY_KIND: &str = "retention";
/// Milliseconds in a second.
const SECOND: i64 = 1000;

impl Declarations {
    /// Reads the rows of a pack. A value of a wrong shape, which the schema reports, counts as its default.
    #[must_use]
    pub fn compile(pack: &Pack) -> Self {
        let by_kind = pack.values.get(RETENTION_BY_KIND).map(|field| &field.node);
        Self { artifacts: pack.rows("artifact").map(|row| declared(row, by_kind)).collect(), writers: writers(pack) }
    }
}

fn declared(row: &PackRow, by_kind: Option<&DocumentNode>) -> DeclaredArtifact {
    let kind = row.text("kind").unwrap_or("any");
    let retention = retention(row, kind, by_kind);
    DeclaredArtifact {
        name: row.name.clone(),
        tag: row.text("tag").map(Arc::from),
        kind: Arc::from(kind),
        writer: row.text("writer").map(Arc::from),
        persisted: row.text("access") != Some("run_only"),
        visibility: match row.text("visibility") {
            Some("prompt_only") => Visibility::PromptOnly,
            Some("ui_only") => Visibility::UiOnly,
            Some("prompt_and_ui") => Visibility::PromptAndUi,
            _ => Visibility::Internal,
        },
        surface: Arc::from(row.text("surface").unwrap_or("internal")),
        content_type: match row.text("content_type") {
            Some("json") => ContentType::Json,
            Some("markdown") => ContentType::Markdown,
            _ => ContentType::Text,
        },
        keep: retention.map_or(VersionWindow::LATEST, window),
        presentation: row.node("presentation").map_or_else(Presentation::default, presentation),
        asks: asks(row),
        span: row.name_span,
    }
}

/// The policy that holds for an artifact: its own, or else that of its kind.
pub(crate) fn retention<'a>(row: &'a PackRow, kind: &str, by_kind: Option<&'a DocumentNode>) -> Option<&'a DocumentNode> {
    row.node("retention").or_else(|| by_kind?.get(kind))
}

/// How many versions a policy keeps. Without a policy, and with `overwrite`, only the latest.
fn window(policy: &DocumentNode) -> VersionWindow {
    let count = |key: &str| number(policy.get(key)).and_then(|n| u32::try_from(n).ok());
    match policy.get("mode").and_then(DocumentNode::as_text) {
        Some("durable") => VersionWindow { versions: count("versions"), ..VersionWindow::default() },
        Some("windowed") => VersionWindow {
            versions: count("versions"),
            turns: count("turns"),
            ttl: number(policy.get("ttl")).map(|n| n.saturating_mul(SECOND)),
        },
        _ => VersionWindow::LATEST,
    }
}

/// How many earlier values the row asks for with a number: besides the latest one.
fn asks(row: &PackRow) -> u32 {
    let within = |key: &str, inner: &str| row.node(key).and_then(|node| node.get(inner));
    let shown = number(within("presentation", "max_items"));
    let included = number(within("inclusion", "version_selector").and_then(|selector| selector.get("last_n")));
    let most = shown.max(included).unwrap_or_default().saturating_sub(1);
    u32::try_from(most).unwrap_or_default()
}

fn presentation(node: &DocumentNode) -> Presentation {
    let mode = match node.get("mode").and_then(DocumentNode::as_text) {
        Some("latest_only") => Some(VersionMode::LatestOnly),
        Some("timeline") => Some(VersionMode::Timeline),
        Some("diff") => Some(VersionMode::Diff),
        _ => None,
    };
    Presentation { mode, max_items: number(node.get("max_items")).and_then(|n| u32::try_from(n).ok()) }
}

/// The rows of table `writer`, and operations without such a row, which may write what belongs to them.
fn writers(pack: &Pack) -> IndexMap<Arc<str>, Writer> {
    let every = || Writer { artifact_write: true, state_write: true };
    let mut out: IndexMap<Arc<str>, Writer> = pack.rows("operation").map(|row| (row.name.clone(), every())).collect();
    for row in pack.rows("writer") {
        let grants: Vec<&str> = row.words("grants").map(|(word, _)| word).collect();
        let has = |grant: &str| grants.contains(&grant) || !row.fields.contains_key("grants");
        out.insert(row.name.clone(), Writer { artifact_write: has("artifact_write"), state_write: has("state_write") });
    }
    out
}

/// The whole number that a value is.
fn number(node: Option<&DocumentNode>) -> Option<i64> {
    if let Some(NodeValue::Int(n)) = node.map(|node| &node.data) { Some(*n) } else { None }
}

/// How many versions of an artifact are kept. The latest version is always kept; of the others, those that meet every
/// bound. Without a bound, all versions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VersionWindow {
    /// This many versions, the latest included.
    pub versions: Option<u32>,
    /// The versions of this many turns, the present one included.
    pub turns: Option<u32>,
    /// Versions that are younger than this, in milliseconds.
    pub ttl: Option<i64>,
}

impl VersionWindow {
    /// Only the latest version.
    pub const LATEST: VersionWindow = VersionWindow { versions: Some(1), turns: None, ttl: None };
}

/// An artifact as it is now.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Artifact {
    /// Its tag.
    pub tag: String,
    /// Its latest version.
    pub version: i64,
    /// The value of that version.
    pub value: Json,
    /// The values of earlier versions within its window, oldest first.
    pub history: Vec<Json>,
}
