//! Complaints as text, lines and JSON.

use tapster::diag::source::{place_in_text, range_in_text};
use tapster::diag::{Report, Sources, Span};
use tapster::machinery::pack::{json, toml};

use crate::pack::*;

fn shown(text: &str, start: usize, end: usize) -> String {
    let mut sources = Sources::default();
    let id = sources.add("rules/lore.toml", "acme", text);
    let mut report = Report::default();
    report.push(Diagnostic::new(Code::NameUnknown, "no such `x`").at(Span::new(id, start, end)).label("here"));
    render::human(&report, &sources, false)
}

#[test]
fn the_four_answers_in_order() {
    let mut sources = Sources::default();
    let text = format!("{}position = \"before_casst\"\n", "\n".repeat(13));
    let id = sources.add("rules/acme/lore.toml", "acme", &text);
    let mut report = Report::default();
    let complaint = Diagnostic::new(Code::NameUnknown, "entry names position `before_casst`, which no layer defines");
    report.push(
        complaint
            .at(Span::new(id, 24, 38))
            .label("unknown position")
            .rule("entry dragon, from layer acme")
            .help("did you mean `before_cast`?"),
    );
    assert_eq!(
        render::human(&report, &sources, false),
        "error[name.unknown]: entry names position `before_casst`, which no layer defines\n  --> rules/acme/lore.toml:14:12\n   |\n\
         14 | position = \"before_casst\"\n   |            ^^^^^^^^^^^^^^ unknown position\n   |\n   \
         = rule: entry dragon, from layer acme\n   = help: did you mean `before_cast`?\n"
    );
    assert_eq!(
        render::plain(&report, &sources),
        "rules/acme/lore.toml:14:12: error[name.unknown]: entry names position `before_casst`, which no layer defines\n"
    );
    let json = render::json(&report, &sources);
    assert_eq!(
        (&json[0]["line"], &json[0]["column"], &json[0]["end_column"], &json[0]["severity"]),
        (&14.into(), &12.into(), &26.into(), &"error".into())
    );
    assert!(render::human(&report, &sources, true).contains("\u{1b}[1m\u{1b}[91merror[name.unknown]\u{1b}[0m"));
}

#[test]
fn tabs_and_wide_characters_keep_the_carets_under_the_text() {
    assert_eq!(
        shown("\tx = 龍y\n", 5, 8),
        "error[name.unknown]: no such `x`\n --> rules/lore.toml:1:6\n  |\n1 |     x = 龍y\n  |         ^^ here\n"
    );
}

#[test]
fn long_lines_are_cut_around_the_span() {
    let text = format!("{}HERE{}\n", "a".repeat(50_000), "b".repeat(50_000));
    let out = shown(&text, 50_000, 50_004);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[1], " --> rules/lore.toml:1:50001");
    assert!(lines.iter().all(|l| l.chars().count() < 180), "{out}");
    let caret = lines[4].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[3].chars().skip(caret).take(4).collect::<String>(), "HERE");
}

#[test]
fn any_characters_and_spans_are_drawn_within_a_width() {
    let pieces = ["a", "龍", "\t", "\u{301}", "\u{200D}", "\u{202E}", "\r", "\n", " "];
    for n in 0..pieces.len().pow(3) * 2 {
        let piece = |place: usize| pieces[n / 2 / pieces.len().pow(u32::try_from(place).unwrap()) % pieces.len()].repeat([1, 200][n % 2]);
        let texts = [piece(0), piece(1), piece(2)];
        let (text, ends) = (texts.concat(), [0, 1, 2, 3].map(|n| texts[..n].concat().len()));
        for (start, end) in [(0, 0), (0, 1), (0, 3), (1, 1), (1, 2), (1, 3), (2, 3), (3, 3)] {
            let out = shown(&text, ends[start], ends[end]);
            assert!(out.contains(" here\n") && out.lines().all(|line| line.chars().count() < 700), "{text:?} {start} {end}\n{out}");
        }
    }
}

#[test]
fn a_span_over_lines_shows_the_first() {
    assert_eq!(
        shown("a = '''\nb\n'''\n", 4, 13),
        "error[name.unknown]: no such `x`\n --> rules/lore.toml:1:5\n  |\n1 | a = '''\n  |     ^^^ here\n"
    );
}

#[test]
fn nothing_of_a_file_reaches_the_terminal_raw() {
    let out = shown("a = \"\u{1b}[2J\"\n", 4, 10);
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

// Places inside texts, and the JSON reader.

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
    let mistakes: Vec<String> = serde_json::from_str(include_str!("../../text/json_mistakes.json")).unwrap();
    for bad in &mistakes {
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
