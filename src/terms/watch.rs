//! What a running build lets others observe and change: warnings that are errors, stages and hooks in order, recorded
//! values, inputs that a hook sets.

use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::model::Value;
use crate::model::plan::{BuildStep, RecordedValue};

use super::BuildState;
use super::lists::BuildList;
use super::state::{put, walk};

impl BuildState {
    /// Whether a warning that no rule file accepts was raised while warnings are errors.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.strict && self.refused().is_some()
    }

    /// The first warning that no rule file accepts.
    #[must_use]
    pub fn refused(&self) -> Option<Diagnostic> {
        let accepted = |warning: &Diagnostic| self.accepts.as_ref().is_some_and(|accepts| accepts(warning));
        self.warnings.borrow().iter().find(|warning| !accepted(warning)).cloned()
    }

    /// Records a value of the running stage for the trace; it is evaluated only when a trace is kept.
    pub fn instrument(&self, name: &str, value: impl FnOnce() -> Value) {
        if self.trail.is_some() {
            let stage = self.stage.borrow().to_string();
            self.notes.borrow_mut().push(RecordedValue { stage, name: name.to_owned(), value: value() });
        }
    }

    /// Records a stage or a hook, when a trace is kept.
    pub fn step(&self, step: impl FnOnce() -> BuildStep) {
        if self.trail.is_some() {
            self.steps.borrow_mut().push(step());
        }
    }

    /// Everything that `$` reaches except lists: the set values over the scene over the pack's values.
    #[must_use]
    pub fn whole(&self) -> Value {
        self.set.borrow().clone().over(self.scene.clone()).over(self.rules.values.clone())
    }

    /// Changes an input of the scene; lists that were filled from it are read again.
    pub fn change(&mut self, path: &str, value: Value) {
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        if !walk(&self.set.borrow(), &names).is_null() {
            self.put(&names, value.clone());
        }
        put(&mut self.scene, &names, value);
        let touched = |from: &str| from == path || from.starts_with(&format!("{path}.")) || path.starts_with(&format!("{from}."));
        for (n, list) in self.lists.used_mut() {
            if self.rules.lists.get(n).and_then(|l| l.from.as_deref()).is_some_and(touched) {
                *list = BuildList { id: list.id, ..BuildList::default() };
            }
        }
    }
}
