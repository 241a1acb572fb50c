//! Compiled conditions, and how a value is compared with a test.
//!
//! A missing value fails every test except `ne`, `= false`, `exists = false`, `nonempty = false` and `given = false`
//! (see the section "Conditions" of the language page).

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{Map, RuleRef, Value};
use crate::text::pattern::Pattern;
use crate::text::script::Script;
use crate::text::work::{self, BudgetExceeded};
use crate::text::written::{self, ToText as _};

use super::eval::{Env, EvalFault};
use super::expr::{Expr, FieldRef, ItemQuery, PathRoot, PathSegment, ScenePath, ScriptCall};
use super::memo::SharedValue;
use super::rules::CompiledRules;

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

/// A condition from the data of a scene: `path = test`, `{ path, op, value }`, `all`, `any`, `not`, `rhai`, `host`.
/// Its values are data: nothing in them is read as a reference.
pub(super) fn compile(value: &Value, rules: &CompiledRules) -> Result<Cond, String> {
    part(value, rules, 0)
}

fn part(value: &Value, rules: &CompiledRules, depth: usize) -> Result<Cond, String> {
    match value {
        Value::Map(map) => table(map, rules, depth),
        other => Ok(Cond::Const(other.truthy())),
    }
}

fn table(map: &Map, rules: &CompiledRules, depth: usize) -> Result<Cond, String> {
    if depth > 32 {
        return Err("the condition is nested too deeply".into());
    }
    if let (Some(path), Some(op)) = (map.get("path").and_then(Value::as_str), map.get("op").and_then(Value::as_str)) {
        let value = map.get("value").cloned().unwrap_or_default();
        let test = if op == "eq" { test(&value)? } else { word_test(op, &value)? };
        return Ok(Cond::Test { subject: subject(path, rules), test, condition: false });
    }
    let mut all = Vec::new();
    for (key, value) in map {
        let list = || -> Result<Box<[Cond]>, String> { value.as_list().unwrap_or(&[]).iter().map(|v| part(v, rules, depth + 1)).collect() };
        all.push(match key.as_ref() {
            "all" => Cond::All(list()?),
            "any" => Cond::Any(list()?),
            "not" => Cond::Not(Box::new(part(value, rules, depth + 1)?)),
            "rhai" => Cond::Rhai(Arc::new(Script::compile(value.as_str().unwrap_or("")).map_err(|e| e.message)?)),
            "host" => Cond::Host(value.to_text()),
            path => path_test(path, value, rules, depth + 1)?,
        });
    }
    Ok(Cond::All(all.into()))
}

/// `path = test`, where a table may hold longer paths: `a.b = test` is `a = { b = test }`.
fn path_test(path: &str, value: &Value, rules: &CompiledRules, depth: usize) -> Result<Cond, String> {
    if depth > 32 {
        return Err("the condition is nested too deeply".into());
    }
    let longer = |word: &str| Some(format!("{path}.{word}")).filter(|longer| rules.names.knows_path(longer.trim_start_matches('$')));
    let Some(map) = value.as_map().filter(|map| map.keys().any(|word| longer(word).is_some())) else {
        return Ok(Cond::test(subject(path, rules), test(value)?, false));
    };
    let one = |(word, value): (&Arc<str>, &Value)| match longer(word) {
        Some(longer) => path_test(&longer, value, rules, depth + 1),
        None => Ok(Cond::test(subject(path, rules), word_test(word, value)?, false)),
    };
    Ok(Cond::All(map.iter().map(one).collect::<Result<_, _>>()?))
}

fn subject(path: &str, rules: &CompiledRules) -> Expr {
    let segs = |p: &str| p.split('.').filter(|s| !s.is_empty()).map(|s| PathSegment::Name(s.into())).collect::<Box<[PathSegment]>>();
    match path.strip_prefix('@') {
        Some(field) => {
            let (name, rest) = field.split_once('.').unwrap_or((field, ""));
            let id = rules.fields.id(name).unwrap_or(crate::model::item::core::SELF);
            Expr::Field(FieldRef { up: 0, field: Some((id, name.into())), rest: segs(rest) })
        }
        None => {
            let path = path.trim_start_matches('$');
            Expr::Path(Arc::new(ScenePath::new(path.into(), PathRoot::Scene { list: None }, segs(path), 0)))
        }
    }
}

fn test(value: &Value) -> Result<CondTest, String> {
    Ok(match value {
        Value::Bool(b) => CondTest::Is(*b),
        Value::List(l) => CondTest::OneOf(l.iter().cloned().map(Expr::Const).collect()),
        Value::Map(m) => CondTest::And(m.iter().map(|(word, v)| word_test(word, v)).collect::<Result<_, _>>()?),
        other => CondTest::Eq(Expr::Const(other.clone())),
    })
}

fn word_test(word: &str, value: &Value) -> Result<CondTest, String> {
    let own = Expr::Const(value.clone());
    let many = || -> Box<[Expr]> {
        value.as_list().map_or_else(|| Box::new([own.clone()]) as Box<[Expr]>, |l| l.iter().cloned().map(Expr::Const).collect())
    };
    Ok(match word {
        "ne" => CondTest::Ne(many()),
        "gt" => CondTest::Cmp(CondComparison::Gt, own),
        "ge" => CondTest::Cmp(CondComparison::Ge, own),
        "lt" => CondTest::Cmp(CondComparison::Lt, own),
        "le" => CondTest::Cmp(CondComparison::Le, own),
        "in" => CondTest::In(own),
        "contains" => CondTest::Contains(own),
        "meets" => CondTest::Meets(own),
        "starts" => CondTest::Starts(many()),
        "matches" => match value.as_str().filter(|text| Pattern::split(text).is_some()) {
            Some(text) => CondTest::Matches(Arc::new(Pattern::parse(text).map_err(|e| e.reason)?)),
            None => return Err("`matches` takes a pattern `/…/flags`".into()),
        },
        "exists" => CondTest::Exists(value.truthy()),
        "nonempty" => CondTest::Nonempty(value.truthy()),
        "given" => CondTest::Given(value.truthy()),
        "every" => CondTest::Every(own),
        "between" => match value.as_list() {
            Some([low]) => CondTest::Between(Box::new([Expr::Const(low.clone()), Expr::Const(Value::Null)])),
            Some([low, high]) => CondTest::Between(Box::new([Expr::Const(low.clone()), Expr::Const(high.clone())])),
            _ => return Err("`between` takes a list of two bounds".into()),
        },
        _ => return Err(format!("there is no test `{word}`")),
    })
}
