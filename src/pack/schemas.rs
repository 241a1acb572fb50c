//! The JSON Schemas of all kinds, compiled on first use and kept as long as the program runs.
//!
//! They live in `schemas/<kind>.v<version>.json` and may refer to each other; nothing is ever fetched. Editors read them from
//! `editors/`, where each is complete by itself.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

#[cfg(not(rules_on_disk))]
use include_dir::{Dir, include_dir};
use indexmap::IndexMap;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::{Map, Value, json};

use super::KINDS;
use super::declared_terms::{self, BASE, complete_references, visit_references};
use crate::diag::limits;
use crate::model::Pack;
use crate::model::options::TABLE;
use crate::model::pack::{ABOUT, LAYERING, NAME, PackRow, is_layering};
use crate::terms::names::RowKeys;
use crate::text::percent::decode;

#[cfg(not(rules_on_disk))]
static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/schemas");

/// A set of schemas by file name.
#[derive(Debug)]
pub struct Schemas {
    /// File names and texts.
    texts: Vec<(Box<str>, Box<str>)>,
    files: OnceLock<SchemaFiles>,
    ready: Mutex<HashMap<String, ReadyValidator>>,
    row_keys: OnceLock<RowKeys>,
}

type SchemaFiles = Arc<IndexMap<String, Value>>;

/// A compiled schema.
#[derive(Debug)]
struct ReadyValidator {
    /// The keys at the top that it knows; all without a list.
    keys: Option<Vec<String>>,
    validator: Arc<Validator>,
}

/// A schema with more keys at the top, as that of overlays has, is first compiled for the keys of one file.
const MANY_KEYS: usize = 50;

impl Schemas {
    /// The schemas that ship inside the program.
    #[must_use]
    pub fn shipped() -> &'static Schemas {
        static ALL: OnceLock<Schemas> = OnceLock::new();
        ALL.get_or_init(|| {
            #[cfg(rules_on_disk)]
            {
                let files = super::files::checkout(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas"), "");
                Schemas::new(files.iter().filter_map(|(name, bytes)| Some((name.as_str(), std::str::from_utf8(bytes).ok()?))))
            }
            #[cfg(not(rules_on_disk))]
            Schemas::new(SHIPPED.files().filter_map(|f| Some((f.path().to_str()?, f.contents_utf8()?))))
        })
    }

    /// Schemas from `(file name, text)`, which are read when one of them is first used. A text that is not JSON is left out.
    #[must_use]
    pub fn new<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Schemas {
        // the schema of requests lies beside those of rule files
        let texts = texts.into_iter().filter(|(name, _)| !name.starts_with("door."));
        let texts = texts.map(|(name, text)| (name.into(), text.into())).collect();
        Schemas { texts, files: OnceLock::new(), ready: Mutex::new(HashMap::new()), row_keys: OnceLock::new() }
    }

    fn files(&self) -> &SchemaFiles {
        self.files.get_or_init(|| {
            let mut files: IndexMap<String, Value> = IndexMap::new();
            for (name, text) in &self.texts {
                let Ok(mut schema) = serde_json::from_str::<Value>(text) else { continue };
                if let Some(table) = schema.as_object_mut() {
                    table.entry("$id").or_insert_with(|| format!("{BASE}{name}").into());
                }
                declared_terms::complete(&mut schema, name);
                files.insert(name.to_string(), schema);
            }
            declared_terms::join_tables(&mut files);
            files.sort_keys();
            Arc::new(files)
        })
    }

    /// The schema of a file, by its name: `lore.v2.json`.
    #[must_use]
    pub fn get(&self, file: &str) -> Option<&Value> {
        self.files().get(file)
    }

