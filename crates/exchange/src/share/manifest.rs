//! What the manifest of a pack says to those who share it: name, release, and what it stands on.

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use super::{MAX_MEMORY, PackFile, ShareFault, names, shown};
use crate::diag::{Code, Diagnostic, memory};

/// Most packs that one pack may name.
const MAX_NEEDS: usize = 64;

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
        if list.len() > MAX_NEEDS {
            return Err(fault(format!("extends more than {MAX_NEEDS} packs"), "extend fewer packs"));
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
    names::complaint(name)
}
