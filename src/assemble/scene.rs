//! A scene from its parts: presets, a card, lorebooks, a chat, a persona, a scene file, and flags.
//!
//! The program `scene` of the pack decides which part wins, what role the lorebooks of a part have, and which facts are
//! filled in. Here the parts are only given to it. Without the program, a scene may consist of what its author has
//! written; files of other programs need it.

use std::sync::Arc;

use crate::assemble::run;
use crate::diag::Diagnostic;
use crate::engine::BuildError;
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;

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
