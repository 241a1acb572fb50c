//! Each feature, over a pack of one's own that extends a shipped one.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::editor::{Editor, Folder, address, small_pack, split_mark};

const HEAD: &str = "kind = \"overlay\"\nversion = 2\nname = \"mine_rows\"\n";

fn rows(text: &str) -> String {
    format!("{HEAD}{text}")
}

#[test]
fn mistakes_are_shown_while_they_are_typed_and_gone_when_mended() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", &rows(""));
    editor.open(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"ordr\"\n"));
    editor.settle(&path);
    assert_eq!(editor.found(&path), ["pass.no_verb 5:5-5:11"]);
    let one = &editor.diagnostics[&address(&path)][0];
    assert!(one["message"].as_str().unwrap().contains("help: did you mean `order`"), "{one}");
    assert_eq!((one["severity"].clone(), one["source"].clone()), (json!(1), json!("tapster")));
    editor.change(&path, &rows(""));
    editor.settle(&path);
    assert_eq!(editor.found(&path), Vec::<String>::new());
}

#[test]
fn a_file_is_checked_with_the_unsaved_text_of_another() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let one = pack.write("one.toml", &rows(""));
    let two = pack.write("two.toml", &rows(""));
    editor.open(&one, &rows("[[pass]]\nname = \"build/late\"\ndo = \"drop\"\nafter = \"early\"\n"));
    editor.settle(&one);
    assert_eq!(editor.found(&one).len(), 1, "{:?}", editor.diagnostics);
    editor.open(&two, &rows("[[pass]]\nname = \"build/early\"\ndo = \"drop\"\n").replace("mine_rows", "two_rows"));
    editor.settle(&two);
    assert!(!editor.found(&one).iter().any(|found| found.starts_with("layer.move")), "{:?}", editor.diagnostics);
    editor.close(&two);
    editor.settle(&one);
    assert_eq!(editor.found(&one).len(), 1, "the text on disk counts again");
}

#[test]
fn an_overlay_is_checked_over_what_it_extends() {
    let (folder, mut editor) = (Folder::new("alone"), Editor::start());
    let path = folder.write("tweak.toml", "");
    let text =
        "kind = \"overlay\"\nversion = 2\nname = \"tweak\"\nextends = \"base\"\n\n[[slot]]\nname = \"main_prompt\"\nrol = \"user\"\n";
    editor.open(&path, text);
    editor.settle(&path);
    assert_eq!(editor.found(&path).len(), 1, "{:?}", editor.diagnostics);
    // without a pack, names are not checked
    editor.change(&path, &text.replace("extends = \"base\"\n", "").replace("rol =", "role ="));
    editor.settle(&path);
    assert!(!editor.found(&path).iter().any(|found| found.starts_with("name")), "{:?}", editor.diagnostics);
    editor.close(&path);
    let other = folder.write("other.toml", "");
    editor.open(&other, &rows(""));
    editor.settle(&other);
    assert_eq!(editor.found(&path), Vec::<String>::new(), "a closed file that is in no open pack has no diagnostics");
}

#[test]
fn packs_are_found_in_the_rules_of_a_root() {
    let root = Folder::new("root");
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"near\"\nrelease = \"0.1.0\"\nextends = [\"base\"]\n";
    root.write("rules/near/pack.toml", manifest);
    let path = root.write("deep/er/over.toml", "");
    let text = "kind = \"overlay\"\nversion = 2\nname = \"over\"\nextends = \"near\"\n[[slot]]\nname = \"main_prompt\"\nrole = \"user\"\n";
    for (mut editor, is_found) in [(Editor::start_in(&root.0), true), (Editor::start(), false)] {
        editor.open(&path, text);
        editor.settle(&path);
        assert_eq!(editor.diagnostics.get(&address(&path)).is_none_or(Vec::is_empty), is_found, "{:?}", editor.diagnostics);
    }
}

