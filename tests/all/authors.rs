//! What authors of presets and overlays meet at the command line: keys with dots, patterns, queries as conditions, snapshots,
//! templates, data of rule tests, and files of other programs.

use serde_json::Value as Json;

use crate::support::{Folder, tapster};

/// Checks an overlay with these rows over the pack `base`.
fn checked(name: &str, rows: &str) -> (u8, String) {
    let folder = Folder::new(name);
    let file = folder.put("own.toml", format!("kind = \"overlay\"\nversion = 1\nextends = \"base\"\n{rows}"));
    let (exit, _, err) = tapster(&["check", &file]);
    (exit, err)
}

#[test]
fn a_dot_in_a_key_of_a_scene_is_a_step() {
    let folder = Folder::new("dots");
    let head = "pack = \"sillytavern-exact\"\nmessage = \"Is anyone there?\"\n[scene]\n";
    let built = |scene: &str| {
        let file = folder.put("scene.toml", format!("{head}{scene}"));
        tapster(&["build", &file, "--now", "2026-01-31T20:15:00Z"])
    };
    let plain = built("names = { char = \"Ines\", user = \"Mara\" }\ncard.description = \"{{char}} waits.\"");
    assert!(plain.1.contains("Ines waits.") && plain.1.contains("between Ines and Mara"), "{plain:?}");
    assert_eq!(built("\"names.char\" = \"Ines\"\nnames.user = \"Mara\"\n\"card.description\" = \"{{char}} waits.\""), plain);
    let json = "{\"pack\": \"sillytavern-exact\", \"message\": \"Is anyone there?\", \"scene\": {\"names.char\": \"Ines\", \"names.user\": \"Mara\", \
        \"card\": {\"description\": \"{{char}} waits.\"}}}";
    let file = folder.put("scene.json", json);
    assert_eq!(tapster(&["build", &file, "--now", "2026-01-31T20:15:00Z"]), plain);
    // keys of data are names
    let (_, out, _) = built(
        "names.char = \"Ines\"\n\"names.user\" = \"Mara\"\ncard.description = \"{{getvar::a.b}}\"\nvars.local = { \"a.b\" = \"kept\" }",
    );
    assert!(out.contains("kept"), "{out}");
    let (exit, _, err) = built("names.char = \"Ines\"\n\"names.char\" = \"Bo\"");
    assert!(exit == 1 && err.contains("syntax.duplicate") && err.contains("scene.toml:5"), "{err}");
}

#[test]
fn a_case_gives_keys_with_dots() {
    let folder = Folder::new("dots-of-cases");
    let case = "kind = \"case\"\nversion = 2\npack = \"base\"\n[[case]]\nname = \"x\"\nexpand = \"{{char}} and {{user}}\"\n\
        scene = { \"names.char\" = \"Ines\", names.user = \"Mara\" }\nexpect = { texts = [\"Ines and Mara\"] }\n";
    let file = folder.put("case.toml", case);
    let (exit, out, err) = tapster(&["test", &file]);
    assert_eq!(exit, 0, "{out}{err}");
}

#[test]
fn longer_paths_of_items_need_no_quotes() {
    let pass = |test: &str| {
        format!("[[pass]]\nname = \"pinned/own\"\ndo = \"drop\"\nlist = \"blocks\"\nafter = \"history\"\nwhere = {{ {test} }}\n")
    };
    for test in
        ["parts.count = { gt = 1 }", "\"parts.count\" = { gt = 1 }", "parts.0.type = \"image\"", "meta.own.deep = { nonempty = true }"]
    {
        let (exit, err) = checked("paths", &pass(test));
        assert_eq!((exit, err.contains("error")), (0, false), "{test}: {err}");
    }
    for (test, told) in [("parts = { contain = \"x\" }", "did you mean `contains`"), ("role.any = 1", "there is no test `any`")] {
        let (exit, err) = checked("paths", &pass(test));
        assert!(exit == 1 && err.contains(told), "{test}: {err}");
    }
}

