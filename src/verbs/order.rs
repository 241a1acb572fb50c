//! `order`: the selected trade places among themselves; everything else stays where it is.

use std::sync::Arc;

use crate::model::Item;
use crate::terms::select::in_list_order;
use crate::terms::{Memo, State};

use super::{Halt, Pass};

/// Sorts or shuffles them.
pub fn run(pass: &Arc<Pass>, st: &mut State, list: usize, memo: &Memo) -> Result<(), Halt> {
    let chosen = pass.chosen(st, list, memo)?;
    let places = in_list_order(chosen.clone());
    let list = st.list_mut(list);
    // each is chosen once, so all of them are taken out before any is put back
    let sorted: Vec<Option<Item>> = chosen.iter().map(|n| list.items.get_mut(*n).map(std::mem::take)).collect();
    for (place, item) in places.into_iter().zip(sorted) {
        if let (Some(slot), Some(item)) = (list.items.get_mut(place), item) {
            *slot = item;
        }
    }
    Ok(())
}
