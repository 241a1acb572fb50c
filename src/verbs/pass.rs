//! A compiled pass, and what every verb must declare about itself.

use std::sync::Arc;

use crate::diag::{FieldMap, Span};
use crate::model::{FieldId, Item, Term};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::cells::MemoCell;
use crate::terms::ledger::BudgetNumbers;
use crate::terms::select::{SelectSequence, pass_env};
use crate::terms::{BuildState, Cond, Env, EvalFault, PassMemo, Select};
use crate::text::work::BudgetExceeded;

use super::reads::ListReads;
use super::reason::ReasonTerms;

/// What a failing script, filter or program means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// A warning; the item is not selected.
    Spare,
    /// A warning; what the pass has done so far stands.
    Keep,
    /// An error.
    Error,
}

/// Why a program ended early.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramInterrupt {
    /// `then = "stop"` or `level = "stop"`: no error.
    Stop,
    /// An evaluation failed.
    Fault(EvalFault),
    /// A warning, where warnings are errors.
    Warned,
    /// A hook or a function of the embedding program failed, which no pass handles.
    Host(EvalFault),
    /// A requirement of the pack is not met.
    Refused {
        /// The code that the pass names.
        code: String,
        /// What is wrong.
        message: String,
        /// What there was room for, where it is about room.
        room: Option<BudgetNumbers>,
    },
}

impl From<BudgetExceeded> for ProgramInterrupt {
    fn from(exceeded: BudgetExceeded) -> Self {
        ProgramInterrupt::Fault(exceeded.into())
    }
}

impl From<EvalFault> for ProgramInterrupt {
    fn from(fault: EvalFault) -> Self {
        ProgramInterrupt::Fault(fault)
    }
}

/// A verb as the table knows it: one row for each file of this room that is a verb.
#[derive(Clone, Copy)]
pub struct VerbInfo {
    /// The word in `do = "…"`.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Its own terms, beside those that every pass may have.
    pub terms: &'static [Term],
    /// What it costs.
    pub cost: &'static str,
    /// What the trail says that it did to an item.
    pub did: &'static str,
    /// Reads its terms; `None` after an error that leaves nothing to run.
    pub parse: fn(&mut CompileContext<'_>, &WrittenPass<'_>) -> Option<Box<dyn Verb>>,
}

/// A pass as it is written.
pub struct WrittenPass<'a> {
    /// Its terms.
    pub fields: &'a FieldMap,
    /// Where its verb stands.
    pub span: Span,
    /// What `@` means in its terms.
    pub scope: &'a ItemScope,
}

/// What a verb does with its terms.
pub trait Verb: Send + Sync {
    /// How much of an unread history it needs.
    fn reach(&self, pass: &CompiledPass) -> HistoryDemand<'_>;
    /// Runs the verb. The list has been read as far as [`Verb::reach`] requires.
    fn run(
        &self,
        pass: &Arc<CompiledPass>,
        st: &mut BuildState,
        list: usize,
        memo: &PassMemo,
        caller: &dyn ProgramRunner,
    ) -> Result<(), ProgramInterrupt>;
    /// The program that it runs, by number.
    fn callee(&self) -> Option<usize> {
        None
    }
}

/// How much of an unread history a verb needs.
pub enum HistoryDemand<'a> {
    /// It reads what it needs by itself.
    Own,
    /// It looks at no item.
    Nothing,
    /// Each selected item is changed by itself, whatever the others are.
    Each(&'a dyn ItemChange),
    /// The selected items.
    Selected,
    /// The selected items and those beside them.
    Neighbours,
}

/// A change of one item that looks at no other, so that it can wait until the item is read.
pub trait ItemChange {
    /// The item as it is afterwards; `None` if it is gone. `nth`: how many were changed before it.
    fn change(&self, item: &Item, place: usize, nth: usize, env: &Env<'_>) -> Result<Option<Item>, EvalFault>;
    /// The fields that it may change.
    fn fields(&self) -> Vec<FieldId>;
    /// The change depends on how many items were visited before.
    fn numbers(&self) -> bool;
    /// It may write or draw, so that the order of items matters.
    fn has_effects(&self) -> bool;
    /// It may drop an item.
    fn leaves_out(&self) -> bool {
        false
    }
}

/// Runs other programs; implemented by the room above.
pub trait ProgramRunner {
    /// Runs a program by number, over `list` if given.
    fn program(&self, program: usize, list: Option<usize>, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
    /// The list that a program works on by itself.
    fn list_of(&self, program: usize) -> usize;
    /// Runs a script of the pack over a list.
    fn script(&self, function: &str, list: usize, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
    /// Runs the hooks `before_NAME` now, and those of `after_NAME` when the current program ends.
    fn event(&self, name: &str, pass: &CompiledPass, list: usize, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
}

/// A compiled pass.
pub struct CompiledPass {
    /// `program/pass`.
    pub id: Arc<str>,
    /// Where its name is written.
    pub span: Span,
    /// Its verb, as the table knows it.
    pub info: &'static VerbInfo,
    /// A condition on the scene that decides whether the pass runs at all.
    pub when: Option<Cond>,
    /// Which items.
    pub select: Select,
    /// The list, if not the program's own.
    pub list: Option<usize>,
    /// After this pass the program ends.
    pub stop: bool,
    /// What a failure means.
    pub failing: FailurePolicy,
    /// What a trace gives as the reason for what it does to items.
    pub reason: Option<ReasonTerms>,
    /// What its gate reads of lists.
    pub gate_reads: ListReads,
    /// What its other terms read of lists.
    pub reads: ListReads,
    /// What its memo cells hold, to be filled at once when the pass is queued.
    pub cells: Vec<MemoCell>,
    /// What it does.
    pub verb: Box<dyn Verb>,
}

impl CompiledPass {
    /// The chosen items of the list, by index, in visiting order.
    pub fn chosen(&self, st: &BuildState, list: usize, memo: &PassMemo) -> Result<Vec<usize>, EvalFault> {
        let list = st.list(list);
        st.telling.set(st.tells());
        self.select.run(SelectSequence::Items(&list.items), &pass_env(st, memo))
    }

    /// Whether one item, looked at alone, is chosen: for selections that judge each item by itself.
    pub fn chooses(&self, env: &Env<'_>, enabled: bool) -> Result<bool, EvalFault> {
        self.select.chooses(env, enabled)
    }
}
