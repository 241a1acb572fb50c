//! Functions of the pack's scripts as values, conditions, sort keys and steps, and what they are given.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, short};
use crate::model::Value;
use crate::model::item::core;
use crate::text::script::{Argument, Script, ScriptPlace};
use crate::text::written::ToText as _;

use super::State;
use super::eval::{CurrentItem, Env, Fault};
use super::expr::{Expr, ScriptCall};
use super::types::Type;

impl ScriptCall {
    /// What the function gives.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, Fault> {
        let args = match &self.args {
            Some(args) => args.iter().map(|arg| Ok(Argument::Value(env.eval(arg)?))).collect::<Result<Vec<_>, Fault>>()?,
            None => vec![env.item(), env.st.scene_argument()],
        };
        let value = env.st.rules.scripts.call(&self.function, &args).map_err(|fault| env.of_item(fault))?;
        if let Some((name, kind)) = &self.sets {
            env.st.check_given(Giver::Function(&self.function), name, *kind, &value);
        }
        Ok(value)
    }

    /// Whether it holds, as a condition.
    pub fn holds(&self, env: &Env<'_>) -> Result<bool, Fault> {
        match self.eval(env)? {
            Value::Bool(held) => Ok(held),
            other => {
                let message = format!("`{}`: a condition must give true or false, not `{}`", self.function, other.shown());
                Err(Fault::failed(message).at(env.st.rules.scripts.place(&self.function)))
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
    pub fn item(&self) -> Argument {
        let list = match self.cur {
            CurrentItem::Item(item, _) => self.st.rules.lists.get(usize::from(item.list)).map(|list| list.name.clone()),
            _ => None,
        };
        Argument::Item(list.unwrap_or_default(), self.whole())
    }

    /// A Rhai condition over the item and the scene.
    pub fn script(&self, script: &Script) -> Result<bool, Fault> {
        let scope = [("item", self.item()), ("scene", Argument::Scene(self.st.scene.clone()))];
        script.holds(&scope).map_err(|error| self.of_item(Fault::script("", &error)))
    }

    /// The failure of a script that was given the current item, with the name of that item: the same script may hold for
    /// the others.
    fn of_item(&self, fault: Fault) -> Fault {
        let CurrentItem::Item(item, place) = self.cur else { return fault };
        let list = self.st.rules.lists.get(usize::from(item.list)).map_or("item", |list| &list.name);
        let id = item.str(core::ID).filter(|id| !id.is_empty()).map(short::word);
        let what = id.map_or_else(|| format!("number {place}"), |id| format!("`{id}`"));
        Fault { message: format!("{}; given {what} of `{list}`", fault.message), ..fault }
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

impl State {
    /// [`State::whole`] as scripts are given it; it is made again only when something was set.
    #[must_use]
    pub fn scene_argument(&self) -> Argument {
        let mut seen = self.scripted.borrow_mut();
        let set = self.set.borrow();
        // what is held here is never changed in place, because this is one more reference to it
        if let Some(seen) = seen.as_ref().filter(|seen| is_same_table(&seen.set, &set) && is_same_table(&seen.scene, &self.scene)) {
            return Argument::Scene(seen.whole.clone());
        }
        let whole = set.clone().over(self.scene.clone()).over(self.rules.values.clone());
        *seen = Some(SceneView { set: set.clone(), scene: self.scene.clone(), whole: whole.clone() });
        Argument::Scene(whole)
    }
}

/// Who gives a value to a build.
#[derive(Debug, Clone, Copy)]
pub enum Giver<'a> {
    /// A function of a script.
    Function(&'a str),
    /// A hook of the embedding program, by its id.
    Host(&'a str),
}

impl<'a> Giver<'a> {
    /// The function, or the id of the hook.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Giver::Function(name) | Giver::Host(name) => name,
        }
    }

    /// What it is, in front of its name.
    fn kind(self) -> &'static str {
        if matches!(self, Giver::Host(_)) { "the hook " } else { "" }
    }
}

impl State {
    /// Warns of a value that is not of the declared type of the field or path that it is for, once in a build for each giver
    /// and name. It is used as it is.
    pub fn check_given(&self, giver: Giver<'_>, name: &str, kind: Type, value: &Value) {
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
    pub fn misnamed(&self, giver: Giver<'_>, field: &str, near: &str) {
        if !self.misfits.borrow_mut().insert((giver.name().into(), field.into())) {
            return;
        }
        let message = format!("{}`{}` sets `{field}`, which no rule reads", giver.kind(), giver.name());
        let warning = self.warning(Code::NameNearly, message, Some(format!("did you mean `{near}`?")), None);
        self.warn_in_script(warning, self.place_of(giver).as_ref());
    }

    /// Raises a warning of a function or hook.
    pub fn warn_for(&self, giver: Giver<'_>, message: String) {
        self.warn_in_script(self.warning(Code::ScriptWarned, message, None, None), self.place_of(giver).as_ref());
    }

    /// Warns of a failure that a pass, a hook or a condition goes on after.
    pub fn warn_failed(&self, message: String, fault: &Fault) {
        self.warn_in_script(self.warning(Code::FilterFailed, message, None, None), fault.place.as_deref());
    }

    fn warn_in_script(&self, mut warning: Diagnostic, place: Option<&ScriptPlace>) {
        warning.script = place.map(|place| (place.file.clone(), place.line, place.column));
        self.warnings.borrow_mut().push(warning);
    }

    fn place_of(&self, giver: Giver<'_>) -> Option<ScriptPlace> {
        match giver {
            Giver::Function(function) => self.rules.scripts.place(function),
            Giver::Host(_) => None,
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
fn wanted(kind: Type) -> &'static str {
    match kind {
        Type::Text => "give a text: `x.to_string()` makes one of any value",
        Type::Slot => "give the name of a slot or region",
        Type::Group => "give the name of a budget group",
        Type::Number => "give a number: `parse_float(x)` makes one of a text",
        Type::Integer => "give a whole number: `parse_int(x)` makes one of a text, `x.to_int()` one of another number",
        Type::Boolean => "give `true` or `false`",
        Type::Table => "give a table: `#{ name: value }`",
        Type::Time => "give a time such as \"2026-01-31T20:15:00Z\", or milliseconds since 1970",
        Type::Language => "give a language tag such as \"de\" or \"pt-BR\"",
        Type::List | Type::Any | Type::Condition => "give a value of the declared type",
    }
}

/// Whether a function of a script finds a key in a text.
///
/// # Errors
/// The function fails, or gives neither `true` nor `false`.
pub fn found_by(function: &str, key: &Arc<str>, text: &Arc<str>, env: &Env<'_>) -> Result<bool, Fault> {
    let given = [key, text].map(|text| Argument::Value(Value::Text(text.clone())));
    match env.st.rules.scripts.call(function, &given)? {
        Value::Bool(found) => Ok(found),
        other => {
            let message = format!("`{function}`: whether a key is found is true or false, not `{}`", other.shown());
            Err(Fault::failed(message).at(env.st.rules.scripts.place(function)))
        }
    }
}
