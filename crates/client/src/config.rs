//! What one run may look at, parsed once from the request's context.
//!
//! The pack's program `runner_config` says which parts there are, what they must be, and their defaults; here they get
//! their types.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{Problem, RunError};
use crate::build::dialects;
use crate::build::{Outcome, run};
use crate::diag::limits;
use crate::diag::short::head;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::text::json_pointer::escape;

/// What a model takes, as far as the runner decides by it. Source: the contract of the runner, section 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is a fact about the model by itself")]
pub struct Capabilities {
    /// It takes tools.
    pub tools: bool,
    /// The field `parallel_tool_calls` may be sent.
    pub parallel_tool_calls: bool,
    /// It can be made to answer with a JSON object.
    pub json_object: bool,
    /// It can be made to answer by a JSON Schema.
    pub json_schema: bool,
    /// The answer can be streamed.
    pub streaming: bool,
    /// Size of the context window.
    #[serde(default)]
    pub context_window_tokens: Option<u64>,
    /// Tokens of the window that are kept for the answer.
    #[serde(default)]
    pub reserved_response_tokens: Option<u64>,
}

/// What a prompt may cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBudget {
    /// The window.
    pub max_tokens: i64,
    /// What is kept for the answer.
    pub reserve_tokens: i64,
    /// The rest.
    pub max_prompt_tokens: i64,
}

/// Limits of tool calling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLimits {
    /// Requests of one loop.
    pub max_turns: u64,
    /// Calls of one turn that are run; without it, all.
    #[serde(default)]
    pub max_tool_calls_per_turn: Option<u64>,
    /// Bytes of the arguments of one call.
    pub max_args_bytes: u64,
    /// Bytes of one result.
    pub max_result_bytes: u64,
    /// Whether arguments are checked by the schema of the tool.
    pub validate_arguments: bool,
    /// Whether the answer behind the tools is asked for once more, as a stream.
    pub final_stream: bool,
}

/// How directives are asked for and read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectiveLimits {
    /// The modes, in the order in which they are tried.
    pub modes: Vec<String>,
    /// How often a reply that cannot be read is asked for again, in each mode.
    pub repair_retries: u64,
    /// Bytes of a reply.
    pub max_bytes: u64,
    /// Valid directives of one reply; without it, all.
    #[serde(default)]
    pub max_directives: Option<u64>,
}

/// The language of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguagePolicy {
    /// Whether it is asked for.
    pub enabled: bool,
    /// The language, as a language tag.
    #[serde(default)]
    pub target: Option<String>,
    /// The tag of spans in other languages.
    pub tag: String,
}

/// The configuration of one run: immutable, and the same for every part of it. Source: the contract of the runner,
/// section 0.
#[derive(Clone)]
pub struct RunnerConfig {
    /// The rules of the pack.
    pub rules: Ruleset,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Everything else, with all defaults filled in: `llm_options_defaults`, `capabilities`, `steps`, `tool_calling`,
    /// `directives`, `language_policy`, `output_tags`, `message_transforms`, `response_transforms`.
    pub values: Map<String, Json>,
}

impl RunnerConfig {
    /// Parses a context with the pack's program `runner_config`.
    ///
    /// # Errors
    /// [`RunError::Config`] with every mistake.
    pub fn parse(rules: &Ruleset, context: &Json) -> Result<Self, RunError> {
        Self::parse_with(rules, context, &Json::Null, &Json::Null)
    }

