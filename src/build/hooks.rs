//! Scripts of the pack and hooks of events: what they are given, and how their answer becomes part of the build.
//!
//! All follow one protocol. A function is given items (a list of tables) and the scene (a table) and returns items,
//! nothing, or `#{ items, set, warnings }`. Hooks of the pack run before those of the embedding program, each in the
//! order in which they were registered.

use std::sync::Arc;

use crate::diag::WordSearch;
use crate::model::plan::BuildStep;
use crate::model::{Hook, HookView, Scene, Value};
use crate::program::HookRequest;
use crate::terms::select::pass_env;
use crate::terms::warnings::ValueOrigin;
use crate::terms::{BuildState, EvalFault, PassMemo, PassReasons};
use crate::text::script::ScriptArgument;
use crate::text::written::ToText as _;
use crate::verbs::{FailurePolicy, ProgramInterrupt};

use super::script_results::{ChangeSource, differing, is_untouched, replace};

/// Returns the function with which a machine runs the hooks of a scene and the scripts of the pack.
pub(crate) fn hooks_of(
    scene: &Scene,
) -> impl Fn(&HookRequest<'_>, usize, Option<&PassReasons>, &mut BuildState) -> Result<(), ProgramInterrupt> {
    |ask, list, reasons, st| match ask {
        HookRequest::Script(function) => script(function, list, reasons, st),
        HookRequest::Event { name, failing } => event(&scene.hooks, name, *failing, HookTarget { list, reasons }, st),
    }
}

/// What a hook works on: a list, and the reasons of the pass that runs it.
#[derive(Clone, Copy)]
struct HookTarget<'a> {
    list: usize,
    reasons: Option<&'a PassReasons>,
}

/// Runs all hooks of an event: those of the pack, then those of the embedding program.
fn event(hooks: &[Hook], name: &str, failing: FailurePolicy, on: HookTarget<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
    let mut held = None;
    of_pack(name, failing, on, &mut held, st)?;
    hooks.iter().filter(|h| h.event.as_ref() == name).try_for_each(|hook| of_host(hook, on, &mut held, st))
}

/// The answer of a function of the pack.
#[derive(Default)]
struct FunctionAnswer {
    items: Option<Vec<Value>>,
    set: Vec<(String, Value)>,
    warnings: Vec<String>,
}

impl FunctionAnswer {
    fn read(value: Value) -> Result<Self, String> {
        let mut answer = Self::default();
        match value {
            Value::Null => {}
            Value::List(items) => answer.items = Some(Arc::unwrap_or_clone(items)),
            Value::Map(map) => {
                for (key, value) in Arc::unwrap_or_clone(map) {
                    match (key.as_ref(), value) {
                        (_, Value::Null) => {}
                        ("items", Value::List(items)) => answer.items = Some(Arc::unwrap_or_clone(items)),
                        ("set", Value::Map(set)) => answer.set = set.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
                        ("warnings", Value::List(list)) => answer.warnings = list.iter().map(|w| w.shown().to_string()).collect(),
                        _ => {
                            return Err(format!(
                                "`{key}` is not what a function may answer: `items` (a list), `set` (a table), `warnings` (a list)"
                            ));
                        }
                    }
                }
            }
            _ => return Err("a function answers a list of items, nothing, or a table with `items`, `set`, `warnings`".into()),
        }
        Ok(answer)
    }
}

/// A pass with `script`: the items of its list in, the items of its list out.
fn script(function: &str, list: usize, reasons: Option<&PassReasons>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
    st.load_all(list)?;
    let rules = st.rules.clone();
    let items = Value::list(st.values(list));
    let name = rules.lists.get(list).map(|l| l.name.clone()).unwrap_or_default();
    let answer = rules.scripts.call(function, &[ScriptArgument::Items(name.clone(), items.clone()), st.scene_argument()])?;
    let answer = accepted(answer, function, &name, items.elements(), st)?;
    let failed = |message: String| EvalFault::failed(message).at(rules.scripts.place(function));
    let by = ChangeSource { giver: ValueOrigin::Function(function), hook: None };
    for (path, value) in answer.set {
        declared(&path, st).map_err(failed)?;
        by.checks_path(&path, &value, st);
        by.sets(&path, value, st, |st, names, value| st.put(names, value));
    }
    for warning in answer.warnings {
        st.warn_for(by.giver, warning);
    }
    match answer.items {
        Some(answered) => replace(list, answered.into_iter().map(|v| (None, v)).collect(), items.elements(), by, reasons, st),
        None => Ok(()),
    }
}

