//! Temporary: texts of the recordings of macros.

use serde_json::json;

use super::{PACK, scene};
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine;

pub(crate) fn text(case: &Case) -> Vec<Check> {
    let template = case.input["template"].as_str().unwrap_or_default();
    let done = scene::scene(case, "cbs").and_then(|mut scene| {
        let args = &case.input["args"];
        if args["runVar"] == json!(true) {
            crate::adapters::parts::put(&mut scene.data, "macro_mode", json!("run"));
        }
        if let Some(index) = args["chatID"].as_i64() {
            crate::adapters::parts::put(&mut scene.data, "chat.index", json!(index));
        }
        engine::expand(PACK, scene, &[template], &json!({}))
    });
    let actual = done.map_or_else(|e| e, |done| json!({ "output": done["texts"][0] }));
    vec![case.check(actual, |a, b| same(&a["output"], &b["output"]))]
}
