//! The flags that `build` and `explain` share. They take precedence over the keys of a `scene.toml`.

pub(crate) mod case;
#[cfg(feature = "full")]
pub(crate) mod endpoint;
pub(crate) mod files;
pub(crate) mod foreign;
pub(crate) mod library;
pub(crate) mod lines;
pub(crate) mod lists;
pub(crate) mod lock;
pub(crate) mod locked;
pub(crate) mod options;
pub(crate) mod parts;
pub(crate) mod paths;
pub(crate) mod previous;
pub(crate) mod role;
pub(crate) mod said;
pub(crate) mod scene;
#[cfg(feature = "full")]
pub(crate) mod session;
pub(crate) mod shared;
pub(crate) mod store;
pub(crate) mod templated;
#[cfg(feature = "full")]
pub(crate) mod tools;
pub(crate) mod turns;

pub(crate) mod scene_file;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::build::ScenePart;
use crate::diag::{Code, Report, Sources};
use crate::model::{Scene, Value};
use crate::pack::files::is_pack;
use crate::pack::{Overlay, Ruleset, Start};

use crate::inputs::files::bytes_of;
use crate::inputs::library::DEFAULT_PACK;
use crate::inputs::parts::BuildParts;
use crate::inputs::previous::PreviousRequest;
use crate::inputs::templated::TemplateInputArgs;
use crate::layout::head;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit, only_missing};

/// The most parts of a path that `--set` accepts.
const MAX_PATH: usize = 32;

/// The flags of a build.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InputArgs {
    /// A folder with a `scene.toml`, such a file (TOML or JSON), a case of a rule test (`FILE` or `FILE#NAME`), or `-` for
    /// standard input [default: `./scene.toml`, if it exists and no flag names a pack, a template or a file of a scene].
    #[arg(value_name = "SCENE")]
    scene: Option<PathBuf>,
    #[arg(long, help = library::pack_help())]
    pack: Option<String>,
    /// Rule files that are merged over the pack, in order.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    overlay: Vec<PathBuf>,
    /// The card of the character who writes: PNG, CHARX or JSON.
    #[arg(long, value_name = "FILE", help_heading = "Scene")]
    character: Option<PathBuf>,
    /// Presets, in order.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Scene")]
    preset: Vec<PathBuf>,
    /// The chat so far: JSONL or JSON.
    #[arg(long, value_name = "FILE", help_heading = "Scene")]
    chat: Option<PathBuf>,
    /// Lorebooks beside the card's own.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Scene")]
    lorebook: Vec<PathBuf>,
    /// The user's name [default: User].
    #[arg(long, value_name = "NAME", help_heading = "Scene")]
    persona: Option<String>,
    /// The user's description of themselves: a text file, or JSON of a known format.
    #[arg(long, value_name = "FILE", help_heading = "Scene")]
    persona_file: Option<PathBuf>,
    /// The user's new message, which becomes the last of the chat; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Scene")]
    message: Option<String>,
    /// The provider's dialect: `openai`, `anthropic` …; `tapster ops --kinds` lists those of a pack.
    #[arg(long, help_heading = "Scene")]
    dialect: Option<String>,
    /// The generation type: normal, continue, impersonate, swipe, regenerate, quiet.
    #[arg(long = "type", value_name = "TYPE", help_heading = "Scene")]
    kind: Option<String>,
    /// The seed of random draws; the same seed gives the same prompt [default: 0].
    #[arg(long, help_heading = "Scene")]
    seed: Option<String>,
    /// The time of the build, such as 2026-01-31T20:15:00Z [default: the clock].
    #[arg(long, value_name = "TIME", help_heading = "Scene")]
    now: Option<String>,
    /// Sets one path of the scene; a value that is not JSON is a text.
    #[arg(long, value_name = "PATH=VALUE", help_heading = "Scene")]
    set: Vec<String>,
    /// Sets one option of the pack; `tapster options` lists them.
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true, help_heading = "Scene")]
    choose: Vec<String>,
    /// How tokens are counted: cl100k, o200k, words, chars/4 …
    #[arg(long, value_name = "NAME", help_heading = "Scene")]
    tokenizer: Option<String>,
    /// The plan (`--dump plan`) or payload of the previous request: reports how much of the beginning of the new
    /// request is unchanged.
    #[arg(long, value_name = "FILE")]
    previous: Option<PathBuf>,
    /// The model, by its provider's name: warns about everything that it would refuse or change.
    #[arg(long, value_name = "NAME", help_heading = "Scene")]
    model: Option<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
    /// Refuse packs that are not what the `tapster.lock` of their folder says.
    #[arg(long)]
    locked: bool,
    #[command(flatten)]
    templated: TemplateInputArgs,
}

