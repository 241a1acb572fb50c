//! Names that a pack reads from items or gives to them without declaring them: in scripts, in templates, below the path of a
//! list, in tags of texts, and where documents of other programs are read and written.
//!
//! Fields that passes name must be declared, so only such names are collected. A name too many is no harm: of a key with it,
//! nobody is told that no rule reads it.

use std::sync::OnceLock;

use rustc_hash::FxHashSet;

use crate::diag::{DocumentNode, FieldMap, NodeValue};
use crate::model::Pack;
use crate::model::rights::TABLE as SCRIPTS;
use crate::terms::names::QUERY_KEYS;

/// The tables whose rows say how documents of other programs are read and written.
const FORMATS: &str = "format";
const MAPS: &str = "map";
/// The tables whose rows are templates, or say what templates read.
const TEMPLATES: [&str; 3] = ["template", "task", "source"];
/// The key of a pass that says what it matches.
const QUERIES: &str = "queries";
/// Keys whose texts are prose.
const PROSE: [&str; 2] = ["doc", "about"];
/// Keys whose values are conditions on the scene.
const CONDITIONS: [&str; 4] = ["when", "that", "if", "is"];
/// Keys whose values are made of a document.
const MADE: [&str; 4] = ["from", "default", "root", "is"];
/// Keys whose values choose among items or words of a document.
const CHOICES: [&str; 6] = ["where", "when", "if", "is", "in", "detect"];

/// What a part of the rules is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleSubject {
    /// The scene and the lists of a build.
    Build,
    /// A document that becomes a scene: what is made of it has fields of items.
    Import,
    /// A scene that becomes a document: its items are read.
    Export,
    /// What is given to a template.
    Template,
}

/// What the keys of a table are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableKeys {
    /// Words of the rule language, or fields that are checked elsewhere.
    Words,
    /// Paths of the scene.
    Paths,
    /// Fields of items.
    Fields,
}

/// The names that a pack mentions. They are collected when the first one is asked for.
#[derive(Debug, Default)]
pub(crate) struct MentionedNames(OnceLock<NameCollector>);

impl MentionedNames {
    /// Whether a rule, a script or a template of the pack may read a field of this name, or give it to an item, although
    /// nothing declares it. The pack is always the same.
    pub(super) fn holds(&self, pack: &Pack, field: &str) -> bool {
        self.0.get_or_init(|| NameCollector::of(pack)).names.contains(field)
    }
}

#[derive(Debug, Default)]
struct NameCollector {
    names: FxHashSet<Box<str>>,
    /// The first parts of the paths of lists.
    lists: FxHashSet<Box<str>>,
}

impl NameCollector {
    fn of(pack: &Pack) -> Self {
        let mut found = Self::default();
        found.add_lists(pack);
        for source in pack.assets.values().filter_map(|id| pack.sources.get(*id)) {
            found.add_all(&source.text);
        }
        let converts = |map: &str| {
            let format = map.split_once('/').map_or(map, |(format, _)| format);
            pack.row(FORMATS, format).is_some_and(|row| row.fields.contains_key("makes"))
        };
        for (table, rows) in &pack.tables {
            for row in rows.values() {
                if row.fields.contains_key(QUERIES) {
                    found.names.extend(QUERY_KEYS.map(Box::from));
                }
                let is_open = row.text("over") == Some("any");
                match &**table {
                    FORMATS | MAPS if converts(&row.name) => found.table(&row.fields, RuleSubject::Export, TableKeys::Words),
                    FORMATS | MAPS => found.made(&row.fields),
                    "value" | "fact" if is_open => found.made(&row.fields),
                    table if TEMPLATES.contains(&table) => found.table(&row.fields, RuleSubject::Template, TableKeys::Fields),
                    _ => found.table(&row.fields, RuleSubject::Build, TableKeys::Words),
                }
            }
        }
        found.table(&pack.values, RuleSubject::Build, TableKeys::Words);
        found
    }

    /// What a row makes of a document.
    fn made(&mut self, row: &FieldMap) {
        if let Some(to) = row.get("to").and_then(|field| field.node.as_text()) {
            self.add_all(to);
        }
        for field in MADE.iter().filter_map(|key| row.get(*key)) {
            self.node(&field.node, RuleSubject::Import, TableKeys::Fields);
        }
    }

