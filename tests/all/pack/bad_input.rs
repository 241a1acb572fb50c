//! What a pack author is told about bad files.

use std::fs;

use super::*;
use tapster::machinery::pack::load_cases;

#[test]
fn a_syntax_error_is_placed_and_the_other_files_are_still_checked() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "[[slot]\nname = \"a\"\n").file("p/task.toml", "kind = \"task\"\nversion = 1\n[[task]]\nname = \"t\"\ndepht = 3\n");
    let loaded = dir.load("p");
    let syntax = loaded.report.items().iter().find(|d| d.code == Code::SyntaxToml).expect("a syntax error");
    assert!(at(&loaded, syntax).0.starts_with("3:"), "{:?}", at(&loaded, syntax));
    let key = one(&loaded, Code::SchemaUnknownKey);
    assert_eq!(at(&loaded, key), ("5:1".to_owned(), "depht"));
    assert_eq!(key.help.as_deref(), Some("did you mean `depth`?"));
    assert_eq!(key.rule.as_deref(), Some("task t, from layer `p`"));
    assert!(loaded.pack.is_some() && !loaded.unread.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_makes_no_echo_of_the_names_in_it() {
    let dir = Folder::new("pack");
    let rules = "[[slot]]\nname = \"a\"\nremove = true\n[[slot]]\nname = \"b\"\nremove = true\n";
    dir.pack("low", "", "[[slot]\nname = \"a\"\n").pack("p", BASE, rules);
    let loaded = dir.load("p");
    let removed = one(&loaded, Code::RemoveUnknown);
    assert_eq!(at(&loaded, removed), ("7:8".to_owned(), "\"b\""));
    assert!(
        loaded.report.items().iter().all(|d| matches!(d.code.known(), Some(Code::SyntaxToml | Code::RemoveUnknown))),
        "{:?}",
        loaded.report
    );
}

#[test]
fn wrong_types_values_and_missing_keys_are_placed() {
    let dir = Folder::new("pack");
    let text =
        "kind = \"task\"\nversion = 1\n[[task]]\nname = \"t\"\ndepth = \"two\"\nrole = \"assistent\"\n[[task]]\ntext = \"x\"\nkeys = [1]\n";
    dir.pack("p", "", "").file("p/task.toml", text);
    let loaded = dir.load("p");
    let wrong = loaded.report.items().iter().filter(|d| d.code == Code::SchemaType).collect::<Vec<_>>();
    assert_eq!(wrong.len(), 2, "{:?}", loaded.report);
    assert_eq!(wrong[0].message, "`depth` must be a whole number, but is a text");
    assert_eq!(at(&loaded, wrong[0]), ("5:9".to_owned(), "\"two\""));
    assert_eq!(wrong[1].message, "an element of `keys` must be a text, but is a whole number");
    let value = one(&loaded, Code::SchemaValue);
    assert_eq!(at(&loaded, value), ("6:8".to_owned(), "\"assistent\""));
    assert_eq!(value.help.as_deref(), Some("did you mean `assistant`?"));
    let missing = one(&loaded, Code::SchemaMissingKey);
    assert_eq!(at(&loaded, missing), ("7:1".to_owned(), "[[task]]"));
    assert!(missing.message.contains("`name`"));
}

#[test]
fn a_choice_is_one_complaint() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/task.toml", "kind = \"task\"\nversion = 1\n[[task]]\nname = \"t\"\nkeys = 7\n");
    let loaded = dir.load("p");
    let wrong = one(&loaded, Code::SchemaType);
    assert_eq!(wrong.message, "`keys` must be a text or a list, but is a whole number");
    assert_eq!(loaded.report.items().len(), 1);
}

#[test]
fn a_missing_name_is_told_once() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/task.toml", "kind = \"task\"\nversion = 1\n[[task]]\ndepth = 1\n");
    let loaded = dir.load("p");
    one(&loaded, Code::SchemaMissingKey);
    assert_eq!(loaded.report.items().len(), 1);
}

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
fn json_files_are_checked_in_place_too() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "")
        .file("p/task.json", "{\n  \"kind\": \"task\", \"version\": 1,\n  \"task\": [{ \"name\": \"t\", \"depth\": -1 }]\n}");
    let loaded = dir.load("p");
    let value = one(&loaded, Code::SchemaValue);
    assert_eq!(at(&loaded, value), ("3:36".to_owned(), "-1"));
    assert_eq!(value.message, "`depth` must be at least 0");
}

