//! Regular expressions with JavaScript's semantics and bounded time.
//!
//! A pattern is parsed once into a tree and given to the cheapest engine that can be shown to mean the same:
//! `regex` (linear time), else `fancy-regex` (a bounded number of attempts, and its looks at the text are counted), else
//! `regress` (JavaScript's own rules, no bound of its own, hence only for patterns without nested repeats, over short texts).
//! A pattern that fits none is refused. The engines read texts by whole characters, as with the flag `u`; `units` says
//! how patterns without that flag match UTF-16 units.
//! One known difference: `i` without `u` in a pattern with back references also takes U+017F for `s` and U+212A for `k`.

mod check;
mod engine;
mod foreign;
mod pattern_parser;
mod print;
mod size;
mod tree;
mod units;

use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::diag::limits;
use crate::text::{work, written};
use engine::PatternEngines;
pub(crate) use foreign::foreign;
pub use tree::PatternFlags;
pub use units::SearchedText;

/// The letters that may follow a pattern as its flags.
pub const FLAGS: &str = "gimsuy";

/// What is wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternFault {
    /// It is not a pattern.
    Bad,
    /// It is a pattern, but matching it could take unbounded time or memory.
    Unsafe,
}

/// Why a pattern is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PatternError {
    /// Which kind of mistake.
    pub fault: PatternFault,
    /// Where in the text that was given, in bytes.
    pub offset: usize,
    /// What is wrong: lower case, no full stop.
    pub reason: String,
}

impl PatternError {
    fn bad(offset: usize, reason: impl Into<String>) -> Self {
        Self { fault: PatternFault::Bad, offset, reason: reason.into() }
    }

    fn too_costly(offset: usize, reason: impl Into<String>) -> Self {
        Self { fault: PatternFault::Unsafe, offset, reason: reason.into() }
    }
}

/// A bound that was reached while matching; the text is to be left as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchBound {
    /// The text is longer than the pattern may be given.
    #[error("the text has {length} bytes, and this pattern is bounded to {limit}")]
    Text {
        /// Bytes of the text.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Too many attempts.
    #[error("the pattern took too many steps on this text")]
    Steps,
    /// Too many patterns have already exceeded their bound, so this one, which could do so too, is not tried.
    #[error("{limit} patterns have run away before, so it is not tried")]
    Patterns {
        /// The number of patterns that may do so.
        limit: usize,
    },
    /// The text that a replacement makes grows too long.
    #[error("the replaced text is longer than {limit} bytes")]
    Output {
        /// Bytes allowed.
        limit: usize,
    },
}

/// A stretch of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextMatch {
    /// First byte.
    pub start: usize,
    /// The end, exclusive.
    pub end: usize,
}

impl TextMatch {
    /// Where the search goes on: an empty match is not found again. `None` at the end of `text`.
    fn next(self, text: &str) -> Option<usize> {
        if self.start < self.end {
            return Some(self.end);
        }
        text.get(self.end..)?.chars().next().map(|c| self.end + c.len_utf8())
    }

    /// The stretch of `text`; nothing if it is from another text.
    #[must_use]
    pub fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// A match with its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    /// The whole match.
    pub whole: TextMatch,
    /// Group 1 and on; `None` for a group that did not participate.
    pub groups: Vec<Option<TextMatch>>,
}

/// A text as a piece of a pattern that finds just this text, also in a class.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\0' => out.push_str("\\0"),
            '.' | '^' | '$' | '*' | '+' | '?' | '{' | '}' | '[' | ']' | '\\' | '/' | '|' | '(' | ')' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// A pattern. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct Pattern(Arc<WrittenPattern>);

/// A pattern as it is written, and as it is matched, which one of tested rules is not before it is used.
#[derive(Debug)]
struct WrittenPattern {
    text: Arc<str>,
    compiled: OnceLock<CompiledPattern>,
}

#[derive(Debug)]
struct CompiledPattern {
    flags: PatternFlags,
    names: Vec<Option<Arc<str>>>,
    engines: PatternEngines,
    units: units::UnitPattern,
    size: size::PatternSize,
}