/// The folder of the server, that of the crate, has a folder `src` too.
#[test]
fn an_overlay_extends_what_lies_beside_it() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let manifest = std::fs::read_to_string(pack.0.join("pack.toml")).unwrap();
    pack.write("../src/pack.toml", &manifest.replace("mine", "src"));
    pack.write("../src/rows.toml", &rows("[[pass]]\nname = \"build/late\"\ndo = \"drop\"\n"));
    let text = "kind = \"overlay\"\nversion = 2\nname = \"tweak\"\nextends = \"src\"\n\n[[pass]]\nname = \"build/late\"\nwhen = false\n";
    let path = pack.beside("tweak.toml", text);
    editor.open(&path, text);
    editor.settle(&path);
    assert_eq!(editor.found(&path), Vec::<String>::new());
}

#[test]
fn completion_knows_kinds_verbs_keys_rows_paths_fields_and_functions() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", &rows(""));
    let cases = [
        ("kind = \"|\"\n", "lore"),
        ("kind = |\n", "overlay"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"|\"\n"), "order"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"order\"\n|\n"), "by"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"order\"\nw|\n"), "where"),
        (&rows("[[pa|]]\n"), "pass"),
        (&rows("[[pass]]\nname = \"|\"\n"), "build/plan_assembly"),
        (&rows("[[slot]]\nname = \"|\"\n"), "main_prompt"),
        (&rows("[[slot]]\n|\n"), "role"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"drop\"\nwhen = { \"$|\" = 1 }\n"), "$context.window"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"drop\"\nwhen = { cont| }\n"), "context.window"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = \"$|\" }\n"), "$context.window"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = \"@|\" }\n"), "@role"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = \"= |\" }\n"), "role"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = \"= $context.window + $|\" }\n"), "$context.window"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = \"= text.st|\" }\n"), "startsWith"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = { fn = \"|\" } }\n"), "words"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = { fn = \"format_time\", | } }\n"), "offset"),
        (&rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nwhere = { | }\n"), "role"),
        ("kind = \"pack\"\nversion = 1\nextends = [{ name = \"|\" }]\n", "base"),
    ];
    for (text, wanted) in cases {
        let labels = editor.labels(&path, text);
        assert!(labels.iter().any(|label| label == wanted), "{text}\nlacks {wanted}: {labels:?}");
    }
    // the terms of other verbs are not offered
    let labels = editor.labels(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"order\"\n|\n"));
    assert!(!labels.iter().any(|label| label == "strategy" || label == "name"), "{labels:?}");
    assert!(editor.labels(&path, &rows("# comm|ent\n")).is_empty());
}

#[test]
fn a_proposal_takes_the_place_of_what_is_written() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let marked = rows("[[pass]]\nname = \"😀\"\ndo = \"or|d\"\n");
    let items = editor.ask_at("textDocument/completion", &path, &marked);
    let order = items.as_array().unwrap().iter().find(|item| item["label"] == "order").unwrap().clone();
    assert_eq!(order["textEdit"]["newText"], "order");
    assert_eq!(order["textEdit"]["range"]["start"], json!({ "line": 5, "character": 6 }));
    assert_eq!(order["textEdit"]["range"]["end"], json!({ "line": 5, "character": 9 }));
}

#[test]
fn hover_explains_keys_rows_paths_and_the_value_in_force() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let key = editor.hover(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"order\"\nb|y = [\"index\"]\n"));
    assert!(key.starts_with("**by**"), "{key}");
    let verb = editor.hover(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"or|der\"\n"));
    assert!(verb.starts_with("**order**"), "{verb}");
    let scene = editor.hover(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\nset = { a = \"$context.win|dow\" }\n"));
    assert!(scene.starts_with("**$context.window**"), "{scene}");
    editor.open(&path, &rows("[[slot]]\nname = \"main_prompt\"\nsource = \"$preset.other\"\n"));
    editor.settle(&path);
    let value = editor.hover(&path, &rows("[[slot]]\nname = \"main_prompt\"\nsou|rce = \"$preset.other\"\n"));
    assert!(value.contains("in force: `\"$preset.other\"` (mine ") && value.contains("hides: `"), "{value}");
    let row = editor.hover(&path, &rows("[[slot]]\nname = \"ma|in_prompt\"\nrole = \"user\"\n"));
    assert!(row.contains("**main_prompt** (slot)") && row.contains("- base rules/base/slots.toml:") && row.contains("- mine "), "{row}");
}

