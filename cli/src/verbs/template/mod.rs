//! `tapster template`: stored templates. They are stored as they were authored, and checked again whenever they are
//! read.

mod render;
mod shelf;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, suggest};
use crate::pack::{OpenedTemplate, open_template};
use crate::pack::{RuleFile, Ruleset, Start};
use crate::store::{MAX_TEMPLATE, StoredTemplate};
use crate::template::{Template, TemplateContract};

use crate::inputs::files::bytes_of;
use crate::inputs::files::shown;
use crate::inputs::library;
use crate::inputs::templated;
use crate::inputs::templated::pack_of;
use crate::layout::head;
use crate::layout::table;
use crate::output::OutputStreams;
use crate::stop::EarlyExit;
use crate::stop::RunExit;
use crate::waiting::wait;

use render::TemplateRenderArgs;
use shelf::{TemplateStoreArgs, json_file, own, stored_file};

/// Store templates, check them, and render them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster template add turn.json --task turn_generation
  tapster template list
  tapster template show turn-default
  tapster template render turn-default --task turn_generation --data story.json --max-tokens 4000
  tapster template remove turn-default

Templates are files of a folder, or rows of a database: `--store`, else TAPSTER_TEMPLATES, else TAPSTER_STORE, else
the folder `templates` here. A path that ends in `.db` or `.sqlite` is a database.")]
pub(crate) struct TemplateArgs {
    #[command(subcommand)]
    verb: TemplateVerb,
}

#[derive(Debug, Subcommand)]
enum TemplateVerb {
    /// Check a template and store it, byte for byte, by its `id`.
    Add(TemplateAddArgs),
    /// List the stored templates, and report broken ones.
    List(TemplateListArgs),
    /// Print a stored template as it was authored.
    Show(TemplateShowArgs),
    /// Remove a stored template.
    Remove(TemplateRemoveArgs),
    /// Render a stored template with data.
    Render(TemplateRenderArgs),
}

/// The task and the pack that a template must fit.
#[derive(Debug, Clone, Args)]
struct TemplateTaskArgs {
    /// The kind of task that the template must be written for.
    #[arg(long, value_name = "KIND")]
    task: Option<String>,
    /// A pack whose task the template must fit: it may only ask for sources that the task offers [default of `add`: the
    /// pack that has its task].
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster template add turn.json
  tapster template add turn.json --task turn_generation --pack my-pack
  tapster template add - --store prompts --force < turn.json")]
struct TemplateAddArgs {
    /// The template, as JSON; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    fitting: TemplateTaskArgs,
    /// Replace the stored template of this id.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: TemplateStoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster template list
  tapster template list --store prompts --json
  tapster template list --pack ./my-pack            templates in revisions of this pack")]
struct TemplateListArgs {
    /// A pack whose revisions the templates may be written in [default: the shipped ones].
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
    #[command(flatten)]
    place: TemplateStoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster template show turn-default
  tapster template show turn-default > turn.json
  tapster template show turn-default --json        what it is, beside the template itself")]
struct TemplateShowArgs {
    /// The template's id.
    #[arg(allow_hyphen_values = true)]
    id: String,
    #[command(flatten)]
    fitting: TemplateTaskArgs,
    #[command(flatten)]
    place: TemplateStoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  tapster template remove turn-default")]
struct TemplateRemoveArgs {
    /// The template's id.
    #[arg(allow_hyphen_values = true)]
    id: String,
    #[command(flatten)]
    place: TemplateStoreArgs,
}

impl TemplateArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        match &self.verb {
            TemplateVerb::Add(verb) => verb.run(show),
            TemplateVerb::List(verb) => verb.run(show),
            TemplateVerb::Show(verb) => verb.run(show),
            TemplateVerb::Remove(verb) => verb.run(show),
            TemplateVerb::Render(verb) => verb.run(show),
        }
    }
}

impl TemplateAddArgs {
    fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let shelf = self.place.open(show)?;
        let bytes = bytes_of(&self.file, show)?;
        self.storable(&bytes)?;
        let opened = self.fitting.admit(&json_file(shown(&self.file), bytes.clone()), show)?;
        let template = &opened.template;
        let name = wait(shelf.store.put(&template.id, &bytes, self.force)).map_err(|complaint| EarlyExit::new(RunExit::No, *complaint))?;
        show.report(&opened.warnings, &opened.sources);
        if show.is_json() {
            show.json(&json!({ "id": template.id, "file": name, "warnings": opened.warnings.counts().1 }));
        } else {
            show.result(&format!("stored `{}` in {}\n", head(&template.id, 60), head(&name, 400)));
        }
        Ok(RunExit::Done)
    }

