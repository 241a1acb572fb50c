//! Words of rule files that version 2 renamed. Version 1 stays valid: its words are read as those of version 2.

use std::sync::Arc;

pub use super::word_places::WordPlace;
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, Span, TableField, short};

/// A renamed key.
#[derive(Debug)]
pub struct RenamedWord {
    /// The tables that have the key.
    pub place: WordPlace,
    /// The key in version 1.
    pub old: &'static str,
    /// The key in version 2.
    pub new: &'static str,
    /// Words under the key that were renamed too, as (old, new).
    pub values: &'static [(&'static str, &'static str)],
}

use WordPlace::{
    Budget, Call, Column, Condition, Fact, Fields, File, Hook, Literal, Lookup, Matcher, Merge, Pass, Position, Query, Row, ScanSource,
    Scripts, Step, StepEdit, Value,
};

const fn word(place: WordPlace, old: &'static str, new: &'static str) -> RenamedWord {
    RenamedWord { place, old, new, values: &[] }
}

const fn with_values(
    place: WordPlace,
    old: &'static str,
    new: &'static str,
    values: &'static [(&'static str, &'static str)],
) -> RenamedWord {
    RenamedWord { place, old, new, values }
}

/// All renamed words.
pub const WORDS: &[RenamedWord] = &[
    word(File, "account", "budget"),
    word(File, "ruler", "cost_model"),
    word(Budget, "ruler", "cost_model"),
    word(Call, "ruler", "cost_model"),
    word(Pass, "account", "budget"),
    with_values(Pass, "failing", "on_error", &[("spare", "skip")]),
    with_values(Pass, "misfit", "on_overflow", &[("fail", "error")]),
    with_values(Position, "lost", "on_lost", &[("drop", "skip")]),
    word(Matcher, "bad", "on_error"),
    word(Hook, "failing", "on_error"),
    word(Pass, "exempt", "protect"),
    word(Pass, "spare", "protect"),
    word(Pass, "then", "on_run"),
    word(Pass, "because", "reason"),
    word(Pass, "why", "reason_details"),
    word(Pass, "singly", "per_item"),
    word(Pass, "unasked", "always"),
    word(Pass, "unless", "blocked_by"),
    word(Pass, "more", "secondary_keys"),
    word(Pass, "grow", "recurse_into"),
    word(Pass, "since", "after_last"),
    word(Query, "since", "after_last"),
    word(Pass, "per", "group_by"),
    word(Query, "per", "group_by"),
    word(Pass, "others", "invert"),
    word(Query, "others", "invert"),
    word(Pass, "off", "include_disabled"),
    word(Query, "off", "include_disabled"),
    word(Pass, "from", "end"),
    word(Query, "from", "end"),
    word(ScanSource, "from", "end"),
    word(Query, "after", "append_to"),
    word(Lookup, "by", "key"),
    word(Merge, "over", "merge"),
    word(Column, "value", "column"),
    word(Scripts, "then", "steps"),
];

/// From which version's words to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordDirection {
    /// From version 1 to the words of version 2.
    ToNew,
    /// From version 2 to the words of version 1.
    ToOld,
}

impl RenamedWord {
    fn names(&self, direction: WordDirection) -> (&'static str, &'static str) {
        match direction {
            WordDirection::ToNew => (self.old, self.new),
            WordDirection::ToOld => (self.new, self.old),
        }
    }

    /// What a word under the key is called.
    #[must_use]
    pub fn renamed_value(&self, word: &str, direction: WordDirection) -> Option<&'static str> {
        self.values.iter().find_map(|(old, new)| match direction {
            WordDirection::ToNew => (*old == word).then_some(*new),
            WordDirection::ToOld => (*new == word).then_some(*old),
        })
    }
}

impl WordPlace {
    /// What a table is called in the docs.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            File => "a file",
            Pass => "a pass",
            ScanSource => "`[[scan_source]]`",
            Matcher => "`[[matcher]]`",
            Hook => "`[[hook]]`",
            Budget => "`[[budget]]`",
            Query => "a query, `{ of = … }`",
            Position => "a place, `at`",
            Call => "a function, `{ fn = … }`",
            Lookup => "`{ lookup = … }`",
            Merge => "a merge of tables",
            Column => "`{ table = … }`",
            Scripts => "the step `scripts`",
            Condition | Value | Fact | Row | Step | StepEdit | Fields | Literal => "",
        }
    }

    /// The word that a key of a table is.
    ///
    /// `row` gives the text under another key of the table: two words of version 1 may have become one.
    #[must_use]
    pub fn find_word<'r>(self, key: &str, direction: WordDirection, row: &dyn Fn(&str) -> Option<&'r str>) -> Option<&'static RenamedWord> {
        let mut found = WORDS.iter().filter(|word| word.place == self && word.names(direction).0 == key);
        let first = found.next();
        // `spare` is the word of the verb `evict` only
        found.next().filter(|_| row("do") == Some("evict")).or(first)
    }
}

