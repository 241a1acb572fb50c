//! Small readers: arithmetic, tags of languages, JSON pointers, dates, patterns, keys, functions.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::machinery::text::functions::{self, FUNCTIONS};
use tapster::machinery::text::json_pointer::JsonPointer;
use tapster::machinery::text::keys::{KeyEdge, KeySet, SearchKey};
use tapster::machinery::text::language_tag::LanguageTag;
use tapster::machinery::text::moment::{Moment, humanize};
use tapster::machinery::text::pattern::Pattern;
use tapster::machinery::text::{js, random, surrogates, written};

use super::{Verdict, bytes, text};
use crate::seeds;

pub(super) fn sums() -> Vec<Vec<u8>> {
    let rules = seeds::files("rules", "toml", 64 << 10);
    let sums = |file: &Vec<u8>| bytes(text(file).split("calc = \"").skip(1).filter_map(|part| part.split('"').next()));
    rules.iter().flat_map(sums).collect()
}

pub(super) fn calc(input: &[u8]) -> Verdict {
    use tapster::machinery::terms::{calc, expr::Expr};
    let parsed = calc::parse(&text(input), &mut |word, _| Expr::Const(Value::text(word)));
    Ok(parsed.is_ok())
}

pub(super) fn sums_of_texts() -> Vec<Vec<u8>> {
    let rows = seeds::rows("functions");
    bytes(rows.iter().filter(|row| row["fn"] == "arithmetic").filter_map(|row| row["args"]["of"].as_str()))
}

pub(super) fn arithmetic(input: &[u8]) -> Verdict {
    let Some(function) = functions::find("arithmetic") else { return Err("there is no function `arithmetic`".into()) };
    let names = Value::from(&json!({ "$": { "hp": 7, "x": "9" } }));
    let args = [(Arc::from("of"), Value::text(text(input))), (Arc::from("names"), names)].into_iter().collect();
    Ok((function.run)(&args).is_ok())
}

pub(super) fn words() -> Vec<Vec<u8>> {
    bytes("en-US zh-Hans-CN-x-a /a/0/b~1c #/a%2Fb 2d6+3 d20 -1.5e9 0x1f \u{fffd}\u{1f600}a {\"a\":[1,{\"b\":null}]}".split(' '))
}

pub(super) fn small(input: &[u8]) -> Verdict {
    let text = text(input);
    let tag = LanguageTag::parse(&text).is_ok() | LanguageTag::parse_lenient(&text).is_ok();
    let pointer = JsonPointer::parse(&text);
    if let Ok(pointer) = &pointer {
        let _ = pointer.get(&json!({ "a": [1, { "b/c": null, "": 2 }] }));
        if pointer.to_string() != text {
            return Err(format!("a pointer is printed as {pointer}"));
        }
        match JsonPointer::from_fragment(&pointer.to_fragment()) {
            Ok(back) if back == *pointer => {}
            other => return Err(format!("a fragment comes back as {other:?}")),
        }
    }
    let _ = JsonPointer::from_fragment(&text);
    if let Some(dice) = random::parse_dice(&text) {
        let _ = dice.roll(|| 0.999);
    }
    let _ = (js::number(&text), js::leading_number(&text), written::parse_json(&text), js::length(&text));
    let _ = (random::first_draw(&text), random::hash(&text, 7));
    if surrogates::together(&surrogates::apart(&text)) != text && !surrogates::has_any(&text) {
        return Err("a text in halves does not come together".into());
    }
    let _ = (surrogates::joined(&text), surrogates::pattern(&text));
    Ok(tag | pointer.is_ok())
}

pub(super) fn dates() -> Vec<Vec<u8>> {
    let table = seeds::json("tests/text/library.json");
    let rows = table["format"].as_array().cloned().unwrap_or_default();
    let written = rows.iter().filter_map(|row| Some(format!("{}\n{}", row[2].as_str()?, row[0])));
    let dates = ["2024-02-29T12:30:00Z", "February 2, 2024 3:04pm", "2024-2-9@3h4m5s6ms", "1709165045006", "29 Feb 2024"];
    bytes(written.take(60).chain(dates.map(|date| format!("LLLL [x] Do\n{date}"))))
}

