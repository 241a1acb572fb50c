//! Hooks of the embedding program: what they may look at and change, as plain data.
//!
//! A hook of an event `before_…` changes inputs of the scene and never sees blocks; a hook of an event `after_…`
//! changes the finished blocks and no input. The engine fills a view, calls the hook, and takes the changes over.

use std::sync::Arc;

use super::{Map, Value};

/// What a hook does; an error ends the build, as a mistake of the embedding program.
pub type HookFn = Arc<dyn Fn(&mut HookView<'_>) -> Result<(), String> + Send + Sync>;

/// A function that runs at an event of a build. Hooks of one event run in the order of registration.
#[derive(Clone)]
pub struct Hook {
    /// `before_NAME` or `after_NAME`, for a pass with `event = "NAME"`; a build has `before_build` and `after_build`.
    pub event: Arc<str>,
    /// Names the hook in traces and errors.
    pub id: Arc<str>,
    /// What it does.
    pub run: HookFn,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").field("event", &self.event).field("id", &self.id).finish_non_exhaustive()
    }
}

/// A block in the hands of a hook: which block of the plan it was (none for one that the hook added), and its fields.
type TemplateCalls = (Option<usize>, Value);

/// What a hook changed.
pub(crate) struct Changes {
    pub(crate) sets: Vec<(String, Value)>,
    /// All blocks, if any was touched.
    pub(crate) blocks: Option<Vec<TemplateCalls>>,
    pub(crate) warnings: Vec<String>,
    pub(crate) stats: Vec<(String, Value)>,
}

/// What a hook looks at and changes.
pub struct HookView<'a> {
    scene: Value,
    settable: &'a dyn Fn(&str) -> Result<(), String>,
    sets: Vec<(String, Value)>,
    blocks: Option<Vec<TemplateCalls>>,
    changed: bool,
    warnings: Vec<String>,
    stats: Vec<(String, Value)>,
    tracing: bool,
}

impl<'a> HookView<'a> {
    /// A view over a scene. `settable` says why a path may not be set; `blocks` are there behind a program only.
    pub(crate) fn new(scene: Value, settable: &'a dyn Fn(&str) -> Result<(), String>, blocks: Option<Vec<Value>>, tracing: bool) -> Self {
        let blocks = blocks.map(|list| list.into_iter().enumerate().map(|(n, fields)| (Some(n), fields)).collect());
        Self { scene, settable, sets: Vec::new(), blocks, changed: false, warnings: Vec::new(), stats: Vec::new(), tracing }
    }

    /// What it changed, for the engine.
    pub(crate) fn into_changes(self) -> Changes {
        Changes { sets: self.sets, blocks: self.blocks.filter(|_| self.changed), warnings: self.warnings, stats: self.stats }
    }

    /// The whole scene, as scripts are given it.
    pub(crate) fn whole(&self) -> Value {
        self.scene.clone()
    }

    /// Replaces all blocks.
    pub(crate) fn set_blocks(&mut self, blocks: Vec<Value>) -> Result<(), String> {
        *self.held()? = blocks.into_iter().map(|fields| (None, fields)).collect();
        Ok(())
    }

    /// The value of a scene path (`card.description`); nothing if it is not there.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        self.scene.at(path).cloned().unwrap_or_default()
    }

    /// Changes an input of the scene.
    ///
    /// # Errors
    /// A path that the pack does not declare, one that is no input, or a hook behind the build.
    pub fn set(&mut self, path: &str, value: Value) -> Result<(), String> {
        if self.blocks.is_some() {
            return Err(format!("`{path}` cannot be set any more: the build has ended"));
        }
        (self.settable)(path)?;
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        put(&mut self.scene, &names, value.clone());
        self.sets.push((path.to_owned(), value));
        Ok(())
    }

    /// Raises a warning; an error of the build where warnings are errors.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Notes a number or another value for the trace. `value` is worked out only when a trace is kept.
    pub fn instrument(&mut self, name: &str, value: impl FnOnce() -> Value) {
        if self.tracing {
            self.stats.push((name.to_owned(), value()));
        }
    }

    /// The blocks of the finished plan, those that are switched off among them (`enabled` is false); none before the build.
    #[must_use]
    pub fn blocks(&self) -> Vec<Value> {
        self.blocks.iter().flatten().map(|(_, fields)| fields.clone()).collect()
    }

    /// Puts a block at a place (0 is the start; beyond the end is the end). It is neither expanded nor trimmed.
    ///
    /// # Errors
    /// Before the build there are no blocks.
    pub fn add_block(&mut self, at: usize, fields: Value) -> Result<(), String> {
        let blocks = self.held()?;
        let at = at.min(blocks.len());
        blocks.insert(at, (None, fields));
        Ok(())
    }

    /// Takes a block out, by its place.
    ///
    /// # Errors
    /// No such block; before the build there are none.
    pub fn remove_block(&mut self, at: usize) -> Result<(), String> {
        let blocks = self.held()?;
        if at >= blocks.len() {
            return Err(format!("there is no block {at}: the plan has {}", blocks.len()));
        }
        blocks.remove(at);
        Ok(())
    }

    /// Changes a field of a block, by its place; setting nothing removes the field.
    ///
    /// # Errors
    /// No such block; before the build there are none.
    pub fn set_block(&mut self, at: usize, field: &str, value: Value) -> Result<(), String> {
        let blocks = self.held()?;
        let count = blocks.len();
        let block = blocks.get_mut(at).ok_or_else(|| format!("there is no block {at}: the plan has {count}"))?;
        put(&mut block.1, &[Arc::from(field)], value);
        Ok(())
    }

    fn held(&mut self) -> Result<&mut Vec<TemplateCalls>, String> {
        self.changed = true;
        self.blocks.as_mut().ok_or_else(|| "a hook before the build sees no blocks; use a pass, or a hook behind the build".to_owned())
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
