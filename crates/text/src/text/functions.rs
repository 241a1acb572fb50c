//! The library of pure functions that values of rule files call: `{ fn = "words", of = "@name" }`.
//!
//! One table, [`FUNCTIONS`]: a name, what it does, its arguments, and the function itself. Arguments are evaluated and
//! passed by name; `of` is the main one. A function depends on nothing but its arguments, and no function is specific
//! to a product.

use std::sync::Arc;

use sha2::{Digest, Sha512};

use super::function::{bounded, named, of, text, times};
use super::json_pointer::JsonPointer;
use super::language_tag::LanguageTag;
use super::moment::{Calendar, INVALID, Moment};
use super::verbatim::{VerbatimMasker, Zone};
use super::work::BudgetExceeded;
use super::written::{self, ToText as _, listed};
use super::{arithmetic, js, js_number, json_text, lists, pattern, random, replacing, units};
use crate::diag::limits;
use crate::model::{Map, Value};

pub use super::fingerprint::fingerprint;
pub use super::function::{Function, FunctionArgs, FunctionRefusal};

const OF: &[(&str, bool)] = &[("of", true)];

/// All functions, in the order of their names.
pub const FUNCTIONS: &[Function] = &[
    arithmetic::ARITHMETIC,
    Function {
        name: "at_pointer",
        doc: "the value to which a JSON Pointer (RFC 6901) leads in a value; `else` (default: nothing) if it leads nowhere or is no pointer",
        args: &[("of", true), ("pointer", true), ("else", false)],
        run: |args| Ok(at_pointer(of(args), &named(args, "pointer"), args.get("else").unwrap_or(&Value::Null))),
    },
    units::CAPITAL,
    CLOCK,
    units::CODE_UNIT,
    js_number::COMPARE,
    js_number::COMPUTE,
    Function {
        name: "concat",
        doc: "the elements of a list joined to one text; if it is not empty and all its elements are lists, these joined to one list",
        args: OF,
        run: concat,
    },
    DATE_TOKENS,
    json_text::DIG,
    lists::DISTINCT,
    lists::ELEMENT,
    Function {
        name: "escape_pattern",
        doc: "the text as a pattern that matches exactly this text",
        args: OF,
        run: |args| Ok(Value::text(pattern::escape(&text(args)))),
    },
    Function {
        name: "fingerprint",
        doc: "blake3 of the value's canonical JSON (keys sorted, numbers in their shortest form), in hex",
        args: OF,
        run: |args| Ok(Value::text(fingerprint(of(args)))),
    },
    Function {
        name: "flat",
        doc: "the list with each list in it replaced by its elements, and without missing values; always a list, also if it is empty",
        args: OF,
        run: |args| Ok(flat(of(args))?),
    },
    Function {
        name: "format_time",
        doc: "a date text or milliseconds since 1970 in a pattern of moment.js (ISO 8601 by default); `offset` is the distance from UTC, in hours if it is below 16, otherwise in minutes; `calendar` is a table with what a language says in dates (American English by default)",
        args: &[("of", true), ("format", false), ("offset", false), ("calendar", false)],
        run: format_time,
    },
    units::FROM_CODE_UNIT,
    Function {
        name: "from_pairs",
        doc: "a table of a list of tables `{ key, value }`, as `pairs` gives them; of several with one key the last counts; an element without a key is left out",
        args: OF,
        run: |args| Ok(from_pairs(of(args))),
    },
    Function {
        name: "hash",
        doc: "a number of 53 bits for a text, always the same for the same text (cyrb53)",
        args: OF,
        run: |args| Ok(Value::Int(i64::try_from(super::random::hash(&text(args), 0)).unwrap_or(i64::MAX))),
    },
    Function {
        name: "inline_refs",
        doc: "a JSON Schema in which references (`$ref`) to `$defs` are replaced by what they refer to, without `$defs`",
        args: OF,
        run: |args| super::schema::inline_refs(of(args)).map_err(FunctionRefusal::from),
    },
    lists::JOIN,
    Function {
        name: "json",
        doc: "the value as compact JSON text; with `indent`, on several lines with so many blanks per level",
        args: &[("of", true), ("indent", false)],
        run: json,
    },
    Function {
        name: "laid",
        doc: "the tables of a list laid over each other: a later key replaces an earlier one, also with null; what is not a table is left out. With `deep = true`, tables in them are laid over each other too, at every level, and null replaces nothing",
        args: &[("of", true), ("deep", false)],
        run: |args| Ok(laid(of(args), args.get("deep").is_some_and(Value::truthy))),
    },
    Function {
        name: "language_tag",
        doc: "the parts of a language tag (RFC 5646) as a table: `tag` in its usual upper and lower case, `language`, `script`, `region` …; `{ error }` if it is none; with `lenient`, white space around it and `_` are allowed",
        args: &[("of", true), ("lenient", false)],
        run: |args| Ok(parts_of_language_tag(&text(args), args.get("lenient").is_some_and(Value::truthy))?),
    },
    Function { name: "length", doc: "UTF-16 units of a text, elements of a list, fields of a table", args: OF, run: length },
    Function { name: "lines", doc: "the lines of a text, as a list, without their ends", args: OF, run: lines },
    Function {
        name: "lower",
        doc: "the text in lower case",
        args: OF,
        run: |args| cased(&text(args), str::to_lowercase, |c| c.to_lowercase().map(char::len_utf8).sum()),
    },
    units::MASK_BYTES,
    replacing::MATCH,
    json_text::MEMBER,
    Function {
        name: "merge_patch",
        doc: "a table with another one, `with`, merged into it as RFC 7396 says: tables are merged field by field, null removes a field, anything else replaces",
        args: &[("of", true), ("with", true)],
        run: |args| Ok(super::merge_patch::merge_patch(of(args), args.get("with").unwrap_or(&Value::Null))),
    },
    Function { name: "number", doc: "the number in a text, as JavaScript reads it; nothing if there is none", args: OF, run: number },
    js_number::PAD_START,
    Function {
        name: "pairs",
        doc: "the fields of a table as a list of tables `{ key, value }`: with keys that are whole numbers first, ascending",
        args: OF,
        run: |args| {
            let names = ["key", "value"].map(Arc::<str>::from);
            Ok(listed(fields(of(args)).into_iter().map(|(key, value)| pair(&names, key, value)))?)
        },
    },
    js_number::PARSE_INT,
    Function {
        name: "parse_json",
        doc: "the value of a JSON text; `else` (default: nothing) if the text is not JSON; a value that is not a text stays as it is",
        args: &[("of", true), ("else", false)],
        run: parse_json,
    },
    Function {
        name: "parse_time",
        doc: "the milliseconds since 1970 of a date text, or a number as it is; nothing if it is no date. `stamps` lists further notations of times, such as `$table.time_stamp`; `zone` is the distance of the local clock from UTC in minutes (default: 0)",
        args: &[("of", true), ("stamps", false), ("zone", false)],
        run: parse_time,
    },
    Function {
        name: "pointer",
        doc: "the JSON Pointer (RFC 6901) of a list of keys and indexes, with `~` and `/` in them escaped",
        args: OF,
        run: |args| Ok(pointer_of_tokens(of(args))),
    },
    json_text::RANGE,
    json_text::READ_LIST,
    json_text::READ_PAIRS,
    Function { name: "repeat", doc: "the text `times` times", args: &[("of", true), ("times", true)], run: repeat },
    replacing::REPLACE,
    Function { name: "reverse", doc: "the characters of a text or the elements of a list from last to first", args: OF, run: reverse },
    Function {
        name: "schema_mistakes",
        doc: "what is wrong with a value by the JSON Schema `schema`, as a list of texts; empty if nothing is",
        args: &[("of", true), ("schema", true)],
        run: |args| super::schema::mistakes(of(args), args.get("schema").unwrap_or(&Value::Null)).map_err(FunctionRefusal::from),
    },
    Function {
        name: "schema_problems",
        doc: "the same as a list of tables `{ code, at, keyword }`, one for each place, in the order of the value: `at` is a JSON Pointer behind the text `at`, `code` what the table `codes` has for the keyword that is broken, or for `else`",
        args: &[("of", true), ("schema", true), ("at", false), ("codes", false)],
        run: |args| {
            let arg = |name: &str| args.get(name).unwrap_or(&Value::Null);
            super::schema::problems(of(args), arg("schema"), &arg("at").shown(), arg("codes")).map_err(FunctionRefusal::from)
        },
    },
    random::SEEDED_NUMBER,
    lists::SET_MISSING,
    Function {
        name: "sha512",
        doc: "SHA-512 of the text in UTF-8, in hex",
        args: OF,
        run: |args| Ok(Value::text(Sha512::digest(text(args).as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>())),
    },
    units::SHIFT_UNITS,
    lists::SPLICE,
    replacing::SPLIT,
    Function {
        name: "string",
        doc: "the value as a text, as JavaScript converts it: `a,b` for a list, `[object Object]` for a table, `undefined` for a missing value",
        args: OF,
        run: |args| Ok(Value::Text(string(of(args)))),
    },
    json_text::STRINGIFY,
    replacing::SUBSTITUTE,
    Function {
        name: "time_difference",
        doc: "the time between `from` and `of` in words, such as `2 days`; both are date texts or milliseconds; with `suffix`, `in 2 days` or `2 days ago`; `calendar` as for `format_time`",
        args: &[("of", true), ("from", true), ("suffix", false), ("calendar", false)],
        run: time_difference,
    },
    js_number::TO_BASE,
    js_number::TO_FIXED,
    Function { name: "trim", doc: "the text without white space at both ends", args: OF, run: |args| trimmed(args, js::trim) },
    Function { name: "trim_end", doc: "the text without white space at its end", args: OF, run: |args| trimmed(args, js::trim_end) },
    Function { name: "trim_start", doc: "the text without white space at its start", args: OF, run: |args| trimmed(args, js::trim_start) },
    units::UNMASK_BYTES,
    Function {
        name: "upper",
        doc: "the text in upper case",
        args: OF,
        run: |args| cased(&text(args), str::to_uppercase, |c| c.to_uppercase().map(char::len_utf8).sum()),
    },
    Function {
        name: "values",
        doc: "the values of a table as a list, those with whole numbers as keys first, ascending; a list stays as it is",
        args: OF,
        run: values,
    },
    Function {
        name: "verbatim_parts",
        doc: "the text cut into parts `{ text }` and zones that must stay as they are, `{ zone, raw }`; `zones` and `escape_tags` choose them (default: all, and `verbatim`)",
        args: &[("of", true), ("zones", false), ("escape_tags", false)],
        run: |args| Ok(verbatim_parts(&text(args), args.get("zones"), args.get("escape_tags"))?),
    },
    Function { name: "without", doc: "a table without these keys", args: &[("of", true), ("keys", true)], run: without },
    Function { name: "words", doc: "the words (ASCII letters, digits, `_`) of a text in lower case, as a list", args: OF, run: words },
];

/// The function of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.binary_search_by_key(&name, |f| f.name).ok().and_then(|at| FUNCTIONS.get(at))
}

