//! Script functions of a pack as tools: pure, and bounded by the limits of the pack.

use serde_json::Value as Json;

use super::super::BoxFuture;
use super::tool::{Tool, ToolCall, ToolFailure};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::text::script::ScriptArgument;

/// A function `file.rhai::function` of a pack's scripts.
pub(super) struct ScriptTool {
    rules: Ruleset,
    function: String,
}

impl ScriptTool {
    pub(super) fn new(rules: &Ruleset, function: String) -> Self {
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
