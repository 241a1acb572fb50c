//! Conditions of the rule language in templates, beside those with a `type`. A bare name in them is a source of the task,
//! asked without arguments, or `item`, `index`, `parent`, `globals`, `ctx`.
//!
//! The pack compiles them together with its other rules and knows them by their place.

use std::sync::Arc;

use crate::diag::{DocumentNode, NodeValue, limits};

use super::form::{ConditionInput, DataRef, RuleCondition};

/// Whether a condition is one of the rule language: a table with keys, but without `type` and `ref`.
pub(super) fn is_rule(node: &DocumentNode) -> bool {
    node.as_table().is_some_and(|table| !table.is_empty() && !table.contains_key("type") && !table.contains_key("ref"))
}

/// A condition, with everything that it may read. Words that are no names of sources are read too, and give nothing.
pub(super) fn read(node: &DocumentNode) -> RuleCondition {
    let reads = names(node).into_iter().map(|name| {
        let asked = |source: &str| DataRef { source: Arc::from(source), args: None };
        let (on, or) = match &*name {
            "item" => ("$item", None),
            "index" => ("$index", None),
            "parent" => ("$parent", None),
            // a task may offer sources of these names
            "globals" => ("globals", Some("$globals")),
            "ctx" => ("ctx", Some("$ctx")),
            name => (name, None),
        };
        ConditionInput { on: asked(on), or: or.map(asked), name: name.clone() }
    });
    RuleCondition { place: node.span, reads: reads.collect() }
}

/// The first steps of all paths that a condition may mean.
pub(super) fn names(node: &DocumentNode) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    collect(node, &mut names, 0);
    names
}

fn collect(node: &DocumentNode, names: &mut Vec<Arc<str>>, depth: usize) {
    match &node.data {
        NodeValue::Text(text) => text.split('@').skip(1).for_each(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            add(rest.get(..end).unwrap_or(""), names);
        }),
        NodeValue::List(list) if depth < limits::NESTING => list.iter().for_each(|node| collect(node, names, depth + 1)),
        NodeValue::Table(table) if depth < limits::NESTING => {
            for (key, field) in table {
                add(key.trim_start_matches('@').split(['.', '[']).next().unwrap_or(""), names);
                collect(&field.node, names, depth + 1);
            }
        }
        _ => {}
    }
}

fn add(name: &str, names: &mut Vec<Arc<str>>) {
    let is_new = !name.is_empty() && !name.starts_with('$') && !names.iter().any(|known| &**known == name);
    if is_new && names.len() < limits::FIELDS {
        names.push(Arc::from(name));
    }
}
