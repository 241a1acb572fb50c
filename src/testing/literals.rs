//! Values that an expectation about a list names and that no item can have in this field: with a slot that is misspelt,
//! `{ excludes = [{ slot = "chat_histroy" }] }` holds whatever the rules do.
//!
//! A rule may copy any value into a field, so only that is told which is certain: a value that every row type with such a
//! field declares otherwise, or a word that is a known one with a slip and stands neither in the rules nor in the case.

use std::sync::Arc;

use crate::diag::{Code, Data, Diagnostic, Node, suggest};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::terms::names::Type;

/// What is wrong with the value that a field of an item is expected to have. `types` are the row types of the list; `stands`
/// says whether a word stands in the rules or in what the case gives, and `is_given` whether the case gives such a value.
pub(super) fn fault(
    rules: &Ruleset,
    types: &[Arc<str>],
    field: &str,
    node: &Node,
    stands: impl Fn(&str) -> bool,
    is_given: impl Fn(&Node) -> bool,
) -> Option<Diagnostic> {
    // items of a list without row types may be anything, and tables and lists may hold tests
    if types.is_empty() || !matches!(node.data, Data::Text(_) | Data::Int(_) | Data::Float(_) | Data::Bool(_)) {
        return None;
    }
    let names = &rules.programs().rules.names;
    let own = names.field_type(Some(types), field);
    // rules copy fields from items of one type to items of another
    let fits = |kind: Type| kind.accepts(&node.data) || kind.holds(&Value::from(node));
    let mut kinds = names.fields.values().filter_map(|fields| fields.get(field)).map(|declared| declared.kind);
    if let Some(kind) = own.filter(|_| !kinds.any(fits)) {
        let message = format!("`{field}` is declared as `{}`, so it is never {}", kind.word(), node.kind());
        let complaint = Diagnostic::error(Code::TermType, message).at(node.span);
        return (!is_given(node)).then(|| complaint.help(format!("write a value of type `{}`", kind.word())));
    }
    let word = node.as_text().filter(|word| !word.is_empty())?;
    let (near, message) = match own {
        Some(Type::Slot) => {
            let slots = rules.pack().tables.get("slot").into_iter().flat_map(|rows| rows.keys());
            (slipped(word, slots.chain(names.regions.keys()))?, format!("no slot or region is called `{word}`"))
        }
        Some(Type::Group) => (slipped(word, names.groups.keys())?, format!("no budget group is called `{word}`")),
        // a field may also hold other words than the usual ones
        _ => (names.near_word(field, word)?, format!("no rule gives `{field}` the word `{word}`")),
    };
    let complaint = Diagnostic::error(Code::NameUnknown, message).at(node.span);
    (!stands(word)).then(|| complaint.help(format!("did you mean `{near}`?")))
}

/// The known name that a word, which is none of them, is with a slip.
fn slipped<'n>(word: &str, known: impl Iterator<Item = &'n Arc<str>> + Clone) -> Option<&'n str> {
    let is_known = known.clone().any(|known| **known == *word);
    known.map(|known| &**known).find(|known| !is_known && suggest::is_misspelt_key(word, known))
}
