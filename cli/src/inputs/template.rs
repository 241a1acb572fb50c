//! `--template`: a template of a pack or of a file, with the data that it is rendered with.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::diag::{Code, Diagnostic, Report, Sources, short, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{decode_utf8, path_text, read_bytes, too_costly};
use crate::inputs::{BuildParts, TemplateReference, library};
use crate::model::Value;
use crate::output::Console;
use crate::pack::files::pack_around;
use crate::pack::{OpenedTemplate, Overlay, PackLibrary, RuleFile, Ruleset, Start, json, open_template, read, toml};
use crate::template::TemplateContract;

/// The flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Template")]
pub(crate) struct TemplateInputArgs {
    /// The template: its id in the pack, or a file (JSON or TOML); `-` reads it from standard input. Without `--pack`,
    /// the pack is the one that contains the file, else the one that has its task.
    #[arg(long, value_name = "ID|FILE")]
    template: Option<String>,
    #[command(flatten)]
    given: RenderInputArgs,
    /// The revision of a template file that does not name one [default: the first of the pack].
    #[arg(long, value_name = "NAME", requires = "template")]
    revision: Option<String>,
}

/// The data and the limits that a template is rendered with.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Template")]
pub(crate) struct RenderInputArgs {
    /// The kind of task; a template of another one is refused.
    #[arg(long, value_name = "KIND")]
    pub(crate) task: Option<String>,
    /// The data for the template (JSON or TOML), as the path `data` of the scene; `-` reads it from standard input.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The most tokens of the prompt [default: no limit].
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
}

impl RenderInputArgs {
    /// Merges the flags over the parts.
    pub(crate) fn over(&self, parts: &mut BuildParts) {
        parts.task = self.task.clone().or_else(|| parts.task.take());
        parts.data = self.data.clone().or_else(|| parts.data.take());
        if let Some(most) = self.max_tokens {
            parts.set.push(("max_tokens".to_owned(), Value::Int(most.into())));
        }
    }
}

impl TemplateInputArgs {
    /// Whether a flag names a template or its task.
    pub(crate) fn is_given(&self) -> bool {
        self.template.is_some() || self.given.task.is_some()
    }

    /// The flags that say nothing about the rules that are loaded, and whether they are given. Without `--pack` (`has_pack`),
    /// a template or its task says which pack is loaded, and a template of a file is laid over it.
    pub(crate) fn given_for_a_prompt(&self, has_pack: bool) -> [(&'static str, bool); 4] {
        let is_file = self
            .template
            .as_deref()
            .is_some_and(|text| matches!(TemplateReference::typed(text, Path::new("")), TemplateReference::File(_)));
        let named = has_pack && !is_file;
        [
            ("--template", named && self.template.is_some()),
            ("--task", named && self.given.task.is_some()),
            ("--data", self.given.data.is_some()),
            ("--max-tokens", self.given.max_tokens.is_some()),
        ]
    }

    /// Lays the flags over the parts.
    pub(crate) fn over(&self, parts: &mut BuildParts) {
        if let Some(template) = &self.template {
            parts.template = Some(TemplateReference::typed(template, Path::new("")));
        }
        self.given.over(parts);
        parts.revision = self.revision.clone().or_else(|| parts.revision.take());
    }
}

/// Reads the template and the data that the parts name, and finds the pack if they do not name one.
pub(crate) fn read_template(parts: &mut BuildParts, show: &mut Console<'_>) -> Result<()> {
    let both = |path: Option<&PathBuf>| path.is_some_and(|path| path == Path::new("-"));
    let of_template = if let Some(TemplateReference::File(path)) = &parts.template { Some(path) } else { None };
    if both(of_template) && both(parts.data.as_ref()) {
        let message = "standard input cannot be both the template and the data";
        return Err(EarlyExit::could_not(Code::FileMissing, message, "write one of them into a file"));
    }
    let mut task = parts.task.clone();
    let file = match parts.template.clone() {
        Some(TemplateReference::File(path)) => {
            parts.pack = parts.pack.take().or_else(|| pack_around(&path).map(Start::Folder).filter(|_| path != Path::new("-")));
            let bytes = read_bytes(&path, show)?;
            Some(RuleFile { name: path_text(&path), path_in_pack: template_file_name(&path, &bytes), bytes })
        }
        Some(TemplateReference::Read(file)) => Some(file),
        Some(TemplateReference::Id(id)) => {
            parts.set.push(("template".to_owned(), Value::text(id)));
            None
        }
        None => None,
    };
    // a task that no pack has is reported as unknown, not as different from the template's task
    if let (None, Some(task)) = (&parts.pack, task.as_deref()) {
        parts.pack = Some(find_pack(Some(task), show)?);
    }
    if let Some(file) = file {
        let asked = TemplateContract { task: parts.task.as_deref(), revision: parts.revision.as_deref(), ..TemplateContract::default() };
        let opened = compile_template(&file, &asked, parts.pack.as_ref(), &parts.overlays, show)?.template;
        parts.set.push(("template".to_owned(), Value::Text(opened.id.clone())));
        task = Some(opened.task.to_string());
        parts.overlays.push(Overlay::File(file));
        if parts.revision.is_some() {
            parts.overlays.push(Overlay::File(revision_layer(&opened.id, &opened.revision.name)));
        }
    }
    if let Some(task) = &parts.task {
        parts.set.push(("task".to_owned(), Value::text(task.as_str())));
    }
    if let Some(path) = parts.data.take() {
        parts.set.push(("data".to_owned(), read_data(&path, show)?));
    }
    if parts.pack.is_none() && parts.template.is_some() {
        parts.pack = Some(find_pack(task.as_deref(), show)?);
    }
    Ok(())
}

/// A file name with an ending that fits the bytes, if the path has none.
pub(crate) fn template_file_name(path: &Path, bytes: &[u8]) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if [".json", ".toml"].iter().any(|end| name.ends_with(end)) {
        return name;
    }
    if is_json(bytes) { "template.json".to_owned() } else { "template.toml".to_owned() }
}

