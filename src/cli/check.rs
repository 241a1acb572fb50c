//! `tapster check`: every mistake of packs, overlays and single rule files in one run.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::diag::{Report, Sources, render};
use crate::pack::files::is_folder;
use crate::pack::{Library, Overlay, Ruleset, Schemas, Start, load_file};

use super::error::only_missing;
use super::library::shelf;
use super::show::Show;
use super::{Exit, Stop};

/// Check packs (a folder or a name), overlays and single rule files: syntax, schema, layers, names, terms.
///
/// A single file is checked against its schema. An overlay is laid over the pack that it extends, or over `--against`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster check rules/base
  tapster check base my-pack
  tapster check tweak.toml --against base
  tapster check my-pack --error-format plain     one line a mistake, for editors
  tapster check my-pack --format json            counts and mistakes as JSON")]
pub(super) struct Check {
    /// A pack's folder or name, or a rule file.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Lay the files that are named over this pack.
    #[arg(long, value_name = "PACK")]
    against: Option<String>,
}

/// What checking one path gave.
struct Found {
    report: Report,
    sources: Sources,
}

impl Check {
    pub(super) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let shelf = shelf(show.io);
        let found: Vec<Found> = self.paths.iter().map(|path| self.one(path, &shelf)).collect();
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

    fn one(&self, path: &str, library: &dyn Library) -> Found {
        let file = Path::new(path);
        let is_rule_file = file.extension().is_some_and(|e| e == "toml" || e == "json") && !is_folder(file);
        if is_rule_file { self.file(file, library) } else { compiled(&Start::typed(path), &[], library) }
    }

    fn file(&self, path: &Path, library: &dyn Library) -> Found {
        let (doc, report, sources) = load_file(path, Schemas::shipped());
        let extends =
            doc.as_ref().and_then(|d| d.root.get("extends")?.as_text()).filter(|_| doc.as_ref().is_some_and(|d| &*d.kind == "overlay"));
        match self.against.as_deref().or(extends) {
            Some(pack) if doc.is_some() => compiled(&Start::typed(pack), &[Overlay::Path(PathBuf::from(path))], library),
            _ => Found { report, sources },
        }
    }
}

/// Loads, layers and compiles; all complaints.
fn compiled(start: &Start, overlays: &[Overlay], library: &dyn Library) -> Found {
    match Ruleset::load(start, overlays, library) {
        Ok(rules) => Found { report: rules.warnings().clone(), sources: rules.pack().sources.clone() },
        Err(rejected) => Found { report: rejected.report, sources: rejected.sources },
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
