//! Overlays that change a program which builds of the pack do not run, although those of a pack below do.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Help, Report};

use super::CheckedRules;

/// Warns of passes of overlays in programs that builds of the pack do not run, although builds of the pack that declares
/// the program do. A program that no build runs at all is one that applications start.
pub(super) fn check(rules: &CheckedRules<'_>, report: &mut Report) {
    let CheckedRules { pack, run, .. } = rules;
    let overlays: HashSet<&str> = pack.layers.iter().filter(|layer| layer.overlay).map(|layer| &*layer.name).collect();
    if overlays.is_empty() || !run.contains("build") {
        return;
    }
    let layer = |span| pack.sources.place(span).map(|place| place.layer).unwrap_or_default();
    let mut told: HashSet<&str> = HashSet::new();
    let mut homes: HashMap<Arc<str>, HashSet<String>> = HashMap::new();
    for row in pack.rows("pass") {
        let Some((program, _)) = row.name.rsplit_once('/') else { continue };
        let span = row.patched.last().copied().unwrap_or(row.name_span);
        if run.contains(program) || !overlays.contains(&*layer(span)) || !told.insert(program) {
            continue;
        }
        let declared = pack.row("program", program).map(|row| layer(row.span));
        let Some(home) = declared.filter(|home| !overlays.contains(&**home) && **home != *pack.name) else { continue };
        if !homes.entry(home).or_insert_with_key(|home| (rules.run_by)(home)).contains(program) {
            continue;
        }
        let message =
            format!("builds of pack `{}` do not run program `{program}`, so pass `{}` changes nothing there", pack.name, row.name);
        let help = "`tapster explain --rules build` shows what runs";
        let near = report.words.nearest(program, run.iter().copied());
        let help = near.map_or_else(|| help.into(), |near| Help::from(near).or_else_do(help));
        report.push(Diagnostic::new(Code::PassUnused, message).at(span).rule(format!("pass {}", row.name)).help(help));
    }
}
