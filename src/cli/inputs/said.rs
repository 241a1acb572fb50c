//! What is written and answered in the turns of a chat: a file that makes the chat grow from turn to turn.

use std::path::Path;

use serde_json::{Map as Object, Value as Json};

use crate::diag::{Code, Diagnostic, suggest};
use crate::model::{Map, Scene, Value};

use crate::cli::inputs::files::shown;
use crate::cli::inputs::lists::{document, tables};
use crate::cli::layout::head;
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};

/// The most turns of one run.
pub(super) const MAX_TURNS: u16 = 1000;

/// The list of a file of turns, as in a case.
const LIST: &str = "turns";
/// The keys of a turn.
const KEYS: [&str; 3] = ["message", "reply", "scene"];
/// Where the scene has what the user has typed.
const INPUT: &str = "input";
/// Numbers of the scene that count the messages of the chat, and those that count the messages of the user.
const OF_ALL: [&str; 2] = ["chat.length", "chat.visible"];
const OF_USER: [&str; 1] = ["chat.by_user"];

/// One turn.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Said {
    /// What the user writes.
    message: Option<String>,
    /// What the model answers, which the next turn finds in the chat.
    reply: Option<String>,
    /// Values of the scene for this turn alone.
    scene: Value,
}

impl Said {
    /// Puts the turn into its scene.
    pub(in crate::cli) fn enter(&self, scene: &mut Scene) {
        scene.merge(self.scene.clone());
        scene.set(INPUT, Value::text(self.message.as_deref().unwrap_or_default()));
    }

    /// Adds to the chat what was said.
    pub(in crate::cli) fn leave(&self, scene: &mut Scene) {
        let texts = [("user", &self.message, &OF_USER[..]), ("assistant", &self.reply, &[])];
        for (role, text, counts) in texts {
            let Some(text) = text else { continue };
            said(scene, role, text);
            for path in OF_ALL.iter().chain(counts) {
                // a scene that does not count its messages leaves that to the pack
                if let Some(count) = scene.get(path).as_i64() {
                    scene.set(path, Value::Int(count.saturating_add(1)));
                }
            }
        }
    }
}

/// Adds a message to the chat.
pub(in crate::cli) fn said(scene: &mut Scene, role: &str, text: &str) {
    let mut history = scene.get("history").as_list().map(<[Value]>::to_vec).unwrap_or_default();
    let message: Map = [("role", role), ("text", text)].into_iter().map(|(key, text)| (key.into(), Value::text(text))).collect();
    history.push(Value::map(message));
    scene.set("history", Value::list(history));
}

/// The turns of a file. A scene with a message of its own is refused, because the turns have theirs.
pub(super) fn read(file: &Path, scene: &Scene, show: &mut Show<'_, '_>) -> Result<Vec<Said>, Stop> {
    if !scene.get(INPUT).is_empty() {
        let message = "the scene has a message, and the turns have theirs";
        return Err(Stop::could_not(Code::SceneField, message, "leave out the message of the scene, and write it into the first turn"));
    }
    let wrong = |reason: String| {
        let complaint = Diagnostic::error(Code::SceneField, format!("`{}` holds no turns: {reason}", shown(file)));
        let help = format!("write a list `{LIST}` of tables with `{}`, each of which may be left out", KEYS.join("`, `"));
        Stop::new(Exit::No, complaint.help(help))
    };
    let turns = document(file, show)?.and_then(|found| tables(found, LIST)).map_err(wrong)?;
    if turns.is_empty() || turns.len() > MAX_TURNS.into() {
        return Err(wrong(format!("it has {}, and from 1 to {MAX_TURNS} are played", turns.len())));
    }
    let turns = turns.iter().enumerate();
    turns.map(|(n, turn)| one(turn.as_object().unwrap_or(&Object::new())).map_err(|why| wrong(format!("turn {}: {why}", n + 1)))).collect()
}

/// One turn, or why it is none.
fn one(turn: &Object<String, Json>) -> Result<Said, String> {
    let mut out = Said::default();
    for (key, value) in turn {
        match (key.as_str(), value) {
            ("message", Json::String(text)) => out.message = Some(text.clone()),
            ("reply", Json::String(text)) => out.reply = Some(text.clone()),
            ("scene", Json::Object(_)) => out.scene = Value::from(value),
            (known, _) if KEYS.contains(&known) => {
                let kind = if known == "scene" { "table" } else { "text" };
                return Err(format!("`{known}` is {}, and must be a {kind}", head(&value.to_string(), 40)));
            }
            _ => {
                let near = suggest::help(key, KEYS).map(|help| format!("; {help}")).unwrap_or_default();
                return Err(format!("unknown key `{}`{near}", head(key, 40)));
            }
        }
    }
    Ok(out)
}
