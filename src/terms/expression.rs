//! What expressions as text compile to, where tables have no term of the same meaning: operators with the errors of CEL, choices,
//! variables and comprehensions.

use std::sync::Arc;

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::Expr;
use crate::model::{Map, Value};
use crate::text::functions::FunctionRefusal;
use crate::text::methods::{self, Method, Optional};
use crate::text::written::ToText as _;

/// One operation of an expression.
#[derive(Debug, Clone)]
pub enum Operation {
    /// `a && b`: false if one is false, whatever fails beside it.
    All(Vec<Expr>),
    /// `a || b`: true if one is true, whatever fails beside it.
    Any(Vec<Expr>),
    /// `a ? b : c`.
    Choice(Box<[Expr]>),
    /// `has(a.b)`: the selection.
    Presence(Expr),
    /// An operator, a method or a function.
    Call(&'static Method, Vec<Expr>),
    /// `cel.bind(name, value, body)`: the value, and the body.
    Bind(Box<[Expr]>),
    /// `.optMap(name, body)`: the optional value and the body; whether the body gives an optional value itself.
    OptionalMap(Box<[Expr]>, bool),
    /// `.filter(name, body)` and its kin.
    Comprehension(Comprehension),
    /// `a.or(b)` and `a.orValue(b)`: the other one where there is no value; whether the result is the value itself.
    Fallback(Box<[Expr]>, bool),
    /// A value of the pack that is about the item, so many variables further out.
    OuterPath(i8, Expr),
    /// Something that cannot be evaluated: a function that does not exist.
    Fault(Arc<str>),
}

/// What is done with each element of a list or a table.
#[derive(Debug, Clone)]
pub struct Comprehension {
    /// What it gives.
    pub kind: ComprehensionKind,
    /// The list or table.
    pub over: Expr,
    /// There are two variables: the index or key, and the element.
    pub pairs: bool,
    /// The condition, the value, or both in this order.
    pub bodies: Box<[Expr]>,
}

/// What a [`Comprehension`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComprehensionKind {
    /// Whether the condition holds for all.
    All,
    /// Whether it holds for one.
    Exists,
    /// Whether it holds for exactly one.
    ExistsOne,
    /// The elements for which it holds.
    Filter,
    /// How many these are.
    Count,
    /// The value of each, where the condition holds.
    Map,
    /// The same as a table.
    Table,
    /// The elements in the order of a value.
    Sort,
}

impl ComprehensionKind {
    /// The kind of a method with so many arguments, and how many of them are variables.
    #[must_use]
    pub fn of_method(name: &str, arguments: usize) -> Option<(Self, usize)> {
        let test = |kind| match arguments {
            2 => Some((kind, 1)),
            3 => Some((kind, 2)),
            _ => None,
        };
        match (name, arguments) {
            ("all", _) => test(Self::All),
            ("exists", _) => test(Self::Exists),
            ("exists_one" | "existsOne", _) => test(Self::ExistsOne),
            ("filter", _) => test(Self::Filter),
            ("count", _) => test(Self::Count),
            ("sortBy", _) => test(Self::Sort),
            ("map", 2 | 3) => Some((Self::Map, 1)),
            ("transformList", 3 | 4) => Some((Self::Map, 2)),
            ("transformMap", 3 | 4) => Some((Self::Table, 2)),
            _ => None,
        }
    }
}

impl Operation {
    /// Adds an operand to a row of the same operator.
    pub fn push(&mut self, operand: Expr) {
        if let Self::All(list) | Self::Any(list) | Self::Call(_, list) = self {
            list.push(operand);
        }
    }

    /// The parts, each with how many items more are at hand there.
    pub fn parts(&self) -> impl Iterator<Item = (&Expr, i8)> {
        let (here, inside, levels): (&[Expr], &[Expr], i8) = match self {
            Self::All(list) | Self::Any(list) | Self::Call(_, list) => (list, &[], 0),
            Self::Choice(list) | Self::Fallback(list, _) => (list, &[], 0),
            Self::OuterPath(levels, one) => (&[], std::slice::from_ref(one), levels.saturating_neg()),
            Self::Presence(one) => (std::slice::from_ref(one), &[], 0),
            Self::Bind(list) | Self::OptionalMap(list, _) => {
                let (value, body) = list.split_at(list.len().min(1));
                (value, body, 1)
            }
            Self::Comprehension(each) => (std::slice::from_ref(&each.over), &each.bodies, if each.pairs { 2 } else { 1 }),
            Self::Fault(_) => (&[], &[], 0),
        };
        here.iter().map(|part| (part, 0)).chain(inside.iter().map(move |part| (part, levels)))
    }

