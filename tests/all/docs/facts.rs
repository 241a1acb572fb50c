//! What pages say that no block of them shows: tables that are written by hand are held against the program.

use std::collections::BTreeSet;

use tapster::{Ruleset, Scene, run};

use super::pages::read;

/// The first cells of the rows of the table under a heading.
pub(super) fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = page.split_once(heading).unwrap_or_else(|| panic!("no heading `{heading}`")).1;
    let lines = section.lines().skip_while(|l| !l.starts_with("| ")).take_while(|l| l.starts_with('|')).skip(2);
    lines.map(|l| l.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The words in backticks of a cell.
pub(super) fn words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// What a command writes to standard error.
fn complaints(args: &[&str]) -> String {
    crate::program::tapster(args).2
}

/// A scene file with an unknown key is refused, and the complaint lists the keys that there are.
#[test]
fn the_page_of_scene_files_names_every_key() {
    let page = read("docs/reference/scene-file.md");
    let shown: BTreeSet<&str> = rows(&page, "## Keys\n").iter().flat_map(|row| words(row[0])).collect();
    let folder = std::env::temp_dir().join(format!("tapster-docs-{}-keys", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("scene.toml"), "no_such_key_at_all = 1\n").unwrap();
    let said = complaints(&["build", folder.to_str().unwrap()]);
    std::fs::remove_dir_all(&folder).unwrap();
    let list = said.split_once("known here: ").and_then(|(_, rest)| rest.split_once(';')).expect("the keys are listed").0;
    let known: BTreeSet<&str> = list.split(", ").collect();
    assert_eq!(shown, known);
}

/// Every program that an application is told to start can be started in its pack.
#[test]
fn programs_that_are_meant_to_be_started_can_be() {
    let page = read("docs/reference/running-programs.md");
    let rows = rows(&page, "These programs are meant to be started:");
    assert!(rows.len() > 8, "{rows:?}");
    for row in rows {
        let pack = words(row[1]).next().expect("a row names its pack");
        let rules = Ruleset::open(pack, &[]).unwrap();
        for program in words(row[0]) {
            let scene = Scene::new(&serde_json::json!({ "context": { "window": 4096 } }));
            let outcome = run(&rules, program, &scene, &[]);
            assert!(outcome.is_ok(), "{pack}: {program}: {:?}", outcome.err());
        }
    }
}

/// The index leads to every page.
#[test]
fn the_index_names_every_page() {
    let index = read("docs/README.md");
    let names = super::pages::pages().into_iter().map(|p| p.strip_prefix(super::pages::root().join("docs")).unwrap().display().to_string());
    let missing: Vec<String> = names
        .map(|name| name.replace('\\', "/"))
        // pages that are made from the packs have an index of their own
        .filter(|name| name != "README.md" && !name.starts_with("programs/"))
        .filter(|name| !index.contains(&format!("({name})")))
        .collect();
    assert!(missing.is_empty(), "docs/README.md does not lead to {missing:#?}");
}
