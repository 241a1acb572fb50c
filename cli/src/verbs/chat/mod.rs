//! `tapster chat`: a chat in the terminal, with any pack against any provider.
//!
//! A turn is built by the pack, sent by the runner, and committed to the store of sessions when the next message is
//! written: until then its reply can be asked for again, and the session does not know the ones that were thrown away.

mod commands;
mod input;
mod interrupts;
mod log;
mod reply;
mod sending;
mod talk;
mod trouble;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value as Json};

use crate::diag::{Code, Diagnostic, DiagnosticCode};
use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::files::{bytes_of, shown, values_of};
use crate::inputs::session::{ScratchStore, SessionArgs};
use crate::inputs::tools::ToolArgs;
use crate::inputs::{InputArgs, assignment};
use crate::model::{Scene, Value};
use crate::output::OutputStreams;
use crate::pack::Ruleset;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::operations::complete_context;

use input::LineSource;
use log::ChatLog;
use talk::RunningChat;

/// Talk to a model in the terminal, with any pack. The chat is kept in a file, its state and artifacts in a store.
#[derive(Debug, Args)]
#[command(after_help = crate::inputs::library::examples("Examples:
  tapster chat --model gpt-4o-mini --log chat.jsonl
  tapster chat --pack READER --model gpt-4o-mini --character ann.png
  tapster chat my-scene --url http://127.0.0.1:8080/v1 --model local --log ann.jsonl
  tapster chat --dialect anthropic --model claude-sonnet-4-5 --key-file ~/.keys/anthropic
  tapster chat my-scene --model gpt-4o-mini --once \"Who are you?\" --format json
  printf 'Hello.\\nWho are you?\\n' | tapster chat my-scene --model gpt-4o-mini

In the chat, `/help` lists the commands. Ctrl-C while a reply arrives keeps what has arrived; it ends nothing else.
If standard input is not a terminal, there is no prompt, and each line is a message or a command. What `--once` is given
is always a message.

The log is a chat file of one JSON object on each line, which other chat programs read. State and artifacts are kept in
the store of sessions (`--store`, else `tapster.db` in this folder), for each log its own session. Without `--log`,
`--session` and `--store` nothing is kept. The model is offered the tools of the pack and of `--tools FILE`.

Exit codes: 0 done, 1 a reply failed or was interrupted, 2 it could not begin, 130 ended by Ctrl-C."))]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// Sends this message, writes the reply, and ends; `-` reads the message from standard input.
    #[arg(long, value_name = "MESSAGE", allow_hyphen_values = true)]
    once: Option<String>,
    /// The file of the chat: it is read if it exists, and written after every message.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The configuration of the runner, as TOML or JSON: capabilities, llm_options_defaults, transforms …
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sets an option of the request, such as temperature=0.7; a value that is not JSON is a text.
    #[arg(long, value_name = "KEY=VALUE")]
    option: Vec<String>,
    /// Waits for whole replies.
    #[arg(long)]
    no_stream: bool,
    #[command(flatten)]
    tools: ToolArgs,
    #[command(flatten)]
    place: SessionArgs,
}

