//! Compiled conditions, and how a value is compared with a test.
//!
//! A missing value fails every test except `ne`, `= false`, `exists = false`, `nonempty = false` and `given = false`
//! (see the section "Conditions" of the language page).

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{RuleRef, Value};
use crate::text::pattern::Pattern;
use crate::text::script::Script;
use crate::text::work::{self, BudgetExceeded};
use crate::text::written::{self, ToText as _};

use super::eval::{Env, EvalFault};
use super::expr::{Expr, ItemQuery, ScriptCall};
use super::shared::SharedValue;

/// A compiled condition.
#[derive(Debug, Clone)]
pub enum Cond {
    /// Always or never.
    Const(bool),
    /// All must hold.
    All(Box<[Cond]>),
    /// One must hold.
    Any(Box<[Cond]>),
    /// Must not hold.
    Not(Box<Cond>),
    /// `path = test`.
    Test {
        /// What is tested.
        subject: Expr,
        /// The test.
        test: CondTest,
        /// The subject is a field of type `condition`: the condition that it holds is evaluated first.
        condition: bool,
    },
    /// `{ of = …, is = test }`.
    Query(Box<ItemQuery>, CondTest),
    /// `{ rhai = "…" }`.
    Rhai(Arc<Script>),
    /// `{ script = function, args? }`: a function of the pack's scripts.
    Script(Box<ScriptCall>),
    /// `{ host = "name" }`: a function of the embedding program.
    Host(Arc<str>),
    /// A part that depends on no item: evaluated once per pass.
    Memo(u32, Box<Cond>),
    /// A large condition of the table `fact`, which several places hold.
    Shared(Arc<SharedValue<Cond>>),
}

/// A compiled test.
#[derive(Debug, Clone)]
pub enum CondTest {
    /// `true` or `false`: compares the truth of the value.
    Is(bool),
    /// Equals.
    Eq(Expr),
    /// Equals one of.
    OneOf(Box<[Expr]>),
    /// Several tests in one table.
    And(Box<[CondTest]>),
    /// Its truth differs, or it equals none of these.
    Ne(Box<[Expr]>),
    /// A comparison of numbers.
    Cmp(CondComparison, Expr),
    /// Is an element of.
    In(Expr),
    /// A list or text contains.
    Contains(Expr),
    /// Two lists share an element.
    Meets(Expr),
    /// A text starts with one of these.
    Starts(Box<[Expr]>),
    /// A text matches.
    Matches(Arc<Pattern>),
    /// A text matches a pattern that comes from a row or the scene.
    MatchesOf(Expr),
    /// The value exists.
    Exists(bool),
    /// The value exists and is not empty.
    Nonempty(bool),
    /// The value exists, even as an explicit null in the data. Must be the only test of its condition, because only
    /// there the subject is known.
    Given(bool),
    /// Positive and a multiple of n > 0.
    Every(Expr),
    /// A number between two bounds, both inclusive; a missing bound is open.
    Between(Box<[Expr; 2]>),
}

/// Which comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CondComparison {
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

impl CondTest {
    /// The expressions that the test compares with.
    #[must_use]
    pub fn operands(&self) -> Vec<&Expr> {
        match self {
            CondTest::Eq(e)
            | CondTest::Cmp(_, e)
            | CondTest::In(e)
            | CondTest::Contains(e)
            | CondTest::Meets(e)
            | CondTest::Every(e)
            | CondTest::MatchesOf(e) => {
                vec![e]
            }
            CondTest::OneOf(l) | CondTest::Ne(l) | CondTest::Starts(l) => l.iter().collect(),
            CondTest::Between(bounds) => bounds.iter().collect(),
            CondTest::And(l) => l.iter().flat_map(CondTest::operands).collect(),
            CondTest::Is(_) | CondTest::Matches(_) | CondTest::Exists(_) | CondTest::Nonempty(_) | CondTest::Given(_) => Vec::new(),
        }
    }

