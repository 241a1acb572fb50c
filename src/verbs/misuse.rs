//! Terms that a verb knows, but that have no effect in this combination: they are refused.

use crate::diag::{Code, FieldMap};
use crate::model::term::names;
use crate::syntax::CompileContext;
use crate::syntax::selections::TERMS;

/// Refuses the words of selections.
pub(super) fn selection(cx: &mut CompileContext<'_>, fields: &FieldMap, why: &str, help: &str) {
    for word in names(TERMS) {
        refuse(cx, fields, word, &format!("`{word}` has no meaning here: {why}"), help);
    }
}

/// Refuses a term, if the pass has it.
pub(super) fn refuse(cx: &mut CompileContext<'_>, fields: &FieldMap, key: &str, message: &str, help: &str) {
    if let Some(field) = fields.get(key) {
        cx.fail(Code::TwoMeanings, field.key, message, Some(help.into()));
    }
}
