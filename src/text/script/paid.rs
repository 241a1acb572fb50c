//! What scripts pay: steps and bytes for values that they copy or make, and for functions that read large ones.

use std::any::TypeId;
use std::cell::Cell;
use std::sync::Arc;

use rhai::{Array, Blob, Dynamic, Engine, EvalAltResult, FnPtr, INT, ImmutableString, Map, NativeCallContext, Position};

use super::written::{COPY, MADE};
use crate::text::work;

/// The work of one operation of the interpreter, in steps.
const STEPS_PER_OPERATION: u64 = 8;
/// The bytes of an element of a list, or a field of a table.
const BYTES_PER_NODE: usize = 64;
/// The deepest nesting of a value: the interpreter copies and drops values by recursion.
const DEEPEST: usize = 128;

type Outcome<T> = Result<T, Box<EvalAltResult>>;

thread_local! {
    /// What is left of the operations of the call that is running; callbacks and calls inside of it count too.
    static OPERATIONS: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A call of a script, as long as its operations are counted.
pub(super) struct Running(Option<u64>);

impl Running {
    /// Begins to count, or counts on if a script calls a script.
    pub(super) fn begin(operations: u64) -> Self {
        let before = OPERATIONS.get();
        OPERATIONS.set(Some(before.map_or(operations, |left| left.min(operations))));
        Self(before)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // what the inner call has used up is gone
        let left = OPERATIONS.get();
        OPERATIONS.set(self.0.map(|before| before.min(left.unwrap_or(before))));
    }
}

/// Why the interpreter was told to stop.
pub(super) fn stopped() -> String {
    if OPERATIONS.get() == Some(0) { "the script takes too many steps".into() } else { work::told() }
}

/// Counts operations, and registers the functions that pay. `plain` has the functions of the packages.
pub(super) fn register(engine: &mut Engine, plain: Engine, longest: usize) {
    engine.on_progress(|_| {
        let left = OPERATIONS.get();
        let counted = left.is_none_or(|left| left > 0);
        OPERATIONS.set(left.map(|left| left.saturating_sub(1)));
        (!counted || work::spend(STEPS_PER_OPERATION).is_err()).then_some(Dynamic::UNIT)
    });
    engine.register_raw_fn(COPY, [TypeId::of::<Dynamic>()], |ctx, args| {
        free();
        let Some(value) = args.first() else { return Ok(Dynamic::UNIT) };
        pay(value, ctx.call_position())?;
        Ok((**value).clone().flatten())
    });
    engine.register_raw_fn(MADE, [TypeId::of::<Dynamic>()], |ctx, args| {
        free();
        let Some(value) = args.first_mut() else { return Ok(Dynamic::UNIT) };
        pay(value, ctx.call_position())?;
        Ok(std::mem::take(*value).flatten())
    });
    let plain = Arc::new(plain);
    for (names, types) in readers() {
        for name in names {
            let plain = plain.clone();
            engine.register_raw_fn(*name, &types, move |ctx: NativeCallContext<'_>, args: &mut [&mut Dynamic]| {
                // the function reads what it is given, and makes a text or list of about that size
                for value in args.iter() {
                    pay(value, ctx.call_position())?;
                }
                if *name == "replace" {
                    replacing(args, longest, ctx.call_position())?;
                }
                let inner: NativeCallContext<'_> = (&*plain, *name, None, ctx.global_runtime_state(), ctx.call_position()).into();
                inner.call_native_fn_raw(name, true, args)
            });
        }
    }
}

/// The functions that pay are no operations of the script.
fn free() {
    OPERATIONS.set(OPERATIONS.get().map(|left| left.saturating_add(1)));
}

