//! The macro table over one text of one build.
//!
//! Names given for this text alone come first, then macros of the application, then the rows of the pack.

use std::cell::{OnceCell, Ref, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::call;
use super::call::{ArgumentKind, FunctionCall, MacroContext, MacroRow, ResultKind};
use super::engine::WriteMode;
use super::passes::{MacroPass, MacroPasses, escaped};
use super::table::MacroTable;
use crate::diag::{limits, short};
use crate::macros::syntax::passes::{PassHit, PassText};
use crate::macros::syntax::{
    ExpandedText, KnownMacro, MacroCall, MacroGrammar, MacroHost, MacroResult, MacroSyntax, ParsedText, TextOffset,
};
use crate::model::plan::Expansion;
use crate::model::{Map, RuleRef, Value};
use crate::terms::select::pass_env;
use crate::terms::trace::BuildTrace;
use crate::terms::{BuildState, PassContext, PassMemo};
use crate::text::functions::Function;
use crate::text::script::ScriptArgument;
use crate::text::written::ToText as _;
use crate::text::{TextLimits, js, pattern, random};

/// The macro table over one text.
pub struct Macros<'a> {
    pub(super) st: &'a BuildState,
    /// The pass that has the text expanded.
    pub(super) pass: PassContext,
    pub(super) table: &'a MacroTable,
    pub(super) with: &'a Value,
    pub(super) given: Arc<str>,
    /// There are macros of the application.
    pub(super) own: bool,
    /// Rows of the table are all that a macro of this text may mean: tables and lists beside it are none.
    rows_only: bool,
    /// What every value goes through.
    through: Option<&'static Function>,
    /// The flavour of the macros, if the caller says it.
    pub(super) flavour: Option<&'a str>,
    /// What rows with `once` have given.
    known: RefCell<FxHashMap<u32, Arc<str>>>,
    /// What rows gave that do nothing but read one place.
    texts: RefCell<RowTexts>,
    /// How often rows with `uses` have been called.
    used: RefCell<FxHashMap<u32, u32>>,
    /// The hash of the text, once it has been computed.
    hash: OnceCell<u64>,
    /// What macros that write do, if the caller says it.
    pub(super) mode: Option<WriteMode>,
    /// The value of the whole text, once a macro has given it.
    ended: RefCell<Option<Arc<str>>>,
}

/// Texts of rows, by their numbers, that count until something is set.
#[derive(Default)]
struct RowTexts {
    /// [`BuildState::writes`] when the first of them was read.
    at: u64,
    /// Nothing inside for a row that does more than read places.
    rows: Vec<Option<Option<Arc<str>>>>,
}

impl<'a> Macros<'a> {
    /// A host over a state for the text `given` of a pass; `with` holds names for this text alone, which win over the table.
    #[must_use]
    pub fn new(st: &'a BuildState, pass: PassContext, table: &'a MacroTable, with: &'a Value, given: &Arc<str>) -> Self {
        let own = st.scene.get("macros").is_some() || st.set.borrow().get("macros").is_some();
        let own = own || st.rules.values.get("macros").is_some();
        let is_none = |value: &Value| matches!(value, Value::Null | Value::Map(_) | Value::List(_));
        let rows_only = !own && with.as_map().is_none_or(|with| with.values().all(is_none));
        let (known, texts, used, hash, ended) = Default::default();
        let (given, through, flavour, mode) = (given.clone(), None, None, None);
        Self { st, pass, table, with, given, own, rows_only, through, flavour, known, texts, used, hash, mode, ended }
    }

    /// Sets the function of the library that is applied to every value before it is inserted.
    #[must_use]
    pub fn through(self, function: Option<&'static Function>) -> Self {
        Self { through: function, ..self }
    }

    /// Sets the flavour; without one, the scene says it.
    #[must_use]
    pub fn in_flavour(self, flavour: Option<&'a str>) -> Self {
        Self { flavour, ..self }
    }

    /// Sets what macros that write do; without it, the scene says it.
    #[must_use]
    pub fn in_mode(self, mode: Option<WriteMode>) -> Self {
        Self { mode, ..self }
    }

    /// Whether there are no macros besides the rows of the pack, and no trace tells of unknown ones.
    pub(super) fn knows_rows_only(&self) -> bool {
        self.rows_only && self.st.trace.is_none()
    }

    /// Whether a macro has given the value of the whole text.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// What macros that write do in this text.
    fn mode(&self) -> WriteMode {
        let of_scene = || self.st.lookup(&self.table.engine.mode_path, None).as_str().and_then(WriteMode::named);
        self.mode.or_else(of_scene).unwrap_or(self.table.engine.mode)
    }

