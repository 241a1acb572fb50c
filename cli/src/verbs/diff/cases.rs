//! Rule tests on both sides: what comes out of each case, whether or not it is what the case expects.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::pack::Ruleset;
use crate::testing::CaseFile;
use crate::testing::case::{CaseAction, CaseTurn, TestCase, json_of};
use crate::testing::case::{in_folder, is_case_file, read_path};
use crate::testing::play::turns;
use crate::testing::play::{PlayedTurn, TurnFailure};

use super::rows::{RowChange, places};
use super::rules::RuleDiff;
use crate::inputs::library::beside_scene;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::test::scene;

/// The case files that a path names: itself, or those of a folder and its subfolders, sorted.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    in_folder(path).into_iter().filter(|path| is_case_file(path)).collect()
}

/// Reads a case file. Packs that lie beside it are found by their names.
pub(super) fn read(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<CaseFile, EarlyExit> {
    show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
    read_path(path).map_err(|wrong| EarlyExit::report(RunExit::CouldNot, *wrong.report, *wrong.sources))
}

/// What comes out of a case; of several turns, what comes out of each.
pub(super) fn outcome(rules: &Ruleset, case: &TestCase, file: &CaseFile) -> Json {
    let mut all = Vec::new();
    let scenes = |path: &Path, now: Option<&str>, rules: &Ruleset| scene(path, now, rules);
    turns(
        case,
        &file.base,
        rules,
        &scenes,
        |_| false,
        |turn, played| {
            all.push(of_turn(rules, case, turn, played));
            true
        },
    );
    if all.len() == 1 { all.pop().unwrap_or_default() } else { json!({ "turns": all }) }
}

/// Lists, values, codes of warnings and whatever else a turn makes, or the error.
fn of_turn(rules: &Ruleset, case: &TestCase, turn: &CaseTurn, played: Result<PlayedTurn, TurnFailure>) -> Json {
    let played = match played {
        Ok(played) => played,
        Err(TurnFailure::Rules(error)) => return json!({ "error": format!("{}: {error}", error.kind()) }),
        Err(TurnFailure::Given(message)) => return json!({ "error": message }),
    };
    let expect = turn.expect.as_ref().map(json_of).unwrap_or_default();
    let named = |key: &str| expect.get(key).and_then(Json::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
    let programs = &rules.programs().list;
    let ran = |name: &str| programs.iter().find(|p| *p.name == *name).or_else(|| programs.iter().find(|p| *p.name == *program_of(name)));
    let own = |name: &String| Some(&*rules.programs().rules.lists.get(ran(name)?.list)?.name);
    let runs: &[String] = if let CaseAction::Run(names) = &turn.action { names } else { &[] };
    let built = matches!(turn.action, CaseAction::Build | CaseAction::Payload(_)).then_some("blocks");
    let given = turn.given.lists.iter().map(|(name, _)| name.as_str());
    let shown = case.show.iter().map(|(name, _)| name.as_str());
    let mut lists: Vec<&str> = given.chain(named("lists")).chain(shown).chain(runs.iter().filter_map(own)).chain(built).collect();
    lists.sort_unstable();
    lists.dedup();
    let lists: Map<String, Json> = lists.into_iter().filter_map(|name| Some((name.to_owned(), played.list(name)?))).collect();
    let value = |path: &str| played.outcome.as_ref().map(|outcome| outcome.get(path).to_json()).unwrap_or_default();
    let set: Map<String, Json> = named("set").map(|path| (path.to_owned(), value(path))).collect();
    let warnings: Vec<&str> = played.warnings.iter().map(|w| w.code.as_str()).collect();
    let mut out = json!({ "lists": lists, "set": set, "warnings": warnings });
    for key in ["payload", "texts", "imported"] {
        let made = played.value(key);
        if let Some(table) = out.as_object_mut().filter(|_| !made.is_null()) {
            table.insert(key.to_owned(), made);
        }
    }
    out
}

/// The program of a pass: `lore` of `lore/scan`.
fn program_of(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(program, _)| program)
}

/// The rules of the programs or passes that a case runs that differ.
pub(super) fn rules(case: &TestCase, diff: &RuleDiff) -> Vec<String> {
    let runs = |row: &RowChange| {
        let of_run = |run: &String| row.name == *run || row.name.strip_prefix(run).is_some_and(|rest| rest.starts_with('/'));
        case.turns.iter().any(|turn| if let CaseAction::Run(names) = &turn.action { names.iter().any(of_run) } else { false })
    };
    let told = |row: &RowChange| format!("pass {}, which is {} ({})", row.name, row.what.word(), places(row));
    diff.rows.iter().filter(|row| row.table == "pass" && runs(row)).map(told).collect()
}
