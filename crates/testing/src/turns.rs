//! Plays several turns of one chat: what a turn stores is found by those behind it.

use std::path::Path;

use serde_json::Value as Json;

use crate::build::scene::{kept, patched, restore};
use crate::diag::DocumentNode;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;

use super::case::{CaseTurn, TestCase};
use super::play::{self, PlayedTurn, SceneReader, TurnFailure};

/// The turns of a chat, each of which begins with what those before it have kept.
#[derive(Debug, Default)]
pub struct CaseChat {
    kept: Option<Json>,
}

impl CaseChat {
    /// A chat that begins with this state.
    #[must_use]
    pub fn with(kept: Json) -> Self {
        Self { kept: Some(kept) }
    }

    /// Puts what was kept into the scene of the next turn. Before the first turn, what the scene itself says stays.
    pub fn enter(&self, scene: &mut Scene) {
        if let Some(kept) = &self.kept {
            restore(scene, kept);
        }
    }

    /// Keeps what a turn has left behind. The scene is the one that the turn began with.
    pub fn leave(&mut self, began: &Scene, patch: &Value) {
        self.kept = Some(patched(kept(began), &patch.to_json()));
    }

    /// What was kept; `None` before the first turn of a chat that begins with nothing.
    #[must_use]
    pub fn kept(&self) -> Option<&Json> {
        self.kept.as_ref()
    }
}

/// Plays the turns of a case, and hands what came of each to `judge`, which says whether to go on.
pub fn turns<'c>(
    case: &'c TestCase,
    base: &Path,
    rules: &Ruleset,
    reader: SceneReader<'_>,
    trace: impl Fn(&CaseTurn) -> bool,
    mut judge: impl FnMut(&'c CaseTurn, Result<PlayedTurn, TurnFailure>) -> bool,
) {
    let mut chat = CaseChat::default();
    for one in &case.turns {
        let played = play::scene(&one.given, base, rules, reader).and_then(|mut scene| {
            chat.enter(&mut scene);
            // what this turn alone says of the state stands above what was kept
            for name in ["state", "vars"].into_iter().filter(|_| case.turns.len() > 1) {
                if let Some(own) = one.node.get("scene").and_then(|scene: &DocumentNode| scene.get(name)) {
                    scene.set(name, Value::from(own).over(scene.get(name)));
                }
            }
            let began = scene.clone();
            let played = play::turn(one, scene, rules, base, trace(one))?;
            chat.leave(&began, &played.patch);
            Ok(played)
        });
        if !judge(one, played) {
            return;
        }
    }
}
