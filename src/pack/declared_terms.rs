//! Completes the schemas with what is declared once: what every file of rows and every row may have, the keys of rows that the
//! engine reads, the terms of verbs, and the names of functions.
//!
//! A schema says where by keywords of its own: `x-rows` (a file of rows; in a list, the tables that it may not have), `x-row` (a row).

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::artifact;
use crate::macros;
use crate::model::pack::{ABOUT, LAYERING, NAME};
use crate::model::term::{RowTerms, Term};
use crate::program;
use crate::reading;
use crate::template::task;
use crate::terms::names;

/// The base address of schemas without an `$id` of their own, so that errors can name them.
pub(super) const BASE: &str = "https://tapster.dev/schemas/";

/// The keys of rows, beside the code that reads them. The rows of other tables are only read by rules; their schemas declare them.
const ROWS: &[&[&[RowTerms]]] = &[program::ROWS, &[names::ROWS, macros::ROWS, reading::ROWS, task::ROWS, artifact::ROWS]];

/// What every file of rows may have.
const FILE: &[Term] = &[
    Term::json("about", r#"{ "x-free": "text", "type": "string" }"#, "what the file is for"),
    Term::json("allow", r##"{ "type": "array", "items": { "$ref": "#/definitions/allow" } }"##, "warnings that are accepted"),
    Term::defined("program", "file_program", "programs; or the one program that the file is about"),
    Term::json("pass", r##"{ "type": "array", "items": { "$ref": "#/definitions/pass" } }"##, "passes, in order"),
    Term::json("round", r##"{ "type": "array", "items": { "$ref": "#/definitions/round" } }"##, "the rounds that may follow in a `repeat`"),
    Term::json("fact", r##"{ "type": "array", "items": { "$ref": "#/definitions/fact" } }"##, "named conditions"),
    Term::json("value", r##"{ "type": "array", "items": { "$ref": "#/definitions/named_value" } }"##, "named values"),
    Term::json("field", r##"{ "type": "array", "items": { "$ref": "#/definitions/field" } }"##, "fields of items"),
    Term::defined("arrange", "arrange", ""),
];

/// Completes a schema by what its keywords ask for, all but the tables of other files.
pub(super) fn complete(schema: &mut Value, file: &str) {
    for (name, definition) in schema.get_mut("definitions").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(table) = definition.as_object_mut().filter(|table| table.contains_key("x-row")) else { continue };
        if name == "pass" {
            *definition = program::pass_schema();
            continue;
        }
        table.shift_remove("x-row");
        row(name, table);
    }
    if let Some(function) = schema.pointer_mut("/definitions/fn/properties/fn").and_then(Value::as_object_mut) {
        // what editors offer; an unknown function is reported where it is compiled
        let mut names: Vec<&str> = program::function_names().collect();
        names.sort_unstable();
        function.insert("examples".to_owned(), json!(names));
    }
    if let Some(table) = schema.as_object_mut()
        && let Some(marker) = table.get("x-rows").cloned()
    {
        let (kind, version) = file.split_once(".v").unwrap_or((file, ""));
        let version: i64 = version.trim_end_matches(".json").parse().unwrap_or(1);
        let mut known = Map::new();
        known.insert("$schema".to_owned(), json!({ "type": "string", "description": "The schema of the file, for editors." }));
        known.insert("kind".to_owned(), json!({ "const": kind, "description": "The kind of the file." }));
        known.insert("version".to_owned(), json!({ "const": version, "description": "Version of the schema." }));
        known.extend(FILE.iter().filter(|term| !leaves_out(&marker, term.name)).map(|term| (term.name.to_owned(), term.schema())));
        known.extend(properties(table));
        table.insert("properties".to_owned(), known.into());
        table.insert("type".to_owned(), "object".into());
        table.entry("required").or_insert(json!(["kind", "version"]));
        table.insert("additionalProperties".to_owned(), false.into());
    }
    let own = format!("{BASE}{file}");
    visit_references(schema, &mut |target| {
        if let Some(inside) = target.strip_prefix(&own).or_else(|| target.strip_prefix(file)) {
            *target = inside.to_owned();
        }
    });
}

/// Completes the schema of a row.
fn row(name: &str, table: &mut Map<String, Value>) {
    let declared = ROWS.iter().copied().flatten().copied().flatten().filter(|(row, _)| *row == name);
    let declared = declared.flat_map(|(_, lists)| lists.iter().copied().flatten());
    let mut known: Map<String, Value> = [&NAME].into_iter().chain(declared).map(|term| (term.name.to_owned(), term.schema())).collect();
    known.extend(properties(table));
    known.extend(LAYERING.iter().chain([&ABOUT]).map(|term| (term.name.to_owned(), term.schema())));
    table.insert("type".to_owned(), "object".into());
    table.insert("required".to_owned(), json!([NAME.name]));
    table.insert("properties".to_owned(), known.into());
    table.entry("additionalProperties").or_insert(false.into());
}

fn properties(table: &mut Map<String, Value>) -> Map<String, Value> {
    match table.shift_remove("properties") {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    }
}

/// Files that may have the tables of all kinds (`"x-rows": []`) get those that they do not declare themselves.
pub(super) fn join_tables(files: &mut IndexMap<String, Value>) {
    let mut all: Map<String, Value> = Map::new();
    for (file, schema) in files.iter().filter(|(_, schema)| schema.get("x-rows").is_some_and(Value::is_boolean)) {
        for (key, table) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_own = table.pointer("/items/$ref").and_then(Value::as_str).is_none_or(|target| target.starts_with('#'));
            let mut table = if table.get("items").is_some() { table.clone() } else { json!({ "$ref": format!("#/properties/{key}") }) };
            complete_references(&mut table, file);
            match all.get_mut(key) {
                Some(known) if is_own => *known = table,
                Some(_) => {}
                None => drop(all.insert(key.clone(), table)),
            }
        }
    }
    for schema in files.values_mut().filter_map(Value::as_object_mut) {
        let Some(marker) = schema.shift_remove("x-rows").filter(Value::is_array) else { continue };
        let Some(known) = schema.get_mut("properties").and_then(Value::as_object_mut) else { continue };
        for (key, table) in all.iter().filter(|(key, _)| !leaves_out(&marker, key)) {
            known.entry(key.clone()).or_insert_with(|| table.clone());
        }
    }
}

/// Whether files with this value of `x-rows` may not have a table.
fn leaves_out(marker: &Value, key: &str) -> bool {
    marker.as_array().is_some_and(|tables| tables.iter().any(|table| table.as_str() == Some(key)))
}

/// Visits every `$ref` of a schema, without recursion.
pub(super) fn visit_references(schema: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(table) => {
                for (key, value) in table {
                    match value {
                        Value::String(target) if key == "$ref" => visit(target),
                        value => open.push(value),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Makes references of a copied definition to its own file complete, so that they can be followed from elsewhere.
pub(super) fn complete_references(definition: &mut Value, file: &str) {
    visit_references(definition, &mut |target| {
        if target.starts_with('#') {
            *target = format!("{file}{target}");
        }
    });
}
