//! Expressions of rule files that say what tables say are read as these tables, before anything else looks at the rules.

use super::words::WordPlace;
use crate::diag::{DocumentNode, NodeValue, Sources};
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
                    let inside = place.place_of_element(&|key| element.get(key).is_some());
                    self.write(element, inside, bare);
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
                    let inside = place.place_under(key, &|sought| field.node.get(sought).is_some());
                    if inside != WordPlace::Literal {
                        self.write(&mut field.node, inside, place.bare_mark(key, has_over, bare));
                    }
                }
            }
            _ => {}
        }
    }
}
