//! `tapster check`: reports every mistake of packs, overlays and single rule files in one run.

use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic, Node, Report, SourceId, Sources, render};
use crate::pack::files::is_folder;
use crate::pack::{Library, Overlay, PackFiles, Ruleset, Schemas, Start, load_cases, load_file};
use crate::template::KIND;

use crate::cli::inputs::library::shelf;
use crate::cli::inputs::templated::pack_around;
use crate::cli::inputs::templated::pack_of;
use crate::cli::output::Show;
use crate::cli::stop::Exit;
use crate::cli::stop::Stop;
use crate::cli::stop::only_missing;

/// Check packs (a folder or a name), overlays and single rule files: syntax, schema, layers, names, terms.
///
/// A single file is checked with the pack that contains it; an overlay over the pack that it extends, or over `--pack`;
/// a template with the pack that has its task. If no pack is known, names that a pack may define are not checked.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster check rules/base
  tapster check base my-pack
  tapster check rules/base/lore.toml
  tapster check tweak.toml --pack base
  tapster check turn.json                        a template, against the sources of its task
  tapster check my-pack --error-format plain     one line a mistake, for editors
  tapster check my-pack --format json            counts and mistakes as JSON")]
pub(in crate::cli) struct Check {
    /// A pack's folder or name, or a rule file.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Merge the named files over this pack: a folder or a name.
    #[arg(long, visible_alias = "against", value_name = "PACK")]
    pack: Option<String>,
}

/// The result of checking one path.
struct Found {
    report: Report,
    sources: Sources,
}

impl Check {
    pub(in crate::cli) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let shelf = shelf(show.io);
        let found: Vec<Found> = self.paths.iter().flat_map(|path| self.path(path, &shelf)).collect();
        let counts = |f: &Found| f.report.counts();
        let (errors, warnings) = found.iter().map(counts).fold((0, 0), |(e, w), (de, dw)| (e + de, w + dw));
        if show.is_json() {
            let all: Vec<_> =
                found.iter().flat_map(|f| render::json(&f.report, &f.sources).as_array().cloned().unwrap_or_default()).collect();
            show.json(&json!({ "ok": errors == 0, "errors": errors, "warnings": warnings, "diagnostics": all }));
        } else {
            for f in &found {
                show.report(&f.report, &f.sources);
            }
            show.result(&format!("{}, {}\n", counted(errors, "error"), counted(warnings, "warning")));
        }
        let missing = found.iter().any(|f| only_missing(&f.report));
        Ok(if missing {
            Exit::CouldNot
        } else if errors > 0 {
            Exit::No
        } else {
            Exit::Done
        })
    }

    /// Checks a rule file, or a pack with the rule tests in its `cases/`.
    fn path(&self, path: &str, library: &dyn Library) -> Vec<Found> {
        let file = Path::new(path);
        let is_rule_file = file.extension().is_some_and(|e| e == "toml" || e == "json") && !is_folder(file);
        if is_rule_file {
            return vec![self.file(file, library)];
        }
        let start = Start::typed(path);
        let (report, sources) = load_cases(&start, library, Schemas::shipped());
        vec![compiled(&start, &[], library), Found { report, sources }]
    }

    fn file(&self, path: &Path, library: &dyn Library) -> Found {
        let (doc, report, sources) = load_file(path, Schemas::shipped());
        let mut alone = Found { report, sources };
        // nothing more can be checked in a file that cannot be read; manifests and rule tests have no rows
        let Some(doc) = doc.filter(|d| !matches!(&*d.kind, "pack" | "case")) else { return alone };
        let overlay = [Overlay::Path(path.to_owned())];
        let extends = doc.root.get("extends").and_then(Node::as_text).filter(|_| &*doc.kind == "overlay");
        if let Some(pack) = self.pack.as_deref().or(extends) {
            return compiled(&Start::typed(pack), &overlay, library);
        }
        if let Some(folder) = pack_around(path)
            && let Some(found) = compiled(&Start::Folder(folder), &[], library).of_file(path)
        {
            return found;
        }
        if let Some(task) = doc.root.get("task").filter(|task| &*doc.kind == KIND && task.as_text().is_some()) {
            return match pack_of(task.as_text(), library) {
                Ok(start) => compiled(&start, &overlay, library).of_file(path).unwrap_or(alone),
                Err(_) if alone.report.has_errors() => alone,
                Err(complaint) => {
                    let message = format!("{}: the template's sources are not checked", complaint.message);
                    let remark = Diagnostic::new(Code::TemplateDoubtful, message).at(task.span);
                    alone.report.push(remark.help(complaint.help.unwrap_or_default()));
                    alone.report.sort();
                    alone
                }
            };
        }
        // it is compiled without a pack, so missing names are not reported
        let mut found = compiled(&Start::Name(String::from("nothing")), &overlay, &Nothing).of_file(path).unwrap_or(alone);
        found.report.retain(|d| d.missing.is_none());
        found
    }
}

/// A library whose only pack has no rules.
struct Nothing;

impl Library for Nothing {
    fn find(&self, name: &str, _: &mut Report) -> Option<PackFiles> {
        let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"0.0.0\"\n");
        Some(PackFiles::of(name, [("pack.toml".to_owned(), manifest.into_bytes())]))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Found {
    /// Keeps only the diagnostics about one file; `None` if the file has not been read.
    fn of_file(mut self, path: &Path) -> Option<Self> {
        let own: Vec<SourceId> =
            self.sources.ids().filter(|id| self.sources.get(*id).is_some_and(|s| is_same(Path::new(&*s.name), path))).collect();
        self.report.retain(|d| d.span.is_none_or(|span| own.contains(&span.source)));
        (!own.is_empty()).then_some(self)
    }
}

/// Whether two paths are the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.file_name() == b.file_name() && a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Loads, merges and compiles, and returns all diagnostics.
fn compiled(start: &Start, overlays: &[Overlay], library: &dyn Library) -> Found {
    match Ruleset::load(start, overlays, library) {
        Ok(rules) => Found { report: rules.warnings().clone(), sources: rules.pack().sources.clone() },
        Err(rejected) => Found { report: rejected.report, sources: rejected.sources },
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
