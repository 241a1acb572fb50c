//! The house rules that a compiler does not hold: which room may look at which, what the engine may not know, where
//! files and clocks may be touched, and tables that must agree.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod circles;
mod dependencies;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tapster::diag::Code;
use tapster::machinery::pack::KINDS;

/// Products whose rules are data. The engine knows none of them.
const PRODUCTS: &[&str] = &["sillytavern", "risuai", "storyforge", "talespinner", "vibetavern"];

/// The sources of the crates, and the room that a crate is; one without a name has a folder for each of its rooms.
const CRATES: &[(&str, &str)] = &[
    ("crates/text/src", ""),
    ("src", ""),
    ("crates/session/src", ""),
    ("crates/client/src", "client"),
    ("crates/exchange/src", ""),
    ("crates/testing/src", "testing"),
    ("cli/src", "cli"),
];

/// Which rooms a room may look at. Nothing looks at `cli`, the outermost door, and it may look at everything. Which
/// crate may look at which is held by the compiler.
const ARROWS: &[(&str, &[&str])] = &[
    ("diag", &[]),
    ("model", &["diag"]),
    ("text", &["diag", "model"]),
    ("artifact", &["diag", "model"]),
    ("terms", &["diag", "model", "text"]),
    ("syntax", &["diag", "model", "text", "terms"]),
    ("verbs", &["diag", "model", "text", "terms", "syntax"]),
    ("program", &["diag", "model", "text", "terms", "syntax", "verbs"]),
    ("macros", &["diag", "model", "text", "terms"]),
    ("template", &["diag", "model", "text", "terms"]),
    ("reading", &["diag", "model"]),
    ("pack", &["diag", "model", "text", "terms", "artifact", "program", "macros", "template", "reading"]),
    ("build", &["diag", "model", "text", "terms", "verbs", "program", "macros", "template", "pack"]),
    ("store", &["diag", "artifact"]),
    ("session", &["diag", "model", "store", "artifact", "pack", "build"]),
    ("client", &["diag", "model", "text", "reading", "pack", "build"]),
    ("import", &["diag", "model"]),
    ("share", &["diag"]),
    // it runs what a case names, as the command line would
    ("testing", &["diag", "model", "text", "terms", "verbs", "pack", "build", "import"]),
    // a room of the command line that knows nothing of it
    ("format", &["diag"]),
];

/// Files over 800 lines, and why they stay whole.
const LONG: &[(&str, &str)] = &[("tests/all/text.rs", "one table of cases a text language")];

fn root() -> &'static Path {
    Path::new(env!("CHECKOUT"))
}

/// The Rust files of all crates.
fn sources() -> Vec<(String, String)> {
    CRATES.iter().flat_map(|(folder, _)| rust(folder)).collect()
}

/// The room that a source file is in; the files beside the rooms of a crate are in none.
fn room(path: &str) -> Option<&str> {
    let (rest, own) = CRATES.iter().find_map(|(folder, own)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *own)))?;
    let folder = rest.split_once('/').map(|(folder, _)| folder);
    if own.is_empty() { folder } else { Some(folder.filter(|folder| *folder == "format").unwrap_or(own)) }
}

/// All files below a folder, as paths from the root with `/`, and their texts.
fn files(folder: &str) -> Vec<(String, String)> {
    let mut open: Vec<PathBuf> = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let name = path.strip_prefix(root()).unwrap().display().to_string().replace('\\', "/");
            found.push((name, text));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing in {folder}");
    found
}

fn rust(folder: &str) -> Vec<(String, String)> {
    files(folder).into_iter().filter(|(name, _)| name.ends_with(".rs")).collect()
}