#[test]
fn matches_takes_a_pattern() {
    let fact = |test: &str| format!("[[fact]]\nname = \"own\"\nis = {{ \"card.name\" = {{ matches = {test} }} }}\n");
    for right in ["\"/^switch:/\"", "\"/a|b/gi\"", "\"$card.description\""] {
        assert_eq!(checked("pattern", &fact(right)).0, 0, "{right}");
    }
    for wrong in ["\"^switch:\"", "\"switch\"", "\"\"", "\"/open\"", "7"] {
        let (exit, err) = checked("pattern", &fact(wrong));
        assert!(
            exit == 1 && err.contains("regex.bad") && err.contains("own.toml:6") && err.contains("write `matches = '/"),
            "{wrong}: {err}"
        );
    }
}

#[test]
fn a_query_is_a_condition_without_a_test() {
    let folder = Folder::new("query");
    let case = |when: &str| {
        format!(
            "kind = \"case\"\nversion = 2\npack = \"base\"\n[[case]]\nname = \"x\"\nrun = \"own\"\nlists = {{ blocks = [{{ role = \"user\" }}] }}\n\
            expect = {{ set = {{ found = true }} }}\n[[path]]\nname = \"found\"\ntype = \"boolean\"\n[[program]]\nname = \"own\"\nover = \"blocks\"\n\
            [[pass]]\nname = \"own/set\"\ndo = \"set\"\nwhen = {when}\nset = {{ \"$found\" = true }}\n"
        )
    };
    for (when, exit) in [
        ("{ of = \"blocks\", where = { role = \"user\" } }", 0),
        ("{ of = \"blocks\", where = { role = \"user\" }, is = { nonempty = true } }", 0),
        ("{ of = \"blocks\", where = { role = \"system\" } }", 1),
        ("{ not = { of = \"blocks\", where = { role = \"system\" } } }", 0),
    ] {
        let file = folder.put("case.toml", case(when));
        let (got, out, err) = tapster(&["test", &file]);
        assert_eq!(got, exit, "{when}: {out}{err}");
    }
    let file = folder.put("case.toml", case("{ of = \"blocks\", count = true }"));
    let (exit, out, err) = tapster(&["test", &file]);
    assert!(exit == 1 && format!("{out}{err}").contains("a number is never empty"), "{out}{err}");
}

#[test]
fn a_marked_snapshot_is_written() {
    let folder = Folder::new("snapshot");
    let head = "kind = \"case\"\nversion = 2\npack = \"base\"\n\n";
    let row = "[[case]]\nname = \"x\"\nbuild = true\nsnapshot = true\nscene.history = [{ role = \"user\", text = \"x\" }]\n";
    let turns =
        "[[case]]\nname = \"y\"\nbuild = true\nturns = [{ scene.history = [{ role = \"user\", text = \"x\" }], snapshot = true }]\n";
    for case in [row, turns] {
        let file = folder.put("case.toml", format!("{head}{case}"));
        assert_eq!(tapster(&["test", &file]).0, 1);
        let (exit, out, err) = tapster(&["test", &file, "--update"]);
        assert_eq!(exit, 0, "{out}{err}");
        let text = folder.read("case.toml");
        assert_eq!((text.matches("snapshot = true").count(), text.matches("expect = ").count()), (1, 1), "{text}");
        assert_eq!(tapster(&["test", &file]).0, 0, "{text}");
    }
}

#[test]
fn a_template_needs_a_pack_that_renders_it() {
    for flags in [&["--template", "nope"][..], &["--task", "nope"]] {
        let (exit, out, err) = tapster(&[&["build", "--pack", "base", "--message", "hi"], flags].concat());
        assert!(exit == 1 && out.is_empty() && err.contains(&format!("`{}` would have no effect", flags.first().unwrap())), "{err}");
    }
}

