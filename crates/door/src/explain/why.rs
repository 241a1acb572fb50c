//! `tapster explain --why BLOCK`: why a block is in the prompt, by the pass that placed it, the row of its slot, the value
//! that its text comes from, and everything that was done to it on the way.

use serde_json::{Value as Json, json};

use crate::build::ScenePart;
use crate::diag::DocumentNode;
use crate::explain::condition::{self, ConditionProbe, RunKnowledge, field};
use crate::explain::rules::deciders;
use crate::explain::{placing_event, pointer_value, value};
use crate::layout::{head, one_line, place_of, table};
use crate::model::plan::{BlockEvent, TrackedItem};
use crate::model::{Plan, PlanBlock, Value};

/// The most blocks that are explained at once.
const BLOCKS: usize = 10;
/// The most characters of a block's text.
const TEXT: usize = 200;
/// The most lore entries, macros and scripts that are named for a block.
const NAMED: usize = 50;
/// The least bytes beside its macros by which a text is known again in a block.
const WRITTEN: usize = 4;

/// The indexes of the blocks that a text names: by number, by id or slot, or by a part of the text.
pub fn blocks(plan: &Plan, wanted: &str) -> Vec<usize> {
    let all = || plan.blocks.iter().enumerate();
    if let Some(index) = wanted.parse::<usize>().ok().filter(|n| *n < plan.blocks.len()) {
        return vec![index];
    }
    let named: Vec<usize> = all().filter(|(_, b)| b.text("id") == wanted || b.text("slot") == wanted).map(|(n, _)| n).collect();
    if !named.is_empty() {
        return named;
    }
    let lower = wanted.to_lowercase();
    all().filter(|(_, b)| b.text("text").to_lowercase().contains(&lower)).map(|(n, _)| n).collect()
}

/// The item of the list `slots` that a block was made from.
pub fn slot_item<'p>(plan: &'p Plan, slot: &str) -> Option<&'p TrackedItem> {
    let items = plan.trace.iter().flat_map(|trace| &trace.elsewhere);
    items
        .filter(|item| item.list == "slots")
        .rfind(|item| ["name", "id"].iter().any(|f| item.fields.get(f).and_then(|v| v.as_str()) == Some(slot)))
}

fn event_list(history: &[BlockEvent], probe: &ConditionProbe<'_>) -> Vec<Json> {
    let mut out: Vec<Json> =
        history.iter().map(|e| json!({ "did": e.did, "pass": e.pass, "rule": place_of(probe.rules, &e.pass) })).collect();
    out.dedup();
    out
}

/// Everything that is known about a block.
pub fn block(index: usize, probe: &ConditionProbe<'_>, parts: &[ScenePart]) -> Json {
    let Some(block) = probe.plan.blocks.get(index) else { return Json::Null };
    let (slot, text) = (block.text("slot"), block.text("text"));
    let item = slot_item(probe.plan, &slot);
    let pass = placing_event(block)
        .map(|event| probe.pass(&event.pass, item.map_or(Some(&block.fields), |item| Some(&item.fields)), RunKnowledge::Ran));
    let row = probe.rules.pack().tables.get("slot").and_then(|rows| rows.get(slot.as_str()));
    let cell = |name: &str| row.and_then(|row| row.fields.get(name)).and_then(|field| field.node.as_text());
    let paths = ["source", "override"].into_iter().filter_map(cell).filter(|path| path.starts_with('$'));
    let sources: Vec<Json> =
        paths.filter(|path| !probe.read(path.trim_start_matches('$')).is_empty()).map(|path| value::as_json(path, probe, parts)).collect();
    let record = probe.plan.evicted().iter().find(|record| !block.enabled() && record.id == block.text("id"));
    let evicted = record.map(|r| json!({ "reason": r.reason(), "tokens": r.tokens, "group": r.group, "by": probe.pass(&r.pass, Some(&block.fields), RunKnowledge::Ran) }));
    json!({
        "index": index, "id": block.text("id"), "slot": slot, "role": block.text("role"), "tokens": block.tokens, "enabled": block.enabled(),
        "text": head(&text, TEXT), "placed": pass, "slot_row": row.map(|row| json!({ "name": &*row.name, "decided": deciders(probe.rules.pack(), row) })),
        "sources": sources, "evicted": evicted, "lore": lore_in_text(probe.plan, &text), "macros": macros_in_block(block, item, probe),
        "scripts": scripts_of_text(probe, &text),
        "slot_history": item.map(|item| event_list(&item.history, probe)), "history": event_list(&block.history, probe),
    })
}

