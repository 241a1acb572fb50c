//! The road's middle: runs the program `build` over a scene, and gathers the plan.
//!
//! It walks, watches and records; what happens is decided by the passes of the pack. Pure: the same rules and the
//! same scene give the same plan.

pub mod gather;
pub mod import;
pub mod texts;
pub mod unchanged;

mod undeclared;

use crate::engine::{BuildError, hooks_of, state, watched};
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::program::machine::short;
use crate::program::{Machine, Program};
use crate::terms::State;
use crate::verbs::Halt;

pub use gather::Outcome;
pub use import::import_document;
pub use texts::{Texts, expand_texts};
pub use unchanged::{blocks_of, unchanged};

/// The entry program of a build.
const ENTRY: &str = "build";

/// Builds the plan of a scene. What the scene holds and no rule reads is warned of.
///
/// # Errors
/// A [`BuildError`] that names the stage: a requirement of the pack is not met, a limit was reached, or (strict) a warning.
pub fn build(rules: &Ruleset, scene: &Scene) -> Result<Plan, BuildError> {
    let programs = rules.programs();
    let Some(entry) = programs.find(ENTRY) else {
        return Err(BuildError::call(format!("pack `{}` has no program `{ENTRY}`", rules.pack().name)));
    };
    let mut st = state(rules, scene);
    undeclared::warn(rules, scene, &st);
    if st.refuses() {
        return Err(BuildError::of(Halt::Warned, None, &st));
    }
    let stages = watched(rules, entry, scene, &mut st).map_err(|(halt, pass)| BuildError::of(halt, Some(short(&pass)), &st))?;
    let plan = gather::plan(rules, &st, programs.list.get(entry).map_or(0, |p| p.list), stages)?;
    // what was still unread is made for the plan, and may warn too
    if st.refuses() {
        let pass = st.warnings.borrow().first().map(|w| w.pass.clone()).unwrap_or_default();
        return Err(BuildError::of(Halt::Warned, Some(short(&pass)), &st));
    }
    let given = Scene { data: Value::Null, draws: st.draws.borrow().rest(), ..scene.clone() };
    Ok(Plan { given, ..plan })
}

/// Runs one program of the pack, or one pass (`program/pass`), over given lists.
///
/// # Errors
/// As [`build`]; the stage is the pass's name where a single pass was asked for.
pub fn run(rules: &Ruleset, name: &str, scene: &Scene, lists: &[(&str, serde_json::Value)]) -> Result<Outcome, BuildError> {
    run_all(rules, &[name], scene, lists)
}

/// Runs several programs or passes one after another over one state, as a longer program would. One that stops
/// itself does not keep the next from running.
///
/// # Errors
/// As [`run`].
pub fn run_all(rules: &Ruleset, names: &[&str], scene: &Scene, lists: &[(&str, serde_json::Value)]) -> Result<Outcome, BuildError> {
    let mut st = state(rules, scene);
    for (list, rows) in lists {
        let Some(id) = st.rules.list_id(list) else {
            return Err(BuildError::call(format!("pack `{}` has no list `{list}`", rules.pack().name)));
        };
        let items = rows.as_array().into_iter().flatten().map(|row| crate::model::Item::from_value(&Value::from(row), &st.rules.fields));
        let items = items.collect();
        st.restore(id, items);
        st.list_mut(id).loaded = true;
    }
    let hooks = hooks_of(scene);
    let machine = Machine::new(rules.programs()).with_hooks(&hooks);
    for name in names {
        let (result, stage) = match rules.programs().find(name) {
            Some(program) => (machine.run(program, &mut st).map_err(|(halt, _)| halt), None),
            None => (run_pass(rules, name, &machine, &mut st)?, Some(short(name))),
        };
        match result {
            Ok(()) | Err(Halt::Stop) => {}
            Err(Halt::Warned) => return Err(BuildError::of(Halt::Warned, stage.or(Some(name)), &st)),
            Err(halt) => return Err(BuildError::of(halt, stage, &st)),
        }
    }
    Ok(Outcome::new(rules.clone(), st))
}

fn run_pass(rules: &Ruleset, name: &str, machine: &Machine<'_>, st: &mut State) -> Result<Result<(), Halt>, BuildError> {
    let all = rules.programs().list.iter().flat_map(|p: &Program| p.passes.iter().map(|pass| (pass.clone(), p.list)));
    let known: Vec<_> = all.collect();
    match known.iter().find(|(pass, _)| pass.id.as_ref() == name) {
        Some((pass, list)) => {
            st.current.set(*list);
            Ok(pass.run(st, *list, machine))
        }
        None => {
            let names = rules.programs().list.iter().map(|p| p.name.as_ref()).chain(known.iter().map(|(p, _)| p.id.as_ref()));
            let help = crate::diag::suggest::help(name, names).map(|h| format!("; {h}")).unwrap_or_default();
            Err(BuildError::call(format!("pack `{}` has no program or pass `{name}`{help}", rules.pack().name)))
        }
    }
}
