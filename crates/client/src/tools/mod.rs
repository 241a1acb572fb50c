//! Tools: what a model may call, and the loop that carries out its calls.
//!
//! A [`ToolRegistry`] holds tools with their JSON Schemas, a [`FilteredToolRegistry`] hides some of them, and a
//! [`ToolLoopRunner`] sends a plan, carries out the calls of the reply, sends their results, and so on until the model
//! answers. Which calls are carried out, the limits, and what the model is told of each stand in the pack (programs
//! `tool_loop`, `tool_calls` and `tool_results`). What no pack can change is checked here: a tool that is hidden or
//! whose arguments are no object never runs, every call has exactly one result, and nothing runs twice. Source: the
//! contract of the runner, section 3.

#[cfg(feature = "run")]
mod process;
mod report;
#[cfg(feature = "run")]
mod server;
mod tool_loop;

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::config::{number, words};
use super::{BoxFuture, Problem, RunError, RunnerConfig};
use crate::build::run;
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::text::json_pointer::escape;
use crate::text::schema::SchemaChecker;
use crate::text::script::ScriptArgument;

#[cfg(feature = "run")]
pub use process::{CommandLine, CommandOutput, CommandTool};
#[cfg(feature = "run")]
pub use server::{HostTools, ServerSpec, tools_of_server};

pub use report::{LoopEvent, NoWatch, StopReason, ToolLoopReport, ToolResult, Watch};
pub use tool_loop::ToolLoopRunner;

#[cfg(feature = "run")]
pub(super) use tool_loop::join_all;

/// One call that a tool carries out.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The id of the call, unique in the chat.
    pub id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments, which fit the tool's JSON Schema unless the configuration switches the check off.
    pub arguments: &'a Map<String, Json>,
    /// The scene of the plan.
    pub scene: &'a Value,
}

/// Why a tool has no result. The text is told to the model, so it must hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailure(pub String);

/// Whoever carries out calls: a function of the application, of a pack, a command, or a server.
pub trait Tool: Send + Sync {
    /// Carries out a call once. Dropping the future cancels it, and must leave nothing running. A loop waits as long as
    /// this takes unless it has a limit of time
    /// ([`with_time_limit`](ToolLoopRunner::with_time_limit)). A panic goes through the loop to its caller.
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>>;
}

/// A function that needs to wait for nothing.
impl<F> Tool for F
where
    F: Fn(&ToolCall<'_>) -> Result<Json, ToolFailure> + Send + Sync,
{
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(async move { self(&call) })
    }
}

/// What a model is told about a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments; null for any object.
    pub parameters: Json,
    /// Whether it may run beside other calls of the same reply.
    pub parallel: bool,
}

impl ToolSpec {
    /// A tool that takes any object and runs alone.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Why parameters cannot be used.
#[derive(Clone)]
enum ParameterError {
    /// They are not a JSON object.
    Type,
    /// They are no usable JSON Schema.
    Schema(String),
}

/// One tool of a registry.
pub(super) struct RegistryEntry {
    pub(super) spec: ToolSpec,
    checker: Result<SchemaChecker, ParameterError>,
    pub(super) tool: Arc<dyn Tool>,
}

/// The tools of an application. It is given to runs and never changed by one; names, and schemas are checked when a run
/// begins, by the rules of the pack.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    entries: Vec<Arc<RegistryEntry>>,
}

impl ToolRegistry {
    /// A registry without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools that a pack brings: the rows of its table `tool`, in order.
    #[must_use]
    pub fn of_pack(rules: &Ruleset) -> Self {
        let mut registry = Self::new();
        let rows = rules.programs().rules.table("tool");
        for row in rows.as_list().unwrap_or(&[]) {
            let word = |key: &str| row.get(key).map(Value::to_text).unwrap_or_default().to_string();
            let spec = ToolSpec {
                name: word("name"),
                description: word("description"),
                parameters: row.get("parameters").map(Value::to_json).unwrap_or_default(),
                parallel: row.get("parallel").is_some_and(Value::truthy),
            };
            registry.add(spec, Arc::new(ScriptTool::new(rules, word("function"))));
        }
        registry
    }

