//! The changes that certainly are the remedy of a diagnostic: where they are written.

use std::collections::{BTreeMap, BTreeSet};

use crate::diag::{Certainty, Code, DocumentNode, FieldMap, NodeValue, Report, SourceId, Sources, Span, Suggestion, suggest};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::terms::names::PackNames;

/// Finds the places of the words that are certainly to be replaced: where the word stands alone at the place of its diagnostic,
/// or once in what is written there.
pub fn locate_repairs(report: &mut Report, sources: &Sources) {
    report.each(|d| {
        if let (Some(span), Some(suggestion)) = (d.span, &mut d.suggestion)
            && suggestion.span.is_none()
        {
            suggestion.span = place_of_word(suggestion, span, sources.snippet(span));
        }
    });
}

/// Where a word is written in the text of a diagnostic that is certainly to be replaced.
fn place_of_word(suggestion: &Suggestion, span: Span, text: &str) -> Option<Span> {
    let word = suggestion.word.as_str();
    // the place of a text has its quotes, that of a reference its sign
    let whole = text.trim_start_matches(['"', '\'']).trim_end_matches(['"', '\'']);
    let whole = whole.strip_prefix('$').unwrap_or(whole);
    let at = match suggestion.certainty {
        Certainty::Certain | Certainty::Alone if whole == word => text.find(whole)?,
        Certainty::Certain => {
            let mut found = text.match_indices(word).map(|(at, _)| at).filter(|at| is_whole(text, *at, word.len()));
            found.next().filter(|_| found.next().is_none())?
        }
        _ => return None,
    };
    may_replace(span, text, at, word, &suggestion.replacement)
}

/// Where a word of `text`, which stands at `span`, is written, if `near` can be written there as it is.
fn may_replace(span: Span, text: &str, at: usize, word: &str, near: &str) -> Option<Span> {
    let plain = |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\'));
    let is_bare = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    // without quotes, it would need some
    let fits = text.starts_with(['"', '\'']) || is_bare(word) == is_bare(near);
    let start = span.start as usize + at;
    (plain(word) && plain(near) && fits).then(|| Span::new(span.source, start, start + word.len()))
}

/// Whether what stands at a place of a text is not a part of a longer word.
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let goes_on = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let behind = text.get(at + length..).and_then(|behind| behind.chars().next());
    !goes_on(before) && !goes_on(behind)
}

/// Gives warnings about keys that no rule reads, of a scene or of an item, the change that writes the one known key that is
/// near, if that key is not there already and may have such a value.
pub fn repair_keys(report: &mut Report, sources: &Sources, rules: &Ruleset) {
    let mut roots: BTreeMap<SourceId, Option<DocumentNode>> = BTreeMap::new();
    report.each(|d| {
        let Some(span) = d.span.filter(|_| d.code == Code::SceneField) else { return };
        let Some(near) = d.suggestion.as_ref().filter(|near| near.span.is_none()) else { return };
        let root = roots.entry(span.source).or_insert_with(|| tree(span.source, sources));
        let is_path = d.help.is_none();
        let found = root.as_ref().and_then(|root| known_key(near, is_path, span, root, sources, &rules.programs().rules.names));
        d.suggestion = found.or_else(|| d.suggestion.take());
    });
}

/// The values of a file of TOML or JSON.
fn tree(id: SourceId, sources: &Sources) -> Option<DocumentNode> {
    let source = sources.get(id)?;
    let is_json = source.name.ends_with(".json") || source.text.trim_start().starts_with('{');
    let mut said = Report::default();
    if is_json { crate::pack::json::parse(id, &source.text, &mut said) } else { crate::pack::toml::parse(id, &source.text, &mut said) }
}

/// The change of the key at a place to the name that is near; of a path, to its last name.
fn known_key(
    suggestion: &Suggestion,
    is_path: bool,
    span: Span,
    root: &DocumentNode,
    sources: &Sources,
    names: &PackNames,
) -> Option<Suggestion> {
    let (table, key, value) = at_key(root, span)?;
    let value = Value::from(value);
    let is_slip = |known: &&str| suggest::is_misspelt_key(key, known);
    // a path is declared once, a field for several row types
    let (near, others, fits): (&str, BTreeSet<&str>, bool) = if is_path {
        let path = suggestion.replacement.as_str();
        let (above, near) = path.rsplit_once('.').unwrap_or(("", path));
        let is_beside = below(&suggestion.word, above) == Some(key);
        let beside = names.path_names().filter_map(|path| below(path, above)?.split('.').next());
        let holds = names.paths.get(path).is_some_and(|declared| declared.kind.holds(&value));
        (near, beside.filter(is_slip).collect(), is_beside && holds)
    } else {
        let near = suggestion.replacement.as_str();
        let mut kinds = names.fields.values().filter_map(|fields| fields.get(near)).map(|declared| declared.kind);
        (near, names.field_names(None).filter(is_slip).collect(), kinds.all(|kind| kind.holds(&value)))
    };
    if !fits || table.contains_key(near) || !is_slip(&near) || others.iter().any(|other| *other != near) {
        return None;
    }
    let text = sources.snippet(span);
    let span = may_replace(span, text, text.find(key)?, key, near)?;
    Some(Suggestion { span: Some(span), certainty: Certainty::Certain, ..Suggestion::possible(key, near) })
}

/// The rest of a path that is below another one.
fn below<'p>(path: &'p str, above: &str) -> Option<&'p str> {
    if above.is_empty() { Some(path) } else { path.strip_prefix(above)?.strip_prefix('.') }
}

/// The table that has a key at a place, the key, and its value.
fn at_key(root: &DocumentNode, place: Span) -> Option<(&FieldMap, &str, &DocumentNode)> {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeValue::List(list) => open.extend(list),
            NodeValue::Table(table) => {
                if let Some((key, field)) = table.iter().find(|(_, field)| field.key == place) {
                    return Some((table, &**key, &field.node));
                }
                open.extend(table.values().map(|field| &field.node));
            }
            _ => {}
        }
    }
    None
}
