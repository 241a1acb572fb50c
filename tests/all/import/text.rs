//! JSON, chats of one object a line, plain text, and what is none of these.

use tapster_exchange::import::Container;

use super::*;

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
    let wide = format!("[{}0]", "0,".repeat(2_600_000));
    assert_eq!(codes(&refused("x.json", wide.as_bytes())), [Code::FileTooLarge]);
    let long = format!("[{}]", " ".repeat(33 << 20));
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
