//! The lock of a folder of installed packs: which release each is, what its files are, where it came from.

use std::collections::HashSet;

use semver::Version;
use serde::{Deserialize, Serialize};

use super::index::is_digest;
use super::manifest::name_complaint;
use super::schema;
use super::{MAX_MEMORY, ShareFault, shown};
use crate::diag::{Code, Diagnostic, memory};

/// The name of its file.
pub const FILE: &str = "tapster.lock";
/// Largest lock, in bytes (4 MiB).
pub const MAX_LOCK: usize = 4 << 20;

const HEAD: &str = "# Written by `tapster install`, `tapster update` and `tapster remove`. Keep it with the packs.\n";

/// One installed pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedPack {
    /// The name of the pack.
    pub name: String,
    /// Its release.
    pub release: Version,
    /// The digest of its archive.
    pub digest: String,
    /// Where it came from: an address, or the path of a file or folder.
    pub source: String,
    /// The index that named it, where it was asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The key by which it is signed, if a trusted one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// All installed packs of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackLock {
    version: u64,
    /// By name.
    #[serde(default, rename = "pack")]
    pub packs: Vec<LockedPack>,
}

impl PackLock {
    /// Reads a lock. `place` is what messages call it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(place: &str, text: &str) -> Result<Self, ShareFault> {
        let fault = |what: String| -> ShareFault {
            let help = "restore the file from your version control, or remove it and install the packs again";
            Diagnostic::new(Code::ShareIndex, format!("`{}` {what}", shown(place))).help(help).into()
        };
        if text.len() > MAX_LOCK {
            return Err(fault("is larger than 4 MiB".to_owned()));
        }
        if memory::exceeds(text.as_bytes(), MAX_MEMORY) {
            return Err(fault(format!("has values that take more than {} MiB of memory", MAX_MEMORY >> 20)));
        }
        let unread = |error: &toml::de::Error| fault(format!("cannot be read as a lock: {}", shown(error.message())));
        let value: serde_json::Value = toml::from_str(text).map_err(|error| unread(&error))?;
        // the version first: the schema is that of version 1
        if let Some(version) = value.get("version").filter(|version| **version != 1) {
            return Err(fault(format!("is a lock of version {version}, and this program knows version 1")));
        }
        if let Some(wrong) = schema::wrong_in_lock(&value) {
            return Err(fault(format!("is no lock: {wrong}")));
        }
        let lock: Self = toml::from_str(text).map_err(|error| unread(&error))?;
        let mut names = HashSet::new();
        for pack in &lock.packs {
            if let Some(why) = name_complaint(&pack.name) {
                return Err(fault(format!("names a pack `{}`, which {why}", shown(&pack.name))));
            }
            if !is_digest(&pack.digest) {
                return Err(fault(format!("has no usable digest of `{}`", shown(&pack.name))));
            }
            if !names.insert(pack.name.as_str()) {
                return Err(fault(format!("has `{}` twice", shown(&pack.name))));
            }
        }
        Ok(lock)
    }

    /// The text of the lock; empty if no pack is locked, because then there is no such file.
    #[must_use]
    pub fn write(&self) -> String {
        if self.packs.is_empty() {
            return String::new();
        }
        let mut lock = self.clone();
        lock.version = 1;
        lock.packs.sort_by(|a, b| a.name.cmp(&b.name));
        format!("{HEAD}{}", toml::to_string(&lock).unwrap_or_default())
    }

    /// The row of a pack.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&LockedPack> {
        self.packs.iter().find(|pack| pack.name == name)
    }

    /// Adds the row of a pack in place of an older one.
    pub fn put(&mut self, pack: LockedPack) {
        self.remove(&pack.name);
        self.packs.push(pack);
    }

    /// Removes the row of a pack.
    pub fn remove(&mut self, name: &str) {
        self.packs.retain(|pack| pack.name != name);
    }
}
