//! Merging below a row: values key by key, and the keys of forms.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diag::{DocumentNode, FieldMap, NodeValue, TableField};
use crate::model::pack::ShadowedValue;

/// What overlays have set in one row: from a key to the number of the overlay and the field.
pub(super) type DecidedKeys = HashMap<Arc<str>, (usize, TableField)>;

/// Whether a key of a table's rows holds terms of its own, as the keys of a form do, so that a patch merges into it.
pub(super) fn merges(table: &str, key: &str) -> bool {
    (table, key) == ("form", "keys")
}

/// Merges the keys of a form over those of the lower layer: a key that is set to nothing is removed, the others keep
/// their positions.
pub(super) fn patch_keys(below: &mut FieldMap, patch: &FieldMap, shadowed: &mut Vec<ShadowedValue>) {
    for (key, field) in patch {
        let none = field.node.as_table().and_then(|table| table.get("none")).is_some_and(|f| f.node.as_bool() == Some(true));
        let hidden = if none { below.shift_remove(key) } else { below.insert(key.clone(), field.clone()) };
        if let Some(hidden) = hidden {
            shadowed.push(ShadowedValue { by: field.node.span, old: hidden.node.span, edited: false });
        }
    }
}

/// Merges `field` over the value `key` of `low`. Recursion is bounded by the readers of TOML and JSON.
pub(super) fn over(
    low: &mut FieldMap,
    key: &Arc<str>,
    field: &TableField,
    hidden: &mut Vec<ShadowedValue>,
    leaves: &mut Vec<(String, TableField)>,
    path: &str,
) {
    if let (Some(TableField { node: DocumentNode { data: NodeValue::Table(below), .. }, .. }), NodeValue::Table(top)) =
        (low.get_mut(key), &field.node.data)
    {
        for (inner, value) in top {
            over(below, inner, value, hidden, leaves, &format!("{path}.{inner}"));
        }
        return;
    }
    leaves.push((path.to_owned(), field.clone()));
    if let Some(old) = low.insert(key.clone(), field.clone()) {
        hidden.push(ShadowedValue { by: field.node.span, old: old.node.span, edited: false });
    }
}
