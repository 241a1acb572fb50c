//! `place` with `field`: elements of a list field move from the selected items to the next item that accepts them.
//!
//! The receivers are determined on the list as it was before the pass; the elements that one item receives keep the
//! order of the items they come from.

use std::collections::BTreeMap;

use crate::diag::{Code, DocumentNode, FieldMap};
use crate::model::{FieldId, Item, Value};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::terms::select::{SelectSequence, in_list_order, pass_env};
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, Expr, PassMemo};

use super::pass::{CompiledPass, ProgramInterrupt};

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
    pub(super) fn parse(cx: &mut CompileContext<'_>, fields: &FieldMap, scope: &ItemScope) -> Option<Self> {
        let node = |key: &str| fields.get(key).map(|f| &f.node);
        let to = node("to");
        let table = to.and_then(DocumentNode::as_table);
        let Some(field) = node("field") else {
            if let (Some(to), Some(_)) = (to, table) {
                let help = Some("write `to = \"list\"`, or add `field = \"…\"`".into());
                cx.fail(Code::TermType, to.span, "`to` names an item only where elements of a `field` are placed", help);
            }
            return None;
        };
        let name = field.as_text().unwrap_or("").to_owned();
        cx.within(scope.clone(), |cx| cx.check_field(0, &name, field.span));
        let next = table.and_then(|t| t.get("next")).map(|f| &f.node);
        let Some(next) = next else {
            let help = Some("add `to = { next = { … } }`: the item behind that takes them".into());
            cx.fail(Code::TermMissing, field.span, "elements of a `field` need to know which item takes them", help);
            return None;
        };
        let next = cx.within(scope.clone(), |cx| cx.cond(next, PathMode::Item));
        let pick = node("pick").map(|n| cx.within(ItemScope::Open, |cx| cx.cond(n, PathMode::Item)));
        let added = table.and_then(|t| t.get("else")).and_then(|f| f.node.get("add"));
        let otherwise = added.map(|n| cx.within(ItemScope::None, |cx| cx.expr(n)));
        let front = match node("at") {
            None => false,
            Some(at) if at.as_text() == Some("end") => false,
            Some(at) if at.as_text() == Some("start") => true,
            Some(at) => {
                let help = Some("write `at = \"start\"` or `at = \"end\"`: of the field of the item that takes them".into());
                cx.fail(Code::TermType, at.span, "elements of a `field` have no such place", help);
                false
            }
        };
        Some(Self { field: cx.fields.intern(&name), pick, next, otherwise, front })
    }

    /// Moves them.
    pub(super) fn run(
        &self,
        pass: &CompiledPass,
        st: &mut BuildState,
        list: usize,
        memo: &PassMemo,
        copy: bool,
    ) -> Result<(), ProgramInterrupt> {
        // the receiving item may be anywhere later in the list
        st.force(list)?;
        let chosen = in_list_order(pass.chosen(st, list, memo)?);
        let mut left: Vec<(usize, Vec<Value>)> = Vec::new();
        let mut given: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        let mut homeless: Vec<(usize, Vec<Value>)> = Vec::new();
        let added = {
            let items = st.list(list);
            let env = pass_env(st, memo);
            for n in chosen {
                let Some(item) = items.items.get(n) else { continue };
                let (picked, rest) = self.parted(item, &env.inner(CurrentItem::Item(item, n)))?;
                if picked.is_empty() {
                    continue;
                }
                st.note(item, "placed");
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
