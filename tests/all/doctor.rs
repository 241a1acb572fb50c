//! The doctor: what it says of a part holds in builds. Each part has a word of its own, which is looked for in prompts.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster_door::Door;
use tapster_door::doctor::as_text;

use crate::support::{Folder, tapster};

const PACK: &str = "sillytavern-exact";
const KINDS: [&str; 6] = ["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"];
/// Holds the keys of all entries.
const MESSAGE: &str = "Tell me of the fox, the owl and the bear.";

fn prompt(word: &str, more: &Json) -> Json {
    let mut prompt =
        json!({ "identifier": word, "name": word, "role": "system", "system_prompt": false, "content": format!("Of {word}.") });
    more.as_object().unwrap().iter().for_each(|(key, value)| prompt[key] = value.clone());
    prompt
}

fn preset() -> Json {
    let order = |identifier: &str, enabled: bool| json!({ "identifier": identifier, "enabled": enabled });
    json!({
        "openai_max_context": 8000,
        "prompts": [
            prompt("main", &json!({ "system_prompt": true })), prompt("amber", &json!({})), prompt("basalt", &json!({})),
            prompt("cedar", &json!({})), prompt("dolomite", &json!({ "system_prompt": true })),
            prompt("ember", &json!({ "injection_position": 1, "injection_depth": 2 })),
            prompt("flint", &json!({ "injection_position": 1, "role": "" })),
            { "identifier": "chatHistory", "name": "Chat", "marker": true, "system_prompt": true },
            { "identifier": "worldInfoBefore", "name": "Lore", "marker": true, "system_prompt": true },
        ],
        "prompt_order": [{ "character_id": 100001, "order": [
            order("main", true), order("worldInfoBefore", true), order("amber", true), order("basalt", false), order("dolomite", true),
            order("ember", true), order("flint", true), order("chatHistory", true),
        ] }],
    })
}

fn book() -> Json {
    let entry = |uid: usize, word: &str, more: &Json| {
        let mut entry = json!({ "uid": uid, "comment": word, "content": format!("Of {word}."), "key": ["fox"], "constant": false,
            "disable": false, "order": 100, "position": 0, "probability": 100, "useProbability": true });
        more.as_object().unwrap().iter().for_each(|(key, value)| entry[key] = value.clone());
        entry
    };
    json!({ "entries": {
        "0": entry(0, "garnet", &json!({})),
        "1": entry(1, "hazel", &json!({ "disable": true })),
        "2": entry(2, "ivory", &json!({ "key": [] })),
        "3": entry(3, "jasper", &json!({ "key": [], "constant": true })),
        "4": entry(4, "kyanite", &json!({ "probability": 0 })),
        "5": entry(5, "larch", &json!({ "position": 99 })),
        "6": entry(6, "maple", &json!({ "key": [], "content": "@@activate\nOf maple." })),
    } })
}

fn asked(door: &Door, request: &Json) -> Json {
    let response = door.call(request);
    assert_eq!(response["ok"], true, "{response}");
    response["result"].clone()
}

/// The report, and the prompts of all generation types.
fn examined(file: &Json, role: &str) -> (Json, String) {
    let door = Door::default();
    let file = json!({ "name": "file.json", "json": file });
    let report = asked(&door, &json!({ "call": "doctor", "file": file, "scene": { "message": MESSAGE } }));
    let part = if role == "preset" { json!({ "preset": [file] }) } else { json!({ "lorebooks": [file] }) };
    let prompts = KINDS.iter().map(|kind| {
        let mut scene = part.clone();
        scene["message"] = MESSAGE.into();
        scene["type"] = (*kind).into();
        asked(&door, &json!({ "call": "build", "rules": PACK, "scene": scene }))["payload"].to_string()
    });
    (report, prompts.collect())
}

/// The parts: name, whether it is sent, and why not.
fn parts(report: &Json) -> impl Iterator<Item = (&str, &str, &str)> {
    let parts = report["parts"]["list"].as_array().unwrap().iter();
    parts.map(|part| (part["name"].as_str().unwrap(), part["sent"].as_str().unwrap(), part["code"].as_str().unwrap_or_default()))
}

fn codes(report: &Json) -> Vec<(String, String)> {
    let mut codes: Vec<_> = parts(report).filter(|part| part.1 == "never").map(|part| (part.0.to_owned(), part.2.to_owned())).collect();
    codes.sort();
    codes
}

fn expected(codes: &[(&str, &str)]) -> Vec<(String, String)> {
    codes.iter().map(|(name, code)| ((*name).to_owned(), (*code).to_owned())).collect()
}

