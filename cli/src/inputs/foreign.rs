//! What is said about a card, a preset or a chat where a rule file or a scene file is expected: which command reads it.

use std::path::Path;

use crate::diag::{Code, Diagnostic};
use crate::import;
use crate::inputs::files::{bytes_of, shown};
use crate::inputs::library::readers;
use crate::inputs::role::SceneRole;
use crate::inputs::scene::document;
use crate::output::OutputStreams;

/// A file of another program, as a pack reads it.
pub(crate) struct ForeignFile {
    /// The pack that is recommended for it.
    pub(crate) pack: String,
    /// The format that the pack recognises.
    pub(crate) format: String,
    /// The flag of a build that takes such a file.
    pub(crate) flag: &'static str,
}

/// The diagnostic about a file of another program where `wanted` was expected; `None` for a file that may be a rule file or
/// a scene file, and for one that does not exist.
pub(crate) fn of(path: &Path, wanted: &str, show: &mut OutputStreams<'_, '_>) -> Option<Diagnostic> {
    let ForeignFile { pack, format, flag } = read(path, show)?;
    let file = shown(path);
    let message = format!("`{file}` is not {wanted}: it is a `{format}`, which pack `{pack}` reads");
    let help = format!(
        "`tapster import {file} --report` says what becomes of its fields, and `tapster build --pack {pack} {flag} {file}` builds with it"
    );
    Some(Diagnostic::new(Code::SchemaKind, message).help(help))
}

/// Reads a file of another program; `None` as for [`of`].
pub(crate) fn read(path: &Path, show: &mut OutputStreams<'_, '_>) -> Option<ForeignFile> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ending == "toml" || !path.is_file() {
        return None;
    }
    let bytes = bytes_of(path, show).ok()?;
    let contents = import::read(&shown(path), &bytes).ok()?;
    let document = document(&contents, None);
    // a rule file says what kind it is, a template has a layout, and a scene mostly a pack
    if ["kind", "layout", "pack"].iter().any(|key| document.get(key).is_some()) {
        return None;
    }
    let found = readers(&document, None, show);
    let (rules, format) = found.first()?;
    let brought = tapster::import_document(rules, Some(format), document).ok()?;
    let flag = SceneRole::of(&brought.scene).map_or("--preset", SceneRole::flag);
    Some(ForeignFile { pack: rules.pack().name.to_string(), format: format.clone(), flag })
}