/// The lore entries that the pack reports as active, with their texts as they were placed; `None` if it reports none.
pub fn active(plan: &Plan) -> Option<&[Value]> {
    plan.set.at("lore.active").and_then(|v| v.as_list())
}

/// Whether a block's text holds that of an entry; where that has macros, what stands between them, in order.
pub fn holds(text: &str, own: &str) -> bool {
    let own = own.trim();
    if own.is_empty() || text.contains(own) {
        return !own.is_empty();
    }
    let (mut rest, mut depth, mut written) = (text, 0_usize, 0);
    for (n, part) in own.split("{{").enumerate() {
        depth += usize::from(n > 0);
        for (n, part) in part.split("}}").enumerate() {
            depth = depth.saturating_sub(usize::from(n > 0));
            if depth == 0 && !part.trim().is_empty() {
                let Some((_, behind)) = rest.split_once(part.trim()) else { return false };
                (rest, written) = (behind, written + part.trim().len());
            }
        }
    }
    written >= WRITTEN
}

/// The active lore entries whose text stands in a text.
fn lore_in_text(plan: &Plan, text: &str) -> Vec<Json> {
    let stand = active(plan).into_iter().flatten().filter(|entry| holds(text, &field(entry, "text")));
    stand.take(NAMED).map(|entry| json!({ "book": field(entry, "book"), "id": field(entry, "id") })).collect()
}

/// The macros that passes of the block's history evaluated and whose results stand in its text.
fn macros_in_block(block: &PlanBlock, item: Option<&TrackedItem>, probe: &ConditionProbe<'_>) -> Vec<Json> {
    let text = block.text("text");
    let passes: Vec<&str> = block.history.iter().chain(item.iter().flat_map(|item| &item.history)).map(|event| &*event.pass).collect();
    let all = probe.plan.trace.iter().flat_map(|trace| &trace.macros);
    let here = all.filter(|m| {
        passes.contains(&m.pass.as_str()) && m.result.as_deref().is_some_and(|result| !result.is_empty() && text.contains(result))
    });
    let mut out: Vec<Json> =
        here.map(|m| json!({ "name": m.name, "args": m.args, "result": m.result.as_deref().map(|r| head(r, TEXT)) })).take(NAMED).collect();
    out.dedup();
    out
}

/// The scripts whose result is the text.
fn scripts_of_text(probe: &ConditionProbe<'_>, text: &str) -> Vec<Json> {
    let all = probe
        .plan
        .trace
        .iter()
        .flat_map(|trace| &trace.rewrites)
        .filter(|r| !r.after.is_empty() && (r.after == text || text.contains(&r.after)));
    all.take(NAMED)
        .map(|r| json!({ "script": r.script, "pass": r.pass, "before": head(&r.before, TEXT), "after": head(&r.after, TEXT) }))
        .collect()
}

/// The blocks that are meant, and how many more there are.
pub fn as_json(found: &[usize], probe: &ConditionProbe<'_>, parts: &[ScenePart]) -> Json {
    let blocks: Vec<Json> = found.iter().take(BLOCKS).map(|index| block(*index, probe, parts)).collect();
    json!({ "blocks": blocks, "left_out": found.len().saturating_sub(BLOCKS) })
}

pub fn as_text(json: &Json) -> String {
    let mut out = String::new();
    for (n, block) in json["blocks"].as_array().into_iter().flatten().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        block_text(block, &mut out);
    }
    if let Some(more) = json["left_out"].as_u64().filter(|more| *more > 0) {
        out.push_str(&format!("\n{more} more blocks are meant; name one by its number\n"));
    }
    out
}

fn json_text(json: &Json) -> String {
    one_line(json.as_str().unwrap_or_default())
}

/// `pass (file:line)` of an event or a pass.
fn pass_with_rule(json: &Json) -> String {
    if json["rule"].is_null() { json_text(&json["pass"]) } else { format!("{} ({})", json_text(&json["pass"]), json_text(&json["rule"])) }
}

