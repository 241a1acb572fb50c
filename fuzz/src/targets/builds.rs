//! Builds of mutated scenes with the shipped packs, scans of lorebooks, and payloads of mutated messages.

use serde_json::{Value as Json, json};
use tapster::emit::dialects;
use tapster::{Plan, Scene, blocks_of, build, emit, run};

use super::packs::shipped;
use super::{Shape, Target, Verdict, imports, text};
use crate::seeds;

const WORDS: &[&str] = &[
    "type",
    "normal",
    "continue",
    "impersonate",
    "quiet",
    "swipe",
    "regenerate",
    "names",
    "user",
    "char",
    "group",
    "card",
    "description",
    "mes_example",
    "preset",
    "main",
    "entries",
    "history",
    "role",
    "assistant",
    "system",
    "text",
    "id",
    "enabled",
    "bundle",
    "meta",
    "tool_calls",
    "books",
    "keys",
    "secondary",
    "logic",
    "and_any",
    "not_all",
    "constant",
    "order",
    "position",
    "depth",
    "probability",
    "sticky",
    "cooldown",
    "delay",
    "recursion",
    "scan_depth",
    "case",
    "whole_words",
    "pattern",
    "injections",
    "in_chat",
    "context",
    "window",
    "reserve",
    "tokenizer",
    "words",
    "cl100k",
    "vars",
    "members",
    "persona",
    "note",
    "frequency",
    "seed",
    "draws",
    "now",
    "/dragon\\w*/i",
    "/(a|aa)+$/",
    "{{random::a::b}}",
    "{{setvar::a::{{getvar::a}}x}}",
    "{{outlet::a}}",
    "@@depth 2\n",
    "<START>\n",
    "regex",
    "find",
    "replace",
    "settings",
    "model",
    "provider",
];

const PACKS: &[&str] =
    &["base", "sillytavern", "sillytavern-exact", "risuai", "risuai-exact", "storyforge", "talespinner", "talespinner-exact", "vibetavern"];

/// The scenes of the rule tests, each with its pack, and scenes from documents.
pub(super) fn scenes() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for file in seeds::files("tests/cases", "toml", 64 << 10) {
        let Ok(cases) = toml::from_str::<Json>(&text(&file)) else { continue };
        for case in cases["case"].as_array().into_iter().flatten() {
            let pack = case.get("pack").or_else(|| cases.get("pack")).and_then(Json::as_str).unwrap_or("base");
            if case["scene"].is_object() && PACKS.contains(&pack) {
                all.push(json!({ "pack": pack, "scene": case["scene"] }).to_string().into_bytes());
            }
        }
    }
    let rules = shipped("sillytavern-exact");
    for document in imports::documents() {
        let document: serde_json::Value = serde_json::from_slice(&document).unwrap_or_default();
        if let Ok(imported) = tapster::import_document(&rules, None, &document) {
            let mut scene = imported.scene.to_json();
            if let Json::Object(map) = &mut scene {
                map.entry("history").or_insert_with(|| json!([{ "id": "1", "role": "user", "text": "A lamp, a dragon." }]));
            }
            all.push(json!({ "pack": "sillytavern-exact", "scene": scene }).to_string().into_bytes());
        }
    }
    all
}

/// A pack and a scene.
pub(super) fn read(input: &[u8]) -> Option<(Json, tapster::Ruleset, Scene)> {
    let mut tree: Json = serde_json::from_slice(input).ok()?;
    let rules = shipped(tree["pack"].as_str().unwrap_or("base"));
    let scene = tree.get_mut("scene").map(Json::take).unwrap_or_default();
    let mut made = Scene::new(&scene);
    made.seed = "17".to_owned();
    Some((scene, rules, made))
}

pub(super) const BUILD: Target = Target {
    name: "build",
    door: "whole builds of scenes with all packs, and their payloads",
    shape: Shape::Json,
    words: WORDS,
    longest: 32 << 10,
    fixed: 200,
    seeds: scenes,
    run: |input| {
        let Some((data, rules, scene)) = read(input) else { return Verdict::Refused };
        let Ok(plan) = build(&rules, &scene) else { return Verdict::Refused };
        let dialect = data["dialect"].as_str().unwrap_or("openai");
        let _ = emit(&rules, &plan, dialect);
        Verdict::Taken
    },
};

