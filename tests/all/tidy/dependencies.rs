//! Every dependency of `Cargo.toml` is used: some source file has a path that begins with its name.

#![expect(clippy::panic, reason = "a test that panics has failed")]

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::{none, root, rust};

#[test]
fn every_dependency_is_used() {
    let manifest: toml::Table = toml::from_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    let library = named(["src"]);
    let tests = named(["src", "tests", "benches"]);
    let unused = |table: &str, used: &BTreeSet<String>| {
        let names = manifest[table].as_table().into_iter().flatten().map(|(name, _)| name.replace('-', "_"));
        names.filter(|name| !used.contains(name)).map(|name| format!("{table}: no source file uses `{name}`")).collect::<Vec<_>>()
    };
    none([unused("dependencies", &library), unused("dev-dependencies", &tests)].concat());
}

/// The first names of all paths in the code below these folders.
fn named<const N: usize>(folders: [&str; N]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, text) in folders.into_iter().flat_map(rust) {
        read(text.parse().unwrap_or_else(|e| panic!("{path}: {e}")), &mut names);
    }
    names
}

fn read(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    let is_first = |at: usize| at < 2 || !(colon(at - 1) && colon(at - 2));
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => read(group.stream(), names),
            TokenTree::Ident(name) if is_first(at) && colon(at + 1) && colon(at + 2) => _ = names.insert(name.to_string()),
            _ => {}
        }
    }
}
