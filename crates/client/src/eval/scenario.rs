//! Files of scenarios: what is asked, of whom, and what the reply must be like.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use toml::Spanned;

use super::EvalMode;
use super::judge::{CompiledCheck, ReplyCheck};

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalFileMistake {
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Where, in bytes.
    pub at: Range<usize>,
}

/// A file of scenarios.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalFile {
    /// What the file is for.
    #[serde(default)]
    pub about: String,
    /// The scenarios.
    #[serde(default, rename = "scenario")]
    pub scenarios: Vec<Scenario>,
    /// The models; without them, those of the command line.
    #[serde(default, rename = "model")]
    pub models: Vec<Candidate>,
    /// Settings that are compared with each other; without them, there is one, called `plain`.
    #[serde(default, rename = "preset")]
    pub presets: Vec<EvalPreset>,
    /// What tokens cost.
    #[serde(default, rename = "price")]
    pub prices: Vec<TokenPrice>,
}

/// Where the rows are that know no place of their own.
#[derive(Default, Deserialize)]
struct RowPositions {
    #[serde(default)]
    model: Vec<Spanned<toml::Table>>,
    #[serde(default)]
    preset: Vec<Spanned<toml::Table>>,
    #[serde(default)]
    price: Vec<Spanned<toml::Table>>,
}

/// One thing that is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, unique in a run.
    pub name: Spanned<String>,
    /// What it is for.
    #[serde(default)]
    pub about: String,
    /// The scene, a folder or file, relative to this file.
    pub scene: PathBuf,
    /// The user's message, instead of the scene's.
    #[serde(default)]
    pub message: Option<String>,
    /// Paths of the scene, over everything else.
    #[serde(default)]
    pub set: BTreeMap<String, Json>,
    /// The modes that it makes sense in; without it, all that are asked for.
    #[serde(default)]
    pub modes: Option<Vec<EvalMode>>,
    /// Options of its requests.
    #[serde(default)]
    pub options: Map<String, Json>,
    /// The tools that the model may use; without it, all.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// The directives that the model may use; without it, all.
    #[serde(default)]
    pub directives: Option<Vec<String>>,
    /// What the reply must be like.
    #[serde(default, rename = "check")]
    pub checks: Vec<Spanned<ReplyCheck>>,
}

/// A model that is tried.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its name in tables, unique in a run.
    pub name: String,
    /// Its name for the provider; without it, `name`.
    #[serde(default)]
    pub model: Option<String>,
    /// The provider.
    #[serde(default)]
    pub provider: Option<String>,
    /// The dialect that it is asked in.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Where it is asked.
    #[serde(default)]
    pub url: Option<String>,
    /// The environment variable with its key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// What it can do, over what the pack says.
    #[serde(default)]
    pub capabilities: Map<String, Json>,
    /// Options of its requests.
    #[serde(default)]
    pub options: Map<String, Json>,
}

impl Candidate {
    /// A model that is called like this.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Its name for the provider.
    #[must_use]
    pub fn id(&self) -> &str {
        self.model.as_deref().unwrap_or(&self.name)
    }
}

/// Settings that are compared.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EvalPreset {
    /// Its name, unique in a run.
    pub name: String,
    /// Options of its requests.
    #[serde(default)]
    pub options: Map<String, Json>,
    /// Keys of the configuration of a run: `tool_calling`, `directives`, `response_transforms` …
    #[serde(default)]
    pub config: Map<String, Json>,
}

/// What a million tokens cost.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPrice {
    /// The model, by its name for the provider; `*` stands for anything.
    pub model: String,
    /// Tokens of the prompt.
    pub input: f64,
    /// Tokens of the reply.
    pub output: f64,
    /// Tokens of the prompt that the provider had in its cache; without it, the price of `input`.
    #[serde(default)]
    pub cached: Option<f64>,
}

impl TokenPrice {
    /// Whether it is the price of a model.
    #[must_use]
    pub fn is_of(&self, model: &str) -> bool {
        glob(&self.model, model)
    }

    /// What so many tokens cost.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no reply has so many tokens that it matters")]
    pub fn cost(&self, input: u64, output: u64, cached: u64) -> f64 {
        let fresh = input.saturating_sub(cached) as f64;
        (fresh * self.input + cached.min(input) as f64 * self.cached.unwrap_or(self.input) + output as f64 * self.output) / 1e6
    }
}

/// Whether a text fits a pattern with `*`.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, parts)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(first) else { return false };
    let (middle, last) = parts.rsplit_once('*').unwrap_or(("", parts));
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    for part in middle.split('*') {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

impl EvalFile {
    /// Reads a file of scenarios, written in TOML.
    ///
    /// # Errors
    /// Everything that is wrong with it; of what cannot be read at all, the first.
    pub fn parse(text: &str) -> Result<Self, Vec<EvalFileMistake>> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            let help = "docs/eval.md lists the keys of such a file".to_owned();
            vec![EvalFileMistake { message: error.message().to_owned(), help, at }]
        })?;
        let mistakes = file.mistakes(text);
        if mistakes.is_empty() { Ok(file) } else { Err(mistakes) }
    }

    fn mistakes(&self, text: &str) -> Vec<EvalFileMistake> {
        let mut mistakes = Vec::new();
        let mut wrong =
            |at: Range<usize>, message: String, help: &str| mistakes.push(EvalFileMistake { message, help: help.to_owned(), at });
        let mut names = BTreeSet::new();
        for scenario in &self.scenarios {
            let (name, at) = (scenario.name.get_ref().as_str(), scenario.name.span());
            if name.trim().is_empty() {
                wrong(at.clone(), "a scenario has no name".to_owned(), "give it one");
            }
            if !names.insert(name) {
                wrong(at.clone(), format!("another scenario is called `{name}`"), "rename one of them");
            }
            if scenario.modes.as_ref().is_some_and(Vec::is_empty) {
                wrong(at, format!("scenario `{name}` is for no mode"), "leave out `modes`, or name one");
            }
            for check in &scenario.checks {
                if let Err(why) = CompiledCheck::of(check.get_ref()) {
                    wrong(check.span(), why, "a check says one thing about the reply; docs/eval.md lists what it may say");
                }
            }
        }
        let rows: RowPositions = toml::from_str(text).unwrap_or_default();
        let models = rows.model.iter().zip(self.models.iter().map(|m| m.name.as_str()));
        let presets = rows.preset.iter().zip(self.presets.iter().map(|p| p.name.as_str()));
        for (what, named) in [("model", models.collect::<Vec<_>>()), ("preset", presets.collect())] {
            let mut seen = BTreeSet::new();
            for (row, name) in named {
                if name.trim().is_empty() || !seen.insert(name) {
                    let message = format!("the name `{name}` of a {what} is empty or not the only one");
                    wrong(row.span(), message, "give each a name of its own");
                }
            }
        }
        let sane = |n: f64| n.is_finite() && n >= 0.0;
        for (row, price) in rows.price.iter().zip(&self.prices) {
            if !(sane(price.input) && sane(price.output) && price.cached.is_none_or(sane)) {
                let message = format!("the price of `{}` is negative or no number", price.model);
                wrong(row.span(), message, "write the price of a million tokens");
            }
        }
        mistakes
    }
}
