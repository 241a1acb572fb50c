//! `scene.toml`: a build's inputs in a file, with paths relative to it. JSON with the same keys is also accepted.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, DocumentNode, Help, NodeValue, Report, Sources, TableField};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{read_bytes, too_costly};
use crate::inputs::library::{self, beside_scene};
use crate::inputs::{BuildParts, TemplateReference, scene};
use crate::layout::head;
use crate::model::{Scene, Value};
use crate::output::Console;
use crate::pack::files::{is_folder, read_file};
use crate::pack::{Overlay, Schemas, Start, json, load_read, toml};
use crate::testing::case::{CaseAction, TestCase, holds_cases, read_path};
use crate::testing::play::CASE_TIME;

/// The name of the scene file in a folder.
pub(crate) const NAME: &str = "scene.toml";

/// Every key, in the order of the documentation.
pub(crate) const KEYS: &[&str] = &[
    "about",
    "pack",
    "overlays",
    "character",
    "preset",
    "chat",
    "lorebooks",
    "persona",
    "persona_file",
    "message",
    "dialect",
    "type",
    "seed",
    "draws",
    "now",
    "strict",
    "template",
    "task",
    "data",
    "option",
    "scene",
];

/// Reads a scene file; a folder means the `scene.toml` in it, `-` standard input.
pub(crate) fn read(path: &Path, show: &mut Console<'_>) -> Result<BuildParts> {
    let file = if is_folder(path) { path.join(NAME) } else { path.to_owned() };
    let bytes = read_bytes(&file, show)?;
    let base = file.parent().unwrap_or(Path::new("")).to_owned();
    let shown = if path == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    parse(&shown, &bytes, &base, show).map_err(|stop| match scene::foreign_file_diagnostic(&file, "a scene file", show) {
        Some(said) => EarlyExit::new(RunExit::No, said),
        None => stop,
    })
}

/// Reads the text of a scene file; paths in it begin at `base`.
pub(crate) fn parse(shown: &str, bytes: &[u8], base: &Path, show: &mut Console<'_>) -> Result<BuildParts> {
    parse_beside(shown, bytes, base, &[], show)
}

/// As [`parse`], with keys that the caller reads itself.
pub(crate) fn parse_beside(
    shown: &str,
    bytes: &[u8],
    base: &Path,
    beside: &'static [&'static str],
    show: &mut Console<'_>,
) -> Result<BuildParts> {
    let (sources, report) = (Sources::default(), Report::default());
    let mut reader = SceneReader { base: base.to_owned(), sources, report, parts: BuildParts::default(), beside };
    reader.document(shown, bytes);
    if reader.report.has_errors() {
        return Err(EarlyExit::report(RunExit::No, reader.report, reader.sources));
    }
    show.report(&reader.report, &reader.sources);
    show.near.extend(library::beside_scene(&reader.base));
    Ok(reader.parts)
}

struct SceneReader {
    base: PathBuf,
    sources: Sources,
    report: Report,
    parts: BuildParts,
    /// Keys that the caller reads itself.
    beside: &'static [&'static str],
}

impl SceneReader {
    fn document(&mut self, shown: &str, bytes: &[u8]) {
        if let Some(complaint) = too_costly(&format!("`{shown}`"), bytes) {
            self.report.push(complaint);
            return;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            let complaint = Diagnostic::new(Code::FileEncoding, format!("`{shown}` is not valid UTF-8"));
            self.report.push(complaint.help("save it as UTF-8"));
            return;
        };
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let source = self.sources.add(shown, "", text);
        let is_json = shown.ends_with(".json") || text.trim_start().starts_with('{');
        let root = if is_json { json::parse(source, text, &mut self.report) } else { toml::parse(source, text, &mut self.report) };
        let Some(root) = root else { return };
        let Some(table) = root.as_table() else {
            let complaint = Diagnostic::new(Code::SchemaType, format!("a scene file is a table, but this is {}", root.kind()));
            self.report.push(complaint.at(root.span).help("begin it with `pack = \"…\"`"));
            return;
        };
        for (key, field) in table {
            self.key(key, field);
        }
        self.parts.top = Some((root.clone(), self.sources.clone()));
    }

