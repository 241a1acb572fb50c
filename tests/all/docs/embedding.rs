//! The code of the tutorial `embedding-in-rust`: each stretch between `// page: NAME` and `// end` stands on the page, and
//! all of it runs.

use std::error::Error;

/// The code called `name`, as the page shows it: without the indentation of its first line.
pub(crate) fn code(name: &str) -> String {
    let text = include_str!("embedding.rs");
    let start = format!("// page: {name}");
    let lines: Vec<&str> = text.lines().skip_while(|l| l.trim() != start).skip(1).take_while(|l| l.trim() != "// end").collect();
    assert!(!lines.is_empty(), "there is no code `{name}`");
    let indent = lines.first().map_or(0, |l| l.len() - l.trim_start().len());
    lines.iter().map(|l| format!("{}\n", l.get(indent..).unwrap_or(""))).collect()
}

/// The steps stand on the page in the order of the code, so that a reader can write them one after another.
#[test]
fn the_page_has_the_steps_of_the_tutorial() {
    let page = super::pages::read("docs/tutorials/embedding-in-rust.md");
    let shown: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("<!-- rust: ")?.strip_suffix(" -->")).collect();
    let steps = include_str!("embedding.rs").lines().skip_while(|line| *line != "fn tutorial() -> Result<(), Box<dyn Error>> {");
    let steps = steps.take_while(|line| *line != "}").filter_map(|line| line.trim().strip_prefix("// page: "));
    assert_eq!(shown, steps.collect::<Vec<_>>());
}

#[test]
fn tutorial() -> Result<(), Box<dyn Error>> {
    crate::support::in_checkout();
    // page: first
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
    // end

    // page: overlay
    let overlay = r#"
        kind = "overlay"
        version = 1

        [[slot]]
        name = "character_description"
        role = "user"
    "#;
    let rules = Ruleset::open_with("base", &[("described by the user", overlay)])?;
    // end
    let scene = Scene::new(&serde_json::json!({ "card": { "description": "A lighthouse." } }));
    assert_eq!(build(&rules, &scene)?.blocks[0].text("role"), "user");

    // page: mistake
    let overlay = "kind = \"overlay\"\nversion = 1\n\n[[slot]]\nname = \"scenario\"\nrole = 7\n";
    let Err(rejected) = Ruleset::open_with("base", &[("mine", overlay)]) else { panic!("7 is not a role") };
    println!("{rejected}");
    assert_eq!(rejected.report.items().len(), 1);
    // end

    // page: plan
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
    // end

    // page: store
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
    // end

    // page: card
    use tapster::{ScenePart, Value, assemble_scene};

    let rules = Ruleset::open("sillytavern", &[])?;
    let bytes = std::fs::read("examples/hello/card.json")?; // a PNG or CHARX file does as well
    let container = tapster_exchange::import::read("card.json", &bytes).map_err(|_| "this is not a card")?;
    let document = container.main_of(rules.card_chunks()).ok_or("the file is empty")?;
    let card = tapster::import_document(&rules, None, document.value.clone())?;
    assert_eq!(card.format, "st_card");

    // the program `scene` of the pack says which part wins, and fills in what no part says
    let own = serde_json::json!({ "names": { "user": "Mara" }, "input": "Hello?" });
    let parts = [ScenePart::new("character", card.scene), ScenePart::new("file", Value::from(&own))];
    let scene = assemble_scene(&rules, &parts)?.scene;
    assert_eq!(scene.get("names.char").as_str(), Some("Ines"));
    let plan = build(&rules, &scene)?;
    // end
    assert!(plan.blocks.iter().any(|b| b.text("text").contains("lighthouse on Skerry Point")));

    // page: host
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
    // end

    // page: run
    use tapster::run;

    let rules = Ruleset::open("base", &[])?;
    let scene = Scene::new(&serde_json::json!({ "group": { "strategy": "list" } }));
    let members = serde_json::json!([{ "id": "ann", "name": "Ann" }, { "id": "bo", "name": "Bo" }]);
    let outcome = run(&rules, "schedule", &scene, &[("members", members)])?;
    let chosen: Vec<String> = outcome.list("chosen").iter().filter_map(|m| m.get("id")).map(|id| id.to_text().to_string()).collect();
    assert_eq!(chosen, ["ann", "bo"]);
    // end

    // page: failed
    let scene = Scene::new(&serde_json::json!({
        "preset": { "main": "A main prompt that is longer than the window." },
        "context": { "window": 5, "tokenizer": "words" },
    }));
    let Err(error) = build(&rules, &scene) else { panic!("nine words do not fit into five") };
    assert_eq!(error.kind().as_str(), "max_tokens_exceeded");
    println!("{error}");
    // end
    Ok(())
}

