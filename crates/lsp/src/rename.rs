//! Gives a row another name in all files that name it, or refuses with a sentence. What the compiler misses once the row has
//! another name is a use of it; every other place that writes the name must certainly mean something else.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use lsp_types::{
    DocumentChangeOperation, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use tapster::diag::{Report, Source, SourceId};
use tapster::machinery::pack::files::{pack_around, parent, read_file, shown};
use tapster::machinery::pack::{PackError, PackLibrary, RuleFile, Ruleset, Start, case_files, load};
use tapster::model::Pack;
use tapster_door::check::{CaseChecker, CheckReport, files_in};

use crate::address::address_of;
use crate::document::{OpenDocument, OpenDocuments};
use crate::files::{EditedPacks, clean_path};
use crate::mentions::{NamedRow, RowMentions};
use crate::outline::{Outline, PathStep, ROOT, Syntax};
use crate::project::{ProjectRoot, has_known_kind};
use crate::subject::{RuleText, Subject};

/// The tables of which only rules name the rows, and only by names that the compiler reads: no pass reads their rows as data.
const TABLES: [&str; 3] = ["fact", "pass", "value"];

/// The endings of rule files and of what they use.
const ENDINGS: [&str; 6] = ["toml", "json", "rhai", "hbs", "handlebars", "liquid"];
/// Folders of other programs, which hold no rules.
const FOREIGN_FOLDERS: [&str; 2] = ["node_modules", "target"];

/// Why something keeps its name.
pub(crate) type Refusal = String;

/// The places of a name by file, without a byte order mark.
type PlacesByFile = BTreeMap<PathBuf, Vec<Range<usize>>>;

/// What a rename needs to know.
pub(crate) struct Renamer<'r> {
    pub(crate) rules: &'r Ruleset,
    pub(crate) root: &'r ProjectRoot,
    /// Folders of packs by name.
    pub(crate) folders: &'r [PathBuf],
    pub(crate) workspaces: &'r [PathBuf],
    pub(crate) documents: &'r OpenDocuments,
    /// Where the name was pointed at.
    pub(crate) at: (PathBuf, Range<usize>),
}

/// The row that a byte of a document names, and where its short name is written there.
pub(crate) fn row_at(document: &OpenDocument, rules: &Ruleset, offset: usize) -> Result<(NamedRow, Range<usize>), Refusal> {
    let text = RuleText { text: &document.text, outline: document.outline(), pack: rules.pack(), names: &rules.programs().rules.names };
    let Some(found) = text.subject(offset) else { return Err("there is no name here that can be changed".to_owned()) };
    let row = match found.subject {
        Subject::Row { table, name } if TABLES.contains(&table.as_str()) => NamedRow { table, name },
        Subject::Row { table, name } => {
            return Err(format!("`{name}` keeps its name: scenes, presets and applications may name rows of `{table}` too"));
        }
        Subject::ScenePath(path) => return Err(format!("`${path}` keeps its name: scenes have it too")),
        Subject::Field(field) => return Err(format!("`@{field}` keeps its name: items of scenes have it too")),
        Subject::Function(name) | Subject::Verb(name) => return Err(format!("`{name}` is a word of the rule language")),
        Subject::Pack(name) => return Err(format!("`{name}` is the name of a pack, which other packs and its folder have too")),
    };
    if rules.pack().row(&row.table, &row.name).is_none() {
        return Err(format!("there is no {} `{}`", row.table, row.name));
    }
    let range = found.range.end.saturating_sub(row.short().len())..found.range.end;
    if document.text.get(range.clone()) != Some(row.short()) {
        return Err(format!("`{}` is written in another way here", row.name));
    }
    Ok((row, range))
}

