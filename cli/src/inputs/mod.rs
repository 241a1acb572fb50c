//! The flags that `build` and `explain` share. They take precedence over the keys of a `scene.toml`.

pub(crate) mod checks;
#[cfg(feature = "full")]
pub(crate) mod endpoint;
pub(crate) mod files;
pub(crate) mod library;
pub(crate) mod pack_files;
pub(crate) mod scene;
pub(crate) mod scene_file;
pub(crate) mod server;
#[cfg(feature = "full")]
pub(crate) mod store;
#[cfg(feature = "lsp")]
pub(crate) mod streams;
pub(crate) mod template;
pub(crate) mod turns;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value as Json;

use crate::build::ScenePart;
use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Sources, Span, suggest};
use crate::exit::{EarlyExit, Result, RunExit, only_missing};
use crate::layout::head;
use crate::model::options::TABLE;
use crate::model::{Map, OptionType, PackOptions, Scene, Value};
use crate::output::{Console, GlobalArgs, Io};
use crate::pack::files::is_pack;
use crate::pack::{DEFAULT_PACK, Overlay, RuleFile, Ruleset, Start};
use crate::testing::play::CASE_TIME;
use files::{path_text, read_bytes, read_values};
use template::TemplateInputArgs;
use turns::PreviousRequest;

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
    #[arg(long, value_name = "FILE", group = "compared")]
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

    /// The inputs of a scene, or of a pack without one, with further rules.
    #[cfg(feature = "full")]
    pub(crate) fn of_rules(
        scene: Option<PathBuf>,
        pack: Option<String>,
        overlay: Vec<PathBuf>,
        choose: Vec<String>,
        dialect: &str,
    ) -> Self {
        Self { scene, pack, overlay, choose, dialect: Some(dialect.to_owned()), ..Self::default() }
    }

    /// The rules and the dialect of the flags as keys of a line, and the folders in which they lie.
    pub(crate) fn line_defaults(&self) -> (serde_json::Map<String, serde_json::Value>, Vec<PathBuf>) {
        let overlays: Vec<_> = self.overlay.iter().map(|path| path.to_string_lossy()).collect();
        let overlays = (!overlays.is_empty()).then(|| serde_json::json!(overlays));
        let keys =
            [("pack", self.pack.as_deref().map(Into::into)), ("overlays", overlays), ("dialect", self.dialect.as_deref().map(Into::into))];
        let packs = self.pack.iter().map(Path::new);
        let folders = packs.chain(self.overlay.iter().filter_map(|file| file.parent())).filter(|folder| folder.is_dir());
        (keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect(), folders.map(Path::to_owned).collect())
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
    pub(crate) fn open(&self, show: &mut Console<'_>) -> Result<(Ruleset, Scene)> {
        let parts = self.parts(show)?;
        let rules = self.rules_as_locked(&parts, show)?;
        let scene = scene::assemble(&parts, &rules, show)?;
        Ok((rules, scene))
    }

    /// The same inputs, with the packs compared with their locks.
    pub(crate) fn locked(self, locked: bool) -> Self {
        Self { locked, ..self }
    }

    /// Loads the rules, and compares their packs with their locks if that is asked for.
    fn rules_as_locked(&self, parts: &BuildParts, show: &mut Console<'_>) -> Result<Ruleset> {
        let rules = load_rules(parts, show)?;
        let start = parts.pack.clone().unwrap_or_else(|| Start::Name(DEFAULT_PACK.to_owned()));
        let report = if self.locked { library::check_lock(rules.pack(), &start) } else { Report::default() };
        if report.is_empty() { Ok(rules) } else { Err(EarlyExit::report(RunExit::No, report, Sources::default())) }
    }

    /// What each part of the inputs gives to the scene, lowest first. The parts were read before, so what there is to say
    /// about them has been said.
    pub(crate) fn layers(&self, rules: &Ruleset, show: &mut Console<'_>) -> Result<Vec<ScenePart>> {
        let (given, _) = show.keeping(|show| {
            let parts = self.parts(show)?;
            scene::scene_parts(&parts, rules, show)
        });
        given
    }

    /// The request that `--previous` names; `None` without the flag.
    pub(crate) fn previous(&self, show: &mut Console<'_>) -> Result<Option<PreviousRequest>> {
        self.previous.as_deref().map(|file| PreviousRequest::read(file, show)).transpose()
    }

    /// Whether the flags say when it is now.
    pub(crate) fn has_time(&self) -> bool {
        self.now.is_some()
    }

    /// Refuses flags that say something about a single build.
    pub(crate) fn refuse_flags_of_one_build(&self, help: &str) -> Result<()> {
        let flags = [("--message", self.message.is_some()), ("--previous", self.previous.is_some())];
        flags
            .into_iter()
            .find(|(_, given)| *given)
            .map_or(Ok(()), |(flag, _)| Err(EarlyExit::could_not(Code::SceneField, format!("`{flag}` has no effect here"), help)))
    }

    /// Refuses `--previous` where requests are not compared.
    pub(crate) fn refuse_previous(&self) -> Result<()> {
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
    pub(crate) fn refuse_prompt(&self, by: &str) -> Result<()> {
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
    pub(crate) fn require_scene(&self) -> Result<()> {
        let is_said =
            self.scene.is_some() || self.names_parts() || self.message.is_some() || !self.set.is_empty() || !self.choose.is_empty();
        if is_said || self.scene_here().is_some() {
            return Ok(());
        }
        let help = "name a scene (`tapster build examples/hello`), or say what it is made of: `--character`, `--message` …";
        Err(EarlyExit::could_not(Code::FileMissing, format!("no scene is named, and there is no `{}` here", scene_file::NAME), help))
    }

    /// Loads the pack and the overlays, and the values that the scene file and flags give to its options.
    pub(crate) fn open_options(&self, show: &mut Console<'_>) -> Result<(Ruleset, Value)> {
        let named = self.naming_pack();
        let inputs = named.as_ref().unwrap_or(self);
        let parts = inputs.parts(show)?;
        let rules = inputs.rules_as_locked(&parts, show)?;
        let given = given_options(&parts, &rules);
        check_options(&parts, &rules, &given)?;
        Ok((rules, given))
    }

    /// The same inputs, if the folder of a pack stands in the place of a scene. A `scene.toml` in it is a file of its rules.
    fn naming_pack(&self) -> Option<Self> {
        let folder = self.scene.as_ref().filter(|folder| is_pack(folder))?;
        let pack = self.pack.is_none().then(|| folder.to_str())??;
        Some(Self { scene: None, pack: Some(pack.to_owned()), ..self.clone() })
    }

    /// Loads only the pack and the overlays.
    pub(crate) fn open_rules(&self, show: &mut Console<'_>) -> Result<Ruleset> {
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
    pub(crate) fn files(&self, show: &mut Console<'_>) -> Vec<PathBuf> {
        let here = self.scene_here();
        let mut all = self.flags().paths();
        if let Some(scene) = self.scene.as_deref().or(here.as_deref()) {
            let case = scene_file::find_case_file(scene).map(|(file, _)| file);
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
    pub(crate) fn parts(&self, show: &mut Console<'_>) -> Result<BuildParts> {
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
        template::read_template(&mut parts, show)?;
        Ok(parts)
    }

    fn over(&self, parts: &mut BuildParts, show: &mut Console<'_>) -> Result<()> {
        if let Some(pack) = &self.pack {
            (parts.pack, parts.pack_at) = (Some(Start::typed(pack)), None);
        }
        parts.overlays.extend(self.overlay.iter().cloned().map(Overlay::Path));
        override_with(&mut parts.character, self.character.clone());
        override_with(&mut parts.chat, self.chat.clone());
        override_with(&mut parts.persona, self.persona.clone());
        override_with(&mut parts.persona_file, self.persona_file.clone());
        override_with(&mut parts.dialect, self.dialect.clone());
        override_with(&mut parts.kind, self.kind.clone());
        override_with(&mut parts.seed, self.seed.clone());
        override_with(&mut parts.now, self.now.clone());
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
        parts.options.extend(self.choose.iter().map(|text| parse_option(text)).collect::<Result<Vec<_>, _>>()?);
        for set in &self.set {
            parts.set.push(parse_assignment(set)?);
        }
        Ok(())
    }

    fn message_of_stdin(&self, show: &mut Console<'_>) -> Result<String> {
        if self.scene.as_deref() == Some(Path::new("-")) {
            let message = "standard input cannot be both the scene and the message";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "write one of them into a file"));
        }
        let bytes = read_bytes(Path::new("-"), show)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let message = format!("the message is not valid UTF-8: byte {} does not begin a character", e.utf8_error().valid_up_to());
            EarlyExit::could_not(Code::FileEncoding, message, "save it as UTF-8")
        })?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }
}

/// Reads a scene file, or a case that stands in its place.
fn read_scene(path: &Path, show: &mut Console<'_>) -> Result<BuildParts> {
    match scene_file::find_case_file(path) {
        Some((file, name)) => scene_file::read_case(&file, name, show),
        None => scene_file::read(path, show),
    }
}

/// Loads the pack and the overlays of a build.
pub(crate) fn load_rules(parts: &BuildParts, show: &mut Console<'_>) -> Result<Ruleset> {
    let start = parts.pack.clone().unwrap_or_else(|| Start::Name(DEFAULT_PACK.to_owned()));
    library::open_pack(&start, &parts.overlays, show).map_err(|stop| {
        let paths = parts.overlays.iter().filter_map(|overlay| if let Overlay::Path(path) = overlay { Some(path) } else { None });
        let said = paths.into_iter().find_map(|path| scene::foreign_file_diagnostic(path, "an overlay", show));
        said.map_or_else(|| place_missing_pack(stop, parts), |said| EarlyExit::new(RunExit::No, said))
    })
}

/// The complaint that a pack is missing, at the line of the scene file that names the pack.
fn place_missing_pack(mut stop: EarlyExit, parts: &BuildParts) -> EarlyExit {
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

fn override_with<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

/// `path=value`.
pub(crate) fn parse_assignment(text: &str) -> Result<(String, Value)> {
    let (path, value) = text.split_once('=').unwrap_or(("", ""));
    if path.is_empty() || path.split('.').any(str::is_empty) || path.split('.').count() > MAX_PATH {
        let message = format!("`{}` is not an assignment", head(text, 60));
        return Err(EarlyExit::could_not(Code::SceneField, message, "write a path, `=` and a value: `note.depth=2`"));
    }
    let value = serde_json::from_str::<serde_json::Value>(value).map_or_else(|_| Value::text(value), |json| Value::from(&json));
    Ok((path.to_owned(), value))
}

/// A template, as a scene file or a flag names it.
#[derive(Debug, Clone)]
pub(crate) enum TemplateReference {
    /// By its id.
    Id(String),
    /// A file.
    File(PathBuf),
    /// A file that has been read.
    Read(RuleFile),
}

impl TemplateReference {
    /// A file if it looks like one: it ends in `.json` or `.toml`, holds a `/`, or is `-`.
    pub(crate) fn typed(text: &str, base: &Path) -> Self {
        let is_file = text == "-" || text.contains(['/', '\\']) || [".json", ".toml"].iter().any(|end| text.ends_with(end));
        if is_file {
            TemplateReference::File(if text == "-" { text.into() } else { base.join(text) })
        } else {
            TemplateReference::Id(text.to_owned())
        }
    }
}

/// The inputs of a build after the flags have been merged over the scene file. Paths are resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct BuildParts {
    pub(crate) pack: Option<Start>,
    /// Where the scene file names the pack, if it is the one that is used.
    pub(crate) pack_at: Option<Span>,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) character: Option<PathBuf>,
    pub(crate) presets: Vec<PathBuf>,
    pub(crate) chat: Option<PathBuf>,
    pub(crate) lorebooks: Vec<PathBuf>,
    pub(crate) persona: Option<String>,
    pub(crate) persona_file: Option<PathBuf>,
    pub(crate) message: Option<String>,
    pub(crate) dialect: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) seed: Option<String>,
    pub(crate) now: Option<String>,
    /// What the clock says, for builds that must not differ by it.
    pub(crate) clock: Option<String>,
    pub(crate) strict: bool,
    pub(crate) template: Option<TemplateReference>,
    pub(crate) task: Option<String>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) revision: Option<String>,
    /// Scripted draws, which are used up before the seed is.
    pub(crate) draws: Option<Vec<f64>>,
    /// The table `scene` of the scene file as it is written, with the text that it stands in.
    pub(crate) written: Option<(DocumentNode, Sources)>,
    /// The whole scene file in the same way.
    pub(crate) top: Option<(DocumentNode, Sources)>,
    /// Values of the scene; they override those of all files.
    pub(crate) scene: Value,
    /// The table `option` of the scene file.
    pub(crate) option: Option<DocumentNode>,
    /// Values of options by their names, as flags write them; they override those of the scene file.
    pub(crate) options: Vec<(String, String)>,
    /// Single paths; they override everything else.
    pub(crate) set: Vec<(String, Value)>,
}

