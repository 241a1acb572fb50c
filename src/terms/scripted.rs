//! Functions of the pack's scripts as values, conditions, sort keys and steps, and what they are given.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Help, short};
use crate::model::Value;
use crate::model::item::core;
use crate::text::script::{Script, ScriptArgument, ScriptPlace};
use crate::text::written::ToText as _;

use super::BuildState;
use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::{Expr, ScriptCall};
use super::types::ValueType;

impl ScriptCall {
    /// What the function gives.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let args = match &self.args {
            Some(args) => args.iter().map(|arg| Ok(ScriptArgument::Value(env.eval(arg)?))).collect::<Result<Vec<_>, EvalFault>>()?,
            None => vec![env.item(), env.st.scene_argument()],
        };
        let value = env.st.rules.scripts.call(&self.function, &args).map_err(|fault| env.of_item(fault))?;
        if let Some((name, kind)) = &self.sets {
            env.st.check_given(ValueOrigin::Function(&self.function), name, *kind, &value);
        }
        Ok(value)
    }

    /// Whether it holds, as a condition.
    pub fn holds(&self, env: &Env<'_>) -> Result<bool, EvalFault> {
        match self.eval(env)? {
            Value::Bool(held) => Ok(held),
            other => {
                let message = format!("`{}`: a condition must give true or false, not `{}`", self.function, other.shown());
                Err(EvalFault::failed(message).at(env.st.rules.scripts.place(&self.function)))
            }
        }
    }

    /// Whether it depends on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        // without arguments it is given the current item
        self.args.as_ref().map_or(depth == 0, |args| args.iter().any(|arg| arg.refers(depth)))
    }

    /// Whether it must be evaluated each time and in order.
    #[must_use]
    pub fn draws(&self) -> bool {
        self.args.iter().flatten().any(Expr::draws)
    }
}

impl Env<'_> {
    /// The current item as a function is given it.
    #[must_use]
    pub fn item(&self) -> ScriptArgument {
        let list = match self.cur {
            CurrentItem::Item(item, _) => self.st.rules.lists.get(usize::from(item.list)).map(|list| list.name.clone()),
            _ => None,
        };
        ScriptArgument::Item(list.unwrap_or_default(), self.whole())
    }

    /// A Rhai condition over the item and the scene.
    pub fn script(&self, script: &Script) -> Result<bool, EvalFault> {
        let scope = [("item", self.item()), ("scene", ScriptArgument::Scene(self.st.scene.clone()))];
        script.holds(&scope).map_err(|error| self.of_item(EvalFault::script("", &error)))
    }

    /// The failure of a script that was given the current item, with the name of that item: the same script may hold for
    /// the others.
    fn of_item(&self, fault: EvalFault) -> EvalFault {
        let CurrentItem::Item(item, place) = self.cur else { return fault };
        let list = self.st.rules.lists.get(usize::from(item.list)).map_or("item", |list| &list.name);
        let id = item.str(core::ID).filter(|id| !id.is_empty()).map(short::word);
        let what = id.map_or_else(|| format!("number {place}"), |id| format!("`{id}`"));
        EvalFault { message: format!("{}; given {what} of `{list}`", fault.message), ..fault }
    }
}

/// The scene as scripts see it, with what it was made of.
#[derive(Debug, Clone)]
pub(super) struct SceneView {
    set: Value,
    scene: Value,
    whole: Value,
}

fn is_same_table(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Map(a), Value::Map(b)) if Arc::ptr_eq(a, b))
}

impl BuildState {
    /// [`BuildState::whole`] as scripts are given it; it is made again only when something was set.
    #[must_use]
    pub fn scene_argument(&self) -> ScriptArgument {
        let mut seen = self.scripted.borrow_mut();
        let set = self.set.borrow();
        // what is held here is never changed in place, because this is one more reference to it
        if let Some(seen) = seen.as_ref().filter(|seen| is_same_table(&seen.set, &set) && is_same_table(&seen.scene, &self.scene)) {
            return ScriptArgument::Scene(seen.whole.clone());
        }
        let whole = set.clone().over(self.scene.clone()).over(self.rules.values.clone());
        *seen = Some(SceneView { set: set.clone(), scene: self.scene.clone(), whole: whole.clone() });
        ScriptArgument::Scene(whole)
    }
}

