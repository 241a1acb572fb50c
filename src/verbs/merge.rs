//! `merge`: of two adjacent selected items with equal `same` fields, the later is merged into the earlier; with
//! `into`, each selected item is merged into the last item before it that accepts it.

use std::sync::Arc;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use crate::diag::{Code, DocumentNode};
use crate::model::{FieldId, Item, Term, Value, item::core};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::terms::select::SelectSequence;
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, Expr};
use crate::text::work;
use crate::text::written::{self, ToText as _};

/// `merge` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "merge",
    doc: "joins neighbours that are equal in `same`",
    terms: &[
        Term::json(
            "same",
            r#"{ "type": "array", "items": { "type": "string", "description": "A field." } }"#,
            "the fields in which both must be equal (two missing values are equal); if empty, all neighbours are joined",
        )
        .default("`[]`"),
        Term::defined("absorb", "condition", "a condition that the later item must meet").default("anything"),
        Term::defined("stop", "condition", "an item that meets this condition is joined to no other, in neither direction")
            .default("nothing"),
        Term::text("join", "the text between the joined texts").default("`\"\"`"),
        Term::text("field", "the field that is joined; lists are concatenated").default("`text`"),
        Term::json(
            "fold",
            r#"{ "type": "object", "additionalProperties": { "enum": ["any", "last", "sum"] } }"#,
            "what becomes of other fields: `any` (the first value that counts as true), `last`, or `sum`",
        )
        .default("the first value"),
        Term::defined(
            "into",
            "condition",
            "instead of neighbours: each selected item is joined to the last item before it that meets this condition at that moment (`item.field` and `@outer.field` are those of the item that is joined). If there is none, the item stays",
        ),
    ],
    cost: "the list and its text",
    did: "merged",
    parse: |cx, w| Some(Box::new(MergeTerms::parse(cx, w))),
};

/// The terms of `merge`.
pub struct MergeTerms {
    same: Vec<(FieldId, Arc<str>)>,
    absorb: Option<Cond>,
    stop: Option<Cond>,
    join: Expr,
    field: FieldId,
    fold: Vec<(FieldId, FieldFold)>,
    into: Option<Cond>,
}

/// What becomes of another field.
#[derive(Clone, Copy)]
enum FieldFold {
    Any,
    Last,
    Sum,
}

