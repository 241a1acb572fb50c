//! `tapster mcp`: the calls of the door as tools of the Model Context Protocol.

use clap::Args;
use tapster_door::Door;
use tokio::fs::File;

use crate::diag::Code;
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::wait;
use crate::inputs::streams::own_streams;
use crate::inputs::{library, scene};
use crate::output::Console;

/// Offer the calls of the door to an agent, as tools of MCP over standard input and output.
///
/// An agent that writes presets, overlays and packs checks, tests, builds and explains with them what it writes. The tools are
/// the calls of docs/reference/door.md.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster mcp
  claude mcp add tapster -- tapster mcp
  { \"mcpServers\": { \"tapster\": { \"command\": \"tapster\", \"args\": [\"mcp\"] } } }   in the settings of an agent")]
pub(crate) struct McpArgs {}

impl McpArgs {
    #[expect(clippy::unused_self, reason = "the same call as of the other verbs")]
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let door = Door::new(library::pack_shelf(show).folders, Some(scene::clock));
        let failed = |message: String| {
            EarlyExit::could_not(Code::ServeAddress, message, "let an agent start it: `claude mcp add tapster -- tapster mcp`")
        };
        let (input, output) = own_streams().map_err(|error| failed(error.to_string()))?;
        wait(async { tapster_serve::serve_tools(door, File::from_std(input), File::from_std(output)).await }).map_err(failed)?;
        Ok(RunExit::Done)
    }
}
