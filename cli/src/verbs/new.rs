//! `tapster new`: the first files of a pack, an overlay, a rule file, a template, a rule test or a hook. Nothing is
//! overwritten, and what is written passes `tapster check`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use semver::Version;
use serde_json::json;

use crate::diag::{Code, Report, short, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{path_text, write_file};
use crate::inputs::library::{beside_scene, pack_shelf};
use crate::inputs::pack_files::TOMBI_FILE;
use crate::inputs::template::pack_of;
use crate::output::Console;
use crate::pack::files::{is_pack, pack_around, parent};
use crate::pack::library::{is_name, is_own_name};
use crate::pack::{DEFAULT_PACK, PackFiles, PackLibrary, PackShelf, Ruleset, Schemas, Start};
use crate::share::{ManifestHeader, PackFile};
use crate::verbs::test::count_cases;

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
/// Settings with which Tombi accepts rule files, and says nothing that `tapster lsp` says too.
const TOMBI: &str = include_str!("tombi.toml");

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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let to = self.to.clone().unwrap_or_default();
        self.fits(&to, show)?;
        let files = self.files(&to, show)?;
        if let Some((taken, _)) = files.iter().find(|(path, _)| to.join(path).symlink_metadata().is_ok()) {
            let message = format!("`{}` exists already", path_text(&to.join(taken)));
            return Err(EarlyExit::could_not(Code::FileMissing, message, "choose another name, or another folder with `--to`"));
        }
        if self.what == ScaffoldKind::Pack {
            self.loads(&files, show)?;
        }
        let mut made = Vec::new();
        for (path, text) in &files {
            made.push(write_new_file(&to.join(path), text)?);
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

    fn files(&self, to: &Path, show: &mut Console<'_>) -> Result<Vec<NewFile>> {
        let (name, extends) = (self.name.as_str(), self.extends.as_deref());
        let file = |path: String, text: String| (PathBuf::from(path), text);
        let word = word(name);
        Ok(match self.what {
            ScaffoldKind::Pack => {
                let base = extends.unwrap_or(DEFAULT_PACK);
                vec![
                    file(format!("{name}/pack.toml"), pack_manifest(name, base, release_of(base, show).as_ref())),
                    file(format!("{name}/slots.toml"), slot_file(&format!("{word}_style"))),
                    file(format!("{name}/{FIRST}"), case_of_slot(&format!("{word}_style"))),
                    file(format!("{name}/{TOMBI_FILE}"), TOMBI.to_owned()),
                ]
            }
            ScaffoldKind::Overlay => vec![file(format!("{name}.toml"), overlay_file(name, extends.unwrap_or(DEFAULT_PACK), &word))],
            ScaffoldKind::Rule => vec![file(format!("{name}.toml"), slot_file(&word))],
            ScaffoldKind::Case => {
                let pack = if is_pack(to) { extends } else { Some(extends.unwrap_or(DEFAULT_PACK)) };
                vec![file(format!("cases/{name}.toml"), case_file(pack))]
            }
            ScaffoldKind::Hook => {
                vec![file(format!("{name}.toml"), hook_file(&word)), file(format!("scripts/{word}.rhai"), script_file(&word))]
            }
            ScaffoldKind::Template => vec![file(format!("{name}.json"), template_file(name, self.task(), &self.sources(to, show)?))],
        })
    }

    /// Runs the first rule test of a new pack. Not every pack shows its slots in every build; where the test of the slot
    /// does not pass, a test that needs no build takes its place.
    fn try_first_case(&self, to: &Path, show: &mut Console<'_>) -> Result<()> {
        let path = to.join(&self.name).join(FIRST);
        if count_cases(std::slice::from_ref(&path), show) != (1, 0) {
            write_file(&path, case_file(None))?;
        }
        Ok(())
    }
}

/// The release of a pack that can be found.
fn release_of(name: &str, show: &Console<'_>) -> Option<Version> {
    let files = pack_shelf(show).find(name, &mut Report::default())?.files;
    let members: Vec<PackFile> = files.into_iter().map(|file| (file.path_in_pack, file.bytes)).collect();
    ManifestHeader::of(name, &members).ok().map(|manifest| manifest.release)
}

/// Writes a file that does not exist yet, with the folders above it.
pub(super) fn write_new_file(path: &Path, text: &str) -> Result<String> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::File::create_new(path));
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", path_text(path));
        EarlyExit::could_not(Code::FileMissing, message, "check the path and its permissions")
    })?;
    Ok(path_text(path))
}

