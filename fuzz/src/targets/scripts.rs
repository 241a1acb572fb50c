//! Scripts of packs.

use std::sync::{Arc, LazyLock};

use serde_json::json;
use tapster::Value;
use tapster::model::Map;
use tapster::text::script::{Script, take_log};

use super::{Shape, Target, Verdict, text};
use crate::seeds;

pub(super) const SCRIPT: Target = Target {
    name: "script",
    door: "Rhai: compiling, running, calling",
    shape: Shape::Bytes,
    words: &[
        "fn f(x) { ",
        " }",
        "let a = []; ",
        "a.push(a); ",
        "a += a; ",
        "a.pad(900, 0); ",
        "a.map(|x| f(x))",
        "a.filter(|x| true)",
        "let k = || f;",
        "Fn(\"f\")",
        "call(",
        ".call(",
        "let m = #{}; ",
        "m[\"a\"] = m; ",
        "for i in 0..1000 { ",
        "while true { ",
        "loop { ",
        "s += s; ",
        "s.split(\"\")",
        ".chars()",
        "join",
        "throw 1; ",
        "try { ",
        "} catch (e) { ",
        "return ",
        "switch ",
        " => ",
        "import \"m\" as m; ",
        "print(",
        "debug(",
        "eval(",
        "sleep(1)",
        "range(0, 9)",
        "reduce(|s, x| s + x, 0)",
        "sort(|a, b| a <=> b)",
        "-9223372036854775808",
        " / 0",
        " % 0",
        " << 64",
        "**",
        "blob(9999, 1)",
        "to_string()",
        "type_of(",
        "is_def_var(",
        "this",
        "const ",
        "`${",
        "}`",
        "???",
        "..=",
        "?.",
        "??",
        "in",
        "global::",
        "0x7fffffffffffffff",
        "parse_int(",
        "chop(",
        "drain(",
        "splice(",
        "dedup()",
        "zip(",
    ],
    longest: 2 << 10,
    fixed: 900,
    seeds: || seeds::files("examples", "rhai", 8 << 10),
    run: |input| {
        static SCOPE: LazyLock<Map> = LazyLock::new(|| {
            let scope = Value::from(
                &json!({ "x": 3, "s": "ab", "a": [1, "b", [2.5]], "m": { "k": [1, { "l": "v" }] }, "item": { "text": "Hm.", "role": "user" } }),
            );
            scope.as_map().cloned().unwrap_or_default()
        });
        let Ok(script) = Script::compile(&text(input)) else { return Verdict::Refused };
        let done = script.eval(&SCOPE).is_ok();
        for (name, count) in script.functions().into_iter().take(4) {
            let args = vec![Value::list(vec![Value::Int(4), Value::text("é"), Value::Map(Arc::new(SCOPE.clone()))]); count];
            let _ = script.call(&name, &args);
        }
        let _ = take_log();
        Verdict::of(done)
    },
};
