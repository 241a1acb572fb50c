//! Foreign formats of the shipped packs: documents of SillyTavern become parts of a scene, and a whole prompt comes
//! out as SillyTavern sends it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, Value as Json, json};
use tapster::{ImportedDocument, Ruleset, Scene, build, convert_document, emit, import_document};

use crate::support::{EXACT, SILLYTAVERN};

/// The folder of recorded data, or nothing (with a notice) where there is none.
fn recordings() -> Option<PathBuf> {
    let beside = Path::new(env!("CHECKOUT")).join("../shared");
    let folder = std::env::var_os("TAPSTER_SHARED").map_or(beside, PathBuf::from);
    let found = folder.join("real/sillytavern").is_dir();
    if !found {
        eprintln!("skipped: no recorded data at {}; set TAPSTER_SHARED", folder.display());
    }
    found.then_some(folder)
}

#[test]
fn each_format_brings_what_its_sample_says() {
    let rules = &*EXACT;
    let folder = Path::new(env!("CHECKOUT")).join("tests/foreign");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let sample: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let brought = import_document(rules, None, &sample["document"]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(brought.format, sample["format"].as_str().unwrap(), "{name}");
        let scene = brought.scene.to_json();
        assert_eq!(scene, sample["scene"], "{name}:\n{}", serde_json::to_string_pretty(&scene).unwrap());
        assert_eq!(brought.rest.to_json(), sample["rest"], "{name}: what no rule reads");
        let warnings = sample["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(brought.warnings.len(), warnings, "{name}: {:?}", brought.warnings);
    }
}

#[test]
fn hello_is_sent_as_the_real_program_sends_it() {
    let Some(shared) = recordings() else { return };
    let real = shared.join("real/sillytavern");
    let rules = &*EXACT;
    let mut scene = Scene::default();
    for file in ["default_Seraphina.png", "openai/Default.json"] {
        let bytes = std::fs::read(real.join(file)).unwrap();
        let imported = tapster_exchange::import::read(file, &bytes).unwrap();
        scene.merge(import_document(rules, None, imported.main().unwrap().value.clone()).unwrap().scene);
    }
    let persona = json!({ "name": "Alex", "description": "", "position": 0, "depth": 2, "role": 0 });
    scene.merge(import_document(rules, None, &persona).unwrap().scene);
    scene.merge((&json!({ "input": "Hello", "chat": { "greeting": 0 } })).into());
    let plan = build(rules, &scene).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.warnings, []);
    let sent = emit(rules, &plan, "openai").unwrap().payload;
    let expected: Value = serde_json::from_slice(&std::fs::read(real.join("expected-hello.json")).unwrap()).unwrap();
    let (sent, expected) = (sent["messages"].as_array().unwrap(), expected["messages"].as_array().unwrap());
    for (n, (sent, expected)) in sent.iter().zip(expected).enumerate() {
        assert_eq!(sent, expected, "message {n}");
    }
    assert_eq!(sent.len(), expected.len());
}

#[test]
fn a_report_names_the_field_that_a_value_came_from() {
    let rules = &*EXACT;
    let document =
        json!({ "openai_max_context": 10, "prompts": [], "prompt_order": [{ "character_id": 100001, "order": [] }], "top_k": 1 });
    let brought = import_document(rules, None, &document).unwrap();
    let told: Vec<_> = brought.fields.iter().map(|f| (f.field.as_str(), f.to.as_str())).collect();
    let expected = [
        ("openai_max_context", "context.window"),
        ("st_preset/settings", "provider.from_preset"),
        ("top_k", "provider.top_k"),
        ("prompt_order", "preset.entries"),
        ("prompts", "preset.main"),
    ];
    assert_eq!(told, expected);
    assert_eq!(brought.scene.to_json()["preset"]["entries"], json!([]), "an empty order is an order");
}

/// What the value is made of is read; what only decides which value is taken is kept beside the scene.
#[test]
fn fields_of_an_expression_are_read() {
    let overlay = r#"
kind = "overlay"
version = 2
[[format]]
name = "note"
detect = { note = true }
[[map]]
name = "note/name"
from = "= cel.bind(n, title, n.size() + data.parts.map(p, p + suffix).size() + (flag == 1 ? left : right))"
to = "names.user"
"#;
    let rules = Ruleset::open_with("base", &[("note.toml", overlay)]).unwrap_or_else(|rejected| panic!("{rejected}"));
    let note =
        json!({ "note": true, "title": "a", "data": { "parts": ["b"], "more": 1 }, "suffix": "c", "flag": 1, "left": 2, "right": 3 });
    let brought = import_document(&rules, None, &note).unwrap();
    assert_eq!(brought.scene.get("names").unwrap().to_json(), json!({ "user": 4 }));
    assert_eq!(brought.rest.to_json(), json!({ "note": true, "data": { "more": 1 }, "flag": 1 }));
}

