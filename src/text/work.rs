//! The work of one call of the library: a counter of steps and of bytes made, which everything pays that a pack or data
//! can make run.
//!
//! A [`Door`] opens the counter at the entrances of the library (a build, a payload, a text that is rendered by itself);
//! a door inside another one counts on with it. The counter belongs to the thread, because callbacks of scripts and
//! functions of the library reach it without being given anything. Once a bound is reached, every later step fails too,
//! so code that handles the error cannot continue, and [`check`] at the end of a call finds it.
//!
//! The counter also knows which rule spent how much ([`rule`]) and what the largest piece of work was ([`piece`]), so
//! that the error can name them. Outside of every door, each single piece of work is compared with the default bounds.

mod ledger;
mod told;

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::model::memory;
use crate::model::value::MAX_DEPTH;
use crate::model::{Value, WorkLimits};

use ledger::{Ledger, Over, Spent};
pub use told::told;

/// Bytes of text that are read or written within one step.
const BYTES_PER_STEP: usize = 32;

/// What a table takes in memory that has a field: it reserves room for three.
const LEAST_TABLE: usize = 320;

/// The work of one macro, in steps.
pub const STEPS_PER_MACRO: u64 = 16;
/// The work of one tag of Handlebars, or of one unit of Liquid, in steps.
pub const STEPS_PER_TAG: u64 = 8;

/// A bound of the work was reached. `Display` says which one, and names the rule that spent most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded;

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&told())
    }
}

impl std::error::Error for Exceeded {}

impl From<Exceeded> for String {
    fn from(_: Exceeded) -> Self {
        told()
    }
}

thread_local! {
    /// What is left; 0 outside of every door.
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
    static DOORS: Cell<u32> = const { Cell::new(0) };
    /// The steps of the largest piece of work so far.
    static LARGEST: Cell<u64> = const { Cell::new(0) };
    static LEDGER: RefCell<Ledger> = RefCell::default();
}

fn left() -> Spent {
    Spent { steps: STEPS.get(), bytes: BYTES.get() }
}

fn leave(left: Spent) {
    STEPS.set(left.steps);
    BYTES.set(left.bytes);
}

/// An entrance of the library. Work is counted until it is dropped.
#[derive(Debug)]
#[must_use = "work is counted as long as the door is open"]
pub struct Door {
    /// What was left of the outer door's bounds, and those bounds; `None`: this is the outermost door.
    outer: Option<(Spent, WorkLimits)>,
    opened: Spent,
    /// The bounds of this door, without what data has added since it was opened.
    limits: WorkLimits,
    /// The data had been added before it was opened.
    extended: bool,
    /// The counter belongs to the thread.
    here: PhantomData<*const ()>,
}

impl Door {
    /// Opens a counter with these bounds, or counts on with the one that is open. What is left there cannot grow by
    /// that; smaller bounds hold as long as this door is open.
    pub fn open(limits: WorkLimits) -> Self {
        let own = Spent { steps: limits.steps, bytes: limits.bytes };
        let inside = DOORS.replace(DOORS.get().saturating_add(1)) > 0;
        LEDGER.with_borrow_mut(|ledger| {
            if !inside {
                // the door before it has cleared the rest; a rule may have run outside of every door
                if !ledger.spenders.is_empty() {
                    ledger.clear();
                }
                (ledger.limits, ledger.mark, ledger.current) = (limits, own, None);
                LARGEST.set(0);
                leave(own);
                return Self { outer: None, opened: own, limits, extended: false, here: PhantomData };
            }
            ledger.settle();
            let before = left();
            let now = Spent { steps: before.steps.min(own.steps), bytes: before.bytes.min(own.bytes) };
            let outer = Some((before, ledger.limits));
            if now.steps < before.steps || now.bytes < before.bytes {
                ledger.limits = ledger.limits.at_most(limits);
            }
            leave(now);
            ledger.mark = now;
            Self { outer, opened: now, limits: ledger.limits, extended: ledger.parts.is_some(), here: PhantomData }
        })
    }

    /// The same for a call that is given data, whose size is added to the bounds when they are reached.
    pub fn with_data(limits: WorkLimits, data: &Value) -> Self {
        let door = Self::open(limits);
        if door.outer.is_none() {
            LEDGER.with_borrow_mut(|ledger| ledger.given = Some(data.clone()));
        }
        door
    }

    /// Says what to do when its bounds are reached, where nobody can set them.
    pub(crate) fn with_remedy(self, remedy: &'static str) -> Self {
        if self.outer.is_none() {
            LEDGER.with_borrow_mut(|ledger| ledger.remedy = Some(remedy));
        }
        self
    }

