//! What scripts pay: steps and bytes for values that they copy or make, and for functions that read large ones.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rhai::{Array, Blob, Dynamic, Engine, EvalAltResult, FnPtr, INT, ImmutableString, Map, NativeCallContext, Position};

use super::natives::{Kind, natives};
use super::place::{self, Place};
use super::printing;
use super::shown::View;
use super::words::CAUGHT;
use super::{ScriptLimits, json};
use crate::model::{Value, Written};
use crate::text::{work, written};

/// The work of one operation of the interpreter, in steps.
const STEPS_PER_OPERATION: u64 = 8;
/// The memory that one operation may take without a value that is copied: a number that is put into a list.
const BYTES_PER_OPERATION: usize = 16;
/// The work of a part of a value that is handed to a script, in steps.
pub(super) const STEPS_PER_VALUE: u64 = 4;
/// The bytes of an element of a list, or a field of a table.
pub(super) const BYTES_PER_NODE: usize = 64;
/// The deepest nesting of a value: the interpreter copies and drops values by recursion.
const DEEPEST: usize = 128;

type Outcome<T> = Result<T, Box<EvalAltResult>>;

thread_local! {
    /// What is left of the operations of the call that is running; callbacks and calls inside of it count too.
    static OPERATIONS: Cell<Option<u64>> = const { Cell::new(None) };
    /// The script was ended because it waited for its own values.
    static RACED: Cell<bool> = const { Cell::new(false) };
    /// What the running call was given, which may be larger than what a script may make.
    static GIVEN: RefCell<Given> = RefCell::default();
}

/// What a call was given. It is weighed only if the script holds something beyond its limits.
#[derive(Default)]
struct Given {
    values: Vec<Value>,
    weight: Option<Weight>,
    /// The bytes of the longest text that the script has: that became one of it, that it made, or that stands in it.
    longest: usize,
    /// The bytes that were added to texts of which it is not known how long they are.
    appended: usize,
}

/// A call of a script, as long as its operations are counted.
pub(super) struct Running(Option<u64>, Given, Place);

impl Running {
    /// Begins to count, or counts on if a script calls a script.
    ///
    /// `written` is the length of the script in bytes, which may hold a long text.
    pub(super) fn begin(operations: u64, written: usize) -> Self {
        let before = OPERATIONS.get();
        OPERATIONS.set(Some(before.map_or(operations, |left| left.min(operations))));
        Self(before, GIVEN.replace(Given { longest: written, ..Given::default() }), place::begin())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // what the inner call has used up is gone
        let left = OPERATIONS.get();
        OPERATIONS.set(self.0.map(|before| before.min(left.unwrap_or(before))));
        GIVEN.set(std::mem::take(&mut self.1));
        place::resume(std::mem::take(&mut self.2));
    }
}

/// Notes a value that the running call is given: it may be read, though a script could not make it.
pub(super) fn give(value: &Value) {
    GIVEN.with_borrow_mut(|given| given.values.push(value.clone()));
}

/// The elements of the lists that the running call was given, without those of lists inside of them.
fn elements() -> usize {
    GIVEN.with_borrow(|given| given.values.iter().filter_map(Value::as_list).map(<[Value]>::len).fold(0, usize::saturating_add))
}

/// The weight of everything that the running call was given.
fn given() -> Result<Weight, work::Exceeded> {
    GIVEN.with_borrow_mut(|given| {
        if let Some(weight) = given.weight {
            return Ok(weight);
        }
        let mut weight = Weight::default();
        for value in &given.values {
            // it may be larger written out than anything that can be paid
            written::read(value)?;
            weight.weigh(value);
        }
        given.weight = Some(weight);
        Ok(weight)
    })
}

/// Pays for a value that is handed to a script as a whole: its memory is free again after the call.
pub(super) fn handed(value: &Value) -> Result<(), work::Exceeded> {
    match value {
        Value::List(_) | Value::Map(_) => {
            let Written { values, bytes } = written::read(value)?;
            work::spend((values as u64).saturating_mul(STEPS_PER_VALUE))?;
            work::hold(values.saturating_mul(BYTES_PER_NODE).saturating_add(bytes))
        }
        other => {
            work::spend(STEPS_PER_VALUE)?;
            other.as_str().map_or(Ok(()), |text| work::hold(text.len()))
        }
    }
}

