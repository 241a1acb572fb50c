//! The index of a folder of archives: one JSON file that any web server or git host can serve beside them.

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::{ManifestHeader, PackDependency, name_complaint};
use super::{ShareFault, file_name, names, schema, shown};
use crate::diag::{Code, Diagnostic, memory};

/// The name of its file.
pub const FILE: &str = "index.json";
/// Largest index, in bytes (16 MiB).
pub const MAX_INDEX: usize = 16 << 20;
/// The most memory that its values may take, in bytes (384 MiB), as [`crate::diag::memory`] estimates it: an index needs
/// half of it, because no places are kept.
pub const MAX_MEMORY: usize = 384 << 20;
/// Most releases in it.
const MAX_ENTRIES: usize = 50_000;
const FORMAT: &str = "tapster-index";

/// One release of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The name of the pack.
    pub name: String,
    /// Its release.
    pub release: Version,
    /// Where the archive lies, from the folder of the index.
    pub file: String,
    /// The digest of the archive.
    pub digest: String,
    /// The size of the archive, in bytes.
    pub size: u64,
    /// Whether a signature lies beside the archive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// The releases of the engine that it works with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<VersionReq>,
    /// The packs that it extends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extends: Vec<PackDependency>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub licence: String,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

/// The releases that can be had from one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackIndex {
    /// By name, the newest release first.
    pub packs: Vec<IndexEntry>,
}

#[derive(Serialize, Deserialize)]
struct WrittenIndex {
    format: String,
    version: u64,
    packs: Vec<IndexEntry>,
}

impl IndexEntry {
    /// The entry of an archive.
    #[must_use]
    pub fn of(manifest: &ManifestHeader, file: String, archive: &[u8], signed: bool) -> Self {
        Self {
            name: manifest.name.clone(),
            release: manifest.release.clone(),
            file,
            digest: super::digest(archive),
            size: archive.len() as u64,
            signed,
            engine: manifest.engine.clone(),
            extends: manifest.extends.clone(),
            licence: manifest.licence.clone(),
            authors: manifest.authors.clone(),
            about: manifest.about.clone(),
        }
    }

    /// Whether a pack says of itself what the index says of it.
    #[must_use]
    pub fn fits(&self, manifest: &ManifestHeader) -> bool {
        self.name == manifest.name && self.release == manifest.release && self.extends == manifest.extends && self.engine == manifest.engine
    }

    /// Whether each of these words, in lower case, occurs in what is said of the pack.
    #[must_use]
    pub fn has(&self, words: &[String]) -> bool {
        let all = format!("{} {} {}", self.name, self.about, self.authors.join(" ")).to_lowercase();
        words.iter().all(|word| all.contains(word))
    }
}

impl PackIndex {
    /// An index of these releases.
    #[must_use]
    pub fn new(mut packs: Vec<IndexEntry>) -> Self {
        packs.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| b.release.cmp(&a.release)));
        Self { packs }
    }

    /// Reads an index. `place` is what messages call it. Keys that it does not know are of later releases, and ignored.
    ///
    /// # Errors
    /// It is no index, or an entry of it cannot be used.
    pub fn read(place: &str, bytes: &[u8]) -> Result<Self, ShareFault> {
        let fault = |what: String| -> ShareFault {
            let help = "`tapster index DIR` writes an index; ask whoever keeps this one";
            Diagnostic::new(Code::ShareIndex, format!("`{}` {what}", shown(place))).help(help).into()
        };
        if bytes.len() > MAX_INDEX {
            return Err(fault("is larger than 16 MiB".to_owned()));
        }
        if memory::exceeds(bytes, MAX_MEMORY) {
            return Err(fault(format!("has values that take more than {} MiB of memory", MAX_MEMORY >> 20)));
        }
        let unread = |error: &serde_json::Error| fault(format!("is no index of packs: {}", shown(&error.to_string())));
        let value: Value = serde_json::from_slice(bytes).map_err(|error| unread(&error))?;
        // the format first: the schema is that of version 1
        if let (Some(format), Some(version)) = (value.get("format").and_then(Value::as_str), value.get("version"))
            && (format != FORMAT || *version != 1)
        {
            return Err(fault(format!("is of format `{}` {}, and not `{FORMAT}` 1", shown(format), shown(&version.to_string()))));
        }
        if value.get("packs").and_then(Value::as_array).is_some_and(|packs| packs.len() > MAX_ENTRIES) {
            return Err(fault(format!("has more than {MAX_ENTRIES} releases")));
        }
        if let Some(wrong) = schema::wrong_in_index(&value) {
            return Err(fault(format!("is no index of packs: {wrong}")));
        }
        let written: WrittenIndex = serde_json::from_value(value).map_err(|error| unread(&error))?;
        for entry in &written.packs {
            let who = format!("{} {}", shown(&entry.name), entry.release);
            let needs = entry.extends.iter().find_map(|need| name_complaint(&need.name));
            if let Some(why) = name_complaint(&entry.name).or_else(|| names::complaint(&entry.file)).or(needs) {
                return Err(fault(format!("has an entry with a name that {why}: {who}")));
            }
            if !is_digest(&entry.digest) {
                return Err(fault(format!("has an entry without a usable digest: {who}")));
            }
        }
        let index = Self::new(written.packs);
        let mut pairs = index.packs.iter().zip(index.packs.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(a, b)| (&a.name, &a.release) == (&b.name, &b.release)) {
            return Err(fault(format!("has {} {} twice", shown(&twice.name), twice.release)));
        }
        Ok(index)
    }

    /// The text of the index.
    #[must_use]
    pub fn write(&self) -> String {
        let written = WrittenIndex { format: FORMAT.to_owned(), version: 1, packs: self.packs.clone() };
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }
}

/// Whether the name of an archive is the one that its pack gives it.
#[must_use]
pub fn is_own_name(file: &str, manifest: &ManifestHeader) -> bool {
    file.rsplit('/').next() == Some(&file_name(&manifest.name, &manifest.release))
}

/// Whether a text is a digest as [`super::digest`] writes it.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix("blake3:").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}