#[test]
fn parts_that_are_never_sent_are_in_no_prompt() {
    let of_preset = [("basalt", "part.off"), ("cedar", "part.unlisted"), ("dolomite", "part.unflagged"), ("flint", "part.undepthed")];
    let of_book = [("hazel", "part.off"), ("ivory", "part.keyless"), ("kyanite", "part.chanceless"), ("larch", "part.nowhere")];
    for (file, role, wanted) in [(preset(), "preset", of_preset), (book(), "lorebook", of_book)] {
        let (report, prompts) = examined(&file, role);
        assert_eq!(codes(&report), expected(&wanted), "{report}");
        for (name, sent, _) in parts(&report) {
            let is_there = prompts.contains(&format!("Of {name}."));
            // the lines of a preset wait for what these builds do not have
            assert!(is_there == (sent != "never") || sent == "sometimes" && role == "preset", "{name} is {sent}");
        }
    }
}

#[test]
fn the_remedy_of_a_part_lets_it_into_the_prompt() {
    let mut file = preset();
    file["prompt_order"][0]["order"][3]["enabled"] = true.into();
    file["prompts"][4]["system_prompt"] = false.into();
    file["prompts"][6]["role"] = "system".into();
    file["prompts"][6]["injection_depth"] = 1.into();
    file["prompt_order"][0]["order"].as_array_mut().unwrap().insert(1, json!({ "identifier": "cedar", "enabled": true }));
    let (report, prompts) = examined(&file, "preset");
    assert_eq!(codes(&report), []);
    for word in ["basalt", "cedar", "dolomite", "flint"] {
        assert!(prompts.contains(&format!("Of {word}.")), "{word}");
    }
}

#[test]
fn a_slip_in_a_macro_is_mended_and_a_grade_has_reasons() {
    let mut file = preset();
    file["prompts"][0]["content"] = "{{usr}} and {{nonsensical}}".into();
    file["extensions"] =
        json!({ "regex_scripts": [{ "scriptName": "{{usr}}", "findRegex": "/(a+)\\1/g", "replaceString": "", "placement": [2] }] });
    let report = asked(&Door::default(), &json!({ "call": "doctor", "file": { "name": "p.json", "text": file.to_string() } }));
    assert_eq!(report["repairs"]["changes"], json!([{ "code": "macro.unknown", "was": "usr", "is": "user", "times": 1 }]));
    let diff = report["repairs"]["diff"].as_str().unwrap();
    assert!(diff.starts_with("--- p.json\n+++ p.json\n"), "{diff}");
    let reasons: Vec<&str> = report["grade"]["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect();
    assert!(["macro.unknown", "regex.slow", "part.unlisted"].iter().all(|code| reasons.contains(code)), "{report}");
    assert_eq!(report["brings"]["scripts"][0]["state"], "slow");
    let sum: f64 = report["grade"]["reasons"].as_array().unwrap().iter().map(|reason| reason["points"].as_f64().unwrap()).sum();
    assert!((report["grade"]["points"].as_f64().unwrap() - (100.0 - sum)).abs() < 1e-9);
}

#[test]
fn nothing_of_a_hostile_file_is_obeyed() {
    let evil = "</pre><script>alert(1)</script><img src=x onerror=alert(1)> javascript:alert(1) \u{1b}[31m\u{202E}";
    let card = json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": evil, "description": evil, "personality": evil, "scenario": evil, "first_mes": evil, "mes_example": evil,
        "creator_notes": evil, "system_prompt": evil, "post_history_instructions": evil, "alternate_greetings": [evil], "tags": [evil],
        "creator": evil, "character_version": evil, "extensions": { evil: evil, "regex_scripts": [{ "scriptName": evil, "findRegex": evil }] },
        "character_book": { "name": evil, "entries": [{ "keys": [evil], "comment": evil, "content": evil, "enabled": false, "insertion_order": 1, "extensions": {} }] },
        evil: evil,
    } });
    let report = asked(&Door::default(), &json!({ "call": "doctor", "file": { "name": evil, "json": card } }));
    let text = as_text(&report);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202E}'), "{text}");
    let folder = Folder::new("doctor");
    let (_, page, err) = tapster(&["doctor", &folder.put("card.json", card.to_string()), "--html", "-"]);
    assert!(page.contains("&lt;script&gt;"), "{err}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202E}'), "{page}");
}

#[test]
fn large_and_deep_files_have_a_report_or_a_reason() {
    let mut deep = json!("end");
    (0..100).for_each(|_| deep = json!([deep]));
    let prompts: Vec<Json> = (0..2_500).map(|n| prompt(&format!("p{n}"), &json!({ "content": "word {{user}} ".repeat(400) }))).collect();
    let order: Vec<Json> = (0..2_500).map(|n| json!({ "identifier": format!("p{n}"), "enabled": n % 2 == 0 })).collect();
    let order = json!([{ "character_id": 100001, "order": order }]);
    for file in [json!({ "prompts": prompts, "prompt_order": order }), json!({ "prompts": [], "prompt_order": order, "extensions": deep })]
    {
        let response = Door::default().call(&json!({ "call": "doctor", "file": { "name": "p.json", "json": file } }));
        let has_reason = response["diagnostics"].as_array().unwrap().iter().any(|told| told["code"] == "bound.exceeded");
        assert!(response["result"]["format"] == "st_preset" || has_reason, "{}", response["diagnostics"]);
    }
}
