//! The budget of one call of the library: steps, and bytes that are made, whatever the rules and the data ask for.
//!
//! A [`BudgetScope`] opens the budget at the entrances of the library (a build, a payload, a text that is rendered by itself);
//! a door inside another one counts on with it. It is charged where values are evaluated and made, where passes visit items,
//! and where templates, macros and scripts turn. The budget belongs to the thread, because constructors of values and
//! callbacks of scripts reach it without being given anything. Once it is spent, every later step fails too, so code that
//! handles the error cannot continue, and [`check`] at the end of a call finds it.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::SizeExcess;
use crate::diag::limits;

// The prices, in steps of some ten nanoseconds.

/// Bytes of a text that are copied, compared or written within one step.
pub const BYTES_PER_STEP: usize = 64;
/// Characters that are read one by one within one step, by a function, a reader of macros or a script, and elements of a list or
/// table that are copied.
pub const READ_PER_STEP: usize = 4;
/// A macro, a tag, an operation of a script, a call of a function, and a pass that does nothing.
pub const STEPS_PER_OPERATION: u64 = 10;
/// A part of a pattern, a byte of a key or of a line of arithmetic, a tag of a value, that is compiled.
pub(crate) const STEPS_PER_COMPILED: u64 = 30;
/// Approximate memory of a text, a list or a field of a table, besides its content.
pub const BYTES_PER_VALUE: usize = 64;

/// The bounds on the work of one call: a build, a payload, a run of a program, or a text that is rendered by itself. They
/// are counted without a clock, so the same input reaches them on every machine. A pack can only lower them (`[limits]`).
/// The data that the call is given adds to both in proportion to its size, at most as much again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimits {
    /// Steps: an item that a pass visits, a value that is evaluated, a macro, a tag, an operation of a script … A step takes
    /// some ten nanoseconds.
    pub steps: u64,
    /// Bytes of all texts, lists and tables that are made, also of those that are no longer needed.
    pub bytes: u64,
}

impl Default for WorkLimits {
    // a build of the largest example takes less than a tenth of both; a hostile one ends within two seconds
    fn default() -> Self {
        Self { steps: 150_000_000, bytes: 256 << 20 }
    }
}

impl WorkLimits {
    /// The parts of the given data that double both bounds: texts, numbers, lists, tables. More add nothing.
    pub(crate) const MOST_PARTS: usize = 800_000;

    /// What data of so many parts adds to the bounds, at most as much again: a long chat or a large book takes more work
    /// than a short one, but a stranger's file must not set its own bounds.
    #[must_use]
    pub(crate) fn more_for(self, parts: usize) -> Self {
        let parts = parts.min(Self::MOST_PARTS) as u128;
        let share = |bound: u64| u128::from(bound) * parts / Self::MOST_PARTS as u128;
        let share = |bound: u64| u64::try_from(share(bound)).unwrap_or(u64::MAX);
        Self { steps: share(self.steps), bytes: share(self.bytes) }
    }

    /// The sum of both bounds each.
    #[must_use]
    pub(crate) fn and(self, more: Self) -> Self {
        Self { steps: self.steps.saturating_add(more.steps), bytes: self.bytes.saturating_add(more.bytes) }
    }

    /// The smaller of both bounds each.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        Self { steps: self.steps.min(other.steps), bytes: self.bytes.min(other.bytes) }
    }

    /// What is left of both after so much was spent.
    #[must_use]
    pub(crate) fn without(self, spent: Self) -> Self {
        Self { steps: self.steps.saturating_sub(spent.steps), bytes: self.bytes.saturating_sub(spent.bytes) }
    }
}

/// The budget is spent. `Display` says which bound was reached, and names the rule that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExceeded;

impl std::fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&excess_message())
    }
}

impl std::error::Error for BudgetExceeded {}

impl From<BudgetExceeded> for String {
    fn from(_: BudgetExceeded) -> Self {
        excess_message()
    }
}

/// Which bound was reached.
#[derive(Debug, Clone, Copy)]
enum BudgetBound {
    Steps,
    Bytes,
    /// One list or table is larger than what is written out at all.
    Size,
}