    /// A name that is given for this text alone. Null and tables are not texts, so the row of that name is used
    /// instead.
    fn local(&self, name: &str) -> Option<&Value> {
        let found = self.with.as_map().filter(|m| !m.is_empty()).and_then(|m| local(m, name))?;
        (!matches!(found, Value::Null | Value::Map(_) | Value::List(_))).then_some(found)
    }

    /// A macro of the application (`$macros.NAME`): a text, or a function that is given the arguments.
    pub(super) fn of_host(&self, name: &str, args: &[Arc<str>]) -> Option<MacroResult> {
        if !self.own {
            return None;
        }
        let macros = self.st.lookup(&["macros".into()], None);
        let found = local(macros.as_map()?, name)?;
        let Some(function) = found.get("host").map(Value::shown) else { return Some(MacroResult::Text(found.shown())) };
        let Some(run) = self.st.host.get(function.as_ref()) else {
            return Some(MacroResult::Failed(format!("the embedding program offers no function `{function}`")));
        };
        let given = Value::list(args.iter().cloned().map(Value::Text).collect());
        Some(run(&given).map_or_else(MacroResult::Failed, |v| MacroResult::Text(v.shown())))
    }

    /// The value after the function that all values go through.
    fn changed(&self, result: MacroResult) -> MacroResult {
        let (Some(function), MacroResult::Text(text)) = (self.through, &result) else { return result };
        let args: Map = [(Arc::from("of"), Value::Text(text.clone()))].into_iter().collect();
        function.call(&args).map_or_else(|refused| MacroResult::Failed(refused.why().to_owned()), |value| MacroResult::Text(value.shown()))
    }

    /// The text of a cell that only reads places of the scene, if texts or the like stand there: a text names many a row
    /// many times over.
    fn literal(&self, row: &MacroRow, cell: &Value) -> Option<Arc<str>> {
        let Value::Rule(RuleRef::Expr(n)) = cell else { return None };
        let place = row.id as usize;
        let mut texts = self.texts.borrow_mut();
        if texts.at != self.st.writes() {
            *texts = RowTexts { at: self.st.writes(), rows: Vec::new() };
        }
        if let Some(Some(known)) = texts.rows.get(place) {
            return known.clone();
        }
        drop(texts);
        let expr = self.st.rules.expr(*n);
        let plain = expr.reads_scene(&mut |names| !matches!(self.st.lookup(names, None), Value::Rule(_)));
        let found = if plain { self.value(cell).ok().map(|value| value.shown()) } else { None };
        let mut texts = self.texts.borrow_mut();
        if texts.rows.len() <= place {
            texts.rows.resize(place + 1, None);
        }
        if let Some(known) = texts.rows.get_mut(place) {
            *known = Some(found.clone());
        }
        found
    }

    /// The arguments of a call by their names: unevaluated ones as written, a list argument as a list.
    fn arguments(row: &MacroRow, called: &MacroCall<'_>) -> Map {
        let mut given: Map = row
            .args
            .iter()
            .enumerate()
            .map(|(n, arg)| {
                let raw = if row.shape.is_raw(n) { called.branches.get(n) } else { None };
                let value = match (raw, called.args.get(n)) {
                    (Some(branch), Some(_)) => Value::text(branch.text()),
                    (None, Some(_)) if arg.list => {
                        Value::list(called.args.get(n..).unwrap_or_default().iter().map(|text| arg.value(text)).collect())
                    }
                    (None, Some(text)) => arg.value(text),
                    (_, None) if arg.list && arg.default.is_none() => Value::list(Vec::new()),
                    (_, None) => arg.default.clone().unwrap_or_default(),
                };
                (arg.name.clone(), value)
            })
            .collect();
        if let Some(name) = &row.written {
            given.insert(name.clone(), Value::text(called.written));
        }
        given
    }

    /// Calls `then` while `$arg` holds these arguments.
    pub(super) fn with_arguments<T>(&self, given: Map, then: impl FnOnce() -> T) -> T {
        let outside = self.exchange_arguments(Some(given));
        let result = then();
        self.exchange_arguments(outside);
        result
    }

    /// A value of the pack; while it is evaluated, `$arg` holds the arguments.
    fn read(&self, row: &MacroRow, cell: &Value, called: &MacroCall<'_>) -> Result<Value, String> {
        if row.args.is_empty() && row.written.is_none() {
            return self.value(cell);
        }
        self.with_arguments(Self::arguments(row, called), || self.value(cell))
    }

