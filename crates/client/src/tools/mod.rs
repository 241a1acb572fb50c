//! Tools: what a model may call, and the loop that carries out its calls.
//!
//! A [`ToolRegistry`] holds tools with their JSON Schemas, a [`FilteredToolRegistry`] hides some of them, and a
//! [`ToolLoopRunner`] sends a plan, carries out the calls of the reply, sends their results, and so on until the model
//! answers. Which calls are carried out, the limits, and what the model is told of each stand in the pack (programs
//! `tool_loop`, `tool_calls` and `tool_results`). What no pack can change is checked here: a tool that is hidden or
//! whose arguments are no object never runs, every call has exactly one result, and nothing runs twice. Source: the
//! contract of the runner, section 3.

mod calls;
#[cfg(feature = "run")]
mod command;
#[cfg(feature = "run")]
mod host;
#[cfg(feature = "run")]
mod process;
mod registry;
mod report;
mod results;
mod script;
#[cfg(feature = "run")]
mod server;
mod settings;
mod together;
mod tool;
mod tool_loop;

#[cfg(feature = "run")]
pub use command::{CommandOutput, CommandTool};
#[cfg(feature = "run")]
pub use host::HostTools;
#[cfg(feature = "run")]
pub use process::CommandLine;
pub use registry::{FilteredToolRegistry, ToolRegistry, ToolSpec};
pub use report::{LoopEvent, NoWatch, StopReason, ToolLoopReport, ToolResult, Watch};
#[cfg(feature = "run")]
pub use server::{ServerSpec, tools_of_server};
#[cfg(feature = "run")]
pub(super) use together::together;
pub use tool::{Tool, ToolCall, ToolFailure};
pub use tool_loop::ToolLoopRunner;
