//! The description of the paths, from the schema of the door.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};

use crate::insert_member;
use crate::sessions::TurnRequest;

/// The calls of a schema of the door: their names, and the schemas of their requests.
pub(crate) fn calls(schema: &Json) -> impl Iterator<Item = (&str, &Json)> {
    let variants = schema.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    variants.filter_map(|variant| Some((variant.pointer("/properties/call/const")?.as_str()?, variant)))
}

/// What a call does, and the schema of its arguments.
pub(crate) fn request_schema(variant: &Json) -> (String, Json) {
    let mut arguments = variant.clone();
    let about = arguments.as_object_mut().and_then(|schema| schema.remove("description"));
    if let Some(properties) = arguments.get_mut("properties").and_then(Json::as_object_mut) {
        properties.remove("call");
    }
    if let Some(required) = arguments.get_mut("required").and_then(Json::as_array_mut) {
        required.retain(|name| name != "call");
    }
    (about.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned(), arguments)
}

/// The names of the calls.
pub(crate) fn call_names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| calls(&tapster_door::schema()).map(|(name, _)| name.to_owned()).collect());
    &NAMES
}

/// The paths of sessions: method, operation, and what it does.
const SESSION_PATHS: &[(&str, &str, &str, &str)] = &[
    ("/v1/sessions", "get", "list_sessions", "The sessions."),
    ("/v1/sessions/{session}", "get", "read_session", "The artifacts and the state of a session."),
    ("/v1/sessions/{session}", "delete", "remove_session", "Removes a session."),
    ("/v1/sessions/{session}/log", "get", "read_log", "The log of a session."),
    ("/v1/sessions/{session}/turn", "post", "play_turn", "The prompt of a turn; with the model's reply, stores the turn."),
];
/// The same of a gateway.
const GATEWAY_PATHS: &[(&str, &str, &str, &str)] = &[
    ("/v1/chat/completions", "post", "chat_completions", "OpenAI's chat completions, rewritten by the rules of the model that is named."),
    ("/v1/messages", "post", "messages", "Anthropic's messages, rewritten by the rules of the model that is named."),
    ("/v1/transform", "post", "transform", "The rewritten request, which is not sent."),
    ("/v1/models", "get", "list_models", "The models of the configuration."),
    ("/v1/cache", "get", "cache", "What the provider's cache kept of each request, and why not more."),
    ("/explain/{id}", "get", "explain_exchange", "What a client sent, what went out, and each change with its rule."),
];

/// One operation of a path.
fn operation(path: &str, name: &str, about: &str, result: Json, body: Option<(Json, Json)>) -> Json {
    let content = |kind: &str, schema: Json| json!({ kind: { "schema": schema } });
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let mut operation = json!({
        "operationId": name,
        "summary": about,
        "responses": {
            "200": { "description": "The result.", "content": content("application/json", result) },
            "default": { "description": "Why there is none (RFC 9457).", "content": content("application/problem+json", problem) },
        },
    });
    let in_path = path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let parameters: Vec<_> =
        in_path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })).collect();
    if !parameters.is_empty() {
        insert_member(&mut operation, "parameters", parameters);
    }
    if let Some((schema, example)) = body {
        let content = json!({ "application/json": { "schema": schema, "example": example } });
        insert_member(&mut operation, "requestBody", json!({ "required": true, "content": content }));
    }
    operation
}

/// A schema whose parts are named as such a document does.
fn of_components(schema: &Json) -> Json {
    serde_json::from_str(&schema.to_string().replace("#/$defs/", "#/components/schemas/")).unwrap_or_default()
}

