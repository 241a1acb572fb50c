//! Directives: structured commands that a model writes into one reply, beside its text.
//!
//! A [`DirectiveRegistry`] holds the types that there are, [`Directives`] asks for them and reads a reply, and a
//! [`DirectiveRunner`] sends a plan in one mode after another until a reply can be read. The modes and their order, what
//! a model is told, the schema it is given and the limits stand in the pack (program `directives`). Directives are no
//! tools: nothing is carried out here, and no request of this protocol holds a tool. Source: the contract of the
//! runner, section 4.

mod extract;
mod registry;
mod settings;

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use settings::DirectiveMode;

use super::config::{listed, scene};
use super::{BoxFuture, Delta, Problem, PromptRunner, RunError, RunnerConfig};
use crate::build::run;
use crate::model::{Plan, Value};
use crate::text::json_pointer;

pub use extract::DirectiveReadError;
pub use registry::{Directive, DirectiveRegistry, DirectiveReply, DirectiveType, DirectiveWarning};
pub use settings::{DirectiveAttempt, DirectiveReport, DirectiveRequest, Directives, SkippedMode};

/// Options that belong to tools, which are another protocol.
const TOOL_KEYS: [&str; 4] = ["tools", "tool_choice", "functions", "function_call"];
/// The program that checks the keys of one layer of options.
const LAYER: &str = "option_layer";
/// The option that every mode decides itself.
const FORMAT: &str = "response_format";

/// Asks for directives over a [`PromptRunner`]. It holds no configuration and no types, so one serves all runs.
#[derive(Clone)]
pub struct DirectiveRunner {
    runner: PromptRunner,
}

/// How an attempt ended.
enum AttemptEnd {
    Read(Box<DirectiveReport>),
    /// The reply cannot be read: a repair may help.
    Unreadable,
    /// The provider does not take the mode.
    Refused,
    /// Nothing more can be tried.
    Failed,
}

impl DirectiveRunner {
    /// A run of directives over a runner.
    #[must_use]
    pub fn new(runner: PromptRunner) -> Self {
        Self { runner }
    }

    /// Asks for directives: modes in their order without those that the model does not have, and in each mode one
    /// request and as many repairs as the configuration says. A reply whose envelope can be read ends the run. Dropping
    /// the future cancels the request that is under way.
    ///
    /// # Errors
    /// [`RunError::Config`] if the options or the plan hold keys of tools, or another error in front of the first
    /// request. Later errors, and what a provider or a model does wrong, are in the report.
    pub fn run<'a>(
        &'a self,
        config: &'a RunnerConfig,
        plan: &'a Plan,
        directives: &'a Directives,
        options: &'a Map<String, Json>,
    ) -> BoxFuture<'a, Result<DirectiveReport, RunError>> {
        Box::pin(async move {
            refuse(config, plan, options)?;
            let mut run = DirectiveRun { runner: &self.runner, config, directives, options, report: DirectiveReport::default() };
            for mode in &directives.modes {
                if mode.needs.as_deref().is_some_and(|flag| !has(config, flag)) {
                    run.report.skipped.push(SkippedMode { mode: mode.name.clone(), why: "capability".to_owned() });
                    continue;
                }
                match run.mode(plan, mode).await {
                    Ok(AttemptEnd::Read(report)) => return Ok(*report),
                    Ok(AttemptEnd::Failed) => return Ok(run.report),
                    Ok(AttemptEnd::Unreadable | AttemptEnd::Refused) => {}
                    // in front of the first request an error is the caller's; behind it, what was done counts
                    Err(error) if run.report.attempts.is_empty() => return Err(error),
                    Err(error) => {
                        run.report.error = Some(error.code());
                        run.report.run_error = Some(Arc::new(error));
                        return Ok(run.report);
                    }
                }
            }
            run.report.error.get_or_insert_with(|| "no_mode".to_owned());
            Ok(run.report)
        })
    }
}

/// One run.
struct DirectiveRun<'a> {
    runner: &'a PromptRunner,
    config: &'a RunnerConfig,
    directives: &'a Directives,
    options: &'a Map<String, Json>,
    report: DirectiveReport,
}

