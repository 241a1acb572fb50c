//! Making a provider's payload from a plan.
//!
//! A dialect is a program of the pack over the list `messages`, and a form `<dialect>/payload` that describes the JSON.
//! The engine fills the list, runs the program and evaluates the form; it knows no provider.

use crate::diag::{Diagnostic, limits};
use crate::lint;
use crate::model::plan::{PlanTrace, UnchangedPrefix};
use crate::model::{Item, Map, Plan, Scene, SerializedSize, SizeExcess, Value, WorkLimits};
use crate::pack::Ruleset;
use crate::program::Machine;
use crate::terms::select::pass_env;
use crate::terms::usage::read_size;
use crate::terms::{BuildState, CurrentItem, PassMemo};
use crate::verbs::ProgramInterrupt;

use super::build;
use super::error::{BuildError, place_warnings};
use super::run::watched;
use super::state::{door, state};
use super::trace::trace;

/// The program that checks finished messages before they are sent.
const LINT: &str = "lint";

/// A plan in a dialect: the result of [`emit`].
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct EmittedPlan {
    /// The JSON body to send to the provider.
    pub payload: serde_json::Value,
    /// Where to send it: the value of the form `<dialect>/request` (`url`, `headers`), `null` if the dialect has none.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub request: serde_json::Value,
    /// Warnings of the dialect and of the pack's program `lint`. The warnings of the build are in the plan.
    pub warnings: Vec<Diagnostic>,
    /// What is the same as in an earlier plan, copied from the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<UnchangedPrefix>,
    /// What was recorded during the dialect's program; only present if the plan's scene asked for a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PlanTrace>,
}

/// Makes the payload of a plan in a dialect of the pack (`openai` …), with the seed, host functions, hooks and
/// strictness of the plan's build.
///
/// # Errors
/// The pack has no such dialect, a message nests deeper than [`limits::NESTING`] levels, a pass fails, or the scene is strict
/// and a warning was raised. The stage is `dialect/pass`, or `dialect/payload` for the form.
pub fn emit(rules: &Ruleset, plan: &Plan, dialect: &str) -> Result<EmittedPlan, BuildError> {
    let programs = rules.programs();
    let form_name = format!("{dialect}/payload");
    let form = programs.rules.forms.iter().position(|f| f.name.as_ref() == form_name);
    let (Some(program), Some(form)) = (programs.find(dialect), form) else {
        let known = dialects(rules);
        let near = crate::diag::suggest::help(dialect, known.iter().map(String::as_str));
        let help = format!("; {}", near.unwrap_or_else(|| format!("it has {}", known.join(", ")).into()));
        return Err(BuildError::unknown_dialect(format!("pack `{}` has no dialect `{dialect}`{help}", rules.pack().name)));
    };
    let scene = Scene { data: plan.scene.clone(), ..plan.given.clone() };
    let _door = door(rules, &scene);
    shallow(plan)?;
    let mut st = state(rules, &scene);
    *st.set.borrow_mut() = plan.set.clone();
    st.change("dialect", Value::text(dialect));
    let list = programs.list.get(program).map_or(0, |p| p.list);
    let items: Vec<Item> = plan.blocks.iter().filter(|b| b.enabled()).map(|b| message(&b.fields, list, &st)).collect();
    let mut warnings = lint(rules, plan, &scene, dialect, items.clone())?;
    st.restore(list, items);
    let stages = watched(rules, program, &scene, &mut st).map_err(|(halt, pass)| BuildError::of(halt, Some(&pass), &st))?;
    let failed = |halt: ProgramInterrupt| BuildError::of(halt, Some(&form_name), &st);
    let payload = formed(form, list, &st).map_err(failed)?;
    st.warn_of(lint::payload(rules.pack(), &programs.rules, plan, dialect, &payload));
    if st.refuses() {
        return Err(failed(ProgramInterrupt::Warned));
    }
    let request = format!("{dialect}/request");
    let request = programs.rules.forms.iter().position(|f| f.name.as_ref() == request);
    let request = request.map_or(Ok(serde_json::Value::Null), |form| formed(form, list, &st)).map_err(failed)?;
    BuildError::if_spent(None)?;
    let trace = trace(&st, None, stages);
    warnings.extend(st.warnings.raised.take());
    place_warnings(rules, &mut warnings);
    Ok(EmittedPlan { payload, request, warnings, unchanged: plan.unchanged.clone(), trace })
}

/// Checks that every block can be written as JSON: hooks and callers may have added values that nest too deeply.
fn shallow(plan: &Plan) -> Result<(), BuildError> {
    for (n, block) in plan.blocks.iter().filter(|b| b.enabled()).enumerate() {
        let most = SerializedSize { values: usize::try_from(WorkLimits::default().steps).unwrap_or(usize::MAX), bytes: usize::MAX };
        if block.fields.written(limits::NESTING, most) == Err(SizeExcess::Depth) {
            return Err(BuildError::bound(format!("message {n} nests deeper than {} levels", limits::NESTING)));
        }
        read_size(&block.fields).map_err(BuildError::fault)?;
    }
    Ok(())
}