/// Functions that read a whole value without calling back, by the types of their arguments.
fn readers() -> Vec<(&'static [&'static str], Vec<TypeId>)> {
    let (list, text, table) = (TypeId::of::<Array>(), TypeId::of::<ImmutableString>(), TypeId::of::<Map>());
    let (bytes, any, int, letter) = (TypeId::of::<Blob>(), TypeId::of::<Dynamic>(), TypeId::of::<INT>(), TypeId::of::<char>());
    vec![
        (&["index_of", "contains"], vec![list, any]),
        (&["index_of"], vec![list, any, int]),
        (&["dedup", "sort", "sort_desc", "order", "order_desc", "reverse", "to_string", "to_debug"], vec![list]),
        (&["==", "!="], vec![list, list]),
        (&["pad"], vec![list, int, any]),
        (&["keys", "values", "to_json", "to_string", "to_debug"], vec![table]),
        (&["==", "!="], vec![table, table]),
        (&["contains"], vec![bytes, int]),
        (&["to_array", "reverse", "as_string"], vec![bytes]),
        (&["index_of", "contains", "starts_with", "ends_with", "split", "rsplit", "remove"], vec![text, text]),
        (&["index_of", "contains", "split", "rsplit", "remove"], vec![text, letter]),
        (&["index_of"], vec![text, text, int]),
        (&["index_of"], vec![text, letter, int]),
        (&["make_upper", "make_lower", "to_upper", "to_lower", "to_chars", "chars", "split", "trim", "len", "to_blob"], vec![text]),
        (&["pad"], vec![text, int, letter]),
        (&["pad"], vec![text, int, text]),
        (&["replace"], vec![text, text, text]),
        (&["replace"], vec![text, text, letter]),
        (&["replace"], vec![text, letter, text]),
        (&["replace"], vec![text, letter, letter]),
    ]
}

/// Refuses a replacement that would make a text beyond the limit, before it is made.
fn replacing(args: &[&mut Dynamic], longest: usize, at: Position) -> Outcome<()> {
    let text = |n: usize| args.get(n).map(|value| value.to_string()).unwrap_or_default();
    let (of, find, with) = (text(0), text(1), text(2));
    let times = if find.is_empty() { of.chars().count() + 1 } else { of.matches(find.as_str()).count() };
    let made = of.len().saturating_add(times.saturating_mul(with.len()));
    if longest > 0 && made.saturating_sub(times.saturating_mul(find.len())) > longest {
        return Err(Box::new(EvalAltResult::ErrorDataTooLarge("Length of string".into(), at)));
    }
    work::make(made).map_err(|_| terminated(at))
}

/// Pays for a value as if it were made now.
fn pay(value: &Dynamic, at: Position) -> Outcome<()> {
    if value.is_int() || value.is_bool() || value.is_unit() || value.is_float() || value.is_char() {
        return Ok(());
    }
    let mut weight = Weight::default();
    if !weight.add(value, 0) {
        return Err(Box::new(EvalAltResult::ErrorRuntime(format!("a value is nested deeper than {DEEPEST}").into(), at)));
    }
    let bytes = weight.nodes.saturating_mul(BYTES_PER_NODE).saturating_add(weight.text);
    work::spend(weight.nodes as u64).and_then(|()| work::make(bytes)).map_err(|_| terminated(at))
}

fn terminated(at: Position) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorTerminated(Dynamic::UNIT, at))
}

/// The number of parts of a value, and the bytes of its texts.
#[derive(Default)]
struct Weight {
    nodes: usize,
    text: usize,
}

impl Weight {
    /// Adds a value; false if it nests too deeply. A variable that closures share is not copied with them.
    fn add(&mut self, value: &Dynamic, depth: usize) -> bool {
        self.nodes += 1;
        if depth > DEEPEST {
            return false;
        }
        if value.is_shared() && depth > 0 {
            return true;
        }
        if let Some(text) = value.read_lock::<ImmutableString>() {
            self.text += text.len();
        } else if let Some(list) = value.read_lock::<Array>() {
            return list.iter().all(|value| self.add(value, depth + 1));
        } else if let Some(table) = value.read_lock::<Map>() {
            return table.iter().all(|(key, value)| {
                self.text += key.len();
                self.add(value, depth + 1)
            });
        } else if let Some(bytes) = value.read_lock::<Blob>() {
            self.text += bytes.len();
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            return function.iter_curry().all(|value| self.add(value, depth + 1));
        }
        true
    }
}