/// The lines of a source file that are code, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[track_caller]
fn none(mut wrong: Vec<String>) {
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_engine_names_no_product() {
    let engine = ["src", "crates", "cli/src", "schemas", "grammar", "rules/base"].into_iter().flat_map(files);
    let engine = engine.filter(|(name, _)| !name.starts_with("crates/exchange/src/import/"));
    let mut wrong = Vec::new();
    for (name, text) in engine {
        for (n, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            wrong.extend(PRODUCTS.iter().filter(|p| line.contains(**p)).map(|p| format!("{name}:{}: `{p}`", n + 1)));
        }
    }
    none(wrong);
}

#[test]
fn rooms_look_only_where_they_may() {
    let sources = sources();
    let rooms: BTreeSet<&str> = sources.iter().filter_map(|(name, _)| room(name)).collect();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(room, _)| *room).chain(["cli"]).collect();
    assert_eq!(rooms, known, "every room stands in the table");
    let mut wrong = Vec::new();
    for (name, text) in &sources {
        let Some(room) = room(name) else { continue };
        let Some((_, may)) = ARROWS.iter().find(|(r, _)| *r == room) else { continue };
        // in a crate that is one room, `crate` is the room
        let is_crate = CRATES.iter().any(|(_, own)| *own == room);
        for (n, line) in code(text) {
            for after in line.split("crate::").skip(1) {
                let seen: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if seen.is_empty() {
                    wrong.push(format!("{name}:{n}: write one `crate::` path a line"));
                }
                let own = seen == room;
                // `pub(crate) x: …` is no path; macros at the root have no room
                if !own && rooms.contains(&*seen) && !may.contains(&seen.as_str()) {
                    wrong.push(format!("{name}:{n}: `{room}` looks at `{seen}`"));
                }
                if !is_crate && !rooms.contains(&*seen) && !seen.is_empty() {
                    wrong.push(format!("{name}:{n}: `crate::{seen}` names no room"));
                }
            }
        }
    }
    none(wrong);
}

/// The table of `docs/architecture.md` says which room may look at which in the words of [`ARROWS`].
#[test]
fn the_page_has_the_same_rooms() {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let page = page.split_once("## The rooms\n").unwrap().1;
    let rows = page.lines().take_while(|line| !line.starts_with("## ")).filter_map(|line| line.strip_prefix("| `")).map(|row| {
        let path = row.split('`').next().unwrap_or_default();
        let room = path.rsplit('/').next().unwrap_or_default();
        assert!(root().join(path).is_dir(), "{path}");
        let may = row.trim_end_matches(['|', ' ']).rsplit(" | ").next().unwrap_or_default();
        format!("{room}: {may}")
    });
    let rules = ARROWS.iter().map(|(room, may)| if may.is_empty() { format!("{room}: –") } else { format!("{room}: {}", may.join(", ")) });
    let rules: Vec<String> = rules.chain(["cli: every room".to_owned()]).collect();
    assert_eq!(rows.collect::<Vec<_>>(), rules, "the rows of docs/architecture.md (left) are those of ARROWS (right)");
}

#[test]
fn every_file_says_its_idea_and_keeps_its_size() {
    let mut wrong = Vec::new();
    for (name, text) in ["src", "crates", "cli/src", "tests", "benches"].into_iter().flat_map(rust) {
        if !text.starts_with("//!") {
            wrong.push(format!("{name}: does not begin with `//!`"));
        }
        let lines = text.lines().count();
        if lines > 800 && !LONG.iter().any(|(long, why)| *long == name && !why.is_empty()) {
            wrong.push(format!("{name}: {lines} lines"));
        }
        if name.ends_with("/utils.rs") {
            wrong.push(format!("{name}: a room without an idea"));
        }
    }
    none(wrong);
}

#[test]
fn only_the_command_line_prints() {
    let quiet = sources().into_iter().filter(|(name, _)| !name.starts_with("cli/src/") || room(name) == Some("format"));
    let mut wrong = Vec::new();
    for (name, text) in quiet {
        for (n, line) in code(&text) {
            let loud = ["println!", "eprintln!", "print!(", "dbg!", "todo!", "unimplemented!"].iter().find(|w| line.contains(**w));
            wrong.extend(loud.map(|w| format!("{name}:{n}: `{w}`")));
        }
    }
    none(wrong);
}

#[test]
fn files_clocks_and_the_environment_stay_at_the_doors() {
    let doors = [
        "cli/src/",
        // reads case files and their snapshots, and runs cases in threads
        "crates/testing/src/",
        "crates/text/src/diag/file.rs",
        "src/pack/files.rs",
        "crates/session/src/store/disk.rs",
        "crates/session/src/store/folder.rs",
        "crates/session/src/store/sql/file.rs",
        "crates/client/src/keys.rs",
        "crates/client/src/pace.rs",
        "crates/client/src/tools/process.rs",
    ];
    let pure = sources().into_iter().filter(|(name, _)| !doors.iter().any(|door| name.starts_with(door)));
    let world = [
        "std::fs",
        "std::env",
        "std::time",
        "std::net",
        "std::process",
        "SystemTime",
        "Instant::now",
        "thread::",
        "Zoned::now",
        "Timestamp::now",
    ];
    let mut wrong = Vec::new();
    for (name, text) in pure {
        for (n, line) in code(&text) {
            wrong.extend(world.iter().filter(|w| line.contains(**w)).map(|w| format!("{name}:{n}: `{w}`")));
        }
    }
    none(wrong);
}

