//! Values of a scene that are not of the type that the pack declares, or not among the words that it knows.
//!
//! The tables of the scene are walked as far as the pack declares paths in them, and the items of lists that the scene
//! fills as far as they are few, so the cost is small compared to a build.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{Code, suggest};
use crate::model::options::TABLE;
use crate::model::{Map, Value};
use crate::pack::Ruleset;
use crate::terms::names::{Names, Type};

/// The most misfits that one scene is told of.
const MOST: usize = 20;
/// How many elements of a list are looked into: a chat is as long as it is.
const MOST_ELEMENTS: usize = 64;
/// How many keys of one table are looked at.
const MOST_KEYS: usize = 1_000;
/// How many different keys are compared with all fields of the pack.
const MOST_COMPARED: usize = 300;
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
    /// It is a known name or word with a slip.
    pub(crate) is_slip: bool,
}

impl Misfit {
    /// The code under which it is told.
    pub(crate) fn code(&self) -> Code {
        if self.is_type { Code::SceneType } else { Code::SceneField }
    }

    fn slip(path: String, message: String, near: &str) -> Self {
        Self { path, message, help: format!("did you mean `{near}`?"), is_type: false, is_slip: true }
    }
}

/// The values of a scene that do not fit.
pub(crate) fn misfits(rules: &Ruleset, data: &Value) -> Vec<Misfit> {
    let rules = &rules.programs().rules;
    let names = &rules.names;
    let mut search = Search { names, found: Vec::new(), near: FxHashMap::default(), compared: 0 };
    let filled: FxHashSet<&str> = rules.lists.iter().map(|list| &**list.from.as_ref().unwrap_or(&list.name)).collect();
    if let Some(map) = data.as_map() {
        search.paths("", map, &filled);
    }
    search.found.sort_by(|a, b| a.path.cmp(&b.path));
    for list in &rules.lists {
        let from = list.from.as_ref().unwrap_or(&list.name);
        let Some(value) = data.at(from) else { continue };
        let elements = value.elements();
        if !list.rows.is_empty() {
            let path = |n: usize| if value.as_list().is_some() { format!("{from}.{n}") } else { from.to_string() };
            let odd = elements.iter().enumerate().take(MOST_ELEMENTS).filter(|(_, element)| is_single(element));
            search.found.extend(odd.map(|(n, element)| wrong_type(&path(n), Type::Table, element)));
        }
        search.items(&list.rows, from, elements, 0);
    }
    // two lists of a pack may be filled from one path
    let mut told = FxHashSet::default();
    search.found.retain(|misfit| told.insert((misfit.path.clone(), misfit.message.clone())));
    search.found.truncate(MOST);
    search.found
}

/// Whether a value is neither missing, a list nor a table.
fn is_single(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::Int(_) | Value::Num(_) | Value::Bool(_))
}

/// What the pack says of one key of a list's items, looked up once for each list.
#[derive(Clone, Copy)]
struct Known<'r> {
    kind: Option<Type>,
    /// The field that the key is with a slip.
    near: Option<&'r str>,
    /// The field has usual words.
    has_words: bool,
}

/// Row types, and the key of an item.
type Key = (Vec<Arc<str>>, Arc<str>);

/// A look through the values of a scene.
struct Search<'r> {
    names: &'r Names,
    found: Vec<Misfit>,
    /// By row types and key, the field that the key is with a slip: items of one list mostly have the same keys.
    near: FxHashMap<Key, Option<&'r str>>,
    /// How many keys have been compared with the fields of the pack.
    compared: usize,
}

