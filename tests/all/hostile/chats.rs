//! Chats with lines that are broken, empty or of unknown shape.

use super::*;

const HEADER: &str = r#"{"user_name":"U","character_name":"C","chat_metadata":{}}"#;
const LINES: [&str; 10] = [
    HEADER,
    "",
    r#"{"name":"U","is_user":true,"mes":"first"}"#,
    r#"{"name":"C","mes":"cut"#,
    "   ",
    "[1,2]",
    "nonsense",
    r#"{"name":"X","is_user":"maybe","mes":"odd","extra":{"type":"wizard"}}"#,
    r#"{"name":"Y","mes":null}"#,
    r#"{"name":"C","is_user":false,"mes":"last"}"#,
];

#[test]
fn broken_lines_cost_themselves_and_are_told_one_by_one() {
    let imported = tapster_exchange::import::read("c.jsonl", LINES.join("\n").as_bytes()).unwrap();
    assert_eq!((imported.kept, imported.skipped), (5, 3));
    let messages: Vec<&str> = imported.report.items().iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    for (message, line) in messages.iter().zip(["line 4 of `c.jsonl`", "line 6 of `c.jsonl`", "line 7 of `c.jsonl`"]) {
        assert!(message.contains(line), "{message}");
    }
    assert!(imported.report.items().iter().all(|d| d.help.is_some()));
}

#[test]
fn messages_of_unknown_shape_are_told() {
    let imported = tapster_exchange::import::read("c.jsonl", LINES.join("\n").as_bytes()).unwrap();
    let lines: Vec<Value> = imported.documents.into_iter().map(|d| d.json()).collect();
    let chat = json!({ "lines": lines });
    let warnings = told(&chat);
    assert!(says(&warnings, &["not messages", "`Y`"]) && says(&warnings, &["is_user", "`maybe`"]), "{warnings:?}");
    assert!(prompt(&built(&[chat])).contains("odd"), "who cannot be told to be the user is the character");
}

#[test]
fn numbers_that_would_be_rounded_are_told() {
    let imported = tapster_exchange::import::read(
        "p.json",
        br#"{"prompts":[],"prompt_order":[],"id":18446744073709551615,"t":1.0,"n":9223372036854775807}"#,
    );
    let report = imported.unwrap().report;
    let [told] = report.items() else { panic!("one warning: {report:?}") };
    assert!(told.message.contains("9223372036854775807") && told.message.contains(": 1"), "{}", told.message);
}