    fn gives(&self, row: &MacroRow, called: &MacroCall<'_>) -> MacroResult {
        match &row.gives {
            ResultKind::Text(text) => MacroResult::Text(text.clone()),
            ResultKind::Read(cell) => {
                let literal = if row.args.is_empty() { self.literal(row, cell) } else { None };
                match literal.map_or_else(|| self.read(row, cell, called).map(|v| v.shown()), Ok) {
                    Ok(text) => MacroResult::Text(text),
                    Err(message) => MacroResult::Failed(message),
                }
            }
            ResultKind::Script(function) => {
                let args = called.args.iter().cloned().map(Value::Text).collect();
                match self
                    .st
                    .rules
                    .scripts
                    .call(function, &[ScriptArgument::Value(Value::list(args)), ScriptArgument::Scene(self.st.scene.clone())])
                {
                    Ok(v) => MacroResult::Text(v.shown()),
                    Err(fault) => MacroResult::Failed(format!("macro `{}`: {}", row.name, fault.message)),
                }
            }
            ResultKind::Function(function) => {
                let call = FunctionCall { st: self.st, row, args: called.args, at: called.at, source: called.source, macros: self, called };
                // the fixed arguments may depend on the given ones
                if row.with.values().any(|cell| matches!(cell, Value::Rule(_))) && !row.args.is_empty() {
                    return self.with_arguments(Self::arguments(row, called), || (function.run)(&call));
                }
                (function.run)(&call)
            }
        }
    }

    /// What a row gives, and what becomes of it.
    fn outcome(&self, row: &MacroRow, called: &MacroCall<'_>) -> MacroResult {
        let mut result = self.gives(row, called);
        if let (Some(expands), MacroResult::Text(text)) = (&row.expands, &result) {
            result = if self.st.usage.open_texts() >= expands.depth {
                self.value(&expands.otherwise).map_or_else(MacroResult::Failed, |value| MacroResult::Text(value.shown()))
            } else {
                let inner = Self::new(self.st, self.pass, self.table, self.with, text).through(self.through);
                MacroResult::Text(inner.in_flavour(self.flavour).in_mode(self.mode).run())
            };
        }
        if let (true, MacroResult::Text(text)) = (row.ends, &result) {
            *self.ended.borrow_mut() = Some(text.clone());
        }
        result
    }
}

impl MacroContext for Macros<'_> {
    fn value(&self, cell: &Value) -> Result<Value, String> {
        let Value::Rule(RuleRef::Expr(n)) = cell else { return Ok(cell.clone()) };
        pass_env(self.st, &PassMemo::of(self.pass)).value_of_macro(*n).map_err(|f| f.message)
    }

    fn given_text(&self, name: &str) -> Option<Arc<str>> {
        self.local(name).map(Value::shown)
    }

    fn given_hash(&self) -> u64 {
        *self.hash.get_or_init(|| random::hash(&self.given, 0))
    }

    fn used(&self, row: &MacroRow) -> u32 {
        self.used.borrow().get(&row.id).copied().unwrap_or_default()
    }

    fn syntax(&self) -> &MacroSyntax {
        &self.table.engine.syntax
    }

    fn named(&self, name: &str) -> Option<&MacroRow> {
        self.table.named(name)
    }

    fn answered(&self, called: &MacroCall<'_>) -> MacroResult {
        self.answer(called)
    }

    fn row(&self, row: &MacroRow, called: &MacroCall<'_>) -> MacroResult {
        let kind = |n: usize| row.args.get(n).or_else(|| row.args.last().filter(|a| a.list)).map_or(ArgumentKind::Text, |a| a.kind);
        if !row.shape.takes(called.args.len()) {
            return unfit(row, called.args.len());
        }
        if called.args.iter().enumerate().any(|(n, a)| !call::is_kind(a, kind(n))) {
            return MacroResult::Unknown;
        }
        if let Some(Value::Rule(RuleRef::Cond(n))) = &row.when {
            let holds = || pass_env(self.st, &PassMemo::of(self.pass)).condition_of_macro(*n);
            let held = if row.args.is_empty() { holds() } else { self.with_arguments(Self::arguments(row, called), holds) };
            match held {
                Ok(true) => {}
                Ok(false) => return MacroResult::Unknown,
                Err(fault) => return MacroResult::Failed(fault.message),
            }
        }
        if row.writes {
            match self.mode() {
                WriteMode::Run => {}
                WriteMode::Keep => return MacroResult::Unknown,
                WriteMode::Remove => return call::says(""),
            }
        }
        if let Some(most) = row.uses {
            let mut used = self.used.borrow_mut();
            let count = used.entry(row.id).or_default();
            if *count >= most && !matches!(row.gives, ResultKind::Function(f) if f.name == "given") {
                return call::says("");
            }
            *count += 1;
        }
        if !row.once || !called.args.is_empty() {
            return self.outcome(row, called);
        }
        if let Some(known) = self.known.borrow().get(&row.id).cloned() {
            return MacroResult::Text(known);
        }
        let result = self.outcome(row, called);
        if let MacroResult::Text(text) = &result {
            self.known.borrow_mut().insert(row.id, text.clone());
        }
        result
    }
}

