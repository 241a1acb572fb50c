//! Patches that do not fit the row that they find: it has changed since, or they would change its verb.

use super::super::fingerprint;
use super::super::rows::{ExpectedFingerprint, IncomingRow};
use crate::diag::{Code, Diagnostic, DocumentNode};
use crate::model::pack::PackRow;

/// The longest text of a row that a diagnostic shows, in characters.
const MAX_SHOWN: usize = 300;

/// A patch that was written against another text of the row.
pub(super) fn stale(expects: &ExpectedFingerprint, new: &IncomingRow, old: &PackRow) -> Option<Diagnostic> {
    let now = fingerprint::of_row(&old.name, &old.fields);
    if now.starts_with(&expects.prefix) {
        return None;
    }
    let short = |text: String| -> String {
        let cut: String = text.chars().take(MAX_SHOWN).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    };
    let message = format!("{} was patched as it read at `{}`, but now it reads otherwise", new.title(), expects.prefix);
    let complaint = Diagnostic::new(Code::LayerStale, message).at(expects.span).label("the row as the patch knew it");
    let below = short(fingerprint::row_text(&old.name, &old.fields));
    let patch = short(fingerprint::row_text(&new.name, &new.fields));
    let complaint = complaint.related(old.span, format!("the row now: {below}")).related(new.span, format!("the patch: {patch}"));
    let fresh: String = now.chars().take(12).collect();
    Some(complaint.help(format!("check the patch against the row, then write `expects = \"{fresh}\"`")))
}

/// A patch that changes the verb of a pass.
pub(super) fn changed_verb(new: &IncomingRow, old: &PackRow) -> Option<Diagnostic> {
    let (field, was) = (new.fields.get("do")?, old.fields.get("do")?);
    if &*new.table != "pass" || new.replace || field.node.to_json() == was.node.to_json() {
        return None;
    }
    let name = |node: &DocumentNode| node.as_text().unwrap_or("?").to_owned();
    let message = format!("{} changes its verb from `{}` to `{}`", new.title(), name(&was.node), name(&field.node));
    let complaint =
        Diagnostic::new(Code::ChangesVerb, message).at(field.node.span).label("another verb").related(was.node.span, "the verb below");
    Some(complaint.help("say `replace = true` and write the whole pass"))
}
