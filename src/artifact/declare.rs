//! From the rows of a pack to its declarations.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{ContentType, Declarations, DeclaredArtifact, Presentation, VersionMode, VersionWindow, Visibility, Writer};
use crate::diag::{DocumentNode, NodeValue};
use crate::model::Pack;
use crate::model::pack::PackRow;

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
