//! The house rules that a compiler does not hold: which room may look at which, what the engine may not know, where
//! files and clocks may be touched, and tables that must agree.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;
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
    ("crates/door/src", "door"),
    ("crates/serve/src", "serve"),
    ("crates/lsp/src", "lsp"),
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
    ("lint", &["diag", "model", "text", "terms", "syntax", "artifact"]),
    ("program", &["diag", "model", "text", "terms", "syntax", "lint", "verbs"]),
    ("macros", &["diag", "model", "text", "terms"]),
    ("template", &["diag", "model", "text", "terms"]),
    ("reading", &["diag", "model"]),
    ("pack", &["diag", "model", "text", "terms", "artifact", "lint", "program", "macros", "template", "reading"]),
    ("build", &["diag", "model", "text", "terms", "lint", "verbs", "program", "macros", "template", "pack"]),
    ("store", &["diag", "artifact"]),
    ("session", &["diag", "model", "store", "artifact", "pack", "build"]),
    ("client", &["diag", "model", "text", "reading", "pack", "build"]),
    ("import", &["diag", "model"]),
    ("share", &["diag"]),
    // it runs what a case names, as the command line would
    ("testing", &["diag", "model", "text", "terms", "verbs", "pack", "build", "import"]),
    ("door", &["diag", "model", "text", "terms", "verbs", "program", "pack", "build", "import", "testing"]),
    ("serve", &[]),
    ("lsp", &["diag", "model", "text", "terms", "verbs", "pack"]),
    // a room of the command line that knows nothing of it
    ("format", &["diag", "pack"]),
];

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
fn every_file_says_its_idea() {
    let mut wrong = Vec::new();
    for (name, text) in ["src", "crates", "bindings", "cli/src", "tests", "benches"].into_iter().flat_map(rust) {
        if !text.starts_with("//!") {
            wrong.push(format!("{name}: does not begin with `//!`"));
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
        "crates/door/src/clock.rs",
        // the times of the files of packs
        "crates/door/src/stamp.rs",
        "crates/serve/src/",
        // files of shipped packs, for editors to open
        "crates/lsp/src/navigation.rs",
        // messages come and go in threads
        "crates/lsp/src/streams.rs",
        "src/pack/files.rs",
        "crates/session/src/store/disk.rs",
        "crates/session/src/store/folder.rs",
        "crates/session/src/store/sql/file.rs",
        "crates/client/src/keys.rs",
        "crates/client/src/clock.rs",
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
    let schemas: BTreeSet<String> =
        files("schemas").iter().map(|(name, _)| stem(name)).filter(|s| !matches!(s.as_str(), "terms" | "door")).collect();
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
    let folders = folders.map(|e| e.unwrap().path()).filter(|p| p.is_dir() && !p.ends_with("wishes") && !p.ends_with("datasets"));
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
    let table = std::fs::read_to_string(root().join("src/verbs/mod.rs")).unwrap();
    let verbs = rust("src/verbs").into_iter().filter(|(_, text)| text.contains("pub const INFO: VerbInfo"));
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

// Circles of files: files of a room that name each other, directly or through others, are counted and compared with
// a ledger that may only shrink.
//
// A file names another by a path that begins with `crate`, `super` or `self`, in a `use` or anywhere else. Comments,
// strings and items under `#[cfg(test)]` do not count.

/// The known circles: a room, and the number of files in the circle. A room with two circles has two rows.
const CIRCLES: &[(&str, usize)] = &[("syntax", 6), ("terms", 10), ("text", 6), ("text", 2)];

/// The path of a module from its room: `terms/eval.rs` is `[terms, eval]`, and so is `terms/eval/mod.rs`. In a crate that
/// is one room, `eval.rs` is `[client, eval]`.
type Module = Vec<String>;

/// The modules of a room that are files, and which of them each one names.
type Room = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn circles_of_files_only_shrink() {
    let mut out = std::io::stdout().lock(); // written past the harness, which keeps what `println!` prints to itself
    let mut wrong = Vec::new();
    let rooms = rooms(&sources());
    for (room, names) in &rooms {
        let found = circles(names);
        for circle in &found {
            writeln!(out, "circle: {room}: {} files: {}", circle.len(), listed(circle)).unwrap();
        }
        let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
        for (at, held) in compared(&sizes, &ledger(room)) {
            wrong.push(match (sizes.get(at), held) {
                (Some(now), Some(held)) if *now < held => format!("`{room}`: shrink the ledger from {held} to {now}"),
                (Some(now), held) => {
                    format!("`{room}`: a circle of {now} files, where the ledger has {}: {}", held.unwrap_or(0), listed(&found[at]))
                }
                (None, held) => format!("`{room}`: a circle is gone; remove the row of {} from the ledger", held.unwrap_or(0)),
            });
        }
    }
    writeln!(out, "circles: {} in {} rooms", rooms.values().map(|r| circles(r).len()).sum::<usize>(), rooms.len()).unwrap();
    let unknown = CIRCLES.iter().filter(|(room, _)| !rooms.contains_key(*room));
    wrong.extend(unknown.map(|(room, _)| format!("`{room}` of the ledger is no room")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rows of a room, the largest first.
fn ledger(room: &str) -> Vec<usize> {
    let mut sizes: Vec<usize> = CIRCLES.iter().filter(|(r, _)| *r == room).map(|(_, size)| *size).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

/// The places at which the sizes found differ from those of the ledger, and what the ledger has there.
fn compared(found: &[usize], ledger: &[usize]) -> Vec<(usize, Option<usize>)> {
    let places = 0..found.len().max(ledger.len());
    places.filter(|at| found.get(*at) != ledger.get(*at)).map(|at| (at, ledger.get(at).copied())).collect()
}

fn listed(circle: &[Module]) -> String {
    circle.iter().map(|module| if module.len() == 1 { "mod".to_owned() } else { module[1..].join("/") }).collect::<Vec<_>>().join(" ")
}

/// The rooms of these files (path and text), by name.
fn rooms(files: &[(String, String)]) -> BTreeMap<String, Room> {
    let modules: BTreeMap<Module, &str> = files.iter().map(|(path, text)| (module(path), text.as_str())).collect();
    let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
    for (module, text) in &modules {
        let Some(room) = module.first() else { continue };
        let tokens: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", module.join("/")));
        let mut paths = Vec::new();
        read(tokens, module, &mut paths);
        // in a crate that is one room, `crate::pack` is another room that its `lib.rs` brings in
        let brought = |path: &Module| {
            path.get(1).is_some_and(|name| is_crate(&path[0]) && ARROWS.iter().any(|(room, _)| room == name))
                && !modules.contains_key(&path[..2])
        };
        let named = paths.into_iter().filter(|path| !brought(path));
        let named = named.filter_map(|path| (1..=path.len()).rev().map(|n| path[..n].to_vec()).find(|m| modules.contains_key(m)));
        let named = named.filter(|other| other != module && other.first() == Some(room)).collect();
        rooms.entry(room.clone()).or_default().insert(module.clone(), named);
    }
    rooms
}

fn module(path: &str) -> Module {
    let within = CRATES.iter().find_map(|(folder, own)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *own)));
    let (path, own) = within.unwrap_or((path, ""));
    let path = path.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut module: Module = (!own.is_empty()).then(|| own.to_owned()).into_iter().chain(path).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Whether a crate is this room and nothing else.
fn is_crate(room: &str) -> bool {
    CRATES.iter().any(|(_, own)| *own == room && !own.is_empty())
}

/// Every path in these tokens of module `here` that begins with `crate`, `super` or `self`, from the root.
fn read(tokens: TokenStream, here: &[String], found: &mut Vec<Module>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Punct(p) if p.as_char() == '#' && is_test(tokens.get(at + 1)) => {
                let item = &tokens[at..];
                at += item.iter().position(ends_item).unwrap_or(item.len());
            }
            TokenTree::Ident(word) if word == "mod" && block(tokens.get(at + 2)).is_some() => {
                let inside: Module = here.iter().cloned().chain([tokens[at + 1].to_string()]).collect();
                read(block(tokens.get(at + 2)).unwrap(), &inside, found);
                at += 2;
            }
            TokenTree::Ident(word) if (word == "crate" || word == "super" || word == "self") && is_path(&tokens, at + 1) => {
                at += path(&tokens[at..], here.to_vec(), found);
            }
            TokenTree::Group(group) => read(group.stream(), here, found),
            _ => {}
        }
        at += 1;
    }
}

/// The paths that these tokens begin with: one, or those of a group `a::{b, c::d}`. Returns where their last token is.
fn path(tokens: &[TokenTree], from: Module, found: &mut Vec<Module>) -> usize {
    let mut path = from;
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) if word == "crate" => path.truncate(usize::from(path.first().is_some_and(|room| is_crate(room)))),
            Some(TokenTree::Ident(word)) if word == "super" => _ = path.pop(),
            Some(TokenTree::Ident(word)) if word == "self" => {}
            Some(TokenTree::Ident(word)) => path.push(word.to_string()),
            group => {
                let Some(inside) = block(group) else { break };
                let inside: Vec<TokenTree> = inside.into_iter().collect();
                let pieces = inside.split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ','));
                for piece in pieces.filter(|piece| !piece.is_empty()) {
                    self::path(piece, path.clone(), found);
                }
                return at;
            }
        }
        if !is_path(tokens, at + 1) {
            break;
        }
        at += 3;
    }
    found.push(path);
    at
}

