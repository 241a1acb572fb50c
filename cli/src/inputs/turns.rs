//! Several turns of one chat: the random draws that are scripted, the number of turns, and the file that keeps the state.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;

use crate::build::{BuildError, blocks_of, unchanged, unchanged_payload};
use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Sources, TableField};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{decode_utf8, path_text, read_values, write_private};
use crate::inputs::scene::warning_places;
use crate::layout::head;
use crate::model::plan::UnchangedPrefix;
use crate::model::{Map, Plan, PlanBlock, Scene, Value};
use crate::output::{Console, WarningPlaces};
use crate::pack::{Ruleset, json, toml};
use crate::testing::play::CaseChat;

/// The path of the scene that counts the messages of the user.
const TURN_COUNT: &str = "turn_count";

/// Flags of verbs that build or run a scene.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlayArgs {
    /// Random draws, which are used up before the seed is: a file with a JSON list of numbers from 0 up to, but not
    /// including, 1, or with such numbers between spaces and line breaks; `-` reads them from standard input.
    #[arg(long, value_name = "FILE", help_heading = "Turns")]
    draws: Option<PathBuf>,
    /// Plays turns of one chat: each finds what those before it have stored, and the draws that they have left. The result is
    /// a list with one element for each turn. A file says what is written and answered, and the chat grows by that: TOML or
    /// JSON with a list `turns` of tables with `message`, `reply` and `scene`. With a number, the chat stays as it is.
    #[arg(long, value_name = "N|FILE", value_parser = parse_turns, conflicts_with = "previous", help_heading = "Turns")]
    turns: Option<TurnSelection>,
    /// The file that keeps the state of the chat: it is read if it exists, and written at the end.
    #[arg(long, value_name = "FILE", help_heading = "Turns")]
    state: Option<PathBuf>,
}

/// Which turns are played.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TurnSelection {
    /// The same one several times.
    Times(u16),
    /// Those of a file.
    Said(PathBuf),
}

fn parse_turns(text: &str) -> Result<TurnSelection, String> {
    if text.is_empty() || text.bytes().any(|b| !b.is_ascii_digit()) {
        return if text.is_empty() { Err("write a number or a file".to_owned()) } else { Ok(TurnSelection::Said(text.into())) };
    }
    let times = text.parse().ok().filter(|times| (1..=MAX_TURNS).contains(times));
    times.map(TurnSelection::Times).ok_or_else(|| format!("{text} is not in 1..={MAX_TURNS}; a file with such a name is `./{text}`"))
}

/// What a turn has left.
pub(crate) struct TurnResult {
    /// What it shows.
    pub(crate) result: Json,
    /// What it stores.
    pub(crate) patch: Value,
    /// How many scripted draws it did not use.
    pub(crate) draws: usize,
}

impl PlayArgs {
    /// Whether the result is a list of turns.
    pub(crate) fn are_many(&self) -> bool {
        self.turns.is_some()
    }

    /// Warns that the chat stays as it is, where somebody may think that it grows.
    pub(crate) fn warn_of_same_chat(&self, show: &mut Console<'_>) {
        if let Some(TurnSelection::Times(times @ 2..)) = self.turns {
            let message = format!("the chat is the same in all {times} turns: nothing is written or answered in between");
            show.note(Diagnostic::note(Code::SceneField, message).help("`--turns FILE` names a file with what is said in each turn"));
        }
    }

