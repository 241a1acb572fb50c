//! Complaints as text, lines and JSON.

use super::*;
use tapster::diag::{Report, Sources, Span};

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
        "error[name.unknown]: entry names position `before_casst`, which no layer defines\n  ┌─ rules/acme/lore.toml:14:12\n\
         14│ position = \"before_casst\"\n  │            ^^^^^^^^^^^^^^ unknown position\n  = rule: entry dragon, from layer acme\n  \
         = help: did you mean `before_cast`?\n"
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
    assert!(render::human(&report, &sources, true).contains("\u{1b}[1;31merror[name.unknown]\u{1b}[0m"));
}

#[test]
fn tabs_and_wide_characters_keep_the_carets_under_the_text() {
    assert_eq!(
        shown("\tx = 龍y\n", 5, 8),
        "error[name.unknown]: no such `x`\n ┌─ rules/lore.toml:1:6\n1│     x = 龍y\n │         ^^ here\n"
    );
}

#[test]
fn long_lines_are_cut_around_the_span() {
    let text = format!("{}HERE{}\n", "a".repeat(50_000), "b".repeat(50_000));
    let out = shown(&text, 50_000, 50_004);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.iter().all(|l| l.chars().count() < 180), "{out}");
    let caret = lines[3].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[2].chars().skip(caret).take(4).collect::<String>(), "HERE");
}

#[test]
fn a_span_over_lines_shows_the_first() {
    assert_eq!(
        shown("a = '''\nb\n'''\n", 4, 13),
        "error[name.unknown]: no such `x`\n ┌─ rules/lore.toml:1:5\n1│ a = '''\n │     ^^^ here\n"
    );
}

#[test]
fn nothing_of_a_file_reaches_the_terminal_raw() {
    let out = shown("a = \"\u{1b}[2J\"\n", 4, 10);
    assert!(!out.contains('\u{1b}'), "{out:?}");
}
