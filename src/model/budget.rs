//! The budget of one call of the library: steps, and bytes made, which everything pays that a pack or data can make run.
//!
//! A [`Door`] opens the budget at the entrances of the library (a build, a payload, a text that is rendered by itself);
//! a door inside another one counts on with it. The budget belongs to the thread, because callbacks of scripts and
//! functions of the library reach it without being given anything. Once it is spent, every later step fails too,
//! so code that handles the error cannot continue, and [`check`] at the end of a call finds it.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::value::MAX_DEPTH;
use super::{DEEPEST_WRITTEN, MOST_WRITTEN, Value, WorkLimits};

/// Bytes of text that are read or written within one step, and elements of a list or table.
pub(crate) const BYTES_PER_STEP: usize = 64;
const ELEMENTS_PER_STEP: usize = 4;

/// The work of one macro, in steps.
pub const STEPS_PER_MACRO: u64 = 16;
/// The work of one tag of Handlebars, or of one unit of Liquid, in steps.
pub const STEPS_PER_TAG: u64 = 8;

/// The budget is spent. `Display` says which bound was reached, and names the rule that ran.
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

/// Which bound was reached.
#[derive(Debug, Clone, Copy)]
enum Over {
    Steps,
    Bytes,
    /// One list or table is larger than what is written out at all.
    Size,
}

/// What belongs to the call besides the numbers.
#[derive(Debug, Default)]
struct Call {
    over: Option<Over>,
    limits: WorkLimits,
    /// The size of the data of the outermost door, in values. Smaller bounds of a door inside grow by it as well.
    parts: usize,
    /// What to do about it, if the caller cannot set the bounds.
    remedy: Option<&'static str>,
    /// The rule that was running.
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
    static CALL: RefCell<Call> = RefCell::default();
}

/// An entrance of the library. Work is counted until it is dropped.
#[derive(Debug)]
#[must_use = "work is counted as long as the door is open"]
pub struct Door {
    /// What was left of the outer door's bounds, and those bounds; `None`: this is the outermost door.
    outer: Option<(WorkLimits, WorkLimits)>,
    opened: WorkLimits,
    /// The budget belongs to the thread.
    here: PhantomData<*const ()>,
}

impl Door {
    /// Opens a budget, or counts on with the one that is open. What is left there cannot grow by that; smaller bounds
    /// hold as long as this door is open.
    pub fn open(limits: WorkLimits) -> Self {
        let inside = DOORS.replace(DOORS.get().saturating_add(1)) > 0;
        let before = left();
        let opened = if inside { before.at_most(limits) } else { limits };
        let outer = CALL.with_borrow_mut(|call| {
            if !inside {
                *call = Call { limits, ..Call::default() };
                return None;
            }
            let outer = call.limits;
            if opened != before {
                call.limits = outer.at_most(limits);
            }
            Some((before, outer))
        });
        leave(opened);
        Self { outer, opened, here: PhantomData }
    }

    /// The same for a call that is given data, whose size adds to the bounds.
    pub fn with_data(limits: WorkLimits, data: &Value) -> Self {
        let inside = DOORS.get() > 0;
        let parts = if inside {
            CALL.with_borrow(|call| call.parts)
        } else {
            data.nodes_within(MAX_DEPTH, WorkLimits::MOST_PARTS).unwrap_or(WorkLimits::MOST_PARTS)
        };
        let door = Self::open(limits.and(limits.more_for(parts)));
        CALL.with_borrow_mut(|call| call.parts = parts);
        door
    }

    /// Says what to do when its bounds are reached, where nobody can set them.
    pub(crate) fn with_remedy(self, remedy: &'static str) -> Self {
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
        let spent = self.opened.without(left());
        (spent.steps, spent.bytes)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        DOORS.set(DOORS.get().saturating_sub(1));
        let Some((before, limits)) = self.outer else {
            leave(WorkLimits { steps: 0, bytes: 0 });
            return RULE.set(None);
        };
        let rest = before.without(self.opened.without(left()));
        CALL.with_borrow_mut(|call| {
            // smaller bounds were reached, and the outer ones are not
            if rest.steps > 0 && rest.bytes > 0 {
                call.over = None;
            }
            call.limits = limits;
        });
        leave(rest);
    }
}

fn left() -> WorkLimits {
    WorkLimits { steps: STEPS.get(), bytes: BYTES.get() }
}

