//! Checks of structure: the layout names slots that exist, and only messages of some roles have a prefix.

use super::revision::Revision;
use super::walk::{PartKind, walk};
use crate::diag::{Code, Diagnostic, DocumentNode, limits, suggest};

/// All mistakes; slots that do not exist before prefixes.
pub(super) fn check(root: &DocumentNode, revision: &Revision) -> Vec<Diagnostic> {
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