    fn key(&mut self, key: &str, field: &TableField) {
        let node = &field.node;
        match key {
            "about" => {}
            _ if self.beside.contains(&key) => {}
            "pack" => {
                self.parts.pack = self.text(node).map(|t| self.pack(&t));
                self.parts.pack_at = Some(node.span);
            }
            "overlays" => self.parts.overlays = self.files(node).into_iter().map(Overlay::Path).collect(),
            "character" => self.parts.character = self.file(node),
            "preset" => self.parts.presets = self.files(node),
            "chat" => self.parts.chat = self.file(node),
            "lorebooks" => self.parts.lorebooks = self.files(node),
            "persona" => self.parts.persona = self.text(node),
            "persona_file" => self.parts.persona_file = self.file(node),
            "message" => self.parts.message = self.text(node),
            "dialect" => self.parts.dialect = self.text(node),
            "type" => self.parts.kind = self.text(node),
            "seed" => self.parts.seed = self.seed(node),
            "draws" => self.parts.draws = self.draws(node),
            "now" => self.parts.now = self.text(node),
            "strict" => match node.as_bool() {
                Some(strict) => self.parts.strict = strict,
                None => self.wrong(node, "`true` or `false`"),
            },
            "template" => self.parts.template = self.text(node).map(|t| TemplateReference::typed(&t, &self.base)),
            "task" => self.parts.task = self.text(node),
            "data" => self.parts.data = self.file(node),
            "scene" if node.as_table().is_some() => {
                let (scene, twice) = Scene::of_written(Value::from(node));
                self.parts.scene = scene;
                if let Some((key, span)) = twice.and_then(|key| node.as_table()?.get(&key).map(|field| (key.clone(), field.key))) {
                    let complaint = Diagnostic::new(Code::SyntaxDuplicate, format!("`{key}` gives a value that another key gives too"));
                    self.report.push(complaint.at(span).help("keep one of them: `\"a.b\"` and `a.b` are the same path"));
                }
                self.parts.written = Some((node.clone(), self.sources.clone()));
            }
            "option" if node.as_table().is_some() => self.parts.option = Some(node.clone()),
            "scene" | "option" => self.wrong(node, "a table"),
            "$schema" => {}
            _ => {
                let help = self.report.words.nearest(key, KEYS.iter().copied()).map_or_else(
                    || format!("known here: {}; paths of the scene stand below `[scene]`", KEYS.join(", ")).into(),
                    Help::from,
                );
                let complaint = Diagnostic::new(Code::SchemaUnknownKey, format!("a scene file has no key `{key}`"));
                self.report.push(complaint.at(field.key).help(help));
            }
        }
    }

    fn text(&mut self, node: &DocumentNode) -> Option<String> {
        let text = node.as_text().map(str::to_owned);
        if text.is_none() {
            self.wrong(node, "a text");
        }
        text
    }

    fn seed(&mut self, node: &DocumentNode) -> Option<String> {
        if let NodeValue::Int(n) = node.data { Some(n.to_string()) } else { self.text(node) }
    }

    /// Numbers from 0 up to, but not including, 1.
    fn draws(&mut self, node: &DocumentNode) -> Option<Vec<f64>> {
        let number = |node: &DocumentNode| Value::from(node).as_f64().filter(|n| (0.0..1.0).contains(n));
        let draws: Option<Vec<f64>> = node.as_list().and_then(|list| list.iter().map(number).collect());
        if draws.is_none() {
            self.wrong(node, "a list of numbers from 0 up to, but not including, 1");
        }
        draws
    }

    fn file(&mut self, node: &DocumentNode) -> Option<PathBuf> {
        self.text(node).map(|t| self.base.join(t))
    }

    /// One path or a list of them.
    fn files(&mut self, node: &DocumentNode) -> Vec<PathBuf> {
        let one = std::slice::from_ref(node);
        let nodes = node.as_list().unwrap_or(one);
        nodes.iter().filter_map(|n| self.file(n)).collect()
    }

    /// The folder of a pack, relative to the scene file, or the name of a pack.
    fn pack(&self, text: &str) -> Start {
        Start::named(text, self.base.join(text))
    }

