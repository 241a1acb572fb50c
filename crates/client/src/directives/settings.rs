//! What one request for directives goes by, as the pack's program `directives` says it, and the report of a run.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::super::config::{list, number, optional_number};
use super::super::{Problem, ProviderError, Reply, RunError, RunnerConfig};
use super::extract::{DirectiveReadError, ReadBounds, extract};
use super::registry::{Directive, DirectiveRegistry, DirectiveReply, DirectiveRules, DirectiveWarning, EnvelopeKeys, validate};
use crate::build::{Outcome, run};
use crate::diag::Diagnostic;
use crate::model::plan::PlanBlock;
use crate::model::{Plan, Scene, Value};

/// The program that says how directives are asked for.
const PROGRAM: &str = "directives";
/// The id of the block with the instruction; a build that has it already gets it replaced.
const BLOCK: &str = "directives";
/// The most requests of one mode, and the most places that are tried in one reply, whatever a pack says.
const MOST: usize = 1000;

/// What an application decides about directives beside its configuration.
#[derive(Debug, Clone, Default)]
pub struct DirectiveRequest {
    /// The types; without it, the rows `directive` of the pack.
    pub registry: Option<DirectiveRegistry>,
    /// The types that this request may use, by their names; without it, all.
    pub allow: Option<Vec<String>>,
    /// Values of the pack's table `[directives]` for this request, such as `repair_instruction` and `mode_texts`.
    pub values: Map<String, Json>,
}

/// A way to ask for directives.
#[derive(Debug, Clone)]
pub(super) struct DirectiveMode {
    pub(super) name: String,
    /// The capability that the model must have.
    pub(super) needs: Option<String>,
    /// `response_format` of the request; without it the request has none.
    pub(super) response_format: Option<Json>,
    /// What the model is told.
    pub(super) instruction: String,
}

/// How directives are asked for and read: types, modes, texts and limits of one request.
#[derive(Debug, Clone)]
pub struct Directives {
    registry: DirectiveRegistry,
    allow: Option<Vec<String>>,
    pub(super) modes: Vec<DirectiveMode>,
    pub(super) repair_retries: usize,
    pub(super) repair_instruction: String,
    /// HTTP statuses by which a provider says that it does not take the mode.
    pub(super) next_mode_statuses: Vec<u16>,
    role: String,
    envelope: EnvelopeKeys,
    bounds: ReadBounds,
    most: Option<usize>,
}

impl Directives {
    /// Asks the pack how directives are asked for in this chat.
    ///
    /// # Errors
    /// [`RunError::Config`] if a type is allowed that there is not, or a mode is named that the pack does not have;
    /// [`RunError::Build`] if the program of the pack fails.
    pub fn new(config: &RunnerConfig, plan: &Plan, request: &DirectiveRequest) -> Result<Self, RunError> {
        let mut data = plan.scene.to_json();
        if !data.is_object() {
            data = Json::Object(Map::new());
        }
        let given = config.values.get(PROGRAM).and_then(Json::as_object).cloned().unwrap_or_default();
        if let Some(data) = data.as_object_mut() {
            let own = data.entry(PROGRAM).or_insert_with(|| Json::Object(Map::new()));
            let mut values = own.as_object().cloned().unwrap_or_default();
            values.extend(given);
            values.extend(request.values.clone());
            values.extend(request.registry.as_ref().map(|registry| ("registry".to_owned(), registry.json())));
            values.extend(request.allow.clone().map(|allow| ("allow".to_owned(), allow.into())));
            *own = Json::Object(values);
        }
        let scene = Scene { data: Value::from(&data), ..plan.given.clone() };
        let ran = run(&config.rules, PROGRAM, &scene, &[])?;
        let registry = match &request.registry {
            Some(registry) => registry.clone(),
            None => DirectiveRegistry::parse(&serde_json::json!({ "types": list(&ran, "directive.types") })).map_err(RunError::Config)?,
        };
        let mut problems = Vec::new();
        for (n, name) in request.allow.iter().flatten().enumerate() {
            if !registry.types().iter().any(|kind| kind.name == *name) {
                let message = format!("there is no type `{name}`; aliases are not names");
                problems.push(Problem { code: "unknown_type".to_owned(), at: format!("/allow/{n}"), message });
            }
        }
        let modes = modes(&ran, &mut problems);
        let repair_retries = number(&ran, "directives.repair_retries", MOST, &mut problems);
        let bounds = ReadBounds {
            bytes: number(&ran, "directives.max_bytes", usize::MAX, &mut problems),
            places: number(&ran, "directives.max_places", MOST, &mut problems),
        };
        let most = optional_number(&ran, "directives.max_directives", usize::MAX, &mut problems);
        if !problems.is_empty() {
            return Err(RunError::Config(problems));
        }
        let word = |path: &str| ran.get(path).to_text().to_string();
        Ok(Self {
            registry,
            allow: request.allow.clone(),
            modes,
            repair_retries,
            repair_instruction: word("directives.repair_instruction"),
            next_mode_statuses: list(&ran, "directives.next_mode_statuses").iter().filter_map(status).collect(),
            role: word("directives.role"),
            envelope: EnvelopeKeys {
                text: word("directives.envelope.text"),
                list: word("directives.envelope.list"),
                kind: word("directives.envelope.type"),
                payload: word("directives.envelope.payload"),
            },
            bounds,
            most,
        })
    }

