//! Spending: what an item costs (rulers), how much may be spent (accounts), and what has been spent.
//!
//! A ruler's cost is `tokens` by its estimator plus `each`, plus the tokens of the role, plus the tokens of the name
//! and `named` if there is a name. An item without text costs `empty`. Costs are never negative, which trimming
//! relies on.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{Item, Map, Value, item::core};
use crate::text::tokens::TokenCounter;
use crate::text::written::ToText as _;

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::Expr;
use super::rules::CompiledRules;

/// The estimator that is used if none is named.
pub const DEFAULT: &str = "chars/4";

/// A compiled `[[account]]`: a budget from which items are paid.
#[derive(Debug)]
pub struct TokenBudget {
    /// Its name.
    pub name: Arc<str>,
    /// Its size.
    pub size: Expr,
    /// An upper bound on the size, if positive.
    pub cap: Option<Expr>,
    /// The ruler that says what an item costs.
    pub ruler: usize,
    /// The size of the whole window, for error messages.
    pub window: Option<Expr>,
    /// The part of the window that is reserved for the answer, for error messages.
    pub reserve: Option<Expr>,
}

/// The numbers in an error about a budget: those of the account, and how much was to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetNumbers {
    /// The size of the whole window, if the account says it.
    pub window: Option<f64>,
    /// The part that is reserved for the answer, if the account says it.
    pub reserve: Option<f64>,
    /// What was to be sent.
    pub estimated: f64,
}

/// A compiled `[[ruler]]`: what one item costs.
#[derive(Debug)]
pub struct CostModel {
    /// Its name.
    pub name: Arc<str>,
    /// The text that is counted, or a number that is used as the count.
    pub tokens: Expr,
    /// The estimator that counts tokens.
    pub estimator: Expr,
    /// Added for every item.
    pub each: Expr,
    /// Added, with the tokens of the name, if there is a name.
    pub named: Option<Expr>,
    /// The tokens of the role are added.
    pub role: bool,
    /// The cost of an item without text and name.
    pub empty: Option<f64>,
}

impl CostModel {
    /// Whether the counted text is simply the text of the current item.
    #[must_use]
    pub fn counts_the_text(&self) -> bool {
        let field = if let Expr::Field(field) = &self.tokens {
            field.field.as_ref().filter(|_| field.up == 0 && field.rest.is_empty())
        } else {
            None
        };
        field.is_some_and(|(id, _)| *id == core::TEXT)
    }
}

/// One item that was evicted from its list, or an unread stretch of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEviction {
    /// The item's id.
    pub id: String,
    /// What it costs, in tokens; a ruler may give fractions.
    pub tokens: f64,
    /// Its budget group.
    pub group: String,
    /// It was evicted as part of a bundle.
    pub group_eviction: bool,
    /// The pass that evicted it.
    pub pass: String,
    /// How many elements an unread stretch has.
    pub unread: Option<usize>,
}

/// An item that got a shorter text.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerShortening {
    /// The item's id.
    pub id: String,
    /// What it cost before, in tokens.
    pub tokens: f64,
    /// What it costs with the shorter text, in tokens.
    pub tokens_after: f64,
    /// The list that it is in.
    pub list: usize,
    /// The account that it was made shorter for.
    pub account: usize,
    /// Its budget group.
    pub group: String,
    /// The pass that made it shorter.
    pub pass: String,
}

/// What has been spent and evicted so far.
#[derive(Debug, Default)]
pub struct TokenBudgets {
    spent: Vec<f64>,
    /// What was evicted, in order.
    pub records: Vec<LedgerEviction>,
    /// What got a shorter text, in order.
    pub shortened: Vec<LedgerShortening>,
    /// The lists that were trimmed and the accounts that they were trimmed to, each with the pass that did so last.
    trimmed: Vec<TrimmedList>,
}