impl BuildParts {
    /// The files and folders that the parts name, but not those in which packs are searched by name.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let single = [&self.character, &self.chat, &self.persona_file, &self.data].into_iter().flatten();
        let mut all: Vec<PathBuf> = single.chain(&self.presets).chain(&self.lorebooks).cloned().collect();
        all.extend(self.overlays.iter().filter_map(|overlay| if let Overlay::Path(path) = overlay { Some(path.clone()) } else { None }));
        if let Some(Start::Folder(folder)) = &self.pack {
            all.push(folder.clone());
        }
        if let Some(TemplateReference::File(file)) = &self.template {
            all.push(file.clone());
        }
        all
    }
}

/// The longest time that may be set, in seconds.
const MAX_TIMEOUT: f64 = 86_400.0;

/// A time in seconds that is more than nothing.
pub(crate) fn parse_seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|n| *n > 0.0 && *n <= MAX_TIMEOUT);
    number.ok_or_else(|| format!("a number of seconds above 0 and up to {MAX_TIMEOUT}"))
}

/// `NAME=VALUE` of a flag.
fn parse_option(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => {
            let message = format!("`{}` is not the value of an option", head(text, 60));
            Err(EarlyExit::could_not(Code::OptionValue, message, "write the name of an option, `=` and its value: `tone=dark`"))
        }
    }
}

