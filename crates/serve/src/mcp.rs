//! The calls of the door as tools of MCP, for agents that write presets and packs: they check and test what they write.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value as Json};
use tapster_door::Door;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::openapi::{calls, request_schema};

/// What an agent is told of the tools.
const INSTRUCTIONS: &str = "Tapster builds the exact prompts of chat applications from rule packs. `packs` lists the packs, `schema` gives \
the JSON Schema of a kind of rule file, `check` finds mistakes in overlays and packs, `test` runs rule tests, `build` makes a prompt, and \
`explain` says which rule made what. Overlays and packs are given as texts, or opened once with `open`, which returns a handle.";

/// Answers an agent on two streams, until it leaves.
///
/// # Errors
/// The agent does not speak MCP.
pub async fn serve_tools<R, W>(door: Door, input: R, output: W) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let tools = DoorTools { door: Arc::new(door), tools: tools() };
    let served = tools.serve((input, output)).await.map_err(|error| error.to_string())?;
    served.waiting().await.map_err(|error| error.to_string())?;
    Ok(())
}

/// The tools, and the door that they ask.
struct DoorTools {
    door: Arc<Door>,
    tools: Vec<Tool>,
}

impl ServerHandler for DoorTools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tapster", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, _: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let mut arguments = request.arguments.unwrap_or_default();
        arguments.insert("call".to_owned(), Json::String(request.name.into_owned()));
        let door = Arc::clone(&self.door);
        let answer = tokio::task::spawn_blocking(move || door.call(&Json::Object(arguments))).await;
        let answer = answer.map_err(|_| ErrorData::internal_error("the call ended early", None))?;
        let is_ok = crate::is_ok(&answer);
        Ok(if is_ok { CallToolResult::structured(answer) } else { CallToolResult::structured_error(answer) }.into())
    }
}

/// A tool for each call, with the schema of its arguments.
fn tools() -> Vec<Tool> {
    let schema = tapster_door::schema();
    let none = Map::new();
    let shared = schema.get("$defs").and_then(Json::as_object).unwrap_or(&none);
    calls(&schema)
        .map(|(call, variant)| {
            let (about, mut arguments) = request_schema(variant);
            let used = used_definitions(&arguments, shared);
            if let Some(arguments) = arguments.as_object_mut() {
                arguments.insert("$defs".to_owned(), Json::Object(used));
            }
            let arguments = if let Json::Object(arguments) = arguments { arguments } else { Map::new() };
            Tool::new(call.to_owned(), about, Arc::new(arguments))
        })
        .collect()
}

/// The definitions that a schema refers to, and those that they refer to.
fn used_definitions(schema: &Json, shared: &Map<String, Json>) -> Map<String, Json> {
    let (mut used, mut texts) = (Map::new(), vec![schema.to_string()]);
    while let Some(text) = texts.pop() {
        for (name, definition) in shared {
            if !used.contains_key(name) && text.contains(&format!("\"#/$defs/{name}\"")) {
                used.insert(name.clone(), definition.clone());
                texts.push(definition.to_string());
            }
        }
    }
    used
}
