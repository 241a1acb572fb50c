//! `contract-trim` and `contract-budget`: a list of blocks, a budget, a strategy.

use base64::Engine as _;
use serde_json::{Value as Json, json};

use crate::adapters::cards;
use crate::adapters::wire::parts;
use crate::case::{Case, Check, fits, same, unordered, without};
use crate::engine;
use crate::engine::{CONTRACT, EXACT, Scene};

/// Blocks with given costs, trimmed by the stage of a build whose pass names the strategy, as a preset author would.
pub(crate) fn trim(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let blocks = input["blocks"].as_array().into_iter().flatten();
    let blocks: Json = blocks.map(|block| worded(block.clone())).collect();
    let scene = Scene::new(json!({ "context": context(&input["budget"]) }));
    let strategy = input["strategy"].as_str().unwrap_or("");
    let overlay = format!("kind = \"overlay\"\nversion = 1\n[[pass]]\nname = \"build/trimming\"\nprogram = {strategy:?}\n");
    let actual = match engine::run_with(CONTRACT, &overlay, "build/trimming", scene, &[("blocks", blocks)]) {
        Ok(ran) => {
            let report = ran.trim_report();
            let evicted: Json = report["records"].as_array().into_iter().flatten().map(|r| r["id"].clone()).collect();
            let ids =
                |pick: &dyn Fn(&Json) -> bool| -> Json { ran.list("blocks").iter().filter(|b| pick(b)).map(|b| b["id"].clone()).collect() };
            let on = |block: &Json| block["enabled"] != json!(false);
            let gone = |block: &Json| evicted.as_array().is_some_and(|e| e.contains(&block["id"]));
            json!({
                "ok": true, "kept": ids(&on), "still_disabled": ids(&|b| !on(b) && !gone(b)), "evicted": evicted, "report": report,
            })
        }
        Err(error) => failed(error),
    };
    vec![case.check(actual, trimmed_alike)]
}

/// A block whose text costs `tokens` words.
fn worded(mut block: Json) -> Json {
    let words = usize::try_from(block["tokens"].as_u64().unwrap_or(0)).unwrap_or(0);
    parts::set(&mut block, "text", json!(vec!["x"; words].join(" ")));
    parts::set(&mut block, "tokens", Json::Null);
    block
}

fn context(budget: &Json) -> Json {
    json!({ "window": budget["context_window_tokens"], "reserve": budget["reserved_response_tokens"], "tokenizer": "words" })
}

fn failed(mut error: Json) -> Json {
    parts::set(&mut error, "ok", json!(false));
    error
}

fn trimmed_alike(expected: &Json, actual: &Json) -> bool {
    let mut expected_set = without(expected, &["evicted_order"]);
    let mut actual = actual.clone();
    if expected["evicted_order"] == json!("set") {
        for side in [&mut expected_set, &mut actual] {
            unordered(side, "evicted");
            if let Some(Json::Array(records)) = side.get_mut("report").and_then(|r| r.get_mut("records")) {
                records.sort_by_cached_key(|r| r["id"].to_string());
            }
        }
    }
    fits(&expected_set, &actual)
}

/// Arithmetic of the budget, and plans that are over it.
pub(crate) fn budget(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let actual = match case.op() {
        "arithmetic" => prompt_tokens(json!({ "context": context(input) })),
        "import" => match cards::preset(CONTRACT, &input["preset"]) {
            Ok(data) => prompt_tokens(data),
            Err(error) => error,
        },
        "build" => built(input),
        "default_strategy" => default_strategy(input["pipeline"].as_str().unwrap_or("")),
        other => return vec![Check::broken("", case, &format!("no adapter for op `{other}` yet"))],
    };
    vec![case.check(actual, fits)]
}

fn prompt_tokens(data: Json) -> Json {
    let blocks = json!([]);
    match engine::run(CONTRACT, "build/trimming", Scene::new(data), &[("blocks", blocks)]) {
        Ok(ran) => json!({
            "max_prompt_tokens": ran.trim_report()["budget_tokens"],
            "context_window_tokens": ran.get("context.window"),
            "reserved_response_tokens": ran.get("context.reserve"),
        }),
        Err(error) => error,
    }
}

