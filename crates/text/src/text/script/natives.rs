//! The functions of the interpreter's packages. Those whose result may be much larger than what they are given, or that
//! would not end, are replaced by bounded ones.

use rhai::packages::{
    BasicArrayPackage, BasicMapPackage, BasicMathPackage, BitFieldPackage, CorePackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, FuncRegistration, INT, ImmutableString as Text, NativeCallContext, Position};

use super::ScriptLimits;
use super::fuel::{ScriptResult, ScriptSize, charge};
use super::values::to_dynamic;
use crate::model::Value;

fn failed<T>(message: impl Into<Dynamic>) -> ScriptResult<T> {
    Err(EvalAltResult::ErrorRuntime(message.into(), Position::NONE).into())
}

/// A function that changes its first argument, so that a constant is refused.
fn changing(name: &str) -> FuncRegistration {
    FuncRegistration::new(name).with_purity(false)
}

/// Registers all packages but those with the clock and with bytes.
pub(super) fn register(engine: &mut Engine, limits: ScriptLimits) {
    CorePackage::new().register_into_engine(engine);
    BitFieldPackage::new().register_into_engine(engine);
    LogicPackage::new().register_into_engine(engine);
    BasicMathPackage::new().register_into_engine(engine);
    BasicArrayPackage::new().register_into_engine(engine);
    BasicMapPackage::new().register_into_engine(engine);
    MoreStringPackage::new().register_into_engine(engine);
    engine.register_fn("sleep", |_: INT| failed::<()>("scripts may not wait"));
    engine.register_fn("sleep", |_: f64| failed::<()>("scripts may not wait"));
    // the interpreter compares the name of each field with all before it
    engine.register_fn("parse_json", |json: Text| -> ScriptResult<Dynamic> {
        charge((json.len() / 4) as u64, json.len())?;
        let value = match serde_json::from_str::<serde_json::Value>(&json) {
            Ok(read) => to_dynamic(&Value::from(&read)),
            Err(error) => return failed(format!("this is no JSON: {error}")),
        };
        let size = ScriptSize::of(&value)?;
        charge(size.parts() as u64, size.bytes())?;
        Ok(value)
    });
    let pay = move |size: ScriptSize| size.check(&limits).and_then(|()| charge(size.parts() as u64, size.bytes()));
    changing("pad").register_into_engine(engine, move |list: &mut Array, length: INT, with: Dynamic| -> ScriptResult<()> {
        let missing = usize::try_from(length).unwrap_or(0).saturating_sub(list.len());
        pay(ScriptSize::of(&with)?.times(missing))?;
        list.resize(list.len() + missing, with);
        Ok(())
    });
    // the interpreter's own one does not end for a padding without letters
    let pad = move |text: &mut Text, length: INT, with: &str| -> ScriptResult<()> {
        let missing = usize::try_from(length).unwrap_or(0).saturating_sub(text.chars().count());
        if with.is_empty() || missing == 0 {
            return Ok(());
        }
        pay(ScriptSize::of_text(text.len().saturating_add(missing.saturating_mul(with.len()).div_ceil(with.chars().count()))))?;
        *text += with.chars().cycle().take(missing).collect::<String>();
        Ok(())
    };
    changing("pad").register_into_engine(engine, move |text: &mut Text, length: INT, with: Text| pad(text, length, &with));
    changing("pad")
        .register_into_engine(engine, move |text: &mut Text, length: INT, with: char| pad(text, length, with.encode_utf8(&mut [0; 4])));
    let replace = move |text: &mut Text, old: &str, new: &str| -> ScriptResult<()> {
        pay(ScriptSize::of_text(text.matches(old).count().saturating_mul(new.len()).saturating_add(text.len())))?;
        *text = text.replace(old, new).into();
        Ok(())
    };
    changing("replace").register_into_engine(engine, move |text: &mut Text, old: Text, new: Text| replace(text, &old, &new));
    changing("replace")
        .register_into_engine(engine, move |text: &mut Text, old: Text, new: char| replace(text, &old, new.encode_utf8(&mut [0; 4])));
    changing("replace")
        .register_into_engine(engine, move |text: &mut Text, old: char, new: Text| replace(text, old.encode_utf8(&mut [0; 4]), &new));
    changing("replace").register_into_engine(engine, move |text: &mut Text, old: char, new: char| {
        replace(text, old.encode_utf8(&mut [0; 4]), new.encode_utf8(&mut [0; 4]))
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

/// Sorts stably, whatever order the function makes up. The interpreter's own one ignores its errors. The function gives a number
/// above 0, or `false`, if `a` belongs behind `b`.
fn sort(context: &NativeCallContext<'_>, list: &mut Array, by: &FnPtr) -> ScriptResult<()> {
    let mut sorted: Array = Array::with_capacity(list.len());
    let belongs_behind = |a: &Dynamic, b: &Dynamic| -> ScriptResult<bool> {
        let answer: Dynamic = by.call_within_context(context, (a.clone(), b.clone()))?;
        match (answer.as_int(), answer.as_bool()) {
            (Ok(number), _) => Ok(number > 0),
            (_, Ok(before)) => Ok(!before),
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
