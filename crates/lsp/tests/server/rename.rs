//! Rows with another name in all files that name them, and names that stay.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::editor::{Editor, Folder, address, small_pack, split_mark};

/// The answer to a rename at `|`, or the sentence that refuses it.
fn rename(editor: &mut Editor, path: &Path, marked: &str, new: &str) -> Result<Json, String> {
    let (text, position) = split_mark(marked);
    editor.open(path, &text);
    let at = json!({ "textDocument": { "uri": address(path) }, "position": position });
    let id = editor.begin("textDocument/prepareRename", at.clone());
    let prepared = editor.wait_for(&id);
    let mut params = at;
    params["newName"] = json!(new);
    let id = editor.begin("textDocument/rename", params);
    let answer = editor.wait_for(&id);
    match answer.error {
        None => {
            let placeholder = prepared.result.unwrap()["placeholder"].clone();
            assert!(placeholder.is_string());
            Ok(answer.result.unwrap())
        }
        Some(error) => Err(error.message),
    }
}

/// The texts of files with the edits of a rename.
fn applied(edit: &Json) -> Vec<(PathBuf, String)> {
    let changes = edit["changes"].as_object().unwrap();
    let one = |(uri, edits): (&String, &Json)| {
        let path = PathBuf::from(uri.strip_prefix("file://").unwrap());
        (path, edits.as_array().unwrap().clone())
    };
    changes
        .iter()
        .map(one)
        .map(|(path, edits)| {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut lines: Vec<Vec<u16>> = text.split('\n').map(|line| line.encode_utf16().collect()).collect();
            let mut edits: Vec<(usize, usize, usize, String)> = edits
                .iter()
                .map(|edit| {
                    let number = |pointer: &str| usize::try_from(edit.pointer(pointer).unwrap().as_u64().unwrap()).unwrap();
                    assert_eq!(edit.pointer("/range/start/line"), edit.pointer("/range/end/line"));
                    (
                        number("/range/start/line"),
                        number("/range/start/character"),
                        number("/range/end/character"),
                        edit["newText"].as_str().unwrap().to_owned(),
                    )
                })
                .collect();
            edits.sort_by(|a, b| b.cmp(a));
            for (line, start, end, new) in edits {
                lines[line].splice(start..end, new.encode_utf16());
            }
            let lines: Vec<String> = lines.iter().map(|line| String::from_utf16(line).unwrap()).collect();
            (path, lines.join("\n"))
        })
        .collect()
}

/// The places where the name at `|` stands, as `file line`.
fn references(editor: &mut Editor, path: &Path, marked: &str) -> BTreeSet<String> {
    let places = editor.ask_at("textDocument/references", path, marked);
    let one = |place: &Json| format!("{} {}", place["uri"].as_str().unwrap(), place["range"]["start"]["line"]);
    places.as_array().unwrap().iter().map(one).collect()
}

/// An editor whose workspace is the folder above a pack.
fn workspace_editor(pack: &Folder) -> Editor {
    Editor::initialize(json!({
        "capabilities": { "workspace": { "workspaceEdit": { "documentChanges": true } } },
        "workspaceFolders": [{ "uri": address(pack.0.parent().unwrap()), "name": "all" }],
    }))
}

const HEAD: &str = "kind = \"overlay\"\nversion = 2\nname = \"mine_rows\"\n";

/// A pack with facts, values and passes that name each other in several files, one of them with a mark and `\r\n`.
fn pack_with_names() -> (Folder, PathBuf, PathBuf, PathBuf) {
    let pack = small_pack();
    let one = format!(
        "{HEAD}\n[[program]]\nname = \"polite\"\nlist = \"blocks\"\n\n[[fact]] # calm is meant\nname = \"calm\"\nabout = \"whether it is 'calm'\"\nover = \"message\"\nis = {{ role = \"user\" }}\n\n[[fact]]\nname = \"calmer\"\nover = \"message\"\nis = {{ fact = \"calm\", text = \"😀\" }}\n\n[[value]]\nname = \"hello_words\"\nis = \"Hello\"\n\n[[pass]]\nname = \"polite/role\"\ndo = \"set\"\nwhere = \"= '😀' != text && fact('calm')\"\nset = {{ role = \"user\", text = {{ value = \"hello_words\" }} }}\n"
    );
    let two = "\u{FEFF}kind = \"overlay\"\r\nversion = 2\r\nname = \"two_rows\"\r\n[[pass]]\r\nname = \"polite/last\"\r\ndo = \"drop\"\r\nwhere = { any = [{ fact = [\"calm\", \"calmer\"] }, \"= fact(\\\"calm\\\")\"] }\r\nafter = \"role\"\r\n"
        .replace("= fact(\\\"calm\\\")", "= fact('calm')");
    let case = "kind = \"case\"\nversion = 2\n[[case]]\nname = \"role\"\nrun = \"polite/role\"\nlists.blocks = [{ id = \"a\", role = \"user\" }]\nexpect.lists.blocks = [{ id = \"a\", role = \"user\", text = \"Hello\" }]\n";
    let (a, b) = (pack.write("one.toml", &one), pack.write("two.toml", &two));
    let c = pack.write("cases/polite.toml", case);
    (pack, a, b, c)
}