/// Pays for a value that is read as a whole.
pub(super) fn reading(value: &Value) -> Result<(), work::Exceeded> {
    let Written { values, bytes } = written::read(value)?;
    work::make(values.saturating_mul(BYTES_PER_NODE).saturating_add(bytes))
}

/// Why the interpreter was told to stop.
pub(super) fn stopped() -> String {
    if RACED.take() {
        wait();
        return "a variable is used while it is being changed".into();
    }
    if OPERATIONS.get() == Some(0) { "the script takes too many steps".into() } else { work::told() }
}

/// Counts operations, and registers the functions that pay for what they read. `plain` has the functions of the packages.
pub(super) fn register(engine: &mut Engine, plain: &Arc<Engine>, limits: ScriptLimits) {
    // sizes are checked here: the interpreter would refuse large values that a script is given, too
    engine.set_max_string_size(0).set_max_array_size(0).set_max_map_size(0);
    engine.on_progress(|_| (!count()).then_some(Dynamic::UNIT));
    engine.register_raw_fn(CAUGHT, [TypeId::of::<Dynamic>()], |ctx, args| {
        free();
        let at = ctx.call_position();
        let Some(error) = args.first() else { return Ok(Dynamic::UNIT) };
        caught(error, at)?;
        let race = error.read_lock::<Map>().is_some_and(|error| error.get("error").is_some_and(|name| name.to_string() == "ErrorDataRace"));
        if race { Err(raced(at)) } else { Ok(Dynamic::UNIT) }
    });
    engine.register_fn("parse_json", |ctx: NativeCallContext<'_>, text: ImmutableString| -> Outcome<Dynamic> {
        json::parsing(&text).map_err(|_| terminated(ctx.call_position()))?;
        ctx.engine().parse_json(text.as_str(), true).map(Dynamic::from_map)
    });
    // what filters ask of most items is not looked up again in the packages
    // it takes a copy of the text, so that the interpreter does not write the text back to the field that it was read from
    engine.register_fn("len", move |ctx: NativeCallContext<'_>, text: ImmutableString| -> Outcome<INT> {
        let length = text.chars().count();
        pay(&text.into(), &limits, ctx.call_position())?;
        Ok(INT::try_from(length).unwrap_or(INT::MAX))
    });
    for (names, types, kind) in natives() {
        for name in names {
            let plain = plain.clone();
            engine.register_raw_fn(*name, &types, move |ctx: NativeCallContext<'_>, args: &mut [&mut Dynamic]| {
                let at = ctx.call_position();
                match kind {
                    Kind::Walks => {
                        walked(args.first().map(|value| &**value), at)?;
                        checked(args.first().map(|value| &**value), at)?;
                    }
                    Kind::Rewrites => {
                        let length = args.first().map_or(0, |value| length_of(value));
                        work::spend(steps_of_letters(length)).map_err(|_| terminated(at))?;
                    }
                    Kind::Reads | Kind::Repeats | Kind::Prints => args.iter().try_for_each(|value| pay(value, &limits, at))?,
                    Kind::Sorts => {
                        args.iter().try_for_each(|value| pay(value, &limits, at))?;
                        sorted(args.first().map(|value| &**value), at)?;
                    }
                    Kind::Spells(steps) => {
                        args.iter().try_for_each(|value| pay(value, &limits, at))?;
                        spelled(args.first().map(|value| &**value), steps, at)?;
                    }
                    Kind::Grows => checked(args.first().map(|value| &**value), at)?,
                }
                if kind == Kind::Prints
                    && let Some(value) = args.first_mut()
                    && let Some(text) = printing::printed(value, &ctx).map_err(|_| terminated(at))?
                {
                    return Ok(text);
                }
                if kind == Kind::Repeats {
                    repeated(args, *name == "pad", &limits, at)?;
                }
                if *name == "replace" {
                    replacing(args, limits.text, at)?;
                }
                // the interpreter itself prints what these two give
                let called = match *name {
                    "print" => "to_string",
                    "debug" => "to_debug",
                    other => other,
                };
                let inner: NativeCallContext<'_> = (&*plain, called, None, ctx.global_runtime_state(), at).into();
                let result = inner.call_native_fn_raw(called, true, args);
                // a text inside of a table or list is not read when it grows, and its letters are paid by its length
                met(args.first().map_or(0, |value| text_of(value)));
                result
            });
        }
    }
}