impl NewArgs {
    /// Refuses a name, a pack or a folder with which nothing that passes a check could be written.
    fn fits(&self, to: &Path, show: &mut Console<'_>) -> Result<()> {
        let unused = [
            ("--extends", self.extends.is_some() && matches!(self.what, ScaffoldKind::Rule | ScaffoldKind::Hook | ScaffoldKind::Template)),
            ("--task", self.task.is_some() && self.what != ScaffoldKind::Template),
        ];
        if let Some((flag, _)) = unused.iter().find(|(_, is_given)| *is_given) {
            let help = if *flag == "--task" { "only a template has a task" } else { "what belongs to a pack extends nothing of its own" };
            return Err(EarlyExit::could_not(Code::SceneField, format!("`{flag}` has no effect here"), help));
        }
        let folder = "a pack is extended by its name; packs that lie beside the new one are found, and so are installed ones";
        let names = [(Some(&self.name), "`--to` says the folder"), (self.extends.as_ref(), folder)];
        for (name, more) in names.iter().filter_map(|(name, more)| Some(((*name)?, more))) {
            if !is_name(name) {
                let help = format!("use letters, digits, `-`, `_` and `.`; {more}");
                return Err(EarlyExit::could_not(Code::PackManifest, format!("`{}` is not a name", short::word(name)), help));
            }
        }
        show.near.extend(beside_scene(to));
        if self.what == ScaffoldKind::Pack {
            self.may_be_pack()?;
        }
        if matches!(self.what, ScaffoldKind::Rule | ScaffoldKind::Hook) && enclosing_pack(to).is_none() {
            let message =
                format!("`{}` is not the folder of a pack", if to.as_os_str().is_empty() { ".".to_owned() } else { path_text(to) });
            let help = "`tapster new pack NAME` makes one; name the folder of a pack with `--to`";
            return Err(EarlyExit::could_not(Code::PackMissing, message, help));
        }
        self.extended(show)
    }

    fn may_be_pack(&self) -> Result<()> {
        if !is_own_name(&self.name) {
            let message = format!("`{}` is not the name of a pack", short::word(&self.name));
            let help = "use small letters, digits, `-` and `_`, with a letter or a digit first";
            return Err(EarlyExit::could_not(Code::PackManifest, message, help));
        }
        let extends = self.extends.as_deref().unwrap_or(DEFAULT_PACK);
        if self.name == extends {
            let message = format!("the pack `{extends}` would extend itself");
            return Err(EarlyExit::could_not(Code::CyclePack, message, "choose another name, or another pack with `--extends`"));
        }
        Ok(())
    }

    /// Refuses to extend a pack that does not exist.
    fn extended(&self, show: &Console<'_>) -> Result<()> {
        let Some(extends) = &self.extends else { return Ok(()) };
        let shelf = pack_shelf(show);
        if shelf.find(extends, &mut Report::default()).is_some() {
            return Ok(());
        }
        let help = suggest::help(extends, shelf.names().iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "`tapster packs` lists those that can be named".into());
        Err(EarlyExit::could_not(Code::PackMissing, format!("pack `{extends}` is not found"), help))
    }

    /// Refuses a new pack that would not load: for instance because a pack that it extends extends one of its name.
    fn loads(&self, files: &[NewFile], show: &Console<'_>) -> Result<()> {
        let inside = |path: &Path| path.strip_prefix(&self.name).map(|path| path.display().to_string().replace('\\', "/"));
        let files = files.iter().filter_map(|(path, text)| Some((inside(path).ok()?, text.clone().into_bytes())));
        let files = files.filter(|(path, _)| !path.starts_with('.'));
        let with = PackShelf { packs: vec![PackFiles::of(&self.name, files)], ..pack_shelf(show) };
        Ruleset::load(&Start::Name(self.name.clone()), &[], &with).map(|_| ()).map_err(EarlyExit::rejected)
    }

    /// The sources of the task of a template, and which of them are lists. The task is one of the pack that the template is
    /// written into, or else of the pack that has it.
    fn sources(&self, to: &Path, show: &mut Console<'_>) -> Result<Vec<(String, bool)>> {
        let having = pack_of(Some(self.task()), &pack_shelf(show));
        let start = match enclosing_pack(to) {
            Some(folder) => {
                show.near.extend(parent(&folder));
                Start::Folder(folder)
            }
            None => having.clone().map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))?,
        };
        let rules = Ruleset::load(&start, &[], &pack_shelf(show)).map_err(EarlyExit::rejected)?;
        let kinds = rules.tasks().kinds();
        if kinds.contains(&self.task()) {
            return Ok(crate::template::sources_of(rules.pack(), rules.revisions(), self.task()));
        }
        let help = suggest::help(self.task(), kinds.iter().copied()).unwrap_or_else(|| match (kinds.is_empty(), having) {
            (true, Ok(Start::Name(name))) => {
                format!("let the pack extend `{name}`, which has it, or write the template elsewhere with `--to`").into()
            }
            (true, _) => "it has no tasks at all; write the template elsewhere with `--to`".into(),
            (false, _) => format!("name one of its tasks with `--task`: {}", kinds.join(", ")).into(),
        });
        let message = format!("pack `{}` has no task `{}`", rules.pack().name, short::word(self.task()));
        Err(EarlyExit::could_not(Code::NameUnknown, message, help))
    }
}