pub(super) const LORE: Target = Target {
    name: "lore",
    door: "scans of lorebooks: the program `lore` of the packs",
    shape: Shape::Json,
    words: WORDS,
    longest: 32 << 10,
    fixed: 200,
    seeds: || {
        let fields = [
            json!({}),
            json!({ "constant": true }),
            json!({ "keys": ["/drag\\w+/i", "place{{n}}"], "secondary": ["lamp"], "logic": "and_any" }),
            json!({ "keys": ["dragon"], "secondary": ["x", "y"], "logic": "not_all", "case": true, "whole_words": true }),
            json!({ "probability": 50, "group": "g", "weight": 10 }),
            json!({ "group": "g", "override": true, "sticky": 2, "cooldown": 1, "delay": 0 }),
            json!({ "scan_depth": 1, "position": "before", "role": "system", "depth": 3 }),
            json!({ "text": "Entry of {{char}} calls place1 and hill.", "recursion": { "exclude": true } }),
        ];
        let entries = |n: usize| -> Vec<Json> {
            let made = (0..n).map(|n| {
                let mut entry = json!({ "id": format!("e{n}"), "keys": [format!("place{n}"), "hill"], "text": format!("Lore {n} near place{}.", n + 1), "order": n % 5 });
                if let (Json::Object(entry), Json::Object(more)) = (&mut entry, &fields[n % fields.len()]) {
                    entry.extend(more.clone());
                }
                entry
            });
            made.collect()
        };
        let history: Vec<Json> = (0..12).map(|n| json!({ "id": format!("h{n}"), "role": if n % 2 == 0 { "user" } else { "assistant" }, "name": "Ann", "text": format!("Message {n} of place{n}, a dragon and a lamp.") })).collect();
        let scene = |n: usize| json!({ "names": { "user": "Ann", "char": "Vex" }, "lore": { "names": true, "depth": 100, "recursion": true, "window": 400 }, "context": { "window": 8000, "tokenizer": "words" }, "books": [{ "id": "b", "role": "character", "entries": entries(n) }], "history": history });
        ["base", "sillytavern", "sillytavern-exact", "risuai", "risuai-exact", "storyforge"]
            .iter()
            .flat_map(|pack| [3, 20].map(|n| json!({ "pack": pack, "scene": scene(n) }).to_string().into_bytes()))
            .collect()
    },
    run: |input| {
        let Some((_, rules, scene)) = read(input) else { return Verdict::Refused };
        Verdict::of(run(&rules, "lore", &scene, &[]).is_ok())
    },
};

pub(super) const EMIT: Target = Target {
    name: "emit",
    door: "messages in every dialect of `base` and `sillytavern-exact`",
    shape: Shape::Json,
    words: &[
        "role",
        "text",
        "user",
        "assistant",
        "system",
        "tool",
        "parts",
        "type",
        "image_url",
        "url",
        "data:image/png;base64,AAAA",
        "tool_calls",
        "id",
        "function",
        "name",
        "arguments",
        "{}",
        "tool_call_id",
        "meta",
        "reasoning",
        "signature",
        "prefill",
        "enabled",
        "content",
        "model",
        "claude-opus-4-6",
        "gemini-3-pro-preview",
        "gpt-6",
        "o3",
        "provider",
        "settings",
        "temperature",
        "tools",
        "json_schema",
        "stops",
        "reserve",
    ],
    longest: 16 << 10,
    fixed: 80,
    seeds: || {
        let call = json!([{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"at\":\"sea\"}" } }]);
        let messages = [
            json!([{ "role": "system", "text": "Be." }, { "role": "user", "text": "Hi", "name": "Bo" }, { "role": "assistant", "text": "Yo" }]),
            json!([{ "role": "user", "text": "?" }, { "role": "assistant", "tool_calls": call, "meta": { "reasoning": "hm", "signature": "s" } }, { "role": "tool", "text": "x", "tool_call_id": "c1" }]),
            json!([{ "role": "user", "text": "", "parts": [{ "type": "text", "text": "see" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] }]),
            json!([{ "role": "oracle", "text": 7 }, {}, { "role": "tool" }, { "role": "assistant", "text": null, "parts": "no list" }]),
        ];
        let scene = json!({ "provider": { "model": "claude-opus-4-6", "system_prompt": true, "tools_offered": true, "temperature": 0.7 }, "context": { "reserve": 300 } });
        messages.into_iter().map(|messages| json!({ "messages": messages, "scene": scene }).to_string().into_bytes()).collect()
    },
    run: |input| {
        let Ok(tree) = serde_json::from_slice::<Json>(input) else { return Verdict::Refused };
        let blocks: Vec<Json> = tree["messages"].as_array().into_iter().flatten().map(|fields| json!({ "fields": fields })).collect();
        let Some(blocks) = blocks_of(&json!({ "blocks": blocks })) else { return Verdict::Refused };
        let plan = Plan { blocks, scene: (&tree["scene"]).into(), ..Plan::default() };
        let mut emitted = false;
        for pack in ["base", "sillytavern-exact"] {
            let rules = shipped(pack);
            for dialect in dialects(&rules) {
                emitted |= emit(&rules, &plan, &dialect).is_ok();
            }
        }
        Verdict::of(emitted)
    },
};
