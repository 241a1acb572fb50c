//! What a pack author is told about bad files.

use std::fs;

use tapster::Ruleset;
use tapster::machinery::pack::load_cases;

use crate::pack::*;

#[test]
fn cases_are_checked_apart_from_the_rules() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "")
        .file("p/cases/deep/c.toml", "kind = \"case\"\nversion = 2\n[[case]]\nname = \"c\"\nrun = \"x\"\nexpect = { lsts = {} }\n");
    clean(&dir.load("p"));
    let (report, sources) = load_cases(&Start::Folder(dir.path("p")), &bare(), Schemas::shipped());
    assert_eq!(report.items().len(), 1);
    assert_eq!(report.items()[0].help.as_deref(), Some("did you mean `lists`?"), "{}", render::human(&report, &sources, false));
}

#[test]
fn a_missing_pack_names_the_nearest() {
    let dir = Folder::new("pack");
    dir.pack("neutral", "", "").pack("p", "extends = [{ name = \"neutrall\" }]\n", "");
    let loaded = dir.load("p");
    let missing = one(&loaded, Code::PackMissing);
    assert_eq!(at(&loaded, missing).1, "\"neutrall\"");
    assert_eq!(missing.help.as_deref(), Some("did you mean `neutral`?"));
    let loaded = load_with(
        &Start::Name("nowhere".to_owned()),
        &[],
        &PackShelf { folders: vec![dir.0.clone()], bare: true, ..PackShelf::default() },
        &schemas(),
    );
    assert_eq!(one(&loaded, Code::PackMissing).help.as_deref(), Some("known here: `neutral`, `p`"));
}

#[test]
fn names_of_packs_cannot_lead_elsewhere() {
    let dir = Folder::new("pack");
    dir.pack("secret", "", "").pack("inner/p", "extends = [{ name = \"../secret\" }]\n", "");
    let loaded = dir.load("inner/p");
    one(&loaded, Code::PackMissing);
}

#[test]
fn a_folder_without_manifest_is_no_pack() {
    let dir = Folder::new("pack");
    dir.file("p/x.toml", "kind = \"task\"\nversion = 1\n");
    one(&dir.load("p"), Code::PackManifest);
    one(&dir.load("nothing"), Code::FileMissing);
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "");
    let file = fs::File::create(dir.path("p/huge.toml")).unwrap();
    file.set_len(100 << 20).unwrap();
    let loaded = dir.load("p");
    assert!(one(&loaded, Code::FileTooLarge).message.contains("huge.toml"));
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    let deep = 100_000;
    let json = format!("{{\"kind\":\"task\",\"version\":1,\"x\":{}1{}}}", "[".repeat(deep), "]".repeat(deep));
    let braces = format!("kind = \"task\"\nx = {}1{}", "{a=".repeat(deep), "}".repeat(deep));
    let dots = format!("kind = \"task\"\n{}b = 1", "a.".repeat(deep));
    let header = format!("kind = \"task\"\n[[{}b]]\n", "a.".repeat(deep));
    let both = format!("x = {}1{}", format!("{{ {}c = ", "a.".repeat(30)).repeat(30), "}".repeat(30));
    for (name, text) in [("a.json", json), ("b.toml", braces), ("c.toml", dots), ("d.toml", header), ("e.toml", both)] {
        let dir = Folder::new("pack");
        dir.pack("p", "", "").file(&format!("p/{name}"), text);
        one(&dir.load("p"), Code::FileTooDeep);
    }
}

