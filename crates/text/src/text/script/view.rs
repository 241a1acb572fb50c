//! A table that a script is given: what the script reads is converted when it is read, and what it changes is copied
//! then. So a call costs what it touches, and not what the scene or the list holds.
//!
//! A view behaves like a table of the language. It also carries what the script may read and write of it.

use std::sync::{Arc, LazyLock};

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, Position, Variant};

use super::fuel::{
    HeldTable, LazyMap, STEPS_PER_VALUE, ScriptResult, ScriptSize, TableGuard, charge, hand, note_list, reading, terminated,
};
use super::values::{from_dynamic, to_dynamic};
use crate::diag::limits;
use crate::model::item::core;
use crate::model::rights::ScriptRights;
use crate::model::{Map, Value};
use crate::text::{work, written};

fn failed(message: impl Into<String>) -> Box<EvalAltResult> {
    EvalAltResult::ErrorRuntime(message.into().into(), Position::NONE).into()
}

fn in_place(key: &str) -> Box<EvalAltResult> {
    failed(format!("`scene.{key}` cannot be changed in place; return `#{{ set: #{{ \"{key}\": … }} }}`"))
}

impl LazyMap {
    fn new(value: Value, guard: Option<TableGuard>, scene: bool) -> Self {
        Self { value, guard, scene, _held: HeldTable::new() }
    }

    /// A value as a script sees it: tables become views, and everything else is converted.
    pub(super) fn of(value: &Value, guard: Option<TableGuard>) -> ScriptResult<Dynamic> {
        Ok(match value {
            Value::Map(_) => Dynamic::from(Self::new(value.clone(), guard.and_then(TableGuard::needed), false)),
            Value::List(list) => {
                note_list(list.len())?;
                let guard = guard.and_then(TableGuard::needed);
                Dynamic::from_array(list.iter().map(|value| Self::of(value, guard.clone())).collect::<ScriptResult<Array>>()?)
            }
            other => {
                let value = to_dynamic(other);
                hand(&value)?;
                value
            }
        })
    }

    /// The scene as a script sees it.
    pub(super) fn scene(value: &Value, rights: Option<&Arc<ScriptRights>>) -> Dynamic {
        static PATH: LazyLock<Arc<str>> = LazyLock::new(|| "scene".into());
        let guard = rights.map(|rights| TableGuard { rights: rights.clone(), path: PATH.clone(), item: false });
        Dynamic::from(Self::new(value.clone(), guard.and_then(TableGuard::needed), true))
    }

    /// The value, when the script gives it back; `unread`: it need not be one that the script may read.
    pub(super) fn given_back(self, unread: bool) -> Result<Value, String> {
        if !unread {
            self.whole()?;
        }
        Ok(self.value)
    }

    fn fields(&self) -> &Map {
        static NONE: LazyLock<Map> = LazyLock::new(Map::default);
        self.value.as_map().unwrap_or(&NONE)
    }

    /// Whether all of it may be read.
    fn whole(&self) -> Result<(), String> {
        match &self.guard {
            Some(guard) => guard.rights.read(&guard.path, false).map(|_| ()),
            None => Ok(()),
        }
    }

    /// What guards a field; an error if the field may not be read.
    fn below(&self, key: &str) -> ScriptResult<Option<TableGuard>> {
        let Some(guard) = &self.guard else { return Ok(None) };
        let path: Arc<str> = format!("{}.{key}", guard.path).into();
        let is_table = self.fields().get(key).is_none_or(|value| value.as_map().is_some());
        guard.rights.read(&path, is_table).map_err(failed)?;
        Ok(Some(TableGuard { path, ..guard.clone() }))
    }

    pub(super) fn get(&self, key: &str) -> ScriptResult<Dynamic> {
        charge(STEPS_PER_VALUE, 0)?;
        let guard = self.below(key)?;
        self.fields().get(key).map_or(Ok(Dynamic::UNIT), |value| Self::of(value, guard))
    }

