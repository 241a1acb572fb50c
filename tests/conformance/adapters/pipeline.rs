//! `contract-pipeline`: whole builds of a contract scene.

use serde_json::{Value as Json, json};

use crate::adapters::hooks;
use crate::adapters::hooks::Seen;
use crate::adapters::wire::parts;
use crate::case::{Case, Check, fits, texts, without};
use crate::engine;
use crate::engine::{Built, CONTRACT, Scene};

/// Field of a contract preset = where the scene has it.
const PRESET: &[(&str, &str)] = &[
    ("context_window_tokens", "context.window"),
    ("reserved_response_tokens", "context.reserve"),
    ("assistant_impersonation", "preset.impersonation_prefill"),
    ("assistant_prefill", "preset.prefill"),
    ("continue_nudge_prompt", "preset.continue_nudge"),
    ("continue_postfix", "preset.continue_postfix"),
    ("continue_prefill", "preset.continue_prefill"),
    ("impersonation_prompt", "preset.impersonation"),
    ("system_prompt", "preset.system_prompt"),
];

/// Field of a contract scene = where the scene has it.
const SCENE: &[(&str, &str)] = &[
    ("dialect", "dialect"),
    ("source", "provider.source"),
    ("generation_type", "type"),
    ("turn_count", "turn_count"),
    ("character", "card"),
    ("user_message", "input"),
    ("macro_vars", "vars.local"),
    ("macro_engine", "macro_engine"),
    ("authors_note", "note"),
    ("story", "story"),
    ("greeting_index", "chat.greeting"),
];

/// One case: a build, or the names of stages and slots.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    match case.op() {
        "stages" => return vec![stages(case)],
        "slots" => return vec![slots(case)],
        _ => {}
    }
    let seen = Seen::default();
    let outcome = engine::build_with(
        CONTRACT,
        &custom_stages(&input["custom_stages"]),
        scene(input, input["options"]["trace"] == json!(true), &seen),
    );
    let actual = match (&outcome, case.op()) {
        (Err(error), _) => error.clone(),
        (Ok(built), "build") => told(built, input, &seen),
        (Ok(built), "build_and_emit") => match built.emit(input["scene"]["dialect"].as_str().unwrap_or("")) {
            Ok(payload) => json!({ "payload_messages": payload["messages"] }),
            Err(error) => error,
        },
        (Ok(_), other) => return vec![Check::broken("", case, &format!("no adapter for op `{other}` yet"))],
    };
    vec![case.check(actual, alike)]
}

/// The named stages run in this order, other passes between them; `same_for` are the dialects whose builds show it.
fn stages(case: &Case) -> Check {
    let input = &case.input;
    let in_dialect = |dialect: &Json| {
        let mut scene = scene(input, true, &Seen::default());
        parts::put(&mut scene.data, "dialect", dialect.clone());
        let ran = engine::build(CONTRACT, scene).map_or_else(|_| Vec::new(), |b| b.stages());
        json!({ "dialect": dialect, "stages": ran.into_iter().map(|(name, _)| name).collect::<Vec<_>>() })
    };
    let builds: Json = input["dialects"].as_array().into_iter().flatten().map(in_dialect).collect();
    case.check(json!({ "builds": builds }), |expected, actual| {
        let named = texts(&expected["stages"]);
        let builds = actual["builds"].as_array().into_iter().flatten();
        let alike: Json = builds.filter(|b| in_order(&named, &texts(&b["stages"]))).map(|b| b["dialect"].clone()).collect();
        expected["same_for"] == alike
    })
}

fn slots(case: &Case) -> Check {
    let have = engine::rows(CONTRACT, "slot").unwrap_or_default();
    case.check(json!({ "slots": have, "slot_count": have.len() }), |expected, actual| {
        texts(&expected["slots_include"]).iter().all(|slot| texts(&actual["slots"]).contains(slot))
            && fits(&without(expected, &["slots_include"]), actual)
    })
}

/// Stages of the case's own: passes that fire an event, which hooks of the application answer.
fn custom_stages(stages: &Json) -> String {
    let mut overlay = String::new();
    for stage in stages.as_array().into_iter().flatten() {
        let (name, after) = (&stage["name"], &stage["after"]);
        let name = name.as_str().unwrap_or("");
        overlay += &format!("[[pass]]\nname = \"build/{name}\"\ndo = \"run\"\nevent = \"{name}\"\nafter = {after}\n");
    }
    if overlay.is_empty() { overlay } else { format!("kind = \"overlay\"\nversion = 1\n{overlay}") }
}

