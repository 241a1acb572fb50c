//! Single texts: expanded as a build would expand them, without building a prompt.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::engine::{BuildError, hooks_of, state, warnings};
use crate::macros::Macros;
use crate::model::plan::Expansion;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::program::Machine;
use crate::verbs::Halt;

use super::gather::patch;

/// The program that prepares what macros read, where a pack has one.
const PREPARE: &str = "macros";

/// Texts that have been expanded, and what they did.
#[derive(Debug, Clone)]
pub struct Texts {
    /// The texts, in order.
    pub texts: Vec<Arc<str>>,
    /// What to write into the chat's store, as [`Plan::patch`](crate::model::Plan): under `vars` what macros have written.
    pub patch: Value,
    /// How many numbers were drawn.
    pub draws: usize,
    /// Warnings, in order.
    pub warnings: Vec<Diagnostic>,
    /// The first macros that were evaluated, in order; empty without a trace.
    pub macros: Vec<Expansion>,
}

/// Expands texts one after another over one state, with the macros of the pack. Each comes with names for it alone
/// (a table, or nothing): texts that win over the pack's macros, and `original`.
///
/// # Errors
/// As [`super::build`]: the pack's program `macros`, which prepares what macros read, fails or stops at a limit.
pub fn expand_texts(rules: &Ruleset, scene: &Scene, texts: &[(&str, Value)]) -> Result<Texts, BuildError> {
    let mut st = state(rules, scene);
    if let Some(program) = rules.programs().find(PREPARE) {
        let hooks = hooks_of(scene);
        match Machine::new(rules.programs()).with_hooks(&hooks).run(program, &mut st) {
            Ok(()) | Err((Halt::Stop, _)) => {}
            Err((halt, _)) => return Err(BuildError::of(halt, Some(PREPARE), &st)),
        }
    }
    let expand = |(text, with): &(&str, Value)| Macros::new(&st, rules.macros(), with, &Arc::from(*text)).run();
    let texts = texts.iter().map(expand).collect();
    let warnings = warnings::placed(rules, &st);
    let draws = st.draws.borrow().taken().len();
    let macros = st.macros.borrow().clone();
    Ok(Texts { texts, patch: patch(&st), draws, warnings, macros })
}
