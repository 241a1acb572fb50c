//! The keys of the parts of a template, and the words that stand as values of the language.

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
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let parts = [LAYOUT_MESSAGE, MESSAGE, LAYOUT_SLOT, ANCHOR, SLOT, EACH, IF, COMPARISON, REF, LANE, GROUP, WORDS];
    let inner = INNER.into_iter().flat_map(|(_, keys)| keys);
    parts.into_iter().flatten().chain(inner).chain(&["attachments", "layout", "slots", "description"]).copied()
}

/// The tables inside of a part that have keys of their own.
pub(super) const INNER: [(&str, &[&str]); 2] = [("budget", &["maxTokens"]), ("interleave", &["kind", "text"])];