/// The values of the scene file, with those of the flags over them: a table, or nothing if there are none.
fn given_options(parts: &BuildParts, rules: &Ruleset) -> Value {
    let mut all = Map::default();
    let in_scene = parts.scene.get(TABLE).and_then(Value::as_map);
    all.extend(in_scene.into_iter().flat_map(|map| map.iter()).map(|(name, value)| (name.clone(), value.clone())));
    let table = parts.option.as_ref().and_then(|node| node.as_table());
    all.extend(table.into_iter().flatten().map(|(name, field)| (name.clone(), Value::from(&field.node))));
    for (path, value) in &parts.set {
        if let Some(name) = path.strip_prefix(TABLE).and_then(|rest| rest.strip_prefix('.')) {
            all.insert(name.into(), value.clone());
        } else if let Some(map) = value.as_map().filter(|_| path == TABLE) {
            all.extend(map.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    for (name, text) in &parts.options {
        all.insert(name.as_str().into(), parse_option_value(rules.options(), name, text));
    }
    if all.is_empty() { Value::Null } else { Value::map(all) }
}

/// The value that a text on the command line means for an option.
fn parse_option_value(options: &PackOptions, name: &str, text: &str) -> Value {
    let is_text = options.get(name).is_some_and(|option| matches!(option.kind, OptionType::Text | OptionType::Enum));
    let json = serde_json::from_str::<serde_json::Value>(text).ok().filter(|_| !is_text);
    json.map_or_else(|| Value::text(text), |json| Value::from(&json))
}

/// Refuses values that options cannot have, at the line or the flag that gives them.
fn check_options(parts: &BuildParts, rules: &Ruleset, given: &Value) -> Result<()> {
    let mut report = Report::default();
    for fault in rules.options().faults(given) {
        let name = fault.option.as_str();
        let path = format!("{TABLE}.{name}");
        let complaint = Diagnostic::error(fault.code, fault.message).help(fault.help);
        let field =
            |node: &crate::diag::DocumentNode| node.as_table().and_then(|table| table.get(name)).map(|field| (field.key, field.node.span));
        let in_table = parts.option.as_ref().and_then(field);
        let in_scene = parts.written.as_ref().and_then(|(node, _)| node.get(TABLE)).and_then(field);
        let span = in_table.or(in_scene).map(|(key, value)| if fault.code == Code::OptionUnknown { key } else { value });
        report.push(if parts.options.iter().any(|(option, _)| option == name) {
            complaint.rule(format!("flag `--choose {name}=…`"))
        } else if parts.set.iter().any(|(set, _)| *set == path) {
            complaint.rule(format!("flag `--set {path}=…`"))
        } else if let Some(span) = span {
            complaint.at(span)
        } else {
            complaint
        });
    }
    if report.is_empty() {
        return Ok(());
    }
    let sources = parts.top.as_ref().map(|(_, sources)| sources.clone()).unwrap_or_default();
    Err(EarlyExit::report(RunExit::No, report, sources))
}

/// Refuses a path that nothing of the pack declares, so that it can have no value.
pub(crate) fn require_path(rules: &Ruleset, path: &str) -> Result<()> {
    let own = &rules.programs().rules;
    if own.names.knows_path(path) || path == TABLE {
        return Ok(());
    }
    let message = format!("nothing of pack `{}` declares the path `{}`", rules.pack().name, head(path, 60));
    let help = match suggest::nearest(path, own.names.path_names()) {
        Some(near) => near.to_string(),
        None if own.lists.iter().any(|list| &*list.name == path) => {
            format!("it is a list: `tapster build --dump list:{path}` shows it")
        }
        None => format!("`tapster ops --scene --pack {}` lists the paths that there are", rules.pack().name),
    };
    Err(EarlyExit::could_not(Code::NameUnknown, message, help))
}

/// Refuses a name that no list of the pack has.
pub(crate) fn require_list(rules: &Ruleset, name: &str) -> Result<()> {
    let names: Vec<&str> = rules.programs().rules.lists.iter().map(|list| &*list.name).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let message = format!("pack `{}` has no list `{}`", rules.pack().name, head(name, 60));
    let all = || format!("its lists are {}", names.join(", ")).into();
    let help = suggest::nearest(name, names.iter().copied()).map_or_else(all, Help::from);
    Err(EarlyExit::could_not(Code::NameUnknown, message, help))
}

/// The items that `NAME=FILE` gives to a list: a JSON list right there, or a file of JSON or TOML, whose items are the list
/// itself or stand in it under the name of the list.
pub(crate) fn read_list(text: &str, rules: &Ruleset, show: &mut Console<'_>) -> Result<(String, Json)> {
    let Some((name, source)) = text.split_once('=').filter(|(name, source)| !name.is_empty() && !source.is_empty()) else {
        let message = format!("`{}` does not give items to a list", head(text, 60));
        return Err(EarlyExit::could_not(Code::SceneField, message, "write the name of a list, `=` and a file: `members=members.json`"));
    };
    require_list(rules, name)?;
    let (shown, found) = if source.trim_start().starts_with('[') {
        ("the value of `--list`".to_owned(), serde_json::from_str(source).map_err(|error| error.to_string()))
    } else {
        let file = Path::new(source);
        (format!("`{}`", path_text(file)), read_list_file(file, show)?)
    };
    let wrong = |reason: String| {
        let complaint = Diagnostic::error(Code::SceneField, format!("{shown} holds no items of list `{name}`: {reason}"));
        EarlyExit::new(RunExit::No, complaint.help(format!("write a list of tables, or a table with the key `{name}` that holds one")))
    };
    let tables = found.and_then(|found| list_items(found, name)).map_err(wrong)?;
    Ok((name.to_owned(), Json::Array(tables)))
}

/// The tables of a list that a document is, or holds under a key.
fn list_items(mut document: Json, key: &str) -> Result<Vec<Json>, String> {
    if let Some(inner) = document.get_mut(key) {
        document = inner.take();
    }
    let Json::Array(items) = document else { return Err("it is neither a list nor a table with this key".to_owned()) };
    match items.iter().enumerate().find(|(_, item)| !item.is_object()) {
        Some((n, item)) => Err(format!("element {n} is `{}`", head(&item.to_string(), 40))),
        None => Ok(items),
    }
}

/// The document of a file: of JSON, or of TOML where its name says so. The inner error says why it is none.
fn read_list_file(file: &Path, show: &mut Console<'_>) -> Result<Result<Json, String>> {
    let bytes = read_values(file, show)?;
    if file.extension().is_some_and(|extension| extension == "toml") {
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string());
        return Ok(text.and_then(|text| toml::from_str(text).map_err(|error| error.message().to_owned())));
    }
    Ok(serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}

/// Reads a scene file for a case. The rules are those of the case file, and the clock is not read.
pub(crate) fn scene_of_case(path: &Path, now: Option<&str>, rules: &Ruleset) -> Result<Scene, String> {
    let (mut nothing, mut out, mut err) = (std::io::empty(), std::io::sink(), std::io::sink());
    let mut io = Io { input: &mut nothing, out: &mut out, err: &mut err, terminal: false, env: &|_| None };
    let mut show = Console::new(&mut io, &GlobalArgs::default(), false);
    let told = |stop: EarlyExit| {
        let said: Vec<String> = stop.report.items().iter().map(|d| d.message.clone()).collect();
        format!("`{}`: {}", path.display(), said.join("; "))
    };
    let mut parts = scene_file::read(path, &mut show).map_err(told)?;
    if now.is_some() || parts.now.is_none() {
        parts.now = Some(now.unwrap_or(CASE_TIME).to_owned());
    }
    template::read_template(&mut parts, &mut show).map_err(told)?;
    let scene = scene::assemble(&parts, rules, &mut show).map_err(told)?;
    Ok(scene)
}
