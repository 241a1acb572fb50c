//! What scripts may use up. Each operation of the interpreter counts, and pays the work of the build. A look at variables
//! (`on_var`) measures them now and then, and pays for what was copied of them since; the functions of the packages
//! (`natives.rs`) measure what they are given and make. All pay through [`charge`]. Views (`view.rs`) are counted too.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rhai::{Array, Blob, Dynamic, Engine, EvalAltResult, EvalContext, FnPtr, ImmutableString, Map, Position};

use super::{PrintLog, ScriptLimits};
use crate::diag::limits;
use crate::model::Value;
use crate::model::rights::ScriptRights;
use crate::text::work;

/// A value that a script reads or copies, and a letter that it writes, in steps.
pub(super) const STEPS_PER_VALUE: u64 = 2;
/// About every so many looks at variables, all variables of the function are measured, and pay for the other looks.
const LOOKS: u64 = 16;

pub(super) type ScriptResult<T> = Result<T, Box<EvalAltResult>>;

/// The state of the call that is running.
#[derive(Debug, Clone, Copy, Default)]
struct FuelState {
    /// What is left of the operations of the call; `None`: none is running.
    operations: Option<u64>,
    /// Steps that an operation takes: more if the script has large constants, of which each operation may make a copy.
    price: u64,
    /// Looks until the variables are measured, and the number from which the next wait is drawn.
    looks: u64,
    draw: u64,
    /// All that the call was given: what it makes of it may be as large.
    given: ScriptSize,
    raced: bool,
}

thread_local! {
    static STATE: Cell<FuelState> = Cell::default();
    /// The views that scripts hold.
    static VIEWS: Cell<usize> = const { Cell::new(0) };
    /// What scripts have printed.
    pub(super) static LOG: RefCell<PrintLog> = RefCell::default();
}

fn change(change: impl FnOnce(&mut FuelState)) {
    let mut state = STATE.get();
    change(&mut state);
    STATE.set(state);
}

/// A call of a script, as long as its operations are counted.
pub(super) struct RunningCall(FuelState);

impl RunningCall {
    /// Begins to count, or counts on if a script calls a script. `draw` is a number of the script's own.
    pub(super) fn begin(operations: u64, draw: u64) -> Self {
        let left = STATE.get().operations.unwrap_or(operations);
        let state =
            FuelState { operations: Some(left.min(operations)), price: work::STEPS_PER_OPERATION, draw: draw | 1, ..FuelState::default() };
        Self(STATE.replace(state))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        // what the inner call has used up is gone
        let left = STATE.get().operations;
        let operations = self.0.operations.map(|before| before.min(left.unwrap_or(before)));
        STATE.set(FuelState { operations, ..self.0 });
    }
}

/// Pays steps, and bytes that are made: all that scripts do is paid here.
pub(super) fn charge(steps: u64, bytes: usize) -> ScriptResult<()> {
    work::pay(steps.saturating_add((bytes / work::BYTES_PER_STEP) as u64), bytes as u64).map_err(|_| terminated())
}

pub(super) fn terminated() -> Box<EvalAltResult> {
    EvalAltResult::ErrorTerminated(Dynamic::UNIT, Position::NONE).into()
}

/// Ends a script that waits for its own values.
pub(super) fn raced() -> Box<EvalAltResult> {
    change(|state| state.raced = true);
    // the interpreter sleeps for 50 ms before it gives up; it ends all the same
    let _ = charge(10_000_000, 0);
    terminated()
}

/// Why the interpreter was told to stop.
pub(super) fn stopped() -> String {
    if STATE.get().raced {
        return "a variable is used while it is being changed".into();
    }
    if VIEWS.get() > limits::VALUES {
        return format!("the script holds more than {} items and tables", limits::VALUES);
    }
    if STATE.get().operations == Some(0) { "the script takes too many steps".into() } else { work::excess_message() }
}

