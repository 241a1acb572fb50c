//! `require`: what must hold, or else an error, a warning, or the end of the program.
//!
//! Without a selection `that` is tested once; with one, for each selected item (`@field` in `that`).

use std::sync::Arc;

use crate::diag::{Code, Span, Table};
use crate::terms::cond_parse::Mode;
use crate::terms::cx::Scope;
use crate::terms::ledger;
use crate::terms::select::{Seq, pass_env};
use crate::terms::{Cond, Cx, Env, Expr, Memo, State};

use super::{Halt, Pass};

/// The terms of `require`.
pub struct Require {
    that: Cond,
    error: Arc<str>,
    message: Option<Expr>,
    level: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    Warn,
    Stop,
}

impl Require {
    /// Reads the terms.
    pub fn parse(cx: &mut Cx<'_>, fields: &Table, span: Span, scope: &Scope) -> Option<Self> {
        let Some(that) = fields.get("that").map(|f| &f.node) else {
            cx.fail(Code::TermMissing, span, "`require` needs `that`", Some("add `that = { path = test }`".into()));
            return None;
        };
        let per_item = crate::terms::select_parse::WORDS.iter().any(|w| fields.contains_key(*w));
        let scope = if per_item { scope.clone() } else { Scope::None };
        let (that, message) = cx.within(scope, |cx| {
            let that = cx.cond(that, if per_item { Mode::Item } else { Mode::Scene });
            (that, fields.get("message").map(|f| cx.expr(&f.node)))
        });
        let word = |key: &str| fields.get(key).and_then(|f| f.node.as_text());
        let level = match word("level") {
            Some("warn") => Level::Warn,
            Some("stop") => Level::Stop,
            _ => Level::Error,
        };
        if level == Level::Error && word("error").is_none() {
            let help = Some("add `error = \"code\"`, which programs can tell apart".into());
            cx.fail(Code::TermMissing, span, "`require` needs `error`: the code that is reported", help);
        }
        Some(Self { that, error: word("error").unwrap_or("require.failed").into(), message, level })
    }

    /// Insists.
    pub fn run(&self, pass: &Arc<Pass>, st: &mut State, list: usize) -> Result<(), Halt> {
        let memo = Memo::default();
        super::reach::prepare(pass, st, list, &memo)?;
        st.current.set(list);
        let mut complaints = Vec::new();
        {
            let env = pass_env(st, &memo);
            if pass.select.is_all() {
                if env.holds(&self.that)? {
                    return Ok(());
                }
                complaints.push(self.text(&env)?);
            } else {
                let items = st.list(list);
                let seq = Seq::Items(&items.items);
                for n in pass.select.run(seq, &env)? {
                    let here = env.inner(seq.cur(n));
                    if !here.holds(&self.that)? {
                        complaints.push(self.text(&here)?);
                    }
                }
            }
        }
        for message in complaints {
            match self.level {
                Level::Stop => return Err(Halt::Stop),
                Level::Warn => st.warn_as(&self.error, message),
                Level::Error => {
                    let room = self.room(st, list)?;
                    return Err(Halt::Refused { code: self.error.to_string(), message, room });
                }
            }
        }
        Ok(())
    }

    fn text(&self, env: &Env<'_>) -> Result<String, Halt> {
        Ok(match &self.message {
            Some(e) => env.eval(e)?.to_text().to_string(),
            None => format!("the requirement `{}` is not met", self.error),
        })
    }

    /// What the live list costs and what there is room for, where the requirement is about an account.
    fn room(&self, st: &State, list: usize) -> Result<Option<ledger::Room>, Halt> {
        let Some(account) = account_of(&self.that) else { return Ok(None) };
        st.force(list)?;
        let memo = Memo::default();
        let env = pass_env(st, &memo);
        let mut sum = 0.0;
        for item in st.list(list).items.iter().filter(|i| i.enabled()) {
            sum += ledger::cost(&env, account, item)?;
        }
        Ok(Some(ledger::room(&env, account, sum)?))
    }
}

/// The account that a condition is about, if it is about one.
fn account_of(cond: &Cond) -> Option<usize> {
    match cond {
        Cond::Test { subject: Expr::Path(p), .. } => match p.root {
            crate::terms::expr::Root::Account(n) => Some(n),
            _ => None,
        },
        Cond::All(l) | Cond::Any(l) => l.iter().find_map(account_of),
        _ => None,
    }
}
