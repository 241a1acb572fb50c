//! Reports each violation of a schema once, with the file, line and column that it is about.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};

use super::rows;
use super::schemas::Schemas;
use crate::diag::{Code, Diagnostic, DiagnosticCode, DocumentNode, Help, NodeValue, Report, Span, limits, short, suggest};
use crate::program::ENGINE_TABLES;

/// The detail of a diagnostic that names a table which a pack may declare.
pub(super) const OWN_TABLE: &str = "table";

/// How diagnostics name the values that they are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamingStyle {
    /// By their key, in the named row that they are in.
    Rows,
    /// By their whole path: `slots.a.plan.0.role`.
    Paths,
}

/// Checks a document against the schema `file`; `layer` is named in the diagnostics.
pub(super) fn check(root: &DocumentNode, file: &str, layer: &str, names: NamingStyle, schemas: &Schemas, report: &mut Report) {
    let json = root.to_json();
    let validator = match schemas.validator(file, &json) {
        Ok(validator) => validator,
        Err(reason) => {
            let message = format!("schema `{file}` cannot be used: {reason}");
            report.push(
                Diagnostic::new(Code::SchemaVersion, message).at(root.span).help("this is a mistake of the program, please report it"),
            );
            return;
        }
    };
    let mut check = DocumentCheck {
        root,
        layer,
        names,
        schemas,
        found: Vec::new(),
        told: ReportedProblems::default(),
        extra: UndeclaredKeys::default(),
    };
    for error in validator.iter_errors(&json) {
        check.violation(&error);
        if check.is_full() {
            break;
        }
    }
    let DocumentCheck { mut found, extra, .. } = check;
    extra.into_diagnostics().for_each(|d| report.push(d));
    found.sort_by_key(|d| d.span);
    let more = found.len() > limits::REPORTED;
    found.truncate(limits::REPORTED);
    let last = found.last().and_then(|d| d.span);
    found.into_iter().for_each(|d| report.push(d));
    if more {
        let message = format!("more than {} violations in this file; the rest is not shown", limits::REPORTED);
        report.push(Diagnostic::new(Code::SchemaValue, message).at(last.unwrap_or(root.span)).help("is `kind` the right one?"));
    }
}

/// What has been reported: branches of one schema may report the same about the same place, only with different help.
#[derive(Default)]
struct ReportedProblems(HashSet<(DiagnosticCode, Option<Span>, String)>);

impl ReportedProblems {
    /// Whether this has not been reported before.
    fn add(&mut self, complaint: &Diagnostic) -> bool {
        self.0.insert((complaint.code.clone(), complaint.span, complaint.message.clone()))
    }
}

/// Unknown keys of named rows. A pack may declare them as columns, which is only known when all its files are read, so they
/// do not count as violations here.
#[derive(Default)]
struct UndeclaredKeys {
    found: Vec<Diagnostic>,
    told: ReportedProblems,
    /// How often each key of each table occurs, and the last occurrence.
    seen: HashMap<(String, String), (usize, Option<Diagnostic>)>,
}

impl UndeclaredKeys {
    /// Adds an unknown key, or gives it back if there are too many.
    fn push(&mut self, table: &str, key: &str, complaint: Diagnostic) -> Option<Diagnostic> {
        if !self.told.add(&complaint) {
            return None;
        }
        if self.seen.len() >= limits::REPORTED && !self.seen.contains_key(&(table.to_owned(), key.to_owned())) {
            return Some(complaint);
        }
        let (times, last) = self.seen.entry((table.to_owned(), key.to_owned())).or_default();
        *times += 1;
        if *times <= limits::LISTED {
            self.found.push(complaint);
        } else {
            *last = Some(complaint);
        }
        None
    }

    fn into_diagnostics(self) -> impl Iterator<Item = Diagnostic> {
        let more = self.seen.into_iter().filter_map(|((table, key), (times, last))| {
            let last = last?;
            let message = format!("unknown key `{key}` in {} more rows of `{table}`, of which this is the last", times - limits::LISTED);
            Some(Diagnostic { message, ..last })
        });
        self.found.into_iter().chain(more)
    }
}

