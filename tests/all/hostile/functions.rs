//! Every function of the library with arguments of every type at their extremes: it returns or says why not, and never
//! panics. Tests are built with overflow checks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tapster::Value;
use tapster::machinery::text::functions::{FUNCTIONS, find};
use tapster::model::Map;

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::text("x"), |inner, _| Value::list(vec![inner, Value::Int(1)]))
}

fn table(pairs: &[(&str, Value)]) -> Value {
    Value::map(pairs.iter().map(|(key, value)| (Arc::from(*key), value.clone())).collect())
}

/// Values of every type, and the largest, smallest and oddest of each.
fn extremes() -> Vec<Value> {
    let text = |text: &str| Value::text(text);
    let numbers = [i64::MIN, i64::MIN + 1, -1_000_000_007, -1, 0, 1, 2, 15, 16, 1_000_000_007, i64::MAX - 1, i64::MAX].map(Value::Int);
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 5e-324, -0.0, 0.5, 9.3e18, -9.3e18, 253_402_300_800_000.0];
    let texts: Vec<String> = serde_json::from_str(include_str!("texts.json")).unwrap();
    let long = ["a".repeat(100_000), "[".repeat(50_000), "😀\n".repeat(20_000), "9".repeat(5_000), "((((".repeat(2_000)];
    let list = |n: usize| Value::list((0..n).map(|n| Value::Int(i64::try_from(n).unwrap_or(0))).collect());
    let lists = [
        list(0),
        list(1),
        list(3_000),
        deep(60),
        Value::list(vec![Value::Null, Value::Bool(true), text("b"), Value::Num(f64::NAN), list(2)]),
        Value::list(vec![table(&[
            ("key", text("a")),
            ("value", Value::Int(i64::MIN)),
            ("pattern", text("/(?<epoch>.*)/")),
            ("find", text("a")),
            ("with", text("b")),
        ])]),
    ];
    let tables = [
        table(&[]),
        table(&[("a", Value::Int(i64::MAX)), ("b", deep(40)), ("length", Value::Int(-1)), ("10", Value::Null)]),
        table(&[("first_day", Value::Int(i64::MIN)), ("first_week", Value::Int(i64::MAX))]),
        table(&[("first_day", Value::Int(6)), ("first_week", Value::Int(7))]),
    ];
    let mut all = vec![Value::Null, Value::Bool(true), Value::Bool(false)];
    all.extend(numbers);
    all.extend(floats.map(Value::Num));
    all.extend(texts.into_iter().map(Value::text));
    all.extend(long.map(Value::text));
    all.extend(lists);
    all.extend(tables);
    all
}

/// The bytes of a value as it is written out, counted up to a bound.
fn size(value: &Value, left: &mut usize) {
    let own = value.as_str().map_or(16, str::len);
    *left = left.saturating_sub(own);
    if *left > 0 {
        value.as_list().unwrap_or_default().iter().for_each(|v| size(v, left));
        value.as_map().into_iter().flat_map(Map::values).for_each(|v| size(v, left));
    }
}

/// The most that a function may make of these arguments.
const MOST: usize = 70 << 20;

#[test]
fn every_function_takes_every_argument() {
    let extremes = extremes();
    let mut wrong = Vec::new();
    let mut calls = 0_u32;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap_or(0) % most
    };
    for function in FUNCTIONS {
        let mut given: Vec<Map> = Vec::new();
        for (arg, _) in function.args {
            // each value alone, and beside others that are drawn
            for value in &extremes {
                for others in 0..3 {
                    let mut args: Map = [(Arc::from(*arg), value.clone())].into_iter().collect();
                    for (other, _) in function.args.iter().filter(|(other, _)| other != arg && others > 0) {
                        args.insert(Arc::from(*other), extremes[next(extremes.len())].clone());
                    }
                    given.push(args);
                }
            }
        }
        for args in given {
            calls += 1;
            let shown =
                || format!("{} {}", function.name, Value::map(args.clone()).to_json().to_string().chars().take(300).collect::<String>());
            match catch_unwind(AssertUnwindSafe(|| (function.run)(&args))) {
                Err(_) => wrong.push(format!("{} panics", shown())),
                Ok(Ok(value)) => {
                    let mut left = MOST;
                    size(&value, &mut left);
                    if left == 0 {
                        wrong.push(format!("{} makes more than {MOST} bytes", shown()));
                    }
                }
                Ok(Err(refusal)) if refusal.why().len() > 2_000 => {
                    wrong.push(format!("{} is refused with a text of {} bytes", shown(), refusal.why().len()))
                }
                Ok(Err(_)) => {}
            }
        }
    }
    assert!(calls > 10_000, "{calls} calls");
    wrong.truncate(40);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_time_on_a_clock_beyond_all_clocks_is_invalid() {
    let function = find("format_time").unwrap();
    for offset in [i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX / 60_000] {
        let args: Map = [(Arc::from("of"), Value::Int(0)), (Arc::from("offset"), Value::Int(offset))].into_iter().collect();
        assert_eq!((function.run)(&args).unwrap(), Value::text("Invalid date"), "{offset}");
    }
}
