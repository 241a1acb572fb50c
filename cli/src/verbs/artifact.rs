//! `tapster artifact`: the artifacts of a session, as they are stored and as a pack shows them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use tapster::artifact::{ContentType, diff};
use tapster_session::{Session, SessionError};

use crate::diag::Code;
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::wait;
use crate::inputs::files::{path_text, read_bytes, read_values};
use crate::inputs::library;
use crate::inputs::store::{SessionArgs, TimeArgs};
use crate::layout::table;
use crate::model::Pack;
use crate::output::Console;
use crate::pack::{Overlay, Ruleset, Start};
use crate::store::{
    ArchivedVersion, Artifact, ArtifactVersion, Home, ListPage, MAX_VALUE, Moment, SessionDump, SessionInfo, SessionState, SessionStore,
    SqlStore, StoreRefusal, VersionWindow,
};

/// The artifacts of a session: show, compare, write, and move them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact list
  tapster artifact list --sessions
  tapster artifact show world --session tavern
  tapster artifact show --ui --pack my-pack
  tapster artifact put mood --pack my-pack --writer me --based-on none --value calm
  tapster artifact diff world 3 5
  tapster artifact export --session tavern > tavern.json
  tapster artifact import tavern.json --session copy
  tapster artifact forget --session copy --yes

The store is a file of SQLite or a PostgreSQL database: `--store`, else TAPSTER_STORE, else `tapster.db` here.")]
pub(crate) struct ArtifactArgs {
    #[command(subcommand)]
    verb: ArtifactVerb,
}

#[derive(Debug, Subcommand)]
enum ArtifactVerb {
    /// List the artifacts of a session, or the sessions of the store.
    List(ArtifactListArgs),
    /// Print the value of an artifact, or what the pack shows of all of them.
    Show(ArtifactShowArgs),
    /// List the versions of an artifact, the archived ones too if wanted.
    History(ArtifactHistoryArgs),
    /// Compare two versions of an artifact.
    Diff(ArtifactDiffArgs),
    /// Print the log of a session: what was read, written, refused and archived.
    Log(ArtifactLogArgs),
    /// Write a new version.
    Put(ArtifactPutArgs),
    /// Archive the versions that the pack does not keep.
    Prune(ArtifactPruneArgs),
    /// Print a session as JSON, with all versions and its state.
    Export(ArtifactExportArgs),
    /// Put an exported session back, with the same version numbers.
    Import(ArtifactImportArgs),
    /// Remove a session with everything in it.
    Forget(ArtifactForgetArgs),
}

impl ArtifactArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        match &self.verb {
            ArtifactVerb::List(verb) => verb.run(show),
            ArtifactVerb::Show(verb) => verb.run(show),
            ArtifactVerb::History(verb) => verb.run(show),
            ArtifactVerb::Diff(verb) => verb.run(show),
            ArtifactVerb::Log(verb) => verb.run(show),
            ArtifactVerb::Put(verb) => verb.run(show),
            ArtifactVerb::Prune(verb) => verb.run(show),
            ArtifactVerb::Export(verb) => verb.run(show),
            ArtifactVerb::Import(verb) => verb.run(show),
            ArtifactVerb::Forget(verb) => verb.run(show),
        }
    }
}

/// The pack whose declarations hold.
#[derive(Debug, Clone, Args)]
struct DeclarationArgs {
    /// The pack that declares the artifacts: a folder or a name.
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
    /// Rule files that are merged over the pack, in order.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "pack")]
    overlay: Vec<std::path::PathBuf>,
}

impl DeclarationArgs {
    /// The pack, if one is named.
    fn open(&self, show: &mut Console<'_>) -> Result<Option<Ruleset>> {
        let overlays: Vec<Overlay> = self.overlay.iter().cloned().map(Overlay::Path).collect();
        self.pack.as_deref().map(|pack| library::open_pack(&Start::typed(pack), &overlays, show)).transpose()
    }

    /// The pack, which must be named.
    fn needed(&self, show: &mut Console<'_>) -> Result<Ruleset> {
        self.open(show)?.ok_or_else(|| {
            let message = "this needs the pack that declares the artifacts";
            EarlyExit::could_not(Code::PackMissing, message, "name it with `--pack`")
        })
    }
}

