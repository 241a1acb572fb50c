//! `tapster artifact`: what a reader does to a store, what is refused, and how a session is removed.

use serde_json::{Value as Json, json};
use tapster_session::store::{SqlStore, block_on};

use super::{Ran, tapster};
use crate::support::Folder;

const RULES: &str = r#"
kind = "overlay"
version = 1
name = "mood"

[[writer]]
name = "me"
about = "Whoever types the commands."

[[artifact]]
name = "mood"
tag = "mood"
writer = "me"
visibility = "ui_only"
surface = "panel:mood"
retention = { mode = "windowed", versions = 2 }

[[artifact]]
name = "world"
tag = "world"
writer = "me"
content_type = "json"
visibility = "ui_only"
surface = "panel:world"
"#;

/// A folder with the rules, in which commands run on one store.
struct Desk {
    folder: Folder,
}

impl Desk {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        folder.write("mood.toml", RULES);
        Self { folder }
    }

    fn path(&self, inside: &str) -> String {
        self.folder.0.join(inside).display().to_string()
    }

    /// Runs `tapster artifact …` on `store.db`.
    #[track_caller]
    fn run(&self, args: &[&str], exit: u8) -> Ran {
        self.run_on(&self.path("store.db"), args, "", exit)
    }

    #[track_caller]
    fn run_on(&self, store: &str, args: &[&str], stdin: &str, exit: u8) -> Ran {
        let mut all: Vec<String> = ["artifact"].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        all.extend(["--store".to_owned(), store.to_owned()]);
        let ran = tapster(&all, stdin, &std::collections::BTreeMap::new(), false);
        assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
        ran
    }

    /// Writes, with the rules.
    #[track_caller]
    fn put(&self, args: &[&str], exit: u8) -> Ran {
        let overlay = self.path("mood.toml");
        let all: Vec<&str> = ["put"].iter().chain(args).chain(&["--pack", "talespinner", "--overlay", &overlay]).copied().collect();
        self.run(&all, exit)
    }

    fn sql(&self, statement: &'static str) {
        use sqlx::Connection as _;
        sqlx::any::install_default_drivers();
        block_on(async {
            let mut conn = sqlx::AnyConnection::connect(&format!("sqlite:{}", self.path("store.db"))).await.unwrap();
            sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
            conn.close().await.unwrap();
        });
    }
}

#[test]
fn reading_makes_no_store() {
    let desk = Desk::new("reading");
    let typo = desk.path("typo.db");
    for args in [
        &["list"][..],
        &["list", "--sessions"],
        &["show", "mood"],
        &["history", "mood"],
        &["diff", "mood"],
        &["log"],
        &["export"],
        &["forget", "--yes"],
    ] {
        let ran = desk.run_on(&typo, args, "", 2);
        assert!(ran.err.contains("error[store.unreachable]: there is no store") && ran.err.contains("help"), "{}", ran.err);
    }
    assert!(!std::path::Path::new(&typo).exists());
    desk.folder.write("empty.db", "");
    assert!(desk.run_on(&desk.path("empty.db"), &["list"], "", 2).err.contains("has no tables of a store"));
    assert_eq!(std::fs::read(desk.path("empty.db")).unwrap(), b"");
}

#[test]
fn what_names_no_database_is_told() {
    let desk = Desk::new("names");
    assert!(desk.run_on("", &["list"], "", 2).err.contains("`--store` is empty"));
    let ran = desk.run_on("x.DB", &["list"], "", 2);
    assert!(ran.err.contains("`x.DB` does not say which kind of database") && ran.err.contains("`sqlite:x.DB`"), "{}", ran.err);
    let folder = desk.folder.0.display().to_string();
    assert!(desk.run_on(&folder, &["list"], "", 2).err.contains("is a folder of templates"));
}

