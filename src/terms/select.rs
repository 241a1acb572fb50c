//! Which items: the one kind of selection that every verb and every query shares, including random choice.
//!
//! In this order: `after_last`, `while`, `where`, then for each part (`group_by`): `by`, `draw`, `end`, `skip`, `take`;
//! last `invert`. The result is in visiting order; verbs that keep the list's order sort it again.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::diag::limits;
use crate::model::item::{RequiredFields, core};
use crate::model::{FieldId, Item, Value};
use crate::text::work::{self, BudgetExceeded};
use crate::text::written;

use super::cond::CondComparison;
use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::{Expr, FieldRef, ScriptCall};
use super::memo::PassMemo;
use super::{BuildState, Cond, CondTest, PassReasons};

/// Which end a selection starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelectEnd {
    /// The oldest item.
    #[default]
    First,
    /// The newest item.
    Last,
}

/// A compiled selection.
#[derive(Debug, Clone, Default)]
pub struct Select {
    /// Only what follows the last item that meets this condition.
    pub since: Option<Cond>,
    /// The longest run of items, at the `end`, that meet this condition.
    pub run: Option<Cond>,
    /// Only items that meet this condition.
    pub filter: Option<Cond>,
    /// One part for each value of this.
    pub per: Option<Expr>,
    /// Order of visiting.
    pub by: Box<[SortKey]>,
    /// Random choice.
    pub draw: Option<RandomDraw>,
    /// The stream of draws.
    pub stream: Arc<str>,
    /// The end at which the selection starts.
    pub from: SelectEnd,
    /// How many items to skip.
    pub skip: Option<Expr>,
    /// How many items to take.
    pub take: Option<SelectCount>,
    /// Selects those of `where` that were *not* chosen.
    pub others: bool,
    /// Also items that are switched off.
    pub off: bool,
}

/// How many a selection takes.
#[derive(Debug, Clone)]
pub enum SelectCount {
    /// This many.
    Count(Expr),
    /// The first, and all that have an equal value of this key.
    Ties(SortKey),
}

/// How items are chosen randomly.
#[derive(Debug, Clone)]
pub enum RandomDraw {
    /// All, in a drawn order: n draws.
    Shuffle,
    /// One of them: one draw, none if there are none.
    One,
    /// Each item independently: one draw per item; kept if the draw is at most (or below) the value.
    Roll {
        /// The chance in 0..1.
        chance: Expr,
        /// Strictly below.
        strict: bool,
        /// What a draw is multiplied by before it is compared, such as 100 for percent.
        out_of: f64,
    },
    /// One of them by weight: one draw, only if there are more than one.
    Weight(Expr),
}

