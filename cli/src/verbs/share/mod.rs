//! The verbs that share packs: what they have in common.

pub(crate) mod archive;
pub(crate) mod install;
mod installed;
pub(crate) mod keys;
mod sources;

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic, Report, Sources, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::layout::{one_line, table};
use crate::output::Console;
use crate::pack::files::is_pack;
use crate::share::index::{LOCK_FILE, name_complaint};
use crate::share::signature::key_id;
use installed::{InstallFolderArgs, InstallState, shipped};

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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
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

/// Remove installed packs, and their rows of `tapster.lock`. A pack that others extend stays, and so does one whose
/// files were changed, unless `--force` is given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster remove my-pack
  tapster remove my-pack --to ~/packs")]
pub(crate) struct RemoveArgs {
    /// The packs.
    #[arg(required = true)]
    packs: Vec<String>,
    #[command(flatten)]
    to: InstallFolderArgs,
    /// Remove packs that others extend or whose files were changed.
    #[arg(long)]
    force: bool,
}

impl RemoveArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let mut home = self.to.open(show)?;
        let no = |message: String, help: String| Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareTaken, message).help(help)));
        for name in &self.packs {
            let known = home.names();
            if name_complaint(name).is_some() || !known.contains(name) {
                let help = suggest::help(name, known.iter().map(String::as_str));
                let help = help.unwrap_or_else(|| "`tapster list` lists the installed packs".into());
                return Err(EarlyExit::could_not(
                    Code::ShareUnmet,
                    format!("`{name}` is not installed in `{}`", home.folder.display()),
                    help,
                ));
            }
            if self.force {
                continue;
            }
            let above = home.above(name).into_iter().find(|pack| !self.packs.contains(&pack.manifest.name));
            if let Some(above) = above.filter(|_| shipped(name).is_none()) {
                let message = format!("`{}` extends `{name}`", above.manifest.name);
                return no(message, format!("remove both, or `--force`: then `{}` cannot be used", above.manifest.name));
            }
            let is_there = is_pack(&home.folder.join(name));
            if is_there && home.state(name)? != InstallState::Locked {
                let message = format!("`{}` is not as it was installed", home.folder.join(name).display());
                return no(message, "keep its files elsewhere; `--force` removes them".to_owned());
            }
        }
        home.discard(&self.packs)?;
        self.packs.iter().for_each(|name| show.result(&format!("removed {name}\n")));
        Ok(RunExit::Done)
    }
}