#[test]
fn an_unknown_kind_names_the_nearest() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/x.toml", "kind = \"pipline\"\nversion = 1\n").file("p/y.toml", "version = 1\n");
    let loaded = dir.load("p");
    let kinds: Vec<_> = loaded.report.items().iter().filter(|d| d.code == Code::SchemaKind).collect();
    assert_eq!(kinds.len(), 2);
    assert_eq!(kinds[0].help.as_deref(), Some("did you mean `pipeline`?"));
    assert_eq!(kinds[1].message, "the file has no `kind`");
}

#[test]
fn versions_that_are_missing_or_unknown_are_told() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/x.toml", "kind = \"task\"\n").file("p/y.toml", "kind = \"task\"\nversion = 9\n");
    let loaded = dir.load("p");
    let all: Vec<_> = loaded.report.items().iter().filter(|d| d.code == Code::SchemaVersion).map(|d| d.message.as_str()).collect();
    assert_eq!(all, ["the file has no `version`", "version 9 of `task` is not supported"]);
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
fn packs_in_a_circle_are_named_with_both_places() {
    let dir = Folder::new("pack");
    dir.pack("a", "extends = [{ name = \"b\" }]\n", "").pack("b", "extends = [{ name = \"a\" }]\n", "");
    let loaded = dir.load("a");
    let cycle = one(&loaded, Code::CyclePack);
    assert!(cycle.message.ends_with("a → b → a"), "{}", cycle.message);
    let other = loaded.sources.place(cycle.related[0].0).unwrap();
    assert!(other.file.ends_with("a/pack.toml"), "{other}");
    assert!(loaded.sources.place(cycle.span.unwrap()).unwrap().file.ends_with("b/pack.toml"));
}

#[test]
fn releases_and_engines_are_checked() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "").pack("p", "extends = [{ name = \"low\", release = \"^2\" }]\n", "");
    let loaded = dir.load("p");
    assert!(one(&loaded, Code::PackVersion).message.contains("1.2.3"));
    dir.file("q/pack.toml", "kind = \"pack\"\nversion = 1\nname = \"q\"\nrelease = \"1.0\"\nengine = \">=99\"\n");
    let loaded = dir.load("q");
    assert_eq!(at(&loaded, one(&loaded, Code::PackVersion)).1, "\">=99\"");
    assert_eq!(at(&loaded, one(&loaded, Code::PackManifest)).1, "\"1.0\"");
}

#[test]
fn a_folder_without_manifest_is_no_pack() {
    let dir = Folder::new("pack");
    dir.file("p/x.toml", "kind = \"task\"\nversion = 1\n");
    one(&dir.load("p"), Code::PackManifest);
    one(&dir.load("nothing"), Code::FileMissing);
}

#[test]
fn two_rows_of_one_name_are_named_with_both_places() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "[[slot]]\nname = \"a\"\n[[slot]]\nname = \"a\"\n");
    let loaded = dir.load("p");
    let twice = one(&loaded, Code::LayerTwice);
    assert_eq!(at(&loaded, twice).0, "6:8");
    assert_eq!(loaded.sources.place(twice.related[0].0).unwrap().line, 4);
}

#[test]
fn a_row_without_name_is_told() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "[[slot]]\nn = 1\n");
    let loaded = dir.load("p");
    assert_eq!(at(&loaded, one(&loaded, Code::LayerNoName)).1, "[[slot]]");
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
fn a_byte_order_mark_is_a_warning() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/x.toml", "\u{FEFF}kind = \"lore\"\nversion = 1\n[v]\nx = 1\n");
    let loaded = dir.load("p");
    assert_eq!(one(&loaded, Code::FileBom).severity, Severity::Warning);
    assert!(loaded.pack.unwrap().values.contains_key("v"));
}

#[test]
fn keys_written_twice_are_told() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "").file("p/x.json", "{\"kind\": \"lore\", \"version\": 1,\n\"kind\": \"lore\"}");
    let loaded = dir.load("p");
    let twice = one(&loaded, Code::SyntaxDuplicate);
    assert_eq!(at(&loaded, twice), ("2:1".to_owned(), "\"kind\""));
    assert_eq!(loaded.sources.place(twice.related[0].0).unwrap().line, 1);
    let dir = Folder::new("pack");
    dir.pack("p", "", "[lore]\nx = 1\nx = 2\n");
    let loaded = dir.load("p");
    assert_eq!(at(&loaded, one(&loaded, Code::SyntaxDuplicate)).0, "5:1");
}

#[test]
fn numbers_that_rules_cannot_hold_are_told() {
    let dir = Folder::new("pack");
    dir.pack("p", "", "x = 99999999999999999999\ny = inf\nz = 0xff\n");
    let loaded = dir.load("p");
    assert_eq!(loaded.report.items().iter().filter(|d| d.code == Code::SyntaxToml).count(), 2, "{:?}", loaded.report);
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
