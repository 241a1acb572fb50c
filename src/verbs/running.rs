//! How a pass is run: its gate, then its reads, then its verb; and how a failure is handled.

use std::sync::Arc;

use crate::diag::DiagnosticCode;
use crate::terms::select::pass_env;
use crate::terms::state::RunStat;
use crate::terms::{BuildState, PassMemo};
use crate::text::work;

use super::pass::{CompiledPass, FailurePolicy, ProgramInterrupt, ProgramRunner};
use super::{reach, reason};

/// The work of a pass that does nothing.
const STEPS_PER_PASS: u64 = 16;

impl CompiledPass {
    /// Runs the pass over `list` (its own list wins).
    pub fn run(self: &Arc<Self>, st: &mut BuildState, list: usize, caller: &dyn ProgramRunner) -> Result<(), ProgramInterrupt> {
        let _rule = work::rule(&self.id);
        work::spend(STEPS_PER_PASS)?;
        self.is_running(st);
        let memo = PassMemo::default();
        if let Some(when) = &self.when {
            self.gate_reads.ready(st)?;
            let held = pass_env(st, &memo).holds(when)?;
            if let Some(seen) = &st.seen {
                seen.pass(&self.id, &self.select, held);
            }
            if !held {
                st.skipped(&self.id);
                return Ok(());
            }
        } else if let Some(seen) = &st.seen {
            seen.pass(&self.id, &self.select, true);
        }
        self.reads.ready(st)?;
        st.sparing.set(self.failing == FailurePolicy::Spare);
        let list = self.list.unwrap_or(list);
        reason::begin(self.reason.as_ref(), st)?;
        let result = self.work(st, list, caller);
        *st.because.borrow_mut() = None;
        st.sparing.set(false);
        self.is_running(st);
        // whatever the pass and its caller do about a failure, nothing goes on when the work is spent
        work::check()?;
        if st.refuses() {
            return Err(ProgramInterrupt::Warned);
        }
        let result = match result {
            Err(ProgramInterrupt::Refused { code, message, .. }) if self.failing == FailurePolicy::Keep => {
                st.warn_with(DiagnosticCode::named(&code), message, None, None);
                Ok(())
            }
            Err(ProgramInterrupt::Fault(f)) if self.failing != FailurePolicy::Error && !f.is_bound() => {
                st.warn_failed(format!("pass `{}` fails: {}", self.id, f.message), &f);
                Ok(())
            }
            other => other,
        };
        if st.trail.is_some() {
            let items = st.list(list).items.len();
            st.stats.borrow_mut().push(RunStat { pass: self.id.clone(), items });
        }
        if st.refuses() {
            return Err(ProgramInterrupt::Warned);
        }
        result?;
        if self.stop { Err(ProgramInterrupt::Stop) } else { Ok(()) }
    }

    /// Notes that the pass runs.
    #[inline]
    fn is_running(&self, st: &BuildState) {
        let mut running = st.pass.borrow_mut();
        if !Arc::ptr_eq(&running, &self.id) {
            *running = self.id.clone();
        }
    }

    fn work(self: &Arc<Self>, st: &mut BuildState, list: usize, caller: &dyn ProgramRunner) -> Result<(), ProgramInterrupt> {
        let memo = PassMemo::default();
        reach::prepare(self, st, list, &memo)?;
        self.verb.run(self, st, list, &memo, caller)
    }
}