    /// All file names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files().keys().map(String::as_str)
    }

    /// All schemas, sorted by their file names.
    pub(super) fn all(&self) -> impl Iterator<Item = &Value> {
        self.files().values()
    }

    /// The newest version of a kind's schema; `None` for a kind without schema.
    #[must_use]
    pub fn newest(&self, kind: &str) -> Option<i64> {
        let version = |name: &str| name.strip_prefix(kind)?.strip_prefix(".v")?.strip_suffix(".json")?.parse().ok();
        self.texts.iter().filter_map(|(name, _)| version(name)).max()
    }

    /// The compiled schema of a file, which knows all keys at the top of a document, or why it cannot be used.
    pub(super) fn validator(&self, file: &str, document: &Value) -> Result<Arc<Validator>, String> {
        let schema = self.files().get(file).ok_or_else(|| format!("there is no schema `{file}`"))?;
        let known = schema.get("properties").and_then(Value::as_object);
        let used = || known.into_iter().flatten().filter(|(key, _)| document.get(key).is_some());
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let found = ready.get(file);
        if let Some(found) = found.filter(|found| found.keys.as_ref().is_none_or(|keys| used().all(|(key, _)| keys.contains(key)))) {
            return Ok(found.validator.clone());
        }
        // most overlays have one or two tables; another file gets all, so that a schema is compiled twice at most
        let one_file = found.is_none() && known.is_some_and(|known| known.len() > MANY_KEYS);
        let cut = || {
            let mut schema = schema.clone();
            if let Some(root) = schema.as_object_mut() {
                root.insert("properties".to_owned(), used().map(|(key, of)| (key.clone(), of.clone())).collect());
            }
            schema
        };
        let schema = if one_file { &cut() } else { schema };
        let options = jsonschema::options()
            .with_draft(Draft::Draft7)
            .with_pattern_options(PatternOptions::regex())
            .with_retriever(ByName(self.files().clone()));
        let validator = Arc::new(options.build(schema).map_err(|e| e.to_string())?);
        let keys = one_file.then(|| used().map(|(key, _)| key.clone()).collect());
        ready.insert(file.to_owned(), ReadyValidator { keys, validator: validator.clone() });
        Ok(validator)
    }

    /// Whether the schemas know a key of the rows of a table of the language.
    pub(super) fn row_has(&self, table: &str, key: &str) -> bool {
        let known = |root| {
            let (root, rows) = self.target(root, root.get("properties")?.get(table)?)?;
            let (_, row) = self.target(root, rows.get("items")?)?;
            row.get("properties")?.get(key)
        };
        self.files().values().any(|root| known(root).is_some())
    }

    /// By table, the keys of its rows that passes can read. Tables whose rows may have any key are left out.
    pub(super) fn row_keys(&self) -> &RowKeys {
        self.row_keys.get_or_init(|| {
            let (mut keys, mut open) = (RowKeys::new(), HashSet::new());
            for root in self.files().values() {
                for (table, rows) in root.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let Some(row) = self.row_of(root, rows) else { continue };
                    if row.get("additionalProperties") != Some(&Value::Bool(false)) {
                        open.insert(table.as_str());
                    }
                    let known = row.get("properties").and_then(Value::as_object).into_iter().flat_map(|known| known.keys());
                    keys.entry(table.clone()).or_default().extend(known.filter(|key| !is_layering(key)).cloned());
                }
            }
            keys.retain(|table, _| !open.contains(table.as_str()));
            keys
        })
    }

    /// The schema of a row, if this is the schema of the rows of a table.
    fn row_of<'s>(&'s self, root: &'s Value, rows: &'s Value) -> Option<&'s Value> {
        let (root, rows) = self.target(root, rows)?;
        let (_, row) = self.target(root, rows.get("items")?)?;
        row.get("properties").map(|_| row)
    }

    /// The kinds of files whose rows or tables have this key at the top, `type` as JSON Schema calls it. Kinds that hold what
    /// belongs to others are left out.
    pub(super) fn kinds_with(&self, key: &str, of_type: &str) -> Vec<&'static str> {
        let has = |kind: &str| {
            let root = self.files().get(&format!("{kind}.v{}.json", self.newest(kind)?))?;
            let (_, found) = self.target(root, root.get("properties")?.get(key)?)?;
            (found.get("type")?.as_str()? == of_type).then_some(())
        };
        let own = KINDS.iter().map(|(kind, _)| *kind).filter(|kind| !matches!(*kind, "overlay" | "case"));
        own.filter(|kind| has(kind).is_some()).collect()
    }

    /// Where the references of a schema lead, with the file that holds it.
    fn target<'s>(&'s self, mut root: &'s Value, mut schema: &'s Value) -> Option<(&'s Value, &'s Value)> {
        for _ in 0..limits::CHAIN {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some((root, schema)) };
            let (file, pointer) = reference.split_once('#')?;
            if !file.is_empty() {
                root = self.files().get(file.rsplit('/').next()?)?;
            }
            schema = root.pointer(pointer)?;
        }
        None
    }

    /// The schema that holds the keyword at `location` (`…/lore.v2.json#/definitions/row/additionalProperties`).
    pub(super) fn around(&self, location: &str) -> Option<&Value> {
        let (file, pointer) = location.split_once('#')?;
        let schema = self.files().get(file.rsplit('/').next()?)?;
        let pointer = decode(pointer).decode_utf8_lossy();
        schema.pointer(pointer.rsplit_once('/')?.0)
    }
}

