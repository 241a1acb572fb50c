//! From the bytes of a rule file to a checked document: encoding, syntax, version, schema.

use std::sync::Arc;

use super::files::RuleFile;
use super::kinds::KINDS;
use super::schemas::Schemas;
use super::validate::{self, NamingStyle};
use super::{json, short_names, toml, upgrade};
use crate::diag::{
    Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, SourceId, Sources, Span, TableField, limits, memory, short, suggest,
};
use crate::template;

/// One rule file, read and checked. It may violate its schema; the report says so.
#[derive(Debug, Clone)]
pub struct RuleDocument {
    /// Its kind; empty if it does not name a known one.
    pub kind: Arc<str>,
    /// Its content, always a table.
    pub root: DocumentNode,
}

impl RuleDocument {
    /// Whether it says nothing of rules or rule tests: among the cases of a pack it is a scene, a preset, a card or other data
    /// that they are run with.
    pub fn is_data(&self) -> bool {
        let is_of_rules = |key: &str| matches!(key, "kind" | "case") || suggest::is_misspelt_key(key, "kind");
        self.kind.is_empty() && self.table().is_some_and(|table| !table.keys().any(|key| is_of_rules(key)))
    }

    /// The top-level fields.
    pub(super) fn table(&self) -> Option<&FieldMap> {
        self.root.as_table()
    }
}

/// Reads a file of `layer` and checks it against the newest schema of its kind. `None` when it cannot be read at all
/// (encoding, syntax); the report says why. A template is not checked here, because it may be merged over another one.
pub fn read(file: &RuleFile, layer: &str, sources: &mut Sources, schemas: &Schemas, report: &mut Report) -> Option<RuleDocument> {
    let (_, mut root) = tree(file, layer, false, sources, report)?;
    let kind = match root.as_table() {
        Some(table) if template::is_shaped(table) => Some(template::KIND),
        Some(table) => kind_of(table, root.span, report),
        None => None,
    };
    if let Some(kind) = kind.filter(|kind| *kind != template::KIND) {
        versioned(&mut root, kind, layer, schemas, report);
        upgrade::without_idle(&mut root, kind, sources, report);
    }
    Some(RuleDocument { kind: Arc::from(kind.unwrap_or("")), root })
}

/// Parses a file to a tree, which is a table, without `$schema`. `is_template` says that the file is known to be a
/// template.
pub(super) fn tree(
    file: &RuleFile,
    layer: &str,
    is_template: bool,
    sources: &mut Sources,
    report: &mut Report,
) -> Option<(SourceId, DocumentNode)> {
    let (source, text) = decode(file, layer, sources, report)?;
    let mut found = Report::default();
    let root = parse(file, source, &text, &mut found);
    let forgive = is_template || root.as_ref().is_some_and(template::is_one);
    report.extend(if forgive { template::forgive_twice(found) } else { found });
    let mut root = root?;
    let NodeValue::Table(table) = &mut root.data else {
        let message = format!("a rule file must be a table, but this is {}", root.kind());
        report.push(Diagnostic::new(Code::SchemaType, message).at(root.span).help("begin it with `{ \"kind\": …, \"version\": … }`"));
        return None;
    };
    table.shift_remove("$schema");
    Some((source, root))
}

/// The top-level text `key` of a file, read without diagnostics, for a name that is needed before the whole file is
/// read.
pub(super) fn peek(file: &RuleFile, key: &str) -> Option<String> {
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let root = parse(file, SourceId::default(), text, &mut Report::default())?;
    root.get(key)?.as_text().map(str::to_owned)
}

/// The names that templates use for the tasks that a file declares, read without diagnostics.
pub fn tasks_in(file: &RuleFile) -> Vec<String> {
    let Some(root) = std::str::from_utf8(&file.bytes)
        .ok()
        .and_then(|text| parse(file, SourceId::default(), text.strip_prefix(BOM).unwrap_or(text), &mut Report::default()))
    else {
        return Vec::new();
    };
    let rows = root.get("task").and_then(DocumentNode::as_list).unwrap_or(&[]);
    rows.iter().filter_map(|row| row.get("for").or_else(|| row.get("name"))?.as_text().map(str::to_owned)).collect()
}

/// The rows of a table that a file brings, by name, read without diagnostics.
pub(super) fn rows_in(file: &RuleFile, table: &str) -> Vec<(Arc<str>, FieldMap)> {
    let text = std::str::from_utf8(&file.bytes).unwrap_or("");
    if !text.contains(&format!("[[{table}]]")) {
        return Vec::new();
    }
    let root = parse(file, SourceId::default(), text.strip_prefix(BOM).unwrap_or(text), &mut Report::default());
    let rows = root.as_ref().and_then(|root| root.get(table)).and_then(DocumentNode::as_list).unwrap_or(&[]);
    rows.iter().filter_map(|row| Some((Arc::from(row.get("name")?.as_text()?), row.as_table()?.clone()))).collect()
}

const BOM: char = '\u{FEFF}';

fn parse(file: &RuleFile, source: SourceId, text: &str, report: &mut Report) -> Option<DocumentNode> {
    if memory::exceeds(text.as_bytes(), limits::INPUT_MEMORY) {
        let message = format!("the values of this file take more than {} MiB of memory", limits::INPUT_MEMORY >> 20);
        let help = "split it into several files, or keep what is no rule in the scene";
        report.push(Diagnostic::new(Code::FileTooLarge, message).at(Span::new(source, 0, 0)).help(help));
        return None;
    }
    let is_json = file.path_in_pack.ends_with(".json") || file.name.ends_with(".json");
    if is_json { json::parse(source, text, report) } else { toml::parse(source, text, report) }
}

