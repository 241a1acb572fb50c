//! Expansion in ordered passes: one pattern after another over the flat text. Later passes see what earlier ones have
//! inserted.
//!
//! No pass reads its own insertions, and the caller makes a fixed number of passes, so an expansion always ends. It is
//! bounded in matches and bytes; a text that exceeds a bound is left unchanged.

use std::sync::Arc;

use super::{ExpandedText, MacroResult, TextOffset};
use crate::diag::limits;
use crate::text::pattern::{Captures, MatchBound, Pattern, replace_any};
use crate::text::{StepCounter, TextLimits, work};

/// A match of a pass.
pub struct PassHit<'a> {
    /// The groups of the pattern from group 1 on; groups that did not participate are empty.
    pub groups: Vec<&'a str>,
    /// Where it begins in `source`, in bytes.
    pub at: TextOffset,
    /// The text as it was before this pass.
    pub source: &'a Arc<str>,
}

/// A text under a series of passes.
pub struct PassText {
    given: Arc<str>,
    text: Arc<str>,
    limits: TextLimits,
    /// The text holds `{{`.
    braces: bool,
    /// Matches so far.
    steps: StepCounter,
    /// A bound was reached.
    over: bool,
    warnings: Vec<String>,
}

impl PassText {
    /// A text before its first pass.
    #[must_use]
    pub fn new(text: &Arc<str>, limits: TextLimits) -> Self {
        let braces = text.contains("{{");
        Self {
            given: text.clone(),
            text: text.clone(),
            limits,
            braces,
            steps: limits.counter(work::STEPS_PER_OPERATION),
            over: false,
            warnings: Vec::new(),
        }
    }

    /// Whether the text as it is now holds `{{`.
    #[must_use]
    pub fn has_braces(&self) -> bool {
        self.braces
    }

    /// Whether a pass can still change something.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !self.over && !self.text.is_empty()
    }

    /// One pass: every match of `find` is replaced by the answer of `each`. A macro that is unknown or fails ends the
    /// pass, and the text is as it was before it.
    pub fn pass(&mut self, find: &Pattern, mut each: impl FnMut(&PassHit<'_>) -> MacroResult) {
        self.replace(|text, put| find.replace(text, None, |hit, out| put(0, hit, out)), |_, hit| each(hit));
    }

    /// The same for several patterns in one walk from left to right; `each` gets the number of the one that matched.
    pub fn pass_of_several(&mut self, finds: &[&Pattern], each: impl FnMut(usize, &PassHit<'_>) -> MacroResult) {
        self.replace(|text, put| replace_any(finds, text, put), each);
    }

    fn replace(
        &mut self,
        walk: impl FnOnce(&str, &mut dyn FnMut(usize, &Captures, &mut String)) -> Result<Option<String>, MatchBound>,
        mut each: impl FnMut(usize, &PassHit<'_>) -> MacroResult,
    ) {
        if !self.goes_on() {
            return;
        }
        let source = self.text.clone();
        let most = self.given.len().saturating_add(self.limits.output);
        let (mut failed, mut ended) = (None, false);
        let replaced = walk(&source, &mut |n, hit, out| {
            if self.over || ended {
                return;
            }
            if let Err(bound) = self.steps.count(1) {
                self.over = true;
                let most = self.limits.steps;
                self.warn(bound.message(|| format!("more than {most} macros; the text is left as it was")));
                return;
            }
            match each(n, &hit_of(hit, &source)) {
                MacroResult::Text(text) => out.push_str(&text),
                MacroResult::Unknown => ended = true,
                MacroResult::Failed(why) => (failed, ended) = (Some(why), true),
            }
            if out.len() > most {
                self.over = true;
                self.warn(format!("macros would add more than {} bytes; the text is left as it was", self.limits.output));
            }
        });
        if let Some(why) = failed {
            self.warn(why);
        }
        match replaced {
            Err(bound) => self.warn(format!("a macro pass was left out: {bound}")),
            Ok(Some(text)) if !self.over && !ended => {
                self.braces = text.contains("{{");
                self.text = text.into();
            }
            Ok(_) => {}
        }
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < limits::WARNED {
            self.warnings.push(warning);
        }
    }

    /// A text that a macro has ended.
    #[must_use]
    pub fn ended(self, whole: Arc<str>) -> ExpandedText {
        ExpandedText { text: whole, warnings: self.warnings }
    }

    /// The text after its last pass.
    #[must_use]
    pub fn done(self) -> ExpandedText {
        let text = if self.over { self.given.clone() } else { self.text };
        ExpandedText { text, warnings: self.warnings }
    }
}

fn hit_of<'a>(hit: &Captures, source: &'a Arc<str>) -> PassHit<'a> {
    let groups = hit.groups.iter().map(|group| group.map_or("", |g| g.of(source))).collect();
    PassHit { groups, at: hit.whole.start, source }
}
