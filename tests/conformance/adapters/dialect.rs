//! `contract-dialect`: finished messages in a provider's shape.

use serde_json::{Value as Json, json};

use super::parts;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, CONTRACT};

/// Messages through a dialect, or through one that the case adds as rules.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let (dialect, overlay) = match input.get("added") {
        Some(added) => (added["name"].as_str().unwrap_or(""), added_dialect(added)),
        None => (input["dialect"].as_str().unwrap_or(""), String::new()),
    };
    let actual = match engine::emit_messages(CONTRACT, &overlay, messages(&input["messages"]), dialect) {
        Ok(payload) if dialect == "anthropic" => json!({ "payload": { "system": payload["system"], "messages": payload["messages"] } }),
        Ok(payload) => json!({ "payload": payload["messages"] }),
        Err(error) => error,
    };
    vec![case.check(actual, |expected, actual| {
        if expected["error"].is_object() {
            return expected["error"]["kind"] == actual["error"]["kind"];
        }
        let (mut want, mut have) = (expected["payload"].clone(), actual["payload"].clone());
        if expected["compare"] == json!("anthropic-equivalence") {
            blocks(&mut want);
            blocks(&mut have);
        }
        same(&want, &have)
    })]
}

/// Messages of the contract as items.
pub(crate) fn messages(list: &Json) -> Json {
    let message = |m: &Json| json!({ "role": m["role"], "text": m["content"], "name": m["name"], "meta": m["metadata"] });
    list.as_array().into_iter().flatten().map(message).collect()
}

/// A dialect in rules alone.
fn added_dialect(added: &Json) -> String {
    let name = added["name"].as_str().unwrap_or("");
    let roles =
        added["rename_roles"].as_object().into_iter().flatten().map(|(from, to)| format!("{from} = {to}")).collect::<Vec<_>>().join(", ");
    format!(
        "kind = \"overlay\"\nversion = 1\n[[program]]\nname = \"{name}\"\nover = \"messages\"\n[[pass]]\nname = \"{name}/roles\"\ndo = \"set\"\n\
         set = {{ role = {{ lookup = \"@role\", in = {{ {roles} }}, else = \"@role\" }} }}\n[[form]]\nname = \"{name}/message\"\n\
         keys = {{ role = \"@role\", content = \"@text\" }}\n[[form]]\nname = \"{name}/payload\"\n\
         keys = {{ messages = {{ of = \"messages\", form = \"{name}/message\" }} }}\n"
    )
}

/// A text is the list of one text block; an empty text block beside tool blocks may be left out; no system is an empty one.
pub(crate) fn blocks(payload: &mut Json) {
    let none = payload["system"] == json!("");
    let system = if none { json!([]) } else { listed(&payload["system"]) };
    parts::set(payload, "system", system);
    for message in payload["messages"].as_array_mut().into_iter().flatten() {
        let content = listed(&message["content"]);
        parts::set(message, "content", content);
    }
}

/// Content as a list of blocks.
pub(crate) fn listed(content: &Json) -> Json {
    let list = match content {
        Json::Null => Vec::new(),
        Json::String(text) => vec![json!({ "type": "text", "text": text })],
        Json::Array(list) => list.clone(),
        other => vec![other.clone()],
    };
    let tools = list.iter().any(|block| block["type"] == json!("tool_use") || block["type"] == json!("tool_result"));
    list.into_iter().filter(|block| !tools || block["text"] != json!("")).collect()
}
