//! Where items are placed: one kind of placement for slots, notes, persona, lore and everything else.
//!
//! A place is a gap of a list: gap n is before the nth item. All gaps of a pass are computed on the list as it was
//! when the pass began, unless the pass says `against = "now"`.

use super::Cond;
use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::Expr;
use super::select::{SelectSequence, count};

/// A compiled place.
#[derive(Debug, Clone)]
pub enum InsertPosition {
    /// Before all items.
    Start,
    /// After all items.
    End,
    /// Before the first item that meets the condition.
    Before(Cond, LostPolicy),
    /// After the last item that meets the condition.
    After(Cond, LostPolicy),
    /// Before the nth item, counted from the end, of those that meet `of`; 0 is after the last.
    Depth {
        /// The depth.
        depth: Expr,
        /// Which items are counted.
        of: Cond,
        /// The place if no item is counted.
        lost: LostPolicy,
    },
    /// Before the nth item from the start of those that meet `of`.
    Index(Expr, Cond, LostPolicy),
}

/// A gap between items. An unread stretch lies in a gap too: `early` is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemGap {
    /// Before the item of this index.
    pub at: usize,
    /// Before an unread stretch in the same gap, if there is one; otherwise after it.
    pub early: bool,
}

impl ItemGap {
    /// After an item, and so before an unread stretch that follows it.
    fn behind(n: usize) -> Self {
        Self { at: n + 1, early: true }
    }

    /// Before an item, and so after an unread stretch that precedes it.
    fn ahead_of(n: usize) -> Self {
        Self { at: n, early: false }
    }
}

/// What happens if a place does not exist.
#[derive(Debug, Clone, Default)]
pub enum LostPolicy {
    /// The item is dropped, which is reported.
    #[default]
    Drop,
    /// An error.
    Error,
    /// Another place.
    Else(Box<InsertPosition>),
}

impl InsertPosition {
    /// The gap for an item in list `id`; `None` if the place does not exist and the item is to be dropped.
    pub fn gap(&self, id: usize, env: &Env<'_>) -> Result<Option<ItemGap>, EvalFault> {
        match self {
            InsertPosition::Start => Ok(Some(ItemGap { at: 0, early: true })),
            InsertPosition::End => Ok(Some(ItemGap::ahead_of(env.st.list(id).items.len()))),
            InsertPosition::Before(cond, lost) => lost.or(first(id, cond, env)?.map(ItemGap::ahead_of), id, env),
            InsertPosition::After(cond, lost) => lost.or(nth_last(id, cond, 1, env)?.map(ItemGap::behind), id, env),
            InsertPosition::Depth { depth, of, lost } => {
                let depth = count(&env.eval(depth)?);
                let hit = nth_last(id, of, depth.max(1), env)?;
                lost.or(hit.map(if depth == 0 { ItemGap::behind } else { ItemGap::ahead_of }), id, env)
            }
            InsertPosition::Index(index, of, lost) => {
                env.st.load_all(id)?;
                let index = count(&env.eval(index)?);
                lost.or(nth_first(id, of, index, env)?.map(ItemGap::ahead_of), id, env)
            }
        }
    }
}

impl LostPolicy {
    fn or(&self, hit: Option<ItemGap>, id: usize, env: &Env<'_>) -> Result<Option<ItemGap>, EvalFault> {
        match (hit, self) {
            (Some(n), _) => Ok(Some(n)),
            (None, LostPolicy::Drop) => Ok(None),
            (None, LostPolicy::Error) => Err(EvalFault::failed("the place it belongs to is not in the list")),
            (None, LostPolicy::Else(place)) => place.gap(id, env),
        }
    }
}

fn meets(id: usize, n: usize, cond: &Cond, env: &Env<'_>) -> Result<bool, EvalFault> {
    let list = env.st.list(id);
    env.inner(SelectSequence::Items(&list.items).cur(n)).holds(cond)
}

/// The first item that meets a condition. The unread part of a history is read only if it may contain that item.
fn first(id: usize, cond: &Cond, env: &Env<'_>) -> Result<Option<usize>, EvalFault> {
    let (unread, length) = {
        let list = env.st.list(id);
        (list.unread_at(), list.items.len())
    };
    let end = unread.unwrap_or(length);
    for n in 0..end {
        if meets(id, n, cond, env)? {
            return Ok(Some(n));
        }
    }
    if unread.is_some() && env.st.unread_may_meet(id, cond, env)? {
        env.st.load_all(id)?;
    }
    let length = env.st.list(id).items.len();
    for n in end..length {
        if meets(id, n, cond, env)? {
            return Ok(Some(n));
        }
    }
    Ok(None)
}

/// The gap before the nth item that meets a condition, counted from the start; the end if there are fewer.
fn nth_first(id: usize, cond: &Cond, wanted: usize, env: &Env<'_>) -> Result<Option<usize>, EvalFault> {
    let length = env.st.list(id).items.len();
    let mut seen = 0;
    for n in 0..length {
        if seen == wanted {
            return Ok(Some(n));
        }
        if meets(id, n, cond, env)? {
            seen += 1;
        }
    }
    Ok(Some(length))
}

/// The nth item from the end that meets a condition, or the deepest one that does.
///
/// Items are counted from the end, which reading more of a history does not change. So nothing that is read need be put into
/// its place before the end, which would move all messages that were read before it.
fn nth_last(id: usize, cond: &Cond, wanted: usize, env: &Env<'_>) -> Result<Option<usize>, EvalFault> {
    let length = || env.st.with_list(id, |list| list.length()).unwrap_or(0);
    let (mut checked, mut met, mut best) = (0, 0, None);
    loop {
        // if every item after the unread part has been checked, one more message is read
        let is_next = env.st.behind_unread(id) == Some(checked) && env.st.unread_may_meet(id, cond, env)?;
        if is_next && !env.st.read_one(id)? {
            continue;
        }
        if checked >= length() {
            break;
        }
        checked += 1;
        if meets_from_end(id, checked, length().saturating_sub(checked), cond, env)? {
            met += 1;
            best = Some(checked);
            if met >= wanted {
                break;
            }
        }
    }
    Ok(best.map(|n| length().saturating_sub(n)))
}

/// Whether the item at this index, which is the nth from the end, meets a condition.
fn meets_from_end(id: usize, n: usize, index: usize, cond: &Cond, env: &Env<'_>) -> Result<bool, EvalFault> {
    // a copy, because the condition may look at the list
    match env.st.with_list(id, |list| list.pending_from_end(n).cloned()).flatten() {
        Some(item) => env.inner(CurrentItem::Item(&item, index)).holds(cond),
        None => meets(id, index, cond, env),
    }
}
