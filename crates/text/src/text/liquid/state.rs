//! The state of one rendering, and its budget of work.
//!
//! The crate would copy every value that it handles. Therefore it is given numbers instead: slots of the template's
//! constants and, after them, of the intermediate values of the current expression. The values are shared and not
//! copied.

use std::cell::RefMut;
use std::collections::BTreeSet;
use std::sync::Arc;

use liquid::model::{KString, KStringCow, KStringRef, ScalarCow, ValueCow, ValueView};
use liquid_core::Runtime;
use liquid_core::runtime::{PartialStore, Registers};
use rustc_hash::FxHashMap;

use super::val::{self, LiquidValue};
use super::words::{NAMED, VALUE};
use super::{LiquidOptions, carried};
use crate::diag::limits;
use crate::model::{Map, Value};
use crate::text::{Mistake, StepCounter, work};

type StateResult = Result<(), Mistake>;

/// A running loop, or a filter that evaluates an expression for an element.
pub(super) struct LoopTurn {
    pub name: Arc<str>,
    pub value: LiquidValue,
    pub place: Option<LoopPlace>,
}

/// The iteration, the number of iterations, and the columns of a table.
type LoopPlace = (usize, usize, Option<usize>);

/// The state of a rendering.
#[derive(Default)]
pub(super) struct RenderState {
    names: Value,
    pub options: LiquidOptions,
    steps: StepCounter,
    /// The position of the current tag.
    pub at: usize,
    constants: Arc<[LiquidValue]>,
    /// The intermediate values of the current expression.
    passing: Vec<LiquidValue>,
    /// The value of an expression before its filters, or as the expression of a filter.
    pub answer: LiquidValue,
    assigned: FxHashMap<Arc<str>, LiquidValue>,
    counted: FxHashMap<Arc<str>, LiquidValue>,
    cycles: FxHashMap<Arc<str>, usize>,
    /// The positions of earlier loops, by name and list, for `offset: continue`.
    pub came: FxHashMap<(Arc<str>, Arc<str>), usize>,
    pub turns: Vec<LoopTurn>,
}

/// The state of a rendering, borrowed until the end of a statement; the crate must not request it meanwhile.
pub(super) fn state(runtime: &dyn Runtime) -> RefMut<'_, RenderState> {
    runtime.registers().get_mut()
}

/// Calls a function with the state of a rendering; its mistake is passed through the crate.
pub(super) fn with<T>(runtime: &dyn Runtime, work: impl FnOnce(&mut RenderState) -> Result<T, Mistake>) -> liquid_core::Result<T> {
    work(&mut state(runtime)).map_err(carried)
}