    /// A counter with the default bounds, unless one is open already.
    pub fn join() -> Self {
        Self::open(WorkLimits::default())
    }

    /// The same, only if none is open: for what is called very often.
    pub(crate) fn unless_open() -> Option<Self> {
        (DOORS.get() == 0).then(Self::join)
    }

    /// What was spent since this door was opened: steps and bytes.
    #[must_use]
    pub fn spent(&self) -> (u64, u64) {
        let (now, more) = (left(), LEDGER.with_borrow(|ledger| self.added(ledger, self.limits)));
        let spent = |opened: u64, more: u64, now: u64| opened.saturating_add(more).saturating_sub(now);
        (spent(self.opened.steps, more.steps, now.steps), spent(self.opened.bytes, more.bytes, now.bytes))
    }

    /// What data has added to such bounds since this door was opened: a script or a template may be what reaches the
    /// bounds of the call around it first.
    fn added(&self, ledger: &Ledger, limits: WorkLimits) -> WorkLimits {
        match ledger.parts {
            Some(parts) if !self.extended => limits.more_for(parts),
            _ => WorkLimits { steps: 0, bytes: 0 },
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        DOORS.set(DOORS.get().saturating_sub(1));
        let Some((before, limits)) = self.outer else {
            leave(Spent::default());
            return LEDGER.with_borrow_mut(Ledger::clear);
        };
        let (steps, bytes) = self.spent();
        LEDGER.with_borrow_mut(|ledger| {
            ledger.settle();
            let more = self.added(ledger, limits);
            let rest = |before: u64, more: u64, spent: u64| before.saturating_add(more).saturating_sub(spent);
            let rest = Spent { steps: rest(before.steps, more.steps, steps), bytes: rest(before.bytes, more.bytes, bytes) };
            if rest.steps > 0 && rest.bytes > 0 {
                ledger.over = None;
            }
            ledger.limits = limits.and(more);
            leave(rest);
            ledger.mark = rest;
        });
    }
}

/// Pays steps.
///
/// # Errors
/// The bound of steps is reached.
#[inline]
pub fn spend(steps: u64) -> Result<(), Exceeded> {
    match STEPS.get().checked_sub(steps) {
        Some(rest) => {
            STEPS.set(rest);
            Ok(())
        }
        None => spent_out(steps, 0),
    }
}

/// Pays for reading a text or a list of this many bytes.
///
/// # Errors
/// The bound of steps is reached.
#[inline]
pub fn read(bytes: usize) -> Result<(), Exceeded> {
    spend(steps_of(bytes))
}

/// The steps of reading so many bytes.
#[must_use]
pub const fn steps_of(bytes: usize) -> u64 {
    (bytes / BYTES_PER_STEP) as u64 + 1
}

/// Pays for making a text, a list or a table of this many bytes.
///
/// # Errors
/// The bound of bytes or of steps is reached.
#[inline]
pub fn make(bytes: usize) -> Result<(), Exceeded> {
    match BYTES.get().checked_sub(bytes as u64) {
        Some(rest) => {
            BYTES.set(rest);
            read(bytes)
        }
        None => spent_out(0, bytes as u64),
    }
}

/// Pays for making a table of so many fields, without their values: what it takes in memory, not what is in use of it.
///
/// # Errors
/// The bound of bytes or of steps is reached.
pub fn make_table(fields: usize) -> Result<(), Exceeded> {
    make(fields.saturating_mul(memory::FIELD).max(if fields > 0 { LEAST_TABLE } else { 0 }))
}

/// Pays for reading so many bytes that are made and are free again at once.
///
/// # Errors
/// So many bytes cannot be made any more, or the bound of steps is reached.
pub fn hold(bytes: usize) -> Result<(), Exceeded> {
    make(bytes)?;
    if DOORS.get() > 0 {
        BYTES.set(BYTES.get().saturating_add(bytes as u64));
    }
    Ok(())
}

/// Looks at the names of what was paid as a whole in this call and is kept for later ones, so that every call takes the same
/// work; nothing outside of a call.
pub(super) fn paid<R>(look: impl FnOnce(&mut FxHashSet<Box<str>>) -> R) -> Option<R> {
    (DOORS.get() > 0).then(|| LEDGER.with_borrow_mut(|ledger| look(&mut ledger.paid)))
}

/// The steps that can still be spent.
pub(super) fn steps_left() -> u64 {
    if DOORS.get() == 0 { WorkLimits::default().steps } else { STEPS.get() }
}

/// The bytes that can still be made.
pub(super) fn bytes_left() -> usize {
    let left = if DOORS.get() == 0 { WorkLimits::default().bytes } else { BYTES.get() };
    usize::try_from(left).unwrap_or(usize::MAX)
}

/// A list or table is too large to be written out at all.
#[cold]
pub(super) fn too_large() -> Exceeded {
    if DOORS.get() > 0 {
        end(Over::Size, 0);
    }
    Exceeded
}

#[cold]
fn spent_out(steps: u64, bytes: u64) -> Result<(), Exceeded> {
    if DOORS.get() == 0 {
        // no counter is open: the one piece of work is compared with the bounds
        let limits = WorkLimits::default();
        return if steps <= limits.steps && bytes <= limits.bytes { Ok(()) } else { Err(Exceeded) };
    }
    if let Some(data) = LEDGER.with_borrow_mut(|ledger| ledger.given.take()) {
        extend(&data);
        // the bounds may be large enough now
        return spend(steps).and_then(|()| if bytes > 0 { make(usize::try_from(bytes).unwrap_or(usize::MAX)) } else { Ok(()) });
    }
    if bytes > 0 {
        end(Over::Bytes, bytes)
    } else {
        end(Over::Steps, steps)
    }
    Err(Exceeded)
}

/// Ends the work: every later step fails.
fn end(over: Over, asked: u64) {
    LEDGER.with_borrow_mut(|ledger| {
        ledger.settle();
        if ledger.over.is_none() {
            ledger.over = Some(over);
            ledger.asked = (asked, ledger.current);
        }
        leave(Spent::default());
        ledger.mark = Spent::default();
    });
}

/// Adds the share of the data that the call was given to what is left, and to the bounds.
fn extend(data: &Value) {
    let parts = data.nodes_within(MAX_DEPTH, usize::MAX).unwrap_or(0);
    LEDGER.with_borrow_mut(|ledger| {
        ledger.settle();
        ledger.parts = Some(parts);
        let more = ledger.limits.more_for(parts);
        ledger.limits = ledger.limits.and(more);
        let now = left();
        leave(Spent { steps: now.steps.saturating_add(more.steps), bytes: now.bytes.saturating_add(more.bytes) });
        ledger.mark = left();
    });
}

/// Whether the work is still within its bounds, which some code may have ignored on its way.
///
/// # Errors
/// A bound has been reached since the door was opened.
pub fn check() -> Result<(), Exceeded> {
    if is_over() { Err(Exceeded) } else { Ok(()) }
}

/// Whether a bound has been reached since the door was opened.
#[must_use]
pub fn is_over() -> bool {
    STEPS.get() == 0 && DOORS.get() > 0 && LEDGER.with_borrow(|ledger| ledger.over.is_some())
}

/// Charges what follows to a rule, until the result is dropped.
pub fn rule(name: &Arc<str>) -> Rule {
    let before = LEDGER.with_borrow_mut(|ledger| {
        ledger.settle();
        let number = ledger.number(name);
        ledger.current.replace(number)
    });
    Rule { before, here: PhantomData }
}

/// A rule that is running.
#[derive(Debug)]
#[must_use = "the rule pays as long as this is held"]
pub struct Rule {
    before: Option<usize>,
    here: PhantomData<*const ()>,
}

impl Drop for Rule {
    fn drop(&mut self) {
        LEDGER.with_borrow_mut(|ledger| {
            ledger.settle();
            ledger.current = self.before;
        });
    }
}

/// Watches one piece of work, such as one call of a script, until the result is dropped; the largest is named in the
/// error.
#[inline]
pub fn piece<'a>(kind: &'static str, name: &'a str) -> Piece<'a> {
    Piece { kind, name, before: STEPS.get(), here: PhantomData }
}

/// A piece of work that is being done.
#[derive(Debug)]
#[must_use = "the work is watched as long as this is held"]
pub struct Piece<'a> {
    kind: &'static str,
    name: &'a str,
    before: u64,
    here: PhantomData<*const ()>,
}

impl Drop for Piece<'_> {
    #[inline]
    fn drop(&mut self) {
        let spent = self.before.saturating_sub(STEPS.get());
        let largest = LARGEST.get();
        // a piece around a larger one says less than that one
        if spent > largest.saturating_add(largest / 4) {
            LARGEST.set(spent);
            self.tell();
        }
    }
}

impl Piece<'_> {
    #[cold]
    fn tell(&self) {
        let name: String = self.name.chars().take(80).collect();
        LEDGER.with_borrow_mut(|ledger| ledger.largest = Some(format!("{} `{name}`", self.kind)));
    }
}