    /// Adds a tool behind the others.
    pub fn add(&mut self, spec: ToolSpec, tool: Arc<dyn Tool>) {
        let checker = match &spec.parameters {
            Json::Null => SchemaChecker::new(&Value::map(crate::model::Map::default())).map_err(ParameterError::Schema),
            schema @ Json::Object(_) => SchemaChecker::new(&Value::from(schema)).map_err(ParameterError::Schema),
            _ => Err(ParameterError::Type),
        };
        self.entries.push(Arc::new(RegistryEntry { spec, checker, tool }));
    }

    /// The same, for a chain of calls.
    #[must_use]
    pub fn with(mut self, spec: ToolSpec, tool: Arc<dyn Tool>) -> Self {
        self.add(spec, tool);
        self
    }

    /// Adds the tools of another registry behind these.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// The tools, in order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.iter().map(|entry| &entry.spec)
    }

    /// Calls a tool by itself, with arguments that nobody has checked.
    ///
    /// # Errors
    /// What the tool says, or there is no such tool.
    pub fn call<'a>(&'a self, name: &'a str, arguments: Json) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(async move {
            let Some(entry) = self.find(name) else { return Err(ToolFailure(format!("there is no tool `{name}`"))) };
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            entry.tool.call(ToolCall { id: "", name, arguments: &arguments, scene: &Value::Null }).await
        })
    }

    fn entries(&self) -> &[Arc<RegistryEntry>] {
        &self.entries
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arc<RegistryEntry>> {
        self.entries.iter().find(|entry| entry.spec.name == name)
    }
}

/// A registry of which a request sees a part.
#[derive(Clone, Default)]
pub struct FilteredToolRegistry {
    registry: ToolRegistry,
    allow: Option<Vec<String>>,
    deny: Vec<String>,
}

impl FilteredToolRegistry {
    /// `allow` are the names that are visible, without it all; names of `deny` are hidden in any case.
    #[must_use]
    pub fn new(registry: ToolRegistry, allow: Option<Vec<String>>, deny: Vec<String>) -> Self {
        Self { registry, allow, deny }
    }

    /// The visible tools, in the order of the registry.
    pub fn visible(&self) -> impl Iterator<Item = &ToolSpec> {
        self.registry.specs().filter(|spec| self.shows(&spec.name))
    }

    /// Whether the masks let a name through.
    #[must_use]
    pub fn shows(&self, name: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|n| n == name);
        self.allow.as_deref().is_none_or(named) && !named(&self.deny)
    }

    pub(super) fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    /// Every name of a mask, with the mask and its place there.
    pub(super) fn masks(&self) -> Vec<Json> {
        let rows = |mask: &'static str, names: &[String]| -> Vec<Json> {
            names.iter().enumerate().map(|(at, name)| json!({ "mask": mask, "at": at, "name": name })).collect()
        };
        [rows("allow", self.allow.as_deref().unwrap_or(&[])), rows("deny", &self.deny)].concat()
    }

    /// The visible tools as a request names them.
    #[must_use]
    pub fn definitions(&self) -> Vec<Json> {
        let definition = |spec: &ToolSpec| {
            let mut function = Map::new();
            function.insert("name".into(), json!(spec.name));
            if !spec.description.is_empty() {
                function.insert("description".into(), json!(spec.description));
            }
            let parameters =
                if spec.parameters.is_null() { json!({ "type": "object", "properties": {} }) } else { spec.parameters.clone() };
            function.insert("parameters".into(), parameters);
            json!({ "type": "function", "function": function })
        };
        self.visible().map(definition).collect()
    }
}

impl From<ToolRegistry> for FilteredToolRegistry {
    fn from(registry: ToolRegistry) -> Self {
        Self { registry, ..Self::default() }
    }
}

/// What a run goes by.
pub(super) struct LoopSettings {
    pub(super) max_turns: usize,
    pub(super) max_args_bytes: usize,
    pub(super) max_result_bytes: usize,
    pub(super) final_stream: bool,
    pub(super) later_choice: String,
    pub(super) final_leaves_out: Vec<String>,
    free_choices: Vec<String>,
    /// The configuration, which programs lay over the values of the pack.
    pub(super) limits: Json,
}

