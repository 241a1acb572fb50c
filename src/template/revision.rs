//! The revisions of the template language: options of one engine, as the rows of table `revision` give them.
//!
//! A file says which revision it was written for, so a pack that wants another behaviour adds a row and changes none.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Report, TableField, short, suggest};
use crate::model::term::{NONEMPTY_TEXT, TEXTS};
use crate::model::{Pack, Term};
use crate::text::leaf::LeafSyntax;

/// The table of a pack that holds them.
pub(crate) const TABLE: &str = "revision";

/// Keys of `revision`.
pub(super) const REVISION: &[Term] = &[
    Term::new(
        "name",
        NONEMPTY_TEXT,
        "name of the row, which templates write as `revision`; a row of that name in a lower layer is patched key by key",
    ),
    Term::word(
        "syntax",
        &["paths", "expressions"],
        "the tags of texts. `paths` (the default): `{{path}}`. `expressions`: also `{{a == 1}}` and `{{#if x}}`",
    ),
    Term::flag("flags", "whether `prefix`, `skipIfEmptyInterpolation`, `interleave` and `stopWhenOutOfBudget` are known"),
    Term::flag("conditions", "whether messages and anchors have `when`, a list of conditions"),
    Term::flag("anchors", "whether there are anchors and `attachments`"),
    Term::flag(
        "layout_first",
        "`true`: the layout's own texts are paid for before slots run. `false` (the default): after them, from what is left",
    ),
    Term::flag(
        "frame_stops",
        "`true`: a message of a header or footer that does not fit ends it. `false` (the default): the next one is tried",
    ),
    Term::flag(
        "joins_shared",
        "where the layout places a slot twice, joining neighbours changes its messages at `true`: every place, `false` (the \
         default): that place only",
    ),
    Term::text("joint", "the text between neighbours of the same role, which become one message. It costs no tokens")
        .default("a line break"),
    Term::json(
        "roles",
        r#"{ "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } }"#,
        "the roles that messages can have",
    )
    .default("`system`, `user`, `assistant`"),
    Term::new("prefix_roles", TEXTS, "the roles whose messages can have `prefix`").default("`assistant`"),
    Term::text("separator_role", "the role of the texts between the items of a loop").default("`user`"),
    Term::text("lane_role", "the role of the messages of a lane that names none").default("`system`"),
    Term::json(
        "spellings",
        r#"{
            "type": "object",
            "additionalProperties": { "type": "string", "description": "A key or word of templates." }
        }"#,
        "other spellings of keys, kinds and types of templates: written = the word that it stands for (`max_tokens = \"maxTokens\"`)",
    ),
];

/// How templates of a revision are read and rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name of its row.
    pub name: Arc<str>,
    /// The syntax of tags in texts.
    pub leaf: LeafSyntax,
    /// Whether `prefix`, `skipIfEmptyInterpolation`, `interleave` and `stopWhenOutOfBudget` are known.
    pub knows_flags: bool,
    /// Whether messages and anchors have `when`, a list of conditions.
    pub knows_conditions: bool,
    /// Whether anchors and lanes are known.
    pub knows_anchors: bool,
    /// Whether the layout's own texts are paid for before slots run, from a reserve; otherwise they are paid for after
    /// them, from what is left.
    pub reserves_layout: bool,
    /// Whether a frame block that does not fit ends its header or footer; otherwise the next block is tried.
    pub frame_stops: bool,
    /// Whether joining neighbours changes a slot's message at every place of the slot.
    pub joins_shared: bool,
    /// The text between neighbours that are joined; it costs no tokens.
    pub joint: Arc<str>,
    /// The roles that messages can have.
    pub roles: Arc<[MessageRole]>,
    /// The roles whose messages can have `prefix`.
    pub prefix_roles: Arc<[MessageRole]>,
    /// The role of the texts between the items of a loop.
    pub separator_role: MessageRole,
    /// The role of the messages of a lane that names none.
    pub lane_role: MessageRole,
    /// Other spellings of keys and words, and what they stand for.
    pub spellings: IndexMap<Arc<str>, Arc<str>>,
}

/// The role of a message: one of those that the revision of its template has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRole(pub Arc<str>);

impl MessageRole {
    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The revisions of a pack, in the order of their rows; the first is that of a file that names none.
#[derive(Debug, Clone, Default)]
pub struct Revisions(IndexMap<Arc<str>, Arc<Revision>>);

impl Revisions {
    /// Reads the rows of a pack. Roles that do not fit together are reported.
    #[must_use]
    pub fn of(pack: &Pack, report: &mut Report) -> Self {
        Self::read(pack.tables.get(TABLE).into_iter().flatten().map(|(name, row)| (name, &row.fields)), report)
    }