#[test]
fn all_mistakes_of_a_template_are_told_at_once() {
    let folder = Folder::new("template");
    let template = |content: &str, more: &str| {
        format!(
            "{{\"id\": \"own\", \"task\": \"turn_generation\", \"name\": \"Own\", \"version\": 1, \"layout\": [{{\"kind\": \"message\", \"role\": \"system\", \
            \"content\": \"{content}\"}}{more}], \"slots\": {{}}}}"
        )
    };
    for (content, broken) in [("{{item.name: x", true), ("{{scenario}} {{b", true), ("{{scenario}} and {{actor.name}}", false)] {
        let file = folder.put("own.json", template(content, ""));
        let (_, _, err) = tapster(&["check", &file]);
        assert_eq!(err.contains("with its braces"), broken, "{content}: {err}");
    }
    let more = ", {\"kind\": \"slot\", \"name\": \"one\"}, {\"kind\": \"slot\", \"name\": \"two\"}, {\"kind\": \"message\", \"role\": 7, \"content\": \"x\"}";
    let file = folder.put("own.json", template("{{b", more));
    let (exit, _, err) = tapster(&["check", &file]);
    assert_eq!(exit, 1);
    for told in ["`one`", "`two`", "`{{b`", "schema."] {
        assert!(err.contains(told), "{told}: {err}");
    }
}

/// A preset with a macro that nobody knows.
const PRESET: &str = r#"{"temperature": 1, "openai_max_context": 4000, "prompts": [{"identifier": "main", "name": "Main", "role": "system",
    "content": "{{char}} and {{usr}} meet at {{time}}. {{unknownmacro}}"}, {"identifier": "chatHistory", "marker": true}],
    "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": true}, {"identifier": "chatHistory", "enabled": true}]}]}"#;

#[test]
fn a_preset_is_checked_with_the_pack_that_is_recommended_for_it() {
    let folder = Folder::new("preset");
    let file = folder.put("mine.json", PRESET);
    let (exit, out, err) = tapster(&["check", &file]);
    assert_eq!(exit, 0, "{out}{err}");
    for told in [
        "`st_preset`",
        "pack `sillytavern-exact`",
        "`{{unknownmacro}}`",
        "macro.unknown",
        "did you mean `user`",
        "cache.unstable",
        "`{{time}}`",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
    assert!(!err.contains("`{{char}}`"), "{err}");
    let (exit, _, err) = tapster(&["build", "--pack", "base", "--preset", &file]);
    assert!(exit != 0 && err.contains("--pack sillytavern-exact`") && !err.contains("--pack sillytavern`"), "{err}");
    let (_, help, _) = tapster(&["chat", "--help"]);
    assert!(help.contains("--pack sillytavern-exact ") && !help.contains("--pack sillytavern "), "{help}");
}

#[test]
fn macros_of_a_card_are_checked_in_every_text_and_the_right_message_is_named() {
    let folder = Folder::new("card-macros");
    let card = r#"{"spec": "chara_card_v2", "data": {"name": "Ada", "description": "She is 123456 years old. {{bogus_one}}", "first_mes": "{{roll:1d6}} {{bogus_two}}"}}"#;
    let file = folder.put("ada.json", card);
    let (_, _, err) = tapster(&["check", &file]);
    for told in ["`{{bogus_one}}`", "`{{bogus_two}}`"] {
        assert!(err.contains(told), "{told}: {err}");
    }
    assert!(!err.contains("`character_description`"), "what a macro gave stands there by chance: {err}");
}

#[test]
fn a_patch_that_drops_a_condition_is_told() {
    let folder = Folder::new("drops");
    let overlay = |patch: &str| {
        let head = "kind = \"overlay\"\nversion = 1\nextends = \"sillytavern\"\n[[pass]]\nname = \"lore_print/scripts\"\n";
        let file = folder.put("own.toml", format!("{head}{patch}\n"));
        tapster(&["check", &file])
    };
    let (exit, _, err) = overlay("where = { constant = false }");
    assert!(exit == 0 && err.contains("layer.drops") && err.contains("`text` no longer counts") && err.contains("own.toml:6"), "{err}");
    let expects = err.split("`expects = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(!overlay(&format!("where = {{ constant = false }}\nexpects = \"{expects}\"")).2.contains("layer.drops"));
    assert!(!overlay("where = { constant = false, text = { nonempty = true } }").2.contains("layer.drops"));
}

