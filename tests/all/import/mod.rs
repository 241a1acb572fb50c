//! Foreign containers, read through `import::read`: honest ones, damaged ones and hostile ones.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

mod containers;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use tapster::diag::{Code, Report};
use tapster::{ErrorKind, import_document};
use tapster_exchange::import::{Container, Contents, read, write_card};

use crate::support::{EXACT, SILLYTAVERN};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A chunk with its right checksum.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(data);
    let length = u32::try_from(data.len()).unwrap();
    [&length.to_be_bytes(), kind.as_slice(), data, &crc.sum().to_be_bytes()].concat()
}

/// A tEXt chunk with base64 of `text`.
fn card(keyword: &str, text: &str) -> Vec<u8> {
    raw_text(keyword, STANDARD.encode(text).as_bytes())
}

fn raw_text(keyword: &str, text: &[u8]) -> Vec<u8> {
    chunk(b"tEXt", &[keyword.as_bytes(), b"\0", text].concat())
}

/// A real picture from the `png` crate, cut into what is before IEND and IEND.
fn picture() -> (Vec<u8>, Vec<u8>) {
    let mut out = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut out, 8, 8);
    encoder.set_color(::png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[7; 64]).unwrap();
    writer.finish().unwrap();
    let end = out.split_off(out.len() - 12);
    (out, end)
}

/// A real picture with these chunks after its image data.
fn with(chunks: &[Vec<u8>]) -> Vec<u8> {
    let (head, end) = picture();
    [head, chunks.concat(), end].concat()
}

fn position(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|w| w == needle).unwrap()
}

fn ok(name: &str, bytes: &[u8]) -> Contents {
    let imported = read(name, bytes).unwrap_or_else(|report| panic!("{name}: {}", told(&report)));
    assert!(!imported.report.has_errors(), "a success reports warnings only: {}", told(&imported.report));
    assert_helpful(&imported.report);
    imported
}

fn refused(name: &str, bytes: &[u8]) -> Report {
    let Err(report) = read(name, bytes) else { panic!("{name} was accepted") };
    assert!(report.has_errors());
    assert_helpful(&report);
    report
}

/// Every complaint names the remedy and is worded by the house rules.
fn assert_helpful(report: &Report) {
    for d in report.items() {
        assert!(d.help.is_some() && !d.message.ends_with('.') && !d.message.contains('\n'), "{d:?}");
    }
}

fn told(report: &Report) -> String {
    report.items().iter().map(|d| format!("{}: {}", d.code.as_str(), d.message)).collect::<Vec<_>>().join("; ")
}

fn codes(report: &Report) -> Vec<Code> {
    report.items().iter().filter_map(|d| d.code.known()).collect()
}

fn main_of(imported: &Contents) -> Value {
    imported.main().unwrap().json()
}

#[test]
fn a_card_of_the_real_world_is_found() {
    let shared = std::env::var_os("TAPSTER_SHARED").map_or_else(|| PathBuf::from(env!("CHECKOUT")).join("../shared"), PathBuf::from);
    let path = shared.join("real/sillytavern/default_Seraphina.png");
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {} is not here", path.display());
        return;
    };
    let imported = ok("seraphina.png", &bytes);
    assert_eq!(main_of(&imported).pointer("/data/name"), Some(&json!("Seraphina")));
    let again = ok("again.png", &write_card(&bytes, &[("chara", &main_of(&imported))]).unwrap());
    assert_eq!(main_of(&again), main_of(&imported));
}

