//! From files to a scene: containers are opened, foreign formats are read by the pack's own rules, and the parts are given
//! to the pack, whose program `scene` says which of them wins and fills in what no file says.

use std::path::Path;

use crate::build::{AssembledScene, ErrorKind, ScenePart, assemble_scene};
pub(crate) use tapster_door::clock::now as clock;
pub(crate) use tapster_door::scene::{SMALLER, SceneRole};
use tapster_door::scene::{SceneTexts, imported_before, read_contents, read_part, table};

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Severity, Sources, Span};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::import::{self, Contents};
use crate::inputs::files::{path_text, read_bytes};
use crate::inputs::library::{self, readers};
use crate::inputs::{self, BuildParts};
use crate::model::options::TABLE;
use crate::model::{Scene, Value};
use crate::output::{Console, WarningPlaces};
use crate::pack::{Ruleset, TypeMismatch};
use crate::program::foreign::ImportedDocument;

/// What the clock, the files and the flags give to the scene, in the order in which they are laid over one another.
pub(crate) fn scene_parts(parts: &BuildParts, rules: &Ruleset, show: &mut Console<'_>) -> Result<Vec<ScenePart>> {
    let mut given = Vec::new();
    if rules.programs().rules.names.knows_path("now") {
        given.push(ScenePart::new("clock", table("now", Value::text(parts.clock.clone().unwrap_or_else(clock)))));
    }
    for preset in &parts.presets {
        given.push(file_part(SceneRole::Preset, preset, rules, show)?);
    }
    if let Some(card) = &parts.character {
        given.push(file_part(SceneRole::Character, card, rules, show)?);
    }
    for book in &parts.lorebooks {
        given.push(file_part(SceneRole::Lorebook, book, rules, show)?);
    }
    if let Some(chat) = &parts.chat {
        given.push(file_part(SceneRole::Chat, chat, rules, show)?);
    }
    if let Some(file) = &parts.persona_file {
        given.push(file_part(SceneRole::Persona, file, rules, show)?);
    }
    given.push(ScenePart::new("file", parts.scene.clone()));
    given.push(ScenePart::new("flags", flag_values(parts)));
    let set = inputs::given_options(parts, rules);
    if !set.is_null() {
        inputs::check_options(parts, rules, &set)?;
        given.push(ScenePart::new("flags", table(TABLE, set)));
    }
    Ok(given)
}

/// The scene of a build.
pub(crate) fn assemble(parts: &BuildParts, rules: &Ruleset, show: &mut Console<'_>) -> Result<Scene> {
    let given = scene_parts(parts, rules, show)?;
    let AssembledScene { mut scene, warnings } = assemble_scene(rules, &given).map_err(|error| EarlyExit::build(&error, rules))?;
    if parts.strict && !warnings.is_empty() {
        let mut report = Report::default();
        warnings.into_iter().for_each(|warning| report.push(Diagnostic { severity: Severity::Error, ..warning }));
        return Err(EarlyExit::report(RunExit::No, report, rules.sources().clone()));
    }
    show.warnings(&warnings, rules.sources());
    // a table of `--set` replaces the one below it as a whole
    for (path, value) in parts.set.iter().filter(|(_, value)| value.as_map().is_some()) {
        scene.set(path, value.clone());
    }
    check_types(parts, rules, &scene, show)?;
    scene.strict = parts.strict;
    // a fixed seed, so that two runs give the same prompt
    scene.seed = parts.seed.clone().unwrap_or_else(|| "0".to_owned());
    scene.draws.clone_from(&parts.draws);
    Ok(scene)
}

