//! `drop`: removes the selected from the list.

use super::pass::{CompiledPass, EACH, HistoryDemand, ItemChange, PassRun, ProgramInterrupt, Verb, VerbInfo};
use crate::model::{FieldId, Item};
use crate::terms::select::in_list_order;
use crate::terms::{BuildState, Env, EvalFault};

/// `drop` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "drop",
    doc: "removes the selected items from the list, and reports them",
    terms: &[EACH],
    cost: "the list",
    did: "dropped",
    parse: |_, _| Some(Box::new(DropVerb)),
};

/// The verb, which has no terms of its own.
pub struct DropVerb;

impl Verb for DropVerb {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Each(self)
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let gone = in_list_order(run.chosen(st)?);
        let gone = st.list_mut(run.list).remove(&gone);
        for item in &gone {
            run.note(item, "dropped", st);
        }
        Ok(())
    }
}

impl ItemChange for DropVerb {
    fn change(&self, _item: &mut Item, _place: usize, _nth: usize, _env: &Env<'_>) -> Result<bool, EvalFault> {
        Ok(false)
    }

    fn fields(&self) -> Vec<FieldId> {
        Vec::new()
    }

    fn numbers(&self) -> bool {
        false
    }

    fn has_effects(&self) -> bool {
        false
    }

    fn leaves_out(&self) -> bool {
        true
    }
}
