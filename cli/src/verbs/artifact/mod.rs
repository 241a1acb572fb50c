//! `tapster artifact`: the artifacts of a session, as they are stored and as a pack shows them.

mod file;
mod forget;
mod read;
mod write;

pub(crate) use write::stop;

use clap::{Args, Subcommand};

use crate::diag::{Code, Diagnostic};
use crate::model::Pack;
use crate::pack::{Overlay, Ruleset, Start};
use crate::store::{Home, ListPage, SessionInfo, SessionStore, SqlStore, StoreRefusal};

use crate::inputs::library;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::waiting::wait;

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
    List(read::ArtifactListArgs),
    /// Print the value of an artifact, or what the pack shows of all of them.
    Show(read::ArtifactShowArgs),
    /// List the versions of an artifact, the archived ones too if wanted.
    History(read::ArtifactHistoryArgs),
    /// Compare two versions of an artifact.
    Diff(read::ArtifactDiffArgs),
    /// Print the log of a session: what was read, written, refused and archived.
    Log(read::ArtifactLogArgs),
    /// Write a new version.
    Put(write::ArtifactPutArgs),
    /// Archive the versions that the pack does not keep.
    Prune(write::ArtifactPruneArgs),
    /// Print a session as JSON, with all versions and its state.
    Export(file::ArtifactExportArgs),
    /// Put an exported session back, with the same version numbers.
    Import(file::ArtifactImportArgs),
    /// Remove a session with everything in it.
    Forget(forget::ArtifactForgetArgs),
}

impl ArtifactArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
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
    fn open(&self, show: &mut OutputStreams<'_, '_>) -> Result<Option<Ruleset>, EarlyExit> {
        let overlays: Vec<Overlay> = self.overlay.iter().cloned().map(Overlay::Path).collect();
        self.pack.as_deref().map(|pack| library::open(&Start::typed(pack), &overlays, show)).transpose()
    }

    /// The pack, which must be named.
    fn needed(&self, show: &mut OutputStreams<'_, '_>) -> Result<Ruleset, EarlyExit> {
        self.open(show)?.ok_or_else(|| {
            let message = "this needs the pack that declares the artifacts";
            EarlyExit::could_not(Code::PackMissing, message, "name it with `--pack`")
        })
    }
}

/// A store that could not answer.
fn refused(refused: StoreRefusal) -> EarlyExit {
    EarlyExit::new(RunExit::CouldNot, *refused)
}

/// The most sessions among which a similar name is looked for.
const MANY: ListPage = ListPage { after: 0, limit: 1000 };

/// What is known of a session, which must exist.
fn known(store: &SqlStore, home: &Home) -> Result<SessionInfo, EarlyExit> {
    if let Some(info) = wait(store.info(home)).map_err(refused)? {
        return Ok(info);
    }
    let all = wait(store.sessions(Some(&home.owner), MANY)).map_err(refused)?;
    let near = crate::diag::suggest::help(&home.session, all.iter().map(|info| info.home.session.as_str()));
    let message = format!("the store has no session `{}` of `{}`", head(&home.session), head(&home.owner));
    let help = near.unwrap_or_else(|| "`tapster artifact list --sessions` names those there are".into());
    Err(EarlyExit::new(RunExit::No, Diagnostic::error(Code::NameUnknown, message).help(help)))
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
fn missing(home: &Home, tag: &str, tags: impl Iterator<Item = String>) -> EarlyExit {
    let tags: Vec<String> = tags.collect();
    let near = crate::diag::suggest::help(tag, tags.iter().map(String::as_str));
    let message = format!("session `{}` has no artifact `{}`", head(&home.session), head(tag));
    let help = near.unwrap_or_else(|| "`tapster artifact list` names those there are; `--session` names another session".into());
    EarlyExit::new(RunExit::No, Diagnostic::error(Code::NameUnknown, message).help(help))
}

fn head(text: &str) -> String {
    crate::layout::head(text, 60)
}

/// The name of a pack, for messages.
fn name_of(pack: &Pack) -> &str {
    &pack.name
}
