//! The command line: every row of `tests/cli/*.toml` is one run in-process; what needs a real process is below.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod artifact;
mod chat;
mod watch;

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{self, Folder};

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// One run. `{tmp}` in arguments and texts is a fresh folder with `files` in it.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    args: Vec<String>,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    /// Diagnostics go to a terminal.
    #[serde(default)]
    terminal: bool,
    #[serde(default)]
    files: std::collections::BTreeMap<String, String>,
    exit: u8,
    /// Pieces of standard output and of standard error; an empty list means that nothing is written.
    out: Option<Vec<String>>,
    err: Option<Vec<String>>,
    /// Pieces that neither holds.
    #[serde(default)]
    never: Vec<String>,
    /// What files hold afterwards, in full.
    #[serde(default)]
    written: std::collections::BTreeMap<String, String>,
    /// Pieces of files of the folder, after the run.
    #[serde(default)]
    wrote: std::collections::BTreeMap<String, Vec<String>>,
    /// JSON pointer into standard output = what is there.
    json: Option<std::collections::BTreeMap<String, Json>>,
}

struct Ran {
    exit: u8,
    out: String,
    err: String,
}

fn tapster(args: &[String], stdin: &str, env: &std::collections::BTreeMap<String, String>, terminal: bool) -> Ran {
    let (exit, out, err) = support::run_program(args, stdin.as_bytes(), &|name| env.get(name).map(OsString::from), terminal);
    Ran { exit, out, err }
}

fn holds(stream: &str, what: &str, pieces: Option<&Vec<String>>, put: &dyn Fn(&str) -> String, wrong: &mut Vec<String>) {
    match pieces {
        Some(pieces) if pieces.is_empty() && !stream.is_empty() => wrong.push(format!("{what} should be empty:\n{stream}")),
        Some(pieces) => {
            let missing = pieces.iter().map(|p| put(p)).filter(|p| !stream.contains(p));
            wrong.extend(missing.map(|p| format!("{what} lacks `{p}`:\n{stream}")));
        }
        None => {}
    }
}

fn check(case: &Case) -> Vec<String> {
    let folder = Folder::new(&case.name);
    let put = |text: &str| text.replace("{tmp}", &folder.0.display().to_string());
    for (name, text) in &case.files {
        folder.write(name, text);
    }
    let args: Vec<String> = case.args.iter().map(|a| put(a)).collect();
    let ran = tapster(&args, &case.stdin, &case.env.iter().map(|(k, v)| (k.clone(), put(v))).collect(), case.terminal);
    let mut wrong = Vec::new();
    if ran.exit != case.exit {
        wrong.push(format!("exit {} instead of {}\nout: {}\nerr: {}", ran.exit, case.exit, ran.out, ran.err));
    }
    holds(&ran.out, "standard output", case.out.as_ref(), &put, &mut wrong);
    holds(&ran.err, "standard error", case.err.as_ref(), &put, &mut wrong);
    for piece in case.never.iter().filter(|p| ran.out.contains(*p) || ran.err.contains(*p)) {
        wrong.push(format!("`{}` is written:\n{}\n{}", piece.escape_debug(), ran.out, ran.err));
    }
    for (name, text) in &case.written {
        let found = std::fs::read_to_string(folder.0.join(name)).unwrap_or_default();
        if found != *text {
            wrong.push(format!("`{name}` holds:\n{found}"));
        }
    }
    for (name, pieces) in &case.wrote {
        let text = std::fs::read_to_string(folder.0.join(name)).unwrap_or_default();
        holds(&text, name, Some(pieces), &put, &mut wrong);
    }
    if let Some(expected) = &case.json {
        match serde_json::from_str::<Json>(&ran.out) {
            Ok(json) => wrong.extend(
                expected
                    .iter()
                    .filter(|(at, value)| json.pointer(at) != Some(value))
                    .map(|(at, value)| format!("`{at}` is {:?} instead of {value}", json.pointer(at).map(Json::to_string))),
            ),
            Err(error) => wrong.push(format!("no JSON ({error}):\n{}", ran.out)),
        }
    }
    wrong
}

