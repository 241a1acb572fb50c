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

#[test]
fn sizes_are_those_of_the_constants() {
    let page = read("docs/reference/limits.md");
    let rows = rows(&page, "## Sizes\n");
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        let place: Vec<&str> = words(row[2]).collect();
        let [path, name] = place[..] else { panic!("{row:?}") };
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
