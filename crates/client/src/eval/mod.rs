//! Evaluation: scenarios × models × modes × presets, each asked several times.
//!
//! An [`EvalFile`] says what is asked and what the replies must be like. [`cells`] lists what there is to do: one cell for each
//! scenario, model, mode, preset and repetition. [`evaluate`] does it over transports that the application brings, and an
//! [`EvalReport`] counts: success rates with confidence intervals, percentiles of latency, tokens, cost, and why replies failed. What
//! is done is reported as it is done, one [`CellOutcome`] at a time, so that an interrupted evaluation goes on where it ended. Time
//! comes from outside.

mod judge;
mod page;
mod report;
mod scenario;
mod trial;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::model::Value;
use crate::text::functions::fingerprint;

pub use judge::{CallRecord, DirectiveRecord, ReplyCheck};
pub use report::{CellGroup, CellOutcome, CellSlice, CheckRecord, EvalReport, TokenCounts, finished, percentile, wilson};
pub use scenario::{Candidate, EvalFile, EvalFileMistake, EvalPreset, Scenario, TokenPrice};
pub use trial::{EvalClock, Evaluation, TrialSubject, dialect_of, evaluate, known};

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

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalCell {
    /// The index of the scenario.
    pub scenario: usize,
    /// The index of the model.
    pub model: usize,
    /// The mode.
    pub mode: EvalMode,
    /// The index of the preset.
    pub preset: usize,
    /// The repetition, from 1.
    pub repetition: u32,
}

/// What is wanted of a file.
#[derive(Debug, Clone)]
pub struct CellOptions {
    /// The modes, for scenarios that name none.
    pub modes: Vec<EvalMode>,
    /// How often each is asked.
    pub repetitions: u32,
}

/// Every cell, in order. A scenario that is not for a mode has no cell in it.
#[must_use]
pub fn cells(file: &EvalFile, wanted: &CellOptions) -> Vec<EvalCell> {
    let mut all = Vec::new();
    for (scenario, asked) in file.scenarios.iter().enumerate() {
        let modes = wanted.modes.iter().filter(|mode| asked.modes.as_ref().is_none_or(|own| own.contains(mode)));
        for mode in modes {
            for model in 0..file.models.len() {
                for preset in 0..file.presets.len() {
                    all.extend((1..=wanted.repetitions).map(|repetition| EvalCell { scenario, model, mode: *mode, preset, repetition }));
                }
            }
        }
    }
    all
}

/// The name of a cell in a file of results.
pub(super) fn key(file: &EvalFile, cell: &EvalCell) -> String {
    let scenario = file.scenarios.get(cell.scenario).map_or("", |s| s.name.get_ref());
    let model = file.models.get(cell.model).map_or("", |m| m.name.as_str());
    let preset = file.presets.get(cell.preset).map_or("", |p| p.name.as_str());
    format!("{scenario}/{model}/{}/{preset}/{}", cell.mode.name(), cell.repetition)
}

/// What a result depends on: of a result with another one, nothing is kept. `prompt` is the fingerprint of rules and scene.
pub(super) fn inputs(scenario: &Scenario, model: &Candidate, preset: &EvalPreset, prompt: &str) -> String {
    let checks: Vec<_> = scenario.checks.iter().map(toml::Spanned::get_ref).collect();
    let whole = json!({
        "message": scenario.message, "set": scenario.set, "options": scenario.options, "tools": scenario.tools,
        "directives": scenario.directives, "checks": checks, "model": model, "preset": preset, "prompt": prompt,
    });
    fingerprint(&Value::from(&whole)).chars().take(16).collect()
}
