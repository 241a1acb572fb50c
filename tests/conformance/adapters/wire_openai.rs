//! Kind `contract-dialect-wire`, chat completions: the messages of a payload, as the contract words them.

use serde_json::{Value as Json, json};

use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, CONTRACT};

/// Messages through the dialect that the case names.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let message = |m: &Json| json!({ "role": m["role"], "text": m["content"], "name": m["name"], "meta": m["metadata"] });
    let messages = input["messages"].as_array().into_iter().flatten().map(message).collect();
    let dialect = input["options"]["dialect"].as_str().unwrap_or("");
    let actual = engine::emit_messages(CONTRACT, "", messages, dialect).map_or_else(|error| error, |payload| payload["messages"].clone());
    vec![case.check(actual, same)]
}
