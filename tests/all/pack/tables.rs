//! Tables and columns that a pack declares: they are layered and checked like those of the language, and what nobody
//! declares stays an error.

use serde_json::json;
use tapster::diag::Code;
use tapster::machinery::pack::{PackFiles, PackShelf, Schemas, Start, load_read};
use tapster::{Ruleset, Scene};

use super::overlay;

fn pack(name: &str, extends: &str, rules: &str) -> PackFiles {
    let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"1.0.0\"\nextends = [{extends}]\n");
    let files = [
        ("pack.toml".to_owned(), manifest.into_bytes()),
        ("rules.toml".to_owned(), format!("kind = \"overlay\"\nversion = 1\n{rules}").into_bytes()),
    ];
    PackFiles::of(name, files)
}

fn load(packs: Vec<PackFiles>, overlays: &[&str]) -> Result<Ruleset, tapster::PackError> {
    let top = packs.last().unwrap().name.clone();
    let overlays: Vec<_> = overlays.iter().enumerate().map(|(n, text)| overlay(n, text)).collect();
    Ruleset::load(&Start::Name(top), &overlays, &PackShelf { packs, ..PackShelf::default() })
}

fn told(packs: Vec<PackFiles>, overlays: &[&str]) -> Vec<String> {
    let report = match load(packs, overlays) {
        Ok(rules) => rules.warnings().clone(),
        Err(error) => error.report,
    };
    report.items().iter().map(ToString::to_string).collect()
}

const SONGS: &str = r#"
[[table]]
name = "song"
doc = "Songs."
[[column]]
name = "song/title"
type = "text"
required = true
[[column]]
name = "song/loudness"
type = "integer"
default = 3
[[column]]
name = "song/key"
type = "text"
values = ["major", "minor"]
[[song]]
name = "rain"
title = "Rain"
[[song]]
name = "sun"
title = "Sun"
loudness = 5
key = "major"
[[program]]
name = "sing"
over = "blocks"
[[pass]]
name = "sing/sing"
do = "set"
set = { "$said" = { of = "$table.song", get = "@title" }, "$loud" = { of = "$table.song", get = "@loudness" } }
"#;

fn songs() -> Vec<PackFiles> {
    vec![pack("songs", "\"base\"", SONGS)]
}

#[test]
fn rows_are_patched_moved_removed_and_added() {
    let rules =
        load(songs(), &["[[song]]\nname = \"snow\"\ntitle = \"Snow\"\nbefore = \"rain\"\n[[song]]\nname = \"sun\"\ntitle = \"Moon\"\n"])
            .unwrap();
    let outcome = tapster::run(&rules, "sing", &Scene::default(), &[]).unwrap();
    assert_eq!(outcome.get("said").to_json(), json!(["Snow", "Rain", "Moon"]));
    assert_eq!(outcome.get("loud").to_json(), json!([3, 3, 5]));
    let rules = load(songs(), &["[[song]]\nname = \"rain\"\nremove = true\n[arrange]\nsong = [\"sun\"]\n"]).unwrap();
    let outcome = tapster::run(&rules, "sing", &Scene::default(), &[]).unwrap();
    assert_eq!(outcome.get("said").to_json(), json!(["Sun"]));
}

#[test]
fn a_declared_table_without_rows_is_empty() {
    let rules = SONGS
        .replace("[[song]]\nname = \"rain\"\ntitle = \"Rain\"\n", "")
        .replace("[[song]]\nname = \"sun\"\ntitle = \"Sun\"\nloudness = 5\nkey = \"major\"\n", "");
    let rules = load(vec![pack("songs", "\"base\"", &rules)], &[]).unwrap();
    let outcome = tapster::run(&rules, "sing", &Scene::default(), &[]).unwrap();
    assert!(outcome.get("said").is_empty());
}

#[test]
fn mistakes_in_rows_are_told() {
    for (overlay, message) in [
        ("[[song]]\nname = \"x\"\n", "`x` has no `title`, which every row of table `song` must have (add `title = …`)"),
        ("[[song]]\nname = \"x\"\ntitle = 3\n", "`title` of `x` must be of type `text`, but is a whole number"),
        ("[[song]]\nname = \"x\"\ntitle = { a = 1 }\n", "`title` of `x` must be of type `text`, but is a table"),
        ("[[song]]\nname = \"x\"\ntitle = \"X\"\nkey = \"mino\"\n", "`key` of `x` cannot be `mino` (did you mean `minor`?)"),
        (
            "[[song]]\nname = \"x\"\ntitle = \"X\"\nloudnes = 1\n",
            "table `song` has no column `loudnes` (did you mean `loudness`? otherwise declare it",
        ),
        ("[[song]]\nname = \"x\"\ntitle = \"X\"\nmood = 1\n", "declare it: `[[column]]` with `name = \"song/mood\"`"),
        ("[[song]]\ntitle = \"X\"\n", "a row of `song` has no name"),
        ("[[sang]]\nname = \"x\"\n", "`[[table]]` with `name = \"sang\"` declares a table of your own"),
        ("[song]\nname = \"x\"\n", "unknown key `song`"),
        ("[[mode]]\nname = \"single\"\nmood = 1\n", "`[[column]]` with `name = \"mode/mood\"` declares it"),
    ] {
        let told = told(songs(), &[overlay]);
        assert!(told.iter().any(|told| told.contains(message)), "{overlay}\n{told:#?}");
    }
}

