//! Inclusions of artifacts: words that no row explains, and keys that contradict each other, which the schema, that sees each
//! key by itself, cannot say.
//!
//! Source: the contract of artifacts, prompt inclusion; the contradictions are decision A2.15. The short forms are
//! rows of the pack, so the keys that a `mode` stands for are read from there.

use crate::diag::{Code, Diagnostic, DocumentNode, Help, Span, limits, suggest};
use crate::model::Pack;
use crate::model::pack::PackRow;

/// The keys of one inclusion, and of the short form that it names.
struct InclusionKeys<'a> {
    /// The inclusion.
    node: &'a DocumentNode,
    /// The row of its `mode`.
    short: Option<&'a PackRow>,
}

impl<'a> InclusionKeys<'a> {
    fn of(pack: &'a Pack, row: &'a PackRow) -> Option<Self> {
        let node = row.node("inclusion")?;
        let mode = node.get("mode").and_then(DocumentNode::as_text);
        Some(Self { node, short: mode.and_then(|mode| pack.row("inclusion_mode", mode)) })
    }

    fn written(&self, key: &str) -> Option<&'a str> {
        self.node.get(key).and_then(DocumentNode::as_text)
    }

    /// What is written, else what the short form stands for.
    fn word(&self, key: &str) -> Option<&'a str> {
        self.written(key).or_else(|| self.short?.text(key))
    }

    /// What is done: what is written, what `place` says where it stands for that, else an insert.
    fn operation(&self) -> &'a str {
        let by_place = || self.written("place").filter(|place| matches!(*place, "replace" | "wrap"));
        self.word("operation").or_else(by_place).unwrap_or("insert")
    }

    fn has_anchor(&self) -> bool {
        self.node.get("anchor").is_some() || self.short.is_some_and(|row| row.fields.contains_key("anchor"))
    }

    /// Where a key is written; where the inclusion is, if it is not.
    fn place(&self, key: &str) -> Span {
        self.node.get(key).map_or(self.node.span, |node| node.span)
    }

    fn idle(&self, key: &str, span: Span, why: &str, help: &str) -> Diagnostic {
        let message = format!("`{key}` of this inclusion has no effect: {why}");
        let mut complaint = Diagnostic::new(Code::ArtifactUnused, message).at(span).help(help);
        complaint.details.insert("key".into(), format!("inclusion.{key}").into());
        complaint
    }

    fn wrong(&self, key: &'static str, message: String, help: impl Into<Help>) -> Diagnostic {
        let mut complaint = Diagnostic::new(Code::ArtifactInclusion, message).at(self.place(key)).help(help);
        complaint.details.insert("key".into(), format!("inclusion.{key}").into());
        complaint
    }
}

/// What is unknown in the inclusion of one artifact, and what contradicts what.
pub(super) fn check(pack: &Pack, row: &PackRow) -> Vec<Diagnostic> {
    let Some(keys) = InclusionKeys::of(pack, row) else { return Vec::new() };
    let node = keys.node;
    let mut found = unknown(&keys, pack);
    match keys.operation() {
        "insert" => insert(&keys, &mut found),
        operation @ ("replace" | "wrap" | "merge_section") => change(&keys, operation, row, &mut found),
        // the schema has refused it
        _ => return found,
    }
    let system = keys.word("target") == Some("system") || (keys.operation() == "merge_section" && keys.word("target").is_none());
    if system && node.get("anchor").is_some() {
        let help = "remove the anchor, or write `target = \"timeline\"` (an insert) or `\"message_ref\"`";
        found.push(keys.wrong("anchor", "an anchor picks a message, and the target is the system text".to_owned(), help));
    }
    if node.get("anchor").is_some_and(|anchor| nested(anchor) > limits::CHAIN) {
        let help = "count from one of the inner anchors";
        found.push(keys.wrong("anchor", format!("more than {} anchors stand inside each other", limits::CHAIN), help));
    }
    found
}

/// Keys that have no effect in the inclusion of one artifact.
pub(super) fn unused(pack: &Pack, row: &PackRow) -> Vec<Diagnostic> {
    let Some(keys) = InclusionKeys::of(pack, row) else { return Vec::new() };
    let node = keys.node;
    if keys.written("mode") == Some("none") {
        let others = node.as_table().into_iter().flatten().filter(|(key, _)| &***key != "mode");
        return others.map(|(key, field)| keys.idle(key, field.node.span, "its mode is `none`", "remove it, or the mode")).collect();
    }
    if keys.operation() == "insert" && keys.word("target").is_none_or(|word| word == "timeline") {
        return Vec::new();
    }
    let policy = node.get("depth_policy").into_iter();
    let help = "remove it, or write `operation = \"insert\"` and `target = \"timeline\"`";
    policy.map(|policy| keys.idle("depth_policy", policy.span, "it makes no message of its own", help)).collect()
}

/// Words that no row of the pack explains.
fn unknown(keys: &InclusionKeys<'_>, pack: &Pack) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (key, table) in [("mode", "inclusion_mode"), ("phase", "inclusion_phase")] {
        if let Some(word) = keys.written(key).filter(|word| pack.row(table, word).is_none()) {
            found.push(keys.wrong(key, format!("no row of `{table}` is called `{word}`"), known(word, table, pack)));
        }
    }
    let anchors = std::iter::successors(keys.node.get("anchor"), |node| inner(node)).take(limits::CHAIN + 1);
    for word in anchors.filter_map(DocumentNode::as_text) {
        let (name, id) = word.split_once(':').map_or((word, None), |(name, id)| (name, Some(id)));
        let row = pack.row("inclusion_anchor", name);
        // an anchor that is found by its role has no id, every other one has
        let by_role = row.is_some_and(|row| row.fields.contains_key("role"));
        if row.is_none() {
            found.push(keys.wrong(
                "anchor",
                format!("no row of `inclusion_anchor` is called `{name}`"),
                known(name, "inclusion_anchor", pack),
            ));
        } else if by_role && id.is_some() {
            found.push(keys.wrong("anchor", format!("`{name}` is a message by itself, and takes no id"), format!("write `\"{name}\"`")));
        } else if !by_role && id.is_none_or(str::is_empty) {
            found.push(keys.wrong("anchor", format!("`{name}` does not say which message"), format!("write `\"{name}:ID\"`")));
        }
    }
    found
}

/// The remedy for an unknown word.
fn known(word: &str, table: &str, pack: &Pack) -> Help {
    suggest::help(word, pack.rows(table).map(|row| &*row.name)).unwrap_or_else(|| "declare it as a row of this table".into())
}

/// The anchor that an anchor counts from.
fn inner(node: &DocumentNode) -> Option<&DocumentNode> {
    node.get("relative_to_anchor")?.get("anchor")
}

fn insert(keys: &InclusionKeys<'_>, found: &mut Vec<Diagnostic>) {
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

fn change(keys: &InclusionKeys<'_>, operation: &str, row: &PackRow, found: &mut Vec<Diagnostic>) {
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
    let tag = row.text("tag");
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
fn nested(anchor: &DocumentNode) -> usize {
    std::iter::successors(Some(anchor), |node| inner(node)).take(limits::CHAIN + 1).count()
}