/// The work of an error that a script catches, in steps: the interpreter describes it in a table.
const STEPS_PER_CAUGHT: u64 = 200;

/// Bytes of the texts of an error that are written within a step of the work of a build.
const CAUGHT_BYTES_PER_STEP: usize = 4;

/// Pays for an error that a script catches.
fn caught(error: &Dynamic, at: Position) -> Outcome<()> {
    let mut weight = Weight::default();
    weight.add(error, 0);
    let texts = (weight.text / CAUGHT_BYTES_PER_STEP) as u64;
    let steps = STEPS_PER_CAUGHT.saturating_add(weight.nodes() as u64).saturating_add(texts);
    work::spend(steps).and_then(|()| work::make(weight.text)).map_err(|_| terminated(at))
}

/// The work of waiting for a value that is being changed: the interpreter waits 50 ms and more before it gives up.
const STEPS_PER_RACE: u64 = 10_000_000;

/// A script that waits for its own values is ended, because no count of operations ends it.
fn raced(at: Position) -> Box<EvalAltResult> {
    RACED.set(true);
    terminated(at)
}

/// Pays for the wait of a script that has ended with it.
pub(super) fn wait() {
    let _ = work::spend(STEPS_PER_RACE);
}

/// The bytes of a text or of bytes, or the elements of a list; 0 of anything else.
fn length_of(value: &Dynamic) -> usize {
    let list = || value.read_lock::<Array>().map(|list| list.len());
    let bytes = || value.read_lock::<Blob>().map(|bytes| bytes.len());
    value.read_lock::<ImmutableString>().map(|text| text.len()).or_else(list).or_else(bytes).unwrap_or(0)
}

/// The bytes of a text; 0 of anything else.
pub(super) fn text_of(value: &Dynamic) -> usize {
    value.read_lock::<ImmutableString>().map_or(0, |text| text.len())
}

/// Pays for a walk over a text, list or bytes.
fn walked(value: Option<&Dynamic>, at: Position) -> Outcome<()> {
    let Some(value) = value else { return Ok(()) };
    let others = if value.is_array() { ELEMENTS_PER_STEP } else { BYTES_PER_STEP };
    let per_step = if value.is_string() { LETTERS_PER_STEP } else { others };
    work::spend((length_of(value) / per_step) as u64).map_err(|_| terminated(at))
}

/// Pays for the comparisons of the elements of a list that is sorted.
fn sorted(value: Option<&Dynamic>, at: Position) -> Outcome<()> {
    let length = value.map_or(0, length_of) as u64;
    let levels = u64::from(length.checked_ilog2().unwrap_or(0)).saturating_add(1);
    work::spend(length.saturating_mul(levels).saturating_mul(STEPS_PER_COMPARISON)).map_err(|_| terminated(at))
}

/// Pays for texts, names and bytes that are written with their escapes, so many steps for each byte.
fn spelled(value: Option<&Dynamic>, steps: u64, at: Position) -> Outcome<()> {
    let mut weight = Weight::default();
    if let Some(value) = value {
        weight.add(value, 0);
    }
    let bytes = weight.text.saturating_add(weight.names).saturating_add(weight.lists);
    work::spend((bytes as u64).saturating_mul(steps)).map_err(|_| terminated(at))
}

/// Pays for the look whether a list or table that was changed is within the limits: it walks over everything inside, here and
/// once more in the interpreter.
fn checked(value: Option<&Dynamic>, at: Position) -> Outcome<()> {
    let Some(value) = value.filter(|value| value.is_array() || value.is_map()) else { return Ok(()) };
    let mut weight = Weight::default();
    weight.add(value, 0);
    let nodes = weight.nodes() as u64;
    work::spend(nodes.saturating_add(nodes / 2)).map_err(|_| terminated(at))
}

