//! `tapster serve --stdio`: prompts for a program that runs `tapster` once and asks many times. Each line of standard input
//! is a scene as JSON, and each is answered by one line of JSON.

use std::io::BufReader;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};
use tapster::BuildSession;
use tapster_door::Door;

use crate::diag::{Code, Diagnostic, Report, Sources, render};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{from_env, too_costly};
use crate::inputs::server::ServerOptions;
use crate::inputs::{BuildParts, TemplateReference, library, load_rules, parse_seconds, scene, scene_file, template};
use crate::output::Console;
use crate::pack::Start;
use crate::pack::files::is_pack;
use crate::worker::{LineWorker, MAX_LINE, end_with_parent, id_of, read_line, refusal, too_long};

#[cfg(not(feature = "full"))]
use crate::full::serve_http;
#[cfg(feature = "full")]
use crate::server::serve_http;

/// The most packs that are kept ready.
const MAX_READY: usize = 32;
/// The keys of a line that are not those of a scene file.
const OWN: &[&str] = &["id", "trace", "reload"];

/// Answer other programs: over HTTP, or with `--stdio` line by line.
///
/// `POST /v1/CALL` asks the door (docs/reference/door.md): `open`, `put`, `build`, `explain`, `check` …; `/openapi.json` describes
/// all calls. With `--stdio`, a line is what a scene file holds (`pack`, `overlays`, `character`, `message`, `scene` …), as one JSON object, and
/// besides `id`, which is returned, `trace`, and `reload`, which reads the rule files again. The answer has `id`, `ok`,
/// `diagnostics`, and if `ok` is true `dialect`, `payload`, `request` (`url`, `headers`), `patch`, and `trace`.
///
/// A line with a `call` is a request of the door: `open`, `put`, `build`, `explain`, `check` … (docs/reference/door.md).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster serve
  curl -d '{\"rules\":\"base\",\"scene\":{\"message\":\"Hello.\"}}' http://127.0.0.1:8787/v1/build
  TAPSTER_TOKEN=… tapster serve --listen 0.0.0.0:8787
  tapster serve --gateway gateway.toml --cache-log cache.jsonl
  echo '{\"id\":1,\"pack\":\"base\",\"message\":\"Hello.\"}' | tapster serve --stdio
  echo '{\"call\":\"check\",\"rules\":\"base\"}' | tapster serve --stdio
  tapster serve --stdio < scenes.jsonl > prompts.jsonl")]
pub(crate) struct ServeArgs {
    /// Read lines from standard input and write lines to standard output, instead of answering HTTP.
    #[arg(long)]
    stdio: bool,
    /// The address that answers HTTP. One that other machines reach demands a token in `TAPSTER_TOKEN`.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", conflicts_with = "stdio")]
    listen: SocketAddr,
    /// A page that may call from a browser, such as `https://example.org`; can be repeated. Pages of this machine always may.
    #[arg(long, value_name = "ORIGIN", conflicts_with = "stdio")]
    origin: Vec<String>,
    /// A configuration of models (TOML): `/v1/chat/completions` and `/v1/messages` answer clients of OpenAI and Anthropic,
    /// with the rules between them and the provider (docs/how-to/gateway.md).
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    gateway: Option<PathBuf>,
    /// A file to which the cache account of each request of the gateway is added, as a line of JSON.
    #[arg(long, value_name = "FILE", requires = "gateway")]
    cache_log: Option<PathBuf>,
    /// A database for `/v1/sessions`: a file of SQLite, or `postgres://…`; servers that share it share its sessions. Default:
    /// the variable TAPSTER_STORE, else there are no sessions.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio")]
    store: Option<String>,
    /// A folder below which lines may name files, besides the working folder; can be repeated.
    #[arg(long, value_name = "FOLDER", requires = "stdio")]
    allow: Vec<PathBuf>,
    /// How long an answer may take, in seconds; after that the line is answered with an error.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    deadline: f64,
    /// Answers the lines of another process, which ends this one at the deadline.
    #[arg(long, hide = true)]
    worker: bool,
}

/// Packs with their overlays, ready for builds.
type ReadyPacks = IndexMap<String, Arc<BuildSession>>;

/// Packs that are ready, and what calls of the door have opened.
struct ServeMemory {
    ready: ReadyPacks,
    door: Door,
}

