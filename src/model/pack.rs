//! A pack as merged text: the rule files of all layers laid over each other, every value still knowing
//! the file, line and column it came from. Loading makes it, compiling reads it; nothing changes it in between.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{SourceId, Sources, Span, Table};

/// One pack or overlay that took part, lowest first.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The pack's name, or the overlay's file name.
    pub name: Arc<str>,
    /// The pack's own version (`0.0.0` for an overlay that says none).
    pub release: semver::Version,
    /// Whether it is an overlay: one file of rows laid over a pack.
    pub overlay: bool,
}

/// The rows of one table by name, in their final order.
pub type Rows = IndexMap<Arc<str>, Row>;

/// A named row: a pass, a slot, an account …
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name (a pass is `program/pass`).
    pub name: Arc<str>,
    /// Its fields without `name` and the layering words; each keeps the place it was written at.
    pub fields: Table,
    /// Where the row was first written.
    pub span: Span,
    /// Where its name stands there.
    pub name_span: Span,
    /// Where later layers patched or moved it, lowest first.
    pub patched: Vec<Span>,
}

/// A value that a higher layer replaced or edited.
#[derive(Debug, Clone)]
pub struct Shadowed {
    /// The value that counts.
    pub by: Span,
    /// The value that it hides.
    pub old: Span,
    /// It is not hidden as a whole: single elements of it were changed.
    pub edited: bool,
}

/// All layers of one pack, merged. Cheap to share behind an `Arc`, not meant to be cloned.
#[derive(Debug, Default)]
pub struct Pack {
    /// Name of the uppermost pack.
    pub name: Arc<str>,
    /// All layers, lowest first.
    pub layers: Vec<Layer>,
    /// All texts, for messages.
    pub sources: Sources,
    /// Tables of named rows: `slot`, `pass`, `account` …
    pub tables: IndexMap<Arc<str>, Rows>,
    /// Values: `[lore]`, `[note]` … merged key by key. `[limits]` of the manifests is among them.
    pub values: Table,
    /// Scripts and templates by path inside the pack (`scripts/lore.rhai`); a higher layer's file hides a lower one's.
    /// The text is the source's.
    pub assets: IndexMap<Arc<str>, SourceId>,
    /// What higher layers replaced, in the order it happened.
    pub shadowed: Vec<Shadowed>,
    /// blake3 over the canonical merged text, hex; the same rules give the same fingerprint.
    pub fingerprint: String,
}