/// Bytes that get past the sniffing, and bytes that do not.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let starts = [
        b"".to_vec(),
        SIGNATURE.to_vec(),
        [SIGNATURE, b"\0\0\0\x20tEXtchara\0"].concat(),
        [SIGNATURE, b"\0\0\0\x20zTXtccv3\0\0x\x9C"].concat(),
        [SIGNATURE, b"\0\0\0\x20iTXtccv3\0\x01\0"].concat(),
        b"PK\x03\x04".to_vec(),
        b"{".to_vec(),
        b"{}\n{".to_vec(),
        b"{\"a\":\"\\ud800\\".to_vec(),
        b"[".to_vec(),
    ];
    (prop::sample::select(starts.to_vec()), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(a, b)| [a, b].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in hostile()) {
        match read("x", &bytes) {
            Ok(imported) => prop_assert!(imported.main().is_some() && !imported.report.has_errors()),
            Err(report) => prop_assert!(report.has_errors()),
        }
    }

    #[test]
    fn no_flipped_byte_makes_it_panic(at in any::<prop::sample::Index>(), to in any::<u8>(), zip in any::<bool>()) {
        let mut bytes = if zip { containers::zipped(&[("a.png", b"123"), ("card.json", b"{\"a\":1}")]) } else { with(&[card("chara", "{\"a\":1}")]) };
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Err(report) = read("x", &bytes) {
            prop_assert!(report.has_errors());
        }
    }
}

// JSON, chats of one object a line, plain text, and what is none of these.

