//! Several turns of one chat: the random draws that are scripted, the number of turns, and the file that keeps the state.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;

use crate::diag::{Code, Diagnostic};
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::testing::play::CaseChat;

use crate::inputs::files::{shown, utf8, values_of, write_private};
use crate::inputs::said::{self, MAX_TURNS, TranscriptTurn};
use crate::layout::head;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

/// The path of the scene that counts the messages of the user.
const COUNT: &str = "turn_count";

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
    #[arg(long, value_name = "N|FILE", value_parser = several, conflicts_with = "previous", help_heading = "Turns")]
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

fn several(text: &str) -> Result<TurnSelection, String> {
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
    pub(crate) fn warn_of_same_chat(&self, show: &mut OutputStreams<'_, '_>) {
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
        show: &mut OutputStreams<'_, '_>,
        mut turn: impl FnMut(Scene, Option<&TranscriptTurn>, &mut OutputStreams<'_, '_>) -> Result<TurnResult, EarlyExit>,
    ) -> Result<Vec<Json>, EarlyExit> {
        let mut chat = match &self.state {
            Some(file) => stored(file, show)?.map_or_else(CaseChat::default, CaseChat::with),
            None => CaseChat::default(),
        };
        let mut draws = match &self.draws {
            Some(file) => Some(draws(file, show)?),
            None => scene.draws.clone(),
        };
        let scripted = draws.as_ref().map_or(0, Vec::len);
        let counted = rules.programs().rules.names.knows_path(COUNT).then(|| scene.get(COUNT).as_f64()).flatten();
        let said = match &self.turns {
            None => vec![None],
            Some(TurnSelection::Times(times)) => vec![None; usize::from(*times)],
            Some(TurnSelection::Said(file)) => said::read(file, scene, show)?.into_iter().map(Some).collect(),
        };
        let mut all = Vec::new();
        let mut grown = scene.clone();
        let placed = show.places.len();
        for (n, said) in (0_i64..).zip(&said) {
            let mut own = Scene { draws: draws.clone(), ..grown.clone() };
            if let Some(counted) = counted.filter(|_| n > 0) {
                #[expect(clippy::cast_possible_truncation, reason = "a number of messages is small")]
                own.set(COUNT, Value::Int((counted as i64).saturating_add(n)));
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
fn stored(file: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Option<Json>, EarlyExit> {
    if file == Path::new("-") {
        let message = "the state cannot be kept in a stream";
        return Err(EarlyExit::could_not(Code::FileMissing, message, "name a file; it is read and written"));
    }
    if !file.exists() {
        return Ok(None);
    }
    let wrong = |reason: String| {
        let complaint = Diagnostic::error(Code::SyntaxJson, format!("`{}` keeps no state of a chat: {reason}", shown(file)));
        EarlyExit::new(RunExit::No, complaint.help("it is a JSON object, as this flag writes it"))
    };
    let json: Json = serde_json::from_slice(&values_of(file, show)?).map_err(|error| wrong(error.to_string()))?;
    if json.is_object() { Ok(Some(json)) } else { Err(wrong(format!("it holds {}", head(&json.to_string(), 40)))) }
}

/// The draws that a file scripts.
fn draws(file: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Vec<f64>, EarlyExit> {
    let text = utf8(file, values_of(file, show)?)?;
    let numbers: Vec<String> = match serde_json::from_str::<Json>(&text) {
        Ok(Json::Array(list)) => list.iter().map(Json::to_string).collect(),
        _ => text.split_whitespace().map(str::to_owned).collect(),
    };
    let number = |word: &String| {
        word.parse::<f64>().ok().filter(|n| (0.0..1.0).contains(n)).ok_or_else(|| {
            let message = format!("`{}`: `{}` is no draw", shown(file), head(word, 40));
            EarlyExit::could_not(Code::SceneField, message, "a draw is a number from 0 up to, but not including, 1")
        })
    };
    numbers.iter().map(number).collect()
}
