//! What a place of a rule file is about: a row of a table, a path of the scene, a field of items, a function, a verb.

use std::ops::Range;

use tapster::machinery::terms::names::PackNames;
use tapster::model::Pack;
use tapster::model::pack::PackRow;

use crate::outline::{Cursor, CursorRole, NodeId, Outline, PathStep, ROOT};

/// Something that rules name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A row of a table of the pack.
    Row { table: String, name: String },
    /// A path of the scene, without its sign.
    ScenePath(String),
    /// A field of items.
    Field(String),
    /// A function of values or of expressions.
    Function(String),
    /// A verb of passes.
    Verb(String),
    /// A pack that another one extends.
    Pack(String),
}

/// The subject of a place, and where its name is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SubjectAt {
    pub(crate) subject: Subject,
    pub(crate) range: Range<usize>,
}

/// Tables whose rows a key names, beside the table that is called like the key.
const REFERENCES: &[(&str, &[&str])] = &[
    ("budgets", &["budget"]),
    ("facts", &["fact"]),
    ("for", &["task"]),
    ("group", &["budget_group"]),
    ("ruler", &["cost_model"]),
    ("slot", &["slot", "region"]),
    ("stream", &["stream"]),
    ("writer", &["writer", "operation"]),
];

/// The tables whose rows a key of a rule file names.
pub(crate) fn tables_of_key<'p>(key: &str, pack: &'p Pack) -> Vec<&'p str> {
    let known = REFERENCES.iter().find(|(known, _)| *known == key).map(|(_, tables)| *tables);
    let own = [key, key.strip_suffix('s').unwrap_or(key)];
    let wanted = |table: &str| known.map_or_else(|| own.contains(&table), |tables| tables.contains(&table));
    pack.tables.keys().map(AsRef::as_ref).filter(|table| wanted(table)).collect()
}

/// A rule file with the rules that it belongs to.
pub(crate) struct RuleText<'t> {
    pub(crate) text: &'t str,
    pub(crate) outline: &'t Outline,
    pub(crate) pack: &'t Pack,
    pub(crate) names: &'t PackNames,
}

impl<'t> RuleText<'t> {
    /// The row of a table that a place lies in: the table, the row, and the row's name as rules write it.
    pub(crate) fn row_around(&self, cursor: &Cursor) -> Option<(String, NodeId, Option<String>)> {
        let [PathStep::Key(table), PathStep::Index(_), ..] = cursor.path.as_slice() else { return None };
        let row = *cursor.nodes.get(2)?;
        let name = self.outline.text_at(row, "name", self.text).map(|name| self.full_name(table, name));
        Some((table.clone(), row, name))
    }

    /// The name of a row: that of a pass or a round has its program in front.
    pub(crate) fn full_name(&self, table: &str, name: &str) -> String {
        if !matches!(table, "pass" | "round") || name.contains('/') {
            return name.to_owned();
        }
        // a file about one program says only its name, or its row
        let row = || self.outline.text_at(self.outline.entry(ROOT, "program")?.node, "name", self.text);
        match self.outline.text_at(ROOT, "program", self.text).or_else(row) {
            Some(program) => format!("{program}/{name}"),
            None => name.to_owned(),
        }
    }

    /// What a place is about.
    pub(crate) fn subject(&self, offset: usize) -> Option<SubjectAt> {
        let cursor = self.outline.cursor(offset);
        match &cursor.role {
            CursorRole::Value { text: Some(inner), .. } => self.subject_of_text(&cursor, inner, offset),
            CursorRole::Key(range) => {
                let written = self.text.get(range.clone())?.trim_matches(['"', '\'']);
                let subject = match written.split_at_checked(1) {
                    Some(("$", path)) => Subject::ScenePath(path.to_owned()),
                    Some(("@", field)) => Subject::Field(field.to_owned()),
                    // a bare name of a condition or of `set` is a field
                    _ if is_of_items(&cursor.path) && self.is_field(written) => Subject::Field(written.to_owned()),
                    _ => return None,
                };
                Some(SubjectAt { subject, range: range.clone() })
            }
            _ => None,
        }
    }

