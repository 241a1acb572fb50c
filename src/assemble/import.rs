//! Foreign documents into the scene's terms, by the formats of a pack.

use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::program::foreign::Imported;

use crate::engine::{BuildError, state};

/// Reads a JSON document of another program into the scene's terms. `format`: by name, or recognised by content.
///
/// # Errors
/// No format of the pack fits, or a rule of it fails.
pub fn import_document(rules: &Ruleset, format: Option<&str>, document: &serde_json::Value) -> Result<Imported, BuildError> {
    let st = state(rules, &Scene::default());
    let document = Value::from(document);
    let formats = &rules.programs().formats;
    let found = match format {
        Some(name) => formats.iter().find(|f| f.name.as_ref() == name),
        None => {
            let mut found = None;
            for f in formats {
                if f.fits(&document, &st).map_err(BuildError::fault)? {
                    found = Some(f);
                    break;
                }
            }
            found
        }
    };
    if formats.is_empty() {
        let message = format!("pack `{}` reads no files of other programs", rules.pack().name);
        return Err(BuildError::call(message));
    }
    let Some(found) = found else {
        let known = formats.iter().map(|f| f.name.as_ref());
        let help = format
            .and_then(|f| crate::diag::suggest::help(f, known.clone()))
            .unwrap_or_else(|| format!("known here: {}", known.collect::<Vec<_>>().join(", ")));
        let what = format.map_or_else(|| "the document is of no format that".to_owned(), |f| format!("`{f}` is no format that"));
        return Err(BuildError::call(format!("{what} pack `{}` reads; {help}", rules.pack().name)));
    };
    found.bring(&document, &st).map_err(BuildError::fault)
}
