//! Changes of single elements of the lists in a row: `edit.by = { insert = "-front", before = "index" }`.
//!
//! A patch replaces a whole term. A patch of a list therefore copies the elements that it does not change, and the copy
//! stays as it is when the list of the lower layer grows. An edit names single elements and leaves the others to the
//! lower layer.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, TableField, limits, suggest};
use crate::model::pack::ShadowedValue;

/// The diagnostic about a change that cannot be made.
type EditRefusal = Box<Diagnostic>;

/// One change of a list in a row, with the path to the list.
struct ListEdit<'e> {
    path: Vec<&'e str>,
    /// The place of the last part of the path.
    key: Span,
    change: &'e DocumentNode,
}

/// Applies the changes of `edit` to the fields of a row; reports those that cannot be applied.
pub(super) fn apply(fields: &mut FieldMap, edit: &FieldMap, shadowed: &mut Vec<ShadowedValue>, complain: &mut dyn FnMut(Diagnostic)) {
    for edit in edits(edit) {
        let old = edit.path.first().and_then(|term| fields.get(*term)).map(|term| term.node.span);
        let result = match list(fields, &edit.path) {
            Ok(field) => {
                changed(field, edit.change).map(|list| field.node = DocumentNode { span: edit.change.span, data: NodeValue::List(list) })
            }
            Err(missing) => Err(Box::new(missing.at(edit.key))),
        };
        let term = edit.path.first().and_then(|term| fields.get_mut(*term));
        match (result, term) {
            (Ok(()), Some(term)) => {
                // the place of a term is that of its newest change
                shadowed.push(ShadowedValue { by: edit.change.span, old: old.unwrap_or(edit.key), edited: true });
                term.node.span = edit.change.span;
            }
            (Ok(()), None) => {}
            (Err(complaint), _) => complain(*complaint),
        }
    }
}

/// The terms that an edit changes: the first parts of its paths.
pub(super) fn terms(edit: &FieldMap) -> impl Iterator<Item = (Arc<str>, &TableField)> {
    edit.iter().map(|(path, field)| (Arc::from(path.split('.').next().unwrap_or(path)), field))
}

/// All changes, in the order written. Recursion is bounded by the readers of TOML and JSON.
fn edits(edit: &FieldMap) -> Vec<ListEdit<'_>> {
    fn below<'e>(path: &[&'e str], key: Span, node: &'e DocumentNode, out: &mut Vec<ListEdit<'e>>) {
        match &node.data {
            NodeValue::Table(table) if !is_change(table) => {
                for (part, field) in table {
                    let path: Vec<&str> = path.iter().copied().chain(part.split('.')).collect();
                    below(&path, field.key, &field.node, out);
                }
            }
            NodeValue::List(list) => out.extend(list.iter().map(|change| ListEdit { path: path.to_vec(), key, change })),
            _ => out.push(ListEdit { path: path.to_vec(), key, change: node }),
        }
    }
    let mut out = Vec::new();
    for (part, field) in edit {
        let path: Vec<&str> = part.split('.').collect();
        below(&path, field.key, &field.node, &mut out);
    }
    out
}

fn is_change(table: &FieldMap) -> bool {
    ["insert", "remove", "replace"].iter().any(|word| table.contains_key(*word))
}

/// The list at a path of a row.
fn list<'f>(fields: &'f mut FieldMap, path: &[&str]) -> Result<&'f mut TableField, EditRefusal> {
    let (last, above) = path.split_last().ok_or_else(|| Box::new(Diagnostic::new(Code::PatchesNothing, "an edit names no term")))?;
    let whole = path.join(".");
    let mut at = fields;
    for part in above {
        at = match at.get_mut(*part).map(|f| &mut f.node.data) {
            Some(NodeValue::Table(table)) => table,
            _ => return Err(no_list(&whole, part, None)),
        };
    }
    let known: Vec<String> = at.iter().filter(|(_, f)| f.node.as_list().is_some()).map(|(key, _)| key.to_string()).collect();
    match at.get_mut(*last) {
        Some(field) if field.node.as_list().is_some() => Ok(field),
        Some(field) => Err(no_list(&whole, last, Some((&field.node, &known)))),
        None => {
            let near = suggest::help(last, known.iter().map(String::as_str));
            let help = near.unwrap_or_else(|| format!("write the whole list: `{whole} = […]`").into());
            let message = format!("`edit` changes `{whole}`, which the row below does not have");
            Err(Box::new(Diagnostic::new(Code::PatchesNothing, message).label("no such list below").missing(whole).help(help)))
        }
    }
}

fn no_list(whole: &str, part: &str, found: Option<(&DocumentNode, &[String])>) -> EditRefusal {
    let message = match found {
        Some((node, _)) => format!("`edit` changes `{whole}`, but `{part}` of the row below is {}", node.kind()),
        None => format!("`edit` changes `{whole}`, but the row below has no table `{part}`"),
    };
    let near = found.and_then(|(_, known)| suggest::help(part, known.iter().map(String::as_str)));
    let help = near.unwrap_or_else(|| format!("write the whole term: `{} = …`", whole.split('.').next().unwrap_or(whole)).into());
    Box::new(Diagnostic::new(Code::PatchesNothing, message).label("not a list below").help(help))
}