impl Renamer<'_> {
    /// The places of a row's name, if all can be changed.
    pub(crate) fn places(&self, row: &NamedRow) -> Result<PlacesByFile, Refusal> {
        let pack = self.rules.pack();
        let mut found = PlacesByFile::new();
        let mut definers: BTreeSet<PathBuf> = BTreeSet::new();
        let mut unclear: Vec<(SourceId, Range<usize>)> = Vec::new();
        for id in pack.sources.ids() {
            let Some(source) = pack.sources.get(id) else { continue };
            let path = Path::new(&*source.name);
            let mentions = self.mentions(&source.text, path, row);
            if !mentions.certain.is_empty() {
                self.require_writable(source, row)?;
                definers.insert(path.to_owned());
                found.entry(path.to_owned()).or_default().extend(mentions.certain);
            }
            unclear.extend(mentions.quoted.into_iter().map(|range| (id, range)));
        }
        let (used, mut changed) = (self.uses(row, &found)?, 0);
        let lowest = self.lowest_layer(row);
        for (id, range) in unclear {
            let Some(source) = pack.sources.get(id) else { continue };
            if used.contains(&(source.name.to_string(), range.start)) {
                self.require_writable(source, row)?;
                found.entry(PathBuf::from(&*source.name)).or_default().push(range);
                changed += 1;
            // a layer names no row that only higher ones have
            } else if self.layer(&source.layer) >= lowest && !self.is_in_force(id, source, &range) {
                return Err(unsure(row, &at_line(source, range.start)));
            }
        }
        if used.len() != changed {
            return Err(format!("`{}` keeps its name: a place that names it is written in a way that cannot be changed safely", row.name));
        }
        let cases = self.cases(row, &mut found)?;
        let (path, place) = &self.at;
        if !found.get(path).is_some_and(|places| places.contains(place)) {
            return Err(format!("this is a text like others, and not the name of the {} `{}`", row.table, row.name));
        }
        self.require_no_others(row, &definers, &cases)?;
        for places in found.values_mut() {
            places.sort_by_key(|place| place.start);
            places.dedup();
        }
        Ok(found)
    }

    /// The edits that give a row another name.
    pub(crate) fn rename(&self, row: &NamedRow, new: &str, takes_versions: bool) -> Result<WorkspaceEdit, Refusal> {
        let is_name = new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && new.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if !is_name {
            return Err(format!("`{new}` is not a valid name: it begins with a letter, and has letters, digits, `_` and `-`"));
        }
        let renamed = row.renamed(new);
        if renamed == *row {
            return Ok(WorkspaceEdit::default());
        }
        let sources = &self.rules.pack().sources;
        let rules = sources.ids().filter_map(|id| sources.get(id)).map(|source| (source.name.to_string(), source.text.to_string()));
        let cases = self.case_files(row).into_iter().filter_map(|(file, _)| Some((file.name, String::from_utf8(file.bytes).ok()?)));
        let is_written = |(name, text): &(String, String)| !self.mentions(text, Path::new(name), &renamed).certain.is_empty();
        if let Some((name, _)) = rules.chain(cases).find(is_written) {
            return Err(format!("the name `{}` is taken: `{name}` has such a row", renamed.name));
        }
        let places = self.places(row)?;
        self.verify(row, &renamed, &places)?;
        Ok(self.workspace_edit(&places, new, takes_versions))
    }

    fn mentions(&self, text: &str, path: &Path, row: &NamedRow) -> RowMentions {
        RowMentions::find(text, path, row, self.rules.pack(), &self.rules.programs().rules.names)
    }

    /// The folders of the workspace; without one around the rules, the folder of the rules.
    fn folders_of_edits(&self) -> Vec<PathBuf> {
        let own = match self.root {
            ProjectRoot::Pack(folder) => folder.as_path(),
            root => root.path().parent().unwrap_or(root.path()),
        };
        let is_known = self.workspaces.iter().any(|folder| own.starts_with(folder));
        self.workspaces.iter().cloned().chain((!is_known).then(|| own.to_owned())).collect()
    }

    /// Says why a file that must change cannot.
    fn require_writable(&self, source: &Source, row: &NamedRow) -> Result<(), Refusal> {
        let path = Path::new(&*source.name);
        if !path.is_absolute() {
            return Err(format!("`{}` keeps its name: it is written in `{}`, which comes with the program", row.name, source.name));
        }
        self.current(path, &source.text).map_err(|why| format!("`{}` keeps its name: it is written in `{}`, {why}", row.name, source.name))
    }

    /// Says why a file cannot be changed, of which this text is known.
    fn current(&self, path: &Path, known: &str) -> Result<(), &'static str> {
        if !self.folders_of_edits().iter().any(|folder| path.starts_with(folder)) {
            return Err("which lies outside of the workspace");
        }
        let mut open = self.documents.iter().filter(|document| document.path.as_deref() == Some(path));
        match (open.next(), open.next()) {
            (Some(_), Some(_)) => Err("which is open twice, so that its text is not certain"),
            (Some(document), None) if document.text.get(document.mark_length()..) == Some(known) => Ok(()),
            (None, None) if read_file(path, &mut Report::default()).is_some_and(|file| without_mark(&file.bytes) == known.as_bytes()) => {
                Ok(())
            }
            _ => Err("whose text has changed meanwhile"),
        }
    }

    /// The places that the compiler misses once the row has another name, by the name of the file and the byte.
    fn uses(&self, row: &NamedRow, places: &PlacesByFile) -> Result<BTreeSet<(String, usize)>, Refusal> {
        // of the same length, so that all places stay
        let characters = ["z", "q", "x", "_"];
        let free = characters.iter().map(|character| row.renamed(&character.repeat(row.short().len()))).find(|other| {
            let sources = &self.rules.pack().sources;
            other != row && !sources.ids().filter_map(|id| sources.get(id)).any(|source| source.text.contains(&other.name))
        });
        let Some(free) = free else { return Err(format!("`{}` keeps its name: its places cannot be found", row.name)) };
        let documents = self.documents_with(places, free.short());
        let Err(PackError { report, sources }) = self.check(&documents) else { return Ok(BTreeSet::new()) };
        let missed = report
            .items()
            .iter()
            .filter(|one| one.missing.as_deref() == Some(&*row.name) && one.missing_in.iter().any(|table| **table == *row.table));
        let mut found = BTreeSet::new();
        for one in missed {
            let place = one.span.and_then(|span| Some((sources.get(span.source)?, span.start as usize)));
            let Some((source, start)) = place else {
                return Err(format!("`{}` keeps its name: a place that names it is unknown", row.name));
            };
            // a span begins at the quotes
            found.insert((source.name.to_string(), start + 1 + row.prefix().len()));
        }
        Ok(found)
    }

    /// Whether a place of a rule file is in a value that the compiler has read.
    fn is_in_force(&self, id: SourceId, source: &Source, range: &Range<usize>) -> bool {
        let path = Path::new(&*source.name);
        let outline = Outline::read(&source.text, Syntax::of(path, &source.text));
        let pack = self.rules.pack();
        let file = RuleText { text: &source.text, outline: &outline, pack, names: &self.rules.programs().rules.names };
        let cursor = outline.cursor(range.start);
        let Some((table, _, name)) = file.row_around(&cursor) else { return false };
        let Some(PathStep::Key(term)) = cursor.path.get(2) else { return false };
        let field = name.and_then(|name| pack.row(&table, &name)?.fields.get(term.as_str()));
        field.is_some_and(|field| {
            let span = field.node.span;
            span.source == id && (span.start as usize..span.end as usize).contains(&range.start)
        })
    }

    /// Adds the places in cases of the layers that can be changed: the files that are cases of them.
    fn cases(&self, row: &NamedRow, found: &mut PlacesByFile) -> Result<BTreeSet<PathBuf>, Refusal> {
        let mut known = BTreeSet::new();
        for (file, path) in self.case_files(row) {
            let Ok(text) = std::str::from_utf8(without_mark(&file.bytes)) else { continue };
            let mentions = self.mentions(text, &path, row);
            if let Some(unclear) = mentions.quoted.first() {
                return Err(unsure(row, &format!("{}:{}", file.name, line_of(text, unclear.start))));
            }
            if !mentions.certain.is_empty() {
                self.current(&path, text).map_err(|why| format!("`{}` keeps its name: `{}` names it, {why}", row.name, file.name))?;
                found.entry(path.clone()).or_default().extend(mentions.certain);
            }
            known.insert(path);
        }
        Ok(known)
    }

    /// The number of a layer.
    fn layer(&self, name: &str) -> Option<usize> {
        self.rules.pack().layers.iter().position(|layer| *layer.name == *name)
    }

    /// The number of the layer in which a row is written first.
    fn lowest_layer(&self, row: &NamedRow) -> Option<usize> {
        let pack = self.rules.pack();
        self.layer(&pack.sources.layer(pack.row(&row.table, &row.name)?.span))
    }

    /// The files under the folder `cases` of the layers that have the row.
    fn case_files(&self, row: &NamedRow) -> Vec<(RuleFile, PathBuf)> {
        let lowest = self.lowest_layer(row).unwrap_or_default();
        let layers = self.rules.pack().layers.iter().skip(lowest).filter_map(|layer| layer.folder.clone());
        let files = layers.flat_map(|folder| {
            let library = self.library(parent(&folder), self.documents);
            case_files(&Start::Folder(folder), &library)
        });
        files
            .map(|file| {
                let path = PathBuf::from(&file.name);
                (file, path)
            })
            .filter(|(_, path)| path.is_absolute())
            .collect()
    }

    /// Refuses if a file of the workspace that is none of the rules names the row of them.
    fn require_no_others(&self, row: &NamedRow, definers: &BTreeSet<PathBuf>, cases: &BTreeSet<PathBuf>) -> Result<(), Refusal> {
        let may_name_rules = |path: &Path, is_folder: bool| {
            let part = if is_folder { path.file_name() } else { path.extension() };
            let part = part.and_then(|part| part.to_str()).unwrap_or_default();
            if is_folder { !FOREIGN_FOLDERS.contains(&part) } else { ENDINGS.contains(&part) }
        };
        let mut paths = BTreeSet::new();
        for folder in self.folders_of_edits() {
            let (files, is_whole) = files_in(&folder, may_name_rules);
            if !is_whole {
                return Err(format!("`{}` keeps its name: the workspace has too many files to look through", row.name));
            }
            paths.extend(files);
        }
        let sources = &self.rules.pack().sources;
        let is_read = |path: &Path| {
            let name = shown(path);
            sources.ids().any(|id| sources.get(id).is_some_and(|source| *source.name == *name))
        };
        for path in paths.into_iter().filter(|path| !cases.contains(path) && !is_read(path)) {
            let library = self.library(None, self.documents);
            let Some(file) = library.read_file(&path, &mut Report::default()) else { continue };
            let Ok(text) = std::str::from_utf8(without_mark(&file.bytes)) else { continue };
            if !self.mentions(text, &path, row).is_empty() && self.is_laid_over(&path, text, definers) {
                return Err(format!("`{}` keeps its name: `{}` names it, and is none of the layers here", row.name, file.name));
            }
        }
        Ok(())
    }

    /// Whether a file may belong to rules that are made of one of these files.
    fn is_laid_over(&self, path: &Path, text: &str, definers: &BTreeSet<PathBuf>) -> bool {
        let Some(address) = address_of(path) else { return true };
        let document = OpenDocument::new(address, 0, text.to_owned());
        // scenes and other data name no such rows
        if document.may_hold_rules() && !has_known_kind(&document) {
            return false;
        }
        let file_names = definers.iter().filter_map(|path| path.file_name()?.to_str());
        if file_names.into_iter().any(|name| text.contains(name)) {
            return true;
        }
        // the pack that it lies in, and those that it names
        let folder = path.parent().unwrap_or(path);
        let keys = ["pack", "extends"].into_iter();
        let named = keys
            .filter_map(|key| document.outline().text_at(ROOT, key, text))
            .map(|name| Start::named(name, clean_path(&folder.join(name))));
        let around = pack_around(path);
        let library = self.library(parent(around.as_deref().unwrap_or(path)), self.documents);
        around.map(Start::Folder).into_iter().chain(named).any(|start| {
            let Some(pack) = load(&start, &[], &library).pack else { return true };
            pack.sources.ids().filter_map(|id| pack.sources.get(id)).any(|source| definers.contains(Path::new(&*source.name)))
        })
    }

    fn library<'d>(&self, near: Option<PathBuf>, documents: &'d OpenDocuments) -> EditedPacks<'d> {
        EditedPacks::new(self.folders, near.as_deref(), documents)
    }

    fn check(&self, documents: &OpenDocuments) -> Result<Ruleset, PackError> {
        let (start, overlays) = self.root.rules();
        Ruleset::check(&start, &overlays, &self.library(self.root.near(), documents))
    }

    /// The open documents, with another short name at these places, also in files that are not open.
    fn documents_with(&self, places: &PlacesByFile, new: &str) -> OpenDocuments {
        let closed = places.keys().filter(|path| self.documents.of_path(path).is_none()).filter_map(|path| closed_document(path));
        let closed: Vec<OpenDocument> = closed.collect();
        let mut out = OpenDocuments::default();
        for document in self.documents.iter().chain(&closed) {
            let own = document.path.as_ref().and_then(|path| places.get(path)).map_or(&[][..], Vec::as_slice);
            let text = replaced(&document.text, document.mark_length(), own, new);
            out.open(OpenDocument::new(document.address.clone(), document.version, text));
        }
        out
    }

    /// Makes sure that the rules are the same but for the name, and as sound.
    fn verify(&self, row: &NamedRow, renamed: &NamedRow, places: &PlacesByFile) -> Result<(), Refusal> {
        let refused = || format!("`{}` keeps its name: as `{}` the rules would not be the same", row.name, renamed.name);
        let documents = self.documents_with(places, renamed.short());
        let after = self.check(&documents).map_err(|_| refused())?;
        let codes = |rules: &Ruleset| {
            let report = CheckReport::of(&Ok(rules.clone())).report;
            let mut codes: Vec<String> = report.items().iter().map(|one| one.code.to_string()).collect();
            codes.sort();
            codes
        };
        if codes(self.rules) != codes(&after) || !are_same(self.rules.pack(), after.pack(), row, renamed) {
            return Err(refused());
        }
        for (file, path) in self.case_files(row).into_iter().filter(|(_, path)| places.contains_key(path)) {
            let near = self.root.near();
            let was = case_codes(&file, &path, &self.library(near.clone(), self.documents));
            let library = self.library(near, &documents);
            let is = library.read_file(&path, &mut Report::default()).map(|file| case_codes(&file, &path, &library));
            if is.as_ref() != Some(&was) {
                return Err(refused());
            }
        }
        Ok(())
    }

    fn workspace_edit(&self, places: &PlacesByFile, new: &str, takes_versions: bool) -> WorkspaceEdit {
        let files = places.iter().filter_map(|(path, places)| {
            let open = self.documents.of_path(path);
            let closed = if open.is_none() { closed_document(path) } else { None };
            let document = open.or(closed.as_ref())?;
            let range = |place: &Range<usize>| {
                let mark = document.mark_length();
                let mut range = document.lines.range(&document.text, &(place.start + mark..place.end + mark));
                // an editor that opens a file does not count its mark
                if open.is_none() && mark > 0 && range.start.line == 0 {
                    range.start.character = range.start.character.saturating_sub(1);
                    range.end.character = range.end.character.saturating_sub(1);
                }
                range
            };
            let edits: Vec<TextEdit> = places.iter().map(|place| TextEdit::new(range(place), new.to_owned())).collect();
            Some((document.address.clone(), open.map(|open| open.version), edits))
        });
        if !takes_versions {
            return WorkspaceEdit { changes: Some(files.map(|(uri, _, edits)| (uri, edits)).collect()), ..WorkspaceEdit::default() };
        }
        let edits = files.map(|(uri, version, edits)| {
            let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
            DocumentChangeOperation::Edit(TextDocumentEdit { text_document, edits: edits.into_iter().map(OneOf::Left).collect() })
        });
        WorkspaceEdit { document_changes: Some(DocumentChanges::Operations(edits.collect())), ..WorkspaceEdit::default() }
    }
}

