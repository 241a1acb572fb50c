//! Every name that a pack declares: references are checked against these names, and `tapster ops` prints them.
//!
//! Paths come from `[[path]]` and `[[state]]` rows, from the pack's values, and from passes that set them; fields
//! come from `[[field]]` rows (`rowtype/field`). A reference to any other name is an error with a suggestion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{DocumentNode, FieldMap, NodeValue, Span, WordSearch, limits, suggest};
use crate::model::pack::PackRow;
use crate::model::term::{NONEMPTY_TEXT, RowTerms, TEXTS};
use crate::model::{OptionType, Pack, Term, options};

pub use super::types::{ValueType, is_form, is_script};
use super::words::add_words;

/// The cells of `$table.overlaid`, which the program fills.
const OVERLAID: &[(&str, &str)] = &[
    ("table", "The table of a row about which an overlay decides."),
    ("row", "The name of that row."),
    ("key", "What the overlay decides: a key of the row, `place`, or `row` if it adds the row."),
    ("by", "The name of the overlay."),
];

/// Tables that may be read even if no layer has added a row to them.
pub const TABLES: &[&str] = &[
    "overlaid",
    "slot",
    "position",
    "alias",
    "macro",
    "story_field",
    "sequence",
    "card_field",
    "mode",
    "map",
    "code",
    "script",
    "hook",
    "tool",
    "lore_place",
    "decorator",
    "task",
    "revision",
    "source",
    "lane",
    "artifact",
    "writer",
    "operation",
    "effect",
    "capability",
    "policy",
    "preflight",
    "config",
    "option",
    "reserved",
    "transform",
    "config_preset",
    "protocol",
    "directive",
    "directive_mode",
    "reasoning_tag",
    "scene_part",
    "time_stamp",
];

