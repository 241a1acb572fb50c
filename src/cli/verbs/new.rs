//! `tapster new`: the first files of a pack, an overlay, a rule file, a template, a rule test or a hook. Nothing is
//! overwritten, and what is written passes `tapster check`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::diag::Code;
use crate::pack::Schemas;
use crate::pack::library::is_name;

use crate::cli::inputs::files::shown;
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};

/// Write the first files of something new, with the schema for editors beside them. Nothing is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster new pack my-pack --extends base          a folder with a manifest, a slot and a rule test
  tapster new overlay tweak --extends base         one file that is laid over a pack
  tapster new rule tone --to my-pack               a file with a slot
  tapster new case tone --to my-pack               a rule test in my-pack/cases
  tapster new hook shorten --to my-pack            a hook and its script
  tapster new template greeting                    a template, for a task of a pack")]
pub(in crate::cli) struct New {
    /// What is made.
    #[arg(value_enum)]
    what: Kind,
    /// Its name: letters, digits, `-`, `_` and `.`.
    name: String,
    /// The pack that it extends; of a rule test, the pack that it runs on.
    #[arg(long, value_name = "PACK", default_value = "base")]
    extends: String,
    /// The folder in which it is made [default: this one]; for a rule, test or hook the folder of its pack.
    #[arg(long, value_name = "DIR", default_value = "", hide_default_value = true)]
    to: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
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

/// A file that is written: its path below the folder, and its text.
type NewFile = (PathBuf, String);

impl New {
    pub(in crate::cli) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        for name in [&self.name, &self.extends] {
            if !is_name(name) {
                let message = format!("`{}` is not a name", crate::diag::short::word(name));
                return Err(Stop::could_not(Code::PackManifest, message, "use letters, digits, `-`, `_` and `.`; `--to` says the folder"));
            }
        }
        let files = self.files();
        if let Some((taken, _)) = files.iter().find(|(path, _)| self.to.join(path).symlink_metadata().is_ok()) {
            let message = format!("`{}` exists already", shown(&self.to.join(taken)));
            return Err(Stop::could_not(Code::FileMissing, message, "choose another name, or another folder with `--to`"));
        }
        let mut made = Vec::new();
        for (path, text) in &files {
            made.push(write(&self.to.join(path), text)?);
        }
        for (folder, kind) in self.schemas() {
            let schemas = Schemas::shipped();
            let version = schemas.newest(kind).unwrap_or(1);
            let name = format!("{kind}.v{version}.json");
            let path = self.to.join(folder).join("schemas").join(&name);
            // the schema of another file of the same kind serves this one too
            if let Some(schema) = schemas.bundled(&name).filter(|_| path.symlink_metadata().is_err()) {
                made.push(write(&path, &format!("{schema}\n"))?);
            }
        }
        if show.is_json() {
            show.json(&json!({ "made": made }));
        } else {
            made.iter().for_each(|path| show.result(&format!("made {path}\n")));
        }
        Ok(Exit::Done)
    }

    /// The folders below `--to` in which schemas are written, and the kinds.
    fn schemas(&self) -> Vec<(PathBuf, &'static str)> {
        let here = PathBuf::new();
        match self.what {
            Kind::Pack => ["pack", "slots", "case"].into_iter().map(|kind| (PathBuf::from(&self.name), kind)).collect(),
            Kind::Overlay => vec![(here, "overlay")],
            Kind::Rule => vec![(here, "slots")],
            Kind::Template => vec![(here, "template")],
            Kind::Case => vec![(here, "case")],
            Kind::Hook => vec![(here, "hooks")],
        }
    }

