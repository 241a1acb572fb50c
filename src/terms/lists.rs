//! The lists of a build, and the history that is read only as far as it is needed.
//!
//! A list is its items, plus at most one unread stretch of a long source (the chat) at one gap. Changes that passes
//! make to the stretch are queued as steps and applied to each message when it is read, newest first. What all unread
//! messages have in common ([`UnreadShape`]) answers most conditions without reading any. Nothing outside of this file
//! asks how far a list has been read: it names the items that it needs.
//! INVARIANT: reading one message changes no other item of the list.

use std::cell::{OnceCell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::diag::limits;
use crate::model::{FieldId, Item, Value, item::core};
use crate::text::work;

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::Expr;
use super::memo::PassMemo;
use super::place::ItemGap;
use super::select::{Select, SelectCount, SelectEnd, SelectSequence, count};
use super::trees::walk;
use super::{BuildState, Cond};

/// A list of a build.
#[derive(Default)]
pub struct BuildList {
    /// Its number.
    pub id: u16,
    /// The items that have been made, oldest first.
    pub items: Vec<Item>,
    /// The list has been filled from its scene path and is used instead of that path from now on.
    pub loaded: bool,
    /// An unread stretch; most lists have none.
    unread: Option<Box<HistoryCursor>>,
    /// Items that were read after one another, the newest in the chat first. They belong to `items[gap]`, but are put there
    /// together, because each would move all that were read before it. Whoever looks at `items` does not see this.
    pending: Vec<Item>,
    /// The index of the item that was read last.
    gap: usize,
}

/// The lists of a build by their numbers. Each is made when it is first used, because a pack has many and a small program uses
/// few.
pub(super) struct BuildLists(Vec<OnceCell<Box<RefCell<BuildList>>>>);

impl BuildLists {
    /// Creates `count` empty slots; each list is made when it is first used.
    pub(super) fn of(count: usize) -> Self {
        Self((0..count.max(1)).map(|_| OnceCell::new()).collect())
    }

    /// A list by its number; `None` if there are not so many.
    pub(super) fn get(&self, id: usize) -> Option<&RefCell<BuildList>> {
        self.0.get(id).map(|cell| made(cell, id))
    }

    /// The first list.
    #[expect(clippy::indexing_slicing, reason = "there is at least one")]
    pub(super) fn first(&self) -> &RefCell<BuildList> {
        made(&self.0[0], 0)
    }

    /// A list by its number, to be changed; the first one if there are not so many.
    #[expect(clippy::indexing_slicing, clippy::expect_used, reason = "just clamped, and there is at least one; just made")]
    pub(super) fn get_mut(&mut self, id: usize) -> &mut BuildList {
        let id = if id < self.0.len() { id } else { 0 };
        made(&self.0[id], id);
        self.0[id].get_mut().expect("just made").get_mut()
    }

    /// The lists that have been made, with their numbers.
    pub(super) fn used(&self) -> impl Iterator<Item = (usize, &RefCell<BuildList>)> {
        self.0.iter().enumerate().filter_map(|(id, cell)| Some((id, cell.get()?.as_ref())))
    }

    /// The same, to be changed.
    pub(super) fn used_mut(&mut self) -> impl Iterator<Item = (usize, &mut BuildList)> {
        self.0.iter_mut().enumerate().filter_map(|(id, cell)| Some((id, cell.get_mut()?.get_mut())))
    }
}

fn made(cell: &OnceCell<Box<RefCell<BuildList>>>, id: usize) -> &RefCell<BuildList> {
    cell.get_or_init(|| Box::new(RefCell::new(BuildList::empty(u16::try_from(id).unwrap_or(u16::MAX)))))
}

/// Steps that an unread item goes through, each with what it has remembered.
type UnreadSteps = Vec<(Rc<dyn LocalChange>, Rc<PassMemo>)>;

/// Elements of which the items of a list are made when they are read.
#[derive(Clone)]
pub struct UnreadSource {
    elements: Arc<Vec<Value>>,
    /// How many elements, counted from the oldest, have not been read.
    remaining: usize,
    /// The steps that are applied to each element when it is read.
    steps: UnreadSteps,
    /// The first element that is disabled, or the number of elements; computed when it is first needed.
    first_off: OnceCell<usize>,
}

impl UnreadSource {
    /// A list of the scene, as it is; `None` if it is so short that it is better read at once.
    #[must_use]
    pub fn of(elements: Arc<Vec<Value>>) -> Option<Self> {
        let is_long = elements.len() >= limits::LONG_LIST && work::takes_shortcuts();
        is_long.then(|| Self { remaining: elements.len(), elements, steps: Vec::new(), first_off: OnceCell::new() })
    }

    /// How many elements have not been read.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Adds a step that is applied to each element when it is read.
    pub fn then(&mut self, step: Rc<dyn LocalChange>, memo: Rc<PassMemo>) {
        self.steps.push((step, memo));
    }

    /// Whether unread elements may yield no item, so that the indices of later items change.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        let is_off = |e: &Value| e.get("enabled") == Some(&Value::Bool(false));
        let first_off = || *self.first_off.get_or_init(|| self.elements.iter().position(is_off).unwrap_or(self.elements.len()));
        self.steps.iter().any(|(step, _)| step.leaves_out()) || first_off() < self.remaining
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        // most elements have their fields in the same order, so the name is looked for where it was the last time
        let mut place = 0;
        self.elements.iter().filter_map(move |element| {
            let map = element.as_map()?;
            if let Some((_, text)) = map.get_index(place).filter(|(name, _)| ***name == *"text") {
                return text.as_str();
            }
            let (at, _, text) = map.get_full("text").or_else(|| map.get_full("content"))?;
            place = at;
            text.as_str()
        })
    }
}

