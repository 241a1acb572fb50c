//! From files to a scene: containers are opened, foreign formats are read by the pack's own rules, and the parts are given to
//! the pack, whose program `scene` says which of them wins and fills in what no file says.

use std::path::Path;

use serde_json::{Map, Value as Json};

use super::{Door, RequestFailure};
use crate::build::{self, AssembledScene, ErrorKind, ScenePart, assemble_scene, import_document};
use crate::diag::{Code, Diagnostic, Report, Severity};
use crate::import::{self, Container, Contents};
use crate::memory::{PartFile, ReadPart};
use crate::model::options::TABLE;
use crate::model::{Scene, Value, WorkLimits};
use crate::pack::library::recommended_formats;
use crate::pack::{PackLibrary, PackShelf, Ruleset, Start, TypeMismatch};
use crate::program::foreign::{ForeignFormat, ImportedDocument};
use crate::request::{PartReference, SceneRequest};

/// The remedy for a document that takes too much work.
pub const SMALLER: &str = "import it in smaller parts: a lorebook as several files, a chat without its oldest messages";

impl Door {
    /// The scene of a request, with the parts that it was made of. What is doubtful about it is pushed to `notes`.
    pub(crate) fn scene(
        &self,
        request: &SceneRequest,
        rules: &Ruleset,
        notes: &mut Report,
    ) -> Result<(Scene, Vec<ScenePart>), RequestFailure> {
        let parts = self.scene_parts(request, rules, notes)?;
        let AssembledScene { mut scene, warnings } =
            assemble_scene(rules, &parts).map_err(|error| RequestFailure::of_build(&error, rules))?;
        if request.strict && !warnings.is_empty() {
            let errors = warnings.into_iter().map(|warning| Diagnostic { severity: Severity::Error, ..warning });
            return Err(RequestFailure { report: errors.collect(), sources: rules.sources().clone() });
        }
        notes.extend(warnings.into_iter().collect());
        let written = Value::from(&Json::Object(request.scene.clone()));
        let misfits = rules.for_scenes().misfits(&written).into_iter().filter(|misfit| misfit.kind == TypeMismatch::Type);
        let wrong: Report = misfits.map(|misfit| Diagnostic::error(Code::SceneType, misfit.message).help(misfit.help)).collect();
        if !wrong.is_empty() {
            return Err(wrong.into());
        }
        scene.strict = request.strict;
        scene.seed = request.seed.clone().unwrap_or_else(|| "0".to_owned());
        scene.draws.clone_from(&request.draws);
        Ok((scene, parts))
    }

    /// What the clock, the files and the keys of the request give to the scene, in the order in which they are laid over one
    /// another.
    fn scene_parts(&self, request: &SceneRequest, rules: &Ruleset, notes: &mut Report) -> Result<Vec<ScenePart>, RequestFailure> {
        let mut parts = Vec::new();
        if let Some(now) = self.clock.map(|clock| clock()).filter(|_| rules.programs().rules.names.knows_path("now")) {
            parts.push(ScenePart::new("clock", table("now", Value::text(now))));
        }
        let presets = request.preset.iter().map(|part| (SceneRole::Preset, part));
        let character = request.character.iter().map(|part| (SceneRole::Character, part));
        let books = request.lorebooks.iter().map(|part| (SceneRole::Lorebook, part));
        let chat = request.chat.iter().map(|part| (SceneRole::Chat, part));
        let persona = request.persona_file.iter().map(|part| (SceneRole::Persona, part));
        for (role, part) in presets.chain(character).chain(books).chain(chat).chain(persona) {
            let read = self.read_file(role, part, rules)?;
            notes.extend(read.notes);
            parts.push(read.part);
        }
        let (written, twice) = Scene::of_written(Value::from(&Json::Object(request.scene.clone())));
        if let Some(key) = twice {
            let complaint = Diagnostic::new(Code::SyntaxDuplicate, format!("`{key}` gives a value that another key gives too"));
            return Err(complaint.help("keep one of them: `\"a.b\"` and `a.b` are the same path").into());
        }
        parts.push(ScenePart::new("file", written));
        let texts = SceneTexts {
            persona: request.persona.as_deref(),
            dialect: request.dialect.as_deref(),
            kind: request.kind.as_deref(),
            now: request.now.as_deref(),
            message: request.message.as_deref(),
            seed: request.seed.as_deref(),
        };
        parts.push(ScenePart::new("flags", texts.scene().data));
        let mut options = request.scene.get(TABLE).and_then(Json::as_object).cloned().unwrap_or_default();
        options.extend(request.option.clone());
        if !options.is_empty() {
            parts.push(ScenePart::new("flags", table(TABLE, option_values(options, rules)?)));
        }
        Ok(parts)
    }
}

