//! Values that an expectation names and that no item can have in this field, or no path of the scene: with a slot that is
//! misspelt, `{ excludes = [{ slot = "chat_histroy" }] }` holds whatever the rules do.
//!
//! A rule may copy any value into a field, so only that is told which is likely: a value that every row type with such a
//! field declares otherwise, which is a warning, because a script or a sum may still give it; or a word that is a known one with
//! a slip and stands neither in the rules nor in the case.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, suggest};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::terms::names::ValueType;

/// What is wrong with the value that a field of an item is expected to have. `types` are the row types of the list; `stands`
/// says whether a word stands in the rules or in what the case gives, and `is_given` whether the case gives such a value.
pub(super) fn fault(
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
            (slipped(word, slots.chain(names.regions.keys()))?, format!("no slot or region is called `{word}`"))
        }
        Some(ValueType::Group) => (slipped(word, names.groups.keys())?, format!("no budget group is called `{word}`")),
        // a field may also hold other words than the usual ones
        _ => (slipped(word, names.field_words.get(field)?.iter())?, format!("no rule gives `{field}` the word `{word}`")),
    };
    let complaint = Diagnostic::error(Code::NameUnknown, message).at(node.span);
    (!stands(word)).then(|| complaint.help(format!("did you mean `{near}`?")))
}

/// What is wrong with a value that a path is expected to have: it is declared as another type, or it is one of the words that
/// the pack knows for the path, with a slip. An empty text stands for no value.
pub(super) fn of_path(
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
        (Code::TermType, message, format!("write a value of type `{}`", kind.word()))
    } else {
        let near = slipped(word?, names.words.get(path)?.iter())?;
        (Code::NameUnknown, format!("the pack knows no `${path}` that is `{}`", word?), format!("did you mean `{near}`?"))
    };
    // rules may have words of their own
    let may_be = word.is_some_and(|word| word.is_empty() || stands(word)) || is_given(node);
    let complaint = if code == Code::TermType { Diagnostic::warning(code, message) } else { Diagnostic::error(code, message) };
    (!may_be).then(|| complaint.at(node.span).help(help))
}

/// The known name that a word, which is none of them, is with a slip.
pub(super) fn slipped<'n>(word: &str, known: impl Iterator<Item = &'n Arc<str>> + Clone) -> Option<&'n str> {
    let known = known.map(|known| &**known);
    if known.clone().any(|known| known == word) {
        return None;
    }
    let near = suggest::nearest(word, known.clone()).filter(|near| suggest::is_misspelt_key(word, near));
    near.or_else(|| suggest::misspelt_key(word, known))
}