/// The text of a file as a source. `None`, with a diagnostic at the first bad byte, if it is not UTF-8.
pub(super) fn decode(file: &RuleFile, layer: &str, sources: &mut Sources, report: &mut Report) -> Option<(SourceId, Arc<str>)> {
    let text = match std::str::from_utf8(&file.bytes) {
        Ok(text) => text,
        Err(error) => {
            // up to the first bad byte the lossy text is the same, so the place is right
            let source = sources.add(&file.name, layer, &String::from_utf8_lossy(&file.bytes));
            let at = error.valid_up_to();
            let span = Span::new(source, at, at + char::REPLACEMENT_CHARACTER.len_utf8());
            let message = format!("the file is not valid UTF-8 (byte {at})");
            report.push(Diagnostic::new(Code::FileEncoding, message).at(span).label("not a character").help("save the file as UTF-8"));
            return None;
        }
    };
    let bare = text.strip_prefix(BOM);
    let source = sources.add(&file.name, layer, bare.unwrap_or(text));
    if bare.is_some() {
        let message = "the file begins with a byte order mark, which is ignored";
        report.push(Diagnostic::new(Code::FileBom, message).at(Span::new(source, 0, 0)).help("save the file as UTF-8 without BOM"));
    }
    let text = sources.get(source).map(|s| s.text.clone())?;
    Some((source, text))
}

/// The kind that a document names, as the word of the table of kinds.
fn kind_of(table: &FieldMap, root: Span, report: &mut Report) -> Option<&'static str> {
    let Some(field) = table.get("kind") else {
        let complaint = Diagnostic::new(Code::SchemaKind, "the file has no `kind`");
        report.push(match table.iter().find(|(key, _)| suggest::is_misspelt_key(key, "kind")) {
            Some((key, field)) => complaint.at(field.key).help(format!("did you mean `kind` by `{}`?", short::word(key))),
            None => complaint.at(root).help("begin it with `kind = \"…\"` and `version = 1`"),
        });
        return None;
    };
    let word = field.node.as_text().unwrap_or("");
    let known = KINDS.iter().map(|(name, _)| *name).find(|name| *name == word);
    if known.is_none() {
        let written = field.node.as_text().map_or_else(|| field.node.kind().to_owned(), |w| format!("`{w}`"));
        let names = || KINDS.iter().map(|(name, _)| *name);
        let help = suggest::help(word, names()).unwrap_or_else(|| format!("one of {}", names().collect::<Vec<_>>().join(", ")).into());
        report.push(Diagnostic::new(Code::SchemaKind, format!("{written} is not a kind of rule file")).at(field.node.span).help(help));
    }
    known
}

/// Upgrades an older version and checks the document against the newest schema.
fn versioned(root: &mut DocumentNode, kind: &'static str, layer: &str, schemas: &Schemas, report: &mut Report) {
    let Some(newest) = schemas.newest(kind) else {
        report.push(
            Diagnostic::new(Code::SchemaVersion, format!("kind `{kind}` has no schema"))
                .at(root.span)
                .help("this is a mistake of the program"),
        );
        return;
    };
    match version_of(root, kind, newest, report) {
        FormatVersion::Newest => {}
        FormatVersion::Older(from) => {
            if !upgrade::upgrade(root, kind, from, newest, report) {
                unsupported(root, kind, from, newest, report);
                return;
            }
        }
        FormatVersion::Unsupported => return,
    }
    if kind != "pack" {
        short_names::spell_out(root, report);
    }
    validate::check(root, &format!("{kind}.v{newest}.json"), layer, NamingStyle::Rows, schemas, report);
}

enum FormatVersion {
    Newest,
    Older(i64),
    Unsupported,
}

fn version_of(root: &mut DocumentNode, kind: &str, newest: i64, report: &mut Report) -> FormatVersion {
    let found = root.get("version").map(|n| n.data.clone());
    match found {
        Some(NodeValue::Int(n)) if n == newest => FormatVersion::Newest,
        Some(NodeValue::Int(n)) if (1..newest).contains(&n) => FormatVersion::Older(n),
        Some(NodeValue::Int(n)) => {
            unsupported(root, kind, n, newest, report);
            FormatVersion::Unsupported
        }
        other => {
            let span = root.get("version").map_or(root.span, |n| n.span);
            let message = if other.is_some() { "`version` must be a whole number" } else { "the file has no `version`" };
            report.push(Diagnostic::new(Code::SchemaVersion, message).at(span).help(format!("write `version = {newest}`")));
            // it is checked as the newest version, so that other mistakes are found too
            if let NodeValue::Table(table) = &mut root.data {
                table.insert(Arc::from("version"), TableField { key: span, node: DocumentNode { span, data: NodeValue::Int(newest) } });
            }
            FormatVersion::Newest
        }
    }
}

fn unsupported(root: &DocumentNode, kind: &str, version: i64, newest: i64, report: &mut Report) {
    let span = root.get("version").map_or(root.span, |n| n.span);
    let message = format!("version {version} of `{kind}` is not supported");
    let help = if version > newest {
        format!("the newest known is {newest}; a newer release of the program may know it")
    } else {
        format!("write it as version {newest}")
    };
    report.push(Diagnostic::new(Code::SchemaVersion, message).at(span).help(help));
}
