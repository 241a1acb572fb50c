//! Mistakes of a template as a whole: sources that its task does not offer, slots that do not exist, and prefixes on roles
//! that have none.

use super::revision::Revision;
use super::walk::{PartKind, SourceUse, walk};
use super::{RESERVED, TemplateContract};
use crate::diag::{Code, Diagnostic, DocumentNode, Span, limits, suggest};

/// The sources that the task does not offer, and the contradictions of the structure.
pub(super) fn contradictions(root: &DocumentNode, revision: &Revision, asked: &TemplateContract<'_>) -> Vec<Diagnostic> {
    let sources = asked.sources.and_then(|sources| unknown_sources(root, revision, sources));
    sources.into_iter().chain(structure_faults(root, revision)).collect()
}

/// Returns one diagnostic that names all unknown sources, sorted. Conditions in lists of messages and anchors are not
/// checked.
fn unknown_sources(root: &DocumentNode, revision: &Revision, sources: &[&str]) -> Option<Diagnostic> {
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

/// All mistakes; slots that do not exist before prefixes.
fn structure_faults(root: &DocumentNode, revision: &Revision) -> Vec<Diagnostic> {
    let Some(slots) = root.get("slots").and_then(DocumentNode::as_table) else { return Vec::new() };
    let (mut of_slots, mut of_prefixes) = (Vec::new(), Vec::new());
    walk(root, revision, &mut |sort, node, at| {
        if sort == PartKind::LayoutSlot
            && let Some((named, name)) = node.get("name").and_then(|name| Some((name, name.as_text()?)))
            && !slots.contains_key(name)
        {
            let message = format!("the layout names a non-existent slot, `{name}`");
            let help = suggest::help(name, slots.keys().map(AsRef::as_ref));
            let complaint = Diagnostic::new(Code::TemplateStructure, message).at(named.span).label(format!("at `{}`", at.key("name")));
            of_slots.push(complaint.help(help.unwrap_or_else(|| "add the slot, or take the node away".into())));
        }
        if sort.is_block() && revision.knows_flags {
            let flag = node.get("prefix").filter(|flag| flag.as_bool() == Some(true));
            let role = node.get("role").and_then(DocumentNode::as_text).filter(|role| !revision.takes_prefix(role));
            of_prefixes.extend(flag.zip(role).map(|(flag, role)| misplaced(revision, flag, role, &at.crumb)));
        }
    });
    of_slots.into_iter().chain(of_prefixes).take(limits::REPORTED).collect()
}

/// A prefix on a role that has none.
fn misplaced(revision: &Revision, flag: &DocumentNode, role: &str, crumb: &str) -> Diagnostic {
    let roles: Vec<String> = revision.prefix_roles.iter().map(|role| format!("`{role}`")).collect();
    let message = match roles.as_slice() {
        [] => format!("`prefix` is for no role of revision `{}`, but stands on role `{role}` at `{crumb}`", revision.name),
        roles => format!("`prefix` is for role {}, but stands on role `{role}` at `{crumb}`", roles.join(" or ")),
    };
    Diagnostic::new(Code::TemplateStructure, message).at(flag.span).help("take `prefix` away, or give the message that role")
}