    /// The value at a path; numbers are indexes of lists, and negative ones count from the end.
    fn at(&self, path: &str) -> ScriptResult<Option<(Value, Option<TableGuard>)>> {
        let mut found = self.clone();
        let mut keys = path.split('.').filter(|key| !key.is_empty());
        while let Some(key) = keys.next() {
            charge(STEPS_PER_VALUE, 0)?;
            let guard = found.below(key)?;
            let Some(mut value) = found.fields().get(key).cloned() else { return Ok(None) };
            while let Value::List(list) = &value {
                let Some(key) = keys.next() else { break };
                let index = key.parse::<i64>().ok().and_then(|n| {
                    let n = if n < 0 { n + i64::try_from(list.len()).ok()? } else { n };
                    usize::try_from(n).ok()
                });
                let Some(element) = index.and_then(|n| list.get(n)).cloned() else { return Ok(None) };
                value = element;
            }
            found = Self::new(value, guard, false);
        }
        Ok(Some((found.value, found.guard)))
    }

    fn set(&mut self, key: &str, value: Dynamic) -> ScriptResult<()> {
        if let Some(view) = value.read_lock::<Self>() {
            // the interpreter hands back a table on which a method was called: this neither reads nor changes it
            if self.fields().get(key).is_some_and(|old| old.is_same(&view.value)) {
                return Ok(());
            }
            if self.scene {
                return Err(in_place(key));
            }
        }
        // what is handed back to a field that the script has only read is not changed
        let new = from_dynamic(value, 0, false).map_err(failed)?;
        let Some(parts) = new.nodes_within(limits::NESTING - 1, limits::VALUES) else {
            // a script may catch the error, and try again
            charge(limits::VALUES as u64, 0)?;
            return Err(failed("a value is too large or nested too deeply"));
        };
        let fields = self.fields().len();
        charge(parts as u64, new.as_str().map_or(0, str::len))?;
        if self.fields().get(key).map_or(new.is_null(), |old| old.is_same(&new)) {
            return Ok(());
        }
        if self.scene {
            return Err(in_place(key));
        }
        if let Some(guard) = self.guard.as_ref().filter(|guard| guard.item) {
            guard.rights.write(&format!("{}.{key}", guard.path)).map_err(failed)?;
        }
        let Value::Map(map) = &mut self.value else { return Ok(()) };
        if Arc::get_mut(map).is_none() {
            charge(fields as u64, fields.saturating_mul(work::BYTES_PER_VALUE))?;
        }
        let map = Arc::make_mut(map);
        if new.is_null() {
            map.shift_remove(key);
        } else {
            map.insert(key.into(), new);
        }
        Ok(())
    }

    fn remove(&mut self, key: &str) -> ScriptResult<Dynamic> {
        let old = self.get(key)?;
        self.set(key, Dynamic::UNIT)?;
        Ok(old)
    }

    /// All of it as a table of the language.
    fn table(&self) -> ScriptResult<Dynamic> {
        self.whole().map_err(failed)?;
        reading(&self.value)?;
        let value = to_dynamic(&self.value);
        hand(&value)?;
        Ok(value)
    }

    fn mixin(&mut self, other: &Map) -> ScriptResult<()> {
        other.iter().try_for_each(|(key, value)| self.set(key, Self::of(value, None)?))
    }

    fn text(&self) -> ScriptResult<String> {
        self.whole().map_err(failed)?;
        reading(&self.value)?;
        Ok(self.value.to_text().to_string())
    }

    /// The number of fields, which tells of them all.
    fn len(&self) -> ScriptResult<i64> {
        self.whole().map_err(failed)?;
        Ok(i64::try_from(self.fields().len()).unwrap_or(i64::MAX))
    }

    fn keys(&self) -> ScriptResult<Vec<Arc<str>>> {
        self.whole().map_err(failed)?;
        note_list(self.fields().len())?;
        let mut keys: Vec<Arc<str>> = self.fields().keys().cloned().collect();
        // as those of the tables of the language
        keys.sort_unstable();
        Ok(keys)
    }
}

impl TableGuard {
    /// The guard, if it can refuse anything.
    pub(super) fn needed(self) -> Option<Self> {
        let free = self.rights.reads_all(&self.path) && (!self.item || self.rights.writes_all(&self.path));
        (!free).then_some(self)
    }
}

/// The value of a table of the language or of a view.
fn fields_of(table: impl Variant + Clone) -> ScriptResult<Map> {
    match from_dynamic(Dynamic::from(table), 0, false).map_err(failed)? {
        Value::Map(map) => Ok(Arc::unwrap_or_clone(map)),
        _ => Err(failed("this works on tables only")),
    }
}