fn scene(input: &Json, trace: bool, seen: &Seen) -> Scene {
    let from = &input["scene"];
    let mut data = json!({
        "context": { "tokenizer": input["options"]["tokenizer"] },
        "names": { "char": from["character"]["name"], "user": from["user"]["name"] },
        "history": parts::history(&from["history"]),
        "instruct": { "enabled": false },
        "books": books(&from["lore_books"]),
    });
    parts::copy(from, &mut data, SCENE);
    parts::copy(&from["user"], &mut data, &[("persona", "persona.text"), ("persona_position", "persona.position")]);
    parts::copy(&from["preset"], &mut data, PRESET);
    parts::put(&mut data, "preset.entries", entries(&from["preset"]["prompt_entries"]));
    let mut scene = Scene::new(data);
    let injections = parts::injections(&from["injections"], &mut scene);
    parts::put(&mut scene.data, "injections", injections);
    scene.strict = input["options"]["strict"] == json!(true);
    scene.trace = trace;
    for (name, made) in from["macro_registry"].as_object().into_iter().flatten() {
        let made = match made["throws"].as_str().map(str::to_owned) {
            Some(text) => parts::host(&mut scene, Box::new(move || Err(text.clone()))),
            None => made.clone(),
        };
        parts::put(&mut scene.data, &format!("macros.{name}"), made);
    }
    scene.hooks = hooks::of(input, seen);
    scene
}

fn entries(list: &Json) -> Json {
    let entry = |e: &Json| {
        let mut out = json!({ "name": e.get("slot").unwrap_or(&e["id"]) });
        parts::copy(
            e,
            &mut out,
            &[("role", "role"), ("content", "text"), ("enabled", "enabled"), ("position", "position"), ("depth", "depth")],
        );
        if !e["when"].is_null() {
            parts::set(&mut out, "when", parts::condition(&e["when"]));
        }
        out
    };
    list.as_array().into_iter().flatten().map(entry).collect()
}

fn books(books: &Json) -> Json {
    let book =
        |b: &Json| json!({ "id": b["name"], "entries": b["entries"].as_array().into_iter().flatten().map(lore_entry).collect::<Json>() });
    books.as_array().into_iter().flatten().map(book).collect()
}

fn lore_entry(entry: &Json) -> Json {
    let names = [
        ("id", "id"),
        ("keys", "keys"),
        ("content", "text"),
        ("constant", "constant"),
        ("order", "order"),
        ("generation_types", "triggers"),
    ];
    let mut out = json!({});
    parts::copy(entry, &mut out, &names);
    let position = entry["position"].as_str().unwrap_or("");
    match position.strip_prefix("outlet:") {
        Some(outlet) => parts::lay(&mut out, json!({ "position": "outlet", "outlet": outlet })),
        None => parts::set(&mut out, "position", json!(position)),
    }
    out
}

/// All that a case may ask about a plan.
fn told(built: &Built, input: &Json, seen: &Seen) -> Json {
    let messages = built.messages();
    let trace = built.trace();
    let unseen = Seen::default();
    let watched = engine::build(CONTRACT, scene(input, true, &unseen)).map_or_else(|_| Vec::new(), |b| b.stages());
    let unchanged: Vec<&str> = watched
        .iter()
        .enumerate()
        .filter(|(n, (_, after))| n.checked_sub(1).and_then(|n| watched.get(n)).map_or(after.is_empty(), |(_, before)| before == after))
        .map(|(_, (name, _))| name.as_str())
        .collect();
    let events = trace["steps"].as_array().into_iter().flatten().map(event).collect::<Vec<_>>();
    let stages = built.stages().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let contents = messages.as_array().into_iter().flatten().filter_map(|m| m["content"].as_str()).collect::<Vec<_>>().join("\n");
    let blocks: Json = built.blocks().iter().map(contract_block).collect();
    let untraced = engine::build(CONTRACT, scene(input, false, &unseen)).map_or_else(|error| error, |b| b.messages());
    let prompt = built.emit("text").map_or_else(|error| error, |payload| payload["prompt"].clone());
    json!({
        "same_as_untraced": untraced == messages, "messages": messages, "contents": contents, "blocks": blocks, "prompt": prompt,
        "warnings": built.warnings(), "outlets": built.outlets(), "trim_report": built.trim_report(), "trace": trace,
        "trace_stage_order": stages, "event_order": events, "trace_stats": trim_stats(&trace), "plan": built.told(),
        "hook_observed": seen.observed(), "payload_evaluations": seen.evaluated(), "blocks_unchanged_by": unchanged,
    })
}

