//! Scenes in which chance, the order of hash tables or a bound would show, if a build depended on anything but its scene.

use serde_json::{Value as Json, json};
use tapster::{BuildError, Ruleset, Scene, WorkLimits};

/// Elements of a large list: hash tables of so many have an order of their own in each process.
const MANY: usize = 300;

/// How many builds there are.
pub const BUILDS: usize = 8;

/// What every one of them says: its prompt with patch and warnings, or its error.
#[must_use]
pub fn said() -> Vec<String> {
    let rules = match Ruleset::open_with("sillytavern", &[("strangers.toml", &overlay())]) {
        Ok(rules) => rules,
        Err(rejected) => return vec![rejected.to_string()],
    };
    let prompt = |name: &str, data: &Json, work: WorkLimits| {
        let scene = scene(data, work);
        let said = tapster::prompt(&rules, &scene).map(|prompt| serde_json::to_string(&prompt).unwrap_or_else(|e| e.to_string()));
        told(name, said)
    };
    let most = WorkLimits::default();
    let few = |steps: u64, bytes: u64| WorkLimits { steps, bytes };
    vec![
        prompt("chance", &chance(), most),
        prompt("lore", &lore(), most),
        prompt("names", &names(), most),
        prompt("doubling", &with(json!([{ "role": "user", "text": "{{d0}}" }])), most),
        prompt("steps", &lore(), few(120_000, most.bytes)),
        prompt("bytes", &lore(), few(most.steps, 60_000)),
        prompt("script", &with(json!([{ "role": "user", "text": "{{endless}} {{endless}}" }])), most),
        told("group", group(&rules)),
    ]
}

fn scene(data: &Json, work: WorkLimits) -> Scene {
    let mut scene = Scene::new(data);
    scene.seed = "17".to_owned();
    scene.work = work;
    scene
}

fn told(name: &str, said: Result<String, BuildError>) -> String {
    let said = said.unwrap_or_else(|error| format!("{} {}", error.to_json(), error.message));
    format!("{name} {said}")
}

/// Macros that double, and one that never ends.
fn overlay() -> String {
    let doubling = |n: usize| format!("[[macro]]\nname = \"d{n}\"\ntext = \"{{{{d{0}}}}}{{{{d{0}}}}}\"\nexpand = {{}}\n", n + 1);
    let rows: String = (0..30).map(doubling).collect();
    format!(
        "kind = \"overlay\"\nversion = 1\n[rhai]\n\"strangers.rhai\" = \"fn endless(args, scene) {{ loop {{ }} }}\"\n{rows}\
         [[macro]]\nname = \"d30\"\ntext = \"x\"\n[[macro]]\nname = \"endless\"\nscript = \"strangers.rhai::endless\"\n"
    )
}

fn with(history: Json) -> Json {
    json!({
        "type": "normal",
        "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "{{char}} is a thief." },
        "context": { "window": 8_000, "reserve": 500, "tokenizer": "words" },
        "history": history,
    })
}

/// Draws of every kind in every message.
fn chance() -> Json {
    let text = |n: usize| format!("{{{{random::a{n}::b{n}::c{n}}}}} {{{{roll::d20}}}} {{{{pick::x{n}::y{n}}}}} {{{{setvar::v{n}::{n}}}}}");
    let message = |n: usize| json!({ "role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "text": text(n) });
    with((0..MANY).map(message).collect())
}

/// Entries that are drawn for, in groups of which one is drawn, that call each other.
fn lore() -> Json {
    let entry = |n: usize| {
        let group = if n.is_multiple_of(3) { String::new() } else { format!("g{}", n % 20) };
        json!({
            "id": format!("e{n}"), "keys": [format!("word{}", n % 40), format!("/W{n}[aeiou]/i")], "probability": 30 + n % 70,
            "group": group, "weight": 1 + n % 9, "order": n % 7, "text": format!("word{} {{{{random::p::q}}}}", n + 1),
        })
    };
    let words: Vec<String> = (0..40).step_by(3).map(|n| format!("word{n}")).collect();
    let mut scene = with(json!([{ "role": "user", "text": words.join(" ") }]));
    scene["books"] = json!([{ "id": "b", "entries": (0..MANY).map(entry).collect::<Vec<_>>() }]);
    scene["lore"] = json!({ "recursion": true });
    scene
}

/// Many variables, and many names that nobody knows, which are told.
fn names() -> Json {
    let mut scene = with(json!([{ "role": "user", "text": "{{getvar::v7}} {{getvar::v70}}" }]));
    let all = |name: &str| (0..MANY).map(|n| (format!("{name}{}", n * 7919 % MANY), json!(n))).collect::<serde_json::Map<_, _>>();
    scene["vars"] = json!({ "local": all("v"), "global": all("w") });
    scene["card"]["extensions"] = Json::Object(all("x"));
    scene["contex"] = Json::Object(all("y"));
    scene
}

/// Members who speak as chance has it.
fn group(rules: &Ruleset) -> Result<String, BuildError> {
    let members: Vec<Json> =
        (0..30).map(|n| json!({ "id": format!("m{n}"), "name": format!("Member{n}"), "talkativeness": 0.5 })).collect();
    let data = json!({ "type": "normal", "group": { "strategy": "natural" }, "turn": { "activation_text": "Member3? Member7!" } });
    let out = tapster::run(rules, "decide", &scene(&data, WorkLimits::default()), &[("members", json!(members))])?;
    let warnings: Vec<String> = out.warnings().iter().map(ToString::to_string).collect();
    Ok(format!("{:?} {warnings:?}", out.list("chosen").iter().map(|item| item.to_json().to_string()).collect::<Vec<_>>()))
}
