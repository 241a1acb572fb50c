//! The operators and functions of expressions: those of CEL and of its extensions for texts, numbers and optional values, and
//! those of lists that CEL lacks. Positions in texts count characters. A missing value is null.
//!
//! Source of the rules: the specification of CEL (google/cel-spec) and the definitions of its extensions (google/cel-go, `ext`).

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::function::{FunctionRefusal, bounded};
use super::written::{self, ToText as _};
use super::{pattern, work};
use crate::diag::short;
use crate::model::value::number_text;
use crate::model::{Map, Value};

type MethodResult = Result<Value, FunctionRefusal>;

/// An operator or a function: the first argument is what stands before the dot.
pub struct Method {
    /// Its name; one that is no word belongs to an operator.
    pub name: &'static str,
    /// How many values it takes.
    takes: RangeInclusive<usize>,
    /// An example, which is true.
    pub example: &'static str,
    /// What it does.
    pub run: fn(&[Value]) -> MethodResult,
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Method {
    /// Whether rules call it by its name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        !self.example.is_empty()
    }

    /// Whether it takes so many values.
    #[must_use]
    pub fn takes(&self, values: usize) -> bool {
        self.takes.contains(&values)
    }
}

/// The method of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

const fn method(name: &'static str, takes: RangeInclusive<usize>, example: &'static str, run: fn(&[Value]) -> MethodResult) -> Method {
    Method { name, takes, example, run }
}

const MANY: usize = usize::MAX;

