//! How large a pattern is that another library compiles, such as the patterns of a JSON Schema.

use super::tree::{PatternFlags, PatternTree};
use super::{PatternError, check, pattern_parser, size};
use crate::diag::limits;

/// The size of a pattern of another library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForeignSize {
    /// What compiling it counts as, in parts.
    pub parts: u64,
    /// It is no automaton.
    pub backtracks: bool,
}

/// Measures a pattern. Flags in front of it, such as `(?i)`, are not JavaScript's, but usual elsewhere.
///
/// # Errors
/// It is too large.
pub(crate) fn foreign(source: &str) -> Result<ForeignSize, PatternError> {
    let (inner, ignore_case) = match source.strip_prefix("(?").and_then(|rest| rest.split_once(')')) {
        Some((flags, rest)) if !flags.is_empty() && flags.bytes().all(|b| b.is_ascii_lowercase()) => (rest, flags.contains('i')),
        _ => (source, false),
    };
    // names of groups as other languages write them
    let inner = inner.replace("(?P<", "(?<");
    let flags = |unicode| PatternFlags { ignore_case, unicode, ..PatternFlags::default() };
    for unicode in [true, false] {
        if let Ok(tree) = pattern_parser::parse(&inner, flags(unicode)) {
            return measured(&tree, flags(unicode));
        }
    }
    if source.len() > limits::NAME_BYTES {
        return Err(PatternError::too_costly(0, format!("it is no pattern of JavaScript, and longer than {} bytes", limits::NAME_BYTES)));
    }
    Ok(ForeignSize { parts: size::MOST_PARTS, backtracks: true })
}

fn measured(tree: &PatternTree, flags: PatternFlags) -> Result<ForeignSize, PatternError> {
    let size = size::of(tree, PatternFlags { unicode: true, ..flags })?;
    // these are paid by parts alone
    let parts = size.parts.saturating_add(size.folded / 128);
    Ok(ForeignSize { parts, backtracks: check::facts(tree, flags, false).needs_backtracking })
}