#[test]
fn definitions_lead_to_files_of_all_layers_and_shipped_ones_can_be_read() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    editor.open(&path, &rows("[[slot]]\nname = \"main_prompt\"\nrole = \"user\"\n"));
    editor.settle(&path);
    let places = editor.ask_at("textDocument/definition", &path, &rows("[[slot]]\nname = \"m|ain_prompt\"\nrole = \"user\"\n"));
    let uris: Vec<&str> = places.as_array().unwrap().iter().map(|place| place["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, [address(&editor.cache.0.join("rules/base/slots.toml")), address(&path)]);
    let shipped = editor.cache.0.join("rules/base/slots.toml");
    let line = places[0]["range"]["start"]["line"].as_u64().unwrap();
    let text = std::fs::read_to_string(&shipped).unwrap();
    assert_eq!(text.lines().nth(usize::try_from(line).unwrap()), Some("name = \"main_prompt\""));
    assert!(shipped.metadata().unwrap().permissions().readonly());
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"0.1.0\"\nextends = [{ name = \"ba|se\" }]\n";
    let places = editor.ask_at("textDocument/definition", &pack.0.join("pack.toml"), manifest);
    assert_eq!(places[0]["uri"], address(&editor.cache.0.join("rules/base/pack.toml")));
}

#[test]
fn references_are_found_in_all_files() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let one = pack.write(
        "one.toml",
        &rows("[[pass]]\nname = \"build/early\"\ndo = \"drop\"\nwhere = { role = \"x\" }\nbefore = \"plan_assembly\"\n"),
    );
    let two = pack.write("two.toml", "");
    let text = "kind = \"overlay\"\nversion = 2\nname = \"two_rows\"\n[[pass]]\nname = \"build/late\"\ndo = \"drop\"\nwhere = { role = \"x\" }\nafter = \"ea|rly\"\n";
    editor.open(&two, &text.replace('|', ""));
    editor.settle(&two);
    let places = editor.ask_at("textDocument/references", &two, text);
    let uris: Vec<&str> = places.as_array().unwrap().iter().map(|place| place["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, [address(&one), address(&two)], "{:?}", editor.diagnostics);
    let at = json!({ "textDocument": { "uri": address(&two) }, "position": { "line": 7, "character": 11 }, "context": { "includeDeclaration": false } });
    let uses = editor.ask("textDocument/references", at);
    assert_eq!((uses.as_array().unwrap().len(), &uses[0]["uri"]), (1, &json!(address(&two))));
}

#[test]
fn symbols_and_folds_are_the_rows_of_a_file() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    editor.open(
        &path,
        &rows("[lore]\nbudget = 1\n\n[[pass]]\nname = \"build/x\"\n\n[pass.where]\nrole = \"x\"\n\n[[slot]]\nname = \"main_prompt\"\n"),
    );
    let symbols = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": address(&path) } }));
    let names: Vec<&str> = symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kind", "version", "name", "lore", "build/x", "main_prompt"]);
    assert_eq!(symbols[4]["detail"], "pass");
    let folds = editor.ask("textDocument/foldingRange", json!({ "textDocument": { "uri": address(&path) } }));
    assert!(folds.as_array().unwrap().iter().any(|fold| fold["startLine"] == 6 && fold["endLine"] == 11), "{folds}");
}

#[test]
fn certain_repairs_are_offered_one_by_one_and_all_at_once() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    editor.open(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"ordr\"\nby = [\"index\"]\n[[pass]]\nname = \"build/y\"\ndo = \"drop\"\nwhre = { role = \"a\" }\n"));
    let actions = editor.settle(&path);
    let titles: Vec<&str> = actions.iter().map(|action| action["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        ["Replace `ordr` with `order`", "Replace `whre` with `where`", "Fix all that tapster can fix in this file (2)"],
        "{:?}",
        editor.diagnostics
    );
    assert_eq!(actions[0]["edit"]["changes"][address(&path)][0]["range"]["start"], json!({ "line": 5, "character": 6 }));
    assert_eq!((actions[0]["kind"].clone(), actions[2]["kind"].clone()), (json!("quickfix"), json!("source.fixAll")));
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let params = json!({ "textDocument": { "uri": address(&path) }, "range": range, "context": { "diagnostics": [], "only": ["source"] } });
    let all = editor.ask("textDocument/codeAction", params);
    assert_eq!((all.as_array().unwrap().len(), &all[0]["kind"]), (1, &json!("source.fixAll")));
}

