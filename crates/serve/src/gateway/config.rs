//! What a gateway is told by its configuration: the providers that it may call, and the models that clients may name.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::Deserialize;

/// The configuration of a gateway, as its file has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The providers, by name.
    pub upstream: IndexMap<String, UpstreamConfig>,
    /// The models, in order: the first whose name fits answers.
    pub model: Vec<ModelConfig>,
}

/// A provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Its base address, with its version: `https://api.openai.com/v1`.
    pub url: String,
    /// Which requests it takes.
    #[serde(default)]
    pub dialect: ClientDialect,
    /// The variable that holds its key. Without it, the key that the client sends is handed on.
    pub key_env: Option<String>,
}

/// The requests that clients may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientDialect {
    /// `POST /v1/chat/completions`
    #[default]
    Openai,
    /// `POST /v1/messages`
    Anthropic,
}

impl ClientDialect {
    /// The dialect of a pack that writes such requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The format of a pack that reads such requests.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Openai => "openai_request",
            Self::Anthropic => "anthropic_request",
        }
    }

    /// The end of the address that takes them.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Openai => "/chat/completions",
            Self::Anthropic => "/messages",
        }
    }

    /// The header that has a key, and what stands in front of it.
    pub(crate) fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::Openai => ("authorization", "Bearer "),
            Self::Anthropic => ("x-api-key", ""),
        }
    }
}

/// A model as clients name it, with its rules.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// What clients send as `model`; a name that ends with `*` fits all that begin so.
    pub name: String,
    /// The provider that answers, by its name.
    pub upstream: String,
    /// The model that the provider is asked for. Default: what the client has named.
    pub send_as: Option<String>,
    /// A scene folder or file: the client talks to its character. Without it, the client's messages are rewritten.
    pub scene: Option<PathBuf>,
    /// The pack that rewrites messages. Default: `gateway`; that of the scene.
    pub pack: Option<String>,
    /// Rule files that are laid over the pack.
    #[serde(default)]
    pub overlays: Vec<PathBuf>,
    /// Options of the pack.
    #[serde(default)]
    pub option: toml::Table,
    /// What is done with a request that the rules cannot build.
    #[serde(default)]
    pub failing: FailedBuildPolicy,
}

/// What is done with a request that the rules cannot build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedBuildPolicy {
    /// It is answered with an error.
    #[default]
    Refuse,
    /// It is sent as the client wrote it.
    Send,
}

impl GatewayConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// What is wrong, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error: toml::de::Error| {
            // the line itself may hold a key
            let line = error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1);
            format!("line {line}: {}", error.message())
        })?;
        for model in &config.model {
            if !config.upstream.contains_key(&model.upstream) {
                return Err(format!(
                    "model `{}` names the upstream `{}`, and there is no [upstream.{}]",
                    model.name, model.upstream, model.upstream
                ));
            }
            if model.failing == FailedBuildPolicy::Send && model.scene.is_some() {
                return Err(format!(
                    "model `{}` is a character: without its rules, `failing = \"send\"` would send nothing of it",
                    model.name
                ));
            }
        }
        Ok(config)
    }

    /// The place of the model that a client names.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.model.iter().position(|model| match model.name.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => model.name == name,
        })
    }
}