/// All operators and functions.
pub static METHODS: &[Method] = &[
    method("+", 2..=MANY, "", add_values),
    method("-", 2..=2, "", |args| arithmetic(args, i64::checked_sub, |a, b| a - b)),
    method("*", 2..=2, "", |args| arithmetic(args, i64::checked_mul, |a, b| a * b)),
    method("/", 2..=2, "", |args| arithmetic(args, i64::checked_div, |a, b| a / b)),
    method("%", 2..=2, "", |args| match args {
        [Value::Int(a), Value::Int(b)] => whole_number(a.checked_rem(*b)),
        _ => mismatch("%", args),
    }),
    method("-x", 1..=1, "", |args| match args {
        [Value::Int(n)] => whole_number(n.checked_neg()),
        [Value::Num(n)] => Ok(Value::Num(-n)),
        _ => mismatch("-", args),
    }),
    method("!", 1..=1, "", |args| match args {
        [Value::Bool(b)] => Ok(Value::Bool(!b)),
        [Value::Null] => Ok(Value::Bool(true)),
        _ => mismatch("!", args),
    }),
    method("==", 2..=2, "", |args| Ok(Value::Bool(equal(at(args, 0), at(args, 1))?))),
    method("!=", 2..=2, "", |args| Ok(Value::Bool(!equal(at(args, 0), at(args, 1))?))),
    method("<", 2..=2, "", |args| compare_values(args, Ordering::is_lt)),
    method("<=", 2..=2, "", |args| compare_values(args, Ordering::is_le)),
    method(">", 2..=2, "", |args| compare_values(args, Ordering::is_gt)),
    method(">=", 2..=2, "", |args| compare_values(args, Ordering::is_ge)),
    method("in", 2..=2, "", |args| match args {
        [element, Value::List(list)] => Ok(Value::Bool(contains(list, element)?)),
        [key, Value::Map(map)] => Ok(Value::Bool(map.contains_key(&*key_text(key)?))),
        [_, Value::Null] => Ok(Value::Bool(false)),
        _ => mismatch("in", args),
    }),
    method("[]", 2..=2, "", |args| match Optional::state(at(args, 0)) {
        Some(None) => Ok(Optional::none()),
        Some(Some(of)) => Ok(find_element(&of, at(args, 1))?.map_or_else(Optional::none, Optional::some)),
        None => Ok(find_element(at(args, 0), at(args, 1))?.unwrap_or_default()),
    }),
    method("[?]", 2..=2, "", |args| {
        let of = Optional::settle(at(args, 0).clone());
        Ok(find_element(&of, at(args, 1))?.map_or_else(Optional::none, Optional::some))
    }),
    method("[…]", 0..=MANY, "", |args| {
        Ok(Value::list(args.chunks(2).filter_map(|entry| entry_value(at(entry, 0), at(entry, 1))).collect()))
    }),
    method("{…}", 0..=MANY, "", |args| {
        let mut map = Map::default();
        for entry in args.chunks(3) {
            let key = key_text(at(entry, 1))?;
            let Some(value) = entry_value(at(entry, 0), at(entry, 2)) else { continue };
            if map.insert(key.clone(), value).is_some() {
                return fail(format!("the table has the key `{}` twice", short::word(&key)));
            }
        }
        Ok(Value::map(map))
    }),
    method("…", 1..=1, "", |args| Ok(Optional::settle(at(args, 0).clone()))),
    // texts, lists and tables
    method("size", 1..=1, "'abc'.size() == 3", |args| size_of_value(at(args, 0))),
    method("contains", 2..=2, "'hello'.contains('ell') == true", |args| match args {
        [Value::List(list), element] => Ok(Value::Bool(contains(list, element)?)),
        _ => test_texts(args, |text, part| text.contains(part)),
    }),
    method("startsWith", 2..=2, "'hello'.startsWith('he') == true", |args| test_texts(args, |text, part| text.starts_with(part))),
    method("endsWith", 2..=2, "'hello'.endsWith('lo') == true", |args| test_texts(args, |text, part| text.ends_with(part))),
    method("matches", 2..=2, "'grey'.matches('gr(a|e)y') == true", |args| {
        let (text, pattern) = (text(at(args, 0))?, text(at(args, 1))?);
        if pattern::Pattern::is_written(&pattern) {
            let pattern = pattern::cached(&pattern).or_else(|error| fail(format!("the pattern cannot be used: {}", error.reason)))?;
            return pattern.is_match(&text).map(Value::Bool).map_err(|bound| FunctionRefusal::bound(&bound, Value::Bool(false)));
        }
        // by characters, unless it has escapes that this mode refuses
        let pattern = pattern::cached(&format!("/(?:{pattern})/u")).or_else(|_| pattern::cached(&format!("/(?:{pattern})/")));
        let pattern = pattern.or_else(|error| fail(format!("the pattern cannot be used: {}", error.reason)))?;
        pattern.is_match(&text).map(Value::Bool).map_err(|bound| FunctionRefusal::bound(&bound, Value::Bool(false)))
    }),
    method("regex.replace", 3..=3, "regex.replace('a1b22', '/[0-9]+/g', '#') == 'a#b#'", |args| {
        call_function("substitute", &[("of", at(args, 0)), ("find", &Value::text(pattern_text(args)?)), ("with", at(args, 2))])
    }),
    method("regex.extract", 2..=2, "regex.extract('Ines, 61', '([0-9]+)').value() == '61'", |args| {
        let found = call_function("match", &[("of", at(args, 0)), ("find", &Value::text(pattern_text(args)?))])?;
        let found = found.as_list().and_then(|found| found.get(1).or_else(|| found.first()));
        Ok(found.filter(|found| !found.is_null()).map_or_else(Optional::none, |found| Optional::some(found.clone())))
    }),
    method("regex.extractAll", 2..=2, "regex.extractAll('a1 b2', '[a-z][0-9]') == ['a1', 'b2']", |args| {
        let (text, pattern) = (text(at(args, 0))?, pattern_text(args)?);
        let pattern = pattern::cached(&pattern).or_else(|error| fail(format!("the pattern cannot be used: {}", error.reason)))?;
        let found = pattern.find_all(&text, usize::MAX).map_err(|bound| FunctionRefusal::bound(&bound, Value::Null))?;
        let found = found.iter().map(|found| Value::text(text.get(found.start..found.end).unwrap_or_default()));
        Ok(Value::list(found.collect()))
    }),
    method("slice", 2..=3, "'tapster'.slice(0, 3) == 'tap' && [1, 2, 3].slice(-2) == [2, 3]", slice_value),
    method("isEmpty", 1..=1, "''.isEmpty() && [].isEmpty() && !' '.isEmpty()", |args| Ok(Value::Bool(at(args, 0).is_empty()))),
    method("merge", 2..=MANY, "{'a': 1, 'b': 2}.merge({'b': 3}) == {'a': 1, 'b': 3}", merge_tables),
    method("charAt", 2..=2, "'abc'.charAt(1) == 'b'", |args| {
        let (text, n) = (text(at(args, 0))?, position(at(args, 1))?);
        let letters = text.chars().count();
        if n > letters {
            return fail(format!("there is no character {n}: the text has {letters}"));
        }
        Ok(Value::text(text.chars().nth(n).map(String::from).unwrap_or_default()))
    }),
    method("indexOf", 2..=3, "'banana'.indexOf('an', 2) == 3", |args| find_text(args, false)),
    method("lastIndexOf", 2..=3, "'banana'.lastIndexOf('an') == 3", |args| find_text(args, true)),
    method("substring", 2..=3, "'tapster'.substring(3, 7) == 'ster'", |args| {
        let text = text(at(args, 0))?;
        let letters = text.chars().count();
        let (from, to) = (position(at(args, 1))?, args.get(2).map_or(Ok(letters), position)?);
        if from > to || to > letters {
            return fail(format!("there are no characters {from} to {to}: the text has {letters}"));
        }
        Ok(Value::text(text.chars().skip(from).take(to - from).collect::<String>()))
    }),
    method("lowerAscii", 1..=1, "'TaCÆ'.lowerAscii() == 'tacÆ'", |args| Ok(Value::text(text(at(args, 0))?.to_ascii_lowercase()))),
    method("upperAscii", 1..=1, "'TaCæ'.upperAscii() == 'TACæ'", |args| Ok(Value::text(text(at(args, 0))?.to_ascii_uppercase()))),
    method("replace", 3..=4, "'a-b-c'.replace('-', '', 1) == 'ab-c'", |args| {
        let (text, old, new) = (text(at(args, 0))?, text(at(args, 1))?, text(at(args, 2))?);
        let times = args.get(3).map_or(Ok(None), limit)?.unwrap_or(usize::MAX);
        let found = text.matches(&*old).take(times).count();
        bounded(text.len().saturating_add(found.saturating_mul(new.len())))?;
        Ok(Value::text(text.replacen(&*old, &new, times)))
    }),
    method("split", 2..=3, "'a b c'.split(' ', 2) == ['a', 'b c']", |args| {
        let (text, by) = (text(at(args, 0))?, text(at(args, 1))?);
        let most = args.get(2).map_or(Ok(None), limit)?.unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        let mut rest: Option<&str> = if most == 0 { None } else { Some(&text) };
        while let Some(whole) = rest.take() {
            let end = if by.is_empty() { whole.char_indices().nth(1).map(|(at, _)| at) } else { whole.find(&*by) };
            let (part, behind) = match end.filter(|_| parts.len() + 1 < most) {
                Some(end) => (whole.get(..end).unwrap_or_default(), whole.get(end + by.len()..)),
                None => (whole, None),
            };
            // without a separator there is nothing in front of an empty text
            if !(by.is_empty() && text.is_empty()) {
                written::push(&mut parts, Value::text(part), part.len())?;
            }
            rest = behind;
        }
        Ok(Value::list(parts))
    }),
    method("join", 1..=2, "['a', 'b'].join(', ') == 'a, b'", |args| {
        let by = args.get(1).map_or(Ok(Arc::from("")), text)?;
        let parts = list(at(args, 0))?.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        bounded(parts.iter().map(|part| part.len() + by.len()).sum())?;
        Ok(Value::text(parts.join(&by)))
    }),
    method("trim", 1..=1, "' a '.trim() == 'a'", |args| Ok(Value::text(text(at(args, 0))?.trim()))),
    method("reverse", 1..=1, "'abc'.reverse() == 'cba'", |args| match at(args, 0) {
        Value::List(list) => Ok(Value::list(list.iter().rev().cloned().collect())),
        other => Ok(Value::text(text(other)?.chars().rev().collect::<String>())),
    }),
    method("format", 2..=2, "'%s has %d'.format(['Ines', 3]) == 'Ines has 3'", |args| {
        let out = format_values(&text(at(args, 0))?, list(at(args, 1))?)?;
        bounded(out.len())?;
        Ok(Value::text(out))
    }),
    method("strings.quote", 1..=1, "strings.quote('a\"b') == '\"a\\\\\"b\"'", |args| Ok(Value::text(quote_text(&text(at(args, 0))?)))),
    method("first", 1..=1, "[3, 4].first() == 3", |args| Ok(list(at(args, 0))?.first().cloned().unwrap_or_default())),
    method("last", 1..=1, "[3, 4].last() == 4", |args| Ok(list(at(args, 0))?.last().cloned().unwrap_or_default())),
    method("count", 1..=1, "[3, 4].count() == 2", |args| size_of_value(at(args, 0))),
    method("sum", 1..=1, "[3, 4].sum() == 7", |args| {
        let list = list(at(args, 0))?;
        list.iter().try_fold(Value::Int(0), |so_far, value| add_values(&[so_far, value.clone()]))
    }),
    method("distinct", 1..=1, "[3, 4, 3].distinct() == [3, 4]", |args| {
        let mut out: Vec<Value> = Vec::new();
        for value in list(at(args, 0))? {
            if !contains(&out, value)? {
                out.push(value.clone());
            }
        }
        Ok(Value::list(out))
    }),
    method("flatten", 1..=1, "[[3], [4, 5]].flatten() == [3, 4, 5]", |args| {
        let parts: Vec<&[Value]> = list(at(args, 0))?.iter().map(|value| value.as_list().unwrap_or(std::slice::from_ref(value))).collect();
        join_lists(&parts)
    }),
    // conversions
    method("int", 1..=1, "int('42') == 42", |args| match at(args, 0) {
        Value::Int(n) => Ok(Value::Int(*n)),
        // beyond this, numbers with a fraction are not whole numbers any more
        #[expect(clippy::cast_possible_truncation, reason = "within the bounds")]
        Value::Num(n) if n.abs() < 9_223_372_036_854_775_808.0 => Ok(Value::Int(n.trunc() as i64)),
        Value::Text(text) => text.parse().map(Value::Int).or_else(|_| fail(format!("`{}` is no whole number", short::word(text)))),
        other => fail(format!("{} is no whole number", kind(other))),
    }),
    method("double", 1..=1, "double('1.5') == 1.5", |args| match at(args, 0) {
        Value::Text(text) => text.parse().map(Value::Num).or_else(|_| fail(format!("`{}` is no number", short::word(text)))),
        other => other.as_f64().map(Value::Num).map_or_else(|| fail(format!("{} is no number", kind(other))), Ok),
    }),
    method("string", 1..=1, "string(1.5) == '1.5'", |args| match at(args, 0) {
        Value::List(_) | Value::Map(_) => fail(format!("{} is no text", kind(at(args, 0)))),
        other => Ok(Value::text(write_value(other))),
    }),
    method("bool", 1..=1, "bool('true') == true", |args| match at(args, 0) {
        Value::Bool(truth) => Ok(Value::Bool(*truth)),
        Value::Text(text) => match &**text {
            "1" | "t" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => fail(format!("`{}` is neither true nor false", short::word(other))),
        },
        other => fail(format!("{} is neither true nor false", kind(other))),
    }),
    method("dyn", 1..=1, "dyn(1) == 1", |args| Ok(at(args, 0).clone())),
    // numbers
    method("math.greatest", 1..=MANY, "math.greatest(3, 4.5) == 4.5", |args| find_extreme(args, Ordering::Greater)),
    method("math.least", 1..=MANY, "math.least([3, 4.5]) == 3", |args| find_extreme(args, Ordering::Less)),
    method("math.ceil", 1..=1, "math.ceil(1.2) == 2.0", |args| round_number(args, f64::ceil)),
    method("math.floor", 1..=1, "math.floor(1.8) == 1.0", |args| round_number(args, f64::floor)),
    method("math.round", 1..=1, "math.round(1.5) == 2.0", |args| round_number(args, f64::round)),
    method("math.trunc", 1..=1, "math.trunc(-1.8) == -1.0", |args| round_number(args, f64::trunc)),
    method("math.sqrt", 1..=1, "math.sqrt(9) == 3.0", |args| match at(args, 0).as_f64() {
        Some(n) => Ok(Value::Num(n.sqrt())),
        None => mismatch("math.sqrt", args),
    }),
    method("math.abs", 1..=1, "math.abs(-2) == 2", |args| match args {
        [Value::Int(n)] => whole_number(n.checked_abs()),
        [Value::Num(n)] => Ok(Value::Num(n.abs())),
        _ => mismatch("math.abs", args),
    }),
    method("math.sign", 1..=1, "math.sign(-2) == -1", |args| match args {
        [Value::Int(n)] => Ok(Value::Int(n.signum())),
        [Value::Num(n)] => Ok(Value::Num(if n.is_nan() || *n == 0.0 { *n } else { n.signum() })),
        _ => mismatch("math.sign", args),
    }),
    method("math.isNaN", 1..=1, "math.isNaN(0.0 / 0.0) == true", |args| test_number(args, f64::is_nan)),
    method("math.isInf", 1..=1, "math.isInf(1.0 / 0.0) == true", |args| test_number(args, f64::is_infinite)),
    method("math.isFinite", 1..=1, "math.isFinite(1.5) == true", |args| test_number(args, f64::is_finite)),
    method("math.bitAnd", 2..=2, "math.bitAnd(6, 3) == 2", |args| combine_bits(args, |a, b| Some(a & b))),
    method("math.bitOr", 2..=2, "math.bitOr(6, 3) == 7", |args| combine_bits(args, |a, b| Some(a | b))),
    method("math.bitXor", 2..=2, "math.bitXor(6, 3) == 5", |args| combine_bits(args, |a, b| Some(a ^ b))),
    method("math.bitNot", 1..=1, "math.bitNot(0) == -1", |args| match args {
        [Value::Int(n)] => Ok(Value::Int(!n)),
        _ => mismatch("math.bitNot", args),
    }),
    method("math.bitShiftLeft", 2..=2, "math.bitShiftLeft(1, 3) == 8", |args| {
        combine_bits(args, |a, by| (by >= 0).then(|| u32::try_from(by).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0)))
    }),
    method("math.bitShiftRight", 2..=2, "math.bitShiftRight(8, 3) == 1", |args| {
        combine_bits(args, |a, by| {
            (by >= 0).then(|| u32::try_from(by).ok().and_then(|by| a.cast_unsigned().checked_shr(by)).unwrap_or(0).cast_signed())
        })
    }),
    // optional values
    method("optional.of", 1..=1, "optional.of(3).hasValue() == true", |args| Ok(Optional::some(at(args, 0).clone()))),
    method("optional.none", 0..=0, "optional.none().hasValue() == false", |_| Ok(Optional::none())),
    method("optional.ofNonZeroValue", 1..=1, "optional.ofNonZeroValue('').hasValue() == false", |args| {
        let value = at(args, 0);
        let is_zero = value.is_empty() || matches!(value, Value::Bool(false)) || value.as_f64() == Some(0.0);
        Ok(if is_zero { Optional::none() } else { Optional::some(value.clone()) })
    }),
    method("hasValue", 1..=1, "{'a': 1}.?b.hasValue() == false", |args| Ok(Value::Bool(Optional::read(at(args, 0)).is_some()))),
    method("value", 1..=1, "{'a': 1}.?a.value() == 1", |args| Optional::read(at(args, 0)).map_or_else(|| fail("there is no value"), Ok)),
];

