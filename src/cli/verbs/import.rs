//! `tapster import`: converts a foreign file to the fields of a scene, and reports what happened to each of its fields.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::import::Contents;
use crate::pack::{Library, Ruleset, Start};

use crate::cli::inputs::library::open;
use crate::cli::inputs::library::shelf;
use crate::cli::inputs::scene::bring_in;
use crate::cli::inputs::scene::document;
use crate::cli::inputs::scene::opened;
use crate::cli::output::Show;
use crate::cli::stop::Exit;
use crate::cli::stop::Stop;
use crate::cli::verbs::fields;

/// Turn a card, preset, lorebook or chat of another program into JSON: `format`, `scene`, and `rest`, the fields that
/// no rule reads. Importing that JSON again gives the same result.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster import card.png
  tapster import card.png --report              what became of each field
  tapster import preset.json --pack my-pack --as my_preset
  cat chat.jsonl | tapster import - > chat.json")]
pub(in crate::cli) struct Import {
    /// A PNG or CHARX card, a packed module or preset, a JSON or JSONL file; `-` is standard input.
    file: PathBuf,
    /// The pack that reads it; by default the first pack here that knows the format.
    #[arg(long)]
    pack: Option<String>,
    /// The format, by name; by default it is recognised by content.
    #[arg(long = "as", id = "as", value_name = "FORMAT")]
    known_as: Option<String>,
    /// Print, instead of the JSON, what was kept, mapped, approximated or dropped.
    #[arg(long)]
    report: bool,
}

impl Import {
    pub(in crate::cli) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let contents = opened(&self.file, show)?;
        let rules = match &self.pack {
            Some(pack) => Some(open(&Start::typed(pack), &[], show)?),
            None => self.reader(&contents, show),
        };
        let brought = bring_in(&self.file, &contents, rules.as_ref(), self.known_as.as_deref(), show)?;
        if self.report {
            fields::report(&brought, &contents, &self.file, show);
        } else {
            show.json(&json!({ "format": brought.format, "scene": brought.scene, "rest": brought.rest }));
        }
        Ok(Exit::Done)
    }

    /// The first pack of the library that recognises the document, among those that read any format.
    fn reader(&self, contents: &Contents, show: &Show<'_, '_>) -> Option<Ruleset> {
        let shelf = shelf(show);
        let document = document(contents);
        let packs = shelf.names().into_iter().filter_map(|name| Ruleset::load(&Start::Name(name), &[], &shelf).ok());
        packs
            .filter(|rules| !rules.programs().formats.is_empty())
            .find(|rules| crate::import_document(rules, self.known_as.as_deref(), &document).is_ok())
    }
}
