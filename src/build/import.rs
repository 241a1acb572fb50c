//! Converting documents of other programs, with the formats of a pack: to scene data, or to documents of a third program.

use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::program::foreign::{ForeignFormat, ImportedDocument};
use crate::terms::BuildState;

use super::error::BuildError;
use super::state::{door, state};

/// What to do about a document that takes more work.
const REMEDY: &str = "nothing can raise this bound for a file of another program: split the file into smaller ones, or take out of it what \
                      is largest";

/// Converts a JSON document of another program, such as one that `tapster_exchange::import::read` found, to scene
/// data; a document may be given as a [`Value`] or as `&serde_json::Value`. `format` is the name of a format of the pack; `None` recognises it by the content.
///
/// # Errors
/// The pack has no format of this name, none fits the document, or a rule of the format fails.
pub fn import_document(rules: &Ruleset, format: Option<&str>, document: impl Into<Value>) -> Result<ImportedDocument, BuildError> {
    import(rules, format, &document.into())
}

fn import(rules: &Ruleset, format: Option<&str>, document: &Value) -> Result<ImportedDocument, BuildError> {
    let _door = door(rules, &work(document)).with_remedy(REMEDY);
    let st = state(rules, &Scene::default());
    let formats = &rules.programs().formats;
    let reads = |f: &&ForeignFormat| f.makes.is_none();
    let found = match format {
        Some(name) => formats.iter().filter(reads).find(|f| f.name.as_ref() == name),
        None => fitting(formats.iter().filter(reads), document, &st)?,
    };
    let Some(found) = found else { return Err(unread(rules, format, formats.iter().filter(reads))) };
    let brought = found.bring(document, &st, formats).map_err(BuildError::fault)?;
    BuildError::if_spent(None)?;
    Ok(brought)
}

/// Converts a JSON document of another program to a document of a third one: [`ImportedDocument::scene`] is that document. `to`
/// is the name of the format that is made, or of the row that makes it; `None` takes the first one that fits. The report
/// says of each field whether it was kept, mapped, approximated or dropped, and why.
///
/// # Errors
/// The pack has no conversion to this format, none fits the document, or a rule of it fails.
pub fn convert_document(rules: &Ruleset, to: Option<&str>, document: impl Into<Value>) -> Result<ImportedDocument, BuildError> {
    convert(rules, to, &document.into())
}

fn convert(rules: &Ruleset, to: Option<&str>, document: &Value) -> Result<ImportedDocument, BuildError> {
    let _door = door(rules, &work(document)).with_remedy(REMEDY);
    let st = state(rules, &Scene::default());
    let formats = &rules.programs().formats;
    let wanted = |f: &&ForeignFormat| f.makes.as_ref().is_some_and(|made| to.is_none_or(|to| to == made.as_ref() || to == f.name.as_ref()));
    let Some(found) = fitting(formats.iter().filter(wanted), document, &st)? else {
        return Err(unread(rules, to, formats.iter().filter(|f| f.makes.is_some())));
    };
    let brought = found.bring(document, &st, formats).map_err(BuildError::fault)?;
    BuildError::if_spent(None)?;
    Ok(brought)
}

/// A scene that stands for the document when its work is counted.
fn work(document: &Value) -> Scene {
    Scene { data: document.clone(), ..Scene::default() }
}

/// The first of some formats that a document is in.
fn fitting<'a>(
    formats: impl Iterator<Item = &'a ForeignFormat>,
    document: &Value,
    st: &BuildState,
) -> Result<Option<&'a ForeignFormat>, BuildError> {
    for format in formats {
        if format.fits(document, st).map_err(BuildError::fault)? {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

/// That a pack has no format for a document; `known` are the formats that it has for this purpose.
fn unread<'a>(rules: &Ruleset, format: Option<&str>, known: impl Iterator<Item = &'a ForeignFormat> + Clone) -> BuildError {
    let pack = &rules.pack().name;
    let known = known.map(|f| f.name.as_ref());
    if known.clone().next().is_none() {
        return BuildError::call(format!("pack `{pack}` reads no files of other programs"));
    }
    let help = format
        .and_then(|f| crate::diag::suggest::help(f, known.clone()))
        .unwrap_or_else(|| format!("known here: {}", known.collect::<Vec<_>>().join(", ")).into());
    let what = format.map_or_else(|| "the document is of no format that".to_owned(), |f| format!("`{f}` is no format that"));
    BuildError::call(format!("{what} pack `{pack}` reads; {help}"))
}
