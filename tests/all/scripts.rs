//! Scripts of packs and overlays: where they can stand, what they are given, what they may do, and what errors say.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::Path;

use serde_json::{Value as Json, json};
use tapster::machinery::text::script::take_log;
use tapster::{BuildError, Outcome, Ruleset, Scene, run};

use crate::support;

/// Pack `p` with a script and rules of kind `hooks`; `manifest` stands at the end of its manifest.
fn pack(manifest: &str, script: &str, rules: &str) -> Ruleset {
    let rules = format!("kind = \"hooks\"\nversion = 1\n[[program]]\nname = \"own\"\nover = \"blocks\"\n{rules}");
    support::pack_over_base(manifest, &[("scripts/mine.rhai", script), ("hooks.toml", &rules)]).unwrap_or_else(|e| panic!("{e}"))
}

fn ran(rules: &Ruleset) -> Result<Outcome, BuildError> {
    let scene = Scene::new(&json!({ "card": { "name": "Vex", "description": "A thief." }, "persona": { "text": "secret" } }));
    let blocks = json!([{ "id": "a", "role": "user", "text": "bb" }, { "id": "b", "role": "system", "text": "a" }, { "id": "c", "role": "user", "text": "ccc" }]);
    run(rules, "own", &scene, &[("blocks", blocks)])
}

fn ids(out: &Outcome) -> Json {
    out.list("blocks").iter().map(|b| b.get("id").unwrap().to_json()).collect()
}

