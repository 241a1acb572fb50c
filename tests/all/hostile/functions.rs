//! Functions, variables, JSON Schemas and templates that make or do far more than what they are given is long: each ends with
//! its result or with the bound.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster::machinery::macros::MacroTable;
use tapster::machinery::pack::RuleFile;
use tapster::machinery::text::functions::{FUNCTIONS, find};
use tapster::machinery::text::tokens::{Estimator, TokenCounter};
use tapster::machinery::text::work::BudgetScope;
use tapster::machinery::text::{TextLimits, work};
use tapster::model::Map;
use tapster::template::{Budget, ErrorKind as TemplateError, Inputs, QuarterRuler, RenderLimits, SourceProvider, TemplateContract, render};
use tapster::{ErrorKind, Scene, Texts, Value, WorkLimits, build, expand_texts};

use crate::support::{EXACT, SILLYTAVERN};

const WIDE: WorkLimits = WorkLimits { steps: 1_000_000_000, bytes: 1 << 32 };
const SMALL: WorkLimits = WorkLimits { steps: 2_000_000, bytes: 16 << 20 };

/// What a function gives within these bounds, or why it gives nothing.
fn within(limits: WorkLimits, name: &str, given: &Json) -> Result<Value, String> {
    let _door = BudgetScope::open(limits);
    let given: Map = given.as_object().unwrap().iter().map(|(name, value)| (Arc::from(name.as_str()), Value::from(value))).collect();
    find(name).unwrap().call(&given).map_err(|refusal| refusal.why().to_owned())
}

fn call(name: &str, given: &Json) -> Result<Value, String> {
    within(WIDE, name, given)
}

#[test]
fn a_list_is_made_unless_memory_cannot_hold_it() {
    let fields = |n: usize| Json::Object((0..n).map(|n| (format!("k{n}"), json!(1))).collect());
    let cases: &[(&str, &dyn Fn(usize) -> Json)] = &[
        ("split", &|n| json!({ "of": "a".repeat(n), "sep": "" })),
        ("split", &|n| json!({ "of": "a".repeat(n), "sep": "", "javascript": true })),
        ("split", &|n| json!({ "of": "a,".repeat(n), "sep": ",", "javascript": true })),
        ("split", &|n| json!({ "of": "a,".repeat(n), "sep": "/,/" })),
        ("words", &|n| json!({ "of": "a ".repeat(n) })),
        ("lines", &|n| json!({ "of": "\n".repeat(n) })),
        ("read_list", &|n| json!({ "of": "a,".repeat(n), "sep": "," })),
        ("pairs", &|n| json!({ "of": fields(n) })),
        ("verbatim_parts", &|n| json!({ "of": "`a` b ".repeat(n / 2) })),
        ("parse_json", &|n| json!({ "of": format!("[[{}0]]", "0,".repeat(n)) })),
        ("parse_json", &|n| json!({ "of": format!("[[{}0]]", "{\"a\":{}},".repeat(n)) })),
    ];
    for (name, of) in cases {
        let made = call(name, &of(20_000));
        assert!(made.is_ok(), "{name}: {made:?}");
        let told = within(WorkLimits { bytes: 4 << 20, ..WIDE }, name, &of(400_000)).map(|_| "made");
        let ends = ["makes more than 4194304 bytes", "took too many steps"];
        assert!(told.as_ref().is_err_and(|why| ends.iter().any(|words| why.contains(words))), "{name}: {told:?}");
    }
    let calendar = json!({ "formats": { "LLLL": "MMMM".repeat(50) }, "months": vec!["x".repeat(200); 12] });
    let date = json!({ "of": 0, "format": "L".repeat(10_000), "calendar": calendar });
    let told = within(WorkLimits { bytes: 8 << 20, ..WIDE }, "format_time", &date).map(|_| "made");
    assert!(told.as_ref().is_err_and(|why| why.contains("makes more than 8388608 bytes")), "{told:?}");
}

