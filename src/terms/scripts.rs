//! Functions of the pack's scripts as values, conditions, sort keys and steps, and what they are given.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::short;
use crate::model::Value;
use crate::model::item::core;
use crate::text::script::{Script, ScriptArgument, ScriptPlace, ScriptRights};
use crate::text::written::ToText as _;

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::{Expr, ScriptCall};
use super::warnings::ValueOrigin;

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

/// The compiled scripts of a pack.
#[derive(Debug, Default)]
pub struct ScriptLibrary {
    /// The scripts by name without folder and extension; `None` for one that does not compile.
    scripts: FxHashMap<Arc<str>, Option<Script>>,
}

/// `file.rhai::function` or `file::function`; a bare function name refers to `main`.
pub fn parts(function: &str) -> (&str, &str) {
    // a filter asks this for each item, and to look for two letters takes longer
    let named = function.rsplit_once(':').and_then(|(file, name)| Some((file.strip_suffix(':')?, name)));
    let (file, name) = named.unwrap_or(("main", function));
    let file = file.strip_prefix("scripts/").unwrap_or(file);
    (file.strip_suffix(".rhai").unwrap_or(file), name)
}

impl ScriptLibrary {
    /// Calls a function.
    ///
    /// # Errors
    /// The function is unknown, a limit is reached, or the script throws an error, which names its file and line.
    pub fn call(&self, function: &str, args: &[ScriptArgument]) -> Result<Value, EvalFault> {
        let (file, name) = parts(function);
        let Some(Some(script)) = self.scripts.get(file) else {
            return Err(EvalFault::failed(format!("the pack has no script `scripts/{file}.rhai`")));
        };
        script.call_with(name, args).map_err(|error| EvalFault::script(&format!("`{file}.rhai::{name}`"), &error))
    }

    /// What the pack of a function declares that its scripts may write; nothing if it declares nothing.
    #[must_use]
    pub fn rights(&self, function: &str) -> Option<&ScriptRights> {
        self.scripts.get(parts(function).0)?.as_ref()?.rights()
    }

    /// Where a function is written.
    #[must_use]
    pub fn place(&self, function: &str) -> Option<ScriptPlace> {
        let (file, name) = parts(function);
        let script = self.scripts.get(file)?.as_ref()?;
        Some(ScriptPlace { file: script.file().into(), line: script.line_of(name).max(1), column: 1 })
    }

    /// A library of scripts by name; `None` is a script that does not compile.
    #[must_use]
    pub fn new(scripts: FxHashMap<Arc<str>, Option<Script>>) -> Self {
        Self { scripts }
    }

    /// The scripts by name.
    #[must_use]
    pub fn scripts(&self) -> &FxHashMap<Arc<str>, Option<Script>> {
        &self.scripts
    }
}