impl ServeArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let door = Door::new(library::pack_shelf(show).folders, Some(scene::clock));
        if !self.stdio {
            let token = (show.io.env)("TAPSTER_TOKEN").and_then(|token| token.into_string().ok()).filter(|token| !token.is_empty());
            let named = || from_env("TAPSTER_STORE", show).and_then(|store| store.into_string().ok());
            let store = self.store.clone().or_else(named);
            let options = ServerOptions {
                listen: self.listen,
                token,
                origins: self.origin.clone(),
                deadline: Duration::from_secs_f64(self.deadline),
                gateway: self.gateway.clone(),
                cache_log: self.cache_log.clone(),
                store,
            };
            return serve_http(options, door, show);
        }
        let folders = RealFolders::new(&self.allow, show)?;
        let mut memory = ServeMemory { ready: ReadyPacks::default(), door };
        let mut watched = None;
        if self.worker {
            end_with_parent();
        }
        while let Some(line) = next_line(show)? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let refused = if line.len() > MAX_LINE { Some(too_long()) } else { too_costly("the line", &line) };
            let text = match refused {
                Some(complaint) => format!("{}\n", refusal(Json::Null, complaint)),
                // a run inside of another program has no process that it could start again
                None if self.worker || show.arguments.is_none() => format!("{}\n", answer_line(&line, &mut memory, &folders, show)),
                None => self.watch(&line.into(), &mut watched, show),
            };
            show.result(&text);
            show.flush();
            if show.is_closed() {
                break;
            }
        }
        Ok(RunExit::Done)
    }

    /// The answer of a process that is ended at the deadline.
    fn watch(&self, line: &Arc<[u8]>, watched: &mut Option<LineWorker>, show: &Console<'_>) -> String {
        let arguments = show.arguments.iter().flatten().skip(1);
        let started = watched.take().map_or_else(|| LineWorker::start(arguments), Ok);
        let answered = started.and_then(|mut worker| Ok((worker.ask(line, Duration::from_secs_f64(self.deadline))?, worker)));
        match answered {
            Ok((answer, worker)) => {
                *watched = Some(worker);
                String::from_utf8_lossy(&answer).into_owned()
            }
            Err(complaint) => format!("{}\n", refusal(id_of(line), *complaint)),
        }
    }
}

/// The next line of standard input; `None` at its end.
fn next_line(show: &mut Console<'_>) -> Result<Option<Vec<u8>>> {
    // one byte of buffer, so that nothing behind the line is taken from the stream
    let mut input = BufReader::with_capacity(1, &mut *show.io.input);
    read_line(&mut input).map_err(|error| EarlyExit::could_not(Code::FileMissing, format!("standard input cannot be read: {error}"), ""))
}

/// The answer to one line.
fn answer_line(line: &[u8], memory: &mut ServeMemory, folders: &RealFolders, show: &mut Console<'_>) -> Json {
    let (asked, id) = match serde_json::from_slice::<Json>(line) {
        Ok(request) if request.get("call").is_some() => return memory.door.call(&request),
        Ok(Json::Object(mut asked)) => {
            let id = asked.shift_remove("id").unwrap_or(Json::Null);
            asked.retain(|key, _| OWN.contains(&key.as_str()));
            (Ok(asked), id)
        }
        Ok(_) => (Err("a line must be a JSON object".to_owned()), Json::Null),
        Err(error) => (Err(format!("the line is not valid JSON: {error}")), Json::Null),
    };
    let near = show.near.len();
    let (result, mut kept) = show.keeping(|show| match asked {
        Ok(asked) => build_line(line, &asked, &mut memory.ready, folders, show),
        Err(message) => Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::SyntaxJson, message).help("write one object on each line"))),
    });
    show.near.truncate(near);
    let mut out = Map::new();
    out.insert("id".to_owned(), id);
    out.insert("ok".to_owned(), result.is_ok().into());
    if let Err(stop) = &result {
        kept.push((stop.report.clone(), stop.sources.clone()));
    }
    let told = |(report, sources): &(Report, Sources)| render::json(report, sources).as_array().cloned().unwrap_or_default();
    out.insert("diagnostics".to_owned(), kept.iter().flat_map(told).collect());
    if let Ok(Json::Object(prompt)) = result {
        out.extend(prompt);
    }
    Json::Object(out)
}