/// A store that could not answer.
fn store_failure(refused: StoreRefusal) -> EarlyExit {
    EarlyExit::new(RunExit::CouldNot, *refused)
}

/// The most sessions among which a similar name is looked for.
const MANY: ListPage = ListPage { after: 0, limit: 1000 };

/// What is known of a session, which must exist.
fn require_session(store: &SqlStore, home: &Home) -> Result<SessionInfo> {
    if let Some(info) = wait(store.info(home)).map_err(store_failure)? {
        return Ok(info);
    }
    let all = wait(store.sessions(Some(&home.owner), MANY)).map_err(store_failure)?;
    let near = crate::diag::suggest::help(&home.session, all.iter().map(|info| info.home.session.as_str()));
    let message = format!("the store has no session `{}` of `{}`", head(&home.session), head(&home.owner));
    let help = near.unwrap_or_else(|| "`tapster artifact list --sessions` names those there are".into());
    Err(EarlyExit::refused(Code::NameUnknown, message, help))
}

/// The first whole number of a JSON text that has more than 64 bits, and so would not be kept as it is written.
fn too_long_number(json: &str) -> Option<&str> {
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = json.as_bytes().get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'-' | b'0'..=b'9' if !quoted => {
                let rest = json.get(at..).unwrap_or_default();
                let number = rest.split(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).next().unwrap_or_default();
                let whole = number.bytes().skip(1).all(|byte| byte.is_ascii_digit());
                if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some(number);
                }
                at += number.len().saturating_sub(1);
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// An artifact that is not there.
fn missing_artifact(home: &Home, tag: &str, tags: impl Iterator<Item = String>) -> EarlyExit {
    let tags: Vec<String> = tags.collect();
    let near = crate::diag::suggest::help(tag, tags.iter().map(String::as_str));
    let message = format!("session `{}` has no artifact `{}`", head(&home.session), head(tag));
    let help = near.unwrap_or_else(|| "`tapster artifact list` names those there are; `--session` names another session".into());
    EarlyExit::refused(Code::NameUnknown, message, help)
}

fn head(text: &str) -> String {
    crate::layout::head(text, 60)
}

/// The name of a pack, for messages.
fn name_of(pack: &Pack) -> &str {
    &pack.name
}

/// What an exported file says that it is.
const FORMAT: &str = "tapster_session";
/// The version of the form of such files.
const VERSION: u32 = 1;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact export --session tavern > tavern.json

The log is not part of it.")]
struct ArtifactExportArgs {
    #[command(flatten)]
    place: SessionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact import tavern.json --session copy
  tapster artifact export --session a --store old.db | tapster artifact import - --session a --store postgres://db/tapster

A session that exists is not changed, unless it only has a log.")]
struct ArtifactImportArgs {
    /// The exported session; `-` is standard input.
    file: PathBuf,
    #[command(flatten)]
    place: SessionArgs,
}

/// An exported file.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedFile {
    format: String,
    version: u32,
    artifacts: Vec<(String, Vec<ArtifactVersion>)>,
    archive: Vec<ArchivedVersion>,
    state: Option<SessionState>,
    at: Moment,
    turns: i64,
}

impl ArtifactExportArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        require_session(&store, &home)?;
        let SessionDump { artifacts, archive, state, at, turns } = wait(store.dump(&home)).map_err(store_failure)?.unwrap_or_default();
        show.json(&json!(ExportedFile { format: FORMAT.to_owned(), version: VERSION, artifacts, archive, state, at, turns }));
        Ok(RunExit::Done)
    }
}

