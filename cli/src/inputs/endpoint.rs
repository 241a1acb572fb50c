//! The flags that say where requests are sent: the provider, its address, the key, and what is recorded.
//!
//! A key comes from an environment variable or from a file. It is never an argument, because arguments stand in the
//! lists of processes and in the history of shells. The model and the dialect are flags of the verb itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use tapster_client::retry::{Pace, RetryAttempt, RetryPolicy, RetryTransport};
use tapster_client::tools::{FilteredToolRegistry, HostTools, ToolRegistry};
use tapster_client::{BoxFuture, Http, HttpOptions, Key, RealPace, Recorder, Replay, Timeouts, Transport, is_variable};

use crate::diag::{Code, Diagnostic, DiagnosticCode, suggest};
use crate::exit::{EarlyExit, Result};
use crate::full::wait;
use crate::inputs::files::{create_private, path_text, read_bytes, read_text};
use crate::inputs::parse_seconds;
use crate::output::Console;
use crate::pack::Ruleset;
use crate::pack::library::is_shipped_key;

/// Where requests are sent.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Endpoint")]
pub(crate) struct EndpointArgs {
    /// The provider that serves the model, as capability rows name it: `openrouter`, `anthropic` … [default: the
    /// dialect].
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The address of the provider's interface, such as http://127.0.0.1:8080/v1 [default: the dialect's own].
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The environment variable that holds the key [default: the one that the dialect names, unless `--url` is given].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["key_file", "replay"])]
    pub(crate) key_env: Option<String>,
    /// The file that holds the key.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) key_file: Option<PathBuf>,
    /// The proxy of all requests: http://…, https://… or socks5://…
    #[arg(long, value_name = "URL", conflicts_with = "replay")]
    pub(crate) proxy: Option<String>,
    /// How many seconds a provider may be silent.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = parse_seconds, conflicts_with = "replay")]
    pub(crate) timeout: Option<f64>,
    /// How often a request is sent again if that is safe.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) retries: Option<u32>,
    /// Writes every request and reply to this new file, without keys.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Takes the replies from a recorded file instead of the network.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
}

impl EndpointArgs {
    /// A flag that has an effect only where a model is asked, if one is given.
    pub(crate) fn names_provider(&self) -> Option<&'static str> {
        let flags = [
            ("--url", self.url.is_some()),
            ("--provider", self.provider.is_some()),
            ("--replay", self.replay.is_some()),
            ("--record", self.record.is_some()),
            ("--key-env", self.key_env.is_some()),
            ("--key-file", self.key_file.is_some()),
            ("--proxy", self.proxy.is_some()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Checks what the flags say about each other and about addresses.
    pub(crate) fn check(&self) -> Result<()> {
        for (flag, address) in [("--url", &self.url), ("--proxy", &self.proxy)] {
            let Some(address) = address else { continue };
            // an address may hold a user and a password, so it is not shown
            if !address.contains("://") {
                let message = format!("the value of `{flag}` is not an address");
                return Err(EarlyExit::could_not(Code::SceneField, message, "begin it with `http://` or `https://`"));
            }
        }
        if let Some(name) = &self.key_env
            && !is_variable(name)
        {
            // what was given may be the key itself, so it is not shown
            let message = "`--key-env` takes the name of an environment variable, and what was given is not such a name";
            return Err(EarlyExit::could_not(Code::SceneField, message, "write for example `--key-env OPENAI_API_KEY`"));
        }
        Ok(())
    }

    /// The key, if there is one, and the origins to which it may go; none means that of the first request. A usual
    /// variable is read if a shipped pack names it, and goes to the provider's own address alone: where a request goes
    /// is said by packs and scenes, and they must not choose what is read and sent. `addressed` means that the scene
    /// names an address.
    fn key(&self, rules: &Ruleset, dialect: &str, addressed: bool, show: &mut Console<'_>) -> Result<(Option<Key>, Vec<String>)> {
        let named = |key: Key| (Some(key), Vec::new());
        let help = "name the variable with `--key-env NAME`, or the file with `--key-file FILE`";
        let refused = |error: tapster_client::KeyError| EarlyExit::could_not(Code::FileMissing, error.to_string(), help);
        if let Some(file) = &self.key_file {
            return read_bytes(file, show).and_then(|text| Key::from_bytes(&text, file).map(named).map_err(refused));
        }
        if let Some(name) = &self.key_env {
            return Key::from_variable(name, show.io.env).map(named).map_err(refused);
        }
        let Some(place) = rules.readings().key(dialect).filter(|place| self.url.is_none() && !place.env.is_empty()) else {
            return Ok((None, Vec::new()));
        };
        if !is_shipped_key(dialect, place) {
            if addressed {
                return Ok((None, Vec::new()));
            }
            let message = format!("no key is named, and the pack's own row `[[key]]` for `{dialect}` may not choose one");
            return Err(EarlyExit::could_not(Code::SceneField, message, help));
        }
        let set = |name: &&Arc<str>| (show.io.env)(name).is_some_and(|value| !value.is_empty());
        match place.env.iter().find(set) {
            Some(name) => {
                let key = Key::from_variable(name, show.io.env).map_err(refused)?;
                Ok((Some(key), place.origins.iter().map(ToString::to_string).collect()))
            }
            None if addressed => Ok((None, Vec::new())),
            None => {
                let message = format!("there is no key for `{dialect}`");
                let help = format!(
                    "set {}, or name a file with `--key-file FILE`; a server that needs no key is named with `--url`",
                    place.env.join(" or ")
                );
                Err(EarlyExit::could_not(Code::SceneField, message, help))
            }
        }
    }

    /// The way to the provider: HTTP with retries, or a record. `addressed` means that the scene names an address, and
    /// `hears` is told of every attempt that is repeated.
    pub(crate) fn transport(
        &self,
        rules: &Ruleset,
        dialect: &str,
        addressed: bool,
        hears: Arc<dyn Fn(&RetryAttempt) + Send + Sync>,
        show: &mut Console<'_>,
    ) -> Result<Arc<dyn Transport>> {
        self.check()?;
        if let Some(file) = &self.replay {
            if self.url.is_some() {
                let message = format!("the address of `--url` is not asked: the replies come from `{}`", path_text(file));
                show.note(Diagnostic::note(DiagnosticCode::named("run.replay"), message));
            }
            let text = String::from_utf8_lossy(&read_bytes(file, show)?).into_owned();
            let replay = Replay::parse(&text).map_err(|error| {
                EarlyExit::could_not(Code::SyntaxJson, format!("`{}`: {error}", path_text(file)), "name a file that `--record` has written")
            })?;
            return Ok(self.repeating(Arc::new(replay), Arc::new(ZeroPace), hears));
        }
        let (key, origins) = self.key(rules, dialect, addressed, show)?;
        let silent = Duration::from_secs_f64(self.timeout.unwrap_or(120.0));
        let usual = Timeouts::default();
        let timeouts = Timeouts { connect: usual.connect.min(silent), answer: silent, idle: silent, total: usual.total.max(silent) };
        let hidden = Key::hidden(key.as_ref(), self.proxy.as_deref());
        let options = HttpOptions { key, origins, below: self.url.clone(), proxy: self.proxy.clone(), timeouts };
        let http = Http::new(options).map_err(|error| EarlyExit::could_not(Code::SceneField, error.message, "correct the address"))?;
        let mut sends: Arc<dyn Transport> = Arc::new(http);
        if let Some(file) = &self.record {
            // below the retries, so that every attempt has its line
            sends = Arc::new(Recorder::new(sends, Arc::new(Mutex::new(new_record(file)?)), hidden));
        }
        Ok(self.repeating(sends, Arc::new(RealPace), hears))
    }

    fn repeating(
        &self,
        sends: Arc<dyn Transport>,
        pace: Arc<dyn Pace>,
        hears: Arc<dyn Fn(&RetryAttempt) + Send + Sync>,
    ) -> Arc<dyn Transport> {
        let policy = RetryPolicy { attempts: self.retries.unwrap_or(2).saturating_add(1), ..RetryPolicy::default() };
        Arc::new(RetryTransport::new(sends, policy, pace).with_observer(hears))
    }
}

/// Waits for nothing: a record is there at once.
struct ZeroPace;

impl Pace for ZeroPace {
    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn chance(&self) -> f64 {
        0.0
    }

    fn now(&self) -> u64 {
        0
    }
}

/// A new file for a record, which only its owner may read.
fn new_record(file: &Path) -> Result<File> {
    create_private(file).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", path_text(file));
        EarlyExit::could_not(Code::FileMissing, message, "name a new file; a record that exists is not overwritten")
    })
}