/// Refuses values of the scene file and of flags that are not of their declared type. Those of other files are only warned
/// of, by the build.
fn check_types(parts: &BuildParts, rules: &Ruleset, scene: &Scene, show: &mut Console<'_>) -> Result<()> {
    let mut report = Report::default();
    for path in ["template", "task", "data"] {
        if parts.set.iter().any(|(given, _)| given == path) && !rules.programs().rules.names.knows_path(path) {
            let message = format!("pack `{}` has nothing that reads a `{path}`, so `--{path}` would have no effect", rules.pack().name);
            let help = "name a pack that renders templates; without `--pack` it is the one that has the template's task";
            report.push(Diagnostic::error(Code::SceneField, message).help(help));
        }
    }
    let mut found = rules.for_scenes().misfits(&scene.data);
    let placed = parts.top.iter().map(|(root, sources)| {
        // beside `scene`, a scene file has some of its paths as keys of its own
        let at = |path: &str| root.get("scene").and_then(|scene| scene.at(path)).or_else(|| root.at(path));
        WarningPlaces { told: warning_places(rules, &scene.data, at), sources: sources.clone() }
    });
    show.places = placed.collect();
    // a value of the file that is no table gives way to the tables of other parts
    found.extend(rules.for_scenes().misfits(&parts.scene));
    let mut told: Vec<String> = Vec::new();
    for misfit in found.into_iter().filter(|misfit| misfit.kind == TypeMismatch::Type) {
        if told.contains(&misfit.path) {
            continue;
        }
        told.push(misfit.path.clone());
        let written = parts.written.as_ref().and_then(|(node, _)| node.at(&misfit.path)).map(|(_, node)| node);
        let by_set = parts.set.iter().any(|(path, _)| *path == misfit.path);
        let by_now = misfit.path == "now" && parts.now.is_some();
        let complaint = Diagnostic::error(Code::SceneType, misfit.message).help(misfit.help);
        match written {
            _ if by_set => report.push(complaint.rule(format!("flag `--set {}=…`", misfit.path))),
            _ if by_now => report.push(complaint.rule("flag `--now`, or `now` of the scene file")),
            Some(node) => report.push(complaint.at(node.span)),
            None => {}
        }
    }
    if report.is_empty() {
        return Ok(());
    }
    let sources = parts.written.as_ref().map(|(_, sources)| sources.clone()).unwrap_or_default();
    Err(EarlyExit::report(RunExit::No, report, sources))
}

/// What a build warns of in the data of a scene, with the places: the key that no rule reads, else the value that does not
/// fit. `at` finds the key and the value at a path in the file; what another part of the inputs says has no place in it.
pub(crate) fn warning_places<'n>(
    rules: &Ruleset,
    data: &Value,
    at: impl Fn(&str) -> Option<(Span, &'n DocumentNode)>,
) -> Vec<(String, Span)> {
    let unread =
        rules.for_scenes().undeclared_paths(data).into_iter().filter_map(|found| Some((found.warning.message, at(&found.path)?.0)));
    let odd = rules.for_scenes().misfits(data).into_iter().filter_map(|misfit| {
        let (key, value) = at(&misfit.path)?;
        Some((misfit.message, if misfit.is_key { key } else { value.span }))
    });
    odd.chain(unread).collect()
}

/// What the keys of the scene file beside `scene`, and the flags, give to the scene.
fn flag_values(parts: &BuildParts) -> Value {
    let texts = SceneTexts {
        persona: parts.persona.as_deref(),
        dialect: parts.dialect.as_deref(),
        kind: parts.kind.as_deref(),
        now: parts.now.as_deref(),
        message: parts.message.as_deref(),
        seed: parts.seed.as_deref(),
    };
    let mut scene = texts.scene();
    for (path, value) in &parts.set {
        scene.set(path, value.clone());
    }
    scene.data
}

/// What a file gives to the scene.
fn file_part(role: SceneRole, file: &Path, rules: &Ruleset, show: &mut Console<'_>) -> Result<ScenePart> {
    let imported = open_foreign(file, show)?;
    let mut notes = Report::default();
    let part = read_part(role, &path_text(file), &imported, rules, &|document| suggest_readers(rules, document, None, show), &mut notes);
    show.report(&notes, &Sources::default());
    part.map_err(|refused| EarlyExit::new(RunExit::No, *refused))
}

/// Opens a foreign file and shows the warnings about its container.
pub(crate) fn open_foreign(file: &Path, show: &mut Console<'_>) -> Result<Contents> {
    let bytes = read_bytes(file, show)?;
    let imported = import::read(&path_text(file), &bytes).map_err(|report| EarlyExit::report(RunExit::No, report, Sources::default()))?;
    show.report(&imported.report, &Sources::default());
    Ok(imported)
}

