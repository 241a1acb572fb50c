//! The road's end: a plan in the shape of a provider's payload.
//!
//! A dialect is a program of the pack over list `messages`, and a form `<dialect>/payload` that says what the JSON
//! holds. This room fills the list, runs the program and evaluates the form; it knows no provider.

use crate::build::{self, BuildError};
use crate::model::{Map, Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::program::Machine;
use crate::terms::select::pass_env;
use crate::terms::{Cur, Memo};

/// The payload of a plan in a dialect (`openai` …).
///
/// # Errors
/// The pack has no such dialect, or one of its passes fails.
pub fn emit(rules: &Ruleset, plan: &Plan, dialect: &str) -> Result<serde_json::Value, BuildError> {
    let programs = rules.programs();
    let form_name = format!("{dialect}/payload");
    let form = programs.rules.forms.iter().position(|f| f.name.as_ref() == form_name);
    let (Some(program), Some(form)) = (programs.find(dialect), form) else {
        let known = dialects(rules);
        let help = crate::diag::suggest::help(dialect, known.iter().map(String::as_str)).map(|h| format!("; {h}")).unwrap_or_default();
        return Err(BuildError::unknown_dialect(format!("pack `{}` has no dialect `{dialect}`{help}", rules.pack().name)));
    };
    let scene = Scene { data: plan.scene.clone(), ..Scene::default() };
    let mut st = build::state(rules, &scene);
    *st.set.borrow_mut() = plan.set.clone();
    let messages = plan.blocks.iter().filter(|b| b.enabled()).map(|b| message(&b.fields)).collect::<Vec<_>>();
    let list = programs.list.get(program).map_or(0, |p| p.list);
    let items = messages.iter().map(|m| crate::model::Item::from_value(m, &st.rules.fields)).collect();
    st.restore(list, items);
    let machine = Machine::new(programs);
    if let Err((halt, pass)) = machine.run(program, &mut st) {
        return Err(BuildError::of(halt, Some(&pass), &st));
    }
    let memo = Memo::default();
    let env = pass_env(&st, &memo);
    let nothing = Value::map(Map::default());
    let payload = programs.rules.form(form, &env.inner(Cur::Value(&nothing, 0)));
    payload.map(|v| v.to_json()).map_err(|f| BuildError::of(f.into(), Some(dialect), &st))
}

/// The dialects of a pack: programs that have a payload form.
#[must_use]
pub fn dialects(rules: &Ruleset) -> Vec<String> {
    let forms = rules.programs().rules.forms.iter().filter_map(|f| f.name.strip_suffix("/payload"));
    forms.filter(|d| rules.programs().find(d).is_some()).map(str::to_owned).collect()
}

/// A block as a message of a dialect: what it says, without what the prompt's passes kept about it.
fn message(fields: &Value) -> Value {
    let keep = ["id", "role", "name", "text", "parts", "tool_calls", "tool_call_id", "meta"];
    let map = keep.iter().filter_map(|k| Some((std::sync::Arc::from(*k), fields.get(k)?.clone())));
    Value::map(map.collect())
}
