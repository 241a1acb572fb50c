//! `order`: sorts the selected items among their own positions; all other items stay where they are.

use super::pass::{CompiledPass, EACH, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo};
use crate::diag::{Code, FieldMap, Span};
use crate::model::Item;
use crate::syntax::CompileContext;
use crate::terms::BuildState;
use crate::terms::select::in_list_order;

/// `order` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "order",
    doc: "sorts the selected items among their positions",
    terms: &[EACH],
    cost: "n log n of the selected",
    did: "placed",
    parse: |cx, written| {
        check_order(cx, written.fields, written.span);
        Some(Box::new(OrderVerb))
    },
};

/// Reports a pass that says no order.
pub(super) fn check_order(cx: &mut CompileContext<'_>, fields: &FieldMap, span: Span) {
    if !["by", "draw", "end"].iter().any(|key| fields.contains_key(*key)) {
        let help = "add `by = [\"field\"]`, or `draw = \"shuffle\"`";
        cx.fail(Code::TermMissing, span, "`order` says no order, so every item stays where it is", Some(help.into()));
    }
}

/// The verb, which has no terms of its own.
pub struct OrderVerb;

impl Verb for OrderVerb {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Selected
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let chosen = run.chosen(st)?;
        let places = in_list_order(chosen.clone());
        let list = st.list_mut(run.list);
        // each is chosen once, so all of them are removed before any is put back
        let sorted: Vec<Option<Item>> = chosen.iter().map(|n| list.items.get_mut(*n).map(std::mem::take)).collect();
        for (place, item) in places.into_iter().zip(sorted) {
            if let (Some(slot), Some(item)) = (list.items.get_mut(place), item) {
                *slot = item;
            }
        }
        Ok(())
    }
}