/// Whether `::` stands there.
fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(at) && colon(at + 1)
}

fn block(token: Option<&TokenTree>) -> Option<TokenStream> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    }
}

fn is_test(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

fn ends_item(token: &TokenTree) -> bool {
    block(Some(token)).is_some() || matches!(token, TokenTree::Punct(p) if p.as_char() == ';')
}

/// The circles of a room, the largest first: sets of files of which each reaches every other.
fn circles(room: &Room) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = room.keys().map(|from| (from, reach(room, from))).collect();
    let mut found: BTreeSet<Vec<Module>> = BTreeSet::new();
    for (from, all) in &reached {
        let circle: Vec<Module> = all.iter().filter(|to| reached[**to].contains(from)).map(|to| (*to).clone()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    let mut found: Vec<Vec<Module>> = found.into_iter().collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// What a file names, directly or through others.
fn reach<'r>(room: &'r Room, from: &Module) -> BTreeSet<&'r Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = room[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&room[module]);
        }
    }
    reached
}

#[test]
fn paths_are_read_as_rust_writes_them() {
    let text = r#"
        //! `crate::comment::a`
        use crate::a::{self, b::{C, d as e}, f::*};
        pub(in crate::inside) use super::{super::g::H, i};
        use self::j::K;
        pub(crate) fn run(l: &crate::m::N<super::o::P>) { self::q(); "crate::text::r"; self.field; other::crate_s::t(); }
        mod inner { use super::super::u; use self::v; }
        macro_rules! w { () => { $crate::x::Y } }
        #[cfg(test)]
        mod tests { use crate::only_in_tests; }
        #[cfg(feature = "z")]
        use crate::z;
    "#;
    let mut found = Vec::new();
    read(text.parse().unwrap(), &["room".to_owned(), "file".to_owned()], &mut found);
    let mut found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    found.sort();
    let wanted = [
        "a",
        "a::b::C",
        "a::b::d",
        "a::f",
        "g::H",
        "inside",
        "m::N",
        "room::file::inner::v",
        "room::file::j::K",
        "room::file::q",
        "room::i",
        "room::o::P",
        "room::u",
        "x::Y",
        "z",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn circles_are_found_and_compared() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = [
        file("src/lib.rs", "use crate::r::a;"),
        file("src/r/mod.rs", "pub use self::a::A;"),
        file("src/r/a.rs", "use crate::r::b;"),
        file("src/r/b.rs", "use super::c::C;"),
        file("src/r/c.rs", "use crate::r::{a::A, d}; use crate::s::x;"),
        file("src/r/d.rs", "fn d() { crate::s::x() }"),
        file("src/s.rs", "use self::x;"),
        file("src/s/x.rs", "use super::y;"),
    ];
    let rooms = rooms(&files);
    let names = |room: &str| circles(&rooms[room]).iter().map(|c| listed(c)).collect::<Vec<_>>();
    assert_eq!((names("r"), names("s")), (vec!["a b c".to_owned()], vec!["mod x".to_owned()]));
    assert_eq!(compared(&[16, 2], &[16, 2]), []);
    assert_eq!(compared(&[17, 2, 2], &[16, 2]), [(0, Some(16)), (2, None)]);
    assert_eq!(compared(&[3], &[4, 2]), [(0, Some(4)), (1, Some(2))]);
}

// Every dependency of a crate is used: some source file of it has a path that begins with its name.

/// The crates: the folder of the manifest, and those of the sources.
const SOURCES_BY_CRATE: &[(&str, &[&str])] = &[
    ("", &["src"]),
    ("bindings/c/", &["bindings/c/src"]),
    ("bindings/node/", &["bindings/node/src"]),
    ("bindings/python/", &["bindings/python/src"]),
    ("bindings/wasm/", &["bindings/wasm/src"]),
    ("cli/", &["cli/src"]),
    ("crates/client/", &["crates/client/src"]),
    ("crates/door/", &["crates/door/src"]),
    ("crates/serve/", &["crates/serve/src"]),
    ("crates/lsp/", &["crates/lsp/src"]),
    ("crates/exchange/", &["crates/exchange/src"]),
    ("crates/session/", &["crates/session/src"]),
    ("crates/testing/", &["crates/testing/src"]),
    ("crates/text/", &["crates/text/src"]),
    ("fuzz/", &["fuzz/src"]),
    // the tests read `build.rs`, which reads the grammar
    ("tests/", &["tests", "benches", "src/syntax"]),
];

fn manifest(folder: &str) -> toml::Table {
    toml::from_str(&std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap()).unwrap()
}

/// The names of the dependencies in a table of a manifest.
fn dependencies(table: Option<&toml::Value>) -> impl Iterator<Item = &String> {
    table.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys)
}

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    let mut asked = BTreeSet::new();
    for (folder, sources) in SOURCES_BY_CRATE {
        let manifest = manifest(folder);
        let used = named(sources);
        for name in ["dependencies", "dev-dependencies"].into_iter().flat_map(|table| dependencies(manifest.get(table))) {
            asked.insert(name.clone());
            if !used.contains(&name.replace('-', "_")) {
                unused.push(format!("{folder}Cargo.toml: no source file uses `{name}`"));
            }
        }
        let systems = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
        asked.extend(systems.flat_map(|system| dependencies(system.get("dependencies"))).cloned());
    }
    let all = manifest("");
    let of_all = dependencies(all["workspace"].get("dependencies")).filter(|name| !asked.contains(*name));
    unused.extend(of_all.map(|name| format!("Cargo.toml: no crate asks for `{name}`")));
    none(unused);
}