#[test]
fn ordinary_nesting_and_brackets_in_texts_are_not_deep() {
    let dir = Folder::new("pack");
    let texts = "t = \"[[[[\" # [[[[[[[\nu = '''\n[[[['''\nv = [1.5, 2.5,\n [3.5]]\n".to_owned();
    let row = |n: usize| format!("[[slot]]\nname = \"s{n}\"\na.b.c = {{ d = [[\"{}\"]] }}\n", "[".repeat(99));
    dir.pack("p", "", &(texts + (0..100).map(row).collect::<String>().as_str()));
    clean(&dir.load("p"));
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_are_refused_and_circles_end() {
    let dir = Folder::new("pack");
    dir.file("secret.toml", "kind = \"lore\"\n").pack("p", "", THREE);
    std::os::unix::fs::symlink(dir.path("secret.toml"), dir.path("p/link.toml")).unwrap();
    std::os::unix::fs::symlink(dir.path("p"), dir.path("p/again")).unwrap();
    let loaded = dir.load("p");
    assert!(one(&loaded, Code::FileOutside).message.contains("link.toml"));
    assert_eq!(loaded.report.items().len(), 1);
}

#[test]
fn rules_in_yaml_are_told_and_other_files_of_its_format_are_not() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/mkdocs.yml", "site_name: Mine\n").file("p/data/names.yaml", b"kind: \xff\n");
    dir.file("p/late.yml", format!("{}\nkind: slots\n", "#".repeat(5_000))).file("p/more/slots.yaml", "version: 1\r\nkind: slots\r\n");
    let loaded = dir.load("p");
    let told = one(&loaded, Code::FileStray);
    assert!(told.message.contains("more/slots.yaml"), "{}", told.message);
}

#[test]
fn overlays_in_the_folder_of_a_pack_are_written_for_each_other() {
    let dir = Folder::new("pack");
    let overlay = |name: &str, extends: &str| format!("kind = \"overlay\"\nversion = 1\n{name}extends = \"{extends}\"\n");
    // one is named by its file, two have the same name, and one is written for itself
    dir.pack("p", "", "").file("p/a.toml", overlay("", "twin")).file("p/b.toml", overlay("name = \"twin\"\n", "twin"));
    dir.file("p/c.toml", overlay("name = \"twin\"\n", "a")).file("p/self.toml", overlay("", "self"));
    let loaded = dir.load("p");
    assert!(one(&loaded, Code::PackMissing).message.contains("`self`"));
}

#[test]
fn bytes_that_are_not_utf8_are_placed() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/x.toml", b"kind = \"task\"\nabout = \"caf\xe9\"\n");
    let loaded = dir.load("p");
    let encoding = one(&loaded, Code::FileEncoding);
    assert_eq!(at(&loaded, encoding).0, "2:13");
    assert!(encoding.message.contains("byte 26"), "{}", encoding.message);
}

#[test]
fn broken_files_never_panic() {
    let whole = "kind = \"task\"\nversion = 1\n[[task]]\nname = \"t\"\ntext = '''\né\\u00e9\n'''\nkeys = [\"a\", { b.c = 1.5e3 }]\n";
    let json = "{\"kind\":\"task\",\"version\":1,\"task\":[{\"name\":\"\\ud83d\\ude00é\",\"depth\":-1.5e3,\"x\":[true,null]}]}";
    let dir = Folder::new("pack");
    for (name, text) in [("x.toml", whole), ("x.json", json)] {
        for cut in 0..text.len() {
            let path = dir.path(name);
            fs::write(&path, &text.as_bytes()[..cut]).unwrap();
            let (_, report, sources) = load_file(&path, &schemas());
            assert!(!render::human(&report, &sources, true).is_empty() || report.is_empty());
            let mut bytes = text.as_bytes().to_vec();
            bytes[cut] = b"\"[{\\\n\xff"[cut % 6];
            fs::write(&path, &bytes).unwrap();
            let (_, report, sources) = load_file(&path, &schemas());
            assert_eq!(render::plain(&report, &sources).lines().count(), report.items().len());
        }
    }
}

// What a rule file with very many mistakes is answered: a bounded number of diagnostics, made with bounded work.

/// What is said of an overlay over the pack `base`.
fn said(rows: &str) -> Vec<tapster::diag::Diagnostic> {
    let text = format!("kind = \"overlay\"\nversion = 1\nname = \"over\"\n{rows}");
    match Ruleset::open_with("base", &[("over.toml", &text)]) {
        Ok(rules) => rules.warnings().items().to_vec(),
        Err(rejected) => rejected.report.items().to_vec(),
    }
}