struct DocumentCheck<'a> {
    root: &'a DocumentNode,
    layer: &'a str,
    names: NamingStyle,
    schemas: &'a Schemas,
    found: Vec<Diagnostic>,
    told: ReportedProblems,
    extra: UndeclaredKeys,
}

/// The value that an error is about.
struct ErrorTarget<'a> {
    node: &'a DocumentNode,
    /// The place of its key, if it is the field of a table.
    key: Option<Span>,
    /// Its name in messages: `` `depth` ``, ``an element of `keys` ``.
    name: String,
    /// The named row that it is in, as `pass lore/print`.
    row: Option<String>,
}

impl DocumentCheck<'_> {
    fn target(&self, pointer: &str) -> ErrorTarget<'_> {
        let mut target = ErrorTarget { node: self.root, key: None, name: "the file".to_owned(), row: None };
        let mut last_key = String::new();
        for (level, part) in pointer_steps(pointer).enumerate() {
            match &target.node.data {
                NodeValue::Table(table) => {
                    let Some(field) = table.get(part.as_str()) else { break };
                    target.node = &field.node;
                    target.key = Some(field.key);
                    target.name = format!("`{part}`");
                    last_key = part;
                }
                NodeValue::List(list) => {
                    let Some(node) = part.parse::<usize>().ok().and_then(|n| list.get(n)) else { break };
                    target.node = node;
                    target.key = None;
                    target.name = if level == 1 { format!("a row of `{last_key}`") } else { format!("an element of `{last_key}`") };
                    if let (1, Some(name)) = (level, node.get("name").and_then(DocumentNode::as_text)) {
                        target.name = format!("`{name}`");
                        target.row = Some(format!("{last_key} {name}"));
                    }
                }
                _ => break,
            }
        }
        if self.names == NamingStyle::Paths && pointer.len() > 1 {
            target.name = format!("`{}`", dotted(pointer));
            target.row = None;
        }
        target
    }

    /// Whether more violations are found than are reported.
    fn is_full(&self) -> bool {
        self.found.len() > limits::REPORTED
    }

    fn violation(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let known = self.known_keys(error);
                for key in unexpected {
                    self.unknown_key(error, key, &known);
                    if self.is_full() {
                        break;
                    }
                }
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let allowed = match inner.kind() {
                    ValidationErrorKind::Enum { options } => texts(options),
                    _ => Vec::new(),
                };
                let key = inner.instance().as_str().unwrap_or("").to_owned();
                self.unknown_key(error, &key, &allowed);
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => self.choice(error, context),
            _ => self.leaf(error),
        }
    }

    /// The keys that the schema knows in the place of an unknown one.
    fn known_keys(&self, error: &ValidationError<'_>) -> Vec<String> {
        let schema = error.absolute_keyword_location().and_then(|at| self.schemas.around(at.as_str()));
        let known = schema.and_then(|s| s.get("properties")).and_then(|p| p.as_object());
        known.map(|p| p.iter().filter(|(_, s)| **s != serde_json::Value::Bool(false)).map(|(k, _)| k.clone()).collect()).unwrap_or_default()
    }

    fn unknown_key(&mut self, error: &ValidationError<'_>, key: &str, known: &[String]) {
        let target = self.target(error.instance_path().as_str());
        let span = target.node.as_table().and_then(|t| t.get(key)).map_or(target.node.span, |f| f.key);
        let message =
            if target.name == "the file" { format!("unknown key `{key}`") } else { format!("unknown key `{key}` in {}", target.name) };
        let elsewhere = if target.name == "the file" { self.elsewhere(key, target.node.get(key)) } else { None };
        // a table of another kind of files is meant as it is written
        let near = if elsewhere.is_some() { None } else { suggest::help(key, known.iter().map(String::as_str)) };
        let help = match (&near, known) {
            (Some(near), _) => near.clone(),
            (None, []) => "remove it, or look up the keys in the schema".into(),
            (None, _) => one_of(key, known),
        };
        let at = format!("{}/{key}", error.instance_path().as_str());
        let mut complaint = Diagnostic::new(Code::SchemaUnknownKey, message).label("unknown key");
        let is_of_row = error.instance_path().as_str().matches('/').count() == 2;
        let table = target.row.as_deref().filter(|_| is_of_row).and_then(|row| row.split_once(' ')).map(|(table, _)| table.to_owned());
        let declare = match &table {
            // a key with a slip is meant to be the key that it is near
            Some(table) if !ENGINE_TABLES.contains(&table.as_str()) && near.is_none() => {
                Some(format!("`[[column]]` with `name = \"{table}/{key}\"` declares it"))
            }
            _ if elsewhere.is_some() => None,
            _ if target.name == "the file" && self.may_hold_rows() && target.node.get(key).is_some_and(rows::is_rows) => {
                complaint.details.insert(OWN_TABLE.to_owned(), key.into());
                Some(format!("`[[table]]` with `name = \"{key}\"` declares a table of your own"))
            }
            _ => None,
        };
        complaint = complaint.help(match (declare, &near) {
            (Some(declare), Some(near)) => near.clone().or_else_do(&format!("otherwise {declare}")),
            (Some(declare), None) => format!("{help}; {declare}").into(),
            (None, _) => elsewhere.map_or(help, Help::from),
        });
        match table {
            Some(table) => {
                let complaint = self.made(complaint, span, target.row, &at);
                let too_many = self.extra.push(&table, key, complaint);
                self.found.extend(too_many);
            }
            None => self.push(complaint, span, target.row, &at),
        }
    }

    /// In which kinds of files a table stands that this kind does not have.
    fn elsewhere(&self, key: &str, node: Option<&DocumentNode>) -> Option<String> {
        let node = node?;
        let (of_type, written) = match &node.data {
            NodeValue::List(_) if rows::is_rows(node) => ("array", format!("`[[{key}]]` rows stand")),
            NodeValue::Table(_) => ("object", format!("`[{key}]` stands")),
            _ => return None,
        };
        let kinds: Vec<String> = self.schemas.kinds_with(key, of_type).iter().map(|kind| format!("`{kind}`")).collect();
        let (last, others) = kinds.split_last()?;
        let kinds = if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
        Some(format!("{written} in files of kind {kinds}"))
    }

    /// Whether files of this kind hold rows for programs.
    fn may_hold_rows(&self) -> bool {
        !self.root.get("kind").and_then(DocumentNode::as_text).is_none_or(|kind| matches!(kind, "pack" | "template"))
    }

    /// One diagnostic for a value that fits none of several forms, about the form that was most likely intended.
    fn choice(&mut self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) {
        let here = error.instance_path().as_str();
        let wrong_type = |branch: &&Vec<ValidationError<'static>>| {
            branch.iter().any(|e| matches!(e.kind(), ValidationErrorKind::Type { .. }) && e.instance_path().as_str() == here)
        };
        let fitting: Vec<&Vec<_>> = context.iter().take(limits::REPORTED).filter(|b| !wrong_type(b)).collect();
        let depth = |b: &[ValidationError<'_>]| b.iter().map(|e| e.instance_path().as_str().len()).max().unwrap_or(0);
        let deeper: Vec<&&Vec<_>> = fitting.iter().filter(|b| depth(b) > here.len()).collect();
        let likely = match (fitting.as_slice(), deeper.as_slice()) {
            ([one], _) => Some(*one),
            (_, [one]) => Some(**one),
            _ => None,
        };
        if let Some(branch) = likely {
            branch.iter().for_each(|e| self.violation(e));
            return;
        }
        let target = self.target(here);
        let types: Vec<&str> = context
            .iter()
            .flatten()
            .filter_map(|e| match e.kind() {
                ValidationErrorKind::Type { kind } if e.instance_path().as_str() == here => Some(type_words(kind)),
                _ => None,
            })
            .flatten()
            .collect();
        let (code, message, help) = if fitting.is_empty() {
            (
                Code::SchemaType,
                format!("{} must be {}, but is {}", target.name, either(&types), target.node.kind()),
                "change the value".to_owned(),
            )
        } else {
            let message = format!("{} has none of the forms that are allowed here", target.name);
            (Code::SchemaValue, message, forms(context))
        };
        let (span, row) = (target.node.span, target.row);
        self.push(Diagnostic::new(code, message).help(help), span, row, here);
    }

    fn leaf(&mut self, error: &ValidationError<'_>) {
        let pointer = error.instance_path().as_str();
        let target = self.target(pointer);
        let name = target.name.as_str();
        let value = |message: String, help: &str| Diagnostic::new(Code::SchemaValue, message).help(help);
        let mut span = target.node.span;
        let complaint = match error.kind() {
            ValidationErrorKind::Type { kind } => {
                let words = either(&type_words(kind));
                let help = format!("write {words}");
                let found = target.node.kind();
                Diagnostic::new(Code::SchemaType, format!("{name} must be {words}, but is {found}"))
                    .label(format!("this is {found}"))
                    .help(help)
            }
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or("?");
                let message = match self.names {
                    NamingStyle::Rows => format!("{name} has no `{key}`"),
                    NamingStyle::Paths => format!("`{}` is missing", dotted(&format!("{pointer}/{key}"))),
                };
                let known = target.node.as_table().into_iter().flatten().map(|(key, _)| &**key);
                let near = known.filter(|known| suggest::is_misspelt_key(known, key)).min();
                let help = match (near, self.names) {
                    (Some(near), _) => format!("did you mean `{key}` by `{near}`?"),
                    (None, NamingStyle::Paths) => format!("add the key `{key}`"),
                    (None, NamingStyle::Rows) => format!("add `{key} = …`"),
                };
                Diagnostic::new(Code::SchemaMissingKey, message).label(format!("needs `{key}`")).help(help)
            }
            ValidationErrorKind::Enum { options } => self.not_allowed(&target, &texts(options)),
            ValidationErrorKind::Constant { expected_value } => self.not_allowed(&target, &[text(expected_value)]),
            ValidationErrorKind::FalseSchema => {
                span = target.key.unwrap_or(span);
                let help = "remove it, or look up the keys in the schema";
                Diagnostic::new(Code::SchemaUnknownKey, format!("key {name} has no meaning here")).label("no meaning here").help(help)
            }
            ValidationErrorKind::Minimum { limit } => value(format!("{name} must be at least {limit}"), "use a larger number"),
            ValidationErrorKind::Maximum { limit } => value(format!("{name} must be at most {limit}"), "use a smaller number"),
            ValidationErrorKind::ExclusiveMinimum { limit } => value(format!("{name} must be more than {limit}"), "use a larger number"),
            ValidationErrorKind::ExclusiveMaximum { limit } => value(format!("{name} must be less than {limit}"), "use a smaller number"),
            ValidationErrorKind::MinItems { limit } => value(format!("{name} must have at least {limit} elements"), "add what is missing"),
            ValidationErrorKind::MaxItems { limit } => {
                value(format!("{name} may have at most {limit} elements"), "remove what is too much")
            }
            ValidationErrorKind::MinLength { limit: 1 } => value(format!("{name} must not be empty"), "write a text"),
            ValidationErrorKind::MinProperties { limit } => value(format!("{name} must have at least {limit} keys"), "add what is missing"),
            ValidationErrorKind::MaxProperties { limit } => {
                value(format!("{name} may have at most {limit} keys"), "remove what is too much")
            }
            ValidationErrorKind::UniqueItems => value(format!("{name} holds the same element twice"), "keep one of them"),
            ValidationErrorKind::Pattern { pattern } => {
                value(format!("{name} does not have the required form"), &format!("it must match /{pattern}/"))
            }
            ValidationErrorKind::OneOfMultipleValid { .. } => {
                value(format!("{name} fits several forms at once"), "keep the keys of one form")
            }
            _ => value(format!("{name} is not allowed: {}", error.masked()), "look up the value in the schema"),
        };
        let row = target.row;
        let missing = match error.kind() {
            ValidationErrorKind::Required { property } => property.as_str(),
            _ => None,
        };
        self.push(complaint, span, row, &missing.map_or_else(|| pointer.to_owned(), |key| format!("{pointer}/{key}")));
    }

    fn not_allowed(&self, target: &ErrorTarget<'_>, allowed: &[String]) -> Diagnostic {
        let written = target.node.as_text().map_or_else(|| target.node.to_json().to_string(), str::to_owned);
        let written = short::head(&written, limits::QUOTED);
        let help = one_of(&written, allowed);
        Diagnostic::new(Code::SchemaValue, format!("{} cannot be `{written}`", target.name))
            .label("not one of the allowed values")
            .help(help)
    }

    /// `at` is the pointer to the value, or to the key that is missing or unknown.
    fn push(&mut self, complaint: Diagnostic, span: Span, row: Option<String>, at: &str) {
        let complaint = self.made(complaint, span, row, at);
        if self.told.add(&complaint) {
            self.found.push(complaint);
        }
    }

    /// The diagnostic with its place and its rule.
    fn made(&self, complaint: Diagnostic, span: Span, row: Option<String>, at: &str) -> Diagnostic {
        let mut complaint = complaint.at(span);
        if let (Some((_, name)), Some(key)) = (row.as_deref().and_then(|row| row.split_once(' ')), inside_row(at)) {
            complaint.details.insert("row".into(), name.into());
            complaint.details.insert("key".into(), key.into());
        }
        // a file that is read alone belongs to no layer
        let from = if self.layer.is_empty() { String::new() } else { format!(", from layer `{}`", self.layer) };
        complaint.rule = row.map(|row| row + from.as_str());
        complaint
    }
}

