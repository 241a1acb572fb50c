//! Templates of slots and a layout, alone and as the templates of tasks.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use tapster::machinery::pack::{Overlay, PackShelf, RuleFile, Start};
use tapster::template::{Budget, Inputs, QuarterRuler, RenderLimits, SourceProvider, TemplateContract, render};
use tapster::{Ruleset, Scene, Value, build, open_template};

use super::Verdict;
use crate::seeds;

pub(super) fn files() -> Vec<Vec<u8>> {
    let files = seeds::files("examples", "json", 16 << 10);
    files.into_iter().filter(|bytes| serde_json::from_slice::<Json>(bytes).is_ok_and(|tree| tree.get("layout").is_some())).collect()
}

/// The data of the story that the shipped example tells.
static STORY: LazyLock<Json> = LazyLock::new(|| seeds::json("examples/storyforge/story.json"));

struct Table;

impl SourceProvider for Table {
    fn resolve(&self, name: &str, args: Option<&Value>) -> Result<Option<Value>, String> {
        static ALL: LazyLock<Value> = LazyLock::new(|| {
            let mut story = STORY.clone();
            if let Json::Object(map) = &mut story {
                map.insert("items".to_owned(), json!([{ "text": "{{item.text}}" }, { "text": "a" }, null, 3, "{{ctx.b}}"]));
            }
            Value::from(&story)
        });
        match args {
            Some(args) if name == "item" => Ok(Some(args.clone())),
            _ if name.starts_with('!') => Err("out of order".to_owned()),
            _ => Ok(ALL.get(name).cloned()),
        }
    }
}

pub(super) fn template(input: &[u8]) -> Verdict {
    let file = RuleFile { name: "t.json".to_owned(), path_in_pack: "t.json".to_owned(), bytes: input.to_vec() };
    let Ok(opened) = open_template(&file, &TemplateContract::default()) else { return Ok(false) };
    let context = Value::from(&json!({ "globals": { "name": "Marit" }, "item": "hidden", "b": "{{ctx.b}}{{ctx.b}}" }));
    let inputs =
        Inputs { context: &context, sources: &Table, ruler: &QuarterRuler, lanes: &[], requests: &[], limits: RenderLimits::default() };
    let whole = render(&opened.template, &inputs, &mut Budget::new(None)).is_ok();
    let small = render(&opened.template, &inputs, &mut Budget::new(Some(60))).is_ok();
    Ok(whole | small)
}

pub(super) fn tasks() -> Vec<Vec<u8>> {
    super::bytes(files().iter().filter_map(|bytes| super::json(bytes)).map(|template| json!({ "template": template, "data": *STORY })))
}

pub(super) fn task(input: &[u8]) -> Verdict {
    let Some(mut tree) = super::json(input) else { return Ok(false) };
    if !tree.is_object() || !tree["template"].is_object() {
        return Ok(false);
    }
    tree["template"]["id"] = "t".into();
    tree["task"] = tree["template"]["task"].clone();
    tree["max_tokens"] = 160.into();
    let bytes = tree["template"].to_string().into_bytes();
    let file = RuleFile { name: "t.json".to_owned(), path_in_pack: "t.json".to_owned(), bytes };
    // which costs less than loading a pack with it
    if open_template(&file, &TemplateContract::default()).is_err() {
        return Ok(false);
    }
    let Ok(rules) = Ruleset::load(&Start::Name("storyforge".into()), &[Overlay::File(file)], &PackShelf::default()) else {
        return Ok(false);
    };
    tree["template"] = "t".into();
    tree["now"] = "2026-01-31T00:13:00Z".into();
    Ok(build(&rules, &Scene::new(&tree)).is_ok())
}
