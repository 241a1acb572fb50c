//! Building a plan: runs the program `build` of a pack over a scene and collects the result.
//!
//! The passes of the pack decide what happens. Building is pure: the same rules and the same scene give the same plan.

pub mod gather;
pub mod import;
pub mod kept;
pub mod scene;
pub mod texts;
mod typed;
pub mod unchanged;

mod beaten;
mod undeclared;

pub use typed::{SceneTypeError, TypeMismatch, misfits};
pub use undeclared::unread;

use crate::engine::{BuildError, door, hooks_of, state, watched};
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::program::machine::short;
use crate::program::{Machine, Program};
use crate::terms::BuildState;
use crate::verbs::ProgramInterrupt;

pub use gather::Outcome;
pub use import::{convert_document, import_document};
pub use scene::{AssembledScene, ScenePart, assemble_scene};
pub use texts::{Texts, expand_texts};
pub use unchanged::{blocks_of, unchanged};

/// The entry program of a build.
const ENTRY: &str = "build";

/// Builds the plan of a scene: runs the program `build` of the pack. Data of the scene that no rule reads gives a
/// warning.
///
/// # Errors
/// A requirement of the pack is not met, a pass fails, a limit is reached, or the scene is strict and a warning was
/// raised. The error names the stage.
pub fn build(rules: &Ruleset, scene: &Scene) -> Result<Plan, BuildError> {
    built(rules, scene).map(|(plan, _)| plan)
}

/// [`build`], with the state that the program left behind.
pub fn built(rules: &Ruleset, scene: &Scene) -> Result<(Plan, Outcome), BuildError> {
    let programs = rules.programs();
    let Some(entry) = programs.find(ENTRY) else {
        return Err(BuildError::call(format!("pack `{}` has no program `{ENTRY}`", rules.pack().name)));
    };
    let _door = door(rules, scene);
    let mut st = state(rules, scene);
    undeclared::warn(rules, scene, &st);
    beaten::warn(rules, scene, &st);
    if st.refuses() {
        return Err(BuildError::of(ProgramInterrupt::Warned, None, &st));
    }
    let stages =
        watched(rules, entry, scene, &mut st).map_err(|(halt, pass)| BuildError::of(halt, Some(short(&pass)), &st).in_pass(&pass))?;
    let plan = gather::plan(rules, &st, programs.list.get(entry).map_or(0, |p| p.list), stages)?;
    BuildError::if_spent()?;
    // what had not been read yet is read for the plan, and may also warn
    if st.refuses() {
        let pass = st.refused().map(|w| w.pass).unwrap_or_default();
        return Err(BuildError::of(ProgramInterrupt::Warned, Some(short(&pass)), &st));
    }
    let given = Scene { data: Value::Null, draws: st.draws.borrow().rest(), ..scene.clone() };
    Ok((Plan { given, ..plan }, Outcome::new(rules.clone(), st)))
}

/// Runs one program of the pack, or one pass (`program/pass`), over a scene. `lists` gives the items of lists by name,
/// as JSON arrays of objects; the other lists are filled as in a build.
///
/// # Errors
/// As for [`build`], and for an unknown program, pass or list. The stage is the name of the pass, without its program.
pub fn run(rules: &Ruleset, name: &str, scene: &Scene, lists: &[(&str, serde_json::Value)]) -> Result<Outcome, BuildError> {
    run_all(rules, &[name], scene, lists)
}

/// Like [`run`] for several programs or passes, which run one after another over one state. One that stops itself does
/// not prevent the next from running.
///
/// # Errors
/// As [`run`].
pub fn run_all(rules: &Ruleset, names: &[&str], scene: &Scene, lists: &[(&str, serde_json::Value)]) -> Result<Outcome, BuildError> {
    let values = |rows: &serde_json::Value| rows.as_array().into_iter().flatten().map(Value::from).collect();
    let lists: Vec<(&str, Vec<Value>)> = lists.iter().map(|(list, rows)| (*list, values(rows))).collect();
    run_values(rules, names, scene, &lists)
}

/// [`run_all`] over items that are values already.
pub fn run_values(rules: &Ruleset, names: &[&str], scene: &Scene, lists: &[(&str, Vec<Value>)]) -> Result<Outcome, BuildError> {
    let _door = door(rules, scene);
    let mut st = state(rules, scene);
    for (list, rows) in lists {
        let Some(id) = st.rules.list_id(list) else {
            return Err(BuildError::call(format!("pack `{}` has no list `{list}`", rules.pack().name)));
        };
        let items = rows.iter().map(|row| crate::model::Item::from_value(row, &st.rules.fields)).collect();
        st.restore(id, items);
        st.list_mut(id).loaded = true;
    }
    let hooks = hooks_of(scene);
    let machine = Machine::new(rules.programs()).with_hooks(&hooks);
    for name in names {
        let (result, stage) = match rules.programs().find(name) {
            Some(program) => match machine.run(program, &mut st) {
                Ok(()) => (Ok(()), None),
                Err((halt, pass)) => (Err(halt), Some(pass)),
            },
            None => (run_pass(rules, name, &machine, &mut st)?, Some(name.to_owned().into())),
        };
        match result {
            Ok(()) | Err(ProgramInterrupt::Stop) => {}
            Err(halt) => {
                let pass = stage.as_deref().unwrap_or(name);
                return Err(BuildError::of(halt, Some(short(pass)), &st).in_pass(pass));
            }
        }
    }
    BuildError::if_spent()?;
    Ok(Outcome::new(rules.clone(), st))
}

fn run_pass(rules: &Ruleset, name: &str, machine: &Machine<'_>, st: &mut BuildState) -> Result<Result<(), ProgramInterrupt>, BuildError> {
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