/// The second argument as the text of a pattern, `/…/flags`; one without slashes is found everywhere.
fn pattern_text(args: &[Value]) -> Result<String, FunctionRefusal> {
    let pattern = text(at(args, 1))?;
    Ok(if pattern::Pattern::is_written(&pattern) { pattern.to_string() } else { format!("/{pattern}/gu") })
}

/// Calls a function of values.
fn call_function(name: &str, args: &[(&str, &Value)]) -> MethodResult {
    let Some(function) = super::functions::find(name) else { return fail(format!("there is no function `{name}`")) };
    args.first().map_or(Ok(Arc::from("")), |(_, of)| text(of))?;
    (function.run)(&args.iter().map(|(name, value)| (Arc::from(*name), (*value).clone())).collect::<Map>())
}

/// A part of a text or of a list: positions below 0 count from the end, and what is beyond it is left out.
fn slice_value(args: &[Value]) -> MethodResult {
    let place = |argument: Option<&Value>, length: usize, default: usize| match argument {
        None => Ok(default),
        Some(Value::Int(n)) => {
            let distance = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
            Ok(if *n < 0 { length.saturating_sub(distance) } else { distance.min(length) })
        }
        Some(other) => fail(format!("a position is a whole number, not `{}`", short::word(&other.shown()))),
    };
    if let Value::List(list) = at(args, 0) {
        let (from, to) = (place(args.get(1), list.len(), 0)?, place(args.get(2), list.len(), list.len())?);
        return Ok(Value::list(list.get(from..to.max(from)).unwrap_or_default().to_vec()));
    }
    let text = text(at(args, 0))?;
    let length = text.chars().count();
    let (from, to) = (place(args.get(1), length, 0)?, place(args.get(2), length, length)?);
    Ok(Value::text(text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>()))
}

