//! The files that are written and read beside archives: the index of a folder of archives, the lock of a folder of installed
//! packs, and the part of a pack's manifest that both of them name.
//!
//! Index and lock are checked by their JSON Schemas first, so that the schemas, which other programs may use, say what is
//! accepted.

use std::collections::HashSet;
use std::sync::LazyLock;

use jsonschema::Validator;
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::archive::path_complaint;
use super::{MAX_MEMORY, PackFile, ShareFault, file_name, shown};
use crate::diag::{Code, Diagnostic, limits, memory};

/// The name of its file.
pub const INDEX_FILE: &str = "index.json";
/// Largest index, in bytes (16 MiB).
pub const MAX_INDEX: usize = 16 << 20;
/// The most memory that its values may take, in bytes (384 MiB), as [`crate::diag::memory`] estimates it: an index needs
/// half of it, because no places are kept.
pub const MAX_INDEX_MEMORY: usize = 384 << 20;
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
        if memory::exceeds(bytes, MAX_INDEX_MEMORY) {
            return Err(fault(format!("has values that take more than {} MiB of memory", MAX_INDEX_MEMORY >> 20)));
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
        if let Some(wrong) = wrong_in_index(&value) {
            return Err(fault(format!("is no index of packs: {wrong}")));
        }
        let written: WrittenIndex = serde_json::from_value(value).map_err(|error| unread(&error))?;
        for entry in &written.packs {
            let who = format!("{} {}", shown(&entry.name), entry.release);
            let needs = entry.extends.iter().find_map(|need| name_complaint(&need.name));
            if let Some(why) = name_complaint(&entry.name).or_else(|| path_complaint(&entry.file)).or(needs) {
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

/// A pack that another one extends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackDependency {
    /// Its name.
    pub name: String,
    /// The releases that fit; any if there is no range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<VersionReq>,
}

/// The part of a manifest that is read before anything else of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestHeader {
    /// The name of the pack.
    pub name: String,
    /// Its release.
    pub release: Version,
    /// The releases of the engine that it works with.
    pub engine: Option<VersionReq>,
    /// The packs that it extends.
    pub extends: Vec<PackDependency>,
    /// Its licence.
    pub licence: String,
    /// What it is for.
    pub about: String,
    /// Who made it.
    pub authors: Vec<String>,
}

impl ManifestHeader {
    /// The manifest among the files of a pack. `place` is what messages call the pack.
    ///
    /// # Errors
    /// There is none, it cannot be read, or it lacks what others need to know.
    pub fn of(place: &str, files: &[PackFile]) -> Result<Self, ShareFault> {
        let fault = |what: String, help: &str| -> ShareFault {
            Diagnostic::new(Code::PackManifest, format!("`{}` {what}", shown(place))).help(help).into()
        };
        let too_large = |bytes: &Vec<u8>| memory::exceeds(bytes, MAX_MEMORY);
        let found = |name: &str| files.iter().find(|(path, _)| path == name).map(|(_, bytes)| bytes);
        let table: Option<toml::Table> = match (found("pack.toml"), found("pack.json")) {
            (Some(bytes), _) | (None, Some(bytes)) if too_large(bytes) => None,
            (Some(bytes), _) => std::str::from_utf8(bytes).ok().and_then(|text| toml::from_str(text.trim_start_matches('\u{FEFF}')).ok()),
            (None, Some(bytes)) => serde_json::from_slice(bytes).ok(),
            (None, None) => {
                return Err(fault("holds no `pack.toml` at its root".to_owned(), "`tapster pack DIR` makes an archive of a pack's folder"));
            }
        };
        let Some(table) = table else {
            return Err(fault("has a manifest that cannot be read".to_owned(), "`tapster check` says what is wrong with it"));
        };
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        if let Some(why) = name_complaint(&name) {
            return Err(fault(
                format!("calls itself `{}`, which {why}", shown(&name)),
                "a name is one word of letters, digits, `-`, `_` and `.`",
            ));
        }
        let release = Version::parse(&text("release"))
            .map_err(|error| fault(format!("has no usable `release`: {error}"), "write three numbers: `release = \"1.2.0\"`"))?;
        let range = |of: &str, text: &str| {
            VersionReq::parse(text).map_err(|error| {
                fault(format!("has a range for {of} that cannot be read, `{}`: {error}", shown(text)), "for example `^0.1`, `>=1.2, <2`")
            })
        };
        let engine = table.get("engine").and_then(toml::Value::as_str).map(|text| range("the engine", text)).transpose()?;
        let mut extends = Vec::new();
        let list = table.get("extends").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if list.len() > limits::PACKS {
            return Err(fault(format!("extends more than {} packs", limits::PACKS), "extend fewer packs"));
        }
        for entry in list {
            let named = entry.as_str().or_else(|| entry.get("name").and_then(toml::Value::as_str)).unwrap_or_default();
            if let Some(why) = name_complaint(named) {
                let help = "a pack that is shared names what it extends: `extends = [{ name = \"base\", release = \"^0.1\" }]`";
                return Err(fault(format!("extends `{}`, which {why}", shown(named)), help));
            }
            let release = entry.get("release").and_then(toml::Value::as_str).map(|text| range(named, text)).transpose()?;
            extends.push(PackDependency { name: named.to_owned(), release });
        }
        let authors = table.get("authors").and_then(toml::Value::as_array).into_iter().flatten();
        let authors = authors.filter_map(|a| a.as_str().map(str::to_owned)).collect();
        Ok(Self { name, release, engine, extends, licence: text("licence"), about: text("about"), authors })
    }
}

/// Why a text cannot be the name of a shared pack, which is also the name of its folder.
#[must_use]
pub fn name_complaint(name: &str) -> Option<&'static str> {
    if name.contains(['/', '\\']) {
        return Some("is a path");
    }
    if name.len() > 64 {
        return Some("is longer than 64 bytes");
    }
    if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        return Some("is not one word");
    }
    path_complaint(name)
}