/// `hook:ID` and `stage:NAME`.
fn event(step: &Json) -> String {
    let step = step.as_object().into_iter().flatten().next();
    step.map(|(kind, name)| format!("{kind}:{}", name.as_str().unwrap_or(""))).unwrap_or_default()
}

/// What trimming noted, with the stage that noted it.
pub(super) fn trim_stats(trace: &Json) -> Json {
    let stat = trace["stats"].as_array().into_iter().flatten().find(|s| s["name"] == json!("trim")).cloned().unwrap_or_default();
    let mut value = stat["value"].clone();
    parts::set(&mut value, "stage", stat["stage"].clone());
    value
}

fn contract_block(block: &Json) -> Json {
    let mut out = block.clone();
    let names = [("text", "content"), ("group", "token_budget_group"), ("bundle", "bundle_id")];
    parts::copy(block, &mut out, &names);
    out
}

fn alike(expected: &Json, actual: &Json) -> bool {
    if let Some(error) = expected.get("error") {
        let text = actual["error"]["message"].as_str().unwrap_or("");
        return fits(&without(error, &["contains"]), &actual["error"]) && text.contains(error["contains"].as_str().unwrap_or(""));
    }
    let Json::Object(expected) = expected else { return false };
    !actual["error"].is_object() && expected.iter().all(|(key, want)| holds(key, want, actual))
}

/// Whether one thing that a case says of a plan holds.
fn holds(key: &str, want: &Json, actual: &Json) -> bool {
    let contents = actual["contents"].as_str().unwrap_or("");
    let prompt = actual["prompt"].as_str();
    let list = |key: &str| actual[key].as_array().cloned().unwrap_or_default();
    match key {
        "messages_contain" => texts(want).iter().all(|t| contents.contains(t)),
        "messages_lack" => !texts(want).iter().any(|t| contents.contains(t)),
        "prompt_starts_with" => prompt.is_some_and(|p| want.as_str().is_some_and(|w| p.starts_with(w))),
        "prompt_lacks" => prompt.is_some_and(|p| !texts(want).iter().any(|t| p.contains(t))),
        "warnings" => warned(want, &texts(&actual["warnings"])),
        "payload_messages_contain" => {
            let payload = list("payload_messages");
            want.as_array().into_iter().flatten().all(|w| payload.iter().any(|m| fits(w, m)))
        }
        "blocks" => want.as_array().into_iter().flatten().all(|w| selected(w, &list("blocks"))),
        "trace_stage_order" | "event_order" => in_order(&texts(want), &texts(&actual[key])),
        "trace_has_stages" => texts(want).iter().all(|stage| texts(&actual["trace_stage_order"]).contains(stage)),
        "blocks_unchanged_by" => texts(want).iter().all(|stage| texts(&actual[key]).contains(stage)),
        "every_block_has" => list("blocks").iter().all(|b| texts(want).iter().all(|field| !b[*field].is_null())),
        "bundles" => {
            let mut bundles: Vec<String> =
                list("blocks").iter().filter(|b| b["slot"] == want["slot"]).map(|b| b["bundle_id"].to_string()).collect();
            bundles.sort();
            bundles.dedup();
            want["count"] == json!(bundles.len())
        }
        _ => fits(want, &actual[key]),
    }
}

/// The wanted names occur in this order; there may be others between them.
fn in_order(want: &[&str], have: &[&str]) -> bool {
    let mut have = have.iter();
    want.iter().all(|w| have.any(|h| h == w))
}

fn warned(want: &Json, have: &[&str]) -> bool {
    let count = |key: &str| want[key].as_u64().and_then(|n| usize::try_from(n).ok());
    let order = texts(&want["exact_order"]);
    count("count").is_none_or(|n| n == have.len())
        && count("min").is_none_or(|n| n <= have.len())
        && texts(&want["contain"]).iter().all(|t| have.iter().any(|w| w.contains(t)))
        && (order.is_empty() || (order.len() == have.len() && order.iter().zip(have).all(|(o, w)| w.contains(o))))
}

/// The blocks that an item selects by content or slot are as it says.
fn selected(want: &Json, blocks: &[Json]) -> bool {
    let by = if want.get("content").is_some() { "content" } else { "slot" };
    let chosen: Vec<&Json> = blocks.iter().filter(|b| b[by] == want[by]).collect();
    !chosen.is_empty() && chosen.iter().all(|b| fits(want, b))
}