    /// The same with what the application knows about models: `registry`, a list of `{ provider?, model?, set }`, and
    /// `default_overrides`, a list of tables of flags.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_with(rules: &Ruleset, context: &Json, registry: &Json, default_overrides: &Json) -> Result<Self, RunError> {
        if context.is_null() {
            let message = "a run needs a configuration with at least `provider` and `model`".to_owned();
            return Err(config("runner_config_required", "", message));
        }
        exact(context, "")?;
        let runner = json!({
            "context": context, "registry": registry, "default_overrides": default_overrides, "dialects": dialects(rules),
        });
        let done = run(rules, "runner_config", &scene(json!({ "runner": runner })), &[])?;
        problems(&done)?;
        let values = table(&done, "config");
        let mut wrong = Vec::new();
        typed::<Capabilities>(&values, "capabilities", &mut wrong);
        typed::<ToolLimits>(&values, "tool_calling", &mut wrong);
        typed::<DirectiveLimits>(&values, "directives", &mut wrong);
        typed::<LanguagePolicy>(&values, "language_policy", &mut wrong);
        if !wrong.is_empty() {
            return Err(RunError::Config(wrong));
        }
        let text = |key: &str| values.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        Ok(Self { rules: rules.clone(), provider: text("provider"), model: text("model"), values })
    }

    /// What the model takes: nothing, in a configuration that was not parsed and does not say it.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        let none = Capabilities {
            tools: false,
            parallel_tool_calls: false,
            json_object: false,
            json_schema: false,
            streaming: false,
            context_window_tokens: None,
            reserved_response_tokens: None,
        };
        self.part("capabilities").unwrap_or(none)
    }

    /// The limits of tool calling: the strictest, in a configuration that was not parsed and does not say them.
    #[must_use]
    pub fn tool_limits(&self) -> ToolLimits {
        self.part("tool_calling").unwrap_or(ToolLimits {
            max_turns: 1,
            max_tool_calls_per_turn: None,
            max_args_bytes: 0,
            max_result_bytes: 0,
            validate_arguments: true,
            final_stream: false,
        })
    }

    /// How directives are asked for and read: in no way, in a configuration that was not parsed and does not say it.
    #[must_use]
    pub fn directives(&self) -> DirectiveLimits {
        self.part("directives").unwrap_or(DirectiveLimits { modes: Vec::new(), repair_retries: 0, max_bytes: 0, max_directives: None })
    }

    /// The language of the answer: any, in a configuration that was not parsed and does not say it.
    #[must_use]
    pub fn language_policy(&self) -> LanguagePolicy {
        self.part("language_policy").unwrap_or(LanguagePolicy { enabled: false, target: None, tag: String::new() })
    }

    /// A part of the configuration with its type. A configuration that was parsed has all of them.
    fn part<T: for<'de> Deserialize<'de>>(&self, key: &str) -> Option<T> {
        T::deserialize(self.values.get(key)?).ok()
    }

    /// A scene as a build of this run reads it: what the configuration says is set where the scene says nothing.
    #[must_use]
    pub fn scene(&self, scene: &Scene) -> Scene {
        let mut scene = scene.clone();
        for (path, value) in self.values.get("scene").and_then(Json::as_object).into_iter().flatten() {
            if scene.get(path).is_null() && !value.is_null() {
                scene.set(path, Value::from(value));
            }
        }
        scene
    }
}

/// What a model takes, and the budget that follows from it. `input` has `provider`, `model`, and the layers
/// `default_overrides`, `registry` and `override`.
///
/// # Errors
/// [`RunError::Config`] with every mistake.
pub fn capabilities(rules: &Ruleset, input: &Json) -> Result<(Capabilities, Option<PromptBudget>), RunError> {
    let at = |key: &str| input.get(key).cloned().unwrap_or_default();
    let name = |key: &str| at(key).as_str().unwrap_or_default().trim().to_owned();
    let runner = json!({ "default_overrides": at("default_overrides"), "registry": at("registry"), "override": at("override"), "dialects": dialects(rules) });
    let provider = json!({ "source": name("provider"), "model": name("model") });
    let done = run(rules, "capabilities", &scene(json!({ "runner": runner, "provider": provider })), &[])?;
    problems(&done)?;
    let read = Capabilities::deserialize(done.get("capabilities").to_json());
    let flags = read.map_err(|error| config("invalid_type", "", format!("the pack's program `capabilities` left no flags: {error}")))?;
    Ok((flags, PromptBudget::deserialize(done.get("budget").to_json()).ok()))
}

/// A configuration of a protocol (`tool_calling` or `directives`): the presets of the names in `used`, laid over each
/// other, and `explicit` above them. `presets` are those of the application, by protocol and name; the pack's own are
/// known as well.
///
/// # Errors
/// [`RunError::Config`] with every mistake.
pub fn presets(rules: &Ruleset, protocol: &str, presets: &Json, used: &Json, explicit: &Json) -> Result<Map<String, Json>, RunError> {
    let runner = json!({ "protocol": protocol, "presets": presets, "use": used, "explicit": explicit });
    let done = run(rules, "presets", &scene(json!({ "runner": runner })), &[])?;
    problems(&done)?;
    Ok(table(&done, "config"))
}