    /// The same from the names and fields of rows.
    pub fn read<'a>(rows: impl IntoIterator<Item = (&'a Arc<str>, &'a FieldMap)>, report: &mut Report) -> Self {
        Self(rows.into_iter().map(|(name, fields)| (name.clone(), Arc::new(Revision::read(name, fields, report)))).collect())
    }

    /// The revision of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Revision>> {
        self.0.get(name)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Revision>> {
        self.0.values()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    /// The revision that a file is written in: the one that it names, else `default`, else the first.
    ///
    /// # Errors
    /// There is no revision of that name, or none at all.
    pub fn of_file(&self, root: &DocumentNode, default: Option<&str>) -> Result<&Arc<Revision>, Box<Diagnostic>> {
        let written = root.get("revision").filter(|node| node.as_text().is_some());
        let Some(name) = written.and_then(DocumentNode::as_text).or(default) else {
            return self.0.values().next().ok_or_else(|| {
                let complaint = Diagnostic::new(Code::NameUnknown, "the pack has no revision of templates").at(root.span);
                Box::new(complaint.missing(TABLE).help("extend a pack that has [[revision]] rows, or add one"))
            });
        };
        self.get(name).ok_or_else(|| Box::new(self.unknown(name, written.unwrap_or(root)).label("not one of the allowed values")))
    }

    /// The diagnostic about a name that no revision has.
    pub(super) fn unknown(&self, name: &str, at: &DocumentNode) -> Diagnostic {
        let complaint = Diagnostic::new(Code::SchemaValue, format!("`revision` cannot be `{}`", short::word(name))).at(at.span);
        let help = suggest::help(name, self.names()).unwrap_or_else(|| "name a [[revision]] row, or add one".into());
        complaint.missing_row(&[TABLE], name).help(help)
    }
}

impl Revision {
    /// Reads a row that has passed its schema; a missing key has its default.
    fn read(name: &Arc<str>, fields: &FieldMap, report: &mut Report) -> Self {
        let node = |key: &str| fields.get(key).map(|field| &field.node);
        let flag = |key: &str| node(key).and_then(DocumentNode::as_bool).unwrap_or(false);
        let role = |node: &DocumentNode| node.as_text().map(|text| MessageRole(Arc::from(text)));
        let listed =
            |key: &str| node(key).and_then(DocumentNode::as_list).map(|list| list.iter().filter_map(role).collect::<Arc<[MessageRole]>>());
        let usual = |names: &[&str]| names.iter().map(|name| MessageRole(Arc::from(*name))).collect::<Arc<[MessageRole]>>();
        let roles = listed("roles").unwrap_or_else(|| usual(&["system", "user", "assistant"]));
        // a default that is none of the roles gives way to the first of them
        let known = |name: &str| roles.iter().find(|role| *role.0 == *name).cloned();
        let one = |key: &str, default: &str| {
            let first = || roles.first().cloned().unwrap_or_else(|| MessageRole(Arc::from(default)));
            node(key).and_then(role).or_else(|| known(default)).unwrap_or_else(first)
        };
        let spellings = node("spellings").and_then(DocumentNode::as_table).into_iter().flatten();
        let made = Self {
            name: name.clone(),
            leaf: if node("syntax").and_then(DocumentNode::as_text) == Some("expressions") {
                LeafSyntax::Expressions
            } else {
                LeafSyntax::Paths
            },
            knows_flags: flag("flags"),
            knows_conditions: flag("conditions"),
            knows_anchors: flag("anchors"),
            reserves_layout: flag("layout_first"),
            frame_stops: flag("frame_stops"),
            joins_shared: flag("joins_shared"),
            joint: Arc::from(node("joint").and_then(DocumentNode::as_text).unwrap_or("\n")),
            prefix_roles: listed("prefix_roles").unwrap_or_else(|| known("assistant").into_iter().collect()),
            separator_role: one("separator_role", "user"),
            lane_role: one("lane_role", "system"),
            roles: roles.clone(),
            spellings: spellings.filter_map(|(written, word)| Some((written.clone(), Arc::from(word.node.as_text()?)))).collect(),
        };
        made.check(fields, report);
        made
    }