#[test]
fn an_unknown_session_is_told() {
    let desk = Desk::new("unknown");
    desk.put(&["mood", "--based-on", "none", "--value", "calm", "--session", "tavern"], 0);
    let overlay = desk.path("mood.toml");
    let rules = ["--pack", "talespinner", "--overlay", &overlay];
    let verbs = [
        &["list"][..],
        &["log"],
        &["export"],
        &["forget", "--yes"],
        &["show", "mood"],
        &["show", "mood", "--version", "1"],
        &["history", "mood"],
        &["history", "mood", "--archived"],
        &["diff", "mood"],
        &[&["prune"][..], &rules].concat(),
        &[&["show", "--ui"][..], &rules].concat(),
    ];
    for verb in verbs {
        let ran = desk.run(&[verb, &["--session", "tavren"]].concat(), 1);
        assert!(ran.err.contains("no session `tavren` of `local`") && ran.err.contains("`tavern`"), "{verb:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    let ran = desk.run(&["history", "mod", "--archived", "--session", "tavern"], 1);
    assert!(ran.err.contains("has no artifact `mod`") && ran.err.contains("`mood`"), "{}", ran.err);
    assert_eq!(desk.run(&["history", "mood", "--archived", "--session", "tavern"], 0).out, "");
    // a time is for what the pack shows
    let ran = desk.run(&["show", "mood", "--turn", "3"], 2);
    assert!(ran.err.contains("--ui"), "{}", ran.err);
}

#[test]
fn a_refused_write_leaves_room_for_an_import() {
    let desk = Desk::new("refused");
    desk.put(&["mood", "--based-on", "none", "--value", "calm", "--session", "tavern"], 0);
    let dump = desk.run(&["export", "--session", "tavern"], 0).out;
    assert!(
        desk.put(&["mood", "--based-on", "3", "--value", "late", "--session", "copy", "--turn", "9"], 1).err.contains("artifact_conflict")
    );
    assert!(desk.run(&["list", "--sessions"], 0).out.contains("never written"));
    let store = desk.path("store.db");
    desk.run_on(&store, &["import", "-", "--session", "copy"], &dump, 0);
    assert!(desk.run_on(&store, &["import", "-", "--session", "copy"], &dump, 1).err.contains("error[store.taken]"));
    assert_eq!(desk.run(&["show", "mood", "--session", "copy"], 0).out, "calm\n");
}

#[test]
fn a_session_is_removed_if_that_is_confirmed() {
    let desk = Desk::new("forget");
    desk.put(&["mood", "--based-on", "none", "--value", "calm"], 0);
    desk.put(&["world", "--based-on", "none", "--value", "{}"], 0);
    desk.sql("UPDATE tapster_versions SET value = '{' WHERE value = '{}'");
    // damage to one artifact keeps nobody from the others
    assert_eq!(desk.run(&["show", "mood"], 0).out, "calm\n");
    desk.put(&["mood", "--based-on", "1", "--value", "tense"], 0);
    assert_eq!(desk.run(&["history", "mood"], 0).out.lines().count(), 2);
    desk.run(&["diff", "mood"], 0);
    assert!(desk.run(&["list"], 2).err.contains("error[store.damaged]"));

    let ran = desk.run(&["forget"], 1);
    assert!(ran.err.contains("error[store.confirm]") && ran.err.contains("2 artifacts") && ran.err.contains("--yes"), "{}", ran.err);
    assert_eq!(desk.run(&["show", "mood"], 0).out, "tense\n");
    assert_eq!(desk.run(&["forget", "--yes"], 0).out, "removed session `default` of `local` with 2 artifacts, 0 turns, and its log\n");
    desk.run(&["forget", "--yes"], 1);
    desk.put(&["world", "--based-on", "none", "--value", "{}"], 0);
}

#[test]
fn what_cannot_be_written_is_told() {
    let desk = Desk::new("put");
    let long = "x".repeat(10_000);
    for args in [&[&*long][..], &[&*long, "--writer", "me"]] {
        let ran = desk.put(&[args, &["--based-on", "none", "--value", "calm"][..]].concat(), 1);
        assert!(ran.err.len() < 500 && !ran.err.contains("``"), "{}", ran.err);
    }
    let ran = desk.put(&["mod", "--based-on", "none", "--value", "calm"], 1);
    assert!(ran.err.contains("pack `talespinner` has no artifact `mod`") && ran.err.contains("did you mean `mood`?"), "{}", ran.err);

    for (value, number) in [
        ("12345678901234567890123", "12345678901234567890123"),
        (r#"{"a\"": ["\\", -9223372036854775809]}"#, "-9223372036854775809"),
        ("[18446744073709551615, 18446744073709551616]", "18446744073709551616"),
    ] {
        let ran = desk.put(&["world", "--based-on", "none", "--value", value], 1);
        assert!(ran.err.contains(&format!("the number `{number}` has more than 64 bits")), "{}", ran.err);
    }
    let kept = r#"{"n":[18446744073709551615,-9223372036854775808,1.5e300,0.1],"12345678901234567890123":"\"12345678901234567890123"}"#;
    desk.put(&["world", "--based-on", "none", "--value", kept], 0);
    assert_eq!(
        serde_json::from_str::<Json>(&desk.run(&["show", "world"], 0).out).unwrap().to_string(),
        kept.replace("1.5e300", "1.5e+300")
    );
}

#[test]
fn an_unsound_dump_is_refused() {
    let desk = Desk::new("dump");
    let store = desk.path("store.db");
    let version = |n: i64| json!({ "version": n, "based_on": null, "at": { "now": 1, "turn": 1 }, "value": "calm" });
    let archived = json!({ "tag": "mood", "version": version(1), "archived": { "now": 1, "turn": 1 }, "reason": "versions" });
    let sound = json!({
        "format": "tapster_session", "version": 1, "artifacts": [["mood", [version(2), version(3)]]], "archive": [archived],
        "state": { "revision": 1, "at": { "now": 1, "turn": 1 }, "value": {} }, "at": { "now": 1, "turn": 1 }, "turns": 1,
    });
    for (place, value, why) in [
        ("/artifacts/0/1/1/version", json!(i64::MAX), "not a number from 1 to 2^53"),
        ("/artifacts/0/1/1/version", json!(2), "not in ascending order"),
        ("/artifacts/0/1/1/version", json!(1), "not in ascending order"),
        ("/artifacts/0/1/0/version", json!(-2), "not a number from 1"),
        ("/artifacts/0/1/0/based_on", json!(2), "based on version 2"),
        ("/artifacts/0/1", json!([]), "has no version"),
        ("/archive/0/version/version", json!(4), "in the archive, and the latest version is 3"),
        ("/archive/0/version/version", json!(2), "there twice"),
        ("/archive/0/version/version", json!(-1), "not a number from 1"),
        ("/archive/0/tag", json!("other"), "the artifact is not there"),
        ("/state/revision", json!(i64::MAX), "the revision of the state"),
        ("/turns", json!(-1), "the number of turns is -1"),
        ("/at/turn", json!(i64::MAX), "the turn of the session"),
        ("/at", json!({ "now": 1, "turn": 1, "nwo": 2 }), "unknown field `nwo`"),
        ("/turns", json!(1.5), "is not an exported session"),
    ] {
        let mut dump = sound.clone();
        *dump.pointer_mut(place).unwrap() = value;
        let ran =
            desk.run_on(&store, &["import", "-"], &dump.to_string(), if why.contains("field") || why.contains("exported") { 1 } else { 2 });
        assert!(ran.err.contains(why), "{place}: {}", ran.err);
    }
    let mut unknown = sound.clone();
    unknown["artefacts"] = json!([]);
    assert!(desk.run_on(&store, &["import", "-"], &unknown.to_string(), 1).err.contains("unknown field `artefacts`"));
    let long = sound.to_string().replace("\"calm\"", "123456789012345678901");
    assert!(desk.run_on(&store, &["import", "-"], &long, 1).err.contains("has more than 64 bits"));
    desk.run_on(&store, &["import", "-"], &sound.to_string(), 0);
    desk.put(&["mood", "--based-on", "3", "--value", "tense"], 0);
    assert!(block_on(SqlStore::open_existing(&store)).is_ok());
}

/// With work that grows with the square of the number of lines, this would not end.
#[test]
fn many_lines_are_read_in_time() {
    let desk = Desk::new("lines");
    let text = "\n".repeat(1 << 20) + "nonsense";
    desk.folder.write("turns.jsonl", &text);
    let file = desk.path("turns.jsonl");
    for (place, name) in [("-", "standard input"), (&*file, &*file)] {
        let args = ["turn", "--pack", "talespinner", "--replies", place, "--store", &desk.path("store.db")].map(str::to_owned);
        let ran = tapster(&args, &text, &std::collections::BTreeMap::new(), false);
        assert!(ran.exit == 1 && ran.err.contains(&format!("line 1048577 of `{name}`")), "{}", ran.err);
    }
}