/// Steps of the work of a build for an element and each level of a list that is sorted.
const STEPS_PER_COMPARISON: u64 = 4;

/// Elements of a list that are moved or dropped within a step of the work of a build.
const ELEMENTS_PER_STEP: usize = 2;

/// Bytes of a text whose letters are counted or copied within a step of the work of a build.
pub(super) const LETTERS_PER_STEP: usize = 4;

/// Steps for each byte of a text that is written anew letter by letter.
const STEPS_PER_LETTER: u64 = 2;

/// Bytes that are walked within a step of the work of a build.
const BYTES_PER_STEP: usize = 16;

/// The steps of a walk over so many bytes of a text.
pub(super) fn steps_of_walk(length: usize) -> u64 {
    (length / BYTES_PER_STEP) as u64
}

/// The steps of writing a text of so many bytes anew, letter by letter.
pub(super) fn steps_of_letters(length: usize) -> u64 {
    (length as u64).saturating_mul(STEPS_PER_LETTER)
}

/// Notes a text of so many bytes that the running script has.
pub(super) fn met(length: usize) {
    GIVEN.with_borrow_mut(|given| given.longest = given.longest.max(length));
}

/// Notes that so many bytes were added to a text somewhere.
pub(super) fn appended(length: usize) {
    GIVEN.with_borrow_mut(|given| given.appended = given.appended.saturating_add(length));
}

/// The bytes of the longest text that the running script may have.
pub(super) fn longest() -> usize {
    GIVEN.with_borrow(|given| given.longest.saturating_add(given.appended))
}

/// Counts and pays one operation; false if the call may do no more.
fn count() -> bool {
    let left = OPERATIONS.get();
    let counted = left.is_none_or(|left| left > 0);
    OPERATIONS.set(left.map(|left| left.saturating_sub(1)));
    let paid = work::spend(STEPS_PER_OPERATION).and_then(|()| work::make(BYTES_PER_OPERATION));
    counted && paid.is_ok()
}

/// The operation that the interpreter would have counted for a second try to find a function.
pub(super) fn operation() -> Outcome<()> {
    if count() { Ok(()) } else { Err(terminated(Position::NONE)) }
}

/// What the engine has put into the script is no operation of it.
pub(super) fn free() {
    OPERATIONS.set(OPERATIONS.get().map(|left| left.saturating_add(1)));
}

/// Pays for the copies that a function makes of one value: as many as a list that is padded gets, or one for each element that
/// it is compared with.
fn repeated(args: &[&mut Dynamic], pads: bool, limits: &ScriptLimits, at: Position) -> Outcome<()> {
    let length = args.first().and_then(|list| list.as_array_ref().ok().map(|list| list.len())).unwrap_or(0);
    let padded = || args.get(1).and_then(|length| length.as_int().ok()).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let (value, times) = if pads { (args.get(2), padded().saturating_sub(length)) } else { (args.get(1), length) };
    let Some(value) = value.filter(|value| pads || !(is_plain(value) || value.is_string() || value.is::<View>())) else { return Ok(()) };
    if pads && limits.list > 0 && times > limits.list {
        // it is refused before anything is copied
        return Ok(());
    }
    if is_plain(value) {
        return work::make(times.saturating_mul(size_of::<Dynamic>())).map_err(|_| terminated(at));
    }
    let mut weight = Weight::default();
    weight.add(value, 0);
    let bytes = weight.bytes();
    let steps = (weight.nodes() as u64).saturating_mul(times as u64);
    work::spend(steps).and_then(|()| work::make(bytes.saturating_mul(times))).map_err(|_| terminated(at))
}