#[test]
fn a_text_that_would_be_too_long_is_not_made() {
    let list = vec!["a".repeat(1_000_000)];
    for (name, given) in [
        ("stringify", json!({ "of": list, "find": "a", "with": "b".repeat(1_000_000) })),
        ("stringify", json!({ "of": list, "find": "a", "with": "b".repeat(1_000) })),
        ("pad_start", json!({ "of": "x", "width": 60_000_000, "with": "€" })),
        ("upper", json!({ "of": "\u{390}".repeat(11_300_000) })),
    ] {
        let result = call(name, &given).map(|_| "made");
        assert!(result.as_ref().is_err_and(|why| why.contains("the text would be longer than")), "{name}: {result:?}");
    }
}

#[test]
fn padding_ends_where_it_should() {
    for (with, width, padded) in [("€", 3, "€€x"), ("ab", 4, "abax"), ("", 4, "x"), ("a", 1, "x"), ("😀", 3, "😀x"), ("😀", 2, "\u{fffd}x")]
    {
        let given = json!({ "of": "x", "width": width, "with": with });
        assert_eq!(call("pad_start", &given), Ok(Value::text(padded)), "{with} {width}");
    }
}

#[test]
fn names_of_arithmetic_cannot_grow_without_bound() {
    // each mark stands in the numbers that the ones before it put there
    let marks: serde_json::Map<String, Json> =
        (0..40).map(|n| (if n % 2 == 0 { "." } else { "-" }.repeat(1 + n / 2), json!({ "5": -0.000_001_234 }))).collect();
    let result = call("arithmetic", &json!({ "of": ".5-5".repeat(10_000), "names": marks }));
    assert!(result.as_ref().map_or_else(|why| !why.is_empty(), |value| value.to_json().to_string().len() < 1 << 20), "{result:?}");
}

#[test]
fn tables_are_laid_over_each_other_and_merged_in_place() {
    let tables: Vec<Json> = (0..20_000).map(|n| json!({ format!("k{n}"): 1, "all": { format!("k{n}"): n } })).collect();
    let laid = call("laid", &json!({ "of": tables, "deep": true })).unwrap();
    assert_eq!(laid.as_map().map(Map::len), Some(20_001));
    assert_eq!(laid.get("all").and_then(Value::as_map).map(Map::len), Some(20_000));
    assert_eq!(laid.at("all.k19999"), Some(&Value::Int(19_999)));

    let fields = |value: &Json| (0..50_000).map(|n| (format!("k{n}"), value.clone())).collect::<serde_json::Map<_, _>>();
    let mut below = fields(&json!(1));
    below.insert("kept".to_owned(), json!(null));
    let merged = call("merge_patch", &json!({ "of": below, "with": fields(&json!(null)) }));
    assert_eq!(merged, Ok(Value::from(&json!({ "kept": null }))));
}

#[test]
fn checking_a_value_by_a_schema_ends() {
    let all_of = |schemas: usize, schema: Json| json!({ "items": { "allOf": vec![schema; schemas] } });
    let list = |length: usize| json!((0..length).collect::<Vec<_>>());
    let patterns: Vec<Json> = (0..130).map(|n| json!({ "pattern": format!("(?i)(\\w{{200}}){{{}}}", n + 3) })).collect();
    let usual = json!({ "type": "object", "properties": { "a": { "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$" }, "b": { "pattern": "^\\p{L}{1,63}$" }, "c": { "pattern": "^(?!-)\\w{1,40}$" } } });
    for (of, schema, limits, told) in [
        (list(4_000), all_of(400, json!({ "minLength": 1 })), SMALL, "takes more than 2000000 steps"),
        // a few times less is within the bound
        (list(200), all_of(400, json!({ "minLength": 1 })), SMALL, ""),
        // all mistakes would be in memory at once
        (list(10_000), all_of(100, json!({ "type": "string" })), WorkLimits::default(), "too large to say where"),
        (list(1_000), json!({ "items": { "enum": (1_000..5_000).collect::<Vec<_>>() } }), SMALL, "takes more than 2000000 steps"),
        (json!(vec!["1".repeat(40); 300]), json!({ "items": { "pattern": "^(?!x)(([0-9]?)+)+z$" } }), SMALL, "more than 2000000 steps"),
        (json!("x"), json!({ "allOf": patterns }), WorkLimits::default(), "more than"),
        (json!("x"), json!({ "pattern": "(((a{100}){100}){100})" }), WorkLimits::default(), "the pattern is too large"),
        (json!({ "a": "a-b-c", "b": "Straße", "c": "a_b" }), usual, WorkLimits { steps: 15_000_000, bytes: 32 << 20 }, ""),
    ] {
        let found = within(limits, "schema_mistakes", &json!({ "of": of, "schema": schema }));
        let said = found.as_ref().err().map_or("", String::as_str);
        assert!(said.contains(told) && said.is_empty() == told.is_empty(), "{told}: {said}");
        assert!(found.is_err() || found == Ok(Value::list(Vec::new())), "{found:?}");
    }
}

