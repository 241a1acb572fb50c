//! The flags that say which tools a model may call, and the host's file of tools.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::diag::{Code, Diagnostic, suggest};
use crate::pack::Ruleset;
use crate::run::tools::{FilteredToolRegistry, HostTools, ToolRegistry};

use crate::inputs::files::{shown, text_of};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::waiting::wait;

/// Which tools a model may call.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArgs {
    /// Commands and MCP servers that the model may call, besides the tools of the pack.
    #[arg(long, value_name = "FILE", conflicts_with = "no_tools")]
    tools: Option<PathBuf>,
    /// A tool that the model may call; all others are hidden [default: all].
    #[arg(long, value_name = "NAME", conflicts_with = "no_tools")]
    allow_tool: Vec<String>,
    /// A tool that is hidden.
    #[arg(long, value_name = "NAME", conflicts_with = "no_tools")]
    deny_tool: Vec<String>,
    /// Offers no tools.
    #[arg(long)]
    no_tools: bool,
}

impl ToolArgs {
    /// The tools of the pack and of the host's file, as far as the flags let them through.
    pub(crate) fn registry(&self, rules: &Ruleset, show: &mut OutputStreams<'_, '_>) -> Result<FilteredToolRegistry, EarlyExit> {
        if self.no_tools {
            return Ok(FilteredToolRegistry::default());
        }
        let mut tools = ToolRegistry::of_pack(rules);
        if let Some(path) = &self.tools {
            tools.extend(host_tools(path, show)?);
        }
        let known: Vec<&str> = tools.specs().map(|spec| spec.name.as_str()).collect();
        if let Some(name) = self.allow_tool.iter().chain(&self.deny_tool).find(|name| !known.contains(&name.as_str())) {
            let help = suggest::help(name, known.iter().copied());
            let help = help
                .unwrap_or_else(|| format!("the tools are {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") }).into());
            return Err(EarlyExit::could_not(Code::NameUnknown, format!("there is no tool `{name}`"), help));
        }
        let allow = (!self.allow_tool.is_empty()).then(|| self.allow_tool.clone());
        Ok(FilteredToolRegistry::new(tools, allow, self.deny_tool.clone()))
    }
}

/// The commands and servers that a file of the host declares. The servers are started.
pub(crate) fn host_tools(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<ToolRegistry, EarlyExit> {
    let text = text_of(path, show)?;
    let declared = HostTools::parse(&text).map_err(|why| {
        let message = format!("`{}` is no file of tools: {}", shown(path), why.trim_end());
        EarlyExit::new(RunExit::No, Diagnostic::error(Code::SyntaxToml, message).help("docs/reference/tools.md lists its keys"))
    })?;
    wait(declared.open()).map_err(|failure| EarlyExit::could_not(Code::FileMissing, failure.0, "correct the command in the file of tools"))
}