/// Tables laid over each other: of several fields with one name the last counts, unless it is missing.
fn merge_tables(args: &[Value]) -> MethodResult {
    let mut merged = Map::default();
    for table in args {
        match table {
            Value::Map(table) => {
                for (key, value) in table.iter().filter(|(_, value)| !value.is_null()) {
                    merged.insert(key.clone(), value.clone());
                }
            }
            Value::Null => {}
            other => return fail(format!("a table is needed, not {}", kind(other))),
        }
    }
    Ok(Value::map(merged))
}

fn fail<T>(message: impl Into<String>) -> Result<T, FunctionRefusal> {
    Err(FunctionRefusal::from(message.into()))
}

static NULL: Value = Value::Null;

fn at(args: &[Value], n: usize) -> &Value {
    args.get(n).unwrap_or(&NULL)
}

/// What a value is, for messages.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Int(_) => "a whole number",
        Value::Num(_) => "a number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "a table",
        Value::Rule(_) => "a rule",
    }
}

fn mismatch(name: &str, args: &[Value]) -> MethodResult {
    let kinds: Vec<&str> = args.iter().map(kind).collect();
    fail(format!("`{name}` is not possible with {}", kinds.join(" and ")))
}

fn whole_number(n: Option<i64>) -> MethodResult {
    n.map(Value::Int).map_or_else(|| fail("the result is no whole number of 64 bits"), Ok)
}