#[test]
fn a_row_has_its_new_name_in_all_files_and_the_pack_is_as_sound() {
    // where the cursor is, the new name, and how often it is written in each file
    for (marked, again, new, counts) in [
        ("name = \"ca|lm\"", "name = \"calm\"", "serene", [3, 2, 0]),
        ("fact('ca|lm')", "fact('calm')", "serene", [3, 2, 0]),
        ("{ fact = \"calm|\"", "{ fact = \"calm\"", "calm_and_more", [3, 2, 0]),
        ("value = \"|hello_words\"", "value = \"hello_words\"", "hail", [2, 0, 0]),
        ("name = \"polite/ro|le\"", "name = \"polite/role\"", "first", [1, 1, 1]),
    ] {
        let (pack, one, two, case) = pack_with_names();
        let mut editor = Editor::start();
        let text = std::fs::read_to_string(&one).unwrap();
        assert!(text.contains(again), "{again}");
        let cursor = text.replacen(again, marked, 1);
        editor.open(&one, &text);
        editor.settle(&one);
        assert_eq!(editor.found(&one), Vec::<String>::new(), "{:?}", editor.diagnostics);
        let edit = rename(&mut editor, &one, &cursor, new).unwrap();
        let before = references(&mut editor, &one, &cursor);
        let after = applied(&edit);
        for (path, count) in [&one, &two, &case].into_iter().zip(counts) {
            let edits = edit["changes"][address(path)].as_array().map_or(0, Vec::len);
            assert_eq!(edits, count, "{marked}: {}", path.display());
        }
        editor.close(&one);
        for (path, text) in &after {
            std::fs::write(path, text).unwrap();
        }
        // an editor that starts anew
        let mut editor = Editor::start();
        let text = std::fs::read_to_string(&one).unwrap();
        editor.open(&one, &text);
        editor.open(&case, &std::fs::read_to_string(&case).unwrap());
        editor.settle(&one);
        let codes: Vec<&Json> = editor.diagnostics.values().flatten().map(|one| &one["code"]).collect();
        assert_eq!(codes, ["file.bom"], "{marked}: {:?}\n{text}", editor.diagnostics);
        let old =
            if marked.contains("polite") { "role" } else { again.split('"').nth(1).filter(|_| again.contains('"')).unwrap_or("calm") };
        let renamed = again.replace(old, new);
        let (before_it, after_it) = renamed.split_at(renamed.rfind(new).unwrap());
        let cursor = text.replacen(&renamed, &format!("{before_it}|{after_it}"), 1);
        assert_eq!(references(&mut editor, &one, &cursor), before, "{marked}");
        // prose and comments stay
        assert!(text.contains("# calm is meant") && text.contains("whether it is 'calm'"));
        // and back again: every byte is as before
        let edit = rename(&mut editor, &one, &cursor, old).unwrap();
        for (path, text) in applied(&edit) {
            std::fs::write(&path, text).unwrap();
        }
        let (other, first, second, third) = pack_with_names();
        for (path, as_before) in [(&one, first), (&two, second), (&case, third)] {
            assert_eq!(std::fs::read_to_string(path).unwrap(), std::fs::read_to_string(as_before).unwrap());
        }
        drop((pack, other));
    }
}