impl MergeTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Self {
        let mut same = Vec::new();
        for n in w.node("same").and_then(DocumentNode::as_list).unwrap_or(&[]) {
            let name = cx.literal(n, "a field of `same`");
            cx.within(w.scope.clone(), |cx| cx.check_field(0, &name, n.span));
            same.push((cx.fields.intern(&name), name));
        }
        let absorb = w.condition(cx, "absorb");
        let stop = w.condition(cx, "stop");
        // the item that goes stands outside of the one that takes it
        let into = w.node("into").map(|n| cx.within(w.scope.clone(), |cx| cx.within(w.scope.clone(), |cx| cx.cond(n, PathMode::Item))));
        let join = w.value(cx, "join").unwrap_or_else(|| Expr::text(""));
        let field = w.field(cx, "field").unwrap_or(core::TEXT);
        let mut fold = Vec::new();
        for (name, how) in w.node("fold").and_then(DocumentNode::as_table).into_iter().flatten() {
            cx.within(w.scope.clone(), |cx| cx.check_field(0, name, how.key));
            let how = match how.node.as_text() {
                Some("any") => FieldFold::Any,
                Some("last") => FieldFold::Last,
                Some("sum") => FieldFold::Sum,
                _ => {
                    cx.fail(Code::TermType, how.node.span, "a fold is \"any\", \"last\" or \"sum\"", None);
                    continue;
                }
            };
            fold.push((cx.fields.intern(name), how));
        }
        Self { same, absorb, stop, join, field, fold, into }
    }

    fn fold_all(&self, items: &[Item], selected: &[bool], join: &str, run: &PassRun<'_>, env: &Env<'_>) -> Result<Vec<Item>, EvalFault> {
        let mut out: Vec<(Item, bool)> = Vec::with_capacity(items.len());
        // a run of texts is joined once at its end: appending each time would copy it again and again
        let mut texts: Vec<Value> = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let chosen = selected.get(n).copied().unwrap_or(false);
            if let Some((head, true)) = out.last_mut()
                && chosen
                && self.fits(head, item, n, env)?
            {
                if texts.is_empty() {
                    texts.push(head.get(self.field).cloned().unwrap_or_default());
                }
                texts.push(item.get(self.field).cloned().unwrap_or_default());
                for (field, how) in &self.fold {
                    fold(head, item, *field, *how);
                }
                run.note(item, "merged", env.st);
                continue;
            }
            self.close(&mut out, &mut texts, join, env)?;
            out.push((item.clone(), chosen));
        }
        self.close(&mut out, &mut texts, join, env)?;
        Ok(out.into_iter().map(|(item, _)| item).collect())
    }

    /// Merges each selected item into the last item before it that meets `into`, evaluated on that item's state at
    /// that time; without such an item it stays.
    fn gather(
        &self,
        into: &Cond,
        items: &[Item],
        selected: &[bool],
        join: &str,
        run: &PassRun<'_>,
        env: &Env<'_>,
    ) -> Result<Vec<Item>, EvalFault> {
        let mut out: Vec<(usize, Item)> = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            let chosen = selected.get(n).copied().unwrap_or(false);
            let taker = if chosen { self.taker(into, &out, item, n, env)? } else { None };
            let Some((_, head)) = taker.and_then(|at| out.get_mut(at)) else {
                out.push((n, item.clone()));
                continue;
            };
            let texts = [head.get(self.field).cloned().unwrap_or_default(), item.get(self.field).cloned().unwrap_or_default()];
            head.set(self.field, joined(&texts, join, env)?);
            for (field, how) in &self.fold {
                fold(head, item, *field, *how);
            }
            run.note(item, "merged", env.st);
        }
        Ok(out.into_iter().map(|(_, item)| item).collect())
    }

    fn taker(&self, into: &Cond, out: &[(usize, Item)], item: &Item, n: usize, env: &Env<'_>) -> Result<Option<usize>, EvalFault> {
        let from = env.inner(CurrentItem::Item(item, n));
        for (at, (place, head)) in out.iter().enumerate().rev() {
            work::spend(1)?;
            let there = from.inner(CurrentItem::Item(head, *place));
            if head.enabled() && there.holds(into)? && self.fits(head, item, n, env)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn close(&self, out: &mut [(Item, bool)], run: &mut Vec<Value>, join: &str, env: &Env<'_>) -> Result<(), EvalFault> {
        if run.is_empty() {
            return Ok(());
        }
        let joined = joined(run, join, env)?;
        run.clear();
        if let Some((head, _)) = out.last_mut() {
            head.set(self.field, joined);
        }
        Ok(())
    }

    fn fits(&self, head: &Item, item: &Item, n: usize, env: &Env<'_>) -> Result<bool, EvalFault> {
        for (field, _) in &self.same {
            if head.get(*field) != item.get(*field) {
                return Ok(false);
            }
        }
        let here = env.inner(CurrentItem::Item(item, n));
        if let Some(absorb) = &self.absorb
            && !here.holds(absorb)?
        {
            return Ok(false);
        }
        if let Some(stop) = &self.stop
            && (here.holds(stop)? || env.inner(CurrentItem::Item(head, n)).holds(stop)?)
        {
            return Ok(false);
        }
        Ok(true)
    }
}

impl Verb for MergeTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Neighbours
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let merged = {
            let items = st.list(run.list);
            let env = run.env(st);
            let mut selected = vec![false; items.items.len()];
            for n in run.pass.select.run(SelectSequence::Items(&items.items), &env)? {
                if let Some(s) = selected.get_mut(n) {
                    *s = true;
                }
            }
            let join = env.eval(&self.join)?.shown();
            match &self.into {
                Some(into) => self.gather(into, &items.items, &selected, &join, run, &env)?,
                None => self.fold_all(&items.items, &selected, &join, run, &env)?,
            }
        };
        st.list_mut(run.list).replace(merged);
        Ok(())
    }
}

/// Combines values: lists are concatenated, texts are joined with `join`. What is made is paid before it is made.
fn joined(run: &[Value], join: &str, env: &Env<'_>) -> Result<Value, EvalFault> {
    if run.iter().any(|v| matches!(v, Value::List(_))) {
        let parts = run.iter().flat_map(|v| match v {
            Value::List(l) => l.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(other),
        });
        return Ok(written::listed(parts.cloned())?);
    }
    let texts: Vec<Arc<str>> = run.iter().map(Value::shown).collect();
    let joins = join.len().saturating_mul(texts.len().saturating_sub(1));
    env.st.check_text_size(texts.iter().fold(joins, |sum, text| sum.saturating_add(text.len())))?;
    Ok(Value::text(texts.join(join)))
}

fn fold(head: &mut Item, item: &Item, field: FieldId, how: FieldFold) {
    let old = head.get(field).cloned().unwrap_or_default();
    let new = item.get(field).cloned().unwrap_or_default();
    let value = match how {
        FieldFold::Any => {
            if old.truthy() {
                old
            } else {
                new
            }
        }
        FieldFold::Last => new,
        FieldFold::Sum => Value::Num(old.as_f64().unwrap_or(0.0) + new.as_f64().unwrap_or(0.0)),
    };
    head.set(field, value);
}
