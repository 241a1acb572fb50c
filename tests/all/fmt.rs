//! The layout of rule files: what a text becomes (`tests/fmt/cases.toml`), and what holds for every text: the same
//! meaning, the same comments, no longer lines than it says, and nothing to do the second time.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tapster::machinery::pack::read::newest_words;
use tapster_cli::format::{FormatRefusal, FormattedText, TomlLayout, convert, format};

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "usual")]
    width: usize,
    input: String,
    expected: Option<String>,
    /// The input is what is expected.
    #[serde(default)]
    same: bool,
    /// How many lines stay too long.
    #[serde(default)]
    long: usize,
}

fn usual() -> usize {
    TomlLayout::default().width
}

fn laid_out(text: &str, width: usize) -> Result<FormattedText, FormatRefusal> {
    format(Default::default(), text, TomlLayout { width })
}

/// Formats a text and says what is wrong with the result.
fn mistakes(text: &str, width: usize) -> Vec<String> {
    let formatted = match laid_out(text, width) {
        Ok(formatted) => formatted,
        Err(refusal) => return vec![format!("refused: {refusal:?}")],
    };
    let mut wrong = Vec::new();
    let parsed = |text: &str| toml::from_str::<toml::Table>(text.trim_start_matches('\u{FEFF}')).unwrap();
    let (before, after) = (parsed(text), parsed(&formatted.text));
    // `nan` is not equal to itself, but looks like itself
    if before != after && format!("{:?}", sorted(before)) != format!("{:?}", sorted(after)) {
        wrong.push(String::from("the meaning changed"));
    }
    let long: Vec<&str> = formatted.text.lines().filter(|line| line.chars().count() > width).collect();
    let told: Vec<&str> = formatted.long.iter().map(|range| formatted.text.get(range.clone()).unwrap()).collect();
    if long != told {
        wrong.push(format!("long lines {long:?}, told {told:?}"));
    }
    match laid_out(&formatted.text, width) {
        Ok(again) if again.text == formatted.text => {}
        Ok(again) => wrong.push(format!("not stable:\n{}\nthen:\n{}", formatted.text, again.text)),
        Err(refusal) => wrong.push(format!("the result is refused: {refusal:?}")),
    }
    wrong
}

/// Keys in one order everywhere, so that equal tables look equal.
fn sorted(table: toml::Table) -> toml::Table {
    let mut fields: Vec<_> = table.into_iter().map(|(key, inner)| (key, sorted_value(inner))).collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields.into_iter().collect()
}

fn sorted_value(value: toml::Value) -> toml::Value {
    match value {
        toml::Value::Table(table) => toml::Value::Table(sorted(table)),
        toml::Value::Array(list) => toml::Value::Array(list.into_iter().map(sorted_value).collect()),
        other => other,
    }
}

