//! From files to a scene: containers are opened, foreign formats are read by the pack's own rules, and the parts are
//! merged in this order, later ones over earlier ones: preset < card < lorebooks < chat < persona < scene file < flags.
//!
//! The facts that no file holds are filled in here, and only here: names, the time, the new message, counts.

use std::path::Path;

use crate::assemble::import_document;
use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::import::{self, Container, Contents};
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;
use crate::program::foreign::Imported;

use crate::cli::inputs::files::bytes_of;
use crate::cli::inputs::files::shown;
use crate::cli::inputs::library;
use crate::cli::inputs::parts::Parts;
use crate::cli::inputs::role::Role;
use crate::cli::output::Show;
use crate::cli::stop::Exit;
use crate::cli::stop::Stop;

/// The scene of a build.
pub(in crate::cli) fn of(parts: &Parts, rules: &Ruleset, show: &mut Show<'_, '_>) -> Result<Scene, Stop> {
    let mut scene = Scene { data: Value::map(Map::default()), ..Scene::default() };
    let mut books = Vec::new();
    for preset in &parts.presets {
        lay(&mut scene, &mut books, brought(preset, Role::Preset, rules, show)?, "global", preset);
    }
    if let Some(card) = &parts.character {
        lay(&mut scene, &mut books, brought(card, Role::Character, rules, show)?, "character", card);
    }
    for book in &parts.lorebooks {
        lay(&mut scene, &mut books, brought(book, Role::Lorebook, rules, show)?, "global", book);
    }
    if let Some(chat) = &parts.chat {
        lay(&mut scene, &mut books, brought(chat, Role::Chat, rules, show)?, "chat", chat);
    }
    if let Some(file) = &parts.persona_file {
        persona(&mut scene, &mut books, file, rules, show)?;
    }
    if !books.is_empty() {
        scene.set("books", Value::list(books));
    }
    scene.merge(parts.scene.clone());
    flags(parts, &mut scene);
    facts(parts, rules, &mut scene);
    for (path, value) in &parts.set {
        scene.set(path, value.clone());
    }
    Ok(scene)
}

/// Sets the values of the flags, which override all files.
fn flags(parts: &Parts, scene: &mut Scene) {
    scene.strict = parts.strict;
    // a fixed seed, so that two runs give the same prompt
    scene.seed = parts.seed.clone().unwrap_or_else(|| "0".to_owned());
    for (path, value) in [("names.user", &parts.persona), ("dialect", &parts.dialect), ("type", &parts.kind), ("now", &parts.now)] {
        if let Some(value) = value {
            scene.set(path, Value::text(value.as_str()));
        }
    }
}

/// Fills in the facts that no file holds, if the pack uses them. A value that a file or the scene file has set stays.
fn facts(parts: &Parts, rules: &Ruleset, scene: &mut Scene) {
    let names = &rules.programs().rules.names;
    let fill = |scene: &mut Scene, path: &str, value: Value| {
        if scene.get(path).is_null() && !value.is_null() && names.knows_path(path) {
            scene.set(path, value);
        }
    };
    let card_name = scene.get("card.name");
    fill(scene, "names.char", card_name);
    fill(scene, "names.user", Value::text("User"));
    fill(scene, "now", Value::text(clock()));
    if parts.chat.is_none() {
        fill(scene, "chat.greeting", Value::Int(0));
    }
    if let Some(message) = &parts.message {
        // the pack decides how it becomes a message
        scene.set("input", Value::text(message.as_str()));
        fill(scene, "turn.is_user_input", Value::Bool(true));
        fill(scene, "turn.activation_text", Value::text(message.as_str()));
    }
    let history = scene.get("history");
    let messages = history.as_list().unwrap_or(&[]);
    let of_user = messages.iter().filter(|m| m.get("role").and_then(Value::as_str) == Some("user")).count();
    fill(scene, "chat.length", count(messages.len()));
    fill(scene, "turn_count", count(of_user));
}

/// The time now. This is the only place that reads the clock: a build takes the time from its scene.
pub(in crate::cli) fn clock() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

fn count(n: usize) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Merges a part over the scene. Its lorebooks are collected separately, because a list would replace the list below
/// it, while books add up.
fn lay(scene: &mut Scene, books: &mut Vec<Value>, brought: Imported, role: &str, file: &Path) {
    let mut part = brought.scene;
    if let Value::Map(map) = &mut part {
        let map = std::sync::Arc::make_mut(map);
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let one = map.shift_remove("book").into_iter().filter(|b| !b.is_empty());
        let many = map.shift_remove("books").and_then(|b| b.as_list().map(<[Value]>::to_vec)).unwrap_or_default();
        books.extend(one.chain(many).map(|book| shelved(book, role, &stem)));
    }
    scene.merge(part);
}

/// A book with an id and the role of the file that contained it.
fn shelved(book: Value, role: &str, stem: &str) -> Value {
    let mut own = Map::default();
    own.insert("role".into(), Value::text(role));
    let has_id = book.get("id").is_some_and(|id| !id.is_empty());
    if !has_id {
        let name = book.get("name").filter(|n| !n.is_empty()).cloned();
        own.insert("id".into(), name.unwrap_or_else(|| Value::text(stem)));
    }
    Value::map(own).over(book)
}