impl RenderState {
    pub(super) fn new(names: &Value, options: &LiquidOptions, constants: &Arc<[LiquidValue]>) -> Self {
        Self {
            names: names.clone(),
            options: *options,
            steps: options.limits.counter(work::STEPS_PER_OPERATION),
            constants: constants.clone(),
            ..Self::default()
        }
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake::at(self.at, message))
    }

    pub(super) fn bound<T>(&self, message: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake::bound(self.at, message))
    }

    /// Spends work of the budget.
    pub(super) fn pay(&mut self, units: usize) -> StateResult {
        let counted = self.steps.count(units as u64);
        counted.or_else(|bound| self.bound(bound.message(|| format!("the template takes more than {} steps", self.options.limits.steps))))
    }

    /// Pays for a text of so many bytes before it is made, unless it is too long.
    pub(super) fn room(&mut self, bytes: usize) -> StateResult {
        if bytes > self.options.limits.output {
            return self.bound(format!("a text would be longer than {} bytes", self.options.limits.output));
        }
        self.pay(bytes / 32)
    }

    /// Pays for a list of so many elements, unless it is too long.
    pub(super) fn pay_list(&mut self, elements: usize) -> StateResult {
        if elements > limits::ELEMENTS {
            return self.bound(format!("a list would have {elements} elements, more than {}", limits::ELEMENTS));
        }
        self.pay(elements)
    }

    /// A value as text. The text of a list may be very long, so its cost is counted before it is made.
    pub(super) fn printed(&mut self, value: &LiquidValue) -> Result<Arc<str>, Mistake> {
        fn length(value: &Value, left: usize) -> usize {
            match value {
                Value::Text(text) => text.len(),
                Value::List(list) => list.iter().fold(0, |sum, v| if sum > left { sum } else { sum + 1 + length(v, left - sum) }),
                _ => 16,
            }
        }
        if let LiquidValue::Is(list @ Value::List(_)) = value {
            self.room(length(list, self.options.limits.output))?;
        }
        Ok(value.print())
    }

    pub(super) fn value(&self, slot: usize) -> LiquidValue {
        let value = match slot.checked_sub(self.constants.len()) {
            None => self.constants.get(slot),
            Some(slot) => self.passing.get(slot),
        };
        value.cloned().unwrap_or_default()
    }

    /// A slot for a value, until it is released.
    pub(super) fn keep(&mut self, value: LiquidValue) -> usize {
        self.passing.push(value);
        self.mark() - 1
    }

    /// The slot that comes next.
    pub(super) fn mark(&self) -> usize {
        self.constants.len() + self.passing.len()
    }

    /// Releases all slots from a mark on, except for constants.
    pub(super) fn release(&mut self, mark: usize) {
        self.passing.truncate(mark.saturating_sub(self.constants.len()));
    }

    /// A key as it is written, or the text of the value in a slot; `None` for a list or a table.
    fn key<'k>(&mut self, key: &'k ScalarCow<'_>) -> Result<Option<KStringCow<'k>>, Mistake> {
        match key.to_integer() {
            None => Ok(Some(key.to_kstr())),
            Some(slot) => match self.value(place(slot)) {
                LiquidValue::Is(Value::List(_) | Value::Map(_)) => Ok(None),
                value => Ok(Some(KStringCow::from_string(self.printed(&value)?.as_ref().to_owned()))),
            },
        }
    }

    fn lookup(&mut self, path: &[ScalarCow<'_>]) -> Result<LiquidValue, Mistake> {
        self.pay(path.len())?;
        let mut keys = path.iter();
        let root = keys.next().map(|root| root.to_kstr()).unwrap_or_default();
        let mut value = match (root.as_str(), keys.as_slice()) {
            (NAMED, []) => self.answer.clone(),
            (NAMED, [name, ..]) => {
                keys.next();
                self.key(name)?.map_or(LiquidValue::Missing, |name| self.named(&name))
            }
            (VALUE, [value, ..]) => {
                keys.next();
                value.to_integer().map_or(LiquidValue::Missing, |slot| self.value(place(slot)))
            }
            (name, _) => self.named(name),
        };
        for key in keys {
            if let LiquidValue::Is(Value::Text(text)) = &value {
                self.pay(text.len() / 32)?;
            }
            value = self.key(key)?.map_or(LiquidValue::Missing, |key| value.property(&key));
        }
        if self.options.strict && matches!(value, LiquidValue::Missing) {
            return self.fail("there is no such name");
        }
        Ok(value)
    }

    /// The whole numbers from the one in a slot to the one in another.
    pub(super) fn range(&mut self, from: usize, to: usize) -> Result<LiquidValue, Mistake> {
        let (from, to) = (self.value(from).whole(), self.value(to).whole());
        let count = to.saturating_sub(from).saturating_add(1).max(0);
        self.pay_list(place(count))?;
        Ok(LiquidValue::list((from..=to).map(Value::Int).collect()))
    }

    /// The name in the slot of a constant.
    pub(super) fn name(&self, slot: usize) -> Arc<str> {
        self.value(slot).print()
    }

    pub(super) fn assign(&mut self, name: usize, value: LiquidValue) {
        self.assigned.insert(self.name(name), value);
    }

    /// `increment` and `decrement`: what is printed.
    pub(super) fn count(&mut self, name: usize, by: i64) -> i64 {
        let name = self.name(name);
        let old = match self.counted.get(&name) {
            Some(LiquidValue::Is(value)) => value.as_i64(),
            _ => self.names.get(&name).and_then(Value::as_i64),
        };
        let old = old.unwrap_or(0);
        let new = old.saturating_add(by);
        self.counted.insert(name, LiquidValue::Is(Value::Int(new)));
        if by > 0 { old } else { new }
    }

    /// The index of the next item of a cycle.
    pub(super) fn cycle(&mut self, key: Arc<str>, items: usize) -> usize {
        let next = self.cycles.entry(key).or_default();
        let now = *next;
        *next = (now + 1) % items.max(1);
        now
    }

    /// Begins the iterations of a loop.
    pub(super) fn begin(&mut self, name: Arc<str>) {
        self.turns.push(LoopTurn { name, value: LiquidValue::Missing, place: None });
    }

    pub(super) fn turn(&mut self, value: LiquidValue, place: Option<LoopPlace>) -> StateResult {
        if let Some(turn) = self.turns.last_mut() {
            (turn.value, turn.place) = (value, place);
        }
        self.pay(1)
    }

    fn named(&self, name: &str) -> LiquidValue {
        for turn in self.turns.iter().rev() {
            if *turn.name == *name {
                return turn.value.clone();
            }
            match (name, turn.place) {
                ("forloop", Some((n, count, None))) => return LiquidValue::Is(about(n, count, None)),
                ("tablerowloop", Some((n, count, columns @ Some(_)))) => return LiquidValue::Is(about(n, count, columns)),
                _ => {}
            }
        }
        if let Some(value) = self.assigned.get(name).or_else(|| self.counted.get(name)) {
            return value.clone();
        }
        self.names.get(name).map_or(LiquidValue::Missing, |value| LiquidValue::Is(value.clone()))
    }
}

