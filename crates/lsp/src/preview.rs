//! The prompt of a scene as blocks, each with the rule that made it, for a view beside the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lsp_types::{Position, TextDocumentIdentifier, Uri};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tapster::diag::{Code, Diagnostic, Report, SourceId, Sources, render};
use tapster::machinery::pack::files::{read_file, shown};
use tapster::machinery::pack::{DEFAULT_PACK, Overlay, PackLibrary, Ruleset, Start, json as json_reader, toml as toml_reader};
use tapster::model::Scene;
use tapster_door::diff::prompts::BuiltPrompt;
use tapster_door::examine::scene_warnings;
use tapster_door::explain::{condition::ConditionProbe, remedy::TrialBudget, why_not::BuildQuestion};
use tapster_door::request::SceneRequest;
use tapster_door::{Door, explain};

use crate::address::path_of;
use crate::document::{OpenDocument, OpenDocuments};
use crate::entry::entry_at;
use crate::files::{EditedPacks, clean_path};
use crate::subject::RuleText;

/// The name of the custom request.
pub(crate) const METHOD: &str = "tapster/preview";
/// The name of the command for editors without custom requests.
pub(crate) const COMMAND: &str = "tapster.preview";
/// Keys of a scene file that name files.
const FILE_KEYS: [&str; 5] = ["character", "preset", "chat", "lorebooks", "persona_file"];
/// Keys of a scene file about templates, which have a prompt of their own.
const TEMPLATE_KEYS: [&str; 3] = ["template", "task", "data"];

/// What is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviewParams {
    /// The scene: the address or the path of a scene file, or of its folder.
    pub(crate) scene: String,
    /// The address or path of the rules in the place of those that the scene names: a file of a pack, its folder, or an overlay.
    #[serde(default)]
    pub(crate) pack: Option<String>,
    /// The document in which the cursor is, and where: blocks of the rule there are marked.
    #[serde(default)]
    pub(crate) text_document: Option<TextDocumentIdentifier>,
    #[serde(default)]
    pub(crate) position: Option<Position>,
}

/// The path that a text names: an address, or a path itself.
pub(crate) fn named_path(text: &str) -> PathBuf {
    let address: Option<Uri> = text.parse().ok();
    address.as_ref().and_then(path_of).unwrap_or_else(|| PathBuf::from(text))
}

