//! From rows to readings. Every mistake is reported at its place.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::tree::{DocumentPath, ElementPath, JsonTree, PathTest};
use super::{KeyPlace, ReplyReading, ReplyReadings};
use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Span, TableField, limits};
use crate::model::pack::{PackRow, PackRows};
use crate::model::term::{NONEMPTY_TEXT, RowTerms};
use crate::model::{Pack, Term, TermType};

/// Where something stands: one path, or several.
const PATHS: TermType = TermType::Json(r#"{ "$ref": "dialect.v2.json#/definitions/paths" }"#);
/// What must hold at some paths.
const TESTS: TermType = TermType::Json(r#"{ "$ref": "dialect.v2.json#/definitions/tests" }"#);

/// Keys of `key`.
const KEY: &[Term] = &[
    Term::new("name", NONEMPTY_TEXT, "name of the row, which is the dialect; a row of that name in a lower layer is patched key by key"),
    Term::json("header", r#"{ "type": "string", "pattern": "^[A-Za-z0-9-]+$" }"#, "name of the header"),
    Term::text("prefix", "what stands in front of the key in the header"),
    Term::json(
        "env",
        r#"{ "type": "array", "items": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" } }"#,
        "environment variables in which people keep the key. The command line reads them by itself only if the row is the one of a \
         shipped pack, and sends the key only to `origins`",
    ),
    Term::json(
        "origins",
        r#"{ "type": "array", "items": { "type": "string", "pattern": "^https://[a-z0-9.-]+(:[0-9]+)?$" } }"#,
        "the provider's own origins. A key that was found in one of the variables `env`, without being named by the caller, is \
         sent to these alone",
    ),
];

/// Keys of `reply`.
const REPLY: &[Term] = &[
    Term::new("name", NONEMPTY_TEXT, "name of the row, which is the dialect; a row of that name in a lower layer is patched key by key"),
    Term::new("like", NONEMPTY_TEXT, "another dialect whose rows are used too, after its own"),
    Term::json(
        "done",
        r#"{ "type": ["string", "array"], "items": { "type": "string" } }"#,
        "data of an event, or several, that only say that the stream is over",
    ),
    Term::json(
        "finish",
        r#"{ "type": "object", "additionalProperties": { "type": "string", "description": "The usual word." } }"#,
        "the provider's finish reason = the usual word: stop, length, tool_calls, content_filter",
    ),
    Term::json(
        "statuses",
        r#"{
            "type": "object",
            "additionalProperties": { "type": "integer", "description": "A status.", "minimum": 400, "maximum": 599 }
        }"#,
        "the provider's word for an error = the HTTP status that it stands for",
    ),
];

/// Keys of `reply_part`.
const REPLY_PART: &[Term] = &[
    Term::new("name", NONEMPTY_TEXT, "name of the row, `DIALECT/PART`; a row of that name in a lower layer is patched key by key"),
    Term::json(
        "of",
        r#"{ "type": ["string", "array"], "items": { "type": "string" } }"#,
        "the dialect or dialects that it belongs to; without it, the first part of the name",
    ),
    Term::json("stream", r#"{ "type": "boolean" }"#, "it is only about events of streams (true), or only about whole replies (false)"),
    Term::new("when", TESTS, "what must hold of the reply or event; `@event` is the event's name"),
    Term::new("each", NONEMPTY_TEXT, "the path of a list whose elements the row is about; `a.*.b` goes through the elements of `a`"),
    Term::new("where", TESTS, "what must hold of the element"),
    Term::new("text", PATHS, "where text of the answer stands"),
    Term::new("reasoning", PATHS, "where thoughts stand; the first path at which there is a text counts"),
    Term::new("signature", PATHS, "where a signature of the thoughts stands"),
    Term::json("call", r#"{ "$ref": "dialect.v2.json#/definitions/reply_call" }"#, "where the parts of a tool call stand"),
    Term::json(
        "detail",
        r#"{ "$ref": "dialect.v2.json#/definitions/reply_detail" }"#,
        "where a block stands that must be sent back as it is, such as a signed thought: `reasoning_details`",
    ),
    Term::json(
        "message",
        r#"{ "$ref": "dialect.v2.json#/definitions/path" }"#,
        "where a message in the shape of chat completions stands, whose fields are kept",
    ),
    Term::json(
        "append",
        r#"{ "type": "array", "items": { "type": "string", "minLength": 1 } }"#,
        "fields of that message whose texts come in pieces; others are replaced by what comes later",
    ),
    Term::new("finish", PATHS, "where the finish reason stands; the first path at which there is a text counts"),
    Term::new("usage", PATHS, "where token counts stand"),
    Term::json(
        "error",
        r#"{ "$ref": "dialect.v2.json#/definitions/reply_error" }"#,
        "where an error stands, or a table that says it of its parts",
    ),
    Term::flag("ends", "the stream is over with this event"),
];

/// The keys of rows about replies.
pub(crate) const ROWS: &[RowTerms] = &[("key", &[KEY]), ("reply", &[REPLY]), ("reply_part", &[REPLY_PART])];

/// Keys that say where something stands. A row without any of them reads nothing.
const PARTS: &[&str] = &["text", "reasoning", "signature", "call", "detail", "message", "finish", "usage", "error", "ends"];

/// The word of a test for a value that is missing or null.
const MISSING: &str = "@none";

impl ReplyReadings {
    /// Compiles the rows of a pack.
    #[must_use]
    pub fn compile(pack: &Pack) -> (Self, Report) {
        let none = PackRows::default();
        let table = |name: &str| pack.tables.get(name).unwrap_or(&none);
        let mut check = ReadingCompiler { replies: table("reply"), forms: table("form"), found: Report::default() };
        let mut own: FxHashMap<Arc<str>, ReplyReading> = FxHashMap::default();
        for row in check.replies.values() {
            own.insert(row.name.clone(), check.reply(row));
        }
        for row in table("reply_part").values() {
            check.part(row, &mut own);
        }
        let mut out = IndexMap::new();
        for row in check.replies.values() {
            let mut reading = ReplyReading::default();
            for name in check.chain(row) {
                if let Some(own) = own.get(&name) {
                    reading.extend(own);
                }
            }
            reading.settle();
            out.insert(row.name.clone(), Arc::new(reading));
        }
        let keys = table("key").values().filter_map(|row| Some((row.name.clone(), check.key(row)?))).collect();
        (Self { readings: out, keys }, check.found)
    }
}

impl ReplyReading {
    /// Adds what another dialect reads; what is there already decides.
    fn extend(&mut self, other: &Self) {
        if self.done.is_empty() {
            self.done.clone_from(&other.done);
        }
        for (word, means) in &other.finish {
            self.finish.entry(word.clone()).or_insert_with(|| means.clone());
        }
        for (word, status) in &other.statuses {
            self.statuses.entry(word.clone()).or_insert(*status);
        }
        self.whole.extend(other.whole.iter().cloned());
        self.stream.extend(other.stream.iter().cloned());
    }

    /// Fields of a streamed message that some row reads by itself are not taken over as they are.
    fn settle(&mut self) {
        let reads: Vec<DocumentPath> = self.stream.iter().flat_map(ReplyPart::paths).collect();
        for whole in self.stream.iter_mut().filter_map(|part| part.message.as_mut()) {
            whole.skip = reads.iter().filter_map(|path| path.key_behind(&whole.at)).cloned().collect();
        }
    }
}

impl ReplyPart {
    /// The paths from the document at which the row reads texts, thoughts and elements.
    fn paths(&self) -> Vec<DocumentPath> {
        match &self.each {
            Some(each) => each.0.first().cloned().into_iter().collect(),
            None => self.text.iter().chain(self.reasoning.iter().map(|(path, _)| path)).cloned().collect(),
        }
    }
}

struct ReadingCompiler<'p> {
    replies: &'p PackRows,
    forms: &'p PackRows,
    found: Report,
}

impl ReadingCompiler<'_> {
    /// The dialects whose rows one dialect uses, its own first.
    fn chain(&self, row: &PackRow) -> Vec<Arc<str>> {
        let mut chain = vec![row.name.clone()];
        let mut at = row;
        while let Some(next) = at.fields.get("like").and_then(|f| f.node.as_text()).and_then(|like| self.replies.get(like)) {
            if chain.contains(&next.name) || chain.len() >= limits::CHAIN {
                break;
            }
            chain.push(next.name.clone());
            at = next;
        }
        chain
    }

    fn key(&mut self, row: &PackRow) -> Option<KeyPlace> {
        self.dialect(row, "expect a key");
        let Some(header) = row.text("header") else {
            if !row.fields.contains_key("header") {
                let message = format!("row `{}` does not say in which header the key goes", row.name);
                self.say(Diagnostic::new(Code::TermMissing, message).at(row.name_span), row, "add `header = \"authorization\"`");
            }
            return None;
        };
        Some(KeyPlace {
            header: Arc::from(header.to_ascii_lowercase()),
            prefix: Arc::from(row.text("prefix").unwrap_or_default()),
            env: texts(row.fields.get("env")).map(|(name, _)| Arc::from(name)).collect(),
            origins: texts(row.fields.get("origins")).map(|(origin, _)| Arc::from(origin)).collect(),
        })
    }

    /// The row of a table has the name of a dialect.
    fn dialect(&mut self, row: &PackRow, could: &str) {
        if !self.forms.contains_key(format!("{}/payload", row.name).as_str()) {
            let dialects = self.forms.keys().filter_map(|name| name.strip_suffix("/payload"));
            let help = self.found.words.help(&row.name, dialects).unwrap_or_else(|| "the row has the name of a dialect".into());
            let message = format!("there is no dialect `{}` that could {could}", row.name);
            self.say(
                Diagnostic::new(Code::NameUnknown, message).at(row.name_span).missing_row(&["form"], format!("{}/payload", row.name)),
                row,
                help,
            );
        }
    }

    fn reply(&mut self, row: &PackRow) -> ReplyReading {
        self.dialect(row, "have replies");
        if let Some(field) = row.fields.get("like") {
            let like = field.node.as_text().unwrap_or_default();
            if !self.replies.contains_key(like) {
                self.unknown(like, field.node.span, row);
            } else if self.leads_back(row) {
                let message = format!("the replies of `{}` are to be read like its own", row.name);
                let help = "end the chain of `like` at a dialect that has none";
                self.say(Diagnostic::new(Code::ReplyPath, message).at(field.node.span), row, help);
            }
        }
        let words = |key: &str| row.fields.get(key).and_then(|f| f.node.as_table()).into_iter().flatten();
        ReplyReading {
            done: texts(row.fields.get("done")).map(|(text, _)| Arc::from(text)).collect(),
            finish: words("finish").filter_map(|(word, means)| Some((word.clone(), Arc::from(means.node.as_text()?)))).collect(),
            statuses: words("statuses")
                .filter_map(|(word, status)| Some((word.clone(), u16::try_from(status.node.to_json().as_u64()?).ok()?)))
                .collect(),
            ..ReplyReading::default()
        }
    }

    /// Whether the chain of `like` comes back to the row.
    fn leads_back(&self, row: &PackRow) -> bool {
        let next = |row: &PackRow| self.replies.get(row.text("like")?);
        let chain = std::iter::successors(next(row), |row| next(row));
        chain.take(self.replies.len()).any(|other| other.name == row.name)
    }

    fn part(&mut self, row: &PackRow, own: &mut FxHashMap<Arc<str>, ReplyReading>) {
        let part = self.read(row);
        if !PARTS.iter().any(|key| row.fields.contains_key(*key)) {
            let help = format!("add one of {}", PARTS.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "));
            let message = format!("row `{}` says nothing of where a part of a reply stands", row.name);
            self.say(Diagnostic::new(Code::TermMissing, message).at(row.name_span), row, help);
        }
        let stream = row.fields.get("stream").and_then(|f| f.node.as_bool());
        if let (Some(false), Some(field)) = (stream, row.fields.get("ends")) {
            let message = "`ends` has no effect in a row that is not for streams";
            self.say(Diagnostic::new(Code::ReplyUnused, message).at(field.node.span), row, "remove it, or write `stream = true`");
        }
        if let (None, Some(field)) = (&part.each, row.fields.get("where")) {
            let message = "`where` has no effect without `each`";
            self.say(Diagnostic::new(Code::ReplyUnused, message).at(field.node.span), row, "write `when` to test the event or the reply");
        }
        let named: Vec<(String, Span)> = match row.fields.get("of") {
            Some(field) => texts(Some(field)).map(|(name, span)| (name.to_owned(), span)).collect(),
            None => vec![(row.name.split('/').next().unwrap_or_default().to_owned(), row.name_span)],
        };
        for (dialect, span) in named {
            let Some(reading) = own.get_mut(dialect.as_str()) else {
                self.unknown(&dialect, span, row);
                continue;
            };
            if stream != Some(true) {
                reading.whole.push(part.clone());
            }
            if stream != Some(false) {
                reading.stream.push(part.clone());
            }
        }
    }

    fn read(&mut self, row: &PackRow) -> ReplyPart {
        let message = row.fields.get("message").map(|field| WholeMessage {
            at: self.path(&field.node, row).unwrap_or_default(),
            skip: Vec::new(),
            append: texts(row.fields.get("append")).map(|(path, _)| path.split('.').map(Arc::from).collect()).collect(),
        });
        if let (None, Some(field)) = (&message, row.fields.get("append")) {
            let text = "`append` has no effect without `message`";
            self.say(Diagnostic::new(Code::ReplyUnused, text).at(field.node.span), row, "add `message`, or remove it");
        }
        let reasoning = self.paths(row, "reasoning");
        let inside = |path: &DocumentPath| path.key_behind(&message.as_ref()?.at).filter(|_| !row.fields.contains_key("each")).cloned();
        let reasoning = reasoning.into_iter().map(|path| (inside(&path).unwrap_or_else(|| Arc::from("reasoning")), path));
        let reasoning = reasoning.map(|(key, path)| (path, key)).collect();
        ReplyPart {
            when: self.tests(row, "when"),
            each: row.fields.get("each").and_then(|field| self.each(&field.node, row)),
            of_which: if row.fields.contains_key("each") { self.tests(row, "where") } else { Vec::new() },
            text: self.paths(row, "text"),
            reasoning,
            signature: self.paths(row, "signature"),
            call: row.fields.get("call").map(|field| self.call(&field.node, row)),
            detail: row.fields.get("detail").map(|field| self.detail(&field.node, row)),
            message,
            finish: self.paths(row, "finish"),
            usage: self.paths(row, "usage"),
            error: row.fields.get("error").map(|field| self.trouble(&field.node, row)),
            ends: row.fields.get("ends").and_then(|f| f.node.as_bool()) == Some(true),
        }
    }

    fn call(&mut self, node: &DocumentNode, row: &PackRow) -> CallPaths {
        let mut path = |key: &str| node.get(key).and_then(|node| self.path(node, row));
        CallPaths {
            index: path("index"),
            id: path("id"),
            name: path("name"),
            arguments: path("arguments"),
            signature: path("signature"),
            rest: node.get("rest").and_then(DocumentNode::as_bool) == Some(true),
        }
    }

    fn detail(&mut self, node: &DocumentNode, row: &PackRow) -> DetailPaths {
        let add = node.get("add").and_then(DocumentNode::as_table).into_iter().flatten();
        DetailPaths {
            add: add.filter_map(|(key, field)| Some((key.clone(), self.path(&field.node, row)?))).collect(),
            index: node.get("index").and_then(|node| self.path(node, row)),
            at: node.get("at").and_then(|node| self.path(node, row)),
        }
    }

    /// Where an error stands: a path, or a table of paths.
    fn trouble(&mut self, node: &DocumentNode, row: &PackRow) -> ErrorPaths {
        let plain = |key: &str| DocumentPath::parse(key).unwrap_or_default();
        let mut out = ErrorPaths {
            at: DocumentPath::default(),
            message: plain("message"),
            status: vec![plain("code"), plain("status"), plain("type")],
        };
        if node.as_text().is_some() {
            out.at = self.path(node, row).unwrap_or_default();
            return out;
        }
        if let Some(node) = node.get("at") {
            out.at = self.path(node, row).unwrap_or_default();
        }
        if let Some(node) = node.get("message") {
            out.message = self.path(node, row).unwrap_or_default();
        }
        if let Some(node) = node.get("status") {
            out.status = nodes(node).filter_map(|node| self.path(node, row)).collect();
        }
        out
    }

    fn tests(&mut self, row: &PackRow, key: &str) -> Vec<PathTest> {
        let table = row.fields.get(key).and_then(|f| f.node.as_table()).into_iter().flatten();
        let tests = table.filter_map(|(at, field)| {
            let one_of = nodes(&field.node).map(|node| if node.as_text() == Some(MISSING) { Json::Null } else { node.to_json() }).collect();
            if at.as_ref() == "@event" {
                return Some(PathTest { at: None, one_of });
            }
            match DocumentPath::parse(at) {
                Ok(at) => Some(PathTest { at: Some(at), one_of }),
                Err(why) => {
                    self.bad(at, why, field.key, row);
                    None
                }
            }
        });
        tests.collect()
    }

    fn paths(&mut self, row: &PackRow, key: &str) -> Vec<DocumentPath> {
        row.fields.get(key).into_iter().flat_map(|field| nodes(&field.node)).filter_map(|node| self.path(node, row)).collect()
    }

    fn path(&mut self, node: &DocumentNode, row: &PackRow) -> Option<DocumentPath> {
        let text = node.as_text()?;
        DocumentPath::parse(text).map_err(|why| self.bad(text, why, node.span, row)).ok()
    }

    fn each(&mut self, node: &DocumentNode, row: &PackRow) -> Option<ElementPath> {
        let text = node.as_text()?;
        ElementPath::parse(text).map_err(|why| self.bad(text, why, node.span, row)).ok()
    }

    fn bad(&mut self, path: &str, why: &str, span: Span, row: &PackRow) {
        let message = format!("`{path}` is no path into a reply: {why}");
        let help = "write keys and indexes of the JSON, such as `choices.0.message`, or `@` for the whole";
        self.say(Diagnostic::new(Code::ReplyPath, message).at(span), row, help);
    }

    fn unknown(&mut self, dialect: &str, span: Span, row: &PackRow) {
        let help = self.found.words.help(dialect, self.replies.keys().map(AsRef::as_ref));
        let help = help.unwrap_or_else(|| format!("add a row `[[reply]]` with `name = \"{dialect}\"`").into());
        let message = format!("no row of `reply` is called `{dialect}`");
        self.say(Diagnostic::new(Code::NameUnknown, message).at(span).missing_row(&["reply"], dialect), row, help);
    }

    fn say(&mut self, mut complaint: Diagnostic, row: &PackRow, help: impl Into<Help>) {
        complaint.details.insert("row".into(), row.name.as_ref().into());
        self.found.push(complaint.help(help));
    }
}

/// A value, or the elements of a list.
fn nodes(node: &DocumentNode) -> impl Iterator<Item = &DocumentNode> {
    node.as_list().unwrap_or(std::slice::from_ref(node)).iter()
}

/// A text, or the texts of a list, each with its place.
fn texts(field: Option<&TableField>) -> impl Iterator<Item = (&str, Span)> {
    field.into_iter().flat_map(|field| nodes(&field.node)).filter_map(|node| Some((node.as_text()?, node.span)))
}

/// A row of table `reply_part`.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplyPart {
    /// What must hold of the document.
    pub(super) when: Vec<PathTest>,
    /// The elements that the row is about; without it, the document.
    pub(super) each: Option<ElementPath>,
    /// What must hold of an element.
    pub(super) of_which: Vec<PathTest>,
    pub(super) text: Vec<DocumentPath>,
    /// Thoughts, and the field of the message that they belong in.
    pub(super) reasoning: Vec<(DocumentPath, Arc<str>)>,
    pub(super) signature: Vec<DocumentPath>,
    pub(super) call: Option<CallPaths>,
    pub(super) detail: Option<DetailPaths>,
    pub(super) message: Option<WholeMessage>,
    /// The first that there is counts.
    pub(super) finish: Vec<DocumentPath>,
    pub(super) usage: Vec<DocumentPath>,
    pub(super) error: Option<ErrorPaths>,
    /// The stream is over with this event.
    pub(super) ends: bool,
}

/// Where the parts of a tool call stand.
#[derive(Debug, Clone, Default)]
pub(super) struct CallPaths {
    pub(super) index: Option<DocumentPath>,
    pub(super) id: Option<DocumentPath>,
    pub(super) name: Option<DocumentPath>,
    pub(super) arguments: Option<DocumentPath>,
    pub(super) signature: Option<DocumentPath>,
    /// Other fields of the element are kept.
    pub(super) rest: bool,
}

impl CallPaths {
    /// Whether there is anything of a call.
    pub(super) fn is_at(&self, at: &JsonTree<'_>) -> bool {
        [&self.id, &self.name, &self.arguments].into_iter().flatten().any(|path| path.of(at).is_some())
    }

    /// The keys of an element that are read.
    pub(super) fn reads(&self, key: &str) -> bool {
        let paths = [&self.index, &self.id, &self.name, &self.arguments, &self.signature];
        paths.into_iter().flatten().filter_map(|path| path.0.first()).any(|step| step.key.as_ref() == key)
    }
}

/// Where a block stands that is kept as it is, such as a signed thought.
#[derive(Debug, Clone, Default)]
pub(super) struct DetailPaths {
    pub(super) index: Option<DocumentPath>,
    /// The block.
    pub(super) at: Option<DocumentPath>,
    /// Texts that are appended to a field of the block.
    pub(super) add: Vec<(Arc<str>, DocumentPath)>,
}

impl DetailPaths {
    /// Whether there is anything of a block.
    pub(super) fn is_at(&self, at: &JsonTree<'_>) -> bool {
        self.at.iter().chain(self.add.iter().map(|(_, path)| path)).any(|path| path.of(at).is_some())
    }
}

/// Where a message in the shape of chat completions stands: its fields are taken as they are.
#[derive(Debug, Clone, Default)]
pub(super) struct WholeMessage {
    pub(super) at: DocumentPath,
    /// Fields that rows read by themselves.
    pub(super) skip: Vec<Arc<str>>,
    /// Texts that are appended to what earlier events gave; other fields are replaced.
    pub(super) append: Vec<Vec<Arc<str>>>,
}

/// Where an error stands.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorPaths {
    pub(super) at: DocumentPath,
    pub(super) message: DocumentPath,
    /// A number, or a word of the dialect's `statuses`.
    pub(super) status: Vec<DocumentPath>,
}
