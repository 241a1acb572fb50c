//! What requests and messages of an editor are read into, and answers.

use lsp_server::{ErrorCode, ExtractError, Notification, Request};
use lsp_types::Uri;
use lsp_types::notification as notify;
use lsp_types::notification::Notification as _;
use lsp_types::request as ask;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// The answer to a request.
pub(crate) type Answer = Result<Json, (ErrorCode, String)>;

pub(crate) fn params_of<R: ask::Request>(request: Request) -> Result<R::Params, (ErrorCode, String)> {
    request.extract(R::METHOD).map(|(_, params)| params).map_err(|error| match error {
        ExtractError::JsonError { error, .. } => (ErrorCode::InvalidParams, error.to_string()),
        ExtractError::MethodMismatch(_) => (ErrorCode::MethodNotFound, R::METHOD.to_owned()),
    })
}

pub(crate) fn read_params<T: DeserializeOwned>(params: Json) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}

/// The files of a message that says that files were saved or have changed.
pub(crate) fn saved_addresses(message: Notification) -> Vec<Uri> {
    if message.method == notify::DidSaveTextDocument::METHOD {
        let params = lsp_types::DidSaveTextDocumentParams::deserialize(message.params);
        return params.map(|params| params.text_document.uri).into_iter().collect();
    }
    let params = lsp_types::DidChangeWatchedFilesParams::deserialize(message.params);
    params.into_iter().flat_map(|params| params.changes).map(|change| change.uri).collect()
}

pub(crate) fn json_of(result: impl serde::Serialize) -> Answer {
    serde_json::to_value(result).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}