/// The folder of the pack in which files of this folder lie.
fn enclosing_pack(to: &Path) -> Option<PathBuf> {
    pack_around(&to.join("new"))
}

/// A file that is written: its path below the folder, and its text.
type NewFile = (PathBuf, String);

/// A name as rules and scripts can use it: lower-case letters, digits and `_`, with a letter first.
fn word(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { format!("n{word}") }
}

/// The first lines of a file: the kind and its version.
fn file_header(kind: &str) -> String {
    format!("kind = \"{kind}\"\nversion = {}\n", Schemas::shipped().newest(kind).unwrap_or(1))
}

/// A manifest. A pack whose release is known is extended in the releases that are compatible with it.
fn pack_manifest(name: &str, extends: &str, release: Option<&Version>) -> String {
    let extends = match release.filter(|release| release.pre.is_empty()) {
        Some(release) => format!("{{ name = \"{extends}\", release = \"^{}.{}\" }}", release.major, release.minor),
        None => format!("\"{extends}\""),
    };
    format!(
        "{}name = \"{name}\"\nrelease = \"0.1.0\"\nextends = [{extends}]\n# about = \"…\": what the pack is for, in a sentence; others see it\n",
        file_header("pack")
    )
}

fn overlay_file(name: &str, extends: &str, word: &str) -> String {
    format!(
        "{}name = \"{name}\"\nextends = \"{extends}\"\n\n# A text of its own in the prompt; other rows change rows of the pack by their names.\n[[slot]]\nname = \"{word}_style\"\ntext = \"Use short sentences.\"\n",
        file_header("overlay")
    )
}

fn slot_file(slot: &str) -> String {
    format!(
        "{}\n# A text of its own in the prompt. `tapster explain` shows where it stands.\n[[slot]]\nname = \"{slot}\"\ntext = \"Use short sentences.\"\n",
        file_header("slots")
    )
}

/// A rule test that builds a prompt and looks for the text of a slot.
fn case_of_slot(slot: &str) -> String {
    format!(
        "{}\n[[case]]\nname = \"the style is in the prompt\"\nbuild = true\n[[case.expect.lists.blocks.includes]]\nslot = \"{slot}\"\ntext = \"Use short sentences.\"\n",
        file_header("case")
    )
}

/// A rule test with rules of its own, which passes over every pack.
fn case_file(pack: Option<&str>) -> String {
    let pack = pack.map(|pack| format!("pack = \"{pack}\"\n")).unwrap_or_default();
    format!(
        "{}{pack}\n[[case]]\nname = \"empty blocks go\"\nrun = \"example\"\nlists = {{ blocks = [{{ id = \"a\", text = \"Hello.\" }}, {{ id = \"b\", text = \"\" }}] }}\nexpect = {{ lists = {{ blocks = [{{ id = \"a\", text = \"Hello.\" }}] }} }}\n\n# Rules of the test alone. `run` may name any program or pass of the pack instead.\n[[program]]\nname = \"example\"\nover = \"blocks\"\n\n[[pass]]\nname = \"example/drop\"\ndo = \"drop\"\nwhere = {{ text = {{ nonempty = false }} }}\n",
        file_header("case")
    )
}

fn hook_file(word: &str) -> String {
    format!("{}\n[[hook]]\nname = \"{word}\"\nevent = \"before_build\"\nrun = \"{word}.rhai::{word}\"\n", file_header("hooks"))
}

fn script_file(word: &str) -> String {
    format!(
        "// Gets the items (none before a build) and the scene. Returns nothing, or what it changes:\n// `#{{ set: #{{ \"names.user\": \"Mara\" }}, warnings: [\"…\"] }}`.\nfn {word}(items, scene) {{\n}}\n"
    )
}

/// A template that shows every source of its task: a list in a slot with a message for each element, anything else in a
/// message.
fn template_file(name: &str, task: &str, sources: &[(String, bool)]) -> String {
    let mut layout = vec![json!({ "kind": "message", "role": "system", "content": "Write the next turn." })];
    let mut slots = serde_json::Map::new();
    for (number, (source, is_list)) in sources.iter().enumerate() {
        if !is_list {
            layout.push(json!({ "kind": "message", "role": "system", "from": { "source": source } }));
            continue;
        }
        layout.push(json!({ "kind": "slot", "name": source }));
        let each = json!({ "kind": "message", "role": "user", "content": "{{item.content}}" });
        let plan = json!([{ "kind": "forEach", "source": { "source": source }, "map": [each] }]);
        slots.insert(source.clone(), json!({ "priority": number, "plan": plan }));
    }
    let template = json!({ "id": name, "task": task, "name": name, "version": 1, "layout": layout, "slots": slots });
    format!("{}\n", serde_json::to_string_pretty(&template).unwrap_or_default())
}
