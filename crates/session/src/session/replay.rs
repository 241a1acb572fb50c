//! Calls to a model from inside of pure programs, by running a program again with every reply it has asked for.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Value as Json, json};

use super::SessionError;
use crate::build::BuildError;
use crate::model::{Scene, Value};

/// The most requests of the operations of one half of a turn.
const MAX_REQUESTS: usize = 64;

/// What an operation asks of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationRequest {
    /// The operation.
    pub operation: String,
    /// The messages: a list of `{role, content}`.
    pub messages: Json,
    /// What the row of the operation says besides: model, output mode and the like.
    pub params: Json,
}

/// Why a model gave no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it is: `timeout`, `rate_limit`, `provider_error` …
    pub code: String,
    /// What happened.
    pub message: String,
}

/// Whoever answers the requests of operations: a provider, or recorded replies.
pub trait Model: Send + Sync {
    /// The reply to a request.
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>>;
}

/// A model for packs whose operations ask none; a request that comes all the same fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModel;

impl Model for NoModel {
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        let message = format!("operation `{}` asks a model, and none is connected", request.operation);
        Box::pin(std::future::ready(Err(ModelError { code: "no_model".to_owned(), message })))
    }
}

/// Runs `program` until it asks for nothing more. `requests` reads what a result asks for. The replies stay in the scene.
pub(super) async fn replay<T>(
    scene: &mut Scene,
    model: &dyn Model,
    program: impl Fn(&Scene) -> Result<T, BuildError>,
    requests: impl Fn(&T) -> Value,
) -> Result<T, SessionError> {
    let mut asked = 0;
    loop {
        let result = program(scene)?;
        let open = open(&requests(&result), scene);
        if open.is_empty() {
            return Ok(result);
        }
        drop(result);
        for request in open {
            asked += 1;
            if asked > MAX_REQUESTS {
                return Err(SessionError::TooManyRequests(MAX_REQUESTS));
            }
            let reply = match model.ask(&request).await {
                Ok(text) => json!({ "text": text }),
                Err(error) => json!({ "error": { "code": error.code, "message": error.message } }),
            };
            let mut replies = scene.get("replies").to_json();
            if !replies.is_object() {
                replies = json!({});
            }
            if let Some(replies) = replies.as_object_mut() {
                replies.insert(request.operation, reply);
            }
            scene.set("replies", Value::from(&replies));
        }
    }
}

/// The requests without a reply. One that is asked again although its reply is there is not asked twice.
fn open(requests: &Value, scene: &Scene) -> Vec<OperationRequest> {
    let known = scene.get("replies");
    let text = |row: &Json, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let mut out: Vec<OperationRequest> = Vec::new();
    for row in requests.to_json().as_array().into_iter().flatten() {
        let operation = text(row, "operation");
        if known.get(&operation).is_none() && !out.iter().any(|r| r.operation == operation) {
            out.push(OperationRequest { operation, messages: row["messages"].clone(), params: row["params"].clone() });
        }
    }
    out
}
