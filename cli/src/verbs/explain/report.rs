//! Everything that `explain` knows about one build as one JSON value, from which the HTML page is written.

use serde_json::{Value as Json, json};

use crate::model::plan::{TrackedItem, UnchangedPrefix};
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;

use crate::layout::{head, place_of};

use super::{cache, changes, lore};

/// The most removed items of the report.
const GONE: usize = 1_000;
/// The most characters of a removed item's text, and of the name of an input.
const TEXT: usize = 300;

/// The report of a build; `scene` is how the scene was named, and `payload` what is sent.
pub(super) fn of(plan: &Plan, rules: &Ruleset, scene: &str, payload: Option<&Json>, unchanged: Option<&UnchangedPrefix>) -> Json {
    let mut report = super::as_json(plan, rules);
    let Some(map) = report.as_object_mut() else { return report };
    let mut add = |name: &str, value: Json| map.insert(name.to_owned(), value);
    let evicted = plan.evicted().iter().map(|r| {
        let mut json = serde_json::to_value(r).unwrap_or_default();
        if let Some(map) = json.as_object_mut() {
            map.insert("reason".to_owned(), json!(r.reason()));
            map.insert("rule".to_owned(), json!(place_of(rules, &r.pass)));
        }
        json
    });
    add("evicted", evicted.take(GONE).collect());
    let text = |item: &TrackedItem, field: &str| item.fields.get(field).map(|v| v.to_text().to_string()).unwrap_or_default();
    let elsewhere = plan.trace.iter().flat_map(|trace| &trace.elsewhere);
    let gone = elsewhere.filter(|item| item.list != "entries" && !is_empty(item, plan, rules)).filter_map(|item| {
        let gone = item.gone.as_ref()?;
        let id = [text(item, "id"), text(item, "name")].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        let text = head(&text(item, "text"), TEXT);
        Some(json!({ "list": item.list, "id": id, "text": text, "did": gone.did, "pass": gone.pass, "rule": place_of(rules, &gone.pass) }))
    });
    add("gone", gone.take(GONE).collect());
    add("lore", lore::as_json(plan, rules, None).get("entries").cloned().unwrap_or_default());
    let read = |path: &str| read(plan, path).map(|value| value.to_text().to_string()).unwrap_or_default();
    let overlays: Vec<&str> = rules.pack().layers.iter().filter(|layer| layer.overlay).map(|layer| &*layer.name).collect();
    let said = [
        ("Scene", scene.to_owned()),
        ("Overlays", overlays.join(", ")),
        ("Character", read("names.char")),
        ("Model", read("provider.model")),
        ("Dialect", super::dialect(rules, &Scene { data: plan.scene.clone(), ..plan.given.clone() })),
    ];
    add(
        "inputs",
        said.into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| json!({ "name": name, "is": head(&text, TEXT) }))
            .collect(),
    );
    add("payload", payload.cloned().unwrap_or_default());
    add("changes", changes::as_json(plan, rules, None));
    add("unchanged", unchanged.map(|found| cache::as_json(found, None, plan, rules)).unwrap_or_default());
    report
}

/// A value at the end of the build.
fn read<'p>(plan: &'p Plan, path: &str) -> Option<&'p Value> {
    plan.set.at(path).or_else(|| plan.scene.at(path))
}

/// Whether an item has nothing to send, such as the anchor of a slot that nothing came to: no text, no parts of a message,
/// and no value that it would have been read from.
fn is_empty(item: &TrackedItem, plan: &Plan, rules: &Ruleset) -> bool {
    let has_parts = |value: &Value| value.as_list().is_some_and(|list| list.iter().any(|part| part.as_map().is_some()));
    let has_text = item.fields.get("text").is_some_and(|text| !text.to_text().trim().is_empty());
    // the text of a slot is read later than some passes drop it
    let name = ["id", "name"].iter().find_map(|key| item.fields.get(key)).map(|name| name.to_text().to_string()).unwrap_or_default();
    let row = rules.pack().tables.get("slot").and_then(|rows| rows.get(name.as_str())).filter(|_| item.list == "slots");
    let source = row.and_then(|row| row.fields.get("source")?.node.as_text()?.strip_prefix('$'));
    let has_source = source.and_then(|path| read(plan, path)).is_some_and(|value| !value.is_empty());
    !has_text && !has_source && !item.fields.as_map().is_some_and(|fields| fields.values().any(has_parts))
}
