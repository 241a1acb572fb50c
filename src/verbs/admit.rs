//! `admit`: admits units in visiting order until one does not fit its account.
//!
//! With `misfit = "stop"` everything after the first unit that does not fit stays out too. From the newest end this
//! means that an unread history is read exactly as far as it fits, plus one message.

use std::sync::Arc;

use crate::model::{Term, Value, item::core};
use crate::syntax::CompileContext;
use crate::terms::ledger;
use crate::terms::select::{SelectEnd, SelectSequence};
use crate::terms::state::PassReason;
use crate::terms::{BuildState, Cond, CurrentItem};

use super::evict::{ACCOUNT, ItemUnit, UNIT, account, leave_out_unread, newest_cost, oldest_read_bundle, record, switch_off, units};
use super::pass::{CODE_OF_REASON, CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use super::set::SetTerms;

/// `admit` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "admit",
    doc: "lets units in until one does not fit into the budget",
    terms: &[
        ACCOUNT,
        UNIT,
        Term::word(
            "on_overflow",
            &["stop", "skip", "error"],
            "what happens at a unit that does not fit. `stop`: everything behind it stays out too. `skip`: the next unit is tried. \
             `error`: the build fails with `max_tokens_exceeded`",
        )
        .default("stop"),
        Term::word("fits", &["le", "lt"], "`le`: a unit may cost at most what is left. `lt`: it must cost less than what is left")
            .default("le"),
        Term::word(
            "rest",
            &["off", "leave"],
            "what becomes of units that do not fit: `off` switches them off, `leave` leaves them to a later pass",
        )
        .default("off"),
        Term::defined("protect", "condition", "a condition; a unit with an item that meets it is always let in, and paid for")
            .default("nothing"),
        Term::defined(
            "set",
            "set",
            "fields that are set on items that do not fit, instead of switching them off. `$` keys are set if anything did not fit",
        ),
        Term::new(
            "admitted",
            CODE_OF_REASON,
            "the code that a trace gives for items that are let in; `reason` is the code for those that are refused",
        )
        .default("nothing"),
    ],
    cost: "what is admitted, and one",
    did: "admitted",
    parse: |cx, w| Some(Box::new(AdmitTerms::parse(cx, w))),
};

/// The terms of `admit`.
pub struct AdmitTerms {
    account: usize,
    unit: ItemUnit,
    misfit: MisfitPolicy,
    strict: bool,
    leave: bool,
    exempt: Option<Cond>,
    set: Option<SetTerms>,
    /// The code that a trace gives for admitted items.
    admitted: Option<Arc<PassReason>>,
}

/// What happens when a unit does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MisfitPolicy {
    Stop,
    Skip,
    Fail,
}

