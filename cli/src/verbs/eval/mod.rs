//! `tapster eval`: scenarios × models × modes × presets, each asked several times.

mod progress;
mod results;
mod sources;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::Args;

use crate::diag::{Code, Diagnostic, DiagnosticCode};
use crate::run::Transport;
use crate::run::eval::{
    Candidate, CellOptions, CellOutcome, EvalCell, EvalClock, EvalFile, EvalMode, EvalPreset, EvalReport, Evaluation, TrialSubject, cells,
    dialect_of, evaluate, known,
};
use crate::run::tools::ToolRegistry;

use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::files::write_file;
use crate::inputs::tools::host_tools;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::waiting::wait;
use progress::EvalProgress;
use results::ResultsFile;
use sources::ScenarioFiles;

/// Ask models what scenario files say, judge the replies, and count.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster eval examples/tools/eval.toml --model gpt-4o gpt-4o-mini --repeat 5 --results run.jsonl
  tapster eval scenarios.toml --model local --url http://127.0.0.1:8080/v1 --mode chat tools --tools host.toml
  tapster eval scenarios.toml --model m --mode json_schema json_object prompt_only --html report.html
  tapster eval scenarios.toml --model m --results run.jsonl --at-least 0.9 --format json
  tapster eval scenarios.toml --model m --replay recorded.jsonl

With `--results` an evaluation that was interrupted goes on where it ended: a cell is not asked again if its scenario,
its prompt, its model and its settings are still the same.

Exit code 1: cells are still to be done, or fewer succeeded than `--at-least` says.
docs/eval.md describes the files.")]
pub(crate) struct EvalArgs {
    /// Files of scenarios (TOML).
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The models that are asked: names of `[[model]]` rows, or of the provider [default: all `[[model]]` rows].
    #[arg(long, value_name = "NAME", num_args = 1..)]
    model: Vec<String>,
    /// How they are asked: chat, tools, directives, json_schema, json_object, prompt_only.
    #[arg(long, value_name = "MODE", num_args = 1.., default_value = "chat", value_parser = mode)]
    mode: Vec<EvalMode>,
    /// The settings that are compared: names of `[[preset]]` rows [default: all].
    #[arg(long, value_name = "NAME", num_args = 1..)]
    preset: Vec<String>,
    /// The scenarios that are asked [default: all].
    #[arg(long, value_name = "NAME", num_args = 1..)]
    scenario: Vec<String>,
    /// How often each is asked.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// How many are asked at a time.
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Commands and MCP servers that may be called in the mode `tools`.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// A file with `[[price]]` rows, in front of those of the scenario files.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Appends every result to this file as it comes, and does not ask again what is in it.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    results: Option<PathBuf>,
    /// Asks again where the provider, and not the reply, was the trouble.
    #[arg(long, help_heading = "Results")]
    retry_failed: bool,
    /// Writes a page with plots.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    html: Option<PathBuf>,
    /// Writes one line for each result, as comma-separated values.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    csv: Option<PathBuf>,
    /// The share that must succeed, from 0 to 1; otherwise the exit code is 1.
    #[arg(long, value_name = "RATE", default_value = "0", value_parser = rate, help_heading = "Results")]
    at_least: f64,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// How a model is reached: address, variable of the key, dialect.
type ModelRoute = (Option<String>, Option<String>, String);

fn mode(name: &str) -> Result<EvalMode, String> {
    EvalMode::named(name).ok_or_else(|| format!("write one of {}", EvalMode::ALL.map(EvalMode::name).join(", ")))
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate)).ok_or_else(|| "a number from 0 to 1".to_owned())
}