/// A document that takes too much work was recognised: other packs are not tried, and none is recommended.
#[test]
fn a_document_that_takes_too_much_work_is_told_as_a_bound() {
    let book = format!("{{\"entries\":[{}]}}", vec![r#"{"key":[]}"#; 150_000].join(","));
    let ran = tapster(&["import", "-", "--pack", "sillytavern"].map(String::from), &book, &std::collections::BTreeMap::new(), false);
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""));
    for piece in ["error[bound.exceeded]: `standard input`", "it ended in rule `st_lorebook`", "import it in smaller parts"] {
        assert!(ran.err.contains(piece), "{piece}: {}", ran.err);
    }
    assert!(!ran.err.contains("no pack here reads it"), "{}", ran.err);
}

#[test]
fn every_case_holds() {
    support::in_checkout();
    let files = std::fs::read_dir("tests/cli").unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let only = std::env::var("CASE").unwrap_or_default();
    let mut wrong = Vec::new();
    for file in files {
        let cases: Cases = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let chosen = cases.case.iter().filter(|case| case.name.contains(&only));
        wrong.extend(chosen.flat_map(|case| check(case).into_iter().map(|w| format!("{}: {w}", case.name)).collect::<Vec<_>>()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn help_of_every_verb_ends_with_examples() {
    for verb in ["build", "explain", "check", "diff", "new", "fmt", "import", "schema", "ops", "packs", "template"] {
        let ran = tapster(&[verb.to_owned(), "--help".to_owned()], "", &std::collections::BTreeMap::new(), false);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{verb}");
        let (_, examples) = ran.out.rsplit_once("Examples:\n").unwrap_or_else(|| panic!("{verb}: {}", ran.out));
        assert!(examples.contains(&format!("tapster {verb}")), "{verb}: {examples}");
    }
}

/// What is stored is what was authored: every byte, also a mark at the beginning and white space at the end.
#[test]
fn templates_are_stored_stay_and_go() {
    let folder = Folder::new("templates");
    let text = "\u{feff}{ \"id\": \"../Ü\", \"task\": \"t\",\r\n \"name\": \"\", \"version\": 1.0, \"layout\": [], \"slots\": {} }\n\n";
    folder.write("t.json", text);
    let env = [("TAPSTER_TEMPLATES".to_owned(), folder.0.join("store").display().to_string())].into();
    let file = folder.0.join("t.json").display().to_string();
    let run = |args: &[&str], exit: u8| {
        let args: Vec<String> = std::iter::once("template").chain(args.iter().copied()).map(str::to_owned).collect();
        let ran = tapster(&args, text, &env, false);
        assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
        ran
    };
    assert_eq!(run(&["list"], 0).out, "");
    run(&["add", &file], 0);
    assert_eq!(run(&["show", "../Ü"], 0).out, text);
    assert!(run(&["add", "-"], 1).err.contains("error[store.taken]"));
    run(&["add", "-", "--force"], 0);
    assert_eq!(run(&["show", "../Ü"], 0).out, text);
    assert_eq!(std::fs::read_dir(folder.0.join("store")).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2, "nothing outside of the store");
    assert!(run(&["list"], 0).out.contains("../Ü"));
    run(&["remove", "../Ü"], 0);
    assert!(run(&["remove", "../Ü"], 2).err.contains("holds no template `../Ü`"));
    assert!(run(&["show", "../Ü"], 2).err.contains("tapster template list"));
    assert_eq!(run(&["list"], 0).out, "");
}

/// A database keeps templates too: a path that ends in `.db`, or the store of `TAPSTER_STORE`.
#[test]
fn templates_are_stored_in_a_database() {
    let folder = Folder::new("database");
    let text = "{ \"id\": \"../Ü\", \"task\": \"t\", \"name\": \"\", \"version\": 1.0, \"layout\": [], \"slots\": {} }\n";
    let file = folder.0.join("x.db").display().to_string();
    let run = |args: &[&str], env: &[(&str, &str)], exit: u8| {
        let args: Vec<String> = std::iter::once("template").chain(args.iter().copied()).map(str::to_owned).collect();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let ran = tapster(&args, text, &env, false);
        assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
        ran
    };
    run(&["add", "-", "--store", &file], &[], 0);
    assert_eq!(run(&["show", "../Ü"], &[("TAPSTER_STORE", &file)], 0).out, text);
    let address = format!("sqlite:{file}");
    assert!(run(&["add", "-"], &[("TAPSTER_TEMPLATES", &address), ("TAPSTER_STORE", "nowhere")], 1).err.contains("error[store.taken]"));
    assert!(run(&["list", "--store", &address], &[], 0).out.contains("../Ü"));
    run(&["remove", "../Ü", "--store", &file], &[], 0);
    assert!(run(&["show", "../Ü", "--store", &file], &[], 2).err.contains("holds no template `../Ü`"));
    let refused = run(&["list", "--store", "mysql://me:hush-hush@host/x"], &[], 2).err;
    assert!(refused.contains("error[store.url]") && !refused.contains("hush-hush"), "{refused}");
    // a folder of that name is a folder
    std::fs::create_dir(folder.0.join("y.db")).unwrap();
    run(&["add", "-", "--store", &folder.0.join("y.db").display().to_string()], &[], 0);
    assert_eq!(std::fs::read_dir(folder.0.join("y.db")).unwrap().count(), 1);
}

#[test]
fn an_import_of_an_import_is_the_same() {
    let none = std::collections::BTreeMap::new();
    let once = tapster(&["import".to_owned(), "examples/hello/card.json".to_owned()], "", &none, false);
    assert_eq!(once.exit, 0, "{}", once.err);
    let twice = tapster(&["import".to_owned(), "-".to_owned()], &once.out, &none, false);
    assert_eq!(once.out, twice.out);
    assert!(once.out.contains("lantern_room"), "a field that no rule reads is kept:\n{}", once.out);
}

#[test]
fn schemas_are_written_whole() {
    let folder = Folder::new("schemas");
    let args = ["schema".to_owned(), "--all".to_owned(), folder.0.display().to_string()];
    let ran = tapster(&args, "", &std::collections::BTreeMap::new(), false);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let names = |dir: &Path| -> Vec<_> {
        let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let mut written = names(&folder.0);
    written.retain(|name| name != "share");
    assert_eq!(written, names(Path::new("schemas")));
    assert_eq!(names(&folder.0.join("share")), names(Path::new("crates/exchange/schemas")));
    let read = |path: PathBuf| serde_json::from_slice::<Json>(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(read(folder.0.join("lore.v2.json")), read(Path::new("editors/lore.v2.json").to_owned()));
}

// Files of very many mistakes: what is told is bounded, and what is left out is said. None of them may take long.

#[test]
fn unknown_keys_in_one_long_line_are_counted() {
    let folder = Folder::new("keys of one line");
    let keys: String = (0..40_000).fold(String::new(), |mut out, n| {
        let _ = write!(out, ",\"k{n}\":1");
        out
    });
    folder.write("scene.json", format!("{{\"pack\":\"base\",\"message\":\"x\"{keys}}}"));
    let (exit, _, err) = support::tapster(&["build", &folder.at("scene.json")]);
    assert_eq!(exit, 1);
    assert!(err.contains("39700 more errors are not shown"), "{err}");
    assert!(err.len() < 300_000);
}

#[test]
fn of_very_many_packs_in_one_extends_the_first_are_looked_for() {
    let folder = Folder::new("extends");
    let names: Vec<String> = (0..16_000).map(|n| format!("\"../n{n}\"")).collect();
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\n";
    folder.write("pack.toml", format!("{manifest}extends = [{}]\n", names.join(", ")));
    for verb in ["check", "audit"] {
        let (exit, _, err) = support::tapster(&[verb, &folder.0.display().to_string()]);
        assert_ne!(exit, 0);
        assert!(err.contains("`extends` has 16000 entries"), "{err}");
        assert!(err.matches("error[").count() <= 70, "{err}");
    }
}

#[test]
fn overlays_that_do_not_exist_are_counted() {
    let folder = Folder::new("overlays");
    folder.write("scene.json", "{\"pack\":\"base\",\"message\":\"x\"}");
    let (scene, missing) = (folder.at("scene.json"), folder.at("none"));
    let names: Vec<String> = (0..16_000).map(|n| format!("{missing}{n}.toml")).collect();
    let mut args = vec!["build", scene.as_str()];
    args.extend(names.iter().flat_map(|name| ["--overlay", name.as_str()]));
    let (exit, _, err) = support::tapster(&args);
    assert_ne!(exit, 0);
    assert!(err.contains("more errors are not shown"), "{}", err.len());
}

#[test]
fn blocks_of_leaves_are_read_once_each() {
    let folder = Folder::new("leaves");
    let content = format!("{}{}", "{{#if 1}}".repeat(14_000), "{{#endif}}".repeat(12_000));
    let message = serde_json::json!({ "kind": "message", "role": "system", "content": content });
    let plan = vec![message; 15];
    let template = serde_json::json!({
        "kind": "template", "version": 1, "id": "t", "task": "chapter_summarization", "name": "n", "revision": "head",
        "layout": [{ "kind": "slot", "name": "a" }], "slots": { "a": { "priority": 0, "plan": plan } },
    });
    folder.write("templates/t.json", template.to_string());
    folder.write("pack.toml", "kind = \"pack\"\nversion = 1\nname = \"t\"\nrelease = \"0.1.0\"\nextends = [\"storyforge\"]\n");
    let (exit, _, err) = support::tapster(&["check", &folder.0.display().to_string()]);
    assert!(exit < 2, "{err}");
}

#[test]
fn fields_that_a_conversion_loses_are_tried_out_together() {
    let folder = Folder::new("lost fields");
    let mut card = serde_json::json!({ "name": "Ines", "description": "d", "first_mes": "hi" });
    for n in 0..1_500 {
        card[format!("unknown{n}")] = format!("value {n}").into();
    }
    folder.write("card.json", serde_json::json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": card }).to_string());
    let (exit, out, err) = support::tapster(&["convert", &folder.at("card.json"), "--to", "risuai", "--report"]);
    assert_eq!(exit, 0, "{err}");
    assert!(!out.contains("were not tried out") && !err.contains("were not tried out"), "{out}{err}");
}

/// Rules in which a check finds nothing are remembered; a damaged file is not believed, and what cannot be written stops nothing.
#[test]
fn checks_are_remembered_in_a_folder() {
    let folder = Folder::new("checks");
    let overlay = folder.put("mine.toml", "kind = \"overlay\"\nversion = 2\n\n[preset]\nmain = \"Be brief.\"\n");
    let build = |cache: &str| {
        let args = ["build", "--pack", "sillytavern", "--overlay", &overlay, "--message", "Hello."];
        let (cache, path) = (OsString::from(folder.at(cache)), OsString::new());
        let env = |name: &str| (name == "TAPSTER_CACHE").then(|| cache.clone()).or_else(|| (name == "TAPSTER_PACKS").then(|| path.clone()));
        let (exit, out, err) = support::tapster_with(&args, b"", &env);
        assert_eq!((exit, err.as_str()), (0, ""));
        out
    };
    let files = || -> Vec<PathBuf> { std::fs::read_dir(folder.path("cache/checks")).unwrap().map(|file| file.unwrap().path()).collect() };
    let first = build("cache");
    let [file] = files().try_into().unwrap();
    let written = std::fs::read(&file).unwrap();
    assert_eq!(build("cache"), first);
    std::fs::write(&file, "0\nrole\n").unwrap();
    assert_eq!(build("cache"), first);
    assert_eq!(std::fs::read(&file).unwrap(), written);
    assert_eq!(build("mine.toml"), first);
    // another text is other rules
    folder.write("mine.toml", "kind = \"overlay\"\nversion = 2\n\n[preset]\nmain = \"Be loud.\"\n");
    assert_ne!(build("cache"), first);
    assert_eq!(files().len(), 2);
    // old files make room for new ones, and what is called otherwise stays
    (0..300).for_each(|n| folder.write(&format!("cache/checks/{n:064x}"), ""));
    folder.write(&format!("cache/checks/{}", "z".repeat(64)), "");
    folder.write("mine.toml", "kind = \"overlay\"\nversion = 2\n\n[preset]\nmain = \"Be slow.\"\n");
    build("cache");
    assert_eq!(files().len(), 2);
}