#[test]
fn a_name_stays_where_a_place_that_writes_it_is_not_certain() {
    let cursor = |text: &str| text.replacen("name = \"calm\"", "name = \"ca|lm\"", 1);
    let role = |text: &str| text.replacen("name = \"polite/role\"", "name = \"polite/ro|le\"", 1);
    type Change = fn(&Folder);
    let changes: [(&str, Change, &str); 5] = [
        ("a script", |pack| _ = pack.write("scripts/a.rhai", "fn a() { \"calm\" }\n"), "scripts/a.rhai:1` writes it too"),
        (
            "what a case expects",
            |pack| {
                _ = pack.write(
                    "cases/more.toml",
                    "kind = \"case\"\nversion = 2\n[[case]]\nname = \"b\"\nrun = \"polite\"\nexpect.reasons = [\"calm\"]\n",
                )
            },
            "cases/more.toml:6` writes it too",
        ),
        (
            "an escape",
            |pack| {
                _ = pack.write("three.toml", "kind = \"overlay\"\nversion = 2\nname = \"three\"\n[[fact]]\nname = \"third\"\nover = \"message\"\nis = { fact = \"c\\u0061lm\" }\n")
            },
            "cannot be changed safely",
        ),
        (
            "a case beside the pack",
            |pack| {
                _ = pack.write("../alone.toml", "kind = \"case\"\nversion = 2\npack = \"mine\"\n[[case]]\nname = \"b\"\nrun = \"polite\"\nexpect.reasons = [\"calm\"]\n")
            },
            "alone.toml` names it, and is none of the layers here",
        ),
        (
            "a pack above",
            |pack| {
                let manifest = std::fs::read_to_string(pack.0.join("pack.toml")).unwrap();
                let above = manifest.replace("mine", "theirs").replace("base", "mine");
                pack.write("../theirs/pack.toml", &above);
                pack.write("../theirs/rows.toml", "kind = \"overlay\"\nversion = 2\nname = \"above\"\n[[pass]]\nname = \"polite/other\"\ndo = \"drop\"\nwhere = { fact = \"calm\" }\n");
            },
            "theirs/rows.toml` names it, and is none of the layers here",
        ),
    ];
    for (what, change, wanted) in changes {
        let (pack, one, ..) = pack_with_names();
        change(&pack);
        let text = std::fs::read_to_string(&one).unwrap();
        let answer = rename(&mut workspace_editor(&pack), &one, &cursor(&text), "serene");
        assert!(answer.as_ref().is_err_and(|sentence| sentence.contains(wanted)), "{what}: {answer:?}");
    }
    // names that are no names, or are taken; what belongs to other rules, or is data, does not matter
    let (pack, one, two, case) = pack_with_names();
    pack.write(
        "../alone.toml",
        "kind = \"case\"\nversion = 2\npack = \"base\"\n[[case]]\nname = \"b\"\nbuild = true\nexpect.reasons = [\"calm\"]\n",
    );
    pack.write("../scene.toml", "pack = \"mine\"\nmessage = \"calm\"\n");
    let text = std::fs::read_to_string(&one).unwrap();
    let mut editor = workspace_editor(&pack);
    for (new, wanted) in [
        ("", "not a valid name"),
        ("a b", "not a valid name"),
        ("a\"b", "not a valid name"),
        ("é", "not a valid name"),
        ("calmer", "is taken"),
    ] {
        let answer = rename(&mut editor, &one, &cursor(&text), new);
        assert!(answer.as_ref().is_err_and(|sentence| sentence.contains(wanted)), "{new}: {answer:?}");
    }
    assert_eq!(rename(&mut editor, &one, &cursor(&text), "calm"), Ok(json!({})));
    let answer = rename(&mut editor, &one, &role(&text), "last");
    assert!(answer.as_ref().is_err_and(|sentence| sentence.contains("`polite/last` is taken")), "{answer:?}");
    // a file that was changed on disk behind the server, and one that is open twice
    std::fs::write(&two, std::fs::read_to_string(&two).unwrap() + "\n# more\n").unwrap();
    let answer = rename(&mut editor, &one, &cursor(&text), "serene");
    assert!(
        answer.as_ref().is_ok_and(|edit| edit["documentChanges"].as_array().unwrap().len() == 2),
        "opening checks it again: {answer:?}"
    );
    let strange = address(&two).replace("two.toml", "tw%6F.toml");
    for uri in [address(&two), strange] {
        let document = json!({ "uri": uri, "languageId": "toml", "version": 1, "text": std::fs::read_to_string(&two).unwrap() });
        editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }
    let answer = rename(&mut editor, &one, &cursor(&text), "serene");
    assert!(answer.as_ref().is_err_and(|sentence| sentence.contains("open twice")), "{answer:?}");
    drop((pack, case));
}

