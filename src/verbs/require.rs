//! `require`: a condition that must hold; otherwise it raises an error or a warning, or ends the program.
//!
//! Without a selection `that` is tested once; with one, for each selected item (`@field` in `that`).

use crate::text::written::ToText as _;
use std::sync::Arc;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use crate::diag::{Code, DiagnosticCode, Help};
use crate::model::term::names;
use crate::model::{Term, TermType};
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::syntax::{CompileContext, selections};
use crate::terms::ledger;
use crate::terms::select::{SelectSequence, pass_env};
use crate::terms::{BuildState, Cond, Env, Expr};

/// A text that nothing is compared with.
const PROSE: TermType = TermType::Json(r##"{ "x-free": "text", "$ref": "#/definitions/value" }"##);

/// `require` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "require",
    doc: "states what must hold; otherwise an error, a warning, or the end of the program",
    terms: &[
        Term::defined(
            "that",
            "condition",
            "the condition. Without a selection it is tested once, and bare names are paths of the scene. With `where` it is tested \
             for each selected item, and bare names are its fields",
        ),
        Term::text("error", "the code that is reported, such as `max_tokens_exceeded`; required unless `level` is `warn` or `stop`"),
        Term::word(
            "level",
            &["error", "warn", "stop"],
            "`error`: the build fails. `warn`: a warning for each item for which the condition does not hold. `stop`: the program \
             ends, and nothing is reported",
        )
        .default("error"),
        Term::new("message", PROSE, "what is wrong, in words; `{{@field}}` and `{{$path}}` are filled in").default("a standard one"),
        Term::new("help", PROSE, "for a warning: what to do about it").default("none"),
        Term::defined("row", "value", "for a warning: the row that decides, as `table/name`; tools show its file and line").default("none"),
    ],
    cost: "the selected, or one test",
    did: "run",
    parse: |cx, w| Some(Box::new(RequireTerms::parse(cx, w)?)),
};

/// The terms of `require`.
pub struct RequireTerms {
    that: Cond,
    /// The account that `that` is about, if it is about one.
    account: Option<usize>,
    error: Arc<str>,
    message: Option<Expr>,
    help: Option<Expr>,
    row: Option<Expr>,
    level: FailureLevel,
}

/// The report of one failure.
struct FailureReport {
    message: String,
    help: Option<String>,
    row: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureLevel {
    Error,
    Warn,
    Stop,
}

impl RequireTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        let Some(that) = w.node("that") else {
            cx.fail(Code::TermMissing, w.span, "`require` needs `that`", Some("add `that = { path = test }`".into()));
            return None;
        };
        if let Some(row) = w.node("row") {
            cx.check_row(row);
        }
        let per_item = names(selections::TERMS).any(|term| w.node(term).is_some());
        let scope = if per_item { w.scope.clone() } else { ItemScope::None };
        let (that, [message, help, row]) = cx.within(scope, |cx| {
            let that = cx.cond(that, if per_item { PathMode::Item } else { PathMode::Scene });
            (that, ["message", "help", "row"].map(|term| w.value(cx, term)))
        });
        let account = account_of(&that);
        // what depends on no item is evaluated once
        let that = if per_item { cx.sealed_cond(that) } else { that };
        let level = match w.word("level") {
            "warn" => FailureLevel::Warn,
            "stop" => FailureLevel::Stop,
            _ => FailureLevel::Error,
        };
        if level == FailureLevel::Error && w.text("error").is_none() {
            let help = Some("add `error = \"code\"`, which programs can tell apart".into());
            cx.fail(Code::TermMissing, w.span, "`require` needs `error`: the code that is reported", help);
        }
        Some(Self { that, account, error: w.text("error").unwrap_or("require.failed").into(), message, help, row, level })
    }

    fn complaint(&self, env: &Env<'_>) -> Result<FailureReport, ProgramInterrupt> {
        let said = |term: &Option<Expr>| -> Result<Option<String>, ProgramInterrupt> {
            let Some(term) = term else { return Ok(None) };
            Ok(Some(env.eval(term)?.shown().to_string()).filter(|text| !text.is_empty()))
        };
        let message = said(&self.message)?.unwrap_or_else(|| format!("the requirement `{}` is not met", self.error));
        Ok(FailureReport { message, help: said(&self.help)?, row: said(&self.row)? })
    }

    /// The cost of the live list and the available size, if the requirement is about an account.
    fn headroom(&self, run: &PassRun<'_>, st: &BuildState) -> Result<Option<ledger::BudgetNumbers>, ProgramInterrupt> {
        let Some(account) = self.account else { return Ok(None) };
        let memo = run.fresh_memo();
        let env = pass_env(st, &memo);
        // what was reserved is part of what the prompt needs, whether or not an item stands for it yet
        let sum = st.ledger.borrow().spent(account) + ledger::live_cost(&env, account, run.list)?;
        Ok(Some(ledger::headroom(&env, account, sum)?))
    }
}

impl Verb for RequireTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Own
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        super::reach::selected(run, st)?;
        let mut complaints = Vec::new();
        {
            let env = run.env(st);
            if run.pass.select.is_all() {
                if env.holds(&self.that)? {
                    return Ok(());
                }
                complaints.push(self.complaint(&env)?);
            } else {
                let items = st.list(run.list);
                let seq = SelectSequence::Items(&items.items);
                for n in run.pass.select.run(seq, &env)? {
                    let here = env.inner(seq.cur(n));
                    if !here.holds(&self.that)? {
                        complaints.push(self.complaint(&here)?);
                    }
                }
            }
        }
        for FailureReport { message, help, row } in complaints {
            match self.level {
                FailureLevel::Stop => return Err(ProgramInterrupt::Stop),
                FailureLevel::Warn => st.warn_with(DiagnosticCode::named(&self.error), message, help.map(Help::from), row),
                FailureLevel::Error => {
                    let room = self.headroom(run, st)?;
                    return Err(ProgramInterrupt::Refused { code: self.error.to_string(), message, room });
                }
            }
        }
        Ok(())
    }
}

/// The account that a condition is about, if it is about one.
fn account_of(cond: &Cond) -> Option<usize> {
    match cond {
        Cond::Test { subject: Expr::Path(p), .. } => match p.root {
            crate::terms::expr::PathRoot::Account(n) => Some(n),
            _ => None,
        },
        Cond::All(l) | Cond::Any(l) => l.iter().find_map(account_of),
        _ => None,
    }
}
