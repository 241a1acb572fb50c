//! Tools of MCP servers, which the host starts and talks to over their standard input and output, and the file in which a host
//! declares commands and servers as tools. A pack cannot do this: it never starts a process.
//!
//! A server is a stranger: every answer is waited for a bounded time, its lines and lists are bounded, and it is killed
//! with everything that it has started as soon as nobody holds one of its tools.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, PaginatedRequestParams};
use rmcp::service::{RunningService, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::BoxFuture;
use super::process::{CommandLine, CommandOutput, CommandTool, ProcessGroup, ProcessPipes};
use super::{Tool, ToolCall, ToolFailure};
use super::{ToolRegistry, ToolSpec};
use crate::diag::short::head;

/// The most bytes of one message of a server.
const MOST_LINE: usize = 4 << 20;
/// The most pages of a server's list of tools.
const MOST_PAGES: usize = 50;
/// The most tools of a server.
const MOST_TOOLS: usize = 500;

/// The most bytes of the name of a tool.
const MOST_NAME: usize = 64;
/// The most bytes of the description and the schema of a tool.
const MOST_SPEC: usize = 64 << 10;

/// A server, as the host declares it.
#[derive(Debug, Clone, Default)]
pub struct ServerSpec {
    /// Its name in messages.
    pub name: String,
    /// How it is started.
    pub line: CommandLine,
    /// How long it may take to begin, and for each answer.
    pub timeout: Duration,
    /// Stands in front of the names of its tools, so that two servers may have tools of the same name.
    pub prefix: String,
    /// The names of the tools that are taken from it; without it, all.
    pub tools: Option<Vec<String>>,
    /// Its tools may run beside others.
    pub parallel: bool,
}

/// Starts a server and asks for its tools.
///
/// # Errors
/// It cannot be started, does not answer in time, or does not speak the protocol.
pub async fn tools_of_server(spec: &ServerSpec) -> Result<ToolRegistry, ToolFailure> {
    match tokio::time::timeout(spec.timeout, begin(spec)).await {
        Ok(tools) => tools,
        Err(_) => Err(failure(&spec.name, &format!("did not begin within {} ms", spec.timeout.as_millis()))),
    }
}

/// A server that runs as long as one of its tools is held.
struct ServerConnection {
    service: RunningService<RoleClient, ()>,
    name: String,
    timeout: Duration,
    /// Killed when it is dropped.
    _group: ProcessGroup,
}

async fn begin(spec: &ServerSpec) -> Result<ToolRegistry, ToolFailure> {
    let (group, ProcessPipes { stdin, stdout, .. }) = ProcessGroup::start(&spec.line, false)?;
    let transport = AsyncRwTransport::new(stdout, stdin).with_max_line_length(MOST_LINE);
    let service = serve_client((), transport).await.map_err(|e| failure(&spec.name, &format!("cannot be used: {e}")))?;
    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let page = service.list_tools(params).await.map_err(|e| failure(&spec.name, &format!("lists no tools: {e}")))?;
        found.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || found.len() > MOST_TOOLS {
            break;
        }
    }
    if cursor.is_some() || found.len() > MOST_TOOLS {
        return Err(failure(&spec.name, &format!("has more than {MOST_TOOLS} tools or {MOST_PAGES} pages of them")));
    }
    if let Some(missing) = spec.tools.iter().flatten().find(|name| !found.iter().any(|tool| tool.name == **name)) {
        return Err(failure(&spec.name, &format!("has no tool `{missing}`")));
    }
    found.retain(|tool| spec.tools.as_ref().is_none_or(|names| names.iter().any(|n| *n == tool.name)));
    for tool in &found {
        usable(spec, tool)?;
    }
    let connection = ServerConnection { service, name: spec.name.clone(), timeout: spec.timeout, _group: group };
    let connection = Arc::new(connection);
    let mut registry = ToolRegistry::new();
    for tool in found {
        let own = ToolSpec {
            name: format!("{}{}", spec.prefix, tool.name),
            description: tool.description.unwrap_or_default().into_owned(),
            parameters: Json::Object(Arc::unwrap_or_clone(tool.input_schema)),
            parallel: spec.parallel,
        };
        registry.add(own, Arc::new(ServerTool { connection: Arc::clone(&connection), name: tool.name.into_owned() }));
    }
    Ok(registry)
}

/// Checks what goes into every request: providers take few letters in names, and a description or a schema costs tokens.
fn usable(spec: &ServerSpec, tool: &rmcp::model::Tool) -> Result<(), ToolFailure> {
    let name = format!("{}{}", spec.prefix, tool.name);
    let shown = head(&name, 80);
    let remedy = "list in `tools` of its row those that you want";
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if !letters || name.is_empty() || name.len() > MOST_NAME {
        let why = format!("has a tool `{shown}`, and names of tools have 1 to {MOST_NAME} letters, digits, `_` and `-`; {remedy}");
        return Err(failure(&spec.name, &why));
    }
    let schema = serde_json::to_vec(&tool.input_schema).map_or(usize::MAX, |text| text.len());
    if schema.saturating_add(tool.description.as_ref().map_or(0, |text| text.len())) > MOST_SPEC {
        let why = format!("describes its tool `{shown}` with more than {MOST_SPEC} bytes; {remedy}");
        return Err(failure(&spec.name, &why));
    }
    Ok(())
}

/// One tool of a server.
struct ServerTool {
    connection: Arc<ServerConnection>,
    name: String,
}

impl Tool for ServerTool {
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(call.arguments.clone());
        Box::pin(async move {
            let ServerConnection { service, name, timeout, .. } = &*self.connection;
            match tokio::time::timeout(*timeout, service.call_tool_once(params)).await {
                Ok(Ok(CallToolResponse::Complete(result))) => result_of(result),
                Ok(Ok(_)) => Err(failure(name, "asks for something in between, which is not supported")),
                Ok(Err(error)) => Err(failure(name, &format!("did not carry out `{}`: {error}", self.name))),
                Err(_) => Err(failure(name, &format!("did not answer within {} ms", timeout.as_millis()))),
            }
        })
    }
}

/// The result that a server gives: its structured part, its one text, or the list of its parts.
fn result_of(result: CallToolResult) -> Result<Json, ToolFailure> {
    let text = |part: &ContentBlock| if let ContentBlock::Text(text) = part { Some(text.text.clone()) } else { None };
    if result.is_error == Some(true) {
        return Err(ToolFailure(result.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")));
    }
    if let Some(structured) = result.structured_content {
        return Ok(structured);
    }
    match result.content.as_slice() {
        [] => Ok(Json::Null),
        [one] if text(one).is_some() => Ok(json!(text(one))),
        parts => serde_json::to_value(parts).map_err(|e| ToolFailure(format!("the result cannot be read: {e}"))),
    }
}

fn failure(server: &str, what: &str) -> ToolFailure {
    ToolFailure(format!("the server `{server}` {what}"))
}

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
