//! Functions, variables and JSON Schemas that make or do far more than their arguments are long: each pays what it costs before
//! it is done. The tests count steps and bytes.

use std::sync::Arc;

use serde_json::json;
use tapster::model::Map;
use tapster::text::functions::find;
use tapster::text::work::Door;
use tapster::{ErrorKind, Scene, Value, WorkLimits, build, expand_texts};

use crate::shipped::{EXACT, SILLYTAVERN};

fn args(given: &[(&str, Value)]) -> Map {
    given.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect()
}

/// What a function gives, and the steps and bytes that it pays.
fn call(name: &str, given: &[(&str, Value)]) -> (Result<Value, String>, u64, u64) {
    let door = Door::open(WorkLimits { steps: 1_000_000_000, bytes: 1 << 32 });
    let given = args(given);
    let result = find(name).unwrap().call(&given).map_err(|refusal| refusal.why().to_owned());
    let (steps, bytes) = door.spent();
    (result, steps, bytes)
}

fn text(text: &str, times: usize) -> Value {
    Value::text(text.repeat(times))
}

fn table(json: &serde_json::Value) -> Value {
    Value::from(json)
}

/// So many elements are worth at least these bytes each.
const PER_TEXT: u64 = 56;
const PER_TABLE: u64 = 300;

#[test]
fn each_element_of_a_new_list_is_paid() {
    const MANY: u64 = 20_000;
    let times = usize::try_from(MANY).unwrap();
    let fields: serde_json::Map<String, serde_json::Value> = (0..MANY).map(|n| (format!("k{n}"), json!(1))).collect();
    let of = |value: Value| vec![("of", value)];
    let with = |value: Value, name: &'static str, other: Value| vec![("of", value), (name, other)];
    let cases = [
        ("split", with(text("a", times), "sep", Value::text("")), PER_TEXT),
        ("split", vec![("of", text("a", times)), ("sep", Value::text("")), ("javascript", Value::Bool(true))], PER_TEXT),
        ("split", vec![("of", text("a,", times)), ("sep", Value::text(",")), ("javascript", Value::Bool(true))], PER_TEXT),
        ("split", with(text("a,", times), "sep", Value::text("/,/")), PER_TEXT),
        ("words", of(text("a ", times)), PER_TEXT),
        ("lines", of(text("\n", times)), PER_TEXT),
        ("read_list", with(text("a,", times), "sep", Value::text(",")), PER_TEXT),
        ("pairs", of(table(&fields.into())), PER_TABLE),
        ("verbatim_parts", of(text("`a` b ", times / 2)), PER_TABLE),
        ("parse_json", of(Value::text(format!("[[{}0]]", "0,".repeat(times)))), 40),
        ("parse_json", of(Value::text(format!("[[{}0]]", "{\"a\":{}},".repeat(times)))), PER_TABLE),
    ];
    for (name, given, each) in cases {
        let (result, _, bytes) = call(name, &given);
        assert!(result.is_ok(), "{name}: {result:?}");
        assert!(bytes >= MANY * each, "{name}: {bytes} bytes for {MANY} elements");
    }
}

#[test]
fn a_list_that_memory_cannot_hold_is_not_made() {
    for (name, of, more) in [
        ("split", text("a", 1_000_000), vec![("sep", Value::text(""))]),
        ("words", text("a ", 1_000_000), vec![]),
        ("lines", text("\n", 1_000_000), vec![]),
        ("parse_json", Value::text(format!("[[{}0]]", "{\"a\":{}},".repeat(200_000))), vec![]),
    ] {
        let door = Door::open(WorkLimits { steps: 1_000_000_000, bytes: 8 << 20 });
        let given = args(&[vec![("of", of)], more].concat());
        let refused = find(name).unwrap().call(&given).unwrap_err();
        assert!(refused.why().contains("makes more than 8388608 bytes"), "{name}: {}", refused.why());
        drop(door);
    }
}

#[test]
fn a_text_that_would_be_too_long_is_not_made() {
    let list = Value::list(vec![text("a", 1_000_000)]);
    for (name, given) in [
        ("stringify", vec![("of", list.clone()), ("find", Value::text("a")), ("with", text("b", 1_000_000))]),
        ("stringify", vec![("of", list), ("find", Value::text("a")), ("with", text("b", 1_000))]),
        ("pad_start", vec![("of", Value::text("x")), ("width", Value::Int(60_000_000)), ("with", Value::text("€"))]),
        ("upper", vec![("of", text("\u{390}", 11_300_000))]),
    ] {
        let (result, _, bytes) = call(name, &given);
        assert!(result.as_ref().is_err_and(|why| why.contains("the text would be longer than")), "{name}: {result:?}");
        assert!(bytes < 64 << 20, "{name}: {bytes} bytes");
    }
}

