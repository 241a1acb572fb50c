//! The items that a function gives back take the place of those that it was given. What the function changed is told to
//! the trace; without a trace nothing is compared.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::limits;
use crate::model::item::core::ID;
use crate::model::plan::TracedChange;
use crate::model::{Item, Map, Value};
use crate::terms::warnings::ValueOrigin;
use crate::terms::{BuildState, EvalFault, PassReasons};
use crate::text::written::ToText as _;
use crate::verbs::ProgramInterrupt;

/// The field whose changes are told as rewritten texts.
const TEXT: &str = "text";

/// An item of the list, while others are put in its place.
enum ItemPosition {
    /// It has not come back yet.
    Here(Item),
    /// It is the item of this index now.
    Moved(usize),
}

/// The function that changes something, as the trace calls it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeSource<'a> {
    /// Who it is.
    pub(super) giver: ValueOrigin<'a>,
    /// The hook that it runs as; `None` for a pass.
    pub(super) hook: Option<&'a str>,
}

/// What has been found out of the fields of items that one call of a function gives back.
#[derive(Default)]
struct FieldProblems {
    /// Whether an item that was given has a value of another type in the field.
    misfit: FxHashMap<Arc<str>, bool>,
    /// The declared field that an undeclared one is with a slip, unless an item that was given has it too.
    near: FxHashMap<Arc<str>, Option<Arc<str>>>,
}

/// Where an item comes from that a function gave back.
enum ItemOrigin {
    /// It came back as it was: the item of this index.
    Kept(usize),
    /// It is another table, of the item of this index if the function was told one.
    Other(Option<usize>, Value),
}