impl ArtifactImportArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let bytes = read_values(&self.file, show)?;
        let name = path_text(&self.file);
        let wrong = |why: String| {
            let message = format!("`{name}` is not an exported session: {why}");
            EarlyExit::refused(Code::ImportFormat, message, "`tapster artifact export` writes such files")
        };
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not valid UTF-8".to_owned()))?;
        let file: ExportedFile = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if file.format != FORMAT || file.version != VERSION {
            return Err(wrong(format!("its format is `{}` of version {}", head(&file.format), file.version)));
        }
        if let Some(number) = too_long_number(&text) {
            return Err(wrong(format!("the number `{}` has more than 64 bits", head(number))));
        }
        let ExportedFile { artifacts, archive, state, at, turns, .. } = file;
        let (store, home) = (self.place.open(show)?, self.place.home());
        let count = artifacts.len();
        if !wait(store.restore(&home, SessionDump { artifacts, archive, state, at, turns })).map_err(store_failure)? {
            let message =
                format!("the store has a session `{}` of `{}` already, which is not changed", head(&home.session), head(&home.owner));
            return Err(EarlyExit::refused(Code::StoreTaken, message, "name another one with `--session`"));
        }
        show.answer(&json!({ "session": home.session, "artifacts": count }), || {
            format!("imported {count} artifacts into session `{}`\n", head(&home.session))
        });
        Ok(RunExit::Done)
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact forget --session tavern --yes

Artifacts with all their versions, the archive, the state and the log are removed for good. `tapster artifact export`
keeps a copy of all but the log.")]
struct ArtifactForgetArgs {
    /// Remove it: without this, nothing is removed.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: SessionArgs,
}

impl ArtifactForgetArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let info = require_session(&store, &home)?;
        let what = format!(
            "session `{}` of `{}` with {} artifacts, {} turns, and its log",
            head(&home.session),
            head(&home.owner),
            info.artifacts,
            info.turns
        );
        if !self.yes {
            let message = format!("this would remove {what} for good");
            let help = "repeat it with `--yes`; `tapster artifact export` keeps a copy";
            return Err(EarlyExit::refused(Code::StoreConfirm, message, help));
        }
        let removed = wait(store.forget(&home)).map_err(store_failure)?;
        if !removed {
            // somebody else was faster
            require_session(&store, &home)?;
        }
        show.answer(&json!({ "owner": home.owner, "session": home.session, "artifacts": info.artifacts, "turns": info.turns }), || {
            format!("removed {what}\n")
        });
        Ok(RunExit::Done)
    }
}

/// The most rows of a listing, unless `--limit` says otherwise.
const LIMIT: u32 = 1000;
/// The most characters of a value in a table.
const WIDTH: usize = 60;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact list --session tavern
  tapster artifact list --sessions --format json")]
