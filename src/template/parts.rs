//! The small parts of a template, read from a checked file: blocks, conditions, references, anchors, lanes.
//!
//! The schema has been checked before. A value that does not fit here was never checked, and reading ends.

use std::sync::Arc;

use super::form::{
    AttachmentLane, ConditionInput, ConditionTest, DataRef, MessageBlock, NamedAnchor, RequestGroup, RuleCondition, SlotCondition,
    SortOrder, TextSource, TypedCondition,
};
use super::revision::{MessageRole, Revision};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, limits};
use crate::model::Value;
use crate::text::leaf::Leaf;

/// Boxed, because it is the rare result.
pub(super) type PartResult<T> = Result<T, Box<Diagnostic>>;

/// The diagnostic about a value that the schema would have refused.
pub(super) fn misfit(node: &DocumentNode, what: &str) -> Box<Diagnostic> {
    let complaint = Diagnostic::new(Code::SchemaType, format!("{} stands where {what} is to stand", node.kind()));
    Box::new(complaint.at(node.span).help("check the file against `schemas/template.v1.json`"))
}

/// The diagnostic about a table without a required key.
pub(super) fn lacks(node: &DocumentNode, key: &str) -> Box<Diagnostic> {
    let complaint = Diagnostic::new(Code::SchemaMissingKey, format!("`{key}` is missing"));
    Box::new(complaint.at(node.span).label(format!("needs `{key}`")).help(format!("add `{key}`")))
}

pub(super) fn list<'a>(node: &'a DocumentNode, key: &str) -> PartResult<&'a [DocumentNode]> {
    let value = node.get(key).ok_or_else(|| lacks(node, key))?;
    value.as_list().ok_or_else(|| misfit(value, "a list"))
}

pub(super) fn table<'a>(node: &'a DocumentNode, key: &str) -> PartResult<&'a FieldMap> {
    let value = node.get(key).ok_or_else(|| lacks(node, key))?;
    value.as_table().ok_or_else(|| misfit(value, "a table"))
}

pub(super) fn word<'a>(node: &'a DocumentNode, key: &str) -> PartResult<&'a str> {
    let value = node.get(key).ok_or_else(|| lacks(node, key))?;
    value.as_text().ok_or_else(|| misfit(value, "a text"))
}

pub(super) fn text(node: &DocumentNode, key: &str) -> PartResult<Arc<str>> {
    word(node, key).map(Arc::from)
}

pub(super) fn flag(node: &DocumentNode, key: &str) -> PartResult<Option<bool>> {
    node.get(key).map(|value| value.as_bool().ok_or_else(|| misfit(value, "a truth value"))).transpose()
}

/// A whole number from 0, in any notation: `1.0` is one.
pub(super) fn whole(node: &DocumentNode, key: &str) -> PartResult<Option<u64>> {
    let number =
        |value: &DocumentNode| signed(value).and_then(|n| u64::try_from(n).ok()).ok_or_else(|| misfit(value, "a whole number from 0"));
    node.get(key).map(number).transpose()
}

fn signed(value: &DocumentNode) -> Option<i64> {
    match value.data {
        NodeValue::Int(n) => Some(n),
        #[expect(clippy::cast_possible_truncation, reason = "whole and within what a double counts exactly")]
        NodeValue::Float(n) if n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_991.0 => Some(n as i64),
        _ => None,
    }
}

pub(super) fn leaf(text: &str, revision: &Revision) -> Leaf {
    Leaf::compile(text, revision.leaf)
}

fn leaf_of(node: &DocumentNode, key: &str, revision: &Revision) -> PartResult<Option<Leaf>> {
    node.get(key).map(|_| word(node, key).map(|text| leaf(text, revision))).transpose()
}

/// `budget.maxTokens`.
pub(super) fn budget(node: &DocumentNode) -> PartResult<Option<u64>> {
    node.get("budget").map_or(Ok(None), |budget| whole(budget, "maxTokens"))
}

pub(super) fn order(node: &DocumentNode) -> PartResult<Option<SortOrder>> {
    match node.get("order").map(|order| order.as_text().ok_or(order)) {
        None => Ok(None),
        Some(Ok("asc")) => Ok(Some(SortOrder::Asc)),
        Some(Ok("desc")) => Ok(Some(SortOrder::Desc)),
        Some(_) => Err(misfit(node, "`asc` or `desc`")),
    }
}

fn role_of(node: &DocumentNode, revision: &Revision) -> PartResult<Option<MessageRole>> {
    let Some(written) = node.get("role") else { return Ok(None) };
    let role = written.as_text().and_then(|name| revision.role(name));
    Ok(Some(role.ok_or_else(|| misfit(written, "a role"))?.clone()))
}

/// A message block.
pub(super) fn block(node: &DocumentNode, revision: &Revision) -> PartResult<MessageBlock> {
    let text = match (node.get("from"), leaf_of(node, "content", revision)?) {
        (Some(from), _) => TextSource::From(data_ref(from)?),
        (None, Some(leaf)) => TextSource::Leaf(leaf),
        (None, None) => TextSource::None,
    };
    let known = |key: &str| if revision.knows_flags { flag(node, key) } else { Ok(None) };
    Ok(MessageBlock {
        role: role_of(node, revision)?.ok_or_else(|| lacks(node, "role"))?,
        text,
        prefix: known("prefix")?.unwrap_or(false),
        skip_if_empty: known("skipIfEmptyInterpolation")?.unwrap_or(false),
        when: when_list(node, revision)?,
    })
}

