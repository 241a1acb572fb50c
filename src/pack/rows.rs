//! Rows as a layer writes them: fields, and the layering keys that say how the row changes the lower layers.

use std::sync::Arc;

use super::fingerprint;
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, TableField, limits, short, suggest};
use crate::model::pack::{ShadowedValue, is_layering};
use crate::template;

/// Top-level keys of every file that are neither rows nor values.
const META: &[&str] = &["kind", "version", "about", "arrange", "allow"];
/// The same, in a pack's manifest.
const META_PACK: &[&str] = &["name", "release", "engine", "licence", "authors", "extends", "homepage", "repository", "recommended"];
/// The same, in an overlay.
const META_OVERLAY: &[&str] = &["name", "release", "extends", "direction", "licence", "authors"];
/// The same, in a case file: what runs, and on which rules.
const META_CASE: &[&str] = &["case", "given", "pack", "overlays"];

/// Whether a top-level key of a file of `kind` is about the file itself. A template file is one row as a whole.
pub fn is_meta(key: &str, kind: &str) -> bool {
    let own = match kind {
        template::KIND => return true,
        "pack" => META_PACK,
        "overlay" => META_OVERLAY,
        "case" => META_CASE,
        _ => &[],
    };
    META.contains(&key) || own.contains(&key)
}

/// Whether a top-level value is a table of named rows: a list of tables.
pub(super) fn is_rows(node: &DocumentNode) -> bool {
    node.as_list().is_some_and(|list| !list.is_empty() && list.iter().all(|item| item.as_table().is_some()))
}

/// A row as one layer writes it.
#[derive(Debug)]
pub(super) struct IncomingRow {
    pub(super) table: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) name_span: Span,
    pub(super) span: Span,
    /// The fields without `name` and the layering keys.
    pub(super) fields: FieldMap,
    pub(super) remove: bool,
    pub(super) replace: bool,
    /// The row is said to be new: no lower layer may have it.
    pub(super) is_new: bool,
    /// Changes of single elements of lists.
    pub(super) edit: Option<TableField>,
    pub(super) place: Option<RowMove>,
    pub(super) expects: Option<ExpectedFingerprint>,
}

/// `before = "x"` or `after = "x"`.
#[derive(Debug, Clone)]
pub(super) struct RowMove {
    pub(super) before: bool,
    pub(super) anchor: Arc<str>,
    pub(super) span: Span,
}

/// `expects = "…"`: the fingerprint of the row that a patch was written against, or its beginning.
#[derive(Debug)]
pub(super) struct ExpectedFingerprint {
    pub(super) prefix: String,
    pub(super) span: Span,
}

impl IncomingRow {
    /// Its title in messages: `` pass `lore/print` ``.
    pub(super) fn title(&self) -> String {
        format!("{} `{}`", self.table, self.name)
    }
}

/// Takes the rows of all tables of a document of `kind` at `span`, in the order written. Empty tables stay in their places.
pub(super) fn collect(doc: &mut FieldMap, kind: &str, span: Span, out: &mut Vec<IncomingRow>, complain: &mut dyn FnMut(Diagnostic)) {
    if kind == template::KIND {
        out.extend(template_row(doc, span, complain));
        return;
    }
    for (table, field) in doc.iter_mut().filter(|(key, field)| !is_meta(key, kind) && is_rows(&field.node)) {
        let NodeValue::List(rows) = &mut field.node.data else { continue };
        out.extend(rows.iter_mut().filter_map(|node| row(table, node, complain)));
    }
}

/// The row of a template file of a layer; `None`, with a diagnostic, if it has no `id`.
fn template_row(root: &FieldMap, span: Span, complain: &mut dyn FnMut(Diagnostic)) -> Option<IncomingRow> {
    let Some((id, id_span)) = root.get("id").and_then(|field| Some((field.node.as_text()?, field.node.span))) else {
        let complaint = Diagnostic::new(Code::LayerNoName, "a template has no `id`").at(span).label("needs `id`");
        complain(complaint.help("add `id = \"…\"`; layers find a template by it"));
        return None;
    };
    Some(incoming(&Arc::from(template::KIND), (Arc::from(id), id_span), root.clone(), span, complain))
}

fn row(table: &Arc<str>, node: &mut DocumentNode, complain: &mut dyn FnMut(Diagnostic)) -> Option<IncomingRow> {
    let NodeValue::Table(written) = &mut node.data else { return None };
    let named = written.get("name").and_then(|f| Some((f.node.as_text().filter(|n| !n.is_empty())?, f.node.span)));
    let Some((name, name_span)) = named else {
        let complaint = Diagnostic::new(Code::LayerNoName, format!("a row of `{table}` has no name")).at(node.span);
        complain(complaint.label("needs `name`").help("add `name = \"…\"`; layers find a row by its name"));
        return None;
    };
    let name = Arc::from(name);
    let mut row = incoming(table, (name, name_span), std::mem::take(written), node.span, complain);
    row.fields.shift_remove("name");
    Some(row)
}

/// A row with all its fields except for the layering keys.
pub(super) fn incoming(
    table: &Arc<str>,
    (name, name_span): (Arc<str>, Span),
    fields: FieldMap,
    span: Span,
    complain: &mut dyn FnMut(Diagnostic),
) -> IncomingRow {
    let mut row = IncomingRow {
        table: table.clone(),
        name,
        name_span,
        span,
        fields,
        remove: false,
        replace: false,
        is_new: false,
        edit: None,
        place: None,
        expects: None,
    };
    // most rows say nothing about a lower layer
    if row.fields.keys().any(|key| is_layering(key)) {
        let flag = |key: &str| row.fields.get(key).is_some_and(|f| f.node.as_bool() == Some(true));
        (row.remove, row.replace, row.is_new) = (flag("remove"), flag("replace"), flag("new"));
        row.edit = row.fields.get("edit").cloned();
        (row.place, row.expects) = (place(&row.fields, complain), expects(&row.fields, complain));
        row.fields.retain(|key, _| !is_layering(key));
    }
    row
}

