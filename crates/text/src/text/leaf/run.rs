//! Printing: runs the steps of a leaf to make one text; values that hold tags are run like leaves, up to a depth.

use std::borrow::Cow;

use crate::model::Value;
use crate::text::{TextLimits, js, truth};

use super::code::{BinaryOperator, LeafCode, LeafStep};
use super::print::{BoundedText, same};
use super::{LeafScope, LeafSyntax, TooLong};

/// Tags in values are evaluated up to a depth below the authored text; deeper values are printed unchanged. Steps in
/// values count, and so do comparing and compiling values.
const LIMITS: TextLimits = TextLimits::LEAF;
/// The cost of compiling a value, in steps: one per this many bytes, and this many per compiled step.
const BYTES_A_STEP: usize = 64;
const STEPS_A_STEP: usize = 32;

/// One rendering.
pub(super) struct LeafRun<'r> {
    pub(super) out: BoundedText,
    scope: &'r LeafScope<'r>,
    syntax: LeafSyntax,
    work: usize,
}

type ValueStack<'s> = Vec<Option<Cow<'s, Value>>>;

impl<'r> LeafRun<'r> {
    pub(super) fn new(scope: &'r LeafScope<'r>, syntax: LeafSyntax, most: usize) -> Self {
        Self { out: BoundedText::new(most), scope, syntax, work: LIMITS.steps }
    }

    /// Runs a text that is `depth` values below the authored one. Returns whether a tag printed anything but blanks.
    pub(super) fn text(&mut self, text: &str, code: &LeafCode, depth: usize) -> Result<bool, TooLong> {
        let mut stack: ValueStack<'_> = Vec::new();
        let mut produced = false;
        let mut at = 0;
        while let Some(step) = code.steps.get(at) {
            at += 1;
            if depth > 0 {
                self.spend(1)?;
            }
            match step {
                LeafStep::Text(part) => self.out.push(text.get(part.clone()).unwrap_or_default())?,
                LeafStep::Tag(place) => produced |= self.print(find(code, *place, self.scope), depth)?,
                LeafStep::Print => produced |= self.print(stack.pop().flatten(), depth)?,
                LeafStep::Path(place) => stack.push(find(code, *place, self.scope)),
                LeafStep::Constant(value) => stack.push(Some(Cow::Borrowed(value))),
                LeafStep::Not => {
                    let truth = truthy(stack.pop());
                    push(&mut stack, !truth);
                }
                LeafStep::Binary(operator) => {
                    let (right, left) = (stack.pop().flatten(), stack.pop().flatten());
                    push(&mut stack, decide(*operator, left.as_deref(), right.as_deref(), &mut self.work)?);
                }
                LeafStep::Unless(to) if truthy(stack.pop()) => {}
                LeafStep::Unless(to) | LeafStep::Jump(to) => at = *to,
            }
        }
        Ok(produced)
    }

    /// Prints a value and returns whether it is anything but blanks.
    fn print(&mut self, value: Option<Cow<'_, Value>>, depth: usize) -> Result<bool, TooLong> {
        let Some(value) = value else { return Ok(false) };
        let start = self.out.text.len();
        match &*value {
            Value::Text(text) if depth < LIMITS.depth && text.contains("{{") => self.value(text, depth + 1)?,
            other => self.out.value(other)?,
        }
        Ok(self.out.text.get(start..).is_some_and(|printed| !js::trim(printed).is_empty()))
    }

    fn value(&mut self, text: &str, depth: usize) -> Result<(), TooLong> {
        self.spend(text.len() / BYTES_A_STEP)?;
        let code = LeafCode::read(text, self.syntax);
        if code.steps.is_empty() {
            return self.out.push(text);
        }
        self.spend(code.steps.len().saturating_mul(STEPS_A_STEP))?;
        self.text(text, &code, depth).map(drop)
    }

    /// The steps that values have taken so far.
    pub(super) fn work(&self) -> usize {
        LIMITS.steps - self.work
    }

    fn spend(&mut self, steps: usize) -> Result<(), TooLong> {
        self.work = self.work.checked_sub(steps).ok_or(TooLong::Work)?;
        Ok(())
    }
}

fn find<'r>(code: &LeafCode, place: usize, scope: &'r LeafScope<'r>) -> Option<Cow<'r, Value>> {
    code.paths.get(place).and_then(|path| path.find(scope))
}

fn push(stack: &mut ValueStack<'_>, truth: bool) {
    stack.push(Some(Cow::Owned(Value::Bool(truth))));
}

fn truthy(value: Option<Option<Cow<'_, Value>>>) -> bool {
    value.flatten().is_some_and(|value| truth::javascript(&value))
}

/// `<`, `>` and the like need two numbers.
fn decide(operator: BinaryOperator, left: Option<&Value>, right: Option<&Value>, work: &mut usize) -> Result<bool, TooLong> {
    let truth = |value: Option<&Value>| value.is_some_and(truth::javascript);
    let numbers = || left.and_then(Value::as_f64).zip(right.and_then(Value::as_f64));
    Ok(match operator {
        BinaryOperator::Or => truth(left) || truth(right),
        BinaryOperator::And => truth(left) && truth(right),
        BinaryOperator::Equal => same(left, right, work)?,
        BinaryOperator::Unequal => !same(left, right, work)?,
        BinaryOperator::Less => numbers().is_some_and(|(a, b)| a < b),
        BinaryOperator::AtMost => numbers().is_some_and(|(a, b)| a <= b),
        BinaryOperator::Greater => numbers().is_some_and(|(a, b)| a > b),
        BinaryOperator::AtLeast => numbers().is_some_and(|(a, b)| a >= b),
    })
}