/// The end of the path that a text names, as people are shown it.
pub(crate) fn short_name(text: &str) -> String {
    let path = named_path(text);
    let parts: Vec<_> = path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// A scene file as it is read: what a build takes, and the rules that it names.
pub(crate) struct PreviewScene {
    file: PathBuf,
    request: SceneRequest,
    pub(crate) start: Start,
    pub(crate) overlays: Vec<Overlay>,
}

/// A preview: the answer, and how often each pass ran for it.
pub(crate) struct BuiltPreview {
    pub(crate) answer: Json,
    pub(crate) ran: HashMap<String, usize>,
}

/// How often the passes ran in the last preview.
pub(crate) struct PreviewRuns {
    /// The scene file, as people are shown it.
    pub(crate) scene: String,
    pub(crate) rules: Ruleset,
    /// By the name of a pass.
    pub(crate) ran: HashMap<String, usize>,
}

impl PreviewRuns {
    /// Whether the rules of the preview are made of a document.
    pub(crate) fn reads(&self, document: &OpenDocument) -> bool {
        let Some(name) = document.path.as_deref().map(shown) else { return false };
        let sources = self.rules.sources();
        sources.ids().any(|id| sources.get(id).is_some_and(|source| *source.name == *name))
    }
}

/// Why there is no preview.
pub(crate) type PreviewFailure = Vec<Json>;

fn failure(message: String, help: &str) -> PreviewFailure {
    let report = Report::from(Diagnostic::error(Code::SceneField, message).help(help));
    render::json(&report, &Sources::default()).as_array().cloned().unwrap_or_default()
}

impl PreviewScene {
    /// Reads a scene file, or the `scene.toml` of a folder, with the texts of open documents.
    pub(crate) fn read(path: &Path, documents: &OpenDocuments) -> Result<Self, PreviewFailure> {
        let file = if path.is_dir() { path.join("scene.toml") } else { path.to_owned() };
        let library = EditedPacks::new(&[], None, documents);
        let mut report = Report::default();
        let mut sources = Sources::default();
        let told = |report: &Report, sources: &Sources| render::json(report, sources).as_array().cloned().unwrap_or_default();
        let Some(read) = library.read_file(&file, &mut report) else { return Err(told(&report, &sources)) };
        let text = String::from_utf8_lossy(&read.bytes).trim_start_matches('\u{FEFF}').to_owned();
        let id: SourceId = sources.add(&read.name, "", &text);
        let is_json = file.extension().is_some_and(|ending| ending == "json");
        let root = if is_json { json_reader::parse(id, &text, &mut report) } else { toml_reader::parse(id, &text, &mut report) };
        let Some(Json::Object(mut keys)) = root.map(|root| root.to_json()) else { return Err(told(&report, &sources)) };
        let base = file.parent().unwrap_or(Path::new("")).to_owned();
        if let Some(key) = TEMPLATE_KEYS.iter().find(|key| keys.contains_key(**key)) {
            return Err(failure(format!("the scene has `{key}`: prompts of templates have no preview"), "use `tapster build`"));
        }
        for key in ["about", "$schema"] {
            keys.shift_remove(key);
        }
        let start = match keys.shift_remove("pack").as_ref().and_then(Json::as_str) {
            Some(name) => Start::named(name, clean_path(&base.join(name))),
            None => Start::Name(DEFAULT_PACK.to_owned()),
        };
        let overlays = paths(&keys.shift_remove("overlays").unwrap_or_default(), &base).into_iter().map(Overlay::Path).collect();
        for key in FILE_KEYS {
            let Some(named) = keys.get_mut(key) else { continue };
            let is_list = matches!(key, "preset" | "lorebooks");
            let mut parts = Vec::new();
            for path in paths(named, &base) {
                parts.push(file_content(&path, documents)?);
            }
            *named = if is_list { Json::Array(parts) } else { parts.into_iter().next().unwrap_or_default() };
        }
        if let Some(seed) = keys.get("seed").filter(|seed| seed.is_number()).map(ToString::to_string) {
            keys.insert("seed".to_owned(), Json::String(seed));
        }
        let request = serde_json::from_value(Json::Object(keys));
        let request =
            request.map_err(|error| failure(format!("the scene cannot be read: {error}"), "`tapster check` says what is wrong with it"))?;
        Ok(Self { file, request, start, overlays })
    }

    /// The scene by these rules at a time: `now`, else that of the file, else `default`.
    pub(crate) fn scene_at(&self, now: Option<&str>, default: &str, rules: &Ruleset, door: &Door) -> Result<Scene, PreviewFailure> {
        let mut request = self.request.clone();
        request.now = now.map(str::to_owned).or(request.now).or_else(|| Some(default.to_owned()));
        Ok(door.read_scene_for(rules, &request)?.0)
    }

    /// The prompt by these rules, as the preview shows it.
    pub(crate) fn build(
        &self,
        rules: &Ruleset,
        door: &Door,
        cursor: Option<(&OpenDocument, usize)>,
    ) -> Result<BuiltPreview, PreviewFailure> {
        let (mut scene, mut diagnostics) = door.read_scene_for(rules, &self.request)?;
        scene.trace = true;
        let json_of = |report: &Report| render::json(report, rules.sources()).as_array().cloned().unwrap_or_default();
        let prompt = BuiltPrompt::build(rules.clone(), &scene).map_err(|error| json_of(&error.diagnostic(rules).into()))?;
        diagnostics.extend(json_of(&prompt.warnings.iter().cloned().collect()));
        diagnostics.extend(json_of(&scene_warnings(rules, &scene, &prompt.plan)));
        let mut report = explain::as_json(&prompt.plan, rules);
        let row = cursor.and_then(|(document, offset)| {
            let names = &rules.programs().rules.names;
            let text = RuleText { text: &document.text, outline: document.outline(), pack: rules.pack(), names };
            let (table, _, name) = text.row_around(&text.outline.cursor(offset))?;
            Some((table, name?))
        });
        let entry = cursor.and_then(|(document, offset)| {
            let place = entry_at(document, document.path.as_ref() == Some(&self.file), offset, &scene.data)?;
            let probe = ConditionProbe::new(rules, &prompt.plan, &scene.data);
            BuildQuestion { probe: &probe, scene: &scene, budget: &TrialBudget::quick(&scene) }.entry_at(place)
        });
        let mut blocks = report.get_mut("blocks").map(Json::take).unwrap_or_default();
        for block in blocks.as_array_mut().into_iter().flatten() {
            let is_marked = row.as_ref().is_some_and(|(table, name)| is_of_row(block, table, name));
            if let Some(block) = block.as_object_mut() {
                block.insert("marked".to_owned(), is_marked.into());
            }
        }
        let mut ran: HashMap<String, usize> = HashMap::new();
        for pass in prompt.plan.trace.iter().flat_map(|trace| &trace.passes) {
            *ran.entry(pass.pass.clone()).or_default() += 1;
        }
        let answer = json!({
            "pack": report.get("pack"),
            "blocks": blocks,
            "trimReport": report.get("trim_report"),
            "payload": prompt.payload,
            "rule": row.map(|(table, name)| json!({ "table": table, "name": name })),
            "entry": entry,
            "diagnostics": diagnostics,
        });
        Ok(BuiltPreview { answer, ran })
    }
}

/// A preview that could not be made: what is wrong.
pub(crate) fn refused(diagnostics: PreviewFailure) -> Json {
    json!({ "blocks": [], "diagnostics": diagnostics })
}

/// Whether a row has made a block or done something to it.
fn is_of_row(block: &Json, table: &str, name: &str) -> bool {
    let is = |value: Option<&Json>| value.and_then(Json::as_str) == Some(name);
    match table {
        "pass" => block.get("history").and_then(Json::as_array).into_iter().flatten().any(|event| is(event.get("pass"))),
        "slot" | "region" => is(block.get("slot")) || is(block.get("id")),
        "budget_group" => is(block.get("group")),
        _ => is(block.get("id")),
    }
}

/// The paths of a text or a list of texts.
fn paths(named: &Json, base: &Path) -> Vec<PathBuf> {
    let one = std::slice::from_ref(named);
    let all = named.as_array().map_or(one, Vec::as_slice);
    all.iter().filter_map(Json::as_str).map(|path| clean_path(&base.join(path))).collect()
}

/// A file as the door takes it.
fn file_content(path: &Path, documents: &OpenDocuments) -> Result<Json, PreviewFailure> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(document) = documents.of_path(path) {
        return Ok(json!({ "name": name, "text": &*document.text }));
    }
    let mut report = Report::default();
    let Some(file) = read_file(path, &mut report) else {
        return Err(render::json(&report, &Sources::default()).as_array().cloned().unwrap_or_default());
    };
    let content: Map<String, Json> = match String::from_utf8(file.bytes) {
        Ok(text) => [("text".to_owned(), text.into())].into_iter().collect(),
        Err(bytes) => [("base64".to_owned(), STANDARD.encode(bytes.as_bytes()).into())].into_iter().collect(),
    };
    Ok(Json::Object([("name".to_owned(), name.into())].into_iter().chain(content).collect()))
}
