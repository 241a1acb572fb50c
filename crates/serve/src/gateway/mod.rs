//! The gateway: a client of OpenAI or Anthropic speaks to it as to the provider, and the rules of a model stand between.
//!
//! The client's messages become the chat of a scene (`rewrite`); the request that the rules build is sent to the provider
//! that the configuration names, and its answer is handed on byte for byte (`relay`). Of each request it is kept what the
//! rules did, and what became of the provider's cache ([`CacheAccount`]).

mod answer;
pub mod config;
mod handlers;
mod pages;
mod relay;
pub(crate) mod rewrite;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use tapster::model::{PlanBlock, Scene, Value};
use tapster_client::keys::Key;
use tapster_client::{BoxFuture, Http, HttpOptions};
use tapster_door::explain::accounts::{CacheAccount, CacheBooking, CacheFacts, CacheSummary};
use tapster_door::{FileStamps, ReadStart};

use crate::body::BodyRefusal;

use answer::TokenUsage;
use config::{ClientDialect, FailedBuildPolicy, GatewayConfig, ModelConfig, UpstreamConfig};
use rewrite::{ClientRequest, RequestTarget, RewrittenRequest};

pub(crate) use handlers::routes;
pub use rewrite::LoadedModel;

/// The most sessions that are kept; of more, those that were used longest ago are forgotten.
const MOST_SESSIONS: usize = 1_000;
/// The most bytes that sessions hold.
const MOST_SESSION_BYTES: usize = 128 << 20;
/// The most accounts that are kept.
const MOST_ACCOUNTS: usize = 10_000;
/// The most bytes of explanations that are kept.
const MOST_EXPLAINED: usize = 128 << 20;

/// Reads the rules and the scene of the model at a place of the configuration, for clients that speak the dialect of its
/// provider, or (`true`) for others.
pub type ModelLoader = Arc<dyn Fn(usize, bool) -> BoxFuture<'static, Result<LoadedModel, String>> + Send + Sync>;

/// What a gateway consists of.
pub struct GatewayOptions {
    pub config: GatewayConfig,
    pub loader: ModelLoader,
    /// The time of builds.
    pub clock: fn() -> String,
    /// Where each account is written to, as a line of JSON.
    pub cache_log: Option<Box<dyn Write + Send>>,
    /// Whether a key that the client sends is handed on to providers that have none.
    pub forwards_keys: bool,
}

/// Rewrites requests of clients, and keeps account of them.
pub struct Gateway {
    models: Vec<Arc<GatewayModel>>,
    clock: fn() -> String,
    forwards_keys: bool,
    sessions: Mutex<IndexMap<String, ClientSession>>,
    exchanges: Mutex<ExchangeMemory>,
    cache_log: Mutex<Option<Box<dyn Write + Send>>>,
}

/// A model of the configuration, with its provider.
struct GatewayModel {
    /// Its place in the configuration.
    at: usize,
    config: ModelConfig,
    upstream: UpstreamConfig,
    transport: Http,
    loader: ModelLoader,
    /// As it was read for clients of the provider's dialect, and for others.
    read: [tokio::sync::Mutex<Option<ReadModel>>; 2],
}

/// A model with the stamps of its files when it was read, and what was wrong with them when that was tried again.
struct ReadModel {
    model: Arc<LoadedModel>,
    stamps: FileStamps,
    broken: Option<(FileStamps, String)>,
}

/// What is kept of a session for its next request.
#[derive(Clone)]
struct ClientSession {
    blocks: Arc<Vec<PlanBlock>>,
    total: u64,
    sent: Instant,
    state: Json,
    /// About how many bytes it holds.
    bytes: usize,
}

/// Requests with their explanations, and the accounts of more of them.
#[derive(Default)]
struct ExchangeMemory {
    exchanges: IndexMap<String, Exchange>,
    /// The bytes of their explanations.
    bytes: usize,
    accounts: VecDeque<CacheAccount>,
    count: u64,
}

/// One request and what is known about it.
struct Exchange {
    explanation: Arc<str>,
    account: CacheAccount,
}

/// What a request is booked from once it is answered.
struct OpenAccount {
    account: CacheAccount,
    facts: CacheFacts,
    model: Arc<LoadedModel>,
    /// The session as the next request finds it, and its place among the sessions.
    session: (String, ClientSession),
}