/// What a function answered. A misspelt name is told before it is asked whether it may be written.
fn accepted(answer: Value, function: &str, list: &str, before: &[Value], st: &BuildState) -> Result<FunctionAnswer, EvalFault> {
    let answer = FunctionAnswer::read(answer).and_then(|answer| {
        let rights = st.rules.scripts.rights(function);
        let may_write = |path: &str| rights.is_none_or(|rights| rights.write(&format!("scene.{path}")).is_ok());
        answer.set.iter().try_for_each(|(path, _)| no_slip(path, may_write(path), ValueOrigin::Function(function), st))?;
        Ok(answer)
    });
    let answer = answer.map_err(|message| EvalFault::failed(message).at(st.rules.scripts.place(function)))?;
    within_rights(answer, function, list, before, st)
}

/// The answer, unless it changes what the pack does not declare that its scripts write.
fn within_rights(
    answer: FunctionAnswer,
    function: &str,
    list: &str,
    before: &[Value],
    st: &BuildState,
) -> Result<FunctionAnswer, EvalFault> {
    let Some(rights) = st.rules.scripts.rights(function) else { return Ok(answer) };
    let refused = |message: String| {
        let place = st.rules.scripts.place(function);
        let shown = place.as_ref().map(|place| format!(" ({}, line {})", place.file, place.line)).unwrap_or_default();
        EvalFault::failed(format!("`{function}`: {message}{shown}")).at(place)
    };
    for (path, _) in &answer.set {
        rights.write(&format!("scene.{path}")).map_err(refused)?;
    }
    let Some(items) = answer.items.as_deref().filter(|_| !rights.writes_all(list)) else { return Ok(answer) };
    if items.len() != before.len() {
        // items that are added or removed are changes of the list
        rights.write(list).map_err(refused)?;
    }
    for (new, old) in items.iter().zip(before) {
        if is_untouched(new, old) {
            continue;
        }
        let (Some(new), Some(old)) = (new.as_map(), old.as_map()) else {
            rights.write(list).map_err(refused)?;
            continue;
        };
        for key in differing(new, old) {
            rights.write(&format!("{list}.{key}")).map_err(refused)?;
        }
    }
    Ok(answer)
}

/// Refuses a path that is a declared one with a slip. Of one that may be written in a table that is open to other names, it warns:
/// it may be such a name.
fn no_slip(path: &str, may_write: bool, giver: ValueOrigin<'_>, st: &BuildState) -> Result<(), String> {
    let names = &st.rules.names;
    match names.near_sibling(path, &WordSearch::default()) {
        Some(near) if may_write && names.knows_path(path) => st.misnamed(giver, path, near),
        Some(near) => return Err(format!("there is no scene path `{path}`; did you mean `{near}`?")),
        None => {}
    }
    Ok(())
}

fn declared(path: &str, st: &BuildState) -> Result<(), String> {
    if st.rules.names.knows_path(path) {
        return Ok(());
    }
    let help = crate::diag::suggest::help(path, st.rules.names.path_names()).map(|h| format!("; {h}")).unwrap_or_default();
    Err(format!("there is no scene path `{path}`{help}"))
}

/// Whether a hook before a build may set a path: it must be an input of the scene and not a list that the build makes.
fn input(path: &str, giver: ValueOrigin<'_>, st: &BuildState) -> Result<(), String> {
    let first = path.split('.').next().unwrap_or(path);
    let own = st.rules.lists.iter().any(|l| l.from.is_none() && (l.name.as_ref() == first || l.name.as_ref() == path));
    if own && !st.rules.names.knows_path(path) {
        return Err(format!("`{path}` is a list that the build makes, no input of the scene; a pass can change it"));
    }
    no_slip(path, true, giver, st)?;
    declared(path, st)
}

