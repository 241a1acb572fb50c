//! `tapster template`: stored templates. They are stored as they were authored, and checked again whenever they are
//! read.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::{OpenStore, open_template_database, wait};
use crate::inputs::files::{StoreLocation, from_env, path_text, read_bytes};
use crate::inputs::template::{self, RenderInputArgs, pack_of};
use crate::inputs::{BuildParts, TemplateReference, library, scene};
use crate::layout::{head, one_line, table};
use crate::model::Value;
use crate::output::Console;
use crate::pack::{DEFAULT_PACK, OpenedTemplate, RuleFile, Ruleset, Start, open_template};
use crate::store::{FolderStore, MAX_TEMPLATE, StoredTemplate, TemplateStore};
use crate::template::{Template, TemplateContract};
use crate::verbs::build::planned;

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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
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
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let shelf = self.place.open(show)?;
        let bytes = read_bytes(&self.file, show)?;
        self.storable(&bytes)?;
        let opened = self.fitting.admit(&json_file(path_text(&self.file), bytes.clone()), show)?;
        let template = &opened.template;
        let name = wait(shelf.store.put(&template.id, &bytes, self.force)).map_err(|complaint| EarlyExit::new(RunExit::No, *complaint))?;
        show.report(&opened.warnings, &opened.sources);
        show.answer(&json!({ "id": template.id, "file": name, "warnings": opened.warnings.counts().1 }), || {
            format!("stored `{}` in {}\n", head(&template.id, 60), head(&name, 400))
        });
        Ok(RunExit::Done)
    }

    /// Refuses, before reading it, a file that the store would refuse.
    fn storable(&self, bytes: &[u8]) -> Result<()> {
        let shown = path_text(&self.file);
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
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
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
        show.answer(&rows, || table(&rows.iter().map(row).collect::<Vec<_>>()));
        Ok(RunExit::Done)
    }
}

impl TemplateShowArgs {
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
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
    fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let shelf = self.place.open(show)?;
        if !wait(shelf.store.remove(&self.id)).map_err(|complaint| EarlyExit::new(RunExit::No, *complaint))? {
            return Err(shelf.missing(&self.id));
        }
        show.answer(&json!({ "id": self.id, "removed": true }), || format!("removed `{}`\n", head(&self.id, 60)));
        Ok(RunExit::Done)
    }
}

impl TemplateTaskArgs {
    /// Checks a template, also against the sources of its task if a pack is named.
    fn check(&self, file: &RuleFile, show: &mut Console<'_>) -> Result<OpenedTemplate> {
        let asked = TemplateContract { task: self.task.as_deref(), ..TemplateContract::default() };
        let start = self.pack.as_deref().map(Start::typed);
        let opened = template::compile_template(file, &asked, start.as_ref(), &[], show)?;
        match &start {
            Some(start) => fits(start, file, &opened.template, show),
            None => Ok(opened),
        }
    }

    /// Like `check`, but if no pack is named, uses the one that has the task. If there is none, a note says so.
    fn admit(&self, file: &RuleFile, show: &mut Console<'_>) -> Result<OpenedTemplate> {
        let mut opened = self.check(file, show)?;
        if self.pack.is_some() {
            return Ok(opened);
        }
        match pack_of(Some(&opened.template.task), &library::pack_shelf(show)) {
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
fn fits(start: &Start, file: &RuleFile, template: &Template, show: &mut Console<'_>) -> Result<OpenedTemplate> {
    let rules = library::open_pack(start, &[], show)?;
    let names = offered(&rules, template)?;
    let revisions = Some(rules.revisions());
    let asked = TemplateContract { task: Some(&template.task), sources: Some(&names), revisions, ..TemplateContract::default() };
    open_template(file, &asked).map_err(EarlyExit::rejected)
}

/// The sources that a pack offers to a template.
fn offered<'r>(rules: &'r Ruleset, template: &Template) -> Result<Vec<&'r str>> {
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

/// The path where a pack's build stores the rendered template.
const RENDERED: &str = "rendered";

/// Render a stored template with data, and print the conversation.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster template render turn-default --data story.json
  tapster template render turn-default --task turn_generation --data - --json < story.json
  tapster template render turn-default --data story.json --max-tokens 4000")]
pub(crate) struct TemplateRenderArgs {
    /// The template's id.
    #[arg(allow_hyphen_values = true)]
    id: String,
    #[command(flatten)]
    given: RenderInputArgs,
    /// The pack that has the task [default: the first that has it].
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
    #[command(flatten)]
    place: TemplateStoreArgs,
}

impl TemplateRenderArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let stored = self.place.open(show)?.read(&self.id)?;
        let start = self.pack.as_deref().map(Start::typed);
        let asked = TemplateContract { task: self.given.task.as_deref(), ..TemplateContract::default() };
        own(&self.id, &stored, &asked, start.as_ref(), show)?;
        let mut parts = BuildParts { pack: start, template: Some(TemplateReference::Read(stored_file(&stored))), ..BuildParts::default() };
        self.given.over(&mut parts);
        template::read_template(&mut parts, show)?;
        // its warnings were shown when it was added
        let start = parts.pack.clone().unwrap_or_else(|| Start::Name(DEFAULT_PACK.to_owned()));
        let rules = Ruleset::load(&start, &parts.overlays, &library::pack_shelf(show)).map_err(EarlyExit::rejected)?;
        let scene = scene::assemble(&parts, &rules, show)?;
        let plan = planned(&rules, &scene)?;
        show.warnings(&plan.warnings, rules.sources());
        let Some(rendered) = plan.set.at(RENDERED).filter(|rendered| rendered.as_map().is_some()) else {
            let message = format!("pack `{}` renders no template by itself: its build sets no `${RENDERED}`", rules.pack().name);
            return Err(EarlyExit::could_not(Code::NameUnknown, message, "name a pack that renders templates with `--pack`"));
        };
        let mut out = rendered.to_json();
        if show.is_json() {
            if let Json::Object(out) = &mut out {
                out.insert("warnings".to_owned(), plan.warnings.iter().map(|warning| json!(warning.message)).collect());
            }
            show.json(&out);
        } else {
            show.result(&page(rendered));
        }
        Ok(RunExit::Done)
    }
}

