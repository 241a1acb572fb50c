//! Sessions as files: export, import.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic};
use crate::store::{ArchivedVersion, ArtifactVersion, Moment, SessionDump, SessionState, SessionStore};

use crate::inputs::files::{shown, values_of};
use crate::inputs::session::SessionArgs;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
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
pub(super) struct ArtifactExportArgs {
    #[command(flatten)]
    place: SessionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact import tavern.json --session copy
  tapster artifact export --session a --store old.db | tapster artifact import - --session a --store postgres://db/tapster

A session that exists is not changed, unless it only has a log.")]
pub(super) struct ArtifactImportArgs {
    /// The exported session; `-` is standard input.
    file: PathBuf,
    #[command(flatten)]
    place: SessionArgs,
}

/// An exported file.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedFile {
    format: String,
    version: u32,
    artifacts: Vec<(String, Vec<ArtifactVersion>)>,
    archive: Vec<ArchivedVersion>,
    state: Option<SessionState>,
    at: Moment,
    turns: i64,
}

impl ArtifactExportArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        known(&store, &home)?;
        let SessionDump { artifacts, archive, state, at, turns } = wait(store.dump(&home)).map_err(refused)?.unwrap_or_default();
        show.json(&json!(ExportedFile { format: FORMAT.to_owned(), version: VERSION, artifacts, archive, state, at, turns }));
        Ok(RunExit::Done)
    }
}

impl ArtifactImportArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let bytes = values_of(&self.file, show)?;
        let name = shown(&self.file);
        let wrong = |why: String| {
            let message = format!("`{name}` is not an exported session: {why}");
            EarlyExit::new(RunExit::No, Diagnostic::error(Code::ImportFormat, message).help("`tapster artifact export` writes such files"))
        };
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not valid UTF-8".to_owned()))?;
        let file: ExportedFile = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if file.format != FORMAT || file.version != VERSION {
            return Err(wrong(format!("its format is `{}` of version {}", head(&file.format), file.version)));
        }
        if let Some(number) = too_long_number(&text) {
            return Err(wrong(format!("the number `{}` has more than 64 bits", head(number))));
        }
        let ExportedFile { artifacts, archive, state, at, turns, .. } = file;
        let (store, home) = (self.place.open(show)?, self.place.home());
        let count = artifacts.len();
        if !wait(store.restore(&home, SessionDump { artifacts, archive, state, at, turns })).map_err(refused)? {
            let message =
                format!("the store has a session `{}` of `{}` already, which is not changed", head(&home.session), head(&home.owner));
            return Err(EarlyExit::new(
                RunExit::No,
                Diagnostic::error(Code::StoreTaken, message).help("name another one with `--session`"),
            ));
        }
        if show.is_json() {
            show.json(&json!({ "session": home.session, "artifacts": count }));
        } else {
            show.result(&format!("imported {count} artifacts into session `{}`\n", head(&home.session)));
        }
        Ok(RunExit::Done)
    }
}