/// A call with a number of arguments that the row does not take. Texts of other programs hold many of them, which stay as they
/// are written; a macro with a script is the pack's own, and there it is a mistake.
fn unfit(row: &MacroRow, count: usize) -> MacroResult {
    if !matches!(row.gives, ResultKind::Script(_)) {
        return MacroResult::Unknown;
    }
    let takes = match (row.shape.least, row.shape.most) {
        (0, 0) => "no arguments".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) if most > 100 => format!("at least {least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    };
    MacroResult::Failed(format!(
        "macro `{}` takes {takes} and is called with {count}; `args` of the macro declares what it takes",
        row.name
    ))
}

fn local<'m>(map: &'m Map, name: &str) -> Option<&'m Value> {
    map.iter().find(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v)
}

impl MacroGrammar for Macros<'_> {
    fn find(&self, name: &str) -> Option<KnownMacro> {
        self.table.find(name)
    }

    fn syntax(&self) -> &MacroSyntax {
        &self.table.engine.syntax
    }
}

/// The maximum length of a text in such a record.
fn cut(text: &str) -> String {
    short::first(text, 1000).to_owned()
}

impl Macros<'_> {
    /// Records a macro call in the trace, if there is one.
    #[inline]
    fn tell(&self, name: &str, args: &[Arc<str>], at: TextOffset, result: &MacroResult) {
        if let Some(trace) = &self.st.trace {
            self.record(trace, name, args, at, result);
        }
    }

    #[cold]
    fn record(&self, trace: &BuildTrace, name: &str, args: &[Arc<str>], at: TextOffset, result: &MacroResult) {
        let mut told = trace.macros.borrow_mut();
        if told.len() < limits::RECORDED {
            told.push(Expansion {
                name: cut(name),
                args: args.iter().map(|text| cut(text)).collect(),
                result: if let MacroResult::Text(text) = result { Some(cut(text)) } else { None },
                at,
                pass: self.st.pass.borrow().to_string(),
            });
        }
    }

    pub(super) fn answer(&self, called: &MacroCall<'_>) -> MacroResult {
        let row = called.id.and_then(|id| self.table.row(id));
        let given = matches!(row, Some(MacroRow { gives: ResultKind::Function(f), .. }) if f.name == "given");
        if let Some(local) = self.local(called.name).filter(|_| !given) {
            return if called.args.is_empty() { MacroResult::Text(local.shown()) } else { MacroResult::Unknown };
        }
        if let Some(result) = self.of_host(called.name, called.args) {
            return result;
        }
        match row {
            Some(row) => self.row(row, called),
            None if self.table.engine.empties => call::says(""),
            None => MacroResult::Unknown,
        }
    }
}

impl MacroHost for Macros<'_> {
    fn call(&self, called: &MacroCall<'_>) -> MacroResult {
        if self.is_spent() {
            return MacroResult::Unknown;
        }
        let result = self.changed(self.answer(called));
        self.tell(called.name, called.args, called.at, &result);
        result
    }

    /// Returns the text of a row that only reads the scene, if it was read and nothing was set since.
    fn known_text(&self, id: u32) -> Option<Ref<'_, Arc<str>>> {
        let row = self.table.row(id).filter(|row| row.is_bare && self.knows_rows_only())?;
        let texts = self.texts.borrow();
        if texts.at != self.st.writes() || self.through.is_some() || self.st.usage.is_spent() {
            return None;
        }
        Ref::filter_map(texts, |texts| texts.rows.get(row.id as usize)?.as_ref()?.as_ref()).ok()
    }

    fn misfit(&self, found: KnownMacro, name: &str, args: &[Arc<str>], at: TextOffset) -> MacroResult {
        let result = self.table.row(found.id).map_or(MacroResult::Unknown, |row| unfit(row, args.len()));
        self.tell(name, args, at, &result);
        result
    }

    fn before(&self, text: &str) -> Option<String> {
        self.table.before(text)
    }

    fn after(&self, text: &str) -> Option<String> {
        self.table.after(text)
    }

    fn ended(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    fn reading(&self, text: &Arc<str>, limits: &TextLimits) -> Arc<ParsedText> {
        self.table.reading(text, limits)
    }
}

