//! Chance: one of several things, dice, and choices that stay the same.

use std::sync::Arc;

use super::call::{FunctionCall, says};
use crate::model::Value;
use crate::macros::syntax::MacroResult;
use crate::text::written::ToText as _;
use crate::text::{dice, js, seedrandom};

/// The things to choose from. With `between`, arguments are parted at this text, and what is blank is left out. Otherwise
/// a single argument is parted: at `::`, or else at commas that no backslash stands before.
fn items(call: &FunctionCall<'_>) -> Vec<String> {
    if let Some(sep) = call.text("between").filter(|sep| !sep.is_empty()) {
        let items = call.rest().iter().flat_map(|one| one.split(sep.as_ref()));
        return items.map(js::trim).filter(|item| !item.is_empty()).map(ToOwned::to_owned).collect();
    }
    let [one] = call.rest() else { return call.rest().iter().map(ToString::to_string).collect() };
    if one.contains("::") {
        return one.split("::").map(|item| js::trim(item).to_owned()).collect();
    }
    let mut items = vec![String::new()];
    let mut chars = one.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, items.last_mut()) {
            (',', _) => items.push(String::new()),
            ('\\', Some(item)) if chars.peek() == Some(&',') => {
                chars.next();
                item.push(',');
            }
            (c, Some(item)) => item.push(c),
            (_, None) => {}
        }
    }
    items.iter().map(|item| js::trim(item).to_owned()).collect()
}

/// The thing that a number in [0, 1) chooses.
fn choose(items: Vec<String>, draw: f64) -> MacroResult {
    let count = items.len();
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let place = ((draw * count as f64).floor() as usize).min(count.saturating_sub(1));
    items.into_iter().nth(place).map_or_else(|| says(""), says)
}

pub(super) fn one(call: &FunctionCall<'_>) -> MacroResult {
    let items = items(call);
    if items.is_empty() {
        return says("");
    }
    choose(items, call.draw())
}

pub(super) fn dice(call: &FunctionCall<'_>) -> MacroResult {
    match dice::parse(&call.text("formula").unwrap_or_default()) {
        Some(dice) => says(dice.roll(|| call.draw()).to_string()),
        None => says(""),
    }
}

/// Sets a path, unless it has the value already.
fn keep(call: &FunctionCall<'_>, path: &str, value: &Value) {
    let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
    if call.st.lookup(&names, None) != *value {
        call.st.put(&names, value.clone());
    }
}

pub(super) fn stable(call: &FunctionCall<'_>) -> MacroResult {
    let items = items(call);
    if items.is_empty() {
        return says("");
    }
    let stable = match call.macros.value(&call.row.stable) {
        Ok(stable) => stable,
        Err(message) => return MacroResult::Failed(message),
    };
    if let (Some(path), Some(first)) = (call.row.with.get("keep").and_then(Value::as_str), stable.as_list().and_then(<[Value]>::first)) {
        keep(call, path, first);
    }
    let part = |part: &Value| match part.as_str() {
        Some("text") => call.macros.given_hash().to_string(),
        Some("offset") => call.called.place().to_string(),
        _ => part.shown().to_string(),
    };
    let parts: Vec<String> = stable.as_list().unwrap_or(&[]).iter().map(part).filter(|p| !p.is_empty()).collect();
    let seed = seedrandom::hash(&parts.join("-"), 0).to_string();
    let draw = match call.row.with.get("seed").and_then(Value::as_str) {
        Some("number") => seedrandom::first_draw_of_number(&seed),
        _ => seedrandom::first_draw(&seed),
    };
    choose(items, draw)
}
