//! A case file is checked for its form; its cases are run by another verb.

use std::path::Path;

use super::Found;
use crate::cli::inputs::files::shown;
use crate::cli::verbs::test::{of_folder, of_pack};
use crate::diag::{Code, Diagnostic};
use crate::pack::{Overlay, Shelf, Start};
use crate::testing::dialects::Dialects;
use crate::testing::files::{read, read_path};

/// Adds to what was found in a case file what only reading its cases tells, and that they are not run.
pub(super) fn check(path: &Path, file: &Overlay, alone: Found, shelf: &Shelf) -> Found {
    let cases = match file {
        Overlay::Path(path) => read_path(path),
        Overlay::File(file) => read(file, path),
    };
    let Found { mut report, sources } = alone;
    match cases {
        Err(wrong) => return Found { report: wrong.report, sources: wrong.sources },
        Ok(cases) => {
            report.extend(Dialects::new(shelf).check(&cases));
            let count = cases.cases.len();
            let message = format!("{count} {} of `{}` read, and not run", if count == 1 { "case" } else { "cases" }, shown(path));
            let named = if path == Path::new("-") { "FILE".to_owned() } else { path.display().to_string() };
            report.push(Diagnostic::new(Code::CaseNotRun, message).help(format!("`tapster test {named}` runs rule tests")));
        }
    }
    Found { report, sources }
}

/// What the cases of a pack name that it does not have. What is wrong with the form of the files is found elsewhere.
pub(super) fn of(pack: &Start, shelf: &Shelf) -> Vec<Found> {
    let read = match pack {
        Start::Folder(folder) => of_folder(folder),
        Start::Name(name) => of_pack(name, shelf).unwrap_or_default(),
    };
    let mut dialects = Dialects::new(shelf);
    let found = read.into_iter().flatten().map(|file| Found { report: dialects.check(&file), sources: file.sources });
    found.filter(|found| !found.report.is_empty()).collect()
}
