//! The library of functions, with arguments of all types.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::text::functions::{FUNCTIONS, find};

use super::{Shape, Target, Verdict};
use crate::seeds;

pub(super) const FUNCTION: Target = Target {
    name: "function",
    door: "functions, each with arguments of all types",
    shape: Shape::Json,
    words: &[
        "of", "find", "with", "by", "at", "times", "keys", "zones", "from", "to", "of", "names", "offset", "pattern", "else", "count",
        "key", "value", "width", "suffix", "locale", "now",
    ],
    longest: 4 << 10,
    fixed: 2_500,
    seeds: || {
        let mut all: Vec<Vec<u8>> =
            seeds::rows("functions").iter().map(|row| json!({ "fn": row["fn"], "args": row["args"] }).to_string().into_bytes()).collect();
        for function in FUNCTIONS {
            for value in
                [json!(i64::MIN), json!(1e308), json!("a text, of 12 words"), json!([3, "b", null, { "k": 1 }]), json!({ "b": 2, "1": [] })]
            {
                let args: serde_json::Map<String, Json> =
                    function.args.iter().map(|(name, _)| ((*name).to_owned(), value.clone())).collect();
                all.push(json!({ "fn": function.name, "args": args }).to_string().into_bytes());
            }
        }
        all
    },
    run: |input| {
        let Ok(call) = serde_json::from_slice::<Json>(input) else { return Verdict::Refused };
        let Some(function) = call["fn"].as_str().and_then(find) else { return Verdict::Refused };
        let given = call["args"].as_object().into_iter().flatten();
        let args = given.map(|(name, value)| (Arc::from(name.as_str()), extreme(Value::from(value)))).collect();
        Verdict::of((function.run)(&args).is_ok())
    },
};

/// Numbers that JSON cannot write, for words that stand for them.
fn extreme(value: Value) -> Value {
    match value.as_str() {
        Some("NaN") => Value::Num(f64::NAN),
        Some("inf") => Value::Num(f64::INFINITY),
        Some("-inf") => Value::Num(f64::NEG_INFINITY),
        _ => value,
    }
}