/// The rest of a pointer behind the table and the number of the row, as a person writes it; nothing for the row itself.
fn inside_row(pointer: &str) -> Option<String> {
    let key = dotted(pointer).splitn(3, '.').nth(2).map(str::to_owned);
    key.filter(|key| !key.is_empty())
}

/// A pointer into a document as a person writes it: `slots.a.plan.0`.
fn dotted(pointer: &str) -> String {
    pointer_steps(pointer).collect::<Vec<_>>().join(".")
}

/// The keys and numbers of a JSON pointer.
fn pointer_steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
}

/// The nearest of the allowed words, else the words themselves.
fn one_of(written: &str, allowed: &[String]) -> Help {
    suggest::help(written, allowed.iter().map(String::as_str)).unwrap_or_else(|| {
        let some: Vec<String> = allowed.iter().take(limits::VOCABULARY).map(|w| format!("`{w}`")).collect();
        let more = allowed.len().saturating_sub(limits::VOCABULARY);
        format!("one of {}{}", some.join(", "), if more > 0 { format!(" and {more} more, see `tapster schema`") } else { String::new() })
            .into()
    })
}

/// The required keys of the forms, as a remedy.
fn forms(context: &[Vec<ValidationError<'static>>]) -> String {
    let mut keys: Vec<String> = context
        .iter()
        .take(limits::REPORTED)
        .flatten()
        .filter_map(|e| match e.kind() {
            ValidationErrorKind::Required { property } => property.as_str().map(|k| format!("`{k}`")),
            _ => None,
        })
        .collect();
    keys.sort();
    keys.dedup();
    if keys.is_empty() || keys.len() > 12 {
        "look up the value in the schema".to_owned()
    } else {
        format!("a table here has one of {}", keys.join(", "))
    }
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn texts(options: &Arc<serde_json::Value>) -> Vec<String> {
    options.as_array().map(|list| list.iter().map(text).collect()).unwrap_or_default()
}

fn type_words(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(one) => vec![type_word(*one)],
        TypeKind::Multiple(set) => set.iter().map(type_word).collect(),
    }
}

fn type_word(one: JsonType) -> &'static str {
    match one {
        JsonType::Null => "null",
        JsonType::Boolean => "a truth value",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a text",
        JsonType::Array => "a list",
        JsonType::Object => "a table",
    }
}

/// `a text, a list or a table`.
fn either(words: &[&str]) -> String {
    let mut unique: Vec<&str> = Vec::new();
    words.iter().for_each(|w| {
        if !unique.contains(w) {
            unique.push(w)
        }
    });
    match unique.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "something else".to_owned(),
    }
}
