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
    /// The dialect of the pack that writes its requests: `openai` (the default), `anthropic`, `google` … Clients may speak
    /// another one; their requests and its answers are translated.
    #[serde(default = "default_dialect")]
    pub dialect: String,
    /// The variable that holds its key. Without it, the key that the client sends is handed on.
    pub key_env: Option<String>,
}

fn default_dialect() -> String {
    ClientDialect::Openai.name().to_owned()
}

/// The requests that clients may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientDialect {
    /// `POST /v1/chat/completions`
    Openai,
    /// `POST /v1/messages`
    Anthropic,
}

impl ClientDialect {
    /// The one of this name, if clients may speak it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Openai, Self::Anthropic].into_iter().find(|dialect| dialect.name() == name)
    }

    /// The dialect of a pack that writes such requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The path at which such requests are answered.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Openai => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }
}

impl UpstreamConfig {
    /// The base address as the dialects of packs take it: without a path, the version is added where it is known.
    pub(crate) fn base_url(&self) -> String {
        let base = self.url.trim_end_matches('/');
        let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/')) || ClientDialect::named(&self.dialect).is_none();
        format!("{base}{}", if has_path { "" } else { "/v1" })
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
            config.upstream_of(model)?;
            if model.failing == FailedBuildPolicy::Send && model.scene.is_some() {
                return Err(format!(
                    "model `{}` is a character: without its rules, `failing = \"send\"` would send nothing of it",
                    model.name
                ));
            }
        }
        Ok(config)
    }

    /// The provider of a model.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn upstream_of(&self, model: &ModelConfig) -> Result<&UpstreamConfig, String> {
        let ModelConfig { name, upstream, .. } = model;
        let missing = || format!("model `{name}` names the upstream `{upstream}`, and there is no [upstream.{upstream}]");
        self.upstream.get(upstream).ok_or_else(missing)
    }
}

impl ModelConfig {
    /// Whether this is the model that a client names.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => self.name == name,
        }
    }
}
