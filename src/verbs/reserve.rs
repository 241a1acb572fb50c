//! `reserve`: charges an account without a check, either the selected items' cost or a value.

use crate::model::{Term, Value, item::core};
use crate::syntax::CompileContext;
use crate::terms::ledger;
use crate::terms::{BuildState, Expr};

use super::evict::{ACCOUNT, account};
use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};

/// `reserve` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "reserve",
    doc: "takes tokens from a budget",
    terms: &[ACCOUNT, Term::defined("cost", "number", "how many tokens").default("the cost of the selected items")],
    cost: "the selected",
    did: "admitted",
    parse: |cx, w| Some(Box::new(ReserveTerms::parse(cx, w))),
};

/// The terms of `reserve`.
pub struct ReserveTerms {
    account: usize,
    cost: Option<Expr>,
}

impl ReserveTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Self {
        Self { account: account(cx, w), cost: w.value(cx, "cost") }
    }

    /// Whether the cost is a value, so that no item is read.
    pub fn is_given(&self) -> bool {
        self.cost.is_some()
    }
}

impl Verb for ReserveTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        if self.is_given() { HistoryDemand::Nothing } else { HistoryDemand::Selected }
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let mut reserved = Vec::new();
        let mut sum = 0.0;
        {
            let env = run.env(st);
            match &self.cost {
                Some(cost) => sum = env.eval(cost)?.as_f64().unwrap_or(0.0),
                None => {
                    reserved = run.chosen(st)?;
                    let items = st.list(run.list);
                    for item in reserved.iter().filter_map(|n| items.items.get(*n)) {
                        sum += ledger::cost(&env, self.account, item)?;
                    }
                }
            }
        }
        st.ledger.borrow_mut().spend(self.account, sum.max(0.0));
        for n in reserved {
            if let Some(item) = st.list_mut(run.list).items.get_mut(n) {
                item.set(core::ADMITTED, Value::Bool(true));
            }
        }
        Ok(())
    }
}