impl Pattern {
    /// Reads `/source/flags`, or any other text as itself (all its occurrences, letter case counts).
    ///
    /// # Errors
    /// A pattern that is malformed or cannot be matched in bounded time; the offset counts from the start of `text`.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Self::read(text, true)
    }

    /// The same for a text of rules. One of rules that were tested is read when it is first used, and at nobody's expense: most
    /// builds use few of the patterns of a pack. Others are remembered, since rules are read again with each keystroke in an editor.
    ///
    /// # Errors
    /// As [`Pattern::parse`], unless the rules were tested.
    pub fn of_rules(text: &str, tested: bool) -> Result<Self, PatternError> {
        if tested { Ok(Self(Arc::new(WrittenPattern { text: text.into(), compiled: OnceLock::new() }))) } else { cached(text) }
    }

    fn compiled(&self) -> &CompiledPattern {
        let compile = || match Self::split(&self.0.text) {
            Some((source, flags)) => CompiledPattern::of(source, flags, true, false).ok(),
            None => None,
        };
        self.0.compiled.get_or_init(|| work::without_budget(compile).unwrap_or_else(|| CompiledPattern::literal(&self.0.text)))
    }

    fn read(text: &str, pays: bool) -> Result<Self, PatternError> {
        let Some((source, flags)) = Self::split(text) else { return Ok(Self::literal(text)) };
        Self::compile(source, flags, true, pays).map_err(|mut error| {
            error.offset += 1;
            error
        })
    }

    /// The source and the flags, if `text` is written `/source/flags`: whether it is a pattern or a plain text.
    /// Anything from one to eight small letters counts as flags, so that a wrong flag is an error and not a plain text.
    #[must_use]
    pub fn split(text: &str) -> Option<(&str, &str)> {
        let (source, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
        let looks_so = !source.is_empty() && flags.len() <= 8 && flags.bytes().all(|b| b.is_ascii_lowercase());
        looks_so.then_some((source, flags))
    }

    /// Whether a text is written `/source/flags` with known flags alone.
    #[must_use]
    pub fn is_written(text: &str) -> bool {
        Self::split(text).is_some_and(|(_, flags)| flags.chars().all(|flag| FLAGS.contains(flag)))
    }

    /// Compiles a pattern from its source (as between the slashes) and its flags (of [`FLAGS`]).
    ///
    /// # Errors
    /// A pattern that is malformed or cannot be matched in bounded time; the offset counts from the start of `source`.
    pub fn new(source: &str, flags: &str) -> Result<Self, PatternError> {
        Self::compile(source, flags, true, true)
    }

    fn compile(source: &str, flags: &str, by_units: bool, pays: bool) -> Result<Self, PatternError> {
        let compiled = CompiledPattern::of(source, flags, by_units, pays)?;
        Ok(Self(Arc::new(WrittenPattern { text: format!("/{source}/{flags}").into(), compiled: compiled.into() })))
    }

    /// A pattern that matches all occurrences of `text` itself.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self(Arc::new(WrittenPattern { text: text.into(), compiled: CompiledPattern::literal(text).into() }))
    }

    /// The text that it was made from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Its flags.
    #[must_use]
    pub fn flags(&self) -> PatternFlags {
        self.compiled().flags
    }

    /// The names of its groups, from group 1 on.
    #[must_use]
    pub fn names(&self) -> &[Option<Arc<str>>] {
        &self.compiled().names
    }

    /// Which engine matches it: `text`, `automaton`, `bounded` or `javascript` (for `explain`).
    #[must_use]
    pub fn engine(&self) -> &'static str {
        self.compiled().engines.name()
    }

    /// Whether its engine may need more than one look at each character.
    #[must_use]
    pub fn may_run_away(&self) -> bool {
        matches!(self.engine(), "bounded" | "javascript")
    }

    /// Pays for compiling it, where it was compiled before: every build takes the same work. A plain text is not compiled.
    ///
    /// # Errors
    /// A bound of the work is reached.
    pub fn pay(&self) -> Result<(), work::BudgetExceeded> {
        if self.parts() == 0 { Ok(()) } else { self.compiled().size.pay() }
    }

    /// How large it is, in parts with counts written out. Nothing for a plain text.
    #[must_use]
    pub fn parts(&self) -> u64 {
        self.compiled().size.parts
    }

    /// Whether the text holds a match, by units.
    ///
    /// # Errors
    /// A bound that was reached.
    pub fn is_match(&self, text: &str) -> Result<bool, MatchBound> {
        if let Some((halved, apart)) = self.by_units(text) {
            return halved.is_match(&apart);
        }
        let mut found = false;
        self.each(text, 1, 0, |_| {
            found = true;
            Ok(())
        })?;
        Ok(found)
    }

    /// The matches in order, by whole characters, at most `limit`: all with the flag `g`, else the first.
    ///
    /// # Errors
    /// A bound that was reached.
    pub fn find_all(&self, text: &str, limit: usize) -> Result<Vec<TextMatch>, MatchBound> {
        let mut found = Vec::new();
        self.each(text, limit, 0, |hit| written::push(&mut found, hit.whole, 0).map_err(|_| MatchBound::Steps))?;
        Ok(found)
    }

    /// The matches with their groups, as [`Pattern::find_all`].
    ///
    /// # Errors
    /// A bound that was reached.
    pub fn captures_all(&self, text: &str, limit: usize) -> Result<Vec<Captures>, MatchBound> {
        let mut found = Vec::new();
        self.each(text, limit, self.compiled().names.len(), |hit| {
            let groups = hit.groups.len() * size_of::<Option<TextMatch>>();
            written::push(&mut found, hit, groups).map_err(|_| MatchBound::Steps)
        })?;
        Ok(found)
    }

    /// The text with its matches, by whole characters, replaced by what `with` pushes for each (all with the flag `g`, else the first;
    /// never more than `times`), or nothing if there is no match.
    ///
    /// # Errors
    /// A bound that was reached.
    pub fn replace(
        &self,
        text: &str,
        times: Option<usize>,
        mut with: impl FnMut(&Captures, &mut String),
    ) -> Result<Option<String>, MatchBound> {
        let mut out = String::new();
        let mut copied = None;
        self.each(text, times.unwrap_or(usize::MAX), self.compiled().names.len(), |hit| {
            out.push_str(text.get(copied.unwrap_or(0)..hit.whole.start).unwrap_or_default());
            with(&hit, &mut out);
            copied = Some(hit.whole.end);
            if out.len() > limits::OUTPUT_BYTES { Err(MatchBound::Output { limit: limits::OUTPUT_BYTES }) } else { Ok(()) }
        })?;
        Ok(copied.map(|end| {
            out.push_str(text.get(end..).unwrap_or_default());
            out
        }))
    }

    /// Walks over the matches as JavaScript's `matchAll` does; after an empty match it steps one character on.
    fn each(
        &self,
        text: &str,
        limit: usize,
        groups: usize,
        mut use_it: impl FnMut(Captures) -> Result<(), MatchBound>,
    ) -> Result<(), MatchBound> {
        let CompiledPattern { engines, flags, .. } = self.compiled();
        let search = engines.search(text)?;
        let mut at = 0;
        let limit = if flags.global { limit } else { limit.min(1) };
        for _ in 0..limit {
            let Some(hit) = search.next(at, groups)?.filter(|hit| !flags.sticky || hit.whole.start == at) else { break };
            let next = hit.whole.next(text);
            use_it(hit)?;
            let Some(next) = next else { break };
            at = next;
        }
        Ok(())
    }
}