/// Keys of `field`.
const FIELD: &[Term] = &[
    Term::json(
        "name",
        r#"{ "type": "string", "minLength": 1, "pattern": "^[a-z_]+/[A-Za-z_][A-Za-z0-9_.]*(\\.\\*)?$" }"#,
        "`rowtype/field`, such as `message/role`. Row types: message, injection, slot, entry, book, member, memory, example, \
         script, stop, text, decorator, state_row, call, part. Every item has `index`, its position in the list when the pass \
         began",
    ),
    Term::word(
        "type",
        &["text", "number", "integer", "boolean", "list", "table", "any", "condition", "value", "slot", "group"],
        "what it holds. A `condition` is evaluated when it is read; a `slot` names a row of table `slot` or `region`; a `group` \
         names a row of table `budget_group`",
    ),
    Term::json("default", r#"{}"#, "the default value"),
    Term::json(
        "values",
        r#"{ "type": ["array", "string"], "items": { "type": "string" } }"#,
        "the words that it usually is: one that is nearly one of them is warned of. `$table.NAME` is the names of that table's \
         rows, `$PATH` the `values` of that path",
    ),
    Term::json(
        "only",
        r#"{ "const": true }"#,
        "a row of the table that is called like the row type is warned of for a word that is none of `values`; of a list, each \
         element is a word",
    ),
    Term::json(
        "required",
        r#"{ "const": true }"#,
        "a row of the table that is called like the row type has no effect without it, and is warned of",
    ),
    Term::new("rows", TEXTS, "for a list: the row types of its elements, so that their fields are checked"),
    Term::flag("sent", "a provider receives it: a request in which it differs is a changed request"),
    Term::text("doc", "what it means"),
];

/// Keys of `path`.
const PATH: &[Term] = &[
    Term::json(
        "name",
        r#"{ "type": "string", "minLength": 1, "pattern": "^[A-Za-z_][A-Za-z0-9_.]*(\\.\\*)?$" }"#,
        "the path without `$`. A name that ends in `.*` is an open table",
    ),
    Term::defined("type", "type", ""),
    Term::json("default", r#"{ "x-free": "text" }"#, "its value if the scene has none"),
    Term::json(
        "values",
        r#"{ "type": ["array", "string"], "items": { "type": "string" } }"#,
        "the words that it may be; a scene with another one is warned of. `$table.NAME` is the names of that table's rows, \
         `$table.NAME.END` those that end in `END`, without it, and `$PATH` the `values` of that path",
    ),
    Term::new(
        "fields",
        NONEMPTY_TEXT,
        "a row type whose fields the value of the pack at this path has, as the defaults of rows do: it is checked as these",
    ),
    Term::text("doc", "what it means"),
];

/// Keys of `state`.
const STATE: &[Term] = &[Term::defined("type", "type", ""), Term::text("doc", "what it means")];

/// Keys of `list`.
const LIST: &[Term] = &[
    Term::json("rows", r#"{ "type": "array", "items": { "type": "string" }, "minItems": 1 }"#, "row types that its items may have"),
    Term::text("from", "path of the scene from which it is filled when it is first used"),
    Term::new(
        "needs",
        TEXTS,
        "fields of which each item that a scene gives needs one; the first is named in the warning about an item without any",
    ),
    Term::text("doc", "what it holds"),
];

/// Keys of `table`.
const TABLE: &[Term] = &[
    Term::json("name", r#"{ "type": "string", "pattern": "^[a-z][a-z0-9_]*$" }"#, "its name: lower-case letters, digits and `_`"),
    Term::json("doc", r#"{ "x-free": "text", "type": "string" }"#, "what its rows are"),
];

/// Keys of `column`.
const COLUMN: &[Term] = &[
    Term::json("name", r#"{ "type": "string", "pattern": "^[^/]+/[^/]+$" }"#, "the table, `/` and the key: `mode/keeps_names`"),
    Term::word("type", &["text", "number", "integer", "boolean", "list", "table", "any"], "the type of its values").default("any"),
    Term::json("default", r#"{ "x-free": "text" }"#, "its value in rows that have none"),
    Term::flag("required", "whether every row must have it; only for tables of the pack's own"),
    Term::new("values", TEXTS, "the texts that it may be"),
    Term::json("doc", r#"{ "x-free": "text", "type": "string" }"#, "what it means"),
];

/// The keys of rows that declare names.
pub const ROWS: &[RowTerms] = &[
    ("field", &[FIELD]),
    ("path", &[PATH]),
    ("state", &[STATE]),
    ("list", &[LIST]),
    ("table", &[TABLE]),
    ("column", &[COLUMN]),
    ("stream", &[&[Term::text("doc", "what is drawn from it")]]),
    ("budget_group", &[&[Term::text("doc", "what belongs to it")]]),
    ("region", &[&[Term::text("doc", "what stands there")]]),
];

/// What `over` says of a named row that is about any value, such as a part of a foreign document.
pub const ANYTHING: &str = "any";

/// The keys of one query of `match`: what is searched for, whether all of it must be found, and whether none of it may be.
pub const QUERY_KEYS: [&str; 3] = ["keys", "all", "absent"];

/// The tables that a pack declares with `[[table]]` rows.
pub fn own_tables(pack: &Pack) -> impl Iterator<Item = &str> {
    pack.tables.get("table").into_iter().flat_map(|rows| rows.keys()).map(AsRef::as_ref)
}

/// Whether `$table.NAME` may be read.
#[must_use]
pub fn is_table(pack: &Pack, name: &str) -> bool {
    let is_declared = || pack.tables.get("table").is_some_and(|rows| rows.contains_key(name));
    pack.tables.contains_key(name) || TABLES.contains(&name) || is_declared()
}

/// A declared path or field.
#[derive(Debug, Clone)]
pub struct DeclaredName {
    /// The type of its value.
    pub kind: ValueType,
    /// Its description; empty if a pass or a value declares it.
    pub doc: Arc<str>,
}

/// A row type and one of its fields.
type FieldOfRow = (Arc<str>, Arc<str>);

/// By table, the keys that the schemas of rule files know for its rows. A table whose rows may have any key is not in it.
pub type RowKeys = BTreeMap<String, BTreeSet<String>>;

/// All names of a pack.
#[derive(Debug, Default)]
pub struct PackNames {
    /// Scene paths.
    pub paths: BTreeMap<Arc<str>, DeclaredName>,
    /// By path, the words that its value may be, where the pack declares them.
    pub words: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// By the name of a field, the words that its value usually is.
    pub field_words: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// By the name of a `[[field]]` row, the only words that the field may have.
    pub only: FxHashMap<Arc<str>, FxHashSet<Arc<str>>>,
    /// The `values` from which on words were left out, because there were more than [`limits::RULE_PARTS`].
    pub too_many: Option<Span>,
    prefixes: FxHashSet<String>,
    /// By the path above them, the last parts of the paths that have a description.
    described: FxHashMap<String, BTreeSet<Box<str>>>,
    /// Fields by row type.
    pub fields: BTreeMap<Arc<str>, BTreeMap<Arc<str>, DeclaredName>>,
    /// By field, its type if all row types that have it agree.
    kinds: FxHashMap<Arc<str>, Option<ValueType>>,
    /// By row type and field, the row types of the elements that a list in the field has.
    pub element_rows: FxHashMap<FieldOfRow, Vec<Arc<str>>>,
    columns: FxHashMap<Arc<str>, FxHashSet<Arc<str>>>,
    /// Draw streams.
    pub streams: BTreeMap<Arc<str>, Arc<str>>,
    /// Budget groups.
    pub groups: BTreeMap<Arc<str>, Arc<str>>,
    /// Slot names that have no row in table `slot`.
    pub regions: BTreeMap<Arc<str>, Arc<str>>,
}

impl PackNames {
    /// Reads all declarations of a pack.
    #[must_use]
    pub fn of(pack: &Pack) -> Self {
        let mut names = Self::default();
        let mut left = limits::RULE_PARTS;
        let doc = |fields: &FieldMap| -> Arc<str> { fields.get("doc").and_then(|f| f.node.as_text()).unwrap_or("").into() };
        for (table, rows) in &pack.tables {
            let columns = names.columns.entry(table.clone()).or_default();
            columns.insert("name".into());
            columns.extend(rows.values().flat_map(|r| r.fields.keys().cloned()));
            for row in rows.values() {
                let kind = row.fields.get("type").and_then(|f| f.node.as_text()).map_or(ValueType::Any, ValueType::parse);
                match table.as_ref() {
                    "path" => {
                        names.path(&row.name, kind, doc(&row.fields));
                        if let Some(words) = names.listed(pack, row, &mut left) {
                            names.words.insert(row.name.clone(), words);
                        }
                    }
                    "state" => names.path(&format!("state.{}", row.name), ValueType::Any, doc(&row.fields)),
                    "stream" => drop(names.streams.insert(row.name.clone(), doc(&row.fields))),
                    "budget_group" => drop(names.groups.insert(row.name.clone(), doc(&row.fields))),
                    "region" => drop(names.regions.insert(row.name.clone(), doc(&row.fields))),
                    "field" => {
                        if let Some((row_type, field)) = row.name.split_once('/') {
                            let fields = names.fields.entry(row_type.into()).or_default();
                            let head = field.split('.').next().unwrap_or(field);
                            if head != field {
                                fields.entry(head.into()).or_insert(DeclaredName { kind: ValueType::Any, doc: "".into() });
                            }
                            fields.insert(field.into(), DeclaredName { kind, doc: doc(&row.fields) });
                            if let Some(rows) = row.fields.get("rows").and_then(|f| f.node.as_list()) {
                                let rows = rows.iter().filter_map(DocumentNode::as_text).map(Arc::from).collect();
                                names.element_rows.insert((row_type.into(), field.into()), rows);
                            }
                            if let Some(usual) = names.listed(pack, row, &mut left) {
                                // the fields of other row types may have the same name, and other words
                                if row.fields.get("only").and_then(|f| f.node.as_bool()) == Some(true) {
                                    names.only.insert(row.name.clone(), usual.into_iter().collect());
                                } else {
                                    names.field_words.entry(field.into()).or_default().extend(usual);
                                }
                            }
                        }
                    }
                    "pass" | "round" => {
                        names.set_paths(row.fields.get("set").map(|f| &f.node), table.as_ref() == "round");
                        names.listed_paths(row.fields.get("fields").map(|f| &f.node));
                    }
                    _ => {}
                }
                if table.as_ref() == "pass" {
                    if let Some(name) = row.fields.get("as").and_then(|f| f.node.as_text()) {
                        names.path(name, ValueType::Any, "".into());
                    }
                    if row.fields.get("do").and_then(|f| f.node.as_text()) == Some("repeat") {
                        names.set_paths(row.fields.get("set").map(|f| &f.node), true);
                    }
                }
            }
        }
        for name in pack.tables.get("column").into_iter().flat_map(|rows| rows.keys()) {
            if let Some((table, key)) = name.split_once('/') {
                names.columns.entry(table.into()).or_default().insert(key.into());
            }
        }
        let overlaid = names.fields.entry("overlaid".into()).or_default();
        for (cell, doc) in OVERLAID {
            overlaid.insert((*cell).into(), DeclaredName { kind: ValueType::Text, doc: (*doc).into() });
        }
        for (field, DeclaredName { kind, .. }) in names.fields.values().flatten() {
            let agreed = names.kinds.entry(field.clone()).or_insert(Some(*kind));
            *agreed = agreed.filter(|agreed| agreed == kind);
        }
        for option in pack.options.iter() {
            names.option(option);
        }
        names.path("round.done", ValueType::Number, "how many rounds of the repeat that runs have ended".into());
        names.values("", &pack.values, 0);
        names
    }

    /// An option of a manifest is the path `option.NAME`.
    fn option(&mut self, option: &crate::model::PackOption) {
        let path = format!("{}.{}", options::TABLE, option.name);
        let kind = match option.kind {
            OptionType::Bool => ValueType::Boolean,
            OptionType::Number => ValueType::Number,
            _ => ValueType::Text,
        };
        let doc = if option.help.is_empty() { &option.title } else { &option.help };
        self.path(&path, kind, doc.clone());
        if option.kind == OptionType::Enum {
            self.words.insert(path.into(), option.choices.iter().map(|choice| choice.value.clone()).collect());
        }
    }

    /// The words that a row lists as `values`.
    fn listed(&mut self, pack: &Pack, row: &PackRow, left: &mut usize) -> Option<Vec<Arc<str>>> {
        let values = &row.fields.get("values")?.node;
        let mut all = Vec::new();
        if !add_words(pack, values, false, &mut FxHashSet::default(), left, &mut all) && self.too_many.is_none() {
            self.too_many = Some(values.span);
        }
        Some(all)
    }

    fn path(&mut self, path: &str, kind: ValueType, doc: Arc<str>) {
        let (path, kind) = match path.strip_suffix(".*") {
            Some(open) => (open, ValueType::Table),
            None => (path, kind),
        };
        // a declaration has more detail than a pass that happens to set the path
        if self.paths.get(path).is_none_or(|d| d.doc.is_empty()) {
            if let Some((above, last)) = path.rsplit_once('.').filter(|_| !doc.is_empty()) {
                self.described.entry(above.to_owned()).or_default().insert(last.into());
            }
            self.paths.insert(path.into(), DeclaredName { kind, doc });
        }
        let mut end = 0;
        while let Some(dot) = path.get(end..).and_then(|rest| rest.find('.')) {
            end += dot;
            self.prefixes.insert(path.get(..end).unwrap_or(path).to_owned());
            end += 1;
        }
    }

    /// `set = { "$x.y" = … }` declares x.y; in rounds and repeats the bare names are `round.*`.
    fn set_paths(&mut self, set: Option<&DocumentNode>, round: bool) {
        let Some(table) = set.and_then(DocumentNode::as_table) else { return };
        for key in table.keys() {
            match key.strip_prefix('$') {
                Some(path) => {
                    let fixed = path.split(".[").next().unwrap_or(path);
                    let kind = ValueType::Any;
                    self.path(fixed, kind, "".into());
                }
                None if round => self.path(&format!("round.{key}"), ValueType::Any, "".into()),
                None => {}
            }
        }
    }

    /// `fields = ["$x.y"]` of a `set` declares x.y too.
    fn listed_paths(&mut self, fields: Option<&DocumentNode>) {
        for path in fields.and_then(DocumentNode::as_list).unwrap_or(&[]).iter().filter_map(|n| n.as_text()?.strip_prefix('$')) {
            self.path(path.split(".[").next().unwrap_or(path), ValueType::Any, "".into());
        }
    }

    fn values(&mut self, prefix: &str, table: &FieldMap, depth: usize) {
        for (key, field) in table {
            let path = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
            match &field.node.data {
                NodeValue::Table(inner) if depth < 8 && !inner.is_empty() && !is_form(inner) => self.values(&path, inner, depth + 1),
                _ => self.path(&path, ValueType::Any, "".into()),
            }
        }
    }

    /// Whether a scene path is known: declared, above a declared one, or below an open one.
    #[must_use]
    pub fn knows_path(&self, path: &str) -> bool {
        if self.paths.contains_key(path) || self.prefixes.contains(path) {
            return true;
        }
        let mut at = path;
        while let Some((above, _)) = at.rsplit_once('.') {
            // the nearest declaration decides
            if let Some(declared) = self.paths.get(above) {
                return declared.kind.open();
            }
            at = above;
        }
        false
    }

    /// The declared path beside an undeclared one that differs from it by a slip of the pen; a table that is open to other
    /// names accepts those that are like none of its own.
    #[must_use]
    pub fn near_sibling(&self, path: &str, search: &WordSearch) -> Option<&str> {
        if self.paths.contains_key(path) { None } else { self.near_described(path, search) }
    }

    /// The path that an undescribed one is with a slip, as [`near_sibling`](Self::near_sibling); a value of the pack may
    /// declare the undescribed one.
    #[must_use]
    pub fn near_described(&self, path: &str, search: &WordSearch) -> Option<&str> {
        if self.paths.get(path).is_some_and(|declared| !declared.doc.is_empty()) || self.prefixes.contains(path) {
            return None;
        }
        let (above, last) = path.rsplit_once('.')?;
        let near = search.misspelt_key(last, self.described.get(above)?.iter().map(AsRef::as_ref))?;
        self.paths.get_key_value(format!("{above}.{near}").as_str()).map(|(known, _)| known.as_ref())
    }

    /// The field of these row types, or of any if none are given, that an unknown key of an item is with a slip.
    #[must_use]
    pub fn near_field<'a>(&'a self, types: &[Arc<str>], key: &str) -> Option<&'a str> {
        if self.knows_field(None, key) {
            return None;
        }
        let types = Some(types).filter(|types| !types.is_empty());
        let columns = || self.columns.values().flatten().map(AsRef::as_ref);
        let near = |known: &&str| suggest::is_misspelt_key(key, known);
        WordSearch::default().misspelt_key(key, self.field_names(types)).or_else(|| columns().filter(near).min())
    }

    /// The declared word of a path that another word is with a slip.
    #[must_use]
    pub fn near_path_word(&self, path: &str, word: &str, search: &WordSearch) -> Option<&str> {
        near_in(self.words.get(path)?, word, search)
    }

    /// The usual word of a field that another word is with a slip. A field may hold other words too.
    #[must_use]
    pub fn near_word(&self, field: &str, word: &str, search: &WordSearch) -> Option<&str> {
        near_in(self.field_words.get(field)?, word, search)
    }

    /// Whether a row of a table has a key, or a row `[[column]]` declares it.
    #[must_use]
    pub fn has_column(&self, table: &str, key: &str) -> bool {
        self.columns.get(table).is_some_and(|columns| columns.contains(key))
    }

    /// The keys that rows of a table have, and those that rows `[[column]]` declare, for suggestions.
    pub fn columns_of(&self, table: &str) -> impl Iterator<Item = &str> {
        self.columns.get(table).into_iter().flatten().map(AsRef::as_ref)
    }

    /// Whether declared paths are below a path, as `names.char` is below `names`.
    #[must_use]
    pub fn has_paths_below(&self, path: &str) -> bool {
        self.prefixes.contains(path)
    }

    /// Whether a field is known: declared for one of these row types; if none are given, for any row type or table.
    #[must_use]
    pub fn knows_field(&self, types: Option<&[Arc<str>]>, field: &str) -> bool {
        if matches!(field, "index" | "_" | "enabled" | "admitted" | "hits") || field.parse::<usize>().is_ok() {
            return true;
        }
        match types {
            Some(types) => types.iter().any(|t| self.fields.get(t).is_some_and(|f| f.contains_key(field))),
            None => self.fields.values().any(|f| f.contains_key(field)) || self.columns.values().any(|c| c.contains(field)),
        }
    }

    /// The type of a field, if all row types that have it agree.
    #[must_use]
    pub fn field_type(&self, types: Option<&[Arc<str>]>, field: &str) -> Option<ValueType> {
        let kind = |fields: &BTreeMap<Arc<str>, DeclaredName>| fields.get(field).map(|declared| declared.kind);
        match types {
            Some(types) => agreed(types.iter().filter_map(|t| self.fields.get(t)).filter_map(kind)),
            None => self.kinds.get(field).copied().flatten(),
        }
    }

    /// The fields of these row types, or all fields, for suggestions.
    pub fn field_names<'a>(&'a self, types: Option<&[Arc<str>]>) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(t, _)| types.is_none_or(|types| types.contains(t))).flat_map(|(_, f)| f.keys().map(AsRef::as_ref))
    }

    /// All paths, for suggestions.
    pub fn path_names(&self) -> impl Iterator<Item = &str> {
        self.paths.keys().map(AsRef::as_ref)
    }
}

/// The type that all of these are.
fn agreed(mut kinds: impl Iterator<Item = ValueType>) -> Option<ValueType> {
    let first = kinds.next()?;
    kinds.all(|kind| kind == first).then_some(first)
}

/// The word of a list that another word, which is none of them, is with a slip.
fn near_in<'w>(words: &'w [Arc<str>], word: &str, search: &WordSearch) -> Option<&'w str> {
    let known = words.iter().any(|known| **known == *word);
    if known { None } else { search.misspelt_key(word, words.iter().map(AsRef::as_ref)) }
}

/// Whether a whole text is one reference: `$` or `@` and a name, or `@` alone.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let Some(name) = text.strip_prefix('$').or_else(|| text.strip_prefix('@')) else { return false };
    if name.is_empty() {
        return text == "@";
    }
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '$' | '@' | '-'))
        && name.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '[')
}
