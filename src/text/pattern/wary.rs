//! A look ahead for automata that may come to have very many states: whether a text can be searched in linear time.
//!
//! The engine `regex` builds the states that a text needs while it reads the text. If these are too many, it simulates the
//! pattern instead, which takes as many steps for each character as the pattern has parts. The same automaton is run here
//! first; where it gives up, those steps are counted before they are taken.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::pool::Pool;

use super::Bound;
use crate::text::work;

/// The most steps of one simulation: parts of the pattern times bytes of the text.
const MOST_STEPS: u64 = 20_000_000;
/// So many of these take as long as a step of the work of a build.
const STEPS_OF_WORK: u64 = 4;
/// The same where a match is only read again to find its start and groups.
const STEPS_OF_MATCH: u64 = 64;
/// Making the automaton's memory empty, in steps of the work of a build.
const STEPS_OF_RESET: u64 = 100;
/// Memory of the automaton's states, in bytes, and how often it may be emptied.
const MEMORY: usize = 2 << 20;
const CLEARED: usize = 3;
/// The bytes of states that are made in a step of the work of a build.
const BYTES_PER_STEP: u64 = 4;
/// Bytes of the text that each state must serve at least once the memory has been emptied so often.
const BYTES_PER_STATE: usize = 10;
/// The most memory that the pattern itself may take, in bytes.
const SIZE: usize = 20 << 20;

/// Makes the memory of an automaton's states.
type Make = Box<dyn Fn() -> Cache + Send + Sync>;

/// The automaton that is run first.
pub(super) struct Wary {
    /// Nothing if it is too large: then every search is a simulation.
    automaton: Option<(DFA, Pool<Cache, Make>)>,
    parts: u64,
}

impl std::fmt::Debug for Wary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wary").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Wary {
    /// For a pattern in the syntax of the engine.
    pub(super) fn new(pattern: &str, parts: u64) -> Self {
        let config =
            Config::new().cache_capacity(MEMORY).minimum_cache_clear_count(Some(CLEARED)).minimum_bytes_per_state(Some(BYTES_PER_STATE));
        let nfa = thompson::Config::new().nfa_size_limit(Some(SIZE)).which_captures(thompson::WhichCaptures::None);
        let automaton = DFA::builder().configure(config).thompson(nfa).build(pattern).ok().map(|dfa| {
            let own = dfa.clone();
            let make: Make = Box::new(move || own.create_cache());
            (dfa, Pool::new(make))
        });
        Self { automaton, parts }
    }

    /// Whether the rest of a text from `at` on may hold a match; then and only then the engine is to search it.
    ///
    /// # Errors
    /// The engine would take too many steps.
    pub(super) fn look(&self, text: &str, at: usize) -> Result<bool, Bound> {
        let Some((dfa, pool)) = &self.automaton else {
            self.pay(text.len().saturating_sub(at), STEPS_OF_WORK)?;
            return Ok(true);
        };
        work::spend(STEPS_OF_RESET).map_err(|_| Bound::Steps)?;
        let mut cache = pool.get();
        // from the beginning, so that a search takes the same work whatever was searched before
        cache.reset(dfa);
        let before = cache.memory_usage();
        let found = dfa.try_search_fwd(&mut cache, &Input::new(text).range(at..text.len()));
        // each new state is a list of parts that is made and compared
        let kept = cache.memory_usage().saturating_sub(before);
        let made = cache.clear_count().saturating_mul(MEMORY).saturating_add(kept);
        work::spend(made as u64 / BYTES_PER_STEP).map_err(|_| Bound::Steps)?;
        match found {
            Ok(None) => Ok(false),
            Ok(Some(end)) => {
                self.pay(end.offset().saturating_sub(at), STEPS_OF_MATCH)?;
                Ok(true)
            }
            Err(_) => {
                self.pay(text.len().saturating_sub(at), STEPS_OF_WORK)?;
                Ok(true)
            }
        }
    }

    fn pay(&self, bytes: usize, of_work: u64) -> Result<(), Bound> {
        let steps = self.parts.saturating_mul(bytes as u64);
        if steps / (of_work / STEPS_OF_WORK) > MOST_STEPS {
            return Err(Bound::Steps);
        }
        work::spend(steps / of_work).map_err(|_| Bound::Steps)
    }
}
