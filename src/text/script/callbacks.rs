//! Functions of lists and tables that call a function of the script with each element. The interpreter's own ones copy the
//! elements for it, which no step counts; here each copy is paid before it is made, and an error leaves the list whole.

use std::any::TypeId;

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, INT, ImmutableString, Map, NativeCallContext, Position};

use super::{ScriptLimits, paid};

/// The most arguments that a function is called with: a value, an element and its number.
const MOST_ARGUMENTS: usize = 3;

type Outcome<T> = Result<T, Box<EvalAltResult>>;

/// What a function does with a list, its callback, and the argument beside it.
type OfList = fn(&Callback<'_>, &mut Array, Option<Dynamic>) -> Outcome<Dynamic>;
/// What a function does with a table and its callback.
type OfTable = fn(&Callback<'_>, &mut Map) -> Outcome<Dynamic>;

/// Whether a function takes its callback by name, too, as the interpreter has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Pointer,
    PointerOrName,
}

/// Whether a function changes its list or table, which no constant allows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Constants,
    Variables,
}

/// A function of lists: its name, what it does, how its callback is named, what it may change, and what else it takes.
type ListRow = (&'static str, OfList, By, On, fn() -> Option<TypeId>);

/// Functions of lists that take nothing else, a place where they begin, or a value.
const OF_LISTS: &[ListRow] = &[
    ("for_each", for_each, By::Pointer, On::Variables, nothing),
    ("map", map, By::PointerOrName, On::Constants, nothing),
    ("filter", filter, By::PointerOrName, On::Constants, nothing),
    ("some", some, By::PointerOrName, On::Constants, nothing),
    ("all", all, By::PointerOrName, On::Constants, nothing),
    ("dedup", dedup, By::PointerOrName, On::Variables, nothing),
    ("drain", drain, By::PointerOrName, On::Variables, nothing),
    ("retain", retain, By::PointerOrName, On::Variables, nothing),
    // a text that it is given may also be what is searched
    ("index_of", index_of, By::Pointer, On::Constants, nothing),
    ("index_of", index_of, By::Pointer, On::Constants, place),
    ("find", find, By::Pointer, On::Constants, nothing),
    ("find", find, By::Pointer, On::Constants, place),
    ("find_map", find_map, By::Pointer, On::Constants, nothing),
    ("find_map", find_map, By::Pointer, On::Constants, place),
    ("reduce", reduce, By::PointerOrName, On::Constants, nothing),
    ("reduce", reduce, By::PointerOrName, On::Constants, any),
    ("reduce_rev", reduce_rev, By::PointerOrName, On::Constants, nothing),
    ("reduce_rev", reduce_rev, By::PointerOrName, On::Constants, any),
];

const OF_TABLES: &[(&str, OfTable, On)] = &[
    ("map", map_fields, On::Constants),
    ("filter", filter_fields, On::Constants),
    ("drain", drain_fields, On::Variables),
    ("retain", retain_fields, On::Variables),
];

fn nothing() -> Option<TypeId> {
    None
}

fn place() -> Option<TypeId> {
    Some(TypeId::of::<INT>())
}

fn any() -> Option<TypeId> {
    Some(TypeId::of::<Dynamic>())
}

/// Registers the functions.
pub(super) fn register(engine: &mut Engine, limits: ScriptLimits) {
    let (list, pointer, name) = (TypeId::of::<Array>(), TypeId::of::<FnPtr>(), TypeId::of::<ImmutableString>());
    for (function, run, by, on, beside) in OF_LISTS {
        for called in [Some(pointer), Some(name).filter(|_| *by == By::PointerOrName)].into_iter().flatten() {
            let types: Vec<TypeId> = [list, called].into_iter().chain(beside()).collect();
            engine.register_raw_fn(*function, &types, move |ctx, args: &mut [&mut Dynamic]| {
                let callback = Callback::new(function, ctx, args.get(1), limits)?;
                let beside = args.get_mut(2).map(|value| std::mem::take(*value));
                let Some(list) = args.first_mut() else { return Ok(Dynamic::UNIT) };
                callback.may(*on, list)?;
                list.write_lock::<Array>().map_or(Ok(Dynamic::UNIT), |mut list| run(&callback, &mut list, beside))
            });
        }
    }
    engine.register_raw_fn("zip", [list, list, pointer], move |ctx, args| {
        let callback = Callback::new("zip", ctx, args.get(2), limits)?;
        let others = args.get_mut(1).map(|value| std::mem::take(*value)).and_then(|others| others.try_cast::<Array>());
        let list = args.first_mut().and_then(|list| list.write_lock::<Array>());
        list.map_or(Ok(Dynamic::UNIT), |list| zip(&callback, &list, &others.unwrap_or_default()))
    });
    for (function, run, on) in OF_TABLES {
        engine.register_raw_fn(*function, [TypeId::of::<Map>(), pointer], move |ctx, args| {
            let callback = Callback::new(function, ctx, args.get(1), limits)?;
            let Some(table) = args.first_mut() else { return Ok(Dynamic::UNIT) };
            callback.may(*on, table)?;
            table.write_lock::<Map>().map_or(Ok(Dynamic::UNIT), |mut table| run(&callback, &mut table))
        });
    }
}

/// The function of the script that an argument is, or names.
pub(super) fn called(by: Option<&&mut Dynamic>) -> Outcome<FnPtr> {
    match by.map(|by| (**by).clone()) {
        Some(by) if by.is_string() => FnPtr::new(by.to_string()),
        by => by.and_then(Dynamic::try_cast::<FnPtr>).map_or_else(|| FnPtr::new("callback"), Ok),
    }
}

/// A function of the script that is called with elements.
struct Callback<'a> {
    /// The function that calls it.
    caller: &'a str,
    by: FnPtr,
    /// How many arguments it takes, if it is a closure of the script; any other function may have several forms.
    takes: Option<usize>,
    ctx: NativeCallContext<'a>,
    limits: ScriptLimits,
}

