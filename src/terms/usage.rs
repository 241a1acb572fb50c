//! What a build has used up, and its bounds: visits of items, the bytes of texts, the nesting of values and texts, so that
//! none refers to itself without end, the work of texts inside texts, and the size of values that it keeps.
//!
//! Shared parts of a value count each time, so nothing that a build keeps can come to more than its bound when it is written
//! out.

use std::cell::Cell;

use crate::diag::limits;
use crate::model::{SerializedSize, SizeExcess, Value};
use crate::text::{work, written};

use super::BuildState;
use super::fault::EvalFault;
use super::trees::elements;

/// Maximum depth of nested values and texts.
const DEEPEST: u32 = 48;

/// Maximum number of texts that may be expanded inside texts which are inside one text themselves.
const MOST_INNER_TEXTS: u32 = 1000;

/// Maximum number of bytes of all texts that are expanded inside one text.
const MOST_BYTES: usize = 4 << 20;

/// How many visits each element of the scene's lists adds to the pack's bound.
const VISITS_PER_ELEMENT: u64 = 200;

/// How a text begins to be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextNesting {
    /// No other text is being expanded.
    Outermost,
    /// It is inside another text.
    Inside,
    /// It must stay as it is, because a bound has been reached; whether this is the first such text inside the outermost
    /// one.
    Refused(bool),
}

/// What a build has used up so far.
#[derive(Debug, Default)]
pub(crate) struct BuildUsage {
    visits: Cell<u64>,
    /// The maximum number of visits; computed from the scene when the pack's own bound is reached.
    most_visits: Cell<Option<u64>>,
    /// How deep the current evaluation is nested.
    depth: Cell<u32>,
    /// How many texts are being expanded inside one another.
    open: Cell<u32>,
    /// How many texts have been expanded inside texts that are inside the outermost one.
    texts: Cell<u32>,
    /// The bytes of the texts that have been expanded inside the outermost one.
    bytes: Cell<usize>,
    /// A text inside the outermost one has been refused.
    refused: Cell<bool>,
    /// Steps of functions that have not been counted.
    steps: Cell<usize>,
}

impl BuildUsage {
    /// Enters one level of values that refer to values; false if that is too deep.
    pub(crate) fn enter_level(&self) -> bool {
        let fine = self.depth.get() < DEEPEST;
        self.depth.set(self.depth.get() + u32::from(fine));
        fine
    }

