//! What scripts try and what comes of it: every row of `attempts/*.toml` is tried, and `docs/reference/scripts.md` shows the
//! rows as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;
use tapster::diag::Diagnostic;
use tapster::machinery::text::script::take_log;
use tapster::{BuildError, Ruleset, Scene, build, run};
use tapster_client::tools::ToolRegistry;

use crate::support;

/// The topics: the headings of their tables, and their rows as they are written.
pub(crate) const TOPICS: [(&str, &str); 6] = [
    ("Work", include_str!("attempts/work.toml")),
    ("Depth", include_str!("attempts/depth.toml")),
    ("Size", include_str!("attempts/size.toml")),
    ("The outside", include_str!("attempts/outside.toml")),
    ("What is declared", include_str!("attempts/declared.toml")),
    ("Answers and mistakes", include_str!("attempts/answers.toml")),
];

#[derive(Deserialize)]
struct File {
    attempt: Vec<Attempt>,
}

/// A row: what is tried, and what comes of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempt {
    name: String,
    attempt: String,
    outcome: String,
    /// What is tried, each by itself. `⟨text×300⟩` is the text 300 times, with its number for each `#` in it.
    tries: Vec<String>,
    #[serde(default, rename = "as")]
    kind: Kind,
    /// Where a body is called from.
    #[serde(default = "one_pass")]
    places: Vec<Place>,
    /// Functions of the script beside the body.
    #[serde(default)]
    functions: String,
    /// The end of `pack.toml`.
    #[serde(default)]
    manifest: String,
    /// Further files of the pack.
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    ends: Ends,
    /// Texts that the error or the warning contains.
    #[serde(default)]
    told: Vec<String>,
    /// One of `told` is enough.
    #[serde(default)]
    any: bool,
    /// The texts of the blocks afterwards.
    texts: Option<Vec<String>>,
    /// The number of lines in the log afterwards.
    printed: Option<usize>,
}

/// What a try is.
#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// The body of a function `f` of the script `mine.rhai` of pack `p`.
    #[default]
    Body,
    /// The whole script.
    Script,
    /// Rules of the pack that name the `functions`.
    Rules,
    /// An overlay over `base`.
    Overlay,
    /// The end of `pack.toml`.
    Manifest,
}

/// Where a body is called from, which decides the names that it has.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Place {
    /// `items`, `scene`.
    Pass,
    Hook,
    /// `item`, `scene`.
    Value,
    Condition,
    Sort,
    /// `text`, `item`.
    Step,
    /// `args`, `scene`.
    Macro,
    Tool,
    /// An expression in a rule: `item`, `scene`.
    Inline,
}

#[derive(Deserialize, Default, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Ends {
    /// The run ends with an error.
    #[default]
    Error,
    /// The pack or overlay is refused.
    Load,
    /// The run goes on, and a warning says what is wrong.
    Warning,
    /// Nothing is wrong.
    Done,
}

fn one_pass() -> Vec<Place> {
    vec![Place::Pass]
}

fn read(written: &str) -> Vec<Attempt> {
    toml::from_str::<File>(written).unwrap_or_else(|e| panic!("{e}")).attempt
}

fn attempts() -> Vec<Attempt> {
    TOPICS.iter().flat_map(|(_, written)| read(written)).collect()
}

/// What came of a try: how it ended, what was said, the texts of the blocks, and the number of lines in the log.
struct Came {
    ends: Ends,
    said: String,
    texts: Vec<String>,
    printed: usize,
}

impl Came {
    fn of(ends: Ends, said: impl Into<String>) -> Self {
        Self { ends, said: said.into(), texts: Vec::new(), printed: 0 }
    }
}