fn leave(left: WorkLimits) {
    STEPS.set(left.steps);
    BYTES.set(left.bytes);
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
        None => end(Over::Steps, steps),
    }
}

/// Pays for reading a text or a list of this many bytes.
///
/// # Errors
/// The bound of steps is reached.
#[inline]
pub fn read(bytes: usize) -> Result<(), Exceeded> {
    spend((bytes / BYTES_PER_STEP) as u64 + 1)
}

/// The steps of reading a value once, without the values in it.
#[inline]
#[must_use]
pub fn steps_of(value: &Value) -> u64 {
    1 + match value {
        Value::Text(text) => (text.len() / BYTES_PER_STEP) as u64,
        Value::List(list) => (list.len() / ELEMENTS_PER_STEP) as u64,
        Value::Map(map) => (map.len() / ELEMENTS_PER_STEP) as u64,
        _ => 0,
    }
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
        None => end(Over::Bytes, bytes as u64),
    }
}

/// Pays for a text, a list or a table of this many bytes that is being made: every later step fails, if these are too many.
#[inline]
pub(crate) fn charge(bytes: usize) {
    let _ = make(bytes);
}

/// Checks that so many bytes could be made, for what is free again at once, and pays for reading them.
///
/// # Errors
/// So many bytes cannot be made any more, or the bound of steps is reached.
pub fn hold(bytes: usize) -> Result<(), Exceeded> {
    if bytes > bytes_left() { end(Over::Bytes, bytes as u64) } else { read(bytes) }
}

/// Looks at the names of what was paid as a whole in this call and is kept for later ones, so that every call takes the same
/// work; nothing outside of a call.
pub(crate) fn paid<R>(look: impl FnOnce(&mut FxHashSet<Box<str>>) -> R) -> Option<R> {
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

/// A list or table is too large to be written out at all.
#[cold]
pub(crate) fn too_large() -> Exceeded {
    let _ = end(Over::Size, u64::MAX);
    Exceeded
}

/// Ends the work: every later step fails. Outside of every door, the one piece of work is compared with the bounds.
#[cold]
fn end(over: Over, asked: u64) -> Result<(), Exceeded> {
    if DOORS.get() == 0 {
        let limits = WorkLimits::default();
        let most = if let Over::Bytes = over { limits.bytes } else { limits.steps };
        return if asked <= most { Ok(()) } else { Err(Exceeded) };
    }
    let by = RULE.take();
    RULE.set(by.clone());
    CALL.with_borrow_mut(|call| {
        if call.over.is_none() {
            (call.over, call.by) = (Some(over), by);
        }
    });
    leave(WorkLimits { steps: 0, bytes: 0 });
    Err(Exceeded)
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
    STEPS.get() == 0 && DOORS.get() > 0 && CALL.with_borrow(|call| call.over.is_some())
}

/// Which bound was exceeded, by whom, and what to do.
#[must_use]
pub fn told() -> String {
    CALL.with_borrow(|call| {
        let by = call.by.as_ref().map(|name| format!(" in rule `{name}`")).unwrap_or_default();
        let WorkLimits { steps, bytes } = call.limits;
        let what = match call.over {
            Some(Over::Size) => {
                return format!(
                    "a list or table is written out or read{by} that comes to more than {MOST_WRITTEN} bytes or nests deeper than \
                     {DEEPEST_WRITTEN} levels; keep less in it"
                );
            }
            Some(Over::Bytes) => format!("makes more than {bytes} bytes of texts and data"),
            _ => format!("takes more than {steps} steps of work"),
        };
        let by = if by.is_empty() { by } else { format!("; it ended{by}") };
        let remedy = call.remedy.unwrap_or("let it do less, or let the embedding program allow more (`Scene::work`)");
        format!("this {what}{by}; {remedy}")
    })
}

/// Names a rule as what runs, until the result is dropped.
pub fn rule(name: &Arc<str>) -> Rule {
    Rule { before: RULE.replace(Some(name.clone())), here: PhantomData }
}

/// A rule that is running.
#[derive(Debug)]
#[must_use = "the rule runs as long as this is held"]
pub struct Rule {
    before: Option<Arc<str>>,
    here: PhantomData<*const ()>,
}

impl Drop for Rule {
    fn drop(&mut self) {
        RULE.set(self.before.take());
    }
}