fn unsure(row: &NamedRow, place: &str) -> Refusal {
    format!("`{}` keeps its name: `{place}` writes it too, and it is not certain that this {} is meant", row.name, row.table)
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn at_line(source: &Source, at: usize) -> String {
    format!("{}:{}", source.name, line_of(&source.text, at))
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes)
}

/// A file that is not open, as it is on disk.
fn closed_document(path: &Path) -> Option<OpenDocument> {
    let file = read_file(path, &mut Report::default())?;
    Some(OpenDocument::new(address_of(path)?, 0, String::from_utf8(file.bytes).ok()?))
}

/// A text with another text at these places, which begin behind a mark.
fn replaced(text: &str, mark: usize, places: &[Range<usize>], new: &str) -> String {
    let mut places: Vec<&Range<usize>> = places.iter().collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.start));
    let mut text = text.to_owned();
    for place in places {
        let place = place.start + mark..place.end + mark;
        if text.get(place.clone()).is_some() {
            text.replace_range(place, new);
        }
    }
    text
}

/// What is wrong with a case file, as codes.
fn case_codes(file: &RuleFile, path: &Path, library: &EditedPacks<'_>) -> Vec<String> {
    let found = CaseChecker::new(library).rule_file(file, path);
    found.iter().flat_map(|found| found.report.items()).map(|one| one.code.to_string()).collect()
}

