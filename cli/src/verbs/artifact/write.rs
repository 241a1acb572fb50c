//! The verbs that write: put, prune.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::artifact::ContentType;
use crate::diag::{Code, Diagnostic};
use crate::pack::Ruleset;
use crate::session::{Session, SessionError};
use crate::store::{MAX_VALUE, SessionStore};

use crate::inputs::files::{bytes_of, shown};
use crate::inputs::session::{SessionArgs, TimeArgs};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::waiting::wait;

use super::{DeclarationArgs, head, known, name_of, refused, too_long_number};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster artifact put mood --pack my-pack --writer me --based-on none --value calm
  tapster artifact put world --pack my-pack --writer keeper --based-on 4 --file world.json
  echo '{\"hour\": 22}' | tapster artifact put world --pack my-pack --writer keeper --based-on 5 --file -")]
pub(super) struct ArtifactPutArgs {
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
    #[arg(long, value_name = "N|none", value_parser = base)]
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

fn base(text: &str) -> Result<BaseVersion, String> {
    if text == "none" {
        return Ok(BaseVersion(None));
    }
    text.parse().map(|n| BaseVersion(Some(n))).map_err(|_| "write the number of a version, or `none`".to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster artifact prune --pack my-pack --session tavern")]
pub(super) struct ArtifactPruneArgs {
    #[command(flatten)]
    declared: DeclarationArgs,
    #[command(flatten)]
    time: TimeArgs,
    #[command(flatten)]
    place: SessionArgs,
}

impl ArtifactPutArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let rules = self.declared.needed(show)?;
        let writer = self.writer(&rules)?;
        let text = self.text(show)?;
        let value = self.parsed(&rules, text)?;
        let (store, home) = (self.place.open(show)?, self.place.home());
        let last = wait(store.info(&home)).map_err(refused)?.map(|info| info.at);
        let at = self.time.moment(last)?;
        let session = Session::new(&*store, rules.clone(), home);
        let version = wait(session.write(&writer, &self.tag, self.based_on.0, value, at)).map_err(|error| stop(error, &rules))?;
        if show.is_json() {
            show.json(&json!({ "tag": self.tag, "version": version }));
        } else {
            show.result(&format!("wrote version {version} of `{}`\n", head(&self.tag)));
        }
        Ok(RunExit::Done)
    }

    /// The named writer, or else the one of the row.
    fn writer(&self, rules: &Ruleset) -> Result<String, EarlyExit> {
        if let Some(writer) = &self.writer {
            return Ok(writer.clone());
        }
        let pack = name_of(rules.pack());
        let Some(row) = rules.artifacts().persisted(&self.tag) else {
            let tags: Vec<String> = rules.artifacts().windows().into_iter().map(|(tag, _)| tag).collect();
            let near = crate::diag::suggest::help(&self.tag, tags.iter().map(String::as_str));
            let help = near.unwrap_or_else(|| "declare it in the pack: a row `[[artifact]]` with this tag".into());
            let message = format!("pack `{pack}` has no artifact `{}` that is kept", head(&self.tag));
            return Err(EarlyExit::new(RunExit::No, Diagnostic::error(Code::ArtifactRefused, message).help(help)));
        };
        row.writer.as_deref().map(str::to_owned).ok_or_else(|| {
            let message = format!("artifact `{}` of pack `{pack}` names no writer", head(&self.tag));
            EarlyExit::new(RunExit::No, Diagnostic::error(Code::ArtifactRefused, message).help("name one with `--writer`"))
        })
    }

    fn text(&self, show: &mut OutputStreams<'_, '_>) -> Result<String, EarlyExit> {
        let bytes = match (&self.file, &self.value) {
            (Some(file), _) => bytes_of(file, show)?,
            (None, Some(value)) => value.clone().into_bytes(),
            (None, None) => Vec::new(),
        };
        if bytes.len() > MAX_VALUE {
            let message = format!("the value has {} bytes, and an artifact may have {MAX_VALUE}", bytes.len());
            return Err(EarlyExit::new(
                RunExit::No,
                Diagnostic::error(Code::FileTooLarge, message).help("keep it elsewhere, and store where it is"),
            ));
        }
        let name = self.file.as_deref().map_or_else(|| "the value".to_owned(), |file| format!("`{}`", shown(file)));
        String::from_utf8(bytes)
            .map_err(|_| EarlyExit::could_not(Code::FileEncoding, format!("{name} is not valid UTF-8"), "save it as UTF-8"))
    }

    /// The value as the declared type wants it; of an artifact that is not declared, the text.
    fn parsed(&self, rules: &Ruleset, text: String) -> Result<Json, EarlyExit> {
        if rules.artifacts().persisted(&self.tag).is_none_or(|a| a.content_type != ContentType::Json) {
            return Ok(Json::String(text));
        }
        let value = serde_json::from_str(&text).map_err(|error| {
            let message =
                format!("artifact `{}` of pack `{}` is JSON, and the value is not: {error}", head(&self.tag), name_of(rules.pack()));
            EarlyExit::new(
                RunExit::No,
                Diagnostic::error(Code::SyntaxJson, message).help("a text is JSON between quotation marks: '\"calm\"'"),
            )
        })?;
        too_long_number(&text).map_or(Ok(value), |number| {
            let message = format!("the number `{}` has more than 64 bits, and would be changed", head(number));
            Err(EarlyExit::new(
                RunExit::No,
                Diagnostic::error(Code::StoreTooLarge, message).help("write it as a text, between quotation marks"),
            ))
        })
    }
}

/// A write that was refused: 1. A store that cannot answer: 2.
pub(crate) fn stop(error: SessionError, rules: &Ruleset) -> EarlyExit {
    if let SessionError::Build(error) = &error {
        return EarlyExit::build(error, rules);
    }
    let exit = if matches!(error, SessionError::Store(_)) { RunExit::CouldNot } else { RunExit::No };
    EarlyExit::report(exit, error.diagnostic(rules).into(), rules.sources().clone())
}

impl ArtifactPruneArgs {
    pub(super) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let rules = self.declared.needed(show)?;
        let (store, home) = (self.place.open_existing(show)?, self.place.home());
        let last = known(&store, &home)?.at;
        let session = Session::new(&*store, rules, home);
        let pruned = wait(session.prune(self.time.moment(Some(last))?)).map_err(refused)?;
        if show.is_json() {
            show.json(&json!(pruned));
        } else {
            let count: usize = pruned.iter().map(|p| p.versions.len()).sum();
            show.result(&format!("archived {count} versions\n"));
        }
        Ok(RunExit::Done)
    }
}
