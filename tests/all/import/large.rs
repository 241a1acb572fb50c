//! Large files: those of the real world are imported, and those that a stranger made to take much memory end with a bound.

use tapster::{ErrorKind, import_document};

use super::*;
use crate::shipped::SILLYTAVERN;

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
    let names: Vec<String> = (0..900_000).map(|n| format!("\"k{n}\":0")).collect();
    for (what, bytes) in [
        ("tables in tables", many(card, r#"{"a":{}}"#, 600_000, "]}}}")),
        ("empty tables", many(card, "{}", 1_000_000, "]}}}")),
        ("empty lists", many(card, "[]", 1_500_000, "]}}}")),
        ("numbers", many(card, "0", 3_000_000, "]}}}")),
        ("empty texts", many(card, r#""""#, 2_000_000, "]}}}")),
        ("names", format!("{{{},\"spec\":1}}", names.join(",")).into_bytes()),
        ("entries", many(r#"{"entries":["#, r#"{"key":["a"],"content":"b","uid":1}"#, 300_000, "]}")),
    ] {
        let report = refused("x.json", &bytes);
        assert_eq!(codes(&report), [Code::FileTooLarge], "{what}");
        assert!(told(&report).contains("96 MiB of memory"), "{what}: {}", told(&report));
    }
    let lines = many("", "{\"mes\":\"a\",\"extra\":{\"a\":1}}", 240_000, "");
    let lines = String::from_utf8(lines).unwrap().replace("},{", "}\n{");
    assert!(told(&refused("c.jsonl", lines.as_bytes())).contains("which line"), "a chat is refused as a whole, and not cut");
}

#[test]
fn all_cards_of_a_picture_count_together() {
    let numbers = format!(r#"{{"data":[{}0]}}"#, "0,".repeat(1_000_000));
    let read = ok("a.png", &with(&vec![card("chara", &numbers); 5]));
    assert_eq!((read.kept, read.skipped), (2, 3), "{}", told(&read.report));
    assert!(told(&read.report).contains("96 MiB of memory"), "{}", told(&read.report));
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