impl<'a> Callback<'a> {
    fn new(caller: &'a str, ctx: NativeCallContext<'a>, by: Option<&&mut Dynamic>, limits: ScriptLimits) -> Outcome<Self> {
        let by = called(by)?;
        let held = by.curry().len();
        let library = &ctx.global_runtime_state().lib;
        let is_there = |takes: &usize| library.iter().any(|own| own.get_script_fn(by.fn_name(), held.saturating_add(*takes)).is_some());
        let takes = if by.is_anonymous() { (0..=MOST_ARGUMENTS).find(is_there) } else { None };
        Ok(Self { caller, by, takes, ctx, limits })
    }

    fn at(&self) -> Position {
        self.ctx.call_position()
    }

    fn may(&self, on: On, value: &Dynamic) -> Outcome<()> {
        if on == On::Variables && value.is_read_only() {
            return Err(EvalAltResult::ErrorNonPureMethodCallOnConstant(self.caller.into(), self.at()).into());
        }
        Ok(())
    }

    /// A copy, which is paid first.
    fn copy(&self, value: &Dynamic) -> Outcome<Dynamic> {
        paid::pay(value, &self.limits, self.at())?;
        Ok(value.clone())
    }

    /// Calls the function with an element: as `this`, as an argument, or with its number; the first that it takes. What a
    /// closure takes is known, so no copy is made in vain.
    fn call(&self, item: &mut Dynamic, n: usize) -> Outcome<Dynamic> {
        self.call_among(item, None, Some(n))
    }

    /// The same with an argument before the element.
    fn call_among(&self, item: &mut Dynamic, before: Option<&Dynamic>, n: Option<usize>) -> Outcome<Dynamic> {
        let among = usize::from(before.is_some());
        let mut result = match self.takes {
            Some(takes) if takes == among + 1 => self.run(None, &[before, Some(item)], None)?,
            Some(takes) if takes == among + 2 && n.is_some() => self.run(None, &[before, Some(item)], n)?,
            _ => self.run(Some(item), &[before], None)?,
        };
        if self.is_unknown(&result) {
            result = self.run(None, &[before, Some(item)], None)?;
        }
        if n.is_some() && self.is_unknown(&result) {
            result = self.run(None, &[before, Some(item)], n)?;
        }
        self.within(result)
    }

