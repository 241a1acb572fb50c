//! `tapster run`: any program of a pack, with the lists and values that it leaves behind.

use std::fmt::Write as _;

use clap::Args;
use indexmap::IndexSet;
use serde_json::{Map, Value as Json, json};

use crate::build::{Outcome, run_all};
use crate::diag::{Code, Diagnostic, Report, Severity, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::turns::{PlayArgs, TurnResult};
use crate::inputs::{self, SceneFlag};
use crate::layout::{head, table};
use crate::model::{Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;

/// The most columns of a table of items, and characters of a cell and of a value.
const COLUMNS: usize = 8;
const CELL: usize = 40;
const VALUE: usize = 100;
/// Names of programs that a diagnostic lists.
const NAMES: usize = 30;

/// Run programs of a pack, one after another over one state, and show the lists and values that they leave behind.
///
/// A list that no flag fills is filled from the scene, as in a build.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster run schedule --list members=members.json --set group.strategy=list
  tapster run schedule --list 'members=[{\"name\": \"Ada\"}, {\"name\": \"Bo\"}]' --draws draws.txt
  tapster run lore --scene examples/hello --dump entries
  tapster run decide --list members=members.json --dump chosen '$turn.fingerprint'
  tapster run lore/scan --pack my-pack --scene examples/hello --format json
  tapster run lore --scene examples/hello --turns 3 --state chat.json

`tapster ops --kinds --pack NAME` lists the programs of a pack, each with its list.

Exit codes: 0 done, 1 the rules refused, 2 it could not run.")]
pub(crate) struct RunArgs {
    /// Programs, or single passes (`program/pass`), in the order in which they run.
    #[arg(value_name = "PROGRAM")]
    programs: Vec<String>,
    #[command(flatten)]
    scene: SceneFlag,
    /// Gives items to a list: a file of JSON or TOML that holds a list of tables, or a table with the list under its name;
    /// `-` reads standard input, and a text that begins with `[` is the JSON itself.
    #[arg(long, value_name = "NAME=FILE", help_heading = "Scene")]
    list: Vec<String>,
    /// Shows these lists, and values (`$path`), instead of the lists of the programs, those that they have filled, those of
    /// `--list`, and every value that was set.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    dump: Vec<String>,
    #[command(flatten)]
    turns: PlayArgs,
}

impl RunArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        self.scene.0.refuse_previous()?;
        let (rules, scene) = self.scene.0.open(show)?;
        self.check(&rules)?;
        let given = self.list.iter().map(|text| inputs::read_list(text, &rules, show)).collect::<Result<Vec<_>, _>>()?;
        let mut once = IndexSet::new();
        if let Some((name, _)) = given.iter().find(|(name, _)| !once.insert(name.as_str())) {
            let help = "give all items of a list in one `--list`, for example from a file";
            return Err(EarlyExit::could_not(Code::SceneField, format!("list `{name}` is given items twice"), help));
        }
        let named = self.dump.iter().map(String::as_str).filter(|name| !name.starts_with('$'));
        let shown: IndexSet<&str> = if self.dump.is_empty() {
            self.programs.iter().filter_map(|name| list_of(&rules, name)).chain(given.iter().map(|(name, _)| &**name)).collect()
        } else {
            named.collect()
        };
        shown.iter().try_for_each(|name| inputs::require_list(&rules, name))?;
        report_doubts(scene_doubts(&rules, &scene, &given), scene.strict, &rules, show)?;
        let all = self.turns.play(&rules, &scene, show, |scene, said, show| {
            if let Some(said) = said {
                // what the turn alone says of the scene
                let own = Scene { data: said.scene(), ..Scene::default() };
                report_doubts(scene_doubts(&rules, &own, &[]), scene.strict, &rules, show)?;
            }
            self.once(&rules, &scene, &given, &shown, show)
        })?;
        if show.is_json() {
            show.json(&self.turns.joined(all));
            return Ok(RunExit::Done);
        }
        for (n, one) in all.iter().enumerate() {
            if self.turns.are_many() {
                show.result(&format!("{}turn {}\n", if n > 0 { "\n" } else { "" }, n + 1));
            }
            show.result(&result_text(one));
        }
        Ok(RunExit::Done)
    }

    /// Refuses what the pack does not have, before anything runs.
    fn check(&self, rules: &Ruleset) -> Result<()> {
        let programs = &rules.programs().list;
        let names = || programs.iter().map(|program| &*program.name);
        let pack = &rules.pack().name;
        let listed = || format!("`tapster ops --kinds --pack {pack}` lists all programs");
        let all = || {
            let first: Vec<&str> = names().take(NAMES).collect();
            let more = if names().count() > NAMES { format!(" …; {}", listed()) } else { String::new() };
            format!("the programs of pack `{pack}` are {}{more}", first.join(", "))
        };
        if self.programs.is_empty() {
            return Err(EarlyExit::could_not(Code::NameUnknown, "no program is named", all()));
        }
        let passes = || programs.iter().flat_map(|program| program.passes()).map(|pass| &*pass.id);
        for name in &self.programs {
            if !names().chain(passes()).any(|known| known == name) {
                let message = format!("pack `{pack}` has no program or pass `{}`", head(name, 60));
                let near = suggest::nearest(name, names().chain(passes()));
                let help = near.map_or_else(all, |near| format!("{near} {}", listed()));
                return Err(EarlyExit::could_not(Code::NameUnknown, message, help));
            }
        }
        Ok(())
    }

    /// One turn.
    fn once(
        &self,
        rules: &Ruleset,
        scene: &Scene,
        given: &[(String, Json)],
        shown: &IndexSet<&str>,
        show: &mut Console<'_>,
    ) -> Result<TurnResult> {
        let names: Vec<&str> = self.programs.iter().map(String::as_str).collect();
        let given: Vec<(&str, Json)> = given.iter().map(|(name, items)| (name.as_str(), items.clone())).collect();
        let outcome = run_all(rules, &names, scene, &given).map_err(|error| EarlyExit::build(&error, rules))?;
        let warnings = outcome.warnings();
        show.warnings(&warnings, rules.sources());
        let mut lists: Map<String, Json> = shown.iter().map(|name| ((*name).to_owned(), list_items(&outcome, name))).collect();
        if self.dump.is_empty() {
            // what stands in a list that the scene does not fill was put there by the programs
            for list in rules.programs().rules.lists.iter().filter(|list| list.from.is_none() && !shown.contains(&*list.name)) {
                let made = list_items(&outcome, &list.name);
                if made.as_array().is_some_and(|made| !made.is_empty()) {
                    lists.insert(list.name.to_string(), made);
                }
            }
        }
        let dumped = || self.dump.iter().filter_map(|name| name.strip_prefix('$'));
        dumped().filter(|path| outcome.get(path).is_null()).try_for_each(|path| inputs::require_path(rules, path))?;
        let set = if self.dump.is_empty() {
            let mut set = outcome.values().to_json();
            // what is kept is shown as the patch
            if let Some(table) = set.as_object_mut() {
                table.retain(|name, _| name != "state" && name != "vars");
            }
            flatten_values(&set)
        } else {
            dumped().map(|path| (path.to_owned(), outcome.get(path).to_json())).collect()
        };
        let patch = outcome.patch();
        let mut result = json!({ "programs": self.programs, "lists": lists, "set": set, "patch": patch.to_json() });
        if let Some(table) = result.as_object_mut() {
            let told: Vec<Json> =
                warnings.iter().map(|w| json!({ "code": w.code.as_str(), "message": w.message, "pass": w.pass })).collect();
            table.insert("warnings".to_owned(), told.into());
            table.insert("draws_left".to_owned(), outcome.draws_left().into());
        }
        Ok(TurnResult { result, patch, draws: outcome.draws_left() })
    }
}