fn text(value: &Value) -> Result<Arc<str>, FunctionRefusal> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => fail(format!("a text is needed, not {}", kind(other))),
    }
}

fn list(value: &Value) -> Result<&[Value], FunctionRefusal> {
    match value {
        Value::List(list) => Ok(list),
        Value::Null => Ok(&[]),
        other => fail(format!("a list is needed, not {}", kind(other))),
    }
}

fn position(value: &Value) -> Result<usize, FunctionRefusal> {
    match value {
        Value::Int(n) => usize::try_from(*n).or_else(|_| fail("a position is not below 0")),
        other => fail(format!("a position is a whole number, not {}", kind(other))),
    }
}

/// How often at most; a number below 0 means as often as possible.
fn limit(value: &Value) -> Result<Option<usize>, FunctionRefusal> {
    match value {
        Value::Int(n) => Ok(usize::try_from(*n).ok()),
        other => fail(format!("a whole number is needed, not {}", kind(other))),
    }
}

/// The key of a table: all keys are texts.
fn key_text(key: &Value) -> Result<Arc<str>, FunctionRefusal> {
    match key {
        Value::Text(_) | Value::Int(_) | Value::Bool(_) => Ok(key.shown()),
        Value::Num(n) if n.fract() == 0.0 => Ok(key.shown()),
        other => fail(format!("{} cannot be a key", kind(other))),
    }
}

