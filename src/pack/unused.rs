//! Overlays that change a program which builds of the pack do not run, although those of a pack below do.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Report, suggest};
use crate::model::Pack;
use crate::program::Programs;

use super::{PackLibrary, Ruleset, Start};

/// The programs that the engine starts itself, beside those of the dialects.
const STARTED: &[&str] = &["build", "lint", "macros"];

/// Warns of passes of overlays in programs that builds of the pack do not run, although builds of the pack that declares
/// the program do. A program that no build runs at all is one that applications start.
pub(super) fn check(pack: &Pack, programs: &Programs, library: &dyn PackLibrary, report: &mut Report) {
    let overlays: HashSet<&str> = pack.layers.iter().filter(|layer| layer.overlay).map(|layer| &*layer.name).collect();
    if overlays.is_empty() || programs.find("build").is_none() {
        return;
    }
    let layer = |span| pack.sources.place(span).map(|place| place.layer).unwrap_or_default();
    let run = running(pack, programs);
    let mut told: HashSet<&str> = HashSet::new();
    let mut homes: HashMap<Arc<str>, HashSet<String>> = HashMap::new();
    for row in pack.tables.get("pass").into_iter().flat_map(|rows| rows.values()) {
        let Some((program, _)) = row.name.rsplit_once('/') else { continue };
        let span = row.patched.last().copied().unwrap_or(row.name_span);
        if run.contains(program) || !overlays.contains(&*layer(span)) || !told.insert(program) {
            continue;
        }
        let declared = pack.tables.get("program").and_then(|rows| rows.get(program)).map(|row| layer(row.span));
        let Some(home) = declared.filter(|home| !overlays.contains(&**home) && **home != *pack.name) else { continue };
        if !homes.entry(home).or_insert_with_key(|home| running_at_home(home, library)).contains(program) {
            continue;
        }
        let message =
            format!("builds of pack `{}` do not run program `{program}`, so pass `{}` changes nothing there", pack.name, row.name);
        let near = suggest::nearest(program, run.iter().copied()).map(|near| format!("did you mean `{near}`? "));
        let help = format!("{}`tapster explain --rules build` shows what runs", near.unwrap_or_default());
        report.push(Diagnostic::new(Code::PassUnused, message).at(span).rule(format!("pass {}", row.name)).help(help));
    }
}

/// The programs that builds of a pack alone run. What is wrong with that pack is reported where it is loaded.
fn running_at_home(home: &str, library: &dyn PackLibrary) -> HashSet<String> {
    let rules = Ruleset::load(&Start::Name(home.to_owned()), &[], library);
    rules.map(|rules| running(rules.pack(), rules.programs()).into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

/// The programs that a build or a payload runs.
fn running<'p>(pack: &'p Pack, programs: &'p Programs) -> HashSet<&'p str> {
    let dialects = pack.tables.get("form").into_iter().flat_map(|rows| rows.keys()).filter_map(|name| name.strip_suffix("/payload"));
    let mut open: Vec<&str> = STARTED.iter().copied().chain(dialects).collect();
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