/// Warns of what is doubtful; of a strict scene it is an error.
fn report_doubts(told: Vec<Diagnostic>, strict: bool, rules: &Ruleset, show: &mut Console<'_>) -> Result<()> {
    if !strict || told.is_empty() {
        show.warnings(&told, rules.sources());
        return Ok(());
    }
    let errors: Report = told.into_iter().map(|told| Diagnostic { severity: Severity::Error, ..told }).collect();
    Err(EarlyExit::report(RunExit::No, errors, rules.sources().clone()))
}

/// What a build would say of the scene, and the same of the items of `--list`.
fn scene_doubts(rules: &Ruleset, scene: &Scene, given: &[(String, Json)]) -> Vec<Diagnostic> {
    let mut filled = scene.clone();
    for (name, items) in given {
        filled.set(rules.programs().rules.source_of(name), Value::from(items));
    }
    let unread = rules.for_scenes().undeclared_paths(&scene.data).into_iter().map(|found| found.warning);
    let misfits = rules.for_scenes().misfits(&filled.data).into_iter();
    let misfits = misfits.map(|misfit| Diagnostic::warning(misfit.code(), misfit.message).help(misfit.help));
    unread.chain(misfits).collect()
}

/// The list that a program, or the program of a pass, works on.
fn list_of<'r>(rules: &'r Ruleset, name: &str) -> Option<&'r str> {
    let programs = rules.programs();
    let own = programs.list.iter().find(|program| *program.name == *name);
    let of_pass = || programs.list.iter().find(|program| program.passes().iter().any(|pass| *pass.id == *name));
    Some(&programs.rules.lists.get(own.or_else(of_pass)?.list)?.name)
}