/// Texts and roles of the chat after the turn, its length, and the user's turns.
fn turn(data: &Value) -> (Vec<String>, Value, Value) {
    let outcome = tapster::run(&EXACT, "turn", &Scene::new(data), &[]).unwrap_or_else(|e| panic!("{e}"));
    let shown = |m: &tapster::Value| format!("{}: {}", m.at("role").unwrap().to_text(), m.at("text").unwrap().to_text());
    let texts = outcome.list("history").iter().map(shown).collect();
    (texts, outcome.get("chat.length").to_json(), outcome.get("turn_count").to_json())
}

#[test]
fn a_turn_begins_the_chat_posts_what_is_typed_and_drops_what_is_hidden() {
    let card = json!({ "greetings": ["One.", "Two."] });
    let open = |greeting: Value| json!({ "card": card, "chat": { "greeting": greeting }, "input": "Hi" });
    assert_eq!(turn(&open(json!(1))), (vec!["assistant: Two.".into(), "user: Hi".into()], json!(2), json!(1)));
    assert_eq!(turn(&open(Value::Null)).0, ["user: Hi"], "no greeting unless it is asked for");

    let history = json!([{ "role": "user", "text": "a" }, { "role": "user", "text": "b\r\n", "is_system": true }, { "role": "assistant", "text": "c\r" }]);
    let going = |kind: &str, input: &str| json!({ "card": card, "history": history, "type": kind, "input": input, "chat": { "greeting": 0, "visible": 2, "by_user": 2 } });
    let (texts, length, turns) = turn(&going("normal", "Hi"));
    assert_eq!(texts, ["user: a", "assistant: c", "user: Hi"], "a chat that has begun gets no greeting");
    assert_eq!((length, turns), (json!(3), json!(3)), "hidden messages of the user count as turns");
    assert_eq!(turn(&going("swipe", "Hi")).0, ["user: a"], "nothing is posted on a swipe, and the last message is written anew");
    let empty = |kind: &str| json!({ "history": history, "type": kind, "preset": { "send_if_empty": " go on " } });
    assert_eq!(turn(&empty("normal")).0, ["user: a", "assistant: c", "user: go on"]);
    assert_eq!(turn(&empty("continue")).0, ["user: a", "assistant: c"]);
}

// Conversions between the formats of two programs: what goes there and back is as it was, or a report names it.

static RISU: LazyLock<Ruleset> = LazyLock::new(|| Ruleset::open("risuai", &[]).unwrap_or_else(|rejected| panic!("{rejected}")));

/// The texts, numbers and switches of a document by their paths; null is as if it were not there.
fn leaves(json: &Json, at: &str, out: &mut BTreeMap<String, Json>) {
    match json {
        Json::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &format!("{at}.{key}"), out)),
        Json::Array(list) => list.iter().enumerate().for_each(|(n, value)| leaves(value, &format!("{at}[{n}]"), out)),
        Json::Null => {}
        leaf => {
            out.insert(at.to_owned(), leaf.clone());
        }
    }
}

/// The fields that a report names as approximated or dropped.
fn named(made: &ImportedDocument) -> Vec<String> {
    let fields = serde_json::to_value(&made.fields).unwrap();
    let lost = fields.as_array().unwrap().iter().filter(|f| f["fate"] == "approximated" || f["fate"] == "dropped");
    lost.map(|f| f["field"].as_str().unwrap().to_owned()).collect()
}

/// There and back. The leaves that are not as they were must be below a field that one of the reports names.
fn there_and_back(what: &str, document: &Json) -> (Json, usize) {
    let there = convert_document(&RISU, None, document).unwrap_or_else(|e| panic!("{what}: {e}"));
    let back = convert_document(&SILLYTAVERN, None, &there.scene.to_json()).unwrap_or_else(|e| panic!("{what}, back: {e}"));
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    leaves(document, "", &mut before);
    leaves(&back.scene.to_json(), "", &mut after);
    let told: Vec<String> = [named(&there), named(&back)].concat();
    for (path, value) in &before {
        // `.entries.3.key[0]` and `.entries[3].key[0]` are the field `entries[].key` of a report
        let field = generic(path);
        let excused = told.iter().any(|name| field.starts_with(&generic(&format!(".{name}"))));
        assert!(after.get(path) == Some(value) || excused, "{what}: {path} was {value} and is {:?}; {told:?}", after.get(path));
    }
    (there.scene.to_json(), before.len())
}