fn size_of_value(value: &Value) -> MethodResult {
    let size = match value {
        Value::Text(text) => text.chars().count(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Null => 0,
        other => return fail(format!("{} has no size", kind(other))),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn test_texts(args: &[Value], test: fn(&str, &str) -> bool) -> MethodResult {
    if at(args, 0).is_null() {
        return Ok(Value::Bool(false));
    }
    Ok(Value::Bool(test(&text(at(args, 0))?, &text(at(args, 1))?)))
}

/// An element of a list or a field of a table.
fn find_element(of: &Value, key: &Value) -> Result<Option<Value>, FunctionRefusal> {
    Ok(match (of, key) {
        (Value::List(list), Value::Text(word)) if matches!(&**word, "last" | "count") => {
            if &**word == "last" {
                list.last().cloned()
            } else {
                size_of_value(of).ok()
            }
        }
        (Value::List(list), Value::Int(_) | Value::Num(_)) => match key.as_f64() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number that is not below 0")]
            Some(n) if n.fract() == 0.0 && n >= 0.0 => list.get(n as usize).cloned(),
            Some(n) if n.fract() == 0.0 => None,
            _ => return fail("an index is a whole number"),
        },
        (Value::Map(map), key) => map.get(&*key_text(key)?).cloned(),
        (Value::Null, _) => None,
        (other, _) => return fail(format!("{} has no such element", kind(other))),
    })
}

/// Whether two values are equal. Whole numbers are compared as such.
fn equal(a: &Value, b: &Value) -> Result<bool, FunctionRefusal> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(a == b),
        _ => Ok(written::same(a, b)?),
    }
}

fn contains(list: &[Value], wanted: &Value) -> Result<bool, FunctionRefusal> {
    Ok(match wanted {
        Value::Int(_) => written::holds(list, wanted)? && list.iter().any(|value| equal(value, wanted) == Ok(true)),
        _ => written::holds(list, wanted)?,
    })
}

fn join_lists(parts: &[&[Value]]) -> MethodResult {
    let elements: usize = parts.iter().map(|part| part.len()).sum();
    // paid before it is made
    work::make(elements.saturating_mul(size_of::<Value>()))?;
    Ok(Value::list(parts.concat()))
}

/// The value of an entry, unless it is an optional one that is missing.
fn entry_value(is_optional: &Value, value: &Value) -> Option<Value> {
    if is_optional.truthy() { Optional::read(value) } else { Some(Optional::settle(value.clone())) }
}

fn add_values(args: &[Value]) -> MethodResult {
    let [first, rest @ ..] = args else { return Ok(Value::Null) };
    match first {
        Value::Text(_) => {
            let parts = args.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            work::make(parts.iter().map(|part| part.len()).sum())?;
            Ok(Value::text(parts.concat()))
        }
        Value::List(_) => join_lists(&args.iter().map(list).collect::<Result<Vec<_>, _>>()?),
        _ => rest.iter().try_fold(first.clone(), |so_far, value| arithmetic(&[so_far, value.clone()], i64::checked_add, |a, b| a + b)),
    }
}

fn arithmetic(args: &[Value], of_whole: fn(i64, i64) -> Option<i64>, of_numbers: fn(f64, f64) -> f64) -> MethodResult {
    match args {
        [Value::Int(a), Value::Int(b)] => whole_number(of_whole(*a, *b)),
        [a @ (Value::Int(_) | Value::Num(_)), b @ (Value::Int(_) | Value::Num(_))] => {
            Ok(Value::Num(of_numbers(a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default())))
        }
        _ => mismatch("arithmetic", args),
    }
}

/// The order of two values of one kind.
///
/// # Errors
/// They are of different kinds, or of one without order.
pub fn compare(a: &Value, b: &Value) -> Result<Ordering, FunctionRefusal> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Ok(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Null, Value::Null) => Ok(Ordering::Equal),
        (Value::Null, _) => Ok(Ordering::Less),
        (_, Value::Null) => Ok(Ordering::Greater),
        (Value::Int(_) | Value::Num(_), Value::Int(_) | Value::Num(_)) => {
            Ok(a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()))
        }
        _ => fail(format!("{} and {} have no order", kind(a), kind(b))),
    }
}

