//! `tapster explain`: why each block of a prompt is where it is, and (with `--rules`) which rules are in force.

pub(crate) mod cache;
mod changes;
pub(crate) mod condition;
mod html;
pub(crate) mod lore;
mod remedy;
mod rules;
mod value;
pub(crate) mod why;
mod why_not;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, limits};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::write_file;
use crate::inputs::{self, InputArgs};
use crate::layout::{head, one_line, place_of, table};
use crate::model::plan::{BlockEvent, EvictionRecord, TrackedItem, UnchangedPrefix};
use crate::model::{Plan, PlanBlock, Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::verbs::build::{dialect, planned, waiting};
use condition::ConditionProbe;

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
    #[arg(long, requires = "previous", conflicts_with_all = ["rules", "lore"])]
    cache: bool,
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

impl ExplainArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if !self.cache && self.html.is_none() {
            self.inputs.refuse_previous()?;
        }
        if let Some(name) = &self.rules {
            self.inputs.refuse_prompt("--rules")?;
            let rules = self.inputs.open_rules(show)?;
            return rules::show(&rules, name.as_deref(), show);
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
        waiting(plan, show);
        let is_asked = self.why.is_some() || self.why_not.is_some() || self.changes || self.value.is_some();
        if self.cache || self.lore || is_asked {
            show.warnings(&plan.warnings, rules.sources());
        }
        payload
    }
}

/// The event that placed a block: the last that made or moved it.
fn placing_event(block: &PlanBlock) -> Option<&BlockEvent> {
    block.history.iter().rfind(|e| matches!(e.did, "made" | "placed" | "split"))
}

/// The place of the rule that decided about a block: the row of its slot, if the block is that slot itself, and else the
/// pass that placed it.
fn deciding_rule(block: &PlanBlock, rules: &Ruleset) -> Option<String> {
    let slot = block.text("slot");
    let row = rules.pack().tables.get("slot").and_then(|rows| rows.get(slot.as_str())).filter(|_| block.text("id") == slot);
    let of_row = row.and_then(|row| {
        let (source, line) = rules.sources().line(*row.patched.last().unwrap_or(&row.span))?;
        Some(format!("{}:{line}", source.name))
    });
    of_row.or_else(|| placing_event(block).and_then(|event| place_of(rules, &event.pass)))
}

/// Every event of a block with the file and line of its pass.
pub(crate) fn events(block: &PlanBlock, rules: &Ruleset) -> Vec<Json> {
    block.history.iter().map(|e| json!({ "pass": e.pass, "did": e.did, "rule": place_of(rules, &e.pass) })).collect()
}

fn as_json(plan: &Plan, rules: &Ruleset) -> Json {
    let block = |(index, b): (usize, &PlanBlock)| {
        let event = placing_event(b);
        json!({
            "index": index, "id": b.text("id"), "slot": b.text("slot"), "role": b.text("role"), "group": b.text("group"),
            "tokens": b.tokens, "enabled": b.enabled(), "pass": event.map(|e| &e.pass),
            "rule": deciding_rule(b, rules), "text": b.text("text"), "history": events(b, rules),
        })
    };
    let lost = |(id, pass): &(String, String)| json!({ "id": id, "pass": pass, "rule": place_of(rules, pass) });
    json!({
        "pack": &*rules.pack().name,
        "fingerprint": plan.fingerprint,
        "blocks": plan.blocks.iter().enumerate().map(block).collect::<Vec<_>>(),
        "trim_report": plan.trim_report,
        "lost": plan.lost.iter().map(lost).collect::<Vec<_>>(),
        "warnings": plan.warnings,
    })
}

pub(crate) fn as_text(plan: &Plan, rules: &Ruleset) -> String {
    let mut rows = vec![["#", "", "tokens", "role", "slot", "placed by", "rule", "text"].map(str::to_owned).to_vec()];
    let counted = plan.trim_report.is_some();
    rows.extend(plan.blocks.iter().enumerate().map(|(index, b)| block_row(index, b, counted, rules)));
    let on = plan.blocks.iter().filter(|b| b.enabled());
    let tokens: u64 = on.clone().map(|b| b.tokens).fold(0, u64::saturating_add);
    let mut out = format!("{}\n{} of {} blocks are sent", table(&rows), on.count(), plan.blocks.len());
    out.push_str(&match &plan.trim_report {
        Some(trim) => format!(", {tokens} tokens; {} would fit (`{}`)\n", trim.budget_tokens, trim.strategy),
        None => "; no pass has trimmed them, so they are not counted\n".to_owned(),
    });
    push_section(&mut out, "trimmed", plan.evicted().iter().map(|r| evicted_row(r, rules)).collect());
    push_section(
        &mut out,
        "lost their place",
        plan.lost.iter().map(|(id, pass)| vec![one_line(id), pass_with_place(pass, rules)]).collect(),
    );
    let warnings = plan.warnings.iter().map(|w| vec![w.code.to_string(), warning_text(w), pass_with_place(&w.pass, rules)]);
    push_section(&mut out, "warnings", warnings.collect());
    out
}

/// What a warning says, and what to do.
fn warning_text(warning: &Diagnostic) -> String {
    let help = warning.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    one_line(&format!("{}{help}", warning.message))
}

fn push_section(out: &mut String, title: &str, rows: Vec<Vec<String>>) {
    if !rows.is_empty() {
        out.push_str(&format!("\n{title}\n{}", table(&rows)));
    }
}

