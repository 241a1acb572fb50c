//! The source lint: every source that a template names must be one that its task offers, or a reserved one.

use super::RESERVED;
use super::revision::Revision;
use super::walk::{PartKind, SourceUse, walk};
use crate::diag::{Code, Diagnostic, DocumentNode, Span, limits, suggest};

/// Returns one diagnostic that names all unknown sources, sorted. Conditions in lists of messages and anchors are not
/// checked.
pub(super) fn check(root: &DocumentNode, revision: &Revision, sources: &[&str]) -> Option<Diagnostic> {
    let mut unknown: Vec<(&str, Span, String)> = Vec::new();
    walk(root, revision, &mut |sort, node, at| {
        let PartKind::Ref(used) = sort else { return };
        let Some(source) = node.get("source") else { return };
        let Some(name) = source.as_text().filter(|_| used != SourceUse::WhenList) else { return };
        if !is_known(name, sources) {
            unknown.push((name, source.span, at.key("source")));
        }
    });
    let (_, first, _) = unknown.first()?;
    let mut names: Vec<&str> = unknown.iter().map(|(name, ..)| *name).collect();
    names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    names.dedup();
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let word = if names.len() == 1 { "source" } else { "sources" };
    let mut complaint = Diagnostic::new(Code::TemplateSource, format!("unknown {word}: {}", listed.join(", "))).at(*first);
    complaint.missing = names.first().map(|name| (*name).to_owned());
    if let Some((.., path)) = unknown.first() {
        complaint = complaint.label(format!("at `{path}`"));
    }
    for (name, span, path) in unknown.iter().skip(1).take(limits::LISTED) {
        complaint = complaint.related(*span, format!("`{name}`, at `{path}`"));
    }
    Some(complaint.help(remedy(&names, sources)))
}

/// Whether the task offers the source or it is a reserved one.
pub(super) fn is_known(name: &str, sources: &[&str]) -> bool {
    RESERVED.contains(&name) || sources.contains(&name)
}

/// What to write instead: the nearest names, or all sources.
pub(super) fn remedy(unknown: &[&str], sources: &[&str]) -> String {
    let known = || sources.iter().copied().chain(RESERVED);
    let near: Vec<String> = unknown
        .iter()
        .take(limits::LISTED)
        .filter_map(|name| suggest::nearest(name, known()))
        .map(|near| if unknown.len() == 1 { near.to_string() } else { format!("`{}` for `{}`?", near.replacement, near.word) })
        .collect();
    if !near.is_empty() {
        return near.join(" ");
    }
    let mut all: Vec<&str> = known().collect();
    all.sort_unstable();
    format!("the task offers {}", all.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
}