#[test]
fn every_case_is_laid_out_as_expected() {
    crate::support::in_checkout();
    let cases: Cases = toml::from_str(&std::fs::read_to_string("tests/fmt/cases.toml").unwrap()).unwrap();
    let mut wrong = Vec::new();
    for case in &cases.case {
        let expected = if case.same { &case.input } else { case.expected.as_ref().unwrap() };
        let formatted = laid_out(&case.input, case.width).unwrap_or_else(|refusal| panic!("{}: {refusal:?}", case.name));
        if formatted.text != *expected {
            wrong.push(format!("{}:\n{}", case.name, formatted.text));
        }
        if formatted.long.len() != case.long {
            wrong.push(format!("{}: {} lines stay too long", case.name, formatted.long.len()));
        }
        wrong.extend(mistakes(&case.input, case.width).into_iter().map(|w| format!("{}: {w}", case.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// All TOML files of a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    crate::support::in_checkout();
    let mut open = vec![PathBuf::from(folder)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing in {folder}");
    found
}

/// Every file of the project, in a wide, a usual and a narrow layout.
#[test]
fn every_file_keeps_its_meaning() {
    let mut wrong = Vec::new();
    for path in ["rules", "tests", "examples"].into_iter().flat_map(files) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if text.parse::<toml::Table>().is_err() {
            continue;
        }
        for width in [40, 120] {
            wrong.extend(mistakes(&text, width).into_iter().map(|w| format!("{} at {width}: {w}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The words of all comments of a document, sorted: a comment may be wrapped, and moved above its line.
fn words_of_comments(text: &str) -> Vec<&str> {
    let source = toml_parser::Source::new(text);
    let comments = source.lex().filter(|token| token.kind() == toml_parser::lexer::TokenKind::Comment);
    let spans = comments.map(|token| token.span()).collect::<Vec<_>>();
    let mut words: Vec<&str> =
        spans.iter().flat_map(|span| text.get(span.start()..span.end()).unwrap().split(|c: char| c.is_whitespace() || c == '#')).collect();
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words
}

/// The shipped rules and the examples are laid out as the program lays out rules: nothing changes in them, once or twice. In a
/// narrow layout their comments are all there, and a second time changes nothing.
#[test]
fn shipped_rules_are_laid_out() {
    let mut wrong = Vec::new();
    for path in ["rules", "examples"].into_iter().flat_map(files) {
        let text = std::fs::read_to_string(&path).unwrap();
        let formatted = laid_out(&text, usual()).unwrap().text;
        if formatted != text {
            wrong.push(format!("`tapster fmt {}` changes it", path.display()));
        }
        let narrow = laid_out(&text, 60).unwrap().text;
        if laid_out(&narrow, 60).unwrap().text != narrow {
            wrong.push(format!("{}: a second time changes it", path.display()));
        }
        for laid_out in [&formatted, &narrow] {
            if words_of_comments(laid_out) != words_of_comments(&text) {
                wrong.push(format!("{}: the comments differ", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Shipped rules say the same in the words of version 1, and again in those of version 2.
#[test]
fn shipped_rules_are_the_same_in_both_versions() {
    let mut converted = 0;
    for path in ["rules", "examples"].into_iter().flat_map(files) {
        let text = std::fs::read_to_string(&path).unwrap();
        let to = |text: &str, version| convert(Default::default(), text, version).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
        let old = to(&text, 1);
        let new = to(&old, 2);
        assert_eq!(newest_words(&old), newest_words(&text), "{}", path.display());
        assert_eq!(newest_words(&new), newest_words(&text), "{}", path.display());
        let old = laid_out(&old, usual()).unwrap().text;
        assert_eq!(newest_words(&laid_out(&to(&old, 2), usual()).unwrap().text), newest_words(&text), "{}", path.display());
        converted += usize::from(old != text);
    }
    assert!(converted > 300, "{converted}");
}

/// Each renamed word, and what only one of the versions has.
#[test]
fn words_are_renamed_where_they_are_words() {
    let old = r#"kind = "overlay"
version = 1
about = "= not an expression"

[[account]]
name = "a"
ruler = "plain"
size = { "=" = "1 + 1" } # two

[[pass]]
name = "p/q"
do = "evict"
spare = { fact = "kept" }
failing = "spare"
[[pass]]
name = "p/r"
exempt = { "=" = "= a == b" }
at = { index = 0, lost = { after = true, lost = "drop" } }
where = { over = true, since = 3, any = [{ per = 1 }, { of = "blocks", per = "@a" }] }
[pass.set]
per = { of = "blocks", per = "@a", from = "last", after = [], get = { over = ["= x", { lookup = "a", in = {}, by = "from" }] } }

[[tool]]
name = "t"
parameters = { type = "object", properties = { over = {}, of = {}, from = {} } }
"#;
    let new = r#"kind = "overlay"
version = 2
about = "= not an expression"

[[budget]]
name = "a"
cost_model = "plain"
size = "= 1 + 1" # two

[[pass]]
name = "p/q"
do = "evict"
protect = { fact = "kept" }
on_error = "skip"
[[pass]]
name = "p/r"
protect = "= a == b"
at = { index = 0, on_lost = { after = true, on_lost = "skip" } }
where = { over = true, since = 3, any = [{ per = 1 }, { of = "blocks", group_by = "@a" }] }
[pass.set]
per = { of = "blocks", group_by = "@a", end = "last", append_to = [], get = { merge = ["== x", { lookup = "a", in = {}, key = "from" }] } }

[[tool]]
name = "t"
parameters = { type = "object", properties = { over = {}, of = {}, from = {} } }
"#;
    let to = |text, version| convert(Default::default(), text, version).unwrap();
    assert_eq!(to(old, 2), new);
    assert_eq!(to(new, 2), new);
    let back = new_expressions_as_tables(old);
    assert_eq!(to(new, 1), back);
    assert_eq!(to(&back, 2), new);
}

/// What version 1 writes as `{ "=" = "…" }` begins with `=` once it has been a text.
fn new_expressions_as_tables(old: &str) -> String {
    old.replace("{ \"=\" = \"1", "{ \"=\" = \"= 1")
}

/// The keys of a section are in the order of its author, as of what a `set` writes.
#[test]
fn the_order_of_keys_inside_a_row_stays() {
    let text = "[[pass]]\nset = { a = { x = \"a long text\", y = [1, 2] }, b = 1, c = { z = \"a long text\", a = {} } }\n";
    let keys = |text: &str| -> Vec<String> {
        let document: toml::Table = toml::from_str(text).unwrap();
        let set = document["pass"][0]["set"].as_table().unwrap();
        set.iter().flat_map(|(k, v)| std::iter::once(k).chain(v.as_table().into_iter().flat_map(|t| t.keys()))).cloned().collect()
    };
    for width in 10..80 {
        let formatted = laid_out(text, width).unwrap();
        assert_eq!(keys(&formatted.text), ["a", "x", "y", "b", "c", "z", "a"], "{width}:\n{}", formatted.text);
    }
}

#[test]
fn what_is_not_toml_is_refused_with_its_place() {
    let place = |text: &str| match laid_out(text, 120) {
        Err(FormatRefusal::Syntax(complaint)) => (complaint.code.as_str().to_owned(), complaint.span.map(|s| s.start)),
        other => panic!("{other:?}"),
    };
    assert_eq!(place("a = 1\nb = \n"), ("syntax.toml".to_owned(), Some(10)));
    let deep = |open: &str, close: &str| format!("a = {}{}", open.repeat(5000), close.repeat(5000));
    assert_eq!(place(&deep("[", "]")).0, "file.too_deep");
    assert_eq!(place(&deep("{a=", "}")).0, "file.too_deep");
    assert_eq!(place(&format!("{}a = 1", "a.".repeat(5000))).0, "file.too_deep");
    assert_eq!(place(&format!("[{}a]", "a.".repeat(5000))).0, "file.too_deep");
    assert_eq!(place(&format!("[[{}a]]", "a.".repeat(5000))).0, "file.too_deep");
}

/// As deep as may be, and long: nothing overflows, and a broken list is not gone through again for each level.
#[test]
fn depth_and_size_are_borne() {
    for width in [10, 120] {
        assert_eq!(mistakes(&format!("a = {}1{}", "[".repeat(60), "]".repeat(60)), width), Vec::<String>::new());
        assert_eq!(mistakes(&format!("a = {}1{}", "{ b = ".repeat(60), " }".repeat(60)), width), Vec::<String>::new());
        assert_eq!(mistakes(&format!("a = {}1{}", "[{ b = ".repeat(30), " }]".repeat(30)), width), Vec::<String>::new());
        let rows = "{ name = \"a\", list = [1, 2, 3], text = \"a few words\" }, ".repeat(1000);
        assert_eq!(mistakes(&format!("a = [{rows}]"), width), Vec::<String>::new());
        let keys: String = (0..1000).map(|n| format!("key_{n} = [1, {{ a = \"some words\" }}], ")).collect();
        assert_eq!(mistakes(&format!("a = {{ {keys} b = 1 }}"), width), Vec::<String>::new());
    }
}

/// A value of a file, written on one line.
fn value() -> impl Strategy<Value = String> {
    let text = "[a-z |,(.\"\\\\\n\té-]{0,60}".prop_map(|text| toml::Value::String(text).to_string());
    let plain = prop_oneof![Just("1".to_owned()), Just("true".to_owned()), Just("1979-05-27 07:32:00Z".to_owned()), Just("nan".to_owned())];
    let literal = "[a-z \\\\|\"]{0,60}".prop_map(|text| format!("'{text}'"));
    let leaf = prop_oneof![3 => text, 2 => plain, 1 => literal];
    leaf.prop_recursive(5, 60, 5, |inner| {
        let list = prop::collection::vec((inner.clone(), comment()), 0..5).prop_map(|items| {
            let items: String = items.into_iter().map(|(item, comment)| format!("{item},{comment}")).collect();
            format!("[{items}]")
        });
        let table = prop::collection::vec((inner, comment()), 0..5).prop_map(|items| {
            let items = items.into_iter().enumerate();
            let items: String =
                items.map(|(n, (item, comment))| format!("k{n}{} = {item},{comment}", if n == 2 { ".x" } else { "" })).collect();
            format!("{{{items}}}")
        });
        prop_oneof![list, table]
    })
}

fn comment() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just(String::new()),
        1 => Just("\n".to_owned()),
        1 => "[a-z #]{0,60}".prop_map(|text| format!(" #{text}\n")),
        1 => "[a-z #]{0,60}".prop_map(|text| format!("\n\n\n# {text}\n")),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let header = |n: usize, kind: u8| match kind {
        0 => String::new(),
        1 => format!("[[row]] # a row\n[row.s{n}]\n"),
        2 => format!("[table{n}]\n"),
        _ => "[[row]]\n".to_owned(),
    };
    prop::collection::vec((value(), comment(), 0..5_u8), 1..8).prop_map(move |entries| {
        let entries = entries.into_iter().enumerate();
        entries
            .map(|(n, (value, comment, kind))| {
                format!("{}key{n} = {value}{}\n", header(n, kind), if comment.is_empty() { "" } else { &comment })
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_document_keeps_its_meaning(text in document(), width in 1..160_usize) {
        prop_assert_eq!(mistakes(&text, width), Vec::<String>::new(), "{}", text);
    }

    /// Whatever stands in a file, it is formatted or refused.
    #[test]
    fn damaged_files_are_told(cut in 0..4000_usize, put in "[\\[\\]{}=.,\"'#\n a\\\\]{0,6}", file in 0..1000_usize, width in 0..130_usize) {
        let files = files("rules/base");
        let text = std::fs::read_to_string(&files[file % files.len()]).unwrap();
        let cut = (0..=cut.min(text.len())).rev().find(|n| text.is_char_boundary(*n)).unwrap();
        let damaged = format!("{}{put}{}", text.get(..cut).unwrap(), text.get(cut..).unwrap());
        match laid_out(&damaged, width) {
            Ok(_) => prop_assert_eq!(mistakes(&damaged, width), Vec::<String>::new()),
            Err(FormatRefusal::Syntax(complaint)) => prop_assert!(complaint.span.is_some()),
            Err(FormatRefusal::Loss(complaint) | FormatRefusal::Large(complaint)) => prop_assert!(false, "{:?}", complaint),
        }
    }
}

/// Files are rewritten whole, links stay links, and a second run finds nothing to do.
#[test]
fn a_folder_is_formatted_in_place() {
    let folder = std::env::temp_dir().join(format!("tapster-fmt-{}", std::process::id()));
    let inner = folder.join("dialect");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("a.toml"), "kind='x'\n").unwrap();
    std::fs::write(folder.join("b.toml"), "kind = \"x\"\n").unwrap();
    let run = |args: &[&str], exit: u8, out: &str| {
        let (code, output, err) = crate::support::tapster(&[&["fmt"], args].concat());
        assert_eq!(code, exit, "{output}{err}");
        assert!(output.ends_with(out), "{output}");
    };
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let name = folder.display().to_string();
    run(&["--check", &name], 1, "a.toml\n1 would change, 1 unchanged\n");
    assert_eq!(read(&inner.join("a.toml")), "kind='x'\n");
    run(&[&name], 0, "a.toml\n1 formatted, 1 unchanged\n");
    assert_eq!(read(&inner.join("a.toml")), "kind = \"x\"\n");
    run(&[&name], 0, "0 formatted, 2 unchanged\n");
    run(&["--check", &name], 0, "0 would change, 2 unchanged\n");
    assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 1, "nothing is left beside");
    let _ = std::fs::remove_dir_all(&folder);
}
