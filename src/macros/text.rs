//! Texts: repeated, reversed, omitted, or found in a list.

use std::sync::Arc;

use super::call::{FunctionCall, says};
use crate::terms::BuildState;
use crate::text::js;
use crate::macros::syntax::MacroResult;
use crate::text::written::ToText as _;

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
