//! The three engines behind a pattern, and the choice between them.

use std::sync::OnceLock;

use super::check::{self, Facts};
use super::far::{self, Behind, Scan};
use super::print::{Reader, print};
use super::size::{self, Size};
use super::tree::{Flags, Node, Tree};
use super::wary::Wary;
use super::{Bound, Captures, Match, PatternError};
use crate::text::{shortcuts, work};

/// Most attempts of the bounded engine in a thorough search. Each place where a match may begin takes one.
const STEPS: usize = 300_000;
/// Most attempts in a quick search, which costs as many steps of the work of a build.
const QUICK_STEPS: usize = 100;
/// Most attempts in a search that follows a quick one, and what it takes in steps of the work of a build.
const NEXT_STEPS: usize = 2_000;
const NEXT_STEPS_OF_WORK: u64 = 4_000;
/// What a thorough search takes, in steps of the work of a build.
const STEPS_OF_WORK: u64 = 600_000;
/// Longest text it is given, in bytes.
const TEXT: usize = 400_000;
/// The same where a look-around may read the whole text at each attempt.
const FAR_STEPS: usize = 100_000;
const FAR_NEXT_STEPS: usize = 200;
const FAR_TEXT: usize = 20_000;
/// Bytes that an engine reads more than once within a step of the work of a build.
const BYTES_PER_STEP: u64 = 4;
/// The most of them in one text; a pattern that may read more is given up there.
const MOST_AGAIN: u64 = 100_000_000;
/// The parts of a pattern times the bytes of a match whose groups are found within a step of the work of a build, and the same
/// for more than so many of both, which another way takes longer for.
const GROUPS_PER_STEP: u64 = 64;
const MANY_GROUPS_PER_STEP: u64 = 4;
const MANY: u64 = 2_000_000;
/// Most thorough searches in one text.
const FULL_SEARCHES: usize = 40;
/// Most memory a compiled automaton may take, in bytes.
const SIZE: usize = 20 << 20;
/// Longest pattern for the engine that compiles by recursion.
const LONGEST_JAVASCRIPT: usize = 10_000;

#[derive(Debug)]
pub(super) struct Engines {
    /// For texts whose only line ends are `\n`, where the exact engine is slower.
    plain: Option<regex::Regex>,
    /// Run before an automaton that may come to have very many states.
    wary: Option<Box<Wary>>,
    exact: Engine,
    /// What an automaton may read behind its matches.
    behind: Option<Box<Behind>>,
    /// The parts of the pattern, with counts written out.
    parts: u64,
}

#[derive(Debug)]
enum Engine {
    Text(Box<str>),
    Automaton(regex::Regex),
    Bounded(Box<Bounded>),
    JavaScript { regex: Box<regress::Regex>, limit: usize },
}

/// A backtracking engine with three bounds, since its own bound is per search and a text may hold many matches: searches
/// are quick ones, and are repeated with more attempts where that is not enough; only some may be repeated thoroughly.
#[derive(Debug)]
struct Bounded {
    /// The pattern as the engine reads it: the other two are made when they are needed, which is rare.
    text: String,
    quick: fancy_regex::Regex,
    next: (usize, OnceLock<Option<fancy_regex::Regex>>),
    thorough: (usize, OnceLock<Option<fancy_regex::Regex>>),
    limit: usize,
    scans: Vec<Scan>,
}

impl Bounded {
    fn new(text: String, next: usize, thorough: usize, limit: usize, scans: Vec<Scan>) -> Option<Self> {
        let quick = Self::build(&text, QUICK_STEPS)?;
        Some(Self { text, quick, next: (next, OnceLock::new()), thorough: (thorough, OnceLock::new()), limit, scans })
    }

    fn build(text: &str, attempts: usize) -> Option<fancy_regex::Regex> {
        fancy_regex::RegexBuilder::new(text).backtrack_limit(attempts).delegate_size_limit(SIZE).build().ok()
    }

