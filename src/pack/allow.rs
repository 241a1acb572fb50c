//! `[[allow]]`: warnings that a rule file accepts, each with a reason. An error cannot be allowed, and an `allow` of the
//! uppermost layer that matches nothing is a warning itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::extends::LayerDocs;
use crate::diag::{Code, CodeOrigin, Diagnostic, DocumentNode, Help, Report, Severity, Span, limits};
use crate::model::Pack;

/// One accepted warning.
#[derive(Debug, Clone)]
pub(crate) struct AllowedWarning {
    code: Arc<str>,
    /// The row, pass or name that it is limited to.
    within: Option<Arc<str>>,
    /// Where its code is written.
    span: Span,
    /// It stands in the uppermost pack, or in an overlay where there are any. The rows of packs below are right for these
    /// packs alone: what they accept may be gone in a pack above them, whose author cannot change them.
    own: bool,
}

/// The `allow` rows of all layers. A row without a code or reason has been reported by the schema.
pub(super) fn collect(layers: &[LayerDocs], report: &mut Report) -> Vec<AllowedWarning> {
    let top = layers.last();
    let is_own = |layer: &LayerDocs| top.is_some_and(|top| if top.overlay { layer.overlay } else { std::ptr::eq(layer, top) });
    let docs = layers.iter().flat_map(|layer| layer.docs.iter().map(move |doc| (is_own(layer), doc)));
    let lists = docs.filter_map(|(own, doc)| Some((own, doc.root.get("allow")?.as_list()?)));
    let row = |(own, node): (bool, &DocumentNode)| {
        let code = node.get("code")?;
        let within = node.get("in").and_then(DocumentNode::as_text).map(Arc::from);
        Some(AllowedWarning { code: code.as_text()?.into(), within, span: code.span, own })
    };
    let mut rows = lists.flat_map(|(own, list)| list.iter().map(move |node| (own, node)));
    let allowed = rows.by_ref().take(limits::OPTIONS).filter_map(row).collect();
    if let Some((_, more)) = rows.next() {
        let message = format!("a pack has at most {} rows `allow`; this row and those after it do not count", limits::OPTIONS);
        report.push(
            Diagnostic::new(Code::BoundExceeded, message).at(more.span).help("leave out `in`, so that one row accepts a code everywhere"),
        );
    }
    allowed
}

impl AllowedWarning {
    /// Whether it accepts a diagnostic.
    pub(crate) fn accepts(&self, found: &Diagnostic, pack: &Pack) -> bool {
        // a stranger's pack must not keep quiet what is not about its rules
        found.severity != Severity::Error
            && found.code.known().is_none_or(|code| code.raised() != CodeOrigin::Elsewhere)
            && found.code == *self.code
            && self.within.as_deref().is_none_or(|name| concerns(found, name, pack))
    }

    fn unused(&self, what: &str, help: Help) -> Diagnostic {
        let complaint = Diagnostic::new(Code::AllowUnused, format!("this `allow` of `{}` {what}", self.code));
        complaint.at(self.span).help(help)
    }
}

/// Removes what is allowed from a report, and returns the rows that have accepted nothing.
fn remove<'a>(allowed: &'a [AllowedWarning], pack: &Pack, report: &mut Report) -> impl Iterator<Item = &'a AllowedWarning> + use<'a> {
    let mut used = vec![false; allowed.len()];
    report.retain(|found| {
        let by = allowed.iter().position(|allow| allow.accepts(found, pack));
        by.and_then(|n| used.get_mut(n)).is_none_or(|used| {
            *used = true;
            false
        })
    });
    allowed.iter().zip(used).filter(|(_, used)| !used).map(|(allow, _)| allow)
}

/// The code of suspicions. Loading gives it too.
const OF_SUSPICIONS: Code = Code::NameNearly;

/// Removes what is allowed from a report of suspicions, and adds a warning for each row that has accepted nothing.
pub(super) fn apply_to_suspicions(unsettled: &[AllowedWarning], pack: &Pack, report: &mut Report) {
    for allow in remove(unsettled, pack, report).filter(|allow| allow.own) {
        report.push(allow.unused("accepts no warning", "take the row away, or correct its `in`".into()));
    }
}

/// Removes what is allowed from a report of loading, and adds a warning for each `allow` that accepts nothing. The rows
/// that may accept a suspicion are returned.
pub(super) fn apply(allowed: &[AllowedWarning], pack: &Pack, report: &mut Report) -> Vec<AllowedWarning> {
    let mut unsettled = Vec::new();
    let own: BTreeSet<&str> = own_codes(pack).collect();
    for allow in remove(allowed, pack, report) {
        let code = Code::of(&allow.code);
        let is_error = report.items().iter().any(|d| d.severity == Severity::Error && d.code == *allow.code);
        let help = match code.map(Code::raised) {
            _ if code == Some(OF_SUSPICIONS) => {
                unsettled.push(allow.clone());
                continue;
            }
            Some(CodeOrigin::Build | CodeOrigin::Either) => continue,
            _ if !allow.own => continue,
            None if own.contains(&*allow.code) => continue,
            Some(CodeOrigin::Elsewhere) => "it is not about rules, so no rule file can accept it; take the row away".into(),
            Some(CodeOrigin::Load) if is_error => "an error cannot be allowed; correct it".into(),
            Some(CodeOrigin::Load) => "take the row away, or correct its `in`".into(),
            None => report
                .words
                .help(&allow.code, Code::ALL.iter().map(|code| code.as_str()).chain(own.iter().copied().take(limits::OPTIONS)))
                .unwrap_or_else(|| "docs/reference/codes.md lists the codes".into()),
        };
        let what = if code.is_some() { "accepts no warning" } else { "names a code that nothing here has" };
        report.push(allow.unused(what, help));
    }
    unsettled
}

/// The codes that rows of the pack give to warnings and errors of their own.
fn own_codes(pack: &Pack) -> impl Iterator<Item = &str> {
    let rows = pack.tables.values().flat_map(|rows| rows.values());
    rows.filter_map(|row| row.fields.get("error")?.node.as_text())
}

/// Whether a diagnostic is about the row, pass or name.
fn concerns(found: &Diagnostic, name: &str, pack: &Pack) -> bool {
    let is = |text: &str| text == name || text.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
    let quoted = format!("`{name}`");
    found.missing.as_deref() == Some(name)
        || is(&found.pass)
        || found.row.as_deref().is_some_and(is)
        || found.rule.as_deref().is_some_and(|rule| rule.split([' ', ',']).any(is))
        || found.message.contains(&quoted)
        || found.span.and_then(|span| row_at(span, pack)).is_some_and(|row| is(&row))
}

/// The name of the row that a place lies in: the last one of the file that begins in front of it.
fn row_at(span: Span, pack: &Pack) -> Option<Arc<str>> {
    let rows = pack.tables.values().flat_map(|rows| rows.values());
    let spans = rows.flat_map(|row| std::iter::once(row.span).chain(row.patched.iter().copied()).map(move |at| (at, &row.name)));
    let before = spans.filter(|(at, _)| at.source == span.source && at.start <= span.start);
    before.max_by_key(|(at, _)| at.start).map(|(_, name)| name.clone())
}
