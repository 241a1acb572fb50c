//! The verbs that read: list, show, history, diff, log.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::artifact::{ContentType, diff};
use crate::diag::Code;
use crate::session::Session;
use crate::store::{ArchivedVersion, Artifact, ArtifactVersion, Home, ListPage, Moment, SessionStore, SqlStore, VersionWindow};

use crate::inputs::session::{SessionArgs, TimeArgs};
use crate::layout::table;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::waiting::wait;

use super::{DeclarationArgs, head, known, missing, refused};

/// The most rows of a listing, unless `--limit` says otherwise.
const LIMIT: u32 = 1000;
/// The most characters of a value in a table.
const WIDTH: usize = 60;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact list --session tavern
  tapster artifact list --sessions --format json")]
pub(super) struct ArtifactListArgs {
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
pub(super) struct ArtifactShowArgs {
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
pub(super) struct ArtifactHistoryArgs {
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
pub(super) struct ArtifactDiffArgs {
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
pub(super) struct ArtifactLogArgs {
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
pub(super) fn heads(store: &SqlStore, home: &Home) -> Result<Vec<Artifact>, EarlyExit> {
    wait(store.view(home, Moment::default(), &[], 0)).map_err(refused)
}

impl ArtifactListArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        if self.sessions {
            let page = ListPage { after: 0, limit: LIMIT };
            let all = wait(store.sessions(Some(&home.owner), page)).map_err(refused)?;
            if show.is_json() {
                show.json(&json!(all));
            } else {
                let row = |s: &crate::store::SessionInfo| vec![head(&s.home.session), format!("{} artifacts", s.artifacts), written(s.at)];
                show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
            }
            return Ok(RunExit::Done);
        }
        known(&store, &home)?;
        let all = heads(&store, &home)?;
        if show.is_json() {
            show.json(&all.iter().map(|a| json!({ "tag": a.tag, "version": a.version, "value": a.value })).collect::<Vec<_>>());
        } else {
            let row = |a: &Artifact| vec![head(&a.tag), format!("version {}", a.version), short(&a.value)];
            show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
        }
        Ok(RunExit::Done)
    }
}

impl ArtifactShowArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let Some(tag) = &self.tag else {
            let rules = self.declared.needed(show)?;
            let last = known(&store, &home)?.at;
            let session = Session::new(&*store, rules, home);
            let shown = wait(session.projections(self.time.moment(Some(last))?)).map_err(refused)?;
            show.json(&json!(shown));
            return Ok(RunExit::Done);
        };
        let value = match self.version {
            Some(version) => one(&store, &home, tag, version)?.value,
            None => latest(&store, &home, tag)?.value,
        };
        match value {
            Json::String(text) if !show.is_json() => show.result(&format!("{text}\n")),
            value => show.json(&value),
        }
        Ok(RunExit::Done)
    }
}

impl ArtifactHistoryArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let page = ListPage { after: self.after, limit: self.limit };
        if self.archived {
            let all = wait(store.archive(&home, Some(&self.tag), page)).map_err(refused)?;
            if all.is_empty() {
                latest(&store, &home, &self.tag)?;
            }
            if show.is_json() {
                show.json(&json!(all));
            } else {
                let row = |a: &ArchivedVersion| {
                    vec![
                        format!("version {}", a.version.version),
                        format!("archived for {}", a.reason.word()),
                        time(a.archived),
                        short(&a.version.value),
                    ]
                };
                show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
            }
            return Ok(RunExit::Done);
        }
        let all = wait(store.versions(&home, &self.tag, page)).map_err(refused)?;
        if all.is_empty() {
            latest(&store, &home, &self.tag)?;
        }
        if show.is_json() {
            show.json(&json!(all));
        } else {
            let row = |v: &ArtifactVersion| {
                let base = v.based_on.map_or_else(|| "the first".to_owned(), |base| format!("from {base}"));
                vec![format!("version {}", v.version), base, time(v.at), short(&v.value)]
            };
            show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
        }
        Ok(RunExit::Done)
    }
}

impl ArtifactDiffArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let newest = latest(&store, &home, &self.tag)?;
        let (to, after) = match self.to {
            Some(version) => (version, one(&store, &home, &self.tag, version)?.value),
            None => (newest.version, newest.value),
        };
        let from = self.from.unwrap_or(to - 1);
        let before = if from == 0 { None } else { Some(one(&store, &home, &self.tag, from)?.value) };
        let texts = after.is_string() && before.as_ref().is_none_or(Json::is_string);
        let changes = diff(if texts { ContentType::Text } else { ContentType::Json }, before.as_ref(), &after);
        show.json(&json!({ "tag": self.tag, "from": from, "to": to, "changes": changes, "before": before, "after": after }));
        Ok(RunExit::Done)
    }
}

impl ArtifactLogArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        known(&store, &home)?;
        let all = wait(store.log(&home, ListPage { after: self.after, limit: self.limit })).map_err(refused)?;
        if show.is_json() {
            show.json(&json!(all));
        } else {
            let row = |r: &crate::store::LogRecord| vec![r.seq.to_string(), time(r.at), head(&r.record.to_string())];
            show.result(&table(&all.iter().map(row).collect::<Vec<_>>()));
        }
        Ok(RunExit::Done)
    }
}

/// An artifact as it is now, without its history.
fn latest(store: &SqlStore, home: &Home, tag: &str) -> Result<Artifact, EarlyExit> {
    match wait(store.artifact(home, Moment::default(), tag, VersionWindow::LATEST, 0)).map_err(refused)? {
        Some(artifact) => Ok(artifact),
        None => {
            known(store, home)?;
            Err(missing(home, tag, heads(store, home)?.into_iter().map(|a| a.tag)))
        }
    }
}

/// A stored version.
fn one(store: &SqlStore, home: &Home, tag: &str, version: i64) -> Result<ArtifactVersion, EarlyExit> {
    let page = ListPage { after: version.saturating_sub(1), limit: 1 };
    let found = wait(store.versions(home, tag, page)).map_err(refused)?.into_iter().next().filter(|v| v.version == version);
    if let Some(found) = found {
        return Ok(found);
    }
    latest(store, home, tag)?;
    let message = format!("version {version} of artifact `{}` is not stored", head(tag));
    let help = "`tapster artifact history` lists the stored versions, and with `--archived` those that were archived";
    Err(EarlyExit::new(RunExit::No, crate::diag::Diagnostic::error(Code::NameUnknown, message).help(help)))
}

/// A value on one line.
fn short(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    crate::layout::head(&text, WIDTH)
}

/// When a session was last written, as people read it.
fn written(at: Moment) -> String {
    if at == Moment::default() { "never written".to_owned() } else { time(at) }
}

/// A moment as people read it.
fn time(at: Moment) -> String {
    let time = jiff::Timestamp::from_millisecond(at.now).map_or_else(|_| at.now.to_string(), |time| time.to_string());
    format!("{time}, turn {}", at.turn)
}