impl EvalArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let ScenarioFiles { mut file, folders } = sources::read(&self.files, self.prices.as_deref(), show)?;
        self.choose(&mut file)?;
        let folders: BTreeMap<&str, &PathBuf> = folders.iter().map(|(name, folder)| (name.as_str(), folder)).collect();
        let tools = self.tools(show)?;
        let mut subjects = Vec::new();
        for scenario in &file.scenarios {
            let folder = folders.get(scenario.name.get_ref().as_str()).map_or_else(PathBuf::new, |folder| (*folder).clone());
            let (rules, scene) = sources::scene(scenario, &folder, &self.endpoint, show)?;
            subjects.push(TrialSubject { rules, scene, tools: tools.clone() });
        }
        let transports = self.transports(&file, &subjects, show)?;
        let all = cells(&file, &CellOptions { modes: self.mode.clone(), repetitions: self.repeat });
        if all.is_empty() {
            let message = "there is nothing to ask: no scenario is for these modes";
            return Err(EarlyExit::could_not(Code::SceneField, message, "name other modes with `--mode`"));
        }
        let results = ResultsFile::open(self.results.as_deref(), show)?;
        let about = file.about.clone();
        let evaluation = Evaluation { file, subjects, transports, clock: self.clock(), jobs: self.jobs.into(), retry: self.retry_failed };
        let (outcomes, missing) = asked(&evaluation, &all, &results, show)?;
        let report = EvalReport::of(&about, outcomes, missing);
        self.tell(&report, show)?;
        Ok(if missing == 0 && report.total.rate >= self.at_least { RunExit::Done } else { RunExit::No })
    }

    /// Keeps what the flags name; a model that no row describes is one of the endpoint's.
    fn choose(&self, file: &mut EvalFile) -> Result<(), EarlyExit> {
        let unknown = |what: &str, name: &str, known: Vec<&str>| {
            let help = crate::diag::suggest::help(name, known.iter().copied());
            let help = help.unwrap_or_else(|| {
                format!("the files have {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") }).into()
            });
            EarlyExit::could_not(Code::NameUnknown, format!("no file has a {what} `{name}`"), help)
        };
        for name in &self.scenario {
            if !file.scenarios.iter().any(|s| s.name.get_ref() == name) {
                return Err(unknown("scenario", name, file.scenarios.iter().map(|s| s.name.get_ref().as_str()).collect()));
            }
        }
        for name in &self.preset {
            if !file.presets.iter().any(|p| p.name == *name) {
                return Err(unknown("preset", name, file.presets.iter().map(|p| p.name.as_str()).collect()));
            }
        }
        if !self.scenario.is_empty() {
            file.scenarios.retain(|s| self.scenario.contains(s.name.get_ref()));
        }
        if !self.preset.is_empty() {
            file.presets.retain(|p| self.preset.contains(&p.name));
        }
        if file.presets.is_empty() {
            file.presets.push(EvalPreset { name: "plain".to_owned(), ..EvalPreset::default() });
        }
        if !self.model.is_empty() {
            let row = |name: &String| file.models.iter().find(|m| m.name == *name).cloned().unwrap_or_else(|| Candidate::named(name));
            file.models = self.model.iter().map(row).collect();
        }
        if file.models.is_empty() {
            return Err(EarlyExit::could_not(
                Code::SceneField,
                "no model is named",
                "name it with `--model NAME`, or with a row `[[model]]`",
            ));
        }
        if let Some(provider) = &self.endpoint.provider {
            file.models.iter_mut().for_each(|model| _ = model.provider.get_or_insert_with(|| provider.clone()));
        }
        Ok(())
    }

    fn tools(&self, show: &mut OutputStreams<'_, '_>) -> Result<ToolRegistry, EarlyExit> {
        self.tools.as_deref().map_or_else(|| Ok(ToolRegistry::new()), |path| host_tools(path, show))
    }

    /// One transport for each model; models with the same address and key share one.
    fn transports(
        &self,
        file: &EvalFile,
        subjects: &[TrialSubject],
        show: &mut OutputStreams<'_, '_>,
    ) -> Result<Vec<Arc<dyn Transport>>, EarlyExit> {
        let Some(subject) = subjects.first() else { return Ok(Vec::new()) };
        let addressed = subjects.iter().any(|subject| !subject.scene.get("provider.url").is_null());
        let mut made: Vec<(ModelRoute, Arc<dyn Transport>)> = Vec::new();
        let mut transports = Vec::new();
        for model in &file.models {
            let dialect = self.dialect(file, subject, model)?;
            let own = (model.url.clone(), model.key_env.clone(), dialect);
            if let Some((_, transport)) = made.iter().find(|(known, _)| *known == own) {
                transports.push(Arc::clone(transport));
                continue;
            }
            if !made.is_empty() && (self.endpoint.record.is_some() || self.endpoint.replay.is_some()) {
                let message = "`--record` and `--replay` are for models with one address";
                return Err(EarlyExit::could_not(Code::SceneField, message, "name models of one provider with `--model`"));
            }
            let mut endpoint = self.endpoint.clone();
            if own.0.is_some() && own.0 != endpoint.url {
                // a key that was named for the flags' address does not go to one that a file names
                (endpoint.key_env, endpoint.key_file) = (None, None);
                endpoint.url.clone_from(&own.0);
            }
            if own.1.is_some() {
                endpoint.key_env.clone_from(&own.1);
                endpoint.key_file = None;
            }
            let transport = endpoint.transport(&subject.rules, &own.2, addressed, Arc::new(|_| {}), show)?;
            made.push((own, Arc::clone(&transport)));
            transports.push(transport);
        }
        Ok(transports)
    }

    /// The dialect in which a model is asked, which decides about its key. It is the same with all presets.
    fn dialect(&self, file: &EvalFile, subject: &TrialSubject, model: &Candidate) -> Result<String, EarlyExit> {
        let mut found: Option<String> = None;
        for preset in &file.presets {
            let dialect = dialect_of(subject, model, preset).map_err(|error| {
                let message = format!("model `{}` cannot be asked with preset `{}`: {error}", model.name, preset.name);
                EarlyExit::could_not(Code::SceneField, message, "correct the `config` of the preset, or the row of the model")
            })?;
            if found.as_ref().is_some_and(|found| *found != dialect) {
                let message = format!("the presets give model `{}` different dialects, which need different keys", model.name);
                return Err(EarlyExit::could_not(Code::SceneField, message, "set `dialect` in the row `[[model]]`"));
            }
            found = Some(dialect);
        }
        Ok(found.unwrap_or_default())
    }

    /// The machine's clock; a replay takes no time that means anything.
    fn clock(&self) -> EvalClock {
        if self.endpoint.replay.is_some() {
            return Arc::new(|| None);
        }
        let begun = Instant::now();
        Arc::new(move || u64::try_from(begun.elapsed().as_millis()).ok())
    }

    fn tell(&self, report: &EvalReport, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        if let Some(path) = &self.html {
            write_file(path, report.html())?;
        }
        if let Some(path) = &self.csv {
            write_file(path, report.csv())?;
        }
        if show.is_json() {
            show.json(&serde_json::to_value(report).unwrap_or_default());
        } else {
            show.result(&report.table());
        }
        Ok(())
    }
}