impl LoopSettings {
    /// Reads the limits and checks what a run is given.
    ///
    /// # Errors
    /// [`RunError::Config`] with everything that is wrong, or the program of the pack fails.
    pub(super) fn read(
        config: &RunnerConfig,
        plan: &Plan,
        tools: &FilteredToolRegistry,
        options: &Map<String, Json>,
    ) -> Result<Self, RunError> {
        let limits = config.values.get("tool_calling").filter(|v| v.is_object()).cloned().unwrap_or_else(|| json!({}));
        let lists = [("tool_entries", entries(tools)), ("tool_masks", json!(tools.masks())), ("tool_options", keys(plan, options))];
        let ran = run(&config.rules, "tool_loop", &Scene::new(&json!({ "tool_loop": limits })), &lists)?;
        let mut problems: Vec<Problem> = ran.list("tool_mistakes").iter().map(problem).collect();
        let max_turns = number(&ran, "tool_loop.max_turns", usize::MAX, &mut problems);
        let max_args_bytes = number(&ran, "tool_loop.max_args_bytes", usize::MAX, &mut problems);
        let max_result_bytes = number(&ran, "tool_loop.max_result_bytes", usize::MAX, &mut problems);
        if !problems.is_empty() {
            return Err(RunError::Config(problems));
        }
        Ok(Self {
            max_turns: max_turns.max(1),
            max_args_bytes,
            max_result_bytes,
            final_stream: ran.get("tool_loop.final_stream").truthy(),
            later_choice: ran.get("tool_loop.later_choice").to_text().to_string(),
            final_leaves_out: words(&ran, "tool_loop.final_leaves_out"),
            free_choices: words(&ran, "tool_loop.free_choices"),
            limits,
        })
    }

    /// Whether a `tool_choice` makes the model call a tool. A loop in which it always had to would not end.
    pub(super) fn is_forced(&self, choice: Option<&Json>) -> bool {
        let free = |word: Option<&Json>| word.and_then(Json::as_str).is_some_and(|word| self.free_choices.iter().any(|w| w == word));
        match choice {
            None | Some(Json::Null) => false,
            Some(Json::Object(choice)) => {
                let mode = choice.get("mode").or_else(|| choice.get("allowed_tools").and_then(|tools| tools.get("mode")));
                !free(choice.get("type")) && !free(mode)
            }
            word => !free(word),
        }
    }
}

fn problem(row: &Value) -> Problem {
    let word = |key: &str| row.get(key).map(Value::to_text).unwrap_or_default().to_string();
    Problem { code: word("code"), at: word("at"), message: word("message") }
}

fn entries(tools: &FilteredToolRegistry) -> Json {
    let entry = |(at, entry): (usize, &std::sync::Arc<RegistryEntry>)| {
        let schema = match &entry.checker {
            Ok(_) => "",
            Err(ParameterError::Type) => "type",
            Err(ParameterError::Schema(why)) => why,
        };
        json!({ "at": at, "name": entry.spec.name, "schema": schema })
    };
    tools.registry().entries().iter().enumerate().map(entry).collect()
}

/// The keys of the options of the call and of the plan, with their places.
fn keys(plan: &Plan, options: &Map<String, Json>) -> Json {
    let row = |place: &str, key: &str| json!({ "key": key, "at": format!("{place}/{}", escape(key)) });
    let planned = [plan.scene.at("llm_options"), plan.set.at("plan.llm_options")];
    let planned = planned.into_iter().flatten().filter_map(Value::as_map).flatten().filter(|(_, value)| !value.is_null());
    let call = options.keys().map(|key| row("/options", key));
    call.chain(planned.map(|(key, _)| row("/plan/llm_options", key))).collect()
}

/// A function `file.rhai::function` of a pack's scripts.
struct ScriptTool {
    rules: Ruleset,
    function: String,
}

impl ScriptTool {
    fn new(rules: &Ruleset, function: String) -> Self {
        Self { rules: rules.clone(), function }
    }
}

impl Tool for ScriptTool {
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(async move {
            let arguments = Value::from(&Json::Object(call.arguments.clone()));
            let result = self
                .rules
                .programs()
                .rules
                .scripts
                .call(&self.function, &[ScriptArgument::Value(arguments), ScriptArgument::Scene(call.scene.clone())]);
            result.map(|value| value.to_json()).map_err(|fault| ToolFailure(fault.message))
        })
    }
}