    /// Plays the turns, and returns what each shows. `turn` is given the scene of a turn, and what a file says of it.
    pub(crate) fn play(
        &self,
        rules: &Ruleset,
        scene: &Scene,
        show: &mut Console<'_>,
        mut turn: impl FnMut(Scene, Option<&TranscriptTurn>, &mut Console<'_>) -> Result<TurnResult>,
    ) -> Result<Vec<Json>> {
        let mut chat = match &self.state {
            Some(file) => read_state(file, show)?.map_or_else(CaseChat::default, CaseChat::with),
            None => CaseChat::default(),
        };
        let mut draws = match &self.draws {
            Some(file) => Some(read_draws(file, show)?),
            None => scene.draws.clone(),
        };
        let scripted = draws.as_ref().map_or(0, Vec::len);
        let counted = rules.programs().rules.names.knows_path(TURN_COUNT).then(|| scene.get(TURN_COUNT).as_f64()).flatten();
        let said = match &self.turns {
            None => vec![None],
            Some(TurnSelection::Times(times)) => vec![None; usize::from(*times)],
            Some(TurnSelection::Said(file)) => read_transcript(file, scene, show)?.into_iter().map(Some).collect(),
        };
        let mut all = Vec::new();
        let mut grown = scene.clone();
        let placed = show.places.len();
        for (n, said) in (0_i64..).zip(&said) {
            let mut own = Scene { draws: draws.clone(), ..grown.clone() };
            if let Some(counted) = counted.filter(|_| n > 0) {
                #[expect(clippy::cast_possible_truncation, reason = "a number of messages is small")]
                own.set(TURN_COUNT, Value::Int((counted as i64).saturating_add(n)));
            }
            chat.enter(&mut own);
            if let Some(said) = said {
                said.enter(&mut own);
                said.leave(&mut grown);
                show.places.extend(said.places(rules));
            }
            let began = own.clone();
            let left = turn(own, said.as_ref(), show)?;
            show.places.truncate(placed);
            chat.leave(&began, &left.patch);
            if let Some(draws) = &mut draws {
                draws.drain(..draws.len().saturating_sub(left.draws));
            }
            all.push(left.result);
        }
        let unused = draws.as_ref().map_or(0, Vec::len);
        if self.draws.is_some() && unused > 0 {
            let message = format!("{unused} of {scripted} scripted draws were not used");
            show.note(Diagnostic::new(Code::SceneField, message).help("the rules drew less often; take them out of the file"));
        }
        if let (Some(file), Some(kept)) = (&self.state, chat.kept()) {
            let text = serde_json::to_string_pretty(kept).unwrap_or_default();
            write_private(file, text + "\n")?;
        }
        Ok(all)
    }

    /// The one result, or the list of them.
    pub(crate) fn joined(&self, mut all: Vec<Json>) -> Json {
        if self.are_many() { Json::Array(all) } else { all.pop().unwrap_or_default() }
    }
}

/// The state that a file keeps; `None` if there is no such file yet.
fn read_state(file: &Path, show: &mut Console<'_>) -> Result<Option<Json>> {
    if file == Path::new("-") {
        let message = "the state cannot be kept in a stream";
        return Err(EarlyExit::could_not(Code::FileMissing, message, "name a file; it is read and written"));
    }
    if !file.exists() {
        return Ok(None);
    }
    let wrong = |reason: String| {
        let complaint = Diagnostic::error(Code::SyntaxJson, format!("`{}` keeps no state of a chat: {reason}", path_text(file)));
        EarlyExit::new(RunExit::No, complaint.help("it is a JSON object, as this flag writes it"))
    };
    let json: Json = serde_json::from_slice(&read_values(file, show)?).map_err(|error| wrong(error.to_string()))?;
    if json.is_object() { Ok(Some(json)) } else { Err(wrong(format!("it holds {}", head(&json.to_string(), 40)))) }
}

/// The draws that a file scripts.
fn read_draws(file: &Path, show: &mut Console<'_>) -> Result<Vec<f64>> {
    let text = decode_utf8(file, read_values(file, show)?)?;
    let numbers: Vec<String> = match serde_json::from_str::<Json>(&text) {
        Ok(Json::Array(list)) => list.iter().map(Json::to_string).collect(),
        _ => text.split_whitespace().map(str::to_owned).collect(),
    };
    let number = |word: &String| {
        word.parse::<f64>().ok().filter(|n| (0.0..1.0).contains(n)).ok_or_else(|| {
            let message = format!("`{}`: `{}` is no draw", path_text(file), head(word, 40));
            EarlyExit::could_not(Code::SceneField, message, "a draw is a number from 0 up to, but not including, 1")
        })
    };
    numbers.iter().map(number).collect()
}

/// The most turns of one run.
pub(super) const MAX_TURNS: u16 = 1000;

/// The list of a file of turns, as in a case.
const TURN_LIST: &str = "turns";
/// The keys that a file may have beside the list.
const OTHER_KEYS: [&str; 2] = ["about", "$schema"];
/// The keys of a turn.
const TURN_KEYS: [&str; 3] = ["message", "reply", "scene"];
/// Where the scene has what the user has typed.
const INPUT_PATH: &str = "input";
/// Numbers of the scene that count the messages of the chat, and those that count the messages of the user.
const MESSAGE_COUNTS: [&str; 2] = ["chat.length", "chat.visible"];
const USER_MESSAGE_COUNTS: [&str; 1] = ["chat.by_user"];

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
        scene.set(INPUT_PATH, Value::text(self.message.as_deref().unwrap_or_default()));
    }

    /// Values of the scene for this turn alone.
    pub(crate) fn scene(&self) -> Value {
        self.scene.as_ref().map(|scene| Scene::of_written(Value::from(scene)).0).unwrap_or_default()
    }

    /// Where the file says what the turn may be warned of.
    pub(crate) fn places(&self, rules: &Ruleset) -> Option<WarningPlaces> {
        let scene = self.scene.as_ref()?;
        Some(WarningPlaces { told: warning_places(rules, &self.scene(), |path| scene.at(path)), sources: self.sources.clone() })
    }

    /// Adds to the chat what was said.
    pub(crate) fn leave(&self, scene: &mut Scene) {
        let texts = [("user", &self.message, &USER_MESSAGE_COUNTS[..]), ("assistant", &self.reply, &[])];
        for (role, text, counts) in texts {
            let Some(text) = text else { continue };
            append_message(scene, role, text);
            for path in MESSAGE_COUNTS.iter().chain(counts) {
                // a scene that does not count its messages leaves that to the pack
                if let Some(count) = scene.get(path).as_i64() {
                    scene.set(path, Value::Int(count.saturating_add(1)));
                }
            }
        }
    }
}

