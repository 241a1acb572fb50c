//! Items made from a long list of elements are cached across builds: a book of many entries is the same in build
//! after build.
//!
//! This is done only if the template depends on nothing but its element and values outside of lists, and only while
//! both are identical. Equality is not enough: 3 and 3.0 are equal, but yield different items.

use std::sync::{Arc, Mutex, PoisonError};

use crate::diag::limits;
use crate::model::{Item, Value, item::core};
use crate::terms::expr::{FieldRef, ItemQuery, PathRoot, PathSegment, QuerySource, ScenePath};
use crate::terms::{Env, EvalFault, Expr};
use crate::text::work::{self, BYTES_PER_VALUE, BudgetScope};

/// What one pass remembers.
pub(super) struct ItemCache {
    /// The values that the template looks at, beside its element.
    paths: Vec<Arc<ScenePath>>,
    known: Mutex<Vec<CachedItems>>,
}

/// What was made of one element.
struct CachedItems {
    element: Value,
    values: Vec<Value>,
    items: Arc<Vec<Item>>,
    bytes: usize,
    /// The work of making them, steps and bytes, which a build pays whether they are known or not.
    cost: (u64, u64),
}

/// The items of an element, and the work of making them.
type KnownItems = (Arc<Vec<Item>>, (u64, u64));

impl ItemCache {
    /// A memory for a template, if that looks at nothing else.
    pub(super) fn of(template: &Expr) -> Option<Self> {
        let mut paths = Vec::new();
        looks_at(template, &mut paths).then(|| Self { paths, known: Mutex::default() })
    }

    /// The items of an element; `make` creates them if they are not cached.
    pub(super) fn items(
        &self,
        element: &Value,
        env: &Env<'_>,
        make: impl FnOnce() -> Result<Vec<Item>, EvalFault>,
    ) -> Result<Vec<Item>, EvalFault> {
        let values = self.paths.iter().map(|path| env.path(path)).collect::<Result<Vec<_>, _>>()?;
        if let Some((items, (steps, bytes))) = self.find(element, &values) {
            work::pay(steps, bytes)?;
            return Ok(items.to_vec());
        }
        let door = BudgetScope::join();
        let items = make()?;
        if items.len() >= limits::LONG_LIST
            && let Some(bytes) = bytes(element).zip(values.iter().map(bytes).sum::<Option<usize>>())
        {
            // an item has some sixteen fields; their texts are those of its element
            let bytes = bytes.0 + bytes.1 + 16 * BYTES_PER_VALUE * items.len();
            self.keep(CachedItems { element: element.clone(), values, items: Arc::new(items.clone()), bytes, cost: door.spent() });
        }
        Ok(items)
    }

    fn find(&self, element: &Value, values: &[Value]) -> Option<KnownItems> {
        // a poisoned lock only means that another build panicked; each entry is complete
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |k: &&CachedItems| k.element.is_same(element) && k.values.iter().zip(values).all(|(a, b)| a.is_same(b));
        known.iter().rev().find(same).map(|known| (known.items.clone(), known.cost))
    }

    fn keep(&self, new: CachedItems) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = known.iter().map(|k| k.bytes).sum::<usize>();
        while !known.is_empty() && (held + new.bytes > limits::INPUT_MEMORY || known.len() >= limits::CACHE_ENTRIES) {
            held -= known.remove(0).bytes;
        }
        if new.bytes <= limits::INPUT_MEMORY {
            known.push(new);
        }
    }
}

/// The approximate size of a value; `None` if it holds a compiled cell, whose result may change.
fn bytes(value: &Value) -> Option<usize> {
    let inside = match value {
        Value::Rule(_) => return None,
        Value::Text(text) => text.len(),
        Value::List(list) => list.iter().map(bytes).sum::<Option<usize>>()?,
        Value::Map(map) => map.iter().map(|(key, value)| Some(key.len() + bytes(value)?)).sum::<Option<usize>>()?,
        _ => 0,
    };
    Some(inside + BYTES_PER_VALUE)
}

/// Whether an expression depends on nothing but the element and values outside of lists, which are recorded.
fn looks_at(of: &Expr, paths: &mut Vec<Arc<ScenePath>>) -> bool {
    match of {
        Expr::Const(_) => true,
        Expr::Field(field) => is_plain(field),
        Expr::Path(path) => {
            paths.push(path.clone());
            path.root == (PathRoot::Scene { list: None }) && path.depends == 0 && named(&path.segs)
        }
        Expr::Text(list) | Expr::List(list) | Expr::First(list) | Expr::Over(list) => list.iter().all(|e| looks_at(e, paths)),
        Expr::Table(table) => table.iter().all(|(_, e)| looks_at(e, paths)),
        Expr::Query(query) => looks_at_query(query, paths),
        _ => false,
    }
}

fn looks_at_query(query: &ItemQuery, paths: &mut Vec<Arc<ScenePath>>) -> bool {
    let QuerySource::Value(of) = &query.of else { return false };
    let plain = query.select.is_all() && query.form.is_none() && query.after.is_none() && query.join.is_none();
    let plain = plain && query.steps.is_empty();
    plain && looks_at(of, paths) && query.get.as_ref().is_none_or(|get| looks_at(get, paths))
}

fn is_plain(field: &FieldRef) -> bool {
    named(&field.rest) && field.field.as_ref().is_none_or(|(id, _)| *id != core::INDEX)
}

fn named(segs: &[PathSegment]) -> bool {
    segs.iter().all(|seg| matches!(seg, PathSegment::Name(_)))
}