/// Checks that a part of the configuration has its type: a pack may have changed its shape, and a number may be too
/// large for it.
fn typed<T: for<'de> Deserialize<'de>>(values: &Map<String, Json>, key: &str, wrong: &mut Vec<Problem>) {
    let read = T::deserialize(values.get(key).unwrap_or(&Json::Null));
    wrong.extend(read.err().map(|error| Problem {
        code: "invalid_type".to_owned(),
        at: format!("/{key}"),
        message: format!("the pack's program `runner_config` left no `{key}` that can be used: {error}"),
    }));
}

pub(super) fn scene(data: Json) -> Scene {
    Scene { data: Value::from(&data), ..Scene::default() }
}

pub(super) fn table(done: &Outcome, path: &str) -> Map<String, Json> {
    match done.get(path).to_json() {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

pub(super) fn config(code: &str, at: &str, message: String) -> RunError {
    RunError::Config(vec![Problem { code: code.to_owned(), at: at.to_owned(), message }])
}

/// What a program has found wrong with a configuration.
pub(super) fn problems(done: &Outcome) -> Result<(), RunError> {
    let found = listed(done, "errors", "at");
    if found.is_empty() { Ok(()) } else { Err(RunError::Config(found)) }
}

/// The problems that a program has left at a path.
pub(super) fn listed(done: &Outcome, path: &str, at: &str) -> Vec<Problem> {
    let list = done.get(path);
    let text = |item: &Value, key: &str| item.get(key).map(|v| v.to_text().to_string()).unwrap_or_default();
    let items = list.as_list().unwrap_or_default().iter();
    items.map(|item| Problem { code: text(item, "code"), at: text(item, at), message: text(item, "message") }).collect()
}

/// A number from 0 to `most`. Without it there is a problem at the place, since a limit that is not one must not
/// quietly become another.
pub(super) fn number(ran: &Outcome, path: &str, most: usize, problems: &mut Vec<Problem>) -> usize {
    let found = optional_number(ran, path, most, problems);
    if found.is_none() && ran.get(path).is_null() {
        problems.push(unusable(path, most, "nothing"));
    }
    found.unwrap_or_default()
}

/// The same, where there may be nothing.
pub(super) fn optional_number(ran: &Outcome, path: &str, most: usize, problems: &mut Vec<Problem>) -> Option<usize> {
    let value = ran.get(path);
    if value.is_null() {
        return None;
    }
    let number = value.as_i64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= most);
    if number.is_none() {
        problems.push(unusable(path, most, &value.to_text()));
    }
    number
}

fn unusable(path: &str, most: usize, found: &str) -> Problem {
    let found = head(found, 40);
    let upper = if most == usize::MAX { String::new() } else { format!(" to {most}") };
    let message = format!("`{path}` must be a whole number from 0{upper}, and the pack or the configuration says {found}");
    Problem { code: "invalid_value".to_owned(), at: format!("/{}", path.replace('.', "/")), message }
}

/// The texts of a list.
pub(super) fn words(ran: &Outcome, path: &str) -> Vec<String> {
    ran.get(path).as_list().unwrap_or(&[]).iter().map(|word| word.to_text().to_string()).collect()
}

/// The values of a list.
pub(super) fn list(ran: &Outcome, path: &str) -> Vec<Json> {
    ran.get(path).as_list().unwrap_or(&[]).iter().map(Value::to_json).collect()
}

/// Checks that programs can hold the whole numbers of a document. One above 2^63 - 1 would be sent on as another number.
///
/// # Errors
/// [`RunError::Config`] with the place of each that is too large.
pub(super) fn exact(document: &Json, at: &str) -> Result<(), RunError> {
    let mut problems = Vec::new();
    look(document, at, 0, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(RunError::Config(problems)) }
}

fn look(value: &Json, at: &str, depth: usize, problems: &mut Vec<Problem>) {
    match value {
        // what is nested deeper becomes a text that says so
        _ if depth > limits::NESTING => {}
        Json::Number(number) if number.is_u64() && !number.is_i64() => {
            let message = format!("{number} is larger than {}, the largest whole number that can be sent unchanged", i64::MAX);
            problems.push(Problem { code: "invalid_value".to_owned(), at: at.to_owned(), message });
        }
        Json::Array(list) => list.iter().enumerate().for_each(|(n, value)| look(value, &format!("{at}/{n}"), depth + 1, problems)),
        Json::Object(fields) => {
            fields.iter().for_each(|(key, value)| look(value, &format!("{at}/{}", escape(key)), depth + 1, problems));
        }
        _ => {}
    }
}
