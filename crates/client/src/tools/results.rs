//! What came of the calls of one reply, and what the model is told of it.

use serde_json::{Value as Json, json};

use super::calls::scene;
use super::tool::ToolFailure;
use crate::build::{BuildError, run};
use crate::model::Value;
use crate::pack::Ruleset;

/// The list, and the program over it.
const RESULTS: &str = "tool_results";
/// What a tool that failed is called.
const FAILED: &str = "tool_error";
/// What a result of too many bytes is called.
const TOO_LARGE: &str = "result_too_large";

/// What a call has come to before the pack has a word in it.
pub(super) struct CallResult {
    pub(super) id: String,
    pub(super) name: String,
    /// The result; the code and the words why there is none.
    pub(super) result: Result<Json, (String, String)>,
}

impl CallResult {
    /// What a tool gave back.
    pub(super) fn of(result: Result<Json, ToolFailure>) -> Result<Json, (String, String)> {
        result.map_err(|ToolFailure(message)| (FAILED.to_owned(), message))
    }
}

/// What the model is told of a call, and its code if there is no result.
pub(super) struct CallMessage {
    pub(super) code: Option<String>,
    pub(super) content: String,
}

/// What the model is told of each call, in order.
///
/// # Errors
/// The program of the pack fails.
pub(super) fn tell(rules: &Ruleset, limits: &Json, turn: usize, most: usize, came: &[CallResult]) -> Result<Vec<CallMessage>, BuildError> {
    let measured: Vec<(Json, bool)> = came.iter().map(|one| row(one, most)).collect();
    let rows: Vec<&Json> = measured.iter().map(|(row, _)| row).collect();
    let ran = run(rules, RESULTS, &scene(limits, turn), &[(RESULTS, json!(rows))])?;
    let rows = ran.list(RESULTS);
    Ok(measured.iter().zip(came).map(|((_, over), one)| told(rows.iter().find(|row| is(row, &one.id)), *over)).collect())
}

fn is(row: &Value, id: &str) -> bool {
    row.get("id").and_then(Value::as_str) == Some(id)
}

/// The row of the program, and whether its result has too many bytes to be told.
fn row(came: &CallResult, most: usize) -> (Json, bool) {
    let mut row = json!({ "id": came.id, "name": came.name });
    let mut put = |key: &str, value: Json| _ = row.as_object_mut().map(|row| row.insert(key.to_owned(), value));
    let mut over = false;
    match &came.result {
        Ok(data) => {
            let text = data.to_string();
            over = text.len() > most;
            put("bytes", json!(text.len()));
            if !over {
                put("data", json!(text));
            }
        }
        Err((code, message)) => {
            put("code", json!(code));
            put("message", json!(cut(message, most)));
        }
    }
    (row, over)
}

/// What the pack says of a call. Whatever it says, there is a text, and a result of too many bytes is an error.
fn told(row: Option<&Value>, over: bool) -> CallMessage {
    let word = |key: &str| row.and_then(|row| row.get(key)).and_then(Value::as_str).map(str::to_owned);
    let code = word("code").or_else(|| (over || row.is_none()).then(|| TOO_LARGE.to_owned()));
    let bare = || json!({ "ok": code.is_none(), "error": { "code": code } }).to_string();
    let content = word("content").filter(|_| word("code").is_some() || !over).unwrap_or_else(bare);
    CallMessage { code, content }
}

/// The beginning of a text, in whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
