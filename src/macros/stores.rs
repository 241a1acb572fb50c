//! What lasts for one text: variables of stores that the pack names, texts that blocks keep, and tables that are given with
//! the text.

use std::sync::Arc;

use super::host::Macros;
use crate::model::{Map, Value};

/// Where rows read the tables that are given with a text.
const LOCAL: &str = "local";
/// Where rows read the arguments of a macro.
const ARGUMENTS: &str = "arg";
/// Where rows read what blocks keep.
pub(super) const KEPT: &str = "kept";

/// What is put back when a text ends.
pub(super) struct OutsideStores {
    local: Option<Value>,
    passing: Vec<Value>,
}

impl Macros<'_> {
    /// Hides what lasts for the text around this one.
    pub(super) fn begin_stores(&self) -> OutsideStores {
        let tables = self.with.as_map().is_some_and(|map| map.values().any(|v| matches!(v, Value::Map(_) | Value::List(_))));
        let local = tables.then(|| self.exchange(&[LOCAL.into()], self.with.clone()));
        let passing = self.table.engine.passing.iter();
        let passing = passing.map(|store| self.exchange(&["vars".into(), store.clone()], Value::Null)).collect();
        OutsideStores { local, passing }
    }

    /// Shows it again. What blocks keep ends with the outermost text.
    pub(super) fn end_stores(&self, outside: OutsideStores, inside: bool) {
        for (store, value) in self.table.engine.passing.iter().zip(outside.passing) {
            self.exchange(&["vars".into(), store.clone()], value);
        }
        if let Some(local) = outside.local {
            self.exchange(&[LOCAL.into()], local);
        }
        if !inside && self.st.set.borrow().get(KEPT).is_some() {
            self.exchange(&[KEPT.into()], Value::Null);
        }
    }

    /// Sets the arguments of a macro (`$arg`) and returns those that were set. This is no write of the state: rows that read
    /// arguments are evaluated each time.
    pub(super) fn exchange_arguments(&self, arguments: Option<Map>) -> Option<Map> {
        let mut set = self.st.set.borrow_mut();
        let Value::Map(map) = &mut *set else { return None };
        let map = Arc::make_mut(map);
        let outside = match arguments {
            Some(arguments) => map.insert(ARGUMENTS.into(), Value::map(arguments)),
            None => map.swap_remove(ARGUMENTS),
        };
        match outside {
            Some(Value::Map(outside)) => Some(Arc::unwrap_or_clone(outside)),
            _ => None,
        }
    }

    /// Sets a value and returns the one that was there; sets nothing where it was the same.
    fn exchange(&self, path: &[Arc<str>], value: Value) -> Value {
        let before = path.iter().try_fold(self.st.set.borrow().clone(), |at, name| at.get(name).cloned()).unwrap_or_default();
        if before != value {
            self.st.put(path, value);
        }
        before
    }
}
