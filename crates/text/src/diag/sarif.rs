//! Diagnostics as a SARIF 2.1.0 document, which code hosts and editors show beside the lines of a change.
//!
//! Paths are relative to the folder in which the program runs, or `file:` addresses where they were given as absolute paths.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value as Json, json};

use super::{Code, Diagnostic, Report, Severity, Sources, Span};

/// The schema that the document meets.
pub const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One document for the diagnostics of a whole run; without any, a document with no results.
///
/// ```
/// use tapster_text::diag::{Code, Diagnostic, Report, Sources, Span, sarif};
/// let mut sources = Sources::default();
/// let file = sources.add("lore.toml", "acme", "depth = \"two\"\n");
/// let report = Report::from(Diagnostic::new(Code::SchemaType, "`depth` must be a whole number").at(Span::new(file, 8, 13)));
/// let document = sarif::document(&[(report, sources)]);
/// let result = &document["runs"][0]["results"][0];
/// assert_eq!(result["ruleId"], "schema.type");
/// assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startColumn"], 9);
/// ```
#[must_use]
pub fn document(all: &[(Report, Sources)]) -> Json {
    let mut rules: BTreeMap<&str, Json> = BTreeMap::new();
    for d in all.iter().flat_map(|(report, _)| report.items()) {
        rules.entry(d.code.as_str()).or_insert_with(|| rule(d));
    }
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(n, code)| (*code, n)).collect();
    let results: Vec<Json> = all
        .iter()
        .flat_map(|(report, sources)| report.items().iter().map(move |d| (d, sources)))
        .map(|(d, sources)| result(d, sources, index.get(d.code.as_str()).copied()))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tapster",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_values().collect::<Vec<Json>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The entry of a code. Codes of packs are known by their names alone.
fn rule(d: &Diagnostic) -> Json {
    let mut rule = json!({ "id": d.code.as_str(), "defaultConfiguration": { "level": level(d.severity) } });
    if let (Some(code), Json::Object(rule)) = (d.code.known(), &mut rule) {
        rule.insert("shortDescription".to_owned(), json!({ "text": code.doc() }));
        rule.insert("defaultConfiguration".to_owned(), json!({ "level": level(Code::severity(code)) }));
    }
    rule
}

fn level(severity: Severity) -> &'static str {
    severity.as_str()
}

fn result(d: &Diagnostic, sources: &Sources, index: Option<usize>) -> Json {
    let help = d.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
    let mut out = Map::new();
    out.insert("ruleId".to_owned(), d.code.as_str().into());
    out.extend(index.map(|n| ("ruleIndex".to_owned(), n.into())));
    out.insert("level".to_owned(), level(d.severity).into());
    out.insert("message".to_owned(), json!({ "text": format!("{}{help}", d.message) }));
    if let Some(mut location) = d.span.and_then(|span| location(span, sources)) {
        if let (Some(rule), Json::Object(location)) = (&d.rule, &mut location) {
            location.insert("logicalLocations".to_owned(), json!([{ "fullyQualifiedName": rule }]));
        }
        out.insert("locations".to_owned(), json!([location]));
    }
    let related: Vec<Json> = d
        .related
        .iter()
        .filter_map(|(span, text)| {
            let mut location = location(*span, sources)?;
            location.as_object_mut()?.insert("message".to_owned(), json!({ "text": text }));
            Some(location)
        })
        .collect();
    if !related.is_empty() {
        out.insert("relatedLocations".to_owned(), related.into());
    }
    let fixed = d.certain_fix().and_then(|(span, text)| Some((text, physical(span, sources)?)));
    if let Some((text, place)) = fixed {
        out.insert(
            "fixes".to_owned(),
            json!([{ "artifactChanges": [{
                "artifactLocation": place.get("artifactLocation"),
                "replacements": [{ "deletedRegion": place.get("region"), "insertedContent": { "text": text } }],
            }] }]),
        );
    }
    Json::Object(out)
}

fn location(span: Span, sources: &Sources) -> Option<Json> {
    Some(json!({ "physicalLocation": physical(span, sources)? }))
}

fn physical(span: Span, sources: &Sources) -> Option<Json> {
    let (from, to) = (sources.place(span)?, sources.place(Span { start: span.end, ..span })?);
    Some(json!({
        "artifactLocation": { "uri": uri(&from.file) },
        "region": { "startLine": from.line, "startColumn": from.column, "endLine": to.line, "endColumn": to.column },
    }))
}

/// What is encoded in the path of a file.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a file: relative as it is written, absolute with `file:`.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let (drive, path) = path.split_at_checked(2).filter(|(drive, _)| drive.ends_with(':')).unwrap_or(("", path));
    let scheme = match drive {
        "" if path.starts_with('/') => "file://",
        "" => "",
        _ => "file:///",
    };
    format!("{scheme}{drive}{}", utf8_percent_encode(path, PATH))
}
