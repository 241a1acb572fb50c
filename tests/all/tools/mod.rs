//! Tools: the loop, script functions of packs, commands and MCP servers of a host.

mod commands;
mod running;
mod servers;

use std::time::Duration;

use serde_json::{Map, Value as Json};
use tapster::Value;
use tapster_client::tools::{Tool, ToolCall, ToolFailure};

/// Waits on a runtime of its own; a test that waits for a minute has hung.
#[expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that panics has failed")]
fn wait<T>(doing: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), doing).await.expect("it hangs") })
}

/// Calls a tool with these arguments.
async fn call(tool: &dyn Tool, arguments: &Json) -> Result<Json, ToolFailure> {
    let arguments: Map<String, Json> = arguments.as_object().cloned().unwrap_or_default();
    tool.call(ToolCall { id: "c1", name: "it", arguments: &arguments, scene: &Value::Null }).await
}

/// A pack over `base` with these files.
#[expect(clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]
fn opened(name: &str, files: &[(&str, String)]) -> tapster::Ruleset {
    let folder = std::env::temp_dir().join(format!("tapster-{name}-{}", std::process::id()));
    let manifest = format!(
        "kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"0.1.0\"\nengine = \">=0.1\"\nlicence = \"MIT\"\nabout = \"Tools.\"\n\
         extends = [{{ name = \"base\", release = \"^0.1\" }}]\n"
    );
    for (path, text) in files.iter().chain([&("pack.toml", manifest)]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let opened = tapster::Ruleset::open(folder.to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    opened.unwrap_or_else(|rejected| panic!("{rejected}"))
}
