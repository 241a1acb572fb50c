//! Every shipped pack loads, links and compiles clean, and gives no reason that is not documented.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tapster::{Ruleset, Scene};

use crate::shipped::{BASE, SILLYTAVERN};

#[test]
fn every_shipped_pack_compiles() {
    for name in tapster::machinery::pack::library::shipped_names() {
        match Ruleset::open(&name, &[]) {
            Ok(rules) => assert!(rules.warnings().is_empty(), "{name}: {:?}", rules.warnings().items()),
            Err(rejected) => panic!("{name}:\n{rejected}"),
        }
    }
}

/// The reasons of entry `id` in a build of the pack `base` with these entries and draws: codes and details.
fn reasons(entries: &Value, draws: &[f64], id: &str) -> Vec<(String, Value)> {
    let rules = &*BASE;
    let mut scene = Scene::new(&json!({
        "history": [{ "role": "user", "text": "A lamp." }], "books": [{ "id": "a", "entries": entries }],
    }));
    scene.draws = Some(draws.to_vec());
    scene.trace = true;
    let plan = tapster::build(rules, &scene).unwrap();
    let trace = plan.trace.unwrap();
    trace.reasons.iter().filter(|r| r.id == id).map(|r| (r.because.clone(), r.detail.to_json())).collect()
}

#[test]
fn a_failed_chance_tells_its_draw() {
    let entries = json!([{ "id": "1", "keys": ["lamp"], "text": "Light.", "probability": 50 }]);
    let told = reasons(&entries, &[0.75], "1");
    assert_eq!(told.last().unwrap(), &("probability".to_owned(), json!({ "draw": 0.75, "chance": 0.5 })));
}

#[test]
fn a_lost_group_tells_its_winner_and_the_draw() {
    let entry = |id: &str| json!({ "id": id, "keys": ["lamp"], "text": "Light.", "group": "g" });
    let entries = json!([entry("1"), entry("2")]);
    let told = reasons(&entries, &[0.25], "2");
    let detail = json!({ "group": "g", "winner": { "book": "a", "id": "1" }, "draw": 0.25, "weight": 100, "total": 200 });
    assert_eq!(told.last().unwrap(), &("group".to_owned(), detail));
    assert_eq!(reasons(&entries, &[0.25], "1").last().unwrap().0, "active");
}

/// Every value of `because` and `admitted` in a rule file.
fn codes(value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            let told = ["because", "admitted"].into_iter().filter_map(|term| table.get(term)?.as_str());
            found.extend(told.map(str::to_owned));
            table.values().for_each(|v| codes(v, found));
        }
        toml::Value::Array(list) => list.iter().for_each(|v| codes(v, found)),
        _ => {}
    }
}

fn rule_files(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rule_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml") {
            codes(&toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(), found);
        }
    }
}

#[test]
fn the_reason_codes_are_a_closed_documented_set() {
    let root = Path::new(env!("CHECKOUT"));
    let mut given = BTreeSet::new();
    rule_files(&root.join("rules"), &mut given);
    let page = std::fs::read_to_string(root.join("docs/reference/lore.md")).unwrap();
    let table = page.lines().skip_while(|l| !l.starts_with("| code |")).skip(2).take_while(|l| l.starts_with('|'));
    let cells = table.filter_map(|line| line.split('|').nth(1));
    let documented: BTreeSet<String> = cells.flat_map(|c| c.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    assert!(given.len() > 15, "{given:?}");
    assert_eq!(given, documented, "codes that the packs give, and those in docs/reference/lore.md");
}

/// A misspelt path is told by every build, with what was probably meant; a table that the pack declares may hold anything.
#[test]
fn what_no_rule_reads_is_told() {
    let rules = &*BASE;
    let scene = |data: &serde_json::Value| Scene { strict: false, ..Scene::new(data) };
    let data = serde_json::json!({ "context": { "windo": 9 }, "zzzz": { "a": 1, "b": 2 }, "provider": { "odd": 1 } });
    let plan = tapster::build(rules, &scene(&data)).unwrap();
    let told: Vec<_> = plan.warnings.iter().map(|w| (w.code.as_str(), w.message.as_str())).collect();
    let near = "no rule of pack `base` reads `context.windo`; did you mean `context.window`?";
    assert_eq!(told, [("scene.field", near), ("scene.field", "no rule of pack `base` reads `zzzz`")]);
    let strict = Scene { strict: true, ..scene(&data) };
    assert_eq!(tapster::build(rules, &strict).unwrap_err().kind().as_str(), "strict_mode");
}

/// A script that cannot be used is told once, however many texts and passes it would have run on.
#[test]
fn a_script_that_cannot_be_used_is_told_once() {
    let rules = &*SILLYTAVERN;
    let turn = |role: &str| serde_json::json!({ "role": role, "text": "Hi" });
    let script = serde_json::json!({ "name": "odd", "find": "/(/g", "with": "", "placement": ["user", "reply"], "prompt_only": true });
    let data = serde_json::json!({ "history": [turn("user"), turn("assistant"), turn("user")], "scripts": [script] });
    let plan = tapster::build(rules, &Scene::new(&data)).unwrap();
    assert_eq!(plan.warnings.iter().filter(|w| w.code == "regex.bad").count(), 1, "{:?}", plan.warnings);
}