pub(super) fn times(input: &[u8]) -> Verdict {
    let text = text(input);
    let (format, date) = text.split_once('\n').unwrap_or((&text, "1709165045006"));
    let calendar = Default::default();
    let number = date.parse::<i64>().ok();
    let moments = [
        Moment::parse(date, 60),
        number.and_then(|ms| Moment::new(ms, -720)),
        number.and_then(|n| Moment::parse("2024-02-29", 0)?.utc_offset(n)),
    ];
    for moment in moments.into_iter().flatten() {
        let _ = moment.format(format, calendar);
        for other in moments.iter().flatten() {
            let _ = moment.difference(*other, true, calendar);
        }
    }
    let _ = number.map(|ms| humanize(ms, true, calendar));
    Ok(moments.iter().any(Option::is_some))
}

pub(super) fn patterns() -> Vec<Vec<u8>> {
    let row = |row: &Json| Some(format!("/{}/{}\n{}", row["source"].as_str()?, row["flags"].as_str()?, row["input"].as_str()?));
    bytes(seeds::rows("patterns").iter().filter_map(row))
}

pub(super) fn pattern(input: &[u8]) -> Verdict {
    let text = text(input);
    let (pattern, text) = text.split_once('\n').unwrap_or((&text, "a text of ann, 12:30 aaaaaaaaaaaaaaaa!"));
    let Ok(pattern) = Pattern::parse(pattern) else { return Ok(false) };
    let (found, spans, any) = (pattern.captures_all(text, 10_000), pattern.find_all(text, 10_000), pattern.is_match(text));
    if let (Ok(found), Ok(spans)) = (&found, &spans)
        && !found.iter().map(|c| c.whole).eq(spans.iter().copied())
    {
        return Err(format!("{} finds with groups, {} without", found.len(), spans.len()));
    }
    if let (Ok(spans), Ok(any)) = (&spans, any)
        && any == spans.is_empty()
        // which looks at halves of characters
        && pattern.by_units(text).is_none()
    {
        return Err(format!("{} finds, and `is_match` says {any}", spans.len()));
    }
    let _ = pattern.replace(text, Some(50), |captures, out| out.push_str(captures.whole.of(text)));
    Ok(found.is_ok())
}

pub(super) fn keys(input: &[u8]) -> Verdict {
    let text = text(input);
    let mut lines: Vec<&str> = text.split('\n').collect();
    let searched = lines.pop().unwrap_or_default();
    let edges = [KeyEdge::None, KeyEdge::NonWord, KeyEdge::Letter, KeyEdge::Boundary, KeyEdge::Space];
    let key = |(n, line): (usize, &&str)| SearchKey { text: Arc::from(*line), case: n % 2 == 1, edge: edges[n % edges.len()] };
    let keys: Vec<SearchKey> = lines.iter().enumerate().map(key).collect();
    let Ok(set) = KeySet::new(&keys) else { return Ok(false) };
    let mut found = vec![false; keys.len()];
    let whole = set.search(searched, |key, _, _| found[key as usize] = true);
    // the slow way: each key alone
    let alone: Vec<bool> = keys.iter().map(|key| !key.text.is_empty() && key.is_in(searched)).collect();
    if whole && found != alone {
        return Err(format!("together {found:?}, alone {alone:?}"));
    }
    Ok(true)
}

pub(super) fn calls() -> Vec<Vec<u8>> {
    let rows = seeds::rows("functions");
    let values =
        [json!(i64::MIN), json!(1e308), json!("a text, of 12 words"), json!([3, "b", null, { "k": 1 }]), json!({ "b": 2, "1": [] })];
    let all = FUNCTIONS.iter().flat_map(|function| values.iter().map(move |value| (function, value)));
    let all = all.map(|(function, value)| {
        let args: serde_json::Map<String, Json> = function.args.iter().map(|(name, _)| ((*name).to_owned(), value.clone())).collect();
        json!({ "fn": function.name, "args": args })
    });
    bytes(rows.iter().map(|row| json!({ "fn": row["fn"], "args": row["args"] })).chain(all))
}

pub(super) fn function(input: &[u8]) -> Verdict {
    let Some(call) = super::json(input) else { return Ok(false) };
    let Some(function) = call["fn"].as_str().and_then(functions::find) else { return Ok(false) };
    let given = call["args"].as_object().into_iter().flatten();
    let args = given.map(|(name, value)| (Arc::from(name.as_str()), extreme(Value::from(value)))).collect();
    Ok((function.run)(&args).is_ok())
}

/// Numbers that JSON cannot write, for words that stand for them.
fn extreme(value: Value) -> Value {
    match value.as_str() {
        Some("NaN") => Value::Num(f64::NAN),
        Some("inf") => Value::Num(f64::INFINITY),
        Some("-inf") => Value::Num(f64::NEG_INFINITY),
        _ => value,
    }
}
