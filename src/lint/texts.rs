//! Strings in rows that another language reads, such as Liquid, patterns and JSON Schemas. One that cannot be read is reported
//! when the pack is loaded, and not in the turn that needs it.

use super::push;
use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Span, short, source, suggest};
use crate::model::{Pack, Value};
use crate::text::liquid::Liquid;
use crate::text::moment::stamp;
use crate::text::pattern::{Pattern, PatternFault};
use crate::text::schema;

/// The keys of operations whose strings are Liquid.
const LIQUID: [&str; 3] = ["template", "prompt", "system"];

/// Reports strings in the rows of `operation` that cannot be read.
pub(super) fn check_operations(pack: &Pack, found: &mut Report) {
    for row in pack.rows("operation") {
        // an operation that nobody carries out is skipped, and nobody reads its strings
        if pack.row("operation_kind", row.text("kind").unwrap_or("template")).is_none() {
            continue;
        }
        let wrong = LIQUID.iter().filter_map(|key| liquid(pack, row.node(key)?, key));
        let wrong = wrong.chain(row.node("pattern").and_then(|node| pattern(pack, node)?.err()));
        let wrong = wrong.chain(row.node("schema").and_then(json_schema));
        wrong.for_each(|complaint| push(found, row, complaint));
    }
}

/// Reports rows of `time_stamp` whose patterns cannot be used, or that no date can come of.
pub(super) fn check_times(pack: &Pack, found: &mut Report) {
    for row in pack.rows("time_stamp") {
        let wrong = match row.node("pattern") {
            None => vec![no_date(row.name_span, "it has no `pattern`", "add `pattern = \"/(?<year>[0-9]{4})-…/\"`")],
            // anything but a text is reported by the schema
            Some(node) => match pattern(pack, node) {
                Some(Ok(pattern)) => time_stamp(pack, node, &pattern),
                Some(Err(complaint)) => vec![complaint],
                None => Vec::new(),
            },
        };
        wrong.into_iter().for_each(|complaint| found.push(complaint.rule(format!("time_stamp {}", row.name))));
    }
}

fn liquid(pack: &Pack, node: &DocumentNode, key: &str) -> Option<Diagnostic> {
    let error = Liquid::known(node.as_text()?).err()?;
    let span = source::place_in_text(&pack.sources, node, error.offset);
    let complaint = Diagnostic::new(Code::TemplateFailed, format!("`{key}` is not Liquid: {}", error.message)).at(span);
    Some(complaint.help("docs/reference/language/texts.md describes Liquid"))
}

/// The pattern that a string is, or what is wrong with it; `None` if it is no string.
fn pattern(pack: &Pack, node: &DocumentNode) -> Option<Result<Pattern, Diagnostic>> {
    Some(Pattern::parse(node.as_text()?).map_err(|error| {
        let (code, help) = match error.fault {
            PatternFault::Unsafe => (Code::RegexUnsafe, "rewrite it without nested or overlapping repetitions"),
            PatternFault::Bad => (Code::RegexBad, "regular expressions are written `/pattern/flags` as in JavaScript"),
        };
        let complaint = Diagnostic::new(code, format!("the pattern cannot be used: {}", error.reason));
        complaint.at(source::place_in_text(&pack.sources, node, error.offset)).help(help)
    }))
}

fn json_schema(node: &DocumentNode) -> Option<Diagnostic> {
    let text = node.as_text()?;
    let wrong = match serde_json::from_str::<serde_json::Value>(text) {
        Err(error) => format!("`schema` is not JSON: {error}"),
        Ok(json) => schema::usable(&Value::from(&json)).err()?,
    };
    let complaint = Diagnostic::new(Code::TermType, short::cut(wrong)).at(node.span);
    Some(complaint.help("write a JSON Schema as JSON text, such as `'{\"type\": \"object\"}'`"))
}

/// What is wrong with the named groups of a pattern of times, which are to be parts of a date.
fn time_stamp(pack: &Pack, node: &DocumentNode, pattern: &Pattern) -> Vec<Diagnostic> {
    let text = node.as_text().unwrap_or_default();
    let names = || pattern.names().iter().flatten().map(AsRef::as_ref);
    let unknown: Vec<Diagnostic> = names()
        .filter(|name| !stamp::PARTS.contains(name))
        .map(|name: &str| {
            let group = format!("(?<{name}>");
            let at = text.find(&group).map_or(node.span, |at| source::place_in_text(&pack.sources, node, at + 3));
            let near = suggest::nearest(name, stamp::PARTS.iter().copied()).map(Help::from);
            let help = near.unwrap_or_else(|| {
                format!("the parts of a date are {}; write `(?:…)` for a group that is none", stamp::PARTS.join(", ")).into()
            });
            Diagnostic::new(Code::NameUnknown, format!("there is no part of a date `{name}`")).at(at).help(help)
        })
        .collect();
    if !unknown.is_empty() || names().any(|name| stamp::NEEDED.contains(&name)) {
        return unknown;
    }
    let why = if names().next().is_some() { "its pattern has neither `year` nor `epoch`" } else { "its pattern has no named groups" };
    vec![no_date(node.span, why, "name the parts: `/(?<year>[0-9]{4})-(?<month>[0-9]{2})/`, or `epoch` for milliseconds since 1970")]
}

fn no_date(span: Span, why: &str, help: &str) -> Diagnostic {
    Diagnostic::new(Code::TermMissing, format!("no date can come of the time stamp: {why}")).at(span).help(help)
}
