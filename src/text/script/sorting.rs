//! `sort` and `order` with a function of the script. The interpreter's own ones ignore errors of the function, wait for locked
//! variables at each comparison, and do not say what they copy.

use std::any::TypeId;

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext};

use super::callbacks::called;
use super::{ScriptLimits, paid};

type Outcome<T> = Result<T, Box<EvalAltResult>>;

/// Registers `sort`, for closures and for functions by their names, and `order`, which makes a list.
pub(super) fn register(engine: &mut Engine, limits: ScriptLimits) {
    for name in ["order", "order_by"] {
        engine.register_raw_fn(name, [TypeId::of::<Array>(), TypeId::of::<FnPtr>()], move |ctx, args| {
            let by = called(args.get(1))?;
            let Some(list) = args.first() else { return Ok(Dynamic::UNIT) };
            paid::pay(list, &limits, ctx.call_position())?;
            let items = list.read_lock::<Array>().map(|list| list.clone()).unwrap_or_default();
            let order = sorted(&items, &mut |a, b| goes_behind(&by, &ctx, a, b, &limits))?;
            Ok(Dynamic::from_array(in_order(items, &order)))
        });
    }
    for by in [TypeId::of::<FnPtr>(), TypeId::of::<ImmutableString>()] {
        for name in ["sort", "sort_by"] {
            engine.register_raw_fn(name, [TypeId::of::<Array>(), by], move |ctx, args| {
                let by = called(args.get(1))?;
                // the list is not locked while the function runs, which may read it
                let taken = args.first_mut().and_then(|list| list.write_lock::<Array>().map(|mut list| std::mem::take(&mut *list)));
                let Some(items) = taken else { return Ok(Dynamic::UNIT) };
                let order = sorted(&items, &mut |a, b| goes_behind(&by, &ctx, a, b, &limits));
                let (items, order) = match order {
                    Ok(order) => (in_order(items, &order), Ok(Dynamic::UNIT)),
                    Err(error) => (items, Err(error)),
                };
                if let Some(mut list) = args.first_mut().and_then(|list| list.write_lock::<Array>()) {
                    *list = items;
                }
                order
            });
        }
    }
}

/// Whether the function puts `a` behind `b`: it gives a number above 0, or `false` for "`a` is before `b`".
fn goes_behind(by: &FnPtr, ctx: &NativeCallContext<'_>, a: &Dynamic, b: &Dynamic, limits: &ScriptLimits) -> Outcome<bool> {
    let at = ctx.call_position();
    paid::pay(a, limits, at)?;
    paid::pay(b, limits, at)?;
    let answer: Dynamic = by.call_within_context(ctx, (a.clone(), b.clone()))?;
    match (answer.as_int(), answer.as_bool()) {
        (Ok(number), _) => Ok(number > 0),
        (_, Ok(before)) => Ok(!before),
        _ => Err(EvalAltResult::ErrorRuntime("a function that sorts gives a number, or true or false".into(), at).into()),
    }
}

type Behind<'a> = dyn FnMut(&Dynamic, &Dynamic) -> Outcome<bool> + 'a;

/// The places of the items in their new order. It sorts stably from the bottom up; no order that a function makes up can
/// break it.
fn sorted(items: &[Dynamic], behind: &mut Behind<'_>) -> Outcome<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = (0..items.len()).map(|n| vec![n]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len() / 2 + 1);
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            merged.push(match pairs.next() {
                Some(second) => merge(items, first, second, behind)?,
                None => first,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

fn merge(items: &[Dynamic], first: Vec<usize>, second: Vec<usize>, behind: &mut Behind<'_>) -> Outcome<Vec<usize>> {
    let mut out = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let next = match (items.get(*a), items.get(*b)) {
            (Some(a), Some(b)) if behind(a, b)? => second.next(),
            _ => first.next(),
        };
        out.extend(next);
    }
    out.extend(first);
    out.extend(second);
    Ok(out)
}

fn in_order(mut items: Array, order: &[usize]) -> Array {
    order.iter().filter_map(|n| items.get_mut(*n).map(std::mem::take)).collect()
}
