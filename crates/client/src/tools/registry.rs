//! The tools of an application, in order, and which of them a request may see.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::super::BoxFuture;
use super::script::ScriptTool;
use super::tool::{Tool, ToolCall, ToolFailure};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::text::schema::SchemaChecker;

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
pub(super) enum ParameterError {
    /// They are not a JSON object.
    Type,
    /// They are no usable JSON Schema.
    Schema(String),
}

/// One tool of a registry.
pub(super) struct RegistryEntry {
    pub(super) spec: ToolSpec,
    pub(super) checker: Result<SchemaChecker, ParameterError>,
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

    pub(super) fn entries(&self) -> &[Arc<RegistryEntry>] {
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