    /// Whether `subject` passes. `raw` is the subject as stored, for tests of presence.
    pub fn holds(&self, subject: &Value, env: &Env<'_>) -> Result<bool, EvalFault> {
        Ok(match self {
            CondTest::Is(b) => subject.truthy() == *b,
            CondTest::Eq(e) => !subject.is_null() && same(subject, &*worked_out(e, env)?)?,
            CondTest::OneOf(list) => !subject.is_null() && any_same(subject, list, env)?,
            CondTest::And(list) => {
                for test in list {
                    if !test.holds(subject, env)? {
                        return Ok(false);
                    }
                }
                true
            }
            CondTest::Ne(list) => subject.is_null() || !any_same(subject, list, env)?,
            CondTest::Cmp(cmp, e) => match (number(subject), number(&*worked_out(e, env)?)) {
                (Some(a), Some(b)) => match cmp {
                    CondComparison::Gt => a > b,
                    CondComparison::Ge => a >= b,
                    CondComparison::Lt => a < b,
                    CondComparison::Le => a <= b,
                },
                _ => false,
            },
            CondTest::Between(bounds) => {
                let [low, high] = &**bounds;
                let within =
                    |n: f64, bound: &Value, holds: fn(f64, f64) -> bool| bound.is_null() || number(bound).is_some_and(|b| holds(n, b));
                match number(subject) {
                    Some(n) => {
                        within(n, &*worked_out(low, env)?, |n, low| n >= low) && within(n, &*worked_out(high, env)?, |n, high| n <= high)
                    }
                    None => false,
                }
            }
            CondTest::In(e) => !subject.is_null() && env.is_in(subject, e)?,
            CondTest::Contains(e) => contains(subject, &*worked_out(e, env)?)?,
            CondTest::Meets(e) => match (subject.as_list(), e.eval(env)?.as_list()) {
                (Some(a), Some(b)) => {
                    for x in a {
                        if written::holds(b, x)? {
                            return Ok(true);
                        }
                    }
                    false
                }
                _ => false,
            },
            CondTest::Starts(list) => {
                let Some(text) = subject.as_str() else { return Ok(false) };
                for e in list {
                    let found = match &*worked_out(e, env)? {
                        Value::Text(start) => text.starts_with(&**start),
                        Value::List(l) => l.iter().filter_map(Value::as_str).any(|start| text.starts_with(start)),
                        other => text.starts_with(&*other.shown()),
                    };
                    if found {
                        return Ok(true);
                    }
                }
                false
            }
            CondTest::Matches(pattern) => match subject.as_str() {
                Some(text) => pattern.is_match(text).map_err(|b| EvalFault::bound(b.to_string()))?,
                None => false,
            },
            CondTest::MatchesOf(e) => match (subject.as_str(), e.eval(env)?) {
                (Some(text), Value::Text(pattern)) => {
                    let pattern = env
                        .st
                        .pattern(&pattern, None)
                        .map_err(|e| EvalFault::failed(format!("the pattern cannot be used: {}", e.reason)))?;
                    env.st.is_match(&pattern, text).map_err(|b| EvalFault::bound(b.to_string()))?
                }
                _ => false,
            },
            CondTest::Exists(b) | CondTest::Given(b) => subject.is_null() != *b,
            CondTest::Nonempty(b) => subject.is_empty() != *b,
            CondTest::Every(e) => match (subject.as_i64(), e.eval(env)?.as_i64()) {
                (Some(n), Some(step)) => step > 0 && n > 0 && n % step == 0,
                _ => false,
            },
        })
    }

    /// Whether the test asks only for presence, and must therefore see a compiled cell unevaluated.
    fn presence(&self) -> bool {
        match self {
            CondTest::Exists(_) | CondTest::Nonempty(_) => true,
            CondTest::And(l) => l.iter().all(CondTest::presence),
            _ => false,
        }
    }
}

