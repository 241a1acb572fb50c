//! What is written and answered in the turns of a chat: a file that makes the chat grow from turn to turn.

use std::path::Path;

use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Sources, TableField};
use crate::model::{Map, Scene, Value};
use crate::pack::{Ruleset, json, toml};

use crate::inputs::files::{shown, utf8, values_of};
use crate::inputs::scene::places;
use crate::layout::head;
use crate::output::{OutputStreams, WarningPlaces};
use crate::stop::{EarlyExit, RunExit};

/// The most turns of one run.
pub(super) const MAX_TURNS: u16 = 1000;

/// The list of a file of turns, as in a case.
const LIST: &str = "turns";
/// The keys that a file may have beside the list.
const BESIDE: [&str; 2] = ["about", "$schema"];
/// The keys of a turn.
const KEYS: [&str; 3] = ["message", "reply", "scene"];
/// Where the scene has what the user has typed.
const INPUT: &str = "input";
/// Numbers of the scene that count the messages of the chat, and those that count the messages of the user.
const OF_ALL: [&str; 2] = ["chat.length", "chat.visible"];
const OF_USER: [&str; 1] = ["chat.by_user"];

/// One turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct TranscriptTurn {
    /// What the user writes.
    message: Option<String>,
    /// What the model answers, which the next turn finds in the chat.
    reply: Option<String>,
    /// Values of the scene for this turn alone, as they are written.
    scene: Option<DocumentNode>,
    /// The text of the file.
    sources: Sources,
}

impl TranscriptTurn {
    /// Puts the turn into its scene.
    pub(crate) fn enter(&self, scene: &mut Scene) {
        scene.merge(self.scene());
        scene.set(INPUT, Value::text(self.message.as_deref().unwrap_or_default()));
    }

    /// Values of the scene for this turn alone.
    pub(crate) fn scene(&self) -> Value {
        self.scene.as_ref().map(|scene| Scene::of_written(Value::from(scene)).0).unwrap_or_default()
    }

    /// Where the file says what the turn may be warned of.
    pub(crate) fn places(&self, rules: &Ruleset) -> Option<WarningPlaces> {
        let scene = self.scene.as_ref()?;
        Some(WarningPlaces { told: places(rules, &self.scene(), |path| scene.at(path)), sources: self.sources.clone() })
    }

    /// Adds to the chat what was said.
    pub(crate) fn leave(&self, scene: &mut Scene) {
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
pub(crate) fn said(scene: &mut Scene, role: &str, text: &str) {
    let mut history = scene.get("history").as_list().map(<[Value]>::to_vec).unwrap_or_default();
    let message: Map = [("role", role), ("text", text)].into_iter().map(|(key, text)| (key.into(), Value::text(text))).collect();
    history.push(Value::map(message));
    scene.set("history", Value::list(history));
}

/// The turns of a file. A scene with a message of its own is refused, because the turns have theirs.
pub(super) fn read(file: &Path, scene: &Scene, show: &mut OutputStreams<'_, '_>) -> Result<Vec<TranscriptTurn>, EarlyExit> {
    if !scene.get(INPUT).is_empty() {
        let message = "the scene has a message, and the turns have theirs";
        return Err(EarlyExit::could_not(
            Code::SceneField,
            message,
            "leave out the message of the scene, and write it into the first turn",
        ));
    }
    let text = utf8(file, values_of(file, show)?)?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut reader = TurnsReader { shown: shown(file), sources: Sources::default(), report: Report::default() };
    let source = reader.sources.add(&reader.shown, "", text);
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    let root = if is_toml { toml::parse(source, text, &mut reader.report) } else { json::parse(source, text, &mut reader.report) };
    let turns = root.map(|root| reader.turns(&root)).unwrap_or_default();
    if reader.report.has_errors() {
        reader.report.sort();
        return Err(EarlyExit::report(RunExit::No, reader.report, reader.sources));
    }
    show.report(&reader.report, &reader.sources);
    Ok(turns)
}

/// Reads a file of turns, and collects everything that is wrong with it.
struct TurnsReader {
    /// The name of the file in messages.
    shown: String,
    sources: Sources,
    report: Report,
}

impl TurnsReader {
    /// That the whole file holds no turns.
    fn none(&mut self, node: &DocumentNode, reason: &str) {
        let help = format!("write a list `{LIST}` of tables with `{}`, each of which may be left out", KEYS.join("`, `"));
        let message = format!("`{}` holds no turns: {reason}", self.shown);
        self.report.push(Diagnostic::error(Code::SceneField, message).at(node.span).help(help));
    }

    fn turns(&mut self, root: &DocumentNode) -> Vec<TranscriptTurn> {
        for (key, field) in root.as_table().into_iter().flatten() {
            let key: &str = key;
            if key != LIST && !BESIDE.contains(&key) {
                let known = self.report.words.nearest(key, [LIST].into_iter().chain(BESIDE));
                let help = known.map_or_else(
                    || format!("take it out: the file is a list `{LIST}`, and each turn has its own `{}`", KEYS.join("`, `")).into(),
                    Help::from,
                );
                let complaint = Diagnostic::new(Code::SchemaUnknownKey, format!("a file of turns has no key `{}`", head(key, 40)));
                self.report.push(complaint.at(field.key).help(help));
            }
        }
        let Some(list) = root.get(LIST).unwrap_or(root).as_list() else {
            self.none(root.get(LIST).unwrap_or(root), "it is neither a list nor a table with this key");
            return Vec::new();
        };
        if list.is_empty() || list.len() > MAX_TURNS.into() {
            self.none(root, &format!("it has {}, and from 1 to {MAX_TURNS} are played", list.len()));
            return Vec::new();
        }
        list.iter().enumerate().map(|(n, turn)| self.turn(n + 1, turn)).collect()
    }

    /// One turn, by its number from 1.
    fn turn(&mut self, number: usize, turn: &DocumentNode) -> TranscriptTurn {
        let mut out = TranscriptTurn { sources: self.sources.clone(), ..TranscriptTurn::default() };
        let Some(table) = turn.as_table() else {
            let complaint = Diagnostic::new(Code::SchemaType, format!("turn {number} must be a table, but it is {}", turn.kind()));
            let help = format!("write a table with `{}`, each of which may be left out", KEYS.join("`, `"));
            self.report.push(complaint.at(turn.span).help(help));
            return out;
        };
        for (key, field) in table {
            match &**key {
                "message" => out.message = self.text(number, key, &field.node),
                "reply" => out.reply = self.text(number, key, &field.node),
                "scene" if field.node.as_table().is_some() => out.scene = Some(field.node.clone()),
                "scene" => self.other(number, key, &field.node, "a table"),
                _ => self.unknown(number, key, field),
            }
        }
        out
    }

    fn text(&mut self, number: usize, key: &str, node: &DocumentNode) -> Option<String> {
        let text = node.as_text().map(str::to_owned);
        if text.is_none() {
            self.other(number, key, node, "a text");
        }
        text
    }

    fn other(&mut self, number: usize, key: &str, node: &DocumentNode, wanted: &str) {
        let message = format!("turn {number}: `{key}` must be {wanted}, but it is {}", node.kind());
        self.report.push(Diagnostic::new(Code::SchemaType, message).at(node.span).help(format!("write {wanted}, or take it out")));
    }

    fn unknown(&mut self, number: usize, key: &str, field: &TableField) {
        let help = self.report.words.help(key, KEYS).unwrap_or_default();
        let message = format!("turn {number}: a turn has no key `{}`", head(key, 40));
        self.report.push(Diagnostic::new(Code::SchemaUnknownKey, message).at(field.key).help(help));
    }
}
