//! Looking things up in the values of a case file.

use std::collections::BTreeSet;

use super::case::{CaseFile, CaseTurn, TestCase};
use crate::diag::{DocumentNode, NodeValue, TableField};

/// The tests whose argument is values of a list.
const OF_SINGLES: [&str; 4] = ["includes", "excludes", "any_order", "exactly"];

/// The error that a turn expects.
pub(super) fn expected_error(turn: &CaseTurn) -> Option<&str> {
    turn.expect.as_ref()?.get("error")?.as_text()
}

/// A key as it counts for a turn: its own, that of its case, or that of the file.
pub(super) fn field_of_turn<'c>(file: &'c CaseFile, case: &'c TestCase, turn: &'c CaseTurn, key: &str) -> Option<&'c TableField> {
    [Some(&turn.node), Some(&case.node), file.given()].into_iter().flatten().find_map(|node| node.as_table()?.get(key))
}

/// All keys of tables in a value.
pub(super) fn keys_of<'c>(node: &'c DocumentNode, out: &mut BTreeSet<&'c str>) {
    match &node.data {
        NodeValue::List(list) => list.iter().for_each(|one| keys_of(one, out)),
        NodeValue::Table(table) => table.iter().for_each(|(key, field)| {
            out.insert(key);
            keys_of(&field.node, out);
        }),
        _ => {}
    }
}

/// One text or a list of them.
pub(super) fn one_or_list(node: &DocumentNode) -> &[DocumentNode] {
    node.as_list().unwrap_or(std::slice::from_ref(node))
}

/// The fields of a table; none of anything else.
pub(super) fn fields(node: Option<&DocumentNode>) -> impl Iterator<Item = (&str, &TableField)> {
    node.and_then(DocumentNode::as_table).into_iter().flatten().map(|(key, field)| (&**key, field))
}

/// Whether a text stands somewhere in a value.
pub(super) fn contains_text(node: &DocumentNode, word: &str) -> bool {
    match &node.data {
        NodeValue::Text(text) => &**text == word,
        NodeValue::List(list) => list.iter().any(|one| contains_text(one, word)),
        NodeValue::Table(table) => table.values().any(|field| contains_text(&field.node, word)),
        _ => false,
    }
}

/// Whether a word stands in a value: as a key, or as a word of a text.
pub(super) fn mentions_word(node: &DocumentNode, word: &str) -> bool {
    match &node.data {
        NodeValue::Text(text) => has_word(text, word),
        NodeValue::List(list) => list.iter().any(|one| mentions_word(one, word)),
        NodeValue::Table(table) => table.iter().any(|(key, field)| has_word(key, word) || mentions_word(&field.node, word)),
        _ => false,
    }
}

/// Whether a text has a word that is not a part of a longer one.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let is_whole = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
        !goes_on(before) && !goes_on(behind)
    };
    !word.is_empty() && text.match_indices(word).any(|(at, _)| is_whole(at))
}

/// The single values that are expected: the value itself, the elements of a list, and those that a test names.
pub(super) fn expected_values(node: &DocumentNode) -> Vec<&DocumentNode> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeValue::List(list) => open.extend(list),
            NodeValue::Table(table) => {
                let test = table.iter().next().filter(|(word, _)| table.len() == 1 && OF_SINGLES.contains(&&***word));
                open.extend(test.map(|(_, field)| &field.node));
            }
            _ => found.push(node),
        }
    }
    found
}

/// Whether a single value stands somewhere in a value.
pub(super) fn contains_value(node: &DocumentNode, single: &DocumentNode) -> bool {
    match &node.data {
        NodeValue::List(list) => list.iter().any(|one| contains_value(one, single)),
        NodeValue::Table(table) => table.values().any(|field| contains_value(&field.node, single)),
        _ => node.to_json() == single.to_json(),
    }
}

/// The texts behind a key in a value.
pub(super) fn texts_of<'p>(node: &'p DocumentNode, keys: &[&str], out: &mut BTreeSet<&'p str>) {
    match &node.data {
        NodeValue::List(list) => list.iter().for_each(|one| texts_of(one, keys, out)),
        NodeValue::Table(table) => {
            for (key, field) in table {
                out.extend(field.node.as_text().filter(|_| keys.contains(&&**key)));
                texts_of(&field.node, keys, out);
            }
        }
        _ => {}
    }
}