#[test]
fn padding_ends_where_it_should() {
    for (with, width, padded) in [("€", 3, "€€x"), ("ab", 4, "abax"), ("", 4, "x"), ("a", 1, "x"), ("😀", 3, "😀x"), ("😀", 2, "\u{fffd}x")]
    {
        let given = [("of", Value::text("x")), ("width", Value::Int(width)), ("with", Value::text(with))];
        assert_eq!(call("pad_start", &given).0, Ok(Value::text(padded)), "{with} {width}");
    }
}

#[test]
fn names_of_arithmetic_cannot_grow_without_bound() {
    // each mark stands in the numbers that the ones before it put there
    let marks: serde_json::Map<String, serde_json::Value> =
        (0..40).map(|n| (if n % 2 == 0 { "." } else { "-" }.repeat(1 + n / 2), json!({ "5": -0.000_001_234 }))).collect();
    let given = [("of", text(".5-5", 10_000)), ("names", Value::from(&serde_json::Value::from(marks)))];
    let (result, steps, _) = call("arithmetic", &given);
    assert!(steps < 100_000_000, "{result:?} {steps} steps");
}

#[test]
fn tables_are_laid_over_each_other_and_merged_in_place() {
    let tables: Vec<serde_json::Value> = (0..20_000).map(|n| json!({ format!("k{n}"): 1, "all": { format!("k{n}"): n } })).collect();
    let given = [("of", table(&json!(tables))), ("deep", Value::Bool(true))];
    let (laid, steps, _) = call("laid", &given);
    let laid = laid.unwrap();
    assert_eq!(laid.as_map().map(Map::len), Some(20_001));
    assert_eq!(laid.get("all").and_then(Value::as_map).map(Map::len), Some(20_000));
    assert_eq!(laid.at("all.k19999"), Some(&Value::Int(19_999)));
    assert_eq!(given[0].1.at("0.all"), Some(&table(&json!({ "k0": 0 }))), "what is laid is not changed");
    assert!(steps < 2_000_000, "{steps} steps");

    let fields = |value: &serde_json::Value| (0..50_000).map(|n| (format!("k{n}"), value.clone())).collect::<serde_json::Map<_, _>>();
    let mut below = fields(&json!(1));
    below.insert("kept".to_owned(), json!(null));
    let given = [("of", table(&below.into())), ("with", table(&fields(&json!(null)).into()))];
    let (merged, steps, _) = call("merge_patch", &given);
    assert_eq!(merged, Ok(table(&json!({ "kept": null }))));
    assert!(steps < 2_000_000, "{steps} steps");
}

fn mistakes(of: Value, schema: &serde_json::Value, limits: WorkLimits) -> Result<Value, String> {
    let _door = Door::open(limits);
    let given = args(&[("of", of), ("schema", table(schema))]);
    find("schema_mistakes").unwrap().call(&given).map_err(|refusal| refusal.why().to_owned())
}

#[test]
fn checking_a_value_by_a_schema_is_paid() {
    let small = WorkLimits { steps: 2_000_000, bytes: 16 << 20 };
    let list = |length: i64| Value::list((0..length).map(Value::Int).collect());
    let all_of = |schemas: usize, schema: serde_json::Value| json!({ "items": { "allOf": vec![schema; schemas] } });
    let told = mistakes(list(4_000), &all_of(400, json!({ "minLength": 1 })), small);
    assert!(told.as_ref().is_err_and(|why| why.contains("takes more than 2000000 steps")), "{told:?}");
    // a few times less is within the bound
    assert_eq!(mistakes(list(200), &all_of(400, json!({ "minLength": 1 })), small), Ok(Value::list(Vec::new())));

    // all mistakes would be in memory at once
    let told = mistakes(list(10_000), &all_of(100, json!({ "type": "string" })), WorkLimits::default());
    assert!(told.as_ref().is_err_and(|why| why.contains("too large to say where")), "{told:?}");

    let enumerated = json!({ "items": { "enum": (1_000..5_000).collect::<Vec<_>>() } });
    let told = mistakes(list(1_000), &enumerated, small);
    assert!(told.as_ref().is_err_and(|why| why.contains("takes more than 2000000 steps")), "{told:?}");

    let nested = json!({ "items": { "pattern": "^(?!x)(([0-9]?)+)+z$" } });
    let texts = Value::list(vec![text("1", 40); 300]);
    let told = mistakes(texts, &nested, small);
    assert!(told.as_ref().is_err_and(|why| why.contains("takes more than 2000000 steps")), "{told:?}");
}

#[test]
fn patterns_of_a_schema_are_paid_by_their_size() {
    let patterns = |count: usize| json!({ "allOf": (0..count).map(|n| json!({ "pattern": format!("(?i)(\\w{{200}}){{{}}}", n + 3) })).collect::<Vec<_>>() });
    let told = mistakes(Value::text("x"), &patterns(130), WorkLimits::default());
    assert!(told.as_ref().is_err_and(|why| why.contains("more than")), "{told:?}");
    let told = mistakes(Value::text("x"), &json!({ "pattern": "(((a{100}){100}){100})" }), WorkLimits::default());
    assert!(told.as_ref().is_err_and(|why| why.contains("the pattern is too large")), "{told:?}");
    let usual = json!({ "type": "object", "properties": { "a": { "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$" }, "b": { "pattern": "^\\p{L}{1,63}$" }, "c": { "pattern": "^(?!-)\\w{1,40}$" } } });
    let small = WorkLimits { steps: 15_000_000, bytes: 32 << 20 };
    let value = table(&json!({ "a": "a-b-c", "b": "Straße", "c": "a_b" }));
    assert_eq!(mistakes(value, &usual, small), Ok(Value::list(Vec::new())), "usual patterns cost little");
}

