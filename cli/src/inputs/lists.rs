//! Lists of a pack on the command line: their names, and items for them.

use std::path::Path;

use serde_json::Value as Json;

use crate::diag::{Code, Diagnostic, Help, suggest};
use crate::pack::Ruleset;

use crate::inputs::files::{shown, values_of};
use crate::layout::head;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

/// Refuses a name that no list of the pack has.
pub(crate) fn known(rules: &Ruleset, name: &str) -> Result<(), EarlyExit> {
    let names: Vec<&str> = rules.programs().rules.lists.iter().map(|list| &*list.name).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let message = format!("pack `{}` has no list `{}`", rules.pack().name, head(name, 60));
    let all = || format!("its lists are {}", names.join(", ")).into();
    let help = suggest::nearest(name, names.iter().copied()).map_or_else(all, Help::from);
    Err(EarlyExit::could_not(Code::NameUnknown, message, help))
}

/// The items that `NAME=FILE` gives to a list: a JSON list right there, or a file of JSON or TOML, whose items are the list
/// itself or stand in it under the name of the list.
pub(crate) fn given(text: &str, rules: &Ruleset, show: &mut OutputStreams<'_, '_>) -> Result<(String, Json), EarlyExit> {
    let Some((name, source)) = text.split_once('=').filter(|(name, source)| !name.is_empty() && !source.is_empty()) else {
        let message = format!("`{}` does not give items to a list", head(text, 60));
        return Err(EarlyExit::could_not(Code::SceneField, message, "write the name of a list, `=` and a file: `members=members.json`"));
    };
    known(rules, name)?;
    let (shown, found) = if source.trim_start().starts_with('[') {
        ("the value of `--list`".to_owned(), serde_json::from_str(source).map_err(|error| error.to_string()))
    } else {
        let file = Path::new(source);
        (format!("`{}`", shown(file)), document(file, show)?)
    };
    let wrong = |reason: String| {
        let complaint = Diagnostic::error(Code::SceneField, format!("{shown} holds no items of list `{name}`: {reason}"));
        EarlyExit::new(RunExit::No, complaint.help(format!("write a list of tables, or a table with the key `{name}` that holds one")))
    };
    let tables = found.and_then(|found| tables(found, name)).map_err(wrong)?;
    Ok((name.to_owned(), Json::Array(tables)))
}

/// The tables of a list that a document is, or holds under a key.
fn tables(mut document: Json, key: &str) -> Result<Vec<Json>, String> {
    if let Some(inner) = document.get_mut(key) {
        document = inner.take();
    }
    let Json::Array(items) = document else { return Err("it is neither a list nor a table with this key".to_owned()) };
    match items.iter().enumerate().find(|(_, item)| !item.is_object()) {
        Some((n, item)) => Err(format!("element {n} is `{}`", head(&item.to_string(), 40))),
        None => Ok(items),
    }
}

/// The document of a file: of JSON, or of TOML where its name says so. The inner error says why it is none.
fn document(file: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Result<Json, String>, EarlyExit> {
    let bytes = values_of(file, show)?;
    if file.extension().is_some_and(|extension| extension == "toml") {
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string());
        return Ok(text.and_then(|text| toml::from_str(text).map_err(|error| error.message().to_owned())));
    }
    Ok(serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}
