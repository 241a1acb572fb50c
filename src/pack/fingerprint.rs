//! Fingerprints of rules: blake3 over a canonical text, so that the same rules give the same fingerprint however
//! they are spelled (TOML or JSON, order of keys, spread over files or layers).

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};

use std::sync::Arc;

use crate::diag::{DocumentNode, FieldMap, NodeValue, TableField};
use crate::model::Pack;

/// Shortest prefix of a fingerprint that `expects` may give, in characters.
pub const MIN_PREFIX: usize = 8;

/// The fingerprint of one row: 64 hexadecimal digits. This is what `expects` on a patch is compared with.
#[must_use]
pub fn of_row(name: &str, fields: &FieldMap) -> String {
    blake3::hash(row_text(name, fields).as_bytes()).to_hex().to_string()
}

/// The canonical text of one row: JSON with sorted keys.
#[must_use]
pub fn row_text(name: &str, fields: &FieldMap) -> String {
    let mut out = String::new();
    write_row(name, fields, &mut out);
    out
}

fn write_row(name: &str, fields: &FieldMap, out: &mut String) {
    out.push_str("{\"name\":");
    text(name, out);
    out.push(',');
    table(fields, out);
}

/// The fingerprint of merged rules: tables with their rows in order, values, and the texts of scripts and templates.
#[must_use]
pub fn of_pack(pack: &Pack) -> String {
    let mut hash = PartHasher::default();
    let mut names: Vec<_> = pack.tables.keys().collect();
    names.sort();
    let mut out = String::new();
    for name in names {
        for row in pack.tables.get(name).into_iter().flat_map(|rows| rows.values()) {
            out.clear();
            write_row(&row.name, &row.fields, &mut out);
            hash.add(["row", name, &out]);
        }
    }
    out.clear();
    table(pack.values.iter().chain(&pack.written_options), &mut out);
    hash.add(["values", &out]);
    let mut paths: Vec<_> = pack.assets.iter().collect();
    paths.sort();
    for (path, id) in paths {
        hash.add(["asset", path, pack.sources.get(*id).map_or("", |s| &s.text)]);
    }
    hash.finish()
}

/// Bytes that are hashed at once, which is faster than one by one.
const BUFFER: usize = 1 << 16;

/// Hashes texts with their lengths, so that two different lists of texts never hash the same bytes.
pub(super) struct PartHasher(BufWriter<blake3::Hasher>);

impl Default for PartHasher {
    fn default() -> Self {
        Self(BufWriter::with_capacity(BUFFER, blake3::Hasher::new()))
    }
}

impl PartHasher {
    pub(super) fn add<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        for text in texts {
            // a hash takes everything
            let _ = self.0.write_all(&(text.len() as u64).to_le_bytes());
            let _ = self.0.write_all(text.as_bytes());
        }
    }

    /// The hash, in hex.
    pub(super) fn finish(self) -> String {
        self.0.into_inner().map(|hash| hash.finalize().to_hex().to_string()).unwrap_or_default()
    }
}

/// Writes a node. Nesting is bounded by the readers of TOML and JSON.
fn node(value: &DocumentNode, out: &mut String) {
    match &value.data {
        NodeValue::Null => out.push_str("null"),
        NodeValue::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        NodeValue::Int(n) => {
            let _ = write!(out, "{n}");
        }
        NodeValue::Float(n) => {
            let _ = write!(out, "{n:?}");
        }
        NodeValue::Text(t) => text(t, out),
        NodeValue::List(list) => {
            out.push('[');
            for item in list {
                node(item, out);
                out.push(',');
            }
            out.push(']');
        }
        NodeValue::Table(fields) => {
            out.push('{');
            table(fields, out);
        }
    }
}

/// Writes the fields and the closing bracket.
fn table<'f>(fields: impl IntoIterator<Item = (&'f Arc<str>, &'f TableField)>, out: &mut String) {
    let mut keys: Vec<_> = fields.into_iter().collect();
    keys.sort_by(|a, b| a.0.cmp(b.0));
    for (key, field) in keys {
        text(key, out);
        out.push(':');
        node(&field.node, out);
        out.push(',');
    }
    out.push('}');
}

/// Writes a text as in JSON.
fn text(text: &str, out: &mut String) {
    // without an early end, so that many bytes are looked at together
    let special = text.bytes().fold(false, |found, byte| found | (byte < b' ') | (byte == b'"') | (byte == b'\\'));
    if !special {
        out.extend(["\"", text, "\""]);
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}
