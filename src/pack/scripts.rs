//! The table `[rhai]`: what the scripts of a pack read and write, and the scripts that an overlay holds or names.

use std::sync::Arc;

use indexmap::IndexMap;

use super::read::RuleDocument;
use crate::diag::{DocumentNode, FieldMap, Sources, Span};
use crate::model::rights::{ScriptRights, TABLE};

/// The table of a file, if it is one of those that may hold it.
fn table(doc: &RuleDocument) -> Option<&FieldMap> {
    doc.root.get(TABLE).and_then(DocumentNode::as_table).filter(|_| matches!(&*doc.kind, "pack" | "overlay"))
}

/// What each layer, given with its files, declares.
pub(super) fn rights<'d>(
    layers: impl Iterator<Item = (&'d str, &'d [RuleDocument])>,
    sources: &Sources,
) -> IndexMap<Arc<str>, Arc<ScriptRights>> {
    let mut all = IndexMap::new();
    for (layer, docs) in layers {
        let Some((doc, table)) = docs.iter().find_map(|doc| Some((doc, table(doc)?))) else { continue };
        if !table.contains_key("reads") && !table.contains_key("writes") {
            continue;
        }
        let nodes = |key: &str| table.get(key).and_then(|field| field.node.as_list()).unwrap_or(&[]).iter();
        let words = |key: &str| -> Arc<[Arc<str>]> { nodes(key).filter_map(DocumentNode::as_text).map(Arc::from).collect() };
        let places = nodes("reads").chain(nodes("writes")).filter_map(|node| Some((Arc::from(node.as_text()?), node.span)));
        let file = sources.get(doc.root.span.source).map(|source| source.name.clone()).unwrap_or_default();
        let (reads, writes, places) = (words("reads"), words("writes"), places.collect());
        all.insert(Arc::from(layer), Arc::new(ScriptRights { reads, writes, file, places }));
    }
    all
}

/// The scripts that an overlay names as files: name, file, place. A name that leads out of the folder is refused by the
/// schema.
pub(super) fn files(doc: &RuleDocument) -> Vec<(Arc<str>, Arc<str>, Span)> {
    let entries = table(doc).into_iter().flatten();
    let files = entries.filter_map(|(name, field)| {
        let file = field.node.get("file")?;
        let text = file.as_text().filter(|text| is_plain(text))?;
        Some((name.clone(), Arc::from(text), file.span))
    });
    files.collect()
}

/// Whether a text is the name of a script in the same folder.
fn is_plain(name: &str) -> bool {
    name.ends_with(".rhai") && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) && !name.starts_with('.')
}
