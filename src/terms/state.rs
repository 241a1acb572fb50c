//! What one build holds while it runs: the scene, the values that passes have set, the lists, the accounts, the
//! draws.
//!
//! `$path` is resolved here: in the values set by this build, then the scene, then a list of that name, then the
//! pack's values. If several of them are tables, they are merged leaf by leaf.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;

use crate::diag::Code;
use crate::model::item::TableCache;
use crate::model::scene::HostFn;
use crate::model::{Item, Value};
use crate::text::script::ScriptArgument;
use crate::text::tokens::PlaceCounts;

use super::coverage::CoverageSink;
use super::draws::Draws;
use super::ledger::TokenBudgets;
use super::lists::{BuildList, BuildLists};
use super::patterns::PatternRecord;
use super::trees::{decides, hide, is_place, put, walk};
use super::usage::BuildUsage;
use super::warnings::BuildWarnings;
use super::{CompiledRules, RenderFunction};

pub use super::trace::{BuildTrace, ItemReason, PassReason, PassReasons, RunStat, TraceEvent};

/// What a build begins with; most programs set nothing.
static NOTHING: LazyLock<Value> = LazyLock::new(|| Value::Map(Arc::default()));

/// What passes remember for their next run, by pass.
pub type PassMemories = FxHashMap<Arc<str>, Box<dyn Any + Send>>;

/// What later parts of a build need not compute again.
#[derive(Default)]
pub struct BuildCaches {
    /// What passes remember of this build.
    pub passes: RefCell<PassMemories>,
    /// What passes that have not run yet remember of the last build of a session.
    pub last_build: RefCell<PassMemories>,
    /// Counts of the texts of this build.
    pub(super) counts: PlaceCounts,
    /// The scene as scripts are given it.
    scripted: RefCell<Option<SceneView>>,
    /// How the last items became tables.
    pub(super) tables: RefCell<TableCache>,
    /// How many times a value was set.
    writes: Cell<u64>,
}

/// The scene as scripts see it, with what it was made of.
#[derive(Debug, Clone)]
struct SceneView {
    set: Value,
    scene: Value,
    whole: Value,
}

fn is_same_table(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Map(a), Value::Map(b)) if Arc::ptr_eq(a, b))
}

impl BuildCaches {
    /// Takes what a pass remembers of its last run. `begin_build` readies what it remembers of another build.
    #[must_use]
    pub fn take_memory<T: Any + Default>(&self, pass: &Arc<str>, begin_build: impl FnOnce(&mut T)) -> Box<T> {
        let known = self.passes.borrow_mut().remove(pass);
        if let Some(memory) = known.and_then(|memory| memory.downcast().ok()) {
            return memory;
        }
        let known = self.last_build.borrow_mut().remove(pass);
        let mut memory = known.and_then(|memory| memory.downcast().ok()).unwrap_or_default();
        begin_build(&mut memory);
        memory
    }

    /// Keeps what a pass remembers for its next run.
    pub fn keep_memory<T: Any + Send>(&self, pass: &Arc<str>, memory: T) {
        self.passes.borrow_mut().insert(pass.clone(), Box::new(memory));
    }
}

/// The state of one build.
pub struct BuildState {
    /// The compiled rules.
    pub rules: Arc<CompiledRules>,
    /// The scene's data.
    pub scene: Value,
    /// Values that passes and macros have set.
    pub set: RefCell<Value>,
    pub(super) lists: BuildLists,
    /// Random draws.
    pub draws: RefCell<Draws>,
    /// Accounts and counters.
    pub ledger: RefCell<TokenBudgets>,
    /// Warnings so far.
    pub warnings: BuildWarnings,
    /// The pass that is running.
    pub pass: RefCell<Arc<str>>,
    /// The running stage: the pass of the outermost program.
    pub stage: RefCell<Arc<str>>,
    /// Functions of the embedding program.
    pub host: FxHashMap<String, HostFn>,
    /// What the build records to explain itself, where the scene asks for a trace.
    pub trace: Option<Box<BuildTrace>>,
    /// Media parts that are represented by marks in a text (`shape` steps `inline` and `outline`).
    pub marks: RefCell<Vec<(Arc<str>, Value)>>,
    /// Items that lost their place: the id, and the pass that would have placed them.
    pub lost: RefCell<Vec<(String, String)>>,
    /// What the build has used up.
    pub(crate) usage: BuildUsage,
    /// What later parts of the build need not compute again.
    pub caches: BuildCaches,
    /// Patterns that come from data.
    pub(super) patterns: RefCell<PatternRecord>,
    /// What of the rules was exercised, where this is recorded.
    pub coverage: Option<Arc<CoverageSink>>,
    pub(super) renderer: Option<RenderFunction>,
}