const PLACES: &str = r#"
fn keep(item, scene) { item.role == "user" && scene.card.name == "Vex" }
fn long(text, than) { text.len() > than }
fn length(item, scene) { item.text.len() }
fn loud(text, item) { text.to_upper() + item.id }
fn marked(text, given) { text + given.mark }
fn label(item, scene) { #{ of: `${item.id}@${scene.card.name}` } }
"#;

#[test]
fn functions_stand_as_values_conditions_sort_keys_and_steps() {
    let rules = pack(
        "",
        PLACES,
        r#"
[[pass]]
name = "own/keep"
do = "drop"
where = { not = { script = "mine.rhai::keep" } }
[[pass]]
name = "own/long"
do = "set"
where = { script = "mine.rhai::long", args = ["@text", 2] }
set = { name = "long" }
[[pass]]
name = "own/order"
do = "order"
by = [{ script = "mine.rhai::length", descending = true }]
[[pass]]
name = "own/steps"
do = "shape"
steps = [{ run = "mine.rhai::loud" }, { run = "mine.rhai::marked", with = { mark = "!" } }]
[[pass]]
name = "own/values"
do = "set"
where = { role = "user", script = "mine.rhai::keep" }
set = { meta = { script = "mine.rhai::label" } }
"#,
    );
    let out = ran(&rules).unwrap();
    assert_eq!(ids(&out), json!(["c", "a"]));
    let blocks: Vec<Json> = out.list("blocks").iter().map(|b| b.to_json()).collect();
    assert_eq!((&blocks[0]["text"], &blocks[1]["text"]), (&json!("CCCc!"), &json!("BBa!")));
    assert_eq!((&blocks[0]["name"], &blocks[1]["name"]), (&json!("long"), &Json::Null));
    assert_eq!(blocks[0]["meta"], json!({ "of": "c@Vex" }));
}

#[test]
fn functions_are_checked_when_the_pack_is_loaded() {
    for (rule, told) in [
        ("where = { script = \"mine.rhai::kepp\" }", "has no function `kepp`"),
        ("where = { script = \"mine.rhai::keep\", args = [\"@text\"] }", "takes 2 arguments instead of 1"),
        ("where = { script = \"nine.rhai::keep\" }", "there is no script `nine.rhai`"),
        ("where = { role = \"user\", script = \"mine.rhai::one\" }", "takes 1 arguments instead of 2"),
        ("by = [{ script = \"mine.rhai::one\" }]\nwhere = true", "takes 1 arguments instead of 2"),
    ] {
        let rules = format!(
            "kind = \"hooks\"\nversion = 1\n[[program]]\nname = \"own\"\nover = \"blocks\"\n[[pass]]\nname = \"own/x\"\ndo = \"drop\"\n{rule}\n"
        );
        let files = [("scripts/mine.rhai", "fn keep(item, scene) { true }\nfn one(x) { x }"), ("hooks.toml", rules.as_str())];
        let error = support::pack_over_base("", &files).err().unwrap().to_string();
        assert!(error.contains(told) && error.contains("p/hooks.toml"), "{rule}: {error}");
    }
}

const PASS: &str = "[[pass]]\nname = \"own/x\"\ndo = \"run\"\nscript = \"mine.rhai::f\"\n";

/// A pass over three blocks with this function: the blocks, or the error.
fn passed(manifest: &str, body: &str) -> Result<Vec<Json>, String> {
    let rules = pack(manifest, &format!("fn f(items, scene) {{\n{body}\n}}"), PASS);
    ran(&rules).map(|out| out.list("blocks").iter().map(|b| b.to_json()).collect()).map_err(|e| e.message)
}

/// A misspelt name is told: as a warning in a table that is open to other names, and as an error before it is asked for rights.
#[test]
fn misspelt_names_that_a_script_sets_are_told() {
    let script = "fn f(items, scene) { #{ set: #{ \"card.descripton\": \"A tower.\" } } }";
    let out = ran(&pack("", script, PASS)).unwrap();
    let warnings = out.warnings();
    let told: Vec<_> = warnings.iter().map(|warning| (warning.message.as_str(), warning.help.as_deref())).collect();
    assert_eq!(told, [("`mine.rhai::f` sets `card.descripton`, which no rule reads", Some("did you mean `card.description`?"))]);
    let manifest = "[rhai]\nreads = [\"scene.card\", \"blocks\"]\nwrites = [\"scene.card.name\", \"blocks.text\"]\n";
    let error = ran(&pack(manifest, script, PASS)).err().unwrap().message;
    assert!(error.contains("there is no scene path `card.descripton`; did you mean `card.description`?"), "{error}");
    let script = "fn f(items, scene) { items[0].txet = \"z\"; items[1].banana = 3; items }";
    let out = ran(&pack("", script, PASS)).unwrap();
    let warnings = out.warnings();
    let told: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(told.len() == 1 && told[0].contains("`mine.rhai::f` sets `txet`, which no rule reads"), "{told:?}");
}

/// A table that is open to other names takes one that is nearly one of its own, which is told once for all passes.
#[test]
fn a_name_in_an_open_table_that_is_nearly_a_declared_one_is_set_and_told() {
    let scene = "kind = \"scene\"\nversion = 1\n[[path]]\nname = \"own\"\ntype = \"table\"\ndoc = \"Open to other names.\"\n\
                 [[path]]\nname = \"own.last_user\"\ntype = \"text\"\ndoc = \"Who wrote last.\"\n";
    let again = PASS.replace("own/x", "own/y");
    let hooks = format!("kind = \"hooks\"\nversion = 1\n[[program]]\nname = \"own\"\nover = \"blocks\"\n{PASS}{again}");
    let near = ("`mine.rhai::f` sets `own.last_used`, which no rule reads", Some("did you mean `own.last_user`?"));
    for (path, told) in [("own.last_used", vec![near]), ("own.banana", vec![])] {
        let script = format!("fn f(items, scene) {{ #{{ set: #{{ \"{path}\": \"z\" }} }} }}");
        let files = [("scripts/mine.rhai", script.as_str()), ("hooks.toml", hooks.as_str()), ("scene.toml", scene)];
        let out = ran(&support::pack_over_base("", &files).unwrap_or_else(|e| panic!("{e}"))).unwrap();
        assert_eq!(out.get(path).to_json(), json!("z"), "{path}");
        let warnings = out.warnings();
        let said: Vec<_> = warnings.iter().map(|warning| (warning.message.as_str(), warning.help.as_deref())).collect();
        assert_eq!(said, told, "{path}");
    }
}

/// Each own field of items is compared with the declared ones once, whatever the number of items that have it; and of very many
/// different ones only the first are.
#[test]
fn own_fields_of_items_are_compared_once_and_not_without_end() {
    let again = PASS.replace("own/x", "own/y");
    for (own, told) in [("zzqx", 1), ("zzqx_${n}", 0)] {
        let script = format!(
            "fn f(items, scene) {{
                let before = items.len();
                for i in 0..60 {{
                    let item = #{{ id: `n${{before + i}}` }};
                    for k in 0..10 {{ let n = 10 * (before + i) + k; item[`{own}`] = n; }}
                    items.push(item);
                }}
                if before > 60 {{ items.push(#{{ id: \"z\", txet: \"z\" }}); }}
                items
            }}"
        );
        let out = ran(&pack("", &script, &format!("{PASS}{again}"))).unwrap();
        let slips = out.warnings().iter().filter(|warning| warning.message.contains("`txet`")).count();
        assert_eq!(slips, told, "{own}");
    }
}

/// What the old tables could do, views can.
#[test]
fn views_behave_like_tables() {
    for (body, expected) in [
        ("items[0].text = \"x\"; items", json!(["x", "a", "ccc"])),
        ("for item in items { item.text = \"lost\"; } items", json!(["bb", "a", "ccc"])),
        ("items.map(|i| { i.text += i.id; i })", json!(["bba", "ab", "cccc"])),
        ("items.filter(|i| \"text\" in i && i.get(\"role\") == \"user\")", json!(["bb", "ccc"])),
        ("items.sort(|a, b| a.text.len() - b.text.len()); items", json!(["a", "bb", "ccc"])),
        ("items.push(items[0] + #{ text: \"new\" }); items", json!(["bb", "a", "ccc", "new"])),
        ("items[1] = #{ text: items[1].keys().len().to_string() }; items", json!(["bb", "3", "ccc"])),
        ("items[0].remove(\"role\"); items[0].text = `${items[0].role == ()}`; items", json!(["true", "a", "ccc"])),
        ("items[2].text = items[2].to_map().text + scene.card.name; items", json!(["bb", "a", "cccVex"])),
        ("let c = scene.card; c.name = \"own\"; items[0].text = c.name + scene.card.name; items", json!(["ownVex", "a", "ccc"])),
        ("if items[0] == items[0] && items[0] != items[1] { items[0].text = scene.at(\"card.name\"); } items", json!(["Vex", "a", "ccc"])),
        (
            "items[0].text = `${scene.nothing == () } ${scene.count(\"card\")} ${items.index_of(items[2])}`; items",
            json!(["true 1 2", "a", "ccc"]),
        ),
        (
            "let i = items[2]; let t = i.text; \
             items[0].text = `${i.text.len()} ${i.text.contains(\"c\")} ${i.text.is_empty()} ${i.text.starts_with(\"b\")} \
             ${i.text.ends_with(\"c\")} ${i.text.index_of(\"c\")} ${t.len()} ${i?.text.len()} ${i.len()}`; items",
            json!(["3 true false false true 0 3 3 3", "a", "ccc"]),
        ),
        ("let i = items[2]; i.own = [1, 2]; items[0].text = `${i.own.len()} ${i.own.contains(2)}`; items", json!(["2 true", "a", "ccc"])),
        ("let i = items[2]; items[0].text = `${i.text.len()}`; items }\nfn len() { 7", json!(["7", "a", "ccc"])),
        (
            "items[0].meta = #{ deep: #{ x: 1 } }; items[0].meta.deep.x += 1; items[0].text = items[0].meta.deep.x.to_string(); items",
            json!(["2", "a", "ccc"]),
        ),
    ] {
        let blocks = passed("", body).unwrap_or_else(|e| panic!("{body}: {e}"));
        let texts: Json = blocks.iter().map(|b| b["text"].clone()).collect();
        assert_eq!(texts, expected, "{body}");
    }
}

#[test]
fn the_scene_is_not_changed_in_place() {
    let error = passed("", "scene.card.name = \"x\"; items").unwrap_err();
    assert!(error.contains("cannot be changed in place") && error.contains("p/scripts/mine.rhai, line 2"), "{error}");
}

/// What is not declared can neither be read nor written, in any way.
#[test]
fn a_script_does_only_what_its_pack_declares() {
    let declared =
        "[rhai]\nreads = [\"scene.card.name\", \"blocks.id\", \"blocks.text\"]\nwrites = [\"blocks.text\", \"scene.card.name\"]\n";
    for body in [
        "items[0].text = items[0].id + scene.card.name; items",
        "#{ items: items, set: #{ \"card.name\": \"Ann\" } }",
        "items[0].text += \"!\"; #{ items: items }",
        "",
    ] {
        passed(declared, body).unwrap_or_else(|e| panic!("{body}: {e}"));
    }
    for (body, path) in [
        ("scene.persona.text", "scene.persona"),
        ("scene.card.description", "scene.card.description"),
        ("scene.card.to_map()", "scene.card"),
        ("scene.to_json()", "scene"),
        ("scene.at(\"persona.text\")", "scene.persona"),
        ("scene.card.get(\"description\")", "scene.card.description"),
        ("\"description\" in scene.card", "scene.card.description"),
        ("scene.card.values()", "scene.card"),
        ("`${scene.persona}`", "scene.persona"),
        ("let s = scene; s.persona", "scene.persona"),
        ("let x = #{ c: scene.card }; [x, x.c] == [x, x.c]; #{ set: #{ \"card.name\": scene.card } }", "scene.card"),
        ("items[0].role", "blocks.role"),
        ("items.map(|i| i.role)", "blocks.role"),
        ("items[0].role = \"system\"; items", "blocks.role"),
        ("items.pop(); items", "blocks"),
        ("items.push(#{ text: \"x\" }); items", "blocks"),
        ("items.reverse(); items", "blocks.id"),
        ("[#{ id: \"a\", role: \"system\", text: \"bb\" }, items[1], items[2]]", "blocks.role"),
        ("#{ set: #{ \"card.description\": \"x\" } }", "scene.card.description"),
    ] {
        let error = passed(declared, body).err().unwrap_or_else(|| panic!("{body}: nothing refuses it"));
        assert!(error.contains(&format!("`{path}")) && error.contains("` may not be "), "{body}: {error}");
        assert!(error.contains("of `[rhai]` in `p/pack.toml`") && error.contains("(p/scripts/mine.rhai, line "), "{body}: {error}");
    }
}

#[test]
fn a_pack_that_declares_nothing_may_do_everything() {
    passed("", "items[0].role = scene.persona.text; #{ items: items, set: #{ \"card.description\": \"x\" } }").unwrap();
    let none = passed("[rhai]\nreads = []\nwrites = []\n", "items[0].text").unwrap_err();
    assert!(none.contains("`blocks.text` may not be read"), "{none}");
}

#[test]
fn errors_say_the_file_and_line_also_of_an_imported_script() {
    let files = [
        ("scripts/a.rhai", "// helpers\nfn deep(x) {\n    if x > 1 { throw \"too large\"; }\n    x\n}"),
        ("scripts/b.rhai", "import \"a\" as a;\nfn middle(x) { a::deep(x) }"),
        ("scripts/mine.rhai", "import \"b\" as b;\nconst MOST = 5;\nfn f(items, scene) {\n    b::middle(global::MOST)\n}"),
        ("hooks.toml", &format!("kind = \"hooks\"\nversion = 1\n[[program]]\nname = \"own\"\nover = \"blocks\"\n{PASS}")),
    ];
    let error = ran(&support::pack_over_base("", &files).unwrap()).err().unwrap();
    assert!(error.message.contains("too large (p/scripts/a.rhai, line 3"), "{}", error.message);
}

const OVERLAY: &str = r#"kind = "overlay"
version = 1

[rhai]
"mine.rhai" = '''
fn keep(item, scene) {
    item.text != "a"
}
fn bad(item, scene) {
    throw "no";
}
'''

[[program]]
name = "own"
over = "blocks"
[[pass]]
name = "own/x"
do = "drop"
where = { not = { script = "mine.rhai::keep" } }
"#;

#[test]
fn an_overlay_holds_scripts() {
    let rules = Ruleset::open_with("base", &[("o.toml", OVERLAY)]).unwrap();
    assert_eq!(ids(&ran(&rules).unwrap()), json!(["a", "c"]));
    let plain = Ruleset::open("base", &[]).unwrap();
    assert_ne!(rules.fingerprint(), plain.fingerprint());

    let error = ran(&Ruleset::open_with("base", &[("o.toml", &OVERLAY.replace("::keep", "::bad"))]).unwrap()).err().unwrap();
    assert!(error.message.contains("no (o.toml, line 10"), "{}", error.message);
    let error = Ruleset::open_with("base", &[("o.toml", &OVERLAY.replace("throw \"no\"", "throw = 1"))]).err().unwrap().to_string();
    assert!(error.contains("script.bad") && error.contains("o.toml:10"), "{error}");

    // what the overlay declares holds for its scripts
    let declared = OVERLAY.replace("[rhai]", "[rhai]\nreads = [\"blocks.id\"]");
    let error = ran(&Ruleset::open_with("base", &[("o.toml", &declared)]).unwrap()).err().unwrap();
    assert!(error.message.contains("`blocks.text` may not be read") && error.message.contains("in `o.toml`"), "{}", error.message);
}

#[test]
fn an_overlay_names_a_script_beside_it() {
    let folder = std::env::temp_dir().join(format!("tapster-scripts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let overlay = |file: &str| {
        let text = OVERLAY.split("[[program]]").nth(1).map(|rest| format!("[[program]]{rest}")).unwrap();
        let head = "kind = \"overlay\"\nversion = 1\n";
        std::fs::write(folder.join("o.toml"), format!("{head}[rhai]\n\"mine.rhai\" = {{ file = \"{file}\" }}\n{text}")).unwrap();
        Ruleset::open("base", &[Path::new(&folder.join("o.toml"))])
    };
    std::fs::write(folder.join("beside.rhai"), "fn keep(item, scene) { item.text != \"bb\" }").unwrap();
    let good = overlay("beside.rhai").map(|rules| ids(&ran(&rules).unwrap()));
    let outside = ["../beside.rhai", "/etc/passwd", "x/../beside.rhai", ".rhai", "none.rhai"].map(|file| overlay(file).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(good.unwrap(), json!(["b", "c"]));
    assert_eq!(outside, [true; 5]);
}

#[test]
fn what_is_printed_beyond_the_bound_is_told() {
    let rules = pack("[limits]\nscript_operations = 100_000\n", "fn f(items, scene) { for i in 0..1500 { print(i); } }", PASS);
    let _ = take_log();
    ran(&rules).unwrap();
    let log = take_log();
    assert_eq!(log.len(), 1_001);
    assert!(log[1_000].contains("and 500 more lines"), "{}", log[1_000]);
}

/// A matcher's function is given a key and a text; it is checked like all others.
#[test]
fn matchers_name_functions() {
    let opened = |matcher: &str| {
        let scripts =
            "[rhai]\n\"mine.rhai\" = '''\nfn one(x) { x }\nfn two(key, text) { text.contains(key) }\nfn odd(key, text) { key }\n'''\n";
        let pass = "[[program]]\nname = \"own\"\nover = \"entries\"\n[[pass]]\nname = \"own/x\"\ndo = \"match\"\nkeys = \"@keys\"\nset = { candidate = true }\n";
        let row = format!("[[matcher]]\nname = \"mine\"\nbefore = \"regex\"\n{matcher}\n");
        Ruleset::open_with("base", &[("o.toml", &format!("kind = \"overlay\"\nversion = 1\n{scripts}{pass}{row}"))])
    };
    for (matcher, told) in [
        ("script = \"mine.rhai::one\"", "takes 1 arguments instead of 2"),
        ("script = \"mine.rhai::three\"", "has no function `three`"),
        ("script = \"nine.rhai::two\"", "there is no script `nine.rhai`"),
        ("script = \"mine.rhai::two\"\nhow = \"word\"", "`how` beside `script`"),
        ("script = \"mine.rhai::two\"\ncase = true", "`case` beside `script`"),
    ] {
        let error = opened(matcher).err().unwrap_or_else(|| panic!("{matcher}: nothing refuses it")).to_string();
        assert!(error.contains(told) && error.contains("o.toml"), "{matcher}: {error}");
    }
    let scene = Scene::new(&json!({ "history": [{ "role": "user", "text": "a dragon" }] }));
    let entries = || json!([{ "id": "a", "keys": ["DRAGON", "dragon"] }, { "id": "b", "keys": ["knight"] }]);
    let found = run(&opened("script = \"mine.rhai::two\"").unwrap(), "own", &scene, &[("entries", entries())]).unwrap();
    let found: Vec<bool> = found.list("entries").iter().map(|entry| entry.get("candidate").is_some_and(|found| found.truthy())).collect();
    assert_eq!(found, [true, false]);
    let error = run(&opened("script = \"mine.rhai::odd\"").unwrap(), "own", &scene, &[("entries", entries())]).err().unwrap();
    assert!(error.message.contains("whether a key is found is true or false, not `DRAGON`"), "{}", error.message);
}
