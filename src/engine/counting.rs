//! Counting the texts of a finished plan with the estimator of the account that it was trimmed to, and comparing two
//! texts.

use std::sync::Arc;

use crate::model::{Plan, Scene};
use crate::pack::Ruleset;
use crate::terms::select::pass_env;
use crate::terms::{PassMemo, ledger};
use crate::text::tokens::TokenCounter;

use super::{BuildError, state};

/// The counter for the texts of a plan: the estimator of the account that it was trimmed to, or of the pack's first
/// account.
pub(crate) fn counter(rules: &Ruleset, plan: &Plan) -> Result<Arc<TokenCounter>, BuildError> {
    let st = state(rules, &Scene { data: plan.scene.clone(), ..plan.given.clone() });
    *st.set.borrow_mut() = plan.set.clone();
    let named = plan.trim_report.as_ref().map(|report| report.account.as_str());
    let account = st.rules.accounts.iter().position(|a| Some(a.name.as_ref()) == named).unwrap_or(0);
    let memo = PassMemo::default();
    ledger::counter_of(&pass_env(&st, &memo), account).map_err(BuildError::fault)
}

/// The number of tokens of a text.
pub(crate) fn count(counter: &TokenCounter, text: &str) -> u64 {
    counter.count(text) as u64
}

/// The largest count that is reported: every reader of JSON keeps whole numbers up to it exactly.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A cost as a count of tokens, rounded up; negative costs and anything that is not a number are 0. A sum of fractions
/// that differs from a whole number only by the rounding of floats is that number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates at both ends")]
pub(crate) fn whole(tokens: f64) -> u64 {
    (tokens - 1e-6).ceil().min(MOST) as u64
}

/// The length of the common beginning of two texts, in bytes, on a character boundary.
pub(crate) fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}
