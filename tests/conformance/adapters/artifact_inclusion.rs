//! `contract-artifact-inclusion`: artifacts as rows of a pack and values of a session, and the draft that they enter.
//!
//! The case's names are changed into those of rows and back; what becomes of the draft is the rules'.

use serde_json::{Map, Value as Json, json};
use tapster::Ruleset;

use crate::case::{Case, Check};
use crate::engine::{self, Ran, Scene};

/// The pack that the document is about.
const PACK: &str = "talespinner";
/// The keys of an inclusion in the document's order: the order in which mistakes are told.
const FIELDS: [&str; 12] =
    ["mode", "role", "format", "operation", "target", "anchor", "place", "depthPolicy", "phase", "priority", "versionSelector", "section"];

/// One case: as recorded, and with the artifacts in the opposite order.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let artifacts: Vec<Json> = case.input["artifacts"].as_array().cloned().unwrap_or_default();
    let reversed: Vec<Json> = artifacts.iter().rev().cloned().collect();
    let first = answer(&case.input, &artifacts);
    let law = settled(&first) == settled(&answer(&case.input, &reversed));
    let actual = if law { first } else { json!({ "broken": "the result depends on the order of the listing", "first": first }) };
    vec![case.check(actual, |expected, actual| expected == actual)]
}

/// A result without the order that follows the listing.
fn settled(result: &Json) -> Json {
    let mut result = result.clone();
    for key in ["left_out", "errors"] {
        if let Some(list) = result[key].as_array_mut() {
            list.sort_by_key(Json::to_string);
        }
    }
    result
}

fn answer(input: &Json, artifacts: &[Json]) -> Json {
    let rows: Vec<Json> = artifacts.iter().map(row).collect();
    let overlay = json!({ "kind": "overlay", "version": 1, "artifact": rows }).to_string();
    match engine::open(PACK, &overlay) {
        Ok(pack) => included(input, artifacts, &pack).unwrap_or_else(|error| error),
        Err(refused) => errors(artifacts, &refused),
    }
}

/// The row that declares an artifact. Its name is the artifact's id.
fn row(artifact: &Json) -> Json {
    let mut row = json!({ "name": artifact["id"], "access": if is_persisted(artifact) { "persisted" } else { "run_only" } });
    for key in ["tag", "kind", "visibility", "origin"] {
        row[key] = artifact[key].clone();
    }
    row["surface"] = artifact["uiSurface"].clone();
    row["content_type"] = artifact["contentType"].clone();
    row["inclusion"] = renamed(&artifact["promptInclusion"], &snake);
    if let Some(row) = row.as_object_mut() {
        row.retain(|_, value| !value.is_null());
    }
    row
}

/// Access plays no part in these cases; a value without a tag that the store accepts belongs to the run.
fn is_persisted(artifact: &Json) -> bool {
    let is_tag =
        |tag: &str| tag.starts_with(|c: char| c.is_ascii_lowercase()) && tag.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'));
    artifact["access"] == json!("persisted") && artifact["tag"].as_str().is_some_and(is_tag)
}

fn scene(input: &Json, artifacts: &[Json]) -> Json {
    let (mut art, mut run) = (Map::new(), Vec::new());
    for artifact in artifacts {
        let Some(mut value) = artifact.get("value").map(|value| json!({ "value": value })) else { continue };
        for key in ["history", "version", "step"] {
            value[key] = artifact[key].clone();
        }
        match artifact["tag"].as_str().filter(|_| is_persisted(artifact)) {
            Some(tag) => {
                art.insert(tag.to_owned(), value);
            }
            None => {
                value["name"] = artifact["id"].clone();
                value["id"] = artifact["id"].clone();
                value["tag"] = artifact["tag"].clone();
                run.push(value);
            }
        }
    }
    let options = input.get("options").map_or_else(|| json!({}), |options| renamed(options, &snake));
    json!({ "art": art, "run": { "artifacts": run }, "inclusion": options })
}

/// The draft as blocks; what trimming has taken is switched off.
fn blocks(draft: &Json) -> Json {
    let mut out = Vec::new();
    if let Some(text) = draft["system"].as_str() {
        out.push(json!({ "id": "system", "slot": "main_prompt", "role": "system", "text": text }));
    }
    let kept = draft.get("kept").and_then(Json::as_array);
    for m in draft["messages"].as_array().into_iter().flatten() {
        let enabled = kept.is_none_or(|kept| kept.contains(&m["id"]));
        out.push(json!({
            "id": m["id"], "slot": "chat_history", "counted": true, "role": m["role"], "text": m["content"], "enabled": enabled,
        }));
    }
    json!(out)
}

