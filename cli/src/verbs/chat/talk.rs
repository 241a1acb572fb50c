//! One turn after another: build, send, show, keep.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::diag::Diagnostic;
use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::scene::clock;
use crate::inputs::session::milliseconds;
use crate::layout::visible;
use crate::model::{Plan, Scene, Value};
use crate::output::OutputStreams;
use crate::pack::Ruleset;
use crate::run::retry::RetryAttempt;
use crate::run::tools::FilteredToolRegistry;
use crate::run::{PromptRunner, RunnerConfig, in_language};
use crate::session::{Session, Turn};
use crate::stop::{EarlyExit, RunExit};
use crate::store::{Home, Moment, SessionStore, SqlStore, StoreRefusal};
use crate::verbs::artifact::stop;
use crate::verbs::operations::{OperationModel, failed_operations};
use crate::waiting::wait;

use super::interrupts::InterruptListener;
use super::log::ChatLog;
use super::reply::{ReceivedReply, ReplyEvent};
use super::trouble::{named, nothing, told};

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
        show: &mut OutputStreams<'_, '_>,
    ) -> Result<Self, EarlyExit> {
        let config =
            RunnerConfig::parse(&start.rules, &Json::Object(start.context.clone())).map_err(|e| told(&e, &start.rules, start.once))?;
        let dialect = config.values.get("dialect").and_then(Json::as_str).unwrap_or_default().to_owned();
        let (tell, events) = unbounded_channel();
        let again = tell.clone();
        // nobody hears of an attempt when the chat is over
        let hears = Arc::new(move |attempt: &RetryAttempt| drop(again.send(ReplyEvent::Again(attempt.clone()))));
        let addressed = !start.scene.get("provider.url").is_null();
        let transport = endpoint.transport(&start.rules, &dialect, addressed, hears, show)?;
        let session = Session::new(store, start.rules.clone(), home.clone());
        let played = wait(store.info(&home)).map_err(refused)?.map_or(0, |info| info.turns);
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
    pub(super) fn greet(&mut self, log: &mut ChatLog, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
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
                show.note(Diagnostic::note(super::trouble::named("chat.greeting"), message));
            }
        }
        Ok(())
    }

    /// The user's or the character's name.
    pub(super) fn name(&self, who: &str) -> String {
        self.start.scene.get(&format!("names.{who}")).to_text().to_string()
    }

    /// Sends a message of the user. False if the reply was interrupted.
    pub(super) fn say(&mut self, log: &mut ChatLog, text: &str, show: &mut OutputStreams<'_, '_>) -> Result<bool, EarlyExit> {
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
    pub(super) fn again(&mut self, log: &mut ChatLog, beside: bool, show: &mut OutputStreams<'_, '_>) -> Result<bool, EarlyExit> {
        let Some((index, text)) = log.last_of_user() else { return Err(nothing("there is no message of yours to answer")) };
        if index + 1 + usize::from(log.ends_with_reply() == Some(true)) != log.len() {
            return Err(nothing("the last reply does not stand behind a message of yours"));
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
    fn keep(&mut self, turn: Turn, text: &str, log: &mut ChatLog, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        self.pending = Some(PendingTurn { turn, reply: text.to_owned() });
        if self.start.rules.programs().find("after_reply").is_some() { self.commit(log, show) } else { Ok(()) }
    }

    /// Commits the turn that waits: its state and its artifacts.
    pub(super) fn commit(&mut self, log: &mut ChatLog, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let Some(PendingTurn { turn, reply }) = self.pending.take() else { return Ok(()) };
        let asker = self.asker();
        let Some(done) = wait(self.interrupts.during(self.session.finish(turn.clone(), &reply, &asker))) else {
            // the turn can still be committed
            self.pending = Some(PendingTurn { turn, reply });
            return Err(interrupted("interrupted before the state of the last turn was committed"));
        };
        asker.notes().into_iter().for_each(|note| show.note(note));
        let done = done.map_err(|error| stop(error, &self.start.rules))?;
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
        show: &mut OutputStreams<'_, '_>,
    ) -> Result<(Turn, Option<ReceivedReply>), EarlyExit> {
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
        let at = Moment { now: milliseconds(&scene.get("now").to_text())?, turn: self.played + 1 };
        let asker = self.asker();
        let Some(turn) = wait(self.interrupts.during(self.session.begin(&scene, at, &asker))) else {
            return Err(interrupted("interrupted before the prompt was complete"));
        };
        asker.notes().into_iter().for_each(|note| show.note(note));
        let turn = turn.map_err(|error| stop(error, &rules))?;
        show.warnings(&turn.plan.warnings, rules.sources());
        failed_operations(&turn.plan.reported("run").to_json(), at.turn).into_iter().for_each(|warning| show.note(warning));
        let plan = in_language(&self.config, &turn.plan).map_err(|e| told(&e, &rules, self.start.once))?;
        let said = self.send(&plan, show);
        self.plan = Some(plan);
        Ok((turn, said?))
    }

    /// Asks another model from now on.
    pub(super) fn change_model(&mut self, model: &str) -> Result<(), EarlyExit> {
        let mut context = self.start.context.clone();
        context.insert("model".to_owned(), json!(model));
        let config = RunnerConfig::parse(&self.start.rules, &Json::Object(context.clone()));
        self.config = config.map_err(|e| told(&e, &self.start.rules, self.start.once))?;
        self.start.context = context;
        self.told_of_tools = false;
        self.start.scene.set("provider.model", Value::text(model));
        Ok(())
    }

    /// The state of the session, and what the last turn will change in it.
    pub(super) fn state(&self) -> Result<Json, EarlyExit> {
        let state = wait(self.store.state(&self.home)).map_err(refused)?.map(|state| state.value).unwrap_or_default();
        let at = Moment { now: milliseconds(&clock())?, turn: self.played };
        let artifacts = wait(self.session.artifacts(at)).map_err(refused)?;
        let artifacts: Map<String, Json> = artifacts.into_iter().map(|artifact| (artifact.tag, artifact.value)).collect();
        let coming = self.pending.as_ref().map(|pending| pending.turn.plan.patch.to_json());
        Ok(json!({ "turns": self.played, "state": state, "artifacts": artifacts, "next": coming }))
    }
}

fn interrupted(message: &str) -> EarlyExit {
    EarlyExit::new(RunExit::No, Diagnostic::error(named("run.interrupted"), message))
}

fn refused(refused: StoreRefusal) -> EarlyExit {
    EarlyExit::new(RunExit::CouldNot, *refused)
}
