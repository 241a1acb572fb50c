//! `tapster audit`: what a pack brings along, before one trusts it: capabilities, scripts, patterns, limits, files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value as Json, json};
use tapster_door::examine::PatternState;

use crate::diag::{Code, DocumentNode, NodeValue, Sources, limits};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::library::{is_shipped, pack_shelf};
use crate::inputs::pack_files::everything_in;
use crate::layout::{head, one_line, table};
use crate::model::Pack;
use crate::model::pack::Layer;
use crate::output::Console;
use crate::pack::files::{is_folder, is_pack, parent};
use crate::pack::library::{SHIPPED, files_of_shipped};
use crate::pack::{Overlay, Start, load};
use crate::text::script::{Script, ScriptRights};

/// Show what a pack brings along before you trust it: what its scripts may read and write, every script, regular expression,
/// limit, file and size, and the packs that it extends.
///
/// Nothing of the pack runs. The shipped packs below it are only counted; `--all` lists what they hold, too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster audit ./stranger
  tapster audit base --all
  tapster audit base --overlay tweak.toml        what an overlay adds
  tapster audit ./stranger --format json         the same for a program")]
pub(crate) struct AuditArgs {
    /// The pack: a folder or a name.
    #[arg(value_name = "PACK")]
    pack: String,
    /// Lay this overlay over the pack; it is examined like the pack itself.
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,
    /// List the scripts, regular expressions and files of the shipped packs below it, too.
    #[arg(long)]
    all: bool,
}

impl AuditArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let file = Path::new(&self.pack);
        if file.is_file() {
            let message = format!("`{}` is a file, not the folder of a pack", self.pack);
            let help = match file.extension().and_then(|ending| ending.to_str()) {
                Some("toml" | "json") => {
                    format!("`tapster audit PACK --overlay {}` examines an overlay with the pack that it is laid over", self.pack)
                }
                _ => format!(
                    "an archive is examined where it was unpacked: `tapster install {} --to DIR`, then `tapster audit DIR/NAME`",
                    self.pack
                ),
            };
            return Err(EarlyExit::could_not(Code::FileMissing, message, help));
        }
        show.near.extend(Some(file).filter(|file| is_folder(file) && is_pack(file)).and_then(parent));
        let overlays: Vec<Overlay> = self.overlay.iter().cloned().map(Overlay::Path).collect();
        let loaded = load(&Start::typed(&self.pack), &overlays, &pack_shelf(show));
        let Some(pack) = loaded.pack else { return Err(EarlyExit::report(RunExit::CouldNot, loaded.report, loaded.sources)) };
        let found = inventory(&pack, self.all)?;
        show.answer(&found, || inventory_text(&found));
        Ok(RunExit::Done)
    }
}

/// Everything that is found.
fn inventory(pack: &Pack, all: bool) -> Result<Json> {
    let comes_along = |layer: &Layer| layer.folder.as_ref().is_none_or(|folder| is_shipped(folder, &layer.name)) && !layer.overlay;
    let shipped: BTreeSet<&str> = pack.layers.iter().filter(|layer| comes_along(layer)).map(|layer| &*layer.name).collect();
    let own = |layer: &str| all || layer == pack.name.as_ref() || !shipped.contains(layer);
    let files = pack.layers.iter().map(|layer| files_of(layer, &pack.sources)).collect::<Result<Vec<_>>>()?;
    let layers = pack.layers.iter().zip(&files).map(|(layer, files)| {
        json!({
            "name": &*layer.name,
            "release": layer.release.to_string(),
            "overlay": layer.overlay,
            "shipped": shipped.contains(&*layer.name),
            "files": files.len(),
            "bytes": files.iter().filter_map(|file| file.bytes).sum::<u64>(),
            "capabilities": pack.rights.get(&layer.name).map(capabilities),
        })
    });
    let layers = layers.collect::<Vec<_>>();
    let listed = pack.layers.iter().zip(&files).filter(|(layer, _)| own(&layer.name));
    let row = |layer: &Layer, file: &LayerFile| json!({ "file": file.name, "layer": &*layer.name, "bytes": file.bytes, "is": file.is });
    let files: Vec<Json> = listed.flat_map(|(layer, files)| files.iter().map(move |file| row(layer, file))).collect();
    let mut looked = CodeInventory { sources: &pack.sources, own: &own, scripts: Vec::new(), patterns: Vec::new() };
    looked.files(pack);
    for (table, rows) in &pack.tables {
        for row in rows.values() {
            row.fields.iter().for_each(|(key, field)| looked.node(&format!("{table}/{}", row.name), key, &field.node, 0));
        }
    }
    pack.values.iter().for_each(|(key, field)| looked.node(key, key, &field.node, 0));
    let limits = pack.values.get("limits").map_or(json!({}), |field| field.node.to_json());
    Ok(json!({
        "pack": &*pack.name,
        "layers": layers,
        "limits": limits,
        "scripts": looked.scripts,
        "patterns": looked.patterns,
        "files": files,
    }))
}

