//! Functions of the pack's scripts as values, conditions, sort keys and steps, and what they are given.

use std::sync::Arc;

use crate::model::Value;
use crate::text::script::{Argument, Script};
use crate::text::written::Shown as _;

use super::State;
use super::eval::{Current, Env, Fault};
use super::expr::{Expr, Scripted};

impl Scripted {
    /// What the function gives.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, Fault> {
        let args = match &self.args {
            Some(args) => args.iter().map(|arg| Ok(Argument::Value(env.eval(arg)?))).collect::<Result<Vec<_>, Fault>>()?,
            None => vec![env.item(), env.st.scene_argument()],
        };
        env.st.rules.scripts.call(&self.function, &args)
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
            Current::Item(item, _) => self.st.rules.lists.get(usize::from(item.list)).map(|list| list.name.clone()),
            _ => None,
        };
        Argument::Item(list.unwrap_or_default(), self.whole())
    }

    /// A Rhai condition over the item and the scene.
    pub fn script(&self, script: &Script) -> Result<bool, Fault> {
        let scope = [("item", self.item()), ("scene", Argument::Scene(self.st.scene.clone()))];
        script.holds(&scope).map_err(|error| Fault::script("", &error))
    }
}

/// The scene as scripts see it, with what it was made of.
#[derive(Debug, Clone)]
pub(super) struct Seen {
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
        *seen = Some(Seen { set: set.clone(), scene: self.scene.clone(), whole: whole.clone() });
        Argument::Scene(whole)
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