/// The number of a slot; the crate counts in `i64`.
pub(super) fn place(slot: i64) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

pub(super) fn handle(slot: usize) -> liquid_core::Value {
    liquid_core::Value::scalar(val::int(slot))
}

/// `forloop` and `tablerowloop`.
fn about(n: usize, count: usize, columns: Option<usize>) -> Value {
    let number = |n: usize| Value::Int(val::int(n));
    let mut fields: Vec<(&str, Value)> = vec![
        ("length", number(count)),
        ("index", number(n + 1)),
        ("index0", number(n)),
        ("first", Value::Bool(n == 0)),
        ("last", Value::Bool(n + 1 == count)),
        ("rindex", number(count - n)),
        ("rindex0", number(count - n - 1)),
    ];
    if let Some(columns) = columns {
        fields.extend([
            ("row", number(n / columns + 1)),
            ("col", number(n % columns + 1)),
            ("col0", number(n % columns)),
            ("col_first", Value::Bool(n.is_multiple_of(columns))),
            ("col_last", Value::Bool((n + 1).is_multiple_of(columns) || n + 1 == count)),
        ]);
    }
    Value::map(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect::<Map>())
}

/// The runtime that the crate sees: names resolve to slots, and an unknown name is nil. Everything else is delegated.
pub(super) struct NameRuntime<'r>(pub &'r dyn Runtime);

impl Runtime for NameRuntime<'_> {
    fn get(&self, path: &[ScalarCow<'_>]) -> liquid_core::Result<ValueCow<'_>> {
        with(self.0, |state| state.lookup(path).map(|value| ValueCow::Owned(handle(state.keep(value)))))
    }

    fn try_get(&self, path: &[ScalarCow<'_>]) -> Option<ValueCow<'_>> {
        self.get(path).ok()
    }

    fn registers(&self) -> &Registers {
        self.0.registers()
    }

    fn partials(&self) -> &dyn PartialStore {
        self.0.partials()
    }

    fn name(&self) -> Option<KStringRef<'_>> {
        self.0.name()
    }

    fn roots(&self) -> BTreeSet<KStringCow<'_>> {
        self.0.roots()
    }

    fn set_global(&self, name: KString, value: liquid_core::Value) -> Option<liquid_core::Value> {
        self.0.set_global(name, value)
    }

    fn set_index(&self, name: KString, value: liquid_core::Value) -> Option<liquid_core::Value> {
        self.0.set_index(name, value)
    }

    fn get_index<'a>(&'a self, name: &str) -> Option<ValueCow<'a>> {
        self.0.get_index(name)
    }
}
