//! The description of the paths, from the schema of the door.

use serde_json::{Map, Value as Json, json};

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
pub(crate) fn call_names() -> Vec<String> {
    calls(&tapster_door::schema()).map(|(name, _)| name.to_owned()).collect()
}

/// The OpenAPI 3.1 document of the server.
#[must_use]
pub fn document() -> Json {
    // parts of the schema are named elsewhere in such a document
    let schema = tapster_door::schema().to_string().replace("#/$defs/", "#/components/schemas/");
    let schema: Json = serde_json::from_str(&schema).unwrap_or_default();
    let mut paths = Map::new();
    for (call, variant) in calls(&schema) {
        let (about, body) = request_schema(variant);
        let content = |kind: &str, of: &str| json!({ kind: { "schema": { "$ref": format!("#/components/schemas/{of}") } } });
        let post = json!({
            "operationId": call,
            "summary": about,
            "requestBody": { "required": true, "content": { "application/json": { "schema": body, "example": example(call) } } },
            "responses": {
                "200": { "description": "The result.", "content": content("application/json", "Response") },
                "default": { "description": "Why there is none (RFC 9457).", "content": content("application/problem+json", "Problem") },
            },
        });
        paths.insert(format!("/v1/{call}"), json!({ "post": post }));
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
        "options" => json!({ "rules": "base" }),
        "schema" => json!({ "kind": "lore" }),
        "packs" => json!({}),
        "tokens" => json!({ "texts": ["Hello."] }),
        _ => json!({ "rules": "base", "scene": scene }),
    }
}
