//! What scripts try and what comes of it: every row of `attempts.toml` is tried, and `docs/reference/scripts.md` shows the rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;
use tapster::run::tools::ToolRegistry;
use tapster::text::script::take_log;
use tapster::{Ruleset, Scene, build, run};

use crate::own;

/// The rows, as they are written.
const WRITTEN: &str = include_str!("attempts.toml");

/// The topics, and the headings of their tables.
pub(crate) const TOPICS: [(&str, &str); 6] = [
    ("work", "Work"),
    ("depth", "Depth"),
    ("size", "Size"),
    ("outside", "The outside"),
    ("declared", "What is declared"),
    ("answers", "Answers and mistakes"),
];

#[derive(Deserialize)]
struct File {
    attempt: Vec<Attempt>,
}

/// A row: what is tried, and what comes of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attempt {
    pub(crate) topic: String,
    pub(crate) name: String,
    pub(crate) attempt: String,
    pub(crate) outcome: String,
    tries: Vec<String>,
    #[serde(default, rename = "as")]
    kind: Kind,
    #[serde(default = "one_pass")]
    places: Vec<Place>,
    #[serde(default)]
    functions: String,
    #[serde(default)]
    manifest: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    ends: Ends,
    #[serde(default)]
    told: Vec<String>,
    /// One of `told` is enough.
    #[serde(default)]
    any: bool,
    texts: Option<Vec<String>>,
    printed: Option<usize>,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Body,
    Script,
    Rules,
    Overlay,
    Manifest,
}

#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Place {
    Pass,
    Hook,
    Value,
    Condition,
    Sort,
    Step,
    Macro,
    Tool,
    Inline,
}

#[derive(Deserialize, Default, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Ends {
    #[default]
    Error,
    Load,
    Warning,
    Done,
}

fn one_pass() -> Vec<Place> {
    vec![Place::Pass]
}

pub(crate) fn attempts() -> Vec<Attempt> {
    toml::from_str::<File>(WRITTEN).unwrap_or_else(|e| panic!("tests/all/hostile/attempts.toml: {e}")).attempt
}

/// What came of a try: how it ended, what was said, and the texts of the blocks.
struct Came {
    ends: Ends,
    said: String,
    texts: Vec<String>,
}

impl Came {
    fn of(ends: Ends, said: impl Into<String>) -> Self {
        Self { ends, said: said.into(), texts: Vec::new() }
    }
}