/// What belongs to the call besides the numbers.
#[derive(Debug, Default)]
struct CallBudget {
    over: Option<BudgetBound>,
    limits: WorkLimits,
    /// The size of the data of the outermost door, in values. Smaller bounds of a door inside grow by it as well.
    parts: usize,
    /// What to do about it, if the caller cannot set the bounds.
    remedy: Option<&'static str>,
    /// The rule that was running when a bound was reached.
    by: Option<Arc<str>>,
    /// What was paid as a whole, and is used again.
    paid: FxHashSet<Box<str>>,
}

thread_local! {
    /// What is left; 0 outside of every door.
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
    static DOORS: Cell<u32> = const { Cell::new(0) };
    static RULE: Cell<Option<Arc<str>>> = const { Cell::new(None) };
    static CALL: RefCell<CallBudget> = RefCell::default();
    static SHORTCUTS_ARE_OFF: Cell<bool> = const { Cell::new(false) };
}

/// An entrance of the library. Work is counted until it is dropped.
#[derive(Debug)]
#[must_use = "work is counted as long as the door is open"]
pub struct BudgetScope {
    /// What was left of the outer door's bounds, and those bounds; `None`: this is the outermost door.
    outer: Option<(WorkLimits, WorkLimits)>,
    opened: WorkLimits,
    /// The budget belongs to the thread.
    here: PhantomData<*const ()>,
}

impl BudgetScope {
    /// Opens a budget, or counts on with the one that is open. What is left there cannot grow by that; smaller bounds
    /// hold as long as this door is open.
    pub fn open(limits: WorkLimits) -> Self {
        let inside = DOORS.replace(DOORS.get().saturating_add(1)) > 0;
        let before = remaining();
        let opened = if inside { before.at_most(limits) } else { limits };
        let outer = CALL.with_borrow_mut(|call| {
            if !inside {
                *call = CallBudget { limits, ..CallBudget::default() };
                return None;
            }
            let outer = call.limits;
            if opened != before {
                call.limits = outer.at_most(limits);
            }
            Some((before, outer))
        });
        set_remaining(opened);
        Self { outer, opened, here: PhantomData }
    }

    /// The same for a call that is given data, whose size adds to the bounds: `parts` says how many values it has, at most so
    /// many.
    pub fn with_parts(limits: WorkLimits, parts: impl FnOnce(usize) -> usize) -> Self {
        let inside = DOORS.get() > 0;
        let parts = if inside { CALL.with_borrow(|call| call.parts) } else { parts(WorkLimits::MOST_PARTS) };
        let door = Self::open(limits.and(limits.more_for(parts)));
        CALL.with_borrow_mut(|call| call.parts = parts);
        door
    }

    /// Says what to do when its bounds are reached, where nobody can set them.
    pub fn with_remedy(self, remedy: &'static str) -> Self {
        CALL.with_borrow_mut(|call| call.remedy = Some(remedy));
        self
    }

    /// A budget with the default bounds, unless one is open already.
    pub fn join() -> Self {
        Self::open(if DOORS.get() == 0 { WorkLimits::default() } else { WorkLimits { steps: u64::MAX, bytes: u64::MAX } })
    }

    /// The same, only if none is open: for what is called very often.
    pub(crate) fn unless_open() -> Option<Self> {
        (DOORS.get() == 0).then(Self::join)
    }

    /// What was spent since this door was opened: steps and bytes.
    #[must_use]
    pub fn spent(&self) -> (u64, u64) {
        let spent = self.opened.without(remaining());
        (spent.steps, spent.bytes)
    }
}

impl Drop for BudgetScope {
    fn drop(&mut self) {
        DOORS.set(DOORS.get().saturating_sub(1));
        let Some((before, limits)) = self.outer else {
            set_remaining(WorkLimits { steps: 0, bytes: 0 });
            return RULE.set(None);
        };
        let rest = before.without(self.opened.without(remaining()));
        CALL.with_borrow_mut(|call| {
            // smaller bounds were reached, and the outer ones are not
            if rest.steps > 0 && rest.bytes > 0 {
                call.over = None;
            }
            call.limits = limits;
        });
        set_remaining(rest);
    }
}

