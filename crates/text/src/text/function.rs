//! What a function of the library is: its name, what it says about itself, and the arguments that it is called with.

use std::sync::Arc;

use super::pattern;
use super::work::{self, BudgetExceeded, BudgetScope};
use super::written::{self, ToText as _};
use crate::diag::{limits, short};
use crate::model::{Map, Value};

/// A function's arguments, evaluated, by name.
pub type FunctionArgs = Map;

/// Why a function returned no value.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionRefusal {
    /// It cannot be evaluated: a sentence without a full stop.
    Failed(String),
    /// A pattern reached its bound on this text. The text is the cause, not a mistake in the rule.
    Bound {
        /// A sentence without a full stop.
        why: String,
        /// The value to use instead: the unchanged text, or nothing.
        instead: Value,
    },
}

impl FunctionRefusal {
    pub(super) fn bound(bound: &pattern::MatchBound, instead: Value) -> Self {
        Self::Bound { why: bound.to_string(), instead }
    }

    /// The sentence.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Failed(why) | Self::Bound { why, .. } => why,
        }
    }
}

impl From<String> for FunctionRefusal {
    fn from(why: String) -> Self {
        // it may quote an argument, which can be of any length
        Self::Failed(short::cut(why))
    }
}

impl From<BudgetExceeded> for FunctionRefusal {
    fn from(exceeded: BudgetExceeded) -> Self {
        String::from(exceeded).into()
    }
}

impl From<&str> for FunctionRefusal {
    fn from(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

/// One function of the library.
pub struct Function {
    /// Its name in rule files.
    pub name: &'static str,
    /// Its result, in one line.
    pub doc: &'static str,
    /// Its arguments, and whether each is required.
    pub args: &'static [(&'static str, bool)],
    /// The function; an error is a sentence without a full stop.
    pub run: fn(&FunctionArgs) -> Result<Value, FunctionRefusal>,
}

impl Function {
    /// Calls the function, and charges the budget with what it reads.
    ///
    /// # Errors
    /// As the function says, or the work of the build is spent.
    pub fn call(&self, args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
        let _door = BudgetScope::unless_open();
        self.charge(args).map_err(String::from)?;
        let made = (self.run)(args)?;
        work::check().map_err(String::from)?;
        Ok(made)
    }

    fn charge(&self, args: &FunctionArgs) -> Result<(), BudgetExceeded> {
        let whole = !LOOKS_AT_ELEMENTS.contains(&self.name);
        let texts: usize = args.values().filter_map(Value::as_str).map(str::len).sum();
        work::spend(work::STEPS_PER_OPERATION + (texts / work::READ_PER_STEP) as u64)?;
        let mut lists = args.values().filter(|value| whole && matches!(value, Value::List(_) | Value::Map(_)));
        lists.try_for_each(|value| written::read(value).map(drop))
    }
}

/// The functions that look only at the elements or fields of a list or table, of which there may be many.
const LOOKS_AT_ELEMENTS: &[&str] =
    &["concat", "element", "flat", "from_pairs", "length", "member", "pairs", "reverse", "set_missing", "splice", "values", "without"];

pub(super) fn of(args: &FunctionArgs) -> &Value {
    args.get("of").unwrap_or(&Value::Null)
}

pub(super) fn text(args: &FunctionArgs) -> Arc<str> {
    of(args).shown()
}

pub(super) fn named(args: &FunctionArgs, name: &str) -> Arc<str> {
    args.get(name).map_or_else(Arc::default, Value::shown)
}

pub(super) fn times(args: &FunctionArgs) -> Result<Option<usize>, String> {
    match args.get("times") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64().map(usize::try_from) {
            Some(Ok(n)) => Ok(Some(n)),
            _ => Err("`times` must be a whole number, 0 or more".into()),
        },
    }
}

pub(super) fn bounded(bytes: usize) -> Result<(), String> {
    if bytes > limits::OUTPUT_BYTES { Err(format!("the text would be longer than {} bytes", limits::OUTPUT_BYTES)) } else { Ok(()) }
}
