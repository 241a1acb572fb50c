//! What one build holds while it runs: the scene, the values that passes have set, the lists, the accounts, the
//! draws.
//!
//! `$path` is resolved here: in the values set by this build, then the scene, then a list of that name, then the
//! pack's values. If several of them are tables, they are merged leaf by leaf.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use crate::diag::{Code, Diagnostic, DiagnosticCode, Help, short};
use crate::model::item::TableCache;
use crate::model::plan::{BuildStep, Expansion, RecordedValue, TextRewrite};
use crate::model::scene::HostFn;
use crate::model::{Item, Map, Value};
use crate::text::shortcuts;
use crate::text::tokens::PlaceCounts;

use super::draws::Draws;
use super::eval::EvalFault;
use super::ledger::TokenBudgets;
use super::lists::{BuildList, BuildLists, LoadStep, UnreadShape, UnreadStretch};
use super::memo::PassMemo;
use super::patterns::PatternRecord;
use super::{CompiledRules, RenderFunction, RenderRequest, trees};

/// Sources with at least this many elements are read lazily; for shorter ones the bookkeeping costs more than it
/// saves.
const LAZY_FROM: usize = 48;

pub use super::trail::{ItemReason, PassReason, RunStat, TrailEvent};
pub use super::trees::put;
pub(super) use super::trees::walk;
use super::trees::{decides, is_place};

/// By list and undeclared field, the declared field that it is with a slip.
type FieldSuggestions = rustc_hash::FxHashMap<(usize, Arc<str>), Option<Arc<str>>>;

/// What a build begins with; most programs set nothing.
static NOTHING: LazyLock<Value> = LazyLock::new(|| Value::Map(Arc::default()));

