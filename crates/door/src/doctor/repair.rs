//! The repairs of a file that are certain, as a difference: names of macros with a slip for which there is one known name.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use similar::TextDiff;

use crate::diag::{Certainty, Code, DocumentNode, NodeValue, Report, SourceId};
use crate::examine::{may_hold_macros, visit_macros};
use crate::memory::PartFile;
use crate::pack::json;

/// The most bytes of a difference: a file on one line makes one as long as two of it.
const MOST_BYTES: usize = 200_000;
/// The lines around a change.
const AROUND: usize = 1;

/// The repairs of a JSON file by what was found in it. Other files are not text.
pub(super) fn find_repairs(file: &PartFile, report: &Report) -> Json {
    let unknown = report.items().iter().filter(|found| found.code == Code::MacroUnknown);
    let certain = unknown.filter_map(|found| found.suggestion.as_ref()).filter(|near| near.certainty == Certainty::Certain);
    let wanted: BTreeMap<&str, &str> = certain.map(|near| (near.word.as_str(), near.replacement.as_str())).collect();
    let text = std::str::from_utf8(&file.bytes).ok().filter(|_| !wanted.is_empty());
    let Some((text, root)) = text.and_then(|text| Some((text, read_tree(text)?))) else {
        return json!({ "changes": [], "diff": Json::Null });
    };
    let mut edits: BTreeMap<usize, (&str, &str)> = BTreeMap::new();
    collect_edits(&root, text, &wanted, &mut edits);
    let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut repaired, mut done) = (String::with_capacity(text.len()), 0);
    for (start, change) in edits {
        let Some(between) = text.get(done..start) else { continue };
        repaired.push_str(between);
        repaired.push_str(change.1);
        done = start + change.0.len();
        *times.entry(change).or_default() += 1;
    }
    repaired.push_str(text.get(done..).unwrap_or_default());
    let changes: Vec<Json> = times
        .iter()
        .map(|((was, is), times)| json!({ "code": Code::MacroUnknown.as_str(), "was": was, "is": is, "times": times }))
        .collect();
    let diff = (repaired != text)
        .then(|| TextDiff::from_lines(text, &repaired).unified_diff().context_radius(AROUND).header(&file.name, &file.name).to_string());
    json!({ "changes": changes, "diff": diff.filter(|diff| diff.len() <= MOST_BYTES) })
}

/// The values of a text of JSON; the places in it are those in the whole text.
fn read_tree(text: &str) -> Option<DocumentNode> {
    if text.starts_with('\u{FEFF}') {
        return None;
    }
    json::parse(SourceId::default(), text, &mut Report::default())
}

/// Where names of macros stand that are to be replaced.
fn collect_edits<'w>(
    root: &DocumentNode,
    text: &str,
    wanted: &BTreeMap<&'w str, &'w str>,
    edits: &mut BTreeMap<usize, (&'w str, &'w str)>,
) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeValue::Text(_) => {
                let start = node.span.start as usize;
                let written = text.get(start..node.span.end as usize).unwrap_or_default();
                visit_macros(written, &mut |_, name, at| {
                    if let Some((was, is)) = wanted.get_key_value(name) {
                        edits.insert(start + at, (was, is));
                    }
                });
            }
            NodeValue::List(list) => open.extend(list),
            NodeValue::Table(table) => {
                open.extend(table.iter().filter(|(key, _)| may_hold_macros(key)).map(|(_, field)| &field.node));
            }
            _ => {}
        }
    }
}