fn block_row(index: usize, block: &PlanBlock, counted: bool, rules: &Ruleset) -> Vec<String> {
    let event = placing_event(block);
    let pass = event.map(|e| e.pass.to_string()).unwrap_or_default();
    let rule = deciding_rule(block, rules).unwrap_or_default();
    let on = if block.enabled() { "on" } else { "off" };
    let slot = if block.text("slot").is_empty() { block.text("id") } else { block.text("slot") };
    vec![
        index.to_string(),
        on.to_owned(),
        if counted { block.tokens.to_string() } else { "–".to_owned() },
        one_line(&block.text("role")),
        head(&slot, 30),
        pass,
        rule,
        head(&block.text("text"), limits::QUOTED),
    ]
}

fn evicted_row(record: &EvictionRecord, rules: &Ruleset) -> Vec<String> {
    let what = match record.unread {
        Some(n) => format!("{n} messages that were never read"),
        None => one_line(&record.id),
    };
    vec![what, format!("{} tokens", record.tokens), record.group.clone(), record.reason().to_owned(), pass_with_place(&record.pass, rules)]
}

fn pass_with_place(pass: &str, rules: &Ruleset) -> String {
    place_of(rules, pass).map_or_else(|| pass.to_owned(), |place| format!("{pass} ({place})"))
}

/// The value at a JSON Pointer; null where there is none.
fn pointer_value<'a>(json: &'a Json, pointer: &str) -> &'a Json {
    json.pointer(pointer).unwrap_or(&Json::Null)
}

/// The most removed items of the report.
const MAX_REMOVED: usize = 1_000;
/// The most characters of a removed item's text, and of the name of an input.
const REPORT_TEXT: usize = 300;

/// The report of a build; `scene` is how the scene was named, and `payload` what is sent.
fn full_report(plan: &Plan, rules: &Ruleset, scene: &str, payload: Option<&Json>, unchanged: Option<&UnchangedPrefix>) -> Json {
    let mut report = as_json(plan, rules);
    let Some(map) = report.as_object_mut() else { return report };
    let mut add = |name: &str, value: Json| map.insert(name.to_owned(), value);
    let evicted = plan.evicted().iter().map(|r| {
        let mut json = serde_json::to_value(r).unwrap_or_default();
        if let Some(map) = json.as_object_mut() {
            map.insert("reason".to_owned(), json!(r.reason()));
            map.insert("rule".to_owned(), json!(place_of(rules, &r.pass)));
        }
        json
    });
    add("evicted", evicted.take(MAX_REMOVED).collect());
    let text = |item: &TrackedItem, field: &str| item.fields.get(field).map(|v| v.to_text().to_string()).unwrap_or_default();
    let elsewhere = plan.trace.iter().flat_map(|trace| &trace.elsewhere);
    let gone = elsewhere.filter(|item| item.list != "entries" && !has_nothing_to_send(item, plan, rules)).filter_map(|item| {
        let gone = item.gone.as_ref()?;
        let id = [text(item, "id"), text(item, "name")].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        let text = head(&text(item, "text"), REPORT_TEXT);
        Some(json!({ "list": item.list, "id": id, "text": text, "did": gone.did, "pass": gone.pass, "rule": place_of(rules, &gone.pass) }))
    });
    add("gone", gone.take(MAX_REMOVED).collect());
    add("lore", lore::as_json(plan, rules, None).get("entries").cloned().unwrap_or_default());
    let read = |path: &str| read(plan, path).map(|value| value.to_text().to_string()).unwrap_or_default();
    let overlays: Vec<&str> = rules.pack().layers.iter().filter(|layer| layer.overlay).map(|layer| &*layer.name).collect();
    let said = [
        ("Scene", scene.to_owned()),
        ("Overlays", overlays.join(", ")),
        ("Character", read("names.char")),
        ("Model", read("provider.model")),
        ("Dialect", dialect(rules, &Scene { data: plan.scene.clone(), ..plan.given.clone() })),
    ];
    add(
        "inputs",
        said.into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| json!({ "name": name, "is": head(&text, REPORT_TEXT) }))
            .collect(),
    );
    add("payload", payload.cloned().unwrap_or_default());
    add("changes", changes::as_json(plan, rules, None));
    add("unchanged", unchanged.map(|found| cache::as_json(found, None, plan, rules)).unwrap_or_default());
    report
}

/// A value at the end of the build.
fn read<'p>(plan: &'p Plan, path: &str) -> Option<&'p Value> {
    plan.set.at(path).or_else(|| plan.scene.at(path))
}

/// Whether an item has nothing to send, such as the anchor of a slot that nothing came to: no text, no parts of a message,
/// and no value that it would have been read from.
fn has_nothing_to_send(item: &TrackedItem, plan: &Plan, rules: &Ruleset) -> bool {
    let has_parts = |value: &Value| value.as_list().is_some_and(|list| list.iter().any(|part| part.as_map().is_some()));
    let has_text = item.fields.get("text").is_some_and(|text| !text.to_text().trim().is_empty());
    // the text of a slot is read later than some passes drop it
    let name = ["id", "name"].iter().find_map(|key| item.fields.get(key)).map(|name| name.to_text().to_string()).unwrap_or_default();
    let row = rules.pack().tables.get("slot").and_then(|rows| rows.get(name.as_str())).filter(|_| item.list == "slots");
    let source = row.and_then(|row| row.fields.get("source")?.node.as_text()?.strip_prefix('$'));
    let has_source = source.and_then(|path| read(plan, path)).is_some_and(|value| !value.is_empty());
    !has_text && !has_source && !item.fields.as_map().is_some_and(|fields| fields.values().any(has_parts))
}