/// An unread stretch of a long source, in front of `items[at]`.
struct HistoryCursor {
    /// The gap in which it lies.
    at: usize,
    source: UnreadSource,
    /// What all unread items have in common.
    shape: UnreadShape,
    /// Whether any unread text contains a macro that writes or draws; computed when it is first needed.
    effects: OnceCell<bool>,
}

impl HistoryCursor {
    fn new(at: usize, source: UnreadSource, shape: UnreadShape) -> Self {
        Self { at, source, shape, effects: OnceCell::new() }
    }
}

/// An unread stretch that was taken out of its list.
pub struct UnreadRest {
    /// How many elements it had.
    pub count: usize,
    /// The budget group of all its items, if they have one in common.
    pub group: String,
}

/// What is being read: an element of the source, or the item that earlier steps have made of it.
pub enum ReadElement {
    /// The element as it is.
    Value(Value),
    /// The item.
    Item(Item),
}

/// A change of one item that depends only on the item and the scene.
pub trait LocalChange {
    /// The resulting item; `None` if it is dropped.
    fn apply(&self, read: ReadElement, place: usize, env: &Env<'_>) -> Result<Option<Item>, EvalFault>;
    /// Whether it may drop an item.
    fn leaves_out(&self) -> bool;
}

/// What all unread items have in common.
#[derive(Debug, Clone, Default)]
pub struct UnreadShape {
    /// Fields that have this value in all items.
    pub known: Item,
    /// Fields that differ from item to item.
    pub varies: Vec<FieldId>,
    /// Any other field may be present too.
    pub open: bool,
}

impl BuildList {
    /// A list of this number that has not been filled.
    pub(super) fn empty(id: u16) -> Self {
        Self { id, ..Self::default() }
    }

    /// Its items for a selection, each with its index in the whole list, the unread items included. If unread elements may
    /// yield no item, these indices are those that the items would have if all of them did.
    #[must_use]
    pub fn seq(&self) -> SelectSequence<'_> {
        match &self.unread {
            None => SelectSequence::Items(&self.items),
            Some(unread) => SelectSequence::Partly(&self.items, unread.at, unread.source.remaining),
        }
    }

    /// How many items have been read or made, with those that are not in their place yet.
    pub(super) fn length(&self) -> usize {
        self.items.len() + self.pending.len()
    }

    /// The nth item from the end (1: the last one), if it is not in its place yet.
    pub(super) fn pending_from_end(&self, n: usize) -> Option<&Item> {
        let behind = self.items.len().saturating_sub(self.gap);
        self.pending.get(n.checked_sub(behind + 1)?)
    }

    /// Puts the items that were read into their place. If moving those behind them was too much, the next step fails.
    pub(super) fn settle(&mut self) {
        if !self.pending.is_empty() {
            let at = self.gap.min(self.items.len());
            let pending = std::mem::take(&mut self.pending);
            let _ = work::spend((self.items.len() - at).saturating_sub(pending.len()) as u64);
            self.items.splice(at..at, pending.into_iter().rev());
        }
    }

