//! `tapster packs`: the packs that can be named.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Report, Sources};
use crate::model::Value;
use crate::pack::{Library, PackFiles, Schemas};

use crate::cli::inputs::library::shelf;
use crate::cli::layout::table;
use crate::cli::output::Show;
use crate::cli::stop::Exit;
use crate::cli::stop::Stop;

/// List the packs that can be named: those in `TAPSTER_PACKS`, those in `./rules`, and the shipped ones.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster packs
  tapster packs --format json
  TAPSTER_PACKS=~/packs:/srv/packs tapster packs")]
pub(in crate::cli) struct Packs {}

impl Packs {
    pub(in crate::cli) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
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

/// The description of a pack by its manifest.
fn about(pack: &PackFiles) -> Json {
    let manifest = pack.files.iter().find(|f| matches!(f.path_in_pack.as_str(), "pack.toml" | "pack.json"));
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let read = manifest.and_then(|f| crate::pack::read::read(f, &pack.name, &mut sources, Schemas::shipped(), &mut report));
    let text = |key: &str| read.as_ref().and_then(|d| d.root.get(key)?.as_text().map(str::to_owned)).unwrap_or_default();
    let extends = read.as_ref().and_then(|d| d.root.get("extends")).map(|n| Value::from(n).to_json()).unwrap_or(json!([]));
    let from = pack.folder.as_ref().map_or_else(|| "shipped".to_owned(), |f| f.display().to_string());
    json!({ "name": pack.name, "release": text("release"), "from": from, "about": text("about"), "extends": extends })
}
