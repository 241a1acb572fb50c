//! The words that `values` of a path or a field list: words, the names of the rows of a table, and the words of a path.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::diag::DocumentNode;
use crate::model::Pack;

/// Adds the words that `values` list ([`ValueWord`]). What is referred to is added once. No more than `left` words, references and
/// names of rows are looked at; gives whether there was room for all.
pub(super) fn add_words<'p>(
    pack: &'p Pack,
    node: &'p DocumentNode,
    inside: bool,
    seen: &mut FxHashSet<&'p str>,
    left: &mut usize,
    all: &mut Vec<Arc<str>>,
) -> bool {
    for word in texts_of(node) {
        if !pay(left) {
            return false;
        }
        let of = ValueWord::of(word);
        if !matches!(of, ValueWord::Itself) && !seen.insert(word) {
            continue;
        }
        match of {
            ValueWord::Itself => all.push(word.into()),
            ValueWord::Rows { table, ending } => {
                for name in pack.tables.get(table).into_iter().flat_map(|rows| rows.keys()) {
                    if !pay(left) {
                        return false;
                    }
                    all.extend(name.strip_suffix(ending).map(Arc::from));
                }
            }
            ValueWord::Path(path) => {
                let values = values_of_path(pack, path).filter(|_| !inside);
                if values.is_some_and(|values| !add_words(pack, values, true, seen, left, all)) {
                    return false;
                }
            }
        }
    }
    true
}

/// Pays for one word or reference that is looked at; whether there was room for it.
fn pay(left: &mut usize) -> bool {
    let rest = left.checked_sub(1);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

/// The texts of `values`: a list, or one by itself.
pub fn texts_of(values: &DocumentNode) -> impl Iterator<Item = &str> {
    values.as_list().unwrap_or(std::slice::from_ref(values)).iter().filter_map(DocumentNode::as_text)
}

/// What one text of `values` stands for.
#[derive(Debug, Clone, Copy)]
pub enum ValueWord<'w> {
    /// The word that it is.
    Itself,
    /// `$table.NAME`: the names of the rows of a table; `$table.NAME.ENDING`: of those that end so, without the ending.
    Rows {
        /// The table.
        table: &'w str,
        /// What the names end in; may be empty.
        ending: &'w str,
    },
    /// `$PATH`: the words that a path lists itself.
    Path(&'w str),
}

impl<'w> ValueWord<'w> {
    /// Reads one text of `values`.
    #[must_use]
    pub fn of(text: &'w str) -> Self {
        let Some(path) = text.strip_prefix('$') else { return Self::Itself };
        let Some(table) = path.strip_prefix("table.") else { return Self::Path(path) };
        let (table, ending) = table.split_once('.').unwrap_or((table, ""));
        Self::Rows { table, ending }
    }
}

/// The words that a path declares.
#[must_use]
pub fn values_of_path<'p>(pack: &'p Pack, path: &str) -> Option<&'p DocumentNode> {
    Some(&pack.tables.get("path")?.get(path)?.fields.get("values")?.node)
}