#[test]
fn kinds_schemas_and_pages_agree() {
    let kinds: BTreeSet<String> = KINDS.iter().map(|(kind, _)| (*kind).to_owned()).collect();
    let stem = |name: &str| name.rsplit('/').next().unwrap().split('.').next().unwrap().to_owned();
    // schemas of files that hold no rules are in a folder of their own
    let of_rules = files("schemas").into_iter().filter(|(name, _)| !name.starts_with("schemas/share/"));
    let schemas: BTreeSet<String> = of_rules.map(|(name, _)| stem(&name)).filter(|s| s != "terms").collect();
    assert_eq!(kinds, schemas, "a schema a kind");
    // one page a kind; what lies in folders further down is about other things
    let own = |name: &str| name.strip_prefix("docs/reference/").is_some_and(|page| !page.contains('/'));
    let pages: BTreeSet<String> = files("docs/reference").iter().filter(|(name, _)| own(name)).map(|(name, _)| stem(name)).collect();
    let missing: Vec<&String> = kinds.difference(&pages).collect();
    assert!(missing.is_empty(), "kinds without a page: {missing:?}");
}

#[test]
fn codes_are_unique_and_well_formed() {
    let mut seen = BTreeSet::new();
    for code in Code::ALL {
        assert!(seen.insert(code.as_str()), "`{}` stands for two things", code.as_str());
        assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'.' | b'_')), "`{}`", code.as_str());
        assert!(!code.doc().is_empty() && !code.doc().ends_with('.'), "`{}`", code.as_str());
    }
}

#[test]
fn every_example_is_whole() {
    let Ok(folders) = std::fs::read_dir(root().join("examples")) else { return };
    let folders = folders.map(|e| e.unwrap().path()).filter(|p| p.is_dir() && !p.ends_with("wishes"));
    let wanted = ["README.md", "scene.toml", "expected.json"];
    none(
        folders
            .flat_map(|f| wanted.iter().filter(|w| !f.join(w).is_file()).map(|w| format!("{}: no {w}", f.display())).collect::<Vec<_>>())
            .collect(),
    );
}

/// A file of `src/verbs` that declares itself as a verb stands in the table of verbs.
#[test]
fn every_verb_stands_in_the_table() {
    let table = std::fs::read_to_string(root().join("src/verbs/table.rs")).unwrap();
    let verbs = rust("src/verbs").into_iter().filter(|(_, text)| text.contains("pub const INFO: Info"));
    let rooms = verbs.map(|(name, _)| name.trim_start_matches("src/verbs/").trim_end_matches("/mod.rs").trim_end_matches(".rs").to_owned());
    let missing: Vec<String> = rooms.filter(|verb| !table.contains(&format!("&{verb}::INFO,"))).collect();
    assert!(missing.is_empty(), "verbs that are not in the table: {missing:?}");
}

/// Rule files are read by people: no line is longer than 120 characters.
#[test]
fn lines_of_rule_files_are_short() {
    let mut wrong = Vec::new();
    for (name, text) in files("rules").into_iter().filter(|(name, _)| name.ends_with(".toml")) {
        wrong.extend(text.lines().enumerate().filter(|(_, l)| l.chars().count() > 120).map(|(n, _)| format!("{name}:{}", n + 1)));
    }
    none(wrong);
}

/// `cargo install --path X` on a page names a package that has a program.
#[test]
fn pages_install_a_package_with_a_program() {
    let mut wrong = Vec::new();
    let pages = files("docs")
        .into_iter()
        .chain(files("examples"))
        .chain([("README.md".to_owned(), std::fs::read_to_string(root().join("README.md")).unwrap())]);
    for (name, text) in pages {
        for path in
            text.split("cargo install --path ").skip(1).filter_map(|rest| rest.split(|c: char| c.is_whitespace() || c == '`').next())
        {
            let manifest = std::fs::read_to_string(root().join(path).join("Cargo.toml")).unwrap_or_default();
            if !manifest.contains("[[bin]]") {
                wrong.push(format!("{name}: `cargo install --path {path}` names no package with a program"));
            }
        }
    }
    none(wrong);
}