impl<'r> Search<'r> {
    /// Declared paths, tables that declared paths are below, and lists that rules read without a list of the pack. The
    /// scene is walked and not the declarations, because a scene has few of the paths that a pack declares.
    fn paths(&mut self, above: &str, map: &Map, filled: &FxHashSet<&str>) {
        let names = self.names;
        for (key, value) in map.iter().take(MOST_KEYS).filter(|(_, value)| !value.is_null()) {
            // options are checked as such
            if above.is_empty() && **key == *TABLE {
                continue;
            }
            let path = if above.is_empty() { key.to_string() } else { format!("{above}.{key}") };
            let has_paths_below = names.has_paths_below(&path);
            if let Some((path, declared)) = names.paths.get_key_value(path.as_str()) {
                if !declared.kind.holds(value) {
                    self.found.push(wrong_type(path, declared.kind, value));
                } else if let Some(words) = names.words.get(path)
                    && let Some(word) = value.as_str().filter(|word| !word.is_empty() && !words.iter().any(|known| **known == **word))
                {
                    self.found.push(unknown_word(path, word, words));
                }
                if let Some(elements) = value.as_list().filter(|_| !filled.contains(&**path)) {
                    self.items(&[], path, elements, 1);
                }
            } else if has_paths_below && is_single(value) {
                self.found.push(wrong_type(&path, Type::Table, value));
            }
            if let Some(map) = value.as_map().filter(|_| has_paths_below) {
                self.paths(&path, map, filled);
            }
            if self.found.len() >= MOST {
                return;
            }
        }
    }

    /// Fields of items that are of another type, and keys that are a field with a slip. Lists inside of items are looked
    /// into for keys only, unless the pack declares the row types of their elements.
    fn items(&mut self, rows: &[Arc<str>], at: &str, elements: &[Value], depth: usize) {
        let names = self.names;
        let mut known: FxHashMap<&Arc<str>, Known> = FxHashMap::default();
        // of long lists the end counts, where the newest messages are
        for (n, element) in elements.iter().enumerate().skip(elements.len().saturating_sub(MOST_ELEMENTS)) {
            for (field, value) in element.as_map().into_iter().flat_map(|fields| fields.iter()) {
                if self.found.len() >= MOST {
                    return;
                }
                let known = *known.entry(field).or_insert_with(|| self.known(rows, field));
                let path = || format!("{at}.{n}.{field}");
                if let Some(kind) = known.kind.filter(|kind| !value.is_null() && !kind.holds(value)) {
                    self.found.push(wrong_type(&path(), kind, value));
                } else if let Some(near) = known.near {
                    self.found.push(Misfit::slip(path(), format!("no rule reads `{}`", path()), near));
                } else if let Some((word, near)) =
                    value.as_str().filter(|_| known.has_words).and_then(|word| Some((word, names.near_word(field, word)?)))
                {
                    self.found.push(Misfit::slip(path(), format!("`{}` is seldom `{word}`", path()), near));
                } else if let Some(inner) = value.as_list().filter(|_| depth < MOST_DEPTH) {
                    let below = rows.iter().find_map(|row| names.element_rows.get(&(row.clone(), field.clone())));
                    self.items(below.map_or(&[], Vec::as_slice), &path(), inner, depth + 1);
                }
            }
        }
    }

    fn known(&mut self, rows: &[Arc<str>], field: &Arc<str>) -> Known<'r> {
        let kind = match &**field {
            "enabled" => Some(Type::Boolean),
            _ if !rows.is_empty() => self.names.field_type(Some(rows), field),
            _ => None,
        };
        Known { kind, near: self.near_field(rows, field), has_words: self.names.field_words.contains_key(field) }
    }

    fn near_field(&mut self, rows: &[Arc<str>], field: &Arc<str>) -> Option<&'r str> {
        let names = self.names;
        if names.knows_field(None, field) {
            return None;
        }
        if let Some(known) = self.near.get(&(rows.to_vec(), field.clone())) {
            return *known;
        }
        if self.compared >= MOST_COMPARED {
            return None;
        }
        self.compared += 1;
        let near = names.near_field(rows, field);
        self.near.insert((rows.to_vec(), field.clone()), near);
        near
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
    Misfit { path: path.to_owned(), message, help, is_type: true, is_slip: false }
}

fn unknown_word(path: &str, word: &str, words: &[Arc<str>]) -> Misfit {
    let shown: String = word.chars().take(60).collect();
    let help = suggest::help(word, words.iter().map(AsRef::as_ref));
    let is_slip = suggest::nearest(word, words.iter().map(AsRef::as_ref)).is_some();
    let help = help.unwrap_or_else(|| "`tapster ops --scene` says what the value means".to_owned());
    Misfit { path: path.to_owned(), message: format!("the pack knows no `{path}` that is `{shown}`"), help, is_type: false, is_slip }
}
