//! Overlays that change a program which no build runs: the change has no effect, unless an application starts the
//! program by its name.

use std::collections::HashSet;

use crate::diag::{Code, Diagnostic, Report, suggest};
use crate::model::Pack;
use crate::model::pack::Row;
use crate::program::Programs;

/// The programs that the engine starts itself, beside those of the dialects.
const STARTED: &[&str] = &["build", "lint", "macros"];

/// Warns of passes of overlays in programs of the pack that nothing runs.
pub(super) fn check(pack: &Pack, programs: &Programs, report: &mut Report) {
    let overlays: HashSet<&str> = pack.layers.iter().filter(|layer| layer.overlay).map(|layer| &*layer.name).collect();
    if overlays.is_empty() || programs.find("build").is_none() {
        return;
    }
    let of_overlay = |span| pack.sources.place(span).is_some_and(|place| overlays.contains(place.layer.as_ref() as &str));
    let run = running(pack, programs);
    let own = |name: &str| pack.tables.get("program").and_then(|rows| rows.get(name)).is_none_or(|row| of_overlay(row.span));
    let mut told: HashSet<&str> = HashSet::new();
    for row in pack.tables.get("pass").into_iter().flat_map(|rows| rows.values()) {
        let Some((program, _)) = row.name.rsplit_once('/') else { continue };
        let Some(span) = written(row).filter(|span| of_overlay(*span)) else { continue };
        if run.contains(program) || own(program) || !told.insert(program) {
            continue;
        }
        let message = format!("no build of pack `{}` runs program `{program}`, so pass `{}` has no effect on a prompt", pack.name, row.name);
        let near = suggest::nearest(program, run.iter().copied()).map(|near| format!("did you mean `{near}`? "));
        let help = format!("{}`tapster explain --rules build` shows what runs; name the program in `[entry_points]` of a pack if the application starts it", near.unwrap_or_default());
        report.push(Diagnostic::new(Code::PassUnused, message).at(span).rule(format!("pass {}", row.name)).help(help));
    }
}

/// Where the row was written or last patched.
fn written(row: &Row) -> Option<crate::diag::Span> {
    row.patched.last().copied().or(Some(row.name_span))
}

/// The programs that a build or a payload runs, and those that the pack says an application starts.
fn running<'p>(pack: &'p Pack, programs: &'p Programs) -> HashSet<&'p str> {
    let dialects = pack.tables.get("form").into_iter().flat_map(|rows| rows.keys()).filter_map(|name| name.strip_suffix("/payload"));
    let declared = pack.values.get("entry_points").and_then(|f| f.node.as_table()).into_iter().flatten();
    let declared = declared.filter_map(|(_, f)| f.node.as_text());
    let mut open: Vec<&str> = STARTED.iter().copied().chain(dialects).chain(declared).collect();
    let mut run = HashSet::new();
    while let Some(name) = open.pop() {
        let Some(program) = programs.find(name).and_then(|n| programs.list.get(n)) else { continue };
        if run.insert(&*program.name) {
            let called = program.passes.iter().filter_map(|pass| programs.list.get(pass.verb.callee()?));
            open.extend(called.map(|program| &*program.name));
        }
    }
    run
}
