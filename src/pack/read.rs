//! From the bytes of a rule file to a checked document: encoding, syntax, version, schema.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::KINDS;
use super::files::RuleFile;
use super::schemas::Schemas;
use super::validate::NamingStyle;
use super::{compact, expressions, json, library, toml, validate, words};
use crate::diag::{
    Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, Severity, SourceId, Sources, Span, TableField, limits, memory, short,
    suggest,
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

/// A file that is yet to be checked against its schema.
pub(super) struct SchemaCheck {
    root: DocumentNode,
    schema: String,
    layer: String,
}

impl SchemaCheck {
    pub(super) fn run(&self, schemas: &Schemas, report: &mut Report) {
        validate::check(&self.root, &self.schema, &self.layer, NamingStyle::Rows, schemas, report);
    }
}

/// Reads a file of `layer` and checks it against the newest schema of its kind. `None` when it cannot be read at all
/// (encoding, syntax); the report says why. A template is not checked here, because it may be merged over another one; nor is
/// a file that is embedded in the program.
pub fn read(file: &RuleFile, layer: &str, sources: &mut Sources, schemas: &Schemas, report: &mut Report) -> Option<RuleDocument> {
    let mut checks = Vec::new();
    let document = read_unchecked(file, layer, sources, schemas, report, &mut checks);
    checks.iter().for_each(|check| check.run(schemas, report));
    document
}

/// The same, with its check in `checks`.
pub(super) fn read_unchecked(
    file: &RuleFile,
    layer: &str,
    sources: &mut Sources,
    schemas: &Schemas,
    report: &mut Report,
    checks: &mut Vec<SchemaCheck>,
) -> Option<RuleDocument> {
    let (_, mut root) = tree(file, layer, false, sources, report)?;
    let kind = match root.as_table() {
        Some(table) if template::is_shaped(table) => Some(template::KIND),
        Some(table) => kind_of(table, root.span, report),
        None => None,
    };
    if let Some(kind) = kind.filter(|kind| *kind != template::KIND) {
        // what an embedded tree was made of is checked, and its expressions are read
        let is_embedded = library::embedded_tree(layer, file).is_some();
        let newest = versioned(&mut root, kind, schemas, is_embedded, report);
        if let Some(newest) = newest.filter(|_| !is_embedded && !library::is_embedded(layer, file)) {
            checks.push(SchemaCheck { root: root.clone(), schema: format!("{kind}.v{newest}.json"), layer: layer.to_owned() });
        }
        without_idle(&mut root, kind, sources, report);
        if !is_embedded {
            expressions::write_tables(&mut root, sources);
        }
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
    let embedded = library::embedded_tree(layer, file).and_then(|tree| compact::read(source, &text, tree));
    let root = embedded.or_else(|| parse(file, source, &text, &mut found));
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
    tree_in(file)?.get(key)?.as_text().map(str::to_owned)
}

/// The names that templates use for the tasks that a file declares, read without diagnostics.
pub fn tasks_in(file: &RuleFile) -> Vec<String> {
    let root = tree_in(file);
    let rows = root.as_ref().and_then(|root| root.get("task")).and_then(DocumentNode::as_list).unwrap_or(&[]);
    rows.iter().filter_map(|row| row.get("for").or_else(|| row.get("name"))?.as_text().map(str::to_owned)).collect()
}

/// The rows of a table that a file brings, by name, read without diagnostics.
pub(super) fn rows_in(file: &RuleFile, table: &str) -> Vec<(Arc<str>, FieldMap)> {
    let text = std::str::from_utf8(&file.bytes).unwrap_or("");
    if !text.contains(&format!("[[{table}]]")) {
        return Vec::new();
    }
    let root = tree_in(file);
    let rows = root.as_ref().and_then(|root| root.get(table)).and_then(DocumentNode::as_list).unwrap_or(&[]);
    rows.iter().filter_map(|row| Some((Arc::from(row.get("name")?.as_text()?), row.as_table()?.clone()))).collect()
}

/// What a file holds, read without diagnostics.
fn tree_in(file: &RuleFile) -> Option<DocumentNode> {
    let text = std::str::from_utf8(&file.bytes).ok()?;
    parse(file, SourceId::default(), text.strip_prefix(BOM).unwrap_or(text), &mut Report::default())
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
            None => complaint.at(root).help("begin it with `kind = \"…\"` and `version = 2`"),
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

/// What a rule file says in the words of its newest version, as JSON; `None` if it cannot be read. Two files of which this is equal
/// give the same rules.
#[must_use]
pub fn newest_words(text: &str) -> Option<serde_json::Value> {
    let mut report = Report::default();
    let root = toml::parse(SourceId::default(), text, &mut report)?;
    let mut json = newest_tree(root, &Sources::default(), false)?.to_json();
    trim_expressions(&mut json);
    Some(json)
}

/// The tree of a rule file in the words of its newest version, with expressions as the tables that they say; `None` for what is no
/// rule file. Those of an embedded tree are so already.
#[must_use]
pub fn newest_tree(mut root: DocumentNode, sources: &Sources, is_embedded: bool) -> Option<DocumentNode> {
    let mut report = Report::default();
    let kind = kind_of(root.as_table()?, root.span, &mut report)?;
    versioned(&mut root, kind, Schemas::shipped(), is_embedded, &mut report)?;
    if !is_embedded {
        expressions::write_tables(&mut root, sources);
    }
    Some(root)
}

/// The `=` before an expression may be left out where a table holds it.
fn trim_expressions(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Array(list) => list.iter_mut().for_each(trim_expressions),
        serde_json::Value::Object(table) => {
            if let (1, Some(serde_json::Value::String(text))) = (table.len(), table.get_mut("=")) {
                *text = text.strip_prefix('=').unwrap_or(text).trim().to_owned();
            }
            table.values_mut().for_each(trim_expressions);
        }
        _ => {}
    }
}

/// Upgrades an older version and spells out short names. Returns the newest version, if the document is of it now.
fn versioned(root: &mut DocumentNode, kind: &'static str, schemas: &Schemas, is_embedded: bool, report: &mut Report) -> Option<i64> {
    let Some(newest) = schemas.newest(kind) else {
        report.push(
            Diagnostic::new(Code::SchemaVersion, format!("kind `{kind}` has no schema"))
                .at(root.span)
                .help("this is a mistake of the program"),
        );
        return None;
    };
    let is_newest = root.get("version").is_some_and(|version| version.data == NodeValue::Int(newest));
    if kind != "pack" && is_newest && !is_embedded {
        words::read(root, report);
    }
    match version_of(root, kind, newest, report) {
        FormatVersion::Newest => {}
        FormatVersion::Older(from) => {
            if !upgrade(root, kind, from, newest, report) {
                unsupported(root, kind, from, newest, report);
                return None;
            }
        }
        FormatVersion::Unsupported => return None,
    }
    if kind != "pack" {
        spell_out(root, report);
    }
    Some(newest)
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

/// One step: the kind, the version that it starts from, and what it does.
type UpgradeStep = (&'static str, i64, fn(&mut DocumentNode, &mut Report));

/// All steps but that to the newest version, which renames words.
const STEPS: &[UpgradeStep] = &[("case", 1, case_1)];

/// Keys at the top of the newest version that have no effect any more, by kind. Their schemas still know them.
const IDLE: &[(&str, &str)] = &[("pack", "entry_points")];

/// Takes out and tells the keys that have no effect any more.
fn without_idle(root: &mut DocumentNode, kind: &str, sources: &Sources, report: &mut Report) {
    let NodeValue::Table(table) = &mut root.data else { return };
    for (_, key) in IDLE.iter().filter(|(of, _)| *of == kind) {
        let Some(field) = table.shift_remove(*key) else { continue };
        let told = Diagnostic::new(Code::SchemaUpgraded, format!("`{key}` has no effect")).at(field.key);
        let told = told.help("remove it, with everything below it");
        let source = field.key.source;
        report.push(match sources.get(source).and_then(|file| lines_of(&file.text, key, &field)) {
            Some(lines) => told.fix(Span::new(source, lines.start, lines.end), ""),
            None => told,
        });
    }
}

/// The lines of a key of a file of TOML and of everything below it, if the file says all else without them.
fn lines_of(text: &str, key: &str, field: &TableField) -> Option<Range<usize>> {
    let (first, last) = (field.key.start as usize, end_of(field) as usize);
    let start = text.get(..first)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(last..)?.find('\n').map_or(text.len(), |at| last + at + 1);
    let rest = format!("{}{}", text.get(..start)?, text.get(end..)?);
    let mut whole = text.parse::<::toml::Table>().ok()?;
    whole.remove(key)?;
    (rest.parse::<::toml::Table>().ok()? == whole).then_some(start..end)
}

/// Where a field ends, with everything below it. A file nests no deeper than its reader allows.
fn end_of(field: &TableField) -> u32 {
    let below = field.node.as_table().and_then(|table| table.values().map(end_of).max());
    field.key.end.max(field.node.span.end).max(below.unwrap_or(0))
}

/// Upgrades a document from version `from` to `to`. `false` when a step is missing: the version is too old.
fn upgrade(root: &mut DocumentNode, kind: &str, from: i64, to: i64, report: &mut Report) -> bool {
    for version in from..to {
        if version + 1 == to {
            // the newest version has other words for the same, which is no reason to write a file again
            words::upgrade(root, report);
            break;
        }
        let Some((_, _, step)) = STEPS.iter().find(|(k, v, _)| *k == kind && *v == version) else { return false };
        let before = root.clone();
        step(root, report);
        // a document in which nothing else is old needs the new number only
        let number_alone = before == *root;
        let span = root.get("version").map_or(root.span, |node| node.span);
        let message = format!("`{kind}` version {version} was read as version {}", version + 1);
        let told = Diagnostic::new(Code::SchemaUpgraded, message).at(span);
        let told = told.help(format!("write it as version {}; docs/reference/{kind}.md shows how", version + 1));
        report.push(if number_alone { told.fix(span, (version + 1).to_string()) } else { told });
    }
    let NodeValue::Table(table) = &mut root.data else { return false };
    let Some(field) = table.get_mut("version") else { return false };
    field.node.data = NodeValue::Int(to);
    true
}

/// Version 1 of a test knew one list: `list` (its name), `given` and `then` (its rows before and after), and
/// `error` beside them. Version 2 has any number of lists in `lists`, and all expectations in `expect`.
fn case_1(root: &mut DocumentNode, _: &mut Report) {
    let NodeValue::Table(table) = &mut root.data else { return };
    let Some(TableField { node: DocumentNode { data: NodeValue::List(rows), .. }, .. }) = table.get_mut("case") else { return };
    for row in rows {
        let NodeValue::Table(row) = &mut row.data else { continue };
        let list = row.shift_remove("list");
        let name: Arc<str> = list.as_ref().and_then(|f| f.node.as_text()).map_or_else(|| Arc::from("blocks"), Arc::from);
        let mut expect = FieldMap::default();
        if let Some(given) = row.shift_remove("given") {
            let key = given.key;
            row.insert(Arc::from("lists"), wrapped(key, one(name.clone(), given)));
        }
        if let Some(then) = row.shift_remove("then") {
            let key = then.key;
            expect.insert(Arc::from("lists"), wrapped(key, one(name, then)));
        }
        for key in ["error", "warnings", "set"] {
            if let Some(field) = row.shift_remove(key) {
                expect.insert(Arc::from(key), field);
            }
        }
        if let Some(key) = expect.values().next().map(|f| f.key) {
            row.insert(Arc::from("expect"), wrapped(key, expect));
        }
    }
}

fn one(name: Arc<str>, field: TableField) -> FieldMap {
    FieldMap::from_iter([(name, field)])
}

fn wrapped(key: Span, table: FieldMap) -> TableField {
    TableField { key, node: DocumentNode { span: key, data: NodeValue::Table(table) } }
}

/// Completes the names of the passes and rounds of a file about one program: `scan` in a file of `program = "lore"` is
/// `lore/scan`, and keeps its place. `[program]` becomes a list of one row.
fn spell_out(root: &mut DocumentNode, report: &mut Report) {
    let NodeValue::Table(table) = &mut root.data else { return };
    let program = program_of(table);
    let name = program.as_ref().map(|(name, _)| name.clone());
    let declared: Vec<String> = rows_of(table, "program").filter_map(|row| row.get("name")?.node.as_text().map(str::to_owned)).collect();
    let mut used = false;
    for row in rows_mut(table, "pass") {
        let Some(TableField { node: DocumentNode { data: NodeValue::Text(text), span }, .. }) = row.get_mut("name") else { continue };
        match &name {
            _ if text.contains('/') || text.is_empty() => {}
            Some(program) => {
                *text = format!("{program}/{text}").into();
                used = true;
            }
            None => report.push(no_program(text, *span, &declared)),
        }
    }
    for row in rows_mut(table, "round") {
        for key in ["name", "before", "after"] {
            let Some(TableField { node: DocumentNode { data: NodeValue::Text(text), .. }, .. }) = row.get_mut(key) else { continue };
            // `pass/round`; a name without a slash is a round of the same pass
            if let Some(program) = name.as_ref().filter(|_| text.matches('/').count() == 1) {
                *text = format!("{program}/{text}").into();
                used = true;
            }
        }
    }
    if let Some((name, Some(span))) = program.filter(|_| !used) {
        let message = format!("the file says that its program is `{name}`, but no pass or round of it has a short name");
        let mut complaint = Diagnostic::new(Code::SchemaValue, message).at(span);
        complaint.severity = Severity::Warning;
        report.push(complaint.help(format!("write `name = \"scan\"` in place of `name = \"{name}/scan\"`, or take the line out")));
    }
}

/// The program that the file is about, with its place if it is only a name. The schema check refuses anything else.
fn program_of(table: &mut FieldMap) -> Option<(Arc<str>, Option<Span>)> {
    let TableField { node, .. } = table.get_mut("program")?;
    match &node.data {
        NodeValue::Text(name) if !name.is_empty() && !name.contains('/') => {
            let found = (name.clone(), Some(node.span));
            table.shift_remove("program");
            Some(found)
        }
        NodeValue::Table(row) => {
            let name = row.get("name").and_then(|f| f.node.as_text()).map(Arc::from);
            let row = node.clone();
            node.data = NodeValue::List(vec![row]);
            Some((name?, None))
        }
        _ => None,
    }
}

fn rows_of<'t>(table: &'t FieldMap, name: &str) -> impl Iterator<Item = &'t FieldMap> {
    table.get(name).and_then(|f| f.node.as_list()).unwrap_or(&[]).iter().filter_map(DocumentNode::as_table)
}

fn rows_mut<'t>(table: &'t mut FieldMap, name: &str) -> impl Iterator<Item = &'t mut FieldMap> {
    let rows = match table.get_mut(name) {
        Some(TableField { node: DocumentNode { data: NodeValue::List(rows), .. }, .. }) => rows.as_mut_slice(),
        _ => &mut [],
    };
    rows.iter_mut().filter_map(|row| if let NodeValue::Table(row) = &mut row.data { Some(row) } else { None })
}