impl AdmitTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Self {
        let misfit = match w.word("on_overflow") {
            "skip" => MisfitPolicy::Skip,
            "error" => MisfitPolicy::Fail,
            _ => MisfitPolicy::Stop,
        };
        Self {
            account: account(cx, w),
            unit: ItemUnit::of(w.word("unit")),
            misfit,
            strict: w.word("fits") == "lt",
            leave: w.word("rest") == "leave",
            exempt: w.condition(cx, "protect"),
            set: w.node("set").map(|node| SetTerms::of(cx, node, w.scope)),
            admitted: super::pass::code_of_reason(w.node("admitted")),
        }
    }

    fn fits(&self, cost: f64, left: f64) -> bool {
        if self.strict { cost < left } else { cost <= left }
    }

    fn finish(&self, run: &PassRun<'_>, st: &mut BuildState, spent: f64, admitted: &[usize]) {
        let before = st.ledger.borrow().spent(self.account);
        st.ledger.borrow_mut().spend(self.account, spent - before);
        for n in admitted {
            if let Some(item) = st.list_mut(run.list).items.get_mut(*n) {
                item.set(core::ADMITTED, Value::Bool(true));
                let item = item.clone();
                st.note(&item, "admitted", None);
                // `reason` is the reason for a refusal
                if let (Some(reasons), Some(admitted)) = (&run.reasons, &self.admitted) {
                    reasons.explain_with(admitted, &item, Value::Null, st);
                }
            }
        }
    }

    /// Reads an unread history as far as it can be admitted, plus one message.
    fn read_what_fits(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let (pass, list) = (run.pass, run.list);
        if !st.has_unread(list) {
            return Ok(());
        }
        let select = &pass.select;
        let plain = select.per.is_none() && select.by.is_empty() && select.draw.is_none() && select.skip.is_none() && !select.others;
        let plain = plain && select.since.is_none() && select.run.is_none() && select.take.is_none();
        if super::reach::untouched(run, st)? {
            return Ok(());
        }
        // the unread rest is left out as a whole, so the selection must cover all of it
        let all_meant = match &select.filter {
            Some(filter) => st.judge_unread(list, filter, &run.env(st))? == Some(true),
            None => true,
        };
        if !all_meant
            || !plain
            || select.from != SelectEnd::Last
            || self.misfit != MisfitPolicy::Stop
            || self.unit == ItemUnit::Lead
            || self.exempt.is_some()
        {
            return Ok(st.load_all(list)?);
        }
        let env = run.env(st);
        let mut left = ledger::size(&env, self.account)? - st.ledger.borrow().spent(self.account);
        for (n, item) in st.list(list).after_unread() {
            if pass.chooses(&env.inner(CurrentItem::Item(item, n)), item.enabled())? {
                left -= ledger::cost(&env, self.account, item)?;
            }
        }
        let of_bundles = self.unit == ItemUnit::Bundle;
        let mut bundle = if of_bundles { oldest_read_bundle(st, list).unwrap_or_default() } else { Value::Null };
        let is_full = |left: f64, bundle: &Value| left < 0.0 && bundle.is_empty();
        if !is_full(left, &bundle) {
            st.read_while(list, |item| {
                let same = item.get(core::BUNDLE).is_some_and(|b| !b.is_empty() && *b == bundle);
                if left < 0.0 && !same {
                    return Ok(false);
                }
                bundle = if of_bundles { item.get(core::BUNDLE).cloned().unwrap_or_default() } else { Value::Null };
                if pass.chooses(&env.inner(CurrentItem::Item(item, 0)), item.enabled())? {
                    left -= newest_cost(&env, self.account, item)?;
                }
                Ok(!is_full(left, &bundle))
            })?;
        }
        if !self.leave {
            leave_out_unread(run, st, "unread".into());
        }
        Ok(())
    }
}

impl Verb for AdmitTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Own
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let (pass, list) = (run.pass, run.list);
        let stage = st.stage.borrow().clone();
        st.ledger.borrow_mut().trim(ledger::TrimmedList { list, account: self.account, pass: pass.id.clone(), stage });
        self.read_what_fits(run, st)?;
        let size = ledger::size(&run.env(st), self.account)?;
        let (mut off, mut admitted, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let mut spent = st.ledger.borrow().spent(self.account);
        {
            let items = st.list(list);
            let env = run.env(st);
            let visited = pass.select.run(SelectSequence::Items(&items.items), &env)?;
            let mut full = false;
            for group in units(&items.items, &visited, self.unit) {
                let mut cost = 0.0;
                let mut exempt = false;
                for n in &group.members {
                    if let Some(item) = items.items.get(*n) {
                        cost += ledger::cost(&env, self.account, item)?;
                        exempt |= self.exempt.as_ref().map_or(Ok(false), |c| env.inner(CurrentItem::Item(item, *n)).holds(c))?;
                    }
                }
                for item in group.members.iter().filter_map(|n| items.items.get(*n)) {
                    run.tell(item, [("needs", Value::Num(cost)), ("left", Value::Num(size - spent)), ("size", Value::Num(size))]);
                }
                // an exempt unit is admitted whether it fits or not, and its cost is charged all the same
                if exempt || (!full && self.fits(cost, size - spent)) {
                    spent += cost;
                    admitted.extend(group.members);
                    continue;
                }
                if self.misfit == MisfitPolicy::Fail {
                    let message = format!("{} more tokens are needed where {} are left", cost, size - spent);
                    let refusal = ProgramInterrupt::Refused {
                        code: "max_tokens_exceeded".into(),
                        message,
                        room: Some(ledger::headroom(&env, self.account, spent + cost)?),
                    };
                    drop(items);
                    self.finish(run, st, spent, &admitted);
                    return Err(refusal);
                }
                full |= self.misfit == MisfitPolicy::Stop;
                for n in group.members {
                    refused.push(n);
                    if let (Some(item), false, true) = (items.items.get(n), self.leave, self.set.is_none()) {
                        let cost = ledger::cost(&env, self.account, item)?;
                        off.push((n, record(item, cost, group.bundled, &pass.id)));
                    }
                }
            }
        }
        self.finish(run, st, spent, &admitted);
        switch_off(run, st, off);
        if let (Some(set), false) = (&self.set, refused.is_empty()) {
            set.apply(run, st, &refused, run.reasons.as_ref())?;
            set.apply_globals(run, st, &refused)?;
        }
        Ok(())
    }
}