/// Whether a value is copied like a number.
fn is_plain(value: &Dynamic) -> bool {
    value.is_int() || value.is_bool() || value.is_unit() || value.is_float() || value.is_char()
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

/// Pays for a value as if it were made now, unless it is larger than what a script may make or was given.
pub(super) fn pay(value: &Dynamic, limits: &ScriptLimits, at: Position) -> Outcome<()> {
    if is_plain(value) {
        return Ok(());
    }
    if value.is::<View>() {
        // a view holds no copy of what it shows
        return work::spend(1).and_then(|()| work::make(BYTES_PER_NODE)).map_err(|_| terminated(at));
    }
    let mut weight = Weight::default();
    let whole = weight.add(value, 0);
    met(weight.text);
    if !whole {
        // a script may catch the error, and try again
        work::spend(weight.nodes() as u64).map_err(|_| terminated(at))?;
        return Err(Box::new(EvalAltResult::ErrorRuntime(format!("a value is nested deeper than {DEEPEST}").into(), at)));
    }
    let nodes = weight.nodes();
    work::spend(nodes as u64).and_then(|()| work::make(weight.bytes())).map_err(|_| terminated(at))?;
    let over = |what: &str, own: usize, limit: usize, part: fn(&Weight) -> usize| {
        // 0 is no limit, as in the interpreter
        if limit == 0 || own <= limit || own <= given().map_or(0, |weight| part(&weight)) {
            return Ok(());
        }
        Err(Box::new(EvalAltResult::ErrorDataTooLarge(what.into(), at)))
    };
    over("Length of string", weight.text, limits.text, |given| given.text)?;
    // a list that was given is copied again and again, and to weigh all that was given takes long
    if limits.list > 0 && weight.lists > limits.list && weight.lists > elements() {
        over("Size of array/BLOB", weight.lists, limits.list, |given| given.lists)?;
    }
    over("Size of object map", weight.fields, limits.map, |given| given.fields)
}

pub(super) fn terminated(at: Position) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorTerminated(Dynamic::UNIT, at))
}

/// The size of a value: elements of all lists in it, fields of all tables, bytes of all texts and names, and the rest.
#[derive(Debug, Default, Clone, Copy)]
struct Weight {
    lists: usize,
    fields: usize,
    text: usize,
    /// The bytes of the names of fields, which have no limit together.
    names: usize,
    other: usize,
}

impl Weight {
    /// The memory of a copy.
    fn bytes(&self) -> usize {
        self.nodes().saturating_mul(BYTES_PER_NODE).saturating_add(self.text).saturating_add(self.names)
    }

    fn nodes(&self) -> usize {
        self.lists.saturating_add(self.fields).saturating_add(self.other).saturating_add(1)
    }

    /// Adds a value of the engine.
    fn weigh(&mut self, value: &Value) {
        match value {
            Value::Text(text) => self.text = self.text.saturating_add(text.len()),
            Value::List(list) => {
                self.lists = self.lists.saturating_add(list.len());
                list.iter().for_each(|value| self.weigh(value));
            }
            Value::Map(map) => {
                self.fields = self.fields.saturating_add(map.len());
                map.values().for_each(|value| self.weigh(value));
            }
            _ => {}
        }
    }

    /// Adds a value; false if it nests too deeply. Variables that closures share count too: a chain of them is dropped by
    /// recursion.
    fn add(&mut self, value: &Dynamic, depth: usize) -> bool {
        if depth > DEEPEST {
            return false;
        }
        if let Some(text) = value.read_lock::<ImmutableString>() {
            self.text = self.text.saturating_add(text.len());
        } else if let Some(list) = value.read_lock::<Array>() {
            self.lists = self.lists.saturating_add(list.len());
            return list.iter().all(|value| self.add(value, depth + 1));
        } else if let Some(table) = value.read_lock::<Map>() {
            self.fields = self.fields.saturating_add(table.len());
            self.names = table.keys().fold(self.names, |sum, name| sum.saturating_add(name.len()));
            return table.values().all(|value| self.add(value, depth + 1));
        } else if let Some(bytes) = value.read_lock::<Blob>() {
            self.lists = self.lists.saturating_add(bytes.len());
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            self.other = self.other.saturating_add(function.curry().len()).saturating_add(1);
            return function.iter_curry().all(|value| self.add(value, depth + 1));
        }
        true
    }
}
