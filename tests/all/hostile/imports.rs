//! Lorebooks that are broken, huge or cyclic.

use crate::hostile::*;

fn named(name: &str, entries: &[Value]) -> Value {
    let mut book = book(entries);
    book.as_object_mut().unwrap().insert("name".to_owned(), json!(name));
    book
}

#[test]
fn patterns_that_run_away_are_warned_of_and_bounded() {
    let runs_away = json!({ "key": ["/(?:(a|aa)+)+\\1c/"], "comment": "Catapult" });
    let plan = built(&[named("Siege", &[entry(1, &runs_away), entry(2, &json!({}))])]);
    assert!(prompt(&plan).contains("text 2"));
    let [warning] = plan.warnings.as_slice() else { panic!("told once a build, not once a round: {:?}", plan.warnings) };
    for word in ["`1`", "`Catapult`", "`Siege`", "(a|aa)+", "too many steps"] {
        assert!(warning.message.contains(word), "`{word}` in {}", warning.message);
    }
}

#[test]
fn patterns_that_cannot_be_read_are_told_with_their_entry() {
    let plan = built(&[book(&[entry(41, &json!({ "key": ["/lamp(/"] })), entry(2, &json!({}))])]);
    assert!(prompt(&plan).contains("text 2"));
    assert!(plan.warnings.iter().any(|w| w.message.contains("41")), "{:?}", plan.warnings);
}

#[test]
fn entries_that_call_each_other_end() {
    let cyclic = |uid, key: &str, content: &str| entry(uid, &json!({ "key": [key], "content": content }));
    let plan = built(&[book(&[cyclic(1, "lamp", "ping pong"), cyclic(2, "ping", "lamp pong"), cyclic(3, "pong", "ping lamp")])]);
    assert_eq!(prompt(&plan).matches("ping pong").count(), 1);
}

#[test]
fn odd_numbers_and_nulls_are_no_obstacle() {
    let nulls = json!({ "uid": null, "key": null, "keysecondary": null, "content": null, "order": null, "position": null, "depth": null });
    let plan = built(&[book(&[
        entry(1, &json!({ "order": "NaN" })),
        entry(1, &json!({ "order": -7, "content": "same number" })),
        entry(3, &json!({ "position": 4, "depth": 1_000_000_000 })),
        nulls,
    ])]);
    assert!(prompt(&plan).contains("same number"), "{}", prompt(&plan));
}

#[test]
fn many_patterns_that_run_away_are_bounded_together() {
    let entries: Vec<Value> = (0..200).map(|n| entry(n, &json!({ "key": [format!("/(?:(a|aa)+)+\\1c{n}/")] }))).collect();
    let plan = built(&[book(&entries)]);
    assert_eq!(plan.warnings.len(), 200, "each entry is told");
    assert_eq!(plan.warnings.iter().filter(|w| w.message.contains("not tried")).count(), 150);
}

/// Edges of words as Unicode has them, in many keys.
#[test]
fn many_keys_with_properties_of_unicode_are_tried() {
    let key = |word: &str| json!({ "key": [format!("/(?<!\\p{{L}}){word}(?!\\p{{L}})/iu")] });
    let others = (0..400).map(|n| entry(n, &key(&format!("word{n}"))));
    let plan = built(&[book(&others.chain([entry(400, &key("lamp"))]).collect::<Vec<_>>())]);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    assert!(prompt(&plan).contains("text 400"));
}

#[test]
fn a_hundred_thousand_entries_are_scanned() {
    let entries: Vec<Value> =
        (0..100_000).map(|n| entry(n, &json!({ "key": [format!("word{n}")] }))).chain([entry(100_000, &json!({}))]).collect();
    assert!(prompt(&built(&[book(&entries)])).contains("text 100000"));
}

#[test]
fn what_is_odd_about_entries_is_told() {
    let warnings = told(&book(&[
        entry(1, &json!({ "order": "NaN" })),
        entry(1, &json!({ "position": 99 })),
        entry(3, &json!({ "role": 77, "position": 4 })),
        Value::Null,
        json!({ "uid": 5, "key": null, "content": null }),
    ]));
    for words in
        [["`uid`", "`1`"], ["`order`", "`NaN`"], ["`position`", "`99`"], ["`role`", "`77`"], ["neither", "`5`"], ["neither", "(no uid)"]]
    {
        assert!(says(&warnings, &words), "{words:?} in {warnings:?}");
    }
    assert_eq!(told(&book(&[entry(1, &json!({})), entry(2, &json!({ "order": -7, "position": 1, "role": null }))])), [""; 0]);
}

