//! `liquid`: one template over one context, as the real program renders it in all its passes.

use serde_json::json;

use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, Scene};

/// The pack that follows the real program.
const PACK: &str = "talespinner-exact";

/// The text that comes out, or that there was an error.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let liquid = json!({
        "of": input["template"], "with": input["context"], "strict": input["options"]["strictVariables"] == json!(true),
    });
    // the recorder's generator always gave 0
    let scene = Scene { draws: Some(vec![0.0; 1000]), ..Scene::new(json!({ "liquid": liquid })) };
    let actual = match engine::run(PACK, "liquid", scene, &[]) {
        Ok(ran) if ran.get("liquid.made.error").is_null() => json!({ "output": ran.get("liquid.made.value") }),
        Ok(ran) => json!({ "error": true, "message": ran.get("liquid.made.error.message") }),
        Err(error) => error,
    };
    // messages of mistakes are each program's own
    let expected = crate::compare::without(&case.expected, &["message"]);
    let passed = same(&expected, &crate::compare::without(&actual, &["message"]));
    vec![Check { level: String::new(), passed, expected, actual }]
}
