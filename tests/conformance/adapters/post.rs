//! Kind `dialect`, operations `post-…`: finished messages made acceptable to stricter providers.

use base64::Engine as _;
use serde_json::{Value as Json, json};

use super::parts;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, EXACT, Scene};

/// Messages through program `post`.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let options = &case.input["options"];
    let names = &options["names"];
    let scene = Scene::new(json!({
        "names": { "char": names["charName"], "user": names["userName"], "group": names["groupNames"] },
        "post": { "mode": options["mode"] },
    }));
    let actual = match engine::run(EXACT, "post", scene, &[("messages", items(&case.input["messages"]))]) {
        Ok(ran) => json!({ "messages": remarked(messages(&ran.list("messages"))) }),
        Err(error) => error,
    };
    vec![case.check(actual, same)]
}

/// Messages of a provider as items: the text of an item may be a list of parts.
pub(crate) fn items(messages: &Json) -> Json {
    messages.as_array().into_iter().flatten().map(|m| renamed(m, "content", "text")).collect()
}

/// And back.
pub(crate) fn messages(items: &[Json]) -> Json {
    items.iter().map(|item| renamed(item, "text", "content")).collect()
}

/// Marks that are left in a text, as the recording has them: there each is 32 random bytes in base64, and the
/// recorder's nth random bytes were all n.
fn remarked(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(remarked_text(&text)),
        Json::Array(list) => list.into_iter().map(remarked).collect(),
        Json::Object(map) => map.into_iter().map(|(key, value)| (key, remarked(value))).collect::<serde_json::Map<_, _>>().into(),
        other => other,
    }
}

fn remarked_text(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (number, after))) = rest.split_once('\u{f8f0}').and_then(|(b, r)| Some((b, r.split_once('\u{f8f1}')?))) {
        let byte = number.parse::<u8>().map_or(0, |n| n.saturating_add(1));
        out.push_str(before);
        base64::engine::general_purpose::STANDARD.encode_string([byte; 32], &mut out);
        rest = after;
    }
    out + rest
}

fn renamed(object: &Json, from: &str, to: &str) -> Json {
    let mut out = json!({});
    for (key, value) in object.as_object().into_iter().flatten() {
        let key = if key == from { to } else { key.as_str() };
        parts::set(&mut out, key, value.clone());
    }
    out
}
