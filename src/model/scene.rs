//! Everything that one build may look at: data, seed, draws, and functions of the embedding program.
//!
//! No clock, file, environment or random source is read outside of it, so the same rules and the same scene give
//! the same bytes on any machine.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Hook, HookView, Map, Value};

/// A function of the embedding program: the item at hand in, a value out.
pub type HostFn = Arc<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// The input of one build. `Clone` shares the data.
#[derive(Clone, Default)]
pub struct Scene {
    /// The paths that packs declare (`[[path]]` rows): `type`, `history`, `card.description` …
    pub data: Value,
    /// Seeds the draw streams; any text.
    pub seed: String,
    /// Scripted draws in [0, 1): they come first, for whichever stream asks.
    pub draws: Option<Vec<f64>>,
    /// Warnings are errors.
    pub strict: bool,
    /// Keep a trail of what every pass did.
    pub trace: bool,
    /// Functions that conditions and scripts may call by name.
    pub host: FxHashMap<String, HostFn>,
    /// Functions that run at events of the build, in the order of registration.
    pub hooks: Vec<Hook>,
}

impl Scene {
    /// A scene over JSON data.
    #[must_use]
    pub fn new(data: &serde_json::Value) -> Self {
        Self { data: Value::from(data), ..Self::default() }
    }

    /// Offers a function to conditions: `{ host = "name" }`.
    #[must_use]
    pub fn host(mut self, name: &str, function: HostFn) -> Self {
        self.host.insert(name.to_owned(), function);
        self
    }

    /// Registers a hook behind those of the same event: `before_build`, `after_build`, or one that a pass of the pack names.
    #[must_use]
    pub fn hook(mut self, event: &str, id: &str, run: impl Fn(&mut HookView<'_>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.hooks.push(Hook { event: event.into(), id: id.into(), run: Arc::new(run) });
        self
    }

    /// Sets one path (`a.b.c`).
    pub fn set(&mut self, path: &str, value: Value) {
        let names: Vec<&str> = path.split('.').collect();
        put(&mut self.data, &names, value);
    }

    /// The value at a path; nothing if it is not there.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        self.data.at(path).cloned().unwrap_or_default()
    }

    /// Lays another scene's data over this one's, leaf by leaf.
    pub fn merge(&mut self, over: Value) {
        let below = std::mem::take(&mut self.data);
        self.data = over.over(below);
    }
}

fn put(tree: &mut Value, names: &[&str], value: Value) {
    let Some((name, rest)) = names.split_first() else {
        *tree = value;
        return;
    };
    if !matches!(tree, Value::Map(_)) {
        *tree = Value::map(Map::default());
    }
    if let Value::Map(map) = tree {
        put(Arc::make_mut(map).entry(Arc::from(*name)).or_default(), rest, value);
    }
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene")
            .field("data", &self.data.to_json())
            .field("seed", &self.seed)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}
