//! Variables of macros: `$vars.STORE.NAME`, read as numbers where they say numbers.
//!
//! What is written goes into the state, and from there into the build's patch: a removed variable is there as nothing.
//! Numbers and texts turn into each other as in JavaScript.

use std::sync::Arc;

use super::call::{FunctionCall, says};
use crate::diag::limits;
use crate::macros::syntax::MacroResult;
use crate::model::{Map, Value};
use crate::text::written::{self, ToText as _};
use crate::text::{js, truthiness};

/// One variable.
struct MacroVariable<'a> {
    call: &'a FunctionCall<'a>,
    path: [Arc<str>; 3],
}

impl<'a> MacroVariable<'a> {
    fn of(call: &'a FunctionCall<'a>) -> Self {
        let store = call.text("store").unwrap_or_else(|| "local".into());
        Self { call, path: ["vars".into(), store, call.text("name").unwrap_or_default()] }
    }

    /// The value as it is stored; nothing where there is no variable.
    fn stored(&self) -> Option<Value> {
        let [vars, store, name] = &self.path;
        let find = |tree: &Value| tree.get(vars).and_then(|v| v.get(store)).and_then(|s| s.get(name)).cloned();
        match find(&self.call.st.set.borrow()) {
            Some(Value::Null) => None,
            Some(value) => Some(value),
            None => find(&self.call.st.scene).or_else(|| find(&self.call.st.rules.values)),
        }
    }

    /// The value as macros read it.
    fn read(&self) -> Value {
        as_read(self.stored())
    }

    /// A variable without a name cannot be written.
    fn write(&self, value: Value) -> Result<(), MacroResult> {
        if self.path.last().is_none_or(|name| name.is_empty()) {
            return Err(MacroResult::Unknown);
        }
        self.call.st.put(&self.path, value);
        Ok(())
    }

    fn remove(&self) {
        self.call.st.hide(&self.path);
    }

    /// Adds a value: appends to a list, otherwise adds numbers, otherwise appends text. Returns the new value of the
    /// variable.
    fn add(&self, by: &Value) -> Result<Value, MacroResult> {
        let old = self.read();
        let old = if truthiness::javascript(&old) { old } else { Value::Int(0) };
        if let Some(Value::List(list)) = written::parse_json(&js::string(&old)) {
            let mut list = Arc::unwrap_or_clone(list);
            list.push(by.clone());
            let list = Value::list(list);
            // what writing it out takes is paid; if too little work is left, the next step fails
            self.write(Value::Text(list.shown()))?;
            return Ok(list);
        }
        let (number, more) = (js::to_number(&old), js::to_number(by));
        let new = if number.is_nan() || more.is_nan() {
            let (old, by) = (if truthiness::javascript(&old) { js::string(&old) } else { String::new() }, js::string(by));
            Value::text(old + by.as_str())
        } else {
            js::value(number + more)
        };
        self.write(new.clone())?;
        Ok(new)
    }
}

/// A stored value as macros read it: a number where it says one.
fn as_read(stored: Option<Value>) -> Value {
    let Some(value) = stored else { return Value::text("") };
    if let Value::Text(text) = &value
        && js::trim(text).is_empty()
    {
        return value;
    }
    let number = js::to_number(&value);
    if number.is_nan() { value } else { js::value(number) }
}

fn done(result: Result<(), MacroResult>) -> MacroResult {
    result.err().unwrap_or_else(|| says(""))
}

/// A value as the text that is put there: lists and tables as JSON, or `plain`, as JavaScript's `String` has them.
fn shown(call: &FunctionCall<'_>, value: &Value) -> MacroResult {
    match call.row.with.get("plain") {
        Some(Value::Bool(true)) => says(js::string(value)),
        _ => MacroResult::Text(value.shown()),
    }
}

pub(super) fn get(call: &FunctionCall<'_>) -> MacroResult {
    let var = MacroVariable::of(call);
    shown(call, &var.read())
}

pub(super) fn set(call: &FunctionCall<'_>) -> MacroResult {
    if call.row.with.contains_key("only") && !call.value("only").is_some_and(|only| only.truthy()) {
        return says("");
    }
    done(MacroVariable::of(call).write(Value::Text(call.text("value").unwrap_or_default())))
}

pub(super) fn add(call: &FunctionCall<'_>) -> MacroResult {
    let by = call.value("value").unwrap_or_else(|| Value::text(""));
    done(MacroVariable::of(call).add(&by).map(|_| ()))
}

pub(super) fn step(call: &FunctionCall<'_>) -> MacroResult {
    let by = call.value("by").unwrap_or(Value::Int(1));
    MacroVariable::of(call).add(&by).map_or_else(|wrong| wrong, |new| shown(call, &new))
}

pub(super) fn has(call: &FunctionCall<'_>) -> MacroResult {
    says(if MacroVariable::of(call).stored().is_some() { "true" } else { "false" })
}

pub(super) fn delete(call: &FunctionCall<'_>) -> MacroResult {
    MacroVariable::of(call).remove();
    says("")
}

