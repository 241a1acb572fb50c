//! Whatever an editor sends, the server answers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lsp_server::RequestId;
use serde_json::{Value as Json, json};
use tapster_lsp::{ServerOptions, serve_streams};

use crate::editor::{Editor, Folder, address, small_pack};

fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules").canonicalize().unwrap()
}

/// Every so many bytes of a text, on boundaries of characters.
fn prefixes(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let step = (text.len() / most).max(1);
    (0..=text.len()).step_by(step).filter_map(|end| text.get(..end))
}

/// Prefixes of rule files, of each at least one in every row: an answer to each question about its end, and no end of the server.
#[test]
fn every_prefix_of_a_rule_file_is_answered() {
    let mut editor = Editor::start();
    let start = Instant::now();
    let mut asked = 0;
    for name in ["base/lore.toml", "base/pack.toml", "base/macros.toml", "base/dialect/openai.toml", "base/cases/lore.toml"] {
        let text = std::fs::read_to_string(rules().join(name)).unwrap();
        let folder = Folder::new("prefix");
        let path = folder.write("file.toml", "");
        editor.open(&path, "");
        for prefix in prefixes(&text, 120) {
            assert!(start.elapsed() < Duration::from_secs(120), "too slow: {asked} prefixes");
            editor.change(&path, prefix);
            let line = prefix.matches('\n').count();
            let column = prefix.rsplit('\n').next().unwrap().encode_utf16().count();
            let place = json!({ "textDocument": { "uri": address(&path) }, "position": { "line": line, "character": column } });
            for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition", "textDocument/documentSymbol"] {
                editor.ask(method, place.clone());
            }
            asked += 1;
        }
        editor.settle(&path);
        editor.close(&path);
    }
    assert!(asked > 500, "{asked}");
}

/// The same inside of a pack, where each prefix is checked with all of its rules.
#[test]
fn prefixes_are_checked_with_their_pack() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("lore.toml", "");
    let text = std::fs::read_to_string(rules().join("base/lore.toml")).unwrap();
    editor.open(&path, "");
    for prefix in prefixes(&text, 12) {
        editor.change(&path, prefix);
        editor.settle(&path);
        editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": address(&path) } }));
        let all = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9_999, "character": 0 } });
        editor.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": address(&path) }, "range": all }));
        assert!(editor.diagnostics.contains_key(&address(&path)) || prefix.is_empty(), "{prefix}");
    }
}

#[test]
fn line_ends_marks_and_emoji_do_not_move_places() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let text = "kind = \"overlay\"\nversion = 2\nname = \"rows\"\n[[pass]]\nname = \"build/x\"\nabout = \"😀\"\nset = { \"é😀\" = 1, a = { fn = \"😀ä\" } }\ndo = \"ordr\"\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{FEFF}{text}")] {
        editor.open(&path, &text);
        editor.settle(&path);
        assert!(editor.found(&path).contains(&"pass.no_verb 7:5-7:11".to_owned()), "{:?}", editor.found(&path));
        assert_eq!(editor.found(&path).iter().any(|found| found.starts_with("file.bom")), text.starts_with('\u{FEFF}'));
    }
    let actions = editor.settle(&path);
    assert!(actions.iter().any(|action| action["title"] == "Remove the byte order mark"), "{actions:?}");
    // after an emoji of two units on the same line
    let text = "kind = \"overlay\"\nversion = 2\nname = \"rows\"\n[[pass]]\nname = \"build/x\"\ndo = \"drop\"\nwhere = { text = \"😀\", rol = { fn = \"no_such\" } }\n";
    editor.open(&path, text);
    editor.settle(&path);
    let column = "where = { text = \"😀\", rol = { fn = ".encode_utf16().count();
    let found = editor.found(&path);
    assert!(found.iter().any(|found| found.contains(&format!(" 6:{column}-"))), "{found:?}");
}