/// Rows below the line that they belong to.
pub fn indented(rows: &[Vec<String>], out: &mut String) {
    for line in table(rows).lines() {
        out.push_str(&format!("    {}\n", line.trim_end()));
    }
}

/// A pass with its conditions.
pub fn pass_text(word: &str, pass: &Json, out: &mut String) {
    out.push_str(&format!("  {word} {}", pass_with_rule(pass)));
    out.push_str(&if pass["about"].is_null() { "\n".to_owned() } else { format!(": {}\n", json_text(&pass["about"])) });
    for name in ["when", "where"] {
        let rows = condition::condition_lines(&pass[name]);
        if !rows.is_empty() {
            out.push_str(&format!("    its `{name}`\n"));
            indented(&rows, out);
        }
    }
}

fn block_text(b: &Json, out: &mut String) {
    let on = if b["enabled"] == true { "sent" } else { "not sent" };
    out.push_str(&format!(
        "block {} {} is {on}: {} tokens, {}\n  {:?}\n",
        b["index"],
        block_name(b),
        b["tokens"],
        json_text(&b["role"]),
        json_text(&b["text"])
    ));
    if !b["placed"].is_null() {
        pass_text("placed by", &b["placed"], out);
    }
    let list = |json: &Json| json.as_array().cloned().unwrap_or_default();
    if !b["slot_row"].is_null() {
        let places: Vec<String> = list(pointer_value(b, "/slot_row/decided")).iter().map(json_text).collect();
        out.push_str(&format!(
            "  its slot is the row [[slot]] {} ({})\n",
            json_text(pointer_value(b, "/slot_row/name")),
            places.join(", ")
        ));
    }
    for source in list(&b["sources"]) {
        out.push_str(&format!("  its text is read from ${}\n", value::as_text(&source).replace('\n', "\n  ").trim_end()));
    }
    if !b["evicted"].is_null() {
        out.push_str(&format!(
            "  taken out of group `{}` because of {}, {} tokens\n",
            json_text(pointer_value(b, "/evicted/group")),
            json_text(pointer_value(b, "/evicted/reason")),
            pointer_value(b, "/evicted/tokens")
        ));
        pass_text("by", pointer_value(b, "/evicted/by"), out);
    }
    let lore: Vec<String> = list(&b["lore"]).iter().map(|e| format!("{} of {}", json_text(&e["id"]), json_text(&e["book"]))).collect();
    if !lore.is_empty() {
        out.push_str(&format!("  holds the lore entries {}\n", lore.join(", ")));
    }
    let macros: Vec<Vec<String>> = list(&b["macros"])
        .iter()
        .map(|m| vec![format!("{{{{{}}}}}", json_text(&m["name"])), format!("→ {:?}", json_text(&m["result"]))])
        .collect();
    if !macros.is_empty() {
        out.push_str("  macros in it\n");
        indented(&macros, out);
    }
    let scripts: Vec<Vec<String>> = list(&b["scripts"])
        .iter()
        .map(|s| vec![json_text(&s["script"]), format!("{:?}", json_text(&s["before"])), format!("→ {:?}", json_text(&s["after"]))])
        .collect();
    if !scripts.is_empty() {
        out.push_str("  scripts that changed it\n");
        indented(&scripts, out);
    }
    for (title, name) in [("what was done to its slot", "slot_history"), ("what was done to it", "history")] {
        let rows: Vec<Vec<String>> = list(&b[name]).iter().map(|e| vec![json_text(&e["did"]), pass_with_rule(e)]).collect();
        if !rows.is_empty() {
            out.push_str(&format!("  {title}\n"));
            indented(&rows, out);
        }
    }
}

fn block_name(b: &Json) -> String {
    let (id, slot) = (json_text(&b["id"]), json_text(&b["slot"]));
    if slot.is_empty() || slot == id { format!("`{id}`") } else { format!("`{id}` of slot `{slot}`") }
}

/// The passes that run a program.
pub fn callers(probe: &ConditionProbe<'_>, program: &str) -> Vec<String> {
    let rows = probe.rules.pack().tables.get("pass").into_iter().flat_map(|rows| rows.iter());
    rows.filter(|(_, row)| row.fields.get("program").and_then(|field| DocumentNode::as_text(&field.node)) == Some(program))
        .map(|(name, _)| name.to_string())
        .collect()
}