    /// Leaves one level.
    pub(crate) fn leave_level(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Begins to expand a text of this many bytes.
    pub(crate) fn begin_text(&self, bytes: usize) -> TextNesting {
        let open = self.open.get();
        if open == 0 {
            self.texts.set(0);
            self.bytes.set(0);
            self.refused.set(false);
        }
        let texts = self.texts.get();
        if texts >= MOST_INNER_TEXTS || (open > 0 && !self.spend(bytes)) || !self.enter_level() {
            return TextNesting::Refused(self.refuse());
        }
        self.texts.set(texts + u32::from(open > 1));
        self.open.set(open + 1);
        if open == 0 { TextNesting::Outermost } else { TextNesting::Inside }
    }

    /// Counts bytes of texts inside the outermost one; false if these are too many.
    fn spend(&self, bytes: usize) -> bool {
        let sum = self.bytes.get().saturating_add(bytes);
        self.bytes.set(sum);
        sum <= MOST_BYTES
    }

    /// How many texts are being expanded inside one another.
    pub(crate) fn open_texts(&self) -> u32 {
        self.open.get()
    }

    /// Whether macros stay as they are written: the text is inside another one, and a bound of such texts has been
    /// reached.
    pub(crate) fn is_spent(&self) -> bool {
        self.open.get() > 1 && (self.bytes.get() > MOST_BYTES || self.texts.get() >= MOST_INNER_TEXTS)
    }

    /// Notes that a text inside the outermost one, or its macros, stay as they are; whether it is the first such text.
    pub(crate) fn refuse(&self) -> bool {
        !self.refused.replace(true)
    }

    /// Whether a text inside the outermost one has been refused, which has been told.
    pub(crate) fn has_refused(&self) -> bool {
        self.refused.get()
    }

    /// Ends the expansion that was begun last, whose result has this many bytes. Returns whether the text may be used;
    /// if not, it stays as it was, and whether it is the first such text inside the outermost one.
    pub(crate) fn end_text(&self, bytes: usize) -> Result<(), bool> {
        let open = self.open.get().saturating_sub(1);
        self.open.set(open);
        self.leave_level();
        if open == 0 || self.spend(bytes) { Ok(()) } else { Err(self.refuse()) }
    }

    /// Counts steps of a function, for the text that is being expanded.
    pub(crate) fn count_steps(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// The steps of functions since the last call.
    pub(crate) fn take_steps(&self) -> usize {
        self.steps.take()
    }
}

impl BuildState {
    /// Counts work. Returns an error when the bound is reached: the pack's bound plus an allowance for each element
    /// of the scene's lists.
    pub fn visit(&self, items: usize) -> Result<(), EvalFault> {
        // the condition of each item is counted besides
        work::spend((items as u64).saturating_add(1))?;
        let sum = self.usage.visits.get().saturating_add(items as u64).saturating_add(1);
        self.usage.visits.set(sum);
        if sum <= self.rules.limits.pass_visits {
            return Ok(());
        }
        let most = self.usage.most_visits.get().unwrap_or_else(|| {
            let more = elements(&self.scene, DEEPEST).saturating_mul(VISITS_PER_ELEMENT);
            self.rules.limits.pass_visits.saturating_add(more)
        });
        self.usage.most_visits.set(Some(most));
        if sum > most {
            return Err(EvalFault::bound(format!(
                "passes visited more than {most} items; let passes select fewer items, or raise `pass_visits` in `[limits]` of the pack (at most 100,000,000)"
            )));
        }
        Ok(())
    }

    /// An error for a text longer than the pack allows.
    pub fn check_text_size(&self, bytes: usize) -> Result<(), EvalFault> {
        if bytes > self.rules.limits.text_bytes {
            return Err(EvalFault::bound(format!(
                "a text grew beyond {} bytes; let the rule make less, or raise `text_bytes` in `[limits]` of the pack (at most 256,000,000)",
                self.rules.limits.text_bytes
            )));
        }
        Ok(())
    }
}

/// The size of a value, which is paid; or what it would do ("would …"), if it nests too deeply, holds too many values, or would
/// be too long when it is written out. One text may be as long as the pack allows (`text_bytes`), and data that the scene holds
/// may be kept as it is.
pub(crate) fn check_kept(value: &Value, text_bytes: usize, scene: &Value) -> Result<SerializedSize, String> {
    let mut bytes = limits::OUTPUT_BYTES.max(text_bytes);
    let within = |bytes: usize| value.written(limits::NESTING, SerializedSize { values: limits::VALUES, bytes });
    let size = within(bytes).or_else(|excess| {
        if excess != SizeExcess::Bytes {
            return Err(excess);
        }
        let all = SerializedSize { values: usize::MAX, bytes: usize::MAX };
        bytes = bytes.saturating_add(scene.written(limits::NESTING, all).map_or(0, |scene| scene.bytes));
        within(bytes)
    });
    if matches!(value, Value::List(_) | Value::Map(_)) {
        // nothing can fail here: the next step fails, if this is too much
        let _ = work::spend(size.map_or(limits::VALUES, |size| size.values) as u64);
    }
    size.map_err(|excess| match excess {
        SizeExcess::Depth => format!("nest deeper than {} levels; nest it less deeply", limits::NESTING),
        SizeExcess::Values => format!("hold more than {} values; keep fewer in it", limits::VALUES),
        SizeExcess::Bytes => format!("come to more than {bytes} bytes when it is written out; keep less in it"),
    })
}

/// Pays for a value that is read as a whole, and gives its size.
///
/// # Errors
/// It nests too deeply, or the work of the call is spent.
pub(crate) fn read_size(value: &Value) -> Result<SerializedSize, EvalFault> {
    Ok(written::read(value)?)
}