fn is_json(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start().starts_with(b"{")
}

/// Compiles a template. Where that fails, a pack may have the revision that it is written in, and is asked.
pub(crate) fn compile_template(
    file: &RuleFile,
    asked: &TemplateContract<'_>,
    pack: Option<&Start>,
    overlays: &[Overlay],
    show: &Console<'_>,
) -> Result<OpenedTemplate> {
    let first = open_template(file, asked);
    let rules = match (&first, pack) {
        (Err(_), Some(start)) => Ruleset::load(start, overlays, &library::pack_shelf(show)).ok(),
        _ => None,
    };
    let opened = match &rules {
        Some(rules) => open_template(file, &TemplateContract { revisions: Some(rules.revisions()), ..*asked }),
        None => first,
    };
    opened.map_err(EarlyExit::rejected)
}

/// A layer that sets the revision of a template.
fn revision_layer(id: &str, revision: &str) -> RuleFile {
    let row = serde_json::json!({ "kind": "template", "id": id, "revision": revision });
    RuleFile { name: "--revision".to_owned(), path_in_pack: "revision.json".to_owned(), bytes: row.to_string().into_bytes() }
}

/// Reads a file of data, which must be a table.
fn read_data(path: &Path, show: &mut Console<'_>) -> Result<Value> {
    let bytes = read_bytes(path, show)?;
    let (mut sources, mut report, shown) = (Sources::default(), Report::default(), path_text(path));
    if let Some(complaint) = too_costly(&format!("`{shown}`"), &bytes) {
        return Err(EarlyExit::new(RunExit::No, complaint));
    }
    let text = decode_utf8(path, bytes)?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let source = sources.add(&shown, "", text);
    let is_json = !shown.ends_with(".toml") && (shown.ends_with(".json") || is_json(text.as_bytes()));
    let root = if is_json { json::parse(source, text, &mut report) } else { toml::parse(source, text, &mut report) };
    if let Some(root) = root.as_ref().filter(|root| root.as_table().is_none()) {
        let complaint = Diagnostic::new(Code::SchemaType, format!("the data of a task is a table, but this is {}", root.kind()));
        report.push(complaint.at(root.span).help("write `{ \"globals\": { … } }`"));
    }
    match root.filter(|_| !report.has_errors()) {
        Some(root) => {
            show.report(&report, &sources);
            Ok(Value::from(&root))
        }
        None => Err(EarlyExit::report(RunExit::No, report, sources)),
    }
}

fn find_pack(task: Option<&str>, show: &Console<'_>) -> Result<Start> {
    pack_of(task, &library::pack_shelf(show)).map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))
}

/// The pack whose own files declare the task; without a task, the first that declares any. Packs that only extend it
/// are skipped.
pub(crate) fn pack_of(task: Option<&str>, library: &dyn PackLibrary) -> Result<Start, Box<Diagnostic>> {
    let mut known = Vec::new();
    for name in library.names() {
        let files = library.find(&name, &mut Report::default()).unwrap_or_default().files;
        let tasks = files.iter().flat_map(read::tasks_in).collect::<Vec<_>>();
        if task.map_or(!tasks.is_empty(), |task| tasks.iter().any(|kind| kind == task)) {
            return Ok(Start::Name(name));
        }
        known.extend(tasks);
    }
    let Some(task) = task else {
        let complaint = Diagnostic::new(Code::NameUnknown, "no pack here has tasks");
        return Err(Box::new(complaint.help("name a pack that renders templates with `--pack`")));
    };
    let help = suggest::help(task, known.iter().map(String::as_str));
    let help = help.unwrap_or_else(|| "name the pack that has it with `--pack`, or its folder's parent in `TAPSTER_PACKS`".into());
    Err(Box::new(Diagnostic::new(Code::NameUnknown, format!("no pack here has the task `{}`", short::word(task))).help(help)))
}
