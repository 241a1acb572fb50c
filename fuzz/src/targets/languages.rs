//! The text languages: reading and rendering.

use std::sync::{Arc, LazyLock};

use serde_json::{Value as Json, json};
use tapster::machinery::macros::syntax::parser;
use tapster::machinery::macros::syntax::{self, KnownMacro, MacroCall, MacroGrammar, MacroHost, MacroResult, MacroSyntax};
use tapster::machinery::text::TextLimits;
use tapster::machinery::text::handlebars::{Template, UnknownNames};
use tapster::machinery::text::leaf::{Leaf, LeafScope, LeafSyntax};
use tapster::machinery::text::liquid::{Liquid, LiquidOptions};
use tapster::machinery::text::script::{Script, take_log};
use tapster::machinery::text::verbatim::{VerbatimMasker, Zone};
use tapster::model::Map;
use tapster::{Scene, Value, expand_texts};

use super::{Verdict, shipped, text};
use crate::seeds;

/// What templates can print.
static NAMES: LazyLock<Value> = LazyLock::new(|| {
    Value::from(&json!({
        "a": { "name": "Ann", "b": [1, 2, { "c": "é😀" }], "none": null }, "b": "", "c": true, "n": -3.5, "user": "Bo", "char": "Ann",
        "list": ["x", "", null, [1], { "k": "v" }, "{{a.name}}"], "long": "word ".repeat(50), "ws": " \n", "description": "A {{smith}}.",
        "self": "{{self}}{{self}}", "item": { "turnNo": 4, "text": "Hm." },
    }))
});

pub(super) fn macros(input: &[u8]) -> Verdict {
    let host = Host(MacroSyntax::of(None));
    let done = syntax::expand(&Arc::from(text(input)), &host, &TextLimits::MACROS);
    Ok(done.warnings.is_empty())
}

/// A host whose macros give a text, double their argument, or print a branch.
struct Host(MacroSyntax);

impl MacroGrammar for Host {
    fn find(&self, name: &str) -> Option<KnownMacro> {
        let (id, least, most, block, raw) = match name {
            "user" | "char" => (0, 0, 0, false, 0),
            "reverse" | "double" | "trim" => (1, 1, 9, true, 0),
            "if" => (2, 1, 3, true, 0b10),
            "." | "$" => (3, 1, 3, false, 0),
            _ => return None,
        };
        Some(KnownMacro { id, shape: parser::ArgumentShape { least, most, block, raw } })
    }

    fn syntax(&self) -> &MacroSyntax {
        &self.0
    }
}

impl MacroHost for Host {
    fn call(&self, called: &MacroCall<'_>) -> MacroResult {
        match called.id {
            Some(0) => MacroResult::Text("Ann".into()),
            Some(1) => MacroResult::Text(called.args.iter().flat_map(|arg| [arg.as_ref(), arg.as_ref()]).collect::<String>().into()),
            Some(2) => MacroResult::Text(called.branches.first().map_or("", |branch| branch.text()).into()),
            Some(3) => MacroResult::Failed("variables are not kept".into()),
            _ => MacroResult::Unknown,
        }
    }
}

pub(super) fn all_macro_texts() -> Vec<Vec<u8>> {
    let mut all = seeds::texts("macros", "text");
    texts_with_macros(&seeds::json("tests/recorded/text.json"), &mut all);
    all
}

pub(super) fn expand(input: &[u8]) -> Verdict {
    static SCENE: LazyLock<Scene> = LazyLock::new(|| {
        let card = json!({ "name": "Ann", "description": "A smith." });
        let history = json!([{ "id": "1", "role": "user", "text": "Hm." }]);
        Scene::new(
            &json!({ "names": { "char": "Ann", "user": "Bo" }, "now": "2026-01-31T20:15:00Z", "card": card, "history": history, "vars": { "local": { "a": "1" } } }),
        )
    });
    let text = text(input);
    let mut warned = false;
    for pack in ["sillytavern", "sillytavern-exact", "risuai", "risuai-exact", "talespinner-exact"] {
        warned |= expand_texts(&shipped(pack), &SCENE, &[(&text, Value::Null)]).is_ok_and(|done| done.warnings.is_empty());
    }
    Ok(warned)
}

fn texts_with_macros(json: &Json, all: &mut Vec<Vec<u8>>) {
    match json {
        Json::String(text) if text.contains("{{") && text.len() < 1_000 && all.len() < 400 => all.push(text.as_bytes().to_vec()),
        Json::Array(list) => list.iter().for_each(|value| texts_with_macros(value, all)),
        Json::Object(map) => map.values().for_each(|value| texts_with_macros(value, all)),
        _ => {}
    }
}

pub(super) fn handlebars(input: &[u8]) -> Verdict {
    rendered(input, UnknownNames::Asked)
}

pub(super) fn story(input: &[u8]) -> Verdict {
    rendered(input, UnknownNames::Stays)
}

fn rendered(input: &[u8], unknown: UnknownNames) -> Verdict {
    let Ok(template) = Template::parse(&text(input), unknown) else { return Ok(false) };
    Ok(template.render(&NAMES, &mut |name| Arc::from(name), &TextLimits::HANDLEBARS).is_ok())
}

pub(super) fn liquid(input: &[u8]) -> Verdict {
    let Ok(template) = Liquid::parse(&text(input)) else { return Ok(false) };
    Ok(template.render(&NAMES, &LiquidOptions::default()).is_ok())
}

pub(super) fn leaf(input: &[u8]) -> Verdict {
    let text = text(input);
    let root = NAMES.as_map();
    let item = NAMES.get("item");
    let over = [("item", item), ("parent", None)];
    let under = [("ctx", &*NAMES)];
    let scope = LeafScope { over: &over, root, under: &under, globals: root };
    let rendered = [LeafSyntax::Paths, LeafSyntax::Expressions].map(|syntax| {
        let leaf = Leaf::compile(&text, syntax);
        let _ = (leaf.has_tags(), leaf.parts());
        leaf.render(&scope, 1 << 20).is_ok()
    });
    Ok(rendered.iter().any(|done| *done))
}

pub(super) fn verbatim(input: &[u8]) -> Verdict {
    let text = text(input);
    let zones = VerbatimMasker::new(Zone::ALL, ["verbatim"]);
    let _ = zones.split(&text);
    let masked = zones.mask(&text);
    match masked.unmask(masked.text()) {
        Ok(back) if back == text => Ok(true),
        Ok(_) => Err("what was masked comes back otherwise".into()),
        Err(problems) => Err(format!("what was masked does not come back: {problems:?}")),
    }
}

pub(super) fn script(input: &[u8]) -> Verdict {
    static SCOPE: LazyLock<Map> = LazyLock::new(|| {
        let scope = Value::from(
            &json!({ "x": 3, "s": "ab", "a": [1, "b", [2.5]], "m": { "k": [1, { "l": "v" }] }, "item": { "text": "Hm.", "role": "user" } }),
        );
        scope.as_map().cloned().unwrap_or_default()
    });
    let Ok(script) = Script::compile(&text(input)) else { return Ok(false) };
    let done = script.eval(&SCOPE).is_ok();
    for (name, count) in script.functions().into_iter().take(4) {
        let args = vec![Value::list(vec![Value::Int(4), Value::text("é"), Value::Map(Arc::new(SCOPE.clone()))]); count];
        let _ = script.call(&name, &args);
    }
    let _ = take_log();
    Ok(done)
}
