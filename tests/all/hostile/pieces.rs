//! What is made of many small pieces: dates, language tags, filters of Liquid, and messages of a template whose text is a list
//! or a table. Each piece pays what it takes. The tests count steps and bytes.

use std::sync::Arc;

use serde_json::json;
use tapster::model::Map;
use tapster::pack::RuleFile;
use tapster::template::{Asked, Budget, ErrorKind, Inputs, Limits, QuarterRuler, Sources, render};
use tapster::text::functions::find;
use tapster::text::leaf::value_text;
use tapster::text::liquid::{Liquid, Options};
use tapster::text::work::Door;
use tapster::{Value, WorkLimits};

const WIDE: WorkLimits = WorkLimits { steps: 1_000_000_000, bytes: 1 << 32 };

/// What a function gives within these bounds, and the steps that it pays.
fn call(name: &str, given: &serde_json::Value, limits: WorkLimits) -> (Result<Value, String>, u64) {
    let door = Door::open(limits);
    let given: Map = given.as_object().unwrap().iter().map(|(name, value)| (Arc::from(name.as_str()), Value::from(value))).collect();
    let result = find(name).unwrap().call(&given).map_err(|refusal| refusal.why().to_owned());
    let (steps, _) = door.spent();
    (result, steps)
}

/// A tag of so many variants, which are all different.
fn tag(variants: usize) -> String {
    (0..variants).fold("de".to_owned(), |tag, n| format!("{tag}-v{n:05}"))
}

#[test]
fn each_piece_is_paid() {
    for (what, name, given, least) in [
        ("a pattern of brackets", "format_time", json!({ "of": 0, "format": "[".repeat(10_000) }), 80_000),
        ("tokens that stand for patterns", "format_time", json!({ "of": 0, "format": "LLLL ".repeat(2_000) }), 400_000),
        ("one token many times", "format_time", json!({ "of": 0, "format": "w ".repeat(5_000) }), 120_000),
        ("a date that is no date", "parse_time", json!({ "of": "Sat, 09 Mar 2024 15:04:05 +x" }), 80),
        ("a tag of many variants", "language_tag", json!({ "of": tag(3_000) }), 150_000),
        ("one with a variant twice", "language_tag", json!({ "of": format!("{}-v00000", tag(3_000)) }), 150_000),
        ("a tag that is none", "language_tag", json!({ "of": "a".repeat(100_000) }), 25_000),
    ] {
        let (result, steps) = call(name, &given, WIDE);
        assert!(result.is_ok(), "{what}: {result:?}");
        assert!(steps >= least, "{what}: {steps} steps");
        let (result, _) = call(name, &given, WorkLimits { steps: least / 2, ..WIDE });
        assert!(result.as_ref().is_err_and(|why| why.contains("this takes more than")), "{what}: {result:?}");
    }
    let (_, steps) = call("language_tag", &json!({ "of": "zh-Hant-TW" }), WIDE);
    assert!(steps < 500, "a usual tag costs little: {steps} steps");
    let (_, steps) = call("format_time", &json!({ "of": 0, "format": "YYYY-MM-DD HH:mm" }), WIDE);
    assert!(steps < 500, "a usual date costs little: {steps} steps");
}

#[test]
fn a_date_that_memory_cannot_hold_is_not_made() {
    let calendar = json!({ "formats": { "LLLL": "MMMM".repeat(50) }, "months": vec!["x".repeat(200); 12] });
    let given = json!({ "of": 0, "format": "L".repeat(10_000), "calendar": calendar });
    let (result, _) = call("format_time", &given, WorkLimits { bytes: 8 << 20, ..WIDE });
    assert!(result.as_ref().is_err_and(|why| why.contains("makes more than 8388608 bytes")), "{:?}", result.map(|_| "made"));
}

#[test]
fn what_filters_of_liquid_do_is_paid() {
    for (written, least) in [
        ("{{ i | date: '%A %B %d %Y %H:%M' }}", 400_000),
        ("{{ 'x' | date: '%A' }}", 100_000),
        ("{{ i | date_to_rfc822 }}", 500_000),
        ("{{ i | plus: 1 | times: 1.5 | round: 2 }}", 140_000),
    ] {
        let liquid = Liquid::parse(&format!("{{% for i in (1..1000) %}}{written}{{% endfor %}}")).unwrap();
        let door = Door::open(WIDE);
        let made = liquid.render(&Value::Null, &Options::default());
        assert!(made.is_ok(), "{written}: {made:?}");
        let (steps, _) = door.spent();
        assert!(steps >= least, "{written}: {steps} steps");
        drop(door);
        let _door = Door::open(WorkLimits { steps: least / 2, ..WIDE });
        let told = liquid.render(&Value::Null, &Options::default()).map_err(|error| error.to_string());
        assert!(told.as_ref().is_err_and(|why| why.contains("this takes more than")), "{written}: {told:?}");
    }
}

/// A table of so many empty tables.
fn tables(count: usize) -> Value {
    let fields: serde_json::Map<String, serde_json::Value> = (0..count).map(|n| (format!("k{n}"), json!({}))).collect();
    Value::from(&serde_json::Value::from(fields))
}

/// One source, whatever it is called.
struct One(Value);

impl Sources for One {
    fn resolve(&self, _: &str, _: Option<&Value>) -> Result<Option<Value>, String> {
        Ok(Some(self.0.clone()))
    }
}

#[test]
fn a_list_or_table_that_becomes_a_message_is_paid_by_its_values() {
    let door = Door::open(WIDE);
    assert!(value_text(&tables(1_000), 1 << 20).is_ok());
    let (steps, _) = door.spent();
    assert!(steps >= 8_000, "{steps} steps for 1,000 tables");
    drop(door);

    let message = json!({ "kind": "message", "role": "user", "from": { "source": "rows" } });
    let template = json!({
        "revision": "base", "id": "t", "task": "t", "name": "t", "version": 1, "layout": [{ "kind": "slot", "name": "a" }],
        "slots": { "a": { "priority": 0, "plan": vec![message; 100] } },
    });
    let file = RuleFile { name: "t.json".to_owned(), path_in_pack: "t.json".to_owned(), bytes: template.to_string().into_bytes() };
    let template = tapster::open_template(&file, &Asked::default()).unwrap_or_else(|e| panic!("{:?}", e.report.items())).template;
    let (context, sources) = (Value::Null, One(tables(200)));
    let limits = Limits::default();
    let inputs = Inputs { context: &context, sources: &sources, ruler: &QuarterRuler, lanes: &[], requests: &[], limits };
    let _door = Door::open(WorkLimits { steps: 100_000, ..WIDE });
    let error = render(&template, &inputs, &mut Budget::new(None)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Bound, "{error}");
    assert!(error.message.contains("takes more than 100000 steps"), "{error}");
}
