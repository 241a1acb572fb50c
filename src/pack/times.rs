//! The rows of `time_stamp`: each is a pattern whose named groups are parts of a date. A pattern that cannot be used, or
//! that no date can come of, is told when the pack is loaded, and not by every macro that reads a time.

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, inside, suggest};
use crate::model::Pack;
use crate::model::pack::PackRow;
use crate::text::moment::stamp;
use crate::text::pattern::{Pattern, PatternFault};

/// Reports notations of times that cannot be used.
pub(super) fn check(pack: &Pack, found: &mut Report) {
    for row in pack.tables.get("time_stamp").into_iter().flat_map(|rows| rows.values()) {
        let wrong = match row.fields.get("pattern") {
            None => vec![lacking(row.name_span, "it has no `pattern`", "add `pattern = \"/(?<year>[0-9]{4})-…/\"`")],
            // anything but a text is told by the schema
            Some(field) => field.node.as_text().map(|text| pattern(pack, &field.node, text)).unwrap_or_default(),
        };
        wrong.into_iter().for_each(|complaint| found.push(complaint.rule(rule(row))));
    }
}

fn rule(row: &PackRow) -> String {
    format!("time_stamp {}", row.name)
}

fn lacking(span: Span, why: &str, help: &str) -> Diagnostic {
    Diagnostic::new(Code::TermMissing, format!("no date can come of the time stamp: {why}")).at(span).help(help)
}

fn pattern(pack: &Pack, node: &DocumentNode, text: &str) -> Vec<Diagnostic> {
    let pattern = match Pattern::parse(text) {
        Ok(pattern) => pattern,
        Err(error) => {
            let (code, help) = match error.fault {
                PatternFault::Unsafe => (Code::RegexUnsafe, "rewrite it without nested or overlapping repetitions"),
                PatternFault::Bad => (Code::RegexBad, "regular expressions are written `/pattern/flags` as in JavaScript"),
            };
            let complaint = Diagnostic::new(code, format!("the pattern cannot be used: {}", error.reason));
            return vec![complaint.at(inside::place_in_text(&pack.sources, node, error.offset)).help(help)];
        }
    };
    let names = || pattern.names().iter().flatten().map(AsRef::as_ref);
    let unknown: Vec<Diagnostic> = names()
        .filter(|name| !stamp::PARTS.contains(name))
        .map(|name: &str| {
            let group = format!("(?<{name}>");
            let at = text.find(&group).map_or(node.span, |at| inside::place_in_text(&pack.sources, node, at + 3));
            let near = suggest::nearest(name, stamp::PARTS.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let help = near
                .unwrap_or_else(|| format!("the parts of a date are {}; write `(?:…)` for a group that is none", stamp::PARTS.join(", ")));
            Diagnostic::new(Code::NameUnknown, format!("there is no part of a date `{name}`")).at(at).help(help)
        })
        .collect();
    if !unknown.is_empty() || names().any(|name| stamp::NEEDED.contains(&name)) {
        return unknown;
    }
    let why = if names().next().is_some() { "its pattern has neither `year` nor `epoch`" } else { "its pattern has no named groups" };
    vec![lacking(node.span, why, "name the parts: `/(?<year>[0-9]{4})-(?<month>[0-9]{2})/`, or `epoch` for milliseconds since 1970")]
}