fn persona(scene: &mut Scene, books: &mut Vec<Value>, file: &Path, rules: &Ruleset, show: &mut Show<'_, '_>) -> Result<(), Stop> {
    let imported = opened(file, show)?;
    if imported.container == Container::Text {
        let text = imported.main().and_then(|d| d.json.as_str()).unwrap_or("").trim_end().to_owned();
        scene.set("persona.text", Value::text(text));
        return Ok(());
    }
    let brought = bring_in(file, &imported, Some(rules), None, show)?;
    if let Some(mistaken) = Role::Persona.mistaken(file, &brought.format, &brought.scene) {
        show.note(mistaken);
    }
    lay(scene, books, brought, "persona", file);
    Ok(())
}

fn brought(file: &Path, role: Role, rules: &Ruleset, show: &mut Show<'_, '_>) -> Result<Imported, Stop> {
    let imported = opened(file, show)?;
    let brought = bring_in(file, &imported, Some(rules), None, show)?;
    if let Some(mistaken) = role.mistaken(file, &brought.format, &brought.scene) {
        show.note(mistaken);
    }
    Ok(brought)
}

/// Opens a foreign file and shows the warnings about its container.
pub(in crate::cli) fn opened(file: &Path, show: &mut Show<'_, '_>) -> Result<Contents, Stop> {
    let bytes = bytes_of(file, show)?;
    let imported = import::read(&shown(file), &bytes).map_err(|report| Stop::report(Exit::No, report, Sources::default()))?;
    show.report(&imported.report, &Sources::default());
    Ok(imported)
}

/// Reads the document of an opened file by the formats of a pack. Without a pack it must be a document that `tapster
/// import` has written.
pub(in crate::cli) fn bring_in(
    file: &Path,
    imported: &Contents,
    rules: Option<&Ruleset>,
    format: Option<&str>,
    show: &mut Show<'_, '_>,
) -> Result<Imported, Stop> {
    let document = document(imported);
    if let Some(own) = canonical(&document) {
        return Ok(own);
    }
    let Some(rules) = rules else { return Err(not_known(file)) };
    let brought = import_document(rules, format, &document).map_err(|error| {
        let message = format!("`{}`: {}", shown(file), error.message);
        Stop::new(Exit::No, Diagnostic::new(Code::ImportFormat, message).help(another_pack(rules, &document, format, show)))
    })?;
    let mut report = Report::default();
    for warning in &brought.warnings {
        let diagnostic = Diagnostic::new(Code::ImportValue, format!("`{}`: {warning}", shown(file)));
        report.push(diagnostic.help("`tapster import --report` shows what became of each field"));
    }
    show.report(&report, &Sources::default());
    Ok(brought)
}

/// The remedy for a document that this pack cannot read: the packs that can.
fn another_pack(own: &Ruleset, document: &serde_json::Value, format: Option<&str>, show: &Show<'_, '_>) -> String {
    let readers = library::readers(document, format, show);
    let Some((_, format)) = readers.first() else {
        return "no pack here reads it; `tapster ops --kinds --pack NAME` lists the formats of a pack".to_owned();
    };
    let flags: Vec<String> = readers.iter().map(|(rules, _)| format!("`--pack {}`", rules.pack().name)).collect();
    let has_all = |rules: &Ruleset| crate::emit::dialects(own).iter().all(|d| crate::emit::dialects(rules).contains(d));
    let too = if readers.iter().all(|(rules, _)| has_all(rules)) {
        format!(", which has all dialects of pack `{}` too", own.pack().name)
    } else {
        String::new()
    };
    format!("it is a `{format}`, which is read with {}{too}", flags.join(" or "))
}

fn not_known(file: &Path) -> Stop {
    let message = format!("`{}` is of no format that a pack here reads", shown(file));
    Stop::new(Exit::No, Diagnostic::new(Code::ImportFormat, message).help("name a pack with `--pack`; `tapster packs` lists them"))
}

/// The one document of a file; a file with one object per line becomes `{ lines }`.
pub(in crate::cli) fn document(imported: &Contents) -> serde_json::Value {
    if imported.container == Container::Jsonl {
        let lines: Vec<_> = imported.documents.iter().map(|d| d.json.clone()).collect();
        return serde_json::json!({ "lines": lines });
    }
    imported.main().map(|d| d.json.clone()).unwrap_or_default()
}

/// A document that `tapster import` has written: `format`, `scene` and `rest`, and nothing else.
fn canonical(document: &serde_json::Value) -> Option<Imported> {
    let table = document.as_object().filter(|t| t.len() == 3)?;
    let (format, scene, rest) = (table.get("format")?.as_str()?, table.get("scene")?, table.get("rest")?);
    scene.is_object().then(|| Imported { format: format.to_owned(), scene: scene.into(), rest: rest.into(), ..Imported::default() })
}