#[test]
fn depths_that_no_chat_has_are_told() {
    let at = |uid, depth: i64| entry(uid, &json!({ "position": 4, "depth": depth }));
    let plan = built(&[book(&[at(1, 1_000_000_000), at(2, -3), at(3, 9_999)])]);
    let told: Vec<&str> = plan.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("-3") && told[1].contains("1000000000"), "{told:?}");
    assert!(prompt(&plan).contains("text 3"), "a depth beyond the chat is its beginning");
}

#[test]
fn overlong_words_are_cut_where_they_are_told() {
    let long = "x".repeat(90_000);
    let huge = entry(1, &json!({ "key": [format!("/{long}(/")], "comment": long, "position": long }));
    let plan = built(&[named(&long, std::slice::from_ref(&huge))]);
    let brought = told(&book(&[huge]));
    let all: Vec<&str> = plan.warnings.iter().map(|w| w.message.as_str()).chain(brought.iter().map(String::as_str)).collect();
    assert!(all.len() >= 2, "{}", all.len());
    assert!(all.iter().all(|message| message.chars().count() < 1000));
    assert!(plan.warnings[0].message.contains("a `(` has no `)`"), "the reason stands at the end: {}", plan.warnings[0].message);
}

/// Their automaton takes time and memory, however short the text is in which they are looked for.
#[test]
fn thousands_of_plain_keys_end() {
    let keys: Vec<String> = (0..2_010).map(|n| format!("key{n:05}")).collect();
    assert!(!prompt(&built(&[book(&[entry(1, &json!({ "key": keys })), entry(2, &json!({}))])])).contains("text 1"));
}

// Presets with gaps, unknown names and duplicates, and a card that is large.

#[test]
fn presets_with_gaps_still_give_a_prompt() {
    let prompts = json!([
        { "identifier": "main", "role": "system", "content": "First." }, { "identifier": "main", "role": "system", "content": "Second." },
    ]);
    let order = json!([{ "character_id": 100_001, "order": [
        { "identifier": "main", "enabled": true }, { "identifier": "nobody", "enabled": true }, { "identifier": "chatHistory", "enabled": true },
    ] }]);
    let whole = built(&[json!({ "openai_max_context": 4096, "prompts": prompts, "prompt_order": order })]);
    assert!(prompt(&whole).contains("A lamp"));
    let orderless = built(&[json!({ "openai_max_context": 4096, "prompts": prompts })]);
    assert!(prompt(&orderless).contains("A lamp"));
}

fn preset(prompts: &Value, order: &[&str]) -> Value {
    let order: Vec<Value> = order.iter().map(|name| json!({ "identifier": name, "enabled": true })).collect();
    json!({ "openai_max_context": 4096, "prompts": prompts, "prompt_order": [{ "character_id": 100_001, "order": order }] })
}

#[test]
fn the_first_of_two_prompts_with_one_identifier_counts() {
    let prompts = json!([
        { "identifier": "main", "role": "system", "content": "First." }, { "identifier": "main", "role": "system", "content": "Second." },
    ]);
    let document = preset(&prompts, &["main", "chatHistory", "chatHistory"]);
    let sent = prompt(&built(std::slice::from_ref(&document)));
    assert!(sent.contains("First.") && !sent.contains("Second."), "{sent}");
    assert_eq!(sent.matches("A lamp").count(), 1, "a slot that is listed twice is filled once");
    let warnings = told(&document);
    assert!(says(&warnings, &["only the first one", "`main`"]) && says(&warnings, &["more than once", "`chatHistory`"]), "{warnings:?}");
}