/// How a list was trimmed.
#[derive(Debug, Clone)]
pub struct TrimmedList {
    /// The list.
    pub list: usize,
    /// The account whose size it was trimmed to.
    pub account: usize,
    /// The pass that trimmed it.
    pub pass: Arc<str>,
    /// The stage in which it was trimmed.
    pub stage: Arc<str>,
}

impl TokenBudgets {
    /// A ledger in which nothing is spent.
    #[must_use]
    pub fn new(rules: &CompiledRules) -> Self {
        Self { spent: vec![0.0; rules.accounts.len()], ..Self::default() }
    }

    /// Records that a pass trims a list.
    pub fn trim(&mut self, by: TrimmedList) {
        self.trimmed.retain(|t| (t.list, t.account) != (by.list, by.account));
        self.trimmed.push(by);
    }

    /// How a list was trimmed last; `None` if it was not trimmed.
    #[must_use]
    pub fn trimmed(&self, list: usize) -> Option<&TrimmedList> {
        self.trimmed.iter().rfind(|t| t.list == list)
    }

    /// Every account that a list was trimmed to, in the order in which the last pass did so.
    pub fn trims(&self, list: usize) -> impl Iterator<Item = &TrimmedList> {
        self.trimmed.iter().filter(move |t| t.list == list)
    }

    /// Spends from an account.
    pub fn spend(&mut self, account: usize, cost: f64) {
        if let Some(spent) = self.spent.get_mut(account) {
            *spent += cost;
        }
    }

    /// What has been spent from an account.
    #[must_use]
    pub fn spent(&self, account: usize) -> f64 {
        self.spent.get(account).copied().unwrap_or(0.0)
    }
}

/// The size of an account, with its upper bound applied.
pub fn size(env: &Env<'_>, account: usize) -> Result<f64, EvalFault> {
    let Some(account) = env.st.rules.accounts.get(account) else { return Ok(0.0) };
    let size = env.eval(&account.size)?.as_f64().unwrap_or(0.0);
    let cap = match &account.cap {
        Some(cap) => env.eval(cap)?.as_f64().filter(|c| *c > 0.0),
        None => None,
    };
    Ok(cap.map_or(size, |cap| size.min(cap)))
}

/// The numbers for an error about an account to which `estimated` tokens were to be charged.
pub fn headroom(env: &Env<'_>, account: usize, estimated: f64) -> Result<BudgetNumbers, EvalFault> {
    let account = env.st.rules.accounts.get(account);
    let number = |e: Option<&Expr>| e.map(|e| env.eval(e)).transpose().map(|v| v.and_then(|v| v.as_f64()));
    let window = number(account.and_then(|a| a.window.as_ref()))?;
    let reserve = number(account.and_then(|a| a.reserve.as_ref()))?;
    Ok(BudgetNumbers { window, reserve, estimated })
}

/// `$account.NAME.what`: `size`, `spent`, or `left` = size - spent - what the current list's live, unadmitted items cost.
pub fn read(env: &Env<'_>, account: usize, what: &str) -> Result<Value, EvalFault> {
    let number = match what {
        "size" => size(env, account)?,
        "spent" => env.st.ledger.borrow().spent(account),
        _ => {
            let live = live_cost(env, account, env.memo.pass.list)?;
            size(env, account)? - env.st.ledger.borrow().spent(account) - live
        }
    };
    Ok(Value::Num(number))
}

/// What the enabled items of a list cost on an account that have not been charged to it.
pub fn live_cost(env: &Env<'_>, account: usize, list: usize) -> Result<f64, EvalFault> {
    env.st.load_all(list)?;
    let list = env.st.list(list);
    let mut items = list.items.iter().filter(|item| item.enabled() && !item.flag(core::ADMITTED));
    items.try_fold(0.0, |sum, item| Ok(sum + cost(env, account, item)?))
}

/// What one item costs on an account.
pub fn cost(env: &Env<'_>, account: usize, item: &Item) -> Result<f64, EvalFault> {
    let ruler = env.st.rules.accounts.get(account).map_or(0, |a| a.ruler);
    ruler_cost(&env.inner(CurrentItem::Item(item, 0)), ruler)
}