impl ChatArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        if let Some(flag) = self.inputs.given_for_one_build() {
            let message = format!("`{flag}` has no effect here");
            return Err(EarlyExit::could_not(Code::SceneField, message, "send one message with `--once MESSAGE`"));
        }
        if self.inputs.has_type() {
            let message = "`--type` has no effect here: the commands of the chat say what is generated";
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave it out; `/regen` and `/swipe` ask for a reply again"));
        }
        self.endpoint.check()?;
        let (rules, mut scene) = self.inputs.open(show)?;
        if let Some(url) = &self.endpoint.url {
            scene.set("provider.url", Value::text(url.as_str()));
        }
        let options = options(&self.option)?;
        let context = self.context(&rules, &scene, show)?;
        let once = self.once_message(show)?;
        let (user, character) = (scene.get("names.user").to_text(), scene.get("names.char").to_text());
        let mut log = ChatLog::open(self.log.as_deref(), &user, &character, show)?;
        if let (Some(chat), true) = (self.inputs.chat(), log.len() > 0) {
            let message = format!("the log has messages already, so `--chat {}` would have no effect", shown(chat));
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave `--chat` out, or name a new file with `--log`"));
        }
        log.begin(self.inputs.chat(), &scene, show)?;
        let input = scene.get("input").to_text();
        if !input.is_empty() {
            let message = "the message of the scene is not sent: a chat sends what is typed, or what `--once` says";
            show.note(Diagnostic::note(DiagnosticCode::named("chat.message"), message));
        }
        let memory = if self.log.is_none() && !self.place.is_named(show) { Some(ScratchStore::new()?) } else { None };
        let store = memory.as_ref().map_or_else(|| self.place.open(show), |scratch| scratch.open())?;
        let home = self.place.home_of(self.log.as_deref());
        let stream = !self.no_stream && !show.is_json();
        let fixed_time = self.inputs.has_time();
        let start = talk::ChatStart { rules, scene, context, options, stream, fixed_time, once: once.is_some() };
        let tools = self.tools.registry(&start.rules, show)?;
        tell_of_directives(&start.rules, show);
        let mut talk = RunningChat::new(start, &self.endpoint, tools, &store, home, show)?;
        talk.greet(&mut log, show)?;
        if let Some(message) = once {
            let said = talk.say(&mut log, &message, show);
            let committed = talk.commit(&mut log, show);
            committed?;
            return Ok(if said? { RunExit::Done } else { RunExit::No });
        }
        let mut typed = LineSource::open(show)?;
        if typed.is_terminal() {
            talk.interrupts.at_terminal();
        }
        let mut exit = RunExit::Done;
        while let Some(line) = typed.next(&talk.interrupts, show)? {
            match talk.hear(&mut log, &line, show) {
                Ok(talk::LineOutcome::End) => break,
                Ok(talk::LineOutcome::Done) => {}
                Ok(talk::LineOutcome::Failed) => exit = RunExit::No,
                // one failed message ends no chat
                Err(stop) => {
                    show.stop(stop);
                    exit = RunExit::No;
                }
            }
        }
        talk.commit(&mut log, show)?;
        Ok(if typed.is_terminal() { RunExit::Done } else { exit })
    }

    /// The configuration of the runner: the file, and above it what the flags say.
    fn context(&self, rules: &Ruleset, scene: &Scene, show: &mut OutputStreams<'_, '_>) -> Result<Map<String, Json>, EarlyExit> {
        let mut context = match &self.config {
            None => Map::new(),
            Some(file) => {
                let text = String::from_utf8_lossy(&values_of(file, show)?).into_owned();
                let read = config_of(file, &text)?;
                if read.contains_key("directives") {
                    let message = format!("`directives` of `{}` is checked, but has no effect: a chat asks for no directives", shown(file));
                    show.note(Diagnostic::note(DiagnosticCode::named("chat.config"), message));
                }
                for step in unknown_steps(rules, &read) {
                    let message = format!("`module_configs.{step}` of `{}` is ignored: there is no step of this name", shown(file));
                    let note = Diagnostic::note(DiagnosticCode::named("chat.config"), message);
                    show.note(note.help("correct the name, or leave the part out"));
                }
                read
            }
        };
        complete_context(&mut context, &self.endpoint, rules, scene)?;
        Ok(context)
    }

    fn once_message(&self, show: &mut OutputStreams<'_, '_>) -> Result<Option<String>, EarlyExit> {
        let message = match self.once.as_deref() {
            Some("-") => {
                let text = String::from_utf8_lossy(&bytes_of(std::path::Path::new("-"), show)?).into_owned();
                Some(text.trim_end_matches('\n').to_owned())
            }
            once => once.map(str::to_owned),
        };
        if message.as_ref().is_some_and(|message| message.trim().is_empty()) {
            return Err(EarlyExit::could_not(Code::SceneField, "the message is empty", "write the message behind `--once`"));
        }
        Ok(message)
    }
}

/// The steps of a build that a configuration sets, and that the pack does not know.
fn unknown_steps(rules: &Ruleset, read: &Map<String, Json>) -> Vec<String> {
    let rows = rules.programs().rules.table("config");
    let row = rows.as_list().unwrap_or_default().iter().find(|row| row.get("name").and_then(Value::as_str) == Some("module_configs"));
    let known = row.and_then(|row| row.at("schema.properties")).map(Value::to_json).unwrap_or_default();
    let steps = read.get("module_configs").and_then(Json::as_object).into_iter().flatten();
    steps.filter(|(step, _)| known.get(step.as_str()).is_none()).map(|(step, _)| step.escape_debug().to_string()).collect()
}

/// Tells that a chat asks for no directives, if the pack declares some.
fn tell_of_directives(rules: &Ruleset, show: &mut OutputStreams<'_, '_>) {
    let rows = rules.programs().rules.table("directive");
    let names: Vec<String> =
        rows.as_list().unwrap_or(&[]).iter().filter_map(|row| row.get("name")).map(|name| format!("`{}`", name.to_text())).collect();
    if !names.is_empty() {
        let message = format!(
            "pack `{}` declares directives, which a chat does not ask for and does not read: {}",
            rules.pack().name,
            names.join(", ")
        );
        let help = "`tapster eval --mode directives` and the library (`run::directives`) run them";
        show.note(Diagnostic::warning(DiagnosticCode::named("chat.directives"), message).help(help));
    }
}

/// A configuration, as JSON if it begins like an object, and otherwise as TOML.
fn config_of(file: &Path, text: &str) -> Result<Map<String, Json>, EarlyExit> {
    let wrong = |code: Code, why: String| {
        let message = format!("`{}` cannot be read: {}", shown(file), why.trim_end());
        EarlyExit::could_not(code, message, "a configuration is a TOML file or a JSON object")
    };
    let read = if text.trim_start().starts_with('{') {
        serde_json::from_str::<Json>(text).map_err(|error| wrong(Code::SyntaxJson, error.to_string()))?
    } else {
        let table = toml::from_str::<toml::Table>(text).map_err(|error| wrong(Code::SyntaxToml, error.to_string()))?;
        serde_json::to_value(table).map_err(|error| wrong(Code::SyntaxToml, error.to_string()))?
    };
    match read {
        Json::Object(read) => Ok(read),
        _ => Err(wrong(Code::SyntaxJson, "it is not an object".to_owned())),
    }
}

/// `key=value` of every `--option`.
fn options(given: &[String]) -> Result<Map<String, Json>, EarlyExit> {
    let mut options = Map::new();
    for text in given {
        let (key, value) = assignment(text)?;
        options.insert(key, value.to_json());
    }
    Ok(options)
}