/// A file that a layer brings along.
struct LayerFile {
    name: String,
    /// Its size; `None` for a link and whatever else is no file.
    bytes: Option<u64>,
    /// What it is to the pack.
    is: &'static str,
}

/// Every file of a layer: those that are read for a build, and those that only lie beside them.
fn files_of(layer: &Layer, sources: &Sources) -> Result<Vec<LayerFile>> {
    let read = sources.ids().filter_map(|id| sources.get(id)).filter(|source| source.layer == layer.name);
    let is = |name: &str| if name.ends_with(".rhai") { "script" } else { "rules or template" };
    let mut files: Vec<LayerFile> =
        read.map(|s| LayerFile { name: s.name.to_string(), bytes: Some(s.text.len() as u64), is: is(&s.name) }).collect();
    let known: BTreeSet<String> = files.iter().map(|file| file.name.clone()).collect();
    let beside: Vec<(String, Option<u64>)> = match &layer.folder {
        Some(folder) => {
            let place = |inside: &str| folder.join(inside).display().to_string().replace('\\', "/");
            everything_in(folder)?.into_iter().map(|(inside, bytes)| (place(&inside), bytes)).collect()
        }
        None if layer.overlay => Vec::new(),
        None => {
            files_of_shipped(&layer.name).map(|(inside, b)| (format!("{SHIPPED}{}/{inside}", layer.name), Some(b.len() as u64))).collect()
        }
    };
    let others = beside.into_iter().filter(|(name, _)| !known.contains(name));
    files.extend(others.map(|(name, bytes)| {
        let is_case = name.ends_with(".toml") && name.split('/').any(|part| part == "cases");
        let is = match (bytes, is_case) {
            (None, _) => "a link or no file",
            (Some(_), true) => "rule test",
            (Some(_), false) => "not read by a build",
        };
        LayerFile { name, bytes, is }
    }));
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn capabilities(rights: &Arc<ScriptRights>) -> Json {
    let words = |list: &[Arc<str>]| list.iter().map(|word| Json::from(&**word)).collect::<Vec<_>>();
    json!({ "reads": words(&rights.reads), "writes": words(&rights.writes) })
}

/// Scripts and patterns, as they are found.
struct CodeInventory<'a> {
    sources: &'a Sources,
    own: &'a dyn Fn(&str) -> bool,
    scripts: Vec<Json>,
    patterns: Vec<Json>,
}

