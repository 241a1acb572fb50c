//! From the request of a client to the request that is sent: the rules of its model build a prompt of its messages.

use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use tapster::diag::{Diagnostic, Report, render};
use tapster::machinery::build::scene::{self, patched};
use tapster::machinery::build::{ScenePart, assemble_scene};
use tapster::machinery::pack::Ruleset;
use tapster::model::plan::UnchangedPrefix;
use tapster::model::{Plan, PlanBlock, Scene, Value};
use tapster::{BuildError, build, emit, import_document, unchanged};
use tapster_client::AuthHeader;
use tapster_door::explain::{self, cache, changes};
use tapster_door::{FileStamps, ReadStart};

use super::config::UpstreamConfig;

/// The format of a pack that reads requests of clients.
const FORMAT: &str = "request";
/// The format that reads them in one shape, for providers of another dialect.
const TRANSLATED_FORMAT: &str = "translated_request";
/// The kind of the part of a scene that such a request is.
const PART: &str = "request";

/// The rules and the scene of a model.
pub struct LoadedModel {
    pub rules: Ruleset,
    /// What the scene consists of, without the clock and the chat.
    pub parts: Vec<ScenePart>,
    /// The folders that hold packs by name.
    pub folders: Vec<PathBuf>,
    /// The other files and folders that all this was read from.
    pub files: Vec<PathBuf>,
}

/// What the client has sent, and what is kept of its session.
pub(crate) struct ClientRequest<'a> {
    pub(crate) body: &'a Map<String, Json>,
    pub(crate) upstream: &'a UpstreamConfig,
    /// Whether the provider speaks another dialect than the client.
    pub(crate) translated: bool,
    /// The model that the provider is asked for.
    pub(crate) model: &'a str,
    pub(crate) now: String,
    /// The blocks of the request before.
    pub(crate) previous: Option<&'a [PlanBlock]>,
    /// The state of the session; `None` at its beginning.
    pub(crate) state: Option<&'a Json>,
}

/// Where a request goes, as the pack's dialect says it.
pub(crate) struct RequestTarget {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) auth: Option<AuthHeader>,
}

/// A request as it is sent, with the reasons.
pub(crate) struct RewrittenRequest {
    pub(crate) target: RequestTarget,
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
    /// How long the provider keeps its cache, in seconds, if the pack says it.
    pub(crate) cache_seconds: Option<u64>,
}

impl LoadedModel {
    /// The files of the model as they are now.
    pub(crate) fn stamps(&self) -> FileStamps {
        FileStamps::of(&self.rules, &self.folders, &self.files)
    }

    /// The files of the model, which was read since `started`.
    pub(crate) fn stamps_of_read(&self, started: ReadStart) -> FileStamps {
        FileStamps::of_read(started, &self.rules, &self.folders, &self.files)
    }

    /// Builds the request that is sent.
    ///
    /// # Errors
    /// Diagnostics as JSON.
    pub(crate) fn rewrite(&self, request: &ClientRequest<'_>) -> Result<RewrittenRequest, Json> {
        let (rules, dialect) = (&self.rules, request.upstream.dialect.as_str());
        let refused = |error: BuildError| self.refusal(&error);
        let (scene, unread) = self.scene(request).map_err(refused)?;
        let mut plan = build(rules, &scene).map_err(refused)?;
        let emitted = emit(rules, &plan, dialect).map_err(refused)?;
        let prefix = unchanged(rules, &plan, request.previous.unwrap_or_default()).map_err(refused)?;
        let differs = match request.previous {
            Some(_) => cache::as_json(&prefix, None, &plan, rules).get("differs").cloned().unwrap_or_default(),
            None => Json::Null,
        };
        let mut body = request.body.clone();
        // what no rule reads is known to the client's dialect alone
        body.retain(|key, _| !request.translated && unread.get(key).is_some());
        if let Json::Object(payload) = emitted.payload {
            body.extend(payload);
        }
        let warnings: Vec<Diagnostic> = plan.warnings.drain(..).chain(emitted.warnings).collect();
        let capability = tapster::run(rules, "capability", &scene, &[]).ok();
        Ok(RewrittenRequest {
            target: self.target(dialect, &emitted.request),
            body: Json::Object(body),
            differs,
            reasons: json!({ "blocks": explain::as_json(&plan, rules), "changes": changes::as_json(&plan, rules, None) }),
            warnings: render::json(&warnings.into_iter().collect::<Report>(), rules.sources()),
            cache_seconds: capability.and_then(|done| done.get("capability.cache_seconds").to_json().as_u64()),
            unchanged: prefix,
            state: patched(scene::kept(&scene), &plan.patch.to_json()),
            blocks: plan.blocks.into_iter().map(|block| PlanBlock { history: Vec::new(), ..block }).collect(),
        })
    }