/// Who gives a value to a build.
#[derive(Debug, Clone, Copy)]
pub enum ValueOrigin<'a> {
    /// A function of a script.
    Function(&'a str),
    /// A hook of the embedding program, by its id.
    Host(&'a str),
}

impl<'a> ValueOrigin<'a> {
    /// The function, or the id of the hook.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            ValueOrigin::Function(name) | ValueOrigin::Host(name) => name,
        }
    }

    /// What it is, in front of its name.
    fn kind(self) -> &'static str {
        if matches!(self, ValueOrigin::Host(_)) { "the hook " } else { "" }
    }
}

impl BuildState {
    /// Warns of a value that is not of the declared type of the field or path that it is for, once in a build for each giver
    /// and name. It is used as it is.
    pub fn check_given(&self, giver: ValueOrigin<'_>, name: &str, kind: ValueType, value: &Value) {
        if value.is_null() || kind.holds(value) {
            return;
        }
        let by = giver.name();
        let name = name.trim_start_matches('$');
        if !self.misfits.borrow_mut().insert((by.into(), name.into())) {
            return;
        }
        let who = giver.kind();
        let message = format!("{who}`{by}` gives {} for `{name}`, which is declared as `{}`", described(value), kind.word());
        let warning = self.warning(Code::ScriptType, message, Some(wanted(kind).into()), None);
        self.warn_in_script(warning, self.place_of(giver).as_ref());
    }

    /// Warns of a field of an item that is a declared one with a slip, once in a build for each giver and name.
    pub fn misnamed(&self, giver: ValueOrigin<'_>, field: &str, near: &str) {
        if !self.misfits.borrow_mut().insert((giver.name().into(), field.into())) {
            return;
        }
        let message = format!("{}`{}` sets `{field}`, which no rule reads", giver.kind(), giver.name());
        let warning = self.warning(Code::NameNearly, message, Some(Help::possible(field, near)), None);
        self.warn_in_script(warning, self.place_of(giver).as_ref());
    }

    /// Raises a warning of a function or hook.
    pub fn warn_for(&self, giver: ValueOrigin<'_>, message: String) {
        self.warn_in_script(self.warning(Code::ScriptWarned, message, None, None), self.place_of(giver).as_ref());
    }

    /// Warns of a failure that a pass, a hook or a condition goes on after.
    pub fn warn_failed(&self, message: String, fault: &EvalFault) {
        self.warn_in_script(self.warning(Code::FilterFailed, message, None, None), fault.place.as_deref());
    }

    fn warn_in_script(&self, mut warning: Diagnostic, place: Option<&ScriptPlace>) {
        warning.script = place.map(|place| (place.file.clone(), place.line, place.column));
        self.warnings.borrow_mut().push(warning);
    }

    fn place_of(&self, giver: ValueOrigin<'_>) -> Option<ScriptPlace> {
        match giver {
            ValueOrigin::Function(function) => self.rules.scripts.place(function),
            ValueOrigin::Host(_) => None,
        }
    }
}

/// What a value is, in words.
fn described(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "a text",
        Value::Int(_) | Value::Num(_) => "a number",
        Value::Bool(_) => "a truth value",
        Value::List(_) => "a list",
        Value::Map(_) => "a table",
        _ => "another value",
    }
}

/// What a function is to give for a field or path of this type.
fn wanted(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Text => "give a text: `x.to_string()` makes one of any value",
        ValueType::Slot => "give the name of a slot or region",
        ValueType::Group => "give the name of a budget group",
        ValueType::Number => "give a number: `parse_float(x)` makes one of a text",
        ValueType::Integer => "give a whole number: `parse_int(x)` makes one of a text, `x.to_int()` one of another number",
        ValueType::Boolean => "give `true` or `false`",
        ValueType::Table => "give a table: `#{ name: value }`",
        ValueType::Time => "give a time such as \"2026-01-31T20:15:00Z\", or milliseconds since 1970",
        ValueType::Language => "give a language tag such as \"de\" or \"pt-BR\"",
        ValueType::List | ValueType::Any | ValueType::Condition => "give a value of the declared type",
    }
}

/// Whether a function of a script finds a key in a text.
///
/// # Errors
/// The function fails, or gives neither `true` nor `false`.
pub fn found_by(function: &str, key: &Arc<str>, text: &Arc<str>, env: &Env<'_>) -> Result<bool, EvalFault> {
    let given = [key, text].map(|text| ScriptArgument::Value(Value::Text(text.clone())));
    match env.st.rules.scripts.call(function, &given)? {
        Value::Bool(found) => Ok(found),
        other => {
            let message = format!("`{function}`: whether a key is found is true or false, not `{}`", other.shown());
            Err(EvalFault::failed(message).at(env.st.rules.scripts.place(function)))
        }
    }
}