    fn add_lists(&mut self, pack: &Pack) {
        for row in pack.rows("list") {
            let from = row.text("from");
            for path in from.into_iter().chain([&*row.name]) {
                self.lists.extend(path.trim_start_matches('$').split('.').next().map(Box::<str>::from));
            }
        }
    }

    fn add(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.into());
        }
    }

    /// Every name in a text.
    fn add_all(&mut self, text: &str) {
        words(text, |_, word| self.add(word));
    }

    /// The names in a path of the scene, if it begins with that of a list; whether it does.
    fn add_path(&mut self, path: &str) -> bool {
        let path = path.trim_start_matches('$');
        let first = path.split(|c: char| !is_part(c)).next().unwrap_or_default();
        let is_of_list = self.lists.contains(first);
        if is_of_list {
            self.add_all(path);
        }
        is_of_list
    }

    fn table(&mut self, table: &FieldMap, about: RuleSubject, keys: TableKeys) {
        for (key, field) in table.iter().filter(|(key, _)| !PROSE.contains(&&***key)) {
            let key = &**key;
            let is_path = keys == TableKeys::Paths || key.starts_with('$') || key.contains('.');
            let is_of_list = is_path && self.add_path(key);
            if keys == TableKeys::Fields {
                self.add_all(key);
            }
            let below = match about {
                RuleSubject::Build if is_of_list => TableKeys::Fields,
                RuleSubject::Build if keys == TableKeys::Words && CONDITIONS.contains(&key) => TableKeys::Paths,
                RuleSubject::Import if key == "over" => TableKeys::Fields,
                RuleSubject::Import if CHOICES.contains(&key) => TableKeys::Words,
                RuleSubject::Export if CHOICES.contains(&key) => TableKeys::Fields,
                RuleSubject::Template => TableKeys::Fields,
                _ => keys,
            };
            // scripts of overlays
            let is_script = key == SCRIPTS || key.ends_with(".rhai");
            self.node(&field.node, if is_script { RuleSubject::Template } else { about }, below);
        }
    }

    fn node(&mut self, node: &DocumentNode, about: RuleSubject, keys: TableKeys) {
        match &node.data {
            NodeValue::Table(table) => self.table(table, about, keys),
            NodeValue::List(list) => list.iter().for_each(|one| self.node(one, about, keys)),
            NodeValue::Text(text) if about == RuleSubject::Template => self.add_all(text),
            NodeValue::Text(text) => self.text(text, about),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, about: RuleSubject) {
        for path in references(text, '$') {
            self.add_path(path);
        }
        if about == RuleSubject::Export {
            references(text, '@').for_each(|path| self.add_all(path));
        }
        names_in(text, |name| self.add(name));
    }
}

/// The names that the tags of a text may read from items: the later parts of paths, and every name in a text with blocks,
/// which may go through a list.
pub(super) fn names_in<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    let has_blocks = text.contains("{{#") || text.contains("{%");
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let (end, inside) = match after.chars().next() {
            Some('{') => ("}}", after.get(1..).unwrap_or_default()),
            Some('%') => ("%}", after.get(1..).unwrap_or_default()),
            _ => {
                rest = after;
                continue;
            }
        };
        let (tag, after) = inside.split_once(end).unwrap_or((inside, ""));
        words(tag, |before, word| {
            if before == Some('.') || has_blocks && !matches!(before, Some('@' | '$')) {
                each(word);
            }
        });
        rest = after;
    }
}

/// The paths behind a sign in a text.
fn references(text: &str, sign: char) -> impl Iterator<Item = &str> {
    text.split(sign).skip(1).map(|part| {
        let end = part.find(|c: char| !(is_part(c) || ".[]@-".contains(c))).unwrap_or(part.len());
        part.get(..end).unwrap_or_default()
    })
}

/// Whether a letter belongs to a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every name in a text, with the letter in front of it.
fn words<'t>(text: &'t str, mut each: impl FnMut(Option<char>, &'t str)) {
    let mut before = None;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if !word.is_empty() {
            each(before, word);
        }
        let mut letters = after.chars();
        before = letters.next();
        rest = letters.as_str();
    }
}
