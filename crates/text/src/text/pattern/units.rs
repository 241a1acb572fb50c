//! Patterns without the flag `u` match UTF-16 units in JavaScript: `.` matches half of an emoji.
//!
//! The engines read whole characters. Where that can make a difference, the text is taken apart into halves, the
//! pattern is compiled for halves, and the result is put together again.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::check::nullable;
use super::tree::{PatternNode, PatternTree};
use super::{Captures, MatchBound, Pattern, PatternError};
use crate::text::surrogates;

/// A text in which a pattern has matched.
#[derive(Debug, Clone, Copy)]
pub struct SearchedText<'t> {
    /// The text that the places of matches are in.
    pub text: &'t str,
    /// Its characters beyond U+FFFF are taken apart into halves.
    pub apart: bool,
}

impl<'t> SearchedText<'t> {
    /// A part of the text, with matching halves joined if it was taken apart.
    #[must_use]
    pub fn whole(&self, part: &'t str) -> Cow<'t, str> {
        if self.apart { surrogates::joined(part) } else { Cow::Borrowed(part) }
    }
}

/// The same pattern for texts of halves.
#[derive(Debug)]
pub(super) enum UnitPattern {
    /// Whole characters and units give the same matches.
    Same,
    /// The pattern for halves, compiled when it is first needed. The pattern itself has been shown to compile.
    Own(OnceLock<Option<Pattern>>),
}

impl UnitPattern {
    /// Whether a pattern that was read from `source` needs one of its own.
    ///
    /// # Errors
    /// A pattern that cannot be read by units, such as a range between two characters beyond U+FFFF.
    pub(super) fn of(tree: &PatternTree, source: &str, flags: &str) -> Result<Self, PatternError> {
        if flags.contains('u') || (!nullable(&tree.root) && is_basic(&tree.root)) {
            return Ok(Self::Same);
        }
        let own = OnceLock::new();
        let halved = surrogates::pattern(source);
        if halved != source {
            let pattern = Pattern::compile(&halved, flags, false, false).map_err(|mut error| {
                error.offset = source.bytes().position(|b| b >= 0xF0).unwrap_or(0);
                error.reason = format!("without the flag `u` a character beyond U+FFFF is two: {}", error.reason);
                error
            })?;
            let _ = own.set(Some(pattern));
        }
        Ok(Self::Own(own))
    }
}

/// Whether all sets are of characters that are one unit.
fn is_basic(node: &PatternNode) -> bool {
    match node {
        PatternNode::Set(set) => set.characters().is_some_and(|ranges| ranges.iter().all(|(_, last)| *last <= 0xFFFF)) && !set.has_halves(),
        PatternNode::Concat(items) | PatternNode::Alt(items) => items.iter().all(is_basic),
        PatternNode::Capture(_, node) | PatternNode::Repeat { node, .. } | PatternNode::Look { node, .. } => is_basic(node),
        PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) | PatternNode::Backref(_) => true,
    }
}

impl Pattern {
    /// The pattern and the text with each half as a character, where the pattern may match otherwise by units than by
    /// whole characters. What it finds is to be put together by [`surrogates::together`].
    #[must_use]
    pub fn by_units(&self, text: &str) -> Option<(Pattern, String)> {
        let UnitPattern::Own(own) = &self.compiled().units else { return None };
        if !surrogates::has_any(text) {
            return None;
        }
        let halved = own.get_or_init(|| {
            let (source, flags) = Self::split(&self.0.text)?;
            Self::compile(source, flags, false, false).ok()
        });
        halved.clone().map(|halved| (halved, surrogates::apart(text).into_owned()))
    }

    /// [`Pattern::replace`] by units. `with` gets the text that the places of the match are in, too, and whether that is
    /// one of halves.
    ///
    /// # Errors
    /// A bound that was reached.
    pub fn rewrite(
        &self,
        text: &str,
        times: Option<usize>,
        mut with: impl FnMut(&SearchedText<'_>, &Captures, &mut String),
    ) -> Result<Option<String>, MatchBound> {
        match self.by_units(text) {
            None => {
                let searched = SearchedText { text, apart: false };
                self.replace(text, times, |found, out| with(&searched, found, out))
            }
            Some((halved, apart)) => {
                let searched = SearchedText { text: &apart, apart: true };
                let made = halved.replace(&apart, times, |found, out| with(&searched, found, out))?;
                Ok(made.map(|made| surrogates::together(&made)))
            }
        }
    }
}
