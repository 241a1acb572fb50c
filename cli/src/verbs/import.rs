//! `tapster import`: converts a foreign file to the fields of a scene, and reports what happened to each of its fields.

use std::path::PathBuf;

use clap::Args;

use crate::build::ErrorKind;
use crate::exit::{Result, RunExit};
use crate::import::Contents;
use crate::inputs::library::{open_pack, pack_shelf};
use crate::inputs::scene::{import_contents, main_document, open_foreign};
use crate::model::Value;
use crate::output::Console;
use crate::pack::library::shipped_readers;
use crate::pack::{Overlay, PackLibrary, Ruleset, Start};
use crate::verbs::lost_fields;

/// Turn a card, preset, lorebook or chat of another program into JSON: `format`, `scene`, and `rest`, the fields that
/// no rule reads. Importing that JSON again gives the same result.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster import card.png
  tapster import card.png --report              what became of each field
  tapster import preset.json --pack my-pack --as my_preset
  tapster import card.png --overlay mine.toml    with changed rules
  cat chat.jsonl | tapster import - > chat.json")]
pub(crate) struct ImportArgs {
    /// A PNG or CHARX card, a packed module or preset, a JSON or JSONL file; `-` is standard input.
    file: PathBuf,
    /// The pack that reads it; by default the first pack here that knows the format.
    #[arg(long)]
    pack: Option<String>,
    /// Rule files that are merged over the pack, in order; they may redirect fields of a format.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    overlay: Vec<PathBuf>,
    /// The format, by name; by default it is recognised by content.
    #[arg(long = "as", id = "as", value_name = "FORMAT")]
    known_as: Option<String>,
    /// Print, instead of the JSON, what was kept, mapped, approximated or dropped.
    #[arg(long)]
    report: bool,
}

/// What an import prints; it is written without being copied.
#[derive(serde::Serialize)]
struct ImportOutput<'a> {
    format: &'a str,
    scene: &'a Value,
    rest: &'a Value,
}

impl ImportArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let contents = open_foreign(&self.file, show)?;
        let rules = match &self.pack {
            Some(pack) => Some(open_pack(&Start::typed(pack), &self.overlays(), show)?),
            None => self.reader(&contents, show)?,
        };
        let brought = import_contents(&self.file, &contents, rules.as_ref(), self.known_as.as_deref(), show)?;
        if self.report {
            lost_fields::report_fields(&brought, &contents, &self.file, show);
        } else {
            show.json(&ImportOutput { format: &brought.format, scene: &brought.scene, rest: &brought.rest });
        }
        Ok(RunExit::Done)
    }

    fn overlays(&self) -> Vec<Overlay> {
        self.overlay.iter().cloned().map(Overlay::Path).collect()
    }

    /// The first pack of the library that recognises the document, those for most formats first. If none does with the
    /// overlays, the one that does without them says what is wrong with them.
    fn reader(&self, contents: &Contents, show: &mut Console<'_>) -> Result<Option<Ruleset>> {
        let shelf = pack_shelf(show);
        let first = |overlays: &[Overlay]| {
            let rank = |name: &String| shipped_readers().iter().position(|reader| reader == name).unwrap_or(usize::MAX);
            let mut names = shelf.names();
            names.sort_by_key(rank);
            names.into_iter().find(|name| {
                let rules = Ruleset::load(&Start::Name(name.clone()), overlays, &shelf).ok();
                let rules = rules.filter(|rules| !rules.programs().formats.is_empty());
                // a document that takes too much work is recognised too
                rules.is_some_and(|rules| {
                    let brought = tapster::import_document(&rules, self.known_as.as_deref(), main_document(contents, Some(&rules)));
                    brought.map_or_else(|error| *error.kind() == ErrorKind::Bound, |_| true)
                })
            })
        };
        let overlays = self.overlays();
        let found = first(&overlays).or_else(|| if overlays.is_empty() { None } else { first(&[]) });
        found.map(|name| open_pack(&Start::Name(name), &overlays, show)).transpose()
    }
}