impl DirectiveRun<'_> {
    /// All attempts of a mode. Each mode begins with the history as it is, without the repairs of the one before it.
    async fn mode(&mut self, plan: &Plan, mode: &DirectiveMode) -> Result<AttemptEnd, RunError> {
        let plan = self.directives.asked(plan, mode);
        // null takes the option out, also if the plan or the defaults of the configuration have it
        let mut options = self.options.clone();
        options.insert(FORMAT.to_owned(), mode.response_format.clone().unwrap_or_default());
        let mut added = Vec::new();
        for repair in 0..=self.directives.repair_retries {
            let ended = self.attempt(&plan, mode, repair, &options, &mut added).await?;
            if !matches!(ended, AttemptEnd::Unreadable) {
                return Ok(ended);
            }
        }
        Ok(AttemptEnd::Unreadable)
    }

    async fn attempt(
        &mut self,
        plan: &Plan,
        mode: &DirectiveMode,
        repair: usize,
        options: &Map<String, Json>,
        added: &mut Vec<Json>,
    ) -> Result<AttemptEnd, RunError> {
        let mut attempt = DirectiveAttempt { mode: mode.name.clone(), repair, ok: false, error: None, at: None, status: None };
        let request = PromptRunner::prepare(self.config, plan, added, options, false)?;
        for warning in &request.warnings {
            if !self.report.request_warnings.contains(warning) {
                self.report.request_warnings.push(warning.clone());
            }
        }
        if let Some(key) = TOOL_KEYS.iter().find(|key| request.internal.contains_key(**key)) {
            return Err(RunError::Config(vec![rejected(key, format!("/{key}"))]));
        }
        let reply = match self.runner.send(self.config, &request, &mut |_: &Delta| {}).await {
            Ok(reply) => reply,
            Err(RunError::Provider(error)) => {
                attempt.error = Some(error.code.clone());
                attempt.status = error.status;
                self.report.error.clone_from(&attempt.error);
                self.report.attempts.push(attempt);
                let refused = error.status.is_some_and(|status| self.directives.next_mode_statuses.contains(&status));
                self.report.provider_error = Some(error);
                return Ok(if refused { AttemptEnd::Refused } else { AttemptEnd::Failed });
            }
            Err(other) => return Err(other),
        };
        self.report.usage.push(reply.usage.clone());
        let text = reply.text();
        match self.directives.read(&text) {
            Ok(read) => {
                attempt.ok = true;
                let mut report = std::mem::take(&mut self.report);
                report.attempts.push(attempt);
                Ok(AttemptEnd::Read(Box::new(DirectiveReport {
                    ok: true,
                    mode: Some(mode.name.clone()),
                    error: None,
                    assistant_text: read.assistant_text,
                    directives: read.directives,
                    warnings: read.warnings,
                    reply: Some(reply),
                    provider_error: None,
                    ..report
                })))
            }
            Err(error) => {
                attempt.error = Some(error.code().to_owned());
                attempt.at = error.at().map(str::to_owned);
                self.report.error.clone_from(&attempt.error);
                self.report.provider_error = None;
                self.report.attempts.push(attempt);
                if !text.trim().is_empty() {
                    added.push(json!({ "role": "assistant", "content": text }));
                    self.report.assistant_text = text;
                }
                if !self.directives.repair_instruction.trim().is_empty() {
                    added.push(json!({ "role": "user", "content": self.directives.repair_instruction }));
                }
                self.report.reply = Some(reply);
                Ok(AttemptEnd::Unreadable)
            }
        }
    }
}

/// Whether the model has a capability.
fn has(config: &RunnerConfig, flag: &str) -> bool {
    config.values.get("capabilities").and_then(|flags| flags.get(flag)).and_then(Json::as_bool).unwrap_or(false)
}

/// Tools and directives share no request: keys of tools are refused before anything is sent, together with keys that
/// no request may have.
fn refuse(config: &RunnerConfig, plan: &Plan, options: &Map<String, Json>) -> Result<(), RunError> {
    let mut problems: Vec<Problem> = Vec::new();
    let planned = [plan.scene.at("llm_options").map(Value::to_json), plan.set.at("plan.llm_options").map(Value::to_json)];
    let planned: Map<String, Json> = planned.into_iter().flatten().filter_map(|options| options.as_object().cloned()).flatten().collect();
    for (name, place, options) in [("call", "/options", options), ("plan", "/plan/llm_options", &planned)] {
        let layer = json!({ "layer": { "name": name, "at": place, "options": options } });
        let wrong = listed(&run(&config.rules, LAYER, &scene(layer), &[])?, "errors", "at");
        for key in options.keys() {
            let at = format!("{place}/{}", json_pointer::escape(key));
            if TOOL_KEYS.contains(&key.as_str()) {
                problems.push(rejected(key, at));
            } else {
                problems.extend(wrong.iter().filter(|problem| problem.at == at).cloned());
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(RunError::Config(problems)) }
}

fn rejected(key: &str, at: String) -> Problem {
    let message = format!("`{key}` belongs to the calling of tools, which is another protocol: remove it");
    Problem { code: "tools_key_rejected".to_owned(), at, message }
}