    /// Every role that the row names must be one of its `roles`, and every spelling must be of a word of the language.
    fn check(&self, fields: &FieldMap, report: &mut Report) {
        let named = |key: &str| fields.get(key).map(|field: &TableField| &field.node);
        let single = ["separator_role", "lane_role"].into_iter().filter_map(named);
        for node in single.chain(named("prefix_roles").and_then(DocumentNode::as_list).unwrap_or_default()) {
            let Some(name) = node.as_text().filter(|name| self.role(name).is_none()) else { continue };
            let message = format!("revision `{}` has no role `{}`", self.name, short::word(name));
            let complaint = Diagnostic::new(Code::NameUnknown, message).at(node.span).missing(name);
            let help = suggest::help(name, self.role_names()).unwrap_or_else(|| "name one of its `roles`".into());
            report.push(complaint.rule(format!("{TABLE} {}", self.name)).help(help));
        }
        for word in named("spellings").and_then(DocumentNode::as_table).into_iter().flat_map(FieldMap::values).map(|field| &field.node) {
            let Some(name) = word.as_text().filter(|name| !all_words().any(|known| known == *name)) else { continue };
            let complaint = Diagnostic::new(Code::NameUnknown, format!("templates have no key or word `{}`", short::word(name)));
            let help = suggest::help(name, all_words()).unwrap_or_else(|| "see docs/reference/template.md".into());
            report.push(complaint.at(word.span).missing(name).rule(format!("{TABLE} {}", self.name)).help(help));
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<&MessageRole> {
        self.roles.iter().find(|role| role.as_str() == name)
    }

    /// The names of its roles.
    pub fn role_names(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(MessageRole::as_str)
    }

    /// Whether messages of a role can have `prefix`.
    #[must_use]
    pub fn takes_prefix(&self, role: &str) -> bool {
        self.prefix_roles.iter().any(|known| known.as_str() == role)
    }
}

/// A message of the layout.
pub(super) const LAYOUT_MESSAGE: &[&str] = &["kind", "name", "role", "content", "from", "prefix", "skipIfEmptyInterpolation"];
/// A message of a header or footer.
pub(super) const FRAME: &[&str] = &["kind", "role", "content", "from", "prefix", "skipIfEmptyInterpolation"];
/// A message of a plan.
pub(super) const MESSAGE: &[&str] = &["kind", "role", "content", "from", "prefix", "skipIfEmptyInterpolation", "budget"];
/// A place of a slot.
pub(super) const LAYOUT_SLOT: &[&str] = &["kind", "name", "header", "footer", "omitIfEmpty"];
/// An anchor.
pub(super) const ANCHOR: &[&str] = &["kind", "key"];
/// A slot.
pub(super) const SLOT: &[&str] = &["priority", "when", "budget", "plan", "meta"];
/// A loop.
pub(super) const EACH: &[&str] = &["kind", "source", "map", "order", "fillDir", "limit", "interleave", "budget", "stopWhenOutOfBudget"];
/// A branch.
pub(super) const IF: &[&str] = &["kind", "when", "then", "else"];
/// A test of presence.
pub(super) const TEST: &[&str] = &["type", "ref"];
/// A comparison.
pub(super) const COMPARISON: &[&str] = &["type", "ref", "value"];
/// A reference to a source.
pub(super) const REF: &[&str] = &["source", "args"];
/// A lane.
pub(super) const LANE: &[&str] = &["id", "enabled", "role", "template", "order", "reserveTokens", "budget", "payload", "groups"];
/// A group of a lane.
pub(super) const GROUP: &[&str] = &["id", "match", "template", "openTemplate", "closeTemplate", "role", "order", "payload"];
/// The words of `kind`, `type`, `order` and `fillDir`.
const WORDS: &[&str] = &[
    "message",
    "slot",
    "anchor",
    "forEach",
    "if",
    "separator",
    "exists",
    "nonEmpty",
    "eq",
    "neq",
    "gt",
    "lt",
    "asc",
    "desc",
    "append",
    "prepend",
];

/// All keys and words of the language, for which a revision can have other spellings.
fn all_words() -> impl Iterator<Item = &'static str> {
    let parts = [LAYOUT_MESSAGE, MESSAGE, LAYOUT_SLOT, ANCHOR, SLOT, EACH, IF, COMPARISON, REF, LANE, GROUP, WORDS];
    let inner = INNER.into_iter().flat_map(|(_, keys)| keys);
    parts.into_iter().flatten().chain(inner).chain(&["attachments", "layout", "slots", "description"]).copied()
}

/// The tables inside of a part that have keys of their own.
pub(super) const INNER: [(&str, &[&str]); 2] = [("budget", &["maxTokens"]), ("interleave", &["kind", "text"])];