impl ChangeSource<'_> {
    /// Warns of a value that is not of the type of its path.
    pub(super) fn checks_path(self, path: &str, value: &Value, st: &BuildState) {
        if let Some(declared) = st.rules.names.paths.get(path) {
            st.check_given(self.giver, path, declared.kind, value);
        }
    }

    /// Warns of fields of an item that are not of their type, or that are declared ones with a slip. Where an item of those that
    /// were `given` has such a value or field too, the function need not be what made it; `odd` remembers these fields.
    fn checks_item(self, list: usize, given: &[Value], is: &Value, odd: &mut FieldProblems, st: &BuildState) {
        let Some(rows) = st.rules.lists.get(list).map(|list| &list.rows).filter(|rows| !rows.is_empty()) else { return };
        for (field, value) in is.as_map().into_iter().flat_map(Map::iter) {
            match st.rules.names.field_type(Some(rows), field) {
                None => {
                    let has = |item: &Value| item.get(field).is_some();
                    let near = || near_field(list, rows, field, st).filter(|_| !given.iter().any(has));
                    if let Some(near) = odd.near.entry(field.clone()).or_insert_with(near) {
                        st.misnamed(self.giver, field, near);
                    }
                }
                Some(kind) if !kind.holds(value) => {
                    let fits = |item: &Value| item.get(field).is_none_or(|value| value.is_null() || kind.holds(value));
                    if !*odd.misfit.entry(field.clone()).or_insert_with(|| !given.iter().all(fits)) {
                        st.check_given(self.giver, field, kind, value);
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn change(self, did: &'static str, st: &BuildState) -> TracedChange {
        let (by, hook) = (self.giver.name().to_owned(), self.hook.map(str::to_owned));
        TracedChange { by, hook, pass: st.pass.borrow().to_string(), did, ..TracedChange::default() }
    }

    /// Sets a value with `set`, and tells the trace if that has been done.
    pub(super) fn sets(self, path: &str, value: Value, st: &mut BuildState, set: impl FnOnce(&mut BuildState, &[Arc<str>], Value)) {
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        if st.trace.is_none() {
            return set(st, &names, value);
        }
        let was = st.lookup(&names, None);
        set(st, &names, value);
        let is = st.lookup(&names, None);
        // a value that is too large was refused with a warning
        if !is.is_same(&was) {
            st.changed(|| TracedChange { path: path.to_owned(), was, is, ..self.change("set", st) });
        }
    }

    /// Tells the trace how an item differs from the one that was given; an item that is only on one side is new or gone.
    fn differs(self, item: &Item, was: Option<&Map>, is: Option<&Map>, st: &BuildState) {
        let list = || st.rules.lists.get(usize::from(item.list)).map(|list| list.name.to_string()).unwrap_or_default();
        let id = || item_id(item).map(|id| id.to_string()).unwrap_or_default();
        let of = |did| TracedChange { list: list(), id: id(), item: item.seq, ..self.change(did, st) };
        let text = |map: &Map| map.get(TEXT).cloned().unwrap_or_default();
        match (was, is) {
            (Some(was), Some(is)) => {
                for key in differing(is, was) {
                    let [was, is] = [was, is].map(|map| map.get(key).cloned().unwrap_or_default());
                    match (&was, &is) {
                        (Value::Text(was), Value::Text(is)) if &**key == TEXT => st.rewritten(&Arc::from(self.giver.name()), was, is),
                        _ => st.changed(|| TracedChange { path: key.to_string(), was, is, ..of("set") }),
                    }
                }
            }
            (None, Some(is)) => st.changed(|| TracedChange { is: text(is), ..of("made") }),
            (Some(was), None) => st.changed(|| TracedChange { was: text(was), ..of("dropped") }),
            (None, None) => {}
        }
    }
}

/// The declared field that an undeclared one of a list's items is with a slip. Each is compared once in a build, because a pack
/// declares many; those beyond [`limits::OPTIONS`] are not.
fn near_field(list: usize, rows: &[Arc<str>], field: &Arc<str>, st: &BuildState) -> Option<Arc<str>> {
    let names = &st.rules.names;
    if names.knows_field(None, field) {
        return None;
    }
    let mut compared = st.warnings.compared.borrow_mut();
    let key = (list, field.clone());
    if let Some(known) = compared.get(&key) {
        return known.clone();
    }
    if compared.len() >= limits::OPTIONS {
        return None;
    }
    let near = names.near_field(rows, field).map(Arc::from);
    compared.insert(key, near.clone());
    near
}

/// The fields in which two items differ; one that is null is not there.
pub(super) fn differing<'m>(new: &'m Map, old: &'m Map) -> impl Iterator<Item = &'m Arc<str>> {
    let there = |map: &'m Map, key: &str| map.get(key).filter(|value| !value.is_null());
    let keys = new.keys().chain(old.keys().filter(|key| !new.contains_key(*key)));
    keys.filter(move |key| there(new, key) != there(old, key))
}

/// Whether a table that a script gives back is the one that it was given.
pub(super) fn is_untouched(new: &Value, old: &Value) -> bool {
    matches!((new, old), (Value::Map(new), Value::Map(old)) if Arc::ptr_eq(new, old))
}

/// Replaces the items of a list. In the trace, an item that comes from an earlier one keeps that one's identity: by its
/// index or its id, or, where as many are without one as before, by the order of these.
///
/// `given` are the items as they were handed out: one that comes back as it was is not made anew.
pub(super) fn replace(
    list: usize,
    items: Vec<(Option<usize>, Value)>,
    given: &[Value],
    by: ChangeSource<'_>,
    reasons: Option<&PassReasons>,
    st: &mut BuildState,
) -> Result<(), ProgramInterrupt> {
    st.visit(items.len())?;
    if items.iter().any(|(_, value)| value.as_map().is_none()) {
        return Err(EvalFault::failed("an item that a script or hook gives back is no table").into());
    }
    let rules = st.rules.clone();
    let before = st.take(list);
    let told = st.trace.is_some().then(|| before.clone());
    let mut before: Vec<ItemPosition> = before.into_iter().map(ItemPosition::Here).collect();
    let address = |value: &Value| value.as_map().map(std::ptr::from_ref);
    let places: FxHashMap<_, usize> = given.iter().enumerate().filter_map(|(n, value)| Some((address(value)?, n))).collect();
    let mut made: Vec<Item> = Vec::with_capacity(items.len());
    let (mut origins, mut odd) = (Vec::new(), FieldProblems::default());
    for (n, (was, value)) in items.into_iter().enumerate() {
        let at = address(&value);
        // several items may have one table: it is first looked for where it was
        let here = was.into_iter().chain([n]).find(|n| given.get(*n).is_some_and(|given| is_untouched(&value, given)));
        let place = here.or_else(|| at.and_then(|at| places.get(&at).copied()));
        let kept = place.and_then(|n| match std::mem::replace(before.get_mut(n)?, ItemPosition::Moved(made.len())) {
            ItemPosition::Here(item) => Some((item, ItemOrigin::Kept(n))),
            ItemPosition::Moved(to) => Some((made.get(to)?.clone(), ItemOrigin::Kept(n))),
        });
        let (item, origin) = match kept {
            Some(kept) => kept,
            None => {
                by.checks_item(list, given, &value, &mut odd, st);
                (Item::from_value(&value, &rules.fields), ItemOrigin::Other(was, value))
            }
        };
        made.push(item);
        if told.is_some() {
            origins.push(origin);
        }
    }
    if let Some(before) = told {
        // what is told of an item names its list
        let id = u16::try_from(list).unwrap_or(u16::MAX);
        made.iter_mut().for_each(|item| item.list = id);
        tell(&mut made, &origins, &before, given, by, reasons, st);
    }
    st.restore(list, made);
    Ok(())
}

/// Gives items the identity of those that they come from, and tells the trace what has become of each.
fn tell(
    made: &mut [Item],
    origins: &[ItemOrigin],
    before: &[Item],
    given: &[Value],
    by: ChangeSource<'_>,
    reasons: Option<&PassReasons>,
    st: &BuildState,
) {
    let from = sources(made, origins, before);
    for ((item, origin), from) in made.iter_mut().zip(origins).zip(&from) {
        let ItemOrigin::Other(_, value) = origin else { continue };
        let old = from.and_then(|n| before.get(n));
        item.seq = old.map_or_else(|| st.number(), |old| old.seq);
        st.note(item, if old.is_some() { "set" } else { "made" }, reasons);
        by.differs(item, from.and_then(|n| given.get(n)).and_then(Value::as_map), value.as_map(), st);
    }
    let taken: FxHashSet<usize> = from.into_iter().flatten().collect();
    for (n, old) in before.iter().enumerate().filter(|(n, _)| !taken.contains(n)) {
        st.note(old, "dropped", reasons);
        by.differs(old, given.get(n).and_then(Value::as_map), None, st);
    }
}

/// The index of the earlier item that each item comes from.
fn sources(made: &[Item], origins: &[ItemOrigin], before: &[Item]) -> Vec<Option<usize>> {
    let ids = by_id(before);
    let named = |item: &Item| item_id(item).and_then(|id| ids.get(&id).copied());
    let source = |(item, origin): (&Item, &ItemOrigin)| match origin {
        ItemOrigin::Kept(n) => Some(*n),
        ItemOrigin::Other(was, _) => was.or_else(|| named(item)),
    };
    let mut from: Vec<Option<usize>> = made.iter().zip(origins).map(source).collect();
    let taken: FxHashSet<usize> = from.iter().copied().flatten().collect();
    let nameless = before.iter().enumerate().filter(|(n, old)| item_id(old).is_none() && !taken.contains(n));
    let nameless: Vec<usize> = nameless.map(|(n, _)| n).collect();
    // without ids only the order says which is which, and only if none is new and none is gone
    if from.iter().filter(|from| from.is_none()).count() == nameless.len() {
        from.iter_mut().filter(|from| from.is_none()).zip(nameless).for_each(|(from, old)| *from = Some(old));
    }
    from
}

fn item_id(item: &Item) -> Option<Arc<str>> {
    item.get(ID).filter(|id| !id.is_empty()).map(Value::shown)
}

/// The index of the first item of each id.
fn by_id(items: &[Item]) -> FxHashMap<Arc<str>, usize> {
    let mut found = FxHashMap::default();
    for (n, item) in items.iter().enumerate() {
        if let Some(id) = item_id(item) {
            found.entry(id).or_insert(n);
        }
    }
    found
}