    /// The engine with more attempts.
    fn with<'a>(&'a self, (attempts, made): &'a (usize, OnceLock<Option<fancy_regex::Regex>>)) -> Result<&'a fancy_regex::Regex, Bound> {
        made.get_or_init(|| Self::build(&self.text, *attempts)).as_ref().ok_or(Bound::Steps)
    }
}

/// The engine for a tree; `source` is what it was parsed from.
pub(super) fn choose(tree: &Tree, size: Size, source: &str, flags: Flags) -> Result<Engines, PatternError> {
    let facts = check::facts(tree, flags.ignore_case, flags.unicode);
    let needs_backtracking = facts.needs_backtracking || (flags.ignore_case && flags.unicode && has_boundary(&tree.root));
    let alone = |exact| Engines { plain: None, wary: None, exact, behind: None, parts: size.parts };
    if !facts.javascript_only && !needs_backtracking {
        let (regex, wary) = automaton(tree, size, flags)?;
        let behind = far::behind_matches(&tree.root, flags).map(Box::new);
        let (plain, exact) = if flags.multiline && has_line_anchor(&tree.root) {
            size::backtracks(tree, size)?;
            (Some(regex), bounded(tree, flags, facts)?)
        } else {
            (None, Engine::Automaton(regex))
        };
        return Ok(Engines { plain, wary, behind, ..alone(exact) });
    }
    size::backtracks(tree, size)?;
    let first_reason = if facts.javascript_only {
        None
    } else {
        match bounded(tree, flags, facts) {
            Ok(exact) => return Ok(alone(exact)),
            Err(error) => Some(error),
        }
    };
    javascript(tree, source.len(), flags).map(alone).map_err(|error| first_reason.unwrap_or(error))
}

fn automaton(tree: &Tree, size: Size, flags: Flags) -> Result<(regex::Regex, Option<Box<Wary>>), PatternError> {
    let text = print(tree, flags, Reader::Automaton);
    let made = regex::RegexBuilder::new(&text).size_limit(SIZE).nest_limit(1_000).build();
    let wary = || size.wary.then(|| Box::new(Wary::new(&text, size.parts)));
    made.map(|regex| (regex, wary())).map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => PatternError::too_costly(0, "the pattern is too large when its counts are written out"),
        _ => PatternError::bad(0, "the pattern names a Unicode property that does not exist"),
    })
}

fn bounded(tree: &Tree, flags: Flags, facts: Facts) -> Result<Engine, PatternError> {
    if facts.far_look_in_loop {
        return Err(PatternError::too_costly(0, "a look-around that reads on without end is repeated"));
    }
    let (thorough, next, limit) = if facts.far_look { (FAR_STEPS, FAR_NEXT_STEPS, FAR_TEXT) } else { (STEPS, NEXT_STEPS, TEXT) };
    let text = print(tree, flags, Reader::Backtracker);
    Bounded::new(text, next, thorough, limit, far::scans(&tree.root, flags))
        .map(|bounded| Engine::Bounded(Box::new(bounded)))
        .ok_or_else(|| PatternError::too_costly(0, "no bounded engine can match this pattern"))
}

fn javascript(tree: &Tree, length: usize, flags: Flags) -> Result<Engine, PatternError> {
    if length > LONGEST_JAVASCRIPT {
        return Err(PatternError::too_costly(
            LONGEST_JAVASCRIPT,
            format!("a pattern of this kind is limited to {LONGEST_JAVASCRIPT} bytes"),
        ));
    }
    let limit = check::bounded_length(tree).map_err(|reason| PatternError::too_costly(0, reason))?;
    // the sets hold all letter cases already, but what a back reference repeats may differ in case
    let icase = flags.ignore_case && (flags.unicode || any(&tree.root, &|n| matches!(n, Node::Backref(_))));
    let own = regress::Flags { icase, multiline: flags.multiline, dot_all: false, no_opt: false, unicode: true, unicode_sets: false };
    match regress::Regex::with_flags(&print(tree, flags, Reader::JavaScript), own) {
        Ok(regex) => Ok(Engine::JavaScript { regex: Box::new(regex), limit }),
        Err(error) => Err(PatternError::bad(0, error.text.to_lowercase())),
    }
}

