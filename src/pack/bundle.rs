//! Schemas as single files: every definition of another schema that a schema refers to is copied into it, because the
//! address of the other one answers nobody.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::schemas::Schemas;

impl Schemas {
    /// The schema of a file by its name, with everything that it refers to in other files: `lore.v1.json`.
    #[must_use]
    pub fn bundled(&self, file: &str) -> Option<Value> {
        let mut root = self.get(file)?.clone();
        let mut open = Vec::new();
        localize(&mut root, &mut open);
        let own = root.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut copied = Map::new();
        let mut seen = BTreeSet::new();
        while let Some((other, pointer)) = open.pop() {
            if !seen.insert((other.clone(), pointer.clone())) {
                continue;
            }
            let Some(mut part) = self.get(&other).and_then(|schema| schema.pointer(&pointer)).cloned() else { continue };
            if let Some(table) = part.as_object_mut() {
                table.shift_remove("$id");
                table.shift_remove("$schema");
            }
            inner(&mut part, &other);
            localize(&mut part, &mut open);
            copied.insert(local(&other, &pointer), part);
        }
        let table = root.as_object_mut()?;
        // without an address of its own, a `#/…` means this file for every reader
        table.shift_remove("$id");
        if !copied.is_empty() {
            copied.sort_keys();
            table.insert("definitions".to_owned(), Value::Object(own.into_iter().chain(copied).collect()));
        }
        Some(root)
    }
}

/// The name of a copied part: `terms.value` of a definition, `overlay.properties.slot` of anything else.
fn local(file: &str, pointer: &str) -> String {
    let inside = pointer.strip_prefix("/definitions").unwrap_or(pointer);
    format!("{}{}", file.split('.').next().unwrap_or(file), inside.replace('/', "."))
}

/// Visits every `$ref` of a schema, without recursion.
fn refs(schema: &mut Value, visit: &mut dyn FnMut(&mut String)) {
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
fn inner(definition: &mut Value, file: &str) {
    refs(definition, &mut |target| {
        if target.starts_with('#') {
            *target = format!("{file}{target}");
        }
    });
}

/// Turns references to parts of other files into references to their copies, and lists what is to be copied.
fn localize(schema: &mut Value, open: &mut Vec<(String, String)>) {
    refs(schema, &mut |target| {
        let (address, pointer) = target.split_once('#').unwrap_or((target, ""));
        if address.is_empty() {
            return;
        }
        let file = address.rsplit('/').next().unwrap_or(address).to_owned();
        let pointer = pointer.to_owned();
        *target = format!("#/definitions/{}", local(&file, &pointer));
        open.push((file, pointer));
    });
}
