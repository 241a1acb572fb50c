//! `drop`: removes the selected from the list.

use std::sync::Arc;

use super::pass::{Caller, Each, Halt, Info, Pass, Reach, Verb};
use crate::model::{FieldId, Item};
use crate::terms::select::in_list_order;
use crate::terms::{Env, Fault, Memo, State};

/// `drop` as the table of verbs knows it.
pub const INFO: Info = Info {
    name: "drop",
    doc: "removes the selected items from the list, and reports them",
    terms: &[],
    cost: "the list",
    did: "dropped",
    parse: |_, _| Some(Box::new(Drop)),
};

/// The verb, which has no terms of its own.
pub struct Drop;

impl Verb for Drop {
    fn reach(&self, _pass: &Pass) -> Reach<'_> {
        Reach::Each(self)
    }

    fn run(&self, pass: &Arc<Pass>, st: &mut State, list: usize, memo: &Memo, _caller: &dyn Caller) -> Result<(), Halt> {
        let gone = in_list_order(pass.chosen(st, list, memo)?);
        let gone = st.list_mut(list).remove(&gone);
        for item in &gone {
            st.note(item, "dropped");
        }
        Ok(())
    }
}

impl Each for Drop {
    fn change(&self, _item: &Item, _place: usize, _nth: usize, _env: &Env<'_>) -> Result<Option<Item>, Fault> {
        Ok(None)
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
