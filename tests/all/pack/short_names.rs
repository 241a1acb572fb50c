//! Files that are about one program: short names of passes and rounds, and what layers make of them.

use super::*;

const PROGRAM: &str = "[[program]]\nname = \"lore\"\nover = \"entries\"\n";

#[test]
fn a_file_says_its_program_once() {
    let dir = Folder::new("pack");
    dir.pack(
        "p",
        "",
        "program = \"lore\"\n[[pass]]\nname = \"scan\"\ndo = \"drop\"\n[[pass]]\nname = \"other/scan\"\ndo = \"drop\"\n\
         [[pass]]\nname = \"loop\"\ndo = \"repeat\"\nprogram = \"x\"\n[[round]]\nname = \"loop/again\"\n[[round]]\nname = \"other/loop/again\"\n",
    );
    dir.file("p/programs.toml", format!("kind = \"lore\"\nversion = 1\n{PROGRAM}"));
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "pass"), ["lore/scan", "other/scan", "lore/loop"]);
    assert_eq!(names(&loaded, "round"), ["lore/loop/again", "other/loop/again"]);
    assert_eq!(names(&loaded, "program"), ["lore"]);
    // the program is no value of the pack, and a name keeps its place
    assert!(loaded.pack.as_ref().unwrap().values.is_empty());
    let pass = &loaded.pack.as_ref().unwrap().tables["pass"]["lore/scan"];
    assert_eq!(loaded.sources.snippet(pass.name_span), "\"scan\"");
    assert_eq!(row(&loaded, "pass", "lore/loop")["program"], "x");
}

#[test]
fn a_program_in_single_brackets_is_declared_and_named() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "[program]\nname = \"lore\"\nover = \"entries\"\n[[pass]]\nname = \"scan\"\ndo = \"drop\"\n");
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "program"), ["lore"]);
    assert_eq!(row(&loaded, "program", "lore"), serde_json::json!({ "over": "entries" }));
    assert_eq!(names(&loaded, "pass"), ["lore/scan"]);
    let json = Folder::new("pack");
    json.pack("p", "", "").file(
        "p/more.json",
        r#"{"kind": "lore", "version": 1, "program": {"name": "lore"}, "pass": [{"name": "scan", "do": "drop"}, {"name": "last", "do": "drop"}]}"#,
    );
    assert_eq!(names(&json.load("p"), "pass"), ["lore/scan", "lore/last"]);
}

#[test]
fn layers_and_fingerprints_know_full_names_only() {
    let long = "[[pass]]\nname = \"lore/scan\"\ndo = \"drop\"\n[[pass]]\nname = \"lore/print\"\ndo = \"drop\"\n";
    let short = "program = \"lore\"\n[[pass]]\nname = \"scan\"\ndo = \"drop\"\n[[pass]]\nname = \"print\"\ndo = \"drop\"\n";
    let patch = "program = \"lore\"\n[[pass]]\nname = \"scan\"\nlist = \"x\"\nafter = \"print\"\n[[pass]]\nname = \"new\"\ndo = \"drop\"\nbefore = \"print\"\n";
    let prints = [long, short].map(|low| {
        let dir = Folder::new("pack");
        dir.pack("low", "", low).pack("p", BASE, patch);
        let loaded = dir.load("p");
        clean(&loaded);
        assert_eq!(names(&loaded, "pass"), ["lore/new", "lore/print", "lore/scan"]);
        loaded.pack.unwrap().fingerprint
    });
    assert_eq!(prints[0], prints[1]);
    // what `expects` names is the row under its full name
    let dir = Folder::new("pack");
    dir.pack("low", "", short).pack("p", BASE, "program = \"lore\"\n[[pass]]\nname = \"scan\"\nexpects = \"00000000\"\nlist = \"x\"\n");
    let loaded = dir.load("p");
    let stale = one(&loaded, Code::LayerStale);
    assert!(stale.message.starts_with("pass `lore/scan` was patched"), "{}", stale.message);
    let fresh = stale.help.as_ref().unwrap().split('"').nth(1).unwrap().to_owned();
    dir.pack("p", BASE, &format!("[[pass]]\nname = \"lore/scan\"\nexpects = \"{fresh}\"\nlist = \"x\"\n"));
    clean(&dir.load("p"));
}

#[test]
fn a_short_name_needs_a_program_and_a_program_short_names() {
    let dir = Folder::new("pack");
    dir.pack("p", "", &format!("{PROGRAM}[[pass]]\nname = \"scan\"\ndo = \"drop\"\n"));
    let loaded = dir.load("p");
    let found = one(&loaded, Code::SchemaValue);
    assert_eq!(at(&loaded, found), ("7:8".to_owned(), "\"scan\""));
    assert!(found.help.as_ref().unwrap().starts_with("write `lore/scan`, or `[program]`"));
    dir.pack("p", "", "program = \"lore\"\n[[pass]]\nname = \"lore/scan\"\ndo = \"drop\"\n");
    let loaded = dir.load("p");
    let found = one(&loaded, Code::SchemaValue);
    assert_eq!((at(&loaded, found), found.severity), (("3:11".to_owned(), "\"lore\""), Severity::Warning));
}

#[test]
fn an_overlay_may_be_about_one_program() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "[[pass]]\nname = \"lore/scan\"\ndo = \"drop\"\n");
    let loaded = dir.load_over(
        "p",
        &["program = \"lore\"\n[[pass]]\nname = \"scan\"\nlist = \"x\"\n", "[[pass]]\nname = \"lore/scan\"\nlist = \"y\"\n"],
    );
    assert!(one(&loaded, Code::LayerConflict).message.contains("`list` of pass `lore/scan`"));
    assert_eq!(row(&loaded, "pass", "lore/scan"), serde_json::json!({ "do": "drop", "list": "y" }));
}