#[test]
fn prompts_that_find_no_place_are_told() {
    let mine = json!([{ "identifier": "mine", "role": "wizard", "system_prompt": false, "injection_position": 7, "content": "Mine." }]);
    let warnings = told(&preset(&mine, &["main", "nobody", "mine", "chatHistory"]));
    for words in [["does not have", "`nobody`"], ["role", "`wizard`"], ["injection_position", "`7`"]] {
        assert!(says(&warnings, &words), "{words:?} in {warnings:?}");
    }
    let orderless = told(&json!({ "openai_max_context": 4096, "prompts": mine }));
    assert!(says(&orderless, &["no `prompt_order`", "`mine`"]), "{orderless:?}");
    let unflagged = json!([{ "identifier": "mine", "role": "system", "content": "Mine." }]);
    assert!(says(&told(&preset(&unflagged, &["mine"])), &["system_prompt", "`mine`"]));
}

#[test]
fn a_preset_of_nulls_is_a_preset_without_settings() {
    let nulls = json!({ "openai_max_context": 4096, "prompts": null, "prompt_order": null, "names_behavior": null, "temperature": null,
        "impersonation_prompt": null, "wi_format": null, "continue_postfix": null, "chat_completion_source": null });
    assert!(prompt(&built(std::slice::from_ref(&nulls))).contains("A lamp"));
    assert_eq!(told(&nulls), [""; 0]);
}

#[test]
fn a_card_of_ten_megabytes_is_built_with() {
    let description = "Lamps are mended by the river, and clocks too. ".repeat(220_000);
    let scene = json!({
        "names": { "user": "Bo", "char": "Ann" }, "card": { "name": "Ann", "description": description },
        "context": { "window": 100_000_000, "reserve": 500, "tokenizer": "cl100k" }, "history": [{ "role": "user", "text": "Hello." }],
    });
    let plan = build(&EXACT, &Scene::new(&scene)).unwrap_or_else(|e| panic!("{e}"));
    assert!(prompt(&plan).contains(description.trim()), "{:?}", plan.warnings);
}

// Chats with lines that are broken, empty or of unknown shape.

const HEADER: &str = r#"{"user_name":"U","character_name":"C","chat_metadata":{}}"#;
const LINES: [&str; 10] = [
    HEADER,
    "",
    r#"{"name":"U","is_user":true,"mes":"first"}"#,
    r#"{"name":"C","mes":"cut"#,
    "   ",
    "[1,2]",
    "nonsense",
    r#"{"name":"X","is_user":"maybe","mes":"odd","extra":{"type":"wizard"}}"#,
    r#"{"name":"Y","mes":null}"#,
    r#"{"name":"C","is_user":false,"mes":"last"}"#,
];

#[test]
fn broken_lines_cost_themselves_and_are_told_one_by_one() {
    let imported = tapster_exchange::import::read("c.jsonl", LINES.join("\n").as_bytes()).unwrap();
    assert_eq!((imported.kept, imported.skipped), (5, 3));
    let messages: Vec<&str> = imported.report.items().iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    for (message, line) in messages.iter().zip(["line 4 of `c.jsonl`", "line 6 of `c.jsonl`", "line 7 of `c.jsonl`"]) {
        assert!(message.contains(line), "{message}");
    }
    assert!(imported.report.items().iter().all(|d| d.help.is_some()));
}

#[test]
fn messages_of_unknown_shape_are_told() {
    let imported = tapster_exchange::import::read("c.jsonl", LINES.join("\n").as_bytes()).unwrap();
    let lines: Vec<Value> = imported.documents.into_iter().map(|d| d.json()).collect();
    let chat = json!({ "lines": lines });
    let warnings = told(&chat);
    assert!(says(&warnings, &["not messages", "`Y`"]) && says(&warnings, &["is_user", "`maybe`"]), "{warnings:?}");
    assert!(prompt(&built(&[chat])).contains("odd"), "who cannot be told to be the user is the character");
}

#[test]
fn numbers_that_would_be_rounded_are_told() {
    let imported = tapster_exchange::import::read(
        "p.json",
        br#"{"prompts":[],"prompt_order":[],"id":18446744073709551615,"t":1.0,"n":9223372036854775807}"#,
    );
    let report = imported.unwrap().report;
    let [told] = report.items() else { panic!("one warning: {report:?}") };
    assert!(told.message.contains("9223372036854775807") && told.message.contains(": 1"), "{}", told.message);
}
