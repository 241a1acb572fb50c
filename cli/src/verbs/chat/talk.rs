//! One turn after another: build, send, show, keep.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tapster_client::retry::RetryAttempt;
use tapster_client::tools::{FilteredToolRegistry, LoopEvent, StopReason, ToolLoopReport, ToolLoopRunner, ToolResult, Watch};
use tapster_client::{BoxFuture, Delta, OptionChange, PromptRunner, ProviderError, Reply, RunError, RunnerConfig, in_language, reply};
use tapster_session::{Session, Turn};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::diag::Diagnostic;
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::wait;
use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::scene::clock;
use crate::inputs::store::parse_milliseconds;
use crate::layout::{head, visible};
use crate::model::{Plan, Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::store::{Home, Moment, SessionStore, SqlStore, StoreRefusal};
use crate::verbs::artifact::session_failure;
use crate::verbs::chat::log::ChatLog;
use crate::verbs::chat::terminal::InterruptListener;
use crate::verbs::chat::{note_code, nothing_done, reply_failure};
use crate::verbs::turn::{OperationModel, failed_operations};

/// What a chat begins with.
pub(super) struct ChatStart {
    /// The pack.
    pub(super) rules: Ruleset,
    /// The scene of every build, without the chat.
    pub(super) scene: Scene,
    /// The configuration of the runner, as it was given.
    pub(super) context: Map<String, Json>,
    /// Options of every request.
    pub(super) options: Map<String, Json>,
    /// Whether replies are shown while they arrive.
    pub(super) stream: bool,
    /// Whether the time was given, and stands still.
    pub(super) fixed_time: bool,
    /// Whether only one message is sent, so that no command can follow.
    pub(super) once: bool,
}

/// What a line led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOutcome {
    /// It was done.
    Done,
    /// A reply was interrupted, or there is none.
    Failed,
    /// The chat is over.
    End,
}

/// A turn with a reply that may still be asked for again.
struct PendingTurn {
    turn: Turn,
    reply: String,
}

/// A chat that is going on.
pub(super) struct RunningChat<'s> {
    pub(super) start: ChatStart,
    pub(super) config: RunnerConfig,
    pub(super) runner: PromptRunner,
    /// What the model may call.
    pub(super) tools: FilteredToolRegistry,
    /// Whether it was told that the model takes no tools.
    pub(super) told_of_tools: bool,
    pub(super) session: Session<'s>,
    store: &'s SqlStore,
    home: Home,
    pub(super) tell: UnboundedSender<ReplyEvent>,
    pub(super) events: UnboundedReceiver<ReplyEvent>,
    pending: Option<PendingTurn>,
    pub(super) interrupts: InterruptListener,
    /// The plan of the last request.
    pub(super) plan: Option<Plan>,
    /// Turns that are committed.
    played: i64,
}

impl<'s> RunningChat<'s> {
    pub(super) fn new(
        start: ChatStart,
        endpoint: &EndpointArgs,
        tools: FilteredToolRegistry,
        store: &'s SqlStore,
        home: Home,
        show: &mut Console<'_>,
    ) -> Result<Self> {
        let config = RunnerConfig::parse(&start.rules, &Json::Object(start.context.clone()))
            .map_err(|e| reply_failure(&e, &start.rules, start.once))?;
        let dialect = config.values.get("dialect").and_then(Json::as_str).unwrap_or_default().to_owned();
        let (tell, events) = unbounded_channel();
        let again = tell.clone();
        // nobody hears of an attempt when the chat is over
        let hears = Arc::new(move |attempt: &RetryAttempt| drop(again.send(ReplyEvent::Again(attempt.clone()))));
        let addressed = !start.scene.get("provider.url").is_null();
        let transport = endpoint.transport(&start.rules, &dialect, addressed, hears, show)?;
        let session = Session::new(store, start.rules.clone(), home.clone());
        let played = wait(store.info(&home)).map_err(store_failure)?.map_or(0, |info| info.turns);
        let runner = PromptRunner::new(transport);
        let interrupts = InterruptListener::listen(store.clone());
        Ok(Self {
            start,
            config,
            runner,
            tools,
            told_of_tools: false,
            session,
            store,
            home,
            tell,
            events,
            pending: None,
            interrupts,
            plan: None,
            played,
        })
    }

