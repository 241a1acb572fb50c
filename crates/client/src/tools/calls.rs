//! The calls of one reply: what is known of each is measured here, and the pack decides which are carried out.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::registry::{FilteredToolRegistry, RegistryEntry};
use crate::build::{BuildError, run};
use crate::model::{Scene, Value};
use crate::pack::Ruleset;

/// The most calls of one reply. Each needs a row and a result, so a reply with more is no reply.
pub(super) const MOST_CALLS: usize = 1_000;
/// The list, and the program over it.
const CALLS: &str = "tool_calls";

/// Why a call is not carried out: a code, and words for the model.
pub(super) type CallRefusal = (String, String);

/// One call, decided.
pub(super) struct DecidedCall<'a> {
    pub(super) id: String,
    pub(super) name: String,
    /// The call as it is written back into the chat.
    pub(super) written: Json,
    /// What is run with what; or the code and the words why not.
    pub(super) run: Result<(&'a RegistryEntry, Map<String, Json>), CallRefusal>,
}

/// What the calls of a reply are measured by.
pub(super) struct CallLimits<'l> {
    /// The configuration, which is laid over the values of the pack.
    pub(super) limits: &'l Json,
    /// Arguments with more bytes are not read.
    pub(super) max_args_bytes: usize,
    /// The number of the request.
    pub(super) turn: usize,
}

/// Decides the calls of a reply. `used` are the ids of the chat, to which those of the calls are added.
///
/// # Errors
/// The program of the pack fails.
pub(super) fn decide<'a>(
    rules: &Ruleset,
    tools: &'a FilteredToolRegistry,
    limits: &CallLimits<'_>,
    calls: &[Json],
    used: &mut BTreeSet<String>,
) -> Result<Vec<DecidedCall<'a>>, BuildError> {
    let turn = limits.turn;
    let read: Vec<SentCall<'_, 'a>> = calls.iter().map(|call| SentCall::of(call, tools, limits.max_args_bytes)).collect();
    let rows: Vec<Json> = read.iter().enumerate().map(|(index, call)| call.row(index, used)).collect();
    let ran = run(rules, CALLS, &scene(limits.limits, turn), &[(CALLS, json!(rows))])?;
    let rows = ran.list(CALLS);
    let row = |index: usize| rows.iter().find(|row| row.get("index").and_then(Value::as_i64) == i64::try_from(index).ok());
    Ok(read.into_iter().enumerate().map(|(index, call)| call.decided(index, turn, row(index), used)).collect())
}

/// The scene of the programs of a loop: its limits, and the number of the request.
pub(super) fn scene(limits: &Json, turn: usize) -> Scene {
    let mut limits = limits.clone();
    if let Some(limits) = limits.as_object_mut() {
        limits.insert("turn".into(), json!(turn));
    }
    Scene::new(&json!({ "tool_loop": limits }))
}

/// A call as it was sent.
struct SentCall<'c, 'a> {
    call: &'c Json,
    id: String,
    name: String,
    sent: &'static str,
    /// The arguments as they were sent, a value as compact JSON; empty if they have too many bytes to be read.
    text: String,
    /// The number of their bytes.
    bytes: usize,
    parsed: Option<Json>,
    entry: Option<&'a RegistryEntry>,
    visible: bool,
}

impl<'c, 'a> SentCall<'c, 'a> {
    fn of(call: &'c Json, tools: &'a FilteredToolRegistry, most: usize) -> Self {
        let word = |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or_default().to_owned();
        let name = word(call.pointer("/function/name"));
        let (sent, mut text) = match call.pointer("/function/arguments") {
            None | Some(Json::Null) => ("nothing", String::new()),
            Some(Json::String(text)) if text.trim().is_empty() => ("nothing", text.clone()),
            Some(Json::String(text)) => ("text", text.clone()),
            Some(other) => ("value", other.to_string()),
        };
        let bytes = text.len();
        if bytes > most {
            text.clear();
        }
        let parsed = match sent {
            _ if bytes > most => None,
            "nothing" => Some(json!({})),
            "text" => serde_json::from_str(&text).ok(),
            _ => None,
        };
        let entry = tools.registry().find(&name).map(AsRef::as_ref);
        Self { call, id: word(call.get("id")), visible: tools.shows(&name), name, sent, text, bytes, parsed, entry }
    }

    /// The row of the program.
    fn row(&self, index: usize, used: &BTreeSet<String>) -> Json {
        let checker = self.entry.and_then(|entry| entry.checker.as_ref().ok());
        let object = self.parsed.as_ref().filter(|parsed| parsed.is_object());
        let mistakes = checker.zip(object).map(|(checker, object)| checker.mistakes(object)).unwrap_or_default();
        json!({
            "index": index, "id": self.id, "used": used.contains(&self.id), "name": self.name,
            "known": self.entry.is_some(), "visible": self.visible, "sent": self.sent,
            "arguments": self.text, "bytes": self.bytes, "json": self.parsed.is_some(),
            "object": object.is_some(), "mistakes": mistakes,
        })
    }

    /// What the pack has decided. Whatever it says, ids differ, a tool that is hidden does not run, and neither does one
    /// whose arguments are no object.
    fn decided(self, index: usize, turn: usize, row: Option<&Value>, used: &mut BTreeSet<String>) -> DecidedCall<'a> {
        let word = |key: &str| row.and_then(|row| row.get(key)).and_then(Value::as_str).map(str::to_owned);
        let id = own(word("id").unwrap_or_default(), || format!("call_{turn}_{index}"), used);
        let written = written(self.call, &id, &self.name, &word("written").unwrap_or_else(|| "{}".to_owned()));
        let refused = match (row, word("code")) {
            (_, Some(code)) => Some((code, word("message").unwrap_or_default())),
            (None, None) => Some(("tool_not_allowed".to_owned(), String::new())),
            (Some(_), None) => None,
        };
        let run = match (refused, self.entry.filter(|_| self.visible), self.parsed) {
            (Some(refused), _, _) => Err(refused),
            (None, Some(entry), Some(Json::Object(arguments))) => Ok((entry, arguments)),
            (None, None, _) => Err(("tool_not_allowed".to_owned(), String::new())),
            (None, Some(_), _) => Err(("arguments_not_object".to_owned(), String::new())),
        };
        DecidedCall { id, name: self.name, written, run }
    }
}

/// An id that no other call of the chat has.
fn own(id: String, otherwise: impl Fn() -> String, used: &mut BTreeSet<String>) -> String {
    let mut own = if id.trim().is_empty() { otherwise() } else { id };
    let mut n = 1_usize;
    while used.contains(&own) {
        n += 1;
        own = format!("{}_{n}", otherwise());
    }
    used.insert(own.clone());
    own
}

/// A call as the chat keeps it: in the usual shape, with whatever else the provider sent in it.
fn written(call: &Json, id: &str, name: &str, arguments: &str) -> Json {
    let mut call = call.as_object().cloned().unwrap_or_default();
    let mut function = call.get("function").and_then(Json::as_object).cloned().unwrap_or_default();
    function.insert("name".into(), json!(name));
    function.insert("arguments".into(), json!(arguments));
    call.insert("id".into(), json!(id));
    call.insert("type".into(), json!("function"));
    call.insert("function".into(), Json::Object(function));
    Json::Object(call)
}
