//! Everything of a pack that is compiled below the level of programs: tables, values, accounts, forms, facts.
//!
//! Immutable and shared by all builds of a ruleset. Only the caches change: they keep results that every build would
//! compute again.

use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use crate::diag::{Span, limits};
use crate::model::{FieldNames, Map, Value, WorkLimits};
use crate::text::script::ScriptLimits;
use crate::text::tokens::{Estimator, TokenCounter};

use super::Cond;
use super::eval::{Env, EvalFault};
use super::expr::Expr;
use super::ledger::{CostModel, TokenBudget};
use super::names::PackNames;

/// Compiled tables and values.
#[derive(Debug, Default)]
pub struct CompiledRules {
    /// Field numbers.
    pub fields: FieldNames,
    /// The lists a build has.
    pub lists: Vec<ListInfo>,
    /// Tables of rows, as values, for `$table.NAME`.
    pub tables: IndexMap<Arc<str>, TableRows>,
    /// The pack's values.
    pub values: Value,
    /// Compiled cells.
    pub exprs: Vec<Expr>,
    /// Compiled condition cells.
    pub conds: Vec<Cond>,
    /// The numbers of conditions that stand in templates, by their place.
    pub conditions: FxHashMap<Span, u32>,
    /// `[[account]]`.
    pub accounts: Vec<TokenBudget>,
    /// `[[ruler]]`.
    pub rulers: Vec<CostModel>,
    /// `[[form]]`.
    pub forms: Vec<JsonForm>,
    /// Names of macros that write or draw (rows of table `macro` with `effects = true`), as names are compared.
    pub effect_macros: rustc_hash::FxHashSet<Arc<str>>,
    /// How macros are written.
    pub macro_syntax: crate::text::macro_syntax::MacroSyntax,
    /// The value of a field for items of a list that do not set it.
    pub defaults: FxHashMap<(u16, crate::model::FieldId), Value>,
    /// The pack's scripts.
    pub scripts: Arc<super::ScriptLibrary>,
    /// Bounds on one build.
    pub limits: BuildLimits,
    /// Token counters by estimator.
    pub counters: TokenCounters,
    /// Compiled lore keys by content.
    pub key_sets: crate::text::keys::KeySets,
    /// Compiled patterns that stand in rows of tables, for all builds.
    pub row_patterns: super::patterns::RowPatterns,
    /// Whether each long source contains macros with effects.
    pub classified: TextClasses,
    /// The names that the pack declares, for conditions that come from a scene.
    pub names: Arc<PackNames>,
}

/// A list of a build.
#[derive(Debug, Clone)]
pub struct ListInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The row types that its items may have.
    pub rows: Vec<Arc<str>>,
    /// The scene path from which it is filled when it is first used.
    pub from: Option<Arc<str>>,
    /// Its description.
    pub doc: Arc<str>,
}

/// The rows of one table.
#[derive(Debug, Default)]
pub struct TableRows {
    /// All rows, in order.
    pub all: Value,
    /// By name.
    pub by_name: FxHashMap<Arc<str>, Value>,
}

/// A JSON shape: `[[form]]`.
#[derive(Debug)]
pub struct JsonForm {
    /// Its name.
    pub name: Arc<str>,
    /// The keys, in order.
    pub keys: Vec<(Arc<str>, Expr)>,
    /// Keys that stay even when empty.
    pub keep: Vec<Arc<str>>,
    /// Keys that stay if their value is empty, but not if it is missing.
    pub present: Vec<Arc<str>>,
    /// Keys that stay if the data sets them, even to null.
    pub given: Vec<Arc<str>>,
}

/// Bounds on one build, from `[limits]` of the manifests.
#[derive(Debug, Clone, Copy)]
pub struct BuildLimits {
    /// Items visited by all passes together.
    pub pass_visits: u64,
    /// Rounds of one repeat.
    pub rounds: u32,
    /// Programs inside programs.
    pub depth: u32,
    /// Bytes of one text.
    pub text_bytes: usize,
    /// Bounds on one call of a script.
    pub scripts: ScriptLimits,
    /// Bounds on all work of one build, which a pack can only lower.
    pub work: WorkLimits,
}

impl Default for BuildLimits {
    fn default() -> Self {
        Self {
            pass_visits: 2_000_000,
            rounds: 64,
            depth: 32,
            text_bytes: 32_000_000,
            scripts: ScriptLimits::default(),
            work: WorkLimits { steps: u64::MAX, bytes: u64::MAX },
        }
    }
}