/// What a selection runs over.
#[derive(Clone, Copy)]
pub enum SelectSequence<'a> {
    /// Items of a list.
    Items(&'a [Item]),
    /// Items of a list with an unread stretch: so many items, which are not there yet, stand in front of the item of that index.
    Partly(&'a [Item], usize, usize),
    /// Some items of a list, by index.
    Some(&'a [Item], &'a [usize]),
    /// Elements of a list value.
    Values(&'a [Value]),
}

impl<'a> SelectSequence<'a> {
    /// How many.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            SelectSequence::Items(l) | SelectSequence::Partly(l, ..) => l.len(),
            SelectSequence::Some(_, l) => l.len(),
            SelectSequence::Values(l) => l.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at an index.
    #[must_use]
    pub fn cur(self, n: usize) -> CurrentItem<'a> {
        match self {
            SelectSequence::Items(l) => l.get(n).map_or(CurrentItem::None, |i| CurrentItem::Item(i, n)),
            SelectSequence::Partly(l, at, unread) => {
                l.get(n).map_or(CurrentItem::None, |i| CurrentItem::Item(i, if n < at { n } else { n + unread }))
            }
            SelectSequence::Some(l, idx) => {
                idx.get(n).and_then(|k| l.get(*k).map(|i| CurrentItem::Item(i, *k))).unwrap_or(CurrentItem::None)
            }
            SelectSequence::Values(l) => l.get(n).map_or(CurrentItem::None, |v| CurrentItem::Value(v, n)),
        }
    }

    fn enabled(self, n: usize) -> bool {
        match self.cur(n) {
            CurrentItem::Item(i, _) => i.enabled(),
            _ => true,
        }
    }
}

impl Select {
    /// Whether it selects everything, in the original order.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.filter.is_none() && self.is_local()
    }

    /// Whether each item is judged independently: without ends, parts, orders or chance.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.since.is_none()
            && self.run.is_none()
            && self.per.is_none()
            && self.by.is_empty()
            && self.draw.is_none()
            && self.skip.is_none()
            && self.take.is_none()
            && !self.others
    }

    /// Whether it can be evaluated from the newest end without reading the whole list.
    #[must_use]
    pub fn is_tail(&self) -> bool {
        let ends = self.since.is_some() || (self.from == SelectEnd::Last && (self.take.is_some() || self.run.is_some()));
        ends && self.per.is_none() && self.by.is_empty() && self.draw.is_none() && !self.others
    }

    /// Whether one item, considered alone, passes `where`; disabled items pass only with `include_disabled`.
    pub fn chooses(&self, env: &Env<'_>, enabled: bool) -> Result<bool, EvalFault> {
        if !enabled && !self.off {
            return Ok(false);
        }
        match &self.filter {
            None => Ok(true),
            Some(filter) => {
                let held = match env.holds(filter) {
                    Ok(held) => held,
                    Err(fault) => env.forgive(fault).map(|()| false)?,
                };
                if let Some(seen) = &env.st.coverage {
                    seen.judged(self, held, !held);
                }
                Ok(held)
            }
        }
    }

    /// Whether any part depends on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        let cond = |c: &Option<Cond>| c.as_ref().is_some_and(|c| c.refers(depth));
        let draw = match &self.draw {
            Some(RandomDraw::Roll { chance, .. }) => chance.refers(depth),
            Some(RandomDraw::Weight(e)) => e.refers(depth),
            _ => false,
        };
        cond(&self.since)
            || cond(&self.run)
            || cond(&self.filter)
            || draw
            || self.per.as_ref().is_some_and(|e| e.refers(depth))
            || self.by.iter().any(|k| k.refers(depth))
            || (depth > 0 && self.skip.as_ref().is_some_and(|e| e.refers(depth - 1)))
            || matches!(&self.take, Some(SelectCount::Count(e)) if depth > 0 && e.refers(depth - 1))
    }

    /// The chosen elements, by index into `seq`, in visiting order, part after part.
    pub fn run(&self, seq: SelectSequence<'_>, outer: &Env<'_>) -> Result<Vec<usize>, EvalFault> {
        self.run_for(seq, outer, None)
    }

    /// The same, for a pass that gives reasons.
    pub fn run_for(&self, seq: SelectSequence<'_>, outer: &Env<'_>, reasons: Option<&PassReasons>) -> Result<Vec<usize>, EvalFault> {
        Ok(self.parts_for(seq, outer, reasons)?.into_iter().flatten().collect())
    }

    /// The chosen elements of each part (one part without `group_by`).
    pub fn parts(&self, seq: SelectSequence<'_>, outer: &Env<'_>) -> Result<Vec<Vec<usize>>, EvalFault> {
        self.parts_for(seq, outer, None)
    }

    fn parts_for(&self, seq: SelectSequence<'_>, outer: &Env<'_>, reasons: Option<&PassReasons>) -> Result<Vec<Vec<usize>>, EvalFault> {
        let reasons = reasons.filter(|reasons| reasons.are_given());
        let candidates = self.candidates(seq, outer)?;
        let all = if self.others { candidates.clone() } else { Vec::new() };
        let mut parts = self.split(seq, candidates, outer)?;
        for part in &mut parts {
            let before = if reasons.is_some() { part.clone() } else { Vec::new() };
            self.pick(seq, part, outer, reasons)?;
            // each item is decided independently by its own draw, so no item wins over another
            if let Some(reasons) = reasons.filter(|_| !matches!(self.draw, Some(RandomDraw::Roll { .. }))) {
                reasons.tell_losers(seq, &before, part, outer.st);
            }
        }
        if !self.others {
            return Ok(parts);
        }
        let chosen: rustc_hash::FxHashSet<usize> = parts.into_iter().flatten().collect();
        Ok(vec![all.into_iter().filter(|n| !chosen.contains(n)).collect()])
    }

    fn candidates(&self, seq: SelectSequence<'_>, outer: &Env<'_>) -> Result<Vec<usize>, EvalFault> {
        outer.st.visit(seq.len())?;
        let enabled = (0..seq.len()).filter(|n| self.off || seq.enabled(*n));
        if self.since.is_none() && self.run.is_none() {
            return self.filtered(enabled, seq, outer);
        }
        let mut list: Vec<usize> = enabled.collect();
        if let Some(since) = &self.since {
            for (k, n) in list.iter().enumerate().rev() {
                if outer.inner(seq.cur(*n)).holds(since)? {
                    list.drain(..=k);
                    break;
                }
            }
        }
        if let Some(run) = &self.run {
            let mut length = 0;
            let ends: Box<dyn Iterator<Item = &usize>> =
                if self.from == SelectEnd::First { Box::new(list.iter()) } else { Box::new(list.iter().rev()) };
            for n in ends {
                if !outer.inner(seq.cur(*n)).holds(run)? {
                    break;
                }
                length += 1;
            }
            if self.from == SelectEnd::First {
                list.truncate(length);
            } else {
                list.drain(..list.len() - length);
            }
        }
        self.filtered(list.into_iter(), seq, outer)
    }

    /// The elements that `where` lets pass.
    fn filtered(&self, of: impl Iterator<Item = usize>, seq: SelectSequence<'_>, outer: &Env<'_>) -> Result<Vec<usize>, EvalFault> {
        let Some(filter) = &self.filter else { return Ok(of.collect()) };
        let (mut kept, mut prefilter) = (Vec::new(), None);
        for (nth, n) in of.enumerate() {
            // what depends on no item has been evaluated for the first one
            if nth == 1 && seq.len() >= limits::LONG_LIST && work::takes_shortcuts() {
                prefilter = Prefilter::of(filter, seq, outer);
            }
            let cur = seq.cur(n);
            if let (Some(prefilter), CurrentItem::Item(item, _)) = (&prefilter, cur) {
                if !prefilter.may_be_met_by(item) {
                    continue;
                }
                if prefilter.is_met_by(item) {
                    kept.push(n);
                    continue;
                }
            }
            let env = outer.inner(cur);
            match env.holds(filter) {
                Ok(true) => kept.push(n),
                Ok(false) => {}
                Err(fault) => env.forgive(fault)?,
            }
        }
        if let Some(seen) = &outer.st.coverage {
            let all = (0..seq.len()).filter(|n| self.off || seq.enabled(*n)).count();
            seen.judged(self, !kept.is_empty(), kept.len() < all);
        }
        Ok(kept)
    }

    fn split(&self, seq: SelectSequence<'_>, candidates: Vec<usize>, outer: &Env<'_>) -> Result<Vec<Vec<usize>>, EvalFault> {
        let Some(per) = &self.per else { return Ok(vec![candidates]) };
        let mut parts: indexmap::IndexMap<String, Vec<usize>> = indexmap::IndexMap::new();
        for n in candidates {
            let key = outer.inner(seq.cur(n)).eval(per)?;
            parts.entry(written::key(&key)?).or_default().push(n);
        }
        Ok(parts.into_values().collect())
    }

    fn pick(
        &self,
        seq: SelectSequence<'_>,
        part: &mut Vec<usize>,
        outer: &Env<'_>,
        reasons: Option<&PassReasons>,
    ) -> Result<(), EvalFault> {
        if !self.by.is_empty() {
            sort(part, &self.by, seq, outer)?;
        }
        self.chance(seq, part, outer, reasons)?;
        if self.from == SelectEnd::Last {
            part.reverse();
        }
        if let Some(skip) = &self.skip {
            let n = count(&outer.eval(skip)?).min(part.len());
            part.drain(..n);
        }
        match &self.take {
            Some(SelectCount::Count(n)) => part.truncate(count(&outer.eval(n)?)),
            Some(SelectCount::Ties(key)) => {
                if let Some(first) = part.first().copied() {
                    let best = key.value(seq.cur(first), outer)?;
                    let mut kept = Vec::new();
                    for n in part.iter() {
                        if key.value(seq.cur(*n), outer)? != best {
                            break;
                        }
                        kept.push(*n);
                    }
                    *part = kept;
                }
            }
            None => {}
        }
        Ok(())
    }

    fn chance(
        &self,
        seq: SelectSequence<'_>,
        part: &mut Vec<usize>,
        outer: &Env<'_>,
        reasons: Option<&PassReasons>,
    ) -> Result<(), EvalFault> {
        let st: &BuildState = outer.st;
        match &self.draw {
            None => {}
            Some(RandomDraw::Shuffle) => st.draws.borrow_mut().shuffle(&self.stream, part),
            Some(RandomDraw::One) if part.is_empty() => {}
            Some(RandomDraw::One) => {
                let k = st.draws.borrow_mut().pick(&self.stream, part.len());
                *part = part.get(k).copied().into_iter().collect();
            }
            Some(RandomDraw::Roll { chance, strict, out_of }) => {
                let mut kept = Vec::new();
                for n in part.iter() {
                    let chance = outer.inner(seq.cur(*n)).eval(chance)?.as_f64().unwrap_or(0.0);
                    let draw = st.draws.borrow_mut().draw(&self.stream);
                    if let (Some(reasons), CurrentItem::Item(item, _)) = (reasons, seq.cur(*n)) {
                        reasons.tell(item, [("draw", Value::Num(draw)), ("chance", Value::Num(chance / out_of))]);
                    }
                    let draw = draw * out_of;
                    if draw < chance || (!strict && draw <= chance) {
                        kept.push(*n);
                    }
                }
                *part = kept;
            }
            Some(RandomDraw::Weight(_)) if part.len() < 2 => {}
            Some(RandomDraw::Weight(weight)) => {
                let mut weights = Vec::with_capacity(part.len());
                for n in part.iter() {
                    weights.push(outer.inner(seq.cur(*n)).eval(weight)?.as_f64().unwrap_or(0.0).max(0.0));
                }
                let draw = st.draws.borrow_mut().draw(&self.stream);
                let total = weights.iter().sum::<f64>();
                for (n, weight) in part.iter().zip(&weights).filter(|_| reasons.is_some()) {
                    if let (Some(reasons), CurrentItem::Item(item, _)) = (reasons, seq.cur(*n)) {
                        reasons.tell(item, [("draw", Value::Num(draw)), ("weight", Value::Num(*weight)), ("total", Value::Num(total))]);
                    }
                }
                let mark = draw * total;
                let mut sum = 0.0;
                let won = weights.iter().position(|w| {
                    sum += w;
                    mark <= sum
                });
                *part = won.and_then(|k| part.get(k).copied()).or(part.last().copied()).into_iter().collect();
            }
        }
        Ok(())
    }
}

