//! The rule behind a difference: the pass that set the value or changed the item last, with its place.

use crate::pack::Ruleset;

use super::compare::{Difference, ValueStep};
use super::play::PlayedTurn;
use crate::terms::seen::CoverageSink;

/// A rule that is responsible for a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedRule {
    /// The pass, as `program/pass`.
    pub pass: String,
    /// `file:line`; empty where the pack's text is not at hand.
    pub at: String,
}

impl BlamedRule {
    /// A pass with its place.
    #[must_use]
    pub fn of(pass: &str, rules: &Ruleset) -> Self {
        let place = rules.span_of_pass(pass).and_then(|span| rules.sources().place(span));
        Self { pass: pass.to_owned(), at: place.map(|at| format!("{}:{}", at.file, at.line)).unwrap_or_default() }
    }
}

/// The rule behind a difference of a turn that was played with a trace and a sink.
#[must_use]
pub fn behind(difference: &Difference, played: &PlayedTurn, seen: &CoverageSink, rules: &Ruleset) -> Option<BlamedRule> {
    let key = |n: usize| match difference.steps.get(n) {
        Some(ValueStep::Key(key)) => Some(key.as_str()),
        _ => None,
    };
    let index = |n: usize| match difference.steps.get(n) {
        Some(ValueStep::Index(at)) => Some(*at),
        _ => None,
    };
    let pass = match key(0)? {
        "lists" => played.outcome.as_ref()?.last_pass(key(1)?, index(2))?.to_string(),
        "shown" => played.outcome.as_ref()?.last_pass(key(1)?, None)?.to_string(),
        "set" => seen.setter(key(1)?)?.to_string(),
        "patch" => seen.setter(&format!("state.{}", key(1)?))?.to_string(),
        "warnings" => {
            let at = index(1).unwrap_or_default();
            played.warnings.get(at).or(played.warnings.first()).map(|w| w.pass.clone()).filter(|pass| !pass.is_empty())?
        }
        "reasons" => played.reasons.get(index(1)?)?.pass.clone(),
        "payload" | "request" => {
            let messages = played.emitted.as_ref()?.trace.as_ref()?;
            messages.passes.last()?.pass.clone()
        }
        _ => return None,
    };
    Some(BlamedRule::of(&pass, rules))
}