/// Renames all words of version 1, for a file of that version.
pub(super) fn upgrade(root: &mut DocumentNode, report: &mut Report) {
    WordReader { is_new: false, report }.read(root, File);
}

/// Reads what only version 2 has: expressions become `{ "=" = "= …" }`, and a text that begins with `==` begins with `=`. Words of
/// version 1 are reported and renamed.
pub(super) fn read(root: &mut DocumentNode, report: &mut Report) {
    WordReader { is_new: true, report }.read(root, File);
}

/// A text that begins with `=`: an expression, or with `==` a text.
fn read_expression(node: &mut DocumentNode) {
    let NodeValue::Text(text) = &mut node.data else { return };
    if text.starts_with("==") {
        *text = text.get(1..).unwrap_or_default().into();
        return;
    }
    let text = DocumentNode { span: node.span, data: NodeValue::Text(text.clone()) };
    node.data = NodeValue::Table([("=".into(), TableField { key: node.span, node: text })].into_iter().collect());
}

struct WordReader<'r> {
    /// The file is of version 2.
    is_new: bool,
    report: &'r mut Report,
}

impl WordReader<'_> {
    /// Recursion is bounded by the depth of the file.
    fn read(&mut self, node: &mut DocumentNode, place: WordPlace) {
        match &mut node.data {
            NodeValue::Text(text) if !self.is_new && looks_like_expression(text) => {
                let message = "this text is no expression: the file is of version 1";
                let complaint = Diagnostic::warning(Code::ExpressionBad, message).at(node.span);
                self.report.push(complaint.help("`tapster fmt --to 2 FILE` writes the file as version 2; then take one `=` away"));
            }
            NodeValue::Text(_) if !self.is_new => {}
            NodeValue::Text(text) if text.starts_with('=') => read_expression(node),
            NodeValue::List(list) => {
                for element in list {
                    let inside = place.place_of_element(&|key| element.get(key).is_some());
                    self.read(element, inside);
                }
            }
            NodeValue::Table(table) => {
                for key in table.keys().filter(|key| is_old_word(key)).cloned().collect::<Vec<_>>() {
                    if let Some(word) = place.find_word(&key, WordDirection::ToNew, &|_| None).filter(|word| !table.contains_key(word.new))
                    {
                        self.rename(table, &key, word);
                    }
                }
                for (key, field) in table.iter_mut().filter(|(key, _)| key.as_ref() != "=") {
                    let inside = place.place_under(key, &|sought| field.node.get(sought).is_some());
                    if inside != Literal {
                        self.read(&mut field.node, inside);
                    }
                }
            }
            _ => {}
        }
    }

    /// In a file of version 2, a word of version 1 is a warning.
    fn report_renamed(&mut self, old: &str, new: &str, span: Span, replacement: &str) {
        if self.is_new {
            let message = format!("`{}` is called `{new}` since version 2", short::word(old));
            self.report.push(Diagnostic::new(Code::SchemaUpgraded, message).at(span).fix(span, replacement));
        }
    }

    fn rename(&mut self, table: &mut FieldMap, key: &str, word: &RenamedWord) {
        let Some((at, _, mut field)) = table.shift_remove_full(key) else { return };
        self.report_renamed(key, word.new, field.key, word.new);
        if let Some((old, new)) =
            field.node.as_text().and_then(|old| Some((old.to_owned(), word.renamed_value(old, WordDirection::ToNew)?)))
        {
            self.report_renamed(&old, new, field.node.span, &format!("\"{new}\""));
            field.node.data = NodeValue::Text(new.into());
        }
        table.shift_insert(at, Arc::from(word.new), field);
    }
}

/// Whether a text is probably meant as an expression; one may well begin with the mark.
fn looks_like_expression(text: &str) -> bool {
    text.starts_with("= ") && ["$", "(", "==", "&&", "||", "."].iter().any(|mark| text.contains(mark))
}

fn is_old_word(key: &str) -> bool {
    WORDS.iter().any(|word| word.old == key)
}
