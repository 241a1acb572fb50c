//! Data of a scene: values that are not of the type that the pack declares, or not among the words that it knows; paths and keys
//! of items that nothing reads, most of which are misspelt; items that lack what they need; and values of overlays that the scene
//! decides otherwise.
//!
//! The tables of the scene are walked as far as the pack declares paths in them, and the items of lists that the scene
//! fills as far as they are few, so the cost is small compared to a build.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{MentionedNames, mentioned};
use crate::diag::{Certainty, Code, Diagnostic, FieldMap, Help, Suggestion, WordSearch, limits, short, suggest};
use crate::model::options::TABLE;
use crate::model::{Map, Pack, Value};
use crate::terms::CompiledRules;
use crate::terms::names::{PackNames, ValueType};

/// How deep lists inside of items are looked into.
const MOST_DEPTH: usize = 2;
/// The fewest letters of a key that may be a field with a slip.
const SHORTEST: usize = 3;

/// How a value does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeMismatch {
    /// It is of another type.
    Type,
    /// It is a word that the pack does not know, and like none that it knows.
    Word,
    /// It is a known name or word with a slip.
    Slip,
    /// It is a key of an item that nothing reads and that is like no field, or an item that lacks what it needs.
    Item,
}

/// One value that does not fit.
#[derive(Debug, Clone)]
pub struct SceneTypeError {
    /// Where it is in the scene: `context.window`, `injections.0.depth`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Help,
    /// What kind of misfit it is.
    pub kind: TypeMismatch,
    /// It is the key that is wrong, and not its value.
    pub is_key: bool,
}

impl SceneTypeError {
    /// The code under which it is told.
    pub fn code(&self) -> Code {
        if self.kind == TypeMismatch::Type { Code::SceneType } else { Code::SceneField }
    }

    fn slip(path: String, message: String, word: &str, near: &str) -> Self {
        Self { path, message, help: Help::possible(word, near), kind: TypeMismatch::Slip, is_key: false }
    }

    fn item(path: String, message: String, help: Help) -> Self {
        Self { path, message, help, kind: TypeMismatch::Item, is_key: false }
    }

    /// The same, told of the key at the path.
    fn of_key(self) -> Self {
        Self { is_key: true, ..self }
    }
}

/// A path of a scene that no rule of the pack declares.
#[derive(Debug)]
pub struct UndeclaredPath {
    /// The path in the scene.
    pub path: String,
    /// The warning, with the declared path that is near.
    pub warning: Diagnostic,
}

/// The rules that scenes are checked against.
#[derive(Clone, Copy)]
pub struct SceneRules<'r> {
    pub(crate) pack: &'r Pack,
    pub(crate) rules: &'r CompiledRules,
    pub(crate) mentioned: &'r MentionedNames,
}

