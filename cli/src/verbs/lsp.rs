//! `tapster lsp`: the server for editors that speak the Language Server Protocol.

use clap::Args;
use tapster_lsp::{ServerOptions, ShippedFiles, serve_streams};

use crate::diag::{Code, SourceId};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::format::{FormatRefusal, TomlLayout, format};
use crate::inputs::checks::cache_folder;
use crate::inputs::streams::own_streams;
use crate::inputs::{library, scene};
use crate::output::Console;

/// Help an editor with rule files, over standard input and output: the Language Server Protocol.
///
/// It shows the mistakes of a whole pack while you type, with those texts of `tapster check`; completes kinds, verbs, keys, paths,
/// fields, functions and names of rows; explains them, with the value in force and the layers that decide it; finds where rules
/// are written and named; lays files out; makes the changes that are certain; and builds a preview of a prompt
/// (`tapster/preview`, or the command `tapster.preview`). Presets, cards and lorebooks in JSON are examined as `tapster doctor`
/// does. An editor starts it; docs/how-to/editor.md says how.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster lsp
  vim.lsp.config('tapster', { cmd = { 'tapster', 'lsp' } })                in Neovim
  language-server.tapster = { command = \"tapster\", args = [\"lsp\"] }     in Helix
  { \"initializationOptions\": { \"pack\": \"base\" } }        the pack of overlays without `extends`")]
pub(crate) struct LspArgs {
    /// Accepted, since editors give it: the server always speaks over standard input and output.
    #[arg(long, hide = true)]
    stdio: bool,
}

impl LspArgs {
    #[expect(clippy::unused_self, reason = "the same call as of the other verbs")]
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let cache = cache_folder(show).unwrap_or_else(|| std::env::temp_dir().join("tapster"));
        let options = ServerOptions {
            folders: library::named_folders(show),
            clock: Some(scene::clock),
            format: format_text,
            // each release has its own
            shipped: Some(ShippedFiles::in_folder(cache.join(env!("CARGO_PKG_VERSION")))),
        };
        let failed =
            |message: String| EarlyExit::could_not(Code::ServeAddress, message, "let an editor start it; docs/how-to/editor.md says how");
        let (input, output) = own_streams().map_err(|error| failed(error.to_string()))?;
        let was_ended = serve_streams(input, output, options).map_err(failed)?;
        Ok(if was_ended { RunExit::Done } else { RunExit::No })
    }
}

/// Lays out a text as `tapster fmt` does.
fn format_text(text: &str) -> std::result::Result<String, String> {
    let formatted = format(SourceId::default(), text, TomlLayout::default());
    formatted.map(|formatted| formatted.text).map_err(|refusal| match refusal {
        FormatRefusal::Syntax(reason) | FormatRefusal::Large(reason) | FormatRefusal::Loss(reason) => reason.message,
    })
}