    /// Where a request goes that no rule has built.
    ///
    /// # Errors
    /// Diagnostics as JSON.
    pub(crate) fn target_of(&self, request: &ClientRequest<'_>) -> Result<RequestTarget, Json> {
        let plan = Plan { scene: request.flags().data, ..Plan::default() };
        let dialect = request.upstream.dialect.as_str();
        let emitted = emit(&self.rules, &plan, dialect).map_err(|error| self.refusal(&error))?;
        Ok(self.target(dialect, &emitted.request))
    }

    fn target(&self, dialect: &str, request: &Json) -> RequestTarget {
        let headers = request.get("headers").and_then(Json::as_object).into_iter().flatten();
        let headers = headers.filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?.to_owned())));
        RequestTarget {
            url: request.get("url").and_then(Json::as_str).unwrap_or_default().to_owned(),
            headers: headers.collect(),
            auth: AuthHeader::of(&self.rules, dialect),
        }
    }

    fn refusal(&self, error: &BuildError) -> Json {
        render::json(&error.diagnostic(&self.rules).into(), self.rules.sources())
    }

    /// The scene of a request, and the keys of the request that no rule has read.
    fn scene(&self, request: &ClientRequest<'_>) -> Result<(Scene, Value), BuildError> {
        let rules = &self.rules;
        let imported = import_document(rules, Some(FORMAT), &Json::Object(request.body.clone()))?;
        let mut parts = Vec::new();
        if rules.programs().rules.names.knows_path("now") {
            let mut now = Scene::default();
            now.set("now", Value::text(request.now.as_str()));
            parts.push(ScenePart::new("clock", now.data));
        }
        parts.extend(self.parts.iter().filter(|part| part.kind != "clock").cloned());
        parts.push(ScenePart::new(PART, imported.scene));
        if request.translated {
            let translated = import_document(rules, Some(TRANSLATED_FORMAT), &Json::Object(request.body.clone()))?;
            parts.push(ScenePart::new(PART, translated.scene));
        }
        parts.push(ScenePart::new("flags", request.flags().data));
        let mut made = assemble_scene(rules, &parts)?.scene;
        if let Some(state) = request.state {
            scene::restore(&mut made, state);
        }
        made.trace = true;
        made.seed = "0".to_owned();
        Ok((made, imported.rest))
    }
}

impl ClientRequest<'_> {
    /// What the configuration and the client say of the provider.
    fn flags(&self) -> Scene {
        let mut flags = Scene::default();
        flags.set("dialect", Value::text(self.upstream.dialect.as_str()));
        flags.set("provider.url", Value::text(self.upstream.base_url()));
        flags.set("provider.model", Value::text(self.model));
        flags.set("provider.stream", Value::Bool(is_streamed(self.body)));
        flags
    }
}

/// Whether the client asks for a stream.
pub(crate) fn is_streamed(body: &Map<String, Json>) -> bool {
    body.get("stream").and_then(Json::as_bool) == Some(true)
}
