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
    ("anchorBefore", "anchor.before"),
    ("anchorAfter", "anchor.after"),
    ("mesExamples", "card.mes_example"),
    ("mesExamplesRaw", "card.mes_example_raw"),
];

/// The same lore under its other names.
const LORE: &[(&str, &str)] = &[("loreBefore", "lore.before"), ("loreAfter", "lore.after")];

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

fn data(input: &Json) -> Json {
    let mut data = json!({ "story": { "template": input["template"] }, "instruct": { "enabled": false } });
    let fields = &input["fields"];
    let filled = |names: &'static [(&str, &str)]| names.iter().filter(|(name, _)| fields[*name] != json!(""));
    for (name, path) in FIELDS.iter().chain(filled(LORE)) {
        parts::put(&mut data, path, fields[*name].clone());
    }
    data
}

fn is_story(block: &Json) -> bool {
    block["slot"] == json!("story_string")
}

fn render(input: &Json) -> Json {
    match engine::run(CONTRACT, "story", Scene::new(data(input)), &[("blocks", json!([]))]) {
        Ok(ran) => json!({ "output": ran.list("blocks").into_iter().find(is_story).map(|b| b["text"].clone()) }),
        Err(error) => error,
    }
}

fn assemble(input: &Json) -> Json {
    let mut data = data(input);
    let given = json!({
        "type": input["generation_type"],
        "dialect": input["dialect"],
        "history": parts::history(&input["history"]),
        "preset": { "entries": [{ "name": "chat_history" }] },
    });
    parts::lay(&mut data, given);
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
    let mut scene = Scene::new(data);
    let entries = parts::injections(&input["injections"], &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    match engine::build(CONTRACT, scene) {
        Ok(built) => assembled(&built.blocks()),
        Err(error) => error,
    }
}

/// The story string in front of the chat, and the chat.
fn assembled(blocks: &[Json]) -> Json {
    let used = blocks.iter().any(is_story);
    let in_front = blocks.iter().take_while(|b| is_story(b)).filter_map(|b| b["text"].as_str()).collect::<String>();
    let chat = blocks.iter().skip_while(|b| is_story(b));
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
