//! From the rows of a pack to its declarations, and what is wrong between rows: what the schema of one row cannot see.

use std::sync::Arc;

use indexmap::IndexMap;

use super::rows::{number, place, push, text, words};
use super::{
    ContentType, Declarations, DeclaredArtifact, Presentation, VersionMode, VersionWindow, Visibility, Writer, fields, inclusion,
    operations, unused,
};
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, short, suggest};
use crate::model::Pack;
use crate::model::pack::{PackRow, PackRows};

/// The value table of a pack that holds the retention of all artifacts of a kind.
const BY_KIND: &str = "retention";
/// Milliseconds in a second.
const SECOND: i64 = 1000;

impl Declarations {
    /// Reads the rows of a pack. A value of a wrong shape, which the schema reports, counts as its default.
    #[must_use]
    pub fn compile(pack: &Pack) -> (Self, Report) {
        let none = PackRows::default();
        let table = |name: &str| pack.tables.get(name).unwrap_or(&none);
        let by_kind = pack.values.get(BY_KIND).map(|field| &field.node);
        let artifacts: Vec<DeclaredArtifact> = table("artifact").values().map(|row| declared(row, by_kind)).collect();
        let writers = writers(table("writer"), table("operation"));
        let words = inclusion::InclusionWords {
            modes: table("inclusion_mode"),
            phases: table("inclusion_phase"),
            anchors: table("inclusion_anchor"),
        };
        let out = Self { artifacts, writers };
        let mut check = DeclarationCheck { table: table("artifact"), by_kind, words, out, found: Report::default() };
        check.artifacts();
        check.writes(table("writer"));
        check.operations(table("operation"));
        check.unused(table("writer"), table("operation"));
        let vocabulary = fields::OperationVocabulary { kinds: table("operation_kind"), types: table("effect_type") };
        operations::check(table("operation"), table("effect"), vocabulary, &check.out.writers, &mut check.found);
        (check.out, check.found)
    }
}

fn declared(row: &PackRow, by_kind: Option<&DocumentNode>) -> DeclaredArtifact {
    let kind = text(row, "kind").unwrap_or("any");
    let retention = retention(row, kind, by_kind);
    DeclaredArtifact {
        name: row.name.clone(),
        tag: text(row, "tag").map(Arc::from),
        kind: Arc::from(kind),
        writer: text(row, "writer").map(Arc::from),
        persisted: text(row, "access") != Some("run_only"),
        visibility: match text(row, "visibility") {
            Some("prompt_only") => Visibility::PromptOnly,
            Some("ui_only") => Visibility::UiOnly,
            Some("prompt_and_ui") => Visibility::PromptAndUi,
            _ => Visibility::Internal,
        },
        surface: Arc::from(text(row, "surface").unwrap_or("internal")),
        content_type: match text(row, "content_type") {
            Some("json") => ContentType::Json,
            Some("markdown") => ContentType::Markdown,
            _ => ContentType::Text,
        },
        keep: retention.map_or(VersionWindow::LATEST, window),
        presentation: row.fields.get("presentation").map_or_else(Presentation::default, |field| presentation(&field.node)),
        asks: asks(row),
        span: row.name_span,
    }
}

/// The policy that holds for an artifact: its own, or else that of its kind.
fn retention<'a>(row: &'a PackRow, kind: &str, by_kind: Option<&'a DocumentNode>) -> Option<&'a DocumentNode> {
    row.fields.get("retention").map(|field| &field.node).or_else(|| by_kind?.get(kind))
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
    let within = |key: &str, inner: &str| row.fields.get(key).and_then(|field| field.node.get(inner));
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
fn writers(rows: &PackRows, operations: &PackRows) -> IndexMap<Arc<str>, Writer> {
    let every = || Writer { artifact_write: true, state_write: true };
    let mut out: IndexMap<Arc<str>, Writer> = operations.keys().map(|name| (name.clone(), every())).collect();
    for row in rows.values() {
        let grants: Vec<&str> = words(row, "grants").map(|(word, _)| word).collect();
        let has = |grant: &str| grants.contains(&grant) || !row.fields.contains_key("grants");
        out.insert(row.name.clone(), Writer { artifact_write: has("artifact_write"), state_write: has("state_write") });
    }
    out
}

struct DeclarationCheck<'a> {
    table: &'a PackRows,
    by_kind: Option<&'a DocumentNode>,
    words: inclusion::InclusionWords<'a>,
    out: Declarations,
    found: Report,
}