#[test]
fn a_repair_that_would_write_a_key_twice_is_not_offered() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    editor.open(&path, &rows("[[slot]]\nname = \"main_prompt\"\nrole = \"user\"\nrol = \"user\"\n"));
    assert_eq!(editor.settle(&path), Vec::<Json>::new());
    assert_eq!(editor.found(&path).len(), 1, "{:?}", editor.diagnostics);
    // either may be changed, but not both
    editor.change(&path, &rows("[[slot]]\nname = \"main_prompt\"\nrole_ = \"user\"\nrol = \"user\"\n"));
    let titles: Vec<Json> = editor.settle(&path).iter().map(|action| action["title"].clone()).collect();
    assert_eq!(titles, ["Replace `role_` with `role`", "Replace `rol` with `role`", "Fix all that tapster can fix in this file (1)"]);
}

#[test]
fn files_of_other_programs_are_left_alone() {
    let (folder, mut editor) = (Folder::new("others"), Editor::start());
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    for (name, text) in [
        ("Cargo.toml", "[package]\nname  =  \"x\"\n"),
        ("deploy.toml", "kind  =  \"Deployment\"\nversion = 1\n"),
        ("pod.json", "{ \"kind\": \"Pod\", \"version\": \"v1\" }\n"),
        ("cases.toml", "kind = \"cases\"\n"),
        ("notes.md", "kind  =  \"overlay\"\n[[slot]]\nname = \"a\"\n"),
    ] {
        let path = folder.write(name, "");
        editor.open(&path, text);
        editor.settle(&path);
        assert_eq!(editor.found(&path), Vec::<String>::new(), "{name}");
        let document = json!({ "uri": address(&path) });
        if !name.ends_with("json") {
            assert_eq!(editor.ask("textDocument/formatting", json!({ "textDocument": document, "options": options })), Json::Null);
        }
        if name.ends_with("md") {
            assert_eq!(editor.ask("textDocument/documentSymbol", json!({ "textDocument": document })), Json::Null);
            let place = json!({ "textDocument": document, "position": { "line": 0, "character": 0 } });
            assert_eq!(editor.ask("textDocument/completion", place), Json::Null);
        }
    }
    // a slip of the pen in a rule file is none of another program
    let path = folder.write("slip.toml", "");
    editor.open(&path, "kind = \"overlai\"\nversion = 2\nname = \"x\"\n");
    editor.settle(&path);
    assert_eq!(editor.found(&path).len(), 1, "{:?}", editor.diagnostics);
}

#[test]
fn diagnostics_are_cleared_where_they_were_shown() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", &rows(""));
    let other = pack.write("other.toml", "");
    editor.open(&other, &rows("").replace("mine_rows", "other_rows"));
    // an editor may write the address in its own way
    let strange = address(&path).replace("rows.toml", "r%6Fws.toml");
    let text = rows("[[pass]]\nname = \"build/x\"\ndo = \"ordr\"\n");
    let document = json!({ "uri": strange, "languageId": "toml", "version": 1, "text": text });
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    editor.settle(&other);
    assert_eq!(editor.diagnostics[&strange].len(), 1, "{:?}", editor.diagnostics);
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": strange } }));
    editor.settle(&other);
    assert!(editor.diagnostics.values().all(Vec::is_empty), "{:?}", editor.diagnostics);
}