/// Results about the texts of long sources, kept as long as the source is in use: a chat that is built from
/// repeatedly is examined once.
#[derive(Debug, Default)]
pub struct TextClasses {
    known: Mutex<Vec<(std::sync::Weak<Vec<Value>>, bool)>>,
}

impl TextClasses {
    /// Whether a source's texts have effects; `look` computes it the first time.
    pub fn get(&self, source: &Arc<Vec<Value>>, look: impl FnOnce() -> bool) -> bool {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.retain(|(held, _)| held.strong_count() > 0);
        // a source in this cache cannot be changed in place, because the cache holds one more reference to it
        if let Some((_, found)) = known.iter().find(|(held, _)| std::ptr::eq(held.as_ptr(), Arc::as_ptr(source))) {
            return *found;
        }
        let found = look();
        if known.len() >= limits::CACHE_ENTRIES {
            known.remove(0);
        }
        known.push((Arc::downgrade(source), found));
        found
    }
}

/// Token counters, created when they are first needed.
#[derive(Debug, Default)]
pub struct TokenCounters {
    made: Mutex<FxHashMap<String, Arc<TokenCounter>>>,
}

impl TokenCounters {
    /// The counter of an estimator: `cl100k`, `o200k`, `words`, `chars/4` …
    pub fn get(&self, name: &str) -> Result<Arc<TokenCounter>, String> {
        // a poisoned lock only means that another build panicked while counting; the map is complete
        let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(counter) = made.get(name) {
            return Ok(counter.clone());
        }
        let counter = Arc::new(TokenCounter::new(Estimator::parse(name)?));
        made.insert(name.to_owned(), counter.clone());
        Ok(counter)
    }
}

impl CompiledRules {
    /// The rows of a table; an empty list for a table without rows.
    #[must_use]
    pub fn table(&self, name: &str) -> Value {
        self.tables.get(name).map_or_else(|| Value::list(Vec::new()), |t| t.all.clone())
    }

    /// One row of a table by name.
    #[must_use]
    pub fn row(&self, table: &str, name: &str) -> Option<Value> {
        self.tables.get(table)?.by_name.get(name).cloned()
    }

    /// A compiled cell.
    #[must_use]
    pub fn expr(&self, n: u32) -> &Expr {
        static NOTHING: Expr = Expr::Const(Value::Null);
        self.exprs.get(n as usize).unwrap_or(&NOTHING)
    }

    /// A compiled condition cell.
    #[must_use]
    pub fn cond(&self, n: u32) -> &Cond {
        static ALWAYS: Cond = Cond::Const(true);
        self.conds.get(n as usize).unwrap_or(&ALWAYS)
    }

    /// Whether a field of an item of a list is not true by default.
    #[must_use]
    pub fn is_off_by_default(&self, list: u16, field: crate::model::FieldId) -> bool {
        field != crate::model::item::core::ENABLED && self.defaults.get(&(list, field)).is_none_or(|value| !value.truthy())
    }

    /// The number of a list.
    #[must_use]
    pub fn list_id(&self, name: &str) -> Option<usize> {
        self.lists.iter().position(|l| l.name.as_ref() == name)
    }

    /// The path of the scene from which a list is filled.
    #[must_use]
    pub fn source_of<'n>(&'n self, list: &'n str) -> &'n str {
        self.lists.iter().find(|known| *known.name == *list).and_then(|known| known.from.as_deref()).unwrap_or(list)
    }

    /// The current item in a form: keys with an empty value are omitted unless they must stay. A form may hold other forms,
    /// and itself where the data nests.
    pub fn form(&self, n: usize, env: &Env<'_>) -> Result<Value, EvalFault> {
        let Some(form) = self.forms.get(n) else { return Ok(Value::Null) };
        if !env.st.usage.enter_level() {
            return Err(EvalFault::bound(format!("form `{}` holds forms too deeply", form.name)));
        }
        let made = form.of_item(env);
        env.st.usage.leave_level();
        made
    }
}

impl JsonForm {
    fn of_item(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let mut out = Map::default();
        for (key, value) in &self.keys {
            let (value, given) = if self.given.contains(key) {
                let said = env.present(value)?;
                let given = said.is_some();
                (said.unwrap_or_default(), given)
            } else {
                (env.eval(value)?, false)
            };
            if given || !value.is_empty() || self.keep.contains(key) || !value.is_null() && self.present.contains(key) {
                out.insert(key.clone(), value);
            }
        }
        Ok(Value::map(out))
    }
}
