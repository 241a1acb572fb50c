//! Builds of one chat, turn after turn: what did not change since the last build is not worked out again.

use std::sync::{Mutex, PoisonError};

use crate::model::{Plan, Scene};
use crate::pack::Ruleset;
use crate::terms::state::PassMemories;

use super::built_with;
use super::error::BuildError;
use super::payload::{Prompt, prompt_of};
use super::run::{Outcome, run_with};

/// Builds that follow one another with the same rules, such as the turns of a chat. What passes have found out about entries
/// is used again where these are still the same; what a build does not use is forgotten, so a session holds about as much
/// as one build does. A build that fails leaves nothing for the next one. Builds in several threads do not wait for one
/// another; one of them finds what the last build left.
///
/// Every result is the one that a single build gives, with its warnings and its trace. Work that is not done again is paid
/// nevertheless, so that a build reaches the bounds of its work where a single one does.
///
/// ```
/// use serde_json::json;
/// use tapster::{BuildSession, Ruleset, Scene};
///
/// let session = BuildSession::new(Ruleset::open("base", &[])?);
/// for message in ["Hello.", "Good morning."] {
///     let scene = Scene::new(&json!({
///         "type": "normal",
///         "context": { "tokenizer": "words" },
///         "history": [{ "role": "user", "text": message }],
///     }));
///     assert!(session.prompt(&scene)?.payload.to_string().contains(message));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BuildSession {
    rules: Ruleset,
    memories: Mutex<PassMemories>,
}

impl BuildSession {
    /// A session that remembers nothing yet.
    #[must_use]
    pub fn new(rules: Ruleset) -> Self {
        Self { rules, memories: Mutex::default() }
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &Ruleset {
        &self.rules
    }

    /// [`build`](fn@crate::build) with the rules of the session.
    ///
    /// # Errors
    /// Those of [`build`](fn@crate::build).
    pub fn build(&self, scene: &Scene) -> Result<Plan, BuildError> {
        let (plan, outcome) = built_with(&self.rules, scene, self.replace(PassMemories::default()))?;
        self.replace(outcome.take_memories());
        Ok(plan)
    }

    /// [`prompt`](crate::prompt) with the rules of the session.
    ///
    /// # Errors
    /// Those of [`prompt`](crate::prompt).
    pub fn prompt(&self, scene: &Scene) -> Result<Prompt, BuildError> {
        prompt_of(&self.rules, scene, || self.build(scene))
    }

    /// [`run`](fn@crate::run) with the rules of the session, without lists.
    ///
    /// # Errors
    /// Those of [`run`](fn@crate::run).
    pub fn run(&self, name: &str, scene: &Scene) -> Result<Outcome, BuildError> {
        let outcome = run_with(&self.rules, &[name], scene, &[], self.replace(PassMemories::default()))?;
        self.replace(outcome.take_memories());
        Ok(outcome)
    }

    /// Replaces what the passes remember.
    fn replace(&self, memories: PassMemories) -> PassMemories {
        // a poisoned lock only means that another build panicked; what it left is whole
        std::mem::replace(&mut *self.memories.lock().unwrap_or_else(PoisonError::into_inner), memories)
    }
}
