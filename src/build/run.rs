//! Runs single programs and passes of a pack over a scene, and expands single texts, without building a plan.

use std::cell::RefCell;
use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::macros::Macros;
use crate::model::plan::{EvictionRecord, Expansion, RecordedReason, TrimReport};
use crate::model::{Item, Scene, Value};
use crate::pack::Ruleset;
use crate::program::machine::short;
use crate::program::{Machine, Program};
use crate::terms::state::PassMemories;
use crate::terms::{BuildState, CurrentItem, Env, PassContext, PassMemo};
use crate::verbs::ProgramInterrupt;

use super::error::{BuildError, placed_warnings};
use super::hooks::hooks_of;
use super::plan::{evicted, patch, plan};
use super::state::{door, state, state_with};
use super::trace::{StageBlocks, StageItems, reasons};

/// The program that prepares what macros read, if the pack has one.
const PREPARE: &str = "macros";

/// Runs a top-level program with the hooks of a scene, and records the blocks after each of its stages.
pub(crate) fn watched(
    rules: &Ruleset,
    program: usize,
    scene: &Scene,
    st: &mut BuildState,
) -> Result<StageBlocks, (ProgramInterrupt, Arc<str>)> {
    let ended = RefCell::new(StageItems::default());
    let watch = |pass: &str, list: usize, st: &mut BuildState| {
        if scene.trace {
            ended.borrow_mut().end(short(pass), list, st);
        }
    };
    let hooks = hooks_of(scene);
    let machine = Machine::new(rules.programs()).with_hooks(&hooks).with_watch(&watch);
    machine.run(program, st)?;
    Ok(ended.into_inner().stages())
}

/// Runs one program of the pack, or one pass (`program/pass`), over a scene. `lists` gives the items of lists by name,
/// as JSON arrays of objects; the other lists are filled as in a build.
///
/// # Errors
/// As for [`build`](fn@crate::build), and for an unknown program, pass or list. The stage is the name of the pass, without its program.
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
    run_with(rules, names, scene, lists, PassMemories::default())
}

/// The same with what passes remember of an earlier build of the same rules.
pub(super) fn run_with(
    rules: &Ruleset,
    names: &[&str],
    scene: &Scene,
    lists: &[(&str, Vec<Value>)],
    memories: PassMemories,
) -> Result<Outcome, BuildError> {
    let _door = door(rules, scene);
    let mut st = state_with(rules, scene, memories);
    for (list, rows) in lists {
        let Some(id) = st.rules.list_id(list) else {
            return Err(BuildError::call(format!("pack `{}` has no list `{list}`", rules.pack().name)));
        };
        let items = rows.iter().map(|row| Item::from_value(row, &st.rules.fields)).collect();
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
    BuildError::if_spent(None)?;
    Ok(Outcome::new(rules.clone(), st))
}

fn run_pass(rules: &Ruleset, name: &str, machine: &Machine<'_>, st: &mut BuildState) -> Result<Result<(), ProgramInterrupt>, BuildError> {
    let all = rules.programs().list.iter().flat_map(|p: &Program| p.passes().iter().map(|pass| (pass.clone(), p.list)));
    let known: Vec<_> = all.collect();
    match known.iter().find(|(pass, _)| pass.id.as_ref() == name) {
        Some((pass, list)) => Ok(pass.run(st, *list, machine)),
        None => {
            let names = rules.programs().list.iter().map(|p| p.name.as_ref()).chain(known.iter().map(|(p, _)| p.id.as_ref()));
            let help = crate::diag::suggest::help(name, names).map(|h| format!("; {h}")).unwrap_or_default();
            Err(BuildError::call(format!("pack `{}` has no program or pass `{name}`{help}", rules.pack().name)))
        }
    }
}

/// Evaluates an expression over an item, given as a table: what a rule of this pack would get that has it. Nothing is checked
/// before, so that a function that does not exist fails where it is called.
///
/// # Errors
/// What cannot be read, or why the evaluation failed, as a sentence without a full stop.
pub fn evaluate(rules: &Ruleset, expression: &str, item: &Value) -> Result<Value, String> {
    let scene = Scene::default();
    let _door = door(rules, &scene);
    let st = state(rules, &scene);
    let compiled = rules.programs().compile_expression(expression)?;
    let memo = PassMemo::default();
    let env = Env { st: &st, cur: CurrentItem::Value(item, 0), outer: None, memo: &memo, part: None };
    compiled.eval(&env).map_err(|fault| fault.message)
}

/// The result of [`run`](fn@crate::run) or [`run_all`](crate::run_all): the state that the programs left behind.
pub struct Outcome {
    rules: Ruleset,
    st: BuildState,
}

impl Outcome {
    pub(super) fn new(rules: Ruleset, st: BuildState) -> Self {
        Self { rules, st }
    }

    /// Takes what the passes remember of this build.
    pub(super) fn take_memories(&self) -> PassMemories {
        self.st.caches.passes.take()
    }

    /// The items of a list as tables; a disabled item has `enabled = false`. Empty for an unknown list.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<Value> {
        let Some(id) = self.st.rules.list_id(name) else { return Vec::new() };
        self.st.snapshot(id).iter().map(|i| i.as_said(&self.st.rules.fields)).collect()
    }

    /// The value of `$path` after the run; [`Value::Null`] if there is none.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        self.st.lookup(&names, self.st.rules.list_id(path).map(|id| (id, names.len())))
    }

    /// Warnings, in the order in which they were raised.
    #[must_use]
    pub fn warnings(&self) -> Vec<Diagnostic> {
        placed_warnings(&self.rules, &self.st)
    }

    /// The items that were trimmed, in the order of removal.
    #[must_use]
    pub fn records(&self) -> Vec<EvictionRecord> {
        self.st.ledger.borrow().records.iter().map(evicted).collect()
    }

    /// The trim report for a list; `None` if no pass trimmed.
    ///
    /// # Errors
    /// The cost of an item cannot be evaluated.
    pub fn trim_report(&self, list: &str) -> Result<Option<TrimReport>, BuildError> {
        let id = self.st.rules.list_id(list).unwrap_or(0);
        Ok(plan(&self.rules, &self.st, id, Vec::new())?.trim_report)
    }

    /// Why passes treated items as they did, in order; empty unless the scene asks for a trace.
    #[must_use]
    pub fn reasons(&self) -> Vec<RecordedReason> {
        reasons(&self.st)
    }

    /// The number of scripted draws that were not used.
    #[must_use]
    pub fn draws_left(&self) -> usize {
        self.st.draws.borrow().left()
    }

    /// The pass that did something to the item of this index of a list last; without such an item, to any of the list.
    /// `None` without a trace.
    #[must_use]
    pub fn last_pass(&self, list: &str, n: Option<usize>) -> Option<Arc<str>> {
        let id = self.st.rules.list_id(list)?;
        let trail = self.st.trace.as_ref()?.events.borrow();
        let item = n.and_then(|n| self.st.snapshot(id).get(n).map(|item| item.seq)).filter(|seq| *seq != 0);
        let of_item = item.and_then(|seq| trail.iter().rfind(|event| event.item == seq));
        let programs = self.rules.programs();
        let works_here = |pass: &str| {
            let found = programs.list.iter().find_map(|p| Some((p, p.passes().iter().find(|known| known.id.as_ref() == pass)?)));
            found.is_some_and(|(program, pass)| pass.list.unwrap_or(program.list) == id)
        };
        let event = of_item.or_else(|| trail.iter().rfind(|event| works_here(&event.pass)))?;
        Some(event.pass.clone())
    }

    /// Every value that passes have set (`$name`), as a table.
    #[must_use]
    pub fn values(&self) -> Value {
        self.st.set.borrow().clone()
    }

    /// What to store with the chat, as in [`Plan::patch`](crate::Plan::patch).
    #[must_use]
    pub fn patch(&self) -> Value {
        patch(&self.st)
    }
}

