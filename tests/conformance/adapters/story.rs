//! `contract-story`: the story string of text dialects.

use serde_json::{Value as Json, json};

use super::{imports, parts};
use crate::case::{Case, Check};
use crate::compare::fits;
use crate::engine::{self, CONTRACT, Scene};

/// Field of a story string = where the scene has its value.
const FIELDS: &[(&str, &str)] = &[
    ("system", "story.system"),
    ("description", "card.description"),
    ("personality", "card.personality"),
    ("scenario", "card.scenario"),
    ("persona", "persona.text"),
    ("char", "names.char"),
    ("user", "names.user"),
    ("wiBefore", "lore.before"),
    ("wiAfter", "lore.after"),
    ("mesExamples", "card.mes_example"),
    ("mesExamplesRaw", "card.mes_example_raw"),
];

/// The fields are given instead of being read from the scene.
const GIVEN_FIELDS: &str = r#"
kind = "overlay"
version = 1
path = [{ name = "fields", type = "table", doc = "The fields of the story string." }]
[[pass]]
name = "story/fields"
remove = true
"#;

/// One case, by its operation.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let actual = match case.op() {
        "render" => render(input),
        "assemble" => assemble(input),
        "import" => import(input),
        other => return vec![Check::broken("", case, &format!("no adapter for op `{other}` yet"))],
    };
    vec![case.check(actual, fits)]
}

fn is_story(block: &&Json) -> bool {
    block["slot"] == json!("story_string")
}

fn render(input: &Json) -> Json {
    let data = json!({ "story": { "template": input["template"] }, "instruct": { "enabled": false }, "fields": input["fields"] });
    match engine::run_with(CONTRACT, GIVEN_FIELDS, "story", Scene::new(data), &[("blocks", json!([]))]) {
        Ok(ran) => json!({ "output": ran.list("blocks").iter().find(is_story).map(|b| b["text"].clone()) }),
        Err(error) => error,
    }
}

fn assemble(input: &Json) -> Json {
    let mut data = json!({
        "type": input["generation_type"],
        "dialect": input["dialect"],
        "story": { "template": input["template"] },
        "history": parts::history(&input["history"]),
        "preset": { "entries": [{ "name": "chat_history" }] },
    });
    for (name, path) in FIELDS {
        parts::put(&mut data, path, input["fields"][*name].clone());
    }
    parts::copy(
        input,
        &mut data,
        &[("story_string_position", "story.position"), ("story_string_depth", "story.depth"), ("story_string_role", "story.role")],
    );
    let names = [
        ("enabled", "instruct.enabled"),
        ("wrap", "instruct.wrap"),
        ("story_string_prefix", "instruct.story_prefix"),
        ("story_string_suffix", "instruct.story_suffix"),
    ];
    parts::copy(&input["instruct"], &mut data, &names);
    let mut scene = Scene { trace: true, ..Scene::new(data) };
    let entries = parts::injections(&input["injections"], &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    match engine::build(CONTRACT, scene) {
        Ok(built) => assembled(&built.stages()),
        Err(error) => error,
    }
}

/// Whether there is a story string, what of it stands in front of the chat, and the chat before sequences are put round it.
fn assembled(stages: &[(String, Vec<Json>)]) -> Json {
    let after = |stage: &str| stages.iter().find(|(name, _)| name == stage).map_or(&[][..], |(_, blocks)| blocks);
    let used = after("story").iter().any(|b| is_story(&b));
    let blocks = after("plan_assembly");
    let in_front = blocks.iter().take_while(is_story).filter_map(|b| b["text"].as_str()).collect::<String>();
    let chat = blocks.iter().skip_while(is_story);
    json!({ "story_used": used, "system_prefix": in_front, "chat": parts::messages(chat) })
}

fn import(input: &Json) -> Json {
    match imports::context(CONTRACT, &input["context"]) {
        Ok(part) => {
            let story = &part["story"];
            json!({ "story_string_position": story["position"], "story_string_depth": story["depth"], "story_string_role": story["role"] })
        }
        Err(error) => error,
    }
}