#[test]
fn names_are_compared_with_a_budget_and_the_first_errors_are_shown() {
    let mut rows = String::new();
    for n in 0..8_000 {
        rows += &format!("[[path]]\nname = \"own.value_{n:05}\"\ntype = \"any\"\n");
    }
    for n in 0..2_000 {
        rows += &format!("[[fact]]\nname = \"fact_{n:05}\"\nis = {{ \"owm.value_{n:05}\" = true }}\n");
    }
    let mut said = said(&rows);
    // rules are shown no more of the decisions of an overlay either
    let others = said.iter().filter(|d| d.severity != Severity::Error).map(|d| d.code.as_str()).collect::<Vec<_>>();
    assert_eq!(others, ["bound.exceeded"]);
    said.retain(|d| d.severity == Severity::Error);
    assert_eq!(said.len(), 301, "300 errors, and how many more there are");
    assert_eq!(said[0].help.as_deref(), Some("did you mean `own.value_00000`?"));
    assert!(!said[299].help.as_deref().unwrap().starts_with("did you mean"), "{}", said[299]);
    assert_eq!((&said[300].code, said[300].message.as_str()), (&Code::BoundExceeded.into(), "1700 more errors are not shown"));
}

#[test]
fn rows_of_allow_beyond_the_limit_are_told() {
    let row = "[[allow]]\ncode = \"scene.field\"\nreason = \"a test\"\n";
    let said = said(&row.repeat(1_001));
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].code, Code::BoundExceeded);
    assert!(said[0].span.is_some());
}

#[test]
fn a_new_row_is_compared_with_lower_rows_however_many_the_overlay_has() {
    let mut rows = String::new();
    for n in 0..600 {
        rows += &format!("[[field]]\nname = \"message/own_field_{n:04}\"\ntype = \"text\"\n");
    }
    rows += "[[slot]]\nname = \"scenarioo\"\ntext = \"x\"\n";
    let said = said(&rows);
    assert_eq!(said.iter().map(|d| d.code.as_str()).collect::<Vec<_>>(), ["layer.nearly"], "{said:?}");
}

// Files of older schema versions.

#[test]
fn a_case_of_version_one_is_read_as_version_two() {
    let dir = Folder::new("pack");
    let text = "kind = \"case\"\nversion = 1\n[[case]]\nname = \"c\"\nrun = \"x/a\"\nlist = \"entries\"\ngiven = [{ id = \"1\" }]\nthen = []\nwarnings = [\"w\"]\n";
    dir.file("c.toml", text);
    let (doc, report, sources) = load_file(&dir.path("c.toml"), Schemas::shipped());
    assert_eq!(report.items().len(), 1, "{}", render::human(&report, &sources, false));
    assert_eq!(report.items()[0].code, Code::SchemaUpgraded);
    let case = &doc.unwrap().root.get("case").unwrap().as_list().unwrap()[0].clone();
    let expected = serde_json::json!({
        "name": "c", "run": "x/a", "lists": { "entries": [{ "id": "1" }] },
        "expect": { "lists": { "entries": [] }, "warnings": ["w"] },
    });
    assert_eq!(case.to_json(), expected);
    let id = case.get("lists").unwrap().get("entries").unwrap().as_list().unwrap()[0].get("id").unwrap();
    assert_eq!(sources.place(id.span).unwrap().to_string(), format!("{}:7:17", dir.path("c.toml").display()));
}

#[test]
fn mistakes_of_an_old_file_are_still_placed() {
    let dir = Folder::new("pack");
    dir.file("c.toml", "kind = \"case\"\nversion = 1\n[[case]]\nname = \"c\"\nrun = 7\nthen = []\n");
    let (_, report, sources) = load_file(&dir.path("c.toml"), Schemas::shipped());
    let wrong = report.items().iter().find(|d| d.code == Code::SchemaType).unwrap();
    assert_eq!(sources.place(wrong.span.unwrap()).unwrap().line, 5);
}