fn place(row: &FieldMap, complain: &mut dyn FnMut(Diagnostic)) -> Option<RowMove> {
    let word = |key: &str| row.get(key).and_then(|f| Some((Arc::from(f.node.as_text()?), f.node.span)));
    let (before, after) = (word("before"), word("after"));
    if let (Some((_, first)), Some((_, second))) = (&before, &after) {
        let complaint = Diagnostic::new(Code::SchemaValue, "a row cannot stand both `before` one row and `after` another").at(*second);
        complain(complaint.related(*first, "`before` is said here").help("keep one of them"));
    }
    let is_before = before.is_some();
    before.or(after).map(|(anchor, span)| RowMove { before: is_before, anchor, span })
}

fn expects(row: &FieldMap, complain: &mut dyn FnMut(Diagnostic)) -> Option<ExpectedFingerprint> {
    let node = &row.get("expects")?.node;
    let NodeValue::Text(text) = &node.data else { return None };
    if text.len() < fingerprint::MIN_PREFIX || text.len() > 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        let message = "`expects` is not a fingerprint";
        let help = format!("it is the first {} to 64 hexadecimal digits of the row's fingerprint", fingerprint::MIN_PREFIX);
        complain(Diagnostic::new(Code::SchemaValue, message).at(node.span).help(help));
        return None;
    }
    Some(ExpectedFingerprint { prefix: text.to_ascii_lowercase(), span: node.span })
}

/// The diagnostic about a change that cannot be made.
type EditRefusal = Box<Diagnostic>;

/// One change of a list in a row, with the path to the list.
struct ListEdit<'e> {
    path: Vec<&'e str>,
    /// The place of the last part of the path.
    key: Span,
    change: &'e DocumentNode,
}

/// Applies the changes of `edit` to the fields of a row (`edit.by = { insert = "-front", before = "index" }`); reports
/// those that cannot be applied.
///
/// A patch replaces a whole term, so a patch of a list copies the elements that it does not change, and the copy stays as
/// it is when the list below grows. An edit leaves the other elements to the lower layer.
pub(super) fn apply_edits(fields: &mut FieldMap, edit: &FieldMap, shadowed: &mut Vec<ShadowedValue>, complain: &mut dyn FnMut(Diagnostic)) {
    for edit in edits(edit) {
        let old = edit.path.first().and_then(|term| fields.get(*term)).map(|term| term.node.span);
        let result = match list_at(fields, &edit.path) {
            Ok(field) => changed_list(field, edit.change)
                .map(|list| field.node = DocumentNode { span: edit.change.span, data: NodeValue::List(list) }),
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
pub(super) fn edited_terms(edit: &FieldMap) -> impl Iterator<Item = (Arc<str>, &TableField)> {
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
fn list_at<'f>(fields: &'f mut FieldMap, path: &[&str]) -> Result<&'f mut TableField, EditRefusal> {
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
fn changed_list(field: &TableField, change: &DocumentNode) -> Result<Vec<DocumentNode>, EditRefusal> {
    let mut list = field.node.as_list().unwrap_or(&[]).to_vec();
    let word = |key: &str| change.get(key);
    if let Some(new) = word("insert") {
        let at = match (word("before"), word("after")) {
            (Some(before), _) => element_place(&list, before)?,
            (None, Some(after)) => element_place(&list, after)? + 1,
            (None, None) => list.len(),
        };
        list.splice(at..at, elements(new));
    } else if let Some(gone) = word("remove") {
        for gone in elements(gone) {
            let at = element_place(&list, &gone)?;
            list.remove(at);
        }
    } else if let Some(old) = word("replace") {
        let at = element_place(&list, old)?;
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
fn element_place(list: &[DocumentNode], named: &DocumentNode) -> Result<usize, EditRefusal> {
    let found: Vec<usize> = match &named.data {
        NodeValue::Int(place) => usize::try_from(*place).ok().filter(|n| *n < list.len()).into_iter().collect(),
        NodeValue::Text(text) => {
            (0..list.len()).filter(|n| list.get(*n).is_some_and(|e| element_name(e).as_deref() == Some(text))).collect()
        }
        _ => {
            let wanted = named.to_json();
            (0..list.len()).filter(|n| list.get(*n).is_some_and(|e| e.to_json() == wanted)).collect()
        }
    };
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(unknown_element(list, named)),
        [first, ..] => {
            let message = format!("the list below has {} elements of that name", found.len());
            let complaint = Diagnostic::new(Code::MoveUnknown, message).at(named.span).label("which of them?");
            Err(Box::new(complaint.help(format!("name it by its place, from 0 (the first is {first}), or write it out"))))
        }
    }
}

fn unknown_element(list: &[DocumentNode], named: &DocumentNode) -> EditRefusal {
    let names: Vec<String> = list.iter().filter_map(element_name).collect();
    let written = named.as_text().map_or_else(|| named.to_json().to_string(), str::to_owned);
    let written = short::head(&written, limits::QUOTED);
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
fn element_name(element: &DocumentNode) -> Option<String> {
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