    /// The gap of the unread stretch.
    pub(super) fn unread_at(&self) -> Option<usize> {
        self.unread.as_ref().map(|unread| unread.at)
    }

    /// Whether all of it has been read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.unread.is_none()
    }

    /// The items before its unread stretch, each with its index; all of them if there is none.
    pub fn before_unread(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().take(self.unread_at().unwrap_or(self.items.len()))
    }

    /// The items after its unread stretch, each with its index; all of them if there is none.
    pub fn after_unread(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().skip(self.unread_at().unwrap_or(0))
    }

    /// Whether a gap is not before the unread stretch, so that reading more moves it.
    #[must_use]
    pub fn is_after_unread(&self, gap: ItemGap) -> bool {
        self.unread_at().is_none_or(|at| gap.at > at || (gap.at == at && !gap.early))
    }

    /// How many enabled items it has, if all that are unread are enabled.
    #[must_use]
    pub fn enabled_count(&self) -> usize {
        self.unread.as_ref().map_or(0, |unread| unread.source.remaining) + self.items.iter().filter(|item| item.enabled()).count()
    }

    /// Puts unread elements in front of the item of this index, in a list that has been read as a whole.
    pub fn insert_unread(&mut self, at: usize, source: UnreadSource, shape: UnreadShape) {
        self.unread = Some(Box::new(HistoryCursor::new(at, source, shape)));
    }

    /// Replaces the items that have been read.
    pub fn replace(&mut self, items: Vec<Item>) {
        if let Some(unread) = &mut self.unread {
            unread.at = unread.at.min(items.len());
        }
        self.items = items;
    }

    /// Inserts items at gaps (indices into the list as it is now); the order of items for one gap is kept.
    pub fn insert(&mut self, mut placed: Vec<(ItemGap, Item)>) {
        for (_, item) in &mut placed {
            item.list = self.id;
        }
        placed.sort_by_key(|(gap, _)| (gap.at, !gap.early));
        let unread_at = self.unread_at();
        let before = placed.iter().filter(|(gap, _)| unread_at.is_some_and(|at| gap.at < at || (gap.at == at && gap.early))).count();
        if let Some(unread) = &mut self.unread {
            unread.at += before;
        }
        let old = std::mem::take(&mut self.items);
        self.items.reserve(old.len() + placed.len());
        let mut new = placed.into_iter().peekable();
        for (n, item) in old.into_iter().enumerate() {
            while let Some((_, made)) = new.next_if(|(gap, _)| gap.at <= n) {
                self.items.push(made);
            }
            self.items.push(item);
        }
        self.items.extend(new.map(|(_, item)| item));
    }

    /// Appends items at the end.
    pub fn append(&mut self, items: impl IntoIterator<Item = Item>) {
        let id = self.id;
        self.items.extend(items.into_iter().map(|mut item| {
            item.list = id;
            item
        }));
    }

    /// Removes the items at these indices (ascending) from the list.
    pub fn remove(&mut self, indices: &[usize]) -> Vec<Item> {
        if let Some(unread) = &mut self.unread {
            unread.at -= indices.iter().filter(|n| **n < unread.at).count();
        }
        // what stands before the first of them stays where it is
        let Some(first) = indices.first().copied().filter(|first| *first < self.items.len()) else { return Vec::new() };
        let mut out = Vec::with_capacity(indices.len());
        let mut next = indices.iter().copied().peekable();
        for (n, item) in (first..).zip(self.items.split_off(first)) {
            if next.next_if_eq(&n).is_some() {
                out.push(item);
            } else {
                self.items.push(item);
            }
        }
        out
    }
}

impl UnreadShape {
    /// Whether a condition holds for all unread items or for none; `None` if that depends on the item.
    pub fn judge(&self, cond: &Cond, env: &Env<'_>) -> Result<Option<bool>, EvalFault> {
        Ok(match cond {
            Cond::Const(b) => Some(*b),
            Cond::All(list) => self.fold(list, false, env)?,
            Cond::Any(list) => self.fold(list, true, env)?,
            Cond::Not(c) => self.judge(c, env)?.map(|b| !b),
            Cond::Test { subject: Expr::Field(f), test, condition: false } if f.up == 0 && self.fixed(f.field.as_ref().map(|f| f.0)) => {
                if test.operands().iter().any(|e| e.refers(0) || e.draws()) {
                    None
                } else {
                    let probe = env.inner(CurrentItem::Item(&self.known, 0));
                    Some(test.holds(&probe.field(f)?, &probe)?)
                }
            }
            // each item draws for itself
            other if !other.refers(0) && !other.draws() => Some(other.holds(env)?),
            _ => None,
        })
    }

