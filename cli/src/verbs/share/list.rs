//! `tapster list`: the installed packs, compared with their lock.

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::share::index::LOCK_FILE;
use crate::share::signature::key_id;

use crate::layout::{one_line, table};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::shelf::{InstallFolderArgs, InstallState};

/// List the installed packs, and whether each is as it was installed. `tapster packs` lists all packs that can be named.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster list
  tapster list --locked        exit 1 if a pack is not what tapster.lock says
  tapster list --format json")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    to: InstallFolderArgs,
    /// Refuse packs that are not what `tapster.lock` says: exit 1, with the reason for each.
    #[arg(long)]
    locked: bool,
}

impl ListArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let home = self.to.look(show)?;
        let (mut rows, mut all, mut report) = (Vec::new(), Vec::new(), Report::default());
        let file = home.folder.join(LOCK_FILE).display().to_string();
        for name in home.names() {
            let state = home.state(&name)?;
            let row = home.lock.get(&name);
            let installed = home.packs.iter().find(|pack| pack.folder.ends_with(&name));
            let release = installed.map(|pack| &pack.manifest.release).or(row.map(|row| &row.release));
            let release = release.map(ToString::to_string).unwrap_or_default();
            let signed = row.and_then(|row| row.signed_by.as_deref());
            let source = row.map(|row| one_line(&row.source)).unwrap_or_default();
            all.push(json!({
                "name": name, "release": release, "state": state.text(), "source": row.map(|row| &row.source),
                "index": row.and_then(|row| row.index.as_ref()), "digest": row.map(|row| &row.digest), "signed_by": signed,
            }));
            let signed = signed.map(|key| format!("signed by {}", key_id(key))).unwrap_or_default();
            rows.push(vec![name.clone(), release, state.text().to_owned(), signed, source]);
            let (what, help) = match state {
                InstallState::Locked => continue,
                InstallState::Changed => ("has other files than", "restore it, or remove the folder and run `tapster install --locked`"),
                InstallState::Unlocked => ("is not in", "install it with `tapster install`, or keep it in another folder"),
                InstallState::Missing => ("is missing, and named by", "`tapster install --locked` installs it"),
            };
            report.push(Diagnostic::new(Code::ShareDigest, format!("`{}` {what} `{file}`", home.folder.join(&name).display())).help(help));
        }
        if show.is_json() {
            show.json(&json!(all));
        } else {
            show.result(&table(&rows));
            if rows.is_empty() {
                show.result(&format!("no pack is installed in `{}`\n", home.folder.display()));
            }
        }
        if !self.locked || report.is_empty() {
            return Ok(RunExit::Done);
        }
        show.report(&report, &Sources::default());
        Ok(RunExit::No)
    }
}
