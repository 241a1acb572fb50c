//! What a function of the library is: its name, what it says about itself, and the arguments that it is called with.

use std::sync::Arc;

use super::pattern::{self, MOST_OUTPUT};
use super::work::{self, Door, Exceeded};
use super::written::{self, Shown as _};
use crate::diag::short;
use crate::model::{Map, Value};

/// A function's arguments, evaluated, by name.
pub type Args = Map;

/// Why a function returned no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
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

impl Refusal {
    pub(super) fn bound(bound: &pattern::Bound, instead: Value) -> Self {
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

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        // it may quote an argument, which can be of any length
        Self::Failed(short::cut(why))
    }
}

impl From<&str> for Refusal {
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
    pub run: fn(&Args) -> Result<Value, Refusal>,
}

impl Function {
    /// Calls the function, and pays for what it reads and makes.
    ///
    /// # Errors
    /// As the function says, or the work of the build is spent.
    pub fn call(&self, args: &Args) -> Result<Value, Refusal> {
        let _door = Door::unless_open();
        let _piece = work::piece("function", self.name);
        self.pay(args).map_err(String::from)?;
        let made = (self.run)(args)?;
        work::make(size(&made)).and_then(|()| work::check()).map_err(String::from)?;
        Ok(made)
    }

    fn pay(&self, args: &Args) -> Result<(), Exceeded> {
        work::spend(STEPS_PER_CALL)?;
        let mut read = 0_usize;
        for value in args.values() {
            match value {
                Value::List(_) | Value::Map(_) => match Reads::of(self.name) {
                    Reads::Top => read = read.saturating_add(size(value)),
                    Reads::Elements => {
                        let below = value.elements().iter().fold(0, |sum: usize, element| sum.saturating_add(size(element)));
                        work::read(size(value))?;
                        work::hold(below)?;
                    }
                    Reads::Whole => written::copied(value)?,
                },
                other => read = read.saturating_add(size(other)),
            }
        }
        work::read(read)
    }
}

/// How much of a list or table a function looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Its own elements or fields: a list may be long, and the function may look at its end only.
    Top,
    /// Those of its elements too.
    Elements,
    /// All of it.
    Whole,
}

impl Reads {
    fn of(function: &str) -> Self {
        match function {
            "element" | "from_pairs" | "length" | "member" | "pairs" | "reverse" | "set_missing" | "splice" | "values" | "without" => {
                Self::Top
            }
            "concat" | "flat" => Self::Elements,
            _ => Self::Whole,
        }
    }
}

/// The work of a call, besides that for its texts and lists.
const STEPS_PER_CALL: u64 = 8;
/// About how many bytes a value takes, without the values in it.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.len().saturating_mul(size_of::<Value>()),
        Value::Map(map) => map.len().saturating_mul(2 * size_of::<Value>()),
        _ => 0,
    }
}

pub(super) fn of(args: &Args) -> &Value {
    args.get("of").unwrap_or(&Value::Null)
}

pub(super) fn text(args: &Args) -> Arc<str> {
    of(args).shown()
}

pub(super) fn named(args: &Args, name: &str) -> Arc<str> {
    args.get(name).map_or_else(|| Arc::from(""), Value::shown)
}

pub(super) fn times(args: &Args) -> Result<Option<usize>, String> {
    match args.get("times") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64().map(usize::try_from) {
            Some(Ok(n)) => Ok(Some(n)),
            _ => Err("`times` must be a whole number, 0 or more".into()),
        },
    }
}

pub(super) fn bounded(bytes: usize) -> Result<(), String> {
    if bytes > MOST_OUTPUT { Err(format!("the text would be longer than {MOST_OUTPUT} bytes")) } else { Ok(()) }
}