/// A test inside of a library whose manifest says `test = false` would never run.
#[test]
fn tests_stand_where_they_are_run() {
    let is_silent = |folder: &str| manifest(folder).get("lib").and_then(|lib| lib.get("test")?.as_bool()) == Some(false);
    let silent = SOURCES_BY_CRATE.iter().filter(|(folder, _)| is_silent(folder)).flat_map(|(_, sources)| *sources);
    let mut wrong = Vec::new();
    for (name, text) in silent.flat_map(|folder| rust(folder)) {
        let tests = code(&text).filter(|(_, line)| line.contains("#[test]") || line.contains("cfg(test)"));
        wrong.extend(tests.map(|(n, _)| format!("{name}:{n}: move this test to `tests`")));
    }
    none(wrong);
}

/// The first names of all paths in the code below these folders.
fn named(folders: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, text) in folders.iter().flat_map(|folder| rust(folder)) {
        read_manifest(text.parse().unwrap_or_else(|e| panic!("{path}: {e}")), &mut names);
    }
    names
}

fn read_manifest(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == sign);
    let colon = |at: usize| is(at, ':');
    // behind `::`, but not behind `name::`, a name is the first of a path as well
    let is_first = |at: usize| at < 2 || !(colon(at - 1) && colon(at - 2)) || (at > 2 && is(at - 3, '='));
    let renamed = |at: usize| matches!(tokens.get(at), Some(TokenTree::Ident(word)) if word == "as");
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => read_manifest(group.stream(), names),
            TokenTree::Ident(name) if is_first(at) && (colon(at + 1) && colon(at + 2) || renamed(at + 1)) => {
                _ = names.insert(name.to_string())
            }
            _ => {}
        }
    }
}