#[test]
fn every_attempt_ends_as_it_is_told() {
    let only = std::env::var("ATTEMPT").unwrap_or_default();
    let mut wrong = String::new();
    for attempt in attempts().iter().filter(|attempt| attempt.name.contains(&only)) {
        for (place, text) in attempt.places.iter().flat_map(|place| attempt.tries.iter().map(move |text| (*place, text))) {
            let _ = take_log();
            let came = tried(attempt, place, &repeated(text));
            let printed = take_log().len();
            let mut complain = |what: String| _ = writeln!(wrong, "{} in {place:?}: {text}\n    {what}\n    {}", attempt.name, came.said);
            if came.ends != attempt.ends {
                complain(format!("ends as {:?}, not as {:?}", came.ends, attempt.ends));
                continue;
            }
            let holds = |words: &String| came.said.contains(words.as_str());
            if !(attempt.told.iter().all(holds) || attempt.any && attempt.told.iter().any(holds)) {
                complain(format!("does not say {:?}", attempt.told));
            }
            if attempt.texts.as_ref().is_some_and(|texts| *texts != came.texts) {
                complain(format!("the blocks are {:?}", came.texts));
            }
            if attempt.printed.is_some_and(|lines| lines != printed) {
                complain(format!("{printed} lines are in the log"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_rows_have_names_of_their_own_and_say_something() {
    let all = attempts();
    let names: std::collections::BTreeSet<&str> = all.iter().map(|attempt| attempt.name.as_str()).collect();
    assert_eq!(names.len(), all.len(), "two attempts have one name");
    for attempt in &all {
        assert!(TOPICS.iter().any(|(topic, _)| *topic == attempt.topic), "{}: no topic `{}`", attempt.name, attempt.topic);
        assert!(!attempt.tries.is_empty(), "{}: nothing is tried", attempt.name);
        let checks = !attempt.told.is_empty() || attempt.texts.is_some() || attempt.printed.is_some();
        assert!(checks, "{}: no outcome is checked", attempt.name);
    }
}

/// The text with each `⟨text×n⟩` written out.
fn repeated(text: &str) -> String {
    let Some((before, rest)) = text.split_once('⟨') else { return text.to_owned() };
    let (inside, after) = rest.split_once('⟩').unwrap_or_else(|| panic!("`⟩` is missing: {text}"));
    let (piece, times) = inside.rsplit_once('×').unwrap_or_else(|| panic!("`×` is missing: {text}"));
    let pieces: String = (0..times.parse::<usize>().unwrap()).map(|n| piece.replace('#', &n.to_string())).collect();
    format!("{before}{pieces}{}", repeated(after))
}

/// The kind of the file of rules, the rules that call the function `f` of `mine.rhai` in a place, and its parameters.
fn rules_of(place: Place, text: &str) -> (&'static str, String, &'static str) {
    let pass = |rest: &str| format!("[[pass]]\nname = \"own/x\"\n{rest}\n");
    let script = "{ script = \"mine.rhai::f\" }";
    match place {
        Place::Pass => ("hooks", pass("do = \"run\"\nscript = \"mine.rhai::f\""), "items, scene"),
        Place::Hook => {
            let hook = "[[hook]]\nname = \"mine\"\nevent = \"before_build\"\nrun = \"mine.rhai::f\"\nfailing = \"error\"\n";
            ("hooks", hook.to_owned(), "items, scene")
        }
        Place::Value => ("hooks", pass(&format!("do = \"set\"\nset = {{ name = {script} }}")), "item, scene"),
        Place::Condition => ("hooks", pass(&format!("do = \"drop\"\nwhere = {script}")), "item, scene"),
        Place::Sort => ("hooks", pass(&format!("do = \"order\"\nby = [{script}]")), "item, scene"),
        Place::Step => ("hooks", pass("do = \"shape\"\nsteps = [{ run = \"mine.rhai::f\" }]"), "text, item"),
        Place::Macro => {
            let row = "[[macro]]\nname = \"own\"\nscript = \"mine.rhai::f\"\n";
            let shape = pass("do = \"set\"\nset = { text = \"{{own}}\" }") + "[[pass]]\nname = \"own/y\"\ndo = \"shape\"\nsteps = [{ expand = \"macro\" }]\n";
            ("macros", format!("{row}{shape}"), "args, scene")
        }
        Place::Tool => ("tools", "[[tool]]\nname = \"own\"\nfunction = \"mine.rhai::f\"\n".to_owned(), "args, scene"),
        Place::Inline => ("hooks", pass(&format!("do = \"drop\"\nwhere = {{ rhai = {} }}", json!(text))), "item, scene"),
    }
}

fn tried(attempt: &Attempt, place: Place, text: &str) -> Came {
    if attempt.kind == Kind::Overlay {
        let overlay = format!("kind = \"overlay\"\nversion = 1\n{text}");
        return match Ruleset::open_with("base", &[("o.toml", &overlay)]) {
            Ok(_) => Came::of(Ends::Done, ""),
            Err(rejected) => Came::of(Ends::Load, rejected.to_string()),
        };
    }
    let (kind, rules, parameters) = match attempt.kind {
        Kind::Rules => ("hooks", text.to_owned(), ""),
        _ => rules_of(place, text),
    };
    let rules = format!("kind = \"{kind}\"\nversion = 1\n[[program]]\nname = \"own\"\nover = \"blocks\"\n{rules}");
    let script = match (attempt.kind, place) {
        (Kind::Rules, _) => attempt.functions.clone(),
        (Kind::Script, _) => text.to_owned(),
        (Kind::Manifest, _) | (_, Place::Inline) => "fn f(items, scene) { }".to_owned(),
        // imports stand at the top of a script
        _ => format!("fn f({parameters}) {{\n{text}\n}}\n{}", attempt.functions),
    };
    let manifest = if attempt.kind == Kind::Manifest { text } else { &attempt.manifest };
    let mut files = vec![("scripts/mine.rhai", script.as_str()), ("rules.toml", rules.as_str())];
    files.extend(attempt.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let rules = match own::pack(manifest, &files) {
        Ok(rules) => rules,
        Err(rejected) => return Came::of(Ends::Load, rejected.to_string()),
    };
    ran(&rules, if attempt.kind == Kind::Rules && text.contains("[[hook]]") { Place::Hook } else { place })
}

fn ran(rules: &Ruleset, place: Place) -> Came {
    let scene = Scene::new(&json!({
        "type": "normal",
        "card": { "name": "Vex", "description": "A thief." },
        "persona": { "text": "secret" },
        "history": [{ "role": "user", "text": "Hi" }],
        "context": { "tokenizer": "words" },
    }));
    let blocks = json!([
        { "id": "a", "role": "user", "text": "bb" },
        { "id": "b", "role": "system", "text": "a" },
        { "id": "c", "role": "user", "text": "ccc" },
    ]);
    let (warnings, texts) = match place {
        Place::Hook => match build(rules, &scene) {
            Ok(plan) => (plan.warnings, Vec::new()),
            Err(error) => return Came::of(Ends::Error, error.message),
        },
        Place::Tool => {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            return match runtime.block_on(ToolRegistry::of_pack(rules).call("own", json!({}))) {
                Ok(value) => Came::of(Ends::Done, value.to_string()),
                Err(failure) => Came::of(Ends::Error, failure.0),
            };
        }
        _ => match run(rules, "own", &scene, &[("blocks", blocks)]) {
            Ok(out) => {
                let text = |block: &tapster::Value| block.get("text").map(|text| text.to_text().to_string()).unwrap_or_default();
                (out.warnings(), out.list("blocks").iter().map(text).collect())
            }
            Err(error) => return Came::of(Ends::Error, error.message),
        },
    };
    let said: Vec<String> = warnings.iter().map(|warning| warning.message.clone()).collect();
    Came { ends: if said.is_empty() { Ends::Done } else { Ends::Warning }, said: said.join("\n"), texts }
}

/// The rows of a topic as a table.
pub(crate) fn table(topic: &str) -> String {
    let mut out = "\n| test | attempt | outcome |\n| --- | --- | --- |\n".to_owned();
    for attempt in attempts().iter().filter(|attempt| attempt.topic == topic) {
        let _ = writeln!(out, "| `{}` | {} | {} |", attempt.name, attempt.attempt, attempt.outcome);
    }
    out
}