/// The elements of a list after one change.
fn changed(field: &TableField, change: &DocumentNode) -> Result<Vec<DocumentNode>, EditRefusal> {
    let mut list = field.node.as_list().unwrap_or(&[]).to_vec();
    let word = |key: &str| change.get(key);
    if let Some(new) = word("insert") {
        let at = match (word("before"), word("after")) {
            (Some(before), _) => place(&list, before)?,
            (None, Some(after)) => place(&list, after)? + 1,
            (None, None) => list.len(),
        };
        list.splice(at..at, elements(new));
    } else if let Some(gone) = word("remove") {
        for gone in elements(gone) {
            let at = place(&list, &gone)?;
            list.remove(at);
        }
    } else if let Some(old) = word("replace") {
        let at = place(&list, old)?;
        let Some(new) = word("with") else {
            let complaint = Diagnostic::new(Code::TermMissing, "`replace` does not say what stands in its place").at(old.span);
            return Err(Box::new(complaint.label("needs `with`").help("add `with = …`")));
        };
        list.splice(at..=at, elements(new));
    } else {
        let message = "a change of a list is one of `insert`, `remove` and `replace`";
        let help = "write `{ insert = …, before = … }`, `{ remove = … }` or `{ replace = …, with = … }`";
        return Err(Box::new(Diagnostic::new(Code::TermType, message).at(change.span).help(help)));
    }
    if list.is_empty() {
        let message = "the change leaves the list empty, which is not the same as no list";
        let help = "write the whole term in place of the edit, or remove the row";
        return Err(Box::new(Diagnostic::new(Code::TermMissing, message).at(change.span).help(help)));
    }
    if list.len() > limits::ELEMENTS {
        let message = format!("the list would have more than {} elements", limits::ELEMENTS);
        return Err(Box::new(Diagnostic::new(Code::BoundExceeded, message).at(change.span).help("insert fewer elements")));
    }
    Ok(list)
}

/// A single element, or the elements of a list.
fn elements(node: &DocumentNode) -> Vec<DocumentNode> {
    node.as_list().map_or_else(|| vec![node.clone()], <[DocumentNode]>::to_vec)
}

/// The index of the element that `named` refers to: a whole number is an index, a table is an element that equals it,
/// and a text is the name of an element.
fn place(list: &[DocumentNode], named: &DocumentNode) -> Result<usize, EditRefusal> {
    let found: Vec<usize> = match &named.data {
        NodeValue::Int(place) => usize::try_from(*place).ok().filter(|n| *n < list.len()).into_iter().collect(),
        NodeValue::Text(text) => (0..list.len()).filter(|n| list.get(*n).is_some_and(|e| name(e).as_deref() == Some(text))).collect(),
        _ => {
            let wanted = named.to_json();
            (0..list.len()).filter(|n| list.get(*n).is_some_and(|e| e.to_json() == wanted)).collect()
        }
    };
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(unknown(list, named)),
        [first, ..] => {
            let message = format!("the list below has {} elements of that name", found.len());
            let complaint = Diagnostic::new(Code::MoveUnknown, message).at(named.span).label("which of them?");
            Err(Box::new(complaint.help(format!("name it by its place, from 0 (the first is {first}), or write it out"))))
        }
    }
}

fn unknown(list: &[DocumentNode], named: &DocumentNode) -> EditRefusal {
    let names: Vec<String> = list.iter().filter_map(name).collect();
    let written = named.as_text().map_or_else(|| named.to_json().to_string(), str::to_owned);
    let written: String = written.chars().take(60).collect();
    let message = match named.data {
        NodeValue::Int(_) => format!("the list below has no element {written}: it has {} elements, from 0", list.len()),
        _ => format!("the list below has no element `{written}`"),
    };
    let near = suggest::help(&written, names.iter().map(String::as_str)).filter(|_| named.as_text().is_some());
    let all = || match names.is_empty() {
        true => "name it by its place, from 0".into(),
        false => format!("its elements are `{}`", names.join("`, `")).into(),
    };
    let complaint = Diagnostic::new(Code::MoveUnknown, message).at(named.span).label("no such element").missing(written);
    Box::new(complaint.help(near.unwrap_or_else(all)))
}

/// The name of an element: a text is its own name; the name of a table is its `name`, else its `key`, else its first
/// key other than `when`.
fn name(element: &DocumentNode) -> Option<String> {
    match &element.data {
        NodeValue::Text(text) => Some(text.to_string()),
        NodeValue::Table(table) => {
            let own = ["name", "key"].iter().find_map(|key| table.get(*key)?.node.as_text());
            own.or_else(|| table.keys().map(AsRef::as_ref).find(|key| *key != "when")).map(str::to_owned)
        }
        NodeValue::List(_) | NodeValue::Null => None,
        _ => Some(element.to_json().to_string()),
    }
}
