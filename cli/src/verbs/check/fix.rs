//! `tapster check --fix`: makes the changes that are certainly the remedy of a diagnostic.
//!
//! Files are checked again after each round of changes. A change that does not remove its diagnostic, or after which the file
//! cannot be read, is taken back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::diag::{
    Certainty, Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, SourceId, SourcePlace, Sources, Span, Suggestion, file, limits,
    suggest,
};
use crate::exit::{EarlyExit, Result};
use crate::inputs::files::{resolve_own_file, write_file};
use crate::model::Value;
use crate::output::Console;
use crate::pack::Ruleset;
use crate::terms::names::PackNames;
use crate::verbs::check::{CheckArgs, PathReport};
use crate::verbs::diff::page::{self, Paint};

/// The most times that the files are checked: a change can uncover mistakes that could not be seen before.
const MAX_ROUNDS: usize = 50;
/// The most lines of a difference that are shown for one file.
const MAX_LINES: usize = 400;
const BOM: &str = "\u{FEFF}";

/// Finds the places of the words that are certainly to be replaced: where the word stands alone at the place of its diagnostic,
/// or once in what is written there.
pub(super) fn locate(report: &mut Report, sources: &Sources) {
    report.each(|d| {
        if let (Some(span), Some(suggestion)) = (d.span, &mut d.suggestion)
            && suggestion.span.is_none()
        {
            suggestion.span = place_of_word(suggestion, span, sources.snippet(span));
        }
    });
}

/// Where a word is written in the text of a diagnostic that is certainly to be replaced.
fn place_of_word(suggestion: &Suggestion, span: Span, text: &str) -> Option<Span> {
    let word = suggestion.word.as_str();
    // the place of a text has its quotes, that of a reference its sign
    let whole = text.trim_start_matches(['"', '\'']).trim_end_matches(['"', '\'']);
    let whole = whole.strip_prefix('$').unwrap_or(whole);
    let at = match suggestion.certainty {
        Certainty::Certain | Certainty::Alone if whole == word => text.find(whole)?,
        Certainty::Certain => {
            let mut found = text.match_indices(word).map(|(at, _)| at).filter(|at| is_whole(text, *at, word.len()));
            found.next().filter(|_| found.next().is_none())?
        }
        _ => return None,
    };
    may_replace(span, text, at, word, &suggestion.replacement)
}

/// Where a word of `text`, which stands at `span`, is written, if `near` can be written there as it is.
fn may_replace(span: Span, text: &str, at: usize, word: &str, near: &str) -> Option<Span> {
    let plain = |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\'));
    let is_bare = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    // without quotes, it would need some
    let fits = text.starts_with(['"', '\'']) || is_bare(word) == is_bare(near);
    let start = span.start as usize + at;
    (plain(word) && plain(near) && fits).then(|| Span::new(span.source, start, start + word.len()))
}

/// Whether what stands at a place of a text is not a part of a longer word.
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let goes_on = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let behind = text.get(at + length..).and_then(|behind| behind.chars().next());
    !goes_on(before) && !goes_on(behind)
}

/// Gives warnings about keys that no rule reads, of a scene or of an item, the change that writes the one known key that is
/// near, if that key is not there already and may have such a value.
pub(super) fn keys(report: &mut Report, sources: &Sources, rules: &Ruleset) {
    let mut roots: BTreeMap<SourceId, Option<DocumentNode>> = BTreeMap::new();
    report.each(|d| {
        let Some(span) = d.span.filter(|_| d.code == Code::SceneField) else { return };
        let Some(near) = d.suggestion.as_ref().filter(|near| near.span.is_none()) else { return };
        let root = roots.entry(span.source).or_insert_with(|| tree(span.source, sources));
        let is_path = d.help.is_none();
        let found = root.as_ref().and_then(|root| known_key(near, is_path, span, root, sources, &rules.programs().rules.names));
        d.suggestion = found.or_else(|| d.suggestion.take());
    });
}

