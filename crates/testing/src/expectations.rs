//! Expectations that can never fail: parts that the action of a case does not give, or that are not compared because an error is
//! expected; tests that hold of everything; and values, keys and words that are misspelled: with `{ excludes = [{ slot =
//! "chat_histroy" }] }` a case passes whatever the rules do.
//!
//! Rules may copy any value into a field and write any key, and what a case gives may come out as it is. So only what is likely is
//! reported: a value that every row type with such a field declares otherwise, which is a warning, because a script or a sum may
//! still give it; or a name that misspells a known one and occurs neither in the rules nor in the case.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::case::{CaseAction, CaseTurn};
use super::compare::MATCHERS;
use super::nodes::{fields, keys_of};
use crate::diag::{Code, Diagnostic, DocumentNode, Help, NodeValue, Report, Span, Suggestion, WordSearch, suggest};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::terms::names::{PackNames, ValueType};

/// What comes of programs and passes.
const OF_RUN: &[&str] = &["lists", "shown", "set", "patch", "warnings", "reasons", "draws_left"];
/// What comes of a build.
const OF_BUILD: &[&str] = &["lists", "shown", "set", "trim", "patch", "warnings", "reasons", "draws_left"];
/// What comes of a build with its payload.
const OF_PAYLOAD: &[&str] =
    &["lists", "shown", "set", "trim", "patch", "warnings", "reasons", "draws_left", "payload", "payload_file", "request"];
/// What comes of texts.
const OF_EXPAND: &[&str] = &["texts", "patch", "warnings", "draws_left"];
/// What comes of a document of another program.
const OF_IMPORT: &[&str] = &["imported"];
/// The parts of what a document gives that are tables.
const TABLES: [&str; 2] = ["scene", "rest"];
/// What to write instead of an empty table.
const EXACTLY: &str = "write `{ exactly = {} }` if it is to be empty, or take it out";
/// Tests that hold of every list if they name no element.
const HOLD_OF_ALL: [&str; 3] = ["contains", "includes", "excludes"];

/// The parts of the expectation of a turn that can never fail. `own` are the keys of what the case gives: a table with one of
/// them may be a value and no test.
pub(super) fn vacuous_parts(turn: &CaseTurn, own: &BTreeSet<&str>, names: &PackNames) -> Report {
    let mut found = Report::default();
    let (action, given) = given_by(&turn.action);
    let ends = turn.expect.as_ref().is_some_and(|expect| expect.get("error").is_some());
    for (key, field) in fields(turn.expect.as_ref()).filter(|(key, _)| *key != "error") {
        let wrong = |message: String, help: String| Diagnostic::new(Code::SchemaValue, message).help(help);
        if ends {
            let message = format!("`{key}` is not compared where an error is expected: the case then has no other result");
            found.push(wrong(message, "take it out, or write a second case without `error`".to_owned()).at(field.key));
            continue;
        }
        if !given.contains(&key) {
            let message = format!("`{action}` gives no `{key}`, so there is nothing to compare");
            found.push(wrong(message, instead(action, key, given)).at(field.key));
            continue;
        }
        if let Some(help) = needed(key).filter(|_| is_empty_table(&field.node)) {
            found.push(wrong(format!("an empty table expects nothing of `{key}`"), help.to_owned()).at(field.key));
        }
        if key == "imported" {
            let parts = fields(Some(&field.node)).filter(|(part, field)| TABLES.contains(part) && is_empty_table(&field.node));
            for (part, field) in parts {
                let message = format!("an empty table expects nothing of `imported.{part}`, which is a table");
                found.push(wrong(message, EXACTLY.to_owned()).at(field.key));
            }
        }
        let mut search = VacuousTests { own, names, found: &mut found };
        match key {
            // of lists, and their lines
            "lists" | "shown" => fields(Some(&field.node)).for_each(|(_, list)| search.look(&list.node, true)),
            "set" => fields(Some(&field.node)).for_each(|(_, value)| search.look(&value.node, false)),
            _ => search.look(&field.node, matches!(key, "warnings" | "reasons" | "texts")),
        }
    }
    found
}

