//! The file in which a host declares commands and servers as tools. A pack cannot do this: it never starts a process.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::command::{CommandOutput, CommandTool};
use super::process::CommandLine;
use super::registry::{ToolRegistry, ToolSpec};
use super::server::{ServerSpec, tools_of_server};
use super::tool::ToolFailure;

/// How long a command or a server may take where its row does not say.
const TIMEOUT: f64 = 30.0;
/// The longest time that a row may say, in seconds.
const LONGEST: f64 = 3_600.0;
/// The most bytes that a command may print where its row does not say.
const MOST_OUTPUT: usize = 1_000_000;

/// The commands and servers of a host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostTools {
    #[serde(default)]
    tool: Vec<ToolRow>,
    #[serde(default)]
    server: Vec<ServerRow>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRow {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<serde_json::Map<String, Json>>,
    command: Vec<String>,
    #[serde(default)]
    folder: Option<PathBuf>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    timeout: RowSeconds,
    #[serde(default)]
    max_output_bytes: Option<usize>,
    #[serde(default)]
    output: CommandOutput,
    #[serde(default)]
    parallel: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerRow {
    name: String,
    command: Vec<String>,
    #[serde(default)]
    folder: Option<PathBuf>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    timeout: RowSeconds,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    tools: Option<Vec<String>>,
    #[serde(default)]
    parallel: bool,
}

/// A time that a row gives, in seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
struct RowSeconds(Duration);

impl Default for RowSeconds {
    fn default() -> Self {
        Self(Duration::from_secs_f64(TIMEOUT))
    }
}

impl TryFrom<f64> for RowSeconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        if seconds > 0.0 && seconds <= LONGEST {
            return Ok(Self(Duration::from_secs_f64(seconds)));
        }
        Err(format!("a timeout is a number of seconds above 0 and at most {LONGEST}"))
    }
}

/// Checks what would be found out only when a model makes a call, and then be told to the model.
fn startable(command: &[String], env: &[String]) -> Result<(), String> {
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err("`command` must begin with the program, as in `command = [\"python3\", \"tool.py\"]`".to_owned());
    }
    if command.iter().any(|word| word.contains('\0')) {
        return Err("`command` must not contain the character NUL".to_owned());
    }
    if env.iter().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
        // what stands there may be a value, which may be a secret, so it is not shown
        return Err("`env` lists names of variables, without `=` and without values".to_owned());
    }
    Ok(())
}

impl HostTools {
    /// Reads a file of tools, written in TOML.
    ///
    /// # Errors
    /// What cannot be read, with its line and column, or the row that cannot work.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = toml::from_str(text).map_err(|e| e.to_string())?;
        for (n, row) in read.tool.iter().enumerate() {
            let place = format!("row {} of `[[tool]]`", n + 1);
            startable(&row.command, &row.env).map_err(|why| format!("{place}: {why}"))?;
            if row.max_output_bytes == Some(0) {
                return Err(format!("{place}: `max_output_bytes` must be at least 1"));
            }
        }
        for (n, row) in read.server.iter().enumerate() {
            let place = format!("row {} of `[[server]]`", n + 1);
            startable(&row.command, &row.env).map_err(|why| format!("{place}: {why}"))?;
            if read.server.iter().take(n).any(|other| other.name == row.name) {
                return Err(format!("{place}: another server has this `name`; give each its own"));
            }
        }
        Ok(read)
    }

    /// Starts the servers, and gives all tools: the commands in the order of the file, then those of the servers.
    ///
    /// # Errors
    /// A server cannot be used. Those that were started before are stopped.
    pub async fn open(&self) -> Result<ToolRegistry, ToolFailure> {
        let mut registry = ToolRegistry::new();
        for row in &self.tool {
            let spec = ToolSpec {
                name: row.name.clone(),
                description: row.description.clone(),
                parameters: row.parameters.clone().map(Json::Object).unwrap_or_default(),
                parallel: row.parallel,
            };
            let tool = CommandTool {
                line: CommandLine { words: row.command.clone(), folder: row.folder.clone(), env: row.env.clone() },
                timeout: row.timeout.0,
                most: row.max_output_bytes.unwrap_or(MOST_OUTPUT),
                output: row.output,
            };
            registry.add(spec, Arc::new(tool));
        }
        for row in &self.server {
            let spec = ServerSpec {
                name: row.name.clone(),
                line: CommandLine { words: row.command.clone(), folder: row.folder.clone(), env: row.env.clone() },
                timeout: row.timeout.0,
                prefix: row.prefix.clone(),
                tools: row.tools.clone(),
                parallel: row.parallel,
            };
            registry.extend(tools_of_server(&spec).await?);
        }
        Ok(registry)
    }
}
