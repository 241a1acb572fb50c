//! Fingerprints of values: equal values have equal ones, in whatever order their keys are written.

use std::io::{BufWriter, Write};

use crate::model::Value;

/// Bytes that are hashed at once.
const BUFFER: usize = 1 << 10;

/// The blake3 hash of the canonical JSON of a value, in hex: equal values have equal fingerprints in any order of keys.
#[must_use]
pub fn fingerprint(value: &Value) -> String {
    // the text is not kept: a value may be long when it is written out
    let mut out = BufWriter::with_capacity(BUFFER, blake3::Hasher::new());
    // a hash takes everything
    let _ = canonical(value, &mut out);
    out.into_inner().map(|hasher| hasher.finalize().to_hex().to_string()).unwrap_or_default()
}

/// Recursion is bounded, because values come from files or scripts, whose depth is bounded.
fn canonical(value: &Value, out: &mut impl Write) -> std::io::Result<()> {
    match value {
        Value::List(list) => {
            out.write_all(b"[")?;
            for (n, value) in list.iter().enumerate() {
                out.write_all(if n == 0 { b"" } else { b"," })?;
                canonical(value, out)?;
            }
            out.write_all(b"]")
        }
        Value::Map(map) => {
            let mut keys: Vec<_> = map.iter().filter(|(_, v)| !v.is_null()).collect();
            keys.sort_unstable_by_key(|(key, _)| (*key).clone());
            out.write_all(b"{")?;
            for (n, (key, value)) in keys.into_iter().enumerate() {
                out.write_all(if n == 0 { b"" } else { b"," })?;
                serde_json::to_writer(&mut *out, &**key)?;
                out.write_all(b":")?;
                canonical(value, out)?;
            }
            out.write_all(b"}")
        }
        Value::Int(_) | Value::Num(_) => out.write_all(value.to_text().as_bytes()),
        other => Ok(serde_json::to_writer(&mut *out, other)?),
    }
}
