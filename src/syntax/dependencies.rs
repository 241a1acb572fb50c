//! Which values and rows of a pack look at the item at hand, so that no pass works them out once for all items.
//!
//! `@` in such a cell means the item of whoever reads the cell. Cells are looked at as they are written, before any is
//! compiled: a cell may read another that stands behind it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Data, Node, Table};
use crate::model::Pack;

use crate::terms::names::{is_form, is_reference};

/// Values inside values deeper than this were refused when they were read.
const MAX_DEPTH: usize = 96;

/// Cells read through cells further than this are refused when they are worked out.
const MAX_ROUNDS: usize = 48;

/// How far cells look: 1 at the item at hand, 2 at the one around it.
#[derive(Debug, Default)]
pub struct Dependencies {
    values: FxHashMap<String, u8>,
    tables: FxHashMap<Arc<str>, u8>,
}

/// What one cell is made of.
#[derive(Default)]
struct Cell {
    own: u8,
    /// The `$` paths in it, and how many queries stand around each.
    reads: Vec<(String, u8)>,
}

impl Dependencies {
    /// Dependencies through the values and rows of a pack.
    #[must_use]
    pub fn of(pack: &Pack) -> Self {
        let mut values = Vec::new();
        leaves("", &pack.values, 0, &mut values);
        for (name, row) in pack.tables.get("path").into_iter().flatten() {
            if let Some(default) = row.fields.get("default") {
                values.push((name.trim_end_matches(".*").to_owned(), Cell::of(&default.node)));
            }
        }
        let mut tables: Vec<(Arc<str>, Cell)> = Vec::new();
        for (name, rows) in &pack.tables {
            let mut cell = Cell::default();
            rows.values().flat_map(|row| row.fields.values()).for_each(|f| cell.add(&f.node, 0, 0));
            tables.push((name.clone(), cell));
        }
        let mut found = Self::default();
        for _ in 0..MAX_ROUNDS {
            let mut more = false;
            for (path, cell) in &values {
                let far = found.far(cell);
                more |= far > 0 && found.values.insert(path.clone(), far) != Some(far);
            }
            for (name, cell) in &tables {
                let far = found.far(cell);
                more |= far > 0 && found.tables.insert(name.clone(), far) != Some(far);
            }
            if !more {
                break;
            }
        }
        found
    }

    /// How far a scene path looks: the value there, or the furthest of those below.
    #[must_use]
    pub fn path(&self, path: &str) -> u8 {
        let below = |value: &str| path.is_empty() || value.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.values.iter().filter(|(value, _)| below(value)).map(|(_, far)| *far).max().unwrap_or(0)
    }

    /// How far the rows of a table look.
    #[must_use]
    pub fn table(&self, name: &str) -> u8 {
        self.tables.get(name).copied().unwrap_or(0)
    }

    fn far(&self, cell: &Cell) -> u8 {
        let read = cell.reads.iter().map(|(path, depth)| {
            let fixed = path.split(".[").next().unwrap_or(path);
            let far = match fixed.split_once('.') {
                Some(("table", rest)) => self.table(rest.split('.').next().unwrap_or(rest)),
                Some(("code", _)) => self.table("code"),
                _ => self.path(fixed),
            };
            far.saturating_sub(*depth)
        });
        read.max().unwrap_or(0).max(cell.own)
    }
}

fn leaves(prefix: &str, table: &Table, depth: usize, out: &mut Vec<(String, Cell)>) {
    for (key, field) in table {
        let path = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
        match &field.node.data {
            Data::Table(inner) if depth < MAX_DEPTH && !is_form(inner) => leaves(&path, inner, depth + 1, out),
            _ => out.push((path, Cell::of(&field.node))),
        }
    }
}

impl Cell {
    fn of(node: &Node) -> Self {
        let mut cell = Self::default();
        cell.add(node, 0, 0);
        cell
    }

    /// `within`: how many queries stand around the node.
    fn add(&mut self, node: &Node, within: u8, level: usize) {
        if level > MAX_DEPTH {
            return;
        }
        match &node.data {
            Data::Text(text) => self.text(text, within),
            Data::List(list) => list.iter().for_each(|n| self.add(n, within, level + 1)),
            Data::Table(table) => {
                let query = table.contains_key("of") && !table.contains_key("fn");
                if table.contains_key("form") || table.contains_key("read") {
                    self.own = self.own.max(1_u8.saturating_sub(within));
                }
                for (key, field) in table {
                    let inside = query && !matches!(key.as_ref(), "of" | "after" | "join" | "skip" | "take");
                    let within = within.saturating_add(u8::from(inside));
                    if key.starts_with(['$', '@']) {
                        self.text(key, within);
                    }
                    self.add(&field.node, within, level + 1);
                }
            }
            _ => {}
        }
    }

    /// The references in a text: the whole of it, its holes, or the words of a calculation.
    fn text(&mut self, text: &str, within: u8) {
        let word = |c: char| c.is_alphanumeric() || "_.[]$@-".contains(c);
        for part in text.split(|c: char| !word(c)).filter(|part| is_reference(part)) {
            if let Some(path) = part.strip_prefix('$') {
                self.reads.push((path.to_owned(), within));
            }
            if part.contains('@') {
                let far = if part.contains("@outer") { 2_u8 } else { 1 };
                self.own = self.own.max(far.saturating_sub(within));
            }
        }
    }
}