// What lasts for one text: variables of stores that the pack names, texts that blocks keep, and tables that are given with
// the text.

/// Where rows read the tables that are given with a text.
const LOCAL: &str = "local";
/// Where rows read the arguments of a macro.
const ARGUMENTS: &str = "arg";
/// Where rows read what blocks keep.
pub(super) const KEPT: &str = "kept";

/// What is put back when a text ends.
pub(super) struct OutsideStores {
    local: Option<Value>,
    passing: Vec<Value>,
}

impl Macros<'_> {
    /// Hides what lasts for the text around this one.
    pub(super) fn begin_stores(&self) -> OutsideStores {
        let tables = self.with.as_map().is_some_and(|map| map.values().any(|v| matches!(v, Value::Map(_) | Value::List(_))));
        let local = tables.then(|| self.exchange(&[LOCAL.into()], self.with.clone()));
        let passing = self.table.engine.passing.iter();
        let passing = passing.map(|store| self.exchange(&["vars".into(), store.clone()], Value::Null)).collect();
        OutsideStores { local, passing }
    }

    /// Shows it again. What blocks keep ends with the outermost text.
    pub(super) fn end_stores(&self, outside: OutsideStores, inside: bool) {
        for (store, value) in self.table.engine.passing.iter().zip(outside.passing) {
            self.exchange(&["vars".into(), store.clone()], value);
        }
        if let Some(local) = outside.local {
            self.exchange(&[LOCAL.into()], local);
        }
        if !inside && self.st.set.borrow().get(KEPT).is_some() {
            self.exchange(&[KEPT.into()], Value::Null);
        }
    }

    /// Sets the arguments of a macro (`$arg`) and returns those that were set. This is no write of the state: rows that read
    /// arguments are evaluated each time.
    pub(super) fn exchange_arguments(&self, arguments: Option<Map>) -> Option<Map> {
        let mut set = self.st.set.borrow_mut();
        let Value::Map(map) = &mut *set else { return None };
        let map = Arc::make_mut(map);
        let outside = match arguments {
            Some(arguments) => map.insert(ARGUMENTS.into(), Value::map(arguments)),
            None => map.swap_remove(ARGUMENTS),
        };
        match outside {
            Some(Value::Map(outside)) => Some(Arc::unwrap_or_clone(outside)),
            _ => None,
        }
    }

    /// Sets a value and returns the one that was there; sets nothing where it was the same.
    fn exchange(&self, path: &[Arc<str>], value: Value) -> Value {
        let before = path.iter().try_fold(self.st.set.borrow().clone(), |at, name| at.get(name).cloned()).unwrap_or_default();
        if before != value {
            self.st.put(path, value);
        }
        before
    }
}

// Outlets alone: for the pass that fills them before macros are expanded.

/// Only `{{outlet::name}}`, under the names that the pack gives it: for the pass that fills outlets before macros are expanded.
pub struct OutletHost<'a> {
    st: &'a BuildState,
    table: &'a MacroTable,
}

impl<'a> OutletHost<'a> {
    /// A host over a state.
    #[must_use]
    pub fn new(st: &'a BuildState, table: &'a MacroTable) -> Self {
        Self { st, table }
    }
}

impl MacroGrammar for OutletHost<'_> {
    fn find(&self, _name: &str) -> Option<KnownMacro> {
        None
    }

    fn syntax(&self) -> &MacroSyntax {
        self.table.syntax()
    }

    // blocks are for the macros, which are expanded later: their ends must still be there
    fn has_blocks(&self) -> bool {
        false
    }
}

impl MacroHost for OutletHost<'_> {
    fn call(&self, called: &MacroCall<'_>) -> MacroResult {
        let named = |name: &str| self.table.syntax().outlets.iter().any(|outlet| **outlet == *name);
        match called.args {
            [key, ..] if !called.block && named(&called.name.to_ascii_lowercase()) => {
                MacroResult::Text(super::functions::outlet_text(self.st, key))
            }
            _ => MacroResult::Unknown,
        }
    }
}