/// Sorts by keys, which are of one kind; those that are missing come first.
///
/// # Errors
/// Keys of different kinds, or of one without order.
pub fn sort(list: &mut [(Value, Value)]) -> Result<(), FunctionRefusal> {
    // whole numbers and others are compared as numbers, so that the order is one of all
    if list.iter().any(|(key, _)| matches!(key, Value::Num(_))) {
        for (key, _) in list.iter_mut() {
            if let Value::Int(_) = key {
                *key = Value::Num(key.as_f64().unwrap_or_default());
            }
        }
    }
    let present = list.iter().position(|(key, _)| !key.is_null());
    if let Some((first, _)) = present.and_then(|n| list.get(n)) {
        list.iter().try_for_each(|(key, _)| compare(first, key).map(drop))?;
    }
    work::spend(list.len() as u64)?;
    list.sort_by(|(a, _), (b, _)| compare(a, b).unwrap_or(Ordering::Equal));
    Ok(())
}

fn compare_values(args: &[Value], test: fn(Ordering) -> bool) -> MethodResult {
    match args {
        [Value::Null, _] | [_, Value::Null] => Ok(Value::Bool(false)),
        [a @ (Value::Int(_) | Value::Num(_)), b @ (Value::Int(_) | Value::Num(_))] if !matches!((a, b), (Value::Int(_), Value::Int(_))) => {
            // -0.0 is 0.0, and nothing is in order with what is no number
            Ok(Value::Bool(a.as_f64().partial_cmp(&b.as_f64()).is_some_and(test)))
        }
        [a, b] => Ok(Value::Bool(test(compare(a, b)?))),
        _ => Ok(Value::Null),
    }
}

fn find_text(args: &[Value], last: bool) -> MethodResult {
    let (of, part) = (text(at(args, 0))?, text(at(args, 1))?);
    let from = args.get(2).map_or(Ok(None), |n| position(n).map(Some))?;
    let mut starts = of.char_indices().map(|(at, _)| at).chain([of.len()]);
    let Some(start) = from.map_or(Some(if last { of.len() } else { 0 }), |from| starts.nth(from)) else {
        return fail(format!("there is no character {}: the text has {}", from.unwrap_or_default(), of.chars().count()));
    };
    let place = if last {
        let end = of.floor_char_boundary(start.saturating_add(part.len()));
        of.get(..end).and_then(|before| before.rfind(&*part))
    } else {
        of.get(start..).and_then(|behind| behind.find(&*part)).map(|at| at + start)
    };
    let letters = place.and_then(|at| of.get(..at)).map(|before| before.chars().count());
    Ok(Value::Int(letters.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX))))
}

fn find_extreme(args: &[Value], wanted: Ordering) -> MethodResult {
    let values = if let [Value::List(list)] = args { list } else { args };
    let mut best: Option<&Value> = None;
    for value in values {
        let (Value::Int(_) | Value::Num(_)) = value else { return fail(format!("numbers are needed, not {}", kind(value))) };
        if best.map_or(Ok(true), |best| compare(value, best).map(|order| order == wanted))? {
            best = Some(value);
        }
    }
    best.cloned().map_or_else(|| fail("an empty list has no greatest and no least number"), Ok)
}

fn round_number(args: &[Value], of: fn(f64) -> f64) -> MethodResult {
    match args {
        [Value::Num(n)] => Ok(Value::Num(of(*n))),
        [Value::Int(n)] => Ok(Value::Int(*n)),
        _ => mismatch("rounding", args),
    }
}

fn test_number(args: &[Value], of: fn(f64) -> bool) -> MethodResult {
    at(args, 0).as_f64().map_or_else(|| mismatch("this test", args), |n| Ok(Value::Bool(of(n))))
}

fn combine_bits(args: &[Value], of: fn(i64, i64) -> Option<i64>) -> MethodResult {
    match args {
        [Value::Int(a), Value::Int(b)] => of(*a, *b).map(Value::Int).map_or_else(|| fail("a shift is not below 0"), Ok),
        _ => mismatch("this", args),
    }
}

/// A value that may be missing, while an expression is evaluated: a table with one key that no data has. What an expression
/// gives is the value itself.
pub struct Optional;

impl Optional {
    const KEY: &str = "\u{0}optional";

    fn of(values: Vec<Value>) -> Value {
        Value::map([(Self::KEY.into(), Value::list(values))].into_iter().collect())
    }

