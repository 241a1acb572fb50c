//! Every dependency of a crate is used: some source file of it has a path that begins with its name.

#![expect(clippy::panic, reason = "a test that panics has failed")]

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::{none, root, rust};

/// The crates: the folder of the manifest, and those of the sources.
const CRATES: &[(&str, &[&str])] = &[
    ("", &["src"]),
    ("cli/", &["cli/src"]),
    ("crates/client/", &["crates/client/src"]),
    ("crates/exchange/", &["crates/exchange/src"]),
    ("crates/session/", &["crates/session/src"]),
    ("crates/testing/", &["crates/testing/src"]),
    ("crates/text/", &["crates/text/src"]),
    ("fuzz/", &["fuzz/src"]),
    ("tests/", &["tests", "benches"]),
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
    for (folder, sources) in CRATES {
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

/// The first names of all paths in the code below these folders.
fn named(folders: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, text) in folders.iter().flat_map(|folder| rust(folder)) {
        read(text.parse().unwrap_or_else(|e| panic!("{path}: {e}")), &mut names);
    }
    names
}

fn read(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == sign);
    let colon = |at: usize| is(at, ':');
    // behind `::`, but not behind `name::`, a name is the first of a path as well
    let is_first = |at: usize| at < 2 || !(colon(at - 1) && colon(at - 2)) || (at > 2 && is(at - 3, '='));
    let renamed = |at: usize| matches!(tokens.get(at), Some(TokenTree::Ident(word)) if word == "as");
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => read(group.stream(), names),
            TokenTree::Ident(name) if is_first(at) && (colon(at + 1) && colon(at + 2) || renamed(at + 1)) => {
                _ = names.insert(name.to_string())
            }
            _ => {}
        }
    }
}
