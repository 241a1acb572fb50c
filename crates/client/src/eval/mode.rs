//! How a model is asked.

use serde::{Deserialize, Serialize};

/// How a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalMode {
    /// For a plain reply.
    Chat,
    /// In the loop of tools.
    Tools,
    /// For directives, in the modes that the configuration says.
    Directives,
    /// For directives by a JSON Schema.
    JsonSchema,
    /// For directives as any JSON object.
    JsonObject,
    /// For directives by words alone.
    PromptOnly,
}

impl EvalMode {
    /// All modes.
    pub const ALL: [Self; 6] = [Self::Chat, Self::Tools, Self::Directives, Self::JsonSchema, Self::JsonObject, Self::PromptOnly];

    /// Its name in files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tools => "tools",
            Self::Directives => "directives",
            Self::JsonSchema => "json_schema",
            Self::JsonObject => "json_object",
            Self::PromptOnly => "prompt_only",
        }
    }

    /// The mode of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