#[test]
fn every_attempt_ends_as_it_is_told() {
    let only = std::env::var("ATTEMPT").unwrap_or_default();
    let mut wrong = String::new();
    for attempt in attempts().iter().filter(|attempt| attempt.name.contains(&only)) {
        for one in tried(attempt) {
            let came = &one.came;
            let mut complain =
                |what: String| _ = writeln!(wrong, "{} in {:?}: {}\n    {what}\n    {}", attempt.name, one.place, one.text, came.said);
            if came.ends != attempt.ends {
                complain(format!("ends as {:?}, not as {:?}", came.ends, attempt.ends));
                continue;
            }
            let holds = |words: &String| came.said.contains(&words.replace("mine", &one.script));
            if !(attempt.told.iter().all(holds) || attempt.any && attempt.told.iter().any(holds)) {
                complain(format!("does not say {:?}", attempt.told));
            }
            if attempt.texts.as_ref().is_some_and(|texts| *texts != came.texts) {
                complain(format!("the blocks are {:?}", came.texts));
            }
            if attempt.printed.is_some_and(|lines| lines != came.printed) {
                complain(format!("{} lines are in the log", came.printed));
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

/// A try that was made.
struct Tried<'a> {
    place: Place,
    text: &'a str,
    /// What its script is called in place of `mine`.
    script: String,
    came: Came,
}

/// Makes all tries of a row. Bodies and scripts stand in one pack, each in a script and a program of its own.
fn tried(attempt: &Attempt) -> Vec<Tried<'_>> {
    let tries = attempt.places.iter().flat_map(|place| attempt.tries.iter().enumerate().map(move |(n, text)| (*place, n, text.as_str())));
    let alone = attempt.ends == Ends::Load || !matches!(attempt.kind, Kind::Body | Kind::Script);
    if alone {
        let made =
            tries.map(|(place, _, text)| Tried { place, text, script: "mine".into(), came: by_itself(attempt, place, &repeated(text)) });
        return made.collect();
    }
    let (mut files, mut made) = (attempt.files.clone(), Vec::new());
    for (place, n, text) in tries {
        let (kind, rules, parameters) = rules_of(place, text);
        let (own, mine) = (format!("own{n}{place:?}").to_lowercase(), format!("mine{n}{}", parameters.split(',').next().unwrap()));
        let rows = format!("[[program]]\nname = \"own\"\nover = \"blocks\"\n{rules}").replace("own", &own).replace("mine", &mine);
        let file = files.entry(format!("{kind}.toml")).or_insert_with(|| format!("kind = \"{kind}\"\nversion = 1\n"));
        file.push_str(&rows);
        files.insert(format!("scripts/{mine}.rhai"), script_of(attempt, place, &repeated(text), parameters));
        made.push((place, text, own, mine));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let rules = support::pack_over_base(&attempt.manifest, &files);
    let ran = |(place, text, own, script): (Place, _, String, String)| {
        let came = match &rules {
            Ok(rules) => ran(rules, place, &own),
            Err(rejected) => Came::of(Ends::Load, rejected.to_string()),
        };
        Tried { place, text, script, came }
    };
    made.into_iter().map(ran).collect()
}

/// The kind of the file of rules, the rules of program `own` that call the function `f` of `mine.rhai` in a place, and the
/// parameters of the function.
fn rules_of(place: Place, text: &str) -> (&'static str, String, &'static str) {
    let pass = |rest: &str| format!("[[pass]]\nname = \"own/x\"\n{rest}\n");
    let script = "{ script = \"mine.rhai::f\" }";
    match place {
        Place::Pass => ("hooks", pass("do = \"run\"\nscript = \"mine.rhai::f\""), "items, scene"),
        Place::Hook => {
            let hook = "[[hook]]\nname = \"own\"\nevent = \"before_own\"\nrun = \"mine.rhai::f\"\nfailing = \"error\"\n";
            ("hooks", pass("do = \"run\"\nevent = \"own\"") + hook, "items, scene")
        }
        Place::Value => ("hooks", pass(&format!("do = \"set\"\nset = {{ name = {script} }}")), "item, scene"),
        Place::Condition => ("hooks", pass(&format!("do = \"drop\"\nwhere = {script}")), "item, scene"),
        Place::Sort => ("hooks", pass(&format!("do = \"order\"\nby = [{script}]")), "item, scene"),
        Place::Step => ("hooks", pass("do = \"shape\"\nsteps = [{ run = \"mine.rhai::f\" }]"), "text, item"),
        Place::Macro => {
            let row = "[[macro]]\nname = \"own\"\nscript = \"mine.rhai::f\"\n";
            let set = pass("do = \"set\"\nset = { text = \"{{own}}\" }");
            let shape = "[[pass]]\nname = \"own/y\"\ndo = \"shape\"\nsteps = [{ expand = \"macro\" }]\n";
            ("macros", format!("{row}{set}{shape}"), "args, scene")
        }
        Place::Tool => ("tools", "[[tool]]\nname = \"own\"\nfunction = \"mine.rhai::f\"\n".to_owned(), "args, scene"),
        Place::Inline => ("hooks", pass(&format!("do = \"drop\"\nwhere = {{ rhai = {} }}", json!(text))), "none"),
    }
}

/// The script of a try.
fn script_of(attempt: &Attempt, place: Place, text: &str, parameters: &str) -> String {
    match (attempt.kind, place) {
        (Kind::Rules, _) => attempt.functions.clone(),
        (Kind::Script, _) => text.to_owned(),
        (Kind::Manifest, _) | (_, Place::Inline) => "fn f(items, scene) { }".to_owned(),
        _ => format!("fn f({parameters}) {{\n{text}\n}}\n{}", attempt.functions),
    }
}

/// Makes one try with a pack or an overlay of its own.
fn by_itself(attempt: &Attempt, place: Place, text: &str) -> Came {
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
    let script = script_of(attempt, place, text, parameters);
    let manifest = if attempt.kind == Kind::Manifest { text } else { &attempt.manifest };
    let mut files = vec![("scripts/mine.rhai", script.as_str()), ("rules.toml", rules.as_str())];
    files.extend(attempt.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    match support::pack_over_base(manifest, &files) {
        Ok(rules) if text.contains("before_build") => came(build(&rules, &scene()).map(|plan| (plan.warnings, Vec::new()))),
        Ok(rules) => ran(&rules, place, "own"),
        Err(rejected) => Came::of(Ends::Load, rejected.to_string()),
    }
}

fn scene() -> Scene {
    Scene::new(&json!({
        "type": "normal",
        "card": { "name": "Vex", "description": "A thief." },
        "persona": { "text": "secret" },
        "history": [{ "role": "user", "text": "Hi" }],
        "context": { "tokenizer": "words" },
    }))
}

/// Runs a program, or calls the tool of that name.
fn ran(rules: &Ruleset, place: Place, own: &str) -> Came {
    if place == Place::Tool {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        return match runtime.block_on(ToolRegistry::of_pack(rules).call(own, json!({}))) {
            Ok(value) => Came::of(Ends::Done, value.to_string()),
            Err(failure) => Came::of(Ends::Error, failure.0),
        };
    }
    let blocks = json!([
        { "id": "a", "role": "user", "text": "bb" },
        { "id": "b", "role": "system", "text": "a" },
        { "id": "c", "role": "user", "text": "ccc" },
    ]);
    let text = |block: &tapster::Value| block.get("text").map(|text| text.to_text().to_string()).unwrap_or_default();
    let _ = take_log();
    let out = run(rules, own, &scene(), &[("blocks", blocks)]);
    let printed = take_log().len();
    Came { printed, ..came(out.map(|out| (out.warnings(), out.list("blocks").iter().map(text).collect()))) }
}

fn came(result: Result<(Vec<Diagnostic>, Vec<String>), BuildError>) -> Came {
    match result {
        Ok((warnings, texts)) => {
            let said: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
            Came { ends: if said.is_empty() { Ends::Done } else { Ends::Warning }, said: said.join("\n"), texts, printed: 0 }
        }
        Err(error) => Came::of(Ends::Error, error.message),
    }
}

/// The rows as tables for the page.
pub(crate) fn tables() -> String {
    let mut out = String::new();
    for (heading, written) in TOPICS {
        let _ = write!(out, "\n### {heading}\n\n| test | attempt | outcome |\n| --- | --- | --- |\n");
        for Attempt { name, attempt, outcome, .. } in read(written) {
            let _ = writeln!(out, "| `{name}` | {attempt} | {outcome} |");
        }
    }
    out
}