    /// Begins a new chat with the greeting of the character, if there is one; its other greetings can be swiped to.
    pub(super) fn greet(&mut self, log: &mut ChatLog, show: &mut Console<'_>) -> Result<()> {
        let greetings = self.start.scene.get("card.greetings");
        let named = |text: &Value| text.to_text().replace("{{char}}", &self.name("char")).replace("{{user}}", &self.name("user"));
        let greetings: Vec<String> =
            greetings.as_list().unwrap_or_default().iter().map(named).filter(|text| !text.trim().is_empty()).collect();
        if log.len() > 0 {
            return Ok(());
        }
        let chosen = self.start.scene.get("chat.greeting").as_i64().and_then(|index| usize::try_from(index).ok()).unwrap_or_default();
        let Some(greeting) = log.greet(&self.name("char"), &greetings, chosen) else { return Ok(()) };
        log.save()?;
        if !show.is_json() && !self.start.once {
            show.result(&format!("{}\n", visible(&greeting)));
            if greetings.len() > 1 {
                let message = format!("there are {} greetings; `/swipe N` chooses another one", greetings.len());
                show.note(Diagnostic::note(crate::verbs::chat::note_code("chat.greeting"), message));
            }
        }
        Ok(())
    }

    /// The user's or the character's name.
    pub(super) fn name(&self, who: &str) -> String {
        self.start.scene.get(&format!("names.{who}")).to_text().to_string()
    }

    /// Sends a message of the user. False if the reply was interrupted.
    pub(super) fn say(&mut self, log: &mut ChatLog, text: &str, show: &mut Console<'_>) -> Result<bool> {
        self.commit(log, show)?;
        let until = log.len();
        // a message that is not answered stands in the chat all the same, and its reply can be asked for again
        log.say(&self.name("user"), text);
        log.save()?;
        let (turn, said) = self.ask(log, until, text, "normal", show)?;
        let Some(said) = said else { return Ok(false) };
        log.reply(&self.name("char"), &said.text, said.extra(&self.config));
        log.save()?;
        self.keep(turn, &said.text, log, show)?;
        Ok(!said.interrupted)
    }

    /// Asks for the last reply again: in its place, or as one more text of it.
    pub(super) fn again(&mut self, log: &mut ChatLog, beside: bool, show: &mut Console<'_>) -> Result<bool> {
        let Some((index, text)) = log.last_of_user() else { return Err(nothing_done("there is no message of yours to answer")) };
        if index + 1 + usize::from(log.ends_with_reply() == Some(true)) != log.len() {
            return Err(nothing_done("the last reply does not stand behind a message of yours"));
        }
        // what was built for a reply that is thrown away changes nothing
        self.pending = None;
        let kind = if beside { "swipe" } else { "regenerate" };
        let (turn, said) = self.ask(log, index + 1, &text, kind, show)?;
        let Some(said) = said else { return Ok(false) };
        match (log.ends_with_reply() == Some(true), beside) {
            (true, true) => log.swipe(&said.text, said.extra(&self.config)),
            (ended, _) => {
                if ended {
                    log.take_back();
                }
                log.reply(&self.name("char"), &said.text, said.extra(&self.config));
            }
        }
        log.save()?;
        self.keep(turn, &said.text, log, show)?;
        Ok(!said.interrupted)
    }

    /// The reply of the turn that is not committed is another one now.
    pub(super) fn replaced(&mut self, text: &str) {
        if let Some(pending) = &mut self.pending {
            text.clone_into(&mut pending.reply);
        }
    }

    /// Keeps a turn until its reply stands. Packs that work on replies want it at once.
    fn keep(&mut self, turn: Turn, text: &str, log: &mut ChatLog, show: &mut Console<'_>) -> Result<()> {
        self.pending = Some(PendingTurn { turn, reply: text.to_owned() });
        if self.start.rules.programs().find("after_reply").is_some() { self.commit(log, show) } else { Ok(()) }
    }

