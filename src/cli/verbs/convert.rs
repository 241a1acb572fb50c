//! `tapster convert`: a file of one program becomes a file of another, and each field that changes is told.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;

use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::engine::{BuildError, ErrorKind};
use crate::import::{self, Container, Contents};
use crate::pack::{Library, Ruleset, Start};
use crate::program::foreign::Imported;

use crate::cli::inputs::files::{bytes_of, shown, write_file};
use crate::cli::inputs::library::{open, shelf};
use crate::cli::inputs::scene::{SMALLER, document, opened};
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};
use crate::cli::verbs::fields;

/// Convert a card, preset, lorebook or script file of one program to the format of another. The result is JSON, or what
/// the name of `--out` says. What is approximated or lost is told with its reason.
#[derive(Debug, Args)]
#[command(after_help = "Examples (`tapster ops --kinds --pack PACK` lists the conversions of a pack):
  tapster convert book.json --to PACK > book-for-it.json
  tapster convert card.png --to PACK --report        what becomes of each field
  tapster convert preset.json --to PACK --out preset-for-it.json
  tapster convert card.json --to PACK --out card.png --picture portrait.png
  tapster export imported.json --to PACK            the JSON of `tapster import`, changed or not, as a file again")]
pub(in crate::cli) struct Convert {
    /// A PNG or CHARX card, a packed module or preset, or a JSON file; `-` is standard input.
    file: PathBuf,
    /// A pack that converts to its program's formats, or the name of a format.
    #[arg(long, value_name = "PACK|FORMAT")]
    to: String,
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

impl Convert {
    pub(in crate::cli) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let contents = opened(&self.file, show)?;
        let made = self.converted(&contents, show)?;
        let result = made.scene.to_json();
        let mut report = Report::default();
        for warning in &made.warnings {
            report.push(changed(format!("`{}`: {warning}", shown(&self.file))));
        }
        if !self.report {
            fields::losses(&made).into_iter().for_each(|loss| report.push(changed(loss)));
        }
        show.report(&report, &Sources::default());
        if let Some(out) = &self.out {
            let bytes = self.bytes(out, &result, &contents, show)?;
            write_file(out, bytes)?;
        }
        if self.report {
            fields::report(&made, &contents, &self.file, show);
            return Ok(Exit::Done);
        }
        if self.out.is_none() {
            show.json(&result);
        }
        Ok(Exit::Done)
    }

    /// The document as the wanted program has it: by the pack that `--to` names, or by the first pack with such a format.
    fn converted(&self, contents: &Contents, show: &mut Show<'_, '_>) -> Result<Imported, Stop> {
        let shelf = shelf(show);
        let by = |rules: &Ruleset, to: Option<&str>| crate::convert_document(rules, to, document(contents, Some(rules)));
        let refused = |message: String| {
            let help = "`tapster ops --kinds --pack NAME` lists the conversions of a pack; `--as` names one of them";
            Stop::new(Exit::No, Diagnostic::new(Code::ImportFormat, format!("`{}`: {message}", shown(&self.file))).help(help))
        };
        let is_pack = shelf.names().contains(&self.to) || Path::new(&self.to).is_dir();
        if is_pack {
            let rules = open(&Start::typed(&self.to), &[], show)?;
            return by(&rules, self.made.as_deref()).map_err(|error| self.bound(&error).unwrap_or_else(|| refused(error.message)));
        }
        let packs = shelf.names().into_iter().filter_map(|name| Ruleset::load(&Start::Name(name), &[], &shelf).ok());
        let mut packs =
            packs.filter(|rules| rules.programs().formats.iter().any(|f| f.makes.as_deref() == Some(self.to.as_str()))).peekable();
        if packs.peek().is_none() {
            return Err(refused(format!("there is no pack `{0}`, and no pack here converts to a format `{0}`", self.to)));
        }
        let recognised = |made: Result<Imported, BuildError>| match made {
            Ok(made) => Some(Ok(made)),
            Err(error) => self.bound(&error).map(Err),
        };
        let found = packs.find_map(|rules| recognised(by(&rules, Some(&self.to))));
        found.unwrap_or_else(|| Err(refused(format!("no pack here converts it to `{}`", self.to))))
    }

    /// That a document takes too much work; `None` for another error.
    fn bound(&self, error: &BuildError) -> Option<Stop> {
        let message = || format!("`{}`: {}", shown(&self.file), error.message);
        let told = || Stop::new(Exit::No, Diagnostic::new(Code::BoundExceeded, message()).help(SMALLER));
        (*error.kind() == ErrorKind::Bound).then(told)
    }

    /// The result as the name of the file that is written wants it.
    fn bytes(&self, out: &Path, result: &Json, contents: &Contents, show: &mut Show<'_, '_>) -> Result<Vec<u8>, Stop> {
        let ending = out.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let picture = if import::needs_picture(&ending) { Some(self.portrait(contents, show)?) } else { None };
        import::write(&ending, result, picture.as_deref()).map_err(|report| Stop::report(Exit::CouldNot, report, Sources::default()))
    }

    /// The picture that a card is written to.
    fn portrait(&self, contents: &Contents, show: &mut Show<'_, '_>) -> Result<Vec<u8>, Stop> {
        match (&self.picture, contents.container) {
            (Some(picture), _) => bytes_of(picture, show),
            (None, Container::Png) if self.file != Path::new("-") => bytes_of(&self.file, show),
            _ => {
                let help = "name a picture with `--picture`, or write a `.json` file";
                Err(Stop::could_not(Code::ImportContainer, "a card in a PNG needs a picture".to_owned(), help))
            }
        }
    }
}

fn out_help() -> String {
    let endings: Vec<String> = import::WRITTEN.iter().map(|(ending, what)| format!("`.{ending}` ({what})")).collect();
    format!("Write the result to this file; the ending of its name says how: {}", endings.join(", "))
}

fn changed(message: String) -> Diagnostic {
    Diagnostic::new(Code::ImportValue, message).help("`tapster convert --report` shows what becomes of each field")
}
