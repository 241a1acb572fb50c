//! The library of macro functions, by the names that rows of macros give.

use super::call::{MacroFn, MacroFunction};
use super::{chance, draw, flow, text, time, vars};

type ArgumentNames = &'static [&'static str];

const fn reads(name: &'static str, takes: ArgumentNames, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, takes, doc, effects: false, run }
}

const fn writes(name: &'static str, takes: ArgumentNames, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, takes, doc, effects: true, run }
}

/// All functions, in the order of their names.
pub const MACRO_FUNCTIONS: &[MacroFunction] = &[
    reads("comment", &[], text::nothing, "nothing; its arguments are expanded nevertheless"),
    reads(
        "condition",
        &["condition", "content", "marker"],
        flow::condition,
        "the first part of `content` if `condition` holds, otherwise the second; a macro `marker` separates them. Both arguments are raw",
    ),
    writes("dice", &["formula"], draw::dice, "the result of the dice of `formula`; nothing if it is not a formula"),
    writes("draw_between", &["from", "to"], chance::between, "a whole number from `from` to `to`; `NaN` if one of them is no number"),
    writes(
        "draw_dice",
        &["bare", "count", "dice", "modulo", "otherwise", "seed", "start", "stride"],
        chance::dice,
        "the sum of the dice `2d6`; `NaN` if these are no dice. With `bare`, `6` and `d6` are one die, and fewer than one is `NaN`; without an argument, the text `otherwise`. With `seed`, each die is what belongs to this text and to `count`, which grows by `stride` (1) a die; `start` and `modulo` are those of `seeded_number`",
    ),
    writes(
        "draw_one",
        &["between"],
        draw::one,
        "one of `items`; with `between`, items are split at this text and blank ones are left out; otherwise a single item is split at `::`, or else at commas",
    ),
    writes(
        "draw_part",
        &["between", "count", "modulo", "protected", "seed", "start", "stride"],
        chance::part,
        "one of `items`; of a single one, one of its parts between the characters of `between`, where a backslash protects those of `protected`; without any, the draw itself. With `seed`, the draw is the one that belongs to this text and to `count`",
    ),
    reads("eat_newlines", &["text"], text::body, "the body, if there is one; otherwise the text `text`, which a later rewriting finds"),
    reads(
        "format_time",
        &["calendar", "distance", "format", "offset", "time", "zone"],
        time::format,
        "the time `time` in the format `format`, with the distance from UTC in `offset` (`UTC+2`) or `distance` (`+2`)",
    ),
    reads(
        "given",
        &[],
        flow::given,
        "the text that is given for this name when the text is expanded; without one, the macro stays as written",
    ),
    reads("marker", &[], text::nothing, "nothing; marks a place for the function of a block around it"),
    reads("outlet", &["key"], text::outlet, "the text of the outlet `key`"),
    reads("repeat", &["count", "text"], text::repeat, "`text`, `count` times"),
    reads("reverse", &["value"], text::reverse, "the code points of `value` in reverse order"),
    reads(
        "stable_pick",
        &["between", "keep", "seed"],
        draw::stable,
        "one of `items`, always the same for the same `stable`; `with = { keep = PATH }` sets this path, such as one of the chat's store, to the first value of `stable`",
    ),
    reads(
        "time_difference",
        &["calendar", "left", "otherwise", "right", "stamps", "suffix", "zone"],
        time::difference,
        "the time between `right` and `left`, in words; with `suffix`, also its direction; `stamps` lists further notations of times, such as `$table.time_stamp`",
    ),
    writes(
        "var_add",
        &["name", "store", "value"],
        vars::add,
        "nothing; adds `value` to the variable `name`: as a number, to the end of a text, or as an element of a list",
    ),
    writes("var_delete", &["name", "store"], vars::delete, "nothing; removes the variable `name`"),
    reads(
        "var_get",
        &["name", "plain", "store"],
        vars::get,
        "the variable `name`; with `plain`, lists and tables are written as JavaScript's `String` does",
    ),
    reads(
        "var_get_key",
        &["key", "name", "plain", "store"],
        vars::get_key,
        "the element or field `key` of the variable `name`, which contains JSON",
    ),
    reads("var_has", &["name", "store"], vars::has, "`true` if there is a variable `name`, otherwise `false`"),
    writes(
        "var_set",
        &["name", "only", "store", "value"],
        vars::set,
        "nothing; sets the variable `name` to `value`; with `only`, only if that is true",
    ),
    writes(
        "var_set_key",
        &["key", "name", "store", "value"],
        vars::set_key,
        "nothing; sets the element or field `key` of the variable `name`, which contains JSON",
    ),
    writes("var_step", &["by", "name", "plain", "store"], vars::step, "the variable `name` after adding `by`; `plain` as for `var_get`"),
    writes(
        "variable",
        &["name", "operator", "plain", "store", "value"],
        vars::shorthand,
        "reads or writes the variable `name`, as `operator` and the raw `value` say",
    ),
];
