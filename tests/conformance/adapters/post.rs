//! Kind `dialect`, operations `post-…`: finished messages made acceptable to stricter providers.

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
        Ok(ran) => json!({ "messages": messages(&ran.list("messages")) }),
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

fn renamed(object: &Json, from: &str, to: &str) -> Json {
    let mut out = json!({});
    for (key, value) in object.as_object().into_iter().flatten() {
        let key = if key == from { to } else { key.as_str() };
        parts::set(&mut out, key, value.clone());
    }
    out
}
