//! Sessions as files: export, import.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic};
use crate::store::{Dump, SessionStore};

use crate::cli::inputs::files::{bytes_of, shown};
use crate::cli::inputs::session::Place;
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};
use crate::cli::waiting::wait;

use super::{head, refused};

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

A session that exists is not changed.")]
pub(super) struct Import {
    /// The exported session; `-` is standard input.
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// An exported file.
#[derive(serde::Serialize, serde::Deserialize)]
struct File {
    format: String,
    version: u32,
    #[serde(flatten)]
    dump: Dump,
}

impl Export {
    pub(super) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let (store, home) = (self.place.open(show)?, self.place.home());
        let Some(dump) = wait(store.dump(&home)).map_err(refused)? else {
            let message = format!("the store has no session `{}` of `{}`", head(&home.session), head(&home.owner));
            let help = "`tapster artifact list --sessions` names those there are";
            return Err(Stop::new(Exit::No, Diagnostic::error(Code::NameUnknown, message).help(help)));
        };
        show.json(&json!(File { format: FORMAT.to_owned(), version: VERSION, dump }));
        Ok(Exit::Done)
    }
}

impl Import {
    pub(super) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let bytes = bytes_of(&self.file, show)?;
        let name = shown(&self.file);
        let wrong = |why: String| {
            let message = format!("`{name}` is not an exported session: {why}");
            Stop::new(Exit::No, Diagnostic::error(Code::ImportFormat, message).help("`tapster artifact export` writes such files"))
        };
        let file: File = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if file.format != FORMAT || file.version != VERSION {
            return Err(wrong(format!("its format is `{}` of version {}", head(&file.format), file.version)));
        }
        let (store, home) = (self.place.open(show)?, self.place.home());
        let count = file.dump.artifacts.len();
        if !wait(store.restore(&home, file.dump)).map_err(refused)? {
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
