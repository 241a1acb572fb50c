//! What is shown beside the text: results of cases, the order of passes, inherited terms, and why an entry did not fire.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::editor::{Editor, address, small_pack, split_mark};

/// The titles of the lenses of a file, each with its line.
fn lenses(editor: &mut Editor, path: &Path) -> Vec<String> {
    let found = editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": address(path) } }));
    let title = |lens: &Json| format!("{} {}", lens["range"]["start"]["line"], lens["command"]["title"].as_str().unwrap());
    found.as_array().into_iter().flatten().map(title).collect()
}

fn run(editor: &mut Editor, path: &Path, case: Option<&str>) -> Json {
    let argument = json!({ "textDocument": { "uri": address(path) }, "case": case });
    editor.ask("workspace/executeCommand", json!({ "command": "tapster.runCases", "arguments": [argument] }))
}

const CASES: &str = "kind = \"case\"\nversion = 2\n\n[given]\nrun = \"polite\"\n\n[[case]]\nname = \"good\"\nlists.blocks = [{ id = \"a\" }]\nexpect.lists.blocks = [{ id = \"a\", role = \"user\" }]\n\n[[case]]\nname = \"b\\\"\\U0001F600\"\nlists.blocks = [{ id = \"a\" }]\nexpect.lists.blocks = [{ id = \"a\", role = \"system\" }]\n";

const PASSES: &str = "kind = \"overlay\"\nversion = 2\nname = \"mine_rows\"\n\n[[program]]\nname = \"polite\"\nlist = \"blocks\"\n\n[[pass]]\nname = \"polite/role\"\ndo = \"set\"\nset = { role = \"user\" }\n\n[[pass]]\nname = \"polite/last\"\ndo = \"drop\"\nwhere = { role = \"none\" }\n";

#[test]
fn a_case_is_run_from_its_lens_with_the_unsaved_text_of_its_rules() {
    let (pack, mut editor) = (small_pack(), Editor::start_with_lenses());
    let rules = pack.write("rows.toml", "");
    let path = pack.write("cases/polite.toml", "");
    editor.open(&rules, PASSES);
    editor.open(&path, CASES);
    assert_eq!(lenses(&mut editor, &path), ["6 Run all cases of this file", "6 Run", "11 Run"]);
    let report = run(&mut editor, &path, None);
    assert_eq!((&report["passed"], &report["failed"]), (&json!(1), &json!(1)), "{report:#}");
    assert_eq!(editor.asked, ["workspace/codeLens/refresh"]);
    assert!(editor.messages[0].starts_with("case `b\"😀`: "), "{:?}", editor.messages);
    let all = ["6 Run all cases of this file: 1 of 2 passed", "6 Run: passed", "11 Run: failed (1 difference)"];
    assert_eq!(lenses(&mut editor, &path), all);
    // the other case is run by itself, and the first keeps its result
    editor.change(&rules, &PASSES.replace("role = \"user\"", "role = \"system\""));
    let outdated =
        ["6 Run all cases of this file", "6 Run: passed, before the last change", "11 Run: failed (1 difference), before the last change"];
    assert_eq!(lenses(&mut editor, &path), outdated);
    run(&mut editor, &path, Some("b\"😀"));
    assert_eq!(lenses(&mut editor, &path)[1..], ["6 Run: passed, before the last change", "11 Run: passed"]);
    // rules that cannot be used
    editor.change(&rules, &PASSES.replace("set\"", "sett\""));
    run(&mut editor, &path, Some("good"));
    assert_eq!(lenses(&mut editor, &path)[1], "6 Run: failed");
    editor.close(&path);
    editor.open(&path, CASES);
    assert_eq!(lenses(&mut editor, &path)[1], "6 Run", "a file that was closed has no results");
}