#[test]
fn names_of_other_kinds_and_of_shipped_packs_stay() {
    let (pack, one, ..) = pack_with_names();
    let mut editor = Editor::start();
    let text = std::fs::read_to_string(&one).unwrap();
    let more = |rows: &str| format!("{text}\n{rows}");
    for (marked, wanted) in [
        (more("[[slot]]\nname = \"my_|slot\"\nsource = \"$preset.main\"\n"), "may name rows of `slot` too"),
        (text.replacen("name = \"polite\"\nlist", "name = \"pol|ite\"\nlist", 1), "may name rows of `program` too"),
        (text.replacen("set = { role", "set = { ro|le", 1), "items of scenes have it too"),
        (text.replacen("do = \"set\"", "do = \"s|et\"", 1), "is a word of the rule language"),
        (more("[[slot]]\nname = \"a\"\nsource = \"$preset.ma|in\"\n"), "scenes have it too"),
        (text.replacen("kind", "ki|nd", 1), "no name here"),
        (more("[[pass]]\nname = \"polite/x\"\ndo = \"set\"\nset = { text = \"ca|lm\" }\n"), "this is a text like others"),
        (more("[[pass]]\nname = \"build/plan_as|sembly\"\nabout = \"here\"\n"), "comes with the program"),
        (more("[[pass]]\nname = \"polite/x\"\ndo = \"ordr\"\nwhere = { fact = \"ca|lm\" }\n"), "the rules have errors"),
    ] {
        let answer = rename(&mut editor, &one, &marked, "other");
        assert!(answer.as_ref().is_err_and(|sentence| sentence.contains(wanted)), "{wanted}: {answer:?}");
    }
    // files of no pack, documents that are no files, a pack that vanished
    for uri in ["file:///never.toml", "untitled:Untitled-1"] {
        let params = json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 0 }, "newName": "x" });
        let id = editor.begin("textDocument/rename", params.clone());
        assert!(editor.wait_for(&id).error.is_some(), "{uri}");
        let id = editor.begin("textDocument/prepareRename", params);
        assert!(editor.wait_for(&id).error.is_some(), "{uri}");
    }
    let away = pack.0.with_file_name("away");
    std::fs::rename(&pack.0, &away).unwrap();
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": address(&one) } }));
    let answer = rename(&mut editor, &one, &text.replacen("name = \"calm\"", "name = \"ca|lm\"", 1), "serene");
    assert!(answer.is_err(), "{answer:?}");
}

#[test]
fn unsaved_texts_and_lower_layers_are_renamed_with_their_versions() {
    let (lower, one, two, _) = pack_with_names();
    let manifest = std::fs::read_to_string(lower.0.join("pack.toml")).unwrap().replace("mine", "theirs").replace("base", "mine");
    lower.beside("theirs/pack.toml", &manifest);
    let upper = lower.beside("theirs/rows.toml", "");
    let mut editor = workspace_editor(&lower);
    // the text of the lower layer is not saved
    editor.open(&one, &std::fs::read_to_string(&one).unwrap().replace("[[value]]", "# one more line\n[[value]]"));
    let marked = "kind = \"overlay\"\nversion = 2\nname = \"their_rows\"\n[[pass]]\nname = \"polite/more\"\ndo = \"drop\"\nwhere = \"= fact('cal|m') && text == 'x'\"\n";
    let edit = rename(&mut editor, &upper, marked, "serene").unwrap();
    let files: Vec<(String, Json, usize)> = edit["documentChanges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let document = &one["textDocument"];
            (document["uri"].as_str().unwrap().to_owned(), document["version"].clone(), one["edits"].as_array().unwrap().len())
        })
        .collect();
    assert_eq!(files, [(address(&one), json!(1), 3), (address(&two), Json::Null, 2), (address(&upper), json!(2), 1)]);
    // a value that a higher layer hides is read by no compiler
    let hides = marked.replace("[[pass]]", "[[pass]]\nname = \"polite/role\"\nwhere = { role = \"user\" }\n[[pass]]");
    let answer = rename(&mut editor, &upper, &hides, "serene");
    assert!(answer.as_ref().is_err_and(|sentence| sentence.contains("one.toml:28` writes it too")), "{answer:?}");
    // without a workspace, the lower layer lies outside
    let mut editor = Editor::start();
    let answer = rename(&mut editor, &upper, marked, "serene");
    assert!(answer.as_ref().is_err_and(|sentence| sentence.contains("outside of the workspace")), "{answer:?}");
}
