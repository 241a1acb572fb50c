//! `tapster eval`: scenarios × models × modes × presets, each asked several times.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::{Args, Command, FromArgMatches};
use indicatif::ProgressBar;
use tapster_client::Transport;
use tapster_client::eval::{
    Candidate, CellOptions, CellOutcome, EvalCell, EvalClock, EvalFile, EvalMode, EvalPreset, EvalReport, Evaluation, Scenario,
    TrialSubject, cells, dialect_of, evaluate, finished, known,
};
use tapster_client::tools::ToolRegistry;

use crate::diag::{Code, Diagnostic, DiagnosticCode, Report, Sources, Span};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::wait;
use crate::inputs::InputArgs;
use crate::inputs::endpoint::{EndpointArgs, host_tools};
use crate::inputs::files::{path_text, read_bytes, read_text, refuse_link, write_file};
use crate::layout::{clean_name, progress_bar};
use crate::model::{Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;

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
    #[arg(long, value_name = "MODE", num_args = 1.., default_value = "chat", value_parser = parse_mode)]
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
    #[arg(long, value_name = "RATE", default_value = "0", value_parser = parse_rate, help_heading = "Results")]
    at_least: f64,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// How a model is reached: address, variable of the key, dialect.
type ModelRoute = (Option<String>, Option<String>, String);

fn parse_mode(name: &str) -> Result<EvalMode, String> {
    EvalMode::named(name).ok_or_else(|| format!("write one of {}", EvalMode::ALL.map(EvalMode::name).join(", ")))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate)).ok_or_else(|| "a number from 0 to 1".to_owned())
}

