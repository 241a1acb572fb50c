//! `tapster completions` and `tapster man`: what shells and `man` need, from the declarations of the verbs themselves.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;

use crate::exit::{Result, RunExit};
use crate::inputs::files::{make_folder, write_file};
use crate::output::Console;

/// Print the completions of verbs, flags and their values for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster completions bash > ~/.local/share/bash-completion/completions/tapster
  tapster completions zsh > ~/.zfunc/_tapster
  tapster completions fish > ~/.config/fish/completions/tapster.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, mut command: Command, show: &mut Console<'_>) -> Result<RunExit> {
        let name = command.get_name().to_owned();
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut text);
        show.result(&String::from_utf8_lossy(&text));
        Ok(RunExit::Done)
    }
}

/// Write the pages of the manual, one for the program and one for each verb; without a folder, print that of the program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster man | man -l -                    the page of the program
  tapster man ~/.local/share/man/man1       all pages, for `man tapster-build`")]
pub(crate) struct ManualArgs {
    /// The folder in which the pages are written; it is made if it does not exist.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl ManualArgs {
    pub(crate) fn run(&self, mut command: Command, show: &mut Console<'_>) -> Result<RunExit> {
        command.build();
        let Some(folder) = &self.folder else {
            show.result(&String::from_utf8_lossy(&page(&command)));
            return Ok(RunExit::Done);
        };
        make_folder(folder)?;
        let mut written = Vec::new();
        pages(&command, folder, &mut written)?;
        if show.is_json() {
            show.json(&json!({ "written": written }));
        } else {
            written.iter().for_each(|path| show.result(&format!("{path}\n")));
        }
        Ok(RunExit::Done)
    }
}

/// Writes the page of a command and those of its verbs.
fn pages(command: &Command, folder: &Path, written: &mut Vec<String>) -> Result<()> {
    let path = folder.join(Man::new(command.clone()).get_filename());
    write_file(&path, page(command))?;
    written.push(path.display().to_string());
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        pages(verb, folder, written)?;
    }
    Ok(())
}

/// The page of a command, as `roff`. It has no date, so that every build of a release writes the same.
fn page(command: &Command) -> Vec<u8> {
    let mut page = Vec::new();
    // writing to memory does not fail
    let source = format!("tapster {}", env!("CARGO_PKG_VERSION"));
    let _ = Man::new(command.clone()).source(source).date("").render(&mut page);
    page
}
