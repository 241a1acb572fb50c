//! The macro table of a pack, compiled once: rows by number, names and aliases to numbers, and the rewriting of texts.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::call::Row;
use super::passes::Passes;
use super::rewrites::{Rewrites, rewrite};
use super::rows::{complaint, row};
use crate::diag::Report;
use crate::model::{Pack, Value};
use crate::terms::Rules;
use crate::text::Limits;
use crate::text::macros::{Found, Grammar, Reading, Tree};

/// Most texts that are remembered as they are read.
const MOST_READ: usize = 256;

/// The macros of a pack.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
    names: FxHashMap<Arc<str>, u32>,
    before: Rewrites,
    after: Rewrites,
    /// Texts that have been read.
    read: Mutex<FxHashMap<Arc<str>, Arc<Reading>>>,
    /// Letter case of names matters.
    exact: bool,
    /// An unknown macro is empty instead of staying as written.
    pub empties: bool,
    /// Rows of the ordered flavour.
    passes: Passes,
    /// Texts are expanded in passes unless the scene says otherwise.
    ordered: bool,
}

impl Table {
    /// Compiles the rows of tables `macro` and `rewrite`; reports those that are wrong.
    #[must_use]
    pub fn compile(rules: &Rules, pack: &Pack) -> (Self, Report) {
        let engine = rules.values.get("macro_engine");
        let word = |key: &str| engine.and_then(|e| e.get(key)).map(Value::to_text).unwrap_or_default();
        let mut table = Self { exact: word("case").as_ref() == "exact", empties: word("unknown").as_ref() == "empty", ..Self::default() };
        let mut report = Report::default();
        let rows = rules.table("macro");
        for cells in rows.as_list().unwrap_or(&[]) {
            let id = u32::try_from(table.rows.len()).unwrap_or(u32::MAX);
            match row(cells, id) {
                Ok(row) => table.rows.push(row),
                Err(wrong) => report.push(complaint(&wrong, "macro", cells, pack)),
            }
        }
        table.index();
        let rewrites = rules.table("rewrite");
        for cells in rewrites.as_list().unwrap_or(&[]) {
            match rewrite(cells) {
                Ok((made, needs)) if cells.get("when").and_then(Value::as_str) == Some("after") => table.after.add(made, needs),
                Ok((made, needs)) => table.before.add(made, needs),
                Err(wrong) => report.push(complaint(&wrong, "rewrite", cells, pack)),
            }
        }
        table.before.ready();
        table.after.ready();
        table.ordered = word("flavour").as_ref() == "passes";
        table.passes = Passes::compile(&|name| table.named(name), table.rows.len(), rules, pack, &mut report);
        (table, report)
    }

    /// The passes of the ordered flavour.
    pub(super) fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Whether texts are expanded in passes; `said` is the flavour that the scene asks for.
    pub(super) fn is_ordered(&self, said: &str) -> bool {
        match said {
            "passes" => true,
            "nested" => false,
            _ => self.ordered,
        }
    }

    /// A name takes precedence over an alias.
    fn index(&mut self) {
        let fold = |name: &str| if self.exact { Arc::from(name) } else { Arc::from(name.to_ascii_lowercase()) };
        for row in &self.rows {
            self.names.insert(fold(&row.name), row.id);
        }
        for row in &self.rows {
            let aliases = row.cells.get("aliases").and_then(Value::as_list).unwrap_or(&[]);
            for alias in aliases {
                self.names.entry(fold(&alias.to_text())).or_insert(row.id);
            }
        }
    }

    /// A row by its number.
    #[must_use]
    pub fn row(&self, id: u32) -> Option<&Row> {
        self.rows.get(id as usize)
    }

    /// A row by its name or an alias.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Row> {
        let id = if self.exact || !name.bytes().any(|b| b.is_ascii_uppercase()) {
            self.names.get(name)
        } else {
            self.names.get(name.to_ascii_lowercase().as_str())
        };
        self.row(*id?)
    }

    /// A text as it is read, remembered.
    pub fn reading(&self, text: &Arc<str>, limits: &Limits) -> Arc<Reading> {
        // a poisoned lock only means that another build panicked while reading; the map is complete
        if let Some(known) = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return known.clone();
        }
        let marked: Option<Arc<str>> = self.before(text).map(Arc::from);
        let tree = Tree::parse(marked.as_ref().unwrap_or(text), self, limits.depth);
        let made = Arc::new(Reading { marked, tree });
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MOST_READ {
            read.clear();
        }
        read.insert(text.clone(), made.clone());
        made
    }

    /// The text as its macros are read; nothing if nothing is rewritten.
    #[must_use]
    pub fn before(&self, text: &str) -> Option<String> {
        self.before.apply(text)
    }

    /// The text as it is in the end; nothing if nothing is rewritten.
    #[must_use]
    pub fn after(&self, text: &str) -> Option<String> {
        self.after.apply(text)
    }
}

impl Grammar for Table {
    fn find(&self, name: &str) -> Option<Found> {
        self.named(name).map(|row| Found { id: row.id, shape: row.shape })
    }
}
