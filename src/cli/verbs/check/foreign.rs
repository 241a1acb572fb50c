//! What `check` says about a card, a preset or a chat: it is no rule file, and another command reads it.

use std::path::Path;

use crate::cli::inputs::files::{bytes_of, shown};
use crate::cli::inputs::library::readers;
use crate::cli::inputs::role::Role;
use crate::cli::inputs::scene::document;
use crate::cli::output::Show;
use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::import;

use super::Found;

/// The diagnostic about a file of another program; `None` for a file that may be a rule file, and for one that does not
/// exist.
pub(super) fn of(path: &Path, show: &mut Show<'_, '_>) -> Option<Found> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ending == "toml" || !path.is_file() {
        return None;
    }
    let bytes = bytes_of(path, show).ok()?;
    let contents = import::read(&shown(path), &bytes).ok()?;
    let document = document(&contents, None);
    // a rule file says what kind it is, and a template has a layout
    if document.get("kind").is_some() || document.get("layout").is_some() {
        return None;
    }
    let found = readers(&document, None, show);
    let (rules, format) = found.first()?;
    let brought = crate::import_document(rules, Some(format), &document).ok()?;
    let (file, pack) = (shown(path), &rules.pack().name);
    let build = Role::of(&brought.scene).map_or("--preset", Role::flag);
    let message = format!("`{file}` is not a rule file: it is a `{format}`, which pack `{pack}` reads");
    let help = format!(
        "`tapster import {file} --report` says what becomes of its fields, and `tapster build --pack {pack} {build} {file}` builds with it"
    );
    let report = Report::from(Diagnostic::new(Code::SchemaKind, message).help(help));
    Some(Found { report, sources: Sources::default() })
}