    /// No value.
    #[must_use]
    pub fn none() -> Value {
        Self::of(Vec::new())
    }

    /// A value.
    #[must_use]
    pub fn some(value: Value) -> Value {
        Self::of(vec![value])
    }

    /// Whether a value is an optional one.
    #[must_use]
    pub fn is(value: &Value) -> bool {
        value.as_map().is_some_and(|map| map.len() == 1 && map.contains_key(Self::KEY))
    }

    /// What an optional value holds; `None`: it is no optional value.
    pub fn state(value: &Value) -> Option<Option<Value>> {
        Self::is(value).then(|| value.get(Self::KEY).and_then(|values| values.as_list()?.first().cloned()))
    }

    /// What an optional value holds, or any other value unless it is missing.
    #[must_use]
    pub fn read(value: &Value) -> Option<Value> {
        Self::state(value).unwrap_or_else(|| Some(value.clone()).filter(|value| !value.is_null()))
    }

    /// The value itself; null if it is missing.
    #[must_use]
    pub fn settle(value: Value) -> Value {
        match Self::state(&value) {
            Some(held) => held.unwrap_or_default(),
            None => value,
        }
    }
}

/// A value as `string` and `%s` write it.
fn write_value(value: &Value) -> String {
    match value {
        Value::Num(n) => number_text(*n),
        Value::Null => "null".into(),
        Value::List(list) => format!("[{}]", list.iter().map(write_value).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let mut entries: Vec<(&str, String)> = map.iter().map(|(key, value)| (&**key, write_value(value))).collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", "))
        }
        other => other.shown().to_string(),
    }
}

fn quote_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The most digits behind the point.
const DIGITS: usize = 100;

/// `'%s …'.format([…])`.
fn format_values(template: &str, values: &[Value]) -> Result<String, FunctionRefusal> {
    let mut out = String::new();
    let mut values = values.iter();
    let mut letters = template.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let (mut verb, mut digits) = (letters.next(), None);
        if verb == Some('%') {
            out.push('%');
            continue;
        }
        if verb == Some('.') {
            let mut number = String::new();
            verb = letters.next();
            while let Some(digit) = verb.filter(char::is_ascii_digit) {
                number.push(digit);
                verb = letters.next();
            }
            digits = Some(number.parse::<usize>().ok().filter(|n| *n <= DIGITS).map_or_else(|| fail("`%.` needs a number of digits"), Ok)?);
        }
        let value = values.next().map_or_else(|| fail("`format` has fewer values than places"), Ok)?;
        let refused = |verb: &str| fail(format!("`%{verb}` cannot write {}", kind(value)));
        let special = value.as_f64().filter(|n| !n.is_finite()).map(number_text);
        let written = match (verb, value, special) {
            (Some('s'), value, _) => {
                written::read(value)?;
                write_value(value)
            }
            (Some('d' | 'e' | 'f'), Value::Num(_), Some(special)) => special,
            (Some('d'), Value::Int(_) | Value::Num(_), _) => write_value(value),
            (Some('f'), Value::Int(_) | Value::Num(_), _) => format!("{:.*}", digits.unwrap_or(6), value.as_f64().unwrap_or_default()),
            (Some('e'), Value::Int(_) | Value::Num(_), _) => {
                let text = format!("{:.*e}", digits.unwrap_or(6), value.as_f64().unwrap_or_default());
                let (number, power) = text.split_once('e').unwrap_or((&text, "0"));
                let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
                format!("{number}e{sign}{power:0>2}")
            }
            (Some('b'), Value::Int(n), _) => write_signed(*n, |n| format!("{n:b}")),
            (Some('b'), Value::Bool(truth), _) => u8::from(*truth).to_string(),
            (Some('o'), Value::Int(n), _) => write_signed(*n, |n| format!("{n:o}")),
            (Some('x'), Value::Int(n), _) => write_signed(*n, |n| format!("{n:x}")),
            (Some('X'), Value::Int(n), _) => write_signed(*n, |n| format!("{n:X}")),
            (Some('x'), Value::Text(text), _) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            (Some('X'), Value::Text(text), _) => text.bytes().map(|byte| format!("{byte:02X}")).collect(),
            (Some(verb @ ('d' | 'e' | 'f' | 'b' | 'o' | 'x' | 'X')), ..) => return refused(&verb.to_string()),
            (Some(other), ..) => return fail(format!("`%{other}` is none of %s %d %f %e %b %o %x %X %%")),
            (None, ..) => return fail("the text ends in `%`"),
        };
        out.push_str(&written);
        bounded(out.len())?;
    }
    Ok(out)
}

fn write_signed(n: i64, digits: impl Fn(u64) -> String) -> String {
    format!("{}{}", if n < 0 { "-" } else { "" }, digits(n.unsigned_abs()))
}