/// Adds a message to the chat.
pub(crate) fn append_message(scene: &mut Scene, role: &str, text: &str) {
    let mut history = scene.get("history").as_list().map(<[Value]>::to_vec).unwrap_or_default();
    let message: Map = [("role", role), ("text", text)].into_iter().map(|(key, text)| (key.into(), Value::text(text))).collect();
    history.push(Value::map(message));
    scene.set("history", Value::list(history));
}

/// The turns of a file. A scene with a message of its own is refused, because the turns have theirs.
pub(super) fn read_transcript(file: &Path, scene: &Scene, show: &mut Console<'_>) -> Result<Vec<TranscriptTurn>> {
    if !scene.get(INPUT_PATH).is_empty() {
        let message = "the scene has a message, and the turns have theirs";
        return Err(EarlyExit::could_not(
            Code::SceneField,
            message,
            "leave out the message of the scene, and write it into the first turn",
        ));
    }
    let text = decode_utf8(file, read_values(file, show)?)?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut reader = TurnsReader { shown: path_text(file), sources: Sources::default(), report: Report::default() };
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
        let help = format!("write a list `{TURN_LIST}` of tables with `{}`, each of which may be left out", TURN_KEYS.join("`, `"));
        let message = format!("`{}` holds no turns: {reason}", self.shown);
        self.report.push(Diagnostic::error(Code::SceneField, message).at(node.span).help(help));
    }

    fn turns(&mut self, root: &DocumentNode) -> Vec<TranscriptTurn> {
        for (key, field) in root.as_table().into_iter().flatten() {
            let key: &str = key;
            if key != TURN_LIST && !OTHER_KEYS.contains(&key) {
                let known = self.report.words.nearest(key, [TURN_LIST].into_iter().chain(OTHER_KEYS));
                let help = known.map_or_else(
                    || {
                        format!("take it out: the file is a list `{TURN_LIST}`, and each turn has its own `{}`", TURN_KEYS.join("`, `"))
                            .into()
                    },
                    Help::from,
                );
                let complaint = Diagnostic::new(Code::SchemaUnknownKey, format!("a file of turns has no key `{}`", head(key, 40)));
                self.report.push(complaint.at(field.key).help(help));
            }
        }
        let Some(list) = root.get(TURN_LIST).unwrap_or(root).as_list() else {
            self.none(root.get(TURN_LIST).unwrap_or(root), "it is neither a list nor a table with this key");
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
            let help = format!("write a table with `{}`, each of which may be left out", TURN_KEYS.join("`, `"));
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
        let help = self.report.words.help(key, TURN_KEYS).unwrap_or_default();
        let message = format!("turn {number}: a turn has no key `{}`", head(key, 40));
        self.report.push(Diagnostic::new(Code::SchemaUnknownKey, message).at(field.key).help(help));
    }
}

/// The previous request.
pub(crate) enum PreviousRequest {
    /// Its plan.
    Plan(Vec<PlanBlock>),
    /// Its payload.
    Payload(Json),
}

impl PreviousRequest {
    /// Reads a file: what has `blocks` is a plan, any other JSON object a payload.
    pub(crate) fn read(file: &Path, show: &mut Console<'_>) -> Result<Self> {
        let bytes = read_values(file, show)?;
        let wrong = |reason: String| {
            let message = format!("`{}` is no plan and no payload: {reason}", path_text(file));
            EarlyExit::could_not(Code::ImportFormat, message, "write one with `tapster build … --dump plan`")
        };
        let json: Json = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        match blocks_of(&json) {
            Some(blocks) => Ok(Self::Plan(blocks)),
            None if json.is_object() && json.get("blocks").is_none() => Ok(Self::Payload(json)),
            None => Err(wrong("it is JSON of another shape".to_owned())),
        }
    }

    /// What of the plan is unchanged; `None` if the previous request is known as a payload.
    pub(crate) fn plan(&self, rules: &Ruleset, plan: &Plan) -> Result<Option<UnchangedPrefix>, BuildError> {
        match self {
            Self::Plan(blocks) => unchanged(rules, plan, blocks).map(Some),
            Self::Payload(_) => Ok(None),
        }
    }

    /// What of the payload is unchanged; `None` if the previous request is known as a plan.
    pub(crate) fn payload(
        &self,
        rules: &Ruleset,
        plan: &Plan,
        dialect: &str,
        payload: &Json,
    ) -> Result<Option<UnchangedPrefix>, BuildError> {
        match self {
            Self::Plan(_) => Ok(None),
            Self::Payload(before) => unchanged_payload(rules, plan, dialect, payload, before).map(Some),
        }
    }
}