/// The most characters of a tag.
const LONGEST_TAG: usize = 128;

/// Whether a tag can be written behind `art.`.
fn is_tag(tag: &str) -> bool {
    let short = tag.len() <= LONGEST_TAG;
    short && tag.starts_with(|c: char| c.is_ascii_lowercase()) && tag.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

impl DeclarationCheck<'_> {
    /// What is wrong with the rows of table `artifact`, one after another.
    fn artifacts(&mut self) {
        for n in 0..self.out.artifacts.len() {
            let (Some(artifact), Some((_, row))) = (self.out.artifacts.get(n), self.table.get_index(n)) else { continue };
            let artifact = artifact.clone();
            self.tag(n, &artifact, row);
            inclusion::check(row, self.words).into_iter().for_each(|complaint| self.push(row, complaint));
            if &*artifact.kind == "state" && artifact.content_type != ContentType::Json {
                let message = format!("artifact `{}` is of kind `state`, and its value is not JSON", artifact.name);
                let complaint = Diagnostic::new(Code::ArtifactContent, message).at(place(row, "content_type"));
                self.push(row, complaint.help("write `content_type = \"json\"`, or another `kind`"));
            }
            self.retention(&artifact, row);
            if let Some(writer) = &artifact.writer
                && !self.out.writers.contains_key(writer)
            {
                let near = suggest::help(writer, self.out.writers.keys().map(AsRef::as_ref));
                let message = format!("artifact `{}` belongs to `{writer}`, which is neither a writer nor an operation", artifact.name);
                let complaint =
                    Diagnostic::new(Code::NameUnknown, message).at(place(row, "writer")).missing_row(&["writer", "operation"], &**writer);
                self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[writer]]` or `[[operation]]`".to_owned())));
            }
        }
    }

    /// A value that outlives the run, under a policy by which nothing does.
    fn retention(&mut self, artifact: &DeclaredArtifact, row: &PackRow) {
        let policy = retention(row, &artifact.kind, self.by_kind).filter(|_| artifact.persisted);
        let Some(mode) = policy.and_then(|policy| policy.get("mode")).filter(|mode| mode.as_text() == Some("ephemeral")) else { return };
        let complaint = if row.fields.contains_key("retention") {
            let message = format!("artifact `{}` outlives the run, and its retention says that it does not", artifact.name);
            let complaint = Diagnostic::new(Code::ArtifactRetention, message).at(mode.span);
            complaint.help("write `access = \"run_only\"`, or another retention")
        } else {
            let (name, kind) = (&artifact.name, &artifact.kind);
            let message = format!("artifact `{name}` outlives the run, and the retention of its kind `{kind}` says that it does not");
            let complaint = Diagnostic::new(Code::ArtifactRetention, message).at(place(row, "access"));
            let complaint = complaint.related(mode.span, "the retention of the kind is said here");
            complaint.help("write `access = \"run_only\"`, or give it a `retention` of its own")
        };
        self.push(row, complaint);
    }

    fn tag(&mut self, n: usize, artifact: &DeclaredArtifact, row: &PackRow) {
        if !artifact.persisted {
            return;
        }
        let Some(tag) = &artifact.tag else {
            let message = format!("artifact `{}` outlives the run and has no tag", artifact.name);
            let complaint = Diagnostic::new(Code::ArtifactTagRequired, message).at(row.name_span);
            self.push(row, complaint.help("give it a `tag`, or write `access = \"run_only\"`"));
            return;
        };
        if !is_tag(tag) {
            let message = format!("`{}` cannot be the tag of an artifact", short::word(tag));
            let complaint = Diagnostic::new(Code::ArtifactTag, message).at(place(row, "tag"));
            let help = "begin with a lower-case letter, and go on with lower-case letters, digits and `_`";
            self.push(row, complaint.help(format!("{help}; at most {LONGEST_TAG} characters")));
            return;
        }
        let earlier = self.out.artifacts.get(..n).unwrap_or_default();
        if let Some(other) = earlier.iter().find(|a| a.persisted && a.tag.as_ref() == Some(tag)) {
            let message = format!("artifacts `{}` and `{}` have the tag `{tag}`", other.name, artifact.name);
            let other = self.table.get(&other.name).map_or(other.span, |row| place(row, "tag"));
            let complaint = Diagnostic::new(Code::ArtifactCollision, message).at(place(row, "tag")).related(other, "the other one is here");
            self.push(row, complaint.help("a tag names one artifact, which has one writer: give one of them another tag"));
        }
    }

    /// Declarations that have no effect.
    fn unused(&mut self, writers: &PackRows, operations: &PackRows) {
        for n in 0..self.out.artifacts.len() {
            let (Some(artifact), Some((_, row))) = (self.out.artifacts.get(n), self.table.get_index(n)) else { continue };
            let found = unused::artifact(artifact, row, operations, self.words);
            found.into_iter().for_each(|complaint| self.push(row, complaint));
        }
        for row in writers.values() {
            if let Some(complaint) = unused::writer(row, &self.out.artifacts, operations) {
                self.push(row, complaint);
            }
        }
        unused::retention(self.by_kind, &self.out.artifacts).into_iter().for_each(|complaint| self.found.push(complaint));
    }

    /// What writers say that they write.
    fn writes(&mut self, writers: &PackRows) {
        for row in writers.values() {
            for (tag, span) in words(row, "writes") {
                self.writes_tag(row, tag, span, &row.name, "writer");
            }
        }
    }

    /// The artifacts that operations write, which they name by the row.
    fn operations(&mut self, operations: &PackRows) {
        for row in operations.values() {
            let Some((name, field)) = text(row, "artifact").zip(row.fields.get("artifact")) else { continue };
            let span = field.node.span;
            let owner = text(row, "writer").unwrap_or(&row.name);
            match self.out.row(name) {
                // a writer that nobody declares is told with its operation
                Some(_) if !self.out.writers.contains_key(owner) => {}
                Some(artifact) if artifact.persisted => {
                    let tag = artifact.tag.clone().unwrap_or_default();
                    self.writes_tag(row, &tag, span, owner, "operation");
                }
                Some(_) => {}
                None => {
                    let near = suggest::help(name, self.out.artifacts.iter().map(|a| &*a.name));
                    let message = format!("operation `{}` writes artifact `{name}`, which no row declares", row.name);
                    let complaint = Diagnostic::new(Code::ArtifactUndeclared, message).at(span).missing_row(&["artifact"], name);
                    self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[artifact]]`".to_owned())));
                }
            }
        }
    }

    /// A write to a persisted tag that is known before anything runs.
    fn writes_tag(&mut self, row: &PackRow, tag: &str, span: Span, writer: &str, what: &str) {
        let Some(artifact) = self.out.persisted(tag) else {
            if let Some(other) = self.out.artifacts.iter().find(|a| a.tag.as_deref() == Some(tag)) {
                let (name, there) = (other.name.clone(), self.table.get(&other.name).map_or(other.span, |row| place(row, "access")));
                let message = format!("{what} `{}` writes the tag `{tag}`, and artifact `{name}`, which has it, is `run_only`", row.name);
                let complaint = Diagnostic::new(Code::ArtifactUndeclared, message).at(span).related(there, "its access is said here");
                let help =
                    "only artifacts that outlive the run are written by their tag: take it out, or write `access = \"persisted\"` there";
                self.push(row, complaint.help(help));
                return;
            }
            let near = suggest::help(tag, self.out.artifacts.iter().filter(|a| a.persisted).filter_map(|a| a.tag.as_deref()));
            let message = format!("{what} `{}` writes the tag `{tag}`, which no artifact has", row.name);
            let complaint = Diagnostic::new(Code::ArtifactUndeclared, message).at(span).missing(tag);
            self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[artifact]]`".to_owned())));
            return;
        };
        if artifact.writer.as_deref() == Some(writer) {
            return;
        }
        let (owner, name) = (artifact.writer.clone(), artifact.name.clone());
        let theirs = self.table.get(&name).map_or(artifact.span, |row| place(row, "writer"));
        let owner = owner.map_or_else(|| "has no writer".to_owned(), |owner| format!("belongs to `{owner}`"));
        let message = format!("{what} `{}` writes the tag `{tag}`, which {owner}", row.name);
        let complaint = Diagnostic::new(Code::ArtifactForeign, message).at(span).related(theirs, "its writer is said here");
        self.push(row, complaint.help(format!("a tag has one writer: write `writer = \"{writer}\"` there, or do not write it here")));
    }

    fn push(&mut self, row: &PackRow, complaint: Diagnostic) {
        push(&mut self.found, row, complaint);
    }
}