/// Reads the document of an opened file by the formats of a pack. Without a pack it must be a document that `tapster
/// import` has written.
pub(crate) fn import_contents(
    file: &Path,
    imported: &Contents,
    rules: Option<&Ruleset>,
    format: Option<&str>,
    show: &mut Console<'_>,
) -> Result<ImportedDocument> {
    let Some(rules) = rules else { return imported_before(&main_document(imported, None)).ok_or_else(|| unknown_format(file)) };
    let mut notes = Report::default();
    let suggest = |document: &Value| suggest_readers(rules, document, format, show);
    let read = read_contents(&path_text(file), imported, rules, format, &suggest, &mut notes);
    show.report(&notes, &Sources::default());
    read.map_err(|refused| EarlyExit::new(RunExit::No, *refused))
}

/// The remedy for a document that this pack cannot read: the packs that can.
fn suggest_readers(own: &Ruleset, document: &Value, format: Option<&str>, show: &Console<'_>) -> String {
    let readers = library::readers(document, format, show);
    let Some((_, format)) = readers.first() else {
        return "no pack here reads it; `tapster ops --kinds --pack NAME` lists the formats of a pack".to_owned();
    };
    let flags: Vec<String> = readers.iter().map(|(rules, _)| format!("`--pack {}`", rules.pack().name)).collect();
    let has_all = |rules: &Ruleset| crate::build::dialects(own).iter().all(|d| crate::build::dialects(rules).contains(d));
    let too = if readers.iter().all(|(rules, _)| has_all(rules)) {
        format!(", which has all dialects of pack `{}` too", own.pack().name)
    } else {
        String::new()
    };
    format!("it is a `{format}`, which is read with {}{too}", flags.join(" or "))
}

fn unknown_format(file: &Path) -> EarlyExit {
    let message = format!("`{}` is of no format that a pack here reads", path_text(file));
    EarlyExit::new(RunExit::No, Diagnostic::new(Code::ImportFormat, message).help("name a pack with `--pack`; `tapster packs` lists them"))
}

/// The one document of a file that counts for a pack; a file with one object per line becomes `{ lines }`.
pub(crate) fn main_document(imported: &Contents, rules: Option<&Ruleset>) -> Value {
    rules.map_or_else(|| imported.whole([]), |rules| imported.whole(rules.card_chunks()))
}

/// A file of another program, as a pack reads it.
pub(crate) struct ForeignFile {
    /// The pack that is recommended for it.
    pub(crate) pack: String,
    /// The format that the pack recognises.
    pub(crate) format: String,
    /// The flag of a build that takes such a file.
    pub(crate) flag: &'static str,
}

/// The diagnostic about a file of another program where `wanted` was expected; `None` for a file that may be a rule file or
/// a scene file, and for one that does not exist.
pub(crate) fn foreign_file_diagnostic(path: &Path, wanted: &str, show: &mut Console<'_>) -> Option<Diagnostic> {
    let ForeignFile { pack, format, flag } = recognise_file(path, show)?;
    let file = path_text(path);
    let message = format!("`{file}` is not {wanted}: it is a `{format}`, which pack `{pack}` reads");
    let help = format!(
        "`tapster import {file} --report` says what becomes of its fields, and `tapster build --pack {pack} {flag} {file}` builds with it"
    );
    Some(Diagnostic::new(Code::SchemaKind, message).help(help))
}

/// Reads a file of another program; `None` as for [`of`].
pub(crate) fn recognise_file(path: &Path, show: &mut Console<'_>) -> Option<ForeignFile> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ending == "toml" || !path.is_file() {
        return None;
    }
    let bytes = read_bytes(path, show).ok()?;
    let contents = import::read(&path_text(path), &bytes).ok()?;
    let document = main_document(&contents, None);
    // a rule file says what kind it is, a template has a layout, and a scene mostly a pack
    if ["kind", "layout", "pack"].iter().any(|key| document.get(key).is_some()) {
        return None;
    }
    let found = readers(&document, None, show);
    let (rules, format) = found.first()?;
    let flag = match tapster::import_document(rules, Some(format), document) {
        Ok(brought) => SceneRole::of(&brought.scene).map_or("--preset", SceneRole::flag),
        // the build says that it takes too much work
        Err(error) if *error.kind() == ErrorKind::Bound => "--preset",
        Err(_) => return None,
    };
    Some(ForeignFile { pack: rules.pack().name.to_string(), format: format.clone(), flag })
}
