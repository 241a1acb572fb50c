//! Compiled macros, and what a macro function receives when it is called.
//!
//! A function gets its arguments by the names that its row declares; a missing argument comes from the row's `with`,
//! then from the argument's default. Values that a function writes go into the state of the build, and so into its
//! patch.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::macros::syntax::{ArgumentShape, MacroCall, MacroResult, MacroSyntax, TextBranch, TextOffset};
use crate::model::Value;
use crate::terms::BuildState;
use crate::text::js;
use crate::text::written::ToText as _;

/// What an argument must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Any text.
    Text,
    /// `-12`
    Integer,
    /// Anything that JavaScript reads as a number; not an empty text.
    Number,
    /// `true` or `false`, `on` or `off`, `1` or `0`.
    Boolean,
}

/// An argument that a macro takes.
#[derive(Debug)]
pub struct MacroArg {
    /// Its name.
    pub name: Arc<str>,
    /// What it must be.
    pub kind: ArgumentKind,
    /// What it is when it is not given.
    pub default: Option<Value>,
    /// Takes all arguments that are left.
    pub list: bool,
}

impl MacroArg {
    /// The value of a given argument.
    #[must_use]
    pub fn value(&self, text: &Arc<str>) -> Value {
        match self.kind {
            ArgumentKind::Integer | ArgumentKind::Number => js::value(js::number(text)),
            ArgumentKind::Text | ArgumentKind::Boolean => Value::Text(text.clone()),
        }
    }
}

/// What a macro gives.
pub enum ResultKind {
    /// A value of the pack, evaluated when called.
    Read(Value),
    /// This text.
    Text(Arc<str>),
    /// What a function of the pack's scripts answers.
    Script(Arc<str>),
    /// What a function of the library answers.
    Function(&'static MacroFunction),
}

/// A macro.
pub struct MacroRow {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: u32,
    /// What it takes, as the reader of texts sees it.
    pub shape: ArgumentShape,
    /// What it gives.
    pub gives: ResultKind,
    /// Its arguments.
    pub args: Vec<MacroArg>,
    /// Fixed arguments.
    pub with: FxHashMap<Arc<str>, Value>,
    /// When it counts; nothing for always.
    pub when: Option<Value>,
    /// Stream of its draws.
    pub stream: Arc<str>,
    /// The list that its draw depends on, or an expression that gives one.
    pub stable: Value,
    /// Its result is evaluated once per text.
    pub once: bool,
    /// It writes, so it is evaluated only where macros may write.
    pub writes: bool,
    /// Its result is the value of the whole text, which ends there.
    pub ends: bool,
    /// Nothing but its `read` decides what it gives.
    pub is_bare: bool,
    /// The name of the argument that is the macro as it is written.
    pub written: Option<Arc<str>>,
    /// Its result is expanded as a text of its own.
    pub expands: Option<ResultExpansion>,
    /// How often it works in one text.
    pub uses: Option<u32>,
    /// The row, for functions that read more of it.
    pub cells: Value,
}

/// How the result of a row is expanded as a text of its own.
#[derive(Debug, Clone)]
pub struct ResultExpansion {
    /// The most texts that may be open at the same time.
    pub depth: u32,
    /// What there is instead if more are open.
    pub otherwise: Value,
}

/// What a function may ask about the text that contains its macro, and about the other macros.
pub trait MacroContext {
    /// A cell of a row, evaluated.
    ///
    /// # Errors
    /// What stops the expression.
    fn value(&self, cell: &Value) -> Result<Value, String>;
    /// The text that is given for this text alone under a name.
    fn given_text(&self, name: &str) -> Option<Arc<str>>;
    /// The hash of the text as it was given.
    fn given_hash(&self) -> u64;
    /// How often a row with `uses` has been called for this text, this call among them.
    fn used(&self, row: &MacroRow) -> u32;
    /// How macros are written.
    fn syntax(&self) -> &MacroSyntax;
    /// A row by its name or an alias.
    fn named(&self, name: &str) -> Option<&MacroRow>;
    /// What a call gives: a value for this text alone, a macro of the application, or a row.
    fn answered(&self, called: &MacroCall<'_>) -> MacroResult;
    /// Calls a row with arguments that have been expanded.
    fn row(&self, row: &MacroRow, called: &MacroCall<'_>) -> MacroResult;
}

/// One call of a macro function.
pub struct FunctionCall<'a> {
    /// The build.
    pub st: &'a BuildState,
    /// The row of the macro.
    pub row: &'a MacroRow,
    /// The arguments, expanded and trimmed, of the right number and types.
    pub args: &'a [Arc<str>],
    /// Where the macro stands in `source`, in bytes.
    pub at: TextOffset,
    /// The current text, after the rewrites that come first.
    pub source: &'a Arc<str>,
    /// All macros of the pack, over this text.
    pub macros: &'a dyn MacroContext,
    /// How the macro was called: block, flags, unevaluated arguments.
    pub called: &'a MacroCall<'a>,
}

/// A macro function.
pub type MacroFn = fn(&FunctionCall<'_>) -> MacroResult;

/// A function of the library.
pub struct MacroFunction {
    /// Its name in rule files.
    pub name: &'static str,
    /// The arguments that a row can give it with `with`.
    pub takes: &'static [&'static str],
    /// What it gives, in one line; arguments in backticks.
    pub doc: &'static str,
    /// It writes or draws.
    pub effects: bool,
    /// The function.
    pub run: MacroFn,
}

impl FunctionCall<'_> {
    /// An argument by its declared name; else what the row's `with` says; else its default.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        let place = self.row.args.iter().position(|a| a.name.as_ref() == name);
        if let Some(given) = place.and_then(|n| self.args.get(n)) {
            return Some(Value::Text(given.clone()));
        }
        let fixed = self.row.with.get(name).or_else(|| self.row.args.get(place?)?.default.as_ref())?;
        self.macros.value(fixed).ok()
    }

    /// The same as a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Arc<str>> {
        self.value(name).map(|v| v.shown())
    }

    /// The arguments from a list argument on.
    #[must_use]
    pub fn rest(&self) -> &[Arc<str>] {
        let from = self.row.args.iter().position(|a| a.list).unwrap_or(0);
        self.args.get(from..).unwrap_or(&[])
    }

    /// An unevaluated argument by its declared name.
    #[must_use]
    pub fn branch(&self, name: &str) -> Option<TextBranch<'_>> {
        let place = self.row.args.iter().position(|a| a.name.as_ref() == name)?;
        self.called.branches.get(place).copied()
    }

    /// The next number in [0, 1) of the row's stream.
    #[must_use]
    pub fn draw(&self) -> f64 {
        self.st.draws.borrow_mut().draw(&self.row.stream)
    }
}

/// Whether an argument is of a kind.
#[must_use]
pub fn is_kind(text: &str, kind: ArgumentKind) -> bool {
    match kind {
        ArgumentKind::Text => true,
        ArgumentKind::Integer => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        }
        ArgumentKind::Number => !js::trim(text).is_empty() && !js::number(text).is_nan(),
        ArgumentKind::Boolean => matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "on" | "off" | "1" | "0"),
    }
}

/// A text as a result.
pub fn says(text: impl Into<Arc<str>>) -> MacroResult {
    MacroResult::Text(text.into())
}