/// A path without the numbers of elements.
fn generic(path: &str) -> String {
    let kept = path.split(['.', '[', ']']).filter(|name| !name.is_empty() && !name.chars().all(|c| c.is_ascii_digit()));
    kept.fold(String::new(), |all, name| format!("{all}.{name}"))
}

/// The recorded files, or nothing (with a notice) where there are none.
fn shared(below: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CHECKOUT")).join("../shared");
    let folder = std::env::var_os("TAPSTER_SHARED").map_or(beside, PathBuf::from).join(below);
    if !folder.is_dir() {
        eprintln!("skipped: no recorded data at {}; set TAPSTER_SHARED", folder.display());
    }
    folder.is_dir().then_some(folder)
}

#[test]
fn real_files_come_back_as_they_were() {
    let Some(folder) = shared("real/sillytavern") else { return };
    let mut leaves = 0;
    for file in ["Eldoria.json", "openai/Default.json", "default_Seraphina.png"] {
        let contents = tapster_exchange::import::read(file, &std::fs::read(folder.join(file)).unwrap()).unwrap();
        for document in &contents.documents {
            leaves += there_and_back(file, &document.json()).1;
        }
    }
    assert!(leaves > 500, "{leaves}");
}

#[test]
fn cards_of_the_recordings_come_back_as_they_were() {
    let Some(folder) = shared("conformance") else { return };
    let (mut files, mut cards) = (vec![folder], 0);
    while let Some(at) = files.pop() {
        if at.is_dir() {
            files.extend(std::fs::read_dir(&at).unwrap().map(|e| e.unwrap().path()));
        } else if let Some(cases) = std::fs::read(&at).ok().and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok()) {
            let mut open = vec![&cases];
            while let Some(json) = open.pop() {
                let spec = json["spec"].as_str().unwrap_or("");
                if spec.starts_with("chara_card_v") && json["data"].is_object() {
                    there_and_back(&at.display().to_string(), json);
                    cards += 1;
                    continue;
                }
                open.extend(json.as_object().into_iter().flat_map(serde_json::Map::values));
                open.extend(json.as_array().into_iter().flatten());
            }
        }
    }
    assert!(cards > 300, "{cards}");
}

fn card() -> Json {
    let entry = json!({
        "id": 1, "keys": ["k1", "k2"], "secondary_keys": ["x", "y"], "name": "n", "content": "C\nD", "constant": false,
        "selective": true, "insertion_order": 5, "enabled": false, "use_regex": true, "position": "before_char",
        "extensions": {
            "position": 4, "depth": 2, "role": 1, "probability": 40, "useProbability": true, "selectiveLogic": 2,
            "scan_depth": 3, "delay": 2, "match_whole_words": false, "exclude_recursion": true, "prevent_recursion": true,
            "sticky": 2, "case_sensitive": true, "group": "g",
        },
    });
    json!({ "spec": "chara_card_v3", "spec_version": "3.0", "data": {
        "name": "Ines", "nickname": "Nes", "description": "D", "first_mes": "F", "unknown": { "x": [1, "y"] },
        "extensions": {
            "depth_prompt": { "prompt": "Think.", "depth": 3, "role": "user" },
            "regex_scripts": [{
                "id": "i", "scriptName": "S", "findRegex": "/a(b)/gi", "replaceString": "<b>{{match}} $1</b>", "trimStrings": [],
                "placement": [1, 2], "disabled": false, "markdownOnly": false, "promptOnly": false,
            }],
        },
        "character_book": { "name": "B", "entries": [entry] },
    } })
}