#[test]
fn json_is_kept_as_written() {
    let imported = ok("x.bin", br#"{"z":1,"a":[1.5,null,true,"t",-3]}"#);
    assert_eq!((imported.container, imported.documents[0].label.as_str()), (Container::Json, "json"));
    assert_eq!(main_of(&imported).to_string(), r#"{"z":1,"a":[1.5,null,true,"t",-3]}"#);
    assert!(imported.documents[0].format.is_none());
}

#[test]
fn broken_json_is_placed() {
    let report = refused("x.json", b"{\n  \"a\": 1,\n}");
    assert_eq!(codes(&report), [Code::SyntaxJson]);
    assert!(told(&report).contains("trailing comma at line 3 column 1"), "{}", told(&report));
    assert!(told(&refused("x.json", b"{\"a\": [1, 2")).contains("ends too early"));
    assert_eq!(codes(&refused("x.json", b"[1,\xFF]")), [Code::FileEncoding]);
}

#[test]
fn nesting_and_size_are_bounded() {
    assert_eq!(codes(&refused("x.json", "[".repeat(100_000).as_bytes())), [Code::FileTooDeep]);
    let wide = format!("[{}0]", "0,".repeat(7_000_000));
    assert_eq!(codes(&refused("x.json", wide.as_bytes())), [Code::FileTooLarge]);
    let long = format!("[{}]", " ".repeat(97 << 20));
    assert_eq!(codes(&refused("x.json", long.as_bytes())), [Code::FileTooLarge]);
}

#[test]
fn what_is_tolerated_is_said() {
    let bom = ok("x.json", b"\xEF\xBB\xBF{}");
    assert_eq!(codes(&bom.report), [Code::FileBom]);
    let twice = ok("x.json", br#"{"a":1,"b":{"c":1},"a":2,"d":{"c":1}}"#);
    assert_eq!(main_of(&twice)["a"], json!(2));
    assert_eq!(codes(&twice.report), [Code::ImportValue]);
    assert!(told(&twice.report).contains("`a`") && !told(&twice.report).contains("`c`"));
}

#[test]
fn half_a_surrogate_pair_is_replaced() {
    let imported = ok("x.json", br#"{"a":"\ud83d!","b":"\ud83e\udd80","c":"\\ud83d","d":"\udc00\ud800"}"#);
    assert_eq!(&main_of(&imported), &json!({"a": "\u{fffd}!", "b": "🦀", "c": "\\ud83d", "d": "\u{fffd}\u{fffd}"}));
    assert!(told(&imported.report).contains("3 half characters"));
}

#[test]
fn a_text_is_a_document_and_other_files_are_named() {
    let text = ok("story.txt", "Once, π.".as_bytes());
    assert_eq!((text.container, &main_of(&text)), (Container::Text, &json!("Once, π.")));
    for text in ["[24 years old, tall]", "[true north]", "{\"hello\" she said}", "{{user}} is tall."] {
        assert_eq!(ok("me.txt", text.as_bytes()).container, Container::Text, "{text}");
    }
    assert_eq!(ok("card.txt", br#"{"v":3}"#).container, Container::Json);
    for (bytes, words) in [
        (b"GIF89a\0\xFF".as_slice(), "a GIF picture"),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF", "a JPEG picture"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP picture"),
        (b"\xFF\xFE{\0}\0", "a UTF-16 text"),
        (b"\0\x01\x02\xFF", "no known format"),
        (b" \n", "is empty"),
    ] {
        let report = refused("x", bytes);
        assert_eq!(codes(&report), [Code::ImportFormat]);
        assert!(told(&report).contains(words), "{}", told(&report));
    }
    assert_eq!(codes(&refused("x.txt", b"a caf\xE9 in an old encoding")), [Code::FileEncoding]);
}

#[test]
fn the_name_of_a_file_does_not_decide() {
    assert_eq!(ok("x.png", b"{}").container, Container::Json);
    assert_eq!(ok("x.json", &with(&[card("chara", "{}")])).container, Container::Png);
}

#[test]
fn a_chat_loses_only_its_broken_lines() {
    let chat = b"\xEF\xBB\xBF{\"n\":1}\r\n\r\n{\"n\":2}\r\n{oops\r\n[1]\r\n{\"t\":\"\xFF\"}\r\n{\"n\":7}";
    let imported = ok("chat.jsonl", chat);
    assert_eq!(imported.container, Container::Jsonl);
    assert_eq!(imported.documents.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(), ["line 1", "line 3", "line 7"]);
    assert_eq!((imported.kept, imported.skipped), (3, 3));
    let told = told(&imported.report);
    for words in
        ["line 4 of `chat.jsonl` is skipped: key must be a string at column 2", "line 5", "not an object", "line 6", "not valid UTF-8"]
    {
        assert!(told.contains(words), "{words} in {told}");
    }
}

#[test]
fn chats_are_told_from_json_by_content() {
    assert_eq!(ok("x", b"{\"a\":1}\n{\"a\":2}\n").container, Container::Jsonl);
    assert_eq!(ok("x", b"{\"a\":\n{\"b\":2}\n}").container, Container::Json);
    assert_eq!(ok("x.json", b"{\"a\":1}\n").container, Container::Json);
    assert_eq!(ok("x.jsonl", b"{\"a\":1}\n").container, Container::Jsonl);
    let outvoted = ok("x", b"{\"a\":\n{\"b\":2}\n{\"b\":3}\n");
    assert_eq!((outvoted.container, outvoted.kept, outvoted.skipped), (Container::Jsonl, 2, 1));
}

#[test]
fn at_most_fifty_broken_lines_are_listed() {
    let chat = format!("{{}}\n{}", "{broken}\n".repeat(80));
    let imported = ok("x.jsonl", chat.as_bytes());
    assert_eq!((imported.kept, imported.skipped, imported.report.items().len()), (1, 80, 51));
    assert!(told(&imported.report).contains("30 more lines"));
}

#[test]
fn a_chat_without_one_good_line_is_an_error() {
    let report = refused("x.jsonl", b"{broken}\n{broken}\n{broken}\n");
    assert_eq!(report.items().last().unwrap().code, Code::ImportFormat);
}

#[test]
fn a_huge_line_costs_only_itself() {
    let chat = format!("{{\"n\":1}}\n{{\"t\":\"{}\"}}\n{{\"n\":3}}\n", "x".repeat(17 << 20));
    let imported = ok("x.jsonl", chat.as_bytes());
    assert_eq!((imported.kept, imported.skipped), (2, 1));
}

// Large files: those of the real world are imported, and those that a stranger made to take much memory end with a bound.

/// An entry of a lorebook with all the fields that the program writes.
fn entry(n: usize) -> Value {
    let text = format!("This is what entry {n} says. ").repeat(10);
    let mut entry = json!({ "uid": n, "key": [format!("key{n}"), format!("other{n}")], "keysecondary": [], "comment": format!("Entry {n}"),
        "content": text, "order": 100, "position": n % 5, "probability": 100, "depth": 4, "groupWeight": 100, "displayIndex": n,
        "characterFilter": { "isExclude": false, "names": [], "tags": [] }, "triggers": [], "outletName": "", "group": "" });
    for no in
        ["constant", "vectorized", "disable", "ignoreBudget", "excludeRecursion", "preventRecursion", "matchScenario", "groupOverride"]
    {
        entry[no] = json!(false);
    }
    for null in ["scanDepth", "caseSensitive", "matchWholeWords", "useGroupScoring", "role", "sticky", "cooldown", "delay"] {
        entry[null] = Value::Null;
    }
    for yes in ["selective", "addMemo", "useProbability"] {
        entry[yes] = json!(true);
    }
    entry
}

/// A file with a value of two bytes again and again.
fn many(before: &str, one: &str, times: usize, after: &str) -> Vec<u8> {
    [before, &vec![one; times].join(","), after].concat().into_bytes()
}

#[test]
fn a_lorebook_of_twenty_thousand_entries_is_imported() {
    let entries: serde_json::Map<String, Value> = (0..20_000).map(|n| (n.to_string(), entry(n))).collect();
    let read = ok("book.json", json!({ "entries": entries }).to_string().as_bytes());
    let brought = import_document(&SILLYTAVERN, None, read.whole([])).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(brought.format, "st_lorebook");
    assert_eq!(brought.scene.at("books.0.entries").and_then(tapster::Value::as_list).map(<[_]>::len), Some(20_000), "{:?}", brought.fields);
}

#[test]
fn a_chat_of_fifty_thousand_messages_is_imported() {
    let message = |n: usize| {
        json!({ "name": "Ann", "is_user": n.is_multiple_of(2), "is_system": false, "send_date": "2026-01-01T00:00:00Z", "swipe_id": 0,
            "mes": format!("Line {n} of the talk. ").repeat(12), "extra": { "api": "openai", "model": "m-1", "token_count": 42 } })
        .to_string()
    };
    let header = json!({ "user_name": "Ben", "character_name": "Ann", "chat_metadata": {} }).to_string();
    let lines: Vec<String> = std::iter::once(header).chain((0..50_000).map(message)).collect();
    let read = ok("chat.jsonl", lines.join("\n").as_bytes());
    assert_eq!(read.kept, 50_001);
    let brought = import_document(&SILLYTAVERN, None, read.whole([])).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(brought.scene.at("history").and_then(tapster::Value::as_list).map(<[_]>::len), Some(50_000));
}

#[test]
fn values_that_take_much_more_memory_than_their_text_are_refused() {
    let card = r#"{"spec":"chara_card_v2","data":{"name":"A","extensions":{"x":["#;
    let names: Vec<String> = (0..2_400_000).map(|n| format!("\"k{n}\":0")).collect();
    for (what, bytes) in [
        ("tables in tables", many(card, r#"{"a":{}}"#, 1_600_000, "]}}}")),
        ("empty tables", many(card, "{}", 2_700_000, "]}}}")),
        ("empty lists", many(card, "[]", 4_000_000, "]}}}")),
        ("numbers", many(card, "0", 8_000_000, "]}}}")),
        ("empty texts", many(card, r#""""#, 5_400_000, "]}}}")),
        ("names", format!("{{{},\"spec\":1}}", names.join(",")).into_bytes()),
        ("entries", many(r#"{"entries":["#, r#"{"key":["a"],"content":"b","uid":1}"#, 800_000, "]}")),
    ] {
        let report = refused("x.json", &bytes);
        assert_eq!(codes(&report), [Code::FileTooLarge], "{what}");
        assert!(told(&report).contains("256 MiB of memory"), "{what}: {}", told(&report));
    }
    let lines = many("", "{\"mes\":\"a\",\"extra\":{\"a\":[[],[],[],[]]}}", 240_000, "");
    let lines = String::from_utf8(lines).unwrap().replace("},{", "}\n{");
    assert!(told(&refused("c.jsonl", lines.as_bytes())).contains("which line"), "a chat is refused as a whole, and not cut");
}

#[test]
fn all_cards_of_a_picture_count_together() {
    let numbers = format!(r#"{{"data":[{}0]}}"#, "0,".repeat(2_700_000));
    let read = ok("a.png", &with(&vec![card("chara", &numbers); 5]));
    assert_eq!((read.kept, read.skipped), (2, 3), "{}", told(&read.report));
    assert!(told(&read.report).contains("256 MiB of memory"), "{}", told(&read.report));
}

#[test]
fn compressed_cards_of_a_picture_unpack_to_no_more_than_one_may() {
    let mut packed = b"chara\0\0".to_vec();
    let mut writer = flate2::write::ZlibEncoder::new(&mut packed, flate2::Compression::best());
    std::io::Write::write_all(&mut writer, format!(r#"{{"data":"{}"}}"#, " ".repeat(20 << 20)).as_bytes()).unwrap();
    writer.finish().unwrap();
    let read = ok("a.png", &with(&vec![chunk(b"zTXt", &packed); 200]));
    assert_eq!((read.kept, read.skipped), (3, 197), "{}", told(&read.report));
    assert!(told(&read.report).contains("with the chunk `chara` they are larger than the limit of 64 MiB"), "{}", told(&read.report));
}

#[test]
fn an_import_that_makes_too_much_names_its_format() {
    let read = ok("book.json", &many(r#"{"entries":["#, r#"{"key":[]}"#, 200_000, "]}"));
    let error = import_document(&SILLYTAVERN, None, read.whole([])).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
    assert!(error.message.contains("it ended in rule `st_lorebook`"), "{error}");
    assert!(error.message.contains("split the file") && !error.message.contains("Scene::work"), "it says what its user can do: {error}");
}

// No field that the real program reads for a prompt is left unread: every file of the published content and of the
// suite of this project is imported, and each field that no rule reads needs a reason in `tests/foreign/unread.toml`.

/// The reasons, by format and field.
type Reasons = toml::Table;

/// The files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Whether a field is one that a row means: the same text, but for one `*`.
fn means(row: &str, field: &str) -> bool {
    row.split_once('*')
        .map_or(row == field, |(head, tail)| field.len() >= head.len() + tail.len() && field.starts_with(head) && field.ends_with(tail))
}

/// The row that gives a reason for a field of a format.
fn row<'a>(reasons: &'a Reasons, format: &str, field: &str) -> Option<&'a str> {
    let rows = reasons.get(format)?.as_table()?;
    rows.keys().find(|row| means(row, field)).map(String::as_str)
}

#[test]
fn fields_that_no_rule_reads_have_a_reason() {
    let root = Path::new(env!("CHECKOUT"));
    let shared = std::env::var_os("TAPSTER_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    if !shared.join("real").is_dir() {
        eprintln!("skipped: no published files at {}; set TAPSTER_SHARED", shared.display());
        return;
    }
    let reasons: Reasons = std::fs::read_to_string(root.join("tests/foreign/unread.toml")).unwrap().parse().unwrap();
    let mut needed = BTreeSet::new();
    let mut failures = Vec::new();
    let found = [files(&shared.join("real")), files(&root.join("tests/recorded/files"))].concat();
    for path in &found {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(row) = row(&reasons, "files", &name) {
            needed.insert(("files".to_owned(), row.to_owned()));
            continue;
        }
        let contents = read(&name, &std::fs::read(path).unwrap()).unwrap_or_else(|report| panic!("{name}: {report:?}"));
        let document = contents.main().unwrap();
        let brought = match import_document(&EXACT, None, document.value.clone()) {
            Ok(brought) => brought,
            Err(why) => {
                failures.push(format!("{}: {why}", path.display()));
                continue;
            }
        };
        for field in brought.fields.iter().filter(|field| field.note == "no rule reads it") {
            match row(&reasons, &brought.format, &field.field) {
                Some(row) => drop(needed.insert((brought.format.clone(), row.to_owned()))),
                None => failures.push(format!("{}: `{}` of {} is read by no rule", path.display(), field.field, brought.format)),
            }
        }
    }
    for (format, rows) in &reasons {
        for (row, reason) in rows.as_table().unwrap() {
            if reason.as_str().is_none_or(str::is_empty) {
                failures.push(format!("unread.toml: {format} `{row}` has no reason"));
            }
            if !needed.contains(&(format.clone(), row.clone())) {
                failures.push(format!("unread.toml: no file needs {format} `{row}`"));
            }
        }
    }
    assert!(found.len() > 100, "only {} files were found", found.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