fn any(node: &Node, test: &dyn Fn(&Node) -> bool) -> bool {
    test(node)
        || match node {
            Node::Concat(items) | Node::Alt(items) => items.iter().any(|n| any(n, test)),
            Node::Capture(_, node) | Node::Repeat { node, .. } | Node::Look { node, .. } => any(node, test),
            _ => false,
        }
}

fn has_boundary(node: &Node) -> bool {
    any(node, &|n| matches!(n, Node::Boundary(_)))
}

fn has_line_anchor(node: &Node) -> bool {
    any(node, &|n| matches!(n, Node::Start | Node::End))
}

/// Whether `\n` is the only line end of JavaScript in the text.
fn has_plain_lines(text: &str) -> bool {
    !text.contains(['\r', '\u{2028}', '\u{2029}'])
}

impl Engines {
    pub(super) fn literal(text: &str) -> Self {
        Self { plain: None, wary: None, exact: Engine::Text(text.into()), behind: None, parts: 1 }
    }

    /// Whether a search may give up although an automaton makes it.
    pub(super) fn is_wary(&self) -> bool {
        self.wary.is_some()
    }

    pub(super) fn name(&self) -> &'static str {
        match (&self.plain, &self.exact) {
            (_, Engine::Text(_)) => "text",
            (Some(_), _) | (_, Engine::Automaton(_)) => "automaton",
            (_, Engine::Bounded(_)) => "bounded",
            (_, Engine::JavaScript { .. }) => "javascript",
        }
    }

    /// Prepares a search of `text`; checks of the whole text are made once.
    pub(super) fn search<'a>(&'a self, text: &'a str) -> Result<Search<'a>, Bound> {
        work::read(text.len()).map_err(|_| Bound::Steps)?;
        let wary = self.wary.as_deref();
        let how = match (&self.plain, &self.exact) {
            (Some(regex), _) if has_plain_lines(text) && shortcuts::are_on() => How::Automaton(regex, wary),
            (_, Engine::Automaton(regex)) => How::Automaton(regex, wary),
            (_, Engine::Text(find)) => How::Text(find),
            (_, Engine::Bounded(bounded)) => {
                within(text, bounded.limit)?;
                for scan in &bounded.scans {
                    // which is itself a walk over the text
                    work::spend(text.len() as u64 / BYTES_PER_STEP).map_err(|_| Bound::Steps)?;
                    again(scan.bytes(text))?;
                }
                How::Bounded { bounded, full: FULL_SEARCHES }
            }
            (_, Engine::JavaScript { regex, limit }) => {
                within(text, *limit)?;
                work::spend(check::steps(text.len(), *limit)).map_err(|_| Bound::Steps)?;
                How::JavaScript(regex)
            }
        };
        Ok(Search { text, how, behind: self.behind.as_deref(), parts: self.parts, run: 0, again: 0 })
    }
}

/// Pays for bytes that are read once more.
fn again(bytes: u64) -> Result<(), Bound> {
    if bytes > MOST_AGAIN {
        return Err(Bound::Steps);
    }
    work::spend(bytes / BYTES_PER_STEP).map_err(|_| Bound::Steps)
}

/// One operation on one text.
pub(super) struct Search<'a> {
    text: &'a str,
    how: How<'a>,
    behind: Option<&'a Behind>,
    parts: u64,
    /// How far the last match may have been read beyond its end.
    run: usize,
    /// What was read more than once so far, in bytes.
    again: u64,
}