impl CodeInventory<'_> {
    fn files(&mut self, pack: &Pack) {
        for (path, id) in &pack.assets {
            let Some(source) = pack.sources.get(*id).filter(|source| path.ends_with(".rhai") && (self.own)(&source.layer)) else {
                continue;
            };
            self.script(path.trim_start_matches("scripts/"), &source.name, &source.layer, &source.text);
        }
    }

    fn script(&mut self, name: &str, place: &str, layer: &str, text: &str) {
        // imports are looked for when a script runs, so one script can be read alone
        let (functions, refused) = match Script::compile(text) {
            Ok(script) => (script.functions().into_iter().map(|(name, args)| format!("{name}({args})")).collect(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        self.scripts.push(json!({
            "name": name, "place": place, "layer": layer, "bytes": text.len(), "lines": text.lines().count(),
            "functions": functions, "refused": refused,
        }));
    }

    fn node(&mut self, rule: &str, key: &str, node: &DocumentNode, depth: usize) {
        match &node.data {
            NodeValue::Text(text) => self.text(rule, key, text, node),
            NodeValue::List(list) if depth < limits::NESTING => list.iter().for_each(|node| self.node(rule, key, node, depth + 1)),
            NodeValue::Table(table) if depth < limits::NESTING => {
                table.iter().for_each(|(key, field)| {
                    // a pattern may also be the key of a table of replacements
                    self.node(rule, key, &field.node, depth + 1);
                });
            }
            _ => {}
        }
    }

    fn text(&mut self, rule: &str, key: &str, text: &str, node: &DocumentNode) {
        if !(self.own)(&self.sources.layer(node.span)) {
            return;
        }
        if key == "rhai" || key.ends_with(".rhai") {
            let Some(place) = self.sources.place(node.span) else { return };
            let name = if key == "rhai" { format!("condition in {rule}") } else { key.to_owned() };
            return self.script(&name, &place.to_string(), &place.layer, text);
        }
        let bare = key == "find" && rule.starts_with("script/") && !text.starts_with('/');
        let Some(PatternState { engine, state, why }) = PatternState::of(text, bare) else { return };
        let Some(place) = self.sources.place(node.span) else { return };
        self.patterns.push(json!({
            "pattern": text, "rule": rule, "place": place.to_string(), "layer": &*place.layer, "engine": engine, "state": state, "why": why,
        }));
    }
}

/// The same for a person.
fn inventory_text(found: &Json) -> String {
    let rows = |key: &str| found.get(key).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let cell = |row: &Json, key: &str| match row.get(key) {
        Some(Json::String(text)) => head(text, limits::QUOTED),
        Some(Json::Array(list)) => list.iter().map(|word| word.as_str().unwrap_or("").to_owned()).collect::<Vec<_>>().join(", "),
        Some(Json::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let mut out = String::from("packs, lowest first\n");
    out.push_str(&table(
        &rows("layers")
            .iter()
            .map(|row| {
                let kind = if row["overlay"] == true {
                    "overlay"
                } else if row["shipped"] == true {
                    "shipped"
                } else {
                    ""
                };
                vec![
                    cell(row, "name"),
                    cell(row, "release"),
                    kind.to_owned(),
                    format!("{} files", row["files"]),
                    format!("{} bytes", row["bytes"]),
                ]
            })
            .collect::<Vec<_>>(),
    ));
    out.push_str("\ncapabilities of scripts\n");
    let scripted: BTreeSet<&str> = rows("scripts").iter().filter_map(|row| row["layer"].as_str()).collect();
    let mut said = Vec::new();
    for row in rows("layers") {
        let name = row["name"].as_str().unwrap_or("");
        match &row["capabilities"] {
            Json::Null if scripted.contains(name) => {
                said.push(vec![
                    name.to_owned(),
                    "declares nothing: its scripts may read the whole scene and all items, and write all that a script can".to_owned(),
                ]);
            }
            Json::Null => {}
            declared => said.push(vec![
                name.to_owned(),
                format!("reads {}; writes {}", or_nothing(cell(declared, "reads")), or_nothing(cell(declared, "writes"))),
            ]),
        }
    }
    out.push_str(&table_or(said, "no scripts"));
    out.push_str("\nscripts\n");
    out.push_str(&table_or(
        rows("scripts")
            .iter()
            .map(|row| {
                let what = if row["refused"].is_null() { cell(row, "functions") } else { format!("refused: {}", cell(row, "refused")) };
                vec![cell(row, "name"), cell(row, "place"), format!("{} bytes", row["bytes"]), format!("{} lines", row["lines"]), what]
            })
            .collect(),
        "none",
    ));
    out.push_str("\nregular expressions\n");
    out.push_str(&table_or(
        rows("patterns")
            .iter()
            .map(|row| vec![cell(row, "state"), cell(row, "engine"), cell(row, "pattern"), cell(row, "place"), cell(row, "why")])
            .collect(),
        "none",
    ));
    out.push_str("\nlimits that the packs set\n");
    let limits = found.get("limits").and_then(Json::as_object).into_iter().flatten();
    out.push_str(&table_or(limits.map(|(key, value)| vec![key.clone(), value.to_string()]).collect(), "the default ones"));
    out.push_str("\nfiles\n");
    let size = |row: &Json| row["bytes"].as_u64().map(|bytes| format!("{bytes} bytes")).unwrap_or_default();
    let file = |row: &Json| row["file"].as_str().map(one_line).unwrap_or_default();
    out.push_str(&table_or(rows("files").iter().map(|row| vec![file(row), size(row), cell(row, "is")]).collect(), "none"));
    out
}

fn or_nothing(words: String) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words }
}

fn table_or(rows: Vec<Vec<String>>, none: &str) -> String {
    if rows.is_empty() { format!("  {none}\n") } else { table(&rows) }
}