/// The fields of a value in JavaScript's order; none if it is not a table.
fn fields(value: &Value) -> Vec<(&Arc<str>, &Value)> {
    value.as_map().map(js::fields).unwrap_or_default()
}

fn pair([key_name, value_name]: &[Arc<str>; 2], key: &Arc<str>, value: &Value) -> Value {
    Value::map([(key_name.clone(), Value::Text(key.clone())), (value_name.clone(), value.clone())].into_iter().collect())
}

fn from_pairs(list: &Value) -> Value {
    let mut out = Map::default();
    for pair in list.as_list().unwrap_or(&[]) {
        if let Some(key) = pair.get("key").filter(|key| !key.is_null()) {
            out.insert(key.shown(), pair.get("value").cloned().unwrap_or_default());
        }
    }
    Value::map(out)
}

fn values(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    Ok(match of(args) {
        Value::List(list) => Value::List(list.clone()),
        other => Value::list(fields(other).into_iter().map(|(_, value)| value.clone()).collect()),
    })
}

fn without(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let Value::Map(map) = of(args) else { return Ok(of(args).clone()) };
    let keys = args.get("keys").unwrap_or(&Value::Null);
    let keys = keys.as_list().unwrap_or(std::slice::from_ref(keys));
    let keys: rustc_hash::FxHashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let kept = map.iter().filter(|(key, _)| !keys.contains(key.as_ref()));
    Ok(Value::map(kept.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// The text in another case, whose characters may be up to three times as long.
fn cased(text: &str, change: fn(&str) -> String, length: fn(char) -> usize) -> Result<Value, FunctionRefusal> {
    if !text.is_ascii() && text.len() > limits::OUTPUT_BYTES / 3 {
        bounded(text.chars().map(length).sum())?;
    }
    Ok(Value::text(change(text)))
}

/// The trimmed text; it is not copied if nothing has to be trimmed.
fn trimmed(args: &FunctionArgs, trim: fn(&str) -> &str) -> Result<Value, FunctionRefusal> {
    let text = text(args);
    let short = trim(&text);
    Ok(if short.len() == text.len() { Value::Text(text.clone()) } else { Value::text(short) })
}

fn format_time(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let pattern = named(args, "format");
    if pattern.len() > limits::PATTERN_BYTES {
        return Err(format!("`format` is longer than {} bytes", limits::PATTERN_BYTES).into());
    }
    let calendar = calendar(args)?;
    let at = Moment::of_value(of(args), 0);
    let at = match args.get("offset").filter(|v| !v.is_null()) {
        None => at,
        Some(offset) => {
            let offset = offset.as_i64().ok_or("`offset` must be a whole number")?;
            at.and_then(|at| at.utc_offset(offset))
        }
    };
    Ok(Value::text(at.map_or_else(|| INVALID.into(), |at| at.format(&pattern, calendar))))
}

fn parse_time(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let zone = match args.get("zone").filter(|zone| !zone.is_null()) {
        None => 0,
        Some(zone) => zone.as_i64().and_then(|zone| i32::try_from(zone).ok()).ok_or("`zone` must be a whole number of minutes")?,
    };
    let at = match (of(args), args.get("stamps").filter(|stamps| !stamps.is_null())) {
        (Value::Text(text), Some(stamps)) => Moment::parse_stamp(text, zone, stamps)?,
        (other, _) => Moment::of_value(other, zone),
    };
    Ok(at.map_or(Value::Null, |at| Value::Int(at.millis())))
}

/// The language of a date.
fn calendar(args: &FunctionArgs) -> Result<Calendar<'_>, FunctionRefusal> {
    args.get("calendar").map_or_else(|| Ok(Calendar::default()), |table| Calendar::of(table).map_err(FunctionRefusal::from))
}

fn time_difference(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let from = Moment::of_value(args.get("from").unwrap_or(&Value::Null), 0);
    let (suffix, calendar) = (args.get("suffix").is_some_and(Value::truthy), calendar(args)?);
    let between = Moment::of_value(of(args), 0).zip(from).map(|(of, from)| of.difference(from, suffix, calendar));
    Ok(Value::text(between.unwrap_or_else(|| INVALID.into())))
}

fn words(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = text(args);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    Ok(listed(words.map(|w| Value::text(w.to_ascii_lowercase())))?)
}

fn lines(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    Ok(listed(text(args).lines().map(Value::text))?)
}

#[expect(clippy::cast_possible_wrap, reason = "lengths are far below 2^63")]
fn length(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    Ok(Value::Int(match of(args) {
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        other => js::length(&other.shown()),
    } as i64))
}

fn reverse(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    Ok(match of(args) {
        Value::List(list) => Value::list(list.iter().rev().cloned().collect()),
        other => Value::text(other.shown().chars().rev().collect::<String>()),
    })
}

fn number(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let n = match of(args) {
        Value::Text(text) => js::number(text),
        Value::Bool(b) => f64::from(u8::from(*b)),
        other => other.as_f64().unwrap_or(f64::NAN),
    };
    // whole numbers stay integers, so that they can be used as counts and indexes
    let value = Value::Num(n);
    Ok(if n.is_nan() { Value::Null } else { value.as_i64().map_or(value, Value::Int) })
}

fn parse_json(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    if !matches!(of(args), Value::Text(_) | Value::Null) {
        return Ok(of(args).clone());
    }
    Ok(written::parse_json(&text(args)).unwrap_or_else(|| args.get("else").cloned().unwrap_or_default()))
}

fn string(value: &Value) -> Arc<str> {
    match value {
        Value::Null => Arc::from("undefined"),
        Value::Map(_) => Arc::from("[object Object]"),
        list @ Value::List(_) => js::string(list).into(),
        other => other.to_text(),
    }
}

fn json(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let Some(indent) = args.get("indent").and_then(Value::as_i64) else {
        return Ok(Value::text(written::json(of(args)).map_err(String::from)?));
    };
    let blanks = vec![b' '; usize::try_from(indent.clamp(0, 10)).unwrap_or(0)];
    let mut out = BoundedOutput { bytes: Vec::new(), most: limits::OUTPUT_BYTES };
    let mut writer = serde_json::Serializer::with_formatter(&mut out, serde_json::ser::PrettyFormatter::with_indent(&blanks));
    serde::Serialize::serialize(of(args), &mut writer)
        .map_err(|_| format!("the text would be longer than {} bytes", limits::OUTPUT_BYTES))?;
    Ok(Value::text(String::from_utf8_lossy(&out.bytes)))
}

/// What is written into it, up to a bound.
struct BoundedOutput {
    bytes: Vec<u8>,
    most: usize,
}

impl std::io::Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len().saturating_add(bytes.len()) > self.most {
            return Err(std::io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn repeat(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = text(args);
    let times = times(args)?.unwrap_or(1);
    bounded(text.len().saturating_mul(times))?;
    Ok(Value::text(text.repeat(times)))
}

fn concat(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let Value::List(list) = of(args) else { return Ok(of(args).clone()) };
    if !list.is_empty() && list.iter().all(|v| matches!(v, Value::List(_))) {
        return Ok(listed(list.iter().filter_map(Value::as_list).flatten().cloned())?);
    }
    let mut bytes = 0_usize;
    let parts = list.iter().map(|value| {
        let part = value.shown();
        bytes = bytes.saturating_add(part.len());
        bounded(bytes).map(|()| part)
    });
    Ok(Value::text(parts.collect::<Result<Vec<_>, _>>()?.concat()))
}

/// The tables of a list laid over each other.
fn laid(tables: &Value, deep: bool) -> Value {
    let tables = tables.as_list().unwrap_or_default();
    if deep {
        let tables = tables.iter().filter(|table| table.as_map().is_some());
        return tables.fold(Value::map(Map::default()), |below, table| table.clone().over(below));
    }
    let mut out = Map::default();
    for table in tables.iter().filter_map(Value::as_map) {
        for (key, value) in table {
            out.insert(Arc::clone(key), value.clone());
        }
    }
    Value::map(out)
}

fn flat(value: &Value) -> Result<Value, BudgetExceeded> {
    let list = value.as_list().unwrap_or(std::slice::from_ref(value));
    let elements = list.iter().flat_map(|v| v.as_list().unwrap_or(std::slice::from_ref(v)));
    listed(elements.filter(|v| !v.is_null()).cloned())
}

// Language tags, JSON Pointers and verbatim zones as values of rule files.

/// The value to which a pointer leads; `otherwise` if it leads nowhere.
pub(super) fn at_pointer(of: &Value, pointer: &str, otherwise: &Value) -> Value {
    let document = of.to_json();
    let found = JsonPointer::parse(pointer).and_then(|pointer| pointer.get(&document).map(Value::from));
    found.unwrap_or_else(|_| otherwise.clone())
}

/// The pointer of a list of tokens; missing elements are left out.
pub(super) fn pointer_of_tokens(tokens: &Value) -> Value {
    let tokens = tokens.as_list().unwrap_or(std::slice::from_ref(tokens));
    let tokens = tokens.iter().filter(|token| !token.is_null()).map(|token| token.shown().to_string());
    Value::text(JsonPointer::of(tokens).to_string())
}

/// The parts of a language tag, or `{ error }`.
pub(super) fn parts_of_language_tag(text: &str, lenient: bool) -> Result<Value, String> {
    let read = if lenient { LanguageTag::parse_lenient(text) } else { LanguageTag::parse(text) };
    Ok(match read {
        Ok(tag) => Value::from(&serde_json::to_value(&tag).map_err(|e| e.to_string())?),
        Err(error) => table([("error", Value::text(error.code()))]),
    })
}

/// The text cut into `{ text }` and `{ zone, raw }`.
pub(super) fn verbatim_parts(text: &str, zones: Option<&Value>, escape_tags: Option<&Value>) -> Result<Value, String> {
    let zones = match texts(zones) {
        None => Zone::ALL.to_vec(),
        Some(names) => {
            let zone = |name: &String| Zone::named(name).ok_or_else(|| format!("`zones` holds `{name}`, which is no kind of zone"));
            names.iter().map(zone).collect::<Result<_, _>>()?
        }
    };
    let tags = texts(escape_tags).unwrap_or_else(|| vec!["verbatim".to_owned()]);
    if tags.len() > limits::OPTIONS {
        return Err(format!("`escape_tags` holds more than {} names", limits::OPTIONS));
    }
    let parts = VerbatimMasker::new(&zones, tags).split(text).into_iter().map(|part| match part.zone {
        None => table([("text", Value::text(part.text))]),
        Some(zone) => table([("zone", Value::text(zone.name())), ("raw", Value::text(part.text))]),
    });
    Ok(listed(parts)?)
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let value = value.filter(|value| !value.is_null())?;
    let list = value.as_list().unwrap_or(std::slice::from_ref(value));
    Some(list.iter().map(|value| value.shown().to_string()).collect())
}

fn table<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::map(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}

// Dates by tokens that are replaced one kind after another, and lengths of time as a clock shows them.

pub(super) const DATE_TOKENS: Function = Function {
    name: "date_tokens",
    doc: "a date text or milliseconds since 1970 by the `tokens` of `format`, in UTC: each is a table with the text `from`, its `format` for `format_time`, and perhaps a number `modulo` by which the remainder is taken. They are replaced in their order, so that a later token is also replaced in the text of an earlier one",
    args: &[("of", true), ("format", true), ("tokens", true)],
    run: date_tokens,
};

fn date_tokens(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let tokens = args.get("tokens").and_then(Value::as_list).unwrap_or_default();
    if tokens.len() > limits::FIELDS {
        return Err(format!("there are more than {} tokens", limits::FIELDS).into());
    }
    let Some(at) = Moment::of_value(of(args), 0) else { return Ok(Value::text(INVALID)) };
    let mut text = named(args, "format").to_string();
    bounded(text.len())?;
    for token in tokens {
        let cell = |name: &str| token.get(name).map(Value::to_text).unwrap_or_default();
        let (from, format) = (cell("from"), cell("format"));
        let found = if from.is_empty() { 0 } else { text.matches(from.as_ref()).count() };
        if found == 0 {
            continue;
        }
        let mut shown = at.format(&format, Calendar::default());
        if let Some(modulo) = token.get("modulo").and_then(Value::as_i64).filter(|modulo| *modulo > 0) {
            let number = shown.parse::<i64>().map_err(|_| format!("`{format}` gives no number of which there is a remainder"))?;
            shown = format!("{:0width$}", number % modulo, width = shown.len());
        }
        let longest = found.saturating_mul(shown.len()).saturating_add(text.len());
        bounded(longest)?;
        text = text.replace(from.as_ref(), &shown);
    }
    Ok(Value::text(text))
}

pub(super) const CLOCK: Function = Function {
    name: "clock",
    doc: "a length of time in milliseconds as `h:mm:ss`",
    args: &[("of", true)],
    run: |args| {
        let seconds = (js_number::number(of(args)) / 1000.0).floor();
        if !seconds.is_finite() {
            return Err("`of` is not a number of milliseconds".into());
        }
        let minutes = (seconds / 60.0).floor();
        let hours = (minutes / 60.0).floor();
        // the remainder has the sign of the number, as in JavaScript
        Ok(Value::text(format!("{hours}:{:0>2}:{:0>2}", minutes % 60.0, seconds % 60.0)))
    },
};
