//! Where packs are looked for, and `tapster packs`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, Report, Sources};
use crate::model::Value;
use crate::pack::files::packs_in;
use crate::pack::library::shipped_readers;
use crate::pack::{Library, Overlay, PackFiles, Ruleset, Schemas, Shelf, Start};

use super::show::{Show, table};
use super::{Exit, Io, Stop};

/// The pack that is used where none is named.
pub(super) const DEFAULT_PACK: &str = "base";

/// What `--pack` is, and which of the shipped packs read files of other programs.
pub(super) fn pack_help() -> String {
    let readers: Vec<String> = shipped_readers().iter().map(|name| format!("`{name}`")).collect();
    format!(
        "The rules: a pack's folder or name [default: {DEFAULT_PACK}]. `{DEFAULT_PACK}` reads no cards, presets, lorebooks or chats of \
         other programs; {} does, and has all dialects of `{DEFAULT_PACK}` too",
        readers.join(" or ")
    )
}

/// Examples of a verb: `READER` in them is a shipped pack that reads files of other programs.
pub(super) fn examples(text: &str) -> String {
    text.replace("READER", shipped_readers().first().map_or("PACK", String::as_str))
}

/// The packs here that know a document, each with the format that it knows it as, in the order of their names.
pub(super) fn readers(document: &Json, format: Option<&str>, show: &Show<'_, '_>) -> Vec<(Ruleset, String)> {
    let shelf = shelf(show.io);
    let read = |name: String| {
        let rules = Ruleset::load(&Start::Name(name), &[], &shelf).ok()?;
        let brought = crate::import_document(&rules, format, document).ok()?;
        Some((rules, brought.format))
    };
    shelf.names().into_iter().filter_map(read).collect()
}

/// The library: the folders of `TAPSTER_PACKS`, then `./rules` if it holds packs, then the shipped packs.
pub(super) fn shelf(io: &Io<'_>) -> Shelf {
    let named = (io.env)("TAPSTER_PACKS").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&named).filter(|p| !p.as_os_str().is_empty()).collect();
    let here = Path::new("rules");
    if !packs_in(here).is_empty() {
        folders.push(here.to_owned());
    }
    Shelf { folders, bare: false }
}

/// Loads and compiles a pack; what it warns of is shown.
pub(super) fn open(start: &Start, overlays: &[Overlay], show: &mut Show<'_, '_>) -> Result<Ruleset, Stop> {
    let rules = Ruleset::load(start, overlays, &shelf(show.io)).map_err(Stop::rejected)?;
    // advice to authors of templates is what `check` is for
    let mut warnings = rules.warnings().clone();
    warnings.retain(|d| !matches!(d.code, Code::TemplateUnused | Code::TemplateBudget | Code::TemplateDoubtful));
    show.report(&warnings, &rules.pack().sources);
    Ok(rules)
}

/// List the packs that can be named: those of `TAPSTER_PACKS`, of `./rules`, and those inside the program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster packs
  tapster packs --format json
  TAPSTER_PACKS=~/packs:/srv/packs tapster packs")]
pub(super) struct Packs {}

impl Packs {
    pub(super) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let shelf = shelf(show.io);
        let mut report = Report::default();
        let packs: Vec<Json> = shelf.names().iter().filter_map(|n| shelf.find(n, &mut report)).map(|f| about(&f)).collect();
        show.report(&report, &Sources::default());
        if show.is_json() {
            show.json(&Json::Array(packs));
            return Ok(Exit::Done);
        }
        let text = |p: &Json, key: &str| p.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
        let rows: Vec<Vec<String>> =
            packs.iter().map(|p| ["name", "release", "from", "about"].iter().map(|k| text(p, k)).collect()).collect();
        show.result(&table(&rows));
        Ok(Exit::Done)
    }
}

/// What the manifest says.
fn about(pack: &PackFiles) -> Json {
    let manifest = pack.files.iter().find(|f| matches!(f.path_in_pack.as_str(), "pack.toml" | "pack.json"));
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let read = manifest.and_then(|f| crate::pack::read::read(f, &pack.name, &mut sources, Schemas::shipped(), &mut report));
    let text = |key: &str| read.as_ref().and_then(|d| d.root.get(key)?.as_text().map(str::to_owned)).unwrap_or_default();
    let extends = read.as_ref().and_then(|d| d.root.get("extends")).map(|n| Value::from(n).to_json()).unwrap_or(json!([]));
    let from = pack.folder.as_ref().map_or_else(|| "shipped".to_owned(), |f| f.display().to_string());
    json!({ "name": pack.name, "release": text("release"), "from": from, "about": text("about"), "extends": extends })
}
