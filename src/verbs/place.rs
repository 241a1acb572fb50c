//! `place`: moves the selected, or copies of them, to a place of a list; with `field`, elements of theirs (`parts`).
//!
//! The receivers are determined on the list as it was before the pass; the elements that one item receives keep the
//! order of the items they come from.

use std::collections::BTreeMap;

use crate::diag::{Code, DocumentNode, FieldMap};
use crate::model::{FieldId, Item, Term, Value};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::terms::select::{SelectSequence, in_list_order};
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, Expr};
use crate::text::work;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass, refuse};

/// `place` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "place",
    doc: "moves the selected items, or copies of them, to a place",
    terms: &[
        Term::json("to", r##"{ "type": ["string", "object"], "if": { "type": "object" }, "then": { "$ref": "#/definitions/to_item" } }"##, "the list that receives the items. With `field`: `{ next = condition, else = { add = item } }`, the next item behind the selected one that meets the condition").default("the same list"),
        Term::defined("at", "place", "a place in that list").default("`\"end\"`"),
        Term::word("against", &["before", "now"], "`before`: places are found in the list as it was before the pass, and items of the same place keep their order. `now`: \
             in the list as it is when each item is placed").default("before"),
        Term::flag("copy", "copies are placed, and the originals stay"),
        Term::text("field", "a field that is a list, such as `parts`: elements of it are moved instead of the items").default("whole items"),
        Term::defined("pick", "condition", "with `field`: which elements are moved; bare names are their fields").default("all"),
    ],
    cost: "the list",
    did: "placed",
    parse: |cx, w| Some(Box::new(PlaceTerms::parse(cx, w))),
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
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Self {
        check(cx, w.fields);
        let parts = PartTerms::parse(cx, w);
        let to = if parts.is_none() { w.list(cx, "to") } else { None };
        let target = to.map_or_else(|| w.scope.clone(), |n| cx.rows_of(n));
        let at = w.node("at").filter(|_| parts.is_none()).map(|n| cx.within(w.scope.clone(), |cx| cx.place(n, &target)));
        Self { to, at: at.unwrap_or(crate::terms::InsertPosition::End), now: w.word("against") == "now", copy: w.flag("copy"), parts }
    }
}