#[test]
fn a_closed_file_is_read_from_disk_again_in_all_packs_above() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", &rows(""));
    let manifest = std::fs::read_to_string(pack.0.join("pack.toml")).unwrap();
    let text = manifest.replace("mine", "theirs").replace("base", "mine");
    let above = pack.beside("theirs/pack.toml", &text);
    editor.open(&path, &rows("[[pass]]\nname = \"build/x\"\ndo = \"ordr\"\n"));
    editor.open(&above, &text);
    editor.settle(&above);
    assert_eq!(editor.found(&path).len(), 1, "{:?}", editor.diagnostics);
    editor.close(&path);
    editor.settle(&above);
    assert!(editor.diagnostics.values().all(Vec::is_empty), "{:?}", editor.diagnostics);
}

#[test]
fn formatting_is_that_of_the_program() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    editor.open(&path, "kind  =  \"overlay\"\n");
    let params = json!({ "textDocument": { "uri": address(&path) }, "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = editor.ask("textDocument/formatting", params.clone());
    assert_eq!(edits[0]["newText"], "kind = \"overlay\"\n");
    editor.change(&path, "kind = \"overlay\"\n");
    assert_eq!(editor.ask("textDocument/formatting", params), json!([]));
}

#[test]
fn a_preview_marks_the_blocks_of_the_rule_under_the_cursor_and_follows_the_text() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let scene = pack.beside("hello/scene.toml", "pack = \"../mine\"\nmessage = \"Hello.\"\n[scene.preset]\nmain = \"Be kind.\"\n");
    let path = pack.write("rows.toml", "");
    let marked = rows("[[slot]]\nname = \"ma|in_prompt\"\nrole = \"user\"\n");
    let (text, position) = split_mark(&marked);
    editor.open(&path, &text);
    let params = json!({ "scene": address(&scene), "textDocument": { "uri": address(&path) }, "position": position });
    let shown = editor.ask("tapster/preview", params.clone());
    let blocks = |shown: &Json| -> Vec<(String, String, bool)> {
        let all = shown["blocks"].as_array().unwrap().iter().filter(|block| block["enabled"] == true);
        let text = |block: &Json, key: &str| block[key].as_str().unwrap().to_owned();
        all.map(|block| (text(block, "role"), text(block, "text"), block["marked"] == true)).collect()
    };
    let main = blocks(&shown).into_iter().find(|(_, text, _)| text == "Be kind.").unwrap_or_else(|| panic!("{shown:#}"));
    assert_eq!((main.0.as_str(), main.2), ("user", true));
    assert_eq!(blocks(&shown).iter().filter(|(_, _, marked)| *marked).count(), 1);
    // the command is the same, and shows what was typed meanwhile
    editor.change(&path, &text.replace("\"user\"", "\"assistant\""));
    let shown = editor.ask("workspace/executeCommand", json!({ "command": "tapster.preview", "arguments": [params] }));
    assert!(blocks(&shown).contains(&("assistant".to_owned(), "Be kind.".to_owned(), true)), "{shown:#}");
    // what is wrong is said, and is no failure of the request
    editor.change(&path, &text.replace("role", "rol"));
    let shown = editor.ask("tapster/preview", json!({ "scene": scene.parent().unwrap() }));
    assert!(!shown["diagnostics"].as_array().unwrap().is_empty() && shown["blocks"] == json!([]), "{shown:#}");
    let shown = editor.ask("tapster/preview", json!({ "scene": "/no/such/scene.toml" }));
    assert_eq!(shown["diagnostics"][0]["code"], "file.missing");
}

