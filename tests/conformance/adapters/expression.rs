//! The expression language's own tests: `../shared/cel`, or the folder that `TAPSTER_CEL` names.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use crate::case::{Case, Check, same};
use crate::engine::{EXACT, rules};
use crate::suites::{self, Suite};

/// A suite for each file, in order.
pub(crate) fn suites(recordings: &Path) -> Vec<Suite> {
    let beside = || recordings.parent().unwrap_or(recordings).join("cel");
    let folder = std::env::var("TAPSTER_CEL").map_or_else(|_| beside(), Into::into);
    if !folder.is_dir() {
        println!("{} is not there: the tests of expressions do not run", folder.display());
    }
    suites::find(&folder, "cel/")
}

/// The cases of such a file: `expr`, `bindings`, and `value` or `error`.
pub(crate) fn cases(file: &Path) -> Option<Vec<Case>> {
    let tests: Vec<Map<String, Json>> = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let case = |test: &Map<String, Json>| {
        let field = |key: &str| test.get(key).cloned().unwrap_or_default();
        let expected = if test.contains_key("error") { json!({ "error": true }) } else { json!({ "value": field("value") }) };
        let input = json!({ "expr": test.get("expr")?, "bindings": field("bindings") });
        let name = field("name").as_str()?.to_owned();
        Some(Case { name, kind: "expression".to_owned(), input, pins: Json::Null, expected, accept: None })
    };
    tests.iter().map(case).collect()
}

/// Evaluates an expression over an item with the bindings as fields.
pub(crate) fn evaluate(case: &Case) -> Vec<Check> {
    let item = tapster::Value::from(&case.input["bindings"]);
    let actual = match rules(EXACT) {
        Ok(rules) => match tapster::machinery::build::evaluate(&rules, case.input["expr"].as_str().unwrap_or_default(), &item) {
            Ok(value) => json!({ "value": value.to_json() }),
            Err(error) => json!({ "error": error }),
        },
        Err(error) => error,
    };
    let passed = match case.expected.get("error") {
        Some(_) => actual.get("error").is_some(),
        None => same(&case.expected, &actual),
    };
    vec![Check { level: String::new(), passed, expected: case.expected.clone(), actual }]
}
