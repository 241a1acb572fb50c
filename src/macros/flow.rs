//! Conditions, and names that are given for one text.

use std::sync::Arc;

use super::call::{FunctionCall, says};
use crate::text::js;
use crate::macros::syntax::walk::dedent;
use crate::macros::syntax::{MacroCall, MacroResult};

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
