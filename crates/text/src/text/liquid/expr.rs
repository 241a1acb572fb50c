//! Expressions of the tags: the crate's filter chains as operands, and LiquidJS's operators between them.

use std::cmp::Ordering;

use liquid_core::parser::{FilterChain, TagToken};
use liquid_core::{Expression, Language, Result, Runtime, TagTokenIter};

use super::filters;
use super::state::{state, with};
use super::val::{self, LiquidValue};
use super::words::NAMED;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiquidOperator {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Contains,
    Not,
    And,
    Or,
}

const SIGNS: &[(&str, LiquidOperator)] = &[
    ("==", LiquidOperator::Equal),
    ("!=", LiquidOperator::Unequal),
    ("<=", LiquidOperator::LessEqual),
    (">=", LiquidOperator::GreaterEqual),
    ("<", LiquidOperator::Less),
    (">", LiquidOperator::Greater),
];
const WORDS: &[(&str, LiquidOperator)] =
    &[("contains", LiquidOperator::Contains), ("not", LiquidOperator::Not), ("and", LiquidOperator::And), ("or", LiquidOperator::Or)];

impl LiquidOperator {
    /// The operator or mark, other than a word, at the start of a text.
    pub(super) fn sign(text: &str) -> Option<&'static str> {
        let signs = SIGNS.iter().map(|(sign, _)| *sign).chain(["=", ",", ":"]);
        signs.into_iter().find(|sign| text.starts_with(sign))
    }

    pub(super) fn word(word: &str) -> Option<Self> {
        WORDS.iter().chain(SIGNS).find(|(text, _)| *text == word).map(|(_, op)| *op)
    }

    fn binds(self) -> u8 {
        match self {
            LiquidOperator::And | LiquidOperator::Or => 0,
            LiquidOperator::Not => 1,
            _ => 2,
        }
    }

    fn of(self, left: &LiquidValue, right: &LiquidValue, seen: &mut usize) -> bool {
        let order = || val::compare(left, right);
        match self {
            LiquidOperator::Equal => val::equals(left, right, seen),
            LiquidOperator::Unequal => !val::equals(left, right, seen),
            LiquidOperator::Less => order().is_some_and(Ordering::is_lt),
            LiquidOperator::LessEqual => order().is_some_and(Ordering::is_le),
            LiquidOperator::Greater => order().is_some_and(Ordering::is_gt),
            LiquidOperator::GreaterEqual => order().is_some_and(Ordering::is_ge),
            LiquidOperator::Contains => val::contains(left, right, seen),
            LiquidOperator::And => left.truthy() && right.truthy(),
            LiquidOperator::Or => left.truthy() || right.truthy(),
            LiquidOperator::Not => !right.truthy(),
        }
    }
}

/// Operands and operators in postfix order, and the filters that are applied to the result.
#[derive(Debug)]
pub(super) struct PostfixExpr {
    steps: Vec<PostfixStep>,
    filters: Option<Operand>,
}

/// One value with its filters, or a range.
#[derive(Debug)]
pub(super) enum Operand {
    Value(FilterChain),
    Range(Expression, Expression),
}

#[derive(Debug)]
enum PostfixStep {
    Operand(Operand),
    Op(LiquidOperator),
}

impl PostfixExpr {
    /// The rest of a tag.
    pub(super) fn read(tokens: &mut TagTokenIter<'_>, language: &Language) -> Result<Self> {
        let (mut steps, mut waiting, mut filters): (Vec<PostfixStep>, Vec<LiquidOperator>, _) = (Vec::new(), Vec::new(), None);
        while let Some(token) = tokens.next() {
            if let Some(op) = LiquidOperator::word(token.as_str()) {
                while let Some(last) = waiting.pop_if(|last| last.binds() > op.binds()) {
                    steps.push(PostfixStep::Op(last));
                }
                waiting.push(op);
            } else if token.as_str() == ":" && !steps.is_empty() && filters.is_none() {
                let filtered = |next: &TagToken<'_>| next.as_str().strip_prefix(NAMED).is_some_and(|rest| rest.starts_with('\n'));
                filters = Some(Operand::read(tokens.next().filter(filtered).unwrap_or(token), language)?);
            } else {
                steps.push(PostfixStep::Operand(Operand::read(token, language)?));
            }
        }
        steps.extend(waiting.into_iter().rev().map(PostfixStep::Op));
        if steps.is_empty() { Err(tokens.raise_error("a value is missing here")) } else { Ok(Self { steps, filters }) }
    }

    pub(super) fn value(&self, runtime: &dyn Runtime) -> Result<LiquidValue> {
        // nearly all expressions are one operand
        if let ([PostfixStep::Operand(operand)], None) = (self.steps.as_slice(), &self.filters) {
            return operand.value(runtime);
        }
        let mut stack: Vec<LiquidValue> = Vec::new();
        for step in &self.steps {
            let value = match step {
                PostfixStep::Operand(operand) => operand.value(runtime)?,
                PostfixStep::Op(op) => {
                    let right = stack.pop().unwrap_or(LiquidValue::Missing);
                    let left = if *op == LiquidOperator::Not { LiquidValue::Missing } else { stack.pop().unwrap_or(LiquidValue::Missing) };
                    let mut seen = 1;
                    let truth = op.of(&left, &right, &mut seen);
                    with(runtime, |state| state.pay(seen))?;
                    LiquidValue::bool(truth)
                }
            };
            stack.push(value);
        }
        let result = stack.into_iter().next().unwrap_or(LiquidValue::Missing);
        let Some(filters) = &self.filters else { return Ok(result) };
        state(runtime).answer = result;
        filters.value(runtime)
    }
}

impl Operand {
    fn read(token: TagToken<'_>, language: &Language) -> Result<Self> {
        const SAID: &str = "a value has ended here; only `|` and a filter may follow";
        if token.as_str().starts_with('(') {
            return token.expect_range().into_result_custom_msg(SAID).map(|(from, to)| Self::Range(from, to));
        }
        token.expect_filter_chain(language).into_result_custom_msg(SAID).map(Self::Value)
    }

    /// One value of a tag, without operators and filters.
    pub(super) fn alone(token: TagToken<'_>, language: &Language) -> Result<Self> {
        if token.as_str().contains("\n|") {
            return Err(token.raise_custom_error("filters cannot stand here: give the value a name with `assign`"));
        }
        Self::read(token, language)
    }

    pub(super) fn value(&self, runtime: &dyn Runtime) -> Result<LiquidValue> {
        let mark = state(runtime).mark();
        let value = match self {
            Self::Value(chain) => {
                let slot = filters::slot(&chain.evaluate(runtime)?);
                state(runtime).value(slot)
            }
            Self::Range(from, to) => {
                let (from, to) = (filters::slot(&from.evaluate(runtime)?), filters::slot(&to.evaluate(runtime)?));
                with(runtime, |state| state.range(from, to))?
            }
        };
        state(runtime).release(mark);
        Ok(value)
    }
}
