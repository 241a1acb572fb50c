//! What a session puts into the scene of a turn, and what it takes back out of the result.

use serde_json::{Value as Json, json};

use super::Artifact;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;

/// Artifacts as rules see them: `art.TAG.value`, `.history`, `.version`.
pub(super) fn art(artifacts: &[Artifact]) -> Value {
    let one = |a: &Artifact| (a.tag.clone(), json!({ "value": a.value, "history": a.history, "version": a.version }));
    Value::from(&Json::Object(artifacts.iter().map(one).collect()))
}

/// Fills the scene with what the session knows. Variables of macros are kept with the state, and read from `vars`. Of
/// artifacts nothing is said to a pack that reads none.
pub(super) fn fill(rules: &Ruleset, scene: &mut Scene, artifacts: &[Artifact], state: Option<&Json>) {
    if !artifacts.is_empty() || rules.programs().rules.names.knows_path("art") {
        scene.set("art", art(artifacts));
    }
    let Some(Json::Object(mut state)) = state.cloned() else { return };
    if let Some(vars) = state.remove("vars") {
        let given = scene.get("vars");
        let vars = Value::from(&vars);
        scene.set("vars", if given.is_null() { vars } else { given.over(vars) });
    }
    let given = scene.get("state");
    let state = Value::from(&Json::Object(state));
    scene.set("state", if given.is_null() { state } else { given.over(state) });
}

/// A write that a program of the pack wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProgramWrite {
    pub(super) tag: String,
    pub(super) value: Json,
    /// The version that the program says it started from, if it says one.
    pub(super) based_on: Option<i64>,
    pub(super) writer: String,
    pub(super) operation: String,
}

/// The writes that a program has left in `$plan.writes`.
pub(super) fn wanted(writes: &Value) -> Vec<ProgramWrite> {
    let text = |row: &Json, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let one = |row: &Json| {
        let operation = text(row, "operation");
        let writer = row["writer"].as_str().map_or_else(|| operation.clone(), str::to_owned);
        ProgramWrite { tag: text(row, "tag"), value: row["value"].clone(), based_on: row["based_on"].as_i64(), writer, operation }
    };
    writes.to_json().as_array().into_iter().flatten().map(one).collect()
}

/// The view after a write, as the next programs of the turn see it, with at most `most` values of history.
pub(super) fn written(view: &mut Vec<Artifact>, tag: &str, value: Json, most: u32) {
    let Some(artifact) = view.iter_mut().find(|a| a.tag == tag) else {
        view.push(Artifact { tag: tag.to_owned(), version: 1, value, history: Vec::new() });
        return;
    };
    artifact.version += 1;
    artifact.history.push(std::mem::replace(&mut artifact.value, value));
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    artifact.history.drain(..artifact.history.len().saturating_sub(most));
}
