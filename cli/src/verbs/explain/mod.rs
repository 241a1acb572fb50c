//! `tapster explain`: why each block of a prompt is where it is, and (with `--rules`) which rules are in force.

pub(super) mod html;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;
use tapster_door::explain::accounts::{CacheAccount, CacheSummary};
use tapster_door::explain::condition::ConditionProbe;
use tapster_door::explain::{as_json, as_text, cache, changes, full_report, lore, remedy, rules, value, waiting_operations, why, why_not};

use crate::diag::{Code, Sources};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{read_text, write_file};
use crate::inputs::{self, InputArgs};
use crate::layout::head;
use crate::model::{Plan, Scene};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::verbs::build::{dialect, planned};

/// How to get a plan.
const PLAN: &str = "write a plan with `tapster build … --dump plan`";

/// Show where each block of a prompt came from: the pass that placed it, with its file and line. Then list what was
/// trimmed, what lost its place, and every warning.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster explain examples/hello
  tapster explain --rules --pack base                   the programs of a pack
  tapster explain --rules inject --pack base            one program, each value with the line that decided it
  tapster explain --rules slot/main_prompt --pack base  one row of a table
  tapster explain --rules form/cost --pack base         a form; `fact/NAME` is a fact
  tapster explain examples/hello --rules lore           the rules that an example is built with
  tapster explain my-pack/cases/lore.toml#cold --lore   the prompt of a rule test, by its file and name
  tapster explain examples/hello --lore                 why each lore entry is in the prompt, or is not
  tapster explain examples/hello --lore --format json   the same with every reason, its rule and its details
  tapster explain examples/hello --lore --filter ledger   only what holds this text
  tapster explain examples/hello --why scenario         why a block is in the prompt: its id, slot, number or text
  tapster explain examples/hello --why-not ledger       what stopped something, and which changes would let it pass
  tapster explain examples/hello --changes              what each macro, regex script and hook did
  tapster explain examples/hello --value preset.main    which part of the inputs decided a value
  tapster explain examples/hello --html report.html     everything as one page for a browser
  tapster explain examples/hello --cache --previous plan.json   what a provider's cache can serve, and who broke it
  tapster explain --cache --log cache.jsonl             what a gateway's prompts lost of the cache, and by which rules
  tapster explain examples/hello --format json")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    inputs: InputArgs,
    /// Show the merged rules instead: a program, a table, a row (`form/NAME`, `fact/NAME`, `slot/NAME` …; a name alone is
    /// looked for in all tables) or a section of values; without a name, all programs. One row is shown whole.
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    #[allow(clippy::option_option, reason = "clap's way of saying: flag, with or without a value")]
    rules: Option<Option<String>>,
    /// Show what happened to every lore entry, and why; the codes are in docs/reference/lore.md.
    #[arg(long, conflicts_with = "rules", group = "filtered")]
    lore: bool,
    /// With `--lore` and `--changes`: only what holds this text (of an entry: its title, id, book, code or keys).
    #[arg(long, value_name = "TEXT", requires = "filtered")]
    filter: Option<String>,
    /// Show how much of the request is the same as in the previous one, the first block that differs, and the rule or
    /// macro that caused the difference.
    #[arg(long, requires = "compared", conflicts_with_all = ["rules", "lore"])]
    cache: bool,
    /// With `--cache`: sum up the accounts that `tapster serve --cache-log` has written, instead of building a prompt.
    #[arg(long, value_name = "FILE", requires = "cache", group = "compared")]
    log: Option<PathBuf>,
    /// Explain why a block is in the prompt: its number, id or slot, or a part of its text.
    #[arg(long, value_name = "BLOCK", conflicts_with_all = ["rules", "lore", "cache"])]
    why: Option<String>,
    /// Explain why something is not in the prompt, and try which changes of the scene would let it pass: the id, name or
    /// a part of the text of a lore entry, block, injection, slot or message, or a pass (`program/pass`).
    #[arg(long, value_name = "THING", conflicts_with_all = ["rules", "lore", "cache", "why"])]
    why_not: Option<String>,
    /// Show what each macro, regex script and hook did.
    #[arg(long, conflicts_with_all = ["rules", "lore", "cache", "why", "why_not"], group = "filtered")]
    changes: bool,
    /// Show which part of the inputs (pack, overlay, preset, card, scene file, flag) or which hook, script or pass decided a
    /// value of the scene.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["rules", "lore", "cache", "why", "why_not", "changes"])]
    value: Option<String>,
    /// Write one HTML page with all answers, which needs no network; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rules", "lore", "cache", "why", "why_not", "changes", "value"])]
    html: Option<PathBuf>,
}

/// Sums up the accounts of a gateway.
fn sum_up(log: &Path, show: &mut Console<'_>) -> Result<RunExit> {
    let text = read_text(log, show)?;
    let mut accounts = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let account: CacheAccount = serde_json::from_str(line).map_err(|error| {
            let message = format!("`{}`, line {}: not an account of a gateway: {error}", log.display(), n + 1);
            EarlyExit::could_not(Code::SyntaxJson, message, "name the file that `tapster serve --cache-log` has written")
        })?;
        accounts.push(account);
    }
    let sum = CacheSummary::of(&accounts);
    show.answer(&serde_json::to_value(&sum).unwrap_or_default(), || sum.as_text());
    Ok(RunExit::Done)
}

