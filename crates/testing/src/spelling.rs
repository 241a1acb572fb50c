//! Keys and words with a slip inside of what is expected: `payload = { mesages = { missing = true } }` holds whatever the rules
//! do.
//!
//! Rules may write any key, and what a case gives may come out as it is. So only that is told which is certain: a name that
//! stands neither in the rules nor in what the case gives, and that is a known one with a slip.

use std::collections::BTreeSet;

use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report, Span, suggest};
use crate::pack::Ruleset;

use super::literals::slipped;
use super::matchers::MATCHERS;
use super::nodes::keys_of;

/// What is misspelt inside of a value. `key` is the field that has the value, and `stands` says whether a word stands in the
/// rules or in what the case gives.
pub(super) fn faults(rules: &Ruleset, key: Option<&str>, node: &DocumentNode, stands: &dyn Fn(&str) -> bool) -> Report {
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
        let near = suggest::nearest(name, self.known().iter().copied()).filter(|near| suggest::is_misspelt_key(name, near));
        if let Some(near) = near {
            let complaint = Diagnostic::error(Code::NameUnknown, format!("no rule writes a key `{name}`")).at(span);
            self.found.push(complaint.help(format!("did you mean `{near}`?")));
        }
    }

    fn word(&mut self, key: &str, word: &str, span: Span) {
        let words = self.rules.programs().rules.names.field_words.get(key);
        let near = words.and_then(|words| slipped(word, words.iter()));
        if let Some(near) = near.filter(|_| !(self.stands)(word)) {
            let complaint = Diagnostic::error(Code::NameUnknown, format!("no rule gives `{key}` the word `{word}`")).at(span);
            self.found.push(complaint.help(format!("did you mean `{near}`?")));
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
