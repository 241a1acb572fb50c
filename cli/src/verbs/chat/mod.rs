//! `tapster chat`: a chat in the terminal, with any pack against any provider.
//!
//! A turn is built by the pack, sent by the runner, and committed to the store of sessions when the next message is
//! written: until then its reply can be asked for again, and the session does not know the ones that were thrown away.

mod log;
mod talk;
mod terminal;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value as Json, json};
use tapster_client::{Problem, ProviderError, RunError};
use tapster_door::explain;

use crate::diag::{Code, Diagnostic, DiagnosticCode, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::endpoint::{EndpointArgs, ToolArgs};
use crate::inputs::files::{path_text, read_bytes, read_values};
use crate::inputs::store::{ScratchStore, SessionArgs};
use crate::inputs::{InputArgs, parse_assignment};
use crate::layout::visible;
use crate::model::{Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::verbs::turn::{complete_context, error_code};
use log::ChatLog;
use talk::{LineOutcome, RunningChat};
use terminal::LineSource;

/// Talk to a model in the terminal, with any pack. The chat is kept in a file, its state and artifacts in a store.
#[derive(Debug, Args)]
#[command(after_help = crate::inputs::library::with_reader_name("Examples:
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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        self.inputs.refuse_flags_of_one_build("send one message with `--once MESSAGE`")?;
        if self.inputs.has_type() {
            let message = "`--type` has no effect here: the commands of the chat say what is generated";
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave it out; `/regen` and `/swipe` ask for a reply again"));
        }
        self.endpoint.check()?;
        let (rules, mut scene) = self.inputs.open(show)?;
        if let Some(url) = &self.endpoint.url {
            scene.set("provider.url", Value::text(url.as_str()));
        }
        let options = parse_options(&self.option)?;
        let context = self.context(&rules, &scene, show)?;
        let once = self.once_message(show)?;
        let (user, character) = (scene.get("names.user").to_text(), scene.get("names.char").to_text());
        let mut log = ChatLog::open(self.log.as_deref(), &user, &character, show)?;
        if let (Some(chat), true) = (self.inputs.chat(), log.len() > 0) {
            let message = format!("the log has messages already, so `--chat {}` would have no effect", path_text(chat));
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
    fn context(&self, rules: &Ruleset, scene: &Scene, show: &mut Console<'_>) -> Result<Map<String, Json>> {
        let mut context = match &self.config {
            None => Map::new(),
            Some(file) => {
                let text = String::from_utf8_lossy(&read_values(file, show)?).into_owned();
                let read = parse_config(file, &text)?;
                if read.contains_key("directives") {
                    let message =
                        format!("`directives` of `{}` is checked, but has no effect: a chat asks for no directives", path_text(file));
                    show.note(Diagnostic::note(DiagnosticCode::named("chat.config"), message));
                }
                for step in unknown_steps(rules, &read) {
                    let message = format!("`module_configs.{step}` of `{}` is ignored: there is no step of this name", path_text(file));
                    let note = Diagnostic::note(DiagnosticCode::named("chat.config"), message);
                    show.note(note.help("correct the name, or leave the part out"));
                }
                read
            }
        };
        complete_context(&mut context, &self.endpoint, rules, scene)?;
        Ok(context)
    }

    fn once_message(&self, show: &mut Console<'_>) -> Result<Option<String>> {
        let message = match self.once.as_deref() {
            Some("-") => {
                let text = String::from_utf8_lossy(&read_bytes(std::path::Path::new("-"), show)?).into_owned();
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
fn tell_of_directives(rules: &Ruleset, show: &mut Console<'_>) {
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
fn parse_config(file: &Path, text: &str) -> Result<Map<String, Json>> {
    let wrong = |code: Code, why: String| {
        let message = format!("`{}` cannot be read: {}", path_text(file), why.trim_end());
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
fn parse_options(given: &[String]) -> Result<Map<String, Json>> {
    let mut options = Map::new();
    for text in given {
        let (key, value) = parse_assignment(text)?;
        options.insert(key, value.to_json());
    }
    Ok(options)
}

/// Every command: its name, what it takes, what it does.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "", "lists the commands"),
    ("explain", "", "where each block of the last prompt came from"),
    ("why", "[N]", "why lore is in the last prompt or is not; with a number, what happened to that block"),
    ("regen", "", "asks for the last reply again, in its place"),
    ("swipe", "[N]", "asks for another text of the last reply; with a number, chooses one of them"),
    ("edit", "[N] TEXT", "replaces the text of the last message, or of message N of the chat, from 1"),
    ("state", "", "the state and the artifacts of the session, and what the last turn will change"),
    ("set", "PATH=VALUE", "sets a value of the scene for this chat"),
    ("model", "[NAME]", "asks another model from now on; without a name, shows the one that is asked"),
    ("quit", "", "ends the chat"),
];

impl RunningChat<'_> {
    /// One line of the chat. A message that begins with `/` is written with two of them.
    fn hear(&mut self, log: &mut ChatLog, line: &str, show: &mut Console<'_>) -> Result<LineOutcome> {
        let heard = |done: bool| if done { LineOutcome::Done } else { LineOutcome::Failed };
        let Some(command) = line.strip_prefix('/') else { return self.say(log, line, show).map(heard) };
        if command.starts_with('/') {
            return self.say(log, command, show).map(heard);
        }
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        match name {
            "help" => show_help(show),
            "explain" => self.explain(show)?,
            "why" => self.why(rest, show)?,
            "regen" => return self.again(log, false, show).map(heard),
            "swipe" if rest.is_empty() => return self.again(log, true, show).map(heard),
            "swipe" => self.choose(log, rest, show)?,
            "edit" => self.edit(log, rest)?,
            "state" => show.json(&self.state()?),
            "set" => {
                let (path, value) = parse_assignment(rest)?;
                self.start.scene.set(&path, value);
            }
            "model" if rest.is_empty() => show.result(&format!("{}\n", visible(&self.config.model))),
            "model" => self.change_model(rest)?,
            "quit" | "exit" => return Ok(LineOutcome::End),
            other => {
                let near = suggest::help(other, COMMANDS.iter().map(|(name, ..)| *name)).map(|help| format!("; {help}"));
                return Err(nothing_done(&format!("there is no command `/{}`{}", visible(other), near.unwrap_or_default())));
            }
        }
        Ok(LineOutcome::Done)
    }

    fn explain(&self, show: &mut Console<'_>) -> Result<()> {
        let Some(plan) = &self.plan else { return Err(nothing_done("nothing was built yet")) };
        show.result(&explain::as_text(plan, &self.start.rules));
        Ok(())
    }

    fn why(&self, rest: &str, show: &mut Console<'_>) -> Result<()> {
        let Some(plan) = &self.plan else { return Err(nothing_done("nothing was built yet")) };
        if rest.is_empty() {
            show.result(&explain::lore::as_text(plan, &self.start.rules, None));
            return Ok(());
        }
        let block = rest.parse::<usize>().ok().and_then(|index| plan.blocks.get(index));
        let Some(block) = block else { return Err(nothing_done("the last prompt has no such block; `/explain` numbers them from 0")) };
        show.json(&json!({
            "id": block.text("id"), "slot": block.text("slot"), "role": block.text("role"), "tokens": block.tokens,
            "enabled": block.enabled(), "text": block.text("text"), "history": explain::events(block, &self.start.rules),
        }));
        Ok(())
    }

    fn choose(&mut self, log: &mut ChatLog, rest: &str, show: &mut Console<'_>) -> Result<()> {
        if log.ends_with_reply() != Some(true) {
            return Err(nothing_done("the chat does not end with a reply"));
        }
        let chosen = rest.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).and_then(|index| log.choose(index));
        let Some(text) = chosen else {
            return Err(nothing_done(&format!("the last reply has {} texts; choose one by its number, from 1", log.swipes().len())));
        };
        self.replaced(&text);
        show.result(&format!("{}\n", visible(&text)));
        log.save()
    }

    fn edit(&mut self, log: &mut ChatLog, rest: &str) -> Result<()> {
        let (number, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (index, text) = match number.parse::<usize>() {
            Ok(number) if !text.trim().is_empty() => (number.checked_sub(1), text.trim()),
            _ => (log.len().checked_sub(1), rest),
        };
        if text.is_empty() {
            return Err(nothing_done("`/edit` needs the new text"));
        }
        let Some(index) = index.filter(|index| log.edit(*index, text)) else {
            return Err(nothing_done(&format!("the chat has {} messages", log.len())));
        };
        if index + 1 == log.len() && log.ends_with_reply() == Some(true) {
            self.replaced(text);
        }
        log.save()
    }
}

fn show_help(show: &mut Console<'_>) {
    for (name, takes, does) in COMMANDS {
        show.result(&format!("{:<20}{does}\n", format!("/{name} {takes}")));
    }
    show.result("A message that begins with `/` is written with two of them.\n");
}

/// Why there is no reply, for the terminal. With `once` there is no chat in which it could be asked for again.
fn reply_failure(error: &RunError, rules: &Ruleset, once: bool) -> EarlyExit {
    let list = |problems: &[Problem]| -> String { problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ") };
    let (message, help) = match error {
        RunError::Build(error) => return EarlyExit::build(error, rules),
        RunError::Config(problems) => {
            (format!("the configuration of the run has mistakes: {}", list(problems)), "docs/reference/runner.md says what it may hold")
        }
        RunError::Preflight(problems) => {
            (format!("the request is not sent: {}", list(problems)), "change the options, or the capabilities in `--config`")
        }
        RunError::Provider(error) => (visible(&error.message), remedy(error, once)),
        other => (visible(&other.to_string()), ""),
    };
    let exit = if matches!(error, RunError::Config(_)) { RunExit::CouldNot } else { RunExit::No };
    let found = Diagnostic::error(note_code(&format!("run.{}", error_code(error))), message);
    EarlyExit::new(exit, if help.is_empty() { found } else { found.help(help) })
}

/// What can be done about a failure of a provider; empty if the message says it all.
fn remedy(error: &ProviderError, once: bool) -> &'static str {
    match (error.status, error.code.as_str()) {
        (Some(401 | 403), _) => "check the key: `--key-env NAME` or `--key-file FILE` names another one",
        (Some(404), _) => "check the name of the model, `--model`, and the address, `--url`",
        (_, "key_not_for_this_address" | "other_address" | "address") => "",
        (_, "max_turns") => "raise `tool_calling = { max_turns = … }` in the file for `--config`",
        _ if once => "",
        _ => "`/regen` asks again",
    }
}

fn note_code(code: &str) -> DiagnosticCode {
    DiagnosticCode::named(code)
}

/// A command that has nothing to work on.
fn nothing_done(message: &str) -> EarlyExit {
    EarlyExit::refused(note_code("chat.command"), message, "`/help` lists the commands")
}
