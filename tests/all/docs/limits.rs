//! The numbers of the page of limits are those of the program.

use tapster::WorkLimits;
use tapster::machinery::text::TextLimits;

use super::facts::{rows, words};
use super::pages::{read, root};

/// `10,000`, `4 MiB`, `16 KiB`, `any`.
fn number(cell: &str) -> u64 {
    let (digits, factor) = match cell.split_once(' ') {
        Some((digits, "MiB")) => (digits, 1 << 20),
        Some((digits, "KiB")) => (digits, 1 << 10),
        _ => (cell, 1),
    };
    digits.replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("`{cell}` is no number")) * factor
}

/// What a constant or a field of a default is set to: `4 << 20`, `10_000`.
fn set_to(source: &str, name: &str) -> Option<u64> {
    let constant = source
        .lines()
        .find(|line| line.trim_start_matches("pub ").trim_start_matches("pub(super) ").starts_with(&format!("const {name}:")));
    let expression = match constant {
        Some(line) => line.split_once(" = ")?.1.trim_end_matches(';'),
        None => {
            source.split(['{', ',', '\n']).find_map(|part| part.trim().strip_prefix(&format!("{name}: ")))?.trim_end_matches([' ', '}'])
        }
    };
    let mut factors = expression.split(" << ").map(|n| n.replace('_', "").parse::<u64>());
    let first = factors.next()?.ok()?;
    factors.try_fold(first, |value, shift| Some(value << shift.ok()?))
}

/// The constant behind each row of the table of sizes.
const SIZES: &[(&str, &str, &str)] = &[
    ("a file of a pack", "src/pack/files.rs", "MAX_FILE"),
    ("files of a pack", "src/pack/files.rs", "MAX_FILES"),
    ("bytes of a pack", "src/pack/files.rs", "MAX_TOTAL"),
    ("memory of all rule files", "src/pack/extends.rs", "MAX_MEMORY"),
    ("packs under a pack", "src/pack/extends.rs", "MAX_PACKS"),
    ("rows of a layer", "src/pack/layer.rs", "MAX_ROWS"),
    ("errors shown", "crates/text/src/diag/mod.rs", "MOST_SHOWN"),
    ("a file of another program", "crates/exchange/src/import/mod.rs", "MAX_FILE"),
    ("a document in it", "crates/exchange/src/import/json.rs", "MAX_JSON"),
    ("memory of its values", "crates/exchange/src/import/json.rs", "MAX_MEMORY"),
    ("lines of a chat", "crates/exchange/src/import/jsonl.rs", "MAX_LINES"),
    ("parts of a pattern", "crates/text/src/text/pattern/size.rs", "MOST_PARTS"),
    ("text for back references", "crates/text/src/text/pattern/engine.rs", "BACKREF_TEXT"),
    ("text for a far look-behind", "crates/text/src/text/pattern/engine.rs", "BEHIND_TEXT"),
    ("text for a backtracking pattern of a schema", "crates/text/src/text/schema_cost.rs", "LONGEST_BACKTRACKED"),
    ("text made by a function", "crates/text/src/text/pattern/mod.rs", "MOST_OUTPUT"),
    ("bytes of a script", "crates/text/src/text/script/calls.rs", "MOST_BYTES"),
    ("a list or table written out", "crates/text/src/model/budget.rs", "MOST_WRITTEN"),
    ("nesting of values", "crates/text/src/model/value.rs", "MAX_DEPTH"),
    ("a value of a store", "crates/session/src/store/sessions.rs", "MAX_VALUE"),
    ("a line of `serve`", "cli/src/verbs/serve/mod.rs", "MAX_LINE"),
    ("a reply of a provider", "crates/client/src/receive.rs", "reply"),
    ("an archive", "crates/exchange/src/share/archive.rs", "MAX_ARCHIVE"),
];

#[test]
fn sizes_are_those_of_the_constants() {
    let page = read("docs/reference/limits.md");
    let rows = rows(&page, "## Sizes\n");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), SIZES.iter().map(|size| size.0).collect::<Vec<_>>());
    for (row, (_, path, name)) in rows.iter().zip(SIZES) {
        let source = std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(set_to(&source, name), Some(number(row[1])), "{path} {name}");
    }
}

#[test]
fn the_budget_of_work_and_the_limits_of_a_pack_are_as_said() {
    let page = read("docs/reference/limits.md");
    let most = WorkLimits::default();
    let work: Vec<u64> = rows(&page, "## The work of one call\n").iter().map(|row| number(row[1])).collect();
    assert_eq!(work, [most.steps, most.bytes]);
    let schema: serde_json::Value = serde_json::from_str(&read("schemas/pack.v1.json")).unwrap();
    let keys = &schema["properties"]["limits"]["properties"];
    for (key, most) in [("work_steps", most.steps), ("work_bytes", most.bytes)] {
        assert_eq!(keys[key]["maximum"].as_u64(), Some(most), "{key}: a pack can only lower it");
    }
    let default = tapster::machinery::terms::rules::BuildLimits::default();
    let scripts = default.scripts;
    let known = [
        default.pass_visits,
        default.rounds.into(),
        default.text_bytes as u64,
        scripts.operations,
        scripts.calls as u64,
        scripts.text as u64,
        scripts.list as u64,
        scripts.map as u64,
    ];
    let rows = rows(&page, "## Limits of a pack\n");
    assert_eq!(rows.len(), known.len());
    for (row, known) in rows.iter().zip(known) {
        let key = words(row[0]).next().unwrap();
        assert_eq!((number(row[1]), keys[key]["maximum"].as_u64()), (known, Some(number(row[2]))), "{key}");
    }
}

#[test]
fn the_limits_of_the_text_languages_are_as_said() {
    let page = read("docs/reference/limits.md");
    let known = [TextLimits::HANDLEBARS, TextLimits::LIQUID, TextLimits::MACROS, TextLimits::LEAF, TextLimits::CALC];
    for (row, known) in rows(&page, "## Limits of the text languages\n").iter().zip(known) {
        for (cell, known) in row[1..].iter().zip([known.length, known.depth, known.steps, known.output]) {
            let said = if *cell == "any" { usize::MAX as u64 } else { number(cell) };
            assert_eq!(said, known as u64, "{row:?}");
        }
    }
}
