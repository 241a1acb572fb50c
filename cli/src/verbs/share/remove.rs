//! `tapster remove`: installed packs go away, unless others stand on them.

use clap::Args;

use crate::diag::{Code, Diagnostic, suggest};
use crate::pack::files::is_pack;
use crate::share::index::name_complaint;

use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::place::discard;
use super::shelf::{InstallFolderArgs, InstallState, shipped};

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
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
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
        discard(&mut home, &self.packs)?;
        self.packs.iter().for_each(|name| show.result(&format!("removed {name}\n")));
        Ok(RunExit::Done)
    }
}