impl BuildState {
    /// A new state over a scene.
    #[must_use]
    pub fn new(rules: Arc<CompiledRules>, scene: Value, draws: Draws) -> Self {
        let lists = BuildLists::of(rules.lists.len());
        let ledger = RefCell::new(TokenBudgets::new(&rules));
        Self {
            rules,
            scene,
            set: RefCell::new(NOTHING.clone()),
            lists,
            draws: RefCell::new(draws),
            ledger,
            warnings: BuildWarnings::default(),
            pass: RefCell::new(Arc::default()),
            stage: RefCell::new(Arc::default()),
            host: FxHashMap::default(),
            trace: None,
            marks: RefCell::default(),
            lost: RefCell::default(),
            usage: BuildUsage::default(),
            caches: BuildCaches::default(),
            patterns: RefCell::default(),
            coverage: None,
            renderer: None,
        }
    }

    /// Sets the renderer for the text languages.
    pub fn set_renderer(&mut self, renderer: RenderFunction) {
        self.renderer = Some(renderer);
    }

    /// The value along `names`: from the set values, the scene, a list, or the pack's values. `list`: a list whose
    /// name is a prefix of `names`.
    #[must_use]
    pub fn lookup(&self, names: &[Arc<str>], list: Option<(usize, usize)>) -> Value {
        let mut found = walk(&self.set.borrow(), names);
        // `chat.length` is a path of the scene although there is a list `chat`
        let list = list.filter(|(_, used)| names.get(*used).is_none_or(|name| is_place(name)));
        if let (Some((id, used)), false) = (list, decides(&found)) {
            let from_scene = self.rules.lists.get(id).is_some_and(|l| l.from.is_some());
            let held = self.lists.get(id).is_some_and(|l| l.try_borrow().is_ok_and(|l| l.loaded));
            if from_scene && held {
                return self.list_value(id, names.get(used..).unwrap_or(&[]));
            }
        }
        if !decides(&found) {
            found = found.over(walk(&self.scene, names));
        }
        if let (Some((id, used)), true) = (list, found.is_null()) {
            found = self.list_value(id, names.get(used..).unwrap_or(&[]));
        }
        if !decides(&found) {
            found = found.over(walk(&self.rules.values, names));
        }
        found
    }

    /// An item as a table.
    #[must_use]
    pub fn table(&self, item: &Item) -> Value {
        self.caches.tables.borrow_mut().of(item, &self.rules.fields)
    }

    /// Records that an item lost its place and was dropped.
    pub fn lose(&self, item: &Item) {
        let id = item.get(crate::model::item::core::ID).map(|v| v.to_text().to_string()).unwrap_or_default();
        self.lost.borrow_mut().push((id, self.pass.borrow().to_string()));
    }

    /// How many times a value was set: while this number is unchanged, a path of the scene that leads into no list
    /// has the same value.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.caches.writes.get()
    }

    /// Sets a value along `names`; setting null removes it.
    ///
    /// A value that nests too deeply or is too large when it is written out is refused with a warning, and nothing is set.
    pub fn put(&self, names: &[Arc<str>], value: Value) {
        if let Err(why) = super::usage::check_kept(&value, self.rules.limits.text_bytes, &self.scene) {
            self.warn(Code::BoundExceeded, format!("`${}` would {why}; it is not set", names.join(".")));
        } else {
            put(&mut self.set.borrow_mut(), names, value);
            self.written(names);
        }
    }

    /// Marks a value as missing, also where the scene or the rules have one.
    pub fn hide(&self, names: &[Arc<str>]) {
        hide(&mut self.set.borrow_mut(), names);
        self.written(names);
    }

    /// Everything that `$` reaches except lists: the set values over the scene over the pack's values.
    #[must_use]
    pub fn whole(&self) -> Value {
        self.set.borrow().clone().over(self.scene.clone()).over(self.rules.values.clone())
    }

    /// [`BuildState::whole`] as scripts are given it; it is made again only when something was set.
    #[must_use]
    pub fn scene_argument(&self) -> ScriptArgument {
        let mut seen = self.caches.scripted.borrow_mut();
        let set = self.set.borrow();
        // what is held here is never changed in place, because this is one more reference to it
        if let Some(seen) = seen.as_ref().filter(|seen| is_same_table(&seen.set, &set) && is_same_table(&seen.scene, &self.scene)) {
            return ScriptArgument::Scene(seen.whole.clone());
        }
        let whole = set.clone().over(self.scene.clone()).over(self.rules.values.clone());
        *seen = Some(SceneView { set: set.clone(), scene: self.scene.clone(), whole: whole.clone() });
        ScriptArgument::Scene(whole)
    }

    /// Changes an input of the scene; lists that were filled from it are read again.
    pub fn change(&mut self, path: &str, value: Value) {
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        if !walk(&self.set.borrow(), &names).is_null() {
            self.put(&names, value.clone());
        }
        put(&mut self.scene, &names, value);
        let touched = |from: &str| from == path || from.starts_with(&format!("{path}.")) || path.starts_with(&format!("{from}."));
        for (n, list) in self.lists.used_mut() {
            if self.rules.lists.get(n).and_then(|l| l.from.as_deref()).is_some_and(touched) {
                *list = BuildList::empty(list.id);
            }
        }
    }

    fn written(&self, names: &[Arc<str>]) {
        self.caches.writes.set(self.caches.writes.get() + 1);
        if let Some(seen) = &self.coverage {
            seen.set(names, &self.pass.borrow());
        }
    }
}