    fn subject_of_text(&self, cursor: &Cursor, inner: &Range<usize>, offset: usize) -> Option<SubjectAt> {
        let text = self.text.get(inner.clone())?;
        let key = cursor.path.iter().rev().find_map(|step| if let PathStep::Key(key) = step { Some(key.as_str()) } else { None })?;
        let is_row_level = cursor.path.len() == 3;
        let whole = |subject: Subject| Some(SubjectAt { subject, range: inner.clone() });
        let top = cursor.path.first().and_then(|step| if let PathStep::Key(key) = step { Some(key.as_str()) } else { None });
        if top == Some("extends") && (cursor.path.len() <= 2 || key == "name") {
            return whole(Subject::Pack(text.to_owned()));
        }
        let row = self.row_around(cursor);
        if let Some((table, _, name)) = &row
            && is_row_level
        {
            match key {
                "name" => return whole(Subject::Row { table: table.clone(), name: name.clone()? }),
                "do" if table == "pass" => return whole(Subject::Verb(text.to_owned())),
                "before" | "after" => {
                    let program = name.as_deref().and_then(|name| name.rsplit_once('/')).map(|(program, _)| program);
                    let own = program.filter(|_| !text.contains('/')).map(|program| format!("{program}/{text}"));
                    let anchor = own.filter(|own| self.pack.row(table, own).is_some()).unwrap_or_else(|| text.to_owned());
                    return whole(Subject::Row { table: table.clone(), name: anchor });
                }
                _ => {}
            }
        }
        if key == "fn" {
            return whole(Subject::Function(text.to_owned()));
        }
        if let Some(found) = self.subject_of_word(text, inner, offset) {
            return Some(found);
        }
        if text.starts_with('=') || text.contains("{{") {
            return None;
        }
        let tables = tables_of_key(key, self.pack);
        let of_key = tables.into_iter().find(|table| self.pack.row(table, text).is_some());
        // a word in a list or table of some other key may be a name all the same
        let is_name = text.len() > 2 && !text.contains(char::is_whitespace);
        let of_any = || {
            self.pack
                .tables
                .keys()
                .map(AsRef::as_ref)
                .find(|table| !matches!(*table, "path" | "field" | "column" | "allow") && self.pack.row(table, text).is_some())
        };
        let table = of_key.or_else(|| of_any().filter(|_| is_name))?;
        whole(Subject::Row { table: table.to_owned(), name: text.to_owned() })
    }

    /// The `$path`, `@field`, function or name of a row at a place inside of a text.
    fn subject_of_word(&self, text: &str, inner: &Range<usize>, offset: usize) -> Option<SubjectAt> {
        let at = offset.checked_sub(inner.start)?;
        let range = word_around(text, at);
        let word = text.get(range.clone())?;
        let placed = inner.start + range.start..inner.start + range.end;
        let found = |subject: Subject| Some(SubjectAt { subject, range: placed.clone() });
        if let Some(path) = word.strip_prefix('$') {
            return match path.strip_prefix("table.").map(|rest| rest.split_once('.').unwrap_or((rest, ""))) {
                Some((table, name)) if self.pack.row(table, name).is_some() => {
                    found(Subject::Row { table: table.to_owned(), name: name.to_owned() })
                }
                _ if path.is_empty() => None,
                _ => found(Subject::ScenePath(path.to_owned())),
            };
        }
        if let Some(field) = word.strip_prefix('@') {
            return found(Subject::Field(field.to_owned())).filter(|_| !field.is_empty());
        }
        let is_expression = text.starts_with('=');
        if !is_expression || word.is_empty() {
            return None;
        }
        let before = text.get(..range.start).unwrap_or_default();
        for table in ["fact", "value"] {
            let is_call = |before: &str| before.trim_end().strip_suffix('(').is_some_and(|before| before.trim_end().ends_with(table));
            if before.strip_suffix(['\'', '"']).is_some_and(is_call) {
                return found(Subject::Row { table: table.to_owned(), name: word.to_owned() });
            }
        }
        if text.get(range.end..).is_some_and(|rest| rest.trim_start().starts_with('(')) {
            let name = word.rsplit('.').next().filter(|_| function_doc(word).is_none()).unwrap_or(word);
            return found(Subject::Function(name.to_owned()));
        }
        let head = word.split('.').next().unwrap_or(word);
        found(Subject::Field(head.to_owned())).filter(|_| self.is_field(head))
    }

    pub(crate) fn is_field(&self, name: &str) -> bool {
        self.names.fields.values().any(|fields| fields.contains_key(name))
    }
}

/// Whether a table on this path holds conditions or values of items.
pub(crate) fn is_of_items(path: &[PathStep]) -> bool {
    let of_items = |step: &PathStep| matches!(step, PathStep::Key(key) if matches!(key.as_str(), "where" | "protect" | "after_last" | "while" | "set" | "first" | "is" | "all" | "any" | "not"));
    path.iter().any(of_items)
}

/// The word of a text in which a byte lies, with its sign and its dots.
pub(crate) fn word_around(text: &str, at: usize) -> Range<usize> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '@' | '/' | '-');
    let before = text.get(..at).unwrap_or_default();
    let start = before.char_indices().rev().take_while(|(_, letter)| is_of_word(*letter)).last().map_or(before.len(), |(at, _)| at);
    let rest = text.get(at..).unwrap_or_default();
    let end = at + rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
    start..end.max(start)
}

/// What a function does, and its arguments, as a person reads it.
pub(crate) fn function_doc(name: &str) -> Option<String> {
    use tapster::machinery::text::{functions::FUNCTIONS, methods};
    if let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) {
        let arguments = function.args.iter().map(|(name, required)| format!("{name}{}", if *required { "" } else { "?" }));
        return Some(format!("`{name}({})`\n\n{}", arguments.collect::<Vec<_>>().join(", "), sentence(function.doc)));
    }
    let method = methods::find(name).filter(|method| method.is_named())?;
    Some(format!("`{name}`, for example:\n\n```\n{}\n```", method.example))
}

/// A description with a capital and a full stop.
pub(crate) fn sentence(doc: &str) -> String {
    let mut letters = doc.chars();
    let Some(first) = letters.next() else { return String::new() };
    let end = if doc.ends_with(['.', '!', '?', '\n']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), letters.as_str())
}

/// What a row says that it is for.
pub(crate) fn about_row(row: &PackRow) -> Option<&str> {
    ["about", "doc", "title", "message"].iter().find_map(|key| row.text(key))
}
