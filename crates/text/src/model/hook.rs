//! Hooks of the embedding program: what they can read and change, as plain data.
//!
//! A hook of an event `before_…` changes inputs of the scene and sees no blocks; a hook of an event `after_…` changes
//! the finished blocks and no input. The engine makes a view, calls the hook, and applies the changes.

use std::sync::Arc;

use super::{Map, Value};

/// The function of a hook. An error ends the build with `ErrorKind::Pipeline`.
pub type HookFn = Arc<dyn Fn(&mut HookView<'_>) -> Result<(), String> + Send + Sync>;

/// A function that runs at an event of a build. Hooks of one event run in the order of registration.
#[derive(Clone)]
pub struct Hook {
    /// `before_NAME` or `after_NAME`, where NAME is `build` or the `event` of a pass.
    pub event: Arc<str>,
    /// The name of the hook in traces and errors.
    pub id: Arc<str>,
    /// The function that is called.
    pub run: HookFn,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").field("event", &self.event).field("id", &self.id).finish_non_exhaustive()
    }
}

/// A block as a hook sees it: its index in the plan (`None` for a block that the hook added), and its fields.
type HeldBlock = (Option<usize>, Value);

/// What a hook changed.
#[doc(hidden)]
pub struct HookChanges {
    pub sets: Vec<(String, Value)>,
    /// All blocks, if the hook changed any.
    pub blocks: Option<Vec<HeldBlock>>,
    pub warnings: Vec<String>,
    pub stats: Vec<(String, Value)>,
}

/// What a hook can read and change while it runs.
pub struct HookView<'a> {
    scene: Value,
    settable: &'a dyn Fn(&str) -> Result<(), String>,
    sets: Vec<(String, Value)>,
    /// The blocks of the finished plan, a list.
    given: Option<Value>,
    /// The blocks once they are changed.
    blocks: Option<Vec<HeldBlock>>,
    warnings: Vec<String>,
    stats: Vec<(String, Value)>,
    tracing: bool,
}

impl<'a> HookView<'a> {
    /// A view over a scene. `settable` returns why a path may not be set; `given` is the list of blocks, and `None` before
    /// the build.
    pub fn new(scene: Value, settable: &'a dyn Fn(&str) -> Result<(), String>, given: Option<Value>, tracing: bool) -> Self {
        Self { scene, settable, sets: Vec::new(), given, blocks: None, warnings: Vec::new(), stats: Vec::new(), tracing }
    }

    /// The changes that the hook made, for the engine.
    pub fn into_changes(self) -> HookChanges {
        HookChanges { sets: self.sets, blocks: self.blocks, warnings: self.warnings, stats: self.stats }
    }

    /// The list of blocks as the view was given it; empty before the build.
    pub fn given(&self) -> Value {
        self.given.clone().unwrap_or_else(|| Value::list(Vec::new()))
    }

    /// The whole scene, in the form that scripts are given.
    pub fn whole(&self) -> Value {
        self.scene.clone()
    }

    /// Replaces all blocks.
    pub fn set_blocks(&mut self, blocks: Vec<Value>) -> Result<(), String> {
        self.finished()?;
        self.blocks = Some(blocks.into_iter().map(|fields| (None, fields)).collect());
        Ok(())
    }

    /// The value of a scene path (`card.description`); [`Value::Null`] if there is none.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        self.scene.at(path).cloned().unwrap_or_default()
    }

    /// Sets an input of the scene. The change holds for the rest of this build only.
    ///
    /// # Errors
    /// The pack does not declare the path, the path is not an input of the scene, or the build has ended (`after_…`).
    pub fn set(&mut self, path: &str, value: Value) -> Result<(), String> {
        if self.given.is_some() {
            return Err(format!("`{path}` cannot be set any more: the build has ended"));
        }
        (self.settable)(path)?;
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        put(&mut self.scene, &names, value.clone());
        self.sets.push((path.to_owned(), value));
        Ok(())
    }

    /// Adds a warning with the code `script.warned` to the build; in a strict scene it ends the build.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Records a value under `name` in the trace's [`stats`](crate::model::plan::PlanTrace::stats). `value` is only called
    /// if a trace is kept.
    pub fn instrument(&mut self, name: &str, value: impl FnOnce() -> Value) {
        if self.tracing {
            self.stats.push((name.to_owned(), value()));
        }
    }

    /// All blocks of the finished plan, each as a table of its fields. A block that is not part of the prompt has
    /// `enabled = false`. Empty before the build.
    #[must_use]
    pub fn blocks(&self) -> Vec<Value> {
        match &self.blocks {
            Some(blocks) => blocks.iter().map(|(_, fields)| fields.clone()).collect(),
            None => self.given.as_ref().map(|given| given.elements().to_vec()).unwrap_or_default(),
        }
    }

    /// Inserts a block at index `at`, or at the end if there are fewer blocks. Its macros are not expanded, and it is
    /// not trimmed.
    ///
    /// # Errors
    /// The hook runs before the build, where there are no blocks.
    pub fn add_block(&mut self, at: usize, fields: Value) -> Result<(), String> {
        let blocks = self.held()?;
        let at = at.min(blocks.len());
        blocks.insert(at, (None, fields));
        Ok(())
    }

    /// Removes the block at index `at`.
    ///
    /// # Errors
    /// There is no such block, or the hook runs before the build.
    pub fn remove_block(&mut self, at: usize) -> Result<(), String> {
        let blocks = self.held()?;
        if at >= blocks.len() {
            return Err(format!("there is no block {at}: the plan has {}", blocks.len()));
        }
        blocks.remove(at);
        Ok(())
    }

    /// Sets a field of the block at index `at`; [`Value::Null`] removes the field.
    ///
    /// # Errors
    /// There is no such block, or the hook runs before the build.
    pub fn set_block(&mut self, at: usize, field: &str, value: Value) -> Result<(), String> {
        let blocks = self.held()?;
        let count = blocks.len();
        let block = blocks.get_mut(at).ok_or_else(|| format!("there is no block {at}: the plan has {count}"))?;
        put(&mut block.1, &[Arc::from(field)], value);
        Ok(())
    }

    /// The blocks as the hook was given them.
    fn finished(&self) -> Result<&Value, String> {
        self.given.as_ref().ok_or_else(|| "a hook before the build sees no blocks; use a pass, or a hook behind the build".to_owned())
    }

    fn held(&mut self) -> Result<&mut Vec<HeldBlock>, String> {
        let given = self.finished()?.clone();
        Ok(self.blocks.get_or_insert_with(|| given.elements().iter().cloned().enumerate().map(|(n, fields)| (Some(n), fields)).collect()))
    }
}

fn put(tree: &mut Value, names: &[Arc<str>], value: Value) {
    let Some((name, rest)) = names.split_first() else {
        *tree = value;
        return;
    };
    if !matches!(tree, Value::Map(_)) {
        *tree = Value::map(Map::default());
    }
    let Value::Map(map) = tree else { return };
    put(Arc::make_mut(map).entry(name.clone()).or_default(), rest, value);
}
