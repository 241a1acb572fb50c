//! Everything that `explain` knows about one build as one JSON value, from which the HTML page is written.

use serde_json::{Value as Json, json};

use crate::model::Plan;
use crate::model::plan::{Tracked, Unchanged};
use crate::pack::Ruleset;

use crate::cli::layout::{head, place_of};

use super::{cache, changes, lore};

/// The most removed items of the report.
const GONE: usize = 1_000;
/// The most characters of a removed item's text.
const TEXT: usize = 300;

pub(super) fn of(plan: &Plan, rules: &Ruleset, unchanged: Option<&Unchanged>) -> Json {
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
    let text = |item: &Tracked, field: &str| item.fields.get(field).map(|v| v.to_text().to_string()).unwrap_or_default();
    let gone = plan.trace.iter().flat_map(|trace| &trace.elsewhere).filter(|item| item.list != "entries").filter_map(|item| {
        let gone = item.gone.as_ref()?;
        let id = [text(item, "id"), text(item, "name")].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        let text = head(&text(item, "text"), TEXT);
        Some(json!({ "list": item.list, "id": id, "text": text, "did": gone.did, "pass": gone.pass, "rule": place_of(rules, &gone.pass) }))
    });
    add("gone", gone.take(GONE).collect());
    add("lore", lore::as_json(plan, rules, None).get("entries").cloned().unwrap_or_default());
    add("changes", changes::as_json(plan, rules, None));
    add("unchanged", unchanged.map(|found| cache::as_json(found, None, plan, rules)).unwrap_or_default());
    report
}
