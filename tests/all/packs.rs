//! Every shipped pack loads, links and compiles clean, and gives no reason that is not documented.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, Value as Json, json};
use tapster::diag::{DocumentNode, Report, SourceId, Sources};
use tapster::machinery::pack::library::{files_of_shipped, shipped, shipped_names};
use tapster::machinery::pack::{self, CheckMemory, Overlay, PackShelf, RuleFile, Start, compact};
use tapster::machinery::text::work::BudgetScope;
use tapster::{Ruleset, Scene, Value as Data, WorkLimits};

use crate::expressions::expressions_of;
use crate::support::{BASE, EXACT, Folder, SILLYTAVERN};

#[test]
fn every_shipped_pack_compiles() {
    for name in tapster::machinery::pack::library::shipped_names() {
        match Ruleset::open(&name, &[]) {
            Ok(rules) => assert!(rules.warnings().is_empty(), "{name}: {:?}", rules.warnings().items()),
            Err(rejected) => panic!("{name}:\n{rejected}"),
        }
    }
}

/// Fields that no row declares are numbered before programs are compiled, which is when they are first run.
#[test]
fn fields_that_no_row_declares_are_listed() {
    for name in shipped_names() {
        let rules = Ruleset::open(&name, &[]).unwrap();
        let list = rules.undeclared_fields();
        let file = Path::new(env!("CHECKOUT")).join("rules").join(&name).join("fields.txt");
        if std::env::var_os("UPDATE").is_some() && list.is_empty() {
            let _ = std::fs::remove_file(&file);
        } else if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &list).unwrap();
        }
        let listed = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(listed, list, "{} differs from the rules; run this test with UPDATE=1", file.display());
    }
}

/// A pack whose programs are compiled when they are first run does the same for the same work.
#[test]
fn tested_packs_do_what_checked_packs_do() {
    let card = json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": { "name": "Ines", "first_mes": "A lamp.", "tags": ["sea"],
        "character_book": { "entries": [{ "keys": ["lamp"], "content": "It is lit.", "enabled": true, "insertion_order": 1 }] } } });
    let scene = Scene::new(&json!({
        "history": [{ "role": "user", "text": "A lamp." }], "character": { "name": "Ines" },
        "books": [{ "id": "a", "entries": [{ "id": "1", "keys": ["lamp"], "text": "It is lit." }] }],
    }));
    for name in shipped_names() {
        let (tested, checked) = (Ruleset::open_unchecked(&name).unwrap(), Ruleset::open(&name, &[]).unwrap());
        let outcome = |rules: &Ruleset| {
            let door = BudgetScope::open(WorkLimits::default());
            let plan = tapster::build(rules, &scene).map(|plan| serde_json::to_value(&plan).unwrap()).map_err(|e| e.to_string());
            let scene = tapster::import_document(rules, None, &card).map(|made| made.scene.to_json()).map_err(|e| e.to_string());
            (plan, scene, door.spent())
        };
        assert_eq!(outcome(&tested), outcome(&checked), "{name}");
        let programs = |rules: &Ruleset| -> Vec<String> {
            let passes = rules.programs().list.iter().flat_map(|program| program.passes());
            passes.map(|pass| format!("{} {}", pass.id, pass.cells.len())).collect()
        };
        assert_eq!(programs(&tested), programs(&checked), "{name}");
        let fields = |rules: &Ruleset| -> Vec<String> { rules.programs().rules.fields.iter().map(str::to_owned).collect() };
        assert_eq!(fields(&tested), fields(&checked), "{name}");
        let formats = |rules: &Ruleset| -> Vec<String> { rules.programs().formats.iter().map(|format| format.name.to_string()).collect() };
        assert_eq!(formats(&tested), formats(&checked), "{name}");
    }
}

/// Remembers checks while a test runs.
#[derive(Default)]
struct TestMemory(RefCell<BTreeMap<String, String>>);

impl CheckMemory for TestMemory {
    fn undeclared_fields(&self, digest: &str) -> Option<String> {
        self.0.borrow().get(digest).cloned()
    }

    fn remember(&self, digest: &str, fields: &str) {
        self.0.borrow_mut().insert(digest.to_owned(), fields.to_owned());
    }
}

