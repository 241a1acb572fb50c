//! Artifacts and their writers, row against row: tags, policies and owners that contradict each other, and declarations without
//! an effect, such as an artifact that nobody can write or a writer that writes nothing.

use super::{inclusions, push};
use crate::artifact::{ContentType, Declarations, DeclaredArtifact, NOWHERE, RETENTION_BY_KIND, VersionMode, Visibility, retention};
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, short};
use crate::model::Pack;
use crate::model::pack::PackRow;

/// The most characters of a tag.
const LONGEST_TAG: usize = 128;

/// Reports what is wrong with the rows of `artifact` and `writer`, and with what operations write.
pub(super) fn check(pack: &Pack, declared: &Declarations, found: &mut Report) {
    let by_kind = pack.values.get(RETENTION_BY_KIND).map(|field| &field.node);
    let rows = || pack.rows("artifact").zip(&declared.artifacts);
    let mut check = ArtifactCheck { pack, declared, found };
    rows().enumerate().for_each(|(n, (row, artifact))| check.artifact(n, artifact, row, by_kind));
    check.writes();
    check.operations();
    for (row, artifact) in rows() {
        unused_in(pack, artifact, row).into_iter().for_each(|complaint| push(check.found, row, complaint));
    }
    for row in pack.rows("writer") {
        unused_writer(pack, row, &declared.artifacts).into_iter().for_each(|complaint| push(check.found, row, complaint));
    }
    check.found.extend(unused_retention(by_kind, &declared.artifacts));
}

/// Whether a tag can be written behind `art.`.
fn is_tag(tag: &str) -> bool {
    let short = tag.len() <= LONGEST_TAG;
    short && tag.starts_with(|c: char| c.is_ascii_lowercase()) && tag.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

struct ArtifactCheck<'a> {
    pack: &'a Pack,
    declared: &'a Declarations,
    found: &'a mut Report,
}

