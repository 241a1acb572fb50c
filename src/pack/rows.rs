//! Rows as a layer writes them: fields, and the layering keys that say how the row changes the lower layers.

use std::sync::Arc;

use super::fingerprint;
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, TableField};
use crate::model::pack::is_layering;
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

/// Takes the rows of all tables of a document of `kind` at `span`, in the order written.
pub(super) fn collect(doc: &FieldMap, kind: &str, span: Span, out: &mut Vec<IncomingRow>, complain: &mut dyn FnMut(Diagnostic)) {
    if kind == template::KIND {
        out.extend(template_row(doc, span, complain));
        return;
    }
    for (table, field) in doc.iter().filter(|(key, field)| !is_meta(key, kind) && is_rows(&field.node)) {
        for node in field.node.as_list().unwrap_or(&[]) {
            out.extend(row(table, node, complain));
        }
    }
}

/// The row of a template file of a layer; `None`, with a diagnostic, if it has no `id`.
fn template_row(root: &FieldMap, span: Span, complain: &mut dyn FnMut(Diagnostic)) -> Option<IncomingRow> {
    let Some((id, id_span)) = root.get("id").and_then(|field| Some((field.node.as_text()?, field.node.span))) else {
        let complaint = Diagnostic::new(Code::LayerNoName, "a template has no `id`").at(span).label("needs `id`");
        complain(complaint.help("add `id = \"…\"`; layers find a template by it"));
        return None;
    };
    Some(incoming(&Arc::from(template::KIND), (Arc::from(id), id_span), root, span, complain))
}

fn row(table: &Arc<str>, node: &DocumentNode, complain: &mut dyn FnMut(Diagnostic)) -> Option<IncomingRow> {
    let written = node.as_table()?;
    let named = written.get("name").and_then(|f| Some((f.node.as_text().filter(|n| !n.is_empty())?, f.node.span)));
    let Some((name, name_span)) = named else {
        let complaint = Diagnostic::new(Code::LayerNoName, format!("a row of `{table}` has no name")).at(node.span);
        complain(complaint.label("needs `name`").help("add `name = \"…\"`; layers find a row by its name"));
        return None;
    };
    let mut row = incoming(table, (Arc::from(name), name_span), written, node.span, complain);
    row.fields.shift_remove("name");
    Some(row)
}

/// A row with all its fields except for the layering keys.
pub(super) fn incoming(
    table: &Arc<str>,
    (name, name_span): (Arc<str>, Span),
    written: &FieldMap,
    span: Span,
    complain: &mut dyn FnMut(Diagnostic),
) -> IncomingRow {
    let flag = |key: &str| written.get(key).is_some_and(|f| f.node.as_bool() == Some(true));
    let fields = written.iter().filter(|(key, _)| !is_layering(key));
    IncomingRow {
        table: table.clone(),
        name,
        name_span,
        span,
        fields: fields.map(|(key, field)| (key.clone(), field.clone())).collect(),
        remove: flag("remove"),
        replace: flag("replace"),
        is_new: flag("new"),
        edit: written.get("edit").cloned(),
        place: place(written, complain),
        expects: expects(written, complain),
    }
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
