//! `tapster serve` over HTTP: the server runs on threads of its own, while this one reads rules and scenes for the gateway
//! and writes logs.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tapster_door::Door;
use tapster_serve::gateway::config::{ClientDialect, GatewayConfig, ModelConfig};
use tapster_serve::gateway::{Gateway, GatewayOptions, LoadedModel, ModelLoader};
use tapster_serve::{AccessRules, LogWriter, PageFile, RequestLog, ServeLimits, ServedParts, SessionShelf};
use tokio::sync::{mpsc, oneshot};

use crate::diag::{Code, render};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::read_text;
use crate::inputs::server::ServerOptions;
use crate::inputs::{InputArgs, library, load_rules, scene, scene_file};
use crate::output::Console;
use crate::store::SqlStore;

/// The page at `/`, as `page/build.mjs` bundles it.
const PAGE: &[PageFile] = &[
    PageFile { path: "/", kind: "text/html; charset=utf-8", text: include_str!("../page/index.html") },
    PageFile { path: "/page.js", kind: "text/javascript", text: include_str!("../page/page.js") },
    PageFile { path: "/worker.js", kind: "text/javascript", text: include_str!("../page/worker.js") },
    PageFile { path: "/page.css", kind: "text/css", text: include_str!("../page/page.css") },
    PageFile { path: "/gallery.json", kind: "application/json", text: include_str!("../page/gallery.json") },
];

/// The pack of models that name neither a pack nor a scene, and the one for clients of another dialect than the provider's.
const GATEWAY_PACK: &str = "gateway";
const TRANSLATOR_PACK: &str = "translator";

/// The most lines of the log that wait to be written; of more, some are left out.
const WAITING_LINES: usize = 1_024;

/// The most connections, if the system allows as many files.
const MOST_CONNECTIONS: usize = 12_000;
/// Files of the process that are no connections of clients: requests to providers, databases, rules.
const OWN_FILES: usize = 512;

/// A model at this place of the configuration is to be read, for clients of another dialect or not.
type LoadRequest = (usize, bool, oneshot::Sender<Result<LoadedModel, String>>);

/// Answers HTTP until the process is asked to stop; open requests are finished. Each request is told in a line of JSON.
pub(crate) fn serve_http(options: ServerOptions, door: Door, show: &mut Console<'_>) -> Result<RunExit> {
    let ServerOptions { listen: address, token, origins, deadline, gateway, cache_log, store } = options;
    if token.is_none() && !address.ip().is_loopback() {
        let message = format!("other machines reach `{address}`, and no token is demanded of them");
        let help = "set `TAPSTER_TOKEN` to a long random text, or listen on `127.0.0.1`";
        return Err(EarlyExit::could_not(Code::ServeAddress, message, help));
    }
    let failed = |error: std::io::Error| {
        let message = format!("`{address}` cannot be listened on: {error}");
        EarlyExit::could_not(Code::ServeAddress, message, "choose another address with `--listen`")
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let limits = ServeLimits { time: deadline, connections: allow_connections(), ..ServeLimits::default() };
    let (sender, mut events) = mpsc::unbounded_channel();
    let config = gateway.as_deref().map(|path| read_config(path, show)).transpose()?;
    let gateway = match &config {
        Some(config) => Some(Arc::new(open_gateway(config, cache_log.as_deref(), token.is_none(), sender.clone(), show)?)),
        None => None,
    };
    let access = AccessRules::new(token.as_deref(), origins);
    let open = |address: &String| {
        let store = runtime.block_on(SqlStore::open(address)).map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))?;
        Ok::<_, EarlyExit>(Arc::new(SessionShelf::new(store)))
    };
    let sessions = store.as_ref().map(open).transpose()?;
    let router = tapster_serve::router(ServedParts { door: Arc::new(door), gateway, sessions }, limits, access, write_log())
        .merge(tapster_serve::page(PAGE));
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        show.answer(&json!({ "listening": url }), || format!("listening on {url}\n"));
        show.flush();
        let mut served = tokio::spawn(tapster_serve::serve(listener, router, limits, stop_signal()));
        loop {
            tokio::select! {
                done = &mut served => break done.map_err(std::io::Error::other).and_then(|done| done).map_err(failed),
                Some((at, translated, loaded)) = events.recv() => {
                    let model = config.as_ref().and_then(|config| config.model.get(at).map(|model| load_model(config, model, translated, show)));
                    // nobody waits for it any more where the client has left
                    let _ = loaded.send(model.unwrap_or_else(|| Err("the model is not configured".to_owned())));
                }
            }
        }
    });
    // a call that goes on although nobody waits for it does not keep the process
    runtime.shutdown_background();
    ended.map(|()| RunExit::Done)
}