#[test]
fn what_a_hook_sees() -> Result<(), Box<dyn Error>> {
    use tapster::{HookView, Ruleset, Scene, Value, build};
    let rules = Ruleset::open("base", &[])?;
    let scene = Scene { trace: true, ..Scene::new(&serde_json::json!({ "card": { "description": "A house." }, "input": "Hello" })) };
    // page: view
    let scene = scene
        .hook("before_build", "shorten", |view: &mut HookView<'_>| view.set("card.description", Value::text("A tower.")))
        .hook("after_build", "count", |view: &mut HookView<'_>| {
            let count = view.blocks().len();
            view.instrument("blocks", || Value::Int(count as i64));
            Ok(())
        });
    // end
    let plan = build(&rules, &scene)?;
    assert_eq!(plan.blocks[0].text("text"), "A tower.");
    assert_eq!(plan.trace.unwrap().stats[0].value, Value::Int(2));
    Ok(())
}

#[test]
fn a_turn_of_a_session() -> Result<(), Box<dyn Error>> {
    use tapster_session::store::SqlStore;
    let folder = std::env::temp_dir().join(format!("tapster-page-session-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let address = format!("sqlite:{}", folder.join("store.db").display());
    let store = tapster_session::store::block_on(SqlStore::open(&address))?;
    // page: session
    use tapster::{Ruleset, Scene};
    use tapster_session::store::{Home, Moment, SessionStore};
    use tapster_session::{NoModel, Session, SessionError};

    async fn turn(store: &dyn SessionStore, rules: Ruleset, scene: &Scene) -> Result<String, SessionError> {
        let home = Home { owner: "me".into(), session: "skerry".into() };
        let session = Session::new(store, rules, home);
        // milliseconds since 1970, and one turn for each message of the user
        let at = Moment { now: 1_769_890_500_000, turn: 1 };
        let turn = session.begin(scene, at, &NoModel).await?;
        let reply = "The lamp is lit."; // the model's answer to `turn.plan`
        Ok(session.finish(turn, reply, &NoModel).await?.reply)
    }
    // end
    let scene = Scene::new(&serde_json::json!({ "history": [{ "role": "user", "text": "Hello." }] }));
    let said = tapster_session::store::block_on(turn(&store, Ruleset::open("talespinner", &[])?, &scene))?;
    std::fs::remove_dir_all(&folder)?;
    assert_eq!(said, "The lamp is lit.");
    Ok(())
}

#[test]
fn tools_of_a_pack_a_host_and_an_application() -> Result<(), Box<dyn Error>> {
    use serde_json::json;

    crate::support::in_checkout();
    let called = json!([{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"room\":\"lamp\"}" } }]);
    let replies = [
        json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": called } }] }),
        json!({ "choices": [{ "message": { "role": "assistant", "content": "A lamp that turns." } }] }),
    ];
    let transport = crate::sending::scripted::Scripted::new(replies.map(|reply| crate::sending::scripted::json_answer(200, &reply)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // page: tools
        use std::sync::Arc;
        use tapster::{Ruleset, Scene, build};
        use tapster_client::tools::{FilteredToolRegistry, HostTools, NoWatch, ToolCall, ToolLoopRunner, ToolRegistry, ToolSpec};
        use tapster_client::{PromptRunner, RunnerConfig};

        let rules = Ruleset::open("examples/tools/pack", &[])?;
        let scene = Scene::new(&json!({
            "history": [{ "role": "user", "text": "What is in the lamp room?" }],
            "lighthouse": { "rooms": { "lamp": "a lamp that turns every twelve seconds" } },
        }));
        let plan = build(&rules, &scene)?;

        let mut tools = ToolRegistry::of_pack(&rules);
        tools.extend(HostTools::parse(&std::fs::read_to_string("examples/tools/host.toml")?)?.open().await?);
        let roll = |_: &ToolCall<'_>| Ok(json!(4));
        tools.add(ToolSpec { description: "Rolls a die.".into(), ..ToolSpec::new("roll") }, Arc::new(roll));
        let tools = FilteredToolRegistry::new(tools, None, vec!["tide".into()]);
        assert_eq!(tools.visible().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look", "roll"]);

        let context = json!({ "provider": "openai", "model": "gpt-4o", "tool_calling": { "max_turns": 4 } });
        let config = RunnerConfig::parse(&rules, &context)?;
        let runner = ToolLoopRunner::new(PromptRunner::new(transport));
        let report = runner.run(&config, &plan, &tools, &serde_json::Map::new(), &mut NoWatch).await?;

        assert_eq!(report.final_text.as_deref(), Some("A lamp that turns."));
        let result = r#"{"ok":true,"data":{"room":"lamp","seen":"a lamp that turns every twelve seconds"}}"#;
        assert_eq!(report.added[1]["content"], result);
        // end
        Ok(())
    })
}