/// A request that is ready to be sent.
struct PreparedExchange {
    /// The name under which it is explained; `None` for a request that no rule has built.
    id: Option<String>,
    session: String,
    target: RequestTarget,
    body: Json,
    warnings: Json,
    differs: Json,
    /// As `id`.
    account: Option<OpenAccount>,
}

/// Why a request is not sent: a status, a sentence, and diagnostics.
struct GatewayRefusal {
    status: u16,
    message: String,
    diagnostics: Json,
}

impl GatewayRefusal {
    fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), diagnostics: Json::Null }
    }
}

impl From<BodyRefusal> for GatewayRefusal {
    fn from(refusal: BodyRefusal) -> Self {
        Self::new(refusal.status.as_u16(), format!("{}; {}", refusal.message, refusal.help))
    }
}

impl Gateway {
    /// A gateway; `env` gives the variables that hold keys.
    ///
    /// # Errors
    /// A key is missing, or the address of a provider cannot be used.
    pub fn new(options: GatewayOptions, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let GatewayOptions { config, loader, clock, cache_log, forwards_keys } = options;
        let open = |(at, model): (usize, &ModelConfig)| {
            let upstream = config.upstream_of(model)?.clone();
            let transport = open_transport(&upstream, env).map_err(|message| format!("upstream `{}`: {message}", model.upstream))?;
            let (config, loader, read) = (model.clone(), Arc::clone(&loader), <[tokio::sync::Mutex<_>; 2]>::default());
            Ok::<_, String>(Arc::new(GatewayModel { at, config, upstream, transport, loader, read }))
        };
        let models = config.model.iter().enumerate().map(open).collect::<Result<_, _>>()?;
        let (sessions, exchanges) = (Mutex::default(), Mutex::default());
        Ok(Self { models, clock, forwards_keys, sessions, exchanges, cache_log: Mutex::new(cache_log) })
    }

    /// The model that a request names.
    fn find_model(&self, body: &Map<String, Json>) -> Result<Arc<GatewayModel>, GatewayRefusal> {
        let name = body.get("model").and_then(Json::as_str).unwrap_or_default();
        let Some(model) = self.models.iter().find(|model| model.config.is_named(name)) else {
            let known: Vec<&str> = self.models.iter().map(|model| model.config.name.as_str()).collect();
            let message = format!("there is no model `{name}`; the configuration has {}", known.join(", "));
            return Err(GatewayRefusal::new(404, message));
        };
        Ok(Arc::clone(model))
    }

    /// Builds the request that is sent for that of a client, and keeps what explains it.
    fn prepare(
        &self,
        model: &GatewayModel,
        loaded: &Arc<LoadedModel>,
        body: &Map<String, Json>,
        client: Option<ClientDialect>,
        session: Option<String>,
    ) -> Result<PreparedExchange, GatewayRefusal> {
        let GatewayModel { at, config, upstream, .. } = model;
        let name = body.get("model").and_then(Json::as_str).unwrap_or_default();
        let session = session.unwrap_or_else(|| session_of(name, body));
        // another model has other rules, so nothing of its requests is the same
        let translated = model.is_translated(client);
        let place = format!("{at} {translated} {session}");
        let before = self.sessions().get(&place).cloned();
        let now = (self.clock)();
        let request = ClientRequest {
            body,
            upstream,
            translated,
            model: config.send_as.as_deref().unwrap_or(name),
            now: now.clone(),
            previous: before.as_ref().map(|before| before.blocks.as_slice()),
            state: before.as_ref().map(|before| &before.state),
        };
        let refused = |diagnostics| GatewayRefusal { status: 422, message: "the rules build no request".to_owned(), diagnostics };
        let rewritten = match loaded.rewrite(&request) {
            Ok(rewritten) => rewritten,
            Err(warnings) if config.failing == FailedBuildPolicy::Send && !translated => {
                let mut body = body.clone();
                body.insert("model".to_owned(), request.model.into());
                let (target, body) = (loaded.target_of(&request).map_err(refused)?, Json::Object(body));
                return Ok(PreparedExchange { id: None, session, target, body, warnings, differs: Json::Null, account: None });
            }
            Err(diagnostics) => return Err(refused(diagnostics)),
        };
        let RewrittenRequest { target, body: sent, blocks, state, unchanged, mut differs, reasons, warnings, cache_seconds } = rewritten;
        let facts = CacheFacts {
            total: unchanged.total,
            previous: before.as_ref().map(|before| before.total),
            unchanged: unchanged.tokens,
            pause: before.as_ref().map_or(0, |before| before.sent.elapsed().as_secs()),
            cache_seconds,
            usage: None,
        };
        let id = self.next_id(&now);
        let explanation = json!({
            "id": id, "time": now, "session": session, "model": name, "url": target.url, "client": body, "sent": sent,
            "differs": differs, "warnings": warnings, "reasons": reasons,
        });
        // what is logged holds no texts of the chat
        if let Some(differs) = differs.as_object_mut() {
            differs.retain(|key, _| !matches!(key.as_str(), "was" | "is"));
        }
        let account = CacheAccount {
            id: id.clone(),
            time: now,
            session: session.clone(),
            model: name.to_owned(),
            total: facts.total,
            differs: differs.clone(),
            ..CacheAccount::default()
        };
        let explanation: Arc<str> = explanation.to_string().into();
        // an explanation holds the texts of the blocks about as often as the blocks themselves
        let session_after =
            ClientSession { blocks: Arc::new(blocks), total: facts.total, sent: Instant::now(), state, bytes: explanation.len() };
        self.exchanges().keep(Exchange { explanation, account: account.clone() });
        let account = OpenAccount { account, facts, model: Arc::clone(loaded), session: (place, session_after) };
        Ok(PreparedExchange { id: Some(id), session, target, body: sent, warnings, differs, account: Some(account) })
    }