impl CompiledPattern {
    /// `by_units`: without the flag `u` it matches UTF-16 units, and not whole characters.
    fn of(source: &str, flags: &str, by_units: bool, pays: bool) -> Result<Self, PatternError> {
        let parsed = read_flags(flags, source.len())?;
        let tree = pattern_parser::parse(source, parsed)?;
        let size = size::of(&tree, parsed)?;
        if pays {
            size.pay().map_err(|_| PatternError::too_costly(0, "no work is left for compiling patterns"))?;
        }
        let engines = engine::choose(&tree, size, source, parsed)?;
        let units = if by_units { units::UnitPattern::of(&tree, source, flags)? } else { units::UnitPattern::Same };
        Ok(Self { flags: parsed, names: tree.names, engines, units, size })
    }

    fn literal(text: &str) -> Self {
        let flags = PatternFlags { global: true, ..PatternFlags::default() };
        let size = size::PatternSize { parts: 0, folded: 0, wide: false };
        Self { flags, names: Vec::new(), engines: PatternEngines::literal(text), units: units::UnitPattern::Same, size }
    }
}

/// The text with the matches of several patterns replaced in one walk from left to right, or nothing if there is no
/// match. Where several match at one place, the first of them counts. `with` gets the number of the pattern and pushes
/// what its match is replaced by. All matches are replaced, with or without the flag `g`.
///
/// # Errors
/// A bound that was reached.
pub fn replace_any(
    patterns: &[&Pattern],
    text: &str,
    mut with: impl FnMut(usize, &Captures, &mut String),
) -> Result<Option<String>, MatchBound> {
    let mut searches = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        // the next match of the pattern, as far as it is known
        let CompiledPattern { engines, names, .. } = pattern.compiled();
        searches.push((engines.search(text)?, names.len(), None::<Option<Captures>>));
    }
    let (mut out, mut copied, mut at) = (String::new(), None, 0);
    loop {
        let mut first: Option<(usize, Captures)> = None;
        for (n, (search, groups, next)) in searches.iter_mut().enumerate() {
            let stale = next.as_ref().is_none_or(|known| known.as_ref().is_some_and(|hit| hit.whole.start < at));
            if stale {
                *next = Some(search.next(at, *groups)?);
            }
            let Some(Some(hit)) = next else { continue };
            if first.as_ref().is_none_or(|(_, best)| hit.whole.start < best.whole.start) {
                first = Some((n, hit.clone()));
            }
        }
        let Some((n, hit)) = first else { break };
        let TextMatch { start, end } = hit.whole;
        out.push_str(text.get(copied.unwrap_or(0)..start).unwrap_or_default());
        with(n, &hit, &mut out);
        copied = Some(end);
        if out.len() > limits::OUTPUT_BYTES {
            return Err(MatchBound::Output { limit: limits::OUTPUT_BYTES });
        }
        let Some(next) = hit.whole.next(text) else { break };
        at = next;
    }
    Ok(copied.map(|end| {
        out.push_str(text.get(end..).unwrap_or_default());
        out
    }))
}