impl SceneRules<'_> {
    /// What a build of a scene with this data warns of before it begins.
    pub(crate) fn warnings(self, data: &Value) -> Vec<Diagnostic> {
        let unread = self.undeclared_paths(data).into_iter().map(|found| found.warning);
        let options = self.pack.options.faults(data.get(TABLE).unwrap_or(&Value::Null)).into_iter();
        let options = options.map(|fault| Diagnostic::warning(fault.code, fault.message).help(fault.help));
        let misfits = self.misfits(data).into_iter();
        let misfits = misfits.map(|misfit| Diagnostic::warning(misfit.code(), misfit.message).help(misfit.help));
        unread.chain(options).chain(misfits).chain(shadowed(self.pack, data)).collect()
    }

    /// The paths of a scene that no rule of the pack declares.
    pub fn undeclared_paths(self, data: &Value) -> Vec<UndeclaredPath> {
        let names = &self.rules.names;
        let said = |path: String| {
            let suggestion = suggest::nearest(&path, names.path_names());
            let help = suggestion.as_ref().map(|near| format!("; {near}")).unwrap_or_default();
            let message = format!("no rule of pack `{}` reads `{path}`{help}", self.pack.name);
            // the path is not written in one piece
            let suggestion = suggestion.map(|near| Suggestion { certainty: Certainty::Possible, ..near });
            UndeclaredPath { path, warning: Diagnostic { suggestion, ..Diagnostic::warning(Code::SceneField, message) } }
        };
        undeclared(names, data).into_iter().map(said).collect()
    }

    /// The values of a scene that do not fit.
    pub fn misfits(self, data: &Value) -> Vec<SceneTypeError> {
        let compiled = self.rules;
        let mut search = TypeSearch::new(self, data);
        let filled: FxHashSet<&str> = compiled.lists.iter().map(|list| &**list.from.as_ref().unwrap_or(&list.name)).collect();
        if let Some(map) = data.as_map() {
            search.paths("", map, &filled);
        }
        search.found.sort_by(|a, b| a.path.cmp(&b.path));
        // two lists of a pack may be filled from one path
        let mut known = FxHashSet::default();
        for list in &compiled.lists {
            let from = list.from.as_ref().unwrap_or(&list.name);
            let Some(value) = data.at(from) else { continue };
            let elements = value.elements();
            if known.insert((from, &list.rows)) {
                if !list.rows.is_empty() {
                    let path = |n: usize| if value.as_list().is_some() { format!("{from}.{n}") } else { from.to_string() };
                    let odd = elements.iter().enumerate().take(limits::REPORTED).filter(|(_, element)| is_single(element));
                    search.found.extend(odd.map(|(n, element)| wrong_type(&path(n), ValueType::Table, element)));
                }
                let before = search.found.len();
                // a table beside others may have the name of a list
                let is_closed = value.as_list().is_some() && search.declares(&list.rows);
                search.items(ListItems { rows: &list.rows, at: from, depth: 0, is_closed }, elements);
                search.count_unread(before);
            }
            search.lacking(&needs(self.pack, &list.name), from, elements);
        }
        let mut told = FxHashSet::default();
        search.found.retain(|misfit| told.insert((misfit.path.clone(), misfit.message.clone())));
        search.found.truncate(limits::WARNED);
        search.found
    }
}

/// The paths of a scene that no rule declares. Only names are checked, from the top down to the first one that the pack declares
/// as a whole.
fn undeclared(names: &PackNames, data: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), data)];
    while let Some((path, value)) = open.pop() {
        if found.len() >= limits::WARNED {
            break;
        }
        match value {
            Value::Null => {}
            // options are checked as such
            _ if path == TABLE => {}
            // a table that is declared as such may hold anything but a misspelt name of its own
            Value::Map(map) if names.paths.contains_key(path.as_str()) => {
                let paths = map.keys().take(limits::OPTIONS).map(|key| format!("{path}.{key}"));
                found.extend(paths.filter(|path| names.near_sibling(path, &WordSearch::default()).is_some()));
            }
            _ if names.paths.contains_key(path.as_str()) => {}
            Value::Map(map) if path.is_empty() || names.knows_path(&path) => {
                let dot = if path.is_empty() { "" } else { "." };
                open.extend(map.iter().rev().map(|(key, value)| (format!("{path}{dot}{key}"), value)));
            }
            _ if names.knows_path(&path) => {}
            _ => found.push(path),
        }
    }
    found.truncate(limits::WARNED);
    found
}

/// Warns of values that overlays set and the scene has too: the scene's win, which whoever wrote the overlay must be told. A
/// pack's own values are only defaults.
fn shadowed(pack: &Pack, data: &Value) -> Vec<Diagnostic> {
    if !pack.layers.iter().any(|layer| layer.overlay) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut open: Vec<(String, &FieldMap, &Value)> = vec![(String::new(), &pack.values, data)];
    while let Some((above, values, data)) = open.pop() {
        for (key, field) in values {
            let Some(given) = data.get(key).filter(|given| !given.is_null()) else { continue };
            let path = if above.is_empty() { key.to_string() } else { format!("{above}.{key}") };
            if path == TABLE {
                // options are checked as such
                continue;
            }
            if let (Some(values), Some(_)) = (field.node.as_table(), given.as_map()) {
                open.push((path, values, given));
                continue;
            }
            let layer = pack.sources.layer(field.node.span);
            let is_overlay = pack.layers.iter().any(|known| known.overlay && *known.name == *layer);
            if !is_overlay || Value::from(&field.node) == *given || found.len() >= limits::WARNED {
                continue;
            }
            let message = format!("overlay `{layer}` sets `{path}`, but the scene has a value of its own for it, which wins");
            let help = format!("change it where the scene gets it from, such as a preset or the scene file, or write `--set {path}=…`");
            found.push(Diagnostic::warning(Code::LayerBeaten, message).help(help));
        }
    }
    found
}