struct ArtifactListArgs {
    /// List the sessions of the owner instead.
    #[arg(long)]
    sessions: bool,
    #[command(flatten)]
    place: SessionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact show world
  tapster artifact show world --version 3
  tapster artifact show --ui --pack my-pack --session tavern")]
#[command(mut_arg("now", |arg| arg.requires("ui")), mut_arg("turn", |arg| arg.requires("ui")), mut_arg("pack", |arg| arg.requires("ui")))]
struct ArtifactShowArgs {
    /// The tag of the artifact.
    #[arg(required_unless_present = "ui")]
    tag: Option<String>,
    /// An earlier version that is still kept.
    #[arg(long, value_name = "N", requires = "tag")]
    version: Option<i64>,
    /// What the pack shows: panels, feeds, overlays and items of the chat, as JSON.
    #[arg(long, requires = "pack", conflicts_with = "tag")]
    ui: bool,
    #[command(flatten)]
    declared: DeclarationArgs,
    #[command(flatten)]
    time: TimeArgs,
    #[command(flatten)]
    place: SessionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact history world
  tapster artifact history world --archived --limit 20")]
struct ArtifactHistoryArgs {
    /// The tag of the artifact.
    tag: String,
    /// The archived versions instead of the stored ones.
    #[arg(long)]
    archived: bool,
    /// Only what comes behind this version; of archived versions, behind so many of them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: i64,
    /// At most so many versions.
    #[arg(long, value_name = "N", default_value_t = LIMIT)]
    limit: u32,
    #[command(flatten)]
    place: SessionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact diff world              the latest version against the one before it
  tapster artifact diff world 3 5")]
struct ArtifactDiffArgs {
    /// The tag of the artifact.
    tag: String,
    /// The earlier version.
    from: Option<i64>,
    /// The later version [default: the latest].
    to: Option<i64>,
    #[command(flatten)]
    place: SessionArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact log --session tavern --format json")]
struct ArtifactLogArgs {
    /// Only what comes behind the record of this number.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: i64,
    /// At most so many records.
    #[arg(long, value_name = "N", default_value_t = LIMIT)]
    limit: u32,
    #[command(flatten)]
    place: SessionArgs,
}

/// All artifacts of a session without their history.
fn current_artifacts(store: &SqlStore, home: &Home) -> Result<Vec<Artifact>> {
    wait(store.view(home, Moment::default(), &[], 0)).map_err(store_failure)
}

impl ArtifactListArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        if self.sessions {
            let page = ListPage { after: 0, limit: LIMIT };
            let all = wait(store.sessions(Some(&home.owner), page)).map_err(store_failure)?;
            if show.is_json() {
                show.json(&json!(all));
            } else {
                let row =
                    |s: &crate::store::SessionInfo| vec![head(&s.home.session), format!("{} artifacts", s.artifacts), last_written(s.at)];
                show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
            }
            return Ok(RunExit::Done);
        }
        require_session(&store, &home)?;
        let all = current_artifacts(&store, &home)?;
        if show.is_json() {
            show.json(&all.iter().map(|a| json!({ "tag": a.tag, "version": a.version, "value": a.value })).collect::<Vec<_>>());
        } else {
            let row = |a: &Artifact| vec![head(&a.tag), format!("version {}", a.version), value_line(&a.value)];
            show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
        }
        Ok(RunExit::Done)
    }
}

impl ArtifactShowArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let Some(tag) = &self.tag else {
            let rules = self.declared.needed(show)?;
            let last = require_session(&store, &home)?.at;
            let session = Session::new(&*store, rules, home);
            let shown = wait(session.projections(self.time.moment(Some(last))?)).map_err(store_failure)?;
            show.json(&json!(shown));
            return Ok(RunExit::Done);
        };
        let value = match self.version {
            Some(version) => stored_version(&store, &home, tag, version)?.value,
            None => latest_version(&store, &home, tag)?.value,
        };
        match value {
            Json::String(text) if !show.is_json() => show.result(&format!("{text}\n")),
            value => show.json(&value),
        }
        Ok(RunExit::Done)
    }
}

impl ArtifactHistoryArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let page = ListPage { after: self.after, limit: self.limit };
        let (rows, json): (Vec<_>, _) = if self.archived {
            let all = wait(store.archive(&home, Some(&self.tag), page)).map_err(store_failure)?;
            let row = |a: &ArchivedVersion| {
                let reason = format!("archived for {}", a.reason.word());
                vec![format!("version {}", a.version.version), reason, moment_text(a.archived), value_line(&a.version.value)]
            };
            (all.iter().map(row).collect(), json!(all))
        } else {
            let all = wait(store.versions(&home, &self.tag, page)).map_err(store_failure)?;
            let row = |v: &ArtifactVersion| {
                let base = v.based_on.map_or_else(|| "the first".to_owned(), |base| format!("from {base}"));
                vec![format!("version {}", v.version), base, moment_text(v.at), value_line(&v.value)]
            };
            (all.iter().map(row).collect(), json!(all))
        };
        if rows.is_empty() {
            latest_version(&store, &home, &self.tag)?;
        }
        if show.is_json() {
            show.json(&json);
        } else {
            show.result(&table(&rows));
        }
        Ok(RunExit::Done)
    }
}

impl ArtifactDiffArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let newest = latest_version(&store, &home, &self.tag)?;
        let (to, after) = match self.to {
            Some(version) => (version, stored_version(&store, &home, &self.tag, version)?.value),
            None => (newest.version, newest.value),
        };
        let from = self.from.unwrap_or(to - 1);
        let before = if from == 0 { None } else { Some(stored_version(&store, &home, &self.tag, from)?.value) };
        let texts = after.is_string() && before.as_ref().is_none_or(Json::is_string);
        let changes = diff(if texts { ContentType::Text } else { ContentType::Json }, before.as_ref(), &after);
        show.json(&json!({ "tag": self.tag, "from": from, "to": to, "changes": changes, "before": before, "after": after }));
        Ok(RunExit::Done)
    }
}