    /// The types.
    #[must_use]
    pub fn registry(&self) -> &DirectiveRegistry {
        &self.registry
    }

    /// The `response_format` of a mode; `None` if the mode has none.
    #[must_use]
    pub fn response_format(&self, mode: &str) -> Option<&Json> {
        self.modes.iter().find(|m| m.name == mode)?.response_format.as_ref()
    }

    /// Reads what a model has written.
    ///
    /// # Errors
    /// It holds no envelope.
    pub fn read(&self, text: &str) -> Result<DirectiveReply, DirectiveReadError> {
        let found = extract(text, [&self.envelope.text, &self.envelope.list], self.bounds)?;
        let rules = DirectiveRules { envelope: &self.envelope, registry: &self.registry, allow: self.allow.as_deref(), most: self.most };
        validate(&found, &rules)
    }

    /// The plan with the instruction of a mode behind its leading system messages, or in the place where the build has
    /// put it.
    pub(super) fn asked(&self, plan: &Plan, mode: &DirectiveMode) -> Plan {
        let mut plan = plan.clone();
        let present = plan.blocks.iter().position(|block| block.text("id") == BLOCK);
        if let Some(at) = present {
            plan.blocks.remove(at);
        }
        if mode.instruction.trim().is_empty() {
            return plan;
        }
        let leading = |block: &PlanBlock| !block.enabled() || matches!(block.text("role").as_str(), "system" | "developer");
        let at = present.unwrap_or_else(|| plan.blocks.iter().take_while(|block| leading(block)).count());
        let fields = serde_json::json!({ "id": BLOCK, "slot": "control", "role": self.role, "text": mode.instruction });
        plan.blocks.insert(at.min(plan.blocks.len()), PlanBlock { fields: Value::from(&fields), tokens: 0, history: Vec::new() });
        plan
    }
}

/// The modes in the order that the configuration says.
fn modes(ran: &Outcome, problems: &mut Vec<Problem>) -> Vec<DirectiveMode> {
    let rows = list(ran, "directive.modes");
    let mut modes = Vec::new();
    for (n, name) in list(ran, "directives.modes").iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let row = rows.iter().find(|row| row.get("name").and_then(Json::as_str) == Some(name));
        let Some(row) = row else {
            let message = format!("the pack has no mode `{name}`");
            problems.push(Problem { code: "invalid_value".to_owned(), at: format!("/directives/modes/{n}"), message });
            continue;
        };
        let text = |key: &str| row.get(key).and_then(Json::as_str).map(str::to_owned);
        modes.push(DirectiveMode {
            name: name.to_owned(),
            needs: text("needs").filter(|needs| !needs.is_empty()),
            response_format: row.get("response_format").filter(|format| !format.is_null()).cloned(),
            instruction: text("instruction").unwrap_or_default(),
        });
    }
    modes
}

fn status(json: &Json) -> Option<u16> {
    json.as_u64().and_then(|n| u16::try_from(n).ok())
}

/// One request of a run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DirectiveAttempt {
    /// The mode.
    pub mode: String,
    /// How many repairs of the mode came before it.
    pub repair: usize,
    /// Whether the reply could be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ok: bool,
    /// Why it could not: the code of a [`DirectiveReadError`](super::DirectiveReadError) or of a [`ProviderError`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where in the envelope, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The HTTP status, if the provider refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A mode that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SkippedMode {
    /// The mode.
    pub mode: String,
    /// Why: `capability`.
    pub why: String,
}

/// What came of a run: directives, or why there are none. A run fails quietly, because a chat can go on without
/// directives.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct DirectiveReport {
    /// Whether a reply could be read; also if all of its directives were dropped.
    pub ok: bool,
    /// The mode of that reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Why the last attempt failed; `no_mode` if the model has none of the modes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The text for the user; if no reply could be read, the last one that is not blank, as it is.
    pub assistant_text: String,
    /// The directives, in the order of the reply.
    pub directives: Vec<Directive>,
    /// What was tolerated and dropped.
    pub warnings: Vec<DirectiveWarning>,
    /// All requests, in order.
    pub attempts: Vec<DirectiveAttempt>,
    /// The modes that were not tried.
    pub skipped: Vec<SkippedMode>,
    /// The reply that was read, or the last one.
    #[serde(skip)]
    pub reply: Option<Reply>,
    /// What the provider said, if it ended the run.
    #[serde(skip)]
    pub provider_error: Option<ProviderError>,
    /// Token counts of all replies, in order, as the provider gives them.
    #[serde(skip)]
    pub usage: Vec<Json>,
    /// Warnings of the requests, each once.
    #[serde(skip)]
    pub request_warnings: Vec<Diagnostic>,
    /// Why a request behind the first one could not be made, if that ended the run.
    #[serde(skip)]
    pub run_error: Option<Arc<RunError>>,
}