    /// Commits the turn that waits: its state and its artifacts.
    pub(super) fn commit(&mut self, log: &mut ChatLog, show: &mut Console<'_>) -> Result<()> {
        let Some(PendingTurn { turn, reply }) = self.pending.take() else { return Ok(()) };
        let asker = self.asker();
        let Some(done) = wait(self.interrupts.during(self.session.finish(turn.clone(), &reply, &asker))) else {
            // the turn can still be committed
            self.pending = Some(PendingTurn { turn, reply });
            return Err(interruption("interrupted before the state of the last turn was committed"));
        };
        asker.notes().into_iter().for_each(|note| show.note(note));
        let done = done.map_err(|error| session_failure(error, &self.start.rules))?;
        self.played += 1;
        show.warnings(&done.warnings, self.start.rules.sources());
        failed_operations(&done.run, self.played).into_iter().for_each(|warning| show.note(warning));
        if done.reply != reply {
            log.edit(log.len().saturating_sub(1), &done.reply);
            if !show.is_json() {
                show.result(&format!("{}\n", visible(&done.reply)));
            }
        }
        if let (Some(text), Some((index, _))) = (&done.user_text, log.last_of_user()) {
            log.edit(index, text);
        }
        log.save()
    }

    /// Who answers operations of the pack that ask a model.
    fn asker(&self) -> OperationModel {
        let ChatStart { rules, context, scene, .. } = &self.start;
        OperationModel::new(rules.clone(), self.runner.clone(), context.clone(), &self.config.scene(scene))
    }

    /// Builds the prompt behind the first `until` messages, and sends it. `said` is what the user has said: it is a new
    /// message, or for other types than `normal` the last one of the chat. `None` if no part of a reply arrived.
    fn ask(
        &mut self,
        log: &ChatLog,
        until: usize,
        said: &str,
        kind: &str,
        show: &mut Console<'_>,
    ) -> Result<(Turn, Option<ReceivedReply>)> {
        let rules = self.start.rules.clone();
        let mut scene = self.start.scene.clone();
        log.fill(&rules, &mut scene, until)?;
        // `/explain` and `/why` show it; it keeps what happened to every message
        scene.trace = !self.start.once;
        for (path, value) in [
            ("input", Value::text(if kind == "normal" { said } else { "" })),
            ("type", Value::text(kind)),
            ("turn.is_user_input", Value::Bool(kind == "normal")),
            ("turn.activation_text", Value::text(said)),
            ("turn_count", Value::Int(self.played + 1)),
        ] {
            scene.set(path, value);
        }
        if !self.start.fixed_time {
            scene.set("now", Value::text(clock()));
        }
        let scene = self.config.scene(&scene);
        let at = Moment { now: parse_milliseconds(&scene.get("now").to_text())?, turn: self.played + 1 };
        let asker = self.asker();
        let Some(turn) = wait(self.interrupts.during(self.session.begin(&scene, at, &asker))) else {
            return Err(interruption("interrupted before the prompt was complete"));
        };
        asker.notes().into_iter().for_each(|note| show.note(note));
        let turn = turn.map_err(|error| session_failure(error, &rules))?;
        show.warnings(&turn.plan.warnings, rules.sources());
        failed_operations(&turn.plan.reported("run").to_json(), at.turn).into_iter().for_each(|warning| show.note(warning));
        let plan = in_language(&self.config, &turn.plan).map_err(|e| reply_failure(&e, &rules, self.start.once))?;
        let said = self.send(&plan, show);
        self.plan = Some(plan);
        Ok((turn, said?))
    }

    /// Asks another model from now on.
    pub(super) fn change_model(&mut self, model: &str) -> Result<()> {
        let mut context = self.start.context.clone();
        context.insert("model".to_owned(), json!(model));
        let config = RunnerConfig::parse(&self.start.rules, &Json::Object(context.clone()));
        self.config = config.map_err(|e| reply_failure(&e, &self.start.rules, self.start.once))?;
        self.start.context = context;
        self.told_of_tools = false;
        self.start.scene.set("provider.model", Value::text(model));
        Ok(())
    }

    /// The state of the session, and what the last turn will change in it.
    pub(super) fn state(&self) -> Result<Json> {
        let state = wait(self.store.state(&self.home)).map_err(store_failure)?.map(|state| state.value).unwrap_or_default();
        let at = Moment { now: parse_milliseconds(&clock())?, turn: self.played };
        let artifacts = wait(self.session.artifacts(at)).map_err(store_failure)?;
        let artifacts: Map<String, Json> = artifacts.into_iter().map(|artifact| (artifact.tag, artifact.value)).collect();
        let coming = self.pending.as_ref().map(|pending| pending.turn.plan.patch.to_json());
        Ok(json!({ "turns": self.played, "state": state, "artifacts": artifacts, "next": coming }))
    }
}