/// Asks everything that is not finished, and gives what there is, in order, and how many cells are missing.
fn asked(
    evaluation: &Evaluation,
    all: &[EvalCell],
    results: &ResultsFile,
    show: &mut OutputStreams<'_, '_>,
) -> Result<(Vec<CellOutcome>, usize), EarlyExit> {
    let progress = EvalProgress::new(all.len(), show.io.terminal);
    let told: Mutex<BTreeMap<String, CellOutcome>> = Mutex::default();
    let tell = |outcome: &CellOutcome| {
        results.write(outcome);
        progress.done(outcome);
        told.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome.key.clone(), outcome.clone());
    };
    let finished = wait(async {
        tokio::select! {
            outcomes = evaluate(evaluation, all, &results.finished, &tell) => Some(outcomes),
            _ = tokio::signal::ctrl_c() => None,
        }
    });
    progress.end();
    results.ended()?;
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    warn(evaluation, &told, show);
    if finished.is_none() {
        let help = if results.is_kept() { "the same command goes on where it ended" } else { "with `--results FILE` it could go on later" };
        let note = Diagnostic::note(DiagnosticCode::named("eval.interrupted"), "the evaluation was interrupted");
        show.note(note.help(help));
    }
    let outcomes = finished.unwrap_or_else(|| known(evaluation, all, &results.finished, &told));
    let missing = all.len().saturating_sub(outcomes.len());
    Ok((outcomes, missing))
}

/// Tells the warnings of builds and requests, each once for each scenario.
fn warn(evaluation: &Evaluation, told: &BTreeMap<String, CellOutcome>, show: &mut OutputStreams<'_, '_>) {
    for (scenario, subject) in evaluation.file.scenarios.iter().zip(&evaluation.subjects) {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        let own = told.values().filter(|outcome| outcome.scenario == *scenario.name.get_ref());
        for warning in own.flat_map(|outcome| &outcome.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        show.warnings(&warnings, subject.rules.sources());
    }
}