/// The same flags for a verb whose arguments are something else: the scene is a flag too.
#[derive(Debug, Clone, Default)]
pub(crate) struct SceneFlag(pub(crate) InputArgs);

impl Args for SceneFlag {
    fn augment_args(command: Command) -> Command {
        InputArgs::augment_args(command).mut_arg("scene", |scene| scene.long("scene")).mut_arg("previous", |previous| previous.hide(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SceneFlag {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        InputArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl InputArgs {
    /// The inputs of a scene file without further flags.
    pub(crate) fn of_scene(scene: &Path) -> Self {
        Self { scene: Some(scene.to_owned()), ..Self::default() }
    }

    /// The inputs of one file of another program, which a flag of a build takes.
    pub(crate) fn of_file(flag: &str, file: &Path, pack: &str) -> Self {
        let mut inputs = Self { pack: Some(pack.to_owned()), message: Some("Hello.".to_owned()), ..Self::default() };
        let file = file.to_owned();
        match flag {
            "--character" => inputs.character = Some(file),
            "--chat" => inputs.chat = Some(file),
            "--lorebook" => inputs.lorebook = vec![file],
            "--persona-file" => inputs.persona_file = Some(file),
            _ => inputs.preset = vec![file],
        }
        inputs
    }

    /// Reads all files that the flags name.
    pub(crate) fn open(&self, show: &mut OutputStreams<'_, '_>) -> Result<(Ruleset, Scene), EarlyExit> {
        let parts = self.parts(show)?;
        let rules = self.rules_as_locked(&parts, show)?;
        let scene = scene::of(&parts, &rules, show)?;
        Ok((rules, scene))
    }

    /// The same inputs, with the packs compared with their locks.
    pub(crate) fn locked(self, locked: bool) -> Self {
        Self { locked, ..self }
    }

    /// Loads the rules, and compares their packs with their locks if that is asked for.
    fn rules_as_locked(&self, parts: &BuildParts, show: &mut OutputStreams<'_, '_>) -> Result<Ruleset, EarlyExit> {
        let rules = rules_of(parts, show)?;
        let start = parts.pack.clone().unwrap_or_else(|| Start::Name(DEFAULT_PACK.to_owned()));
        let report = if self.locked { locked::complaints(rules.pack(), &start) } else { Report::default() };
        if report.is_empty() { Ok(rules) } else { Err(EarlyExit::report(RunExit::No, report, Sources::default())) }
    }

    /// What each part of the inputs gives to the scene, lowest first. The parts were read before, so what there is to say
    /// about them has been said.
    pub(crate) fn layers(&self, rules: &Ruleset, show: &mut OutputStreams<'_, '_>) -> Result<Vec<ScenePart>, EarlyExit> {
        let (given, _) = show.keeping(|show| {
            let parts = self.parts(show)?;
            scene::given(&parts, rules, show)
        });
        given
    }

    /// The request that `--previous` names; `None` without the flag.
    pub(crate) fn previous(&self, show: &mut OutputStreams<'_, '_>) -> Result<Option<PreviousRequest>, EarlyExit> {
        self.previous.as_deref().map(|file| PreviousRequest::read(file, show)).transpose()
    }

    /// Whether the flags say when it is now.
    pub(crate) fn has_time(&self) -> bool {
        self.now.is_some()
    }

    /// The first flag that says something about a single build, if one is given.
    pub(crate) fn given_for_one_build(&self) -> Option<&'static str> {
        let flags = [("--message", self.message.is_some()), ("--previous", self.previous.is_some())];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Refuses `--previous` where requests are not compared.
    pub(crate) fn refuse_previous(&self) -> Result<(), EarlyExit> {
        if self.previous.is_none() {
            return Ok(());
        }
        Err(EarlyExit::could_not(
            Code::SceneField,
            "`--previous` has no effect here",
            "`tapster build --previous FILE` and `tapster explain --cache --previous FILE` compare two requests, and so does the page of `--html`",
        ))
    }

    /// How the scene is named: its file, or the files of the flags.
    pub(crate) fn named_scene(&self) -> String {
        let here = self.scene_here();
        let paths = match self.scene.as_ref().or(here.as_ref()) {
            Some(path) if path == Path::new("-") => return "standard input".to_owned(),
            Some(path) => vec![path.clone()],
            None => self.flags().paths(),
        };
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The flags that are given and say something about a prompt, and nothing about the rules that it is built with.
    fn given_for_a_prompt(&self) -> Vec<&'static str> {
        let own = [
            ("--character", self.character.is_some()),
            ("--preset", !self.preset.is_empty()),
            ("--chat", self.chat.is_some()),
            ("--lorebook", !self.lorebook.is_empty()),
            ("--persona", self.persona.is_some()),
            ("--persona-file", self.persona_file.is_some()),
            ("--message", self.message.is_some()),
            ("--dialect", self.dialect.is_some()),
            ("--type", self.kind.is_some()),
            ("--seed", self.seed.is_some()),
            ("--now", self.now.is_some()),
            ("--set", !self.set.is_empty()),
            ("--choose", !self.choose.is_empty()),
            ("--tokenizer", self.tokenizer.is_some()),
            ("--model", self.model.is_some()),
            ("--strict", self.strict),
        ];
        let of_template = self.templated.given_for_a_prompt(self.pack.is_some());
        own.into_iter().chain(of_template).filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    /// Refuses flags that say something about a prompt where only rules are shown: `by` is what shows them.
    pub(crate) fn refuse_prompt(&self, by: &str) -> Result<(), EarlyExit> {
        let given = self.given_for_a_prompt();
        if given.is_empty() {
            return Ok(());
        }
        let (have, them) = if given.len() == 1 { ("has", "it") } else { ("have", "them") };
        let message = format!("`{}` {have} no effect with `{by}`: it shows rules, and builds no prompt", given.join("`, `"));
        let help = format!("leave {them} out; the rules are those of the scene, of `--pack`, and of `--overlay`");
        Err(EarlyExit::could_not(Code::SceneField, message, help))
    }

    /// Whether the flags say what is generated.
    pub(crate) fn has_type(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether a flag names the model.
    pub(crate) fn names_model(&self) -> bool {
        self.model.is_some()
    }

    /// The chat that the flags name.
    pub(crate) fn chat(&self) -> Option<&Path> {
        self.chat.as_deref()
    }

    /// The `scene.toml` of the working folder, if no argument says what the scene is.
    fn scene_here(&self) -> Option<PathBuf> {
        let file = PathBuf::from(scene_file::NAME);
        (self.scene.is_none() && !self.names_parts() && file.is_file()).then_some(file)
    }

    /// Whether a flag names the pack, a template, or a file of the scene.
    fn names_parts(&self) -> bool {
        let files = [&self.character, &self.chat, &self.persona_file].iter().any(|file| file.is_some());
        files || self.pack.is_some() || !self.preset.is_empty() || !self.lorebook.is_empty() || self.templated.is_given()
    }

    /// Refuses to build from nothing: neither a scene nor any part of one is named, and none lies here.
    pub(crate) fn require_scene(&self) -> Result<(), EarlyExit> {
        let is_said =
            self.scene.is_some() || self.names_parts() || self.message.is_some() || !self.set.is_empty() || !self.choose.is_empty();
        if is_said || self.scene_here().is_some() {
            return Ok(());
        }
        let help = "name a scene (`tapster build examples/hello`), or say what it is made of: `--character`, `--message` …";
        Err(EarlyExit::could_not(Code::FileMissing, format!("no scene is named, and there is no `{}` here", scene_file::NAME), help))
    }

    /// Loads the pack and the overlays, and the values that the scene file and flags give to its options.
    pub(crate) fn open_options(&self, show: &mut OutputStreams<'_, '_>) -> Result<(Ruleset, Value), EarlyExit> {
        let named = self.naming_pack();
        let inputs = named.as_ref().unwrap_or(self);
        let parts = inputs.parts(show)?;
        let rules = inputs.rules_as_locked(&parts, show)?;
        let given = options::given(&parts, &rules);
        options::check(&parts, &rules, &given)?;
        Ok((rules, given))
    }

    /// The same inputs, if the folder of a pack stands in the place of a scene. A `scene.toml` in it is a file of its rules.
    fn naming_pack(&self) -> Option<Self> {
        let folder = self.scene.as_ref().filter(|folder| is_pack(folder))?;
        let pack = self.pack.is_none().then(|| folder.to_str())??;
        Some(Self { scene: None, pack: Some(pack.to_owned()), ..self.clone() })
    }

    /// Loads only the pack and the overlays.
    pub(crate) fn open_rules(&self, show: &mut OutputStreams<'_, '_>) -> Result<Ruleset, EarlyExit> {
        self.rules_as_locked(&self.parts(show)?, show)
    }

    /// Whether a part of the inputs is read from standard input.
    pub(crate) fn reads_a_stream(&self) -> bool {
        let stream = Path::new("-");
        self.scene.as_deref() == Some(stream)
            || self.message.as_deref() == Some("-")
            || self.flags().paths().iter().any(|path| path == stream)
    }

    /// The files and folders that the flags and the scene file name. Of a scene file that cannot be read, only itself.
    pub(crate) fn files(&self, show: &mut OutputStreams<'_, '_>) -> Vec<PathBuf> {
        let here = self.scene_here();
        let mut all = self.flags().paths();
        if let Some(scene) = self.scene.as_deref().or(here.as_deref()) {
            let case = case::find_case_file(scene).map(|(file, _)| file);
            all.push(case.unwrap_or_else(|| if scene.is_dir() { scene.join(scene_file::NAME) } else { scene.to_owned() }));
            let (parts, _) = show.keeping(|show| read_scene(scene, show));
            all.extend(parts.map(|parts| parts.paths()).unwrap_or_default());
        }
        all
    }

    /// The parts that flags alone name by a path.
    fn flags(&self) -> BuildParts {
        let mut parts = BuildParts {
            pack: self.pack.as_deref().map(Start::typed),
            overlays: self.overlay.iter().cloned().map(Overlay::Path).collect(),
            character: self.character.clone(),
            presets: self.preset.clone(),
            chat: self.chat.clone(),
            lorebooks: self.lorebook.clone(),
            persona_file: self.persona_file.clone(),
            ..BuildParts::default()
        };
        self.templated.over(&mut parts);
        parts
    }

    /// The inputs of the scene file, with those of the flags over them.
    pub(crate) fn parts(&self, show: &mut OutputStreams<'_, '_>) -> Result<BuildParts, EarlyExit> {
        let here = self.scene_here();
        let mut parts = match self.scene.as_deref().or(here.as_deref()) {
            Some(path) => read_scene(path, show)?,
            None => BuildParts::default(),
        };
        self.over(&mut parts, show)?;
        self.templated.over(&mut parts);
        if let Some(Start::Folder(folder)) = &parts.pack {
            show.near.extend(crate::pack::files::parent(folder));
        }
        templated::read_in(&mut parts, show)?;
        Ok(parts)
    }

    fn over(&self, parts: &mut BuildParts, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        if let Some(pack) = &self.pack {
            (parts.pack, parts.pack_at) = (Some(Start::typed(pack)), None);
        }
        parts.overlays.extend(self.overlay.iter().cloned().map(Overlay::Path));
        put(&mut parts.character, self.character.clone());
        put(&mut parts.chat, self.chat.clone());
        put(&mut parts.persona, self.persona.clone());
        put(&mut parts.persona_file, self.persona_file.clone());
        put(&mut parts.dialect, self.dialect.clone());
        put(&mut parts.kind, self.kind.clone());
        put(&mut parts.seed, self.seed.clone());
        put(&mut parts.now, self.now.clone());
        if !self.preset.is_empty() {
            parts.presets.clone_from(&self.preset);
        }
        parts.lorebooks.extend(self.lorebook.iter().cloned());
        parts.strict |= self.strict;
        if let Some(message) = &self.message {
            parts.message = Some(if message == "-" { self.message_of_stdin(show)? } else { message.clone() });
        }
        if let Some(tokenizer) = &self.tokenizer {
            parts.set.push(("context.tokenizer".to_owned(), Value::text(tokenizer.as_str())));
        }
        if let Some(model) = &self.model {
            parts.set.push(("provider.model".to_owned(), Value::text(model.as_str())));
        }
        parts.options.extend(self.choose.iter().map(|text| options::assigned(text)).collect::<Result<Vec<_>, _>>()?);
        for set in &self.set {
            parts.set.push(assignment(set)?);
        }
        Ok(())
    }

    fn message_of_stdin(&self, show: &mut OutputStreams<'_, '_>) -> Result<String, EarlyExit> {
        if self.scene.as_deref() == Some(Path::new("-")) {
            let message = "standard input cannot be both the scene and the message";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "write one of them into a file"));
        }
        let bytes = bytes_of(Path::new("-"), show)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let message = format!("the message is not valid UTF-8: byte {} does not begin a character", e.utf8_error().valid_up_to());
            EarlyExit::could_not(Code::FileEncoding, message, "save it as UTF-8")
        })?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }
}

/// Reads a scene file, or a case that stands in its place.
fn read_scene(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<BuildParts, EarlyExit> {
    match case::find_case_file(path) {
        Some((file, name)) => case::read_case(&file, name, show),
        None => scene_file::read(path, show),
    }
}

/// Loads the pack and the overlays of a build.
pub(crate) fn rules_of(parts: &BuildParts, show: &mut OutputStreams<'_, '_>) -> Result<Ruleset, EarlyExit> {
    let start = parts.pack.clone().unwrap_or_else(|| Start::Name(DEFAULT_PACK.to_owned()));
    library::open(&start, &parts.overlays, show).map_err(|stop| {
        let paths = parts.overlays.iter().filter_map(|overlay| if let Overlay::Path(path) = overlay { Some(path) } else { None });
        let said = paths.into_iter().find_map(|path| foreign::of(path, "an overlay", show));
        said.map_or_else(|| placed(stop, parts), |said| EarlyExit::new(RunExit::No, said))
    })
}

/// The complaint that a pack is missing, at the line of the scene file that names the pack.
fn placed(mut stop: EarlyExit, parts: &BuildParts) -> EarlyExit {
    let (Some(span), Some((_, sources))) = (parts.pack_at, &parts.top) else { return stop };
    // other mistakes stand in the files of the pack
    if !only_missing(&stop.report) || stop.report.items().iter().any(|d| d.span.is_some()) {
        return stop;
    }
    let mut report = Report::default();
    stop.report.items().iter().for_each(|d| report.push(d.clone().at(span)));
    (stop.report, stop.sources) = (report, sources.clone());
    stop
}

fn put<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

/// `path=value`.
pub(crate) fn assignment(text: &str) -> Result<(String, Value), EarlyExit> {
    let (path, value) = text.split_once('=').unwrap_or(("", ""));
    if path.is_empty() || path.split('.').any(str::is_empty) || path.split('.').count() > MAX_PATH {
        let message = format!("`{}` is not an assignment", head(text, 60));
        return Err(EarlyExit::could_not(Code::SceneField, message, "write a path, `=` and a value: `note.depth=2`"));
    }
    let value = serde_json::from_str::<serde_json::Value>(value).map_or_else(|_| Value::text(value), |json| Value::from(&json));
    Ok((path.to_owned(), value))
}
