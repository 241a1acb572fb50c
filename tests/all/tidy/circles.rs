//! Circles of files: files of a room that name each other, directly or through others, are counted and compared with
//! a ledger that may only shrink.
//!
//! A file names another by a path that begins with `crate`, `super` or `self`, in a `use` or anywhere else. Comments,
//! strings and items under `#[cfg(test)]` do not count.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{ARROWS, CRATES, sources};

/// The known circles: a room, and the number of files in the circle. A room with two circles has two rows.
const CIRCLES: &[(&str, usize)] = &[("syntax", 6), ("terms", 12), ("text", 7), ("text", 2)];

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