fn interruption(message: &str) -> EarlyExit {
    EarlyExit::new(RunExit::No, Diagnostic::error(note_code("run.interrupted"), message))
}

fn store_failure(refused: StoreRefusal) -> EarlyExit {
    EarlyExit::new(RunExit::CouldNot, *refused)
}

/// What is told while a reply is on its way.
pub(super) enum ReplyEvent {
    Part(Delta),
    Again(RetryAttempt),
    Loop(LoopEvent),
    Warnings(Vec<Diagnostic>),
}

/// A reply as it is kept.
pub(super) struct ReceivedReply {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<ToolResult>,
    pub(super) interrupted: bool,
}

impl ReceivedReply {
    pub(super) fn extra(&self, config: &RunnerConfig) -> Json {
        let mut extra = json!({ "model": config.model, "api": config.provider });
        let Some(fields) = extra.as_object_mut() else { return extra };
        if !self.reasoning.is_empty() {
            fields.insert("reasoning".to_owned(), json!(self.reasoning));
        }
        if !self.calls.is_empty() {
            fields.insert("tools".to_owned(), json!(self.calls));
        }
        extra
    }
}

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
    fn hear(&mut self, event: ReplyEvent, show: &mut Console<'_>) {
        match event {
            ReplyEvent::Part(Delta::Text(text)) => self.more(&text, show),
            ReplyEvent::Part(_) => {}
            ReplyEvent::Again(attempt) => {
                let pause = attempt.pause.as_secs_f64();
                let message = format!("attempt {} failed ({}); the next one follows in {pause:.1} s", attempt.number, attempt.failed);
                show.note(Diagnostic::note(note_code("run.repeated"), message));
            }
            ReplyEvent::Loop(event) => self.step(event, show),
            ReplyEvent::Warnings(warnings) => show.warnings(&warnings, self.rules.sources()),
        }
    }

    fn more(&mut self, text: &str, show: &mut Console<'_>) {
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
    fn step(&mut self, event: LoopEvent, show: &mut Console<'_>) {
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
        show.note(Diagnostic::note(note_code("chat.tool"), message));
    }
}

impl RunningChat<'_> {
    /// Whether the model is offered tools. If it takes none, that is told once.
    fn offers_tools(&mut self, show: &mut Console<'_>) -> bool {
        if self.tools.visible().next().is_none() {
            return false;
        }
        let takes = self.config.capabilities().tools;
        if !takes && !self.told_of_tools {
            self.told_of_tools = true;
            let message = format!("`{}` takes no tools (capability `tools`), so it is offered none", visible(&self.config.model));
            let help = "if it takes tools, set `capabilities = { tools = true }` in a file for `--config`; `--no-tools` leaves this out";
            show.note(Diagnostic::note(note_code("chat.tool"), message).help(help));
        }
        takes
    }

    /// Sends a plan, with the tools that the model may call, and shows the reply. `None` if it was interrupted before
    /// any part of it arrived.
    pub(super) fn send(&mut self, plan: &Plan, show: &mut Console<'_>) -> Result<Option<ReceivedReply>> {
        let (rules, once) = (self.start.rules.clone(), self.start.once);
        let streams = self.start.stream && self.config.capabilities().streaming;
        let mut request = None;
        if !self.offers_tools(show) {
            let prepared = PromptRunner::prepare(&self.config, plan, &[], &self.start.options, streams)
                .map_err(|e| reply_failure(&e, &rules, once))?;
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
                show.note(Diagnostic::note(note_code("run.interrupted"), "interrupted before any part of the reply arrived"));
                return Ok(None);
            }
            Some(Err(error)) if screen.arrived.is_empty() => return Err(reply_failure(&error, &rules, once)),
            None => so_far(&screen.arrived),
            Some(Err(error)) => {
                show.result(if live { "\n" } else { "" });
                show.stop(reply_failure(&error, &rules, once));
                so_far(&screen.arrived)
            }
        };
        let clean = reply(&self.config, plan, &raw).map_err(|e| reply_failure(&e, &rules, once))?;
        let text = clean.text();
        if clean.message.get("tool_calls").is_some_and(|calls| calls.as_array().is_some_and(|calls| !calls.is_empty())) {
            show.note(Diagnostic::note(note_code("chat.tool"), "the model asks for tools, and it was offered none"));
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
            show.note(Diagnostic::note(note_code("chat.cleaned"), "the pack has cleaned the reply up; this is what is kept:"));
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