/// Whether two packs have the same rows in the same order and the same values, but for a name.
fn are_same(was: &Pack, is: &Pack, row: &NamedRow, renamed: &NamedRow) -> bool {
    // a name in prose has kept its old form
    let renamed_text = |text: String| {
        let quotes = ["\"", "'", "`"];
        quotes.iter().fold(text, |text, quote| {
            text.replace(&format!("{quote}{}{quote}", row.name), &format!("{quote}{}{quote}", renamed.name))
                .replace(&format!("\\{quote}{}\\{quote}", row.name), &format!("\\{quote}{}\\{quote}", renamed.name))
        })
    };
    let same_text = |was: String, is: String| was == is || renamed_text(was) == renamed_text(is);
    let same_tables = was.tables.len() == is.tables.len()
        && was.tables.iter().zip(&is.tables).all(|((table, was), (other, is))| {
            let same_name = |was: &str, is: &str| if **table == *row.table && was == row.name { is == renamed.name } else { was == is };
            table == other
                && was.len() == is.len()
                && was.values().zip(is.values()).all(|(was, is)| {
                    let same_fields = was.fields.len() == is.fields.len()
                        && was.fields.iter().zip(&is.fields).all(|((key, was), (other, is))| {
                            key == other && same_text(was.node.to_json().to_string(), is.node.to_json().to_string())
                        });
                    same_name(&was.name, &is.name) && same_fields
                })
        });
    let same_values = was.values.len() == is.values.len()
        && was
            .values
            .iter()
            .zip(&is.values)
            .all(|((key, was), (other, is))| key == other && same_text(was.node.to_json().to_string(), is.node.to_json().to_string()));
    same_tables && same_values
}
