//! The three engines behind a pattern, and the choice between them.

use std::cell::Cell;
use std::sync::OnceLock;

use fancy_regex::{Input, RegexInput};

use super::check::{self, TreeFacts};
use super::print::{PatternReader, print};
use super::size::PatternSize;
use super::tree::{PatternFlags, PatternNode, PatternTree};
use super::{Captures, MatchBound, PatternError, TextMatch};
use crate::diag::limits;
use crate::text::work;

/// The most steps of the work of a call that one operation on one text takes; then the pattern is given up there.
const MOST_STEPS: u64 = 50_000_000;
/// The bounded engine tries so many ways in one search, fewer where each of them is long.
const BACKTRACKS: usize = 2_000_000;
/// Most memory that a compiled automaton may take, in bytes.
const SIZE: usize = 20 << 20;
/// The parts of a small pattern, whose automaton takes far less than that.
const SMALL: u64 = 1_000;

#[derive(Debug)]
pub(super) struct PatternEngines {
    /// For texts whose only line ends are `\n`, where the exact engine is slower.
    plain: Option<Automaton>,
    exact: ExactEngine,
    /// A match may be found long after its end.
    reads_on: bool,
    /// The parts of the pattern, with counts written out.
    parts: u64,
}

#[derive(Debug)]
enum ExactEngine {
    Text(Box<str>),
    Automaton(Automaton),
    Bounded(Box<BacktrackingEngine>),
    JavaScript { regex: Box<regress::Regex>, limit: usize },
}

/// An automaton. A small one without properties of Unicode, which cannot be refused, is compiled when it is first needed: most
/// patterns of a pack are not, in most builds.
#[derive(Debug)]
struct Automaton {
    text: Box<str>,
    regex: OnceLock<Option<regex::Regex>>,
}

impl Automaton {
    fn new(tree: &PatternTree, size: PatternSize, flags: PatternFlags) -> Result<Self, PatternError> {
        let text = print(tree, flags, PatternReader::Automaton).into_boxed_str();
        let regex = OnceLock::new();
        if size.parts > SMALL || text.contains("\\p") || text.contains("\\P") {
            let compiled = compile(&text).map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::too_costly(0, "the pattern is too large when its counts are written out"),
                _ => PatternError::bad(0, "the pattern names a Unicode property that does not exist"),
            })?;
            let _ = regex.set(Some(compiled));
        }
        Ok(Self { text, regex })
    }

    fn get(&self) -> Result<&regex::Regex, MatchBound> {
        self.regex.get_or_init(|| compile(&self.text).ok()).as_ref().ok_or(MatchBound::Steps)
    }
}

fn compile(text: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(text).size_limit(SIZE).nest_limit(1_000).build()
}

/// A backtracking engine with a bound of its own.
#[derive(Debug)]
struct BacktrackingEngine {
    regex: fancy_regex::Regex,
    /// The longest text that it is given, in bytes.
    limit: usize,
    /// What each of its looks at the text takes, in steps of work; one more for so many bytes of the text.
    weight: u64,
    bytes_per_step: usize,
}

impl BacktrackingEngine {
    fn new(tree: &PatternTree, flags: PatternFlags, facts: TreeFacts) -> Result<Self, PatternError> {
        let path = check::longest_path(&tree.root);
        // what a group holds and what is read backwards is read without telling
        let (limit, most, bytes_per_step) = match facts {
            TreeFacts { far_behind: true, .. } => (limits::SHORT_TEXT, BACKTRACKS / 20, 128),
            TreeFacts { backref: true, .. } => (limits::LONG_TEXT, BACKTRACKS / 4, 8 << 10),
            _ => (usize::MAX, BACKTRACKS, usize::MAX),
        };
        let backtracks = most.min(BACKTRACKS.saturating_mul(20) / path.max(1));
        // it skips to where a match can begin, by an automaton: one without loops reads each character once
        let seek = |pattern: &str| !pattern.contains(['*', '+', '{']) && fancy_regex::seek_pattern_is_useful(pattern);
        let mut builder = fancy_regex::RegexBuilder::new(&print(tree, flags, PatternReader::Backtracker));
        builder.backtrack_limit(backtracks).delegate_size_limit(SIZE);
        if !facts.wide {
            builder.seek_filter(seek);
        }
        let regex = builder.build().map_err(|_| PatternError::too_costly(0, "no bounded engine can match this pattern"))?;
        Ok(Self { regex, limit, weight: 1 + path as u64 / 32, bytes_per_step })
    }
}