fn remaining() -> WorkLimits {
    WorkLimits { steps: STEPS.get(), bytes: BYTES.get() }
}

fn set_remaining(left: WorkLimits) {
    STEPS.set(left.steps);
    BYTES.set(left.bytes);
}

/// Pays steps.
///
/// # Errors
/// The bound of steps is reached.
#[inline]
pub fn spend(steps: u64) -> Result<(), BudgetExceeded> {
    match STEPS.get().checked_sub(steps) {
        Some(rest) => {
            STEPS.set(rest);
            Ok(())
        }
        None => mark_exceeded(BudgetBound::Steps, steps),
    }
}

/// Pays for making a text, a list or a table of this many bytes.
///
/// # Errors
/// The bound of bytes or of steps is reached.
#[inline]
pub fn make(bytes: usize) -> Result<(), BudgetExceeded> {
    pay((bytes / BYTES_PER_STEP) as u64 + 1, bytes as u64)
}

/// Pays what [`BudgetScope::spent`] has counted for the same work before.
///
/// # Errors
/// The bound of bytes or of steps is reached.
#[inline]
pub fn pay(steps: u64, bytes: u64) -> Result<(), BudgetExceeded> {
    match BYTES.get().checked_sub(bytes) {
        Some(rest) => {
            BYTES.set(rest);
            spend(steps)
        }
        None => mark_exceeded(BudgetBound::Bytes, bytes),
    }
}

/// Pays for compiling a pattern or a schema of so many parts, each of which may take as much memory as two values; the
/// smallest one is 200 parts.
///
/// # Errors
/// The bound of bytes or of steps is reached.
pub(crate) fn compile(parts: u64) -> Result<(), BudgetExceeded> {
    let parts = parts.saturating_add(200);
    pay(parts.saturating_mul(STEPS_PER_COMPILED), parts.saturating_mul(2 * BYTES_PER_VALUE as u64))
}

/// Pays for a text, a list or a table of this many bytes that is being made: every later step fails, if these are too many.
#[inline]
pub(crate) fn charge(bytes: usize) {
    let _ = make(bytes);
}

/// Checks that so many bytes could be made, for what is free again at once.
///
/// # Errors
/// So many bytes cannot be made any more.
pub fn check_room(bytes: usize) -> Result<(), BudgetExceeded> {
    if bytes > bytes_left() { mark_exceeded(BudgetBound::Bytes, bytes as u64) } else { Ok(()) }
}

/// Reads or adds names of what was paid as a whole in this call and is kept for later ones, so that every call takes the same
/// work; nothing outside of a call.
pub(crate) fn with_paid<R>(look: impl FnOnce(&mut FxHashSet<Box<str>>) -> R) -> Option<R> {
    (DOORS.get() > 0).then(|| CALL.with_borrow_mut(|call| look(&mut call.paid)))
}

/// The steps that can still be spent.
pub(crate) fn steps_left() -> usize {
    let left = if DOORS.get() == 0 { WorkLimits::default().steps } else { STEPS.get() };
    usize::try_from(left).unwrap_or(usize::MAX)
}

/// The bytes that can still be made.
pub(crate) fn bytes_left() -> usize {
    let left = if DOORS.get() == 0 { WorkLimits::default().bytes } else { BYTES.get() };
    usize::try_from(left).unwrap_or(usize::MAX)
}

/// A list or table is too large to be written out at all, or holds more values than there are steps.
#[cold]
pub(crate) fn too_large(excess: SizeExcess) -> BudgetExceeded {
    let bound = if excess == SizeExcess::Values { BudgetBound::Steps } else { BudgetBound::Size };
    let _ = mark_exceeded(bound, u64::MAX);
    BudgetExceeded
}

/// Ends the work: every later step fails. Outside of every door, the one piece of work is compared with the bounds.
#[cold]
fn mark_exceeded(over: BudgetBound, asked: u64) -> Result<(), BudgetExceeded> {
    if DOORS.get() == 0 {
        let limits = WorkLimits::default();
        let most = if let BudgetBound::Bytes = over { limits.bytes } else { limits.steps };
        return if asked <= most { Ok(()) } else { Err(BudgetExceeded) };
    }
    let by = RULE.take();
    RULE.set(by.clone());
    CALL.with_borrow_mut(|call| {
        if call.over.is_none() {
            (call.over, call.by) = (Some(over), by);
        }
    });
    set_remaining(WorkLimits { steps: 0, bytes: 0 });
    Err(BudgetExceeded)
}

