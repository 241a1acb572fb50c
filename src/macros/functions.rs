//! The library of macro functions, by the names that rows of macros give.

use std::sync::Arc;

use super::call::{FunctionCall, MacroFn, MacroFunction, says};
use super::{chance, vars};
use crate::diag::limits;
use crate::macros::syntax::walk::dedent;
use crate::macros::syntax::{MacroCall, MacroResult};
use crate::model::Value;
use crate::terms::BuildState;
use crate::text::js;
use crate::text::moment::{Calendar, INVALID, Moment};
use crate::text::written::ToText as _;

type ArgumentNames = &'static [&'static str];

const fn reads(name: &'static str, takes: ArgumentNames, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, takes, doc, effects: false, run }
}

const fn writes(name: &'static str, takes: ArgumentNames, run: MacroFn, doc: &'static str) -> MacroFunction {
    MacroFunction { name, takes, doc, effects: true, run }
}

/// All functions, in the order of their names.
pub const MACRO_FUNCTIONS: &[MacroFunction] = &[
    reads("comment", &[], nothing, "nothing; its arguments are expanded nevertheless"),
    reads(
        "condition",
        &["condition", "content", "marker"],
        condition,
        "the first part of `content` if `condition` holds, otherwise the second; a macro `marker` separates them. Both arguments are raw",
    ),
    writes("dice", &["formula"], chance::formula_dice, "the result of the dice of `formula`; nothing if it is not a formula"),
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
        chance::one,
        "one of `items`; with `between`, items are split at this text and blank ones are left out; otherwise a single item is split at `::`, or else at commas",
    ),
    writes(
        "draw_part",
        &["between", "count", "modulo", "protected", "seed", "start", "stride"],
        chance::part,
        "one of `items`; of a single one, one of its parts between the characters of `between`, where a backslash protects those of `protected`; without any, the draw itself. With `seed`, the draw is the one that belongs to this text and to `count`",
    ),
    reads("eat_newlines", &["text"], body, "the body, if there is one; otherwise the text `text`, which a later rewriting finds"),
    reads(
        "format_time",
        &["calendar", "distance", "format", "offset", "time", "zone"],
        format,
        "the time `time` in the format `format`, with the distance from UTC in `offset` (`UTC+2`) or `distance` (`+2`)",
    ),
    reads("given", &[], given, "the text that is given for this name when the text is expanded; without one, the macro stays as written"),
    reads("marker", &[], nothing, "nothing; marks a place for the function of a block around it"),
    reads("outlet", &["key"], outlet, "the text of the outlet `key`"),
    reads("repeat", &["count", "text"], repeat, "`text`, `count` times"),
    reads("reverse", &["value"], reverse, "the code points of `value` in reverse order"),
    reads(
        "stable_pick",
        &["between", "keep", "seed"],
        chance::stable,
        "one of `items`, always the same for the same `stable`; `with = { keep = PATH }` sets this path, such as one of the chat's store, to the first value of `stable`",
    ),
    reads(
        "time_difference",
        &["calendar", "left", "otherwise", "right", "stamps", "suffix", "zone"],
        difference,
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

// Texts: repeated, reversed, omitted, or found in a list.

pub(super) fn nothing(_call: &FunctionCall<'_>) -> MacroResult {
    says("")
}

pub(super) fn repeat(call: &FunctionCall<'_>) -> MacroResult {
    let unit = call.text("text").unwrap_or_default();
    let Some(times) = call.value("count").and_then(|v| js::place(js::number(&v.shown()))) else { return MacroResult::Unknown };
    if unit.len().saturating_mul(times) > call.st.rules.limits.text_bytes {
        return MacroResult::Failed(format!("`{{{{{}}}}}` would repeat {times} times", call.row.name));
    }
    says(unit.repeat(times))
}

/// The body is trimmed already, unless its author wants it as it is.
pub(super) fn body(call: &FunctionCall<'_>) -> MacroResult {
    match call.args.last().filter(|_| call.called.block) {
        Some(body) => MacroResult::Text(body.clone()),
        None => MacroResult::Text(call.text("text").unwrap_or_default()),
    }
}

pub(super) fn reverse(call: &FunctionCall<'_>) -> MacroResult {
    says(call.text("value").unwrap_or_default().chars().rev().collect::<String>())
}

pub(super) fn outlet(call: &FunctionCall<'_>) -> MacroResult {
    MacroResult::Text(outlet_text(call.st, &call.text("key").unwrap_or_default()))
}

/// The text of an outlet; empty where there is none.
#[must_use]
pub fn outlet_text(st: &BuildState, key: &Arc<str>) -> Arc<str> {
    if key.is_empty() {
        return "".into();
    }
    st.lookup(&["outlet".into(), key.clone()], None).shown()
}

// Conditions, and names that are given for one text.

/// A block with a condition. A condition that is but a name is the macro of that name, or with a mark in front the
/// variable; `!` in front inverts.
pub(super) fn condition(call: &FunctionCall<'_>) -> MacroResult {
    let (Some(condition), Some(content), Some(walk)) = (call.branch("condition"), call.branch("content"), call.called.walk) else {
        return MacroResult::Unknown;
    };
    let written = condition.text();
    let (inverted, bare) = match js::trim_start(written).strip_prefix('!') {
        Some(rest) => (true, condition.behind(written.len() - js::trim_start(rest).len())),
        None => (false, condition),
    };
    let said: Arc<str> = walk.resolve(bare, call.called.place()).into();
    let said = named(call, &said).unwrap_or(said);
    let marker = call.text("marker").unwrap_or_default();
    let (first, second) = content.split(&marker, &call.row.name);
    let taken = if call.macros.syntax().is_off(&said) == inverted { Some(first) } else { second };
    let text = taken.map(|branch| walk.resolve(branch, call.called.place())).unwrap_or_default();
    says(if call.called.keeps { text } else { dedent(&text) })
}

/// What a bare name means: the macro that needs no arguments, or the variable behind its mark.
fn named(call: &FunctionCall<'_>, name: &str) -> Option<Arc<str>> {
    let mark = name.get(..1).filter(|mark| call.macros.syntax().marks.contains(mark));
    let (row, args): (_, Vec<Arc<str>>) = match mark {
        Some(mark) => {
            let rest = name.get(1..)?;
            let plain = rest.starts_with(|c: char| c.is_ascii_alphabetic())
                && !rest.ends_with('-')
                && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
            (call.macros.named(mark).filter(|_| plain)?, vec![rest.into(), "".into()])
        }
        None => (call.macros.named(js::trim(name)).filter(|row| row.shape.takes(0))?, Vec::new()),
    };
    let called =
        MacroCall { name, id: Some(row.id), args: &args, written: name, branches: &[], block: false, keeps: false, ..*call.called };
    // values that are given for this text win over rows here too
    match call.macros.answered(&called) {
        MacroResult::Text(text) => Some(text),
        _ => None,
    }
}

/// The text that is given under the macro's name, once if the row says so.
pub(super) fn given(call: &FunctionCall<'_>) -> MacroResult {
    let Some(text) = call.macros.given_text(&call.row.name) else { return MacroResult::Unknown };
    let spent = call.row.uses.is_some_and(|most| call.macros.used(call.row) > most);
    if spent { says("") } else { MacroResult::Text(text) }
}

// Times: what a clock shows, and how far two dates are apart.

/// Minutes that the local clock is east of UTC.
fn zone(call: &FunctionCall<'_>) -> i32 {
    call.value("zone").and_then(|v| v.as_i64()).and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
}

/// `UTC+2` as a distance; nothing for anything else.
fn offset(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("UTC").filter(|d| d.starts_with(['+', '-']))?;
    digits.get(1..)?.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

pub(super) fn format(call: &FunctionCall<'_>) -> MacroResult {
    let pattern = call.text("format").unwrap_or_default();
    if pattern.len() > limits::PATTERN_BYTES {
        return MacroResult::Failed(format!("a date pattern is longer than {} bytes", limits::PATTERN_BYTES));
    }
    let now = Moment::of_value(&call.value("time").unwrap_or_default(), zone(call));
    let distance = call.text("distance").and_then(|d| d.parse().ok());
    let at = match call.text("offset").as_deref().and_then(offset).or(distance) {
        Some(offset) => now.and_then(|now| now.utc_offset(offset)),
        None => now,
    };
    let table = call.value("calendar").unwrap_or_default();
    match Calendar::of(&table) {
        Ok(calendar) => says(at.map_or_else(|| INVALID.to_owned(), |at| at.format(&pattern, calendar))),
        Err(message) => MacroResult::Failed(message),
    }
}

pub(super) fn difference(call: &FunctionCall<'_>) -> MacroResult {
    let side = |name: &str| call.value(name).filter(|v| !v.is_null() && !matches!(v, Value::List(_)));
    let none: Option<Arc<str>> = call.row.with.get("otherwise").map(Value::shown);
    let (Some(left), Some(right)) = (side("left"), side("right")) else { return MacroResult::Text(none.unwrap_or_default()) };
    if let Some(none) = none.filter(|_| js::trim(&right.shown()).is_empty()) {
        return MacroResult::Text(none);
    }
    let stamps = call.value("stamps").filter(|stamps| !stamps.is_null());
    let read = |value: &Value| match (value, &stamps) {
        (Value::Text(text), Some(stamps)) => Moment::parse_stamp(text, zone(call), stamps),
        (other, _) => Ok(Moment::of_value(other, zone(call))),
    };
    let suffix = call.row.with.get("suffix") == Some(&Value::Bool(true));
    let table = call.value("calendar").unwrap_or_default();
    let calendar = match Calendar::of(&table) {
        Ok(calendar) => calendar,
        Err(message) => return MacroResult::Failed(message),
    };
    let (left, right) = match (read(&left), read(&right)) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(message), _) | (_, Err(message)) => return MacroResult::Failed(message),
    };
    let words = left.zip(right).map(|(left, right)| left.difference(right, suffix, calendar));
    says(words.unwrap_or_else(|| INVALID.to_owned()))
}
