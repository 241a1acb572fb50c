//! Doing the cells, several at a time, without those that are finished: a prompt is built, a model is asked, the reply is judged, and
//! the outcome is reported.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json, json};

use super::super::directives::{DirectiveRequest, DirectiveRunner, Directives};
use super::super::keys::KeyScrubber;
use super::super::tools::{FilteredToolRegistry, NoWatch, StopReason, ToolLoopReport, ToolLoopRunner, ToolRegistry, join_all};
use super::super::{
    BoxFuture, Delta, IncomingAnswer, OutgoingRequest, PromptRunner, RunError, RunnerConfig, Transport, TransportError, in_language,
    reply as cleaned,
};
use super::judge::{CallRecord, CompiledCheck, DirectiveRecord, ReplyFacts};
use super::report::{CellOutcome, CheckRecord, TokenCounts};
use super::scenario::{Candidate, EvalFile, EvalPreset, Scenario};
use super::{EvalCell, EvalMode, inputs, key};
use crate::build::{build, run};
use crate::diag::{Diagnostic, short};
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::text::functions::fingerprint;

/// The most characters of a reply that are kept.
const MOST_TEXT: usize = 4_000;

/// The time in milliseconds, from any beginning; `None` where time is not measured.
pub type EvalClock = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// What a scenario is asked with.
#[derive(Clone)]
pub struct TrialSubject {
    /// The rules.
    pub rules: Ruleset,
    /// The scene.
    pub scene: Scene,
    /// The tools that the model may use, besides those of the pack.
    pub tools: ToolRegistry,
}

/// Everything that one cell needs.
struct CellTrial<'a> {
    pub(super) subject: &'a TrialSubject,
    pub(super) scenario: &'a Scenario,
    pub(super) candidate: &'a Candidate,
    pub(super) preset: &'a EvalPreset,
    pub(super) mode: EvalMode,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) clock: &'a EvalClock,
}

/// The answer of a model: its text, or why there is none.
#[derive(Default)]
struct TrialReply {
    text: String,
    calls: Vec<CallRecord>,
    directives: Vec<DirectiveRecord>,
    usage: Vec<Json>,
    warnings: Vec<Diagnostic>,
    failure: Option<String>,
    status: Option<u16>,
    message: String,
}

