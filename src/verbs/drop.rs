//! `drop`: removes the selected from the list.

use std::sync::Arc;

use crate::terms::select::in_list_order;
use crate::terms::{Memo, State};

use super::{Halt, Pass};

/// Removes them.
pub fn run(pass: &Arc<Pass>, st: &mut State, list: usize, memo: &Memo) -> Result<(), Halt> {
    let gone = in_list_order(pass.chosen(st, list, memo)?);
    let gone = st.list_mut(list).remove(&gone);
    for item in &gone {
        st.note(item, "dropped");
    }
    Ok(())
}
