//! Runs programs over a state: pass after pass, programs inside programs, scripts and hooks.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::model::plan::BuildStep;
use crate::terms::{BuildState, EvalFault, PassReasons};
use crate::verbs::{FailurePolicy, PassRun, ProgramInterrupt, ProgramRunner};

use super::Programs;

/// Called after each pass of the outermost program, to watch a build: the pass, its list, and what comes of it.
pub type PassObserver<'w> = &'w dyn Fn(&str, usize, &mut BuildState);

/// What a pass asks of scripts and hooks.
pub enum HookRequest<'a> {
    /// A function of the pack over a list.
    Script(&'a str),
    /// The hooks of an event, `before_NAME` or `after_NAME`.
    Event {
        /// The event.
        name: &'a str,
        /// What a failing hook of the pack means, where it does not say itself.
        failing: FailurePolicy,
    },
}

/// Runs scripts and hooks over a list. What they change has the reasons of the pass that runs them.
pub type HookRunner<'h> = &'h dyn Fn(&HookRequest<'_>, usize, Option<&PassReasons>, &mut BuildState) -> Result<(), ProgramInterrupt>;

/// An event that has begun: its name, the pass that began it, and what a failure means.
type BegunEvent = (Arc<str>, Arc<str>, FailurePolicy);

/// The name of a stage: what stands behind the program's name.
pub(crate) fn short(pass: &str) -> &str {
    pass.rsplit_once('/').map_or(pass, |(_, stage)| stage)
}

/// Runs programs.
pub struct Machine<'p> {
    programs: &'p Programs,
    depth: Cell<u32>,
    hooks: Option<HookRunner<'p>>,
    begun: RefCell<Vec<BegunEvent>>,
    watch: Option<PassObserver<'p>>,
}

impl<'p> Machine<'p> {
    /// A machine over compiled programs.
    #[must_use]
    pub fn new(programs: &'p Programs) -> Self {
        Self { programs, depth: Cell::new(0), hooks: None, begun: RefCell::default(), watch: None }
    }

    /// Hands in what runs scripts and the hooks of events.
    #[must_use]
    pub fn with_hooks(mut self, hooks: HookRunner<'p>) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Hands in what watches the passes of the outermost program.
    #[must_use]
    pub fn with_watch(mut self, watch: PassObserver<'p>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Runs a program to its end.
    pub fn run(&self, program: usize, st: &mut BuildState) -> Result<(), (ProgramInterrupt, Arc<str>)> {
        let Some(compiled) = self.programs.list.get(program) else { return Ok(()) };
        let mark = self.begun.borrow().len();
        for pass in compiled.passes() {
            let stage: Arc<str> = short(&pass.id).into();
            *st.stage.borrow_mut() = stage.clone();
            match pass.run(st, compiled.list, self) {
                Ok(()) => {}
                Err(ProgramInterrupt::Stop) => break,
                Err(halt) => return Err((halt, pass.id.clone())),
            }
            if let Some(watch) = self.watch {
                st.step(|| BuildStep::Stage(stage.to_string()));
                watch(&pass.id, pass.list.unwrap_or(compiled.list), st);
            }
        }
        self.end(mark, compiled.list, st)
    }

    /// Runs the hooks that follow the events which the program began, in the order of its passes.
    fn end(&self, mark: usize, list: usize, st: &mut BuildState) -> Result<(), (ProgramInterrupt, Arc<str>)> {
        let begun = self.begun.borrow_mut().split_off(mark);
        for (event, pass, failing) in begun {
            pass.clone_into(&mut st.pass.borrow_mut());
            *st.stage.borrow_mut() = short(&pass).into();
            let name = format!("after_{event}");
            let done = self.ask(&HookRequest::Event { name: &name, failing }, list, None, st);
            let done = if st.refuses() { Err(ProgramInterrupt::Warned) } else { done };
            done.map_err(|halt| (halt, pass))?;
        }
        Ok(())
    }

    fn ask(&self, ask: &HookRequest<'_>, list: usize, reasons: Option<&PassReasons>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        self.hooks.map_or(Ok(()), |hooks| hooks(ask, list, reasons, st))
    }
}

impl ProgramRunner for Machine<'_> {
    fn program(&self, program: usize, list: Option<usize>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let Some(compiled) = self.programs.list.get(program) else { return Ok(()) };
        if self.depth.get() >= st.rules.limits.depth {
            return Err(EvalFault::bound(format!("programs run each other more than {} deep", st.rules.limits.depth)).into());
        }
        self.depth.set(self.depth.get() + 1);
        let list = list.unwrap_or(compiled.list);
        let (mark, stage) = (self.begun.borrow().len(), st.stage.borrow().clone());
        let mut result = Ok(());
        for pass in compiled.passes() {
            result = pass.run(st, list, self);
            if result.is_err() {
                break;
            }
        }
        match result {
            Ok(()) => result = self.end(mark, list, st).map_err(|(halt, _)| halt),
            Err(ProgramInterrupt::Stop) => result = self.end(mark, list, st).map_err(|(halt, _)| halt).and(Err(ProgramInterrupt::Stop)),
            Err(_) => self.begun.borrow_mut().truncate(mark),
        }
        *st.stage.borrow_mut() = stage;
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn list_of(&self, program: usize) -> usize {
        self.programs.list.get(program).map_or(0, |p| p.list)
    }

    fn script(&self, function: &str, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        self.ask(&HookRequest::Script(function), run.list, run.reasons.as_ref(), st)
    }

    fn event(&self, name: &str, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let pass = run.pass;
        self.begun.borrow_mut().push((name.into(), pass.id.clone(), pass.failing));
        let name = format!("before_{name}");
        self.ask(&HookRequest::Event { name: &name, failing: pass.failing }, run.list, run.reasons.as_ref(), st)
    }
}
