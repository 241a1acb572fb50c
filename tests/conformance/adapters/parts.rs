//! Parts of scenes that several recorded forms share.

use serde_json::{Map, Value as Json, json};

use crate::engine::{Host, Scene};

/// A history of `{role, content, metadata?}` as the scene has it.
pub(crate) fn history(messages: &Json) -> Json {
    let messages = messages.as_array().into_iter().flatten().enumerate();
    messages.map(|(n, m)| json!({ "id": format!("history-{n}"), "role": m["role"], "text": m["content"], "meta": m["metadata"] })).collect()
}

/// Blocks as `{role, content}`.
pub(crate) fn messages<'a>(blocks: impl IntoIterator<Item = &'a Json>) -> Json {
    blocks.into_iter().map(|b| json!({ "role": b["role"], "content": b["text"] })).collect()
}

/// Injections as they are registered; their filters become conditions or functions of the application.
pub(crate) fn injections(entries: &Json, scene: &mut Scene) -> Json {
    let mut out = Vec::new();
    for entry in entries.as_array().into_iter().flatten() {
        let mut entry = entry.clone();
        if let Some(filter) = entry.get("filter").filter(|f| !f.is_null()).cloned() {
            set(&mut entry, "filter", self::filter(&filter, scene));
        }
        out.push(entry);
    }
    Json::Array(out)
}

fn filter(filter: &Json, scene: &mut Scene) -> Json {
    if let Some(when) = filter.get("when") {
        return condition(when);
    }
    let (throws, returns) = (filter["throws"].as_str().map(str::to_owned), filter["returns"].clone());
    host(scene, Box::new(move || throws.clone().map_or_else(|| Ok(returns.clone()), Err)))
}

/// Offers a function to the rules; what refers to it.
pub(crate) fn host(scene: &mut Scene, function: Host) -> Json {
    let name = format!("filter_{}", scene.hosts.len());
    scene.hosts.push((name.clone(), function));
    json!({ "host": name })
}

/// A condition `{path, op, value}`, its path as the scene names it.
pub(crate) fn condition(when: &Json) -> Json {
    let mut when = when.clone();
    let path = when["path"].as_str().unwrap_or("");
    let path = PATHS.iter().find(|(theirs, _)| *theirs == path).map_or(path, |(_, ours)| *ours).to_owned();
    set(&mut when, "path", json!(path));
    when
}

/// Contract path = scene path, where they differ.
const PATHS: &[(&str, &str)] = &[
    ("generation_type", "type"),
    ("character", "card"),
    ("character.name", "names.char"),
    ("user.name", "names.user"),
    ("user.persona", "persona.text"),
];

/// Sets a field of an object.
pub(crate) fn set(object: &mut Json, key: &str, value: Json) {
    if let Json::Object(map) = object {
        map.insert(key.to_owned(), value);
    }
}

/// Sets a value along a path of objects, which are made where they are missing.
pub(crate) fn put(object: &mut Json, path: &str, value: Json) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    if !object.is_object() {
        *object = Json::Object(Map::new());
    }
    let Json::Object(map) = object else { return };
    match rest {
        Some(rest) => put(map.entry(first).or_insert(Json::Null), rest, value),
        None => {
            map.insert(first.to_owned(), value);
        }
    }
}

/// Lays a part of a scene over a scene, table by table.
pub(crate) fn lay(scene: &mut Json, part: Json) {
    match (scene, part) {
        (Json::Object(scene), Json::Object(part)) => {
            for (key, value) in part {
                lay(scene.entry(key).or_insert(Json::Null), value);
            }
        }
        (scene, part) => *scene = part,
    }
}

/// Copies the fields of `from` that are there, under the scene's names.
pub(crate) fn copy(from: &Json, to: &mut Json, names: &[(&str, &str)]) {
    for (theirs, ours) in names {
        if let Some(value) = from.get(*theirs).filter(|v| !v.is_null()) {
            put(to, ours, value.clone());
        }
    }
}

/// The word behind a number of a foreign form, which may be written as text.
pub(crate) fn code(value: &Json, words: &[&str]) -> Json {
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let at = number.and_then(|n| usize::try_from(n).ok());
    at.and_then(|n| words.get(n)).map_or_else(|| value.clone(), |word| json!(word))
}
