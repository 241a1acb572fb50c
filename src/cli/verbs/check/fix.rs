//! `tapster check --fix`: makes the changes that are certainly the remedy of a diagnostic.
//!
//! Files are checked again after each round of changes. A change that does not remove its diagnostic, or after which the file
//! cannot be read, is taken back.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::diag::certain::{Seen, named};
use crate::diag::{Code, Diagnostic, Fix, Place, Report, Sources, Span};

use crate::cli::inputs::files::write_file;
use crate::cli::output::Show;
use crate::cli::stop::Stop;
use crate::cli::verbs::diff::paint::Paint;
use crate::cli::verbs::diff::texts;

use super::{Check, Found};

/// The most times that the files are checked: a change can uncover mistakes that could not be seen before.
const MAX_ROUNDS: usize = 50;
/// The most lines of a difference that are shown for one file.
const MAX_LINES: usize = 400;
const BOM: &str = "\u{FEFF}";

/// Gives diagnostics that name the one near word the change that writes it.
pub(super) fn fill(report: &mut Report, sources: &Sources, seen: &Seen) {
    report.each(|d| {
        if d.fix.is_none() {
            d.fix = meant(d, sources, seen);
        }
    });
}

/// The change to the word that was certainly meant: the place is the word alone, and only one known word is near it.
fn meant(d: &Diagnostic, sources: &Sources, seen: &Seen) -> Option<Fix> {
    let near = named(d.help.as_deref()?)?;
    let span = d.span?;
    let text = sources.snippet(span);
    // the place of a text has its quotes, that of a reference its sign
    let word = text.trim_start_matches(['"', '\'']).trim_end_matches(['"', '\'']);
    let word = word.strip_prefix('$').unwrap_or(word);
    let plain = |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\'));
    if !plain(word) || !plain(near) || seen.sole(word) != Some(near) {
        return None;
    }
    let is_bare = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let is_quoted = text.starts_with(['"', '\'']);
    if !is_quoted && is_bare(word) != is_bare(near) {
        // it would need quotes
        return None;
    }
    let start = text.find(word)?;
    let start = span.start as usize + start;
    Some(Fix { span: Span::new(span.source, start, start + word.len()), text: near.to_owned() })
}

/// One change that was made, or would be.
struct Change {
    place: Place,
    code: String,
    message: String,
    was: String,
    is: String,
}

/// All changes of a run.
#[derive(Default)]
pub(super) struct Fixed {
    changes: Vec<Change>,
    /// Files as they were and as they are.
    files: BTreeMap<PathBuf, Edited>,
}

struct Edited {
    shown: String,
    was: String,
    is: String,
}

/// A change that is to be made: where, and of which diagnostic.
#[derive(Clone)]
struct Wanted {
    span: Span,
    text: String,
    shown: String,
    change: (String, String),
    place: Place,
    was: String,
}

impl Wanted {
    /// What is remembered of a change that was taken back.
    fn key(&self) -> (String, String, String) {
        (self.shown.clone(), self.change.0.clone(), self.change.1.clone())
    }
}

impl Check {
    /// Checks, makes changes, and checks again until there is nothing that is certain.
    pub(super) fn fixed(&self, show: &mut Show<'_, '_>) -> Result<(Vec<Found>, Option<Fixed>), Stop> {
        if self.paths.iter().any(|path| path == "-") {
            let message = "standard input cannot be changed";
            return Err(Stop::could_not(Code::FileMissing, message, "name a file, or leave out `--fix`"));
        }
        let roots: Vec<PathBuf> = self.paths.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
        let mut fixed = Fixed::default();
        let mut found = self.all(show)?;
        let (mut refused, mut careful) = (HashSet::new(), HashSet::new());
        for _ in 0..MAX_ROUNDS {
            let mut before = BTreeMap::new();
            let mut tried: BTreeMap<PathBuf, Vec<Wanted>> = BTreeMap::new();
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
fn wanted(found: &[Found], roots: &[PathBuf]) -> BTreeMap<PathBuf, Vec<Wanted>> {
    let mut all: BTreeMap<PathBuf, Vec<Wanted>> = BTreeMap::new();
    for f in found {
        for d in f.report.items() {
            let fix = d.fix.clone().or_else(|| bom(d));
            let Some((fix, source)) = fix.and_then(|fix| Some((fix.clone(), f.sources.get(fix.span.source)?))) else { continue };
            let Ok(path) = Path::new(&*source.name).canonicalize() else { continue };
            let Some(place) = f.sources.place(fix.span).filter(|_| roots.iter().any(|root| path.starts_with(root))) else { continue };
            all.entry(path).or_default().push(Wanted {
                span: fix.span,
                text: fix.text,
                shown: source.name.to_string(),
                change: (d.code.as_str().to_owned(), d.message.clone()),
                place,
                was: f.sources.snippet(fix.span).to_owned(),
            });
        }
    }
    for list in all.values_mut() {
        list.sort_by(|a, b| (a.span.start, a.span.end, &a.text).cmp(&(b.span.start, b.span.end, &b.text)));
        list.dedup_by(|a, b| (a.span.start, a.span.end, &a.text) == (b.span.start, b.span.end, &b.text));
    }
    all
}

/// The change that removes a byte order mark: nothing at the beginning takes its place.
fn bom(d: &Diagnostic) -> Option<Fix> {
    let span = d.span.filter(|_| d.code == Code::FileBom)?;
    Some(Fix { span, text: String::new() })
}

/// The text of a file on disk, if it is the one that was checked.
fn unchanged(path: &Path, span: Span, found: &[Found]) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let checked = |f: &Found| {
        let source = f.sources.get(span.source)?;
        (*source.text == *text.strip_prefix(BOM).unwrap_or(&text)).then_some(())
    };
    found.iter().find_map(checked).map(|()| text)
}

/// A text with the changes made that do not overlap, and those changes.
fn applied(text: &str, wanted: Vec<Wanted>) -> (String, Vec<Wanted>) {
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
fn fails(w: &Wanted, after: &[Found]) -> bool {
    let of_file = |f: &Found, d: &Diagnostic| {
        let source = d.span.and_then(|span| f.sources.get(span.source));
        source.is_some_and(|source| *source.name == *w.shown)
    };
    let same = |d: &Diagnostic| (d.code.as_str(), &d.message) == (w.change.0.as_str(), &w.change.1);
    let broken = |d: &Diagnostic| d.code.as_str().starts_with("syntax.");
    after.iter().any(|f| f.report.items().iter().any(|d| of_file(f, d) && (same(d) || broken(d))))
}

impl Fixed {
    fn add(&mut self, path: PathBuf, was: String, is: String, wanted: Vec<Wanted>) {
        let shown = wanted.first().map(|w| w.shown.clone()).unwrap_or_default();
        let edited = self.files.entry(path).or_insert(Edited { shown, was, is: String::new() });
        edited.is = is;
        self.changes.extend(wanted.into_iter().map(|w| {
            let (code, message) = w.change;
            Change { place: w.place, code, message, was: w.was, is: w.text }
        }));
    }

    pub(super) fn json(&self) -> Json {
        let one = |c: &Change| {
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
            out.push_str(&format!("{}\n{}", file.shown, texts::lines(&file.was, &file.is, "  ", MAX_LINES, paint)));
        }
        let verb = if dry_run { "would fix" } else { "fixed" };
        for c in &self.changes {
            out.push_str(&format!("{verb} {}: {}: {}\n", c.place, c.code, crate::cli::layout::one_line(&c.message)));
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
