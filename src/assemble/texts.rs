//! Expanding single texts as a build would expand them, without building a prompt.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::engine::{BuildError, door, hooks_of, state, warnings};
use crate::macros::Macros;
use crate::model::plan::Expansion;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::program::Machine;
use crate::verbs::ProgramInterrupt;

use super::gather::patch;

/// The program that prepares what macros read, if the pack has one.
const PREPARE: &str = "macros";

/// The result of [`expand_texts`].
#[derive(Debug, Clone)]
pub struct Texts {
    /// The expanded texts, in the given order.
    pub texts: Vec<Arc<str>>,
    /// What to store with the chat, as in [`Plan::patch`](crate::Plan::patch): the variables that macros have written,
    /// under `vars`.
    pub patch: Value,
    /// The number of random draws.
    pub draws: usize,
    /// Warnings, in the order in which they were raised.
    pub warnings: Vec<Diagnostic>,
    /// The macros that were evaluated, in order; empty unless the scene asks for a trace.
    pub macros: Vec<Expansion>,
}

/// Expands texts one after another over one state, with the macros of the pack. Each text comes with names that hold
/// for it alone: a table of texts that take precedence over the pack's macros, and `original`; or [`Value::Null`].
///
/// # Errors
/// As for [`build`](fn@crate::build): the pack's program `macros`, which prepares what macros read, fails or reaches a
/// limit.
pub fn expand_texts(rules: &Ruleset, scene: &Scene, texts: &[(&str, Value)]) -> Result<Texts, BuildError> {
    let _door = door(rules, scene);
    let mut st = state(rules, scene);
    if let Some(program) = rules.programs().find(PREPARE) {
        let hooks = hooks_of(scene);
        match Machine::new(rules.programs()).with_hooks(&hooks).run(program, &mut st) {
            Ok(()) | Err((ProgramInterrupt::Stop, _)) => {}
            Err((halt, _)) => return Err(BuildError::of(halt, Some(PREPARE), &st)),
        }
    }
    let expand = |(text, with): &(&str, Value)| Macros::new(&st, rules.macros(), with, &Arc::from(*text)).run();
    let texts = texts.iter().map(expand).collect();
    BuildError::if_spent()?;
    let warnings = warnings::placed(rules, &st);
    let draws = st.draws.borrow().taken().len();
    let macros = st.macros.borrow().clone();
    Ok(Texts { texts, patch: patch(&st), draws, warnings, macros })
}