impl ArtifactLogArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        require_session(&store, &home)?;
        let all = wait(store.log(&home, ListPage { after: self.after, limit: self.limit })).map_err(store_failure)?;
        if show.is_json() {
            show.json(&json!(all));
        } else {
            let row = |r: &crate::store::LogRecord| vec![r.seq.to_string(), moment_text(r.at), head(&r.record.to_string())];
            show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
        }
        Ok(RunExit::Done)
    }
}

/// An artifact as it is now, without its history.
fn latest_version(store: &SqlStore, home: &Home, tag: &str) -> Result<Artifact> {
    match wait(store.artifact(home, Moment::default(), tag, VersionWindow::LATEST, 0)).map_err(store_failure)? {
        Some(artifact) => Ok(artifact),
        None => {
            require_session(store, home)?;
            Err(missing_artifact(home, tag, current_artifacts(store, home)?.into_iter().map(|a| a.tag)))
        }
    }
}

/// A stored version.
fn stored_version(store: &SqlStore, home: &Home, tag: &str, version: i64) -> Result<ArtifactVersion> {
    let page = ListPage { after: version.saturating_sub(1), limit: 1 };
    let found = wait(store.versions(home, tag, page)).map_err(store_failure)?.into_iter().next().filter(|v| v.version == version);
    if let Some(found) = found {
        return Ok(found);
    }
    latest_version(store, home, tag)?;
    let message = format!("version {version} of artifact `{}` is not stored", head(tag));
    let help = "`tapster artifact history` lists the stored versions, and with `--archived` those that were archived";
    Err(EarlyExit::refused(Code::NameUnknown, message, help))
}

/// A value on one line.
fn value_line(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    crate::layout::head(&text, WIDTH)
}

/// When a session was last written, as people read it.
fn last_written(at: Moment) -> String {
    if at == Moment::default() { "never written".to_owned() } else { moment_text(at) }
}