/// The key that says an action, and the parts of an expectation that it gives a value to.
fn given_by(action: &CaseAction) -> (&'static str, &'static [&'static str]) {
    match action {
        CaseAction::Run(_) => ("run", OF_RUN),
        CaseAction::Build => ("build", OF_BUILD),
        CaseAction::Payload(_) => ("dialect", OF_PAYLOAD),
        CaseAction::Expand(_) => ("expand", OF_EXPAND),
        CaseAction::Import { .. } => ("import", OF_IMPORT),
    }
}

/// What to do about a part that an action does not give.
fn instead(action: &str, key: &str, given: &[&str]) -> String {
    let from = match key {
        "payload" | "payload_file" | "request" => "`dialect`",
        "trim" => "`build` or `dialect`",
        "texts" => "`expand`",
        "imported" => "`import`",
        "warnings" if action == "import" => return "what is said of a document stands in `imported.warnings`".to_owned(),
        "patch" | "warnings" | "draws_left" => "`run`, `build`, `dialect` or `expand`",
        _ => "`run`, `build` or `dialect`",
    };
    let known: Vec<String> = given.iter().map(|key| format!("`{key}`")).collect();
    format!("let the case have {from}, which gives it, or expect what `{action}` gives: {}", known.join(", "))
}

/// What to write instead of an empty table that holds of everything; nothing where one can fail, because the value may be
/// missing.
fn needed(key: &str) -> Option<&'static str> {
    match key {
        "lists" => Some("name a list and what it holds, such as `lists.blocks = []`, or take it out"),
        "shown" => Some("name a list and its lines, such as `shown.blocks = []`, or take it out"),
        "set" => Some("name a path and its value, or take it out"),
        "payload" | "imported" => Some(EXACTLY),
        _ => None,
    }
}

fn is_empty_table(node: &DocumentNode) -> bool {
    matches!(&node.data, NodeValue::Table(table) if table.is_empty())
}

/// A look for tests that hold of every list.
struct VacuousTests<'t> {
    own: &'t BTreeSet<&'t str>,
    names: &'t PackNames,
    found: &'t mut Report,
}

impl VacuousTests<'_> {
    /// Looks through a value. Of a list (`of_list`) a table can only be a test; elsewhere it may be a value with such a key.
    fn look(&mut self, node: &DocumentNode, of_list: bool) {
        match &node.data {
            NodeValue::List(list) => list.iter().for_each(|one| self.look(one, false)),
            NodeValue::Table(table) => {
                let alone = if table.len() == 1 { table.iter().next() } else { None };
                if let Some((word, field)) = alone {
                    let word: &str = word;
                    if word == "exactly" {
                        return;
                    }
                    let is_test = of_list || !(self.own.contains(word) || self.names.knows_field(None, word));
                    if is_test && HOLD_OF_ALL.contains(&word) && field.node.as_list().is_some_and(<[DocumentNode]>::is_empty) {
                        let complaint = Diagnostic::new(Code::SchemaValue, format!("`{word} = []` names no element, so it always holds"));
                        self.found.push(complaint.at(field.key).help("name an element, or write `{ count = 0 }` for a list without any"));
                        return;
                    }
                }
                table.values().for_each(|field| self.look(&field.node, false));
            }
            _ => {}
        }
    }
}

/// What is wrong with the value that a field of an item is expected to have. `types` are the row types of the list; `stands`
/// says whether a word stands in the rules or in what the case gives, and `is_given` whether the case gives such a value.
pub(super) fn field_fault(
    rules: &Ruleset,
    types: &[Arc<str>],
    field: &str,
    node: &DocumentNode,
    stands: impl Fn(&str) -> bool,
    is_given: impl Fn(&DocumentNode) -> bool,
) -> Option<Diagnostic> {
    // items of a list without row types may be anything, and tables and lists may hold tests
    if types.is_empty() || !matches!(node.data, NodeValue::Text(_) | NodeValue::Int(_) | NodeValue::Float(_) | NodeValue::Bool(_)) {
        return None;
    }
    let names = &rules.programs().rules.names;
    let own = names.field_type(Some(types), field);
    // rules copy fields from items of one type to items of another
    let fits = |kind: ValueType| kind.accepts(&node.data) || kind.holds(&Value::from(node));
    let mut kinds = names.fields.values().filter_map(|fields| fields.get(field)).map(|declared| declared.kind);
    if let Some(kind) = own.filter(|_| !kinds.any(fits)) {
        let message = format!("`{field}` is declared as `{}`, but is expected to be {}", kind.word(), node.kind());
        // a pass or a script may still give it a value of another type
        let complaint = Diagnostic::warning(Code::TermType, message).at(node.span);
        return (!is_given(node)).then(|| complaint.help(format!("write a value of type `{}`", kind.word())));
    }
    let word = node.as_text().filter(|word| !word.is_empty())?;
    let (near, message) = match own {
        Some(ValueType::Slot) => {
            let slots = rules.pack().tables.get("slot").into_iter().flat_map(|rows| rows.keys());
            (misspelled_name(word, slots.chain(names.regions.keys()))?, format!("no slot or region is called `{word}`"))
        }
        Some(ValueType::Group) => (misspelled_name(word, names.groups.keys())?, format!("no budget group is called `{word}`")),
        // a field may also hold other words than the usual ones
        _ => (misspelled_name(word, names.field_words.get(field)?.iter())?, format!("no rule gives `{field}` the word `{word}`")),
    };
    let complaint = Diagnostic::error(Code::NameUnknown, message).at(node.span);
    (!stands(word)).then(|| complaint.help(near))
}