    /// Evaluates it.
    ///
    /// # Errors
    /// What an operand or the operation itself says; the budget.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        match self {
            Self::All(list) => decide(list, env, false),
            Self::Any(list) => decide(list, env, true),
            Self::Choice(list) => match &**list {
                [cond, then, other] => {
                    if truth(&cond.eval(env)?)? {
                        then.eval(env)
                    } else {
                        other.eval(env)
                    }
                }
                _ => Ok(Value::Null),
            },
            Self::Presence(selection) => Ok(Value::Bool(is_present(selection, env)?)),
            Self::Call(method, args) => {
                let args = args.iter().map(|arg| arg.eval(env)).collect::<Result<Vec<_>, _>>()?;
                let value = (method.run)(&args).or_else(|refusal| match refusal {
                    FunctionRefusal::Failed(why) if method.is_named() => Err(EvalFault::failed(format!("`{}`: {why}", method.name))),
                    refusal => env.st.pass_over(method.name, refusal),
                })?;
                // an element of a pack's table may be a cell that is evaluated when it is read
                match Optional::state(&value) {
                    Some(Some(held)) => Ok(Optional::some(env.settle(held)?)),
                    _ => env.settle(value),
                }
            }
            Self::Bind(list) => match &**list {
                [value, body] => {
                    let value = value.eval(env)?;
                    body.eval(&env.inner(CurrentItem::Value(&value, 0)))
                }
                _ => Ok(Value::Null),
            },
            Self::OptionalMap(list, flat) => match &**list {
                [of, body] => {
                    let Some(value) = Optional::read(&of.eval(env)?) else { return Ok(Optional::none()) };
                    let value = body.eval(&env.inner(CurrentItem::Value(&value, 0)))?;
                    Ok(if *flat { value } else { Optional::some(value) })
                }
                _ => Ok(Value::Null),
            },
            Self::Comprehension(each) => each.eval(env),
            Self::Fallback(list, is_value) => match &**list {
                [of, other] => {
                    let of = of.eval(env)?;
                    match Optional::read(&of) {
                        Some(value) => Ok(if *is_value { value } else { of }),
                        None => other.eval(env),
                    }
                }
                _ => Ok(Value::Null),
            },
            Self::OuterPath(levels, expr) => {
                let mut outside = env;
                for _ in 0..*levels {
                    outside = outside.outer.unwrap_or(outside);
                }
                expr.eval(outside)
            }
            Self::Fault(message) => Err(EvalFault::failed(&**message)),
        }
    }
}

/// Whether a value is true. A missing one is not.
fn truth(value: &Value) -> Result<bool, EvalFault> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::Null => Ok(false),
        other => Err(EvalFault::failed(format!("true or false is needed, not {}", methods::kind(other)))),
    }
}

/// Whether one of the operands is `sought`; otherwise what failed among them.
fn decide(list: &[Expr], env: &Env<'_>, sought: bool) -> Result<Value, EvalFault> {
    let mut failed = None;
    for operand in list {
        match operand.eval(env).and_then(|value| truth(&value)) {
            Ok(found) if found == sought => return Ok(Value::Bool(sought)),
            Ok(_) => {}
            Err(fault) if fault.is_bound() => return Err(fault),
            Err(fault) => failed = failed.or(Some(fault)),
        }
    }
    failed.map_or(Ok(Value::Bool(!sought)), Err)
}

/// Whether a selection finds something, if only a null.
fn is_present(selection: &Expr, env: &Env<'_>) -> Result<bool, EvalFault> {
    if let Expr::Operation(operation) = selection
        && let Operation::Call(method, args) = &**operation
        && let ("[]" | "[?]", [of, key]) = (method.name, &args[..])
    {
        let of = of.eval(env)?;
        let of = if Optional::is(&of) { Optional::read(&of).unwrap_or_default() } else { of };
        return Ok(of.get(&key.eval(env)?.shown()).is_some());
    }
    Ok(env.present(selection)?.is_some())
}