/// A moment as people read it.
fn moment_text(at: Moment) -> String {
    let time = jiff::Timestamp::from_millisecond(at.now).map_or_else(|_| at.now.to_string(), |time| time.to_string());
    format!("{time}, turn {}", at.turn)
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact put mood --pack my-pack --writer me --based-on none --value calm
  tapster artifact put world --pack my-pack --writer keeper --based-on 4 --file world.json
  echo '{\"hour\": 22}' | tapster artifact put world --pack my-pack --writer keeper --based-on 5 --file -")]
struct ArtifactPutArgs {
    /// The tag of the artifact.
    tag: String,
    /// The value. For an artifact of JSON it must be JSON; for others it is the text itself.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, required_unless_present = "file")]
    value: Option<String>,
    /// The file that holds the value; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    file: Option<PathBuf>,
    /// The writer that the artifact belongs to [default: the one that its row names].
    #[arg(long, value_name = "NAME")]
    writer: Option<String>,
    /// The version that the value was computed from, or `none` for the first one.
    #[arg(long, value_name = "N|none", value_parser = parse_base_version)]
    based_on: BaseVersion,
    #[command(flatten)]
    declared: DeclarationArgs,
    #[command(flatten)]
    time: TimeArgs,
    #[command(flatten)]
    place: SessionArgs,
}

/// A base version.
#[derive(Debug, Clone, Copy)]
struct BaseVersion(Option<i64>);

fn parse_base_version(text: &str) -> Result<BaseVersion, String> {
    if text == "none" {
        return Ok(BaseVersion(None));
    }
    text.parse().map(|n| BaseVersion(Some(n))).map_err(|_| "write the number of a version, or `none`".to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact prune --pack my-pack --session tavern")]
struct ArtifactPruneArgs {
    #[command(flatten)]
    declared: DeclarationArgs,
    #[command(flatten)]
    time: TimeArgs,
    #[command(flatten)]
    place: SessionArgs,
}

impl ArtifactPutArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let rules = self.declared.needed(show)?;
        let writer = self.writer(&rules)?;
        let text = self.text(show)?;
        let value = self.parsed(&rules, text)?;
        let (store, home) = (self.place.open(show)?, self.place.home());
        let last = wait(store.info(&home)).map_err(store_failure)?.map(|info| info.at);
        let at = self.time.moment(last)?;
        let session = Session::new(&*store, rules.clone(), home);
        let version =
            wait(session.write(&writer, &self.tag, self.based_on.0, value, at)).map_err(|error| session_failure(error, &rules))?;
        show.answer(&json!({ "tag": self.tag, "version": version }), || format!("wrote version {version} of `{}`\n", head(&self.tag)));
        Ok(RunExit::Done)
    }

    /// The named writer, or else the one of the row.
    fn writer(&self, rules: &Ruleset) -> Result<String> {
        if let Some(writer) = &self.writer {
            return Ok(writer.clone());
        }
        let pack = name_of(rules.pack());
        let Some(row) = rules.artifacts().persisted(&self.tag) else {
            let tags: Vec<String> = rules.artifacts().windows().into_iter().map(|(tag, _)| tag).collect();
            let near = crate::diag::suggest::help(&self.tag, tags.iter().map(String::as_str));
            let help = near.unwrap_or_else(|| "declare it in the pack: a row `[[artifact]]` with this tag".into());
            let message = format!("pack `{pack}` has no artifact `{}` that is kept", head(&self.tag));
            return Err(EarlyExit::refused(Code::ArtifactRefused, message, help));
        };
        row.writer.as_deref().map(str::to_owned).ok_or_else(|| {
            let message = format!("artifact `{}` of pack `{pack}` names no writer", head(&self.tag));
            EarlyExit::refused(Code::ArtifactRefused, message, "name one with `--writer`")
        })
    }

    fn text(&self, show: &mut Console<'_>) -> Result<String> {
        let bytes = match (&self.file, &self.value) {
            (Some(file), _) => read_bytes(file, show)?,
            (None, Some(value)) => value.clone().into_bytes(),
            (None, None) => Vec::new(),
        };
        if bytes.len() > MAX_VALUE {
            let message = format!("the value has {} bytes, and an artifact may have {MAX_VALUE}", bytes.len());
            return Err(EarlyExit::refused(Code::FileTooLarge, message, "keep it elsewhere, and store where it is"));
        }
        let name = self.file.as_deref().map_or_else(|| "the value".to_owned(), |file| format!("`{}`", path_text(file)));
        String::from_utf8(bytes)
            .map_err(|_| EarlyExit::could_not(Code::FileEncoding, format!("{name} is not valid UTF-8"), "save it as UTF-8"))
    }

    /// The value as the declared type wants it; of an artifact that is not declared, the text.
    fn parsed(&self, rules: &Ruleset, text: String) -> Result<Json> {
        if rules.artifacts().persisted(&self.tag).is_none_or(|a| a.content_type != ContentType::Json) {
            return Ok(Json::String(text));
        }
        let value = serde_json::from_str(&text).map_err(|error| {
            let message =
                format!("artifact `{}` of pack `{}` is JSON, and the value is not: {error}", head(&self.tag), name_of(rules.pack()));
            EarlyExit::refused(Code::SyntaxJson, message, "a text is JSON between quotation marks: '\"calm\"'")
        })?;
        too_long_number(&text).map_or(Ok(value), |number| {
            let message = format!("the number `{}` has more than 64 bits, and would be changed", head(number));
            Err(EarlyExit::refused(Code::StoreTooLarge, message, "write it as a text, between quotation marks"))
        })
    }
}

/// A write that was refused: 1. A store that cannot answer: 2.
pub(crate) fn session_failure(error: SessionError, rules: &Ruleset) -> EarlyExit {
    if let SessionError::Build(error) = &error {
        return EarlyExit::build(error, rules);
    }
    let exit = if matches!(error, SessionError::Store(_)) { RunExit::CouldNot } else { RunExit::No };
    EarlyExit::report(exit, error.diagnostic(rules).into(), rules.sources().clone())
}

impl ArtifactPruneArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let rules = self.declared.needed(show)?;
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let last = require_session(&store, &home)?.at;
        let session = Session::new(&*store, rules, home);
        let pruned = wait(session.prune(self.time.moment(Some(last))?)).map_err(store_failure)?;
        if show.is_json() {
            show.json(&json!(pruned));
        } else {
            let count: usize = pruned.iter().map(|p| p.versions.len()).sum();
            show.result(&format!("archived {count} versions\n"));
        }
        Ok(RunExit::Done)
    }
}