/// A count from data: a negative or missing one is 0, infinity means everything.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn count(value: &Value) -> usize {
    match value {
        Value::Int(n) => usize::try_from(*n).unwrap_or(0),
        other => other.as_f64().map_or(0, |n| if n > 0.0 { n.min(1e15) as usize } else { 0 }),
    }
}

/// The items a pass works on, by index, in the order of the list.
pub fn in_list_order(mut chosen: Vec<usize>) -> Vec<usize> {
    chosen.sort_unstable();
    chosen
}

/// An environment for a pass over `items`, without an enclosing item.
#[must_use]
pub fn pass_env<'a>(st: &'a BuildState, memo: &'a PassMemo) -> Env<'a> {
    Env { st, cur: CurrentItem::None, outer: None, memo, part: None }
}

/// One sort key.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The field.
    pub field: FieldRef,
    /// How its values compare.
    pub how: KeyComparison,
    /// Largest first.
    pub descending: bool,
}

/// How two values of a key are compared.
#[derive(Debug, Clone)]
pub enum KeyComparison {
    /// Numbers as numbers, texts by code point.
    Plain,
    /// Texts by UTF-16 code unit.
    Utf16,
    /// By position in a list of ranks. A nested list is one rank, an unknown value sorts last, and a list field takes
    /// its best rank.
    Ranks(Expr),
    /// By what a function of a script gives for the item.
    Script(Box<ScriptCall>),
    /// By a value of the item.
    Value(Expr),
}

