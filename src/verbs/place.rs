//! `place`: moves the selected, or copies of them, to a place of a list; with `field`, elements of theirs (`parts`).

use std::sync::Arc;

use crate::diag::{DocumentNode, FieldMap};
use crate::model::{Item, Term, TermType};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::select::in_list_order;
use crate::terms::{BuildState, PassMemo};
use crate::text::work;

use super::misuse::refuse;
use super::parts::PartTerms;
use super::pass::{CompiledPass, HistoryDemand, ProgramInterrupt, ProgramRunner, Verb, VerbInfo};

/// `place` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "place",
    doc: "moves the selected items, or copies of them, to a place",
    terms: &[
        Term {
            name: "to",
            kind: TermType::Json(
                r##"{ "type": ["string", "object"], "if": { "type": "object" }, "then": { "$ref": "#/definitions/to_item" } }"##,
            ),
            doc: "List that receives the items; default: the same list. With `field`: `{ next = condition, else = { add = item } \
                  }`, the next item behind the selected one that meets the condition.",
        },
        Term { name: "at", kind: TermType::Defined("place"), doc: "Where in the list; default `end`." },
        Term {
            name: "against",
            kind: TermType::Word { of: &["before", "now"], default: "before" },
            doc: "`before`: all places are found in the list as it was before the pass, and items of the same place keep their \
                  order. `now`: one item after another, in the list as it is then.",
        },
        Term { name: "copy", kind: TermType::Flag, doc: "Copies the items; the originals stay." },
        Term { name: "field", kind: TermType::Text, doc: "Moves elements of this list field (such as `parts`) instead of whole items." },
        Term { name: "pick", kind: TermType::Defined("condition"), doc: "With `field`: which elements of that field are moved." },
    ],
    cost: "the list",
    did: "placed",
    parse: |cx, w| Some(Box::new(PlaceTerms::parse(cx, w.fields, w.scope))),
};

/// The terms of `place`.
pub struct PlaceTerms {
    to: Option<usize>,
    at: crate::terms::InsertPosition,
    now: bool,
    copy: bool,
    parts: Option<PartTerms>,
}

impl PlaceTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, fields: &FieldMap, scope: &ItemScope) -> Self {
        check(cx, fields);
        let node = |key: &str| fields.get(key).map(|f| &f.node);
        let parts = PartTerms::parse(cx, fields, scope);
        let to = node("to").filter(|_| parts.is_none()).and_then(|n| {
            let name = n.as_text()?.to_owned();
            Some(cx.list(&name, n.span))
        });
        let target = to.map_or_else(|| scope.clone(), |n| cx.rows_of(n));
        let at = node("at").filter(|_| parts.is_none()).map(|n| cx.within(scope.clone(), |cx| cx.place(n, &target)));
        let flag = |key: &str| node(key).and_then(DocumentNode::as_bool).unwrap_or(false);
        Self {
            to,
            at: at.unwrap_or(crate::terms::InsertPosition::End),
            now: node("against").and_then(DocumentNode::as_text) == Some("now"),
            copy: flag("copy"),
            parts,
        }
    }
}

impl Verb for PlaceTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Selected
    }

    fn run(
        &self,
        pass: &Arc<CompiledPass>,
        st: &mut BuildState,
        list: usize,
        memo: &PassMemo,
        _caller: &dyn ProgramRunner,
    ) -> Result<(), ProgramInterrupt> {
        if let Some(parts) = &self.parts {
            return parts.run(pass, st, list, memo, self.copy);
        }
        let chosen = pass.chosen(st, list, memo)?;
        let to = self.to.unwrap_or(list);
        let moved: Vec<Item> = {
            let items = st.list(list);
            // a run or an end is taken in the list's own order
            let ordered = if pass.select.from == crate::terms::select::SelectEnd::Last && pass.select.by.is_empty() {
                in_list_order(chosen.clone())
            } else {
                chosen.clone()
            };
            ordered.iter().filter_map(|n| items.items.get(*n).cloned()).collect()
        };
        if !self.copy {
            st.list_mut(list).remove(&in_list_order(chosen));
        }
        if self.now {
            for item in moved {
                // each of them moves the whole list
                work::spend(st.list(to).items.len() as u64)?;
                super::add::insert(st, to, &self.at, vec![item], memo)?;
            }
        } else {
            super::add::insert(st, to, &self.at, moved, memo)?;
        }
        Ok(())
    }
}

/// Reports terms that could have no effect.
fn check(cx: &mut CompileContext<'_>, fields: &FieldMap) {
    if fields.contains_key("field") {
        refuse(cx, fields, "against", "`against` is about whole items, not about elements of a `field`", "take it out");
    } else {
        refuse(cx, fields, "pick", "`pick` chooses elements of a `field`, which the pass does not name", "add `field = \"…\"`");
    }
}
