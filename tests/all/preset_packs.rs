//! A preset that is made a pack: the pack builds the same prompt, and each of its options changes it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster_door::Door;

const PACK: &str = "sillytavern-exact";

fn asked(door: &Door, request: &Json) -> Json {
    let response = door.call(request);
    assert_eq!(response["ok"], true, "{}", response["diagnostics"]);
    response["result"].clone()
}

fn file(name: &str, preset: &Json) -> Json {
    json!({ "name": name, "json": preset })
}

/// A preset with these prompts; each is a title, a text, and whether it is on.
fn preset(prompts: &[(&str, &str, bool)]) -> Json {
    let identifier = |number: usize| format!("id-{number}");
    let prompt = |(number, (title, text, _)): (usize, &(&str, &str, bool))| json!({ "identifier": identifier(number), "name": title, "role": "system", "system_prompt": false, "content": text });
    let order = |(number, (_, _, is_on)): (usize, &(&str, &str, bool))| json!({ "identifier": identifier(number), "enabled": is_on });
    json!({
        "openai_max_context": 100_000,
        "prompts": prompts.iter().enumerate().map(prompt).collect::<Vec<_>>(),
        "prompt_order": [{ "character_id": 100_001, "order": prompts.iter().enumerate().map(order).collect::<Vec<_>>() }],
    })
}

/// The pack that is made of a preset.
fn made(door: &Door, name: &str, preset: &Json) -> Json {
    asked(door, &json!({ "call": "convert", "to": "pack", "file": file(name, preset), "rules": PACK }))
}

fn rules(made: &Json) -> Json {
    json!({ "pack": made["name"], "packs": [{ "name": made["name"], "files": made["files"] }] })
}

/// Checks a pack that was made of a preset: it has no mistake, builds what the preset builds, and each value of each option
/// that is not the default changes the prompt, if its prompt is not sent for certain generations alone.
fn check(door: &Door, name: &str, preset: &Json, scene: &Json) -> Json {
    let made = made(door, name, preset);
    let opened = asked(door, &json!({ "call": "open", "pack": made["name"], "packs": rules(&made)["packs"] }))["rules"].clone();
    let found = door.call(&json!({ "call": "check", "rules": opened }));
    assert_eq!(found["diagnostics"], json!([]), "{name}");
    let mut with_preset = scene.clone();
    with_preset["preset"] = json!([file(name, preset)]);
    let build = |rules: &Json, scene: &Json| asked(door, &json!({ "call": "build", "rules": rules, "scene": scene }));
    let (wanted, own) = (build(&json!(PACK), &with_preset), build(&opened, scene));
    assert_eq!(own.to_string(), wanted.to_string(), "{name}");
    for option in made["options"].as_array().unwrap() {
        let values = match option["choices"].as_array() {
            Some(choices) => choices.iter().map(|choice| choice["value"].clone()).collect(),
            None => vec![json!(true), json!(false)],
        };
        for value in values {
            let mut chosen = scene.clone();
            chosen["option"] = json!({ option["name"].as_str().unwrap(): value });
            let is_same = build(&opened, &chosen)["payload"] == own["payload"];
            assert_eq!(is_same, value == option["default"], "{name}: {} = {value}", option["name"]);
        }
    }
    made
}

/// What a card and a chat are, so that the parts of a preset have something to say.
fn scene() -> Json {
    json!({ "message": "Hello.", "now": "2026-01-31T20:15:00Z", "scene": { "card": { "name": "Ann", "description": "{{char}} mends clocks." } } })
}

fn names(rows: &Json, key: &str) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_preset_becomes_a_pack_with_options() {
    let preset = preset(&[
        ("=== Style ===", "", true),
        ("🖤 Dark \"one\"", "Be dark: $option.x {{$x}} @name '''\r\n\"\"\"\\ \u{7f}", true),
        ("Dark\none", "Be\nwarm.", false),
        ("━━━━━", "", true),
        ("Dark one", "Alone.", true),
        ("日本語", "A title without a letter that a name can have.", false),
        ("none", "A word that means something else in a choice.", false),
        ("--- start ---", "", true),
        ("none", "Nobody.", false),
        ("None", "Nothing.", true),
        ("--- start ---", "", true),
        ("1", "One.", true),
    ]);
    check(&Door::default(), "💛 \"x\"\n''.json", &preset, &scene());
    let made = check(&Door::default(), "My Preset (v2).json", &preset, &scene());
    assert_eq!(made["name"], "my-preset-v2");
    assert_eq!(names(&made["options"], "name"), ["style", "dark_one", "prompt", "none", "group", "prompt_2"]);
    assert_eq!(names(&made["options"][0]["choices"], "value"), ["none", "dark_one", "dark_one_2"]);
    assert_eq!(names(&made["options"][0]["choices"], "title"), ["None", "🖤 Dark \"one\"", "Dark\none"]);
    assert_eq!(names(&made["options"][4]["choices"], "value"), ["none", "none_2", "none_3"]);
    assert_eq!(names(&made["fixed"], "name"), ["=== Style ===", "━━━━━", "--- start ---", "--- start ---"]);
}