/// Runs the rows of table `hook` for an event, in the order of the pack.
fn of_pack(
    event: &str,
    failing: FailurePolicy,
    on: HookTarget<'_>,
    held: &mut HeldBlocks,
    st: &mut BuildState,
) -> Result<(), ProgramInterrupt> {
    let rows = st.rules.table("hook");
    for row in rows.as_list().unwrap_or(&[]) {
        let word = |key: &str| row.get(key).map(Value::shown).unwrap_or_default();
        if word("event").as_ref() != event || !due(row, on.list, st)? {
            continue;
        }
        let own = match word("on_error").as_ref() {
            "keep" => FailurePolicy::Keep,
            "error" => FailurePolicy::Error,
            _ => failing,
        };
        let rules = st.rules.clone();
        let name = rules.lists.get(on.list).map(|l| l.name.clone()).unwrap_or_default();
        let (hook, function) = (word("name"), word("run"));
        let by = ChangeSource { giver: ValueOrigin::Function(&function), hook: Some(&hook) };
        let done = with_view(by, event, on, held, st, |view, st| {
            let blocks = view.given();
            let answer = rules
                .scripts
                .call(&function, &[ScriptArgument::Items(name.clone(), blocks.clone()), ScriptArgument::Scene(view.whole())])?;
            let answer = accepted(answer, &function, &name, blocks.elements(), st)?;
            answered(view, answer).map_err(|message| EvalFault::failed(message).at(rules.scripts.place(&function)))
        });
        match done {
            Err(ProgramInterrupt::Host(fault)) if own != FailurePolicy::Error => st.warn_failed(fault.message.clone(), &fault),
            other => other?,
        }
        if st.refuses() {
            return Err(ProgramInterrupt::Warned);
        }
    }
    Ok(())
}

fn due(row: &Value, list: usize, st: &BuildState) -> Result<bool, ProgramInterrupt> {
    Ok(pass_env(st, &PassMemo::over(list)).applies(row.get("when"))?)
}

/// Applies the answer of a function to the view that it was given.
fn answered(view: &mut HookView<'_>, answer: FunctionAnswer) -> Result<(), String> {
    answer.warnings.into_iter().for_each(|w| view.warn(w));
    for (path, value) in answer.set {
        view.set(&path, value)?;
    }
    answer.items.map_or(Ok(()), |items| view.set_blocks(items))
}

fn of_host(hook: &Hook, on: HookTarget<'_>, held: &mut HeldBlocks, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
    let by = ChangeSource { giver: ValueOrigin::Host(&hook.id), hook: Some(&hook.id) };
    with_view(by, &hook.event, on, held, st, |view, _| (hook.run)(view).map_err(EvalFault::failed))
}

/// The list of blocks as the last hook of an event was given it, if it has left them as they were.
type HeldBlocks = Option<Value>;

/// Calls a hook with a view of the build, and applies its changes.
fn with_view(
    by: ChangeSource<'_>,
    event: &str,
    on: HookTarget<'_>,
    held: &mut HeldBlocks,
    st: &mut BuildState,
    call: impl FnOnce(&mut HookView<'_>, &BuildState) -> Result<(), EvalFault>,
) -> Result<(), ProgramInterrupt> {
    let id = by.hook.unwrap_or(by.giver.name());
    st.step(|| BuildStep::Hook(id.to_owned()));
    let given: HeldBlocks = event.starts_with("after_").then(|| held.take().unwrap_or_else(|| Value::list(st.values(on.list))));
    let (result, changes) = {
        let settable = |path: &str| input(path, by.giver, st);
        let ScriptArgument::Scene(scene) = st.scene_argument() else { return Ok(()) };
        let mut view = HookView::new(scene, &settable, given.clone(), st.trace.is_some());
        let result = call(&mut view, st);
        (result, view.into_changes())
    };
    for warning in changes.warnings {
        st.warn_for(by.giver, warning);
    }
    if st.refuses() {
        return Err(ProgramInterrupt::Warned);
    }
    result.map_err(|fault| ProgramInterrupt::Host(EvalFault { message: format!("hook `{id}`: {}", fault.message), ..fault }))?;
    for (name, value) in changes.stats {
        st.instrument(&name, || value);
    }
    for (path, value) in changes.sets {
        by.checks_path(&path, &value, st);
        by.sets(&path, value, st, |st, _, value| st.change(&path, value));
    }
    match changes.blocks {
        Some(blocks) => replace(on.list, blocks, given.as_ref().map(Value::elements).unwrap_or_default(), by, on.reasons, st),
        None => {
            *held = given;
            Ok(())
        }
    }
}
