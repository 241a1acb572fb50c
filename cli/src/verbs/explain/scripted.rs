//! What functions of scripts and hooks did beside rewriting texts: the values that they set, the items that they changed,
//! and what passes did to the items that a function chose.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::diag::{DocumentNode, NodeValue};
use crate::model::plan::{BlockEvent, TracedChange};
use crate::model::{Plan, Value};
use crate::pack::Ruleset;

use crate::layout::{head, place_at, place_of};

use super::gate::{field, short};

/// The most characters of an item's text.
const TEXT: usize = 160;
/// How deep the fields of a pass are searched for functions.
const DEPTH: usize = 16;

/// What made a change: `hook NAME` or `script FILE::FUNCTION`.
pub(super) fn name(change: &TracedChange) -> String {
    change.hook.as_ref().map_or_else(|| format!("script {}", change.by), |hook| format!("hook {hook}"))
}

/// Where the hook or the pass that made a change is written.
pub(super) fn place(change: &TracedChange, rules: &Ruleset) -> Option<String> {
    let Some(hook) = &change.hook else { return place_of(rules, &change.pass) };
    let row = rules.pack().tables.get("hook")?.get(hook.as_str())?;
    place_at(rules, row.span)
}

/// The values that functions set, as far as they hold a text that is wanted.
pub(super) fn values(plan: &Plan, rules: &Ruleset, fits: &dyn Fn(&[&str]) -> bool) -> Vec<Json> {
    let all = plan.trace.iter().flat_map(|trace| &trace.changes).filter(|change| change.list.is_empty());
    let told = |change: &TracedChange| {
        let (was, is) = (short(&change.was), short(&change.is));
        fits(&[&change.path, &was, &is, &name(change), &change.by, &change.pass])
            .then(|| json!({ "path": change.path, "was": was, "is": is, "hook": change.hook, "function": change.by, "pass": change.pass, "rule": place(change, rules) }))
    };
    all.filter_map(told).collect()
}

/// The items that functions changed, made or dropped, and those to which a pass did something because of a function.
pub(super) fn items(plan: &Plan, rules: &Ruleset, fits: &dyn Fn(&[&str]) -> bool) -> Vec<Json> {
    let Some(trace) = &plan.trace else { return Vec::new() };
    let changed = trace.changes.iter().filter(|change| !change.list.is_empty()).filter_map(|change| {
        let (was, is) = (short(&change.was), short(&change.is));
        let fits = fits(&[&change.id, &change.path, &was, &is, &change.list, &name(change), &change.by, &change.pass]);
        let field = Some(&change.path).filter(|path| !path.is_empty());
        let text = if change.did == "dropped" { &change.was } else { &change.is };
        let text = field.is_none().then(|| head(&text.to_text(), TEXT));
        fits.then(|| {
            json!({
                "did": change.did, "list": change.list, "id": change.id, "field": field, "was": was, "is": is, "text": text,
                "hook": change.hook, "function": change.by, "pass": change.pass, "rule": place(change, rules),
            })
        })
    });
    let mut out: Vec<Json> = changed.collect();
    let chosen = choosing(rules);
    let mut tell = |list: &str, fields: &Value, event: &BlockEvent| {
        let Some(functions) = chosen.get(&*event.pass) else { return };
        let (id, text) = (field(fields, "id"), field(fields, "text"));
        if fits(&[&id, &text, list, functions, &event.pass]) {
            out.push(json!({
                "did": event.did, "list": list, "id": id, "field": null, "was": null, "is": null, "text": head(&text, TEXT),
                "hook": null, "function": functions, "pass": event.pass, "rule": place_of(rules, &event.pass),
            }));
        }
    };
    if chosen.is_empty() {
        return out;
    }
    for item in &trace.elsewhere {
        let gone = item.gone.iter().filter(|gone| !item.history.contains(gone));
        item.history.iter().chain(gone).for_each(|event| tell(&item.list, &item.fields, event));
    }
    for block in &plan.blocks {
        block.history.iter().for_each(|event| tell("blocks", &block.fields, event));
    }
    out
}

/// The passes that choose items, or make what they write, with functions of scripts, and these functions. What a pass that
/// is a script did is recorded with each item.
fn choosing(rules: &Ruleset) -> BTreeMap<&str, String> {
    let rows = rules.pack().tables.get("pass").into_iter().flatten();
    let named = rows.filter_map(|(name, row)| {
        let mut found = Vec::new();
        row.fields.values().for_each(|field| functions(&field.node, 0, &mut found));
        found.dedup();
        (!found.is_empty()).then(|| (&**name, found.join(", ")))
    });
    named.collect()
}

/// The functions that stand in a field of a row.
fn functions(node: &DocumentNode, depth: usize, out: &mut Vec<String>) {
    match &node.data {
        NodeValue::Table(table) if depth < DEPTH => {
            for (key, field) in table {
                match (&**key, field.node.as_text()) {
                    // a step that is a function is told with the texts that it rewrote
                    ("script", Some(function)) if function.contains("::") => out.push(function.to_owned()),
                    ("rhai", Some(source)) => out.push(format!("rhai {}", head(source, TEXT))),
                    _ => functions(&field.node, depth + 1, out),
                }
            }
        }
        NodeValue::List(list) if depth < DEPTH => list.iter().for_each(|node| functions(node, depth + 1, out)),
        _ => {}
    }
}

/// The rows of values and items for a terminal, each with what made the change.
pub(super) fn rows(json: &Json, text: &dyn Fn(&Json) -> String, by: &dyn Fn(&Json) -> String) -> [Vec<Vec<String>>; 2] {
    let each = |name: &str| json.get(name).and_then(Json::as_array).into_iter().flatten();
    let of = |row: &Json, key: &str| row.get(key).map(text).unwrap_or_default();
    let who = |row: &Json| {
        let hook = of(row, "hook");
        let rule = of(row, "rule");
        let who = match (hook.is_empty(), rule.is_empty()) {
            (true, _) => by(row),
            (false, true) => format!("hook {hook}"),
            (false, false) => format!("hook {hook} ({rule})"),
        };
        let function = of(row, "function");
        if function == hook { who } else { format!("{who}: {function}") }
    };
    let change = |row: &Json| format!("{} → {}", of(row, "was"), of(row, "is"));
    let values = each("values").map(|row| vec![of(row, "path"), change(row), who(row)]);
    let items = each("items").map(|row| {
        let field = of(row, "field");
        let what = if field.is_empty() { format!("{:?}", of(row, "text")) } else { format!("{field}: {}", change(row)) };
        let named = format!("{} {}", of(row, "list"), of(row, "id"));
        vec![of(row, "did"), named.trim_end().to_owned(), what, who(row)]
    });
    [values.collect(), items.collect()]
}
