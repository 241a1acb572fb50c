//! What is made of many small pieces: dates, language tags, filters of Liquid, and messages of a template whose text is a list
//! or a table. Each piece pays what it takes. The tests count steps and bytes.

use std::sync::Arc;

use serde_json::json;
use tapster::model::Map;
use tapster::pack::RuleFile;
use tapster::template::{Asked, Budget, ErrorKind, Inputs, Limits, QuarterRuler, Sources, render};
use tapster::text::functions::find;
use tapster::text::leaf::value_text;
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

#[test]
fn a_date_that_memory_cannot_hold_is_not_made() {
    let calendar = json!({ "formats": { "LLLL": "MMMM".repeat(50) }, "months": vec!["x".repeat(200); 12] });
    let given = json!({ "of": 0, "format": "L".repeat(10_000), "calendar": calendar });
    let (result, _) = call("format_time", &given, WorkLimits { bytes: 8 << 20, ..WIDE });
    assert!(result.as_ref().is_err_and(|why| why.contains("makes more than 8388608 bytes")), "{:?}", result.map(|_| "made"));
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
    assert!(steps >= 1_000, "{steps} steps for 1,000 tables");
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
    let _door = Door::open(WorkLimits { steps: 30_000, ..WIDE });
    let error = render(&template, &inputs, &mut Budget::new(None)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Bound, "{error}");
    assert!(error.message.contains("takes more than 30000 steps"), "{error}");
}