#[test]
fn mistakes_of_declarations_are_told() {
    for (rules, message) in [
        ("[[table]]\nname = \"slot\"\n", "`slot` is a word of rule files already, and cannot be a table of your own"),
        ("[[table]]\nname = \"version\"\n", "`version` is a word of rule files already"),
        ("[[table]]\nname = \"overlaid\"\n", "`overlaid` is a word of rule files already"),
        ("[[table]]\nname = \"options\"\n", "`options` is a word of rule files already"),
        ("[[table]]\nname = \"My.Table\"\n", "`name` does not have the required form"),
        ("[[column]]\nname = \"song/title\"\n", "there is no table `song` (declare it: `[[table]]` with `name = \"song\"`)"),
        (
            "[[table]]\nname = \"song\"\n[[column]]\nname = \"song/a\"\ntype = \"number\"\ndefault = \"x\"\n",
            "the default must be of type `number`, but is a text",
        ),
        ("[[column]]\nname = \"mode/loud\"\nrequired = true\n", "`loud` cannot be required"),
        ("[[column]]\nname = \"slot/role\"\n", "rows of table `slot` have a key `role` already"),
        ("[[column]]\nname = \"hook/event\"\n", "rows of table `hook` have a key `event` already"),
        (
            "[[table]]\nname = \"song\"\n[[column]]\nname = \"song/a\"\ntype = \"text\"\n[[column]]\nname = \"song/a\"\ntype = \"number\"\n",
            "names column `song/a` twice",
        ),
    ] {
        let told = told(vec![pack("p", "\"base\"", rules)], &[]);
        assert!(told.iter().any(|told| told.contains(message)), "{rules}\n{told:#?}");
    }
}

#[test]
fn defaults_of_paths_and_fields_are_of_their_type_and_words() {
    let path = |more: &str| format!("[[path]]\nname = \"mood\"\ndoc = \"How it is.\"\n{more}\n");
    let field = |more: &str| format!("[[field]]\nname = \"message/mood\"\ndoc = \"How it is.\"\n{more}\n");
    for (rules, message) in [
        (path("type = \"integer\"\ndefault = \"high\""), "the default must be of type `integer`, but is a text"),
        (path("type = \"text\"\ndefault = 3"), "change the value, or the type of path `mood`"),
        (path("type = \"text\"\nvalues = [\"glad\", \"sad\"]\ndefault = \"gald\""), "the default cannot be `gald` (did you mean `glad`?)"),
        (path("values = [\"glad\", \"sad\"]\ndefault = \"fine\""), "the default cannot be `fine` (known here: `glad`, `sad`)"),
        (path("values = \"$table.mode\"\ndefault = \"stritc\""), "the default cannot be `stritc` (did you mean `strict`?)"),
        (field("type = \"integer\"\ndefault = \"heavy\""), "the default must be of type `integer`, but is a text"),
        (field("type = \"boolean\"\ndefault = 1"), "change the value, or the type of field `message/mood`"),
        (field("values = [\"grateful\", \"gloomy\"]\ndefault = \"gratefull\""), "did you mean `grateful`?"),
    ] {
        let told = told(vec![pack("p", "\"base\"", &rules)], &[]);
        assert!(told.iter().any(|told| told.contains(message)), "{rules}\n{told:#?}");
    }
    for rules in [
        path("type = \"integer\"\ndefault = 3"),
        path("type = \"number\"\ndefault = 3"),
        path("type = \"integer\"\ndefault = \"$dialect\""),
        path("type = \"text\"\nvalues = [\"glad\"]\ndefault = \"{{$dialect}}\""),
        path("type = \"text\"\nvalues = [\"glad\"]\ndefault = \"\""),
        // another layer may have the row
        path("values = \"$table.mode\"\ndefault = \"elsewhere\""),
        field("type = \"condition\"\ndefault = true"),
        field("values = [\"grateful\", \"gloomy\"]\ndefault = \"fine\""),
    ] {
        assert_eq!(told(vec![pack("p", "\"base\"", &rules)], &[]), Vec::<String>::new(), "{rules}");
    }
}