    /// Lets the session go on with a request that the provider has taken, unless it has gone on with a later one already.
    fn keep_session(&self, place: String, session: ClientSession) {
        let mut sessions = self.sessions();
        if sessions.get(&place).is_some_and(|kept| kept.sent > session.sent) {
            return;
        }
        sessions.shift_remove(&place);
        sessions.insert(place, session);
        let mut bytes: usize = sessions.values().map(|session| session.bytes).sum();
        // the new one stays, however large
        while sessions.len() > MOST_SESSIONS || bytes > MOST_SESSION_BYTES && sessions.len() > 1 {
            bytes -= sessions.shift_remove_index(0).map_or(0, |(_, old)| old.bytes);
        }
    }

    /// Books a request whose answer has ended; `usage` is what the provider says of its tokens.
    fn book(&self, mut account: CacheAccount, mut facts: CacheFacts, model: &LoadedModel, usage: &Json) {
        facts.usage = read_usage(model, usage).map(|usage| (usage.input, usage.cached));
        account.booked = CacheBooking::of(&facts);
        (account.input, account.cached) = facts.usage.unzip();
        let line = serde_json::to_string(&account).unwrap_or_default();
        let mut memory = self.exchanges();
        if let Some(exchange) = memory.exchanges.get_mut(&account.id) {
            exchange.account = account.clone();
        }
        memory.accounts.push_back(account);
        if memory.accounts.len() > MOST_ACCOUNTS {
            memory.accounts.pop_front();
        }
        drop(memory);
        if let Some(log) = self.cache_log.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // a full disk must not stop the chat
            let _ = writeln!(log, "{line}").and_then(|()| log.flush());
        }
    }

    /// What is known of a request.
    fn explain_exchange(&self, id: &str) -> Option<Json> {
        let (explanation, account) = {
            let memory = self.exchanges();
            let exchange = memory.exchanges.get(id)?;
            (Arc::clone(&exchange.explanation), exchange.account.clone())
        };
        let mut explanation: Json = serde_json::from_str(&explanation).ok()?;
        if let (Some(explanation), Ok(account)) = (explanation.as_object_mut(), serde_json::to_value(account)) {
            explanation.insert("cache".to_owned(), account);
        }
        Some(explanation)
    }

    /// The accounts of all requests, or of a session, with their sums.
    fn sum_accounts(&self, session: Option<&str>) -> Json {
        let is_wanted = |account: &&CacheAccount| session.is_none_or(|session| account.session == session);
        let accounts: Vec<CacheAccount> = self.exchanges().accounts.iter().filter(is_wanted).cloned().collect();
        json!({ "summary": CacheSummary::of(&accounts), "requests": accounts })
    }

    /// The models that clients may name.
    fn list_models(&self) -> Json {
        let named = self.models.iter().map(|model| &model.config).filter(|model| !model.name.ends_with('*'));
        let data: Vec<Json> =
            named.map(|model| json!({ "id": model.name, "object": "model", "created": 0, "owned_by": model.upstream })).collect();
        json!({ "object": "list", "data": data })
    }

    fn next_id(&self, now: &str) -> String {
        let mut memory = self.exchanges();
        memory.count += 1;
        short_digest(&[now.as_bytes(), &memory.count.to_le_bytes()])
    }

    fn sessions(&self) -> MutexGuard<'_, IndexMap<String, ClientSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exchanges(&self) -> MutexGuard<'_, ExchangeMemory> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GatewayModel {
    /// Whether the provider speaks another dialect than a client. `None`: a client that takes what its provider does.
    fn is_translated(&self, client: Option<ClientDialect>) -> bool {
        match client {
            Some(client) => client.name() != self.upstream.dialect,
            None => ClientDialect::named(&self.upstream.dialect).is_none(),
        }
    }

    /// The rules of the model; they are read again when their files have changed. If they are broken then, the last good ones
    /// stay, and the second value says so.
    async fn load(&self, translated: bool) -> Result<(Arc<LoadedModel>, Option<String>), GatewayRefusal> {
        let [own, other] = &self.read;
        let mut read = if translated { other } else { own }.lock().await;
        let stale = |message: &str| Some(format!("the rules from before are used: {message}"));
        if let Some(read) = read.as_ref() {
            let stamps = read.model.stamps();
            match &read.broken {
                _ if stamps == read.stamps => return Ok((Arc::clone(&read.model), None)),
                Some((broken, message)) if stamps == *broken => return Ok((Arc::clone(&read.model), stale(message))),
                _ => {}
            }
        }
        let started = ReadStart::now();
        match ((self.loader)(self.at, translated).await, read.as_mut()) {
            (Ok(model), _) => {
                let model = Arc::new(model);
                *read = Some(ReadModel { model: Arc::clone(&model), stamps: model.stamps_of_read(started), broken: None });
                Ok((model, None))
            }
            (Err(message), Some(read)) => {
                let stale = stale(&message);
                read.broken = Some((read.model.stamps_of_read(started), message));
                Ok((Arc::clone(&read.model), stale))
            }
            (Err(message), None) => Err(GatewayRefusal::new(500, message)),
        }
    }
}