/// A text that counts how often an engine looks at it.
struct CountingText<'t> {
    text: &'t str,
    looks: Cell<u64>,
}

impl CountingText<'_> {
    fn look(&self) {
        self.looks.set(self.looks.get().saturating_add(1));
    }
}

impl Input for CountingText<'_> {
    type Match<'m>
        = TextMatch
    where
        Self: 'm;

    fn len(&self) -> usize {
        self.text.len()
    }

    fn as_bytes(&self) -> &[u8] {
        self.look();
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    fn is_ascii(&self) -> bool {
        // which would be a walk over the text for each search
        false
    }

    fn prev_codepoint_ix(&self, at: usize) -> usize {
        self.look();
        self.text.prev_codepoint_ix(at)
    }

    fn make_match(&self, start: usize, end: usize) -> TextMatch {
        TextMatch { start, end }
    }

    fn advance_position(&self, at: usize) -> usize {
        self.look();
        self.text.advance_position(at)
    }
}

/// The engine for a tree; `source` is what it was parsed from.
pub(super) fn choose(tree: &PatternTree, size: PatternSize, source: &str, flags: PatternFlags) -> Result<PatternEngines, PatternError> {
    let facts = check::facts(tree, flags, size.wide);
    let alone = |exact| PatternEngines { plain: None, exact, reads_on: check::reads_on(&tree.root), parts: size.parts };
    if !facts.javascript_only && !facts.needs_backtracking {
        let automaton = Automaton::new(tree, size, flags)?;
        if flags.multiline && has_line_anchor(&tree.root) {
            let exact = BacktrackingEngine::new(tree, flags, facts)?;
            return Ok(PatternEngines { plain: Some(automaton), ..alone(ExactEngine::Bounded(Box::new(exact))) });
        }
        return Ok(alone(ExactEngine::Automaton(automaton)));
    }
    if facts.javascript_only {
        return javascript(tree, source.len(), flags).map(alone);
    }
    match BacktrackingEngine::new(tree, flags, facts) {
        Ok(exact) => Ok(alone(ExactEngine::Bounded(Box::new(exact)))),
        Err(error) => javascript(tree, source.len(), flags).map(alone).map_err(|_| error),
    }
}

fn javascript(tree: &PatternTree, length: usize, flags: PatternFlags) -> Result<ExactEngine, PatternError> {
    if length > limits::PATTERN_BYTES {
        return Err(PatternError::too_costly(
            limits::PATTERN_BYTES,
            format!("a pattern of this kind is limited to {} bytes", limits::PATTERN_BYTES),
        ));
    }
    let limit = check::bounded_length(tree).map_err(|reason| PatternError::too_costly(0, reason))?;
    // the sets hold all letter cases already, but what a back reference repeats may differ in case
    let icase = flags.ignore_case && (flags.unicode || check::has(&tree.root, &|n| matches!(n, PatternNode::Backref(_))));
    let own = regress::Flags { icase, multiline: flags.multiline, dot_all: false, no_opt: false, unicode: true, unicode_sets: false };
    match regress::Regex::with_flags(&print(tree, flags, PatternReader::JavaScript), own) {
        Ok(regex) => Ok(ExactEngine::JavaScript { regex: Box::new(regex), limit }),
        Err(error) => Err(PatternError::bad(0, error.text.to_lowercase())),
    }
}

fn has_line_anchor(node: &PatternNode) -> bool {
    check::has(node, &|n| matches!(n, PatternNode::Start | PatternNode::End))
}

/// Whether `\n` is the only line end of JavaScript in the text.
fn has_plain_lines(text: &str) -> bool {
    !text.contains(['\r', '\u{2028}', '\u{2029}'])
}

impl PatternEngines {
    pub(super) fn literal(text: &str) -> Self {
        Self { plain: None, exact: ExactEngine::Text(text.into()), reads_on: false, parts: 1 }
    }

