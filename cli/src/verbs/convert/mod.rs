//! `tapster convert`: a file of one program becomes a file of another, and each field that changes is told.

mod preset_pack;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;
use tapster_door::preset_pack::PACK;

use crate::build::{BuildError, ErrorKind};
use crate::diag::{Code, Diagnostic, Help, Report, Sources, short, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::import::{self, Container, Contents};
use crate::inputs::files::{path_text, read_bytes, write_file};
use crate::inputs::library::{open_pack, pack_shelf};
use crate::inputs::scene::{SMALLER, main_document, open_foreign};
use crate::output::Console;
use crate::pack::{PackLibrary, PackShelf, Ruleset, Start};
use crate::program::foreign::{ForeignFormat, ImportedDocument};
use crate::verbs::lost_fields;

/// Convert a card, preset, lorebook or script file of one program to the format of another. The result is JSON, or what
/// the name of `--out` says. What is approximated or lost is told with its reason.
#[derive(Debug, Args)]
#[command(after_help = "Examples (`tapster ops --kinds --pack PACK` lists the conversions of a pack):
  tapster convert book.json --to PACK > book-for-it.json
  tapster convert card.png --to PACK --report        what becomes of each field
  tapster convert preset.json --to PACK --out preset-for-it.json
  tapster convert card.json --to PACK --out card.png --picture portrait.png
  tapster convert preset.json --to pack --out my-pack   a pack with an option for each prompt that can be switched
  tapster export imported.json --to PACK            the JSON of `tapster import`, changed or not, as a file again")]
pub(crate) struct ConvertArgs {
    /// A PNG or CHARX card, a packed module or preset, or a JSON file; `-` is standard input.
    file: PathBuf,
    /// A pack that converts to its program's formats, or the name of a format; or `pack`: a preset becomes a pack of its own,
    /// with options that switch its prompts.
    #[arg(long, value_name = "PACK|FORMAT|pack")]
    to: String,
    /// With `--to pack`, the pack that reads the preset: a name or a folder; by default the one that is recommended for it.
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
    /// Which conversion of the pack is meant, by the name of the format that it makes.
    #[arg(long = "as", id = "as", value_name = "FORMAT")]
    made: Option<String>,
    /// Write the result to this file; the ending of its name says how.
    #[arg(long, value_name = "FILE", long_help = out_help())]
    out: Option<PathBuf>,
    /// The picture for a card that is written as PNG; by default the picture of the file that is converted.
    #[arg(long, value_name = "PNG", requires = "out")]
    picture: Option<PathBuf>,
    /// Print what was kept, mapped, approximated or dropped of each field, instead of the result.
    #[arg(long)]
    report: bool,
}

impl ConvertArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if self.to == PACK {
            return self.make_pack(show);
        }
        if self.pack.is_some() {
            let message = format!("`--pack` has no effect with `--to {}`", short::word(&self.to));
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave it out: `--to` names the pack that converts"));
        }
        let contents = open_foreign(&self.file, show)?;
        let (rules, mut made) = self.converted(&contents, show)?;
        let result = made.scene.to_json();
        let document = main_document(&contents, Some(&rules));
        let format = made.format.clone();
        lost_fields::add_lost_fields(&mut made, &document, &rules, &|changed| {
            tapster::convert_document(&rules, Some(&format), changed).ok()
        });
        let mut report = Report::default();
        for warning in &made.warnings {
            report.push(import_warning(format!("`{}`: {warning}", path_text(&self.file))));
        }
        if !self.report {
            lost_fields::field_losses(&made).into_iter().for_each(|loss| report.push(import_warning(loss)));
        }
        show.report(&report, &Sources::default());
        if let Some(out) = &self.out {
            let bytes = self.bytes(out, &result, &contents, show)?;
            write_file(out, bytes)?;
        }
        if self.report {
            made.fields = lost_fields::split_dropped_fields(made.fields, &document);
            lost_fields::report_fields(&made, &contents, &self.file, show);
            return Ok(RunExit::Done);
        }
        if self.out.is_none() {
            show.json(&result);
        }
        Ok(RunExit::Done)
    }

    /// The document as the wanted program has it: by the pack that `--to` names, or by the first pack with such a format.
    fn converted(&self, contents: &Contents, show: &mut Console<'_>) -> Result<(Ruleset, ImportedDocument)> {
        let shelf = pack_shelf(show);
        let by = |rules: &Ruleset, to: Option<&str>| tapster::convert_document(rules, to, main_document(contents, Some(rules)));
        let is_pack = shelf.names().contains(&self.to) || Path::new(&self.to).is_dir();
        if is_pack {
            let rules = open_pack(&Start::typed(&self.to), &[], show)?;
            let makes = converted_formats(&rules);
            if makes.is_empty() {
                let message = format!("pack `{}` converts to no format", rules.pack().name);
                return Err(self.refused(message, converting_packs(&shelf)));
            }
            let made = |format: &ForeignFormat, name: &str| *format.name == *name || format.makes.as_deref() == Some(name);
            if let Some(name) = self.made.as_deref().filter(|name| !rules.programs().formats.iter().any(|format| made(format, name))) {
                let near = suggest::nearest(name, makes.iter().copied()).map(Help::from);
                let help = near.unwrap_or_else(|| format!("it makes {}", quoted_names(&makes)).into());
                return Err(self.refused(format!("pack `{}` makes no `{name}`", rules.pack().name), help));
            }
            let made = by(&rules, self.made.as_deref());
            let made = made.map_err(|error| self.bound(&error).unwrap_or_else(|| self.refused(error.message, HELP.to_owned())))?;
            return Ok((rules, made));
        }
        if let Some(name) = &self.made {
            let message = format!("`--as {name}` has no effect: `--to {}` is no pack, and names the format itself", self.to);
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave it out, or name a pack with `--to`"));
        }
        let mut packs = loadable_packs(&shelf)
            .filter(|rules| rules.programs().formats.iter().any(|f| f.makes.as_deref() == Some(&*self.to)))
            .peekable();
        if packs.peek().is_none() {
            let message = format!("there is no pack `{0}`, and no pack here converts to a format `{0}`", self.to);
            let all: Vec<Ruleset> = loadable_packs(&shelf).filter(|rules| !converted_formats(rules).is_empty()).collect();
            let known = all.iter().flat_map(|rules| converted_formats(rules).into_iter().chain([&*rules.pack().name]));
            let near = suggest::nearest(&self.to, known).map(Help::from);
            return Err(self.refused(message, near.unwrap_or_else(|| converting_packs(&shelf).into())));
        }
        let recognised = |rules: Ruleset| match by(&rules, Some(&self.to)) {
            Ok(made) => Some(Ok((rules, made))),
            Err(error) => self.bound(&error).map(Err),
        };
        let found = packs.find_map(recognised);
        found.unwrap_or_else(|| Err(self.refused(format!("no pack here converts it to `{}`", self.to), HELP.to_owned())))
    }

    /// That the document is not converted.
    fn refused(&self, message: String, help: impl Into<Help>) -> EarlyExit {
        EarlyExit::new(RunExit::No, Diagnostic::new(Code::ImportFormat, format!("`{}`: {message}", path_text(&self.file))).help(help))
    }

    /// That a document takes too much work; `None` for another error.
    fn bound(&self, error: &BuildError) -> Option<EarlyExit> {
        let message = || format!("`{}`: {}", path_text(&self.file), error.message);
        let told = || EarlyExit::new(RunExit::No, Diagnostic::new(Code::BoundExceeded, message()).help(SMALLER));
        (*error.kind() == ErrorKind::Bound).then(told)
    }

    /// The result as the name of the file that is written wants it.
    fn bytes(&self, out: &Path, result: &Json, contents: &Contents, show: &mut Console<'_>) -> Result<Vec<u8>> {
        let ending = out.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        if self.picture.is_some() && !import::needs_picture(&ending) {
            let message = format!("`--picture` has no effect on `{}`, which holds no picture", out.display());
            return Err(EarlyExit::could_not(Code::ImportContainer, message, "leave it out, or write a `.png` file"));
        }
        let picture = if import::needs_picture(&ending) { Some(self.portrait(contents, show)?) } else { None };
        import::write(&ending, result, picture.as_deref())
            .map_err(|report| EarlyExit::report(RunExit::CouldNot, report, Sources::default()))
    }

    /// The picture that a card is written to.
    fn portrait(&self, contents: &Contents, show: &mut Console<'_>) -> Result<Vec<u8>> {
        match (&self.picture, contents.container) {
            (Some(picture), _) => read_bytes(picture, show),
            (None, Container::Png) if self.file != Path::new("-") => read_bytes(&self.file, show),
            _ => {
                let help = "name a picture with `--picture`, or write a `.json` file";
                Err(EarlyExit::could_not(Code::ImportContainer, "a card in a PNG needs a picture".to_owned(), help))
            }
        }
    }
}