/// Builds what a line asks for; `own` has the keys that are not those of a scene file.
fn build_line(line: &[u8], own: &Map<String, Json>, ready: &mut ReadyPacks, folders: &RealFolders, show: &mut Console<'_>) -> Result<Json> {
    let flag = |key: &str| match own.get(key) {
        None => Ok(false),
        Some(Json::Bool(flag)) => Ok(*flag),
        Some(_) => {
            let complaint = Diagnostic::new(Code::SchemaType, format!("`{key}` must be `true` or `false`"));
            Err(EarlyExit::new(RunExit::No, complaint.help(format!("leave `{key}` out where it is not wanted"))))
        }
    };
    let (trace, reload) = (flag("trace")?, flag("reload")?);
    if reload {
        ready.clear();
    }
    let mut parts = scene_file::parse_beside("standard input", line, Path::new(""), OWN, show)?;
    refuse_stream_inputs(&parts)?;
    folders.check(&parts, show)?;
    template::read_template(&mut parts, show)?;
    // the pack around a template
    folders.check(&parts, show)?;
    let session = ready_session(&parts, ready, show)?;
    let rules = session.rules();
    let mut scene = scene::assemble(&parts, rules, show)?;
    scene.trace = trace;
    let prompt = session.prompt(&scene).map_err(|error| EarlyExit::build(&error, rules))?;
    show.warnings(&prompt.warnings, rules.sources());
    let mut answer = json!({ "dialect": prompt.dialect, "payload": prompt.payload, "request": prompt.request, "patch": prompt.patch });
    if let (Some(trace), Json::Object(answer)) = (prompt.trace, &mut answer) {
        answer.insert("trace".to_owned(), serde_json::to_value(trace).unwrap_or_default());
    }
    Ok(answer)
}

/// Refuses `-` as a file: standard input has the lines.
fn refuse_stream_inputs(parts: &BuildParts) -> Result<()> {
    let template = if let Some(TemplateReference::File(file)) = &parts.template { Some(file) } else { None };
    let one = [&parts.character, &parts.chat, &parts.persona_file, &parts.data];
    let mut files = one.into_iter().flatten().chain(&parts.presets).chain(&parts.lorebooks).chain(template);
    if files.any(|file| file == Path::new("-")) {
        let message = "standard input has the scenes, and cannot be a file of one";
        return Err(EarlyExit::could_not(Code::FileMissing, message, "write the file to disk, or its contents into `scene`"));
    }
    Ok(())
}

/// Builds with the rules of a scene, which are compiled once for each pack with its overlays.
fn ready_session(parts: &BuildParts, ready: &mut ReadyPacks, show: &mut Console<'_>) -> Result<Arc<BuildSession>> {
    let key = format!("{:?} {:?} {:?}", parts.pack, parts.overlays, library::pack_shelf(show).folders);
    if let Some(session) = ready.get(&key) {
        return Ok(Arc::clone(session));
    }
    let session = Arc::new(BuildSession::new(load_rules(parts, show)?));
    if ready.len() >= MAX_READY {
        ready.shift_remove_index(0);
    }
    ready.insert(key, Arc::clone(&session));
    Ok(session)
}

/// Folders by their real paths.
struct RealFolders {
    /// For all files.
    all: Vec<PathBuf>,
    /// For packs: the folders of `TAPSTER_PACKS`.
    packs: Vec<PathBuf>,
}

impl RealFolders {
    /// The working folder, and those that are allowed besides.
    fn new(allowed: &[PathBuf], show: &Console<'_>) -> Result<Self> {
        let here = [PathBuf::from(".")];
        let real = |folder: &PathBuf| {
            folder.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
                let message = format!("`{}` is not a folder", folder.display());
                EarlyExit::could_not(Code::FileMissing, message, "name a folder that exists")
            })
        };
        let all = here.iter().chain(allowed).map(real).collect::<Result<_, _>>()?;
        Ok(Self { all, packs: library::named_folders(show).iter().filter_map(|folder| folder.canonicalize().ok()).collect() })
    }

    /// Refuses the parts of a scene if a path of them leads out of the folders.
    fn check(&self, parts: &BuildParts, show: &Console<'_>) -> Result<()> {
        let packs = match &parts.pack {
            Some(Start::Folder(folder)) => vec![folder.clone()],
            Some(Start::Name(name)) => {
                library::pack_shelf(show).folders.iter().map(|folder| folder.join(name)).filter(|f| is_pack(f)).collect()
            }
            _ => Vec::new(),
        };
        let is_below =
            |path: &Path, folders: &[PathBuf]| real_path(path).is_some_and(|real| folders.iter().any(|folder| real.starts_with(folder)));
        let lost = |path: &&PathBuf| !(is_below(path, &self.all) || packs.contains(path) && is_below(path, &self.packs));
        let files = parts.paths();
        let Some(path) = files.iter().chain(&packs).find(lost) else { return Ok(()) };
        let message = format!("`{}` does not lie below a folder that lines may read", path.display());
        let help = "start `tapster serve` in the folder of the files, or with `--allow FOLDER`";
        Err(EarlyExit::refused(Code::FileOutside, message, help))
    }
}

/// Where a path leads when links are followed, also if its last parts do not exist. `None` if that cannot be said.
fn real_path(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    whole.ancestors().find_map(|there| {
        let rest = whole.strip_prefix(there).ok()?;
        let real = there.canonicalize().ok()?;
        rest.components().all(|part| matches!(part, Component::Normal(_))).then(|| real.join(rest))
    })
}
