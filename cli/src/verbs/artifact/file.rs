//! Sessions as files: export, import.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic};
use crate::store::{Archived, Dump, Moment, SessionStore, State, Version};

use crate::inputs::files::{shown, values_of};
use crate::inputs::session::Place;
use crate::output::Show;
use crate::stop::{Exit, Stop};
use crate::waiting::wait;

use super::{head, known, refused, too_long_number};

/// What an exported file says that it is.
const FORMAT: &str = "tapster_session";
/// The version of the form of such files.
const VERSION: u32 = 1;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact export --session tavern > tavern.json

The log is not part of it.")]
pub(super) struct Export {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact import tavern.json --session copy
  tapster artifact export --session a --store old.db | tapster artifact import - --session a --store postgres://db/tapster

A session that exists is not changed, unless it only has a log.")]
pub(super) struct Import {
    /// The exported session; `-` is standard input.
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// An exported file.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    artifacts: Vec<(String, Vec<Version>)>,
    archive: Vec<Archived>,
    state: Option<State>,
    at: Moment,
    turns: i64,
}

impl Export {
    pub(super) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        known(&store, &home)?;
        let Dump { artifacts, archive, state, at, turns } = wait(store.dump(&home)).map_err(refused)?.unwrap_or_default();
        show.json(&json!(File { format: FORMAT.to_owned(), version: VERSION, artifacts, archive, state, at, turns }));
        Ok(Exit::Done)
    }
}

impl Import {
    pub(super) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let bytes = values_of(&self.file, show)?;
        let name = shown(&self.file);
        let wrong = |why: String| {
            let message = format!("`{name}` is not an exported session: {why}");
            Stop::new(Exit::No, Diagnostic::error(Code::ImportFormat, message).help("`tapster artifact export` writes such files"))
        };
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not valid UTF-8".to_owned()))?;
        let file: File = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if file.format != FORMAT || file.version != VERSION {
            return Err(wrong(format!("its format is `{}` of version {}", head(&file.format), file.version)));
        }
        if let Some(number) = too_long_number(&text) {
            return Err(wrong(format!("the number `{}` has more than 64 bits", head(number))));
        }
        let File { artifacts, archive, state, at, turns, .. } = file;
        let (store, home) = (self.place.open(show)?, self.place.home());
        let count = artifacts.len();
        if !wait(store.restore(&home, Dump { artifacts, archive, state, at, turns })).map_err(refused)? {
            let message =
                format!("the store has a session `{}` of `{}` already, which is not changed", head(&home.session), head(&home.owner));
            return Err(Stop::new(Exit::No, Diagnostic::error(Code::StoreTaken, message).help("name another one with `--session`")));
        }
        if show.is_json() {
            show.json(&json!({ "session": home.session, "artifacts": count }));
        } else {
            show.result(&format!("imported {count} artifacts into session `{}`\n", head(&home.session)));
        }
        Ok(Exit::Done)
    }
}