#[test]
fn a_preview_lays_an_overlay_over_the_rules_of_the_scene() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let scene_text = "pack = \"../mine\"\nmessage = \"Hello.\"\n[scene.preset]\nmain = \"Be kind.\"\n";
    let scene = pack.beside("hello/scene.toml", &format!("overlays = \"tweak.toml\"\n{scene_text}"));
    let other = pack.beside("other/scene.toml", scene_text);
    let tweak = pack.beside("hello/tweak.toml", "");
    let overlay = rows("[[slot]]\nname = \"main_prompt\"\nrole = \"user\"\n");
    let closed = pack.beside("hello/closed.toml", &overlay);
    editor.open(&tweak, &overlay);
    editor.open(&other, scene_text);
    let mut roles = |scene: &Path, rules: &Path| -> Vec<String> {
        let shown = editor.ask("tapster/preview", json!({ "scene": address(scene), "pack": address(rules) }));
        assert_eq!(shown["diagnostics"], json!([]), "{shown:#}");
        let main = shown["blocks"].as_array().unwrap().iter().filter(|block| block["text"] == "Be kind.");
        main.map(|block| block["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(&other, &tweak), ["user"]);
    assert_eq!(roles(&other, &closed), ["user"]);
    // it is not laid over the rules twice
    assert_eq!(roles(&scene, &tweak), ["user"]);
    // what is no rule file changes nothing
    assert_eq!(roles(&other, &other), ["system"]);
}

/// The words of a file that an editor colours, as `word kind`.
fn coloured(editor: &mut Editor, path: &Path, text: &str) -> Vec<String> {
    editor.open(path, text);
    let answer = editor.ask("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": address(path) } }));
    let data: Vec<usize> = answer["data"].as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as usize).collect();
    let kinds = ["comment", "table", "key", "text", "number", "keyword", "function", "reference", "macro"];
    let lines: Vec<Vec<u16>> = text.lines().map(|line| line.encode_utf16().collect()).collect();
    let (mut line, mut column) = (0, 0);
    let word = |token: &[usize]| {
        column = if token[0] == 0 { column + token[1] } else { token[1] };
        line += token[0];
        format!("{} {}", String::from_utf16(&lines[line][column..column + token[2]]).unwrap(), kinds[token[3]])
    };
    data.chunks(5).map(word).collect()
}

#[test]
fn words_are_coloured() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let text = "# 😀\nkind = \"overlay\"\n[[pass]]\nname = 'x'\ndo = \"set\"\nset = { a = \"$context.window\", \"b\" = 1.5, \
                c = \"😀 {{char}} and {{$x}}\" }\nwhere = \"= trim(@text) == 'a'\"\ntext = \"\"\"\na\nb\"\"\"\n";
    let expected = [
        "# 😀 comment",
        "kind key",
        "\"overlay\" keyword",
        "pass table",
        "name key",
        "'x' text",
        "do key",
        "\"set\" function",
        "set key",
        "a key",
        "\" text",
        "$context.window reference",
        "\" text",
        "\"b\" key",
        "1.5 number",
        "c key",
        "\"😀  text",
        "{{char}} macro",
        " and  text",
        "{{$x}} macro",
        "\" text",
        "where key",
        "\"=  text",
        "trim function",
        "( text",
        "@text reference",
        ") == 'a'\" text",
        "text key",
        "\"\"\" text",
        "a text",
        "b\"\"\" text",
    ];
    assert_eq!(coloured(&mut editor, &path, text), expected);
    // an editor colours JSON itself, but for what is named inside of texts
    let path = pack.beside("preset.json", "");
    assert_eq!(coloured(&mut editor, &path, "{ \"a\": [\"Be {{char}}.\", 1] }"), ["{{char}} macro"]);
    // a macro that is being typed ends nothing
    let text = "{ \"a\": \"{{get {{char}} }} {{us and {{a::{{b}}}} {{c}} {{\" }";
    assert_eq!(coloured(&mut editor, &path, text), ["{{get {{char}} }} macro", "{{a::{{b}}}} macro", "{{c}} macro"]);
}

