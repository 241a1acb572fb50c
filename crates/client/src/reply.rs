//! What came back.

use serde_json::Value as Json;

/// A part of a streamed reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More of the text.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
}

/// One reply of a model.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Reply {
    /// The assistant's message in the shape of chat completions: `role`, `content`, `tool_calls`, and whatever else the
    /// provider sent in it.
    pub message: Json,
    /// What the model thought, wherever the provider puts it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Why the model stopped; the provider's word where it has no usual one.
    pub finish_reason: Option<String>,
    /// Token counts as the provider gives them; null if it gives none.
    pub usage: Json,
}

impl Reply {
    /// The text of the message, also where it is written in parts.
    #[must_use]
    pub fn text(&self) -> String {
        match self.message.get("content") {
            Some(Json::String(text)) => text.clone(),
            Some(Json::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Json::as_str)).collect(),
            _ => String::new(),
        }
    }
}