    /// One attempt to call the function; the outer error is that of a copy, and no script catches it.
    fn run(&self, this: Option<&mut Dynamic>, args: &[Option<&Dynamic>], n: Option<usize>) -> Outcome<Outcome<Dynamic>> {
        let args = args.iter().flatten().map(|value| self.copy(value));
        let args: Vec<Dynamic> = args.chain(n.map(|n| Ok(number(n)))).collect::<Outcome<_>>()?;
        if let Some(item) = this.as_deref().filter(|_| self.by.is_curried() && self.takes != Some(args.len())) {
            // the interpreter copies it behind what the closure holds
            paid::pay(item, &self.limits, self.at())?;
        }
        Ok(self.by.call_raw(&self.ctx, this, args))
    }

    /// Whether there is no such function with so many arguments.
    fn is_unknown(&self, result: &Outcome<Dynamic>) -> bool {
        let Err(error) = result else { return false };
        matches!(&**error, EvalAltResult::ErrorFunctionNotFound(called, _) if called.starts_with(self.by.fn_name()))
    }

    fn within(&self, result: Outcome<Dynamic>) -> Outcome<Dynamic> {
        result.map_err(|error| {
            let source = self.ctx.call_source().unwrap_or_default().to_string();
            EvalAltResult::ErrorInFunctionCall(self.caller.into(), source, error, Position::NONE).into()
        })
    }

    /// Whether the function gives `true` for an element.
    fn holds(&self, item: &mut Dynamic, n: usize) -> Outcome<bool> {
        self.call(item, n).map(|answer| is_true(&answer))
    }
}

fn is_true(answer: &Dynamic) -> bool {
    answer.as_bool().unwrap_or(false)
}

fn number(n: usize) -> Dynamic {
    INT::try_from(n).unwrap_or(INT::MAX).into()
}

/// The place where a search begins; a negative one counts from the end.
fn offset(length: usize, start: Option<Dynamic>) -> usize {
    let start = start.and_then(|start| start.as_int().ok()).unwrap_or(0);
    let size = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
    if start < 0 { length.saturating_sub(size) } else { size.min(length) }
}

fn for_each(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    for (n, item) in list.iter_mut().enumerate() {
        // the element is `this`, which is no copy
        let mut result = by.run(Some(item), &[], Some(n).filter(|_| by.takes == Some(1)))?;
        if by.is_unknown(&result) {
            result = by.run(Some(item), &[], Some(n))?;
        }
        let _ = by.within(result)?;
    }
    Ok(Dynamic::UNIT)
}

fn map(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    let made = list.iter_mut().enumerate().map(|(n, item)| by.call(item, n));
    made.collect::<Outcome<Array>>().map(Dynamic::from_array)
}

fn filter(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    let mut kept = Array::new();
    for (n, item) in list.iter_mut().enumerate() {
        if by.holds(item, n)? {
            kept.push(by.copy(item)?);
        }
    }
    Ok(Dynamic::from_array(kept))
}

fn some(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    first(by, list, None).map(|found| found.is_some().into())
}

fn all(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    for (n, item) in list.iter_mut().enumerate() {
        if !by.holds(item, n)? {
            return Ok(Dynamic::FALSE);
        }
    }
    Ok(Dynamic::TRUE)
}

/// The first element for which the function gives `true`, and its number.
fn first<'l>(by: &Callback<'_>, list: &'l mut Array, start: Option<Dynamic>) -> Outcome<Option<(usize, &'l Dynamic)>> {
    let start = offset(list.len(), start);
    for (n, item) in list.iter_mut().enumerate().skip(start) {
        if by.holds(item, n)? {
            return Ok(Some((n, item)));
        }
    }
    Ok(None)
}

fn index_of(by: &Callback<'_>, list: &mut Array, start: Option<Dynamic>) -> Outcome<Dynamic> {
    first(by, list, start).map(|found| found.map_or_else(|| Dynamic::from_int(-1), |(n, _)| number(n)))
}

fn find(by: &Callback<'_>, list: &mut Array, start: Option<Dynamic>) -> Outcome<Dynamic> {
    first(by, list, start)?.map_or(Ok(Dynamic::UNIT), |(_, item)| by.copy(item))
}

fn find_map(by: &Callback<'_>, list: &mut Array, start: Option<Dynamic>) -> Outcome<Dynamic> {
    let start = offset(list.len(), start);
    for (n, item) in list.iter_mut().enumerate().skip(start) {
        let value = by.call(item, n)?;
        if !value.is_unit() {
            return Ok(value);
        }
    }
    Ok(Dynamic::UNIT)
}

