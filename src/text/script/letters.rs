//! Letters of texts by their places: an interpreter walks a text to the place, which takes long in a long text, and writes it
//! anew if the letter is changed, or if a text is taken out of it. So all of that is paid by the length of the text.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, INT, ImmutableString, NativeCallContext, Position};

use super::paid::{LETTERS_PER_STEP, longest, steps_of_letters, steps_of_walk, terminated, text_of};
use crate::text::work;

type Outcome<T> = Result<T, Box<EvalAltResult>>;

/// Bytes of the longest text that may be meant, within a step of the work of a build.
const BYTES_PER_STEP_INSIDE: usize = 16;

/// Pays for a number in brackets behind a variable; `None`: behind something else.
pub(super) fn indexed(variable: Option<&Dynamic>, at: Position) -> Outcome<()> {
    let steps = match variable {
        // an element of a list is found at once
        Some(value) => value.read_lock::<ImmutableString>().map_or(0, |text| steps_of_walk(text.len())),
        // it is not looked whether a text stands there, because that is rare
        None => (longest() / BYTES_PER_STEP_INSIDE) as u64,
    };
    work::spend(steps).map_err(|_| terminated(at))
}

/// Bytes of a text that are searched, and written without what is found, within a step of the work of a build.
const SEARCHED_PER_STEP: usize = 8;

/// The bytes of the text in a variable; `None`: of any text that the script has.
fn length(variable: Option<&Dynamic>) -> usize {
    variable.map_or_else(longest, text_of)
}

/// Pays for a value that is put in the place of a letter, whose text is written anew.
pub(super) fn lettered(variable: Option<&Dynamic>, value: &Dynamic, at: Position) -> Outcome<()> {
    if !value.is_char() {
        return Ok(());
    }
    work::spend(steps_of_letters(length(variable))).map_err(|_| terminated(at))
}

/// Pays for a value that is taken out of a text by `-=`.
pub(super) fn lessened(variable: Option<&Dynamic>, value: &Dynamic, at: Position) -> Outcome<()> {
    if !(value.is_char() || value.is_string()) {
        return Ok(());
    }
    work::spend((length(variable) / SEARCHED_PER_STEP) as u64).map_err(|_| terminated(at))
}

/// Registers the functions that walk over a text and change nothing. They take a copy of the text, so that the interpreter
/// does not write the text back to the field that it was read from.
pub(super) fn register(engine: &mut Engine, plain: &Arc<Engine>) {
    let walk = |name: &'static str| {
        let plain = plain.clone();
        move |ctx: &NativeCallContext<'_>, text: ImmutableString, rest: Vec<Dynamic>| -> Outcome<Dynamic> {
            let at = ctx.call_position();
            let steps = if name == "get" { steps_of_walk(text.len()) } else { (text.len() / LETTERS_PER_STEP) as u64 };
            work::spend(steps).map_err(|_| terminated(at))?;
            let inner: NativeCallContext<'_> = (&*plain, name, None, ctx.global_runtime_state(), at).into();
            let mut args: Vec<Dynamic> = std::iter::once(text.into()).chain(rest).collect();
            let mut args: Vec<&mut Dynamic> = args.iter_mut().collect();
            inner.call_native_fn_raw(name, false, &mut args)
        }
    };
    for name in ["sub_string", "get", "parse_int"] {
        let walk = walk(name);
        engine.register_fn(name, move |ctx: NativeCallContext<'_>, text: ImmutableString, n: INT| walk(&ctx, text, vec![n.into()]));
    }
    for name in ["parse_int", "parse_float"] {
        let walk = walk(name);
        engine.register_fn(name, move |ctx: NativeCallContext<'_>, text: ImmutableString| walk(&ctx, text, Vec::new()));
    }
    let (by_numbers, by_range, by_inclusive) = (walk("sub_string"), walk("sub_string"), walk("sub_string"));
    engine.register_fn("sub_string", move |ctx: NativeCallContext<'_>, text: ImmutableString, from: INT, length: INT| {
        by_numbers(&ctx, text, vec![from.into(), length.into()])
    });
    engine.register_fn("sub_string", move |ctx: NativeCallContext<'_>, text: ImmutableString, range: Range<INT>| {
        by_range(&ctx, text, vec![Dynamic::from(range)])
    });
    engine.register_fn("sub_string", move |ctx: NativeCallContext<'_>, text: ImmutableString, range: RangeInclusive<INT>| {
        by_inclusive(&ctx, text, vec![Dynamic::from(range)])
    });
}
