//! Tools of MCP servers, which the host starts and talks to over their standard input and output.
//!
//! A server is a stranger: every answer is waited for a bounded time, its lines and lists are bounded, and it is killed
//! with everything that it has started as soon as nobody holds one of its tools.

use core::time::Duration;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, PaginatedRequestParams};
use rmcp::service::{RunningService, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value as Json, json};

use super::super::BoxFuture;
use super::process::{CommandLine, ProcessGroup, ProcessPipes};
use super::registry::{ToolRegistry, ToolSpec};
use super::tool::{Tool, ToolCall, ToolFailure};

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
    let shown: String = name.chars().take(80).collect();
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
