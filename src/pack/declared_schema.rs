//! Schemas with what one pack declares: its options, its own tables, and its columns of the language's tables. Editors so
//! check rows that the shipped schemas do not know.

use serde_json::{Map, Value as Json, json};

use super::schemas::Schemas;
use crate::model::Pack;
use crate::model::options::TABLE;
use crate::model::pack::PackRow;

/// Kinds of files that hold no rows for programs.
const WITHOUT_ROWS: &[&str] = &["pack", "case", "template", "terms"];

impl Schemas {
    /// [`bundled`](Self::bundled), with the options, tables and columns that a pack declares.
    #[must_use]
    pub fn bundled_for(&self, file: &str, pack: &Pack) -> Option<Json> {
        let mut root = self.bundled(file)?;
        let kind = file.split('.').next().unwrap_or(file);
        if WITHOUT_ROWS.contains(&kind) {
            return Some(root);
        }
        if kind == "overlay"
            && !pack.options.is_empty()
            && let Some(known) = root.pointer_mut(&format!("/properties/{TABLE}")).and_then(Json::as_object_mut)
        {
            let mut own = pack.options.schema();
            for key in ["properties", "additionalProperties"] {
                if let Some(value) = own.get_mut(key) {
                    known.insert(key.to_owned(), value.take());
                }
            }
        }
        for table in pack.rows("table") {
            let of_table =
                json!({ "type": "array", "description": table.text("doc").unwrap_or_default(), "items": row_schema(pack, &table.name) });
            if let Some(properties) = root.get_mut("properties").and_then(Json::as_object_mut) {
                properties.entry(table.name.to_string()).or_insert(of_table);
            }
        }
        for column in pack.rows("column") {
            let Some((table, key)) = column.name.split_once('/') else { continue };
            // the schema of the rows: here, or where a reference leads
            let items = root.pointer(&format!("/properties/{table}/items"));
            let pointer = match items.and_then(|items| items.get("$ref")).and_then(Json::as_str) {
                Some(target) => target.trim_start_matches('#').to_owned(),
                None => continue,
            };
            if let Some(properties) = root.pointer_mut(&format!("{pointer}/properties")).and_then(Json::as_object_mut) {
                properties.entry(key).or_insert_with(|| cell_schema(column));
            }
        }
        Some(root)
    }
}

/// A row of a declared table. A row may be a patch, so that only its name is required.
fn row_schema(pack: &Pack, table: &str) -> Json {
    let word = |doc: &str| json!({ "type": "string", "description": doc });
    let flag = |doc: &str| json!({ "const": true, "description": doc });
    let mut properties = Map::new();
    let mut put = |key: &str, schema: Json| drop(properties.insert(key.to_owned(), schema));
    put("name", word("Name of the row; a row of that name in a lower layer is patched key by key."));
    for column in pack.rows("column") {
        if let Some((_, key)) = column.name.split_once('/').filter(|(of, _)| *of == table) {
            put(key, cell_schema(column));
        }
    }
    put("about", word("What the row is for, in a sentence."));
    put("remove", flag("Deletes the row of a lower layer."));
    put("replace", flag("Replaces the row of the lower layer as a whole."));
    put("new", flag("Says that the row is new: it is an error if a lower layer has a row of this name."));
    put("before", word("Puts the row before this row of the same table."));
    put("after", word("Puts the row after this row of the same table."));
    put("edit", json!({ "type": "object", "description": "Changes of single elements of lists of the lower row." }));
    put("expects", word("Fingerprint of the row that this patch was written for."));
    json!({ "type": "object", "required": ["name"], "properties": properties, "additionalProperties": false })
}

/// The values of a column: those of its type, references, and value forms.
fn cell_schema(column: &PackRow) -> Json {
    let kind = match column.text("type").unwrap_or_default() {
        "text" => Some("string"),
        "number" => Some("number"),
        "integer" => Some("integer"),
        "boolean" => Some("boolean"),
        "list" => Some("array"),
        "table" => Some("object"),
        _ => None,
    };
    let words: Vec<&str> = column.words("values").map(|(word, _)| word).collect();
    let mut out = Map::new();
    out.insert("description".to_owned(), column.text("doc").unwrap_or_default().into());
    if let Some(default) = column.fields.get("default") {
        out.insert("default".to_owned(), default.node.to_json());
    }
    if let Some(kind) = kind {
        let literal = if words.is_empty() { json!({ "type": kind }) } else { json!({ "enum": words }) };
        let reference = json!({ "type": "string", "pattern": "^[$@]|\\{\\{" });
        out.insert("anyOf".to_owned(), json!([literal, reference, { "type": "object" }]));
    }
    Json::Object(out)
}
