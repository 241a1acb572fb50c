//! Arithmetic: that of rule files, and that of texts.

use std::sync::Arc;

use serde_json::json;
use tapster::Value;
use tapster::text::functions;

use super::{Shape, Target, Verdict, text};
use crate::seeds;

pub(super) const CALC: Target = Target {
    name: "calc",
    door: "`calc` of rule files: reading",
    shape: Shape::Bytes,
    words: &[
        "$a", "$hp.max", "min(", "max(", "round(", "floor(", "ceil(", "abs(", ")", "(", ",", " + ", " - ", " * ", " / ", " % ", "<=", ">=",
        "==", "!=", "&&", "||", "!", "-", "1e308", ".5", "5.",
    ],
    longest: 2 << 10,
    fixed: 40_000,
    seeds: || {
        let rules = seeds::files("rules", "toml", 64 << 10);
        let mut found: Vec<Vec<u8>> = Vec::new();
        for file in &rules {
            for part in text(file).split("calc = \"").skip(1) {
                found.push(part.split('"').next().unwrap_or_default().as_bytes().to_vec());
            }
        }
        found
    },
    run: |input| {
        use tapster::terms::{calc, expr::Expr};
        let parsed = calc::parse(&text(input), &mut |word, _| Expr::Const(Value::text(word)));
        Verdict::of(parsed.is_ok())
    },
};

pub(super) const ARITHMETIC: Target = Target {
    name: "arithmetic",
    door: "arithmetic that a text of a card holds",
    shape: Shape::Bytes,
    words: &[
        "(",
        ")",
        "1",
        "2.5",
        "-",
        "!",
        "^",
        "*",
        "/",
        "%",
        "+",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
        "$hp",
        "@x",
        "1e308",
        "null",
        " ",
        "undefined",
        "0",
    ],
    longest: 2 << 10,
    fixed: 4_000,
    seeds: || {
        seeds::rows("functions")
            .iter()
            .filter(|row| row["fn"] == "arithmetic")
            .filter_map(|row| row["args"]["of"].as_str())
            .map(|of| of.as_bytes().to_vec())
            .collect()
    },
    run: |input| {
        let Some(function) = functions::find("arithmetic") else { return Verdict::Wrong("there is no function `arithmetic`".into()) };
        let names = Value::from(&json!({ "$": { "hp": 7, "x": "9" } }));
        let args = [(Arc::from("of"), Value::text(text(input))), (Arc::from("names"), names)].into_iter().collect();
        Verdict::of((function.run)(&args).is_ok())
    },
};