#[test]
fn fields_of_entries_become_decorators() {
    let (risu, _) = there_and_back("card", &card());
    let entries = risu["data"]["character_book"]["entries"].as_array().unwrap();
    let lines = "@@dont_activate\n@@reverse_depth 2\n@@role user\n@@scan_depth 3\n@@exclude_keys x\n@@exclude_keys y\n\
                 @@probability 40\n@@activate_only_after 2\n@@match_partial_word\n@@no_recursive_search\n@@unrecursive\nC\nD";
    assert_eq!(entries[0]["content"], lines);
    assert_eq!(entries[0]["selective"], false);
    // RisuAI would make these lines once more
    assert_eq!(entries[0]["extensions"]["probability"], Json::Null);
    // the depth prompt, which RisuAI drops, is an entry
    assert_eq!((&entries[1]["constant"], &entries[1]["content"]), (&json!(true), &json!("@@reverse_depth 3\n@@role user\nThink.")));
    let scripts = risu["data"]["extensions"]["risuai"]["customScripts"].as_array().unwrap();
    let types: Vec<_> = scripts.iter().map(|s| s["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["editinput", "editoutput"]);
    assert_eq!((&scripts[0]["in"], &scripts[0]["out"]), (&json!("a(b)"), &json!("<b>$& $1</b>")));
}

#[test]
fn what_was_changed_in_between_counts() {
    let mut risu = convert_document(&RISU, None, &card()).unwrap().scene.to_json();
    let entry = &mut risu["data"]["character_book"]["entries"][0];
    entry["content"] = json!("@@reverse_depth 7\n@@unknown 1\n@@additional_keys q\nNew");
    let scripts = &mut risu["data"]["extensions"]["risuai"]["customScripts"];
    scripts[0]["out"] = json!("other $&");
    let back = convert_document(&SILLYTAVERN, None, &risu).unwrap();
    let card = back.scene.to_json();
    let entry = &card["data"]["character_book"]["entries"][0];
    assert_eq!(entry["extensions"]["depth"], 7);
    assert_eq!(entry["extensions"]["selectiveLogic"], 3);
    assert_eq!(entry["content"], "@@unknown 1\nNew");
    assert_eq!(card["data"]["extensions"]["regex_scripts"][0]["replaceString"], "other {{match}}");
    assert_eq!(card["data"]["extensions"]["regex_scripts"][0]["findRegex"], "/a(b)/gi");
    assert!(named(&back).iter().any(|field| field.ends_with("entries[].content")), "{:?}", back.fields);
}

#[test]
fn what_the_other_program_cannot_do_is_told() {
    let made = convert_document(&RISU, None, &card()).unwrap();
    let told = named(&made);
    for field in ["sticky", "case_sensitive", "group"] {
        assert!(told.iter().any(|name| name.ends_with(&format!("extensions.{field}"))), "{field}: {told:?}");
    }
    assert!(told.contains(&"data.nickname".to_owned()) && told.contains(&"data.extensions.depth_prompt".to_owned()), "{told:?}");
    let times = made.fields.iter().map(|f| f.times).max();
    assert_eq!(times, Some(2), "two entries have a content");
}

#[test]
fn presets_keep_their_prompts_and_get_a_template() {
    let preset = json!({
        "temperature": 0.735, "openai_max_context": 4095, "names_behavior": 2,
        "prompts": [
            { "identifier": "main", "name": "Main", "role": "system", "content": "MAIN" },
            { "identifier": "jailbreak", "name": "After", "role": "user", "content": "PHI" },
            { "identifier": "own", "name": "Own", "role": "assistant", "content": "OWN" },
            { "identifier": "chatHistory", "marker": true },
        ],
        "prompt_order": [
            { "character_id": 100_000, "order": [] },
            { "character_id": 100_001, "order": [
                { "identifier": "main", "enabled": true }, { "identifier": "own", "enabled": false },
                { "identifier": "chatHistory", "enabled": true }, { "identifier": "jailbreak", "enabled": true },
            ] },
        ],
    });
    let (mut risu, _) = there_and_back("preset", &preset);
    let types: Vec<_> = risu["promptTemplate"].as_array().unwrap().iter().map(|i| (i["type"].clone(), i["type2"].clone())).collect();
    assert_eq!(json!(types), json!([["plain", "main"], ["chat", null], ["plain", "globalNote"]]));
    assert_eq!(risu["temperature"], 74);
    risu["promptTemplate"][0]["text"] = json!("NEW");
    let back = convert_document(&SILLYTAVERN, None, &risu).unwrap().scene.to_json();
    assert_eq!((&back["prompts"][0]["content"], &back["prompts"][1]["content"]), (&json!("NEW"), &json!("PHI")));
}

#[test]
fn files_of_risuai_become_files_of_sillytavern() {
    let book = json!({ "type": "risu", "ver": 1, "data": [
        { "key": "a, b", "secondkey": "", "comment": "n", "content": "@@depth 0\n@@inject_at main\nT", "insertorder": 3, "mode": "normal", "alwaysActive": true, "selective": false },
        { "key": "", "comment": "f", "content": "", "insertorder": 1, "mode": "folder" },
    ] });
    let made = convert_document(&SILLYTAVERN, None, &book).unwrap();
    let book = made.scene.to_json();
    let entry = &book["entries"]["0"];
    assert_eq!((&entry["key"], &entry["position"], &entry["depth"]), (&json!(["a", "b"]), &json!(4), &json!(0)));
    assert_eq!(entry["content"], "@@inject_at main\nT");
    assert!(named(&made).contains(&"data[].mode".to_owned()), "{:?}", made.fields);
    let preset = json!({ "promptTemplate": [
        { "type": "plain", "type2": "main", "role": "system", "text": "Be." }, { "type": "description" },
        { "type": "chat", "rangeStart": 0, "rangeEnd": "end" },
    ], "temperature": 80 });
    let made = convert_document(&SILLYTAVERN, None, &preset).unwrap().scene.to_json();
    let order: Vec<_> = made["prompt_order"][0]["order"].as_array().unwrap().iter().map(|i| i["identifier"].as_str().unwrap()).collect();
    assert_eq!(order, ["main", "charDescription", "charPersonality", "scenario", "dialogueExamples", "chatHistory"]);
    assert_eq!((&made["temperature"], &made["prompts"][0]["content"]), (&json!(0.8), &json!("Be.")));
}

#[test]
fn triggers_are_kept_and_told() {
    let character = json!({ "chaId": "c", "name": "Ines", "triggerscript": [{ "comment": "Dice", "effect": [] }] });
    let read = import_document(&RISU, None, &character).unwrap();
    assert!(read.warnings.iter().any(|w| w.contains("not run") && w.contains("Dice")), "{:?}", read.warnings);
    let module = json!({ "type": "risuModule", "name": "M", "id": "m", "trigger": [{ "comment": "Lua" }] });
    let read = import_document(&RISU, None, &module).unwrap();
    assert!(read.warnings.iter().any(|w| w.contains("not run") && w.contains("Lua")), "{:?}", read.warnings);
    let mut card = card();
    card["data"]["extensions"]["risuai"] = json!({ "triggerscript": [{ "comment": "Dice" }] });
    let made = convert_document(&SILLYTAVERN, None, &card).unwrap();
    assert!(named(&made).contains(&"data.extensions.risuai.triggerscript".to_owned()));
    assert_eq!(made.scene.to_json()["data"]["extensions"]["risuai"]["triggerscript"][0]["comment"], "Dice");
}

#[test]
fn a_card_is_read_as_risuai_reads_it() {
    let mut card = card();
    card["data"]["post_history_instructions"] = json!("PHI");
    card["data"]["extensions"]["risuai"] = json!({ "triggerscript": [{ "comment": "Dice" }], "defaultVariables": "a=1" });
    let read = import_document(&RISU, None, &card).unwrap();
    let scene = read.scene.to_json();
    assert_eq!((read.format.as_str(), &scene["names"]["char"]), ("risu_card", &json!("Nes")));
    assert_eq!((&scene["card"]["replace_global_note"], &scene["card"]["default_variables"]), (&json!("PHI"), &json!("a=1")));
    let entry = &scene["books"][0]["entries"][0];
    assert_eq!((&entry["keys"], &entry["secondary_keys"], &entry["order"]), (&json!(["k1", "k2"]), &json!(["x", "y"]), &json!(5)));
    assert!(entry["text"].as_str().unwrap().starts_with("@@match_partial_word\n@@activate_only_after 2\n"), "{entry}");
    assert!(read.warnings.iter().any(|w| w.contains("Dice")), "{:?}", read.warnings);
}

#[test]
fn odd_documents_end_with_a_result_or_a_message() {
    for odd in [json!(null), json!([]), json!({ "entries": [1, null, "x", { "key": "a" }] }), json!({ "type": "risu", "data": "x" })] {
        for rules in [&*RISU, &*SILLYTAVERN] {
            if let Err(error) = convert_document(rules, None, &odd) {
                assert!(!error.message.is_empty());
            }
        }
    }
    let error = convert_document(&RISU, Some("risu_nothing"), &card()).unwrap_err();
    assert!(error.message.contains("risu_nothing"), "{}", error.message);
}

#[test]
fn entries_with_the_same_number_are_all_kept() {
    let entry = json!({ "key": "a", "content": "T", "extentions": { "sillytavern": { "uid": 5 } } });
    let book = json!({ "type": "risu", "data": [entry, entry, entry] });
    let made = convert_document(&SILLYTAVERN, None, &book).unwrap().scene.to_json();
    assert_eq!(made["entries"].as_object().unwrap().len(), 3);
}