/// A conversation for people: each message below its role, and the total cost.
fn page(rendered: &Value) -> String {
    let text = |message: &Value, key: &str| message.get(key).map(Value::to_text).unwrap_or_default();
    let mut out = String::new();
    let messages = rendered.get("messages").and_then(Value::as_list).unwrap_or_default();
    for message in messages {
        let prefix = if message.get("prefix").is_some_and(Value::truthy) { " (prefix)" } else { "" };
        out.push_str(&format!("── {}{prefix}\n", text(message, "role")));
        for line in text(message, "content").lines() {
            out.push_str(&format!("{}\n", one_line(line)));
        }
        out.push('\n');
    }
    let counted = |n: usize| format!("{n} message{}", if n == 1 { "" } else { "s" });
    out.push_str(&format!("{}, {} tokens\n", counted(messages.len()), text(rendered, "tokens")));
    out
}

/// The folder of templates if none is named.
const DEFAULT_STORE: &str = "templates";

/// Where templates are stored.
#[derive(Debug, Clone, Args)]
pub(crate) struct TemplateStoreArgs {
    /// The folder of templates, or a database: `FILE.db`, `sqlite:PATH`, `postgres://…` [default: TAPSTER_TEMPLATES,
    /// else TAPSTER_STORE, else the folder `templates`].
    #[arg(long, value_name = "DIR|URL")]
    store: Option<OsString>,
    /// Short for `--format json`.
    #[arg(long)]
    json: bool,
}

/// The store that a verb works on.
pub(crate) struct TemplateShelf {
    store: Box<dyn TemplateStore>,
    name: String,
    /// The database, which is closed behind the last request.
    _open: Option<OpenStore>,
}

impl TemplateStoreArgs {
    /// Opens the store and applies `--json`.
    pub(crate) fn open(&self, show: &mut Console<'_>) -> Result<TemplateShelf> {
        if self.json {
            show.set_json();
        }
        let named = self.store.clone();
        let named = named.or_else(|| from_env("TAPSTER_TEMPLATES", show)).or_else(|| from_env("TAPSTER_STORE", show));
        match StoreLocation::of(named.unwrap_or_else(|| DEFAULT_STORE.into())) {
            StoreLocation::Folder(folder) => {
                Ok(TemplateShelf { store: Box::new(FolderStore::new(&folder)), name: folder.display().to_string(), _open: None })
            }
            StoreLocation::Database(address) => {
                let (store, name, open) = open_template_database(&address)?;
                Ok(TemplateShelf { store, name, _open: Some(open) })
            }
        }
    }
}

impl TemplateShelf {
    /// The stored bytes of an id, not yet parsed.
    pub(crate) fn read(&self, id: &str) -> Result<StoredTemplate> {
        match wait(self.store.get(id)) {
            Ok(Some(stored)) => Ok(stored),
            Ok(None) => Err(self.missing(id)),
            Err(complaint) => Err(EarlyExit::new(RunExit::No, *complaint)),
        }
    }

    fn missing(&self, id: &str) -> EarlyExit {
        let ids = wait(self.store.list()).unwrap_or_default().ids;
        let name = head(&self.name, 200);
        let help = suggest::help(id, ids.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "`tapster template list` names those there are; `--store` names another store".into());
        EarlyExit::could_not(Code::NameUnknown, format!("`{name}` holds no template `{}`", head(id, 60)), help)
    }
}

/// Reads a stored template, whose id must be the one that it is stored under. A pack may have the revision that it is
/// written in.
pub(crate) fn own(
    id: &str,
    stored: &StoredTemplate,
    asked: &TemplateContract<'_>,
    pack: Option<&Start>,
    show: &Console<'_>,
) -> Result<OpenedTemplate> {
    let opened = template::compile_template(&stored_file(stored), asked, pack, &[], show)?;
    if &*opened.template.id != id {
        let message = format!("`{}` holds template `{}`, and not `{}`", stored.name, head(&opened.template.id, 60), head(id, 60));
        let help = "write its `id` back, or add it anew with `tapster template add`";
        return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::StoreName, message).help(help)));
    }
    Ok(opened)
}

/// A stored template as a file of rules.
pub(crate) fn stored_file(stored: &StoredTemplate) -> RuleFile {
    json_file(stored.name.clone(), stored.bytes.clone())
}

fn json_file(name: String, bytes: Vec<u8>) -> RuleFile {
    RuleFile { name, path_in_pack: "template.json".to_owned(), bytes }
}