fn list_items(outcome: &Outcome, list: &str) -> Json {
    outcome.list(list).iter().map(Value::to_json).collect()
}

/// The values of nested tables, by their paths.
fn flatten_values(table: &Json) -> Map<String, Json> {
    let (mut open, mut out) = (vec![(String::new(), table)], Map::new());
    while let Some((path, value)) = open.pop() {
        match value.as_object() {
            Some(inner) if path.is_empty() || !inner.is_empty() => {
                let below = |name: &String| if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                open.extend(inner.iter().rev().map(|(name, value)| (below(name), value)));
            }
            _ => drop(out.insert(path, value.clone())),
        }
    }
    out
}

/// The result for people.
fn result_text(result: &Json) -> String {
    let mut out = String::new();
    let part = |key: &str| result.get(key).and_then(Json::as_object).into_iter().flatten();
    for (name, items) in part("lists") {
        let items = items.as_array().map_or(&[][..], Vec::as_slice);
        let _ = writeln!(out, "list {name}: {} {}", items.len(), if items.len() == 1 { "item" } else { "items" });
        out.push_str(&item_table(items));
    }
    let line = |(name, value): (&String, &Json)| vec![format!("${name}"), head(&value.to_string(), VALUE)];
    let set: Vec<Vec<String>> = part("set").map(line).collect();
    if !set.is_empty() {
        let _ = write!(out, "values\n{}", table(&set));
    }
    let patch: Vec<Vec<String>> = part("patch").map(|(name, value)| vec![name.clone(), head(&value.to_string(), VALUE)]).collect();
    if !patch.is_empty() {
        let _ = write!(out, "stored with the chat\n{}", table(&patch));
    }
    out
}

/// Items as a table: a column for each field that an item has, in the order in which they are found.
fn item_table(items: &[Json]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for (name, value) in items.iter().filter_map(Json::as_object).flatten() {
        if !value.is_null() && columns.len() <= COLUMNS && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let cut = columns.len() > COLUMNS;
    columns.truncate(COLUMNS);
    if columns.is_empty() {
        return String::new();
    }
    let cell = |value: Option<&Json>| match value {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => head(text, CELL),
        Some(other) => head(&other.to_string(), CELL),
    };
    let mut all = vec![columns.iter().map(|name| (*name).to_owned()).collect()];
    all.extend(items.iter().map(|item| columns.iter().map(|name| cell(item.get(*name))).collect()));
    let more = if cut { "  … more fields: `--format json` shows them\n" } else { "" };
    format!("{}{more}", table(&all))
}
