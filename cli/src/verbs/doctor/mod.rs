//! `tapster doctor`: one report of a preset, a card or a lorebook before it is used. The report itself is a call of the door.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde_json::{Map, Value as Json, json};
use tapster_door::Door;
use tapster_door::doctor::as_text;

use crate::diag::{Code, Diagnostic, Report, Severity, Sources};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{path_text, read_bytes, read_text, write_file};
use crate::inputs::library::pack_shelf;
use crate::inputs::scene::clock;
use crate::output::Console;
use crate::pack::files::{is_folder, parent};
use crate::verbs::explain::html::{STYLE, policy, render_page};

const TEMPLATE: &str = include_str!("page.html");

/// Examine a preset, a card or a lorebook before you use it: what its parts cost, which of them never reach a prompt, unknown
/// macros and macros that break the prompt cache, slow patterns, what each provider would refuse or leave out, the scripts and
/// data that it brings along, a grade with its reasons, and the repairs that are certain.
///
/// Nothing of the file runs, and nothing is changed. The exit code is 0 unless an error is found.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster doctor preset.json
  tapster doctor card.png --preset preset.json     a card, in the prompt of a preset
  tapster doctor preset.json --window 8192 --model NAME
  tapster doctor preset.json --html report.html    one page for a browser; `-` is standard output
  tapster doctor preset.json --format json         everything, for a program
  tapster doctor preset.json --diff | patch preset.json   make the repairs that are certain")]
pub(crate) struct DoctorArgs {
    /// A preset, a card (PNG, CHARX, JSON) or a lorebook.
    file: PathBuf,
    /// The pack that reads it: a name or a folder; by default the one that is recommended for such files.
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
    /// Lay this rule file over the pack; it may price findings otherwise.
    #[arg(long, value_name = "FILE", requires = "pack")]
    overlay: Vec<PathBuf>,
    /// The card with which it is tried.
    #[arg(long, value_name = "FILE")]
    character: Option<PathBuf>,
    /// The preset with which it is tried.
    #[arg(long, value_name = "FILE")]
    preset: Option<PathBuf>,
    /// The chat with which it is tried.
    #[arg(long, value_name = "FILE")]
    chat: Option<PathBuf>,
    /// The message to which the prompt answers; words of it may be keys of a lorebook.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// The size of the window in tokens.
    #[arg(long, value_name = "TOKENS")]
    window: Option<u32>,
    /// The model: warns about everything that it would refuse or change.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The dialect that the file is for.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Write one HTML page, which needs no network; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    html: Option<PathBuf>,
    /// Print only the repairs that are certain, for `patch`.
    #[arg(long)]
    diff: bool,
}

impl DoctorArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (pack, folder) = named_pack(self.pack.as_deref());
        show.near.extend(folder);
        let request = self.request(pack, show)?;
        let door = Door::new(pack_shelf(show).folders, Some(clock));
        let response = door.call(&request);
        let Some(report) = response.get("result") else { return Err(read_refusal(&response)) };
        if self.diff {
            show.result(report.pointer("/repairs/diff").and_then(Json::as_str).unwrap_or_default());
        } else if let Some(file) = &self.html {
            let page = page(report);
            if file.as_os_str() == "-" {
                show.result(&page);
            } else {
                write_file(file, page.as_bytes())?;
            }
        } else {
            show.answer(report, || as_text(report));
        }
        let findings = report.get("findings").and_then(Json::as_array);
        let fails = findings.into_iter().flatten().any(|found| found.get("severity").is_some_and(|severity| severity == "error"));
        Ok(if fails { RunExit::No } else { RunExit::Done })
    }

    fn request(&self, pack: Option<String>, show: &mut Console<'_>) -> Result<Json> {
        let mut scene = Map::new();
        let files = [("character", &self.character), ("chat", &self.chat)];
        for (key, file) in files.into_iter().filter_map(|(key, file)| Some((key, file.as_ref()?))) {
            scene.insert(key.to_owned(), file_content(file, show)?);
        }
        if let Some(file) = &self.preset {
            scene.insert("preset".to_owned(), json!([file_content(file, show)?]));
        }
        for (key, text) in [("message", &self.message), ("dialect", &self.dialect)] {
            scene.extend(text.as_ref().map(|text| (key.to_owned(), text.as_str().into())));
        }
        let window = self.window.map(|window| ("context.window".to_owned(), window.into()));
        let model = self.model.as_ref().map(|model| ("provider.model".to_owned(), model.as_str().into()));
        scene.insert("scene".to_owned(), Json::Object(window.into_iter().chain(model).collect()));
        let mut request = json!({ "call": "doctor", "file": file_content(&self.file, show)?, "scene": scene });
        if let (Some(pack), Some(request)) = (pack, request.as_object_mut()) {
            let mut overlays = Vec::new();
            for file in &self.overlay {
                overlays.push(json!({ "name": path_text(file), "text": read_text(file, show)? }));
            }
            request.insert("rules".to_owned(), json!({ "pack": pack, "overlays": overlays }));
        }
        Ok(request)
    }
}

/// The name of a pack, and the folder in which it lies if it is named by a path.
pub(super) fn named_pack(pack: Option<&str>) -> (Option<String>, Option<PathBuf>) {
    let path = pack.map(Path::new).filter(|path| is_folder(path));
    let whole = path.and_then(|path| path.canonicalize().ok());
    let name = whole.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    (name.or_else(|| pack.map(str::to_owned)), path.and_then(parent))
}

/// A file as the door takes it.
pub(super) fn file_content(file: &Path, show: &mut Console<'_>) -> Result<Json> {
    Ok(json!({ "name": path_text(file), "base64": STANDARD.encode(read_bytes(file, show)?) }))
}

/// Why the door has no result.
pub(super) fn read_refusal(response: &Json) -> EarlyExit {
    let mut report = response_report(response);
    report.retain(|diagnostic| diagnostic.severity == Severity::Error);
    let exit = if report.items().iter().any(|error| error.code == Code::PackMissing) { RunExit::CouldNot } else { RunExit::No };
    EarlyExit::report(exit, report, Sources::default())
}

/// The diagnostics of the door, without their places.
pub(super) fn response_report(response: &Json) -> Report {
    let text = |row: &Json, key: &str| row.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let diagnostic = |row: &Json| {
        let severity = [Severity::Note, Severity::Warning].into_iter().find(|severity| severity.as_str() == text(row, "severity"));
        let code = crate::diag::DiagnosticCode::named(&text(row, "code"));
        let diagnostic = Diagnostic::error(code, text(row, "message")).help(text(row, "help"));
        Diagnostic { severity: severity.unwrap_or(Severity::Error), ..diagnostic }
    };
    response.get("diagnostics").and_then(Json::as_array).into_iter().flatten().map(diagnostic).collect()
}

/// The report as a page. Nothing of it is written into the page without being escaped.
fn page(report: &Json) -> String {
    let parts = report.pointer("/parts/list").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let (never, sent): (Vec<&Json>, Vec<&Json>) = parts.iter().partition(|part| part.get("sent").is_some_and(|sent| sent == "never"));
    let values = context! {
        style => Value::from_safe_string(STYLE.to_owned()), policy => Value::from_safe_string(policy(STYLE, None)),
        never => Value::from(Serde(never)), sent => Value::from(Serde(sent)), report => Value::from(Serde(report)),
    };
    render_page(TEMPLATE, values)
}
