//! What there is to do: one cell for each scenario, model, mode, preset and repetition.

use serde_json::json;

use super::mode::EvalMode;
use super::scenario::{Candidate, EvalFile, EvalPreset, Scenario};
use crate::model::Value;
use crate::text::functions::fingerprint;

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
