//! A pack as merged text: the rule files of all layers merged over each other. Every value keeps the file, line and
//! column that it came from. Loading makes a pack and compiling reads it; nothing changes it in between.

use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;

use super::PackOptions;
use super::rights::ScriptRights;
use super::term::{NONEMPTY_TEXT, Term, TermType};
use crate::diag::{DocumentNode, FieldMap, SourceId, Sources, Span};

/// One pack or overlay that is part of a merged pack.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The pack's name, or the overlay's file name.
    pub name: Arc<str>,
    /// The pack's own version; `0.0.0` for an overlay without one.
    pub release: semver::Version,
    /// Whether it is an overlay: one file of rows that is merged over a pack.
    pub overlay: bool,
    /// The folder that a pack was read from; `None` for a pack that comes with the program, and for an overlay.
    pub folder: Option<std::path::PathBuf>,
}

/// Keys of a row that say how it changes the lower layers. They are never its data, and are gone when it is compiled.
pub const LAYERING: &[Term] = &[
    Term::new("remove", ONLY_TRUE, "deletes the row of a lower layer. The row may only contain `name`, `about` and `expects` besides"),
    Term::new("replace", ONLY_TRUE, "replaces the row of the lower layer as a whole"),
    Term::new("new", ONLY_TRUE, "says that the row is new: it is an error if a lower layer has a row of this name"),
    Term::text("before", "puts the row before this row of the same table (a pass: before this pass of its own program, by its short name)"),
    Term::text("after", "puts the row after this row of the same table (a pass: after this pass of its own program, by its short name)"),
    Term::defined("edit", "edit", ""),
    Term::text(
        "expects",
        "fingerprint of the row that this patch was written for. If the row has changed since, there is a warning with both texts",
    ),
];

const ONLY_TRUE: TermType = TermType::Json(r#"{ "const": true }"#);

/// What every row is called.
pub const NAME: Term = Term::new("name", NONEMPTY_TEXT, "name of the row; a row of that name in a lower layer is patched key by key");

/// What any row may say about itself.
pub const ABOUT: Term = Term::text("about", "what the row is for, in a sentence. Shown by `explain`");

/// Whether a key says how a row changes the lower layers.
#[must_use]
pub fn is_layering(key: &str) -> bool {
    LAYERING.iter().any(|term| term.name == key)
}

/// The rows of one table by name, in their final order.
pub type PackRows = IndexMap<Arc<str>, PackRow, rustc_hash::FxBuildHasher>;

/// A named row of a table: a pass, a slot, an account …
#[derive(Debug, Clone)]
pub struct PackRow {
    /// Its name; the name of a pass is `program/pass`.
    pub name: Arc<str>,
    /// Its fields without `name` and the words of layering. Each keeps its place in the file.
    pub fields: FieldMap,
    /// Where the row was first written.
    pub span: Span,
    /// Where its name is written in that row.
    pub name_span: Span,
    /// Where later layers patched or moved it, lowest first.
    pub patched: Vec<Span>,
}

impl PackRow {
    /// The value of a key.
    #[must_use]
    pub fn node(&self, key: &str) -> Option<&DocumentNode> {
        Some(&self.fields.get(key)?.node)
    }

    /// The string that is the value of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.node(key)?.as_text()
    }

    /// The strings in the list that is the value of a key, each with its place.
    pub fn words<'a>(&'a self, key: &str) -> impl Iterator<Item = (&'a str, Span)> + use<'a> {
        let list = self.node(key).and_then(DocumentNode::as_list);
        list.into_iter().flatten().filter_map(|node| Some((node.as_text()?, node.span)))
    }

    /// Where the value of a key is written; where the row is, if it does not have the key.
    #[must_use]
    pub fn place(&self, key: &str) -> Span {
        self.node(key).map_or(self.name_span, |node| node.span)
    }
}

/// A value that a higher layer replaced or edited.
#[derive(Debug, Clone)]
pub struct ShadowedValue {
    /// The value that is in force.
    pub by: Span,
    /// The value that it replaces.
    pub old: Span,
    /// It is not hidden as a whole: single elements of it were changed.
    pub edited: bool,
}

/// What an overlay decides about a row: one of its keys, `place`, or `row` if the overlay adds it.
#[derive(Debug, Clone)]
pub struct OverlayDecision {
    /// The table.
    pub table: Arc<str>,
    /// The row.
    pub row: Arc<str>,
    /// The key.
    pub key: Arc<str>,
    /// The name of the overlay.
    pub by: Arc<str>,
}

/// All layers of one pack, merged. Meant to be shared behind an `Arc` and not to be cloned.
#[derive(Debug, Default)]
pub struct Pack {
    /// The name of the top pack.
    pub name: Arc<str>,
    /// All layers, lowest first.
    pub layers: Vec<Layer>,
    /// The texts of all files, for messages.
    pub sources: Sources,
    /// Tables of named rows: `slot`, `pass`, `budget` …
    pub tables: IndexMap<Arc<str>, PackRows>,
    /// Values: `[lore]`, `[note]` …, merged key by key; `[limits]` of the manifests is one of them.
    pub values: FieldMap,
    /// The options that the manifests declare, with the values that overlays give them.
    pub options: PackOptions,
    /// Scripts and templates by their path inside the pack (`scripts/lore.rhai`); a file of a higher layer replaces the
    /// file of a lower one.
    pub assets: IndexMap<Arc<str>, SourceId>,
    /// What the scripts of each pack or overlay may read and write, by the name of the layer; one that declares nothing is
    /// not here.
    pub rights: IndexMap<Arc<str>, Arc<ScriptRights>>,
    /// The values that higher layers replaced, in the order in which that happened.
    pub shadowed: Vec<ShadowedValue>,
    /// What overlays decide about rows.
    pub overlaid: Vec<OverlayDecision>,
    /// The options and the values of overlays for them, as they are written.
    pub written_options: FieldMap,
}

/// The blake3 hash of the canonical text of rules, in hex: equal rules have equal fingerprints. It is worked out when it is first
/// read, because most builds do not ask for it.
#[derive(Clone)]
pub struct RulesFingerprint(Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send>>>);

impl RulesFingerprint {
    /// The one that `compute` gives.
    pub fn new(compute: impl FnOnce() -> String + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(compute))))
    }
}

/// That of no rules: nothing.
impl Default for RulesFingerprint {
    fn default() -> Self {
        Self::new(String::new)
    }
}

impl std::ops::Deref for RulesFingerprint {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RulesFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self)
    }
}

impl std::fmt::Debug for RulesFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self)
    }
}

impl serde::Serialize for RulesFingerprint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Pack {
    /// The rows of a table, in their order; none if there is no such table.
    pub fn rows<'a>(&'a self, table: &str) -> impl Iterator<Item = &'a PackRow> + use<'a> {
        self.tables.get(table).into_iter().flat_map(IndexMap::values)
    }

    /// The row of a table that has this name.
    #[must_use]
    pub fn row(&self, table: &str, name: &str) -> Option<&PackRow> {
        self.tables.get(table)?.get(name)
    }
}
