//! From the request of a client to the request that is sent: the rules of its model build a prompt of its messages.

use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Map, Value as Json, json};
use tapster::diag::{Diagnostic, Report, render};
use tapster::machinery::build::scene::{self, patched};
use tapster::machinery::build::{ScenePart, assemble_scene};
use tapster::machinery::pack::Ruleset;
use tapster::model::plan::UnchangedPrefix;
use tapster::model::{PlanBlock, Scene, Value};
use tapster::{build, emit, import_document, unchanged};
use tapster_door::explain::{self, cache, changes};

use super::config::ClientDialect;

/// The rules and the scene of a model.
pub struct LoadedModel {
    pub rules: Ruleset,
    /// What the scene consists of, without the clock and the chat.
    pub parts: Vec<ScenePart>,
    /// Whether the client talks to a character: its last message is the user's new one.
    pub character: bool,
    /// The files that all this was read from.
    pub files: Vec<PathBuf>,
}

/// The times and sizes of files, by which a change is noticed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileTimes(Vec<Option<(SystemTime, u64)>>);

impl FileTimes {
    /// Whether a file was written after a time, so that what was read may be older.
    pub(crate) fn is_after(&self, time: SystemTime) -> bool {
        self.0.iter().flatten().any(|(written, _)| *written >= time)
    }

    pub(crate) fn of(files: &[PathBuf]) -> Self {
        let stamp = |file: &PathBuf| file.metadata().ok().and_then(|about| Some((about.modified().ok()?, about.len())));
        Self(files.iter().map(stamp).collect())
    }
}

/// What the client has sent, and what is kept of its session.
pub(crate) struct ClientRequest<'a> {
    pub(crate) body: &'a Map<String, Json>,
    pub(crate) dialect: ClientDialect,
    /// The model that the provider is asked for.
    pub(crate) model: &'a str,
    pub(crate) now: String,
    /// The blocks of the request before.
    pub(crate) previous: Option<&'a [PlanBlock]>,
    /// The state of the session; `None` at its beginning.
    pub(crate) state: Option<&'a Json>,
}

/// A request as it is sent, with the reasons.
pub(crate) struct RewrittenRequest {
    pub(crate) body: Json,
    /// The blocks, for the next request.
    pub(crate) blocks: Vec<PlanBlock>,
    /// The state of the session after this request.
    pub(crate) state: Json,
    /// What is the same as in the request before; of the first, its tokens.
    pub(crate) unchanged: UnchangedPrefix,
    /// The first block that differs, with its rules.
    pub(crate) differs: Json,
    /// The blocks and the changes, each with its rule.
    pub(crate) reasons: Json,
    pub(crate) warnings: Json,
    /// How long the provider keeps its cache, in seconds.
    pub(crate) cache_seconds: u64,
}

impl LoadedModel {
    /// Builds the request that is sent.
    ///
    /// # Errors
    /// Diagnostics as JSON.
    pub(crate) fn rewrite(&self, request: &ClientRequest<'_>) -> Result<RewrittenRequest, Json> {
        let rules = &self.rules;
        let refused = |error: tapster::BuildError| render::json(&error.diagnostic(rules).into(), rules.sources());
        let (scene, unread) = self.scene(request).map_err(refused)?;
        let mut plan = build(rules, &scene).map_err(refused)?;
        let emitted = emit(rules, &plan, request.dialect.name()).map_err(refused)?;
        let prefix = unchanged(rules, &plan, request.previous.unwrap_or_default()).map_err(refused)?;
        let differs = match request.previous {
            Some(_) => cache::as_json(&prefix, None, &plan, rules).get("differs").cloned().unwrap_or_default(),
            None => Json::Null,
        };
        let mut body = request.body.clone();
        body.retain(|key, _| unread.get(key).is_some());
        if let Json::Object(payload) = emitted.payload {
            body.extend(payload);
        }
        let warnings: Vec<Diagnostic> = plan.warnings.drain(..).chain(emitted.warnings).collect();
        Ok(RewrittenRequest {
            body: Json::Object(body),
            differs,
            reasons: json!({ "blocks": explain::as_json(&plan, rules), "changes": changes::as_json(&plan, rules, None) }),
            warnings: render::json(&warnings.into_iter().collect::<Report>(), rules.sources()),
            cache_seconds: cache_seconds(rules, &scene),
            unchanged: prefix,
            state: patched(scene::kept(&scene), &plan.patch.to_json()),
            blocks: plan.blocks.into_iter().map(|block| PlanBlock { history: Vec::new(), ..block }).collect(),
        })
    }

    /// The scene of a request, and the keys of the request that no rule has read.
    fn scene(&self, request: &ClientRequest<'_>) -> Result<(Scene, Value), tapster::BuildError> {
        let rules = &self.rules;
        let imported = import_document(rules, Some(request.dialect.format()), &Json::Object(request.body.clone()))?;
        let mut chat = imported.scene;
        let mut flags = Scene::default();
        flags.set("dialect", Value::text(request.dialect.name()));
        flags.set("provider.model", Value::text(request.model));
        flags.set("provider.stream", Value::Bool(is_streamed(request.body)));
        if self.character {
            take_input(&mut chat, &mut flags);
        }
        let mut parts = Vec::new();
        if rules.programs().rules.names.knows_path("now") {
            let mut now = Scene::default();
            now.set("now", Value::text(request.now.as_str()));
            parts.push(ScenePart::new("clock", now.data));
        }
        parts.extend(self.parts.iter().filter(|part| part.kind != "clock").cloned());
        parts.push(ScenePart::new("chat", chat));
        parts.push(ScenePart::new("flags", flags.data));
        let mut made = assemble_scene(rules, &parts)?.scene;
        if let Some(state) = request.state {
            scene::restore(&mut made, state);
        }
        made.trace = true;
        made.seed = "0".to_owned();
        Ok((made, imported.rest))
    }
}

/// Whether the client asks for a stream.
pub(crate) fn is_streamed(body: &Map<String, Json>) -> bool {
    body.get("stream").and_then(Json::as_bool) == Some(true)
}

/// Makes the user's last message the new one of the scene, as if they had just written it.
fn take_input(chat: &mut Value, flags: &mut Scene) {
    let mut history: Vec<Value> = chat.get("history").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default();
    let is_plain = |message: &Value| message.get("role").and_then(Value::as_str) == Some("user") && message.get("parts").is_none();
    if let Some(text) = history.last().filter(|last| is_plain(last)).and_then(|last| last.get("text").cloned()) {
        history.pop();
        flags.set("input", text);
        let mut rest = Scene { data: std::mem::take(chat), ..Scene::default() };
        rest.set("history", Value::list(history));
        *chat = rest.data;
    }
}

/// What the pack says of the provider's cache.
fn cache_seconds(rules: &Ruleset, scene: &Scene) -> u64 {
    let done = tapster::run(rules, "capability", scene, &[]);
    done.ok().and_then(|done| done.get("capability.cache_seconds").to_json().as_u64()).unwrap_or(DEFAULT_CACHE_SECONDS)
}

/// Five minutes, which most providers promise.
const DEFAULT_CACHE_SECONDS: u64 = 300;
