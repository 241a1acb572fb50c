//! What may be typed in a chat: messages, and commands that begin with `/`.

use serde_json::json;

use crate::diag::suggest;
use crate::inputs::assignment;
use crate::layout::visible;
use crate::output::OutputStreams;
use crate::stop::EarlyExit;
use crate::verbs::explain;

use super::log::ChatLog;
use super::talk::{LineOutcome, RunningChat};
use super::trouble::nothing;

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
    pub(super) fn hear(&mut self, log: &mut ChatLog, line: &str, show: &mut OutputStreams<'_, '_>) -> Result<LineOutcome, EarlyExit> {
        let heard = |done: bool| if done { LineOutcome::Done } else { LineOutcome::Failed };
        let Some(command) = line.strip_prefix('/') else { return self.say(log, line, show).map(heard) };
        if command.starts_with('/') {
            return self.say(log, command, show).map(heard);
        }
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        match name {
            "help" => help(show),
            "explain" => self.explain(show)?,
            "why" => self.why(rest, show)?,
            "regen" => return self.again(log, false, show).map(heard),
            "swipe" if rest.is_empty() => return self.again(log, true, show).map(heard),
            "swipe" => self.choose(log, rest, show)?,
            "edit" => self.edit(log, rest)?,
            "state" => show.json(&self.state()?),
            "set" => {
                let (path, value) = assignment(rest)?;
                self.start.scene.set(&path, value);
            }
            "model" if rest.is_empty() => show.result(&format!("{}\n", visible(&self.config.model))),
            "model" => self.change_model(rest)?,
            "quit" | "exit" => return Ok(LineOutcome::End),
            other => {
                let near = suggest::help(other, COMMANDS.iter().map(|(name, ..)| *name)).map(|help| format!("; {help}"));
                return Err(nothing(&format!("there is no command `/{}`{}", visible(other), near.unwrap_or_default())));
            }
        }
        Ok(LineOutcome::Done)
    }

    fn explain(&self, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let Some(plan) = &self.plan else { return Err(nothing("nothing was built yet")) };
        show.result(&explain::as_text(plan, &self.start.rules));
        Ok(())
    }

    fn why(&self, rest: &str, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let Some(plan) = &self.plan else { return Err(nothing("nothing was built yet")) };
        if rest.is_empty() {
            show.result(&explain::lore::as_text(plan, &self.start.rules, None));
            return Ok(());
        }
        let block = rest.parse::<usize>().ok().and_then(|index| plan.blocks.get(index));
        let Some(block) = block else { return Err(nothing("the last prompt has no such block; `/explain` numbers them from 0")) };
        show.json(&json!({
            "id": block.text("id"), "slot": block.text("slot"), "role": block.text("role"), "tokens": block.tokens,
            "enabled": block.enabled(), "text": block.text("text"), "history": explain::events(block, &self.start.rules),
        }));
        Ok(())
    }

    fn choose(&mut self, log: &mut ChatLog, rest: &str, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        if log.ends_with_reply() != Some(true) {
            return Err(nothing("the chat does not end with a reply"));
        }
        let chosen = rest.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).and_then(|index| log.choose(index));
        let Some(text) = chosen else {
            return Err(nothing(&format!("the last reply has {} texts; choose one by its number, from 1", log.swipes().len())));
        };
        self.replaced(&text);
        show.result(&format!("{}\n", visible(&text)));
        log.save()
    }

    fn edit(&mut self, log: &mut ChatLog, rest: &str) -> Result<(), EarlyExit> {
        let (number, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (index, text) = match number.parse::<usize>() {
            Ok(number) if !text.trim().is_empty() => (number.checked_sub(1), text.trim()),
            _ => (log.len().checked_sub(1), rest),
        };
        if text.is_empty() {
            return Err(nothing("`/edit` needs the new text"));
        }
        let Some(index) = index.filter(|index| log.edit(*index, text)) else {
            return Err(nothing(&format!("the chat has {} messages", log.len())));
        };
        if index + 1 == log.len() && log.ends_with_reply() == Some(true) {
            self.replaced(text);
        }
        log.save()
    }
}

fn help(show: &mut OutputStreams<'_, '_>) {
    for (name, takes, does) in COMMANDS {
        show.result(&format!("{:<20}{does}\n", format!("/{name} {takes}")));
    }
    show.result("A message that begins with `/` is written with two of them.\n");
}