/// What is wrong with a value that a path is expected to have: it is declared as another type, or it is one of the words that
/// the pack knows for the path, with a slip. An empty text stands for no value.
pub(super) fn path_fault(
    rules: &Ruleset,
    path: &str,
    node: &DocumentNode,
    stands: impl Fn(&str) -> bool,
    is_given: impl Fn(&DocumentNode) -> bool,
) -> Option<Diagnostic> {
    let names = &rules.programs().rules.names;
    let word = node.as_text();
    let kind = names.paths.get(path).map_or(ValueType::Any, |declared| declared.kind);
    let (code, message, help) = if !kind.accepts(&node.data) && !kind.holds(&Value::from(node)) {
        let message = format!("`${path}` is declared as `{}`, but is expected to be {}", kind.word(), node.kind());
        (Code::TermType, message, format!("write a value of type `{}`", kind.word()).into())
    } else {
        let near = misspelled_name(word?, names.words.get(path)?.iter())?;
        (Code::NameUnknown, format!("the pack knows no `${path}` that is `{}`", word?), Help::from(near))
    };
    // rules may have words of their own
    let may_be = word.is_some_and(|word| word.is_empty() || stands(word)) || is_given(node);
    let complaint = if code == Code::TermType { Diagnostic::warning(code, message) } else { Diagnostic::error(code, message) };
    (!may_be).then(|| complaint.at(node.span).help(help))
}

/// Returns the known name that `word` misspells.
fn misspelled_name<'n>(word: &str, known: impl Iterator<Item = &'n Arc<str>> + Clone) -> Option<Suggestion> {
    let known = known.map(|known| &**known);
    if known.clone().any(|known| known == word) {
        return None;
    }
    let search = WordSearch::default();
    let near = search.nearest(word, known.clone()).filter(|near| suggest::is_misspelt_key(word, &near.replacement));
    near.or_else(|| Some(Suggestion::possible(word, search.misspelt_key(word, known)?)))
}

/// What is misspelt inside of a value. `key` is the field that has the value, and `stands` says whether a word stands in the
/// rules or in what the case gives.
pub(super) fn misspellings(rules: &Ruleset, key: Option<&str>, node: &DocumentNode, stands: &dyn Fn(&str) -> bool) -> Report {
    let mut look = SpellingCheck { rules, stands, known: None, found: Report::default() };
    look.value(key, node);
    look.found
}

struct SpellingCheck<'s> {
    rules: &'s Ruleset,
    stands: &'s dyn Fn(&str) -> bool,
    /// What a key may have been meant to be, once that is asked.
    known: Option<BTreeSet<&'s str>>,
    found: Report,
}

impl<'s> SpellingCheck<'s> {
    fn value(&mut self, key: Option<&str>, node: &DocumentNode) {
        match &node.data {
            NodeValue::List(list) => list.iter().for_each(|one| self.value(key, one)),
            NodeValue::Table(table) => {
                let alone = if table.len() == 1 { table.iter().next() } else { None };
                match alone.filter(|(word, _)| MATCHERS.contains(&&***word)) {
                    // a pattern or a part of a text is no word
                    Some((word, field)) if matches!(&**word, "matches" | "contains") => self.value(None, &field.node),
                    Some((_, field)) => self.value(key, &field.node),
                    None => table.iter().for_each(|(name, field)| {
                        self.key(name, field.key);
                        self.value(Some(&**name), &field.node);
                    }),
                }
            }
            NodeValue::Text(word) => key.into_iter().for_each(|key| self.word(key, word, node.span)),
            _ => {}
        }
    }

    fn key(&mut self, name: &str, span: Span) {
        if MATCHERS.contains(&name) || self.rules.programs().rules.names.knows_field(None, name) || (self.stands)(name) {
            return;
        }
        let near = suggest::nearest(name, self.known().iter().copied());
        let near = near.filter(|near| suggest::is_misspelt_key(name, &near.replacement));
        if let Some(near) = near {
            let complaint = Diagnostic::error(Code::NameUnknown, format!("no rule writes a key `{name}`")).at(span);
            self.found.push(complaint.help(near));
        }
    }

    fn word(&mut self, key: &str, word: &str, span: Span) {
        let words = self.rules.programs().rules.names.field_words.get(key);
        let near = words.and_then(|words| misspelled_name(word, words.iter()));
        if let Some(near) = near.filter(|_| !(self.stands)(word)) {
            let complaint = Diagnostic::error(Code::NameUnknown, format!("no rule gives `{key}` the word `{word}`")).at(span);
            self.found.push(complaint.help(near));
        }
    }

    /// Fields of items, parts of paths, and the keys of forms.
    fn known(&mut self) -> &BTreeSet<&'s str> {
        let rules = self.rules;
        self.known.get_or_insert_with(|| {
            let names = &rules.programs().rules.names;
            let mut known: BTreeSet<&str> = names.field_names(None).collect();
            known.extend(names.path_names().flat_map(|path| path.split('.')));
            let forms = rules.pack().tables.get("form").into_iter().flat_map(|rows| rows.values());
            forms.flat_map(|row| row.fields.values()).for_each(|field| keys_of(&field.node, &mut known));
            known
        })
    }
}