impl Door {
    /// What a file gives to a scene; a file that has a handle is read once.
    fn read_file(&self, role: SceneRole, part: &PartReference, rules: &Ruleset) -> Result<ReadPart, RequestFailure> {
        let key = match part {
            PartReference::Handle(handle) => Some(format!("{handle} {} {}", role.kind(), rules.fingerprint())),
            PartReference::File(_) => None,
        };
        if let Some(read) = key.as_ref().and_then(|key| self.memory.reading(key)) {
            return Ok(read);
        }
        let (file, mut notes) = (self.part(part)?, Report::default());
        let contents = open_file(&file, &mut notes)?;
        let part = read_part(role, &file.name, &contents, rules, &suggest_packs, &mut notes).map_err(|refused| *refused)?;
        let read = ReadPart { part, notes, bytes: file.bytes.len() };
        if let Some(key) = key {
            self.memory.keep_reading(key, read.clone());
        }
        Ok(read)
    }
}

/// A table with one value.
#[must_use]
pub fn table(name: &str, value: Value) -> Value {
    Value::map([(name.into(), value)].into_iter().collect())
}

/// The values of options, checked.
pub(crate) fn option_values(options: Map<String, Json>, rules: &Ruleset) -> Result<Value, RequestFailure> {
    let given = Value::from(&Json::Object(options));
    let faults = rules.options().faults(&given).into_iter();
    let wrong: Report = faults.map(|fault| Diagnostic::error(fault.code, fault.message).help(fault.help)).collect();
    if wrong.is_empty() { Ok(given) } else { Err(wrong.into()) }
}

/// The texts of a scene that have keys of their own.
#[derive(Debug, Clone, Copy, Default)]
pub struct SceneTexts<'t> {
    pub persona: Option<&'t str>,
    pub dialect: Option<&'t str>,
    pub kind: Option<&'t str>,
    pub now: Option<&'t str>,
    pub message: Option<&'t str>,
    pub seed: Option<&'t str>,
}

impl SceneTexts<'_> {
    /// A scene with these texts alone.
    #[must_use]
    pub fn scene(self) -> Scene {
        let mut scene = Scene { data: Value::map(crate::model::Map::default()), ..Scene::default() };
        let texts = [
            ("names.user", self.persona),
            ("dialect", self.dialect),
            ("type", self.kind),
            ("now", self.now),
            // the pack decides how it becomes a message
            ("input", self.message),
            ("seed", self.seed),
        ];
        for (path, text) in texts {
            if let Some(text) = text {
                scene.set(path, Value::text(text));
            }
        }
        scene
    }
}

/// What an opened file gives to the scene. What is doubtful about it is pushed to `notes`; `suggest` says what to do about a
/// document that the rules do not read.
///
/// # Errors
/// `import.format`: the rules read no such document. `bound.exceeded`: it takes too much work.
pub fn read_part(
    role: SceneRole,
    name: &str,
    contents: &Contents,
    rules: &Ruleset,
    suggest: &dyn Fn(&Value) -> String,
    notes: &mut Report,
) -> Result<ScenePart, Box<Diagnostic>> {
    if role == SceneRole::Persona && contents.container == Container::Text {
        let text = contents.main().and_then(|d| d.value.as_str()).unwrap_or("").trim_end();
        return Ok(ScenePart::new(role.kind(), table("persona", table("text", Value::text(text)))));
    }
    let document = read_contents(name, contents, rules, None, suggest, notes)?;
    notes.extend(role.mismatch(name, &document.format, &document.scene).into_iter().collect());
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ScenePart { kind: role.kind().to_owned(), stem, scene: document.scene })
}

/// Opens the container of a file.
pub(crate) fn open_file(file: &PartFile, notes: &mut Report) -> Result<Contents, RequestFailure> {
    let contents = import::read(&file.name, &file.bytes)?;
    notes.extend(contents.report.clone());
    Ok(contents)
}

/// Reads the document of an opened file by the formats of a pack; `format` names one, else it is recognised.
///
/// # Errors
/// As for [`read_part`].
pub fn read_contents(
    name: &str,
    contents: &Contents,
    rules: &Ruleset,
    format: Option<&str>,
    suggest: &dyn Fn(&Value) -> String,
    notes: &mut Report,
) -> Result<ImportedDocument, Box<Diagnostic>> {
    let document = contents.whole(rules.card_chunks());
    if let Some(own) = imported_before(&document) {
        return Ok(own);
    }
    let read = import_document(rules, format, document.clone()).map_err(|error| {
        let message = format!("`{name}`: {}", error.message);
        Box::new(match error.kind() {
            // it was recognised; another pack would not help
            ErrorKind::Bound => Diagnostic::error(Code::BoundExceeded, message).help(SMALLER),
            _ => Diagnostic::new(Code::ImportFormat, message).help(suggest(&document)),
        })
    })?;
    let warnings = read.warnings.iter().map(|warning| Diagnostic::new(Code::ImportValue, format!("`{name}`: {warning}")));
    notes.extend(warnings.map(|warning| warning.help("`tapster import --report` shows what became of each field")).collect());
    Ok(read)
}