impl Comprehension {
    /// Calls `visit` with the environment of each element and the element, until it answers `false`.
    fn visit(&self, env: &Env<'_>, visit: &mut dyn FnMut(&Env<'_>, &Value, &Value) -> Result<bool, EvalFault>) -> Result<(), EvalFault> {
        let over = self.over.eval(env)?;
        let index = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let elements: Box<dyn Iterator<Item = (Value, Value)>> = match &over {
            Value::List(list) => Box::new(list.iter().enumerate().map(|(n, element)| (index(n), element.clone()))),
            Value::Map(map) if self.pairs => Box::new(map.iter().map(|(key, value)| (Value::Text(key.clone()), value.clone()))),
            Value::Map(map) => Box::new(map.keys().enumerate().map(|(n, key)| (index(n), Value::Text(key.clone())))),
            Value::Null => Box::new(std::iter::empty()),
            other => return Err(EvalFault::failed(format!("a list or table is needed, not {}", methods::kind(other)))),
        };
        env.st.visit(over.elements().len().max(over.as_map().map_or(0, Map::len)))?;
        for (n, (key, element)) in elements.enumerate() {
            let element = env.settle(element)?;
            let outer = env.inner(CurrentItem::Value(&key, n));
            let around = if self.pairs { &outer } else { env };
            if !visit(&around.inner(CurrentItem::Value(&element, n)), &key, &element)? {
                break;
            }
        }
        Ok(())
    }

    fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let (test, give) = match (&self.bodies[..], self.kind) {
            ([give], ComprehensionKind::Map | ComprehensionKind::Table | ComprehensionKind::Sort) => (None, Some(give)),
            ([test], _) => (Some(test), None),
            ([test, give], _) => (Some(test), Some(give)),
            _ => (None, None),
        };
        let holds = |here: &Env<'_>| test.map_or(Ok(true), |test| truth(&test.eval(here)?));
        match self.kind {
            ComprehensionKind::All | ComprehensionKind::Exists => {
                let sought = self.kind == ComprehensionKind::Exists;
                let (mut found, mut failed) = (false, None);
                self.visit(env, &mut |here, _, _| {
                    match holds(here) {
                        Ok(held) => found = held == sought,
                        Err(fault) if fault.is_bound() => return Err(fault),
                        Err(fault) => failed = failed.take().or(Some(fault)),
                    }
                    Ok(!found)
                })?;
                match failed.filter(|_| !found) {
                    Some(fault) => Err(fault),
                    None => Ok(Value::Bool(found == sought)),
                }
            }
            ComprehensionKind::ExistsOne | ComprehensionKind::Count => {
                let mut count = 0;
                self.visit(env, &mut |here, _, _| {
                    count += i64::from(holds(here)?);
                    Ok(true)
                })?;
                Ok(if self.kind == ComprehensionKind::Count { Value::Int(count) } else { Value::Bool(count == 1) })
            }
            ComprehensionKind::Filter | ComprehensionKind::Map | ComprehensionKind::Table | ComprehensionKind::Sort => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                self.visit(env, &mut |here, key, element| {
                    if holds(here)? {
                        let value = give.map_or_else(|| Ok(element.clone()), |give| give.eval(here))?;
                        values.push((Optional::settle(value), element.clone()));
                        keys.push(key.shown());
                    }
                    Ok(true)
                })?;
                Ok(match self.kind {
                    ComprehensionKind::Table => {
                        Value::map(keys.into_iter().zip(values.into_iter().map(|(value, _)| value)).collect::<Map>())
                    }
                    ComprehensionKind::Sort => {
                        methods::sort(&mut values).map_err(|refusal| EvalFault::failed(refusal.why()))?;
                        Value::list(values.into_iter().map(|(_, element)| element).collect())
                    }
                    _ => Value::list(values.into_iter().map(|(value, _)| value).collect()),
                })
            }
        }
    }
}