impl Verb for PlaceTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Selected
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        if let Some(parts) = &self.parts {
            return parts.run(run, st, self.copy);
        }
        let list = run.list;
        let chosen = run.chosen(st)?;
        let to = self.to.unwrap_or(list);
        let moved: Vec<Item> = {
            let items = st.list(list);
            // a run or an end is taken in the list's own order
            let ordered = if run.pass.select.from == crate::terms::select::SelectEnd::Last && run.pass.select.by.is_empty() {
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
                super::add::insert(run, st, to, &self.at, vec![item])?;
            }
        } else {
            super::add::insert(run, st, to, &self.at, moved)?;
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

/// The terms of `place` with `field`.
pub(super) struct PartTerms {
    field: FieldId,
    pick: Option<Cond>,
    next: Cond,
    /// What is appended to the list if no item accepts them.
    otherwise: Option<Expr>,
    front: bool,
}

impl PartTerms {
    /// Reads the terms; `None` if whole items are placed, or after a reported error.
    pub(super) fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        let to = w.node("to");
        let table = to.and_then(DocumentNode::as_table);
        let Some(field) = w.node("field") else {
            if let (Some(to), Some(_)) = (to, table) {
                let help = Some("write `to = \"list\"`, or add `field = \"…\"`".into());
                cx.fail(Code::TermType, to.span, "`to` names an item only where elements of a `field` are placed", help);
            }
            return None;
        };
        let name = field.as_text().unwrap_or("");
        cx.within(w.scope.clone(), |cx| cx.check_field(0, name, field.span));
        let next = table.and_then(|t| t.get("next")).map(|f| &f.node);
        let Some(next) = next else {
            let help = Some("add `to = { next = { … } }`: the item behind that takes them".into());
            cx.fail(Code::TermMissing, field.span, "elements of a `field` need to know which item takes them", help);
            return None;
        };
        let next = cx.within(w.scope.clone(), |cx| cx.cond(next, PathMode::Item));
        let pick = w.node("pick").map(|n| cx.within(ItemScope::Open, |cx| cx.cond(n, PathMode::Item)));
        let added = table.and_then(|t| t.get("else")).and_then(|f| f.node.get("add"));
        let otherwise = added.map(|n| cx.within(ItemScope::None, |cx| cx.expr(n)));
        let front = match w.node("at") {
            None => false,
            Some(at) if at.as_text() == Some("end") => false,
            Some(at) if at.as_text() == Some("start") => true,
            Some(at) => {
                let help = Some("write `at = \"start\"` or `at = \"end\"`: of the field of the item that takes them".into());
                cx.fail(Code::TermType, at.span, "elements of a `field` have no such place", help);
                false
            }
        };
        Some(Self { field: cx.fields.intern(name), pick, next, otherwise, front })
    }

    /// Moves them.
    pub(super) fn run(&self, run: &PassRun<'_>, st: &mut BuildState, copy: bool) -> Result<(), ProgramInterrupt> {
        let list = run.list;
        // the receiving item may be anywhere later in the list
        st.load_all(list)?;
        let chosen = in_list_order(run.chosen(st)?);
        let mut left: Vec<(usize, Vec<Value>)> = Vec::new();
        let mut given: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        let mut homeless: Vec<(usize, Vec<Value>)> = Vec::new();
        let added = {
            let items = st.list(list);
            let env = run.env(st);
            for n in chosen {
                let Some(item) = items.items.get(n) else { continue };
                let (picked, rest) = self.parted(item, &env.inner(CurrentItem::Item(item, n)))?;
                if picked.is_empty() {
                    continue;
                }
                run.note(item, "placed", st);
                match self.taker(n, SelectSequence::Items(&items.items), &env)? {
                    Some(taker) => given.entry(taker).or_default().extend(picked),
                    None => homeless.push((n, picked)),
                }
                left.push((n, rest));
            }
            match &self.otherwise {
                Some(item) if !homeless.is_empty() => Some(Item::from_value(&env.eval(item)?, &st.rules.fields)),
                _ => None,
            }
        };
        if !copy {
            for (n, rest) in left {
                if let Some(item) = st.list_mut(list).items.get_mut(n) {
                    item.set(self.field, Value::list(rest));
                }
            }
        }
        for (taker, elements) in given {
            if let Some(item) = st.list_mut(list).items.get_mut(taker) {
                self.give(item, elements);
            }
        }
        match added {
            Some(mut item) => {
                item.seq = st.number();
                self.give(&mut item, homeless.into_iter().flat_map(|(_, elements)| elements).collect());
                st.list_mut(list).append([item]);
            }
            None => {
                for (n, _) in homeless {
                    if let Some(item) = st.list(list).items.get(n) {
                        st.lose(item);
                    }
                }
            }
        }
        Ok(())
    }

    /// The elements that move, and those that stay.
    fn parted(&self, item: &Item, env: &Env<'_>) -> Result<(Vec<Value>, Vec<Value>), EvalFault> {
        let (mut picked, mut rest) = (Vec::new(), Vec::new());
        for (n, element) in item.get(self.field).and_then(Value::as_list).unwrap_or(&[]).iter().enumerate() {
            let moves = match &self.pick {
                Some(pick) => env.inner(CurrentItem::Value(element, n)).holds(pick)?,
                None => true,
            };
            if moves { picked.push(element.clone()) } else { rest.push(element.clone()) }
        }
        Ok((picked, rest))
    }

    /// The next live item that accepts them.
    fn taker(&self, giver: usize, seq: SelectSequence<'_>, env: &Env<'_>) -> Result<Option<usize>, EvalFault> {
        let from = env.inner(seq.cur(giver));
        for n in giver + 1..seq.len() {
            let live = matches!(seq.cur(n), CurrentItem::Item(item, _) if item.enabled());
            if live && from.inner(seq.cur(n)).holds(&self.next)? {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }

    fn give(&self, item: &mut Item, elements: Vec<Value>) {
        let own = item.get(self.field).and_then(Value::as_list).unwrap_or(&[]).to_vec();
        let (first, then) = if self.front { (elements, own) } else { (own, elements) };
        item.set(self.field, Value::list(first.into_iter().chain(then).collect()));
    }
}