#[test]
fn diff_and_explain_name_the_rule_that_decided() {
    let folder = Folder::new("decided");
    let slot = "[[slot]]\nname = \"tone\"\ntext = \"Use short sentences.\"\nafter = \"main_prompt\"\n";
    let file = folder.put("own.toml", format!("kind = \"overlay\"\nversion = 1\nextends = \"base\"\n{slot}"));
    let (exit, out, err) = tapster(&["explain", "--pack", "base", "--overlay", &file, "--message", "Hello.", "--format", "json"]);
    assert_eq!(exit, 0, "{err}");
    let json: Json = serde_json::from_str(&out).unwrap();
    let block = json["blocks"].as_array().unwrap().iter().find(|block| block["slot"] == "tone").unwrap();
    assert!(block["rule"].as_str().unwrap().ends_with("own.toml:4"), "{block}");
}

#[test]
fn a_pack_holds_the_data_of_its_cases() {
    let folder = Folder::new("data");
    folder.put(
        "mine/pack.toml",
        "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"0.1.0\"\nabout = \"Mine.\"\nextends = [\"sillytavern-exact\"]\n",
    );
    let case = |scene: &str| {
        format!(
            "kind = \"case\"\nversion = 2\npack = \"..\"\n[[case]]\nname = \"one\"\nbuild = true\nscene_file = \"{scene}\"\n\
            expect = {{ lists = {{ blocks = {{ contains = {{ text = \"Hello.\" }} }} }} }}\n"
        )
    };
    let scene = |preset: &str| format!("pack = \"sillytavern-exact\"\npreset = \"{preset}\"\nmessage = \"Hello.\"\n");
    folder.put("mine/cases/one.toml", case("data/scene.toml"));
    folder.put("mine/cases/data/scene.toml", scene("preset.json"));
    folder.put("mine/cases/data/preset.json", PRESET);
    let pack = folder.0.join("mine").display().to_string();
    let (exit, out, err) = tapster(&["check", &pack]);
    assert_eq!((exit, err.contains("schema.kind")), (0, false), "{out}{err}");
    assert_eq!(tapster(&["test", &pack]).0, 0);
    let archive = folder.0.join("mine.tapster").display().to_string();
    let (exit, out, err) = tapster(&["pack", &pack, "-o", &archive]);
    assert_eq!(exit, 0, "{out}{err}");
    folder.put("mine/cases/one.toml", case("../../outside.toml"));
    folder.put("outside.toml", scene("mine/cases/data/preset.json"));
    let (_, _, err) = tapster(&["check", &pack]);
    assert!(err.contains("file.outside") && err.contains("one.toml:7"), "{err}");
}

#[test]
fn a_script_that_fails_names_the_item_and_what_is_not_there() {
    let folder = Folder::new("script");
    folder.put("mine/pack.toml", "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"0.1.0\"\nextends = [\"base\"]\n");
    folder.put("mine/scripts/own.rhai", "fn short(item, scene) {\n    item.title.len() < 5\n}\n");
    folder.put(
        "mine/own.toml",
        "kind = \"pipeline\"\nversion = 1\n[[pass]]\nname = \"pinned/own\"\ndo = \"drop\"\nlist = \"blocks\"\nafter = \"history\"\n\
        where = { slot = \"chat_history\", script = \"own.rhai::short\" }\n",
    );
    let pack = folder.0.join("mine").display().to_string();
    let (exit, _, err) = tapster(&["build", "--pack", &pack, "--message", "Hello."]);
    assert!(exit != 0 && err.contains("given `chat_history` of `blocks`") && err.contains("`item.title` is not there"), "{err}");
}

#[test]
fn one_mistake_has_one_code() {
    let folder = Folder::new("code");
    let file = folder.put(
        "own.toml",
        "kind = \"overlay\"\nversion = 1\n[[pass]]\nname = \"pinned/own\"\ndo = \"drop\"\nlist = \"blocks\"\nwheree = { role = \"user\" }\n",
    );
    for args in [&["check", file.as_str()][..], &["check", &file, "--pack", "base"]] {
        let (exit, _, err) = tapster(args);
        assert!(exit == 1 && err.contains("schema.unknown_key") && err.contains("did you mean `where`"), "{err}");
    }
    let file = folder.put("names.toml", "kind = \"overlay\"\nversion = 1\n[[fact]]\nname = \"own\"\nis = { nosuchpath = true }\n");
    let (exit, _, err) = tapster(&["check", &file]);
    assert!(exit == 0 && err.contains("checked without a pack"), "{err}");
}