fn reduce(by: &Callback<'_>, list: &mut Array, initial: Option<Dynamic>) -> Outcome<Dynamic> {
    let mut items = list.iter_mut().enumerate();
    items.try_fold(initial.unwrap_or_default(), |result, (n, item)| by.call_among(item, Some(&result), Some(n)))
}

fn reduce_rev(by: &Callback<'_>, list: &mut Array, initial: Option<Dynamic>) -> Outcome<Dynamic> {
    let mut items = list.iter_mut().enumerate().rev();
    items.try_fold(initial.unwrap_or_default(), |result, (n, item)| by.call_among(item, Some(&result), Some(n)))
}

fn zip(by: &Callback<'_>, list: &Array, others: &Array) -> Outcome<Dynamic> {
    let pairs = list.iter().zip(others).enumerate().map(|(n, (a, b))| {
        let mut result = by.run(None, &[Some(a), Some(b)], None)?;
        if by.is_unknown(&result) {
            result = by.run(None, &[Some(a), Some(b)], Some(n))?;
        }
        by.within(result)
    });
    pairs.collect::<Outcome<Array>>().map(Dynamic::from_array)
}

/// Removes elements that the function calls equal to the one before them.
fn dedup(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    let mut is_equal = vec![false];
    let mut last = 0;
    for n in 1..list.len() {
        let result = by.run(None, &[list.get(last), list.get(n)], None)?;
        let equal = is_true(&by.within(result)?);
        is_equal.push(equal);
        last = if equal { last } else { n };
    }
    take(list, &is_equal);
    Ok(Dynamic::UNIT)
}

fn drain(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    let holds = answers(by, list)?;
    Ok(Dynamic::from_array(take(list, &holds)))
}

fn retain(by: &Callback<'_>, list: &mut Array, _: Option<Dynamic>) -> Outcome<Dynamic> {
    let mut holds = answers(by, list)?;
    holds.iter_mut().for_each(|holds| *holds = !*holds);
    Ok(Dynamic::from_array(take(list, &holds)))
}

fn answers(by: &Callback<'_>, list: &mut Array) -> Outcome<Vec<bool>> {
    list.iter_mut().enumerate().map(|(n, item)| by.holds(item, n)).collect()
}

/// Takes the elements out of a list that are marked.
fn take(list: &mut Array, marked: &[bool]) -> Array {
    let (taken, left): (Vec<_>, Vec<_>) =
        std::mem::take(list).into_iter().zip(marked.iter().chain(std::iter::repeat(&false))).partition(|(_, marked)| **marked);
    *list = left.into_iter().map(|(item, _)| item).collect();
    taken.into_iter().map(|(item, _)| item).collect()
}

fn map_fields(by: &Callback<'_>, table: &mut Map) -> Outcome<Dynamic> {
    let made = table.iter_mut().map(|(key, item)| Ok((key.clone(), by.call_among(item, Some(&key.as_str().into()), None)?)));
    made.collect::<Outcome<Map>>().map(Dynamic::from_map)
}

fn filter_fields(by: &Callback<'_>, table: &mut Map) -> Outcome<Dynamic> {
    let mut kept = Map::new();
    for (key, item) in &mut *table {
        if is_true(&by.call_among(item, Some(&key.as_str().into()), None)?) {
            kept.insert(key.clone(), by.copy(item)?);
        }
    }
    Ok(Dynamic::from_map(kept))
}

fn drain_fields(by: &Callback<'_>, table: &mut Map) -> Outcome<Dynamic> {
    take_fields(by, table, true)
}

fn retain_fields(by: &Callback<'_>, table: &mut Map) -> Outcome<Dynamic> {
    take_fields(by, table, false)
}

/// Takes the fields out of a table for which the function gives this answer.
fn take_fields(by: &Callback<'_>, table: &mut Map, answer: bool) -> Outcome<Dynamic> {
    let mut taken = Vec::new();
    for (key, item) in &mut *table {
        if is_true(&by.call_among(item, Some(&key.as_str().into()), None)?) == answer {
            taken.push(key.clone());
        }
    }
    let taken: Map = taken.into_iter().filter_map(|key| table.remove_entry(&key)).collect();
    Ok(Dynamic::from_map(taken))
}