/// Counts operations, and measures variables.
pub(super) fn register(engine: &mut Engine, limits: ScriptLimits) {
    engine.on_progress(|_| {
        let FuelState { operations: left, price, .. } = STATE.get();
        change(|state| state.operations = left.map(|left| left.saturating_sub(1)));
        let ends = left == Some(0) || VIEWS.get() > limits::VALUES || charge(price, 0).is_err();
        ends.then_some(Dynamic::UNIT)
    });
    #[expect(deprecated, reason = "the interpreter calls it volatile; its version is fixed")]
    engine.on_var(move |name, _, context| look(name, &context, &limits).map(|()| None));
}

/// One look at a variable. The interpreter may copy it, and checks no size where something is put into a place of it, so the
/// variables are measured now and then.
fn look(name: &str, context: &EvalContext<'_, '_, '_, '_, '_, '_>, limits: &ScriptLimits) -> ScriptResult<()> {
    let mut state = STATE.get();
    if state.looks > 0 {
        change(|state| state.looks -= 1);
        return Ok(());
    }
    // xorshift
    state.draw ^= state.draw << 13;
    state.draw ^= state.draw >> 7;
    state.draw ^= state.draw << 17;
    state.looks = state.draw % (2 * LOOKS - 1);
    STATE.set(state);
    for (of, _, value) in context.scope().iter_raw() {
        let size = ScriptSize::of(value)?;
        size.check(limits)?;
        // this look stands for the others, each of which may write a text anew for a letter
        let copy = size.steps().saturating_add((size.text as u64).saturating_mul(STEPS_PER_VALUE));
        charge(if of == name { LOOKS.saturating_mul(copy) } else { size.parts() as u64 }, 0)?;
    }
    Ok(())
}

/// The size of a value, with everything inside of it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ScriptSize {
    /// Elements of lists, and bytes of bytes.
    pub(super) lists: usize,
    pub(super) fields: usize,
    /// Bytes of texts and of the names of fields.
    pub(super) text: usize,
    /// Items and tables of the build, which pay for their copies themselves.
    pub(super) views: usize,
}

impl ScriptSize {
    /// Measures a value; an error if it nests too deeply, or is being changed.
    pub(super) fn of(value: &Dynamic) -> ScriptResult<Self> {
        let mut size = Self::default();
        size.add(value, 0)?;
        Ok(size)
    }

    fn add(&mut self, value: &Dynamic, depth: usize) -> ScriptResult<()> {
        if depth > limits::RULE_NESTING {
            // a script may catch the error, and try again
            charge(self.parts() as u64, 0)?;
            let message = format!("a value is nested deeper than {}", limits::RULE_NESTING);
            return Err(EvalAltResult::ErrorRuntime(message.into(), Position::NONE).into());
        }
        if value.is_int() || value.is_unit() || value.is_bool() {
            return Ok(());
        }
        if value.is_shared() && value.is_locked() {
            return Err(raced());
        }
        if let Some(text) = value.read_lock::<ImmutableString>() {
            self.text = self.text.saturating_add(text.len());
        } else if value.is::<LazyMap>() {
            self.views += 1;
        } else if let Some(list) = value.read_lock::<Array>() {
            self.lists = self.lists.saturating_add(list.len());
            return list.iter().try_for_each(|value| self.add(value, depth + 1));
        } else if let Some(table) = value.read_lock::<Map>() {
            self.fields = self.fields.saturating_add(table.len());
            self.text = table.keys().fold(self.text, |sum, name| sum.saturating_add(name.len()));
            return table.values().try_for_each(|value| self.add(value, depth + 1));
        } else if let Some(bytes) = value.read_lock::<Blob>() {
            self.lists = self.lists.saturating_add(bytes.len());
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            self.fields = self.fields.saturating_add(function.curry().len());
            return function.iter_curry().try_for_each(|value| self.add(value, depth + 1));
        }
        Ok(())
    }