/// The remedy for a document that the rules of a request do not read.
pub(crate) fn suggest_packs(_: &Value) -> String {
    "name other rules; `packs` lists the packs".to_owned()
}

/// The packs of a library that recognise a document, each with the format that it recognises: those that are recommended
/// for it, those for most formats first, or all if none is, by name.
#[must_use]
pub fn find_readers(shelf: &PackShelf, document: &Value, format: Option<&str>) -> Vec<(Ruleset, String)> {
    let read = |name: String| {
        let files = shelf.find(&name, &mut Report::default())?.files;
        let recommended = recommended_formats(files.iter().map(|file| (&*file.path_in_pack, &*file.bytes)));
        let rules = Ruleset::load(&Start::Name(name), &[], shelf).ok()?;
        let format = match tapster::import_document(&rules, format, document.clone()) {
            Ok(read) => read.format,
            // a document that takes too much work is recognised too
            Err(error) if *error.kind() == ErrorKind::Bound => find_format(&rules, document)?,
            Err(_) => return None,
        };
        let rank = if recommended.contains(&format) { recommended.len() } else { 0 };
        Some((rank, (rules, format)))
    };
    let mut all: Vec<_> = shelf.names().into_iter().filter_map(read).collect();
    if all.iter().any(|(rank, _)| *rank > 0) {
        all.retain(|(rank, _)| *rank > 0);
    }
    all.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    all.into_iter().map(|(_, reader)| reader).collect()
}

/// The first format of a pack that a document is in.
fn find_format(rules: &Ruleset, document: &Value) -> Option<String> {
    let _paying = document.open_budget(WorkLimits::default());
    let state = build::state(rules, &Scene::default());
    let fits = |format: &&ForeignFormat| format.makes.is_none() && format.fits(document, &state).unwrap_or(false);
    rules.programs().formats.iter().find(fits).map(|format| format.name.to_string())
}

/// A document that an import has written: `format`, `scene` and `rest`, and nothing else.
pub fn imported_before(document: &Value) -> Option<ImportedDocument> {
    let table = document.as_map().filter(|t| t.len() == 3)?;
    let (format, scene, rest) = (table.get("format")?.as_str()?, table.get("scene")?, table.get("rest")?);
    let found = || ImportedDocument { format: format.to_owned(), scene: scene.clone(), rest: rest.clone(), ..ImportedDocument::default() };
    scene.as_map().is_some().then(found)
}

/// A part of a scene that is a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SceneRole {
    Character,
    Preset,
    Chat,
    Lorebook,
    Persona,
}

impl SceneRole {
    /// The part that an imported scene is; `None` if it may be any.
    pub fn of(scene: &Value) -> Option<Self> {
        let has = |path: &str| scene.get(path).is_some_and(|value| !value.is_empty());
        let only = |paths: &[&str]| scene.as_map().is_some_and(|map| !map.is_empty() && map.keys().all(|key| paths.contains(&&**key)));
        if has("card") {
            Some(Self::Character)
        } else if has("history") {
            Some(Self::Chat)
        } else if only(&["book", "books"]) {
            Some(Self::Lorebook)
        } else if only(&["persona", "personas", "names"]) && (has("persona") || has("personas")) {
            Some(Self::Persona)
        } else if has("preset") || has("story") || has("instruct") || has("reasoning") || has("provider") {
            Some(Self::Preset)
        } else {
            None
        }
    }

    /// The kind of the part, as the pack's program `scene` knows it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Character => "character",
            Self::Preset => "preset",
            Self::Chat => "chat",
            Self::Lorebook => "lorebook",
            Self::Persona => "persona",
        }
    }

    /// The flag of the command line that takes such a file.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Character => "--character",
            Self::Preset => "--preset",
            Self::Chat => "--chat",
            Self::Lorebook => "--lorebook",
            Self::Persona => "--persona-file",
        }
    }

    /// The warning about a file that was given as `self` and is something else.
    pub fn mismatch(self, file: &str, format: &str, scene: &Value) -> Option<Diagnostic> {
        let is = Self::of(scene).filter(|is| *is != self)?;
        let name = |role: Self| if role == Self::Character { "card" } else { role.kind() };
        let message = format!("`{file}` is given as a {}, but it is a {} (`{format}`)", name(self), name(is));
        let help = format!("name it with `{}`, or with the key of that name in the scene file", is.flag());
        Some(Diagnostic::new(Code::ImportRole, message).help(help))
    }
}