/// What to do about a document that a pack does not convert.
const HELP: &str = "`tapster ops --kinds --pack NAME` lists the conversions of a pack; `--as` names one of them";

/// All packs that load.
fn loadable_packs(shelf: &PackShelf) -> impl Iterator<Item = Ruleset> {
    shelf.names().into_iter().filter_map(|name| Ruleset::load(&Start::Name(name), &[], shelf).ok())
}

/// The formats that documents are converted to by a pack, but not those that only elements of a list become.
fn converted_formats(rules: &Ruleset) -> Vec<&str> {
    let rows = rules.pack().tables.get("format");
    let is_recognised = |name: &str| {
        let row = rows.and_then(|rows| rows.get(name));
        row.is_some_and(|row| ["detect", "of"].iter().any(|key| row.fields.contains_key(*key)))
    };
    let formats = rules.programs().formats.iter().filter(|format| is_recognised(&format.name));
    let mut makes: Vec<&str> = formats.filter_map(|format| format.makes.as_deref()).collect();
    makes.sort_unstable();
    makes.dedup();
    makes
}

/// The packs that convert, and what they make.
fn converting_packs(shelf: &PackShelf) -> String {
    let all: Vec<Ruleset> = loadable_packs(shelf).collect();
    let packs = all.iter().map(|rules| (&rules.pack().name, converted_formats(rules))).filter(|(_, makes)| !makes.is_empty());
    let packs: Vec<String> = packs.map(|(name, makes)| format!("`{name}` ({})", quoted_names(&makes))).collect();
    if packs.is_empty() { "no pack here converts files".to_owned() } else { format!("these packs convert: {}", packs.join(", ")) }
}

fn quoted_names(names: &[&str]) -> String {
    format!("`{}`", names.join("`, `"))
}

fn out_help() -> String {
    let endings: Vec<String> = import::WRITTEN.iter().map(|(ending, what)| format!("`.{ending}` ({what})")).collect();
    format!(
        "Write the result to this file; the ending of its name says how: {}. With `--to pack`, the folder that is made",
        endings.join(", ")
    )
}

fn import_warning(message: String) -> Diagnostic {
    Diagnostic::new(Code::ImportValue, message).help("`tapster convert --report` shows what becomes of each field")
}
