//! A pack with mistakes planted all over it: one run tells every one of them at its line, and nothing else.

use std::path::Path;

use tapster::Ruleset;

#[test]
fn one_run_tells_every_planted_mistake() {
    let root = Path::new(env!("CHECKOUT")).join("tests/planted");
    let pack = root.join("pack").display().to_string();
    let Err(rejected) = Ruleset::open(&pack, &[]) else { panic!("the planted pack was accepted") };
    let mut found: Vec<String> = rejected
        .report
        .items()
        .iter()
        .map(|d| {
            let place = d.span.and_then(|s| rejected.sources.place(s)).map(|p| format!("{}:{}", p.file, p.line)).unwrap_or_default();
            format!("{} {}", place.strip_prefix(&format!("{pack}/")).unwrap_or(&place), d.code.as_str())
        })
        .collect();
    found.sort();
    let planted = std::fs::read_to_string(root.join("mistakes.txt")).unwrap();
    let mut planted: Vec<&str> = planted.lines().map(|l| l.split_once("  ").map_or(l, |(mistake, _)| mistake)).collect();
    planted.sort_unstable();
    assert_eq!(planted.len(), 24);
    assert_eq!(found, planted, "{rejected}");
}