    pub(super) fn parts(&self) -> usize {
        self.lists.saturating_add(self.fields).saturating_add(1)
    }

    /// The work of copying it, or of reading it once.
    pub(super) fn steps(&self) -> u64 {
        let parts = self.parts().saturating_sub(self.views) as u64;
        parts.saturating_mul(STEPS_PER_VALUE).saturating_add((self.text / work::READ_PER_STEP) as u64)
    }

    /// The memory of a copy.
    pub(super) fn bytes(&self) -> usize {
        self.parts().saturating_mul(size_of::<Dynamic>()).saturating_add(self.text)
    }

    /// Refuses a value that is larger than what a script may make, and than all that it was given.
    pub(super) fn check(&self, limits: &ScriptLimits) -> ScriptResult<()> {
        let given = STATE.get().given;
        let over = |what: &str, own: usize, limit: usize, given: usize| {
            if own <= limit.saturating_add(given) {
                return Ok(());
            }
            Err(EvalAltResult::ErrorDataTooLarge(what.into(), Position::NONE).into())
        };
        over("Length of string", self.text, limits.text, given.text)?;
        over("Size of array/BLOB", self.lists, limits.list, given.lists)?;
        over("Size of object map", self.fields, limits.map, given.fields)
    }
}

/// Notes and pays for a value that a script is given as a whole.
pub(super) fn hand(value: &Dynamic) -> ScriptResult<()> {
    let size = ScriptSize::of(value)?;
    change(|state| {
        state.given.lists = state.given.lists.saturating_add(size.lists);
        state.given.fields = state.given.fields.saturating_add(size.fields);
        state.given.text = state.given.text.saturating_add(size.text);
    });
    charge(size.parts() as u64, size.bytes())
}

/// Notes and pays for a list of so many parts that a script is given.
pub(super) fn note_list(length: usize) -> ScriptResult<()> {
    change(|state| state.given.lists = state.given.lists.saturating_add(length));
    charge(length as u64, length.saturating_mul(work::BYTES_PER_VALUE))
}

/// Makes operations dearer by the size of constants, which the interpreter copies without a look at a variable.
pub(super) fn hold_constants(parts: u64) {
    change(|state| state.price = state.price.saturating_add(parts * STEPS_PER_VALUE));
}

/// Pays for a value of the build that is read as a whole.
pub(super) fn reading(value: &Value) -> ScriptResult<()> {
    let read = crate::text::written::read(value).map_err(|_| terminated())?;
    charge(0, read.values.saturating_mul(work::BYTES_PER_VALUE).saturating_add(read.bytes))
}

/// What a script may read and write of a table, and the path of the table.
#[derive(Debug, Clone)]
pub(super) struct TableGuard {
    pub(super) rights: Arc<ScriptRights>,
    pub(super) path: Arc<str>,
    /// The table is an item that is given back, so changes of it are writes.
    pub(super) item: bool,
}

/// A table that is read lazily.
#[derive(Debug, Clone)]
pub(super) struct LazyMap {
    pub(super) value: Value,
    /// `None`: all of it may be read and changed.
    pub(super) guard: Option<TableGuard>,
    /// It is the scene, which no script changes in place.
    pub(super) scene: bool,
    pub(super) _held: HeldTable,
}

/// A table of the build that a script holds: each copy is counted and paid, and one that is dropped is counted no more.
#[derive(Debug)]
pub(super) struct HeldTable;

impl HeldTable {
    pub(super) fn new() -> Self {
        VIEWS.set(VIEWS.get().saturating_add(1));
        Self
    }
}

impl Clone for HeldTable {
    fn clone(&self) -> Self {
        // the next operation ends the script, if this was too much
        let _ = charge(STEPS_PER_VALUE, 0);
        Self::new()
    }
}

impl Drop for HeldTable {
    fn drop(&mut self) {
        VIEWS.set(VIEWS.get().saturating_sub(1));
    }
}
