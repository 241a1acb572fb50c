//! What is said about a card, a preset or a chat where a rule file or a scene file is expected: which command reads it.

use std::path::Path;

use crate::cli::inputs::files::{bytes_of, shown};
use crate::cli::inputs::library::readers;
use crate::cli::inputs::role::Role;
use crate::cli::inputs::scene::document;
use crate::cli::output::Show;
use crate::diag::{Code, Diagnostic};
use crate::import;

/// The diagnostic about a file of another program where `wanted` was expected; `None` for a file that may be a rule file or
/// a scene file, and for one that does not exist.
pub(in crate::cli) fn of(path: &Path, wanted: &str, show: &mut Show<'_, '_>) -> Option<Diagnostic> {
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
    let brought = crate::import_document(rules, Some(format), document).ok()?;
    let (file, pack) = (shown(path), &rules.pack().name);
    let build = Role::of(&brought.scene).map_or("--preset", Role::flag);
    let message = format!("`{file}` is not {wanted}: it is a `{format}`, which pack `{pack}` reads");
    let help = format!(
        "`tapster import {file} --report` says what becomes of its fields, and `tapster build --pack {pack} {build} {file}` builds with it"
    );
    Some(Diagnostic::new(Code::SchemaKind, message).help(help))
}