/// The values of a file of TOML or JSON.
fn tree(id: SourceId, sources: &Sources) -> Option<DocumentNode> {
    let source = sources.get(id)?;
    let is_json = source.name.ends_with(".json") || source.text.trim_start().starts_with('{');
    let mut said = Report::default();
    if is_json { crate::pack::json::parse(id, &source.text, &mut said) } else { crate::pack::toml::parse(id, &source.text, &mut said) }
}

/// The change of the key at a place to the name that is near; of a path, to its last name.
fn known_key(
    suggestion: &Suggestion,
    is_path: bool,
    span: Span,
    root: &DocumentNode,
    sources: &Sources,
    names: &PackNames,
) -> Option<Suggestion> {
    let (table, key, value) = at_key(root, span)?;
    let value = Value::from(value);
    let is_slip = |known: &&str| suggest::is_misspelt_key(key, known);
    // a path is declared once, a field for several row types
    let (near, others, fits): (&str, BTreeSet<&str>, bool) = if is_path {
        let path = suggestion.replacement.as_str();
        let (above, near) = path.rsplit_once('.').unwrap_or(("", path));
        let is_beside = below(&suggestion.word, above) == Some(key);
        let beside = names.path_names().filter_map(|path| below(path, above)?.split('.').next());
        let holds = names.paths.get(path).is_some_and(|declared| declared.kind.holds(&value));
        (near, beside.filter(is_slip).collect(), is_beside && holds)
    } else {
        let near = suggestion.replacement.as_str();
        let mut kinds = names.fields.values().filter_map(|fields| fields.get(near)).map(|declared| declared.kind);
        (near, names.field_names(None).filter(is_slip).collect(), kinds.all(|kind| kind.holds(&value)))
    };
    if !fits || table.contains_key(near) || !is_slip(&near) || others.iter().any(|other| *other != near) {
        return None;
    }
    let text = sources.snippet(span);
    let span = may_replace(span, text, text.find(key)?, key, near)?;
    Some(Suggestion { span: Some(span), certainty: Certainty::Certain, ..Suggestion::possible(key, near) })
}

/// The rest of a path that is below another one.
fn below<'p>(path: &'p str, above: &str) -> Option<&'p str> {
    if above.is_empty() { Some(path) } else { path.strip_prefix(above)?.strip_prefix('.') }
}

/// The table that has a key at a place, the key, and its value.
fn at_key(root: &DocumentNode, place: Span) -> Option<(&FieldMap, &str, &DocumentNode)> {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeValue::List(list) => open.extend(list),
            NodeValue::Table(table) => {
                if let Some((key, field)) = table.iter().find(|(_, field)| field.key == place) {
                    return Some((table, &**key, &field.node));
                }
                open.extend(table.values().map(|field| &field.node));
            }
            _ => {}
        }
    }
    None
}

/// One change that was made, or would be.
struct AppliedFix {
    place: SourcePlace,
    code: String,
    message: String,
    was: String,
    is: String,
}

/// All changes of a run.
#[derive(Default)]
pub(super) struct FixRun {
    changes: Vec<AppliedFix>,
    /// Files as they were and as they are.
    files: BTreeMap<PathBuf, EditedFile>,
}

struct EditedFile {
    shown: String,
    was: String,
    is: String,
}

/// A change that is to be made: where, and of which diagnostic.
#[derive(Clone)]
struct PlannedFix {
    span: Span,
    text: String,
    shown: String,
    change: (String, String),
    place: SourcePlace,
    was: String,
}

impl PlannedFix {
    /// What is remembered of a change that was taken back.
    fn key(&self) -> (String, String, String) {
        (self.shown.clone(), self.change.0.clone(), self.change.1.clone())
    }
}