    fn files(&self) -> Vec<NewFile> {
        let (name, extends) = (self.name.as_str(), self.extends.as_str());
        let file = |path: String, text: String| (PathBuf::from(path), text);
        let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
        let word = if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { format!("n{word}") };
        match self.what {
            Kind::Pack => vec![
                file(
                    format!("{name}/pack.toml"),
                    format!(
                        "{}name = \"{name}\"\nrelease = \"0.1.0\"\nextends = [\"{extends}\"]\nabout = \"Says in a sentence what the pack is for.\"\n",
                        head("schemas", "pack")
                    ),
                ),
                file(format!("{name}/slots.toml"), slots("schemas", &format!("{word}_style"))),
                file(format!("{name}/cases/first.toml"), case("../schemas", name)),
            ],
            Kind::Overlay => vec![file(
                format!("{name}.toml"),
                format!(
                    "{}name = \"{name}\"\nextends = \"{extends}\"\n\n# A text of its own in the prompt; other rows change rows of the pack by their names.\n[[slot]]\nname = \"{word}_style\"\ntext = \"Use short sentences.\"\n",
                    head("schemas", "overlay")
                ),
            )],
            Kind::Rule => vec![file(format!("{name}.toml"), slots("schemas", &word))],
            Kind::Case => vec![file(format!("cases/{name}.toml"), case("../schemas", extends))],
            Kind::Hook => vec![
                file(
                    format!("{name}.toml"),
                    format!(
                        "{}[[hook]]\nname = \"{word}\"\nevent = \"before_build\"\nrun = \"{word}.rhai::{word}\"\n",
                        with_gap("schemas", "hooks")
                    ),
                ),
                file(
                    format!("scripts/{word}.rhai"),
                    format!(
                        "// Gets the items (none before a build) and the scene. Returns nothing, or what it changes:\n// `#{{ set: #{{ \"names.user\": \"Mara\" }}, warnings: [\"…\"] }}`.\nfn {word}(items, scene) {{\n}}\n"
                    ),
                ),
            ],
            Kind::Template => vec![file(
                format!("{name}.json"),
                format!(
                    "{{\n  \"id\": \"{name}\",\n  \"task\": \"turn_generation\",\n  \"name\": \"{name}\",\n  \"version\": 1,\n  \"layout\": [{{ \"kind\": \"message\", \"role\": \"system\", \"content\": \"Write the next turn.\" }}],\n  \"slots\": {{}}\n}}\n"
                ),
            )],
        }
    }
}

/// The first lines of a file: the schema for editors, the kind and its version.
fn head(schemas: &str, kind: &str) -> String {
    let version = Schemas::shipped().newest(kind).unwrap_or(1);
    format!("#:schema {schemas}/{kind}.v{version}.json\nkind = \"{kind}\"\nversion = {version}\n")
}

fn with_gap(schemas: &str, kind: &str) -> String {
    format!("{}\n", head(schemas, kind))
}

fn slots(schemas: &str, slot: &str) -> String {
    format!(
        "{}# A text of its own in the prompt. `tapster explain` shows where it stands.\n[[slot]]\nname = \"{slot}\"\ntext = \"Use short sentences.\"\n",
        with_gap(schemas, "slots")
    )
}

fn case(schemas: &str, pack: &str) -> String {
    format!(
        "{}pack = \"{pack}\"\n\n[[case]]\nname = \"empty blocks go\"\nrun = \"example\"\nlists = {{ blocks = [{{ id = \"a\", text = \"Hello.\" }}, {{ id = \"b\", text = \"\" }}] }}\nexpect = {{ lists = {{ blocks = [{{ id = \"a\", text = \"Hello.\" }}] }} }}\n\n# Rules of the test alone. `run` may name any program or pass of the pack instead.\n[[program]]\nname = \"example\"\nover = \"blocks\"\n\n[[pass]]\nname = \"example/drop\"\ndo = \"drop\"\nwhere = {{ text = {{ nonempty = false }} }}\n",
        head(schemas, "case")
    )
}

/// Writes a file that does not exist yet, with the folders above it.
fn write(path: &Path, text: &str) -> Result<String, Stop> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::File::create_new(path));
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", shown(path));
        Stop::could_not(Code::FileMissing, message, "check the path and its permissions")
    })?;
    Ok(shown(path))
}
