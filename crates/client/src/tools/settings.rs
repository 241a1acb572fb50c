//! The limits of a run, and whether its tools, masks and options are in order: both as the pack says.

use serde_json::{Map, Value as Json, json};

use super::super::left::{number, words};
use super::super::{Problem, RunError, RunnerConfig};
use super::registry::{FilteredToolRegistry, ParameterError};
use crate::build::run;
use crate::model::{Plan, Scene, Value};
use crate::text::json_pointer::escape;

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
    let entry = |(at, entry): (usize, &std::sync::Arc<super::registry::RegistryEntry>)| {
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