/// What trims where nobody says anything: told by the report of an empty build of the pipeline's pack.
fn default_strategy(pack: &str) -> Json {
    match engine::build(pack, Scene::new(json!({}))) {
        Ok(built) => json!({ "strategy": built.trim_report()["strategy"] }),
        Err(error) => error,
    }
}

fn built(input: &Json) -> Json {
    let words = |n: &Json| vec!["x"; usize::try_from(n.as_u64().unwrap_or(0)).unwrap_or(0)].join(" ");
    let numbers = |key: &str| input[key].as_array().cloned().unwrap_or_default();
    let mandatory = numbers("mandatory_tokens");
    let mut entries: Vec<Json> = mandatory
        .iter()
        .enumerate()
        .map(|(n, t)| json!({ "name": format!("mandatory_{n}"), "role": "system", "text": words(t) }))
        .collect();
    entries.push(json!({ "name": "chat_history" }));
    let history: Json = numbers("evictable_history_tokens").iter().map(|t| json!({ "role": "assistant", "content": words(t) })).collect();
    let mut scene = Scene::new(
        json!({ "context": context(input), "preset": { "entries": entries }, "history": parts::history(&history), "dialect": "openai" }),
    );
    scene.trace = input["trace"] == json!(true);
    match engine::build(CONTRACT, scene) {
        Ok(built) => {
            let mut actual = built.trim_report();
            parts::set(&mut actual, "ok", json!(true));
            parts::set(&mut actual, "trim_report_attached", json!(built.trim_report().is_object()));
            parts::set(&mut actual, "trace_stats", super::pipeline::trim_stats(&built.trace()));
            actual
        }
        Err(error) => failed(error),
    }
}

// Kind `dialect`, operations `post-…`: finished messages made acceptable to stricter providers.

/// Messages through program `post`.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let options = &case.input["options"];
    let names = &options["names"];
    let scene = Scene::new(json!({
        "names": { "char": names["charName"], "user": names["userName"], "group": names["groupNames"] },
        "post": { "mode": options["mode"] },
    }));
    let actual = match engine::run(EXACT, "post", scene, &[("messages", items(&case.input["messages"]))]) {
        Ok(ran) => json!({ "messages": remarked(messages(&ran.list("messages"))) }),
        Err(error) => error,
    };
    vec![case.check(actual, same)]
}

/// Messages of a provider as items: the text of an item may be a list of parts.
pub(crate) fn items(messages: &Json) -> Json {
    messages.as_array().into_iter().flatten().map(|m| renamed(m, "content", "text")).collect()
}

/// And back.
pub(crate) fn messages(items: &[Json]) -> Json {
    items.iter().map(|item| renamed(item, "text", "content")).collect()
}

/// Marks that are left in a text, as the recording has them: there each is 32 random bytes in base64, and the
/// recorder's nth random bytes were all n.
fn remarked(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(remarked_text(&text)),
        Json::Array(list) => list.into_iter().map(remarked).collect(),
        Json::Object(map) => map.into_iter().map(|(key, value)| (key, remarked(value))).collect::<serde_json::Map<_, _>>().into(),
        other => other,
    }
}

fn remarked_text(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (number, after))) = rest.split_once('\u{f8f0}').and_then(|(b, r)| Some((b, r.split_once('\u{f8f1}')?))) {
        let byte = number.parse::<u8>().map_or(0, |n| n.saturating_add(1));
        out.push_str(before);
        base64::engine::general_purpose::STANDARD.encode_string([byte; 32], &mut out);
        rest = after;
    }
    out + rest
}

fn renamed(object: &Json, from: &str, to: &str) -> Json {
    let mut out = json!({});
    for (key, value) in object.as_object().into_iter().flatten() {
        let key = if key == from { to } else { key.as_str() };
        parts::set(&mut out, key, value.clone());
    }
    out
}
