//! Several turns of one chat: the random draws that are scripted, the number of turns, and the file that keeps the state.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;

use crate::diag::{Code, Diagnostic};
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::testing::turns::Chat;

use crate::cli::inputs::files::{bytes_of, shown, text_of, write_file};
use crate::cli::layout::head;
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};

/// The path of the scene that counts the messages of the user.
const COUNT: &str = "turn_count";

/// Flags of verbs that build or run a scene.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct Turns {
    /// Random draws, which are used up before the seed is: a file with a JSON list of numbers from 0 up to, but not
    /// including, 1, or with such numbers between spaces and line breaks; `-` reads them from standard input.
    #[arg(long, value_name = "FILE", help_heading = "Turns")]
    draws: Option<PathBuf>,
    /// Plays N turns of one chat: each finds what those before it have stored, and the draws that they have left. The
    /// result is a list with one element for each turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with = "previous", help_heading = "Turns")]
    turns: Option<u16>,
    /// The file that keeps the state of the chat: it is read if it exists, and written at the end.
    #[arg(long, value_name = "FILE", help_heading = "Turns")]
    state: Option<PathBuf>,
}

/// What a turn has left.
pub(in crate::cli) struct Left {
    /// What it shows.
    pub(in crate::cli) result: Json,
    /// What it stores.
    pub(in crate::cli) patch: Value,
    /// How many scripted draws it did not use.
    pub(in crate::cli) draws: usize,
}

impl Turns {
    /// Whether the result is a list of turns.
    pub(in crate::cli) fn are_many(&self) -> bool {
        self.turns.is_some()
    }

    /// Plays the turns, and returns what each shows.
    pub(in crate::cli) fn play(
        &self,
        rules: &Ruleset,
        scene: &Scene,
        show: &mut Show<'_, '_>,
        mut turn: impl FnMut(Scene, &mut Show<'_, '_>) -> Result<Left, Stop>,
    ) -> Result<Vec<Json>, Stop> {
        let mut chat = match &self.state {
            Some(file) => stored(file, show)?.map_or_else(Chat::default, Chat::with),
            None => Chat::default(),
        };
        let mut draws = match &self.draws {
            Some(file) => Some(draws(file, show)?),
            None => scene.draws.clone(),
        };
        let scripted = draws.as_ref().map_or(0, Vec::len);
        let counted = rules.programs().rules.names.knows_path(COUNT).then(|| scene.get(COUNT).as_f64()).flatten();
        let mut all = Vec::new();
        for n in 0..self.turns.unwrap_or(1) {
            let mut own = Scene { draws: draws.clone(), ..scene.clone() };
            if let Some(counted) = counted.filter(|_| n > 0) {
                #[expect(clippy::cast_possible_truncation, reason = "a number of messages is small")]
                own.set(COUNT, Value::Int((counted as i64).saturating_add(n.into())));
            }
            chat.enter(&mut own);
            let began = own.clone();
            let left = turn(own, show)?;
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
            write_file(file, text + "\n")?;
        }
        Ok(all)
    }

    /// The one result, or the list of them.
    pub(in crate::cli) fn joined(&self, mut all: Vec<Json>) -> Json {
        if self.are_many() { Json::Array(all) } else { all.pop().unwrap_or_default() }
    }
}

/// The state that a file keeps; `None` if there is no such file yet.
fn stored(file: &Path, show: &mut Show<'_, '_>) -> Result<Option<Json>, Stop> {
    if file == Path::new("-") {
        let message = "the state cannot be kept in a stream";
        return Err(Stop::could_not(Code::FileMissing, message, "name a file; it is read and written"));
    }
    if !file.exists() {
        return Ok(None);
    }
    let wrong = |reason: String| {
        let complaint = Diagnostic::error(Code::SyntaxJson, format!("`{}` keeps no state of a chat: {reason}", shown(file)));
        Stop::new(Exit::No, complaint.help("it is a JSON object, as this flag writes it"))
    };
    let json: Json = serde_json::from_slice(&bytes_of(file, show)?).map_err(|error| wrong(error.to_string()))?;
    if json.is_object() { Ok(Some(json)) } else { Err(wrong(format!("it holds {}", head(&json.to_string(), 40)))) }
}

/// The draws that a file scripts.
fn draws(file: &Path, show: &mut Show<'_, '_>) -> Result<Vec<f64>, Stop> {
    let text = text_of(file, show)?;
    let numbers: Vec<String> = match serde_json::from_str::<Json>(&text) {
        Ok(Json::Array(list)) => list.iter().map(Json::to_string).collect(),
        _ => text.split_whitespace().map(str::to_owned).collect(),
    };
    let number = |word: &String| {
        word.parse::<f64>().ok().filter(|n| (0.0..1.0).contains(n)).ok_or_else(|| {
            let message = format!("`{}`: `{}` is no draw", shown(file), head(word, 40));
            Stop::could_not(Code::SceneField, message, "a draw is a number from 0 up to, but not including, 1")
        })
    };
    numbers.iter().map(number).collect()
}
