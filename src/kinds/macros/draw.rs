//! Chance: one of several things, dice, and choices that stay the same.

use super::call::{Call, says};
use crate::text::js;
use crate::text::macros::MacroResult;

/// The things to choose from. A single argument is parted: at `::`, or else at commas that no backslash stands before.
fn items(call: &Call<'_>) -> Vec<String> {
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

pub(super) fn one(call: &Call<'_>) -> MacroResult {
    let items = items(call);
    if items.is_empty() {
        return says("");
    }
    choose(items, call.draw())
}

pub(super) fn dice(_call: &Call<'_>) -> MacroResult {
    MacroResult::Unknown
}

pub(super) fn stable(_call: &Call<'_>) -> MacroResult {
    MacroResult::Unknown
}