#[test]
fn a_list_that_each_macro_reads_and_writes_ends_with_the_bound() {
    let scene = Scene { work: WorkLimits { steps: 5_000_000, ..WorkLimits::default() }, ..Scene::new(&json!({})) };
    for (rules, macros) in [
        (&*SILLYTAVERN, "{{addvar::x::1}}"),
        (&*EXACT, "{{addvar::x::1}}"),
        (&*EXACT, "{{.x += 1}}"),
        (&*EXACT, "{{setvarkey::x::5::1}}"),
        (&*EXACT, "{{getvarkey::x::5}}"),
    ] {
        let text = |times: usize| format!("{{{{setvar::x::[{}0]}}}}{}", "0,".repeat(10_000), macros.repeat(times));
        let made = |times: usize| expand_texts(rules, &scene, &[(&text(times), Value::Null)]);
        assert!(made(3).is_ok(), "{macros}: {:?}", made(3).err());
        let error = made(500).err().unwrap_or_else(|| panic!("{macros} costs nothing"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{macros}: {error}");
    }
}

#[test]
fn thousands_of_variables_are_set_and_removed() {
    let set = (0..2_000).map(|n| format!("{{{{setvar::n{n}::x}}}}"));
    let removed = (0..2_000).map(|n| format!("{{{{deletevar::n{n}}}}}"));
    let text = set.chain(removed).chain(["[{{getvar::n1}}{{hasvar::n1}}]".to_owned()]).collect::<String>();
    let made = expand_texts(&EXACT, &Scene::new(&json!({ "vars": { "local": { "n1": "below" } } })), &[(&text, Value::Null)]);
    let made = made.unwrap_or_else(|e| panic!("{e}"));
    assert!(made.texts[0].ends_with("[false]"), "a variable of the scene is hidden: {}", made.texts[0]);
}

#[test]
fn a_build_with_functions_that_cost_much_ends_with_the_bound() {
    let seeded = "{ of = { fn = \"range\", of = 0, to = 50000 }, get = { fn = \"seeded_number\", of = \"a\", skip = 99999 } }";
    let rules = format!(
        "kind = \"pipeline\"\nversion = 1\n[[pass]]\nname = \"build/made\"\nbefore = \"hooks\"\nlist = \"blocks\"\ndo = \"set\"\n[pass.set]\n\"$picked\" = {seeded}\n"
    );
    let rules = crate::support::pack_over_base("", &[("pipeline.toml", &rules)]).unwrap_or_else(|e| panic!("{e}"));
    let error = build(&rules, &Scene::new(&json!({ "dialect": "openai" }))).err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
}

#[test]
fn forms_that_take_more_memory_than_there_may_be_end_with_the_bound() {
    let form = |n: usize| format!("[[form]]\nname = \"f{n}\"\nkeys = {{ a = {{ form = \"f{0}\" }}, b = {{ form = \"f{0}\" }} }}\n", n + 1);
    let rules = format!(
        "kind = \"overlay\"\nversion = 1\n{}[[form]]\nname = \"f14\"\nkeys = {{ a = 1 }}\n\
         [[pass]]\nname = \"build/forms\"\nbefore = \"hooks\"\ndo = \"set\"\n[pass.set]\n\"$x\" = {{ form = \"f0\" }}\n\
         [[path]]\nname = \"x\"\ntype = \"any\"\n",
        (0..14).map(form).collect::<String>()
    );
    let rules = crate::support::pack_over_base("", &[("o.toml", &rules)]).unwrap_or_else(|e| panic!("{e}"));
    let built = |bytes: u64| {
        let work = WorkLimits { bytes, ..Default::default() };
        build(&rules, &Scene { work, ..Scene::new(&json!({ "dialect": "openai" })) })
    };
    // 32,767 tables
    assert!(built(16 << 20).is_ok());
    assert_eq!(*built(1 << 20).err().unwrap().kind(), ErrorKind::Bound);
}

/// One source, whatever it is called.
struct One(Value);

impl SourceProvider for One {
    fn resolve(&self, _: &str, _: Option<&Value>) -> Result<Option<Value>, String> {
        Ok(Some(self.0.clone()))
    }
}

#[test]
fn tables_that_become_the_messages_of_a_template_end_with_the_bound() {
    let message = json!({ "kind": "message", "role": "user", "from": { "source": "rows" } });
    let template = json!({
        "revision": "base", "id": "t", "task": "t", "name": "t", "version": 1, "layout": [{ "kind": "slot", "name": "a" }],
        "slots": { "a": { "priority": 0, "plan": vec![message; 100] } },
    });
    let file = RuleFile { name: "t.json".to_owned(), path_in_pack: "t.json".to_owned(), bytes: template.to_string().into_bytes() };
    let template =
        tapster::open_template(&file, &TemplateContract::default()).unwrap_or_else(|e| panic!("{:?}", e.report.items())).template;
    let tables = Json::Object((0..200).map(|n| (format!("k{n}"), json!({}))).collect());
    let (context, sources, limits) = (Value::Null, One(Value::from(&tables)), RenderLimits::default());
    let inputs = Inputs { context: &context, sources: &sources, ruler: &QuarterRuler, lanes: &[], requests: &[], limits };
    let _door = BudgetScope::open(WorkLimits { steps: 10_000, ..WIDE });
    let error = render(&template, &inputs, &mut Budget::new(None)).err().unwrap();
    assert!(error.kind == TemplateError::Bound && error.message.contains("takes more than 10000 steps"), "{error}");
}

// Every function of the library with arguments of every type at their extremes: it returns or says why not, and never
// panics. Tests are built with overflow checks.

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

// Counting tokens and reading macros: a piece without blanks and a tree of macros take far more than their text, and end with a
// count, with a text that stays as it is, or with the bound.

const UNBOUNDED: WorkLimits = WorkLimits { steps: 4_000_000_000, bytes: 1 << 32 };
const EXACTLY: [Estimator; 3] = [Estimator::Cl100k, Estimator::O200k, Estimator::Claude];

/// Letters in no order, of which no long piece is a token.
fn letters(count: usize) -> String {
    let mut state: u64 = 5;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    };
    (0..count).map(letter).collect()
}

#[test]
fn a_text_is_counted_alike_whether_its_count_is_known_or_not() {
    const LONG: usize = 60_000;
    let texts = [
        "a".repeat(LONG),
        letters(LONG),
        " ".repeat(LONG),
        "\n".repeat(LONG),
        format!("{} ", letters(1_000)).repeat(10),
        format!("{} ", letters(100)).repeat(100),
        format!("{} words … and {}", letters(20_000), "ab".repeat(10_000)),
        "The lantern by the river went out again, and nobody had seen who did it. ".repeat(500),
        "黄昏时分、码头上没有一个人。".repeat(300),
        // characters that become several ones, or several short words
        "㌖".repeat(10_000),
        "ﷺ".repeat(10_000),
    ];
    for (estimator, text) in EXACTLY.iter().flat_map(|estimator| texts.iter().map(move |text| (estimator, text))) {
        let _door = BudgetScope::open(UNBOUNDED);
        let counter = TokenCounter::new(*estimator);
        let counts = [(); 2].map(|()| counter.counted(text).unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(counts, [estimator.count(text); 2], "{estimator:?}: {}", text.chars().take(20).collect::<String>());
    }
}

#[test]
fn a_text_that_costs_too_much_is_not_counted() {
    let long = "a".repeat(100_000);
    for estimator in EXACTLY {
        let _door = BudgetScope::open(WorkLimits { steps: 1_000_000, ..UNBOUNDED });
        let counter = TokenCounter::new(estimator);
        let error = counter.counted(&long).unwrap_err().to_string();
        assert!(error.contains("takes more than 1000000 steps"), "{estimator:?}: {error}");
        assert!(work::check().is_err(), "the next step fails too");
        assert!(counter.count(&long) >= long.len(), "no count is too small");
    }
    let _door = BudgetScope::open(WorkLimits { steps: 1_500_000, ..UNBOUNDED });
    let told = TokenCounter::new(Estimator::Claude).counted(&"㌖".repeat(100_000)).unwrap_err().to_string();
    assert!(told.contains("takes more than 1500000 steps"), "{told}");
}

#[test]
fn a_chat_of_texts_without_blanks_ends_with_the_bound() {
    let scene = |text: String| {
        let history: Vec<_> = (0..15).map(|n| json!({ "id": format!("m{n}"), "role": "user", "name": "Ann", "text": text })).collect();
        let scene = Scene::new(&json!({
            "type": "normal", "names": { "user": "Ann", "char": "Vex" },
            "card": { "name": "Vex", "description": "A thief." },
            "context": { "window": 100_000_000, "reserve": 500, "tokenizer": "cl100k" },
            "chat": { "length": 15 }, "history": history,
        }));
        Scene { work: WorkLimits { steps: 40_000_000, ..WorkLimits::default() }, ..scene }
    };
    if let Err(error) = build(&EXACT, &scene("lantern ".repeat(7_500))) {
        panic!("{error}");
    }
    let error = build(&EXACT, &scene("a".repeat(60_000))).err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
}

/// What texts become.
fn expanded(texts: &[String], work: WorkLimits) -> Result<Texts, tapster::BuildError> {
    let given: Vec<(&str, Value)> = texts.iter().map(|text| (text.as_str(), Value::Null)).collect();
    expand_texts(&EXACT, &Scene { work, ..Scene::new(&json!({})) }, &given)
}

#[test]
fn a_text_of_too_many_macros_is_not_read_to_its_end() {
    let macros = "the text holds more than 100000 macros and is left as it was";
    for (text, told) in [
        ("{{a}}".repeat(100_001), macros),
        ("{{a}}".repeat(400_000), macros),
        (format!("{{{{a::{}}}}}", "{{b}}::".repeat(400_000)), macros),
        (format!("{{{{a{}}}}}", "::".repeat(1_100_000)), "more than 1000000 arguments and ends of blocks"),
    ] {
        let made = expanded(std::slice::from_ref(&text), WorkLimits::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(*made.texts[0] == *text, "the text stays as it was");
        assert!(made.warnings.iter().any(|d| d.message.contains(told)), "{:?}", made.warnings);
    }
}

#[test]
fn trees_are_kept_by_their_bytes() {
    let table = MacroTable::default();
    let kept = |text: &Arc<str>| Arc::ptr_eq(&table.reading(text, &TextLimits::MACROS), &table.reading(text, &TextLimits::MACROS));
    let text = |n: usize, macros: usize| -> Arc<str> { format!("{n} {}", "{{a}}".repeat(macros)).into() };
    assert!(kept(&text(0, 10)), "a usual text is kept");
    assert!(!kept(&text(1, 100_000)), "this tree alone is more than is kept");
    assert!(!kept(&text(2, 100_001)), "a text that is not read to its end is not kept");
    // each of these has a tree of 5 MB
    let texts: Vec<Arc<str>> = (0..8).map(|n| text(n, 20_000)).collect();
    let first = table.reading(&texts[0], &TextLimits::MACROS);
    assert!(Arc::ptr_eq(&first, &table.reading(&texts[0], &TextLimits::MACROS)));
    for text in &texts {
        table.reading(text, &TextLimits::MACROS);
    }
    assert!(!Arc::ptr_eq(&first, &table.reading(&texts[0], &TextLimits::MACROS)), "it has made room for the others");
}
