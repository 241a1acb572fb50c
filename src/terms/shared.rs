//! Large facts and values that several places name: compiled once, shared by all of them, and evaluated once within one
//! evaluation of the outermost.
//!
//! Without that, forty values that each name the next one twice would be compiled and evaluated 2⁴⁰ times.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::model::Value;

use super::fault::EvalFault;

/// A compiled fact or value that several places hold.
#[derive(Debug)]
pub struct SharedValue<T> {
    /// What it holds.
    pub of: T,
    /// Which one it is; the numbers are those of one pack.
    pub id: u32,
    /// How many levels of items it depends on, 1 for the current item, 2 for the item around it.
    pub depends: u8,
    /// Whether evaluating it may take a draw.
    pub draws: bool,
}

impl<T> SharedValue<T> {
    /// Shares a value or condition; `refers` says whether it depends on the item so many levels up.
    pub fn new(id: u32, of: T, refers: impl Fn(&T, u8) -> bool, draws: impl FnOnce(&T) -> bool) -> Self {
        let depends = (0..u8::MAX).find(|depth| !refers(&of, *depth)).unwrap_or(u8::MAX);
        let draws = draws(&of);
        Self { of, id, depends, draws }
    }
}

/// What has been evaluated within the evaluations that are going on, outermost first.
#[derive(Debug, Default)]
pub(super) struct SharedResults(RefCell<Vec<SharedFrame>>);

/// One such evaluation.
#[derive(Debug)]
struct SharedFrame {
    /// The address of its environment, which lives as long as the evaluation.
    env: usize,
    known: FxHashMap<u32, Value>,
}

impl SharedResults {
    /// The frame that may hold the result: one that depends on no item is the same in all of them.
    fn frame(&self, env: usize, depends: u8) -> Option<usize> {
        let frames = self.0.borrow();
        if depends == 0 {
            return (!frames.is_empty()).then_some(0);
        }
        let last = frames.len().checked_sub(1)?;
        frames.get(last).filter(|frame| frame.env == env).map(|_| last)
    }

    fn get(&self, frame: usize, id: u32) -> Option<Value> {
        self.0.borrow().get(frame)?.known.get(&id).cloned()
    }
}

impl SharedResults {
    /// The result of a shared fact or value in an environment: taken from an evaluation that is going on, or made by `eval`.
    pub(super) fn result<E, T>(
        &self,
        env: &E,
        shared: &SharedValue<T>,
        eval: impl FnOnce(&T) -> Result<Value, EvalFault>,
    ) -> Result<Value, EvalFault> {
        if shared.draws {
            return eval(&shared.of);
        }
        let here = std::ptr::from_ref(env).cast::<u8>().addr();
        let Some(frame) = self.frame(here, shared.depends) else {
            self.0.borrow_mut().push(SharedFrame { env: here, known: FxHashMap::default() });
            let value = eval(&shared.of);
            self.0.borrow_mut().pop();
            return value;
        };
        if let Some(value) = self.get(frame, shared.id) {
            return Ok(value);
        }
        let value = eval(&shared.of)?;
        if let Some(frame) = self.0.borrow_mut().get_mut(frame) {
            frame.known.insert(shared.id, value.clone());
        }
        Ok(value)
    }
}