// Every package that is built into the program may be: its licence expression can be met with licences of the list.
//
// `deny.toml` says the same to `cargo deny`; this test needs nothing but cargo, and no network.

/// Licences that may be built upon.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "Unicode-3.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "MIT-0",
    "MPL-2.0",
    "Unlicense",
];

/// Whether an SPDX expression can be met: `OR` needs one side, `AND` both. `/` is an old way to write `OR`.
fn fits(expression: &str) -> bool {
    let words = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let (fits, rest) = either(&words);
    fits && rest.is_empty()
}

fn either<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut fits, mut rest) = both(words);
    while let ["OR", more @ ..] = rest {
        let (other, after) = both(more);
        (fits, rest) = (fits || other, after);
    }
    (fits, rest)
}

fn both<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut fits, mut rest) = one(words);
    while let ["AND", more @ ..] = rest {
        let (other, after) = one(more);
        (fits, rest) = (fits && other, after);
    }
    (fits, rest)
}

fn one<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inner @ ..] => {
            let (fits, rest) = either(inner);
            (fits, rest.get(1..).unwrap_or(&[]))
        }
        [name, "WITH", exception, rest @ ..] => (ALLOWED.contains(&format!("{name} WITH {exception}").as_str()), rest),
        [name, rest @ ..] => (ALLOWED.contains(&name.trim_end_matches('+')), rest),
        [] => (false, words),
    }
}

#[test]
fn expressions_are_read() {
    assert!(fits("MIT OR Apache-2.0") && fits("Unlicense/MIT") && fits("GPL-3.0 OR MIT") && fits("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(fits("Apache-2.0 WITH LLVM-exception OR GPL-2.0") && fits("MPL-2.0+"));
    assert!(!fits("GPL-3.0") && !fits("MIT AND GPL-3.0") && !fits("") && !fits("Apache-2.0 WITH Other-exception"));
}

#[test]
fn every_package_has_a_licence_that_may_be_built_upon() {
    let host = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host.lines().find_map(|l| l.strip_prefix("host: ")).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", host];
    let out = Command::new(cargo).args(args).current_dir(env!("CHECKOUT")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let data: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = data["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    let licence = |p: &Value| p["license"].as_str().unwrap_or("").to_owned();
    let wrong: Vec<String> =
        packages.iter().filter(|p| !fits(&licence(p))).map(|p| format!("{} {}: {}", p["name"], p["version"], licence(p))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
