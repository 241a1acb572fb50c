//! What is wrong with packs, overlays and single rule files: what `tapster check` reports, and editors show.

mod cases;
pub mod repair;

use std::path::Path;

use crate::diag::{Code, Diagnostic, Report, SourceId, Sources};
use crate::pack::files::shown;
use crate::pack::{Overlay, PackError, PackFiles, PackLibrary, Ruleset, Start};

pub use crate::testing::case::files_in;
pub use crate::testing::play::CASE_TIME;
pub use cases::{CaseChecker, check_case_files, check_pack_cases, run_cases};

/// What was found in files, and their texts.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// What was found.
    pub report: Report,
    /// The texts that it is about.
    pub sources: Sources,
}

impl CheckReport {
    /// What there is to say about rules, or why there are none.
    #[must_use]
    pub fn of(rules: &Result<Ruleset, PackError>) -> Self {
        match rules {
            Ok(rules) => {
                let mut report = rules.warnings().clone();
                report.extend(rules.suspicions());
                Self { report, sources: rules.sources().clone() }
            }
            Err(PackError { report, sources }) => Self { report: report.clone(), sources: sources.clone() },
        }
    }

    /// Keeps only the diagnostics about one file; `None` if the file has not been read.
    #[must_use]
    pub fn of_file(mut self, path: &Path) -> Option<Self> {
        let own: Vec<SourceId> =
            self.sources.ids().filter(|id| self.sources.get(*id).is_some_and(|s| is_same(Path::new(&*s.name), path))).collect();
        self.report.retain(|d| d.span.is_none_or(|span| own.contains(&span.source)));
        (!own.is_empty()).then_some(self)
    }
}

/// Whether two paths are the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b
        || a == Path::new(&shown(b))
        || a.file_name() == b.file_name() && a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Checks a rule file for which no pack is known: names that a pack may define are not reported. `None` if the file cannot be read.
#[must_use]
pub fn check_alone(path: &Path, file: &Overlay) -> Option<CheckReport> {
    let rules = Ruleset::check(&Start::Name(String::from("nothing")), std::slice::from_ref(file), &EmptyLibrary);
    let mut found = CheckReport::of(&rules).of_file(path)?;
    let count = found.report.items().len();
    found.report.retain(|d| d.missing.is_none());
    if found.report.items().len() < count {
        let message = format!("`{}` was checked without a pack, so names that a pack may define were not", shown(path));
        let note = Diagnostic::note(Code::NameUnknown, message);
        found.report.push(note.help("name the pack with `--pack`, or write `extends` into the overlay"));
    }
    Some(found)
}

/// A library whose only pack has no rules.
struct EmptyLibrary;

impl PackLibrary for EmptyLibrary {
    fn find(&self, name: &str, _: &mut Report) -> Option<PackFiles> {
        let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"0.0.0\"\n");
        Some(PackFiles::of(name, [("pack.toml".to_owned(), manifest.into_bytes())]))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