/// A key's value for one item, ready to compare.
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    /// A number; a missing value is 0.
    Number(f64),
    /// A text.
    Text(Arc<str>),
    /// A text as UTF-16 units.
    Units(Arc<str>),
    /// No value.
    Missing,
}

impl SortKey {
    /// Whether the key's ranks depend on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        match &self.how {
            KeyComparison::Ranks(e) if depth > 0 && e.refers(depth) => true,
            KeyComparison::Script(s) => s.refers(depth),
            KeyComparison::Value(e) => e.refers(depth),
            _ => self.field.up >= depth,
        }
    }

    /// The value by which one element is sorted.
    pub fn value(&self, cur: CurrentItem<'_>, outer: &Env<'_>) -> Result<SortValue, EvalFault> {
        let env = outer.inner(cur);
        let value = match &self.how {
            KeyComparison::Script(scripted) => return Ok(plain(&scripted.eval(&env)?)),
            KeyComparison::Value(value) => env.eval(value)?,
            _ => env.field(&self.field)?,
        };
        // a key is compared with about so many others
        work::spend(value.steps().saturating_mul(work::STEPS_PER_OPERATION))?;
        Ok(match &self.how {
            KeyComparison::Ranks(ranks) => {
                let ranks = env.eval(ranks)?;
                let list = ranks.as_list().unwrap_or(&[]);
                #[allow(clippy::cast_precision_loss)]
                let rank = rank_of(&value, list)? as f64;
                SortValue::Number(rank)
            }
            KeyComparison::Utf16 => match &value {
                Value::Text(t) => SortValue::Units(t.clone()),
                other => plain(other),
            },
            KeyComparison::Plain | KeyComparison::Script(_) | KeyComparison::Value(_) => plain(&value),
        })
    }
}