/// The OpenAPI 3.1 document of a server with or without a gateway and sessions.
#[must_use]
pub fn document(has_gateway: bool, has_sessions: bool) -> Json {
    let schema = of_components(&tapster_door::schema());
    let mut paths = Map::new();
    for (call, variant) in calls(&schema) {
        let (about, body) = request_schema(variant);
        let path = format!("/v1/{call}");
        let post = operation(&path, call, &about, json!({ "$ref": "#/components/schemas/Response" }), Some((body, example(call))));
        paths.insert(path, json!({ "post": post }));
    }
    let mut add = |rows: &[(&str, &str, &str, &str)]| {
        for (path, method, name, about) in rows {
            let body = (*method == "post").then(|| match *name {
                "play_turn" => {
                    let mut turn = of_components(&schemars::schema_for!(TurnRequest).to_value());
                    turn.as_object_mut().into_iter().for_each(|turn| turn.retain(|key, _| !key.starts_with('$')));
                    (turn, json!({ "rules": "base", "scene": { "message": "Hello." } }))
                }
                _ => (json!({ "type": "object" }), json!({ "model": "assistant", "messages": [{ "role": "user", "content": "Hello." }] })),
            });
            let place = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
            insert_member(place, method, operation(path, name, about, json!({ "type": "object" }), body));
        }
    };
    if has_sessions {
        add(SESSION_PATHS);
    }
    if has_gateway {
        add(GATEWAY_PATHS);
    }
    let mut schemas = schema.get("$defs").and_then(Json::as_object).cloned().unwrap_or_default();
    let diagnostics =
        json!({ "description": "Errors and warnings with codes, places and remedies.", "type": "array", "items": { "type": "object" } });
    let response = json!({ "id": {}, "ok": { "const": true }, "result": {}, "diagnostics": diagnostics });
    schemas.insert("Response".to_owned(), json!({ "type": "object", "properties": response, "required": ["ok", "result", "diagnostics"] }));
    let problem = json!({ "title": { "type": "string" }, "status": { "type": "integer" }, "detail": { "type": "string" }, "help": { "type": "string" }, "diagnostics": diagnostics });
    schemas.insert("Problem".to_owned(), json!({ "type": "object", "properties": problem, "required": ["title", "status"] }));
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Tapster", "version": env!("CARGO_PKG_VERSION"), "description": "Rule packs in, exact provider payloads out." },
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } },
    })
}

/// A body for each call; all of them have a result.
fn example(call: &str) -> Json {
    let scene = json!({ "message": "Hello." });
    let overlay = json!({ "name": "brief.toml", "text": "kind = \"overlay\"\nversion = 1\n[preset]\nmain = \"Be brief.\"\n" });
    let case =
        "kind = \"case\"\nversion = 2\n[[case]]\nname = \"backwards\"\nexpand = [\"{{reverse::abc}}\"]\nexpect = { texts = [\"cba\"] }\n";
    let book =
        json!({ "name": "book.json", "json": { "entries": { "0": { "uid": 0, "key": ["fox"], "content": "The fox has no tail." } } } });
    let readers = tapster_door::shipped_readers();
    match call {
        "open" => json!({ "pack": "base", "overlays": [overlay] }),
        "put" => book,
        "close" => json!({ "handles": [] }),
        "emit" => json!({ "rules": "base", "scene": scene, "dialects": ["openai", "anthropic"] }),
        "explain" => json!({ "rules": "base", "scene": scene, "about": "blocks" }),
        "test" => json!({ "cases": [{ "name": "backwards.toml", "text": case }] }),
        "diff" => json!({ "a": "base", "b": { "pack": "base", "overlays": [overlay] }, "scene": scene }),
        "import" => json!({ "rules": readers.first(), "file": book }),
        // a book of one program for another
        "convert" => json!({ "rules": readers.get(1), "file": book }),
        "doctor" => json!({ "rules": readers.first(), "file": book }),
        "options" => json!({ "rules": "base" }),
        "schema" => json!({ "kind": "lore" }),
        "packs" => json!({}),
        "tokens" => json!({ "texts": ["Hello."] }),
        _ => json!({ "rules": "base", "scene": scene }),
    }
}