/// The fields of which each item that a scene gives to a list needs one.
fn needs<'r>(pack: &'r Pack, list: &str) -> Vec<&'r str> {
    pack.row("list", list).into_iter().flat_map(|row| row.words("needs")).map(|(field, _)| field).collect()
}

/// The elements of a list that are looked into: of long ones the end counts, where the newest messages are.
fn newest(elements: &[Value]) -> impl Iterator<Item = (usize, &Value)> {
    elements.iter().enumerate().skip(elements.len().saturating_sub(limits::REPORTED))
}

/// The names that texts of a scene read from items, in tags of their own.
fn said(data: &Value) -> FxHashSet<&str> {
    let mut names = FxHashSet::default();
    let mut open = vec![data];
    while let Some(value) = open.pop() {
        match value {
            Value::Text(text) => mentioned::names_in(text, |name| {
                names.insert(name);
            }),
            Value::List(list) => open.extend(list.iter()),
            Value::Map(map) => open.extend(map.values()),
            _ => {}
        }
    }
    names
}

/// Whether a value is neither missing, a list nor a table.
fn is_single(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::Int(_) | Value::Num(_) | Value::Bool(_))
}

/// What the pack says of one key of a list's items, looked up once for each list.
#[derive(Clone, Copy)]
struct KeyDeclaration<'r> {
    kind: Option<ValueType>,
    /// The field that the key is with a slip.
    near: Option<&'r str>,
    /// It is read, or may be; otherwise it is told.
    is_read: bool,
    /// The field has usual words.
    has_words: bool,
}

/// The items of a list.
#[derive(Clone, Copy)]
struct ListItems<'a> {
    /// The row types that they may have.
    rows: &'a [Arc<str>],
    /// Where the list is in the scene.
    at: &'a str,
    /// How many lists it stands in.
    depth: usize,
    /// Their fields are declared, so that a key that nothing reads is told.
    is_closed: bool,
}

/// Row types, and the key of an item.
type TypedKey = (Vec<Arc<str>>, Arc<str>);

/// A look through the values of a scene.
struct TypeSearch<'r> {
    rules: SceneRules<'r>,
    names: &'r PackNames,
    data: &'r Value,
    found: Vec<SceneTypeError>,
    /// By row types and key, the field that the key is with a slip: items of one list mostly have the same keys.
    near: FxHashMap<TypedKey, Option<&'r str>>,
    /// How many keys have been compared with the fields of the pack.
    compared: usize,
    /// What texts of the scene read from items.
    said: OnceCell<FxHashSet<&'r str>>,
    /// Keys of the list at hand that nothing reads: where each is first, and how many other items have it.
    unread: FxHashMap<String, (String, usize)>,
}

impl<'r> TypeSearch<'r> {
    fn new(rules: SceneRules<'r>, data: &'r Value) -> Self {
        Self {
            rules,
            names: &rules.rules.names,
            data,
            found: Vec::new(),
            near: FxHashMap::default(),
            compared: 0,
            said: OnceCell::new(),
            unread: FxHashMap::default(),
        }
    }

