//! The input of one build: data, seed, draws, and functions of the embedding program.
//!
//! A build reads no clock, file, environment variable or random source outside of its scene, so the same rules and the
//! same scene give the same bytes on every machine.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Hook, HookView, Map, Value, WorkLimits};
use crate::diag::limits;

/// A function of the embedding program that conditions and scripts call: it takes the current item (a table) and
/// returns a value, or a message that becomes an error of the build.
pub type HostFn = Arc<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// The input of one build. `Clone` shares the data. The default is an empty scene: no data, the empty seed, not strict,
/// no trace.
#[derive(Clone, Default)]
pub struct Scene {
    /// A table of the paths that packs declare (`[[path]]` rows): `type`, `history`, `card.description` …
    pub data: Value,
    /// The seed of all random draws: any text. The same seed gives the same draws.
    pub seed: String,
    /// Scripted draws in [0, 1) that are used up before the seed is, for whichever stream draws; for tests and replays.
    /// `None`: no scripted draws.
    pub draws: Option<Vec<f64>>,
    /// Whether the first warning ends the build with `ErrorKind::StrictMode`.
    pub strict: bool,
    /// Whether the plan gets a [trace](crate::model::plan::PlanTrace) of what every pass did, and its blocks a history.
    pub trace: bool,
    /// Functions that conditions and scripts can call, by name.
    pub host: FxHashMap<String, HostFn>,
    /// Functions that run at events of the build, in the order of registration.
    pub hooks: Vec<Hook>,
    /// How much work the build may take, and afterwards the payload. A pack can only lower these bounds.
    pub work: WorkLimits,
}

impl Scene {
    /// A scene over JSON data, everything else as in the default. Data that is not an object counts as an empty scene.
    #[must_use]
    pub fn new(data: &serde_json::Value) -> Self {
        Self { data: Self::of_written(Value::from(data)).0, ..Self::default() }
    }

    /// The data of a scene as files and programs write it: a key with dots (`"names.char"`) is a path, as it is in TOML
    /// without quotes. Keys of tables inside are names of data and stay as they are. Also the first such key whose value
    /// another key gives too; the later of them counts.
    pub fn of_written(written: Value) -> (Value, Option<Arc<str>>) {
        let Some(map) = written.as_map().filter(|map| map.keys().any(|key| key.contains('.'))) else { return (written, None) };
        let (mut data, mut twice) = (Value::map(Map::default()), None);
        for (key, value) in map {
            let mut names: Vec<&str> = key.split('.').collect();
            if names.len() > limits::CHAIN || names.contains(&"") {
                names = vec![key];
            }
            let mut own = Value::Null;
            put(&mut own, &names, value.clone());
            if twice.is_none() && clash(&own, &data) {
                twice = Some(key.clone());
            }
            data = own.over(data);
        }
        (data, twice)
    }

    /// Adds a function that conditions call as `{ host = "name" }`; it replaces a function of the same name.
    #[must_use]
    pub fn host(mut self, name: &str, function: HostFn) -> Self {
        self.host.insert(name.to_owned(), function);
        self
    }

    /// Adds a hook after those of the same event. `event` is `before_build`, `after_build`, or `before_NAME` and
    /// `after_NAME` for a pass with `event = "NAME"`; `id` names the hook in traces and errors.
    #[must_use]
    pub fn hook(mut self, event: &str, id: &str, run: impl Fn(&mut HookView<'_>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.hooks.push(Hook { event: event.into(), id: id.into(), run: Arc::new(run) });
        self
    }

    /// Sets the value at a path (`a.b.c`); tables on the way are created, and a value that is not a table is replaced.
    pub fn set(&mut self, path: &str, value: Value) {
        let names: Vec<&str> = path.split('.').collect();
        put(&mut self.data, &names, value);
    }

    /// Sets an option of the pack: the value at `option.NAME`. [`PackOptions::faults`](super::PackOptions::faults) says whether the
    /// option can have it; a build warns of a value that it cannot have, and uses the value of the pack instead.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        put(&mut self.data, &[super::options::TABLE, name], value.into());
        self
    }

    /// The value at a path (`a.b.c`); [`Value::Null`] if there is none.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        self.data.at(path).cloned().unwrap_or_default()
    }

    /// Merges data over this scene's data, field by field and level by level.
    pub fn merge(&mut self, over: Value) {
        let below = std::mem::take(&mut self.data);
        self.data = over.over(below);
    }
}

/// Whether two trees give one value, each its own.
fn clash(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Map(one), Value::Map(other)) => one.iter().any(|(key, value)| other.get(key).is_some_and(|other| clash(value, other))),
        (one, other) => !one.is_null() && !other.is_null(),
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