impl CheckArgs {
    /// Checks, makes changes, and checks again until there is nothing that is certain.
    pub(super) fn fixed(&self, show: &mut Console<'_>) -> Result<(Vec<PathReport>, Option<FixRun>)> {
        if self.paths.iter().any(|path| path == "-") {
            let message = "standard input cannot be changed";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "name a file, or leave out `--fix`"));
        }
        let (folders, files): (Vec<&Path>, Vec<&Path>) =
            self.paths.iter().map(Path::new).filter(|path| path.exists()).partition(|path| path.is_dir());
        // a folder that is named is one's own, also by a link
        let mut roots: Vec<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        for file in files {
            roots.push(resolve_own_file(file)?);
        }
        let mut fixed = FixRun::default();
        let mut found = self.all(show)?;
        let (mut refused, mut careful) = (HashSet::new(), HashSet::new());
        for _ in 0..MAX_ROUNDS {
            let mut before = BTreeMap::new();
            let mut tried: BTreeMap<PathBuf, Vec<PlannedFix>> = BTreeMap::new();
            for (path, mut wanted) in wanted(&found, &roots) {
                wanted.retain(|w| !refused.contains(&w.key()));
                if careful.contains(&path) {
                    wanted.truncate(1);
                }
                let Some(text) = wanted.first().and_then(|first| unchanged(&path, first.span, &found)) else { continue };
                let (changed, wanted) = applied(&text, wanted);
                if changed == text {
                    continue;
                }
                if !self.dry_run {
                    write_file(&path, &changed)?;
                }
                before.insert(path.clone(), (text, changed));
                tried.insert(path, wanted);
            }
            if tried.is_empty() {
                break;
            }
            let after = if self.dry_run { Vec::new() } else { self.all(show)? };
            let mut taken_back = false;
            for (path, wanted) in tried {
                let Some((text, changed)) = before.remove(&path) else { continue };
                if !self.dry_run && wanted.iter().any(|w| fails(w, &after)) {
                    write_file(&path, &text)?;
                    taken_back = true;
                    match wanted.as_slice() {
                        [one] => {
                            refused.insert(one.key());
                        }
                        _ => {
                            careful.insert(path);
                        }
                    }
                    continue;
                }
                fixed.add(path, text, changed, wanted);
            }
            if self.dry_run {
                break;
            }
            found = if taken_back { self.all(show)? } else { after };
        }
        Ok((found, Some(fixed)))
    }
}

/// The changes that diagnostics ask for, by file. Files that do not lie below the given paths are left out.
fn wanted(found: &[PathReport], roots: &[PathBuf]) -> BTreeMap<PathBuf, Vec<PlannedFix>> {
    let mut all: BTreeMap<PathBuf, Vec<PlannedFix>> = BTreeMap::new();
    for f in found {
        for d in f.report.items() {
            let Some((span, text)) = d.certain_fix().or_else(|| Some((bom(d)?, ""))) else { continue };
            let Some(source) = f.sources.get(span.source) else { continue };
            let Ok(path) = Path::new(&*source.name).canonicalize() else { continue };
            let Some(place) = f.sources.place(span).filter(|_| roots.iter().any(|root| path.starts_with(root))) else { continue };
            all.entry(path).or_default().push(PlannedFix {
                span,
                text: text.to_owned(),
                shown: source.name.to_string(),
                change: (d.code.as_str().to_owned(), d.message.clone()),
                place,
                was: f.sources.snippet(span).to_owned(),
            });
        }
    }
    for list in all.values_mut() {
        list.sort_by(|a, b| (a.span.start, a.span.end, &a.text).cmp(&(b.span.start, b.span.end, &b.text)));
        list.dedup_by(|a, b| (a.span.start, a.span.end, &a.text) == (b.span.start, b.span.end, &b.text));
    }
    all
}

/// The place of a byte order mark: nothing at the beginning takes its place.
fn bom(d: &Diagnostic) -> Option<Span> {
    d.span.filter(|_| d.code == Code::FileBom)
}

