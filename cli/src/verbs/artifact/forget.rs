//! Removing a session.

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic};
use crate::store::SessionStore;

use crate::inputs::session::SessionArgs;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::waiting::wait;

use super::{head, known, refused};

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact forget --session tavern --yes

Artifacts with all their versions, the archive, the state and the log are removed for good. `tapster artifact export`
keeps a copy of all but the log.")]
pub(super) struct ArtifactForgetArgs {
    /// Remove it: without this, nothing is removed.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: SessionArgs,
}

impl ArtifactForgetArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let info = known(&store, &home)?;
        let what = format!(
            "session `{}` of `{}` with {} artifacts, {} turns, and its log",
            head(&home.session),
            head(&home.owner),
            info.artifacts,
            info.turns
        );
        if !self.yes {
            let message = format!("this would remove {what} for good");
            let help = "repeat it with `--yes`; `tapster artifact export` keeps a copy";
            return Err(EarlyExit::new(RunExit::No, Diagnostic::error(Code::StoreConfirm, message).help(help)));
        }
        let removed = wait(store.forget(&home)).map_err(refused)?;
        if !removed {
            // somebody else was faster
            known(&store, &home)?;
        }
        if show.is_json() {
            show.json(&json!({ "owner": home.owner, "session": home.session, "artifacts": info.artifacts, "turns": info.turns }));
        } else {
            show.result(&format!("removed {what}\n"));
        }
        Ok(RunExit::Done)
    }
}
