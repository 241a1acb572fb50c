//! One request or one loop of tools: what is shown while a reply arrives, and what is kept of it.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;

use crate::diag::Diagnostic;
use crate::layout::{head, visible};
use crate::model::Plan;
use crate::output::OutputStreams;
use crate::pack::Ruleset;
use crate::run::tools::{LoopEvent, StopReason, ToolLoopReport, ToolLoopRunner, ToolResult, Watch};
use crate::run::{BoxFuture, Delta, OptionChange, PromptRunner, ProviderError, Reply, RunError, reply};
use crate::stop::EarlyExit;
use crate::waiting::wait;

use super::reply::{ReceivedReply, ReplyEvent};
use super::talk::RunningChat;
use super::trouble::{named, told};

/// The most characters of a name that a model has made up.
const MOST_NAME: usize = 64;

/// What the model has answered, and what was done for it.
#[derive(Default)]
struct ModelAnswer {
    reply: Reply,
    calls: Vec<ToolResult>,
    changes: Vec<OptionChange>,
}

/// Looks on while a loop of tools runs.
struct LoopReporter(UnboundedSender<ReplyEvent>);

impl Watch for LoopReporter {
    fn event(&mut self, event: &LoopEvent) {
        // nobody hears of it when the chat is over
        drop(self.0.send(ReplyEvent::Loop(event.clone())));
    }

    fn delta(&mut self, delta: &Delta) {
        drop(self.0.send(ReplyEvent::Part(delta.clone())));
    }
}

/// What has arrived of a reply, and how much of it is shown.
struct ReplyScreen<'a> {
    rules: &'a Ruleset,
    /// Only a person sees a reply before it is complete, because the pack may clean it up.
    live: bool,
    arrived: String,
    /// How much of it is shown; white space at both ends waits for what follows.
    written: usize,
    /// The ids of the calls that were carried out.
    started: BTreeSet<String>,
}

impl ReplyScreen<'_> {
    fn hear(&mut self, event: ReplyEvent, show: &mut OutputStreams<'_, '_>) {
        match event {
            ReplyEvent::Part(Delta::Text(text)) => self.more(&text, show),
            ReplyEvent::Part(_) => {}
            ReplyEvent::Again(attempt) => {
                let pause = attempt.pause.as_secs_f64();
                let message = format!("attempt {} failed ({}); the next one follows in {pause:.1} s", attempt.number, attempt.failed);
                show.note(Diagnostic::note(named("run.repeated"), message));
            }
            ReplyEvent::Loop(event) => self.step(event, show),
            ReplyEvent::Warnings(warnings) => show.warnings(&warnings, self.rules.sources()),
        }
    }

    fn more(&mut self, text: &str, show: &mut OutputStreams<'_, '_>) {
        self.arrived.push_str(text);
        if self.live {
            let end = self.arrived.trim_end().len();
            let begin = if self.written == 0 { self.arrived.len() - self.arrived.trim_start().len() } else { self.written };
            show.result(&visible(self.arrived.get(begin..end).unwrap_or_default()));
            show.flush();
            self.written = end.max(self.written);
        }
    }

    /// One step of the loop of tools: each call is told in one line.
    fn step(&mut self, event: LoopEvent, show: &mut OutputStreams<'_, '_>) {
        let message = match event {
            LoopEvent::Response { tool_calls: 1.., .. } => {
                if self.written > 0 {
                    show.result("\n");
                    show.flush();
                }
                self.arrived.clear();
                self.written = 0;
                return;
            }
            LoopEvent::ContentDropped { chars, .. } => format!("the {chars} characters that the model wrote beside its calls are not kept"),
            LoopEvent::ToolEnd { tool, code: None, .. } => format!("`{}` was called", visible(&head(&tool, MOST_NAME))),
            LoopEvent::ToolStart { id, .. } => {
                self.started.insert(id);
                return;
            }
            LoopEvent::ToolEnd { id, tool, code: Some(code), .. } => {
                let what = if self.started.contains(&id) { "was called and has failed" } else { "was not called" };
                format!("`{}` {what}: {}", visible(&head(&tool, MOST_NAME)), visible(&code))
            }
            LoopEvent::EmptyFinal { .. } => "the answer behind the calls is empty".to_owned(),
            LoopEvent::FinalStream { why: Some(why), .. } => {
                format!("the answer could not be streamed ({why}), so it is shown as it first came")
            }
            _ => return,
        };
        show.note(Diagnostic::note(named("chat.tool"), message));
    }
}

