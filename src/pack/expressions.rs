//! Expressions of rule files that say what tables say are read as these tables, before anything else looks at the rules.

use super::words::WordPlace;
use crate::diag::{DocumentNode, FieldMap, NodeValue, Sources};
use crate::program::{ExpressionPlace, place_table, read_tables};

/// Replaces expressions in the tree of a rule file by the tables that they say.
pub(super) fn write_tables(root: &mut DocumentNode, sources: &Sources) {
    ExpressionWriter { sources }.write(root, WordPlace::File, None);
}

/// The table that an expression says; `None` if no table says it. `node` is its text, with or without the `=` before it.
#[must_use]
pub fn table_of(sources: &Sources, node: &DocumentNode, place: ExpressionPlace) -> Option<DocumentNode> {
    let text = node.as_text()?;
    let start = usize::from(text.starts_with('='));
    let root = read_tables(text.get(start..)?, place, &[])?;
    Some(DocumentNode { span: node.span, data: place_table(sources, node, start, root).data })
}

struct ExpressionWriter<'s> {
    sources: &'s Sources,
}

impl ExpressionWriter<'_> {
    /// Recursion is bounded by the depth of the file.
    fn write(&self, node: &mut DocumentNode, place: WordPlace, bare: Option<char>) {
        match &mut node.data {
            NodeValue::List(list) => {
                for element in list {
                    // a condition that is an expression has no key that would tell it from a value
                    let is_value = place == WordPlace::Value || place == WordPlace::Condition && element.get("=").is_none();
                    self.write(element, if is_value { under(place, "", element) } else { place }, bare);
                }
            }
            NodeValue::Table(table) => {
                if let (1, Some(expression)) = (table.len(), table.get("=")) {
                    let place = if place == WordPlace::Condition { ExpressionPlace::Condition(bare) } else { ExpressionPlace::Value };
                    if let Some(written) = table_of(self.sources, &expression.node, place) {
                        *node = written;
                    }
                    return;
                }
                let has_over = table.contains_key("over");
                for (key, field) in table.iter_mut() {
                    let inside = under(place, key, &field.node);
                    if inside != WordPlace::Literal {
                        self.write(&mut field.node, inside, bare_mark(place, key, has_over, bare));
                    }
                }
            }
            _ => {}
        }
    }
}

/// What the keys of a value mean. An expression has none.
fn under(place: WordPlace, key: &str, node: &DocumentNode) -> WordPlace {
    place.place_under(key, &|sought| node.as_table().is_some_and(|table: &FieldMap| table.contains_key(sought)))
}

/// The mark that names of a condition do not need. With it they are right everywhere.
fn bare_mark(place: WordPlace, key: &str, has_over: bool, around: Option<char>) -> Option<char> {
    match (place, key) {
        (_, "all" | "any" | "not" | "and" | "or") => around,
        (_, "if") => Some('$'),
        (WordPlace::Fact, "is") => Some(if has_over { '@' } else { '$' }),
        (WordPlace::Pass, "when") => Some('$'),
        (WordPlace::Pass | WordPlace::Query, "where" | "while" | "after_last" | "protect" | "always") => Some('@'),
        (WordPlace::Position, _) => Some('@'),
        _ => None,
    }
}
