//! What a macro function is given, and the table of all of them.
//!
//! A function gets its arguments by the names that its row declares; what is not given comes from the row's `with`,
//! then from the argument's default. What a function writes goes into the state of the build, and so into its patch.

use std::sync::Arc;

use super::Macros;
use super::table::{Kind, Row};
use super::{draw, flow, text, time, vars};
use crate::model::Value;
use crate::terms::State;
use crate::text::js;
use crate::text::macros::{Branch, Called, MacroResult, Offset};

/// One call of a macro function.
pub struct Call<'a> {
    /// The build.
    pub st: &'a State,
    /// The row of the macro.
    pub row: &'a Row,
    /// The arguments, expanded and trimmed, of the right number and types.
    pub args: &'a [Arc<str>],
    /// Where the macro stands in `source`, in bytes.
    pub at: Offset,
    /// The text at hand, after it was rewritten beforehand.
    pub source: &'a Arc<str>,
    /// All macros of the pack, over this text.
    pub macros: &'a Macros<'a>,
    /// How the macro was called: block, flags, unevaluated arguments.
    pub called: &'a Called<'a>,
}

/// A macro function.
pub type MacroFn = fn(&Call<'_>) -> MacroResult;

/// A function of the library.
pub struct MacroFunction {
    /// Its name in rule files.
    pub name: &'static str,
    /// What it gives, in one line; arguments in backticks.
    pub doc: &'static str,
    /// It writes or draws.
    pub effects: bool,
    /// The function.
    pub run: MacroFn,
}

const fn reads(name: &'static str, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, doc, effects: false, run }
}

const fn writes(name: &'static str, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, doc, effects: true, run }
}

/// All functions, in the order of their names.
pub const MACRO_FUNCTIONS: &[MacroFunction] = &[
    reads("comment", text::nothing, "nothing; its arguments are expanded nevertheless"),
    reads(
        "condition",
        flow::condition,
        "the first part of `content` if `condition` holds, otherwise the second; a macro `marker` separates them. Both arguments are raw",
    ),
    writes("dice", draw::dice, "the result of the dice of `formula`; nothing if it is not a formula"),
    writes("draw_one", draw::one, "one of `items`; a single item is split at `::`, or otherwise at commas"),
    reads("eat_newlines", text::body, "the body, if there is one; otherwise the text `text`, which a later rewriting finds"),
    reads(
        "format_time",
        time::format,
        "the time `time` in the format `format`, with the distance from UTC in `offset` (`UTC+2`) or `distance` (`+2`)",
    ),
    reads("given", flow::given, "the text that is given for this name when the text is expanded; without one, the macro stays as written"),
    reads("marker", text::nothing, "nothing; marks a place for the function of a block around it"),
    reads("outlet", text::outlet, "the text of the outlet `key`"),
    reads("repeat", text::repeat, "`text`, `count` times"),
    reads("reverse", text::reverse, "the code points of `value` in reverse order"),
    reads("stable_pick", draw::stable, "one of `items`, always the same for the same `stable`"),
    reads("time_difference", time::difference, "the time between `right` and `left`, in words; with `suffix`, also its direction"),
    writes(
        "var_add",
        vars::add,
        "nothing; adds `value` to the variable `name`: as a number, to the end of a text, or as an element of a list",
    ),
    writes("var_delete", vars::delete, "nothing; removes the variable `name`"),
    reads("var_get", vars::get, "the variable `name`; with `plain`, lists and tables are written as JavaScript's `String` does"),
    reads("var_get_key", vars::get_key, "the element or field `key` of the variable `name`, which contains JSON"),
    reads("var_has", vars::has, "`true` if there is a variable `name`, otherwise `false`"),
    writes("var_set", vars::set, "nothing; sets the variable `name` to `value`"),
    writes("var_set_key", vars::set_key, "nothing; sets the element or field `key` of the variable `name`, which contains JSON"),
    writes("var_step", vars::step, "the variable `name` after adding `by`; `plain` as for `var_get`"),
    writes("variable", vars::shorthand, "reads or writes the variable `name`, as `operator` and the raw `value` say"),
];

impl Call<'_> {
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
        self.value(name).map(|v| v.to_text())
    }

    /// The arguments from a list argument on.
    #[must_use]
    pub fn rest(&self) -> &[Arc<str>] {
        let from = self.row.args.iter().position(|a| a.list).unwrap_or(0);
        self.args.get(from..).unwrap_or(&[])
    }

    /// An unevaluated argument by its declared name.
    #[must_use]
    pub fn branch(&self, name: &str) -> Option<Branch<'_>> {
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
pub fn is_kind(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::Text => true,
        Kind::Integer => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        }
        Kind::Number => !js::trim(text).is_empty() && !js::number(text).is_nan(),
        Kind::Boolean => matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "on" | "off" | "1" | "0"),
    }
}

/// A text as a result.
pub fn says(text: impl Into<Arc<str>>) -> MacroResult {
    MacroResult::Text(text.into())
}