#[test]
fn rules_that_were_checked_are_not_checked_again() {
    let overlay = |body: &str| {
        let text = format!("kind = \"overlay\"\nversion = 2\nname = \"mine\"\n\n{body}");
        [Overlay::File(RuleFile { name: "mine.toml".into(), path_in_pack: "mine.toml".into(), bytes: text.into_bytes() })]
    };
    let memory = TestMemory::default();
    let load = |body: &str| {
        Ruleset::load_with_memory(&Start::Name("sillytavern-exact".into()), &overlay(body), &PackShelf::default(), Some(&memory))
    };
    let new = "[[pass]]\nname = \"build/shout\"\ndo = \"set\"\nset = { text = \"{{@text}}!\" }\n";
    let (checked, remembered) = (load(new).unwrap(), load(new).unwrap());
    assert_eq!(memory.0.borrow().len(), 1);
    let scene = Scene::new(&json!({ "history": [{ "role": "user", "text": "A lamp." }], "character": { "name": "Ines" } }));
    let outcome = |rules: &Ruleset| {
        let door = BudgetScope::open(WorkLimits::default());
        let plan = tapster::build(rules, &scene).map(|plan| serde_json::to_value(&plan).unwrap()).map_err(|e| e.to_string());
        (plan, door.spent(), rules.undeclared_fields())
    };
    assert_eq!(outcome(&checked), outcome(&remembered));
    assert!(serde_json::to_string(&outcome(&remembered).0.unwrap()).unwrap().contains("A lamp.!"));
    // rules with a warning or a mistake are checked each time
    for body in [format!("extends = \"no-such-pack\"\n{new}"), new.replace("text =", "texxt =")] {
        let found = |_| load(&body).map_or_else(|error| error.report.items().len(), |rules| rules.warnings().items().len());
        assert_eq!([(); 2].map(found), [1, 1], "{body}");
    }
    assert_eq!(memory.0.borrow().len(), 1);
}

/// Knows of all rules that they are without mistakes.
struct GullibleMemory;

impl CheckMemory for GullibleMemory {
    fn undeclared_fields(&self, _: &str) -> Option<String> {
        Some(String::new())
    }

    fn remember(&self, _: &str, _: &str) {}
}

#[test]
fn remembered_rules_are_neither_validated_nor_analysed() {
    // a key that the schema does not know, and a fact that names itself
    for body in ["[[slot]]\nname = \"main_prompt\"\nrol = \"user\"\n", "[[fact]]\nname = \"self\"\nis = { fact = \"self\" }\n"] {
        let text = format!("kind = \"overlay\"\nversion = 2\n\n{body}");
        let overlay = [Overlay::File(RuleFile { name: "mine.toml".into(), path_in_pack: "mine.toml".into(), bytes: text.into_bytes() })];
        let load = |memory| Ruleset::load_with_memory(&Start::Name("base".into()), &overlay, &PackShelf::default(), memory);
        let found = |memory| load(memory).map_or_else(|error| error.report.items().len(), |rules| rules.warnings().items().len());
        assert_eq!((found(None), found(Some(&GullibleMemory))), (1, 0), "{body}");
    }
}

/// The reasons of entry `id` in a build of the pack `base` with these entries and draws: codes and details.
fn reasons(entries: &Value, draws: &[f64], id: &str) -> Vec<(String, Value)> {
    let rules = &*BASE;
    let mut scene = Scene::new(&json!({
        "history": [{ "role": "user", "text": "A lamp." }], "books": [{ "id": "a", "entries": entries }],
    }));
    scene.draws = Some(draws.to_vec());
    scene.trace = true;
    let plan = tapster::build(rules, &scene).unwrap();
    let trace = plan.trace.unwrap();
    trace.reasons.iter().filter(|r| r.id == id).map(|r| (r.because.clone(), r.detail.to_json())).collect()
}

#[test]
fn a_failed_chance_tells_its_draw() {
    let entries = json!([{ "id": "1", "keys": ["lamp"], "text": "Light.", "probability": 50 }]);
    let told = reasons(&entries, &[0.75], "1");
    assert_eq!(told.last().unwrap(), &("probability".to_owned(), json!({ "draw": 0.75, "chance": 0.5 })));
}