impl CellTrial<'_> {
    /// Asks once, and judges.
    pub(super) async fn run(&self) -> CellOutcome {
        let counting = Arc::new(CountingTransport { inner: Arc::clone(&self.transport), sent: AtomicU32::new(0) });
        let begun = (self.clock)();
        let reply = match self.ask(PromptRunner::new(Arc::clone(&counting) as Arc<dyn Transport>)).await {
            Ok(reply) => reply,
            Err(error) => TrialReply::failed(&error),
        };
        let ms = begun.zip((self.clock)()).map(|(begun, ended)| ended.saturating_sub(begun));
        let tokens = self.tokens(&reply.usage);
        let judged = ReplyFacts {
            text: &reply.text,
            calls: &reply.calls,
            directives: &reply.directives,
            output_tokens: tokens.map(|tokens| tokens.output),
        };
        let mut checks = Vec::new();
        if reply.failure.is_none() {
            let compiled = self.scenario.checks.iter().filter_map(|check| CompiledCheck::of(check.get_ref()).ok());
            let made = compiled.filter(|check| check.is_for(self.mode));
            checks = made.map(|check| CheckRecord { check: check.words(), ok: check.holds(&judged) }).collect();
        }
        let wrong = checks.iter().any(|made| !made.ok).then(|| "check_failed".to_owned());
        let failure = reply.failure.or(wrong);
        CellOutcome {
            ok: failure.is_none(),
            failure,
            status: reply.status,
            message: cut(&reply.message),
            checks,
            ms,
            requests: counting.sent.load(Ordering::SeqCst),
            tokens,
            text: cut(&reply.text),
            calls: reply.calls,
            directives: reply.directives,
            warnings: reply.warnings,
            ..CellOutcome::default()
        }
    }

    async fn ask(&self, runner: PromptRunner) -> Result<TrialReply, RunError> {
        let rules = &self.subject.rules;
        let config = RunnerConfig::parse(rules, &self.context())?;
        let mut plan = self.plan(&config)?;
        let mut told = plan.warnings.clone();
        // the text of directives is data, and no prose whose language is asked for
        if matches!(self.mode, EvalMode::Chat | EvalMode::Tools) {
            plan = in_language(&config, &plan)?;
        }
        let mut options = self.candidate.options.clone();
        options.extend(self.preset.options.clone());
        options.extend(self.scenario.options.clone());
        let mut answer = match self.mode {
            EvalMode::Chat => {
                let request = PromptRunner::prepare(&config, &plan, &[], &options, false)?;
                told.extend(request.warnings.iter().cloned());
                let reply = runner.send(&config, &request, &mut |_: &Delta| {}).await?;
                let text = cleaned(&config, &plan, &reply)?.text();
                TrialReply { text, usage: vec![reply.usage], ..TrialReply::default() }
            }
            EvalMode::Tools => {
                let mut tools = ToolRegistry::of_pack(rules);
                tools.extend(self.subject.tools.clone());
                let tools = FilteredToolRegistry::new(tools, self.scenario.tools.clone(), Vec::new());
                let report = ToolLoopRunner::new(runner).run(&config, &plan, &tools, &options, &mut NoWatch).await?;
                let mut reply = TrialReply::of_loop(report);
                let answer = super::super::Reply {
                    message: json!({ "role": "assistant", "content": reply.text }),
                    ..super::super::Reply::default()
                };
                reply.text = cleaned(&config, &plan, &answer)?.text();
                reply
            }
            _ => {
                let request = DirectiveRequest { allow: self.scenario.directives.clone(), ..DirectiveRequest::default() };
                let directives = Directives::new(&config, &plan, &request)?;
                let report = DirectiveRunner::new(runner).run(&config, &plan, &directives, &options).await?;
                let given = |d: super::super::directives::Directive| DirectiveRecord { kind: d.kind, payload: Json::Object(d.payload) };
                let error = report.provider_error.as_ref();
                let said = |error: &Option<Arc<RunError>>| error.as_ref().map(ToString::to_string);
                TrialReply {
                    text: report.assistant_text,
                    directives: report.directives.into_iter().map(given).collect(),
                    usage: report.usage,
                    warnings: report.request_warnings,
                    status: error.and_then(|error| error.status),
                    message: error.map(|error| error.message.clone()).or_else(|| said(&report.run_error)).unwrap_or_default(),
                    failure: if report.ok { None } else { report.error.or_else(|| Some("unreadable".to_owned())) },
                    ..TrialReply::default()
                }
            }
        };
        told.append(&mut answer.warnings);
        for warning in told {
            if !answer.warnings.contains(&warning) {
                answer.warnings.push(warning);
            }
        }
        Ok(answer)
    }

    /// The configuration of the run: that of the preset, with the model and the mode.
    fn context(&self) -> Json {
        let mut context = context(&self.subject.rules, &self.subject.scene, self.candidate, self.preset);
        if !self.candidate.capabilities.is_empty() {
            context.insert("capabilities".to_owned(), json!(self.candidate.capabilities));
        }
        if matches!(self.mode, EvalMode::JsonSchema | EvalMode::JsonObject | EvalMode::PromptOnly) {
            let mut directives = context.get("directives").and_then(Json::as_object).cloned().unwrap_or_default();
            directives.insert("modes".to_owned(), json!([self.mode.name()]));
            context.insert("directives".to_owned(), Json::Object(directives));
        }
        Json::Object(context)
    }

    fn plan(&self, config: &RunnerConfig) -> Result<Plan, RunError> {
        let mut scene = self.subject.scene.clone();
        scene.set("provider.model", Value::text(self.candidate.id()));
        for (path, value) in [("dialect", &self.candidate.dialect), ("provider.url", &self.candidate.url)] {
            if let Some(value) = value {
                scene.set(path, Value::text(value.as_str()));
            }
        }
        Ok(build(&self.subject.rules, &config.scene(&scene))?)
    }

    /// The tokens of all replies, in the words of the pack.
    fn tokens(&self, usage: &[Json]) -> Option<TokenCounts> {
        let mut sum: Option<TokenCounts> = None;
        for usage in usage.iter().filter(|usage| usage.is_object()) {
            let counted = run(&self.subject.rules, "usage", &Scene::new(&json!({ "usage": usage })), &[]).ok()?;
            let number = |key: &str| counted.get(&format!("tokens.{key}")).as_i64().and_then(|n| u64::try_from(n).ok());
            let sum = sum.get_or_insert_with(TokenCounts::default);
            sum.input += number("input").unwrap_or_default();
            sum.output += number("output").unwrap_or_default();
            sum.cached += number("cached").unwrap_or_default();
        }
        sum
    }
}

