//! Keys of an inclusion that contradict each other: what the schema, which sees each key by itself, cannot say.
//!
//! Source: the contract of artifacts, prompt inclusion; the contradictions are decision A2.15. The short forms are
//! rows of the pack, so the keys that a `mode` stands for are read from there.

use crate::diag::{Code, Diagnostic, Node, Span};
use crate::model::pack::{Row, Rows};

/// The most anchors that may stand inside each other.
const MAX_ANCHORS: usize = 8;

/// The keys of one inclusion, and of the short form that it names.
struct Keys<'a> {
    /// The inclusion.
    node: &'a Node,
    /// The row of its `mode`.
    short: Option<&'a Row>,
}

impl<'a> Keys<'a> {
    fn written(&self, key: &str) -> Option<&'a str> {
        self.node.get(key).and_then(Node::as_text)
    }

    /// What is written, else what the short form stands for.
    fn word(&self, key: &str) -> Option<&'a str> {
        self.written(key).or_else(|| self.short?.fields.get(key)?.node.as_text())
    }

    fn has_anchor(&self) -> bool {
        self.node.get("anchor").is_some() || self.short.is_some_and(|row| row.fields.contains_key("anchor"))
    }

    /// Where a key is written; where the inclusion is, if it is not.
    fn place(&self, key: &str) -> Span {
        self.node.get(key).map_or(self.node.span, |node| node.span)
    }

    fn wrong(&self, key: &'static str, message: String, help: impl Into<String>) -> Diagnostic {
        let mut complaint = Diagnostic::new(Code::ArtifactInclusion, message).at(self.place(key)).help(help);
        complaint.details.insert("key".into(), format!("inclusion.{key}").into());
        complaint
    }
}

/// What contradicts what in the inclusion of one artifact. `modes` are the rows of the short forms.
pub(super) fn check(row: &Row, modes: &Rows) -> Vec<Diagnostic> {
    let Some(node) = row.fields.get("inclusion").map(|field| &field.node) else { return Vec::new() };
    let short = node.get("mode").and_then(Node::as_text).and_then(|mode| modes.get(mode));
    let keys = Keys { node, short };
    let mut found = Vec::new();
    match keys.word("operation").unwrap_or("insert") {
        "insert" => insert(&keys, &mut found),
        operation @ ("replace" | "wrap" | "merge_section") => change(&keys, operation, row, &mut found),
        // the schema has refused it
        _ => return found,
    }
    let system =
        keys.word("target") == Some("system") || (keys.word("operation") == Some("merge_section") && keys.word("target").is_none());
    if system && node.get("anchor").is_some() {
        let help = "remove the anchor, or write `target = \"timeline\"` (an insert) or `\"message_ref\"`";
        found.push(keys.wrong("anchor", "an anchor picks a message, and the target is the system text".to_owned(), help));
    }
    if node.get("anchor").is_some_and(|anchor| nested(anchor) > MAX_ANCHORS) {
        let help = "count from one of the inner anchors";
        found.push(keys.wrong("anchor", format!("more than {MAX_ANCHORS} anchors stand inside each other"), help));
    }
    found
}

fn insert(keys: &Keys<'_>, found: &mut Vec<Diagnostic>) {
    if keys.word("target") == Some("message_ref") {
        let help = "to insert a message beside it, write `target = \"timeline\"`; to change it, another `operation`";
        found.push(keys.wrong("target", "an insert does not change a message".to_owned(), help));
    }
    if let Some(place @ ("replace" | "wrap")) = keys.written("place") {
        let help = format!("write `operation = \"{place}\"`, or `place = \"before\"` or `\"after\"`");
        found.push(keys.wrong("place", format!("an insert stands before or after its anchor, it cannot {place} it"), help));
    }
    if keys.node.get("section").is_some() {
        let help = "write `operation = \"merge_section\"`, or remove the section";
        found.push(keys.wrong("section", "an insert does not change a section".to_owned(), help));
    }
}

fn change(keys: &Keys<'_>, operation: &str, row: &Row, found: &mut Vec<Diagnostic>) {
    match keys.word("target") {
        Some("timeline") => {
            let help = "write `target = \"system\"` or `\"message_ref\"`";
            found.push(keys.wrong("target", format!("`{operation}` changes the system text or one message, not the timeline"), help));
        }
        Some("message_ref") if !keys.has_anchor() => {
            let help = "add an `anchor`, such as `\"after_last_user\"`";
            found.push(keys.wrong("anchor", "the target is a message, and no anchor says which".to_owned(), help));
        }
        _ => {}
    }
    if let Some(place) = keys.written("place").filter(|place| *place != operation) {
        let help = "remove `place`, or write another `operation`";
        found.push(keys.wrong("place", format!("the operation is `{operation}`, and the place says `{place}`"), help));
    }
    let tag = row.fields.get("tag").and_then(|tag| tag.node.as_text());
    if operation == "merge_section" && keys.node.get("section").is_none() && !tag.is_some_and(can_mark) {
        let help = "add a `section`";
        found.push(keys.wrong("section", "the section has no name, and the tag cannot be one".to_owned(), help));
    }
}

/// Whether a tag can stand in `<NAME>`.
fn can_mark(tag: &str) -> bool {
    !tag.is_empty() && !tag.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '/'))
}

/// How many anchors stand inside each other. Counting ends above the limit, so deep data costs nothing.
fn nested(anchor: &Node) -> usize {
    fn inner(node: &Node) -> Option<&Node> {
        node.get("relative_to_anchor")?.get("anchor")
    }
    std::iter::successors(Some(anchor), |node| inner(node)).take(MAX_ANCHORS + 1).count()
}
