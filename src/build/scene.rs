//! A scene from its parts: presets, a card, lorebooks, a chat, a persona, a scene file, and flags; and what a chat keeps
//! of it from one turn to the next: its state, with the variables of macros.
//!
//! The program `scene` of the pack decides which part wins, what role the lorebooks of a part have, and which facts are
//! filled in. Here the parts are only given to it. Without the program, a scene may consist of what its author has
//! written; files of other programs need it.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::diag::Diagnostic;
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;

use super::error::BuildError;
use super::run::run;

/// The program that makes a scene of its parts.
const PROGRAM: &str = "scene";
/// The path and list from which the program reads the parts.
const PARTS: &str = "scene_parts";
/// The path on which the program leaves the scene.
const RESULT: &str = "assembled";
/// The kinds of parts that are written for the pack, and need no program.
const WRITTEN: [&str; 3] = ["clock", "file", "flags"];

/// One part of a scene.
#[derive(Debug, Clone, Default)]
pub struct ScenePart {
    /// Its kind. The pack `base` knows `clock`, `preset`, `character`, `lorebook`, `chat`, `persona`, `file` (a scene
    /// file) and `flags`.
    pub kind: String,
    /// The name of its file without folder and ending, or nothing; a lorebook without a name gets this one.
    pub stem: String,
    /// What it gives to the scene, such as [`ImportedDocument::scene`](crate::ImportedDocument::scene).
    pub scene: Value,
}

impl ScenePart {
    /// A part that is not from a file with a name.
    #[must_use]
    pub fn new(kind: impl Into<String>, scene: Value) -> Self {
        Self { kind: kind.into(), stem: String::new(), scene }
    }

    fn value(&self) -> Value {
        let fields = [("kind", Value::text(self.kind.as_str())), ("stem", Value::text(self.stem.as_str())), ("scene", self.scene.clone())];
        Value::map(fields.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
    }
}

/// A scene that was made of its parts.
#[derive(Debug, Clone)]
pub struct AssembledScene {
    /// The scene. Apart from its data it is a [`Scene::default`].
    pub scene: Scene,
    /// The warnings of the program that made it.
    pub warnings: Vec<Diagnostic>,
}

/// Makes one scene of its parts with the program `scene` of the pack, which decides which part wins over which and fills
/// in what no part says. A pack that extends `base` has its program.
///
/// # Errors
/// The pack has no such program and a part is neither `file` nor `flags`, the program does not know the kind of a part, or
/// it fails.
pub fn assemble_scene(rules: &Ruleset, parts: &[ScenePart]) -> Result<AssembledScene, BuildError> {
    if rules.programs().find(PROGRAM).is_none() {
        return without_program(rules, parts);
    }
    let list = Value::list(parts.iter().map(ScenePart::value).collect());
    let given = Scene { data: Value::map([(Arc::from(PARTS), list)].into_iter().collect()), ..Scene::default() };
    let outcome = run(rules, PROGRAM, &given, &[])?;
    let data = outcome.get(RESULT);
    if data.as_map().is_none() {
        let message = format!("program `{PROGRAM}` of pack `{}` sets no table `${RESULT}`", rules.pack().name);
        return Err(BuildError::call(message));
    }
    Ok(AssembledScene { scene: Scene { data, ..Scene::default() }, warnings: outcome.warnings() })
}

/// Parts that are written for the pack are laid over each other in the order in which they are given.
fn without_program(rules: &Ruleset, parts: &[ScenePart]) -> Result<AssembledScene, BuildError> {
    let mut scene = Scene { data: Value::map(Map::default()), ..Scene::default() };
    for part in parts {
        if !WRITTEN.contains(&part.kind.as_str()) {
            let message = format!(
                "pack `{}` has no program `{PROGRAM}`, which says how a part of kind `{}` becomes a part of the scene; extend `base`, or write the program",
                rules.pack().name,
                part.kind
            );
            return Err(BuildError::call(message));
        }
        scene.merge(part.scene.clone());
    }
    Ok(AssembledScene { scene, warnings: Vec::new() })
}

/// What the scene of a turn begins with: its `state`, with its `vars`.
#[must_use]
pub fn kept(scene: &Scene) -> Json {
    let mut state = match scene.get("state").to_json() {
        Json::Object(state) => state,
        _ => serde_json::Map::new(),
    };
    if let vars @ Json::Object(_) = scene.get("vars").to_json() {
        state.insert("vars".to_owned(), vars);
    }
    Json::Object(state)
}

/// Puts what was kept into a scene, in the place of what the scene says.
pub fn restore(scene: &mut Scene, kept: &Json) {
    let Json::Object(mut state) = kept.clone() else { return };
    if let Some(vars) = state.remove("vars") {
        scene.set("vars", Value::from(&vars));
    }
    scene.set("state", Value::from(&Json::Object(state)));
}

/// The state with a patch laid over it: each name of the patch replaces the one of the state, and each variable the
/// variable of that store and name. What is null is removed.
#[must_use]
pub fn patched(state: Json, patch: &Json) -> Json {
    let mut state = match state {
        Json::Object(state) => state,
        _ => serde_json::Map::new(),
    };
    for (name, value) in patch.as_object().into_iter().flatten() {
        match value {
            Json::Object(stores) if name == "vars" => {
                for (store, values) in stores {
                    for (key, value) in values.as_object().into_iter().flatten() {
                        put_at(&mut state, &["vars", store, key], value);
                    }
                }
            }
            value => put(&mut state, name, value),
        }
    }
    Json::Object(state)
}

/// Sets `within.names[0].names[1]…`, or removes it if the value is null; what is in the way and not a table is replaced.
fn put_at(within: &mut serde_json::Map<String, Json>, names: &[&str], value: &Json) {
    match names {
        [] => {}
        [name] => put(within, name, value),
        [name, rest @ ..] => {
            let mut inner = match within.get_mut(*name).map(Json::take) {
                Some(Json::Object(inner)) => inner,
                _ => serde_json::Map::new(),
            };
            put_at(&mut inner, rest, value);
            within.insert((*name).to_owned(), Json::Object(inner));
        }
    }
}

fn put(within: &mut serde_json::Map<String, Json>, key: &str, value: &Json) {
    if value.is_null() {
        within.shift_remove(key);
    } else {
        within.insert(key.to_owned(), value.clone());
    }
}
