//! Presets with gaps, unknown names and duplicates, and a card that is large.

use super::*;

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
