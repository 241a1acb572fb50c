//! One build: a ruleset runs on a scene and makes a plan, and a plan becomes the payload of a provider.
//!
//! [`state`] begins a build, the program `build` of the pack changes it, [`hooks`] bring in scripts and functions of the
//! application, [`plan`] collects the result, and [`payload`] runs the program of a dialect over it.
//!
//! The passes of the pack decide what happens. Building is pure: the same rules and the same scene give the same plan.

pub mod error;
pub mod import;
pub mod payload;
pub mod plan;
pub mod run;
pub mod scene;
pub mod session;
pub mod state;
pub mod trace;
pub mod unchanged;

mod hooks;
mod script_results;

use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::program::machine::short;
use crate::terms::state::PassMemories;
use crate::verbs::ProgramInterrupt;

pub use error::{BuildError, ErrorKind};
pub use import::{convert_document, import_document};
pub use payload::{EmittedPlan, Prompt, dialect_of, dialects, emit, prompt};
pub use run::{Outcome, Texts, evaluate, expand_texts, run, run_all, run_values};
pub use scene::{AssembledScene, ScenePart, assemble_scene};
pub use session::BuildSession;
pub use state::state;
pub use unchanged::{blocks_of, unchanged, unchanged_payload};

use run::watched;
use state::{door, state_with};

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
    built_with(rules, scene, PassMemories::default())
}

/// The same with what passes remember of an earlier build of the same rules.
fn built_with(rules: &Ruleset, scene: &Scene, memories: PassMemories) -> Result<(Plan, Outcome), BuildError> {
    let programs = rules.programs();
    let Some(entry) = programs.find(ENTRY) else {
        return Err(BuildError::call(format!("pack `{}` has no program `{ENTRY}`", rules.pack().name)));
    };
    let _door = door(rules, scene);
    let mut st = state_with(rules, scene, memories);
    st.warn_of(rules.for_scenes().warnings(&scene.data));
    if st.refuses() {
        return Err(BuildError::of(ProgramInterrupt::Warned, None, &st));
    }
    let stages =
        watched(rules, entry, scene, &mut st).map_err(|(halt, pass)| BuildError::of(halt, Some(short(&pass)), &st).in_pass(&pass))?;
    let plan = plan::plan(rules, &st, programs.list.get(entry).map_or(0, |p| p.list), stages)?;
    BuildError::if_spent(None)?;
    // what had not been read yet is read for the plan, and may also warn
    if st.refuses() {
        let pass = st.refused().map(|w| w.pass).unwrap_or_default();
        return Err(BuildError::of(ProgramInterrupt::Warned, Some(short(&pass)), &st));
    }
    let given = Scene { data: Value::Null, draws: st.draws.borrow().rest(), ..scene.clone() };
    Ok((Plan { given, ..plan }, Outcome::new(rules.clone(), st)))
}
