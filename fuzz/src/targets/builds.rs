//! Builds of mutated scenes with the shipped packs, scans of lorebooks, and payloads of mutated messages.

use serde_json::{Value as Json, json};
use tapster::machinery::build::dialects;
use tapster::{Plan, Scene, blocks_of, build, emit, run};

use super::{Verdict, imports, shipped, text};
use crate::seeds;

const PACKS: &[&str] = &[
    "base",
    "gateway",
    "translator",
    "sillytavern",
    "sillytavern-exact",
    "risuai",
    "risuai-exact",
    "storyforge",
    "talespinner",
    "talespinner-exact",
    "vibetavern",
];

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

pub(super) fn whole(input: &[u8]) -> Verdict {
    let Some((data, rules, scene)) = read(input) else { return Ok(false) };
    let Ok(plan) = build(&rules, &scene) else { return Ok(false) };
    let dialect = data["dialect"].as_str().unwrap_or("openai");
    let _ = emit(&rules, &plan, dialect);
    Ok(true)
}

pub(super) fn lore(input: &[u8]) -> Verdict {
    let Some((_, rules, scene)) = read(input) else { return Ok(false) };
    Ok(run(&rules, "lore", &scene, &[]).is_ok())
}

pub(super) fn payloads(input: &[u8]) -> Verdict {
    let Some(tree) = super::json(input) else { return Ok(false) };
    let blocks: Vec<Json> = tree["messages"].as_array().into_iter().flatten().map(|fields| json!({ "fields": fields })).collect();
    let Some(blocks) = blocks_of(&json!({ "blocks": blocks })) else { return Ok(false) };
    let plan = Plan { blocks, scene: (&tree["scene"]).into(), ..Plan::default() };
    let mut emitted = false;
    for pack in ["base", "sillytavern-exact"] {
        let rules = shipped(pack);
        for dialect in dialects(&rules) {
            emitted |= emit(&rules, &plan, &dialect).is_ok();
        }
    }
    Ok(emitted)
}
