//! `repeat`: runs a program in rounds; after each round, the first `[[round]]` row whose `when` holds decides how to
//! continue.

use std::sync::Arc;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass, selection};
use crate::diag::{Code, DocumentNode, TableField};
use crate::model::term::NONEMPTY_TEXT;
use crate::model::{Map, Term, Value};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::terms::select::{count, pass_env};
use crate::terms::{BuildState, Cond, EvalFault, Expr};

/// Keys of `round`.
pub(super) const ROUND: &[Term] = &[
    Term::new(
        "name",
        NONEMPTY_TEXT,
        "`program/pass/round`, after the pass that repeats; or `pass/round` in a file with a `program` of its own",
    ),
    Term::defined("when", "gate", "when there is another round of this kind"),
    Term::defined("set", "set", "values of `$round` for it"),
];

/// `repeat` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "repeat",
    doc: "runs a program in rounds; after each, the rows of table `round` named after the pass decide whether there is another",
    terms: &[
        Term::text("program", "the program that is one round"),
        Term::defined(
            "max",
            "number",
            "the greatest number of rounds; after that it ends without an error. Without `max`, more rounds than the pack's limit are an error",
        ),
        Term::defined("set", "set", "the `$round` values of the first round"),
    ],
    cost: "bounded by `max`",
    did: "run",
    parse: |cx, w| Some(Box::new(RepeatTerms::parse(cx, w)?)),
};

/// The terms of `repeat`.
pub struct RepeatTerms {
    /// The program, by number; linked when all programs are known.
    pub program: usize,
    max: Option<Expr>,
    set: Vec<(Arc<str>, Expr)>,
    rounds: Vec<RepeatRound>,
}

struct RepeatRound {
    when: Option<Cond>,
    set: Vec<(Arc<str>, Expr)>,
}

impl RepeatTerms {
    /// Reads the terms, and the rounds named after the pass.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        selection(cx, w.fields, "`repeat` selects nothing", "select in the passes of the program that it runs");
        let program = super::run::program(cx, w)?;
        let max = w.value(cx, "max");
        let set = w.node("set").map(|node| values(cx, node)).unwrap_or_default();
        let id = w.text("name").unwrap_or("");
        let mut rounds = Vec::new();
        let pack = cx.pack;
        for (name, row) in pack.tables.get("round").into_iter().flatten() {
            if name.rsplit_once('/').map(|(pass, _)| pass) != Some(id) {
                continue;
            }
            let when = row.fields.get("when").map(|f| cx.within(ItemScope::None, |cx| cx.cond(&f.node, PathMode::Scene)));
            let set = row.fields.get("set").map(|f| values(cx, &f.node)).unwrap_or_default();
            rounds.push(RepeatRound { when, set });
        }
        Some(Self { program, max, set, rounds })
    }

    fn next(&self, run: &PassRun<'_>, st: &BuildState) -> Result<Option<&RepeatRound>, EvalFault> {
        for round in &self.rounds {
            let memo = run.fresh_memo();
            let held = match &round.when {
                Some(when) => pass_env(st, &memo).holds(when)?,
                None => true,
            };
            if held {
                return Ok(Some(round));
            }
        }
        Ok(None)
    }
}

impl Verb for RepeatTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Own
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let limit = st.rules.limits.rounds as usize;
        let wanted = match &self.max {
            Some(max) => {
                let memo = run.fresh_memo();
                let max = pass_env(st, &memo).eval(max)?;
                if max.is_null() { limit } else { count(&max) }
            }
            None => limit,
        };
        begin(run, st, &self.set)?;
        let mut done = 0;
        while done < wanted {
            match run.runner.program(self.program, None, st) {
                Ok(()) | Err(ProgramInterrupt::Stop) => {}
                Err(halt) => return Err(halt),
            }
            done += 1;
            st.put(&["round".into(), "done".into()], Value::Int(i64::try_from(done).unwrap_or(i64::MAX)));
            let Some(next) = self.next(run, st)? else { return Ok(()) };
            // a pass with its own `max` ends there without an error; otherwise reaching the limit of rounds is an
            // error
            if done >= limit && (self.max.is_none() || wanted > limit) {
                return Err(EvalFault::bound(format!("more than {limit} rounds of `{}`", run.pass.id)).into());
            }
            apply(run, st, &next.set)?;
        }
        Ok(())
    }

    fn callee(&self) -> Option<usize> {
        Some(self.program)
    }
}

fn values(cx: &mut CompileContext<'_>, node: &DocumentNode) -> Vec<(Arc<str>, Expr)> {
    let Some(table) = node.as_table() else {
        cx.fail(Code::TermType, node.span, format!("`set` takes a table, not {}", node.kind()), None);
        return Vec::new();
    };
    let value = |(key, field): (&Arc<str>, &TableField)| {
        if let Some(path) = key.strip_prefix('$') {
            cx.check_path_value(path, &field.node);
        }
        (key.clone(), cx.within(ItemScope::None, |cx| cx.expr(&field.node)))
    };
    table.iter().map(value).collect()
}

/// A fresh `$round` for a new repeat.
fn begin(run: &PassRun<'_>, st: &mut BuildState, set: &[(Arc<str>, Expr)]) -> Result<(), EvalFault> {
    let mut round = Map::default();
    round.insert("done".into(), Value::Int(0));
    st.put(&["round".into()], Value::map(round));
    apply(run, st, set)
}

fn apply(run: &PassRun<'_>, st: &mut BuildState, set: &[(Arc<str>, Expr)]) -> Result<(), EvalFault> {
    let mut made = Vec::with_capacity(set.len());
    {
        let memo = run.fresh_memo();
        let env = pass_env(st, &memo);
        for (key, value) in set {
            made.push((key.clone(), env.eval(value)?));
        }
    }
    for (key, value) in made {
        let path: Vec<Arc<str>> = match key.strip_prefix('$') {
            Some(path) => path.split('.').map(Arc::from).collect(),
            None => vec!["round".into(), key],
        };
        st.put(&path, value);
    }
    Ok(())
}