    pub(super) fn name(&self) -> &'static str {
        match (&self.plain, &self.exact) {
            (_, ExactEngine::Text(_)) => "text",
            (Some(_), _) | (_, ExactEngine::Automaton(_)) => "automaton",
            (_, ExactEngine::Bounded(_)) => "bounded",
            (_, ExactEngine::JavaScript { .. }) => "javascript",
        }
    }

    /// Prepares a search of `text`; checks of the whole text are made once.
    pub(super) fn search<'a>(&'a self, text: &'a str) -> Result<EngineSearch<'a>, MatchBound> {
        let mut steps = (text.len() / work::BYTES_PER_STEP) as u64 + 1;
        let how = match (&self.plain, &self.exact) {
            (Some(automaton), _) if has_plain_lines(text) && work::takes_shortcuts() => SearchMethod::Automaton(automaton.get()?),
            (_, ExactEngine::Automaton(automaton)) => {
                // it makes its states as it reads
                steps = steps.saturating_mul(4);
                SearchMethod::Automaton(automaton.get()?)
            }
            (_, ExactEngine::Text(find)) => SearchMethod::Text(find),
            (_, ExactEngine::Bounded(bounded)) => {
                check_length(text, bounded.limit)?;
                SearchMethod::Bounded(bounded, CountingText { text, looks: Cell::new(0) })
            }
            (_, ExactEngine::JavaScript { regex, limit }) => {
                check_length(text, *limit)?;
                steps = steps.saturating_add(check::steps(text.len(), *limit));
                SearchMethod::JavaScript(regex)
            }
        };
        let search = EngineSearch { text, how, engines: self, left: Cell::new(MOST_STEPS) };
        search.pay(steps)?;
        Ok(search)
    }
}

/// One operation on one text.
pub(super) struct EngineSearch<'a> {
    text: &'a str,
    how: SearchMethod<'a>,
    engines: &'a PatternEngines,
    /// The steps that it may still take.
    left: Cell<u64>,
}

enum SearchMethod<'a> {
    Text(&'a str),
    Automaton(&'a regex::Regex),
    Bounded(&'a BacktrackingEngine, CountingText<'a>),
    JavaScript(&'a regress::Regex),
}

impl EngineSearch<'_> {
    fn pay(&self, steps: u64) -> Result<(), MatchBound> {
        work::spend(steps).map_err(|_| MatchBound::Steps)?;
        self.left.set(self.left.get().checked_sub(steps).ok_or(MatchBound::Steps)?);
        Ok(())
    }

    /// The first match at or after `at`, with `groups` groups.
    pub(super) fn next(&self, at: usize, groups: usize) -> Result<Option<Captures>, MatchBound> {
        let text = self.text;
        let found = match &self.how {
            SearchMethod::Text(find) => text.get(at..).and_then(|rest| rest.find(*find)).map(|start| {
                let start = at + start;
                alone(TextMatch { start, end: start + find.len() })
            }),
            SearchMethod::Automaton(regex) => match regex.find_at(text, at).map(|m| TextMatch { start: m.start(), end: m.end() }) {
                Some(whole) if groups > 0 => {
                    // it reads the match once more with all its parts
                    let length = whole.end.saturating_sub(whole.start) as u64 + 1;
                    let groups_of_thread = 1 + groups as u64 / 4;
                    let steps = self.engines.parts.saturating_mul(length).saturating_mul(groups_of_thread) / 32;
                    self.pay(steps)?;
                    let found = regex.captures_at(text, whole.start);
                    found.and_then(|c| collect(groups, |n| c.get(n).map(|m| TextMatch { start: m.start(), end: m.end() })))
                }
                found => found.map(alone),
            },
            SearchMethod::Bounded(bounded, counted) => {
                let found = bounded.regex.captures_input(RegexInput::new(counted).from_pos(at));
                let each = bounded.weight + (text.len() / bounded.bytes_per_step) as u64;
                let steps = counted.looks.take().saturating_mul(each);
                self.pay(steps)?;
                found.map_err(|_| MatchBound::Steps)?.and_then(|c| collect(groups, |n| c.get(n)))
            }
            SearchMethod::JavaScript(regex) => {
                let found = regex.find_from(text, at).next();
                found.and_then(|m| collect(groups, |n| m.group(n).map(|r| TextMatch { start: r.start, end: r.end })))
            }
        };
        if let Some(Captures { whole, .. }) = &found {
            let rest = text.len().saturating_sub(whole.end);
            let again = if self.engines.reads_on && matches!(self.how, SearchMethod::Automaton(_)) { rest / 16 } else { 0 };
            self.pay(4 + groups as u64 + again as u64)?;
        }
        Ok(found)
    }
}

fn alone(whole: TextMatch) -> Captures {
    Captures { whole, groups: Vec::new() }
}

fn collect(groups: usize, get: impl Fn(usize) -> Option<TextMatch>) -> Option<Captures> {
    Some(Captures { whole: get(0)?, groups: (1..=groups).map(get).collect() })
}

fn check_length(text: &str, limit: usize) -> Result<(), MatchBound> {
    if text.len() > limit { Err(MatchBound::Text { length: text.len(), limit }) } else { Ok(()) }
}