#[test]
fn a_case_that_cannot_be_run_is_no_end_of_the_server() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let missing = pack.0.join("cases/none.toml");
    let path = pack.write("cases/scenes.toml", "");
    let text = "kind = \"case\"\nversion = 2\n[[case]]\nname = \"a\"\nbuild = true\nscene_file = \"scene.toml\"\nexpect.warnings = []\n";
    pack.write("cases/scene.toml", "template = \"x.template.json\"\n");
    editor.open(&path, text);
    for (file, case) in [(&missing, None), (&path, Some("no_such"))] {
        let argument = json!({ "textDocument": { "uri": address(file) }, "case": case });
        let id = editor.begin("workspace/executeCommand", json!({ "command": "tapster.runCases", "arguments": [argument] }));
        assert!(editor.wait_for(&id).error.is_some(), "{}", file.display());
    }
    for arguments in [json!([]), json!([1]), json!([{ "textDocument": { "uri": "untitled:1" } }])] {
        let id = editor.begin("workspace/executeCommand", json!({ "command": "tapster.runCases", "arguments": arguments }));
        assert!(editor.wait_for(&id).error.is_some(), "{arguments}");
    }
    run(&mut editor, &path, None);
    assert_eq!(lenses(&mut editor, &path), ["2 Run: the scene file cannot be read in an editor"]);
    // a case file in no pack names its own
    let alone = pack.beside("alone.toml", "");
    editor.open(&alone, "kind = \"case\"\nversion = 2\npack = \"mine\"\n[[case]]\nname = \"a\"\nbuild = true\nscene.input = \"Hi.\"\nexpect.warnings = []\n");
    run(&mut editor, &alone, None);
    assert_eq!(lenses(&mut editor, &alone), ["3 Run: passed"], "{:?}", editor.messages);
    for uri in ["file:///never.toml", "untitled:Untitled-1"] {
        assert_eq!(editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": uri } })), Json::Null);
    }
}

#[test]
fn passes_show_their_order_and_how_often_they_ran_in_the_preview() {
    let (pack, mut editor) = (small_pack(), Editor::start_with_lenses());
    let scene = pack.beside("hello/scene.toml", "pack = \"../mine\"\nmessage = \"Hello.\"\n");
    let path = pack.write("rows.toml", "");
    let call = "\n[[pass]]\nname = \"build/polite\"\ndo = \"run\"\nprogram = \"polite\"\nafter = \"plan_assembly\"\n";
    let text = format!("{PASSES}{call}");
    editor.open(&path, &text);
    let found = lenses(&mut editor, &path);
    assert_eq!(found[..2], ["8 pass 1 of 2 of `polite`", "13 pass 2 of 2 of `polite`"]);
    assert!(found[2].starts_with("18 pass ") && found[2].ends_with(" of `build`"), "{found:?}");
    let params = json!({ "scene": address(&scene), "textDocument": { "uri": address(&path) } });
    let shown = editor.ask("tapster/preview", params.clone());
    assert_eq!(shown["diagnostics"], json!([]), "{shown:#}");
    assert_eq!(editor.asked.len(), 1);
    assert_eq!(lenses(&mut editor, &path)[0], "8 pass 1 of 2 of `polite`, ran once in hello/scene.toml");
    // the same again is no news
    editor.ask("tapster/preview", params.clone());
    assert_eq!(editor.asked.len(), 1);
    // what was said may be so no more
    editor.change(&path, &text.replace("do = \"run\"", "do = \"run\"\nwhen = false"));
    assert_eq!(lenses(&mut editor, &path)[0], "8 pass 1 of 2 of `polite`");
    editor.ask("tapster/preview", params);
    assert_eq!(lenses(&mut editor, &path)[0], "8 pass 1 of 2 of `polite`, did not run in hello/scene.toml");
    // a row that is no pass yet has no lens
    editor.change(&path, &text.replace("do = \"run\"", "do = \"rum\""));
    lenses(&mut editor, &path);
}

#[test]
fn a_row_that_patches_another_shows_what_it_inherits() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let text = "kind = \"overlay\"\nversion = 2\nname = \"mine_rows\"\n\n[[slot]] # 😀\nname = \"main_prompt\"\nrole = \"user\"\n\n[[slot]]\nname = \"my_slot\"\nsource = \"$preset.main\"\n\n[[slot]]\nname = \"scenario\"\nreplace = true\nsource = \"$preset.main\"\n";
    editor.open(&path, text);
    let hints = |editor: &mut Editor, path: &Path, from: u32, to: u32| {
        let range = json!({ "start": { "line": from, "character": 0 }, "end": { "line": to, "character": 0 } });
        editor.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": address(path) }, "range": range }))
    };
    let found = hints(&mut editor, &path, 0, 99);
    let [hint] = found.as_array().unwrap().as_slice() else { panic!("{found:#}") };
    assert_eq!(hint["position"], json!({ "line": 4, "character": "[[slot]] # 😀".encode_utf16().count() }));
    let label = hint["label"].as_str().unwrap();
    assert!(label.starts_with("inherits ") && !label.contains("role") && label.contains("source"), "{label}");
    let tooltip = hint["tooltip"]["value"].as_str().unwrap();
    assert!(tooltip.contains("- `source`: `") && tooltip.contains("(base rules/base/slots.toml:"), "{tooltip}");
    assert_eq!(hints(&mut editor, &path, 5, 99), json!([]));
    // a layer above does not count: this file inherits nothing from it
    let manifest = std::fs::read_to_string(pack.0.join("pack.toml")).unwrap().replace("mine", "theirs").replace("base", "mine");
    let above = pack.beside("theirs/pack.toml", &manifest);
    let patch = pack.beside("theirs/rows.toml", "");
    let top = "kind = \"overlay\"\nversion = 2\nname = \"their_rows\"\n[[slot]]\nname = \"main_prompt\"\nremovable = true\n";
    editor.open(&above, &manifest);
    editor.open(&patch, top);
    let found = hints(&mut editor, &patch, 0, 99);
    assert!(found[0]["tooltip"]["value"].as_str().unwrap().contains("- `role`: `\"user\"` (mine "), "{found:#}");
    assert_eq!(hints(&mut editor, &path, 0, 99)[0]["label"].as_str(), Some(label));
    // files of no pack, and documents that are no files
    for uri in ["file:///never.toml", "untitled:Untitled-1"] {
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
        assert_eq!(editor.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": uri }, "range": range })), Json::Null);
    }
}

