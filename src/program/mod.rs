//! Programs: ordered passes over lists, compiled once and run over the state of a build.
//!
//! [`compile()`] turns a merged [`Pack`](crate::model::Pack) into a [`Program`] table with every name resolved; [`Machine`] runs them.
//! The build itself is such a program (`build`), so this room knows no stage by name.

pub mod cells;
mod columns;
pub mod compile;
mod declared;
mod fields;
pub mod foreign;
mod functions;
pub mod machine;

use std::sync::Arc;

use crate::terms::CompiledRules;
use crate::verbs::CompiledPass;

pub(crate) use compile::ENGINE_TABLES;
pub use compile::{DetachedCondition, compile};
pub use machine::{HookRequest, Machine};

/// A compiled program.
pub struct Program {
    /// Its name.
    pub name: Arc<str>,
    /// The list that it works on by itself.
    pub list: usize,
    /// Its passes, in order.
    pub passes: Vec<Arc<CompiledPass>>,
}

/// All programs of a pack, with the rules that they share.
pub struct Programs {
    /// Tables, values, accounts …
    pub rules: Arc<CompiledRules>,
    /// The programs, in the order of their rows.
    pub list: Vec<Program>,
    /// The foreign formats that the pack reads.
    pub formats: Vec<foreign::ForeignFormat>,
}

impl Programs {
    /// The number of a program.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|p| p.name.as_ref() == name)
    }

    /// A pass, to be changed in place. `None` if there is no such pass, or if it is shared.
    pub fn pass_mut(&mut self, name: &str) -> Option<&mut crate::verbs::CompiledPass> {
        let pass = self.list.iter_mut().flat_map(|p| &mut p.passes).find(|pass| pass.id.as_ref() == name)?;
        Arc::get_mut(pass)
    }
}