#[test]
fn a_manifest_with_a_key_that_has_no_effect_any_more_is_accepted() {
    let manifest =
        "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n[entry_points]\nbuild = \"mine\"\n";
    let rules = load(vec![PackFiles::of("p", [("pack.toml".to_owned(), manifest.into())])], &[]).unwrap();
    let found: Vec<String> = rules.warnings().items().iter().map(ToString::to_string).collect();
    assert!(matches!(found.as_slice(), [told] if told.starts_with("warning[schema.upgraded]: `entry_points` has no effect")), "{found:?}");
    assert!(!rules.pack().values.contains_key("entry_points"));
}

#[test]
fn two_layers_may_not_give_a_column_two_types() {
    let low = pack("low", "\"base\"", "[[table]]\nname = \"song\"\n[[column]]\nname = \"song/a\"\ntype = \"text\"\n");
    let top = |more: &str| pack("top", "\"low\"", &format!("[[column]]\nname = \"song/a\"\ntype = \"number\"\n{more}"));
    let found = told(vec![low.clone(), top("")], &[]);
    assert!(
        found.iter().any(|told| told.contains("column `song/a` is of type `number` here, and of type `text` in a lower layer")),
        "{found:?}"
    );
    assert_eq!(told(vec![low.clone(), top("replace = true\n")], &[]), Vec::<String>::new());
    assert_eq!(told(vec![low, pack("top", "\"low\"", "[[column]]\nname = \"song/a\"\ndoc = \"More.\"\n")], &[]), Vec::<String>::new());
}

#[test]
fn many_rows_may_have_a_declared_column() {
    let modes: String = (0..1_000).map(|n| format!("[[mode]]\nname = \"m{n}\"\nloud = {}\n", n % 2 == 0)).collect();
    let column = "[[column]]\nname = \"mode/loud\"\ntype = \"boolean\"\ndefault = false\n";
    assert_eq!(told(vec![pack("p", "\"base\"", &format!("{column}{modes}"))], &[]), Vec::<String>::new());
    // without the declaration, they are told of in few words
    let found = told(vec![pack("p", "\"base\"", &modes)], &[]);
    assert_eq!(found.len(), 13, "{found:#?}");
    assert!(found.iter().any(|told| told.contains("unknown key `loud` in 988 more rows of `mode`")), "{found:#?}");
}

#[test]
fn too_many_columns_and_unknown_keys_are_bounded() {
    let columns: String = (0..5_000).map(|n| format!("[[column]]\nname = \"song/c{n}\"\n")).collect();
    let found = told(vec![pack("p", "\"base\"", &format!("[[table]]\nname = \"song\"\n{columns}"))], &[]);
    assert!(found.iter().any(|told| told.contains("table `song` has more than 100 columns of its own")) && found.len() < 10, "{found:?}");
    let keys: String = (0..5_000).map(|n| format!("[[mode]]\nname = \"m{n}\"\nk{n} = 1\n")).collect();
    assert!(told(vec![pack("p", "\"base\"", &keys)], &[]).len() <= 302);
}

#[test]
fn a_file_alone_may_declare_its_own_table() {
    let text = "kind = \"overlay\"\nversion = 1\n[[table]]\nname = \"song\"\n[[song]]\nname = \"rain\"\n";
    let file = |text: &str| tapster::RuleFile { name: "f.toml".into(), path_in_pack: "f.toml".into(), bytes: text.into() };
    assert!(load_read(&file(text), Schemas::shipped()).1.is_empty());
    let (_, report, _) = load_read(&file(&text.replace("\"song\"", "\"sung\"")), Schemas::shipped());
    assert_eq!(report.items()[0].code, Code::SchemaUnknownKey);
}

#[test]
fn the_schema_of_a_pack_knows_its_tables_columns_and_options() {
    let rules = load(vec![pack("p", "\"base\"", &format!("{SONGS}[[column]]\nname = \"mode/loud\"\ntype = \"boolean\"\n"))], &[]).unwrap();
    let schema = Schemas::shipped().bundled_for("overlay.v2.json", rules.pack()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let file = |rows: serde_json::Value| {
        let mut file = json!({ "kind": "overlay", "version": 2 });
        file.as_object_mut().unwrap().extend(rows.as_object().unwrap().clone());
        file
    };
    let good = file(json!({ "song": [{ "name": "x", "title": "X", "loudness": "$lore.depth" }], "mode": [{ "name": "m", "loud": true }] }));
    assert!(validator.is_valid(&good));
    for bad in
        [json!({ "song": [{ "name": "x", "mood": 1 }] }), json!({ "song": [{ "name": "x", "loudness": "much" }] }), json!({ "sang": [] })]
    {
        assert!(!validator.is_valid(&file(bad.clone())), "{bad}");
    }
    assert!(!validator.is_valid(&file(json!({ "mode": [{ "name": "m", "loud": "yes" }] }))));
}
