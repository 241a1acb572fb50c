//! Runs programs over a state: pass after pass, programs inside programs, scripts and hooks.

use std::cell::Cell;
use std::sync::Arc;

use crate::terms::{Fault, State};
use crate::verbs::{Caller, Halt};

use super::Programs;

/// Called before and after passes of the outermost program, to watch a build: the pass and what comes of it.
pub type Watch<'w> = &'w dyn Fn(&str, &mut State);

/// Runs a script of the pack by name, or (`true`) the hooks of an event.
pub type Hooks<'h> = &'h dyn Fn(&str, bool, &mut State) -> Result<(), Halt>;

/// Runs programs.
pub struct Machine<'p> {
    programs: &'p Programs,
    depth: Cell<u32>,
    hooks: Option<Hooks<'p>>,
    watch: Option<Watch<'p>>,
}

impl<'p> Machine<'p> {
    /// A machine over compiled programs.
    #[must_use]
    pub fn new(programs: &'p Programs) -> Self {
        Self { programs, depth: Cell::new(0), hooks: None, watch: None }
    }

    /// Hands in what runs scripts and the hooks of events.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Hooks<'p>) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Hands in what watches the passes of the outermost program.
    #[must_use]
    pub fn with_watch(mut self, watch: Watch<'p>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Runs a program to its end.
    pub fn run(&self, program: usize, st: &mut State) -> Result<(), (Halt, Arc<str>)> {
        let Some(compiled) = self.programs.list.get(program) else { return Ok(()) };
        for pass in &compiled.passes {
            st.current.set(pass.list.unwrap_or(compiled.list));
            match pass.run(st, compiled.list, self) {
                Ok(()) => {}
                Err(Halt::Stop) => return Ok(()),
                Err(halt) => return Err((halt, pass.id.clone())),
            }
            if let Some(watch) = self.watch {
                watch(&pass.id, st);
            }
        }
        Ok(())
    }
}

impl Caller for Machine<'_> {
    fn program(&self, program: usize, list: Option<usize>, st: &mut State) -> Result<(), Halt> {
        let Some(compiled) = self.programs.list.get(program) else { return Ok(()) };
        if self.depth.get() >= st.rules.limits.depth {
            return Err(Fault::bound(format!("programs run each other more than {} deep", st.rules.limits.depth)).into());
        }
        self.depth.set(self.depth.get() + 1);
        let list = list.unwrap_or(compiled.list);
        let before = st.current.replace(list);
        let mut result = Ok(());
        for pass in &compiled.passes {
            st.current.set(pass.list.unwrap_or(list));
            result = pass.run(st, list, self);
            if result.is_err() {
                break;
            }
        }
        st.current.set(before);
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn list_of(&self, program: usize) -> usize {
        self.programs.list.get(program).map_or(0, |p| p.list)
    }

    fn script(&self, name: &str, event: bool, st: &mut State) -> Result<(), Halt> {
        match self.hooks {
            Some(hooks) => hooks(name, event, st),
            None => Ok(()),
        }
    }
}
