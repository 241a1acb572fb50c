//! `each = "field"`: the verbs `set`, `drop`, `shape` and `order` on the elements of a list that items have as a field.
//!
//! It is a `set` of the field to a query over it, so that all that is known of queries holds.

use std::sync::Arc;

use super::pass::{EACH, Verb, VerbInfo};
use super::set::SetTerms;
use crate::diag::{Code, DocumentNode, FieldMap, NodeValue, Span, TableField};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::syntax::selections;
use crate::terms::cond::{Cond, CondTest};
use crate::terms::expr::{Expr, FieldRef, ItemQuery, QuerySource, ValueChoice};
use crate::terms::expression::Operation;
use crate::terms::names::ValueType;
use crate::terms::select::Select;
use crate::text::methods;

/// Whether a pass is about the elements of a field.
pub(super) fn is_about_elements(info: &VerbInfo, fields: &FieldMap) -> bool {
    fields.contains_key(EACH.name) && info.terms.contains(&EACH)
}

/// Reads such a pass: which items it selects, and what it does. `None` after an error.
pub(super) fn parse(
    cx: &mut CompileContext<'_>,
    info: &'static VerbInfo,
    fields: &FieldMap,
    span: Span,
    scope: &ItemScope,
) -> Option<(Select, Box<dyn Verb>)> {
    let each = fields.get(EACH.name)?;
    let name = each.node.as_text().unwrap_or_default();
    // what an order leaves out would be lost
    let meant: &[&str] = if info.name == "order" { &["by", "end", "draw", "stream"] } else { &["where"] };
    for (key, field) in fields.iter().filter(|(key, _)| selections::TERMS.iter().any(|term| term.name == &***key)) {
        if !meant.contains(&&**key) {
            let help = format!("beside `each`, `{}` takes {}", info.name, meant.join(", "));
            cx.fail(Code::TermType, field.key, format!("`{key}` does not go with `each`"), Some(help.into()));
        }
    }
    let of = cx.within(scope.clone(), |cx| {
        if name.is_empty() {
            cx.fail(Code::TermType, each.node.span, "`each` takes the name of a field", Some("write `each = \"tool_calls\"`".into()));
        } else {
            cx.check_field(0, name, each.node.span);
        }
        let kind = cx.names.field_type(cx.types().as_deref(), name);
        if kind.is_some_and(|kind| !matches!(kind, ValueType::List | ValueType::Any)) {
            cx.fail(Code::TermType, each.node.span, format!("the field `{name}` is no list"), Some("leave `each` out".into()));
        }
        cx.expr(&DocumentNode { span: each.node.span, data: NodeValue::Text(format!("@{name}").into()) })
    });
    let mut select = Select { off: true, ..Select::default() };
    let mut get = None;
    cx.within(scope.clone(), |cx| {
        let around = cx.scope_count();
        let outside = cx.outside_elements.replace(around);
        let chosen = cx.select(fields, ItemScope::Open);
        match info.name {
            "order" => {
                super::order::check_order(cx, fields, span);
                select = Select { off: true, ..chosen };
            }
            "drop" => {
                let filter = chosen.filter.unwrap_or(Cond::Const(true));
                select.filter = Some(Cond::Not(Box::new(filter)));
            }
            _ => {
                let change = cx.within(ItemScope::Open, |cx| compile_change(cx, info, fields, span));
                let mut conditions: Vec<Cond> = chosen.filter.into_iter().collect();
                if info.name == "shape" {
                    let shaped = shaped_field(fields);
                    let field = Some((cx.fields.intern(&shaped), shaped));
                    let field = Expr::Field(FieldRef { up: 0, field, rest: Box::default() });
                    conditions.push(Cond::test(field, CondTest::Exists(true), false));
                }
                let filter = (!conditions.is_empty()).then(|| Cond::All(conditions.into()));
                get = change.map(|change| merge_change(filter, change));
            }
        }
        cx.outside_elements = outside;
    });
    if matches!(info.name, "set" | "shape") && get.is_none() {
        return None;
    }
    let id = cx.fields.intern(name);
    let field = Expr::Field(FieldRef { up: 0, field: Some((id, name.into())), rest: Box::default() });
    let items = Select { filter: Some(Cond::test(field, CondTest::Nonempty(true), false)), ..Select::default() };
    let query = ItemQuery { get, ..ItemQuery::of_items(QuerySource::Value(of), select, cx.memo.is_none()) };
    let query = cx.sealed(Expr::Query(Box::new(query)));
    Some((items, Box::new(SetTerms::of_field(id, query))))
}

/// The element with the change laid over it, if the condition holds. An element that is no table fails.
fn merge_change(filter: Option<Cond>, change: Expr) -> Expr {
    let element = || Expr::Field(FieldRef { up: 0, field: None, rest: Box::default() });
    let then = match methods::find("merge") {
        Some(merge) => Expr::Operation(Box::new(Operation::Call(merge, vec![element(), change]))),
        None => change,
    };
    match filter {
        None => then,
        Some(cond) => Expr::If(Box::new(ValueChoice { cond, then, other: element() })),
    }
}

/// The fields of an element that change, as a table.
fn compile_change(cx: &mut CompileContext<'_>, info: &VerbInfo, fields: &FieldMap, span: Span) -> Option<Expr> {
    let table = |entries: Vec<(Arc<str>, DocumentNode)>| {
        let entries = entries.into_iter().map(|(key, node)| (key, TableField { key: node.span, node }));
        DocumentNode { span, data: NodeValue::Table(entries.collect()) }
    };
    let foreign: &[&str] = if info.name == "set" { &["fields", "value", "number"] } else { &["fields"] };
    for (key, field) in fields.iter().filter(|(key, _)| foreign.contains(&&***key)) {
        let help = "write a pass of its own for it";
        cx.fail(Code::TermType, field.key, format!("`{key}` does not go with `each`"), Some(help.into()));
    }
    if info.name == "set" {
        let Some(node) = fields.get("set").map(|field| &field.node) else {
            cx.fail(Code::TermMissing, span, "`set` needs a table of fields", Some("add `set = { field = value }`".into()));
            return None;
        };
        let of_build = node.as_table().into_iter().flatten().filter(|(key, _)| key.contains(['$', '.']));
        for (key, field) in of_build {
            let help = "beside `each`, `set` takes fields of the elements; write a pass of its own for anything else";
            cx.fail(Code::TermType, field.key, format!("`{key}` does not go with `each`"), Some(help.into()));
        }
        return Some(cx.expr(node));
    }
    let Some(steps) = fields.get("steps").map(|field| field.node.clone()) else {
        cx.fail(Code::TermMissing, span, "`shape` needs a list of `steps`", Some("add `steps = [{ trim = \"both\" }]`".into()));
        return None;
    };
    let field = shaped_field(fields);
    let of = DocumentNode { span, data: NodeValue::Text(format!("@{field}").into()) };
    Some(cx.expr(&table(vec![(field, table(vec![("of".into(), of), ("steps".into(), steps)]))])))
}

/// The field of each element that `shape` changes.
fn shaped_field(fields: &FieldMap) -> Arc<str> {
    fields.get("field").and_then(|field| field.node.as_text()).unwrap_or("text").into()
}