/// Whether a warning is accepted.
pub type WarningFilter = Rc<dyn Fn(&Diagnostic) -> bool>;

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
    pub warnings: RefCell<Vec<Diagnostic>>,
    /// The list of the running program, which `$account.x.left` refers to.
    pub current: Cell<usize>,
    /// The pass that is running.
    pub pass: RefCell<Arc<str>>,
    /// A filter that fails keeps its item.
    pub sparing: Cell<bool>,
    /// Warnings are treated as errors.
    pub strict: bool,
    /// Whether a rule file accepts a warning, so that it is no error either.
    pub accepts: Option<WarningFilter>,
    /// The running stage: the pass of the outermost program.
    pub stage: RefCell<Arc<str>>,
    /// Stages and hooks, in order, when tracing.
    pub steps: RefCell<Vec<BuildStep>>,
    /// Values that were recorded for the trace.
    pub notes: RefCell<Vec<RecordedValue>>,
    /// Functions of the embedding program.
    pub host: rustc_hash::FxHashMap<String, HostFn>,
    /// The trail, when tracing.
    pub trail: Option<RefCell<Vec<TrailEvent>>>,
    /// Pass numbers, when tracing.
    pub stats: RefCell<Vec<RunStat>>,
    /// Passes that caused a whole list to be read, and the number of elements, when tracing.
    pub read_whole: RefCell<Vec<(Arc<str>, usize)>>,
    /// Macros that were evaluated, when tracing.
    pub macros: RefCell<Vec<Expansion>>,
    /// Media parts that are represented by marks in a text (`shape` steps `inline` and `outline`).
    pub marks: RefCell<Vec<(Arc<str>, Value)>>,
    /// Items that lost their place: the id, and the pass that would have placed them.
    pub lost: RefCell<Vec<(String, String)>>,
    /// The `because` of the running pass.
    pub because: RefCell<Option<Arc<PassReason>>>,
    pub(super) facts: super::trail::ReasonFacts,
    /// The next selection belongs to a pass that gives reasons.
    pub telling: Cell<bool>,
    /// The reasons for what happened to items, when tracing.
    pub reasons: RefCell<Vec<ItemReason>>,
    /// Texts that scripts changed, in order, when tracing.
    pub rewrites: RefCell<Vec<TextRewrite>>,
    /// Data that passes keep for their next run in this build, by pass.
    pub kept: RefCell<rustc_hash::FxHashMap<Arc<str>, Box<dyn std::any::Any>>>,
    /// Counts of the texts of this build.
    pub(super) counts: PlaceCounts,
    /// Patterns that come from data.
    pub(super) patterns: RefCell<PatternRecord>,
    /// How many times a value was set.
    writes: Cell<u64>,
    pub(super) visits: Cell<u64>,
    /// The maximum number of visits; computed from the scene when the pack's own bound is reached.
    pub(super) most_visits: Cell<Option<u64>>,
    pub(crate) nesting: super::nesting::Nesting,
    pub(super) next_seq: Cell<u32>,
    pub(super) scripted: RefCell<Option<super::scripted::SceneView>>,
    /// How the last items became tables.
    tables: RefCell<TableCache>,
    /// Who gave a value of another type than is declared, and for what.
    pub(super) misfits: RefCell<rustc_hash::FxHashSet<(Arc<str>, Arc<str>)>>,
    /// The fields of items that were compared with all declared ones.
    pub(crate) compared: RefCell<FieldSuggestions>,
    /// What of the rules was exercised, where this is recorded.
    pub seen: Option<Rc<super::seen::CoverageSink>>,
    renderer: Option<RenderFunction>,
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
            warnings: RefCell::default(),
            current: Cell::new(0),
            pass: RefCell::new(Arc::default()),
            sparing: Cell::new(false),
            strict: false,
            accepts: None,
            stage: RefCell::new(Arc::default()),
            steps: RefCell::default(),
            notes: RefCell::default(),
            host: rustc_hash::FxHashMap::default(),
            trail: None,
            stats: RefCell::default(),
            read_whole: RefCell::default(),
            macros: RefCell::default(),
            marks: RefCell::default(),
            lost: RefCell::default(),
            because: RefCell::default(),
            facts: super::trail::ReasonFacts::default(),
            telling: Cell::new(false),
            reasons: RefCell::default(),
            rewrites: RefCell::default(),
            kept: RefCell::default(),
            counts: PlaceCounts::default(),
            patterns: RefCell::default(),
            writes: Cell::new(0),
            visits: Cell::new(0),
            most_visits: Cell::new(None),
            nesting: super::nesting::Nesting::default(),
            next_seq: Cell::new(0),
            scripted: RefCell::default(),
            tables: RefCell::default(),
            misfits: RefCell::default(),
            compared: RefCell::default(),
            seen: super::seen::sink(),
            renderer: None,
        }
    }

    /// Sets the renderer for the text languages.
    pub fn set_renderer(&mut self, renderer: RenderFunction) {
        self.renderer = Some(renderer);
    }

    /// Raises a warning of the running pass.
    pub fn warn(&self, code: Code, message: impl Into<String>) {
        self.warn_with(code, message, None, None);
    }

    /// Raises a warning with a code of the registry or of the pack, with a remedy and the row (`table/name`) that
    /// caused it. The position in the pack's files is added when the build returns its warnings.
    pub fn warn_with(&self, code: impl Into<DiagnosticCode>, message: impl Into<String>, help: Option<Help>, row: Option<String>) {
        let warning = self.warning(code, message, help, row);
        self.warnings.borrow_mut().push(warning);
    }

    /// Raises warnings that were found in the data of the build.
    pub fn warn_of(&self, found: Vec<Diagnostic>) {
        for Diagnostic { code, message, help, suggestion, row, .. } in found {
            let warning = self.warning(code, message, help.map(Help::from), row);
            self.warnings.borrow_mut().push(Diagnostic { suggestion, ..warning });
        }
    }

    /// A warning of the running pass.
    pub(super) fn warning(
        &self,
        code: impl Into<DiagnosticCode>,
        message: impl Into<String>,
        help: Option<Help>,
        row: Option<String>,
    ) -> Diagnostic {
        let mut warning = Diagnostic::warning(code, message);
        if let Some(help) = help {
            warning = warning.help(help);
        }
        warning.pass = self.pass.borrow().to_string();
        warning.row = row.map(short::cut);
        warning
    }

    /// Renders a text, a template or the result of a script.
    pub fn render(&self, what: RenderRequest, args: &Map) -> Result<Value, EvalFault> {
        match &self.renderer {
            Some(renderer) => renderer(what, args, self),
            None => Ok(args.get("of").cloned().unwrap_or_default()),
        }
    }

    /// A list for reading.
    pub fn list(&self, id: usize) -> Ref<'_, BuildList> {
        self.load(id);
        // the compiler assigns the ids and creates as many lists, so the fallback to the first list is never used
        let list = self.lists.get(id).unwrap_or_else(|| self.lists.first());
        // nothing is read while somebody looks at the list, so then there is nothing to do
        if let Ok(mut list) = list.try_borrow_mut() {
            list.settle();
        }
        list.borrow()
    }

    /// A list for changing.
    pub fn list_mut(&mut self, id: usize) -> &mut BuildList {
        self.load(id);
        let list = self.lists.get_mut(id);
        list.settle();
        list
    }

    /// Fills a list from its scene path, once.
    pub(super) fn load(&self, id: usize) {
        let Some(info) = self.rules.lists.get(id) else { return };
        let Some(path) = &info.from else { return };
        let Some(cell) = self.lists.get(id) else { return };
        if cell.try_borrow().is_ok_and(|l| l.loaded) {
            return;
        }
        let Ok(mut list) = cell.try_borrow_mut() else { return };
        list.loaded = true;
        if !list.items.is_empty() {
            return;
        }
        let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
        let source = match self.lookup(&names, None) {
            Value::List(source) => source,
            item @ Value::Map(_) => Arc::new(vec![item]),
            _ => return,
        };
        let steps: Vec<(Rc<dyn super::lists::LocalChange>, Rc<PassMemo>)> = vec![(Rc::new(LoadStep), Rc::default())];
        let shape = UnreadShape { open: true, ..UnreadShape::default() };
        let remaining = source.len();
        let (effects, first_off) = Default::default();
        list.lazy = Some(Box::new(UnreadStretch { at: 0, source, remaining, steps, shape, effects, first_off }));
        drop(list);
        if remaining < LAZY_FROM || !shortcuts::are_on() {
            // unchanged elements cannot fail to load
            let _ = self.force(id);
        }
    }

    /// Whether `source` is long enough to be read lazily.
    #[must_use]
    pub fn worth_reading_lazily(source: &[Value]) -> bool {
        source.len() >= LAZY_FROM && shortcuts::are_on()
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

    fn list_value(&self, id: usize, rest: &[Arc<str>]) -> Value {
        // while the steps of a list read it, the list returns the items that it has so far
        let _ = self.force(id);
        let list = self.list(id);
        match rest.split_first() {
            None => Value::list(list.items.iter().filter(|i| i.enabled()).map(|i| self.table(i)).collect()),
            Some((place, rest)) => {
                let live: Vec<&Item> = list.items.iter().filter(|i| i.enabled()).collect();
                let item = match place.as_ref() {
                    "last" => live.last(),
                    "count" => return Value::Int(i64::try_from(live.len()).unwrap_or(i64::MAX)),
                    n => n.parse::<usize>().ok().and_then(|n| live.get(n)),
                };
                item.map(|i| walk(&self.table(i), rest)).unwrap_or_default()
            }
        }
    }

    /// The newest live items of a list with an unread stretch, oldest first; only as many as needed are read. `None`
    /// for any other list, and for a list whose name `$` resolves to a value that a pass has set.
    pub fn newest(&self, id: usize, wanted: usize) -> Result<Option<Vec<Value>>, EvalFault> {
        let Some(info) = self.rules.lists.get(id) else { return Ok(None) };
        let names: Vec<Arc<str>> = info.name.split('.').map(Arc::from).collect();
        let held = self.lists.get(id).is_some_and(|l| l.try_borrow().is_ok_and(|l| l.loaded));
        if !held || !walk(&self.set.borrow(), &names).is_null() {
            return Ok(None);
        }
        let Some(at) = self.list(id).lazy_at() else { return Ok(None) };
        let mut count = self.list(id).items.iter().skip(at).filter(|i| i.enabled()).count();
        while count < wanted {
            // counted where it is: putting each message into its place would move all that were read before it
            if self.read_one(id)? && self.peek(id, |list| list.fresh.last().is_some_and(Item::enabled)).unwrap_or(false) {
                count += 1;
            }
            if !self.has_unread(id) {
                return Ok(None);
            }
        }
        let list = self.list(id);
        let Some(at) = list.lazy_at() else { return Ok(None) };
        let newest = list.items.iter().skip(at).filter(|i| i.enabled());
        Ok(Some(newest.map(|i| self.table(i)).collect()))
    }

    /// A copy of a list's items, to be restored later.
    #[must_use]
    pub fn snapshot(&self, id: usize) -> Vec<Item> {
        // any use of the copied list would read it anyway
        let _ = self.force(id);
        self.list(id).items.clone()
    }

    /// An item as a table.
    #[must_use]
    pub fn table(&self, item: &Item) -> Value {
        self.tables.borrow_mut().of(item, &self.rules.fields)
    }

    /// A list's items as tables. An item remembers its table until it changes.
    #[must_use]
    pub fn values(&mut self, id: usize) -> Vec<Value> {
        let _ = self.force(id);
        let rules = self.rules.clone();
        let mut tables = self.tables.take();
        let items = &mut self.list_mut(id).items;
        let values = items.iter_mut().map(|item| tables.kept(item, &rules.fields)).collect();
        self.tables.replace(tables);
        values
    }

    /// Takes a list's items, which are to be replaced.
    #[must_use]
    pub fn take(&mut self, id: usize) -> Vec<Item> {
        let _ = self.force(id);
        std::mem::take(&mut self.list_mut(id).items)
    }

    /// Replaces a list's items.
    pub fn restore(&mut self, id: usize, items: Vec<Item>) {
        let list = self.list_mut(id);
        list.items.clear();
        list.append(items);
        list.lazy = None;
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
        self.writes.get()
    }

    /// Sets a value along `names`; setting null removes it.
    ///
    /// A value that nests too deeply or is too large when it is written out is refused with a warning, and nothing is set.
    pub fn put(&self, names: &[Arc<str>], value: Value) {
        if let Err(why) = super::sizes::kept(&value, self.rules.limits.text_bytes, &self.scene) {
            self.warn(Code::BoundExceeded, format!("`${}` would {why}; it is not set", names.join(".")));
        } else {
            put(&mut self.set.borrow_mut(), names, value);
            self.written(names);
        }
    }

    /// Marks a value as missing, also where the scene or the rules have one.
    pub fn hide(&self, names: &[Arc<str>]) {
        trees::hide(&mut self.set.borrow_mut(), names);
        self.written(names);
    }

    fn written(&self, names: &[Arc<str>]) {
        self.writes.set(self.writes.get() + 1);
        if let Some(seen) = &self.seen {
            seen.set(names, &self.pass.borrow());
        }
    }
}