    /// Declared paths, tables that declared paths are below, and lists that rules read without a list of the pack. The
    /// scene is walked and not the declarations, because a scene has few of the paths that a pack declares.
    fn paths(&mut self, above: &str, map: &Map, filled: &FxHashSet<&str>) {
        let names = self.names;
        for (key, value) in map.iter().take(limits::OPTIONS).filter(|(_, value)| !value.is_null()) {
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
                    self.items(ListItems { rows: &[], at: path, depth: 1, is_closed: false }, elements);
                }
            } else if has_paths_below && is_single(value) {
                self.found.push(wrong_type(&path, ValueType::Table, value));
            }
            if let Some(map) = value.as_map().filter(|_| has_paths_below) {
                self.paths(&path, map, filled);
            }
            if self.found.len() >= limits::WARNED {
                return;
            }
        }
    }

    /// Fields of items that are of another type, keys that are a field with a slip, and keys that nothing reads. Lists inside
    /// of items are looked into for slips only, unless the pack declares the row types of their elements.
    fn items(&mut self, of: ListItems<'_>, elements: &[Value]) {
        let names = self.names;
        let mut known: FxHashMap<&Arc<str>, KeyDeclaration> = FxHashMap::default();
        for (n, element) in newest(elements) {
            for (field, value) in element.as_map().into_iter().flat_map(|fields| fields.iter()) {
                if self.found.len() >= limits::WARNED {
                    return;
                }
                let known = *known.entry(field).or_insert_with(|| self.known(of, field));
                let path = || format!("{}.{n}.{field}", of.at);
                if let Some(kind) = known.kind.filter(|kind| !value.is_null() && !kind.holds(value)) {
                    self.found.push(wrong_type(&path(), kind, value));
                } else if let Some(near) = known.near {
                    self.found.push(SceneTypeError::slip(path(), format!("no rule reads `{}`", path()), field, near).of_key());
                } else if !known.is_read {
                    if !value.is_null() {
                        self.unread(of, path(), field);
                    }
                } else if let Some((word, near)) = value
                    .as_str()
                    .filter(|_| known.has_words)
                    .and_then(|word| Some((word, names.near_word(field, word, &WordSearch::default())?)))
                {
                    self.found.push(SceneTypeError::slip(path(), format!("`{}` is seldom `{word}`", path()), word, near));
                } else if let Some(inner) = value.as_list().filter(|_| of.depth < MOST_DEPTH) {
                    let below = of.rows.iter().find_map(|row| names.element_rows.get(&(row.clone(), field.clone())));
                    let rows: &[Arc<str>] = below.map_or(&[], Vec::as_slice);
                    let is_closed = of.is_closed && self.declares(rows);
                    self.items(ListItems { rows, at: &path(), depth: of.depth + 1, is_closed }, inner);
                }
            }
        }
    }

    /// Whether the pack declares fields of one of these row types.
    fn declares(&self, rows: &[Arc<str>]) -> bool {
        rows.iter().any(|row| self.names.fields.contains_key(row))
    }

    fn known(&mut self, of: ListItems<'_>, field: &Arc<str>) -> KeyDeclaration<'r> {
        let kind = match &**field {
            "enabled" => Some(ValueType::Boolean),
            _ if !of.rows.is_empty() => self.names.field_type(Some(of.rows), field),
            _ => None,
        };
        let is_known = self.names.knows_field(None, field) || self.rules.mentioned.holds(self.rules.pack, field);
        let near = if is_known { None } else { self.near_field(of.rows, field) };
        // where a key is told anyway, only a field of such items is what was meant
        let near = near.filter(|near| !of.is_closed || self.names.knows_field(Some(of.rows), near));
        let is_odd = !is_known && (near.is_some() || of.is_closed) && !self.is_said(field);
        KeyDeclaration { kind, near: near.filter(|_| is_odd), is_read: !is_odd, has_words: self.names.field_words.contains_key(field) }
    }

    /// Whether a text of the scene itself may read a field of items.
    fn is_said(&self, field: &str) -> bool {
        self.said.get_or_init(|| said(self.data)).contains(field)
    }

    /// Tells of a key that nothing reads, once for the items of a list, which mostly have the same keys.
    fn unread(&mut self, of: ListItems<'_>, path: String, field: &str) {
        let list: Vec<&str> = of.at.split('.').filter(|part| part.parse::<usize>().is_err()).collect();
        let key = format!("{}.{field}", list.join("."));
        if let Some((_, more)) = self.unread.get_mut(&key) {
            *more += 1;
            return;
        }
        self.unread.insert(key, (path.clone(), 0));
        let shown = short::head(&path, limits::QUOTED);
        let message = format!("no rule reads `{shown}`");
        let help = self.help(of.rows, field);
        self.found.push(SceneTypeError::item(path, message, help).of_key());
    }

    /// Says how many other items have the keys of the list at hand that nothing reads; `before` it, so much was found.
    fn count_unread(&mut self, before: usize) {
        for (path, more) in std::mem::take(&mut self.unread).into_values() {
            let also = match more {
                0 => continue,
                1 => "; another item has it too".to_owned(),
                _ => format!("; {more} other items have it too"),
            };
            let told = self.found.iter_mut().skip(before).filter(|misfit| misfit.kind == TypeMismatch::Item && misfit.path == path);
            told.for_each(|misfit| misfit.message.push_str(&also));
        }
    }

    /// What items of these row types may have instead of a key that nothing reads.
    fn help(&self, rows: &[Arc<str>], key: &str) -> Help {
        let fields: BTreeSet<&str> = self.names.field_names(Some(rows)).filter(|field| !field.contains('.')).collect();
        let is_long = key.chars().count() >= SHORTEST;
        if let Some(near) = fields.iter().find(|field| is_long && suggest::is_one_off(key, field)) {
            return Help::possible(key, near);
        }
        if fields.len() <= limits::LISTED {
            return format!("known here: {}", short::listed(fields)).into();
        }
        format!("`tapster ops --rows --pack {}` lists the fields of `{}` items", self.rules.pack.name, rows.join("` and `")).into()
    }

    /// Tells of items that have none of the fields of which they need one, with the number of those that are as the first.
    fn lacking(&mut self, needs: &[&str], at: &str, elements: &[Value]) {
        let Some((first, others)) = needs.split_first() else { return };
        let lacks = |element: &Value| element.as_map().is_some_and(|fields| needs.iter().all(|need| !fields.contains_key(*need)));
        // a misspelt field is told already
        let is_told = |n: usize| {
            let inside = format!("{at}.{n}.");
            self.found.iter().any(|misfit| misfit.kind == TypeMismatch::Slip && misfit.path.starts_with(&inside))
        };
        let mut lacking = newest(elements).filter(|&(n, element)| lacks(element) && !is_told(n));
        let Some((n, element)) = lacking.next() else { return };
        let also = match lacking.count() {
            0 => String::new(),
            1 => "; another item has none either".to_owned(),
            more => format!("; {more} other items have none either"),
        };
        let instead =
            if others.is_empty() { String::new() } else { format!(", and none of {} instead", short::listed(others.iter().copied())) };
        let path = format!("{at}.{n}");
        let message = format!("`{path}` has no `{first}`{instead}{also}");
        let keys = element.as_map().into_iter().flat_map(|fields| fields.keys()).take(limits::LISTED);
        let keys = short::listed(keys.map(|key| &**key));
        let help = if keys.is_empty() {
            format!("give it `{first}`, or take it out")
        } else {
            format!("it has {keys}; write what it says as `{first}`")
        };
        self.found.push(SceneTypeError::item(path, message, help.into()));
    }

    fn near_field(&mut self, rows: &[Arc<str>], field: &Arc<str>) -> Option<&'r str> {
        let names = self.names;
        if names.knows_field(None, field) {
            return None;
        }
        if let Some(known) = self.near.get(&(rows.to_vec(), field.clone())) {
            return *known;
        }
        if self.compared >= limits::OPTIONS {
            return None;
        }
        self.compared += 1;
        let near = names.near_field(rows, field);
        self.near.insert((rows.to_vec(), field.clone()), near);
        near
    }
}