/// The result of [`expand_texts`].
#[derive(Debug, Clone)]
pub struct Texts {
    /// The expanded texts, in the given order.
    pub texts: Vec<Arc<str>>,
    /// What to store with the chat, as in [`Plan::patch`](crate::Plan::patch): the variables that macros have written,
    /// under `vars`.
    pub patch: Value,
    /// The number of random draws.
    pub draws: usize,
    /// Warnings, in the order in which they were raised.
    pub warnings: Vec<Diagnostic>,
    /// The macros that were evaluated, in order; empty unless the scene asks for a trace.
    pub macros: Vec<Expansion>,
}

/// Expands texts one after another over one state, with the macros of the pack. Each text comes with names that hold
/// for it alone: a table of texts that take precedence over the pack's macros, and `original`; or [`Value::Null`].
///
/// # Errors
/// As for [`build`](fn@crate::build): the pack's program `macros`, which prepares what macros read, fails or reaches a
/// limit.
pub fn expand_texts(rules: &Ruleset, scene: &Scene, texts: &[(&str, Value)]) -> Result<Texts, BuildError> {
    let _door = door(rules, scene);
    let mut st = state(rules, scene);
    if let Some(program) = rules.programs().find(PREPARE) {
        let hooks = hooks_of(scene);
        match Machine::new(rules.programs()).with_hooks(&hooks).run(program, &mut st) {
            Ok(()) | Err((ProgramInterrupt::Stop, _)) => {}
            Err((halt, _)) => return Err(BuildError::of(halt, Some(PREPARE), &st)),
        }
    }
    let expand = |(text, with): &(&str, Value)| Macros::new(&st, PassContext::default(), rules.macros(), with, &Arc::from(*text)).run();
    let texts = texts.iter().map(expand).collect();
    BuildError::if_spent(None)?;
    let warnings = placed_warnings(rules, &st);
    let draws = st.draws.borrow().taken().len();
    let macros = st.trace.as_ref().map(|trace| trace.macros.borrow().clone()).unwrap_or_default();
    Ok(Texts { texts, patch: patch(&st), draws, warnings, macros })
}
