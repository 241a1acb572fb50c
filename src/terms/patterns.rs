//! Patterns that come from data: each is compiled once per build, and a pattern that exceeded its bound is not tried
//! again. Those that stand in rows of the pack are compiled once for all builds.
//!
//! One attempt is bounded by its engine. The bound on the whole build is kept here.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{Code, limits};
use crate::model::{Map, Value};
use crate::text::functions::{Function, FunctionRefusal};
use crate::text::pattern::{self, MatchBound, Pattern, PatternError};
use crate::text::work;

use super::{BuildState, EvalFault};

/// Maximum number of parts of all patterns from the data of a build.
const MOST_PARTS: u64 = 1_000_000;
/// After so many patterns that exceeded their bound, others that could do so are not tried.
const MOST_GIVEN_UP: usize = 50;

/// Patterns that stand in rows of a pack. Their number is bounded by the pack, not by what builds are given.
#[derive(Debug, Default)]
pub struct RowPatterns {
    /// The texts of all rows, once one was asked for.
    texts: OnceLock<FxHashSet<Arc<str>>>,
    made: RwLock<FxHashMap<Arc<str>, Pattern>>,
}

impl RowPatterns {
    /// The pattern, if it stands in a row and has been compiled.
    fn find(&self, text: &str) -> Option<Pattern> {
        self.made.read().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    /// Keeps a pattern if it stands in a row.
    fn keep<'v>(&self, text: &str, pattern: &Pattern, tables: impl Iterator<Item = &'v Value>) {
        if let Some(text) = self.texts.get_or_init(|| texts(tables)).get(text) {
            self.made.write().unwrap_or_else(PoisonError::into_inner).insert(text.clone(), pattern.clone());
        }
    }
}

/// The texts in the cells of all rows.
fn texts<'v>(tables: impl Iterator<Item = &'v Value>) -> FxHashSet<Arc<str>> {
    let mut all = FxHashSet::default();
    let mut open: Vec<&Value> = tables.collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Text(text) if text.len() <= limits::PATTERN_BYTES => _ = all.insert(text.clone()),
            Value::List(list) => open.extend(list.iter()),
            Value::Map(map) => open.extend(map.values()),
            _ => {}
        }
    }
    all
}

/// What a build has recorded about the patterns from data.
#[derive(Default)]
pub(super) struct PatternRecord {
    known: FxHashMap<String, Result<Pattern, PatternError>>,
    /// The parts of all of them.
    parts: u64,
    given_up: FxHashSet<String>,
}

impl BuildState {
    /// A pattern from data, compiled once per build. With `flags` the text is a bare pattern; without, it may be
    /// `/pattern/flags` or a plain text.
    ///
    /// # Errors
    /// The text is not a pattern, or it cannot be matched in bounded time.
    pub fn pattern(&self, text: &str, flags: Option<&str>) -> Result<Pattern, PatternError> {
        let key = flags.map_or_else(|| text.to_owned(), |flags| format!("/{text}/{flags}\0"));
        if let Some(found) = self.patterns.borrow().known.get(&key) {
            return found.clone();
        }
        let shared = if flags.is_none() { self.rules.row_patterns.find(text) } else { None };
        let spent = self.patterns.borrow().parts >= MOST_PARTS;
        let made = match shared {
            _ if spent => {
                let reason = format!("the patterns of this build come to more than {MOST_PARTS} parts");
                Err(PatternError { fault: pattern::PatternFault::Unsafe, offset: 0, reason })
            }
            Some(pattern) => {
                // if no work is left, the next step of the build fails
                let _ = pattern.pay();
                Ok(pattern)
            }
            None => flags.map_or_else(|| Pattern::parse(text), |flags| Pattern::new(text, flags)),
        };
        if let (Ok(pattern), None) = (&made, flags) {
            self.rules.row_patterns.keep(text, pattern, self.rules.tables.values().map(|table| &table.all));
        }
        let mut patterns = self.patterns.borrow_mut();
        patterns.parts = patterns.parts.saturating_add(made.as_ref().map_or(0, Pattern::parts));
        patterns.known.insert(key, made.clone());
        made
    }

    /// Calls a function of the library. If a text reaches a bound, a warning is raised and the text is returned
    /// unchanged.
    ///
    /// # Errors
    /// The error that the function returns.
    pub fn called(&self, function: &Function, args: &Map) -> Result<Value, EvalFault> {
        let made =
            function.call(args).inspect(|made| self.usage.count_steps(made.as_list().map_or(0, <[Value]>::len) / work::READ_PER_STEP));
        made.or_else(|refusal| self.pass_over(function.name, refusal))
    }

    /// What a function gives that returned no value: a warning and a value in its place, if a pattern reached a bound.
    ///
    /// # Errors
    /// Any other refusal.
    pub fn pass_over(&self, name: &str, refusal: FunctionRefusal) -> Result<Value, EvalFault> {
        match refusal {
            FunctionRefusal::Failed(why) => Err(EvalFault::failed(why)),
            FunctionRefusal::Bound { why, instead } => {
                self.warn(Code::RegexUnsafe, format!("`{name}` is passed over: {why}"));
                Ok(instead)
            }
        }
    }

    /// Whether the text contains a match of a pattern from data.
    ///
    /// # Errors
    /// A bound that was reached, now or earlier in this build.
    pub fn is_match(&self, pattern: &Pattern, text: &str) -> Result<bool, MatchBound> {
        {
            let given_up = &self.patterns.borrow().given_up;
            if given_up.contains(pattern.text()) {
                return Err(MatchBound::Steps);
            }
            if given_up.len() >= MOST_GIVEN_UP && pattern.may_run_away() {
                return Err(MatchBound::Patterns { limit: MOST_GIVEN_UP });
            }
        }
        let found = pattern.is_match(text);
        if found == Err(MatchBound::Steps) {
            self.patterns.borrow_mut().given_up.insert(pattern.text().to_owned());
        }
        found
    }
}
