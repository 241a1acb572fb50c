//! Doing the cells: several at a time, those that are finished not again, and each told as soon as it is done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use super::super::tools::together;
use super::super::{BoxFuture, Transport};
use super::cell::{EvalCell, inputs, key};
use super::record::CellOutcome;
use super::scenario::{Candidate, EvalFile, EvalPreset, Scenario};
use super::trial::{CellTrial, EvalClock, TrialSubject};
use crate::model::Value;
use crate::text::functions::fingerprint;

/// An evaluation: what is asked, with what, and of whom.
pub struct Evaluation {
    /// The file.
    pub file: EvalFile,
    /// What each scenario is asked with, in the order of the file.
    pub subjects: Vec<TrialSubject>,
    /// How each model is reached, in the order of the file.
    pub transports: Vec<Arc<dyn Transport>>,
    /// Measures time.
    pub clock: EvalClock,
    /// How many cells are done at a time.
    pub jobs: usize,
    /// Cells in which the provider was the trouble are done again.
    pub retry: bool,
}

/// Does the cells that are not finished, and tells each as soon as it is done. Gives all outcomes, in the order of the
/// cells: a finished one counts if what it depends on is still the same. Dropping the future cancels what is being done.
pub async fn evaluate(
    evaluation: &Evaluation,
    cells: &[EvalCell],
    finished: &BTreeMap<String, CellOutcome>,
    told: &(dyn Fn(&CellOutcome) + Sync),
) -> Vec<CellOutcome> {
    let prompts: Vec<String> = evaluation.subjects.iter().map(prompt).collect();
    let queue = Mutex::new(cells.iter().enumerate());
    let done: Mutex<BTreeMap<usize, CellOutcome>> = Mutex::default();
    let worker = || -> BoxFuture<'_, ()> {
        Box::pin(async {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((at, cell)) = next else { return };
                let Some(task) = CellTask::of(evaluation, cell, &prompts) else { continue };
                let outcome = match task.finished(evaluation, finished) {
                    Some(old) => old.clone(),
                    None => {
                        let outcome = task.run(evaluation).await;
                        told(&outcome);
                        outcome
                    }
                };
                done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, outcome);
            }
        })
    };
    let workers = evaluation.jobs.clamp(1, cells.len().max(1));
    together((0..workers).map(|_| worker()).collect()).await;
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// What is known of the cells without asking anything: what `told` holds, and otherwise what is finished and still the
/// same. An evaluation that was interrupted has these outcomes.
#[must_use]
pub fn known(
    evaluation: &Evaluation,
    cells: &[EvalCell],
    finished: &BTreeMap<String, CellOutcome>,
    told: &BTreeMap<String, CellOutcome>,
) -> Vec<CellOutcome> {
    let prompts: Vec<String> = evaluation.subjects.iter().map(prompt).collect();
    let tasks = cells.iter().filter_map(|cell| CellTask::of(evaluation, cell, &prompts));
    tasks.filter_map(|task| told.get(&task.key).or_else(|| task.finished(evaluation, finished)).cloned()).collect()
}

/// The fingerprint of what a prompt is made of.
fn prompt(subject: &TrialSubject) -> String {
    let tools: Vec<_> = subject.tools.specs().map(|spec| json!([spec.name, spec.description, spec.parameters])).collect();
    let scene = &subject.scene;
    fingerprint(&Value::from(&json!([subject.rules.fingerprint(), scene.data.to_json(), scene.seed, tools])))
}

/// One cell with its parts.
struct CellTask<'a> {
    key: String,
    inputs: String,
    cell: EvalCell,
    scenario: &'a Scenario,
    candidate: &'a Candidate,
    preset: &'a EvalPreset,
    subject: &'a TrialSubject,
    transport: &'a Arc<dyn Transport>,
}

impl<'a> CellTask<'a> {
    fn of(evaluation: &'a Evaluation, cell: &EvalCell, prompts: &[String]) -> Option<Self> {
        let file = &evaluation.file;
        let (scenario, candidate) = (file.scenarios.get(cell.scenario)?, file.models.get(cell.model)?);
        let preset = file.presets.get(cell.preset)?;
        Some(Self {
            key: key(file, cell),
            inputs: inputs(scenario, candidate, preset, prompts.get(cell.scenario)?),
            cell: *cell,
            scenario,
            candidate,
            preset,
            subject: evaluation.subjects.get(cell.scenario)?,
            transport: evaluation.transports.get(cell.model)?,
        })
    }

    /// The outcome that the task already has.
    fn finished<'o>(&self, evaluation: &Evaluation, finished: &'o BTreeMap<String, CellOutcome>) -> Option<&'o CellOutcome> {
        finished.get(&self.key).filter(|old| old.inputs == self.inputs && !(evaluation.retry && old.is_trouble()))
    }

    async fn run(&self, evaluation: &Evaluation) -> CellOutcome {
        let trial = CellTrial {
            subject: self.subject,
            scenario: self.scenario,
            candidate: self.candidate,
            preset: self.preset,
            mode: self.cell.mode,
            transport: Arc::clone(self.transport),
            clock: &evaluation.clock,
        };
        let outcome = trial.run().await;
        let price = evaluation.file.prices.iter().find(|price| price.is_of(self.candidate.id()));
        let cost = price.zip(outcome.tokens).map(|(price, tokens)| price.cost(tokens.input, tokens.output, tokens.cached));
        CellOutcome {
            key: self.key.clone(),
            inputs: self.inputs.clone(),
            scenario: self.scenario.name.get_ref().clone(),
            model: self.candidate.name.clone(),
            mode: self.cell.mode.name().to_owned(),
            preset: self.preset.name.clone(),
            repetition: self.cell.repetition,
            cost,
            ..outcome
        }
    }
}