/// Whether the work is still within its bounds, which some code may have ignored on its way.
///
/// # Errors
/// A bound has been reached since the door was opened.
pub fn check() -> Result<(), BudgetExceeded> {
    if is_over() { Err(BudgetExceeded) } else { Ok(()) }
}

/// Whether a bound has been reached since the door was opened.
#[must_use]
pub fn is_over() -> bool {
    STEPS.get() == 0 && DOORS.get() > 0 && CALL.with_borrow(|call| call.over.is_some())
}

/// Which bound was exceeded, by whom, and what to do.
#[must_use]
pub fn excess_message() -> String {
    CALL.with_borrow(|call| {
        let by = call.by.as_ref().map(|name| format!(" in rule `{name}`")).unwrap_or_default();
        let WorkLimits { steps, bytes } = call.limits;
        let what = match call.over {
            Some(BudgetBound::Size) => {
                return format!(
                    "a list or table is written out or read{by} that comes to more than {} bytes or nests deeper than \
                     {} levels; keep less in it",
                    limits::OUTPUT_BYTES,
                    limits::OUTPUT_NESTING
                );
            }
            Some(BudgetBound::Bytes) => format!("makes more than {bytes} bytes of texts and data"),
            _ => format!("takes more than {steps} steps of work"),
        };
        let by = if by.is_empty() { by } else { format!("; it ended{by}") };
        let remedy = call.remedy.unwrap_or("let it do less, or let the embedding program allow more (`Scene::work`)");
        format!("this {what}{by}; {remedy}")
    })
}

/// Names a rule as what runs, until the result is dropped.
pub fn rule(name: &Arc<str>) -> RunningRule {
    RunningRule { before: RULE.replace(Some(name.clone())), here: PhantomData }
}

/// A rule that is running.
#[derive(Debug)]
#[must_use = "the rule runs as long as this is held"]
pub struct RunningRule {
    before: Option<Arc<str>>,
    here: PhantomData<*const ()>,
}

impl Drop for RunningRule {
    fn drop(&mut self) {
        RULE.set(self.before.take());
    }
}

/// Whether shortcuts are taken in this thread. Only tests switch them off: a build without them takes the slow way wherever there
/// is a fast one, and must give the same. Shortcuts are: a long chat that is read as far as it is needed, values that are
/// evaluated once per pass, the search for all keys of a book at once and the memory of what it found, prefilters of long lists,
/// the faster engine for patterns over texts with usual line ends, and caches of compiled texts.
#[must_use]
pub fn takes_shortcuts() -> bool {
    !SHORTCUTS_ARE_OFF.get()
}

/// Runs something that belongs to no call, such as what every other call finds done: nothing is counted in this thread.
pub fn without_budget<R>(run: impl FnOnce() -> R) -> R {
    /// Opens the doors again even if `run` panics.
    struct ClosedDoors(u32, WorkLimits, Option<Arc<str>>, CallBudget);
    impl Drop for ClosedDoors {
        fn drop(&mut self) {
            DOORS.set(self.0);
            set_remaining(self.1);
            RULE.set(self.2.take());
            CALL.replace(std::mem::take(&mut self.3));
        }
    }
    let _back = ClosedDoors(DOORS.replace(0), remaining(), RULE.take(), CALL.take());
    set_remaining(WorkLimits { steps: 0, bytes: 0 });
    run()
}

/// Runs something without shortcuts in this thread.
pub fn without_shortcuts<R>(run: impl FnOnce() -> R) -> R {
    /// Switches back even if `run` panics.
    struct SwitchGuard(bool);
    impl Drop for SwitchGuard {
        fn drop(&mut self) {
            SHORTCUTS_ARE_OFF.set(self.0);
        }
    }
    let _back = SwitchGuard(SHORTCUTS_ARE_OFF.replace(true));
    run()
}
