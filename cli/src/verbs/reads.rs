//! The paths that rules read: those that stand in their fields, and those that the values they read are made from.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::model::Pack;

/// How many times the values that are read are followed to what they are made from.
const ROUNDS: usize = 2;

/// The paths that a row of a table reads.
pub(super) fn row(pack: &Pack, table: &str, name: &str, out: &mut BTreeSet<String>) {
    let row = pack.tables.get(table).and_then(|rows| rows.get(name));
    row.into_iter().flat_map(|row| &row.fields).for_each(|(name, field)| paths_in(&json!({ &**name: field.node.to_json() }), out));
}

/// Adds what passes and rounds make the values of these paths from.
pub(super) fn follow(pack: &Pack, paths: &mut BTreeSet<String>) {
    for _ in 0..ROUNDS {
        let mut more = BTreeSet::new();
        for (_, row) in ["pass", "round"].into_iter().filter_map(|table| pack.tables.get(table)).flat_map(|rows| rows.iter()) {
            let Some(set) = row.fields.get("set").and_then(|set| set.node.as_table()) else { continue };
            let of = |key: &str| paths.contains(key.trim_start_matches('$')) || paths.contains(&format!("round.{key}"));
            for (_, field) in set.iter().filter(|(key, _)| of(key)) {
                paths_in(&field.node.to_json(), &mut more);
            }
        }
        paths.extend(more);
    }
}

/// The `$path`s that stand in rules, the paths that their `when` tests, and those of the scene that their `where` tests.
pub(super) fn paths_in(node: &Json, out: &mut BTreeSet<String>) {
    collect(node, TableKeys::Plain, 0, out);
}

/// What the keys of a table are.
#[derive(Clone, Copy)]
enum TableKeys {
    /// Words of the language.
    Plain,
    /// Paths of the scene, or words.
    When,
    /// Fields of an item, words, or with `$` paths of the scene.
    Where,
}

fn collect(node: &Json, keys: TableKeys, depth: usize, out: &mut BTreeSet<String>) {
    if depth > 16 {
        return;
    }
    match node {
        Json::String(text) => out.extend(dollars(text)),
        Json::Array(list) => list.iter().for_each(|node| collect(node, keys, depth + 1, out)),
        Json::Object(map) => {
            for (key, node) in map {
                let is_path = match keys {
                    TableKeys::Plain => false,
                    TableKeys::When => key.starts_with('$') || key.contains('.') && !key.starts_with('@'),
                    TableKeys::Where => key.starts_with('$'),
                };
                if is_path {
                    out.insert(key.trim_start_matches('$').to_owned());
                }
                let below = match key.as_str() {
                    "when" => TableKeys::When,
                    "where" => TableKeys::Where,
                    _ => keys,
                };
                collect(node, below, depth + 1, out);
            }
        }
        _ => {}
    }
}

fn dollars(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.';
    let names =
        text.split('$').skip(1).map(move |rest| rest.split(|c| !is_part(c)).next().unwrap_or_default().trim_end_matches('.').to_owned());
    names.filter(|name| {
        name.starts_with(|c: char| c.is_ascii_lowercase()) && !["account.", "table.", "turn."].iter().any(|own| name.starts_with(own))
    })
}