impl ExplainArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if let Some(log) = &self.log {
            return sum_up(log, show);
        }
        if !self.cache && self.html.is_none() {
            self.inputs.refuse_previous()?;
        }
        if let Some(name) = &self.rules {
            self.inputs.refuse_prompt("--rules")?;
            let rules = self.inputs.open_rules(show)?;
            let Some(name) = name else {
                show.answer(&rules::programs_json(&rules), || rules::programs_text(&rules));
                return Ok(RunExit::Done);
            };
            let named = rules::NamedRules::find(rules.pack(), name).map_err(|unknown| EarlyExit::new(RunExit::CouldNot, *unknown))?;
            show.answer(&named.as_json(), || named.as_text());
            return Ok(RunExit::Done);
        }
        self.inputs.require_scene()?;
        let (rules, mut scene) = self.inputs.open(show)?;
        scene.trace = true;
        let mut plan = planned(&rules, &scene)?;
        let payload = self.tell(&mut plan, &rules, &dialect(&rules, &scene), show);
        if let Some(file) = &self.html {
            let found = self.inputs.previous(show)?.map(|previous| previous.plan(&rules, &plan)).transpose();
            let found = found.map_err(|e| EarlyExit::build(&e, &rules))?.flatten();
            let page = html::page(full_report(&plan, &rules, &self.inputs.named_scene(), payload.as_ref(), found.as_ref()));
            if file.as_os_str() == "-" {
                show.result(&page);
            } else {
                write_file(file, page.as_bytes())?;
            }
        } else if let Some((json, text)) = self.answer(&plan, &rules, &scene, show)? {
            show.answer(&json, || text);
        } else if self.cache {
            let found = self.inputs.previous(show)?.map(|previous| previous.plan(&rules, &plan)).transpose();
            let Some(found) = found.map_err(|e| EarlyExit::build(&e, &rules))?.flatten() else {
                return Err(EarlyExit::could_not(Code::ImportFormat, "`--cache` compares plans, but this is a payload", PLAN));
            };
            let provider = cache::ProviderCache::of(&plan, &rules, &dialect(&rules, &scene));
            show.answer(&cache::as_json(&found, provider.as_ref(), &plan, &rules), || {
                cache::as_text(&found, provider.as_ref(), &plan, &rules)
            });
        } else if self.lore && show.is_json() {
            show.json(&lore::as_json(&plan, &rules, self.filter.as_deref()));
        } else if self.lore {
            show.result(&lore::as_text(&plan, &rules, self.filter.as_deref()));
        } else {
            show.answer(&as_json(&plan, &rules), || as_text(&plan, &rules));
        }
        Ok(RunExit::Done)
    }
}

impl ExplainArgs {
    /// The answer to a question about one thing, as JSON and as text; `None` if none is asked.
    fn answer(&self, plan: &Plan, rules: &Ruleset, scene: &Scene, show: &mut Console<'_>) -> Result<Option<(Json, String)>> {
        let probe = ConditionProbe::new(rules, plan, &scene.data);
        if let Some(wanted) = &self.why {
            let found = why::blocks(plan, wanted);
            if found.is_empty() {
                let help = format!("`tapster explain` lists the blocks; `--why-not {}` says what stopped it", head(wanted, 40));
                return Err(EarlyExit::could_not(
                    Code::NameUnknown,
                    format!("no block is called `{}` or holds it", head(wanted, 60)),
                    help,
                ));
            }
            let json = why::as_json(&found, &probe, &self.inputs.layers(rules, show)?);
            let text = why::as_text(&json);
            return Ok(Some((json, text)));
        }
        if let Some(wanted) = &self.why_not {
            let json = why_not::BuildQuestion { probe: &probe, scene, budget: &remedy::TrialBudget::new(scene) }.as_json(wanted);
            if json.get("answers").and_then(Json::as_array).is_none_or(Vec::is_empty) {
                let message = format!("nothing in this build is called `{}` or holds it", head(wanted, 60));
                let help = "name a block, an item, a lore entry, a slot or a pass, or write a part of a text of the scene";
                return Err(EarlyExit::could_not(Code::NameUnknown, message, help));
            }
            let text = why_not::as_text(&json);
            return Ok(Some((json, text)));
        }
        if self.changes {
            let json = changes::as_json(plan, rules, self.filter.as_deref());
            let text = changes::as_text(&json);
            return Ok(Some((json, text)));
        }
        let Some(path) = self.value.as_deref().map(|path| path.trim_start_matches('$')) else { return Ok(None) };
        if probe.read(path).is_null() {
            inputs::require_path(rules, path)?;
        }
        let json = value::as_json(path, &probe, &self.inputs.layers(rules, show)?);
        let text = value::as_text(&json);
        Ok(Some((json, text)))
    }

    /// Adds what the dialect warns of to the warnings of the plan, so that `explain` tells what `build` tells. The reports
    /// that have no part for warnings get them as diagnostics. Gives back the payload.
    fn tell(&self, plan: &mut Plan, rules: &Ruleset, dialect: &str, show: &mut Console<'_>) -> Option<Json> {
        let payload = match tapster::emit(rules, plan, dialect) {
            Ok(emitted) => {
                plan.warnings.extend(emitted.warnings);
                Some(emitted.payload)
            }
            // a pack may have programs and lists alone
            Err(_) if crate::build::dialects(rules).is_empty() => None,
            Err(error) => {
                show.report(&error.diagnostic(rules).into(), rules.sources());
                None
            }
        };
        show.report(&waiting_operations(plan).into_iter().collect(), &Sources::default());
        let is_asked = self.why.is_some() || self.why_not.is_some() || self.changes || self.value.is_some();
        if self.cache || self.lore || is_asked {
            show.warnings(&plan.warnings, rules.sources());
        }
        payload
    }
}