impl ExchangeMemory {
    fn keep(&mut self, exchange: Exchange) {
        self.bytes += exchange.explanation.len();
        self.exchanges.insert(exchange.account.id.clone(), exchange);
        // the new one stays, however large
        while self.bytes > MOST_EXPLAINED && self.exchanges.len() > 1 {
            self.bytes -= self.exchanges.shift_remove_index(0).map_or(0, |(_, old)| old.explanation.len());
        }
    }
}

/// The tokens that a provider has counted, by the pack's program `usage`.
fn read_usage(model: &LoadedModel, usage: &Json) -> Option<TokenUsage> {
    usage.as_object().filter(|usage| !usage.is_empty())?;
    let mut scene = Scene::default();
    scene.set("usage", Value::from(usage));
    let done = tapster::run(&model.rules, "usage", &scene, &[]).ok()?;
    let count = |path: &str| done.get(path).to_json().as_u64();
    let (output, cached) = (count("tokens.output").unwrap_or(0), count("tokens.cached").unwrap_or(0));
    Some(TokenUsage { input: count("tokens.input")?, output, cached })
}

/// The name of a session whose client gives it none: the digest of the model and of the user's first message.
fn session_of(model: &str, body: &Map<String, Json>) -> String {
    let messages = body.get("messages").and_then(Json::as_array).into_iter().flatten();
    let first = messages.into_iter().find(|message| message.get("role").and_then(Json::as_str) == Some("user"));
    let content = first.and_then(|first| first.get("content")).map(Json::to_string).unwrap_or_default();
    short_digest(&[model.as_bytes(), content.as_bytes()])
}

fn short_digest(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    });
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn open_transport(upstream: &UpstreamConfig, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Http, String> {
    let key = upstream.key_env.as_deref().map(|name| Key::from_variable(name, env)).transpose().map_err(|error| error.to_string())?;
    let options = HttpOptions { key, origins: vec![upstream.url.clone()], below: Some(upstream.url.clone()), ..HttpOptions::default() };
    Http::new(options).map_err(|error| error.to_string())
}