/// The name of its file.
pub const LOCK_FILE: &str = "tapster.lock";

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
        if text.len() > limits::FILE_BYTES {
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
        if let Some(wrong) = wrong_in_lock(&value) {
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

/// The schemas by the names of their files, in the folder `schemas` of this crate.
pub const SCHEMAS: [(&str, &str); 2] =
    [("lock.v1.json", include_str!("../../schemas/lock.v1.json")), ("index.v1.json", include_str!("../../schemas/index.v1.json"))];

/// A schema by the name of its file.
#[must_use]
pub fn schema(file: &str) -> Option<Value> {
    let (_, text) = SCHEMAS.iter().find(|(name, _)| *name == file)?;
    serde_json::from_str(text).ok()
}

/// What is wrong with a lock, as far as a schema can tell.
fn wrong_in_lock(value: &Value) -> Option<String> {
    static LOCK: LazyLock<Option<Validator>> = LazyLock::new(|| compiled("lock.v1.json"));
    wrong(LOCK.as_ref(), value)
}

/// What is wrong with an index.
fn wrong_in_index(value: &Value) -> Option<String> {
    static INDEX: LazyLock<Option<Validator>> = LazyLock::new(|| compiled("index.v1.json"));
    wrong(INDEX.as_ref(), value)
}

fn compiled(file: &str) -> Option<Validator> {
    jsonschema::validator_for(&schema(file)?).ok()
}

/// The first mistake with its place. A schema that cannot be used is a fault of the program that refuses everything.
fn wrong(schema: Option<&Validator>, value: &Value) -> Option<String> {
    let Some(schema) = schema else { return Some("its schema cannot be used".to_owned()) };
    let error = schema.validate(value).err()?;
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let place = if place.is_empty() { String::new() } else { format!("at `{}`: ", shown(&place)) };
    // without the value, which may be the whole file
    Some(format!("{place}{}", shown(&error.masked().to_string())))
}