#[test]
fn a_preset_without_prompts_is_a_pack_without_options() {
    for preset in [json!({ "openai_max_context": 4000 }), preset(&[]), json!({ "prompts": [], "prompt_order": [] })] {
        let made = check(&Door::default(), "x.json", &preset, &scene());
        assert_eq!(made["options"], json!([]));
        assert_eq!(made["files"].as_object().unwrap().len(), 2);
    }
}

#[test]
fn odd_prompts_are_told_of_and_stay() {
    let mut preset = preset(&[("A", "a", true), ("B", "b", true)]);
    let twice = preset["prompts"][0].clone();
    preset["prompts"].as_array_mut().unwrap().push(twice);
    preset["prompts"].as_array_mut().unwrap().push(json!({ "identifier": "nowhere", "name": null, "content": 5 }));
    preset["prompts"].as_array_mut().unwrap().push(json!(null));
    let again = preset["prompt_order"][0]["order"][0].clone();
    preset["prompt_order"][0]["order"].as_array_mut().unwrap().push(again);
    let made = made(&Door::default(), "odd.json", &preset);
    assert_eq!(names(&made["options"], "name"), ["a", "b", "a_2"]);
    assert_eq!(made["fixed"][0]["why"], "the order of the preset does not list it");
}

#[test]
fn a_preset_of_very_many_prompts_has_as_many_options_as_a_pack_may_have() {
    let titles: Vec<String> = (0..1_500).map(|number| format!("Prompt {number}")).collect();
    let mut prompts: Vec<(&str, &str, bool)> = titles.iter().map(|title| (title.as_str(), "Say something.", true)).collect();
    prompts.insert(700, ("--- start ---", "", true));
    let made = made(&Door::default(), "many.json", &preset(&prompts));
    assert_eq!((made["options"].as_array().unwrap().len(), made["fixed"].as_array().unwrap().len()), (1_000, 501));
    assert_eq!(made["fixed"][0]["why"], "a pack has at most 1000 options");
}

#[test]
fn only_presets_become_packs() {
    let convert = |file: &Json, more: &Json| {
        let mut request = json!({ "call": "convert", "to": "pack", "file": file });
        more.as_object().unwrap().iter().for_each(|(key, value)| request[key] = value.clone());
        let response = Door::default().call(&request);
        assert_eq!(response["ok"], false);
        response["diagnostics"][0]["code"].clone()
    };
    let book = file("book.json", &json!({ "entries": { "0": { "uid": 0, "key": ["fox"], "content": "A fox." } } }));
    assert_eq!(convert(&book, &json!({})), "import.role");
    assert_eq!(convert(&file("x.json", &json!({ "what": "is this" })), &json!({})), "import.format");
    assert_eq!(convert(&file("x.json", &preset(&[("A", "a", true)])), &json!({ "name": "A b" })), "pack.manifest");
    assert_eq!(convert(&file("x.json", &preset(&[("A", "a", true)])), &json!({ "name": PACK })), "cycle.pack");
    let large = preset(&[("A", &"a".repeat(5 << 20), true)]);
    assert_eq!(convert(&file("x.json", &large), &json!({})), "file.too_large");
}

// The presets are not part of the project: without `../shared/real` (or `$TAPSTER_REAL`) the test says so and passes.
#[test]
fn every_shipped_preset_becomes_a_pack_that_builds_the_same() {
    let root = Path::new(env!("CHECKOUT"));
    let real = std::env::var("TAPSTER_REAL").map_or_else(|_| root.join("../shared/real"), PathBuf::from).join("sillytavern");
    if !real.is_dir() {
        println!("skipped: {} is not here (set TAPSTER_REAL)", real.display());
        return;
    }
    let door = Door::default();
    let mut options = 0;
    for folder in ["openai", "context", "instruct", "sysprompt", "reasoning", "textgen"] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(real.join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for path in files {
            let preset: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let mut scene = scene();
            if folder != "openai" {
                scene["dialect"] = json!("text");
            }
            let made = check(&door, &path.file_name().unwrap().to_string_lossy(), &preset, &scene);
            options += made["options"].as_array().unwrap().len();
        }
    }
    assert!(options > 0);
}