/// The text of a file on disk, if it is the one that was checked.
fn unchanged(path: &Path, span: Span, found: &[PathReport]) -> Option<String> {
    let text = String::from_utf8(file::read(path, limits::FILE_BYTES as u64).ok()?).ok()?;
    let checked = |f: &PathReport| {
        let source = f.sources.get(span.source)?;
        (*source.text == *text.strip_prefix(BOM).unwrap_or(&text)).then_some(())
    };
    found.iter().find_map(checked).map(|()| text)
}

/// A text with the changes made that do not overlap, and those changes.
fn applied(text: &str, wanted: Vec<PlannedFix>) -> (String, Vec<PlannedFix>) {
    let (mark, body) = text.strip_prefix(BOM).map_or(("", text), |body| (BOM, body));
    let unmarked = wanted.iter().any(|w| w.change.0 == Code::FileBom.as_str());
    let mut out = if unmarked { String::new() } else { mark.to_owned() };
    let (mut done, mut at) = (Vec::new(), 0);
    for w in wanted {
        let (start, end) = (w.span.start as usize, w.span.end as usize);
        let Some(between) = body.get(at..start).filter(|_| body.get(start..end) == Some(&w.was)) else { continue };
        out.push_str(between);
        out.push_str(&w.text);
        at = end;
        done.push(w);
    }
    out.push_str(body.get(at..).unwrap_or_default());
    (out, done)
}

/// Whether a diagnostic is still there although its remedy was applied, or the file cannot be read any more.
fn fails(w: &PlannedFix, after: &[PathReport]) -> bool {
    let of_file = |f: &PathReport, d: &Diagnostic| {
        let source = d.span.and_then(|span| f.sources.get(span.source));
        source.is_some_and(|source| *source.name == *w.shown)
    };
    let same = |d: &Diagnostic| (d.code.as_str(), &d.message) == (w.change.0.as_str(), &w.change.1);
    let broken = |d: &Diagnostic| d.code.as_str().starts_with("syntax.");
    after.iter().any(|f| f.report.items().iter().any(|d| of_file(f, d) && (same(d) || broken(d))))
}

impl FixRun {
    fn add(&mut self, path: PathBuf, was: String, is: String, wanted: Vec<PlannedFix>) {
        let shown = wanted.first().map(|w| w.shown.clone()).unwrap_or_default();
        let edited = self.files.entry(path).or_insert(EditedFile { shown, was, is: String::new() });
        edited.is = is;
        self.changes.extend(wanted.into_iter().map(|w| {
            let (code, message) = w.change;
            AppliedFix { place: w.place, code, message, was: w.was, is: w.text }
        }));
    }

    pub(super) fn json(&self) -> Json {
        let one = |c: &AppliedFix| {
            json!({
                "file": c.place.file.to_string(), "line": c.place.line, "column": c.place.column, "code": c.code, "message": c.message,
                "was": c.was, "is": c.is,
            })
        };
        self.changes.iter().map(one).collect()
    }

    /// The differences of all files, and what was done.
    pub(super) fn text(&self, paint: bool, dry_run: bool) -> String {
        let paint = Paint { on: paint };
        let mut out = String::new();
        for file in self.files.values() {
            out.push_str(&format!("{}\n{}", file.shown, page::changed_lines(&file.was, &file.is, "  ", MAX_LINES, paint)));
        }
        let verb = if dry_run { "would fix" } else { "fixed" };
        for c in &self.changes {
            out.push_str(&format!("{verb} {}: {}: {}\n", c.place, c.code, crate::layout::one_line(&c.message)));
        }
        let n = self.changes.len();
        let changes = if n == 1 { "change" } else { "changes" };
        out.push_str(&match (n, dry_run) {
            (0, _) => "nothing here has a remedy that is certain\n".to_owned(),
            (_, true) => format!("{n} {changes} would be made; more may follow from them\n"),
            (_, false) => format!("{n} {changes} made\n"),
        });
        out
    }
}
