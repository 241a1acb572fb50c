//! `sort` and `order` with a function of the script. The interpreter's own ones ignore errors of the function, wait for locked
//! variables at each comparison, and do not say what they copy.

use std::any::TypeId;

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext};

use super::fuel::{Outcome, Size, charge};
use super::natives::refuse_constant;

/// Registers `sort`, for closures and for functions by their names, and `order`, which makes a list.
pub(super) fn register(engine: &mut Engine) {
    for name in ["order", "order_by"] {
        engine.register_raw_fn(name, [TypeId::of::<Array>(), TypeId::of::<FnPtr>()], move |ctx, args| {
            let by = called(args.get(1))?;
            let Some(list) = args.first() else { return Ok(Dynamic::UNIT) };
            charge(Size::of(list)?.steps(), Size::of(list)?.bytes())?;
            let items = list.read_lock::<Array>().map(|list| list.clone()).unwrap_or_default();
            let order = sorted(&items, &mut |a, b| goes_behind(&by, &ctx, a, b))?;
            Ok(Dynamic::from_array(in_order(items, &order)))
        });
    }
    for by in [TypeId::of::<FnPtr>(), TypeId::of::<ImmutableString>()] {
        for name in ["sort", "sort_by"] {
            engine.register_raw_fn(name, [TypeId::of::<Array>(), by], move |ctx, args| {
                refuse_constant(name, &ctx, args)?;
                let by = called(args.get(1))?;
                // the list is not locked while the function runs, which may read it
                let taken = args.first_mut().and_then(|list| list.write_lock::<Array>().map(|mut list| std::mem::take(&mut *list)));
                let Some(items) = taken else { return Ok(Dynamic::UNIT) };
                let order = sorted(&items, &mut |a, b| goes_behind(&by, &ctx, a, b));
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
fn goes_behind(by: &FnPtr, ctx: &NativeCallContext<'_>, a: &Dynamic, b: &Dynamic) -> Outcome<bool> {
    let at = ctx.call_position();
    charge(Size::of(a)?.steps().saturating_add(Size::of(b)?.steps()), 0)?;
    let answer: Dynamic = by.call_within_context(ctx, (a.clone(), b.clone()))?;
    match (answer.as_int(), answer.as_bool()) {
        (Ok(number), _) => Ok(number > 0),
        (_, Ok(before)) => Ok(!before),
        _ => Err(EvalAltResult::ErrorRuntime("a function that sorts gives a number, or true or false".into(), at).into()),
    }
}

/// The function of the script that an argument is, or names.
fn called(by: Option<&&mut Dynamic>) -> Outcome<FnPtr> {
    match by.map(|by| (**by).clone()) {
        Some(by) if by.is_string() => FnPtr::new(by.to_string()),
        by => by.and_then(Dynamic::try_cast::<FnPtr>).map_or_else(|| FnPtr::new("callback"), Ok),
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
