//! `tapster new`: the first files of a pack, an overlay, a rule file, a template, a rule test or a hook. Nothing is
//! overwritten, and what is written passes `tapster check`.

mod checks;
mod texts;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use semver::Version;
use serde_json::json;

use crate::diag::{Code, Report};
use crate::pack::PackLibrary;
use crate::pack::files::is_pack;
use crate::share::{ManifestHeader, PackFile};

use crate::inputs::files::{shown, write_file};
use crate::inputs::library::{DEFAULT_PACK, shelf};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::test::count_cases;

use texts::NewFile;

/// Write the first files of something new. Nothing is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster new pack my-pack --extends base          a folder with a manifest, a slot and a rule test
  tapster new overlay tweak --extends base         one file that is laid over a pack
  tapster new rule tone --to my-pack               a file with a slot
  tapster new case tone --to my-pack               a rule test of my-pack
  tapster new hook shorten --to my-pack            a hook and its script
  tapster new template greeting                    a template, for a task of a pack

What is written passes `tapster check`, and the rule tests pass `tapster test`. `tapster schema --all DIR` writes the JSON
Schemas for an editor.")]
pub(crate) struct NewArgs {
    /// What is made.
    #[arg(value_enum)]
    what: ScaffoldKind,
    /// Its name: letters, digits, `-`, `_` and `.`; of a pack small letters, digits, `-` and `_`.
    name: String,
    /// The pack that it extends; of a rule test, the pack that it runs on [default: base; of a rule test in the folder of
    /// a pack, that pack].
    #[arg(long, value_name = "PACK")]
    extends: Option<String>,
    /// The task of a template: it gets a message or a slot for each of the task's sources [default: turn_generation].
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// The folder in which it is made [default: this one]; a rule and a hook need the folder of a pack.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// The task of a template if none is named.
const TASK: &str = "turn_generation";
/// The first rule test of a pack.
const FIRST: &str = "cases/first.toml";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScaffoldKind {
    /// A folder with a manifest, a slot and a rule test.
    Pack,
    /// A file that is laid over a pack.
    Overlay,
    /// A file of rules in a pack.
    Rule,
    /// A template for a task.
    Template,
    /// A rule test.
    Case,
    /// A hook with its script.
    Hook,
}

impl NewArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let to = self.to.clone().unwrap_or_default();
        self.fits(&to, show)?;
        let files = self.files(&to, show)?;
        if let Some((taken, _)) = files.iter().find(|(path, _)| to.join(path).symlink_metadata().is_ok()) {
            let message = format!("`{}` exists already", shown(&to.join(taken)));
            return Err(EarlyExit::could_not(Code::FileMissing, message, "choose another name, or another folder with `--to`"));
        }
        if self.what == ScaffoldKind::Pack {
            self.loads(&files, show)?;
        }
        let mut made = Vec::new();
        for (path, text) in &files {
            made.push(write(&to.join(path), text)?);
        }
        if self.what == ScaffoldKind::Pack {
            self.try_first_case(&to, show)?;
        }
        if show.is_json() {
            show.json(&json!({ "made": made }));
        } else {
            made.iter().for_each(|path| show.result(&format!("made {path}\n")));
        }
        Ok(RunExit::Done)
    }

    /// The task of a template.
    fn task(&self) -> &str {
        self.task.as_deref().unwrap_or(TASK)
    }

    fn files(&self, to: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Vec<NewFile>, EarlyExit> {
        let (name, extends) = (self.name.as_str(), self.extends.as_deref());
        let file = |path: String, text: String| (PathBuf::from(path), text);
        let word = texts::word(name);
        Ok(match self.what {
            ScaffoldKind::Pack => {
                let base = extends.unwrap_or(DEFAULT_PACK);
                vec![
                    file(format!("{name}/pack.toml"), texts::manifest(name, base, release_of(base, show).as_ref())),
                    file(format!("{name}/slots.toml"), texts::slots(&format!("{word}_style"))),
                    file(format!("{name}/{FIRST}"), texts::case_of_slot(&format!("{word}_style"))),
                ]
            }
            ScaffoldKind::Overlay => vec![file(format!("{name}.toml"), texts::overlay(name, extends.unwrap_or(DEFAULT_PACK), &word))],
            ScaffoldKind::Rule => vec![file(format!("{name}.toml"), texts::slots(&word))],
            ScaffoldKind::Case => {
                let pack = if is_pack(to) { extends } else { Some(extends.unwrap_or(DEFAULT_PACK)) };
                vec![file(format!("cases/{name}.toml"), texts::case(pack))]
            }
            ScaffoldKind::Hook => {
                vec![file(format!("{name}.toml"), texts::hook(&word)), file(format!("scripts/{word}.rhai"), texts::script(&word))]
            }
            ScaffoldKind::Template => vec![file(format!("{name}.json"), texts::template(name, self.task(), &self.sources(to, show)?))],
        })
    }

    /// Runs the first rule test of a new pack. Not every pack shows its slots in every build; where the test of the slot
    /// does not pass, a test that needs no build takes its place.
    fn try_first_case(&self, to: &Path, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let path = to.join(&self.name).join(FIRST);
        if count_cases(std::slice::from_ref(&path), show) != (1, 0) {
            write_file(&path, texts::case(None))?;
        }
        Ok(())
    }
}

/// The release of a pack that can be found.
fn release_of(name: &str, show: &OutputStreams<'_, '_>) -> Option<Version> {
    let files = shelf(show).find(name, &mut Report::default())?.files;
    let members: Vec<PackFile> = files.into_iter().map(|file| (file.path_in_pack, file.bytes)).collect();
    ManifestHeader::of(name, &members).ok().map(|manifest| manifest.release)
}

/// Writes a file that does not exist yet, with the folders above it.
fn write(path: &Path, text: &str) -> Result<String, EarlyExit> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::File::create_new(path));
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", shown(path));
        EarlyExit::could_not(Code::FileMissing, message, "check the path and its permissions")
    })?;
    Ok(shown(path))
}