fn included(input: &Json, artifacts: &[Json], pack: &Ruleset) -> Result<Json, Json> {
    let data = scene(input, artifacts);
    let ran = engine::run_in(pack, "inclusion", Scene::new(data.clone()), &[("blocks", blocks(&input["draft"]))])?;
    let sent = engine::run_in(pack, "domain_roles", Scene::new(data), &[("blocks", json!(ran.list("blocks")))])?;
    let message = |block: &Json| {
        let (key, name) = if block["artifact"].is_null() { ("id", &block["id"]) } else { ("artifact", &block["artifact"]) };
        json!({ key: name, "role": block["role"], "content": content(block) })
    };
    let mut provider: Vec<Json> = Vec::new();
    let system = system(&sent);
    if !system.is_empty() {
        provider.push(json!({ "role": "system", "content": system }));
    }
    provider.extend(messages(&sent).iter().map(|block| json!({ "role": block["role"], "content": content(block) })));
    let told = |key: &str| ran.get(&format!("plan.inclusion.{key}"));
    Ok(json!({
        "system": self::system(&ran), "messages": messages(&ran).iter().map(message).collect::<Vec<_>>(), "provider": provider,
        "included": told("included"), "left_out": told("left_out"), "warnings": told("warnings"),
    }))
}

fn content(block: &Json) -> &str {
    block["text"].as_str().unwrap_or("")
}

fn is_system(block: &Json) -> bool {
    block["slot"] == json!("main_prompt")
}

/// The system text; empty if there is none.
fn system(ran: &Ran) -> String {
    ran.list("blocks").iter().filter(|b| is_system(b)).map(content).collect()
}

fn messages(ran: &Ran) -> Vec<Json> {
    ran.list("blocks").into_iter().filter(|b| !is_system(b) && b["enabled"] != json!(false)).collect()
}

/// The mistakes of the rows, in the order of the artifacts and then of the document's fields. A place below a field is
/// the field, but for the parts of an anchor.
fn errors(artifacts: &[Json], refused: &[(String, String)]) -> Json {
    let field = |key: &str| {
        let mut parts = key.split('.').skip(1).filter(|part| !part.starts_with("relative_to_")).map(camel);
        let first = parts.next().unwrap_or_default();
        match parts.find(|part| part != "anchor").filter(|_| first == "anchor") {
            Some(part) => format!("{first}.{part}"),
            None => first,
        }
    };
    let rank = |field: &str| {
        let first = field.split('.').next().unwrap_or(field);
        FIELDS.iter().position(|known| *known == first).unwrap_or(FIELDS.len())
    };
    let mut out: Vec<Json> = refused.iter().filter(|(row, _)| row.is_empty()).map(|(_, message)| json!({ "message": message })).collect();
    for artifact in artifacts {
        let mine = refused.iter().filter(|(row, _)| Some(row.as_str()) == artifact["id"].as_str());
        let mut fields: Vec<String> = mine.map(|(_, key)| field(key)).collect();
        fields.sort_by_key(|field| rank(field));
        fields.dedup();
        let label = if artifact["tag"].is_null() { &artifact["id"] } else { &artifact["tag"] };
        out.extend(fields.into_iter().map(|field| json!({ "artifact": label, "field": field })));
    }
    json!({ "errors": out })
}

/// The same with other names of keys, at every level.
fn renamed(value: &Json, rename: &dyn Fn(&str) -> String) -> Json {
    match value {
        Json::Object(map) => Json::Object(map.iter().map(|(key, value)| (rename(key), renamed(value, rename))).collect()),
        Json::Array(list) => list.iter().map(|value| renamed(value, rename)).collect(),
        other => other.clone(),
    }
}

fn snake(name: &str) -> String {
    name.chars().flat_map(|c| c.is_ascii_uppercase().then_some('_').into_iter().chain(c.to_lowercase())).collect()
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |out, part| {
        let mut chars = part.chars();
        let initial = chars.next().map(|c| c.to_ascii_uppercase());
        format!("{out}{}", initial.into_iter().chain(chars).collect::<String>())
    })
}