impl ArtifactCheck<'_> {
    /// What is wrong with the row of the artifact of this number.
    fn artifact(&mut self, n: usize, artifact: &DeclaredArtifact, row: &PackRow, by_kind: Option<&DocumentNode>) {
        self.tag(n, artifact, row);
        inclusions::check(self.pack, row).into_iter().for_each(|complaint| self.push(row, complaint));
        if &*artifact.kind == "state" && artifact.content_type != ContentType::Json {
            let message = format!("artifact `{}` is of kind `state`, and its value is not JSON", artifact.name);
            let complaint = Diagnostic::new(Code::ArtifactContent, message).at(row.place("content_type"));
            self.push(row, complaint.help("write `content_type = \"json\"`, or another `kind`"));
        }
        self.retention(artifact, row, by_kind);
        if let Some(writer) = &artifact.writer
            && !self.declared.writers.contains_key(writer)
        {
            let near = self.found.words.help(writer, self.declared.writers.keys().map(AsRef::as_ref));
            let message = format!("artifact `{}` belongs to `{writer}`, which is neither a writer nor an operation", artifact.name);
            let complaint = Diagnostic::new(Code::NameUnknown, message).at(row.place("writer"));
            let complaint = complaint.missing_row(&["writer", "operation"], &**writer);
            self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[writer]]` or `[[operation]]`".into())));
        }
    }

    /// A value that outlives the run, under a policy by which nothing does.
    fn retention(&mut self, artifact: &DeclaredArtifact, row: &PackRow, by_kind: Option<&DocumentNode>) {
        let policy = retention(row, &artifact.kind, by_kind).filter(|_| artifact.persisted);
        let Some(mode) = policy.and_then(|policy| policy.get("mode")).filter(|mode| mode.as_text() == Some("ephemeral")) else { return };
        let complaint = if row.fields.contains_key("retention") {
            let message = format!("artifact `{}` outlives the run, and its retention says that it does not", artifact.name);
            let complaint = Diagnostic::new(Code::ArtifactRetention, message).at(mode.span);
            complaint.help("write `access = \"run_only\"`, or another retention")
        } else {
            let (name, kind) = (&artifact.name, &artifact.kind);
            let message = format!("artifact `{name}` outlives the run, and the retention of its kind `{kind}` says that it does not");
            let complaint = Diagnostic::new(Code::ArtifactRetention, message).at(row.place("access"));
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
            let complaint = Diagnostic::new(Code::ArtifactTag, message).at(row.place("tag"));
            let help = "begin with a lower-case letter, and go on with lower-case letters, digits and `_`";
            self.push(row, complaint.help(format!("{help}; at most {LONGEST_TAG} characters")));
            return;
        }
        let earlier = self.declared.artifacts.get(..n).unwrap_or_default();
        if let Some(other) = earlier.iter().find(|a| a.persisted && a.tag.as_ref() == Some(tag)) {
            let message = format!("artifacts `{}` and `{}` have the tag `{tag}`", other.name, artifact.name);
            let other = self.row(other).map_or(other.span, |row| row.place("tag"));
            let complaint = Diagnostic::new(Code::ArtifactCollision, message).at(row.place("tag")).related(other, "the other one is here");
            self.push(row, complaint.help("a tag names one artifact, which has one writer: give one of them another tag"));
        }
    }

    /// What writers say that they write.
    fn writes(&mut self) {
        for row in self.pack.rows("writer") {
            for (tag, span) in row.words("writes") {
                self.writes_tag(row, tag, span, &row.name, "writer");
            }
        }
    }

    /// The artifacts that operations write, which they name by the row.
    fn operations(&mut self) {
        for row in self.pack.rows("operation") {
            let Some(name) = row.text("artifact") else { continue };
            let span = row.place("artifact");
            let owner = row.text("writer").unwrap_or(&row.name);
            match self.declared.row(name) {
                // a writer that nobody declares is told with its operation
                Some(_) if !self.declared.writers.contains_key(owner) => {}
                Some(artifact) if artifact.persisted => {
                    let tag = artifact.tag.clone().unwrap_or_default();
                    self.writes_tag(row, &tag, span, owner, "operation");
                }
                Some(_) => {}
                None => {
                    let near = self.found.words.help(name, self.declared.artifacts.iter().map(|a| &*a.name));
                    let message = format!("operation `{}` writes artifact `{name}`, which no row declares", row.name);
                    let complaint = Diagnostic::new(Code::ArtifactUndeclared, message).at(span).missing_row(&["artifact"], name);
                    self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[artifact]]`".into())));
                }
            }
        }
    }

    /// A write to a persisted tag that is known before anything runs.
    fn writes_tag(&mut self, row: &PackRow, tag: &str, span: Span, writer: &str, what: &str) {
        let Some(artifact) = self.declared.persisted(tag) else {
            if let Some(other) = self.declared.artifacts.iter().find(|a| a.tag.as_deref() == Some(tag)) {
                let (name, there) = (&other.name, self.row(other).map_or(other.span, |row| row.place("access")));
                let message = format!("{what} `{}` writes the tag `{tag}`, and artifact `{name}`, which has it, is `run_only`", row.name);
                let complaint = Diagnostic::new(Code::ArtifactUndeclared, message).at(span).related(there, "its access is said here");
                let help =
                    "only artifacts that outlive the run are written by their tag: take it out, or write `access = \"persisted\"` there";
                self.push(row, complaint.help(help));
                return;
            }
            let near = self.found.words.help(tag, self.declared.artifacts.iter().filter(|a| a.persisted).filter_map(|a| a.tag.as_deref()));
            let message = format!("{what} `{}` writes the tag `{tag}`, which no artifact has", row.name);
            let complaint = Diagnostic::new(Code::ArtifactUndeclared, message).at(span).missing(tag);
            self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[artifact]]`".into())));
            return;
        };
        if artifact.writer.as_deref() == Some(writer) {
            return;
        }
        let theirs = self.row(artifact).map_or(artifact.span, |row| row.place("writer"));
        let owner = artifact.writer.as_ref().map_or_else(|| "has no writer".to_owned(), |owner| format!("belongs to `{owner}`"));
        let message = format!("{what} `{}` writes the tag `{tag}`, which {owner}", row.name);
        let complaint = Diagnostic::new(Code::ArtifactForeign, message).at(span).related(theirs, "its writer is said here");
        self.push(row, complaint.help(format!("a tag has one writer: write `writer = \"{writer}\"` there, or do not write it here")));
    }

    /// The row of an artifact.
    fn row(&self, artifact: &DeclaredArtifact) -> Option<&PackRow> {
        self.pack.row("artifact", &artifact.name)
    }

    fn push(&mut self, row: &PackRow, complaint: Diagnostic) {
        push(self.found, row, complaint);
    }
}

/// What has no effect in the row of one artifact.
fn unused_in(pack: &Pack, artifact: &DeclaredArtifact, row: &PackRow) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if artifact.persisted {
        found.extend(unwritten(pack, artifact, row));
        found.extend(unshown(artifact, row));
    } else {
        found.extend(["surface", "presentation", "retention"].into_iter().filter_map(|key| run_only(artifact, row, key)));
    }
    found.extend(excluded(artifact, row));
    found.extend(inclusions::unused(pack, row));
    found
}

/// An artifact that outlives the run, and that has no writer. An operation that writes it is told elsewhere.
fn unwritten(pack: &Pack, artifact: &DeclaredArtifact, row: &PackRow) -> Option<Diagnostic> {
    let written = pack.rows("operation").any(|operation| operation.text("artifact") == Some(&*row.name));
    if written || row.fields.contains_key("writer") {
        return None;
    }
    let message = format!("artifact `{}` has no writer, so nobody can write it", artifact.name);
    Some(unused(message, row.name_span).help("add `writer`: a row `[[writer]]` or `[[operation]]`"))
}