/// Finds a schema by the last part of its address: they refer to each other, and to nothing else.
struct ByName(SchemaFiles);

impl Retrieve for ByName {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let address = uri.as_str().split('#').next().unwrap_or("");
        let name = address.rsplit('/').next().unwrap_or("");
        self.0.get(name).cloned().ok_or_else(|| format!("there is no schema `{name}`").into())
    }
}

impl Schemas {
    /// The schema of a file by its name (`lore.v2.json`), with every definition of other files that it refers to copied
    /// into it: their addresses answer nobody. Tables that a pack may declare are allowed.
    #[must_use]
    pub fn bundled(&self, file: &str) -> Option<Value> {
        let mut root = self.closed_bundle(file)?;
        let table = root.as_object_mut()?;
        if may_have_own_tables(file) && table.contains_key("additionalProperties") {
            let own = json!({
                "type": "array",
                "items": { "type": "object", "required": [NAME.name] },
                "description": "Rows of a table that the pack declares.",
            });
            table.insert("additionalProperties".to_owned(), own);
        }
        Some(root)
    }

    fn closed_bundle(&self, file: &str) -> Option<Value> {
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
            complete_references(&mut part, &other);
            localize(&mut part, &mut open);
            copied.insert(copy_name(&other, &pointer), part);
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
fn copy_name(file: &str, pointer: &str) -> String {
    let inside = pointer.strip_prefix("/definitions").unwrap_or(pointer);
    format!("{}{}", file.split('.').next().unwrap_or(file), inside.replace('/', "."))
}

/// Turns references to parts of other files into references to their copies, and lists what is to be copied.
fn localize(schema: &mut Value, open: &mut Vec<(String, String)>) {
    visit_references(schema, &mut |target| {
        let (address, pointer) = target.split_once('#').unwrap_or((target, ""));
        if address.is_empty() {
            return;
        }
        let file = address.rsplit('/').next().unwrap_or(address).to_owned();
        let pointer = pointer.to_owned();
        *target = format!("#/definitions/{}", copy_name(&file, &pointer));
        open.push((file, pointer));
    });
}

/// Kinds of files that hold no rows for programs.
const WITHOUT_ROWS: &[&str] = &["pack", "case", "template", "terms"];

fn may_have_own_tables(file: &str) -> bool {
    !WITHOUT_ROWS.contains(&file.split('.').next().unwrap_or(file))
}

impl Schemas {
    /// [`bundled`](Self::bundled), with the options, tables and columns that a pack declares.
    #[must_use]
    pub fn bundled_for(&self, file: &str, pack: &Pack) -> Option<Value> {
        let mut root = self.closed_bundle(file)?;
        if !may_have_own_tables(file) {
            return Some(root);
        }
        if file.starts_with("overlay.")
            && !pack.options.is_empty()
            && let Some(known) = root.pointer_mut(&format!("/properties/{TABLE}")).and_then(Value::as_object_mut)
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
            if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
                properties.entry(table.name.to_string()).or_insert(of_table);
            }
        }
        for column in pack.rows("column") {
            let Some((table, key)) = column.name.split_once('/') else { continue };
            // the schema of the rows: here, or where a reference leads
            let items = root.pointer(&format!("/properties/{table}/items"));
            let pointer = match items.and_then(|items| items.get("$ref")).and_then(Value::as_str) {
                Some(target) => target.trim_start_matches('#').to_owned(),
                None => continue,
            };
            if let Some(properties) = root.pointer_mut(&format!("{pointer}/properties")).and_then(Value::as_object_mut) {
                properties.entry(key).or_insert_with(|| cell_schema(column));
            }
        }
        Some(root)
    }
}

/// A row of a declared table. A row may be a patch, so that only its name is required.
fn row_schema(pack: &Pack, table: &str) -> Value {
    let columns = pack.rows("column").filter_map(|column| {
        let (_, key) = column.name.split_once('/').filter(|(of, _)| *of == table)?;
        Some((key.to_owned(), cell_schema(column)))
    });
    let common = [&NAME].into_iter().chain(LAYERING).chain([&ABOUT]).map(|term| (term.name.to_owned(), term.schema()));
    let properties: Map<String, Value> = common.chain(columns).collect();
    let mut row = json!({ "type": "object", "required": [NAME.name], "properties": properties, "additionalProperties": false });
    // the schema that it becomes a part of has copies of what it refers to
    localize(&mut row, &mut Vec::new());
    row
}

/// The values of a column: those of its type, references, and value forms.
fn cell_schema(column: &PackRow) -> Value {
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
    Value::Object(out)
}
