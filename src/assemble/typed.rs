//! Values of a scene that are not of the type that the pack declares, or not among the words that it knows.
//!
//! Only declared paths are looked up, and the items of lists that the scene fills as far as they are few, so the cost is
//! small compared to a build.

use std::sync::Arc;

use crate::diag::suggest;
use crate::model::Value;
use crate::pack::Ruleset;
use crate::terms::names::{Names, Type};

/// The most misfits that one scene is told of.
const MOST: usize = 20;
/// How many elements of a list are looked into: a chat is as long as it is.
const MOST_ELEMENTS: usize = 64;
/// How deep lists inside of items are looked into.
const MOST_DEPTH: usize = 2;

/// One value that does not fit.
#[derive(Debug, Clone)]
pub(crate) struct Misfit {
    /// Where it is in the scene: `context.window`, `injections.0.depth`.
    pub(crate) path: String,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) help: String,
    /// It is of another type; otherwise it is a word that the pack does not know.
    pub(crate) is_type: bool,
}

/// The values of a scene that do not fit.
pub(crate) fn misfits(rules: &Ruleset, data: &Value) -> Vec<Misfit> {
    let names = &rules.programs().rules.names;
    let mut found = Vec::new();
    for (path, declared) in &names.paths {
        if declared.kind == Type::Any && !names.words.contains_key(path) {
            continue;
        }
        let Some(value) = data.at(path).filter(|value| !value.is_null()) else { continue };
        if !declared.kind.holds(value) {
            found.push(wrong_type(path, declared.kind, value));
        } else if let Some(words) = names.words.get(path)
            && let Some(word) = value.as_str().filter(|word| !word.is_empty() && !words.iter().any(|known| **known == **word))
        {
            found.push(unknown_word(path, word, words));
        }
        if found.len() >= MOST {
            return found;
        }
    }
    for (path, value) in names.prefixes().filter_map(|path| Some((path, data.at(path)?))) {
        if matches!(value, Value::Text(_) | Value::Int(_) | Value::Num(_) | Value::Bool(_)) && !names.paths.contains_key(path) {
            found.push(wrong_type(path, Type::Table, value));
        }
    }
    for list in &rules.programs().rules.lists {
        let Some(from) = &list.from else { continue };
        let value = data.at(from).cloned().unwrap_or_default();
        let rows = !list.rows.is_empty();
        for (n, element) in value.elements().iter().enumerate().take(MOST_ELEMENTS) {
            if rows && element.as_map().is_none() && !element.is_null() && found.len() < MOST {
                let path = if value.as_list().is_some() { format!("{from}.{n}") } else { from.to_string() };
                found.push(wrong_type(&path, Type::Table, element));
            }
        }
        items(names, &list.rows, from, value.elements(), 0, &mut found);
    }
    // lists that rules read without a list of the pack
    let filled = |path: &str| rules.programs().rules.lists.iter().any(|list| list.from.as_deref().unwrap_or(&list.name) == path);
    for path in names.paths.keys().filter(|path| !filled(path)) {
        if let Some(elements) = data.at(path).and_then(Value::as_list) {
            items(names, &[], path, elements, 1, &mut found);
        }
    }
    found.truncate(MOST);
    found
}

/// Fields of items that are of another type, and keys that are a field with a slip. Lists inside of items are looked into
/// for keys only, because their row types are not known.
fn items(names: &Names, rows: &[Arc<str>], at: &str, elements: &[Value], depth: usize, found: &mut Vec<Misfit>) {
    for (n, element) in elements.iter().enumerate().take(MOST_ELEMENTS) {
        for (field, value) in element.as_map().into_iter().flat_map(|fields| fields.iter()) {
            if found.len() >= MOST {
                return;
            }
            let kind = if depth == 0 { names.field_type(Some(rows), field) } else { None };
            let path = || format!("{at}.{n}.{field}");
            if let Some(kind) = kind.filter(|kind| !value.is_null() && !kind.holds(value)) {
                found.push(wrong_type(&path(), kind, value));
            } else if let Some(near) = names.near_field(rows, field) {
                let message = format!("no rule reads `{}`", path());
                found.push(Misfit { path: path(), message, help: format!("did you mean `{near}`?"), is_type: false });
            } else if let Some((word, near)) = value.as_str().and_then(|word| Some((word, names.near_word(field, word)?))) {
                let message = format!("`{}` is seldom `{word}`", path());
                found.push(Misfit { path: path(), message, help: format!("did you mean `{near}`?"), is_type: false });
            } else if let Some(inner) = value.as_list().filter(|_| depth < MOST_DEPTH) {
                items(names, &[], &path(), inner, depth + 1, found);
            }
        }
    }
}

fn wrong_type(path: &str, kind: Type, value: &Value) -> Misfit {
    let shown: String = value.to_json().to_string().chars().take(60).collect();
    let message = format!("`{path}` is declared as `{}`, but the scene says {shown}", kind.word());
    let help = match kind {
        Type::Time => "write a time such as 2026-01-31T20:15:00Z, or milliseconds since 1970".to_owned(),
        Type::Language => "write a language tag such as `de` or `pt-BR`".to_owned(),
        _ => format!("write a value of type `{}`", kind.word()),
    };
    Misfit { path: path.to_owned(), message, help, is_type: true }
}

fn unknown_word(path: &str, word: &str, words: &[Arc<str>]) -> Misfit {
    let shown: String = word.chars().take(60).collect();
    let help = suggest::help(word, words.iter().map(AsRef::as_ref));
    let help = help.unwrap_or_else(|| "`tapster ops --scene` says what the value means".to_owned());
    Misfit { path: path.to_owned(), message: format!("the pack knows no `{path}` that is `{shown}`"), help, is_type: false }
}