/// How many connections the process may have: it is given as many files as the system allows.
#[cfg(unix)]
fn allow_connections() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    files.saturating_sub(OWN_FILES).min(MOST_CONNECTIONS)
}

#[cfg(not(unix))]
fn allow_connections() -> usize {
    MOST_CONNECTIONS
}

/// Writes lines of the log from a thread of their own, since nobody may read standard error.
fn write_log() -> LogWriter {
    let (sender, lines) = std::sync::mpsc::sync_channel::<RequestLog>(WAITING_LINES);
    std::thread::spawn(move || {
        for RequestLog { method, path, status, time } in lines {
            let line = json!({ "method": method, "path": path, "status": status, "milliseconds": time.as_millis() });
            // nobody can read an error about a closed stream
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    });
    Arc::new(move |log| _ = sender.try_send(log))
}

/// Reads a configuration; the paths in it are those beside it.
fn read_config(path: &Path, show: &mut Console<'_>) -> Result<GatewayConfig> {
    let text = read_text(path, show)?;
    let wrong = |message: String| {
        EarlyExit::could_not(Code::ServeGateway, format!("`{}`: {message}", path.display()), "docs/how-to/gateway.md describes its keys")
    };
    let mut config = GatewayConfig::parse(&text).map_err(wrong)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    for model in &mut config.model {
        model.overlays.iter_mut().chain(&mut model.scene).for_each(|path| *path = folder.join(&path));
    }
    Ok(config)
}

/// A gateway whose models were all read once, so that mistakes in them are told before the first request.
fn open_gateway(
    config: &GatewayConfig,
    cache_log: Option<&Path>,
    forwards_keys: bool,
    sender: mpsc::UnboundedSender<LoadRequest>,
    show: &mut Console<'_>,
) -> Result<Gateway> {
    let refused = |message: String| EarlyExit::could_not(Code::ServeGateway, message, "docs/how-to/gateway.md describes the configuration");
    for model in &config.model {
        let translated = config.upstream_of(model).is_ok_and(|upstream| ClientDialect::named(&upstream.dialect).is_none());
        load_model(config, model, translated, show).map_err(|message| refused(format!("model `{}`: {message}", model.name)))?;
    }
    let open = |path: &Path| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| refused(format!("`{}` cannot be written: {error}", path.display())))?;
        Ok::<Box<dyn Write + Send>, EarlyExit>(Box::new(file))
    };
    let cache_log = cache_log.map(open).transpose()?;
    let loader: ModelLoader = Arc::new(move |at, translated| {
        let sender = sender.clone();
        Box::pin(async move {
            let (loaded, wait) = oneshot::channel();
            let closed = || "the server is closed".to_owned();
            sender.send((at, translated, loaded)).map_err(|_| closed())?;
            wait.await.map_err(|_| closed())?
        })
    });
    let options = GatewayOptions { config: config.clone(), loader, clock: scene::clock, cache_log, forwards_keys };
    Gateway::new(options, &|name| (show.io.env)(name)).map_err(refused)
}

/// Reads the rules and the scene of a model.
fn load_model(config: &GatewayConfig, model: &ModelConfig, translated: bool, show: &mut Console<'_>) -> Result<LoadedModel, String> {
    let dialect = config.upstream_of(model)?.dialect.as_str();
    // packs beside the scene of one model are not those of another
    let near = show.near.len();
    let (read, _) = show.keeping(|show| {
        let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let options = model.option.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let pack = model
            .pack
            .clone()
            .or_else(|| model.scene.is_none().then(|| if translated { TRANSLATOR_PACK } else { GATEWAY_PACK }.to_owned()));
        let inputs = InputArgs::of_rules(model.scene.clone(), pack, model.overlays.clone(), options, dialect);
        let parts = inputs.parts(show)?;
        let rules = load_rules(&parts, show)?;
        let given = scene::scene_parts(&parts, &rules, show)?;
        let mut files = parts.paths();
        files.extend(model.scene.iter().map(|scene| if scene.is_dir() { scene.join(scene_file::NAME) } else { scene.clone() }));
        Ok::<_, EarlyExit>(LoadedModel { rules, parts: given, folders: library::pack_shelf(show).folders, files })
    });
    show.near.truncate(near);
    read.map_err(|stop: EarlyExit| render::plain(&stop.report, &stop.sources))
}

/// Ends when the process is asked to stop.
async fn stop_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