/// Which tools a model may call.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArgs {
    /// Commands and MCP servers that the model may call, besides the tools of the pack.
    #[arg(long, value_name = "FILE", conflicts_with = "no_tools")]
    tools: Option<PathBuf>,
    /// A tool that the model may call; all others are hidden [default: all].
    #[arg(long, value_name = "NAME", conflicts_with = "no_tools")]
    allow_tool: Vec<String>,
    /// A tool that is hidden.
    #[arg(long, value_name = "NAME", conflicts_with = "no_tools")]
    deny_tool: Vec<String>,
    /// Offers no tools.
    #[arg(long)]
    no_tools: bool,
}

impl ToolArgs {
    /// The tools of the pack and of the host's file, as far as the flags let them through.
    pub(crate) fn registry(&self, rules: &Ruleset, show: &mut Console<'_>) -> Result<FilteredToolRegistry> {
        if self.no_tools {
            return Ok(FilteredToolRegistry::default());
        }
        let mut tools = ToolRegistry::of_pack(rules);
        if let Some(path) = &self.tools {
            tools.extend(host_tools(path, show)?);
        }
        let known: Vec<&str> = tools.specs().map(|spec| spec.name.as_str()).collect();
        if let Some(name) = self.allow_tool.iter().chain(&self.deny_tool).find(|name| !known.contains(&name.as_str())) {
            let help = suggest::help(name, known.iter().copied());
            let help = help
                .unwrap_or_else(|| format!("the tools are {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") }).into());
            return Err(EarlyExit::could_not(Code::NameUnknown, format!("there is no tool `{name}`"), help));
        }
        let allow = (!self.allow_tool.is_empty()).then(|| self.allow_tool.clone());
        Ok(FilteredToolRegistry::new(tools, allow, self.deny_tool.clone()))
    }
}

/// The commands and servers that a file of the host declares. The servers are started.
pub(crate) fn host_tools(path: &Path, show: &mut Console<'_>) -> Result<ToolRegistry> {
    let text = read_text(path, show)?;
    let declared = HostTools::parse(&text).map_err(|why| {
        let message = format!("`{}` is no file of tools: {}", path_text(path), why.trim_end());
        EarlyExit::refused(Code::SyntaxToml, message, "docs/reference/tools.md lists its keys")
    })?;
    wait(declared.open()).map_err(|failure| EarlyExit::could_not(Code::FileMissing, failure.0, "correct the command in the file of tools"))
}
