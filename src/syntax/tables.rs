//! Tables and their columns, where rules name them: a column that no row of the table may have gives nothing, wherever it
//! stands, so that it is told.
//!
//! Rows of a table come from rule files alone. So their keys are those that the schemas know and those that rows `[[column]]`
//! declare; of a table whose rows may have any key, and of a value that may be something else than rows, nothing is said.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diag::{Code, DocumentNode, FieldMap, Span, limits};
use crate::terms::expr::{Expr, ItemQuery, PathRoot, QuerySource};
use crate::terms::names::{is_table, own_tables};

use super::context::{CompileContext, ItemScope};

/// The keys that rows of every table have or may have.
const COMMON: [&str; 2] = ["name", "about"];
/// The table that the program fills.
const OVERLAID: &str = "overlaid";

impl CompileContext<'_> {
    /// What `@` means for each element of a value: a row of a table, if that is known.
    #[must_use]
    pub fn elements_of(&self, of: &Expr) -> ItemScope {
        table_of(of).map_or(ItemScope::Open, |table| ItemScope::Table(table.clone()))
    }

    /// Whether passes can read a table; reports an error if not.
    pub(super) fn check_table(&mut self, table: &str, span: Span) -> bool {
        if self.engine_tables.contains(&table) {
            let message = format!("no pass can read table `{table}`, which the engine reads itself");
            let help = "declare a table of your own with a row `[[table]]`, and give its rows what passes are to read";
            self.fail(Code::ReferenceBad, span, message, Some(help.into()));
            return false;
        }
        let is_known = is_table(self.pack, table);
        if !is_known {
            let readable = self.pack.tables.keys().filter(|table| !self.engine_tables.contains(&table.as_ref()));
            let known: Vec<Arc<str>> = readable.cloned().chain(own_tables(self.pack).map(Arc::from)).collect();
            self.unknown("table", table, span, known.iter().map(AsRef::as_ref));
        }
        is_known
    }

    /// Checks `$table.NAME` and the steps behind it: a row by its number, and one of its columns.
    pub(super) fn check_table_path(&mut self, table: &str, steps: &[Arc<str>], span: Span) {
        if !self.check_table(table, span) {
            return;
        }
        let Some(row) = steps.first().filter(|row| row.as_ref() != "count") else { return };
        let column = steps.get(1);
        if row.as_ref() != "last" && row.parse::<usize>().is_err() {
            let get = column.map(|column| format!(", get = \"{column}\"")).unwrap_or_default();
            let help = format!("write `{{ lookup = \"{row}\", in = \"$table.{table}\"{get} }}` for the row of this name");
            self.fail(Code::ReferenceBad, span, format!("`$table.{table}` is a list of rows, and has no `{row}`"), Some(help.into()));
        } else if let Some(column) = column {
            self.check_column(table, column, span);
        }
    }

    /// Checks the columns that a lookup names, if it looks into rows of a table.
    pub(super) fn check_lookup(&mut self, rows: &Expr, lookup: &FieldMap) {
        let Some(table) = table_of(rows) else { return };
        for word in ["key", "get"] {
            if let Some((column, at)) = lookup.get(word).and_then(|field| Some((field.node.as_text()?, field.node.span))) {
                self.check_column(table, column, at);
            }
        }
    }

    /// Reports a column that no row of a table may have.
    pub(super) fn check_column(&mut self, table: &str, column: &str, span: Span) {
        if !self.knows_columns(table) || self.may_have(table, column) {
            return;
        }
        let name = format!("{table}/{column}");
        let known = self.columns(table);
        let help = match self.report.words.nearest(column, known.iter().map(AsRef::as_ref)) {
            Some(near) => near.into(),
            None => {
                let listed: Vec<String> = known.iter().take(limits::VOCABULARY).map(|column| format!("`{column}`")).collect();
                let more = if known.len() > limits::VOCABULARY { ", …" } else { "" };
                format!("its columns are {}{more}; a row `[[column]]` with `name = \"{name}\"` declares another one", listed.join(", "))
                    .into()
            }
        };
        let message = format!("table `{table}` has no column `{column}`");
        self.fail_for_row((&["column"], &name), Code::NameUnknown, span, message, Some(help));
    }

    /// Whether a name is a column of the table that `@` is a row of.
    pub(super) fn is_column(&self, name: &str) -> bool {
        matches!(self.scopes.last(), Some(ItemScope::Table(table)) if self.knows_columns(table) && self.may_have(table, name))
    }

    /// Whether it is known which columns a table has.
    pub(super) fn knows_columns(&self, table: &str) -> bool {
        let is_own = || self.pack.tables.get("table").is_some_and(|rows| rows.contains_key(table));
        table == OVERLAID || self.row_keys.is_some_and(|tables| tables.contains_key(table)) || is_own()
    }

    /// Whether rows of a table, whose columns are known, may have a key.
    fn may_have(&self, table: &str, key: &str) -> bool {
        let in_schema = || self.row_keys.and_then(|tables| tables.get(table)).is_some_and(|keys| keys.contains(key));
        let is_filled = || table == OVERLAID && self.names.fields.get(OVERLAID).is_some_and(|fields| fields.contains_key(key));
        COMMON.contains(&key) || self.names.has_column(table, key) || in_schema() || is_filled()
    }

    /// The columns of a table, as far as they are known, in alphabetical order.
    fn columns(&self, table: &str) -> Vec<Arc<str>> {
        let in_schema = self.row_keys.and_then(|tables| tables.get(table)).into_iter().flatten().map(String::as_str);
        let filled = self.names.fields.get(OVERLAID).filter(|_| table == OVERLAID).into_iter().flat_map(|fields| fields.keys());
        let all: BTreeSet<&str> = in_schema.chain(self.names.columns_of(table)).chain(filled.map(AsRef::as_ref)).chain(["name"]).collect();
        all.into_iter().map(Arc::from).collect()
    }

    /// Reports a row that a warning is to be about, if its table does not exist: the warning would stand at no row.
    pub fn check_row(&mut self, node: &DocumentNode) {
        let Some((table, _)) = node.as_text().and_then(|row| row.split_once('/')) else { return };
        let is_literal = !table.contains(['$', '@', '{']);
        let is_language = self.row_keys.is_some_and(|tables| tables.contains_key(table)) || self.engine_tables.contains(&table);
        if is_literal && !is_language && !is_table(self.pack, table) {
            let known: Vec<Arc<str>> = self.pack.tables.keys().cloned().collect();
            self.unknown("table", table, node.span, known.iter().map(AsRef::as_ref));
        }
    }
}

/// The table whose rows a value is: `$table.NAME`, or a query that only chooses among them.
fn table_of(value: &Expr) -> Option<&Arc<str>> {
    match value {
        Expr::Path(path) => match &path.root {
            PathRoot::Table(table) if path.segs.is_empty() => Some(table),
            _ => None,
        },
        Expr::Query(query) if gives_items(query) => match &query.of {
            QuerySource::Value(of) => table_of(of),
            QuerySource::List(_) | QuerySource::Part => None,
        },
        _ => None,
    }
}

/// Whether a query gives a list of the items that it chooses, as they are.
fn gives_items(query: &ItemQuery) -> bool {
    let is_changed = query.get.is_some() || query.form.is_some() || !query.steps.is_empty();
    !is_changed && query.after.is_none() && query.join.is_none() && !query.count && !query.one
}