fn plain(value: &Value) -> SortValue {
    match value {
        Value::Text(t) => SortValue::Text(t.clone()),
        Value::Bool(b) => SortValue::Number(f64::from(u8::from(*b))),
        Value::Null => SortValue::Missing,
        other => other.as_f64().map_or(SortValue::Missing, SortValue::Number),
    }
}

fn rank_of(value: &Value, ranks: &[Value]) -> Result<usize, BudgetExceeded> {
    let Value::List(values) = value else { return best(value, ranks) };
    values.iter().try_fold(ranks.len(), |least, value| Ok(least.min(best(value, ranks)?)))
}

/// The first rank of a value.
fn best(value: &Value, ranks: &[Value]) -> Result<usize, BudgetExceeded> {
    for (n, rank) in ranks.iter().enumerate() {
        let equal = if let Value::List(equal) = rank { equal } else { std::slice::from_ref(rank) };
        for wanted in equal {
            // a rank of `""` also represents a missing value
            if written::same(wanted, value)? || (value.is_null() && wanted.as_str() == Some("")) {
                return Ok(n);
            }
        }
    }
    Ok(ranks.len())
}

impl SortValue {
    fn compare(&self, other: &Self) -> Ordering {
        use SortValue::{Missing, Number, Text, Units};
        match (self, other) {
            (Number(a), Number(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            (Text(a) | Units(a), Text(b) | Units(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Text(a), Text(b)) => a.cmp(b),
            (Text(a) | Units(a), Text(b) | Units(b)) => compare_utf16(a, b),
            (Missing, Missing) => Ordering::Equal,
            (Missing, Number(b)) => 0.0f64.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Number(a), Missing) => a.partial_cmp(&0.0).unwrap_or(Ordering::Equal),
            (Missing, _) | (Number(_), _) => Ordering::Less,
            (_, Missing | Number(_)) => Ordering::Greater,
        }
    }
}

/// The order of two texts by UTF-16 code unit. What they have in common at their beginning is compared by bytes, which is as
/// fast as for other texts.
fn compare_utf16(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let at = (0..=common).rev().find(|at| a.is_char_boundary(*at)).unwrap_or(0);
    let rest = |text: &str| text.get(at..).unwrap_or_default().chars().next().map(|c| c.encode_utf16(&mut [0; 2]).first().copied());
    match (rest(a), rest(b)) {
        (Some(first), Some(second)) if first != second => first.cmp(&second),
        _ => a.get(at..).cmp(&b.get(at..)),
    }
}

/// Sorts `part` (indices into `seq`) by the keys, stably.
pub fn sort(part: &mut Vec<usize>, keys: &[SortKey], seq: SelectSequence<'_>, outer: &Env<'_>) -> Result<(), EvalFault> {
    let mut values = Vec::with_capacity(part.len() * keys.len());
    for n in part.iter() {
        for key in keys {
            values.push(key.value(seq.cur(*n), outer)?);
        }
    }
    let row = |n: usize| values.get(n * keys.len()..(n + 1) * keys.len()).unwrap_or_default();
    let mut order: Vec<usize> = (0..part.len()).collect();
    order.sort_by(|a, b| {
        for ((x, y), key) in row(*a).iter().zip(row(*b)).zip(keys) {
            let order = if key.descending { y.compare(x) } else { x.compare(y) };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    });
    *part = order.into_iter().filter_map(|n| part.get(n).copied()).collect();
    Ok(())
}

/// What an item must have to meet a condition, and with what it certainly meets it.
#[derive(Debug, Default)]
struct Prefilter {
    /// The list that the requirement is for.
    list: u16,
    wanted: RequiredFields,
    /// For each of these, the item must match one alternative.
    one_of: Vec<Vec<Prefilter>>,
    /// There is at least one requirement; one of several alternatives without any says nothing.
    has_requirement: bool,
    /// The condition says more than which fields must be off.
    has_other_tests: bool,
}

/// Reads what a condition on the items of a list requires.
struct ConditionReader<'a> {
    env: &'a Env<'a>,
    /// The list, which decides the defaults of their fields.
    list: u16,
}

impl Prefilter {
    /// What items must have to meet a condition; `None` if they are none.
    fn of(cond: &Cond, seq: SelectSequence<'_>, env: &Env<'_>) -> Option<Self> {
        let CurrentItem::Item(first, _) = seq.cur(0) else { return None };
        let mut prefilter = Self { list: first.list, ..Self::default() };
        ConditionReader { env, list: first.list }.read(cond, &mut prefilter);
        Some(prefilter)
    }

    /// Whether the item may meet the condition; false only if it certainly does not.
    #[inline]
    fn may_be_met_by(&self, item: &Item) -> bool {
        item.list != self.list || self.may_hold(item)
    }

    /// Whether the item certainly meets the condition.
    #[inline]
    fn is_met_by(&self, item: &Item) -> bool {
        !self.has_other_tests && item.list == self.list && item.none_is_on(&self.wanted)
    }

    #[inline]
    fn may_hold(&self, item: &Item) -> bool {
        item.may_have(&self.wanted) && (self.one_of.is_empty() || self.may_hold_one_of_each(item))
    }

    fn may_hold_one_of_each(&self, item: &Item) -> bool {
        self.one_of.iter().all(|some| some.iter().any(|prefilter| prefilter.may_hold(item)))
    }
}

impl ConditionReader<'_> {
    /// Adds what a condition requires. Returns false if evaluating it may fail: conditions after it are then not
    /// used.
    fn read(&self, cond: &Cond, prefilter: &mut Prefilter) -> bool {
        if let Cond::All(list) = cond {
            return list.iter().all(|c| self.read(c, prefilter));
        }
        if let Cond::Test { subject: Expr::Field(field), test, condition: false } = cond
            && let Some(id) = of_the_item(field)
        {
            return self.test(id, test, prefilter);
        }
        prefilter.has_other_tests = true;
        match cond {
            Cond::Const(_) => true,
            Cond::Any(list) => {
                let mut some: Vec<Prefilter> = Vec::with_capacity(list.len());
                let sure = list.iter().all(|c| {
                    let mut one = Prefilter::default();
                    let sure = self.read(c, &mut one);
                    some.push(one);
                    sure
                });
                if sure && some.iter().all(|one| one.has_requirement) {
                    prefilter.one_of.push(some);
                    prefilter.has_requirement = true;
                }
                sure
            }
            Cond::Not(inner) => self.read(inner, &mut Prefilter::default()),
            _ => false,
        }
    }

    fn test(&self, field: FieldId, test: &CondTest, prefilter: &mut Prefilter) -> bool {
        if let CondTest::And(list) = test {
            return list.iter().all(|t| self.test(field, t, prefilter));
        }
        let is_off_by_default = self.env.st.rules.is_off_by_default(self.list, field);
        if matches!(test, CondTest::Is(false)) && is_off_by_default {
            prefilter.has_other_tests |= !prefilter.wanted.off(field);
            return true;
        }
        prefilter.has_other_tests = true;
        // what has been evaluated cannot fail any more
        let memo = self.env.memo;
        let is_evaluated = |e: &Expr| match e {
            Expr::Const(_) => true,
            Expr::Memo(slot, _) => memo.get(*slot).is_some(),
            _ => false,
        };
        match test {
            CondTest::In(Expr::Memo(slot, _)) => match memo.set(*slot) {
                Some(set) if set.is_empty() => prefilter.wanted.refuse_all(),
                Some(_) => {}
                None => return false,
            },
            _ if !test.operands().into_iter().all(is_evaluated) => return false,
            _ => {}
        }
        let Ok(passes_when_missing) = self.passes_when_missing(field, test) else { return false };
        if wants_true(test) && is_off_by_default {
            prefilter.wanted.on(field);
        } else if !passes_when_missing {
            prefilter.wanted.there(field);
        }
        prefilter.has_requirement |= !passes_when_missing;
        // a pattern may exceed its bound
        !matches!(test, CondTest::Matches(_) | CondTest::MatchesOf(_))
    }

    /// Whether an item without the field may pass the test.
    fn passes_when_missing(&self, field: FieldId, test: &CondTest) -> Result<bool, EvalFault> {
        match self.env.st.rules.defaults.get(&(self.list, field)) {
            _ if field == core::ENABLED || matches!(test, CondTest::Given(_)) => Ok(true),
            Some(Value::Rule(_)) => Ok(true),
            default => test.holds(default.unwrap_or(&Value::Null), self.env),
        }
    }
}

/// The field, if the item holds it itself.
fn of_the_item(field: &FieldRef) -> Option<FieldId> {
    let (id, _) = field.field.as_ref()?;
    (field.up == 0 && field.rest.is_empty() && *id != core::INDEX && *id != core::SELF).then_some(*id)
}

/// Whether the test accepts only true values.
fn wants_true(test: &CondTest) -> bool {
    match test {
        CondTest::Is(wanted) => *wanted,
        CondTest::Eq(Expr::Const(value)) => value.truthy(),
        CondTest::Cmp(CondComparison::Gt, Expr::Const(value)) => value.as_f64().is_some_and(|n| n >= 0.0),
        _ => false,
    }
}
