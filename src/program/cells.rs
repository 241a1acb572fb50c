//! Rows and values of a pack as data: cells with references or value forms are compiled, all others are literals.
//!
//! A cell named `when`, `where` or `that` is a condition; a reference, a text with holes or a value form is an
//! expression; everything else is a literal. Only here can a [`Value::Rule`] come from.

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, TableField};
use crate::model::{Map, RuleRef, Value};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::terms::Expr;
use crate::terms::names;
use crate::terms::names::{is_form, is_reference};

/// A table of values. Each of them is read by its path.
pub fn table(cx: &mut CompileContext<'_>, fields: &FieldMap) -> Map {
    fields.iter().map(|(key, field)| (key.clone(), value(cx, &field.node))).collect()
}

/// Cells, by table, whose words belong to another language: whatever stands there is data.
const DATA: &[(&str, &str)] = &[("directive", "payload"), ("tool", "parameters"), ("own_part", "scene")];

/// Cells, by table, that hold arguments: each of them is read by itself.
const ARGUMENTS: &[(&str, &str)] = &[("macro", "with"), ("macro_pass", "with")];

/// The cells of a row.
pub fn row(cx: &mut CompileContext<'_>, table: &str, fields: &FieldMap) -> Map {
    let made = |(key, field): (&std::sync::Arc<str>, &TableField)| {
        let data = DATA.contains(&(table, key.as_ref()));
        if let Some(kind) = cx.names.fields.get(table).and_then(|fields| fields.get(key)).map(|declared| declared.kind) {
            // the rows become items with this field; the `only` words of a field are checked by `fields`
            if !cx.names.only.contains_key(format!("{table}/{key}").as_str()) {
                cx.check_words(key, &field.node);
            }
            cx.check_constant(&field.node, Some(kind));
        }
        let made = if data {
            Value::from(&field.node)
        } else if ARGUMENTS.contains(&(table, key.as_ref())) {
            value(cx, &field.node)
        } else {
            cell(cx, key, field)
        };
        (key.clone(), made)
    };
    fields.iter().map(made).collect()
}

/// The same for a row whose `value` sees the arguments that the row declares (`args`) as `@`.
pub fn with_arguments(cx: &mut CompileContext<'_>, fields: &FieldMap) -> Map {
    let args = fields.get("args").and_then(|f| f.node.as_table()).into_iter().flatten().map(|(name, _)| name.clone());
    let args = ItemScope::Args(args.collect());
    let cell = |(key, field): (&std::sync::Arc<str>, &TableField)| {
        let made = if key.as_ref() == "value" { whole_in(cx, &field.node, &args) } else { cell(cx, key, field) };
        (key.clone(), made)
    };
    fields.iter().map(cell).collect()
}

fn cell(cx: &mut CompileContext<'_>, key: &str, field: &TableField) -> Value {
    let node = &field.node;
    if matches!(key, "when" | "where" | "that") && node.as_table().is_some() {
        let mode = if key == "where" { PathMode::Item } else { PathMode::Scene };
        let cond = cx.within(ItemScope::Open, |cx| cx.cond(node, mode));
        cx.conds.push(cond);
        return Value::Rule(RuleRef::Cond(u32::try_from(cx.conds.len() - 1).unwrap_or(u32::MAX)));
    }
    whole(cx, node)
}

/// The value of a cell, which is read as a whole: a table or list that refers to something inside is one expression.
pub fn whole(cx: &mut CompileContext<'_>, node: &DocumentNode) -> Value {
    whole_in(cx, node, &ItemScope::Open)
}

fn whole_in(cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope) -> Value {
    if refers_inside(node) { expression(cx, node, scope) } else { value_in(cx, node, scope) }
}

/// One value, compiled where it refers to something. The values of a table are compiled one by one, because each of them has
/// a path of its own.
pub fn value(cx: &mut CompileContext<'_>, node: &DocumentNode) -> Value {
    value_in(cx, node, &ItemScope::Open)
}

/// The same where `@` means something other than an item of a list.
fn value_in(cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope) -> Value {
    if !refers(node) {
        return match &node.data {
            NodeValue::Table(t) => Value::map(t.iter().map(|(k, f)| (k.clone(), value_in(cx, &f.node, scope))).collect()),
            NodeValue::List(l) => Value::list(l.iter().map(|n| value_in(cx, n, scope)).collect()),
            NodeValue::Text(t) if t.starts_with("$$") => Value::text(t.get(1..).unwrap_or("")),
            _ => Value::from(node),
        };
    }
    expression(cx, node, scope)
}

fn expression(cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope) -> Value {
    let expr = cx.within(scope.clone(), |cx| cx.expr(node));
    if let Expr::Const(v) = expr {
        return v;
    }
    cx.exprs.push(expr);
    Value::Rule(RuleRef::Expr(u32::try_from(cx.exprs.len() - 1).unwrap_or(u32::MAX)))
}

/// Whether a whole value is an expression. A table of values is not, although its cells may be.
fn refers(node: &DocumentNode) -> bool {
    match &node.data {
        NodeValue::Text(t) => is_reference(t) || t.contains("{{$") || t.contains("{{@"),
        NodeValue::Table(t) => names::is_form(t),
        NodeValue::List(l) => l.iter().any(refers),
        _ => false,
    }
}

/// Whether a value or anything in it is an expression.
fn refers_inside(node: &DocumentNode) -> bool {
    refers(node)
        || match &node.data {
            NodeValue::Table(t) => t.values().any(|field| refers_inside(&field.node)),
            NodeValue::List(l) => l.iter().any(refers_inside),
            _ => false,
        }
}

/// A literal must be of the type that its path is declared with; references and expressions are of any.
pub(super) fn check_types(cx: &mut CompileContext<'_>, prefix: &str, table: &FieldMap, depth: usize) {
    for (key, field) in table {
        let path = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
        if let NodeValue::Table(inner) = &field.node.data {
            if depth < 8 && !is_form(inner) {
                check_types(cx, &path, inner, depth + 1);
            }
            continue;
        }
        if let Some(near) = cx.names.near_described(&path, &cx.report.words).map(str::to_owned) {
            let complaint = Diagnostic::new(Code::NameNearly, format!("`{path}` is described nowhere, and is nearly `{near}`"));
            let help = format!("write `{near}` if that is meant; otherwise describe `{path}` with a [[path]] row");
            cx.warn(complaint.at(field.key).help(help));
        }
        let Some(kind) = cx.names.paths.get(path.as_str()).map(|declared| declared.kind) else { continue };
        if !kind.accepts(&field.node.data) {
            cx.rule = format!("value {path}");
            let message = format!("`{path}` is declared as `{}`, but is {}", kind.word(), field.node.kind());
            let help = format!("write a value of type `{}`, or change its [[path]] row", kind.word());
            cx.fail(Code::SchemaType, field.node.span, message, Some(help.into()));
        }
    }
}