/// The warnings of the pack's program `lint`, if it has one. It runs over the messages that the dialect is given; its
/// changes are discarded.
fn lint(rules: &Ruleset, plan: &Plan, scene: &Scene, dialect: &str, items: Vec<Item>) -> Result<Vec<Diagnostic>, BuildError> {
    let programs = rules.programs();
    let Some(program) = programs.find(LINT) else { return Ok(Vec::new()) };
    let mut st = state(rules, scene);
    *st.set.borrow_mut() = plan.set.clone();
    st.change("dialect", Value::text(dialect));
    st.restore(programs.list.get(program).map_or(0, |p| p.list), items);
    match Machine::new(programs).run(program, &mut st) {
        Ok(()) | Err((ProgramInterrupt::Stop, _)) => Ok(st.warnings.raised.take()),
        Err((halt, pass)) => Err(BuildError::of(halt, Some(&pass), &st)),
    }
}

/// The value of a form of a dialect.
fn formed(form: usize, list: usize, st: &BuildState) -> Result<serde_json::Value, ProgramInterrupt> {
    let memo = PassMemo::over(list);
    let env = pass_env(st, &memo);
    let nothing = Value::map(Map::default());
    let value = st.rules.form(form, &env.inner(CurrentItem::Value(&nothing, 0)))?;
    if st.refuses() {
        return Err(ProgramInterrupt::Warned);
    }
    read_size(&value)?;
    Ok(value.to_json())
}

/// The names of the dialects of a pack: programs that have a payload form.
#[must_use]
pub fn dialects(rules: &Ruleset) -> Vec<String> {
    let forms = rules.programs().rules.forms.iter().filter_map(|f| f.name.strip_suffix("/payload"));
    forms.filter(|d| rules.programs().find(d).is_some()).map(str::to_owned).collect()
}

/// A block as a message of a dialect: the fields that the pack declares for the items of the dialect's list.
fn message(fields: &Value, list: usize, st: &BuildState) -> Item {
    let types = st.rules.lists.get(list).map(|l| l.rows.as_slice());
    let own = fields.as_map().into_iter().flat_map(|m| m.iter());
    let declared = own.filter(|(name, _)| st.rules.names.knows_field(types, name));
    Item::from_value(&Value::map(declared.map(|(k, v)| (k.clone(), v.clone())).collect()), &st.rules.fields)
}

/// A prompt that is ready to be sent: the result of [`prompt`].
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Prompt {
    /// The dialect that the payload is written in.
    pub dialect: String,
    /// The JSON body to send to the provider.
    pub payload: serde_json::Value,
    /// Where to send it: `url` and `headers`; `null` if the dialect does not say.
    pub request: serde_json::Value,
    /// What the build changed in the state of the chat; merge it over the state once the prompt is used.
    pub patch: Value,
    /// The warnings of the build, then those of the dialect.
    pub warnings: Vec<Diagnostic>,
    /// What was recorded during the build; only present if the scene asks for a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PlanTrace>,
}

/// Builds a scene and makes its payload in the dialect that the scene names, or else the pack: [`build`] and [`emit`] in
/// one call.
///
/// # Errors
/// Those of [`build`] and [`emit`].
pub fn prompt(rules: &Ruleset, scene: &Scene) -> Result<Prompt, BuildError> {
    prompt_of(rules, scene, || build(rules, scene))
}

/// The same with the plan that `build` gives.
pub(super) fn prompt_of(rules: &Ruleset, scene: &Scene, build: impl FnOnce() -> Result<Plan, BuildError>) -> Result<Prompt, BuildError> {
    let _door = door(rules, scene);
    let dialect = dialect_of(rules, scene);
    let plan = build()?;
    let emitted = emit(rules, &plan, &dialect)?;
    let warnings = plan.warnings.into_iter().chain(emitted.warnings).collect();
    let (payload, request) = (emitted.payload, emitted.request);
    Ok(Prompt { dialect, payload, request, patch: plan.patch, warnings, trace: plan.trace })
}

/// The dialect that a scene names; else the default that the pack declares for the path `dialect`, or its first dialect.
pub fn dialect_of(rules: &Ruleset, scene: &Scene) -> String {
    let named = |value: Option<&Value>| value.map(Value::to_text).filter(|name| !name.is_empty()).map(|name| name.to_string());
    named(Some(&scene.get("dialect")))
        .or_else(|| named(rules.programs().rules.values.at("dialect")))
        .or_else(|| dialects(rules).into_iter().next())
        .unwrap_or_default()
}