/// Most patterns that [`cached`] remembers: more than a pack has.
const MOST_CACHED: usize = 1024;

/// [`Pattern::parse`], remembering what was compiled.
///
/// # Errors
/// As [`Pattern::parse`].
pub fn cached(text: &str) -> Result<Pattern, PatternError> {
    static KNOWN: LazyLock<Mutex<FxHashMap<Arc<str>, Pattern>>> = LazyLock::new(Mutex::default);
    // paid once in a call, whatever earlier calls have left here
    let is_paid = work::with_paid(|paid| paid.contains(text)).unwrap_or(false);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
    let pattern = match known {
        Some(pattern) => {
            if !is_paid {
                // if no work is left, the next step fails
                let _ = pattern.pay();
            }
            pattern
        }
        None => {
            let pattern = Pattern::read(text, !is_paid)?;
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST_CACHED {
                known.clear();
            }
            known.insert(text.into(), pattern.clone());
            pattern
        }
    };
    if !is_paid {
        work::with_paid(|paid| {
            // what is no longer kept has to be paid again
            if paid.len() >= MOST_CACHED {
                paid.clear();
            }
            paid.insert(text.into())
        });
    }
    Ok(pattern)
}

fn read_flags(text: &str, offset: usize) -> Result<PatternFlags, PatternError> {
    let mut flags = PatternFlags::default();
    for c in text.chars() {
        let flag = match c {
            'g' => &mut flags.global,
            'i' => &mut flags.ignore_case,
            'm' => &mut flags.multiline,
            's' => &mut flags.dot_all,
            'u' => &mut flags.unicode,
            'y' => &mut flags.sticky,
            _ => return Err(PatternError::bad(offset, format!("`{c}` is no flag; the flags are g, i, m, s, u, y"))),
        };
        if std::mem::replace(flag, true) {
            return Err(PatternError::bad(offset, format!("the flag `{c}` is given twice")));
        }
    }
    Ok(flags)
}