fn no_program(name: &str, span: Span, declared: &[String]) -> Diagnostic {
    let help = match declared {
        [one] => format!("write `{one}/{name}`, or `[program]` in place of `[[program]]`: then short names are of `{one}`"),
        [] => format!("write `PROGRAM/{name}`, or say `program = \"PROGRAM\"` at the top of the file"),
        _ => {
            let nearest =
                suggest::nearest(name, declared.iter().map(String::as_str)).map_or_else(|| "PROGRAM".to_owned(), |near| near.replacement);
            format!("write `{nearest}/{name}`: a file with several programs names each pass in full")
        }
    };
    Diagnostic::new(Code::SchemaValue, format!("pass `{name}` does not say which program it is of")).at(span).label("no program").help(help)
}

/// The texts of files that could not be read.
///
/// A syntax error in one file must neither hide the mistakes of the others nor cause an error about every name that the
/// file defines: a diagnostic about a missing name is held back if such a text mentions the name.
#[derive(Debug, Default)]
pub struct UnreadTexts(Vec<String>);

impl UnreadTexts {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.push(String::from_utf8_lossy(bytes).into_owned());
    }

    /// Whether every file could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the diagnostics from a report that an unreadable file may have caused.
    pub fn excuse(&self, report: &mut Report) {
        if !self.is_empty() {
            let mut search = NameSearch { texts: &self.0, known: HashMap::new(), read: 0 };
            report.retain(|complaint| !search.explains(complaint));
        }
    }
}

/// A search for many names.
struct NameSearch<'t> {
    texts: &'t [String],
    known: HashMap<String, bool>,
    /// The bytes that were searched.
    read: usize,
}

impl NameSearch<'_> {
    /// Whether one of the texts holds the missing name, or its last part, as a word. Once too much has been read, any
    /// name may stand there: the diagnostics of the unreadable files remain, and the others come once these can be read.
    fn explains(&mut self, complaint: &Diagnostic) -> bool {
        let Some(name) = complaint.missing.as_deref().filter(|n| !n.is_empty()) else { return false };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let last = name.rsplit(['/', '.']).next().unwrap_or(name);
        self.read = self.read.saturating_add(self.texts.iter().map(String::len).sum());
        let found = self.read > limits::RULES_MEMORY
            || self.texts.iter().any(|text| has_word(text, name) || !last.is_empty() && has_word(text, last));
        self.known.insert(name.to_owned(), found);
        found
    }
}

/// Whether a name stands in a text as a word of its own.
pub(super) fn has_word(text: &str, name: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        let after = text.get(at + name.len()..).and_then(|rest| rest.chars().next());
        !inside(text.get(..at).and_then(|before| before.chars().next_back())) && !inside(after)
    })
}
