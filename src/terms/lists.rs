//! The lists of a build, and the history that is read only as far as it is needed.
//!
//! A list is its items, plus at most one unread stretch of a long source (the chat) at one gap. Changes that passes
//! make to the stretch are queued as steps and applied to each message when it is read, newest first. What all unread
//! messages have in common (`UnreadShape`) answers most conditions without reading any.
//! INVARIANT: reading one message changes no other item of the list.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::model::{FieldId, Item, Value, item::core};
use crate::text::work;

use super::Cond;
use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::Expr;
use super::memo::PassMemo;
use super::place::ItemGap;
use super::select::SelectSequence;

/// A list of a build.
#[derive(Default)]
pub struct BuildList {
    /// Its number.
    pub id: u16,
    /// The items that have been made, oldest first.
    pub items: Vec<Item>,
    /// An unread stretch; most lists have none.
    pub lazy: Option<Box<UnreadStretch>>,
    /// Items that were read after one another, the newest in the chat first. They belong to `items[gap]`, but are put there
    /// together, because each would move all that were read before it. Whoever looks at `items` does not see this.
    pub(super) fresh: Vec<Item>,
    /// The index of the item that was read last.
    pub gap: usize,
    /// The list has been filled from its scene path and is used instead of that path from now on.
    pub loaded: bool,
}

/// The lists of a build by their numbers. Each is made when it is first used, because a pack has many and a small program uses
/// few.
pub(super) struct BuildLists(Vec<OnceCell<Box<RefCell<BuildList>>>>);

impl BuildLists {
    /// So many lists, of which none is made.
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
    cell.get_or_init(|| Box::new(RefCell::new(BuildList { id: u16::try_from(id).unwrap_or(u16::MAX), ..BuildList::default() })))
}

/// An unread stretch of a long source, in front of `items[at]`.
#[derive(Clone)]
pub struct UnreadStretch {
    /// The gap in which it lies.
    pub at: usize,
    /// The source's elements.
    pub source: Arc<Vec<Value>>,
    /// How many elements, counted from the oldest, have not been read.
    pub remaining: usize,
    /// The steps that are applied to each element when it is read.
    pub steps: Vec<(Rc<dyn LocalChange>, Rc<PassMemo>)>,
    /// What all unread items have in common.
    pub shape: UnreadShape,
    /// Whether any unread text contains a macro that writes or draws; computed when it is first needed.
    pub effects: OnceCell<bool>,
    /// The first element that is disabled, or the number of elements; computed when it is first needed.
    pub first_off: OnceCell<usize>,
}

impl UnreadStretch {
    /// Whether unread elements may yield no item, so that the indices of later items change.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        let is_off = |e: &Value| e.get("enabled") == Some(&Value::Bool(false));
        let first_off = || *self.first_off.get_or_init(|| self.source.iter().position(is_off).unwrap_or(self.source.len()));
        self.steps.iter().any(|(step, _)| step.leaves_out()) || first_off() < self.remaining
    }
}

/// A change of one item that depends only on the item and the scene.
pub trait LocalChange {
    /// The resulting item; `None` if it is dropped.
    fn apply(&self, cur: CurrentItem<'_>, env: &Env<'_>) -> Result<Option<Item>, EvalFault>;
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
    /// Its items for a selection, each with its index in the whole list, the unread items included. If unread elements may
    /// yield no item, these indices are those that the items would have if all of them did.
    #[must_use]
    pub fn seq(&self) -> SelectSequence<'_> {
        match &self.lazy {
            None => SelectSequence::Items(&self.items),
            Some(lazy) => SelectSequence::Partly(&self.items, lazy.at, lazy.remaining),
        }
    }

    /// How many items have been read or made, with those that are not in their place yet.
    pub(super) fn length(&self) -> usize {
        self.items.len() + self.fresh.len()
    }

    /// The nth item from the end (1: the last one), if it is not in its place yet.
    pub(super) fn fresh_from_end(&self, n: usize) -> Option<&Item> {
        let behind = self.items.len().saturating_sub(self.gap);
        self.fresh.get(n.checked_sub(behind + 1)?)
    }

    /// Puts the items that were read into their place.
    pub(super) fn settle(&mut self) {
        if !self.fresh.is_empty() {
            let at = self.gap.min(self.items.len());
            let fresh = std::mem::take(&mut self.fresh);
            // nothing can fail here: the next step fails, if this is too much
            let _ = work::spend((self.items.len() - at).saturating_sub(fresh.len()) as u64);
            self.items.splice(at..at, fresh.into_iter().rev());
        }
    }

    /// The gap of the unread stretch.
    #[must_use]
    pub fn lazy_at(&self) -> Option<usize> {
        self.lazy.as_ref().map(|l| l.at)
    }

    /// Inserts items at gaps (indices into the list as it is now); the order of items for one gap is kept.
    pub fn insert(&mut self, mut placed: Vec<(ItemGap, Item)>) {
        for (_, item) in &mut placed {
            item.list = self.id;
        }
        placed.sort_by_key(|(gap, _)| (gap.at, !gap.early));
        let lazy_at = self.lazy_at();
        let before = placed.iter().filter(|(gap, _)| lazy_at.is_some_and(|at| gap.at < at || (gap.at == at && gap.early))).count();
        if let Some(lazy) = &mut self.lazy {
            lazy.at += before;
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
        if let Some(lazy) = &mut self.lazy {
            lazy.at -= indices.iter().filter(|n| **n < lazy.at).count();
        }
        let mut out = Vec::with_capacity(indices.len());
        let mut next = indices.iter().copied().peekable();
        let old = std::mem::take(&mut self.items);
        for (n, item) in old.into_iter().enumerate() {
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
                if test.operands().iter().any(|e| e.refers(0)) {
                    None
                } else {
                    let probe = env.inner(CurrentItem::Item(&self.known, 0));
                    Some(test.holds(&probe.field(f)?, &probe)?)
                }
            }
            other if !other.refers(0) => Some(other.holds(env)?),
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

/// The first step of a list that is filled from the scene: the unchanged element.
pub struct LoadStep;

impl LocalChange for LoadStep {
    fn apply(&self, cur: CurrentItem<'_>, env: &Env<'_>) -> Result<Option<Item>, EvalFault> {
        Ok(match cur {
            CurrentItem::Value(v, _) => Some(Item::from_value(v, &env.st.rules.fields)),
            CurrentItem::Item(i, _) => Some(i.clone()),
            CurrentItem::None => None,
        })
    }

    fn leaves_out(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for BuildList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").field("items", &self.items.len()).field("unread", &self.lazy.as_ref().map(|l| l.remaining)).finish()
    }
}