#[test]
fn a_preview_says_why_the_entry_under_the_cursor_fired_or_did_not() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let scene = pack.beside("lore/scene.toml", "");
    let entry = |editor: &mut Editor, path: &Path, marked: &str| {
        let (text, position) = split_mark(marked);
        editor.open(path, &text);
        let shown = editor
            .ask("tapster/preview", json!({ "scene": address(&scene), "textDocument": { "uri": address(path) }, "position": position }));
        assert!(!shown["diagnostics"].to_string().contains("\"error\""), "{:#}", shown["diagnostics"]);
        shown["entry"].clone()
    };
    // the shipped pack that reads lorebooks of another program
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let folders = std::fs::read_dir(rules).unwrap().map(|entry| entry.unwrap().path());
    let reader = folders.filter(|folder| folder.join("prompts.toml").is_file()).max().unwrap();
    let reader = reader.file_name().unwrap().to_str().unwrap();
    let head = &format!("pack = \"{reader}\"\nmessage = \"The lamp is lit.\"\nlorebooks = [\"lore.json\"]\n");
    let books = "[[scene.books]]\nid = \"own\"\nrole = \"character\"\n[[scene.books.entries]]\nid = \"lamp\"\nname = \"Lamp\"\nkeys = [\"lamp\"]\ntext = \"It burns oil.\"\n[[scene.books.entries]]\nid = \"storm\"\nname = \"Storm\"\nkeys = [\"stor|m\"]\ntext = \"Boats stay.\"\n";
    let lore = pack.beside("lore/lore.json", "{ \"entries\": {} }");
    let numbered = head.replace("lorebooks = [\"lore.json\"]\n", "");
    let found = entry(&mut editor, &scene, &format!("{numbered}{books}"));
    assert_eq!((&found["sent"], &found["kind"]), (&json!(false), &json!("lore entry")), "{found:#}");
    assert!(found["says"].as_str().unwrap().contains("\"storm\""), "{found:#}");
    assert!(found["remedies"][0]["change"].as_str().unwrap().contains("storm"), "{found:#}");
    let found = entry(&mut editor, &scene, &format!("{numbered}{}", books.replace('|', "").replace("oil", "o|il")));
    assert_eq!((&found["sent"], &found["name"]), (&json!(true), &json!("Lamp (lamp)")), "{found:#}");
    let found = entry(&mut editor, &scene, &numbered.replace("pack", "pa|ck"));
    assert_eq!(found, Json::Null);
    // in a lorebook of another program, an entry is known by what it says
    let one = |n: u32, title: &str, key: &str, text: &str| {
        format!(
            "\"{n}\": {{ \"uid\": {n}, \"key\": [\"{key}\"], \"comment\": \"{title}\", \"content\": \"{text}\", \"disable\": false, \"order\": 100, \"position\": 0 }}"
        )
    };
    let book =
        format!("{{ \"entries\": {{ {}, {} }} }}", one(0, "Lamp", "lamp", "It burns oil."), one(1, "Storm", "storm", "Boats st|ay."));
    editor.open(&scene, head);
    let found = entry(&mut editor, &lore, &book);
    assert_eq!(found["sent"], json!(false), "{found:#}");
    assert!(found["name"].as_str().unwrap().starts_with("Storm"), "{found:#}");
    let found = entry(&mut editor, &lore, &book.replace('|', "").replace("oil", "o|il"));
    assert_eq!(found["sent"], json!(true), "{found:#}");
    // of two that say the same, neither is meant
    let twice = format!(
        "{{ \"entries\": {{ {}, {} }} }}",
        one(0, "Lamp", "lamp", "It burns o|il."),
        one(0, "Lamp", "lamp", "It burns oil.").replacen('0', "9", 1)
    );
    assert_eq!(entry(&mut editor, &lore, &twice), Json::Null);
}
