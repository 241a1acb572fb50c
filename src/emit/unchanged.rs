//! How much of a payload is the same as in the previous one, by its texts in the order in which the provider reads
//! them.
//!
//! The pack defines that order: a row `[[reading]]` names the keys of a dialect's payload. The order of keys in the
//! JSON means nothing, because a provider may read the last key first.

use serde_json::Value as Json;

use crate::diag::DocumentNode;
use crate::engine::BuildError;
use crate::engine::counting::{common, count, counter};
use crate::model::Plan;
use crate::model::plan::{PlanDifference, UnchangedPrefix};
use crate::pack::Ruleset;

/// How much of the payload of a plan in a dialect is the same as in a previous payload, up to the first value that
/// differs. The tokens of texts are counted with the pack's account; keys and numbers are not counted.
///
/// # Errors
/// The pack names a tokenizer that does not exist.
pub fn unchanged_payload(
    rules: &Ruleset,
    plan: &Plan,
    dialect: &str,
    payload: &Json,
    previous: &Json,
) -> Result<UnchangedPrefix, BuildError> {
    let counter = counter(rules, plan)?;
    let (now, before) = (read(rules, dialect, payload), read(rules, dialect, previous));
    let cost = |leaf: &(String, &Json)| leaf.1.as_str().map_or(0, |text| count(&counter, text));
    let same = now.iter().zip(&before).take_while(|(a, b)| a == b).count();
    let mut tokens: u64 = now.iter().take(same).map(cost).sum();
    let mut differs = None;
    if let Some((path, value)) = now.get(same) {
        let (text, old) = (shown(value), before.get(same).filter(|(p, _)| p == path).map(|(_, v)| shown(v)).unwrap_or_default());
        let at = common(&text, &old);
        if value.is_string() {
            tokens += count(&counter, text.get(..at).unwrap_or(""));
        }
        let what = if old.is_empty() { "new" } else { "changed" };
        differs =
            Some(PlanDifference { index: same, id: path.clone(), what, at: Some(at), is: text, was: old, ..PlanDifference::default() });
    }
    Ok(UnchangedPrefix { tokens, total: now.iter().map(cost).sum(), blocks: same, differs })
}

/// The values of a payload in the order in which the provider reads them: those under the keys of the dialect's row, or
/// all if it has no row.
fn read<'a>(rules: &Ruleset, dialect: &str, payload: &'a Json) -> Vec<(String, &'a Json)> {
    let row = rules.pack().tables.get("reading").and_then(|rows| rows.get(dialect));
    let Some(keys) = row.and_then(|row| row.fields.get("keys")?.node.as_list()) else { return leaves("", payload) };
    let keys = keys.iter().filter_map(DocumentNode::as_text);
    keys.filter_map(|key| Some(leaves(key, key.split('.').try_fold(payload, |at, step| at.get(step))?))).flatten().collect()
}

/// All values of a JSON document that are neither objects nor arrays, in order, with their paths.
fn leaves<'a>(path: &str, json: &'a Json) -> Vec<(String, &'a Json)> {
    let mut out = Vec::new();
    let mut open = vec![(path.to_owned(), json)];
    while let Some((path, value)) = open.pop() {
        let dot = if path.is_empty() { "" } else { "." };
        match value {
            Json::Object(map) => open.extend(map.iter().rev().map(|(key, v)| (format!("{path}{dot}{key}"), v))),
            Json::Array(list) => open.extend(list.iter().enumerate().rev().map(|(n, v)| (format!("{path}{dot}{n}"), v))),
            _ => out.push((path, value)),
        }
    }
    out
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
