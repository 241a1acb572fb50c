//! Names and values on their way into a database and back: bounds, hashes as keys, and JSON as text.

use serde_json::Value as Json;

use super::fault::refused;
use crate::diag::Code;
use crate::diag::depth::nests_deeper;
use crate::store::{Home, MAX_VALUE, StoreRefusal};

/// The longest owner, session, tag or id of a template, in bytes.
pub const MAX_NAME: usize = 1024;
/// How deep lists and objects may be nested in a stored value. What is nested deeper could not be read back.
pub const MAX_DEPTH: usize = 100;

/// The key of a session.
pub(super) fn home_key(home: &Home) -> Result<String, StoreRefusal> {
    bounded("owner", &home.owner)?;
    bounded("session", &home.session)?;
    Ok(key(&[&home.owner, &home.session]))
}

/// The key of an artifact of a session.
pub(super) fn artifact_key(home_key: &str, tag: &str) -> Result<String, StoreRefusal> {
    bounded("tag", tag)?;
    Ok(key(&[home_key, tag]))
}

/// 160 bits of a hash, as hex digits: two names with the same key are not found by chance, nor on purpose.
fn key(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(40).collect()
}

/// The beginning of a name, for a message.
pub(super) fn head(name: &str) -> String {
    let mut out: String = name.chars().take(40).collect();
    if out.len() < name.len() {
        out.push('…');
    }
    out
}

/// Refuses a name that one of the databases would refuse or cut.
pub(super) fn bounded(what: &str, name: &str) -> Result<(), StoreRefusal> {
    if name.len() > MAX_NAME {
        let message = format!("the {what} `{}…` is {} bytes long", name.chars().take(40).collect::<String>(), name.len());
        return Err(refused(Code::StoreName, message, format!("use at most {MAX_NAME} bytes")));
    }
    if name.contains('\0') {
        return Err(refused(Code::StoreName, format!("the {what} `{}` contains a NUL", name.escape_debug()), "leave it out"));
    }
    Ok(())
}

/// A value as compact JSON, within the bounds of a store. `of` says whose it is.
pub(super) fn text_of(value: &Json, of: &dyn Fn() -> String) -> Result<String, StoreRefusal> {
    if nests_deeper(value, MAX_DEPTH) {
        let message = format!("{} is nested deeper than {MAX_DEPTH} levels", of());
        return Err(refused(Code::StoreTooLarge, message, "make it flatter"));
    }
    let text = value.to_string();
    if text.len() > MAX_VALUE {
        let message = format!("{} has {} bytes of JSON", of(), text.len());
        return Err(refused(Code::StoreTooLarge, message, format!("split it: at most {} MiB are stored in one piece", MAX_VALUE >> 20)));
    }
    Ok(text)
}

/// Reads a stored text of JSON back. `of` says whose it is.
pub(super) fn value_of<T: serde::de::DeserializeOwned>(text: &str, of: &dyn Fn() -> String) -> Result<T, StoreRefusal> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("{} is stored as something that is not JSON: {error}", of());
        refused(Code::StoreDamaged, message, "restore a backup, or remove it and write it anew")
    })
}