    /// Combines results with "all" (`over = false`) or "any" (`over = true`): one result may decide, otherwise all
    /// must be known.
    fn fold(&self, list: &[Cond], over: bool, env: &Env<'_>) -> Result<Option<bool>, EvalFault> {
        let mut all_known = true;
        for c in list {
            match self.judge(c, env)? {
                Some(b) if b == over => return Ok(Some(over)),
                Some(_) => {}
                None => all_known = false,
            }
        }
        Ok(all_known.then_some(!over))
    }

    /// Whether a field is the same for all unread items.
    fn fixed(&self, field: Option<FieldId>) -> bool {
        field.is_some_and(|f| f != core::INDEX && !self.varies.contains(&f) && (!self.open || self.known.get(f).is_some()))
    }

    /// Records that a field differs from item to item from now on.
    pub fn vary(&mut self, field: FieldId) {
        if !self.varies.contains(&field) {
            self.varies.push(field);
        }
        self.known.set(field, Value::Null);
    }
}

impl BuildState {
    /// A list for reading.
    pub fn list(&self, id: usize) -> Ref<'_, BuildList> {
        self.load(id);
        // the compiler assigns the ids and creates as many lists, so the fallback to the first list is never used
        let list = self.lists.get(id).unwrap_or_else(|| self.lists.first());
        // nothing is read while somebody looks at the list, so then there is nothing to do
        if let Ok(mut list) = list.try_borrow_mut() {
            list.settle();
        }
        list.borrow()
    }

    /// A list for changing.
    pub fn list_mut(&mut self, id: usize) -> &mut BuildList {
        self.load(id);
        let list = self.lists.get_mut(id);
        list.settle();
        list
    }

    /// Fills a list from its scene path, once.
    pub(super) fn load(&self, id: usize) {
        let Some(info) = self.rules.lists.get(id) else { return };
        let Some(path) = &info.from else { return };
        let Some(cell) = self.lists.get(id) else { return };
        if cell.try_borrow().is_ok_and(|l| l.loaded) {
            return;
        }
        let Ok(mut list) = cell.try_borrow_mut() else { return };
        list.loaded = true;
        if !list.items.is_empty() {
            return;
        }
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        let source = match self.lookup(&names, None) {
            Value::List(source) => source,
            item @ Value::Map(_) => Arc::new(vec![item]),
            _ => return,
        };
        let shape = UnreadShape { open: true, ..UnreadShape::default() };
        let remaining = source.len();
        let steps: UnreadSteps = vec![(Rc::new(LoadStep), Rc::default())];
        let is_long = remaining >= limits::LONG_LIST && work::takes_shortcuts();
        let source = UnreadSource { elements: source, remaining, steps, first_off: OnceCell::new() };
        list.insert_unread(0, source, shape);
        drop(list);
        if !is_long {
            // unchanged elements cannot fail to load
            let _ = self.load_all(id);
        }
    }

    /// A copy of a list's items, to be restored later.
    #[must_use]
    pub fn snapshot(&self, id: usize) -> Vec<Item> {
        // any use of the copied list would read it anyway
        let _ = self.load_all(id);
        self.list(id).items.clone()
    }

    /// A list's items as tables. An item remembers its table until it changes.
    #[must_use]
    pub fn values(&mut self, id: usize) -> Vec<Value> {
        let _ = self.load_all(id);
        let rules = self.rules.clone();
        let mut tables = self.caches.tables.take();
        let items = &mut self.list_mut(id).items;
        let values = items.iter_mut().map(|item| tables.kept(item, &rules.fields)).collect();
        self.caches.tables.replace(tables);
        values
    }

    /// Takes a list's items, which are to be replaced.
    #[must_use]
    pub fn take(&mut self, id: usize) -> Vec<Item> {
        let _ = self.load_all(id);
        std::mem::take(&mut self.list_mut(id).items)
    }

    /// Replaces a list's items.
    pub fn restore(&mut self, id: usize, items: Vec<Item>) {
        let list = self.list_mut(id);
        list.items.clear();
        list.append(items);
        list.unread = None;
    }

    /// The value of `$list` and of the names after it: its enabled items, one of them, or their number.
    pub(super) fn list_value(&self, id: usize, rest: &[Arc<str>]) -> Value {
        // while the steps of a list read it, the list returns the items that it has so far
        let _ = self.load_all(id);
        let list = self.list(id);
        match rest.split_first() {
            None => Value::list(list.items.iter().filter(|i| i.enabled()).map(|i| self.table(i)).collect()),
            Some((place, rest)) => {
                let live: Vec<&Item> = list.items.iter().filter(|i| i.enabled()).collect();
                let item = match place.as_ref() {
                    "last" => live.last(),
                    "count" => return Value::Int(i64::try_from(live.len()).unwrap_or(i64::MAX)),
                    n => n.parse::<usize>().ok().and_then(|n| live.get(n)),
                };
                item.map(|i| walk(&self.table(i), rest)).unwrap_or_default()
            }
        }
    }

    /// The newest live items of a list with an unread stretch, oldest first; only as many as needed are read. `None`
    /// for any other list, and for a list whose name `$` resolves to a value that a pass has set.
    pub fn newest(&self, id: usize, wanted: usize) -> Result<Option<Vec<Value>>, EvalFault> {
        let Some(info) = self.rules.lists.get(id) else { return Ok(None) };
        let names: Vec<Arc<str>> = info.name.split('.').map(Arc::from).collect();
        let held = self.lists.get(id).is_some_and(|l| l.try_borrow().is_ok_and(|l| l.loaded));
        if !held || !walk(&self.set.borrow(), &names).is_null() {
            return Ok(None);
        }
        let Some(at) = self.list(id).unread_at() else { return Ok(None) };
        let mut count = self.list(id).items.iter().skip(at).filter(|i| i.enabled()).count();
        while count < wanted {
            // counted where it is: putting each message into its place would move all that were read before it
            if self.read_one(id)? && self.with_list(id, |list| list.pending.last().is_some_and(Item::enabled)).unwrap_or(false) {
                count += 1;
            }
            if !self.has_unread(id) {
                return Ok(None);
            }
        }
        let list = self.list(id);
        let Some(at) = list.unread_at() else { return Ok(None) };
        let newest = list.items.iter().skip(at).filter(|i| i.enabled());
        Ok(Some(newest.map(|i| self.table(i)).collect()))
    }

    /// What all unread items of a list say about a condition: that it holds, or that it does not; `None` if that depends on
    /// the item. If the condition fails, the list is read: it then fails at its items, as it does in a short list.
    pub fn judge_unread(&self, id: usize, cond: &Cond, env: &Env<'_>) -> Result<Option<bool>, EvalFault> {
        let shape = self.with_list(id, |list| list.unread.as_ref().map(|unread| unread.shape.clone())).flatten();
        match shape.unwrap_or_default().judge(cond, env) {
            Err(fault) if !fault.is_bound() => self.load_all(id).map(|()| None),
            judged => judged,
        }
    }

    /// Whether an unread item may meet a condition.
    pub fn unread_may_meet(&self, id: usize, cond: &Cond, env: &Env<'_>) -> Result<bool, EvalFault> {
        Ok(self.has_unread(id) && self.judge_unread(id, cond, env)? != Some(false))
    }

    /// Reads unread items of a list, newest first, as long as `more` wants another one after it has seen the last.
    pub fn read_while(&self, id: usize, mut more: impl FnMut(&Item) -> Result<bool, EvalFault>) -> Result<(), EvalFault> {
        while self.has_unread(id) {
            if !self.read_one(id)? {
                continue;
            }
            let newest = self.with_list(id, |list| list.pending.last().or_else(|| list.items.get(list.gap)).cloned()).flatten();
            let Some(item) = newest else { return Ok(()) };
            if !more(&item)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads a list from its newest end until a selection has all that it can take there. With `numbered`, it asks for the
    /// indices of items, so that none of those before may vanish when it is read.
    pub fn read_tail(&self, id: usize, select: &Select, numbered: bool, env: &Env<'_>) -> Result<(), EvalFault> {
        if numbered && self.list(id).unread.as_ref().is_some_and(|unread| unread.source.leaves_out()) {
            return self.load_all(id);
        }
        let wanted = match &select.take {
            Some(SelectCount::Count(n)) if select.from == SelectEnd::Last => {
                let skip = select.skip.as_ref().map(|e| env.eval(e)).transpose()?.map_or(0, |v| count(&v));
                Some(count(&env.eval(n)?) + skip)
            }
            _ => None,
        };
        loop {
            let Some(at) = self.list(id).unread_at() else { return Ok(()) };
            let mut met = 0;
            let (mut settled, mut fails) = (false, false);
            {
                let items = self.list(id);
                let seq = items.seq();
                for n in (at..seq.len()).rev() {
                    let enabled = matches!(seq.cur(n), CurrentItem::Item(i, _) if i.enabled());
                    if !enabled && !select.off {
                        continue;
                    }
                    let here = env.inner(seq.cur(n));
                    if let Some(since) = &select.since
                        && here.holds(since)?
                    {
                        settled = true;
                        break;
                    }
                    if let Some(run) = &select.run
                        && !here.holds(run)?
                    {
                        settled = true;
                        break;
                    }
                    match select.filter.as_ref().map_or(Ok(true), |filter| here.holds(filter)) {
                        Ok(held) => met += usize::from(held),
                        Err(fault) if env.memo.pass.spares && !fault.is_bound() => {
                            fails = true;
                            break;
                        }
                        Err(fault) => return Err(fault),
                    }
                }
            }
            if fails {
                // the selection warns of each item, as in a short list
                return self.load_all(id);
            }
            if settled || wanted.is_some_and(|w| met >= w) {
                return Ok(());
            }
            // twice as many each time, so that checking the read items again stays cheap
            let more = self.list(id).items.len().saturating_sub(at).max(1);
            for _ in 0..more {
                self.read_one(id)?;
            }
        }
    }

    /// What the unread items of a list will be made of, and the items that it has beside them; `None` if it has no unread
    /// items, or others before these.
    #[must_use]
    pub fn unread_source(&self, id: usize) -> Option<(UnreadSource, Vec<Item>)> {
        let list = self.list(id);
        let unread = list.unread.as_ref().filter(|unread| unread.at == 0)?;
        Some((unread.source.clone(), list.items.clone()))
    }

    /// Takes the unread items of a list out of it without reading them; `None` if it has none.
    pub fn drop_unread(&mut self, id: usize) -> Option<UnreadRest> {
        let unread = self.list_mut(id).unread.take()?;
        let group = unread.shape.known.str(core::GROUP).map(str::to_owned).unwrap_or_default();
        Some(UnreadRest { count: unread.source.remaining, group })
    }

    /// Reads the newest unread element of a list. True if it yields an item; false if it was dropped or none is left.
    pub(super) fn read_one(&self, id: usize) -> Result<bool, EvalFault> {
        let Some((value, place, steps)) = self.take_unread(id) else { return Ok(false) };
        let Some(item) = self.run_steps(id, value, place, &steps)? else { return Ok(false) };
        if let Some(mut list) = self.lists.get(id).and_then(|l| l.try_borrow_mut().ok()) {
            let at = list.unread_at().unwrap_or(0).min(list.items.len());
            if list.gap != at {
                list.settle();
            }
            list.pending.push(item);
            list.gap = at;
            list.unread = list.unread.take().filter(|unread| unread.source.remaining > 0);
        }
        Ok(true)
    }

    /// Looks at a list without putting what was read into its place.
    pub(super) fn with_list<T>(&self, id: usize, look: impl FnOnce(&BuildList) -> T) -> Option<T> {
        self.load(id);
        self.lists.get(id).and_then(|list| list.try_borrow().ok()).map(|list| look(&list))
    }

    /// Whether a part of a list has not been read.
    #[must_use]
    pub fn has_unread(&self, id: usize) -> bool {
        self.with_list(id, |list| list.unread.is_some()).unwrap_or(false)
    }

    /// How many items of a list are behind its unread part; `None` if all of it has been read.
    pub(super) fn behind_unread(&self, id: usize) -> Option<usize> {
        self.with_list(id, |list| list.unread_at().map(|at| list.length().saturating_sub(at))).flatten()
    }

    /// Whether all unread items of a list are older than all others in it.
    #[must_use]
    pub fn begins_unread(&self, id: usize) -> bool {
        self.with_list(id, |list| list.unread_at() == Some(0)).unwrap_or(false)
    }

    fn take_unread(&self, id: usize) -> Option<(Value, usize, UnreadSteps)> {
        let mut list = self.lists.get(id)?.try_borrow_mut().ok()?;
        let source = &mut list.unread.as_mut()?.source;
        if source.remaining == 0 {
            list.unread = None;
            return None;
        }
        source.remaining -= 1;
        let value = source.elements.get(source.remaining).cloned().unwrap_or_default();
        Some((value, source.remaining, source.steps.clone()))
    }

    fn run_steps(&self, id: usize, value: Value, place: usize, steps: &UnreadSteps) -> Result<Option<Item>, EvalFault> {
        self.visit(steps.len())?;
        let mut read = ReadElement::Value(value);
        for (step, memo) in steps {
            let env = Env { st: self, cur: CurrentItem::None, outer: None, memo, part: None };
            let Some(mut item) = step.apply(read, place, &env)? else { return Ok(None) };
            item.list = u16::try_from(id).unwrap_or(u16::MAX);
            read = ReadElement::Item(item);
        }
        Ok(if let ReadElement::Item(item) = read { Some(item) } else { None })
    }

    /// Queues a step for the unread items of a list; `changes` are the fields that it may change.
    pub fn queue(&self, id: usize, step: Rc<dyn LocalChange>, memo: Rc<PassMemo>, changes: &[FieldId]) {
        if let Some(mut list) = self.lists.get(id).and_then(|l| l.try_borrow_mut().ok())
            && let Some(unread) = &mut list.unread
        {
            unread.source.then(step, memo);
            for field in changes {
                unread.shape.vary(*field);
            }
        }
    }

    /// Whether an unread text contains a macro that writes or draws, so that texts must be expanded completely and
    /// oldest first.
    #[must_use]
    pub fn unread_has_effects(&self, id: usize) -> bool {
        let effects = &self.rules.effect_macros;
        if effects.is_empty() {
            return false;
        }
        let list = self.list(id);
        let Some(unread) = &list.unread else { return false };
        *unread.effects.get_or_init(|| {
            let look = || unread.source.texts().any(|t| crate::text::macro_syntax::may_have_effects(t, effects, &self.rules.macro_syntax));
            self.rules.classified.get(&unread.source.elements, look)
        })
    }

    /// Reads all unread elements of a list.
    pub fn load_all(&self, id: usize) -> Result<(), EvalFault> {
        let mut made = Vec::new();
        let Some(at) = self.list(id).unread_at() else { return Ok(()) };
        if let Some(trace) = &self.trace {
            let count = self.list(id).unread.as_ref().map_or(0, |unread| unread.source.remaining);
            trace.read_whole.borrow_mut().push((self.pass.borrow().clone(), count));
        }
        let mut fault = None;
        while let Some((value, place, steps)) = self.take_unread(id) {
            match self.run_steps(id, value, place, &steps) {
                Ok(item) => made.extend(item),
                Err(f) => {
                    fault = Some(f);
                    break;
                }
            }
        }
        made.reverse();
        let Some(mut list) = self.lists.get(id).and_then(|l| l.try_borrow_mut().ok()) else {
            return Err(EvalFault::bound("a list was read whole while it was being looked at"));
        };
        list.settle();
        let at = at.min(list.items.len());
        list.items.splice(at..at, made);
        match (fault, &mut list.unread) {
            (Some(fault), Some(unread)) => {
                // the read messages are kept, and the message that failed is unread again: nothing is lost
                unread.source.remaining += 1;
                return Err(fault);
            }
            (Some(fault), None) => return Err(fault),
            (None, unread) => *unread = None,
        }
        Ok(())
    }
}

/// The first step of a list that is filled from the scene: the unchanged element.
pub struct LoadStep;

impl LocalChange for LoadStep {
    fn apply(&self, read: ReadElement, _place: usize, env: &Env<'_>) -> Result<Option<Item>, EvalFault> {
        Ok(Some(match read {
            ReadElement::Value(value) => Item::from_value(&value, &env.st.rules.fields),
            ReadElement::Item(item) => item,
        }))
    }

    fn leaves_out(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for BuildList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List")
            .field("items", &self.items.len())
            .field("unread", &self.unread.as_ref().map(|unread| unread.source.remaining))
            .finish()
    }
}