/// Each place in a long line is counted from the one before it: counted from the start, this would take minutes.
#[test]
fn a_minified_preset_is_coloured() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let prompts = vec!["{\"role\":\"system\",\"content\":\"You are {{char}}, and nobody but {{char.\"}"; 20_000].join(",");
    let text = format!("{{\"open\":\"{}\",\"prompts\":[{prompts}]}}", "{{".repeat(20_000));
    let found = coloured(&mut editor, &pack.beside("preset.json", ""), &text);
    assert_eq!(found.len(), 20_000);
    assert!(found.iter().all(|word| word == "{{char}} macro"));
}

#[test]
fn presets_of_other_programs_are_examined() {
    let (folder, mut editor) = (Folder::new("presets"), Editor::start());
    let path = folder.write("preset.json", "");
    let prompt = |name: &str, text: &str| json!({ "identifier": name, "name": name, "role": "system", "content": text });
    let order = json!([{ "character_id": 100_001, "order": [{ "identifier": "main_prompt", "enabled": true }, { "identifier": "spare", "enabled": false }] }]);
    let preset = json!({ "chat_completion_source": "openai", "openai_max_context": 4096, "prompts": [prompt("main_prompt", "Hi {{ usr }}, {{usrlike}}, be kind."), prompt("spare", "Never sent.")], "prompt_order": order });
    let text = serde_json::to_string_pretty(&preset).unwrap();
    let unknown = |editor: &Editor| -> Vec<String> {
        let all = editor.diagnostics.get(&address(&path)).into_iter().flatten().filter(|one| one["code"] == "macro.unknown");
        all.map(|one| one["message"].as_str().unwrap().to_owned()).collect()
    };
    editor.open(&path, &text);
    let actions = editor.settle(&path);
    let found = unknown(&editor);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|message| message.contains("`{{usrlike}}`")), "{found:?}");
    let titles: Vec<&Json> = actions.iter().map(|action| &action["title"]).collect();
    assert_eq!(titles, ["Replace `usr` with `user`", "Fix all that tapster can fix in this file (1)"]);
    // a text that is no JSON for a while
    editor.change(&path, text.trim_end().trim_end_matches('}'));
    editor.settle(&path);
    editor.change(&path, &text);
    editor.settle(&path);
    assert_eq!(unknown(&editor), found);
}

#[test]
fn case_files_are_checked_when_they_are_open() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("cases/one.toml", "");
    editor.open(&path, "kind = \"case\"\nversion = 3\npack = \"..\"\n\n[[case]]\nname = \"a\"\nsceen = {}\n");
    editor.settle(&path);
    assert_eq!(editor.found(&path).len(), 1, "{:?}", editor.diagnostics);
    editor.change(&path, "kind = \"case\"\nversion = 3\npack = \"..\"\n\n[[case]]\nname = \"a\"\n");
    editor.settle(&path);
    assert!(!editor.found(&path).iter().any(|found| found.starts_with("schema.unknown_key")), "{:?}", editor.diagnostics);
}

#[test]
fn the_arguments_of_a_function_are_shown_while_it_is_called() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let pass = rows("[[pass]]\nname = \"build/x\"\ndo = \"set\"\n");
    let shown =
        editor.ask_at("textDocument/signatureHelp", &path, &format!("{pass}set = {{ a = \"= f(x, [1, 2].format_time('Y', |\" }}\n"));
    assert_eq!(shown["signatures"][0]["label"], "format_time(of, format?, offset?, calendar?)");
    assert_eq!(shown["activeParameter"], 2);
    let shown =
        editor.ask_at("textDocument/signatureHelp", &path, &format!("{pass}set = {{ a = {{ fn = \"format_time\", offset = |1 }} }}\n"));
    assert_eq!(shown["activeParameter"], 2);
    assert_eq!(editor.ask_at("textDocument/signatureHelp", &path, &format!("{pass}set = {{ a = \"= 1 + |\" }}\n")), Json::Null);
}