#[test]
fn documents_that_are_no_files_and_files_elsewhere_are_answered() {
    let mut editor = Editor::start();
    for uri in ["untitled:Untitled-1", "git:/a/b.toml", "file:///no/such/folder/rows.toml", "file://machine/share/rows.toml"] {
        let text = "kind = \"overlay\"\nversion = 2\n[[pass]]\nname = \"a/b\"\ndo = \"\"\n";
        editor.tell("textDocument/didOpen", json!({ "textDocument": { "uri": uri, "languageId": "toml", "version": 1, "text": text } }));
        let place = json!({ "textDocument": { "uri": uri }, "position": { "line": 4, "character": 6 } });
        let items = editor.ask("textDocument/completion", place.clone());
        assert!(items.as_array().unwrap().iter().any(|item| item["label"] == "order"), "{uri}");
        for method in ["textDocument/hover", "textDocument/definition", "textDocument/documentSymbol"] {
            editor.ask(method, place.clone());
        }
        editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }
    // a document that was never opened
    let place = json!({ "textDocument": { "uri": "file:///never.toml" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(editor.ask("textDocument/completion", place.clone()), Json::Null);
    assert_eq!(
        editor.ask(
            "textDocument/formatting",
            json!({ "textDocument": { "uri": "file:///never.toml" }, "options": { "tabSize": 4, "insertSpaces": true } })
        ),
        Json::Null
    );
}

#[test]
fn a_pack_that_vanishes_and_comes_back_is_said() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let text = "kind = \"overlay\"\nversion = 2\nname = \"rows\"\n";
    let path = pack.write("rows.toml", text);
    editor.open(&path, text);
    editor.settle(&path);
    assert_eq!(editor.found(&path), Vec::<String>::new());
    let away = pack.0.with_file_name("away");
    std::fs::rename(&pack.0, &away).unwrap();
    editor.change(&path, &format!("{text}\n"));
    editor.settle(&path);
    let told: Vec<&Json> = editor.diagnostics.values().flatten().collect();
    assert!(told.iter().any(|one| one["code"].as_str().unwrap().starts_with("file.")), "{told:?}");
    std::fs::rename(&away, &pack.0).unwrap();
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": address(&path) } }));
    editor.settle(&path);
    assert!(editor.diagnostics.values().all(Vec::is_empty), "{:?}", editor.diagnostics);
}

#[test]
fn what_cannot_be_read_of_an_editor_costs_none_of_its_settings() {
    let strange = json!({ "capabilities": { "textDocument": 5, "workspace": { "symbol": [] } }, "processId": "x",
        "workspaceFolders": [{ "uri": 7 }, 8], "initializationOptions": { "pack": "base", "other": {} } });
    let (folder, mut editor) = (Folder::new("alone"), Editor::initialize(strange));
    let path = folder.write("tweak.toml", "");
    editor.open(&path, "kind = \"overlay\"\nversion = 2\nname = \"tweak\"\n[[slot]]\nname = \"main_prompt\"\nrol = \"user\"\n");
    editor.settle(&path);
    assert_eq!(editor.found(&path), ["schema.unknown_key 5:0-5:3"]);
}

#[test]
fn many_headers_and_long_keys_take_no_time() {
    let (folder, mut editor) = (Folder::new("headers"), Editor::start());
    let path = folder.write("file.toml", "");
    let many: String = (0..50_000).map(|n| format!("[a{n}]\nb{n}.c = 1\n")).collect();
    let dotted = "a.".repeat(50_000);
    for text in [many, format!("[{dotted}a]\n{dotted}a = 1\n")] {
        let start = Instant::now();
        editor.open(&path, &text);
        editor.ask("textDocument/hover", json!({ "textDocument": { "uri": address(&path) }, "position": { "line": 1, "character": 1 } }));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

/// A file of two packs is checked with each: the places of what is said of a version are those of its text.
#[test]
fn diagnostics_have_the_places_of_the_version_that_they_name() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let manifest = std::fs::read_to_string(pack.0.join("pack.toml")).unwrap().replace("mine", "theirs").replace("base", "mine");
    let above = pack.beside("theirs/pack.toml", &manifest);
    let text = "kind = \"overlay\"\nversion = 2\nname = \"rows\"\n[[pass]]\nname = \"build/x\"\ndo = \"ordr\"\n";
    editor.open(&above, &manifest);
    editor.open(&path, text);
    editor.settle(&path);
    for more in 1..5 {
        editor.told.clear();
        editor.change(&path, &format!("{}{text}", "\n".repeat(more)));
        editor.settle(&path);
        let lines: Vec<&Json> = editor
            .told
            .iter()
            .filter(|told| told["uri"] == address(&path))
            .map(|told| &told["diagnostics"][0]["range"]["start"]["line"])
            .collect();
        assert_eq!(lines, [&json!(5 + more)], "{:?}", editor.told);
    }
}

#[test]
fn many_documents_come_and_go() {
    let (folder, mut editor) = (Folder::new("many"), Editor::start());
    let path = folder.write("rows.toml", "");
    let before = resident();
    for n in 0..10_000 {
        editor.open(&path, &format!("kind = \"overlay\"\nversion = 2\nname = \"n{n}\"\n"));
        editor.change(&path, "kind = \"overlay\"\nversion = 2\n[[slot]]\nname = \"main\"\n");
        editor.close(&path);
        if n % 100 == 0 {
            editor.settle(&path);
        }
    }
    editor.settle(&path);
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 10, "{grown} KiB more");
}

/// The memory of this process in KiB, where the system says it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

#[test]
fn a_cancelled_request_is_answered_as_such_and_changes_are_checked_once() {
    let (pack, mut editor) = (small_pack(), Editor::start());
    let path = pack.write("rows.toml", "");
    let text = "kind = \"overlay\"\nversion = 2\nname = \"rows\"\n[[pass]]\nname = \"build/x\"\ndo = \"ordr\"\n";
    editor.open(&path, text);
    editor.settle(&path);
    let published = editor.published;
    // while it is at the first, the others wait
    let busy = editor.begin("textDocument/codeAction", json!({ "textDocument": { "uri": address(&path) }, "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } }, "context": { "diagnostics": [] } }));
    for n in 0..50 {
        editor.change(&path, &format!("{text}# {n}\n"));
    }
    let place = json!({ "textDocument": { "uri": address(&path) }, "position": { "line": 0, "character": 0 } });
    let id = editor.begin("textDocument/hover", place);
    let RequestIdNumber(number) = number_of(&id);
    editor.tell("$/cancelRequest", json!({ "id": number }));
    editor.tell("$/cancelRequest", json!({ "id": 99_999 }));
    editor.wait_for(&busy);
    let cancelled = editor.wait_for(&id);
    // the cancellation may come too late, but there is one answer
    assert!(cancelled.error.is_none_or(|error| error.code == -32800));
    editor.settle(&path);
    assert!(editor.published - published <= 3, "{} publications", editor.published - published);
}

struct RequestIdNumber(i32);

fn number_of(id: &RequestId) -> RequestIdNumber {
    RequestIdNumber(id.to_string().parse().unwrap())
}

#[test]
fn wrong_requests_have_errors_and_wrong_notifications_do_no_harm() {
    let mut editor = Editor::start();
    for (method, params, code) in [
        ("textDocument/noSuch", json!({}), -32601),
        ("textDocument/hover", json!({ "position": 3 }), -32602),
        ("textDocument/rename", Json::Null, -32602),
        ("textDocument/codeLens", Json::Null, -32602),
        ("textDocument/inlayHint", json!({}), -32602),
        ("workspace/executeCommand", json!({ "command": "tapster.runCases" }), -32602),
        ("workspace/executeCommand", json!({ "command": "no.such" }), -32602),
        ("tapster/preview", json!({ "pack": 3 }), -32602),
    ] {
        let id = editor.begin(method, params);
        assert_eq!(editor.wait_for(&id).error.unwrap().code, code, "{method}");
    }
    for method in ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "$/cancelRequest", "no/such"] {
        for params in [Json::Null, json!({}), json!([1]), json!({ "textDocument": { "uri": "a b" } }), json!({ "id": {} })] {
            editor.tell(method, params);
        }
    }
    let huge = json!({ "textDocument": { "uri": "file:///a.toml", "version": 2 }, "contentChanges": [{ "range": { "start": { "line": 4_000_000_000u32, "character": 9 }, "end": { "line": 0, "character": 4_000_000_000u32 } }, "text": "x" }] });
    editor.tell(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": "file:///a.toml", "languageId": "toml", "version": 1, "text": "" } }),
    );
    editor.tell("textDocument/didChange", huge);
    editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": "file:///a.toml" } }));
}

/// Messages on streams that are none: the server answers, and goes on.
#[test]
fn a_message_that_cannot_be_read_is_answered() {
    let message = |json: &str| format!("Content-Length: {}\r\n\r\n{json}", json.len());
    let input = [
        message(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#),
        message(r#"{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}"#),
        message(r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#),
        message("{ no json"),
        message(r#"{"jsonrpc":"2.0","id":7,"method":5}"#),
        message(r#"{"jsonrpc":"2.0","id":4294967296,"method":"textDocument/hover","params":{}}"#),
        message(r#"{"jsonrpc":"2.0","id":{},"method":"textDocument/hover","params":{}}"#),
        message(r#"[1, 2]"#),
        "X-Other: 1\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        message(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown","params":null}"#),
        message(r#"{"jsonrpc":"2.0","method":"exit"}"#),
    ];
    let (said, output) = exchange(input.concat());
    assert_eq!(said, Ok(true));
    for wanted in ["\"id\":1", "-32700", "\"id\":7", "-32600", "\"id\":2", "\"id\":4294967296"] {
        assert!(output.contains(wanted), "{wanted}: {output}");
    }
    assert_eq!(output.matches("-32600").count(), 5, "{output}");
    // streams that end anywhere
    for end in ["", "Content-Length: 5", "Content-Length: 99\r\n\r\n{}", "\r\n\r\n", "Content-Length: 99999999999\r\n\r\n"] {
        let (said, _) = exchange(end.to_owned());
        assert!(said.is_err(), "{end:?}: {said:?}");
    }
}

fn exchange(input: String) -> (Result<bool, String>, String) {
    #[derive(Clone, Default)]
    struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    struct Bytes(std::io::Cursor<Vec<u8>>);
    impl Read for Bytes {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(into)
        }
    }
    let output = Shared::default();
    let options = ServerOptions { folders: Vec::new(), clock: None, format: |text| Ok(text.to_owned()), shipped: None };
    let said = serve_streams(Bytes(std::io::Cursor::new(input.into_bytes())), output.clone(), options);
    let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    (said, text)
}
