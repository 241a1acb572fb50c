//! What counts as true: one function for each language. Each language belongs to someone else, so they differ.
//!
//! | value | rules | `calc` | JavaScript: leaf strings, macros | Handlebars | Liquid |
//! | --- | --- | --- | --- | --- | --- |
//! | missing, `null`, `false` | no | no | no | no | no |
//! | 0, not a number | no | no | no | no | yes |
//! | another number, `true` | yes | yes | yes | yes | yes |
//! | `""` | no | no | no | no | yes |
//! | another text | yes | no | yes | yes | yes |
//! | an empty list | no | no | yes | no | yes |
//! | another list | yes | no | yes | yes | yes |
//! | an empty table | no | no | yes | yes | yes |
//! | another table | yes | no | yes | yes | yes |
//!
//! The rule language's own notion is [`Value::truthy`], which conditions, gates and flags use. `calc` makes a number of
//! every value first, and anything that is not a number or a truth value counts as 0.

use crate::model::Value;

/// `calc`, where truth is a number: any number but 0 is true.
#[must_use]
pub fn calc(number: f64) -> bool {
    number != 0.0
}

/// `Boolean(value)` of JavaScript, for leaf strings and macros: every list and table is true, also an empty one.
#[must_use]
pub fn javascript(value: &Value) -> bool {
    match value {
        Value::Null | Value::Rule(_) => false,
        Value::Bool(b) => *b,
        Value::Text(text) => !text.is_empty(),
        Value::Int(n) => *n != 0,
        Value::Num(n) => *n != 0.0 && !n.is_nan(),
        Value::List(_) | Value::Map(_) => true,
    }
}

/// Handlebars: as in JavaScript, but an empty list is not true (its `isEmpty`).
#[must_use]
pub fn handlebars(value: &Value) -> bool {
    match value {
        Value::List(list) => !list.is_empty(),
        other => javascript(other),
    }
}

/// Liquid: everything that is neither missing nor `false` is true.
#[must_use]
pub fn liquid(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