    fn wrong(&mut self, node: &DocumentNode, wanted: &str) {
        let complaint = Diagnostic::new(Code::SchemaType, format!("this must be {wanted}, but it is {}", node.kind()));
        self.report.push(complaint.at(node.span).help(format!("write {wanted}")));
    }
}

/// The most cases that are named where one is to be chosen.
const MAX_NAMED: usize = 20;

/// The case file that a path names, and the name behind its `#`.
pub(crate) fn find_case_file(path: &Path) -> Option<(PathBuf, Option<&str>)> {
    let holds = |path: &Path| {
        let file = Some(path).filter(|path| path.is_file()).and_then(|path| read_file(path, &mut Report::default()));
        file.and_then(|file| load_read(&file, Schemas::shipped()).0).is_some_and(|doc| holds_cases(&doc))
    };
    if path.exists() {
        return holds(path).then(|| (path.to_owned(), None));
    }
    let (file, name) = path.to_str()?.split_once('#')?;
    holds(Path::new(file)).then(|| (PathBuf::from(file), Some(name)))
}

/// The inputs that a case gives to a build: its pack with its overlays, its scene, time, seed and draws.
pub(crate) fn read_case(path: &Path, name: Option<&str>, show: &mut Console<'_>) -> Result<BuildParts> {
    show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
    let file = read_path(path).map_err(|wrong| EarlyExit::report(RunExit::CouldNot, *wrong.report, *wrong.sources))?;
    let case = find_case(&file.cases, path, name)?;
    let [turn] = case.turns.as_slice() else {
        return Err(no_prompt(case, "it has several turns", "write the turn that is meant as a case of its own"));
    };
    match &turn.action {
        CaseAction::Expand(_) => return Err(no_prompt(case, "it expands texts", "`tapster test` runs it")),
        CaseAction::Import { .. } => return Err(no_prompt(case, "it reads a document", "`tapster test` runs it")),
        CaseAction::Run(_) if !turn.given.lists.is_empty() => {
            return Err(no_prompt(
                case,
                "it gives items of lists to programs, which a build fills from the scene",
                "`tapster test` runs it",
            ));
        }
        CaseAction::Run(_) | CaseAction::Build | CaseAction::Payload(_) => {}
    }
    let given = &turn.given;
    let mut parts = match &given.scene_file {
        Some(scene) => read(&file.base.join(scene), show)?,
        None => BuildParts::default(),
    };
    (parts.pack, parts.pack_at) = (Some(file.pack.clone()), None);
    parts.overlays = file.overlays.iter().cloned().chain(file.overlays_of(case)).collect();
    parts.scene = Value::from(&given.scene).over(parts.scene);
    if let CaseAction::Payload(Some(dialect)) = &turn.action {
        parts.dialect = Some(dialect.clone());
    }
    parts.now = given.now.clone().or(parts.now).or_else(|| Some(CASE_TIME.to_owned()));
    parts.seed = given.seed.clone().or(parts.seed);
    parts.draws = Some(given.draws.clone());
    parts.strict |= given.strict;
    Ok(parts)
}

/// The case of this name; without a name, the only one.
fn find_case<'c>(cases: &'c [TestCase], path: &Path, name: Option<&str>) -> Result<&'c TestCase> {
    let found = match (name, cases) {
        (Some(name), _) => cases.iter().find(|case| case.name == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let names: Vec<String> = cases.iter().take(MAX_NAMED).map(|case| format!("`{}`", head(&case.name, 60))).collect();
        let more = if cases.len() > MAX_NAMED { " …" } else { "" };
        let message = match name {
            Some(name) => format!("`{}` has no case `{}`", path.display(), head(name, 60)),
            None => format!("`{}` has {} cases", path.display(), cases.len()),
        };
        let help = format!("write `{}#NAME`, with one of {}{more}", path.display(), names.join(", "));
        EarlyExit::could_not(Code::NameUnknown, message, help)
    })
}

fn no_prompt(case: &TestCase, why: &str, help: &str) -> EarlyExit {
    EarlyExit::could_not(Code::SceneField, format!("case `{}` gives no prompt: {why}", head(&case.name, 60)), help)
}
