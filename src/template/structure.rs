//! Checks of structure: the layout names slots that exist, and only messages of some roles have a prefix.

use super::revision::Revision;
use super::walk::{Sort, walk};
use crate::diag::{Code, Diagnostic, Node, suggest};

/// The first mistake; slots that do not exist are reported before prefixes.
pub(super) fn check(root: &Node, revision: &Revision) -> Option<Diagnostic> {
    let slots = root.get("slots").and_then(Node::as_table)?;
    let (mut slot, mut prefix) = (None, None);
    walk(root, revision, &mut |sort, node, at| {
        if sort == Sort::LayoutSlot && slot.is_none() {
            let name = node.get("name").and_then(|name| Some((name, name.as_text()?)));
            slot = name.filter(|(_, name)| !slots.contains_key(*name)).map(|(name, text)| (name.span, text, at.key("name")));
        }
        if sort.is_block() && revision.knows_flags && prefix.is_none() {
            let flag = node.get("prefix").filter(|flag| flag.as_bool() == Some(true));
            let role = node.get("role").and_then(Node::as_text).filter(|role| !revision.takes_prefix(role));
            prefix = flag.zip(role).map(|(flag, role)| (flag.span, role, at.crumb.clone()));
        }
    });
    if let Some((span, name, path)) = slot {
        let complaint = Diagnostic::new(Code::TemplateStructure, format!("the layout names a non-existent slot, `{name}`")).at(span);
        let help = suggest::help(name, slots.keys().map(AsRef::as_ref));
        return Some(
            complaint.label(format!("at `{path}`")).help(help.unwrap_or_else(|| "add the slot, or take the node away".to_owned())),
        );
    }
    let (span, role, crumb) = prefix?;
    let roles: Vec<String> = revision.prefix_roles.iter().map(|role| format!("`{role}`")).collect();
    let message = match roles.as_slice() {
        [] => format!("`prefix` is for no role of revision `{}`, but stands on role `{role}` at `{crumb}`", revision.name),
        roles => format!("`prefix` is for role {}, but stands on role `{role}` at `{crumb}`", roles.join(" or ")),
    };
    Some(Diagnostic::new(Code::TemplateStructure, message).at(span).help("take `prefix` away, or give the message that role"))
}