#[test]
fn a_lost_group_tells_its_winner_and_the_draw() {
    let entry = |id: &str| json!({ "id": id, "keys": ["lamp"], "text": "Light.", "group": "g" });
    let entries = json!([entry("1"), entry("2")]);
    let told = reasons(&entries, &[0.25], "2");
    let detail = json!({ "group": "g", "winner": { "book": "a", "id": "1" }, "draw": 0.25, "weight": 100, "total": 200 });
    assert_eq!(told.last().unwrap(), &("group".to_owned(), detail));
    assert_eq!(reasons(&entries, &[0.25], "1").last().unwrap().0, "active");
}

/// Every value of `reason` and `admitted` of the passes of a rule file.
fn codes(file: &toml::Table, found: &mut BTreeSet<String>) {
    for pass in file.get("pass").and_then(toml::Value::as_array).into_iter().flatten() {
        let told = ["reason", "admitted"].into_iter().filter_map(|term| pass.get(term)?.as_str());
        found.extend(told.map(str::to_owned));
    }
}

fn rule_files(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rule_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml") {
            codes(&toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(), found);
        }
    }
}

#[test]
fn the_reason_codes_are_a_closed_documented_set() {
    let root = Path::new(env!("CHECKOUT"));
    let mut given = BTreeSet::new();
    rule_files(&root.join("rules"), &mut given);
    let page = std::fs::read_to_string(root.join("docs/reference/lore.md")).unwrap();
    let table = page.lines().skip_while(|l| !l.starts_with("| code |")).skip(2).take_while(|l| l.starts_with('|'));
    let cells = table.filter_map(|line| line.split('|').nth(1));
    let documented: BTreeSet<String> = cells.flat_map(|c| c.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    assert!(given.len() > 15, "{given:?}");
    assert_eq!(given, documented, "codes that the packs give, and those in docs/reference/lore.md");
}

/// A misspelt path is told by every build, with what was probably meant; a table that the pack declares may hold anything.
#[test]
fn what_no_rule_reads_is_told() {
    let rules = &*BASE;
    let scene = |data: &serde_json::Value| Scene { strict: false, ..Scene::new(data) };
    let data = serde_json::json!({ "context": { "windo": 9 }, "zzzz": { "a": 1, "b": 2 }, "provider": { "odd": 1 } });
    let plan = tapster::build(rules, &scene(&data)).unwrap();
    let told: Vec<_> = plan.warnings.iter().map(|w| (w.code.as_str(), w.message.as_str())).collect();
    let near = "no rule of pack `base` reads `context.windo`; did you mean `context.window`?";
    assert_eq!(told, [("scene.field", near), ("scene.field", "no rule of pack `base` reads `zzzz`")]);
    let strict = Scene { strict: true, ..scene(&data) };
    assert_eq!(tapster::build(rules, &strict).unwrap_err().kind().as_str(), "strict_mode");
}

/// A script that cannot be used is told once, however many texts and passes it would have run on.
#[test]
fn a_script_that_cannot_be_used_is_told_once() {
    let rules = &*SILLYTAVERN;
    let turn = |role: &str| serde_json::json!({ "role": role, "text": "Hi" });
    let script = serde_json::json!({ "name": "odd", "find": "/(/g", "with": "", "placement": ["user", "reply"], "prompt_only": true });
    let data = serde_json::json!({ "history": [turn("user"), turn("assistant"), turn("user")], "scripts": [script] });
    let plan = tapster::build(rules, &Scene::new(&data)).unwrap();
    assert_eq!(plan.warnings.iter().filter(|w| w.code == "regex.bad").count(), 1, "{:?}", plan.warnings);
}

// The library embeds the rules of the shipped packs, and not their rule tests.

#[path = "../../build.rs"]
#[expect(dead_code, reason = "its `main` runs in front of the compiler")]
mod build_script;

/// All files below a folder, by their paths from it.
fn below(root: &Path) -> BTreeSet<String> {
    let (mut open, mut all) = (vec![root.to_owned()], BTreeSet::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                all.insert(path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    all
}

fn is_case(path: &str) -> bool {
    path.split('/').any(|part| part == "cases")
}

#[test]
fn no_shipped_pack_holds_a_case_file() {
    for name in shipped_names() {
        let cases: Vec<&str> = files_of_shipped(&name).map(|(path, _)| path).filter(|path| is_case(path)).collect();
        assert!(cases.is_empty(), "{name} holds {cases:?}");
        assert!(shipped(&name).unwrap().cases.is_empty(), "{name}");
    }
}

#[test]
fn the_copy_that_is_embedded_holds_everything_but_the_cases() {
    let (rules, copy) = (Path::new(env!("CHECKOUT")).join("rules"), Folder::new("copy"));
    build_script::copy_without_cases(&rules, &copy.0).unwrap();
    let mut wanted = below(&rules);
    wanted.retain(|path| !is_case(path));
    assert_eq!(below(&copy.0), wanted);
    // the library reads the same files from the disk
    let read: BTreeSet<String> =
        shipped_names().iter().flat_map(|name| files_of_shipped(name).map(move |(path, _)| format!("{name}/{path}"))).collect();
    assert_eq!(read, wanted);
}

/// The trees that are embedded say what the files say, at the same places.
#[test]
fn compact_trees_are_those_of_the_files() {
    for name in shipped_names() {
        for (path, bytes) in files_of_shipped(&name).filter(|(path, _)| path.ends_with(".toml")) {
            let text = std::str::from_utf8(bytes).unwrap();
            let tree = build_script::compact(text).unwrap();
            let read = pack::toml::parse(SourceId::default(), text, &mut Report::default());
            let embedded = compact::read(SourceId::default(), text, &tree);
            let (read, embedded) = (read.unwrap(), embedded.unwrap());
            let mut sources = Sources::default();
            sources.add(path, &name, text);
            let (read, embedded) = (pack::read::newest_tree(read, &sources, false), pack::read::newest_tree(embedded, &sources, true));
            let json = |tree: &Option<DocumentNode>| tree.as_ref().map(DocumentNode::to_json);
            assert_eq!(json(&read), json(&embedded), "{name}/{path}");
            // inside of an expression with escapes, the places are those of the whole
            let is_escaped = |expression: &String| !text.contains(expression.as_str());
            assert!(read == embedded || expressions_of(text).iter().any(is_escaped), "{name}/{path}");
            assert_eq!(compact::read(SourceId::default(), text, &tree[..tree.len() - 1]), None, "{name}/{path}");
        }
    }
    assert_eq!(build_script::compact("a = nan"), None, "its reader complains");
}

#[test]
fn the_copy_leaves_out_cases_at_any_depth_and_files_of_an_earlier_copy() {
    let (from, to) = (Folder::new("from"), Folder::new("to"));
    for path in ["a/pack.toml", "a/cases/one.toml", "a/part/cases/deep/two.toml", "a/part/cases.toml"] {
        from.write(path, "");
    }
    std::fs::write(to.0.join("gone.toml"), "").unwrap();
    build_script::copy_without_cases(&from.0, &to.0).unwrap();
    assert_eq!(below(&to.0), ["a/pack.toml", "a/part/cases.toml"].map(str::to_owned).into());
}

// Every context preset with every instruct preset of a fresh install gives a text prompt.
//
// The presets are not part of the project: without `../shared/real` (or `$TAPSTER_REAL`) the test says so and passes.
// The table of all pairs goes to `target/presets.tsv`: sizes of the prompt and of its stop strings, or the error.

/// The presets of a folder, by their file's name.
fn presets(folder: &Path) -> Vec<(String, Json)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let read = |f: &PathBuf| serde_json::from_slice(&std::fs::read(f).unwrap()).unwrap();
    files.iter().map(|f| (f.file_stem().unwrap().to_string_lossy().into_owned(), read(f))).collect()
}

/// A chat that uses what presets differ in: a narrator, lore, injections, examples.
fn scene() -> Json {
    json!({
        "dialect": "text",
        "names": { "user": "Bo", "char": "Ann" },
        "context": { "window": 8192, "reserve": 300, "tokenizer": "words" },
        "card": { "name": "Ann", "description": "{{char}} mends clocks.", "mes_example": "<START>\n{{user}}: How late?\n{{char}}: Late." },
        "persona": { "text": "{{user}} is late." },
        "preset": { "system_prompt": "Speak as {{char}}.", "post_history": "Be brief." },
        "history": [
            { "id": "1", "role": "assistant", "name": "Ann", "text": "Come in." },
            { "id": "2", "role": "system", "name": "Narrator", "text": "It rains.", "narrator": true },
            { "id": "3", "role": "user", "name": "Bo", "text": "Is it done?" },
        ],
        "books": [{ "id": "b", "entries": [{ "id": "e", "constant": true, "text": "Clocks tick." }] }],
        "injections": [{ "id": "note", "text": "Quietly.", "position": "chat", "depth": 1 }, { "id": "near", "text": "By night.", "position": "after" }],
    })
}

/// Lays a part of a scene over a scene.
fn lay(scene: &mut Json, part: &Json) {
    match (scene, part) {
        (Json::Object(scene), Json::Object(part)) => {
            for (key, value) in part {
                lay(scene.entry(key).or_insert(Json::Null), value);
            }
        }
        (scene, part) => *scene = part.clone(),
    }
}

#[test]
fn every_pair_of_shipped_presets_gives_a_prompt() {
    let root = Path::new(env!("CHECKOUT"));
    let real = std::env::var("TAPSTER_REAL").map_or_else(|_| root.join("../shared/real"), PathBuf::from).join("sillytavern");
    if !real.is_dir() {
        println!("skipped: {} is not here (set TAPSTER_REAL)", real.display());
        return;
    }
    let pack = &*EXACT;
    let bring = |format: &str, file: &Json| tapster::import_document(pack, Some(format), file).expect(format).scene.to_json();
    let part = |folder: &str, format: &str| -> Vec<(String, Json)> {
        presets(&real.join(folder)).iter().map(|(name, file)| (name.clone(), bring(format, file))).collect()
    };
    let (contexts, instructs) = (part("context", "st_context"), part("instruct", "st_instruct"));
    let (mut table, mut wrong) = (String::from("context\tinstruct\tcharacters\tstops\tproblem\n"), Vec::new());
    for (context, c) in &contexts {
        for (instruct, i) in &instructs {
            let mut data = scene();
            lay(&mut data, c);
            lay(&mut data, i);
            let (size, stops, problem) = built(pack, &data);
            writeln!(table, "{context}\t{instruct}\t{size}\t{stops}\t{problem}").unwrap();
            if !problem.is_empty() {
                wrong.push(format!("{context} with {instruct}: {problem}"));
            }
        }
    }
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), PathBuf::from);
    std::fs::create_dir_all(&target).unwrap();
    std::fs::write(target.join("presets.tsv"), &table).unwrap();
    println!("{} pairs in {}", contexts.len() * instructs.len(), target.join("presets.tsv").display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The size of the prompt, how many stop strings it has, and what is wrong with it.
fn built(pack: &Ruleset, data: &Json) -> (usize, usize, String) {
    let scene = Scene { data: Data::from(data), ..Scene::default() };
    let emitted = tapster::build(pack, &scene).and_then(|plan| tapster::emit(pack, &plan, "text"));
    let payload = match emitted {
        Ok(emitted) => emitted.payload,
        Err(error) => return (0, 0, error.to_string()),
    };
    let prompt = payload.get("prompt").and_then(Json::as_str).unwrap_or_default();
    let stops = payload.get("stop").and_then(Json::as_array).map_or(0, Vec::len);
    // what every prompt must say, and what no prompt may still hold
    let missing =
        ["Ann mends clocks.", "Come in.", "It rains.", "Is it done?", "Quietly.", "Be brief."].iter().find(|t| !prompt.contains(**t));
    let problem = match missing {
        Some(text) => format!("`{text}` is not in it"),
        None => ["{{char}}", "{{user}}", "{{name}}", "{{#", "{{/", "{{trim}}"]
            .iter()
            .find(|tag| prompt.contains(**tag))
            .map_or_else(String::new, |tag| format!("`{tag}` is left in it")),
    };
    (prompt.chars().count(), stops, problem)
}
