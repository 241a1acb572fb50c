//! `tapster check --fix`: makes the changes that are certainly the remedy of a diagnostic.
//!
//! Files are checked again after each round of changes. A change that does not remove its diagnostic, or after which the file
//! cannot be read, is taken back.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster_door::check::CheckReport;

use crate::diag::{Code, Diagnostic, SourcePlace, Span, file, limits};
use crate::exit::{EarlyExit, Result};
use crate::inputs::files::{resolve_own_file, write_file};
use crate::output::Console;
use crate::verbs::check::CheckArgs;
use crate::verbs::diff::page::{self, Paint};

/// The most times that the files are checked: a change can uncover mistakes that could not be seen before.
const MAX_ROUNDS: usize = 50;
/// The most lines of a difference that are shown for one file.
const MAX_LINES: usize = 400;
const BOM: &str = "\u{FEFF}";

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
    pub(super) fn fixed(&self, show: &mut Console<'_>) -> Result<(Vec<CheckReport>, Option<FixRun>)> {
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
fn wanted(found: &[CheckReport], roots: &[PathBuf]) -> BTreeMap<PathBuf, Vec<PlannedFix>> {
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
fn unchanged(path: &Path, span: Span, found: &[CheckReport]) -> Option<String> {
    let text = String::from_utf8(file::read(path, limits::FILE_BYTES as u64).ok()?).ok()?;
    let checked = |f: &CheckReport| {
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
fn fails(w: &PlannedFix, after: &[CheckReport]) -> bool {
    let of_file = |f: &CheckReport, d: &Diagnostic| {
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
