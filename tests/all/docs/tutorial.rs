//! The code of the tutorial `embedding-in-rust` in one function; written by `UPDATE=1 cargo test --test all docs::`.

#![allow(unused_variables, clippy::pedantic, reason = "the code is that of the page")]

#[test]
#[rustfmt::skip]
fn tutorial() -> Result<(), Box<dyn std::error::Error>> {
    use tapster::{Ruleset, Scene, build, emit};

    let rules = Ruleset::open("base", &[])?;
    let scene = Scene::new(&serde_json::json!({
        "names": { "user": "Mara", "char": "Ines" },
        "preset": { "main": "Write {{char}}'s next reply." },
        "card": { "description": "{{char}} keeps a lighthouse." },
        "history": [{ "role": "user", "text": "Is anyone there?" }],
    }));
    let plan = build(&rules, &scene)?;
    let request = emit(&rules, &plan, "openai")?;

    assert_eq!(request.payload["messages"][0]["content"], "Write Ines's next reply.");
    assert_eq!(request.payload["messages"][1]["content"], "Ines keeps a lighthouse.");
    assert_eq!(request.payload["messages"][2]["role"], "user");

    let overlay = r#"
        kind = "overlay"
        version = 1

        [[slot]]
        name = "character_description"
        role = "user"
    "#;
    let rules = Ruleset::open_with("base", &[("described by the user", overlay)])?;

    let overlay = "kind = \"overlay\"\nversion = 1\n\n[[slot]]\nname = \"scenario\"\nrole = 7\n";
    let Err(rejected) = Ruleset::open_with("base", &[("mine", overlay)]) else { panic!("7 is not a role") };
    println!("{rejected}");
    assert_eq!(rejected.report.items().len(), 1);

    let scene = Scene::new(&serde_json::json!({
        "preset": { "main": "Be brief.", "prefill": "Well," },
        "context": { "window": 30, "reserve": 5, "tokenizer": "words" },
        "history": [
            { "id": "m1", "role": "user", "text": "A long story about a winter in which nothing at all happened, told twice." },
            { "id": "m2", "role": "assistant", "text": "I see." },
            { "id": "m3", "role": "user", "text": "And then the ship came in, and we all went down to look." },
        ],
        "moods": ["calm"],
    }));
    let plan = build(&rules, &scene)?;

    for block in &plan.blocks {
        println!("{:9} {:3} {}", block.text("role"), block.tokens, block.text("text"));
    }
    // what trimming has taken out
    assert_eq!(plan.evicted().len(), 1);
    assert_eq!(plan.evicted()[0].id, "m1");
    // what is odd; here a value that no rule reads
    assert_eq!(plan.warnings[0].code, "scene.field");
    // what the rules report beside the messages
    assert_eq!(plan.assistant_prefill().as_deref(), Some("Well,"));

    let overlay = r#"
        kind = "overlay"
        version = 1

        [[state]]
        name = "builds"
        type = "integer"

        [[pass]]
        name = "build/count"
        do = "set"
        set = { "$state.builds" = { calc = "$state.builds + 1" } }
    "#;
    let rules = Ruleset::open_with("base", &[("count", overlay)])?;

    // What you keep for each chat, beside its messages.
    let mut store = serde_json::json!({});
    for turn in 1..=3 {
        let scene = Scene::new(&serde_json::json!({ "state": store, "input": "Hello" }));
        let plan = build(&rules, &scene)?;
        // … send the request; if the answer is kept, keep the patch as well:
        for (name, value) in plan.patch.to_json().as_object().into_iter().flatten() {
            store[name] = value.clone();
        }
        assert_eq!(store["builds"], turn);
    }

    use tapster::{ScenePart, Value, assemble_scene};

    let rules = Ruleset::open("sillytavern", &[])?;
    let bytes = std::fs::read("examples/hello/card.json")?; // a PNG or CHARX file does as well
    let container = tapster::import::read("card.json", &bytes).map_err(|_| "this is not a card")?;
    let document = container.main_of(rules.card_chunks()).ok_or("the file is empty")?;
    let card = tapster::import_document(&rules, None, document.value.clone())?;
    assert_eq!(card.format, "st_card");

    // the program `scene` of the pack says which part wins, and fills in what no part says
    let own = serde_json::json!({ "names": { "user": "Mara" }, "input": "Hello?" });
    let parts = [ScenePart::new("character", card.scene), ScenePart::new("file", Value::from(&own))];
    let scene = assemble_scene(&rules, &parts)?.scene;
    assert_eq!(scene.get("names.char").as_str(), Some("Ines"));
    let plan = build(&rules, &scene)?;

    use std::sync::Arc;
    use tapster::HookView;

    let overlay = r#"
        kind = "overlay"
        version = 1

        [[slot]]
        name = "auxiliary_prompt"
        when = { host = "is_evening" }
    "#;
    let rules = Ruleset::open_with("base", &[("evening", overlay)])?;
    let scene = Scene::new(&serde_json::json!({ "preset": { "auxiliary": "It is late." } }))
        .host("is_evening", Arc::new(|_item| Ok(Value::Bool(true))))
        .hook("after_build", "count", |view: &mut HookView<'_>| {
            let count = view.blocks().len();
            if count > 100 {
                view.warn(format!("the prompt has {count} messages"));
            }
            Ok(())
        });
    let plan = build(&rules, &scene)?;
    assert_eq!(plan.blocks[0].text("text"), "It is late.");

    use tapster::run;

    let rules = Ruleset::open("base", &[])?;
    let scene = Scene::new(&serde_json::json!({ "group": { "strategy": "list" } }));
    let members = serde_json::json!([{ "id": "ann", "name": "Ann" }, { "id": "bo", "name": "Bo" }]);
    let outcome = run(&rules, "schedule", &scene, &[("members", members)])?;
    let chosen: Vec<String> = outcome.list("chosen").iter().filter_map(|m| m.get("id")).map(|id| id.to_text().to_string()).collect();
    assert_eq!(chosen, ["ann", "bo"]);

    let scene = Scene::new(&serde_json::json!({
        "preset": { "main": "A main prompt that is longer than the window." },
        "context": { "window": 5, "tokenizer": "words" },
    }));
    let Err(error) = build(&rules, &scene) else { panic!("nine words do not fit into five") };
    assert_eq!(error.kind().as_str(), "max_tokens_exceeded");
    println!("{error}");
    Ok(())
}