/// What the current item costs on a ruler.
pub fn ruler_cost(env: &Env<'_>, ruler: usize) -> Result<f64, EvalFault> {
    let Some(ruler) = env.st.rules.rulers.get(ruler) else { return Ok(0.0) };
    let (role, name) = match env.cur {
        CurrentItem::Item(item, _) => [core::ROLE, core::NAME].map(|field| Cow::Borrowed(item.str(field).unwrap_or(""))).into(),
        CurrentItem::Value(v, _) => (Cow::Owned(text_of(v, "role")), Cow::Owned(text_of(v, "name"))),
        CurrentItem::None => (Cow::default(), Cow::default()),
    };
    let text = env.eval(&ruler.tokens)?;
    if let (true, true, Some(empty)) = (text.is_empty(), name.is_empty(), ruler.empty) {
        return Ok(empty);
    }
    let mut sum = env.eval(&ruler.each)?.as_f64().unwrap_or(0.0);
    if let Some(count) = text.as_f64() {
        sum += count;
    } else {
        let counter = counter(env, &ruler.estimator)?;
        sum += as_number(counter.counted_again(&text.shown(), &env.st.caches.counts)?);
        if ruler.role {
            sum += tokens(&counter, &role)?;
        }
        if let (Some(named), false) = (&ruler.named, name.is_empty()) {
            let added = env.eval(named)?;
            if !added.is_null() {
                sum += tokens(&counter, &name)? + added.as_f64().unwrap_or(0.0);
            }
        }
    }
    Ok(sum.max(0.0))
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).map(|v| v.shown().to_string()).unwrap_or_default()
}

fn tokens(counter: &TokenCounter, text: &str) -> Result<f64, EvalFault> {
    Ok(as_number(counter.counted(text)?))
}

#[allow(clippy::cast_precision_loss)]
fn as_number(count: usize) -> f64 {
    count as f64
}

/// The token counter of an account: the estimator of its ruler.
pub fn counter_of(env: &Env<'_>, account: usize) -> Result<Arc<TokenCounter>, EvalFault> {
    let ruler = env.st.rules.accounts.get(account).map_or(0, |a| a.ruler);
    match env.st.rules.rulers.get(ruler) {
        Some(ruler) => counter(env, &ruler.estimator),
        None => env.st.rules.counters.get(DEFAULT).map_err(EvalFault::failed),
    }
}

/// The counter that an estimator expression names; [`DEFAULT`] when it names none.
pub fn counter(env: &Env<'_>, estimator: &Expr) -> Result<Arc<TokenCounter>, EvalFault> {
    let name = env.eval(estimator)?.shown();
    let name = if name.is_empty() { DEFAULT } else { &name };
    env.st.rules.counters.get(name).map_err(EvalFault::failed)
}

/// `{ fn = "cost", of = text, role?, name?, cost_model }`.
pub fn cost_of(env: &Env<'_>, args: &Map) -> Result<Value, EvalFault> {
    let named = args.get("cost_model").map(Value::shown).unwrap_or_default();
    let ruler = env.st.rules.rulers.iter().position(|r| r.name == named).unwrap_or(0);
    let mut item = Item::default();
    item.set(core::TEXT, Value::Text(args.get("of").map(Value::shown).unwrap_or_default()));
    for (key, id) in [("role", core::ROLE), ("name", core::NAME)] {
        item.set(id, args.get(key).cloned().unwrap_or_default());
    }
    Ok(Value::Num(ruler_cost(&env.inner(CurrentItem::Item(&item, 0)), ruler)?))
}

/// The largest count that is reported: every reader of JSON keeps whole numbers up to it exactly.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A cost as a count of tokens, rounded up; negative costs and anything that is not a number are 0. A sum of fractions
/// that differs from a whole number only by the rounding of floats is that number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates at both ends")]
pub(crate) fn whole_tokens(tokens: f64) -> u64 {
    (tokens - 1e-6).ceil().min(MOST) as u64
}