/// A text whose list is read, changed and written again by each of so many macros.
fn of_list(elements: usize, macros: &str, times: usize) -> String {
    format!("{{{{setvar::x::[{}0]}}}}{}", "0,".repeat(elements), macros.repeat(times))
}

#[test]
fn a_list_that_each_macro_reads_and_writes_is_paid_each_time() {
    let scene = Scene { work: WorkLimits { steps: 5_000_000, ..WorkLimits::default() }, ..Scene::new(&json!({})) };
    for (rules, macros) in [
        (&*SILLYTAVERN, "{{addvar::x::1}}"),
        (&*EXACT, "{{addvar::x::1}}"),
        (&*EXACT, "{{.x += 1}}"),
        (&*EXACT, "{{setvarkey::x::5::1}}"),
        (&*EXACT, "{{getvarkey::x::5}}"),
    ] {
        let made = |times: usize| expand_texts(rules, &scene, &[(&of_list(10_000, macros, times), Value::Null)]);
        assert!(made(3).is_ok(), "{macros}: {:?}", made(3).err());
        let error = made(500).err().unwrap_or_else(|| panic!("{macros} costs nothing"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{macros}: {error}");
    }
}

#[test]
fn removing_a_variable_costs_the_same_however_many_there_are() {
    let text = |count: usize| {
        let set = (0..count).map(|n| format!("{{{{setvar::n{n}::x}}}}"));
        let removed = (0..count).map(|n| format!("{{{{deletevar::n{n}}}}}"));
        set.chain(removed).chain(["[{{getvar::n1}}{{hasvar::n1}}]".to_owned()]).collect::<String>()
    };
    let steps = |count: usize| {
        let door = Door::join();
        let made = expand_texts(&EXACT, &Scene::new(&json!({ "vars": { "local": { "n1": "below" } } })), &[(&text(count), Value::Null)]);
        let made = made.unwrap_or_else(|e| panic!("{e}"));
        assert!(made.texts[0].ends_with("[false]"), "a variable of the scene is hidden: {}", made.texts[0]);
        door.spent().0
    };
    let (few, many) = (steps(200), steps(2_000));
    assert!(many < few * 12, "{few} steps for 200, {many} for 2,000");
}

#[test]
fn a_build_with_functions_that_cost_much_ends_with_the_bound() {
    let rows = |value: &str| {
        format!(
            "kind = \"pipeline\"\nversion = 1\n[[pass]]\nname = \"build/made\"\nbefore = \"hooks\"\nlist = \"blocks\"\ndo = \"set\"\n[pass.set]\n\"$picked\" = {value}\n"
        )
    };
    let seeded = "{ of = { fn = \"range\", of = 0, to = 50000 }, get = { fn = \"seeded_number\", of = \"a\", skip = 99999 } }";
    let rules = crate::own::pack("", &[("pipeline.toml", &rows(seeded))]).unwrap_or_else(|e| panic!("{e}"));
    let error = build(&rules, &Scene::new(&json!({ "dialect": "openai" }))).err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
}

#[test]
fn forms_are_paid_by_the_memory_that_they_take() {
    let forms: String = (0..14)
        .map(|n| format!("[[form]]\nname = \"f{n}\"\nkeys = {{ a = {{ form = \"f{}\" }}, b = {{ form = \"f{}\" }} }}\n", n + 1, n + 1))
        .collect();
    let rules = format!(
        "kind = \"overlay\"\nversion = 1\n{forms}[[form]]\nname = \"f14\"\nkeys = {{ a = 1 }}\n\
         [[pass]]\nname = \"build/forms\"\nbefore = \"hooks\"\ndo = \"set\"\n[pass.set]\n\"$x\" = {{ form = \"f0\" }}\n\
         [[path]]\nname = \"x\"\ntype = \"any\"\n"
    );
    let rules = crate::own::pack("", &[("o.toml", &rules)]).unwrap_or_else(|e| panic!("{e}"));
    let built = |bytes: u64| {
        let work = tapster::WorkLimits { bytes, ..Default::default() };
        tapster::build(&rules, &tapster::Scene { work, ..tapster::Scene::new(&serde_json::json!({ "dialect": "openai" })) })
    };
    // 32,767 tables of up to three fields take 320 bytes each
    assert!(built(16 << 20).is_ok());
    assert_eq!(*built(10 << 20).err().unwrap().kind(), tapster::ErrorKind::Bound);
}
