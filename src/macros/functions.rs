//! The library of macro functions, by the names that rows of macros give.

use super::call::{MacroFn, MacroFunction};
use super::{draw, flow, text, time, vars};

const fn reads(name: &'static str, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, doc, effects: false, run }
}

const fn writes(name: &'static str, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, doc, effects: true, run }
}

/// All functions, in the order of their names.
pub const MACRO_FUNCTIONS: &[MacroFunction] = &[
    reads("comment", text::nothing, "nothing; its arguments are expanded all the same"),
    reads(
        "condition",
        flow::condition,
        "the first part of `content` if `condition` holds, else the second; a macro `marker` parts them. Both arguments are raw",
    ),
    writes("dice", draw::dice, "what the dice of `formula` show; nothing for a formula that is none"),
    writes("draw_one", draw::one, "one of `items`; a single item is parted at `::`, or else at commas"),
    reads("eat_newlines", text::body, "the body, where there is one; else the text `text`, for a rewriting that comes later to find"),
    reads("format_time", time::format, "the time `time` in the form `format`, `offset` (`UTC+2`) or `distance` (`+2`) away from UTC"),
    reads("given", flow::given, "the text that is given for this name where the text is expanded; stays as written without one"),
    reads("marker", text::nothing, "nothing; marks a place for the function of a block around it"),
    reads("outlet", text::outlet, "the text of the outlet `key`"),
    reads("repeat", text::repeat, "`text`, `count` times"),
    reads("reverse", text::reverse, "`value` from its end to its beginning, by code points"),
    reads("stable_pick", draw::stable, "one of `items`, always the same for the same `stable`"),
    reads("time_difference", time::difference, "how far `left` is from `right`, in words; `suffix` says in which direction"),
    writes("var_add", vars::add, "nothing; adds `value` to the variable `name`: a sum, a longer text, or one more element of a list"),
    writes("var_delete", vars::delete, "nothing; removes the variable `name`"),
    reads("var_get", vars::get, "the variable `name`; `plain` shows lists and tables as JavaScript's `String` does"),
    reads("var_get_key", vars::get_key, "the element or field `key` of the variable `name`, which holds JSON"),
    reads("var_has", vars::has, "`true` if there is a variable `name`, else `false`"),
    writes("var_set", vars::set, "nothing; sets the variable `name` to `value`"),
    writes("var_set_key", vars::set_key, "nothing; sets the element or field `key` of the variable `name`, which holds JSON"),
    writes("var_step", vars::step, "the variable `name` after `by` was added; `plain` as for `var_get`"),
    writes("variable", vars::shorthand, "reads or writes the variable `name`, as `operator` and the raw `value` say"),
];
