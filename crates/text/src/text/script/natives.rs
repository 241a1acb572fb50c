//! The functions of the interpreter's packages, each with a scale in front: what it is given and what it makes is measured and
//! paid. Some that may make much more than they are given are bounded before they run, or replaced.

use std::any::TypeId;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use rhai::packages::{
    BasicArrayPackage, BasicMapPackage, BasicMathPackage, BitFieldPackage, CorePackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::plugin::RhaiFunc;
use rhai::{
    Array, Blob, Caches, Dynamic, Engine, EvalAltResult, EvalContext, FnPtr, FuncRegistration, INT, ImmutableString, Map,
    NativeCallContext, Position, Scope,
};

use super::ScriptLimits;
use super::fuel::{STEPS_PER_VALUE, ScriptResult, ScriptSize, charge, raced};
use super::values::to_dynamic;
use crate::model::Value;

fn failed<T>(message: impl Into<Dynamic>) -> ScriptResult<T> {
    Err(EvalAltResult::ErrorRuntime(message.into(), Position::NONE).into())
}

/// A function that changes its first argument, so that a constant is refused.
fn changing(name: &str) -> FuncRegistration {
    FuncRegistration::new(name).with_purity(false)
}

/// All packages but those with the clock and with bytes.
fn packages(engine: &mut Engine) {
    CorePackage::new().register_into_engine(engine);
    BitFieldPackage::new().register_into_engine(engine);
    LogicPackage::new().register_into_engine(engine);
    BasicMathPackage::new().register_into_engine(engine);
    BasicArrayPackage::new().register_into_engine(engine);
    BasicMapPackage::new().register_into_engine(engine);
    MoreStringPackage::new().register_into_engine(engine);
}

/// A function, its name, and the types of its parameters.
struct NativeFunction {
    name: String,
    types: Vec<TypeId>,
    run: RhaiFunc,
}

/// The functions of the packages that take anything but numbers and the like.
static NATIVES: LazyLock<Vec<NativeFunction>> = LazyLock::new(|| {
    let mut engine = Engine::new_raw();
    packages(&mut engine);
    let named = engine.collect_fn_metadata(None, |f| Some((f.metadata.name.to_string(), f.metadata.param_types.to_vec())), true);
    named.into_iter().filter_map(|(name, types)| Some(NativeFunction { run: found(&engine, &name, &types)?, name, types })).collect()
});

/// A value of no type that a function names, so that it is taken for one of any type.
#[derive(Clone)]
struct AnyValue;

/// A value of a type that a script can have, and whether such values may be large.
fn sample(kind: TypeId) -> Option<(Dynamic, bool)> {
    let function = FnPtr::new("f").ok()?;
    let samples = [
        (TypeId::of::<Array>(), Array::new().into(), true),
        (TypeId::of::<Map>(), Map::new().into(), true),
        (TypeId::of::<Blob>(), Dynamic::from_blob(Blob::new()), true),
        (TypeId::of::<ImmutableString>(), "".into(), true),
        (TypeId::of::<&str>(), "".into(), true),
        (TypeId::of::<String>(), "".into(), true),
        (TypeId::of::<FnPtr>(), function.into(), true),
        (TypeId::of::<Dynamic>(), Dynamic::from(AnyValue), true),
        (TypeId::of::<INT>(), Dynamic::from_int(0), false),
        (TypeId::of::<f64>(), Dynamic::from_float(0.0), false),
        (TypeId::of::<bool>(), Dynamic::FALSE, false),
        (TypeId::of::<char>(), Dynamic::from_char('a'), false),
        (TypeId::of::<()>(), Dynamic::UNIT, false),
        (TypeId::of::<Range<INT>>(), Dynamic::from(0..0 as INT), false),
        (TypeId::of::<RangeInclusive<INT>>(), Dynamic::from(0..=0 as INT), false),
    ];
    samples.into_iter().find(|(of, ..)| *of == kind).map(|(_, value, large)| (value, large))
}

/// The function itself, which the interpreter keeps once it has looked it up twice; nothing if it takes nothing that is large.
fn found(engine: &Engine, name: &str, types: &[TypeId]) -> Option<RhaiFunc> {
    let (args, large): (Vec<Dynamic>, Vec<bool>) = types.iter().map(|kind| sample(*kind)).collect::<Option<_>>()?;
    if !large.contains(&true) {
        return None;
    }
    let (mut global, mut caches, mut scope) = (engine.new_global_runtime_state(), Caches::new(), Scope::new());
    let mut context = EvalContext::new(engine, &mut global, &mut caches, &mut scope, None);
    for _ in 0..2 {
        let mut args = args.clone();
        let mut args: Vec<&mut Dynamic> = args.iter_mut().collect();
        // what it answers does not matter
        let _ = context.call_native_fn_raw(name, true, &mut args);
    }
    let kept = std::mem::take(&mut caches.fn_resolution_cache_mut().dict);
    kept.into_values().flatten().map(|found| found.func).find(RhaiFunc::is_native)
}

/// Registers the functions with their scales.
pub(super) fn register(engine: &mut Engine, limits: ScriptLimits) {
    packages(engine);
    for native in NATIVES.iter() {
        let (name, run) = (native.name.as_str(), native.run.clone());
        engine.register_raw_fn(name, &native.types, move |context: NativeCallContext<'_>, args: &mut [&mut Dynamic]| {
            weigh(&native.name, args, &limits)?;
            if !run.is_pure() && args.first().is_some_and(|first| first.is_read_only()) {
                return Err(EvalAltResult::ErrorNonPureMethodCallOnConstant(native.name.clone(), context.call_position()).into());
            }
            let result = if run.is_method() { call(&run, context, args) } else { call_with_copy(&run, context, args) };
            // the interpreter waits each time for a value that is used while it is being changed
            let is_race = |error: &EvalAltResult| matches!(error.unwrap_inner(), EvalAltResult::ErrorDataRace(..));
            let result = result.map_err(|error| if is_race(&error) { raced() } else { error })?;
            measure(&result, &limits)?;
            if run.is_method()
                && !run.is_pure()
                && let Some(first) = args.first()
            {
                measure(first, &limits)?;
                if native.name.starts_with(char::is_alphabetic) && native.name != "append" {
                    charge((ScriptSize::of(first)?.text as u64).saturating_mul(STEPS_PER_VALUE), 0)?;
                }
            }
            Ok(result)
        });
    }
    let pad = move |text: &mut ImmutableString, length: INT, with: &str| pad(text, length, with, &limits);
    changing("pad")
        .register_into_engine(engine, move |text: &mut ImmutableString, length: INT, with: ImmutableString| pad(text, length, &with));
    changing("pad").register_into_engine(engine, move |text: &mut ImmutableString, length: INT, with: char| {
        pad(text, length, with.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("sleep", |_: INT| failed::<()>("scripts may not wait"));
    engine.register_fn("sleep", |_: f64| failed::<()>("scripts may not wait"));
    // the interpreter compares the name of each field with all before it
    engine.register_fn("parse_json", |json: ImmutableString| -> ScriptResult<Dynamic> {
        charge((json.len() / 4) as u64, json.len())?;
        let value = match serde_json::from_str::<serde_json::Value>(&json) {
            Ok(read) => to_dynamic(&Value::from(&read)),
            Err(error) => return failed(format!("this is no JSON: {error}")),
        };
        let size = ScriptSize::of(&value)?;
        charge(size.steps(), size.bytes())?;
        Ok(value)
    });
    for name in ["sort", "sort_by"] {
        changing(name)
            .register_into_engine(engine, |context: NativeCallContext<'_>, list: &mut Array, by: FnPtr| sort(&context, list, &by));
        changing(name).register_into_engine(engine, |context: NativeCallContext<'_>, list: &mut Array, by: &str| {
            sort(&context, list, &FnPtr::new(by)?)
        });
    }
    for name in ["order", "order_by"] {
        engine.register_fn(name, |context: NativeCallContext<'_>, mut list: Array, by: FnPtr| -> ScriptResult<Array> {
            sort(&context, &mut list, &by)?;
            Ok(list)
        });
    }
}

/// Pays for what a function is given, and refuses what it would make far too large.
fn weigh(name: &str, args: &[&mut Dynamic], limits: &ScriptLimits) -> ScriptResult<()> {
    let mut sizes = [ScriptSize::default(); 2];
    for (n, arg) in args.iter().enumerate() {
        let size = ScriptSize::of(arg)?;
        charge(size.steps().saturating_add(size.parts() as u64), 0)?;
        if let Some(kept) = sizes.get_mut(n) {
            *kept = size;
        }
    }
    let [of, with] = sizes;
    let text = |n: usize| args.get(n).map(|value| value.to_string()).unwrap_or_default();
    match name {
        // the value is copied for each element
        "index_of" | "contains" if args.first().is_some_and(|list| list.is_array()) => {
            charge(with.steps().saturating_mul(of.parts() as u64), 0)
        }
        "split" | "split_rev" | "to_chars" if of.text > limits.list => {
            let text_of = text(0);
            let pieces = match args.get(1).filter(|by| by.is_string() || by.is_char()) {
                Some(by) => text_of.matches(by.to_string().as_str()).count() + 1,
                None if name == "to_chars" => text_of.len(),
                None => text_of.split_whitespace().count(),
            };
            ScriptSize { lists: pieces, ..ScriptSize::default() }.check(limits)
        }
        "replace" => {
            let (of, old, new) = (text(0), text(1), text(2));
            let times = of.matches(old.as_str()).count();
            let length = of.len().saturating_add(times.saturating_mul(new.len()));
            charge((length / 8) as u64, 0)?;
            ScriptSize { text: length.saturating_sub(times.saturating_mul(old.len())), ..ScriptSize::default() }.check(limits)
        }
        _ => Ok(()),
    }
}

/// Pays for a value that was made or changed, unless it is too large.
fn measure(value: &Dynamic, limits: &ScriptLimits) -> ScriptResult<()> {
    let size = ScriptSize::of(value)?;
    charge(size.steps(), size.bytes())?;
    size.check(limits)
}

fn call(run: &RhaiFunc, context: NativeCallContext<'_>, args: &mut [&mut Dynamic]) -> ScriptResult<Dynamic> {
    match run {
        RhaiFunc::Plugin { func } => func.call(Some(context), args),
        RhaiFunc::StaticPlugin { func } => func.call(Some(context), args),
        RhaiFunc::Pure { func, .. } | RhaiFunc::Method { func, .. } => func(Some(context), args),
        _ => Ok(Dynamic::UNIT),
    }
}

/// The function takes its first argument for good, which may be a variable.
fn call_with_copy(run: &RhaiFunc, context: NativeCallContext<'_>, args: &mut [&mut Dynamic]) -> ScriptResult<Dynamic> {
    let mut copy = args.first().map(|first| (**first).clone()).unwrap_or_default();
    let rest = args.iter_mut().skip(1).map(|arg| &mut **arg);
    let mut args: Vec<&mut Dynamic> = std::iter::once(&mut copy).chain(rest).collect();
    call(run, context, &mut args)
}

/// The interpreter's own does not end for a padding without letters.
fn pad(text: &mut ImmutableString, length: INT, with: &str, limits: &ScriptLimits) -> ScriptResult<()> {
    let missing = usize::try_from(length).unwrap_or(0).saturating_sub(text.chars().count());
    let letters = with.chars().count();
    if missing == 0 || letters == 0 {
        return Ok(());
    }
    let made = text.len().saturating_add(missing.saturating_mul(with.len()).div_ceil(letters));
    ScriptSize { text: made, ..ScriptSize::default() }.check(limits)?;
    charge((made as u64).saturating_mul(STEPS_PER_VALUE), made)?;
    let padding: String = with.chars().cycle().take(missing).collect();
    *text += padding;
    Ok(())
}

/// Sorts stably, whatever order the function makes up. The interpreter's own one ignores its errors. The function gives a number
/// above 0, or `false`, if `a` belongs behind `b`.
fn sort(context: &NativeCallContext<'_>, list: &mut Array, by: &FnPtr) -> ScriptResult<()> {
    let mut sorted: Array = Array::with_capacity(list.len());
    let belongs_behind = |a: &Dynamic, b: &Dynamic| -> ScriptResult<bool> {
        let answer: Dynamic = by.call_within_context(context, (a.clone(), b.clone()))?;
        match (answer.as_int(), answer.as_float(), answer.as_bool()) {
            (Ok(number), ..) => Ok(number > 0),
            (_, Ok(number), _) => Ok(number > 0.0),
            (.., Ok(before)) => Ok(!before),
            _ => failed("a function that sorts gives a number, or true or false"),
        }
    };
    for item in &*list {
        charge((sorted.len() / 8) as u64, 0)?;
        let (mut from, mut to) = (0, sorted.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            match sorted.get(middle) {
                Some(other) if belongs_behind(other, item)? => to = middle,
                _ => from = middle + 1,
            }
        }
        sorted.insert(from, item.clone());
    }
    *list = sorted;
    Ok(())
}