impl TrialReply {
    fn failed(error: &RunError) -> Self {
        let status = if let RunError::Provider(error) = error { error.status } else { None };
        Self { failure: Some(error.code()), status, message: error.to_string(), ..Self::default() }
    }

    fn of_loop(report: ToolLoopReport) -> Self {
        let mut reply = match (&report.error, report.stop) {
            (Some(error), _) => Self::failed(error),
            (None, StopReason::MaxTurns) => Self { failure: Some("max_turns".to_owned()), ..Self::default() },
            (None, _) => Self::default(),
        };
        let calls = report.added.iter().filter_map(|message| message.get("tool_calls").and_then(Json::as_array)).flatten();
        let arguments = calls.map(|call| {
            let text = call.pointer("/function/arguments").and_then(Json::as_str).unwrap_or_default();
            serde_json::from_str(text).unwrap_or_else(|_| Json::Object(Map::new()))
        });
        let result = |(result, arguments): (super::super::tools::ToolResult, Json)| CallRecord {
            tool: result.tool,
            arguments,
            ok: result.ok,
            code: result.code,
        };
        reply.calls = report.results.into_iter().zip(arguments).map(result).collect();
        reply.text = report.final_text.unwrap_or_default();
        reply.usage = report.usage;
        reply.warnings = report.warnings;
        reply
    }
}

/// The configuration of a preset for a model.
fn context(rules: &Ruleset, scene: &Scene, candidate: &Candidate, preset: &EvalPreset) -> Map<String, Json> {
    let mut context = preset.config.clone();
    let provider = candidate.provider.clone().or_else(|| candidate.dialect.clone());
    let provider = provider.unwrap_or_else(|| crate::build::dialect_of(rules, scene));
    context.insert("provider".to_owned(), json!(provider));
    context.insert("model".to_owned(), json!(candidate.id()));
    context
}

/// The dialect in which a model is asked: the one that is named for the model or the scene, and otherwise the one that
/// follows from the configuration of the run.
///
/// # Errors
/// The configuration has mistakes.
pub fn dialect_of(subject: &TrialSubject, candidate: &Candidate, preset: &EvalPreset) -> Result<String, RunError> {
    if let Some(dialect) = candidate.dialect.clone().or_else(|| text_at(&subject.scene, "dialect")) {
        return Ok(dialect);
    }
    let config = RunnerConfig::parse(&subject.rules, &Json::Object(context(&subject.rules, &subject.scene, candidate, preset)))?;
    Ok(config.values.get("dialect").and_then(Json::as_str).unwrap_or_default().to_owned())
}

fn text_at(scene: &Scene, path: &str) -> Option<String> {
    let text = scene.get(path).to_text().to_string();
    (!text.is_empty()).then_some(text)
}

fn cut(text: &str) -> String {
    short::first(text, MOST_TEXT).to_owned()
}

/// A transport that counts what is sent.
struct CountingTransport {
    inner: Arc<dyn Transport>,
    sent: AtomicU32,
}

impl Transport for CountingTransport {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        self.sent.fetch_add(1, Ordering::SeqCst);
        self.inner.send(request)
    }

    fn may_repeat(&self, request: &OutgoingRequest) -> bool {
        self.inner.may_repeat(request)
    }

    fn scrub(&self, text: String) -> String {
        self.inner.scrub(text)
    }

    fn scrubber(&self) -> KeyScrubber {
        self.inner.scrubber()
    }
}

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
    join_all((0..workers).map(|_| worker()).collect()).await;
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
