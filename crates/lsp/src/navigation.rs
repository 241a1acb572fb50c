//! Where rules are written and where they are named, in files of all layers.

use std::path::{Path, PathBuf};

use lsp_types::Location;
use tapster::diag::{Source, Span};
use tapster::machinery::pack::files::is_rule_file;
use tapster::model::Pack;

use crate::address::address_of;
use crate::diagnostics::{path_of_source, range_in};
use crate::document::OpenDocuments;
use crate::outline::{Outline, Syntax};
use crate::subject::{RuleText, Subject, SubjectAt, word_around};

/// The most places of one answer.
const MOST_PLACES: usize = 1_000;

/// Finds places in the files of a pack.
pub(crate) struct Navigator<'n> {
    pub(crate) rules: &'n RuleText<'n>,
    pub(crate) documents: &'n OpenDocuments,
    /// Where files of shipped packs are written, so that an editor can open them.
    pub(crate) shipped: Option<&'n ShippedFiles>,
}

impl Navigator<'_> {
    /// Where something is written, the lowest layer first.
    pub(crate) fn definitions(&self, subject: &Subject) -> Vec<Location> {
        let pack = self.rules.pack;
        let spans: Vec<Span> = match subject {
            Subject::Row { table, name } => row_spans(pack, table, name),
            Subject::ScenePath(path) => path_spans(pack, path),
            Subject::Field(field) => {
                let rows = pack.rows("field").filter(|row| row.name.split_once('/').is_some_and(|(_, name)| name == field));
                rows.flat_map(|row| row_spans(pack, "field", &row.name)).collect()
            }
            Subject::Pack(name) => manifest_span(pack, name).into_iter().collect(),
            Subject::Function(_) | Subject::Verb(_) => Vec::new(),
        };
        spans.into_iter().filter_map(|span| self.location(span)).take(MOST_PLACES).collect()
    }

    /// Where something is named, also where it is written.
    pub(crate) fn references(&self, subject: &Subject) -> Vec<Location> {
        let word = match subject {
            Subject::Row { name, .. } => name.rsplit('/').next().unwrap_or(name),
            Subject::ScenePath(name) | Subject::Field(name) | Subject::Function(name) | Subject::Verb(name) | Subject::Pack(name) => name,
        };
        let mut found = Vec::new();
        for id in self.rules.pack.sources.ids() {
            let Some(source) = self.rules.pack.sources.get(id).filter(|source| !word.is_empty() && source.text.contains(word)) else {
                continue;
            };
            for range in self.uses(source, word, subject) {
                found.extend(self.location(Span::new(id, range.start, range.end)));
                if found.len() >= MOST_PLACES {
                    return found;
                }
            }
        }
        found
    }

    /// Where a text names a subject.
    fn uses(&self, source: &Source, word: &str, subject: &Subject) -> Vec<std::ops::Range<usize>> {
        let path = Path::new(&*source.name);
        if !is_rule_file(path) {
            return Vec::new();
        }
        let outline = Outline::read(&source.text, Syntax::of(path, &source.text));
        let text = RuleText { text: &source.text, outline: &outline, ..*self.rules };
        let mut found: Vec<std::ops::Range<usize>> = Vec::new();
        for (at, _) in source.text.match_indices(word) {
            let is_whole = word_around(&source.text, at);
            let Some(SubjectAt { subject: named, range }) = text.subject(at).filter(|_| !is_whole.is_empty()) else { continue };
            if named == *subject && !found.contains(&range) {
                found.push(range);
            }
        }
        found
    }

    /// The place of a span, in a file that an editor can open.
    fn location(&self, span: Span) -> Option<Location> {
        let sources = &self.rules.pack.sources;
        let source = sources.get(span.source)?;
        let range = range_in(source, span, self.documents);
        let path = match path_of_source(source) {
            Some(path) => path.to_owned(),
            None => self.shipped?.path(source)?,
        };
        Some(Location::new(address_of(&path)?, range))
    }
}

/// Where a row is named first, and where later layers patch it.
fn row_spans(pack: &Pack, table: &str, name: &str) -> Vec<Span> {
    let row = pack.row(table, name);
    row.into_iter().flat_map(|row| std::iter::once(row.name_span).chain(row.patched.iter().copied())).collect()
}

/// The declaration of a path: its row, the row of the list that it is, or the value of the pack.
fn path_spans(pack: &Pack, path: &str) -> Vec<Span> {
    let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
    let heads: Vec<&str> = ends.filter_map(|end| path.get(..end)).collect();
    for head in heads.into_iter().rev() {
        let state = head.strip_prefix("state.");
        let tables = [("path", Some(head)), ("list", Some(head)), ("state", state), ("program", Some(head))];
        for (table, name) in tables {
            let spans = name.map(|name| row_spans(pack, table, name)).unwrap_or_default();
            if !spans.is_empty() {
                return spans;
            }
        }
        let (section, rest) = head.split_once('.').unwrap_or((head, ""));
        if let Some(field) = pack.values.get(section) {
            let place = if rest.is_empty() { Some(field.key) } else { field.node.at(rest).map(|(key, _)| key) };
            if let Some(place) = place {
                return vec![place];
            }
        }
    }
    Vec::new()
}

/// The manifest of a pack.
fn manifest_span(pack: &Pack, name: &str) -> Option<Span> {
    let ends = ["/pack.toml", "/pack.json"];
    let is_manifest = |source: &Source| *source.layer == *name && ends.iter().any(|end| source.name.ends_with(end));
    let id = pack.sources.ids().find(|id| pack.sources.get(*id).is_some_and(is_manifest))?;
    Some(Span::new(id, 0, 0))
}

/// Files of shipped packs, written to a folder when somebody asks for them.
#[derive(Debug, Clone)]
pub struct ShippedFiles {
    folder: PathBuf,
}

impl ShippedFiles {
    /// Files in a folder, which is made when it is needed.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file with the text of a source, which can be read and not be written. `None` if it cannot be made.
    fn path(&self, source: &Source) -> Option<PathBuf> {
        // names of shipped files are paths without `..`
        let inside = Path::new(&*source.name);
        if inside.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return None;
        }
        let path = self.folder.join(inside);
        if std::fs::read(&path).is_ok_and(|held| held == source.text.as_bytes()) {
            return Some(path);
        }
        std::fs::create_dir_all(path.parent()?).ok()?;
        // one of another release may be there, and cannot be written
        _ = std::fs::remove_file(&path);
        std::fs::write(&path, source.text.as_bytes()).ok()?;
        let mut rights = path.metadata().ok()?.permissions();
        rights.set_readonly(true);
        _ = std::fs::set_permissions(&path, rights);
        Some(path)
    }
}
