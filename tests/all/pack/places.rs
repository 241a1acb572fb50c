//! Places inside texts, and the JSON reader.

use tapster::diag::source::{place_in_text, range_in_text};
use tapster::diag::{Report, Sources};
use tapster::machinery::pack::{json, toml};

/// For every character of the decoded text of `x`, what the file has for it.
fn pieces(text: &str, is_json: bool) -> (String, Vec<String>) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let id = sources.add("f", "", text);
    let root = if is_json { json::parse(id, text, &mut report) } else { toml::parse(id, text, &mut report) };
    let root = root.unwrap_or_else(|| panic!("{report:?}"));
    let node = root.get("x").unwrap();
    let value = node.as_text().unwrap().to_owned();
    let pieces = value.char_indices().map(|(n, _)| sources.snippet(place_in_text(&sources, node, n)).to_owned()).collect();
    let end = place_in_text(&sources, node, value.len());
    assert!(["\"", "'"].contains(&sources.snippet(end)), "{:?}", sources.snippet(end));
    assert_eq!(sources.snippet(range_in_text(&sources, node, 0..value.len())).len(), sources.snippet(node.span).len() - quotes(text));
    (value, pieces)
}

fn quotes(text: &str) -> usize {
    if text.contains("\"\"\"\n") || text.contains("'''\n") {
        7
    } else if text.contains("\"\"\"") {
        6
    } else {
        2
    }
}

#[test]
fn toml_texts() {
    let (value, found) = pieces(r#"x = "aé\n\u00e9\U0001F600\x41b""#, false);
    assert_eq!(value, "aé\né😀Ab");
    assert_eq!(found, ["a", "é", "\\n", "\\u00e9", "\\U0001F600", "\\x41", "b"]);
    let (value, found) = pieces("x = 'a\\n'", false);
    assert_eq!((value.as_str(), found), ("a\\n", vec!["a".into(), "\\".into(), "n".into()]));
    let (value, found) = pieces("x = \"\"\"\na \\\n   b\"c\"\"\"", false);
    assert_eq!(value, "a b\"c");
    assert_eq!(found, ["a", " ", "b", "\"", "c"]);
    let (value, found) = pieces("x = '''\na\\b\n'''", false);
    assert_eq!((value.as_str(), found.len()), ("a\\b\n", 4));
}

#[test]
fn windows_line_ends() {
    let (value, found) = pieces("x = \"\"\"a\r\nb\"\"\"", false);
    assert_eq!(found.last().unwrap(), "b", "{value:?}");
}

#[test]
fn json_texts() {
    let (value, found) = pieces(r#"{"x": "a\/\ud83d\ude00\"\u00e9z"}"#, true);
    assert_eq!(value, "a/😀\"éz");
    assert_eq!(found, ["a", "\\/", "\\ud83d\\ude00", "\\\"", "\\u00e9", "z"]);
}

#[test]
fn halves_of_surrogates_are_warned_of() {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let text = r#"["\ud83d", "\ude00x", "\ud83d\u0041"]"#;
    let id = sources.add("f", "", text);
    let list = json::parse(id, text, &mut report).unwrap();
    let texts: Vec<_> = list.as_list().unwrap().iter().map(|n| n.as_text().unwrap().to_owned()).collect();
    assert_eq!(texts, ["\u{FFFD}", "\u{FFFD}x", "\u{FFFD}A"]);
    assert_eq!((report.counts(), report.items().len()), ((0, 3), 3));
}

#[test]
fn json_is_strict() {
    for bad in [
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        "-",
        "nul",
        "truex",
        "'a'",
        "\"\\x\"",
        "\"\\u12\"",
        "\"a",
        "\"\t\"",
        "[1] 2",
        "1e999",
        "{a:1}",
    ] {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("f", "", bad);
        assert!(json::parse(id, bad, &mut report).is_none(), "{bad:?}");
        assert!(report.has_errors() && report.items().iter().all(|d| d.help.is_some()), "{bad:?}");
    }
}

#[test]
fn json_reads_what_serde_reads() {
    let text = r#" {"a": [1, -2.5, 1e3, true, false, null, "x\n\t\"\\"], "b": {"c": {}}, "d": []} "#;
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let id = sources.add("f", "", text);
    let ours = json::parse(id, text, &mut report).unwrap().to_json();
    assert_eq!(ours, serde_json::from_str::<serde_json::Value>(text).unwrap());
}