pub(super) fn get_key(call: &FunctionCall<'_>) -> MacroResult {
    let stored = MacroVariable::of(call).stored();
    let key = call.text("key").unwrap_or_default();
    let found = match stored.as_ref().map(|v| written::parse_json(&js::string(v))) {
        // a missing value has no fields, but is itself the result
        Some(Some(Value::Null)) => Some(Value::Null),
        Some(Some(parsed)) => {
            let part = element(&parsed, &key);
            match part {
                Some(Value::Null) => Some(Value::text("null")),
                Some(part @ (Value::List(_) | Value::Map(_))) => Some(Value::Text(part.shown())),
                part => part,
            }
        }
        _ => stored,
    };
    MacroResult::Text(as_read(found).shown())
}

/// `value[key]` of JSON data.
fn element(value: &Value, key: &str) -> Option<Value> {
    let number = js::number(key);
    let place = || (number >= 0.0 && number.fract() == 0.0).then(|| js::place(number)).flatten();
    let name = if number.is_nan() { key.to_owned() } else { crate::model::value::number_text(number + 0.0) };
    match value {
        Value::List(list) if name == "length" => i64::try_from(list.len()).ok().map(Value::Int),
        Value::List(list) => list.get(place()?).cloned(),
        Value::Map(map) => map.get(name.as_str()).cloned(),
        Value::Text(text) if name == "length" => i64::try_from(js::length(text)).ok().map(Value::Int),
        Value::Text(text) => text.chars().nth(place()?).map(|c| Value::text(c.to_string())),
        _ => None,
    }
}

pub(super) fn set_key(call: &FunctionCall<'_>) -> MacroResult {
    let var = MacroVariable::of(call);
    let (key, value) = (call.text("key").unwrap_or_default(), call.value("value").unwrap_or_else(|| Value::text("")));
    let number = js::number(&key);
    let old = match var.stored() {
        None | Some(Value::Null) => Some(Value::Null),
        Some(stored) => written::parse_json(&js::string(&stored)),
    };
    let new = match old {
        Some(Value::Null) if number.is_nan() => set_field(Map::default(), key, value),
        Some(Value::Null) => set_place(Vec::new(), number, value),
        Some(Value::Map(map)) => {
            let name = if number.is_nan() { key } else { crate::model::value::number_text(number + 0.0).into() };
            set_field(Arc::unwrap_or_clone(map), name, value)
        }
        Some(Value::List(list)) => set_place(Arc::unwrap_or_clone(list), number, value),
        // neither a list nor a table: nothing can be set in it
        _ => return done(if var.path.last().is_some_and(|n| !n.is_empty()) { Ok(()) } else { Err(MacroResult::Unknown) }),
    };
    done(var.write(Value::Text(new.shown())))
}

/// Fields whose names are whole numbers stand first, ascending.
fn set_field(mut map: Map, name: Arc<str>, value: Value) -> Value {
    let new = map.insert(name.clone(), value).is_none();
    if new && js::index_key(&name).is_some() {
        map.sort_by_cached_key(|name, _| js::index_key(name).map_or((true, 0), |place| (false, place)));
    }
    Value::map(map)
}

fn set_place(mut list: Vec<Value>, number: f64, value: Value) -> Value {
    if let Some(place) = js::place(number).filter(|n| *n < limits::ELEMENTS.max(list.len())) {
        if list.len() <= place {
            list.resize(place + 1, Value::Null);
        }
        if let Some(cell) = list.get_mut(place) {
            *cell = value;
        }
    }
    Value::list(list)
}

/// `{{.name}}`, `{{.name = value}}` and the rest of the shorthand.
pub(super) fn shorthand(call: &FunctionCall<'_>) -> MacroResult {
    let var = MacroVariable::of(call);
    let operator = call.text("operator").unwrap_or_default();
    let value = || -> Arc<str> {
        let branch = call.branch("value").filter(|_| call.args.len() > 2);
        branch.zip(call.called.walk).map(|(branch, walk)| walk.value(branch)).unwrap_or_default().into()
    };
    let shown = |value: Value| MacroResult::Text(value.shown());
    let or_default = |keep: bool, store: bool| {
        if keep {
            return shown(var.read());
        }
        let value = value();
        let wrong = if store { var.write(Value::Text(value.clone())).err() } else { None };
        wrong.unwrap_or(MacroResult::Text(value))
    };
    match operator.as_ref() {
        "" => shown(var.read()),
        "=" => done(var.write(Value::Text(value()))),
        "++" | "--" => var.add(&Value::Int(if operator.as_ref() == "++" { 1 } else { -1 })).map_or_else(|wrong| wrong, shown),
        "+=" => done(var.add(&Value::Text(value())).map(|_| ())),
        "-=" => {
            let left = js::to_number(&var.read()) - js::number(&value());
            if left.is_nan() { says("") } else { done(var.write(js::value(left))) }
        }
        "||" | "||=" => or_default(!call.macros.syntax().is_off(&var.read().shown()), operator.len() > 2),
        "??" | "??=" => or_default(var.stored().is_some(), operator.len() > 2),
        _ => compare(&var.read(), &operator, &value()),
    }
}

/// Texts are only compared for equality; numbers are ordered, and a value that is not a number is neither less nor
/// greater.
fn compare(left: &Value, operator: &str, right: &str) -> MacroResult {
    let (a, b) = (js::to_number(left), js::number(right));
    let holds = match operator {
        "==" => left.shown().as_ref() == right,
        "!=" => left.shown().as_ref() != right,
        ">" => a > b,
        ">=" => a >= b,
        "<" => a < b,
        "<=" => a <= b,
        _ => return MacroResult::Unknown,
    };
    says(if holds { "true" } else { "false" })
}
