//! Why each block of a prompt is where it is. Each answer is JSON, and the same as a text for a terminal.

pub mod accounts;
pub mod cache;
pub mod changes;
pub mod condition;
pub mod lore;
pub mod remedy;
pub mod rules;
pub mod value;
pub mod why;
pub mod why_not;

use serde_json::{Value as Json, json};

use crate::build::dialect_of as dialect;
use crate::diag::{Code, Diagnostic, limits};
use crate::layout::{head, one_line, place_of, table};
use crate::model::plan::{BlockEvent, EvictionRecord, TrackedItem, UnchangedPrefix};
use crate::model::{Plan, PlanBlock, Scene, Value};
use crate::pack::Ruleset;

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
pub fn events(block: &PlanBlock, rules: &Ruleset) -> Vec<Json> {
    block.history.iter().map(|e| json!({ "pass": e.pass, "did": e.did, "rule": place_of(rules, &e.pass) })).collect()
}

/// The blocks with the rules that placed them, what was trimmed or lost, and the warnings.
#[must_use]
pub fn as_json(plan: &Plan, rules: &Ruleset) -> Json {
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

/// The same as a text.
#[must_use]
pub fn as_text(plan: &Plan, rules: &Ruleset) -> String {
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
    let shortened = plan.trim_report.iter().flat_map(|trim| &trim.shortened);
    let shortened = shortened.map(|r| {
        vec![one_line(&r.id), format!("{} of {} tokens", r.tokens_after, r.tokens), r.group.clone(), pass_with_place(&r.pass, rules)]
    });
    push_section(&mut out, "made shorter", shortened.collect());
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
#[must_use]
pub fn full_report(plan: &Plan, rules: &Ruleset, scene: &str, payload: Option<&Json>, unchanged: Option<&UnchangedPrefix>) -> Json {
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

/// A warning for each operation that waits for the reply of a model, which a build does not ask.
#[must_use]
pub fn waiting_operations(plan: &Plan) -> Vec<Diagnostic> {
    let requests = plan.reported("requests").to_json();
    let names = requests.as_array().into_iter().flatten().filter_map(|request| request["operation"].as_str());
    let warning = |operation: &str| {
        let message = format!("operation `{operation}` waits for a model, so the prompt is not what a turn would send");
        let help = format!("put its reply into the scene as `replies.{operation}.text`, or play the turn with `tapster turn`");
        Diagnostic::new(Code::OperationWaiting, message).help(help)
    };
    names.map(warning).collect()
}