/// The value that a test compares with; a literal is not copied for each item.
fn worked_out<'e>(e: &'e Expr, env: &Env<'_>) -> Result<Cow<'e, Value>, EvalFault> {
    Ok(match e {
        Expr::Const(value) => Cow::Borrowed(value),
        other => Cow::Owned(other.eval(env)?),
    })
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn contains(subject: &Value, wanted: &Value) -> Result<bool, BudgetExceeded> {
    Ok(match subject {
        Value::List(l) => written::holds(l, wanted)?,
        Value::Text(t) => t.contains(wanted.shown().as_ref()),
        Value::Map(m) => wanted.as_str().is_some_and(|k| m.contains_key(k)),
        _ => false,
    })
}

/// Equality; if the expected value is a boolean, the truth of the subject is compared.
fn same(subject: &Value, wanted: &Value) -> Result<bool, BudgetExceeded> {
    match wanted {
        Value::Bool(b) => Ok(subject.truthy() == *b),
        other => written::same(subject, other),
    }
}

fn any_same(subject: &Value, list: &[Expr], env: &Env<'_>) -> Result<bool, EvalFault> {
    for e in list {
        let wanted = worked_out(e, env)?;
        let hit = match &*wanted {
            Value::List(l) if !matches!(subject, Value::List(_)) => {
                work::spend(wanted.steps())?;
                let mut found = false;
                for wanted in l.iter() {
                    if same(subject, wanted)? {
                        found = true;
                        break;
                    }
                }
                found
            }
            other => same(subject, other)?,
        };
        if hit {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Cond {
    /// `path = test`. The test `given` is about the path and not about its value, so it becomes a separate condition.
    #[must_use]
    pub fn test(subject: Expr, test: CondTest, condition: bool) -> Self {
        match test {
            CondTest::And(tests) if tests.iter().any(|test| matches!(test, CondTest::Given(_))) => {
                Cond::All(tests.into_iter().map(|test| Cond::Test { subject: subject.clone(), test, condition }).collect())
            }
            test => Cond::Test { subject, test, condition },
        }
    }

    /// Whether the condition holds for the item and scene of `env`.
    pub fn holds(&self, env: &Env<'_>) -> Result<bool, EvalFault> {
        Ok(match self {
            Cond::Const(b) => *b,
            Cond::All(list) => {
                for c in list {
                    if !c.holds(env)? {
                        return Ok(false);
                    }
                }
                true
            }
            Cond::Any(list) => {
                for c in list {
                    if c.holds(env)? {
                        return Ok(true);
                    }
                }
                false
            }
            Cond::Not(c) => !c.holds(env)?,
            Cond::Test { subject, test: CondTest::Given(wanted), .. } => env.present(subject)?.is_some() == *wanted,
            Cond::Test { subject, test, condition } => {
                if let (Expr::Field(field), CondTest::Is(wanted), false) = (subject, test, *condition)
                    && env.is_off(field)
                {
                    return Ok(!*wanted);
                }
                if let (Expr::Field(field), false) = (subject, *condition)
                    && let Some(value) = env.held(field)
                    && !matches!(value, Value::Rule(_))
                {
                    work::spend(value.steps())?;
                    return test.holds(value, env);
                }
                let value = subject.eval(env)?;
                let value = match value {
                    Value::Rule(RuleRef::Cond(n)) => Value::Bool(env.condition_cell(n)?),
                    Value::Rule(RuleRef::Expr(n)) if !test.presence() => env.value_cell(n)?,
                    Value::Map(_) | Value::Text(_) if *condition => Value::Bool(env.foreign_condition(&value)?),
                    other => other,
                };
                test.holds(&value, env)?
            }
            Cond::Query(query, test) => test.holds(&query.run(env)?, env)?,
            Cond::Rhai(script) => env.script(script)?,
            Cond::Script(scripted) => scripted.holds(env)?,
            Cond::Host(name) => env.host(name)?,
            Cond::Shared(shared) => env.memo.shares.result(env, shared, |cond| cond.holds(env).map(Value::Bool))?.truthy(),
            Cond::Memo(slot, cond) => match env.memo.get(*slot) {
                Some(v) => v.truthy(),
                None => {
                    let held = cond.holds(env)?;
                    env.memo.put(*slot, Value::Bool(held));
                    held
                }
            },
        })
    }
}