/// How an artifact is shown that is shown nowhere, and a length of what is no list.
fn unshown(artifact: &DeclaredArtifact, row: &PackRow) -> Option<Diagnostic> {
    let name = &artifact.name;
    let nowhere = artifact.is_nowhere();
    let presentation = row.node("presentation");
    if !artifact.visibility.is_shown() {
        let key = if nowhere { "presentation" } else { "surface" };
        let node = row.node(key)?;
        let message = format!("`{key}` of artifact `{name}` has no effect: its visibility says that it is not shown");
        let complaint = said(unused(message, node.span), row, "visibility", "its visibility is said here");
        return Some(complaint.help("write `visibility = \"ui_only\"` or `\"prompt_and_ui\"`, or remove it"));
    }
    if nowhere {
        let message = format!("`presentation` of artifact `{name}` has no effect: it is shown nowhere");
        return Some(unused(message, presentation?.span).help("add a `surface`, such as `panel:ID`, or remove it"));
    }
    let limit = presentation?.get("max_items").filter(|_| artifact.mode() != VersionMode::Timeline)?;
    let message = format!("`max_items` of artifact `{name}` has no effect: only one version is shown");
    Some(unused(message, limit.span).help("write `mode = \"timeline\"`, or remove it"))
}

fn run_only(artifact: &DeclaredArtifact, row: &PackRow, key: &str) -> Option<Diagnostic> {
    let node = row.node(key)?;
    let harmless = match key {
        "surface" => node.as_text() == Some(NOWHERE),
        "retention" => node.get("mode").and_then(DocumentNode::as_text) == Some("ephemeral"),
        _ => false,
    };
    if harmless {
        return None;
    }
    let why = if key == "retention" { "nothing of it is kept" } else { "it is gone before anything is shown" };
    let message = format!("`{key}` of artifact `{}` has no effect: it belongs to the run, and {why}", artifact.name);
    let complaint = said(unused(message, node.span), row, "access", "its access is said here");
    Some(complaint.help("remove it, or write `access = \"persisted\"`"))
}

/// An inclusion that the visibility forbids.
fn excluded(artifact: &DeclaredArtifact, row: &PackRow) -> Option<Diagnostic> {
    let node = row.node("inclusion")?;
    let never = node.get("mode").and_then(DocumentNode::as_text) == Some("none");
    if never || matches!(artifact.visibility, Visibility::PromptOnly | Visibility::PromptAndUi) {
        return None;
    }
    let message = format!("`inclusion` of artifact `{}` has no effect: its visibility keeps it out of prompts", artifact.name);
    let complaint = said(unused(message, node.span), row, "visibility", "its visibility is said here");
    Some(complaint.help("write `visibility = \"prompt_only\"` or `\"prompt_and_ui\"`, or remove it"))
}

/// A writer that owns and writes nothing.
fn unused_writer(pack: &Pack, row: &PackRow, artifacts: &[DeclaredArtifact]) -> Option<Diagnostic> {
    let owns = artifacts.iter().any(|artifact| artifact.writer.as_deref() == Some(&*row.name));
    let writes = row.words("writes").next().is_some();
    let named = pack.rows("operation").any(|operation| operation.name == row.name || operation.text("writer") == Some(&*row.name));
    if owns || writes || named {
        return None;
    }
    let message = format!("writer `{}` has no effect: no artifact belongs to it, and it writes none", row.name);
    Some(unused(message, row.name_span).help(format!("write `writer = \"{}\"` in the artifact that it writes, or remove it", row.name)))
}

/// Policies for kinds that no artifact has.
fn unused_retention(by_kind: Option<&DocumentNode>, artifacts: &[DeclaredArtifact]) -> Report {
    let kinds = by_kind.and_then(DocumentNode::as_table).into_iter().flatten();
    let idle = kinds.filter(|(kind, _)| !artifacts.iter().any(|artifact| artifact.kind == **kind));
    idle.map(|(kind, field)| {
        let message = format!("the retention of kind `{kind}` has no effect: no artifact is of this kind");
        unused(message, field.key).help(format!("write `kind = \"{kind}\"` in an artifact, or remove it"))
    })
    .collect()
}

/// Points at the value of a key, if the row has it.
fn said(complaint: Diagnostic, row: &PackRow, key: &str, what: &str) -> Diagnostic {
    match row.node(key) {
        Some(node) => complaint.related(node.span, what),
        None => complaint,
    }
}

fn unused(message: String, span: Span) -> Diagnostic {
    Diagnostic::new(Code::ArtifactUnused, message).at(span)
}