fn wrong_type(path: &str, kind: ValueType, value: &Value) -> SceneTypeError {
    let shown = short::head(&value.to_json().to_string(), limits::QUOTED);
    let message = format!("`{path}` is declared as `{}`, but the scene says {shown}", kind.word());
    let help = match kind {
        ValueType::Time => "write a time such as 2026-01-31T20:15:00Z, or milliseconds since 1970".to_owned(),
        ValueType::Language => "write a language tag such as `de` or `pt-BR`".to_owned(),
        _ => format!("write a value of type `{}`", kind.word()),
    };
    SceneTypeError { path: path.to_owned(), message, help: help.into(), kind: TypeMismatch::Type, is_key: false }
}

fn unknown_word(path: &str, word: &str, words: &[Arc<str>]) -> SceneTypeError {
    let shown = short::head(word, limits::QUOTED);
    let help = suggest::help(word, words.iter().map(AsRef::as_ref));
    let is_slip = help.as_ref().is_some_and(|help| help.suggestion.is_some());
    let kind = if is_slip { TypeMismatch::Slip } else { TypeMismatch::Word };
    let help = help.unwrap_or_else(|| "`tapster ops --scene` says what the value means".into());
    SceneTypeError { path: path.to_owned(), message: format!("the pack knows no `{path}` that is `{shown}`"), help, kind, is_key: false }
}
