//! `tapster template render`: renders a stored template with the data of its task, by the rules of a pack that has the
//! task.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::Code;
use crate::model::Value;
use crate::pack::{Ruleset, Start};
use crate::template::TemplateContract;

use crate::inputs::library;
use crate::inputs::parts::BuildParts;
use crate::inputs::parts::TemplateReference;
use crate::inputs::scene;
use crate::inputs::templated;
use crate::inputs::templated::RenderInputArgs;
use crate::layout::one_line;
use crate::output::OutputStreams;
use crate::stop::EarlyExit;
use crate::stop::RunExit;
use crate::verbs::build::planned;
use crate::verbs::template::shelf::TemplateStoreArgs;
use crate::verbs::template::shelf::own;
use crate::verbs::template::shelf::stored_file;

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
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let stored = self.place.open(show)?.read(&self.id)?;
        let start = self.pack.as_deref().map(Start::typed);
        let asked = TemplateContract { task: self.given.task.as_deref(), ..TemplateContract::default() };
        own(&self.id, &stored, &asked, start.as_ref(), show)?;
        let mut parts = BuildParts { pack: start, template: Some(TemplateReference::Read(stored_file(&stored))), ..BuildParts::default() };
        self.given.over(&mut parts);
        templated::read_in(&mut parts, show)?;
        // its warnings were shown when it was added
        let start = parts.pack.clone().unwrap_or_else(|| Start::Name(library::DEFAULT_PACK.to_owned()));
        let rules = Ruleset::load(&start, &parts.overlays, &library::shelf(show)).map_err(EarlyExit::rejected)?;
        let scene = scene::of(&parts, &rules, show)?;
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