    /// Refuses, before reading it, a file that the store would refuse.
    fn storable(&self, bytes: &[u8]) -> Result<(), EarlyExit> {
        let shown = shown(&self.file);
        if shown.ends_with(".toml") {
            let help = "write it as JSON, or keep it as a file of a pack";
            return Err(EarlyExit::could_not(Code::SyntaxJson, format!("templates are stored as JSON, and `{shown}` is TOML"), help));
        }
        if bytes.len() as u64 > MAX_TEMPLATE {
            let message = format!("`{shown}` is larger than {} MiB", MAX_TEMPLATE >> 20);
            let complaint = Diagnostic::new(Code::FileTooLarge, message).help("split the template, or move long texts into the data");
            return Err(EarlyExit::new(RunExit::No, complaint));
        }
        Ok(())
    }
}

impl TemplateListArgs {
    fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let shelf = self.place.open(show)?;
        let listing = wait(shelf.store.list()).map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))?;
        let start = self.pack.as_deref().map(Start::typed);
        let mut rows = Vec::new();
        for id in &listing.ids {
            let opened = |stored| own(id, &stored, &TemplateContract::default(), start.as_ref(), show).map(|opened| (stored, opened));
            rows.push(match shelf.read(id).and_then(opened) {
                Ok((stored, opened)) => about(&opened.template, &stored),
                Err(stop) => {
                    show.stop(stop);
                    json!({ "id": id, "broken": true })
                }
            });
        }
        for stranger in &listing.strangers {
            let message = format!("`{}` was not stored here and is passed over; `tapster template add` stores it", head(stranger, 200));
            show.note(Diagnostic::note(Code::StoreName, message));
        }
        if show.is_json() {
            show.json(&Json::Array(rows));
        } else {
            show.result(&table(&rows.iter().map(row).collect::<Vec<_>>()));
        }
        Ok(RunExit::Done)
    }
}

impl TemplateShowArgs {
    fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let shelf = self.place.open(show)?;
        let stored = shelf.read(&self.id)?;
        let start = self.fitting.pack.as_deref().map(Start::typed);
        let opened = own(&self.id, &stored, &TemplateContract::default(), start.as_ref(), show)?;
        self.fitting.check(&stored_file(&stored), show)?;
        // it has been read, so it is UTF-8
        let text = String::from_utf8_lossy(&stored.bytes);
        if show.is_json() {
            let mut out = about(&opened.template, &stored);
            if let Json::Object(out) = &mut out {
                out.insert("template".to_owned(), serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or(Json::Null));
            }
            show.json(&out);
        } else {
            show.result(&text);
        }
        Ok(RunExit::Done)
    }
}

impl TemplateRemoveArgs {
    fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let shelf = self.place.open(show)?;
        if !wait(shelf.store.remove(&self.id)).map_err(|complaint| EarlyExit::new(RunExit::No, *complaint))? {
            return Err(shelf.missing(&self.id));
        }
        if show.is_json() {
            show.json(&json!({ "id": self.id, "removed": true }));
        } else {
            show.result(&format!("removed `{}`\n", head(&self.id, 60)));
        }
        Ok(RunExit::Done)
    }
}

impl TemplateTaskArgs {
    /// Checks a template, also against the sources of its task if a pack is named.
    fn check(&self, file: &RuleFile, show: &mut OutputStreams<'_, '_>) -> Result<OpenedTemplate, EarlyExit> {
        let asked = TemplateContract { task: self.task.as_deref(), ..TemplateContract::default() };
        let start = self.pack.as_deref().map(Start::typed);
        let opened = templated::opened(file, &asked, start.as_ref(), &[], show)?;
        match &start {
            Some(start) => fits(start, file, &opened.template, show),
            None => Ok(opened),
        }
    }

    /// Like `check`, but if no pack is named, uses the one that has the task. If there is none, a note says so.
    fn admit(&self, file: &RuleFile, show: &mut OutputStreams<'_, '_>) -> Result<OpenedTemplate, EarlyExit> {
        let mut opened = self.check(file, show)?;
        if self.pack.is_some() {
            return Ok(opened);
        }
        match pack_of(Some(&opened.template.task), &library::shelf(show)) {
            Ok(start) => fits(&start, file, &opened.template, show),
            Err(complaint) => {
                let message = format!("{}: the template's sources are not checked", complaint.message);
                opened.warnings.push(Diagnostic::new(Code::TemplateDoubtful, message).help(complaint.help.unwrap_or_default()));
                Ok(opened)
            }
        }
    }
}

/// Checks a template against the sources that a pack's task offers.
fn fits(start: &Start, file: &RuleFile, template: &Template, show: &mut OutputStreams<'_, '_>) -> Result<OpenedTemplate, EarlyExit> {
    let rules = library::open(start, &[], show)?;
    let names = offered(&rules, template)?;
    let revisions = Some(rules.revisions());
    let asked = TemplateContract { task: Some(&template.task), sources: Some(&names), revisions, ..TemplateContract::default() };
    open_template(file, &asked).map_err(EarlyExit::rejected)
}

/// The sources that a pack offers to a template.
fn offered<'r>(rules: &'r Ruleset, template: &Template) -> Result<Vec<&'r str>, EarlyExit> {
    let tasks = rules.tasks();
    tasks.find(&template.task, &template.revision.name).map(crate::template::task::Task::names).ok_or_else(|| {
        let kinds = tasks.kinds();
        let help = suggest::help(&template.task, kinds.iter().copied()).unwrap_or_else(|| match kinds.is_empty() {
            true => "name a pack that has tasks".into(),
            false => format!("its tasks are {}", kinds.join(", ")).into(),
        });
        let message =
            format!("pack `{}` has no task `{}` for templates of revision {}", rules.pack().name, template.task, template.revision.name);
        EarlyExit::could_not(Code::NameUnknown, message, help)
    })
}

/// A short description of a template.
fn about(template: &Template, stored: &StoredTemplate) -> Json {
    json!({
        "id": template.id, "name": template.name, "task": template.task, "revision": template.revision.name,
        "slots": template.slots.iter().map(|slot| &slot.name).collect::<Vec<_>>(), "file": stored.name,
    })
}

fn row(about: &Json) -> Vec<String> {
    let text = |key: &str| head(about.get(key).and_then(Json::as_str).unwrap_or_default(), 60);
    if about.get("broken").is_some() {
        vec![text("id"), "broken".to_owned()]
    } else {
        ["id", "task", "revision", "name"].map(text).to_vec()
    }
}