// Expanding a text in the ordered flavour: one pass of the pack after another over the whole text.

/// Expands the text of `macros` in the ordered flavour; `inside` a macro of another text.
pub(super) fn run_passes(macros: &Macros<'_>, limits: TextLimits, inside: bool) -> ExpandedText {
    if macros.given.is_empty() {
        return PassText::new(&macros.given, limits).done();
    }
    let passes = macros.table.passes();
    let hidden = |pass: &MacroPass| inside && pass.outer;
    for n in &passes.eager {
        let Some(row) = passes.rows.get(*n).filter(|_| !passes.passes.get(*n).is_some_and(hidden)) else { continue };
        // only what it writes and what is remembered counts
        let _ = macros.row(row, &called(row, &[], 0, &macros.given));
    }
    let mut flat = PassText::new(&macros.given, limits);
    for pass in &passes.passes {
        if !flat.goes_on() {
            break;
        }
        if let Some(whole) = macros.ended() {
            return flat.ended(whole);
        }
        if pass.beside || hidden(pass) || pass.braces && !flat.has_braces() {
            continue;
        }
        if pass.given {
            given_names(macros, passes, &mut flat);
        }
        let (Some(find), Some(row)) = (&pass.find, passes.rows.get(pass.row)) else { continue };
        if pass.others.is_empty() {
            flat.pass(find, |hit| macros.matched(pass, row, hit));
            continue;
        }
        let others = pass.others.iter().filter_map(|n| {
            let pass = passes.passes.get(*n).filter(|pass| !hidden(pass))?;
            Some((pass.find.as_ref()?, (pass, passes.rows.get(pass.row)?)))
        });
        let (finds, rows): (Vec<_>, Vec<_>) = std::iter::once((find, (pass, row))).chain(others).unzip();
        flat.pass_of_several(&finds, |n, hit| rows.get(n).map_or(MacroResult::Unknown, |(pass, row)| macros.matched(pass, row, hit)));
    }
    match macros.ended() {
        Some(whole) => flat.ended(whole),
        None => flat.done(),
    }
}

/// Names that are given for this text alone, and those of the application, which replace no row.
fn given_names(macros: &Macros<'_>, passes: &MacroPasses, flat: &mut PassText) {
    let of_application = macros.own.then(|| macros.st.lookup(&["macros".into()], None));
    let names = macros.with.as_map().into_iter().flat_map(|map| map.keys());
    let names = names.chain(of_application.iter().filter_map(Value::as_map).flat_map(|map| map.keys()));
    for name in names.filter(|name| !passes.rows.iter().any(|row| row.name == **name)) {
        // a name that cannot become a pattern is longer than any macro
        let Ok(find) = pattern::cached(&format!(r"/\{{\{{{}\}}\}}/gi", escaped(name))) else { continue };
        flat.pass(&find, |_| match macros.with.get(name) {
            Some(value) => call::says(shown(value)),
            None => macros.of_host(name, &[]).unwrap_or(MacroResult::Unknown),
        });
    }
}

/// A given value as a text.
fn shown(value: &Value) -> Arc<str> {
    match value {
        Value::Null => "".into(),
        Value::List(_) | Value::Map(_) => value.shown(),
        other => other.shown(),
    }
}

fn called<'a>(row: &'a MacroRow, args: &'a [Arc<str>], at: usize, source: &'a Arc<str>) -> MacroCall<'a> {
    MacroCall {
        name: &row.name,
        id: Some(row.id),
        args,
        written: &row.name,
        branches: &[],
        block: false,
        keeps: false,
        at,
        origin: (0, 0),
        source,
        walk: None,
    }
}

impl Macros<'_> {
    fn matched(&self, pass: &MacroPass, row: &MacroRow, hit: &PassHit<'_>) -> MacroResult {
        let takes_given = matches!(row.gives, ResultKind::Function(f) if f.name == "given");
        if let Some(value) = self.with.as_map().and_then(|map| map.get(&row.name)).filter(|_| !takes_given) {
            return call::says(shown(value));
        }
        let mut args: Vec<Arc<str>> = Vec::new();
        for (n, group) in hit.groups.iter().enumerate() {
            let group = if pass.trim_all || pass.trim.contains(&(n + 1)) { js::trim(group) } else { group };
            match pass.split.as_deref().filter(|_| n + 1 == hit.groups.len()) {
                Some(sep) => args.extend(group.split(sep).map(Arc::from)),
                None => args.push(group.into()),
            }
        }
        self.row(row, &called(row, &args, hit.at, hit.source))
    }
}