impl RunningChat<'_> {
    /// Whether the model is offered tools. If it takes none, that is told once.
    fn offers_tools(&mut self, show: &mut OutputStreams<'_, '_>) -> bool {
        if self.tools.visible().next().is_none() {
            return false;
        }
        let takes = self.config.capabilities().tools;
        if !takes && !self.told_of_tools {
            self.told_of_tools = true;
            let message = format!("`{}` takes no tools (capability `tools`), so it is offered none", visible(&self.config.model));
            let help = "if it takes tools, set `capabilities = { tools = true }` in a file for `--config`; `--no-tools` leaves this out";
            show.note(Diagnostic::note(named("chat.tool"), message).help(help));
        }
        takes
    }

    /// Sends a plan, with the tools that the model may call, and shows the reply. `None` if it was interrupted before
    /// any part of it arrived.
    pub(super) fn send(&mut self, plan: &Plan, show: &mut OutputStreams<'_, '_>) -> Result<Option<ReceivedReply>, EarlyExit> {
        let (rules, once) = (self.start.rules.clone(), self.start.once);
        let streams = self.start.stream && self.config.capabilities().streaming;
        let mut request = None;
        if !self.offers_tools(show) {
            let prepared =
                PromptRunner::prepare(&self.config, plan, &[], &self.start.options, streams).map_err(|e| told(&e, &rules, once))?;
            show.warnings(&prepared.warnings, rules.sources());
            request = Some(prepared);
        }
        let live = streams && show.io.terminal && std::io::stdout().is_terminal() && !show.is_json();
        let mut screen = ReplyScreen { rules: &rules, live, arrived: String::new(), written: 0, started: BTreeSet::new() };
        let (tell, events) = (self.tell.clone(), &mut self.events);
        let (runner, config, tools, options) = (&self.runner, &self.config, &self.tools, &self.start.options);
        let tool_loop = ToolLoopRunner::new(runner.clone());
        let tool_loop = if streams { tool_loop.streaming() } else { tool_loop };
        let answer = wait(self.interrupts.during(async {
            let mut teller = LoopReporter(tell);
            let mut sending: BoxFuture<'_, Result<ModelAnswer, RunError>> = Box::pin(async {
                let Some(request) = &request else {
                    let report = tool_loop.run(config, plan, tools, options, &mut teller).await?;
                    drop(teller.0.send(ReplyEvent::Warnings(report.warnings.clone())));
                    return answer_of(report);
                };
                let reply = runner.send(config, request, &mut |delta: &Delta| teller.delta(delta)).await?;
                Ok(ModelAnswer { reply, changes: request.changes.clone(), ..ModelAnswer::default() })
            });
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => screen.hear(event, show),
                    done = &mut sending => break done,
                }
            }
        }));
        while let Ok(event) = self.events.try_recv() {
            screen.hear(event, show);
        }
        let interrupted = !matches!(answer, Some(Ok(_)));
        let so_far = |arrived: &str| ModelAnswer {
            reply: Reply { message: json!({ "role": "assistant", "content": arrived }), ..Reply::default() },
            ..ModelAnswer::default()
        };
        let ModelAnswer { reply: raw, calls, changes } = match answer {
            Some(Ok(answer)) => answer,
            None if screen.arrived.is_empty() => {
                show.note(Diagnostic::note(named("run.interrupted"), "interrupted before any part of the reply arrived"));
                return Ok(None);
            }
            Some(Err(error)) if screen.arrived.is_empty() => return Err(told(&error, &rules, once)),
            None => so_far(&screen.arrived),
            Some(Err(error)) => {
                show.result(if live { "\n" } else { "" });
                show.stop(told(&error, &rules, once));
                so_far(&screen.arrived)
            }
        };
        let clean = reply(&self.config, plan, &raw).map_err(|e| told(&e, &rules, once))?;
        let text = clean.text();
        if clean.message.get("tool_calls").is_some_and(|calls| calls.as_array().is_some_and(|calls| !calls.is_empty())) {
            show.note(Diagnostic::note(named("chat.tool"), "the model asks for tools, and it was offered none"));
        }
        if show.is_json() {
            let line = json!({
                "reply": text, "reasoning": clean.reasoning, "finish_reason": clean.finish_reason, "usage": clean.usage,
                "interrupted": interrupted, "changes": changes, "tools": calls,
            });
            show.result(&format!("{line}\n"));
        } else if live && text.trim() == screen.arrived.trim() {
            show.result("\n");
        } else if live && !screen.arrived.trim().is_empty() {
            // the pack has changed the reply, so it is shown again as it is kept
            show.result("\n");
            show.note(Diagnostic::note(named("chat.cleaned"), "the pack has cleaned the reply up; this is what is kept:"));
            show.result(&format!("{}\n", visible(&text)));
        } else {
            show.result(&format!("{}\n", visible(text.trim_end_matches('\n'))));
        }
        show.flush();
        Ok(Some(ReceivedReply { text, reasoning: clean.reasoning, calls, interrupted }))
    }
}

/// The answer that a loop of tools has come to.
fn answer_of(report: ToolLoopReport) -> Result<ModelAnswer, RunError> {
    if let Some(error) = report.error {
        return Err(error);
    }
    if report.stop == StopReason::MaxTurns {
        return Err(RunError::Provider(ProviderError {
            code: "max_turns".to_owned(),
            status: None,
            message: "the model still calls tools in the last request that it has, and gives no answer".to_owned(),
            safe_to_repeat: false,
            retry_after: None,
        }));
    }
    let mut reply = report.reply.unwrap_or_default();
    reply.message = json!({ "role": "assistant", "content": report.final_text.unwrap_or_default() });
    Ok(ModelAnswer { reply, calls: report.results, changes: report.changes })
}