/// The `when` list of a block or anchor.
fn when_list(node: &DocumentNode, revision: &Revision) -> PartResult<Box<[SlotCondition]>> {
    if !revision.knows_conditions || node.get("when").is_none() {
        return Ok(Box::default());
    }
    list(node, "when")?.iter().map(condition).collect()
}

/// The one condition `when` of a slot or branch.
pub(super) fn condition_of(node: &DocumentNode) -> PartResult<Option<SlotCondition>> {
    node.get("when").map(condition).transpose()
}

fn condition(node: &DocumentNode) -> PartResult<SlotCondition> {
    if is_rule_condition(node) {
        return Ok(SlotCondition::Rule(rule_condition(node)));
    }
    let test = match word(node, "type")? {
        "exists" => ConditionTest::Exists,
        "nonEmpty" => ConditionTest::NonEmpty,
        "eq" => ConditionTest::Eq,
        "neq" => ConditionTest::Neq,
        "gt" => ConditionTest::Gt,
        "lt" => ConditionTest::Lt,
        _ => return Err(misfit(node, "a condition")),
    };
    let on = data_ref(node.get("ref").ok_or_else(|| lacks(node, "ref"))?)?;
    Ok(SlotCondition::Typed(TypedCondition { test, on, value: node.get("value").map(Value::from) }))
}

/// A reference to a source.
pub(super) fn data_ref(node: &DocumentNode) -> PartResult<DataRef> {
    Ok(DataRef { source: text(node, "source")?, args: node.get("args").map(Value::from) })
}

/// Whether an element of a frame is an anchor.
pub(super) fn is_anchor(node: &DocumentNode, revision: &Revision) -> bool {
    revision.knows_anchors && node.get("kind").and_then(DocumentNode::as_text) == Some("anchor")
}

pub(super) fn anchor(node: &DocumentNode, revision: &Revision) -> PartResult<NamedAnchor> {
    let key = leaf_of(node, "key", revision)?.ok_or_else(|| lacks(node, "key"))?;
    Ok(NamedAnchor { key, when: when_list(node, revision)? })
}

/// A lane, as it is written in a template or a task.
pub(super) fn lane(node: &DocumentNode, revision: &Revision) -> PartResult<AttachmentLane> {
    let groups = match node.get("groups") {
        Some(_) => Some(list(node, "groups")?.iter().map(|node| group(node, revision)).collect::<PartResult<_>>()?),
        None => None,
    };
    Ok(AttachmentLane {
        id: text(node, "id")?,
        enabled: flag(node, "enabled")?,
        role: role_of(node, revision)?,
        template: leaf_of(node, "template", revision)?,
        order: node.get("order").map(|order| signed(order).ok_or_else(|| misfit(order, "a whole number"))).transpose()?,
        reserve: reserve(node)?,
        budget: budget(node)?,
        payload: node.get("payload").map(Value::from),
        groups,
    })
}

/// Reads `reserveTokens`, which need not be a whole number; it is rounded up, because reserved tokens are not available
/// to others.
fn reserve(node: &DocumentNode) -> PartResult<Option<u64>> {
    match node.get("reserveTokens") {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clipped at both ends")]
        Some(DocumentNode { data: NodeValue::Float(n), .. }) if *n >= 0.0 => Ok(Some(n.ceil() as u64)),
        _ => whole(node, "reserveTokens"),
    }
}

fn group(node: &DocumentNode, revision: &Revision) -> PartResult<RequestGroup> {
    let text_of = |key: &str| node.get(key).map(|_| text(node, key)).transpose();
    let order = node.get("order").map(|order| signed(order).ok_or_else(|| misfit(order, "a whole number"))).transpose()?;
    Ok(RequestGroup {
        id: text_of("id")?,
        pattern: text_of("match")?,
        template: leaf_of(node, "template", revision)?,
        open: leaf_of(node, "openTemplate", revision)?,
        close: leaf_of(node, "closeTemplate", revision)?,
        role: role_of(node, revision)?,
        order: order.unwrap_or(0),
        payload: node.get("payload").map(Value::from),
    })
}

/// Whether a condition is one of the rule language: a table with keys, but without `type` and `ref`.
pub(super) fn is_rule_condition(node: &DocumentNode) -> bool {
    node.as_table().is_some_and(|table| !table.is_empty() && !table.contains_key("type") && !table.contains_key("ref"))
}

/// A condition of the rule language, which the pack compiles with its other rules and knows by its place, with everything
/// that it may read: a bare name is a source of the task, asked without arguments, or one of the reserved names. Words that are no names of sources are read too, and give nothing.
fn rule_condition(node: &DocumentNode) -> RuleCondition {
    let reads = condition_names(node).into_iter().map(|name| {
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
pub(super) fn condition_names(node: &DocumentNode) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    collect_names(node, &mut names, 0);
    names
}

fn collect_names(node: &DocumentNode, names: &mut Vec<Arc<str>>, depth: usize) {
    match &node.data {
        NodeValue::Text(text) => text.split('@').skip(1).for_each(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            add_name(rest.get(..end).unwrap_or(""), names);
        }),
        NodeValue::List(list) if depth < limits::NESTING => list.iter().for_each(|node| collect_names(node, names, depth + 1)),
        NodeValue::Table(table) if depth < limits::NESTING => {
            for (key, field) in table {
                add_name(key.trim_start_matches('@').split(['.', '[']).next().unwrap_or(""), names);
                collect_names(&field.node, names, depth + 1);
            }
        }
        _ => {}
    }
}

fn add_name(name: &str, names: &mut Vec<Arc<str>>) {
    let is_new = !name.is_empty() && !name.starts_with('$') && !names.iter().any(|known| &**known == name);
    if is_new && names.len() < limits::FIELDS {
        names.push(Arc::from(name));
    }
}