impl EvalArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let ScenarioFiles { mut file, folders } = read_sources(&self.files, self.prices.as_deref(), show)?;
        self.choose(&mut file)?;
        let folders: BTreeMap<&str, &PathBuf> = folders.iter().map(|(name, folder)| (name.as_str(), folder)).collect();
        let tools = self.tools(show)?;
        let mut subjects = Vec::new();
        for scenario in &file.scenarios {
            let folder = folders.get(scenario.name.get_ref().as_str()).map_or_else(PathBuf::new, |folder| (*folder).clone());
            let (rules, scene) = build_scenario(scenario, &folder, &self.endpoint, show)?;
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
    fn choose(&self, file: &mut EvalFile) -> Result<()> {
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

    fn tools(&self, show: &mut Console<'_>) -> Result<ToolRegistry> {
        self.tools.as_deref().map_or_else(|| Ok(ToolRegistry::new()), |path| host_tools(path, show))
    }

    /// One transport for each model; models with the same address and key share one.
    fn transports(&self, file: &EvalFile, subjects: &[TrialSubject], show: &mut Console<'_>) -> Result<Vec<Arc<dyn Transport>>> {
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
    fn dialect(&self, file: &EvalFile, subject: &TrialSubject, model: &Candidate) -> Result<String> {
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

    fn tell(&self, report: &EvalReport, show: &mut Console<'_>) -> Result<()> {
        if let Some(path) = &self.html {
            write_file(path, report.html())?;
        }
        if let Some(path) = &self.csv {
            write_file(path, report.csv())?;
        }
        show.answer(&serde_json::to_value(report).unwrap_or_default(), || report.table());
        Ok(())
    }
}

/// Asks everything that is not finished, and gives what there is, in order, and how many cells are missing.
fn asked(evaluation: &Evaluation, all: &[EvalCell], results: &ResultsFile, show: &mut Console<'_>) -> Result<(Vec<CellOutcome>, usize)> {
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
fn warn(evaluation: &Evaluation, told: &BTreeMap<String, CellOutcome>, show: &mut Console<'_>) {
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

/// How far an evaluation has come.
struct EvalProgress {
    bar: ProgressBar,
    succeeded: AtomicU64,
}

impl EvalProgress {
    /// A bar for so many cells.
    fn new(cells: usize, terminal: bool) -> Self {
        Self { bar: progress_bar(cells, terminal), succeeded: AtomicU64::new(0) }
    }

    /// A cell is done.
    fn done(&self, outcome: &CellOutcome) {
        let succeeded = self.succeeded.fetch_add(u64::from(outcome.ok), Ordering::SeqCst) + u64::from(outcome.ok);
        self.bar.set_message(format!("{succeeded} succeeded  {}", clean_name(&outcome.key)));
        self.bar.inc(1);
    }

    /// Everything is done.
    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// A file of results, open for more; or none.
struct ResultsFile {
    /// What it held before.
    finished: BTreeMap<String, CellOutcome>,
    file: Mutex<Option<File>>,
    failed: Mutex<Option<std::io::Error>>,
    name: String,
}

impl ResultsFile {
    /// Reads a file of results, and opens it for more.
    fn open(path: Option<&Path>, show: &mut Console<'_>) -> Result<Self> {
        let mut results = Self { finished: BTreeMap::new(), file: Mutex::default(), failed: Mutex::default(), name: String::new() };
        let Some(path) = path else { return Ok(results) };
        results.name = path_text(path);
        refuse_link(path)?;
        let mut torn = false;
        if path.exists() {
            let text = String::from_utf8_lossy(&read_bytes(path, show)?).into_owned();
            torn = !text.is_empty() && !text.ends_with('\n');
            let (found, broken) = finished(&text);
            results.finished = found;
            if broken > 0 {
                let message = format!("{broken} lines of `{}` are no results and are left out", results.name);
                show.note(Diagnostic::warning(Code::SyntaxJson, message).help("the last line is cut off if an evaluation was killed"));
            }
        }
        let unwritable = |error: std::io::Error| {
            let message = format!("`{}` cannot be written: {error}", results.name);
            EarlyExit::could_not(Code::FileMissing, message, "check the folder and its permissions")
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(unwritable)?;
        if torn {
            file.write_all(b"\n").map_err(unwritable)?;
        }
        results.file = Mutex::new(Some(file));
        Ok(results)
    }

    /// Whether results are written to a file.
    fn is_kept(&self) -> bool {
        !self.name.is_empty()
    }

    /// Appends a result. What goes wrong is told at the end.
    fn write(&self, outcome: &CellOutcome) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        let mut line = serde_json::to_string(outcome).unwrap_or_default();
        line.push('\n');
        if let Err(error) = open.write_all(line.as_bytes()).and_then(|()| open.flush()) {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            *file = None;
        }
    }

    /// Whether everything could be written.
    fn ended(&self) -> Result<()> {
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => {
                let message = format!("`{}` cannot be written: {error}", self.name);
                Err(EarlyExit::could_not(Code::FileMissing, message, "free some space; what was written before is kept"))
            }
        }
    }
}

/// All files as one, and the folder of each scenario's file.
struct ScenarioFiles {
    file: EvalFile,
    folders: Vec<(String, PathBuf)>,
}

/// Reads scenario files, and a file of prices in front of theirs.
fn read_sources(paths: &[PathBuf], prices: Option<&Path>, show: &mut Console<'_>) -> Result<ScenarioFiles> {
    let mut all = EvalFile::default();
    let mut folders: Vec<(String, PathBuf)> = Vec::new();
    if let Some(path) = prices {
        all.prices = parse_source(path, show)?.prices;
    }
    for path in paths {
        let file = parse_source(path, show)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        for scenario in &file.scenarios {
            let name = scenario.name.get_ref();
            if folders.iter().any(|(known, _)| known == name) {
                let message = format!("scenario `{name}` is in several files");
                return Err(EarlyExit::refused(Code::NameUnknown, message, "rename one of them"));
            }
            folders.push((name.clone(), folder.clone()));
        }
        if all.about.is_empty() {
            all.about = file.about;
        }
        all.scenarios.extend(file.scenarios);
        let known = all.models.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        all.models.extend(file.models.into_iter().filter(|m| !known.contains(&m.name)));
        let known = all.presets.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        all.presets.extend(file.presets.into_iter().filter(|p| !known.contains(&p.name)));
        all.prices.extend(file.prices);
    }
    Ok(ScenarioFiles { file: all, folders })
}

fn parse_source(path: &Path, show: &mut Console<'_>) -> Result<EvalFile> {
    let text = read_text(path, show)?;
    EvalFile::parse(&text).map_err(|mistakes| {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let source = sources.add(&path_text(path), "", &text);
        for mistake in mistakes {
            let at = Span::new(source, mistake.at.start, mistake.at.end);
            report.push(Diagnostic::error(Code::SchemaValue, mistake.message).at(at).help(mistake.help));
        }
        EarlyExit::report(RunExit::No, report, sources)
    })
}

/// The rules and the scene of a scenario.
fn build_scenario(scenario: &Scenario, folder: &Path, endpoint: &EndpointArgs, show: &mut Console<'_>) -> Result<(Ruleset, Scene)> {
    let mut words = vec![folder.join(&scenario.scene).into_os_string()];
    words.extend(scenario.message.iter().map(|message| format!("--message={message}").into()));
    words.extend(scenario.set.iter().map(|(path, value)| format!("--set={path}={value}").into()));
    let flags = InputArgs::augment_args(Command::new("scene").no_binary_name(true));
    let read = flags.try_get_matches_from(words).and_then(|matches| InputArgs::from_arg_matches(&matches));
    let inputs = read.map_err(|error| {
        let message = format!("scenario `{}` names a scene that cannot be used: {}", scenario.name.get_ref(), error.kind());
        EarlyExit::could_not(Code::SceneField, message, "correct `scene`, `message` or `set`")
    })?;
    let (rules, mut scene) = inputs.open(show)?;
    if let Some(url) = &endpoint.url {
        scene.set("provider.url", Value::text(url.as_str()));
    }
    Ok((rules, scene))
}
