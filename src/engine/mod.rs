//! Running a ruleset on a scene: a fresh state, the hooks of the pack and of the scene, and the trace.
//!
//! Building a plan (`assemble`) and making a payload (`emit`) share this: both run a top-level program of the pack over
//! a state, and neither depends on the other.

pub mod counting;
pub mod error;
pub mod trace;
pub mod warnings;

mod hooks;
mod render;
mod replaced;

use std::sync::Arc;

use crate::model::options::TABLE;
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;
use crate::program::machine::short;
use crate::program::{HookRequest, Machine};
use crate::template::TemplateCalls;
use crate::terms::BuildState;
use crate::terms::draws::Draws;
use crate::text::script::take_log;
use crate::text::work::BudgetScope;
use crate::verbs::ProgramInterrupt;

pub use error::{BuildError, ErrorKind};

/// The enabled blocks after each stage, if a trace is kept.
pub(crate) type StageBlocks = Vec<(String, Vec<Value>)>;

/// Runs a top-level program with the hooks of a scene, and records the blocks after each of its stages.
pub(crate) fn watched(
    rules: &Ruleset,
    program: usize,
    scene: &Scene,
    st: &mut BuildState,
) -> Result<StageBlocks, (ProgramInterrupt, std::sync::Arc<str>)> {
    let ended = std::cell::RefCell::new(trace::StageItems::default());
    let watch = |pass: &str, st: &mut BuildState| {
        if scene.trace {
            ended.borrow_mut().end(short(pass), st);
        }
    };
    let hooks = |ask: &HookRequest<'_>, list: usize, st: &mut BuildState| hooks::run(&scene.hooks, ask, list, st);
    let machine = Machine::new(rules.programs()).with_hooks(&hooks).with_watch(&watch);
    machine.run(program, st)?;
    Ok(ended.into_inner().stages())
}

/// Opens the counter of all work that a scene may take with these rules; inside of another call, it counts on there.
pub(crate) fn door(rules: &Ruleset, scene: &Scene) -> BudgetScope {
    scene.data.open_budget(scene.work.at_most(rules.programs().rules.limits.work))
}

/// A fresh state over a scene.
pub fn state(rules: &Ruleset, scene: &Scene) -> BuildState {
    // what scripts of another build printed is not of this one
    let _ = take_log();
    let data = if scene.data.as_map().is_some() { scene.data.clone() } else { Value::map(Map::default()) };
    let mut data = data;
    if !scene.seed.is_empty()
        && data.get("seed").is_none()
        && let Value::Map(map) = &mut data
    {
        std::sync::Arc::make_mut(map).insert("seed".into(), Value::text(scene.seed.as_str()));
    }
    // a value that an option cannot have does not hide the pack's own; a build warns of it
    if let Some(given) = data.get(TABLE).cloned()
        && let Value::Map(map) = &mut data
    {
        let usable = rules.options().usable(&given);
        std::sync::Arc::make_mut(map).insert(TABLE.into(), usable);
    }
    // the seed that the rules see is the one that draws are made from
    let seed = data.get("seed").filter(|seed| !seed.is_empty()).map_or_else(|| Arc::from(scene.seed.as_str()), Value::to_text);
    let mut st = BuildState::new(rules.programs().rules.clone(), data, Draws::new(&seed, scene.draws.clone()));
    st.host.clone_from(&scene.host);
    if scene.trace {
        st.trail = Some(std::cell::RefCell::default());
    }
    st.strict = scene.strict;
    if st.strict {
        let allowing = rules.clone();
        st.accepts = Some(std::rc::Rc::new(move |warning| allowing.allows(warning)));
    }
    let table = rules.macros().clone();
    let templates = TemplateCalls::new(rules.templates().clone(), rules.tasks().clone());
    st.set_renderer(std::rc::Rc::new(move |what, args, st| render::render(what, args, st, &table, &templates)));
    st
}

/// Returns the function with which a machine runs the hooks of a scene and the scripts of the pack.
pub(crate) fn hooks_of(scene: &Scene) -> impl Fn(&HookRequest<'_>, usize, &mut BuildState) -> Result<(), ProgramInterrupt> {
    |ask, list, st| hooks::run(&scene.hooks, ask, list, st)
}
