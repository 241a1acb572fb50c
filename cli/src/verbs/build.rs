//! `tapster build`: from a scene to a payload, or to another link of the chain.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, Help, Sources, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::turns::{PlayArgs, PreviousRequest, TurnResult};
use crate::inputs::{self, InputArgs};
use crate::model::{Plan, Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::verbs::dataset::DatasetArgs;
use tapster_door::explain::{cache, waiting_operations};

pub(crate) use crate::build::dialect_of as dialect;

/// Build a prompt and print the provider's payload as JSON.
#[derive(Debug, Args)]
#[command(after_help = crate::inputs::library::with_reader_name("Examples:
  tapster build examples/hello
  tapster build --pack READER --character card.png --message 'Good evening.'
  tapster build --pack READER --character card.png --dialect mistral
  tapster build examples/hello --overlay tweak.toml --set note.depth=2
  tapster build examples/hello --dump plan
  tapster build examples/hello --previous plan.json
  tapster build examples/hello --model claude-opus-4-6 --dialect anthropic
  tapster build examples/hello --dump draft:lore
  tapster build examples/hello --dump list:injections
  tapster build examples/hello --turns turns.toml --state chat.json --draws draws.txt --dump list:entries
  tapster build --template turn.json --data story.json --max-tokens 2000
  tapster build --template ID --task turn_generation --data - < story.json
  tapster build --jsonl scenes.jsonl prompts.jsonl --pack READER
  echo 'Hello?' | tapster build examples/hello --message -"))]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    inputs: InputArgs,
    /// Another link of the chain: `draft:<stage>` (the live blocks after that stage), `list:<name>` (the items of any list
    /// at the end of the build, such as `entries`, `injections` or `blocks`), `plan` or `payload`.
    #[arg(long, value_name = "LINK", default_value = "payload", value_parser = link)]
    dump: BuildLink,
    #[command(flatten)]
    turns: PlayArgs,
    #[command(flatten)]
    dataset: DatasetArgs,
}

/// A link of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BuildLink {
    Draft(String),
    List(String),
    Plan,
    Payload,
}

fn link(text: &str) -> Result<BuildLink, String> {
    match text.split_once(':') {
        Some(("draft", stage)) if !stage.is_empty() => Ok(BuildLink::Draft(stage.to_owned())),
        Some(("list", name)) if !name.is_empty() => Ok(BuildLink::List(name.to_owned())),
        None if text == "plan" => Ok(BuildLink::Plan),
        None if text == "payload" => Ok(BuildLink::Payload),
        _ => Err("write `draft:<stage>`, `list:<name>`, `plan` or `payload`".to_owned()),
    }
}

impl BuildArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if self.dataset.files().is_some() {
            let (defaults, folders) = self.inputs.line_defaults();
            return self.dataset.run(&defaults, &folders, show);
        }
        self.inputs.require_scene()?;
        let (rules, mut scene) = self.inputs.open(show)?;
        if let BuildLink::List(name) = &self.dump {
            inputs::require_list(&rules, name)?;
        }
        scene.trace = matches!(self.dump, BuildLink::Draft(_));
        let previous = self.inputs.previous(show)?;
        self.turns.warn_of_same_chat(show);
        let all = self.turns.play(&rules, &scene, show, |scene, _, show| self.once(&rules, &scene, previous.as_ref(), show))?;
        show.json(&self.turns.joined(all));
        if show.arguments.is_some() {
            // the system takes back the memory of a process at once
            std::mem::forget(rules);
        }
        Ok(RunExit::Done)
    }

    /// One build.
    fn once(&self, rules: &Ruleset, scene: &Scene, previous: Option<&PreviousRequest>, show: &mut Console<'_>) -> Result<TurnResult> {
        let (mut plan, outcome) = crate::build::built(rules, scene).map_err(|e| EarlyExit::build(&e, rules))?;
        if let Some(previous) = previous {
            plan.unchanged = previous.plan(rules, &plan).map_err(|e| EarlyExit::build(&e, rules))?;
        }
        show.warnings(&plan.warnings, rules.sources());
        show.report(&waiting_operations(&plan).into_iter().collect(), &Sources::default());
        let result = match &self.dump {
            BuildLink::Payload => {
                let dialect = dialect(rules, scene);
                let emitted = tapster::emit(rules, &plan, &dialect).map_err(|e| EarlyExit::build(&e, rules))?;
                show.warnings(&emitted.warnings, rules.sources());
                let of_payload = previous.map(|p| p.payload(rules, &plan, &dialect, &emitted.payload)).transpose();
                let of_payload = of_payload.map_err(|e| EarlyExit::build(&e, rules))?.flatten();
                if let Some(unchanged) = emitted.unchanged.or(of_payload) {
                    show.note(Diagnostic::new(Code::CacheUnchanged, cache::line(&unchanged)));
                }
                emitted.payload
            }
            BuildLink::Plan => serde_json::to_value(&plan).unwrap_or(Json::Null),
            BuildLink::Draft(stage) => draft(&plan, stage)?,
            BuildLink::List(name) => outcome.list(name).iter().map(Value::to_json).collect(),
        };
        Ok(TurnResult { result, patch: plan.patch, draws: outcome.draws_left() })
    }
}

/// Builds the plan.
pub(crate) fn planned(rules: &Ruleset, scene: &Scene) -> Result<Plan> {
    tapster::build(rules, scene).map_err(|e| EarlyExit::build(&e, rules))
}

fn draft(plan: &Plan, stage: &str) -> Result<Json> {
    let stages = plan.trace.as_ref().map(|t| t.stages.as_slice()).unwrap_or(&[]);
    match stages.iter().find(|(name, _)| name == stage) {
        Some((name, blocks)) => Ok(json!({ "stage": name, "blocks": blocks })),
        None => {
            let names: Vec<&str> = stages.iter().map(|(n, _)| n.as_str()).collect();
            let help = suggest::nearest(stage, names.iter().copied())
                .map_or_else(|| format!("the stages are {}", names.join(", ")).into(), Help::from);
            Err(EarlyExit::could_not(Code::NameUnknown, format!("the build has no stage `{stage}`"), help))
        }
    }
}