enum How<'a> {
    Text(&'a str),
    Automaton(&'a regex::Regex, Option<&'a Wary>),
    Bounded { bounded: &'a Bounded, full: usize },
    JavaScript(&'a regress::Regex),
}

impl Search<'_> {
    /// The first match at or after `at`, with `groups` groups.
    pub(super) fn next(&mut self, at: usize, groups: usize) -> Result<Option<Captures>, Bound> {
        let hit = self.hit(at, groups)?;
        if let Some(hit) = &hit {
            self.pay(hit.whole, groups)?;
        }
        Ok(hit)
    }

    /// Pays for what finding a match took beyond reading the text once.
    fn pay(&mut self, Match { start, end }: Match, groups: usize) -> Result<(), Bound> {
        let mut steps = 4;
        if groups > 0 && !matches!(self.how, How::Text(_)) {
            let length = end.saturating_sub(start) as u64;
            let read = self.parts.saturating_mul(length + 1);
            steps += read / if read > MANY { MANY_GROUPS_PER_STEP } else { GROUPS_PER_STEP } + groups as u64;
        }
        if let (How::Automaton(..), Some(behind)) = (&self.how, self.behind)
            && behind.begins(self.text, start, end)
        {
            if self.run <= end {
                self.run = behind.run(self.text, end);
            }
            let beyond = (self.run - end) as u64;
            self.again = self.again.saturating_add(beyond);
            if self.again > MOST_AGAIN {
                return Err(Bound::Steps);
            }
            steps += beyond / BYTES_PER_STEP;
        }
        work::spend(steps).map_err(|_| Bound::Steps)
    }

    fn hit(&mut self, at: usize, groups: usize) -> Result<Option<Captures>, Bound> {
        let text = self.text;
        Ok(match &mut self.how {
            How::Text(find) => text.get(at..).and_then(|rest| rest.find(*find)).map(|start| {
                let start = at + start;
                alone(Match { start, end: start + find.len() })
            }),
            How::Automaton(_, Some(wary)) if !wary.look(text, at)? => None,
            How::Automaton(regex, _) if groups == 0 => regex.find_at(text, at).map(|m| alone(Match { start: m.start(), end: m.end() })),
            How::Automaton(regex, _) => {
                let hit = regex.captures_at(text, at);
                hit.and_then(|c| collect(groups, |n| c.get(n).map(|m| Match { start: m.start(), end: m.end() })))
            }
            How::Bounded { bounded, full } => {
                work::spend(QUICK_STEPS as u64).map_err(|_| Bound::Steps)?;
                let mut hit = bounded.quick.captures_from_pos(text, at);
                if hit.is_err() {
                    work::spend(NEXT_STEPS_OF_WORK).map_err(|_| Bound::Steps)?;
                    hit = bounded.with(&bounded.next)?.captures_from_pos(text, at);
                }
                if hit.is_err() && *full > 0 {
                    *full -= 1;
                    work::spend(STEPS_OF_WORK).map_err(|_| Bound::Steps)?;
                    hit = bounded.with(&bounded.thorough)?.captures_from_pos(text, at);
                }
                let hit = hit.map_err(|_| Bound::Steps)?;
                hit.and_then(|c| collect(groups, |n| c.get(n).map(|m| Match { start: m.start(), end: m.end() })))
            }
            How::JavaScript(regex) => {
                work::read(text.len().saturating_sub(at)).map_err(|_| Bound::Steps)?;
                let hit = regex.find_from(text, at).next();
                hit.and_then(|m| collect(groups, |n| m.group(n).map(|r| Match { start: r.start, end: r.end })))
            }
        })
    }
}

fn alone(whole: Match) -> Captures {
    Captures { whole, groups: Vec::new() }
}

fn collect(groups: usize, get: impl Fn(usize) -> Option<Match>) -> Option<Captures> {
    Some(Captures { whole: get(0)?, groups: (1..=groups).map(get).collect() })
}

fn within(text: &str, limit: usize) -> Result<(), Bound> {
    if text.len() > limit { Err(Bound::Text { length: text.len(), limit }) } else { Ok(()) }
}