/// Registers what scripts can do with views.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<LazyMap>("view");
    engine.register_indexer_get(|view: &mut LazyMap, key: ImmutableString| view.get(&key));
    engine.register_indexer_set(|view: &mut LazyMap, key: ImmutableString, value: Dynamic| view.set(&key, value));
    engine.register_fn("get", |view: &mut LazyMap, key: ImmutableString| view.get(&key));
    engine.register_fn("set", |view: &mut LazyMap, key: ImmutableString, value: Dynamic| view.set(&key, value));
    engine.register_fn("remove", |view: &mut LazyMap, key: ImmutableString| view.remove(&key));
    engine.register_fn("contains", |view: &mut LazyMap, key: ImmutableString| -> ScriptResult<bool> {
        view.below(&key)?;
        Ok(view.fields().contains_key(&*key))
    });
    engine.register_fn("at", |view: &mut LazyMap, path: ImmutableString| -> ScriptResult<Dynamic> {
        view.at(&path)?.map_or(Ok(Dynamic::UNIT), |(value, guard)| LazyMap::of(&value, guard))
    });
    engine.register_fn("count", |view: &mut LazyMap, path: ImmutableString| -> ScriptResult<i64> {
        let count = view.at(&path)?.map_or(0, |(value, _)| value.elements().len());
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    });
    engine.register_fn("len", |view: &mut LazyMap| view.len());
    engine.register_fn("is_empty", |view: &mut LazyMap| view.len().map(|fields| fields == 0));
    engine.register_fn("keys", |view: &mut LazyMap| -> ScriptResult<Array> {
        Ok(view.keys()?.iter().map(|key| Dynamic::from(ImmutableString::from(&**key))).collect())
    });
    engine.register_fn("values", |view: &mut LazyMap| -> ScriptResult<Array> { view.keys()?.iter().map(|key| view.get(key)).collect() });
    engine.register_fn("to_map", |view: &mut LazyMap| view.table());
    engine.register_fn("to_json", |view: &mut LazyMap| view.text());
    // the interpreter's own function knows no views
    engine.register_fn("to_json", |table: &mut rhai::Map| -> ScriptResult<String> {
        let table = Dynamic::from(table.clone());
        let size = ScriptSize::of(&table)?;
        charge(size.parts() as u64, size.bytes())?;
        Ok(Value::map(fields_of(table)?).to_json().to_string())
    });
    engine.register_fn("to_string", |view: &mut LazyMap| view.text());
    engine.register_fn("to_debug", |view: &mut LazyMap| view.text());
    register_operators::<LazyMap>(engine);
    register_operators::<rhai::Map>(engine);
    engine.register_fn("==", |a: rhai::Map, b: LazyMap| equal(a, b));
    engine.register_fn("!=", |a: rhai::Map, b: LazyMap| equal(a, b).map(|same| !same));
    register_fields(engine, core::NAMES.iter().map(|name| (*name).into()));
}

/// Registers fields that scripts are likely to read. Any other field is found by the index function too, after a search
/// that costs many times as much.
pub(super) fn register_fields(engine: &mut Engine, names: impl IntoIterator<Item = ImmutableString>) {
    for name in names {
        let (read, written) = (name.clone(), name.clone());
        engine.register_get(&name, move |view: &mut LazyMap| view.get(&read));
        engine.register_set(&name, move |view: &mut LazyMap, value: Dynamic| view.set(&written, value));
    }
}

/// Registers what is done with a view and another table.
fn register_operators<T: Variant + Clone>(engine: &mut Engine) {
    for name in ["mixin", "+="] {
        engine.register_fn(name, |view: &mut LazyMap, other: T| view.mixin(&fields_of(other)?));
    }
    engine.register_fn("+", |mut view: LazyMap, other: T| view.mixin(&fields_of(other)?).map(|()| view));
    engine.register_fn("==", |a: LazyMap, b: T| equal(a, b));
    engine.register_fn("!=", |a: LazyMap, b: T| equal(a, b).map(|same| !same));
}

fn equal(a: impl Variant + Clone, b: impl Variant + Clone) -> ScriptResult<bool> {
    let value = |value: Dynamic| from_dynamic(value, 0, false).map_err(failed);
    written::same(&value(Dynamic::from(a))?, &value(Dynamic::from(b))?).map_err(|_| terminated())
}
