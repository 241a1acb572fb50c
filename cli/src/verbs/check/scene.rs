//! Checking a scene: it is read and built as `tapster build` does, and everything that is told on the way is reported.

use std::path::{Path, PathBuf};

use crate::diag::{Report, SourceId};
use crate::inputs::InputArgs;
use crate::inputs::scene_file::{KEYS, NAME};
use crate::output::OutputStreams;
use crate::pack::files::{is_pack, read_file};
use crate::pack::{Ruleset, json, toml};
use crate::stop::EarlyExit;
use crate::verbs::build::{dialect, planned};

use super::{PathReport, fix, macros};

/// The scene file that a path means: a folder with a `scene.toml` that is no pack, or a file that reads like a scene.
pub(crate) fn of(path: &Path, folder: bool) -> Option<PathBuf> {
    if folder {
        return (!is_pack(path) && path.join(NAME).is_file()).then(|| path.to_owned());
    }
    let is_named = path.file_name().is_some_and(|name| name == NAME || name == "scene.json");
    (is_named || is_scene(path)).then(|| path.to_owned()).filter(|path| path.is_file())
}

/// Whether a file has no kind, and most of its keys are those of a scene.
fn is_scene(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|e| e == "json");
    if !is_json && path.extension().is_none_or(|e| e != "toml") {
        return false;
    }
    let mut unread = Report::default();
    let Some(file) = read_file(path, &mut unread) else { return false };
    let text = String::from_utf8_lossy(&file.bytes);
    let parse = if is_json { json::parse } else { toml::parse };
    let root = parse(SourceId::default(), text.trim_start_matches('\u{FEFF}'), &mut unread);
    let Some(table) = root.as_ref().and_then(|root| root.as_table()) else { return false };
    let known = table.keys().filter(|key| KEYS.contains(&&***key)).count();
    !table.contains_key("kind") && !table.contains_key("layout") && known * 2 > table.len()
}

/// Builds a scene and returns what was told about it.
pub(super) fn check(inputs: &InputArgs, show: &mut OutputStreams<'_, '_>) -> Vec<PathReport> {
    let mut rules = None;
    let (result, mut kept) = show.keeping(|show| built(inputs, &mut rules, show));
    if let Err(stop) = result {
        kept.push((stop.report, stop.sources));
    }
    if let Some(rules) = &rules {
        kept.iter_mut().for_each(|(report, sources)| fix::keys(report, sources, rules));
    }
    PathReport::kept(kept)
}

/// Builds a scene, and keeps its rules.
fn built(inputs: &InputArgs, kept: &mut Option<Ruleset>, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
    let (rules, mut scene) = inputs.open(show)?;
    let rules: &Ruleset = kept.insert(rules);
    // a trace says which macros there are
    scene.trace = true;
    let plan = planned(rules, &scene)?;
    show.warnings(&plan.warnings, rules.sources());
    show.report(&macros::unknown(rules, &scene), rules.sources());
    show.report(&macros::unstable(rules, &scene, &plan), rules.sources());
    let emitted = tapster::emit(rules, &plan, &dialect(rules, &scene)).map_err(|error| EarlyExit::build(&error, rules))?;
    show.warnings(&emitted.warnings, rules.sources());
    Ok(())
}
