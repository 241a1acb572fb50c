//! Untrusted scripts: one Rhai engine without access to the outside, and with a limit on everything that grows.
//!
//! One call of a script has a bound of operations, callbacks included; operations, and the sizes of what is copied and made,
//! are paid from the work of the build (`script/fuel.rs`, `script/natives.rs`). No file, no clock, no randomness, no `eval`, no
//! waiting; `import` finds only the modules that the engine was given. A script that exceeds a limit or throws gives an error
//! with its line; its output is written to a log. Tables come back with their keys sorted, since that is how Rhai keeps them.

mod calls;
mod error;
mod fuel;
mod natives;
mod values;
mod view;

use std::sync::{Arc, LazyLock};

use rhai::{AST, Dynamic, Engine, OptimizationLevel, Position, Scope};

use crate::diag::limits;
pub use crate::model::rights::ScriptRights;
use crate::model::{Map, Value};
use crate::text::work::BudgetScope;
use calls::{LEVELS, ScriptLookups, compiled};
pub use error::{ScriptError, ScriptPlace};
use fuel::{LOG, RunningCall, ScriptResult, ScriptSize};
use fuel::{LazyMap, TableGuard};
use values::{from_dynamic, to_dynamic};

/// The limits of a script. All are counted by the interpreter; none depends on a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Steps of one evaluation.
    pub operations: u64,
    /// Nested function calls.
    pub calls: usize,
    /// Nesting of expressions.
    pub depth: usize,
    /// Bytes of one text.
    pub text: usize,
    /// Elements of one list.
    pub list: usize,
    /// Fields of one table.
    pub map: usize,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self { operations: 100_000, calls: 32, depth: 64, text: 16 << 10, list: 1_000, map: 1_000 }
    }
}

/// A hardened engine, with the modules its scripts may import. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Scripts {
    engine: Arc<Engine>,
    limits: ScriptLimits,
    /// The parts of what modules export.
    constants: u64,
    /// Closures of modules hold variables.
    shares: bool,
}

/// The text of a script, and what it is called.
#[derive(Debug, Clone, Copy)]
pub struct ScriptSource<'a> {
    /// The name by which other scripts import it.
    pub name: &'a str,
    /// The file that messages name.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
}

impl Scripts {
    /// An engine with these limits, without modules.
    #[must_use]
    pub fn new(limits: ScriptLimits) -> Self {
        Self { engine: Arc::new(harden(limits)), limits, constants: 0, shares: false }
    }

    /// An engine whose scripts may `import` these modules by name; a module may import those before it. Their bytes are added
    /// to those of all scripts so far.
    ///
    /// # Errors
    /// The name of the module that does not compile or run, and why.
    pub fn with_sources(limits: ScriptLimits, modules: &[ScriptSource<'_>], bytes: &mut usize) -> Result<Self, (String, ScriptError)> {
        let mut engine = harden(limits);
        let (mut constants, mut shares) = (0_u64, false);
        let mut resolver = rhai::module_resolvers::StaticModuleResolver::new();
        // the statements of a module are not run from inside of a call
        engine.set_max_call_levels(limits.calls);
        for ScriptSource { name, file, text } in modules {
            let named = |error: ScriptError| ((*name).to_string(), error);
            let file: Arc<str> = Arc::from(*file);
            let (ast, mentions) = compiled(&engine, text, &file, bytes, shares).map_err(named)?;
            view::register_fields(&mut engine, mentions.fields.clone());
            let _door = BudgetScope::join();
            let _running = RunningCall::begin(limits.operations, text.len() as u64);
            shares |= mentions.shares;
            let module = rhai::Module::eval_ast_as_new(Scope::new(), &ast, &engine);
            let held = module.and_then(|module| Ok((calls::parts(module.iter_var().map(|(_, value)| value))?, module)));
            let (parts, module) = held.map_err(|error| named(ScriptError::ran(*error, &file)))?;
            constants = constants.saturating_add(parts);
            resolver.insert(*name, module);
            engine.set_module_resolver(resolver.clone());
        }
        engine.set_max_call_levels(limits.calls.saturating_add(LEVELS));
        Ok(Self { engine: Arc::new(engine), limits, constants, shares })
    }

    /// Compiles a script or an expression.
    ///
    /// # Errors
    /// What cannot be read, with its line and column.
    pub fn compile(&self, source: &str) -> Result<Script, ScriptError> {
        self.compile_file("", source)
    }

    /// Compiles a script of a file, which messages name.
    ///
    /// # Errors
    /// What cannot be read, with its line and column.
    pub fn compile_file(&self, file: &str, source: &str) -> Result<Script, ScriptError> {
        self.compile_among(file, source, &mut 0)
    }

    /// [`Scripts::compile_file`] of one of many scripts, whose bytes are added to those of all scripts so far.
    fn compile_among(&self, file: &str, source: &str, bytes: &mut usize) -> Result<Script, ScriptError> {
        let file: Arc<str> = file.into();
        let (ast, mentions) = compiled(&self.engine, source, &file, bytes, self.shares)?;
        let found = ScriptLookups::new(&ast, &mentions);
        let (scripts, source) = (self.clone(), source.into());
        Ok(Script { scripts, ast, found, source, file, rights: None, origin: None })
    }
}

impl Default for Scripts {
    fn default() -> Self {
        static SHARED: LazyLock<Scripts> = LazyLock::new(|| Scripts::new(ScriptLimits::default()));
        SHARED.clone()
    }
}

/// A compiled script, immutable.
pub struct Script {
    scripts: Scripts,
    ast: AST,
    found: ScriptLookups,
    source: Box<str>,
    file: Arc<str>,
    rights: Option<Arc<ScriptRights>>,
    /// Where an expression begins that stands in a file of rules.
    origin: Option<ScriptPlace>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}

/// What a function of a script is given.
#[derive(Debug, Clone)]
pub enum ScriptArgument {
    /// A value that is converted as a whole.
    Value(Value),
    /// The scene, which is converted as far as it is read.
    Scene(Value),
    /// An item of a list by the list's name (empty: of none), or any other value; a table is converted as far as it is
    /// read.
    Item(Arc<str>, Value),
    /// The items of a list, as a list value, which the function may give back.
    Items(Arc<str>, Value),
}

impl ScriptArgument {
    fn dynamic(&self, rights: Option<&Arc<ScriptRights>>) -> ScriptResult<Dynamic> {
        let guard = |list: &Arc<str>, item: bool| {
            let rights = rights.filter(|_| !list.is_empty())?;
            Some(TableGuard { rights: rights.clone(), path: list.clone(), item })
        };
        match self {
            Self::Value(value) => {
                fuel::reading(value)?;
                let value = to_dynamic(value);
                fuel::hand(&value)?;
                Ok(value)
            }
            Self::Scene(value) => Ok(LazyMap::scene(value, rights)),
            Self::Item(list, value) => LazyMap::of(value, guard(list, false)),
            Self::Items(list, values) => {
                let values = values.elements();
                fuel::note_list(values.len())?;
                let guard = guard(list, true).and_then(TableGuard::needed);
                values.iter().map(|value| LazyMap::of(value, guard.clone())).collect::<Result<Vec<_>, _>>().map(Dynamic::from_array)
            }
        }
    }
}

impl Script {
    /// Compiles with the default limits and without modules.
    ///
    /// # Errors
    /// What cannot be read, with its line and column.
    pub fn compile(source: &str) -> Result<Self, ScriptError> {
        Scripts::default().compile(source)
    }

    /// [`Script::compile`] of one of the scripts of a pack, whose bytes are added to those of all of them so far.
    ///
    /// # Errors
    /// As there, and too many bytes of all scripts together.
    pub fn compile_among(source: &str, bytes: &mut usize) -> Result<Self, ScriptError> {
        Scripts::default().compile_among("", source, bytes)
    }

    /// The same script, which may read and write only what its pack declares.
    #[must_use]
    pub fn within(self, rights: Option<Arc<ScriptRights>>) -> Self {
        Self { rights, ..self }
    }

    /// The same expression, whose errors are told with their place in the file of rules in which it begins here.
    #[must_use]
    pub fn written_at(self, origin: Option<ScriptPlace>) -> Self {
        Self { origin, ..self }
    }

    /// What its pack declares.
    #[must_use]
    pub fn rights(&self) -> Option<&ScriptRights> {
        self.rights.as_deref()
    }

    /// The file that messages name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The names of the functions it defines, sorted, with their numbers of arguments.
    #[must_use]
    pub fn functions(&self) -> Vec<(String, usize)> {
        let mut list: Vec<_> = self.ast.iter_functions().map(|f| (f.name.to_string(), f.params.len())).collect();
        list.sort_unstable();
        list
    }

    /// The line of a function, from 1; 0 if there is none.
    #[must_use]
    pub fn line_of(&self, function: &str) -> usize {
        let begins = |line: &str| {
            let line = line.trim_start();
            let line = line.strip_prefix("private ").map_or(line, str::trim_start);
            let name = line.strip_prefix("fn ").map(str::trim_start);
            name.and_then(|name| name.strip_prefix(function)).is_some_and(|rest| rest.trim_start().starts_with('('))
        };
        self.source.lines().position(begins).map_or(0, |n| n + 1)
    }

    /// Runs the script as an expression over the names in `scope`.
    ///
    /// # Errors
    /// A limit, a throw, a mistake of the script, or a value that is none.
    pub fn eval(&self, scope: &Map) -> Result<Value, ScriptError> {
        let names: Vec<(&str, ScriptArgument)> =
            scope.iter().map(|(name, value)| (&**name, ScriptArgument::Value(value.clone()))).collect();
        self.eval_over(&names)
    }

    /// [`Script::eval`] over names that are converted as far as they are read.
    ///
    /// # Errors
    /// As there.
    pub fn eval_over(&self, scope: &[(&str, ScriptArgument)]) -> Result<Value, ScriptError> {
        let _door = BudgetScope::join();
        let _running = self.running();
        let mut names = Scope::new();
        let given = scope.iter().try_for_each(|(name, argument)| {
            names.push_dynamic(*name, argument.dynamic(self.rights.as_ref())?);
            Ok(())
        });
        let result = given.and_then(|()| self.found.eval(&self.scripts.engine, &self.ast, &mut names));
        self.given_back(result, false).map_err(|error| error.from(self.origin.as_ref()))
    }

    fn running(&self) -> RunningCall {
        let running = RunningCall::begin(self.scripts.limits.operations, self.source.len() as u64);
        fuel::hold_constants(self.scripts.constants);
        running
    }

    /// [`Script::eval_over`] for a condition.
    ///
    /// # Errors
    /// As there, and a value that is not `true` or `false`.
    pub fn holds(&self, scope: &[(&str, ScriptArgument)]) -> Result<bool, ScriptError> {
        match self.eval_over(scope)? {
            Value::Bool(b) => Ok(b),
            other => {
                let message = format!("a condition must give true or false, not `{}`", other.to_text());
                Err(ScriptError::new(message, Position::NONE).within(&self.file).from(self.origin.as_ref()))
            }
        }
    }

    /// Calls a function of the script with values that are converted as a whole.
    ///
    /// # Errors
    /// As [`Script::eval`], and a function that does not exist with so many arguments.
    pub fn call(&self, function: &str, args: &[Value]) -> Result<Value, ScriptError> {
        let args: Vec<ScriptArgument> = args.iter().cloned().map(ScriptArgument::Value).collect();
        self.call_with(function, &args)
    }

    /// Calls a function of the script. What the script imports, and its constants, are known to it.
    ///
    /// # Errors
    /// As [`Script::eval`], and a function that does not exist with so many arguments.
    pub fn call_with(&self, function: &str, args: &[ScriptArgument]) -> Result<Value, ScriptError> {
        let _door = BudgetScope::join();
        let _running = self.running();
        let given = args.iter().map(|argument| argument.dynamic(self.rights.as_ref())).collect::<ScriptResult<Vec<_>>>();
        let result = given.and_then(|mut given| self.found.call(&self.scripts.engine, &self.ast, function, &mut given));
        let back = self.given_back(result, args.iter().any(|argument| matches!(argument, ScriptArgument::Items(..))));
        // an error without a place has the line of the function
        back.map_err(|error| if error.line > 0 { error } else { ScriptError { line: self.line_of(function), column: 1, ..error } })
    }

    fn given_back(&self, result: ScriptResult<Dynamic>, items: bool) -> Result<Value, ScriptError> {
        let measured = result.and_then(|value| ScriptSize::of(&value)?.check(&self.scripts.limits).map(|()| value));
        let value = measured.map_err(|error| ScriptError::ran(*error, &self.file))?;
        from_dynamic(value, 0, items).map_err(|message| ScriptError::new(message, Position::NONE).within(&self.file))
    }
}

/// Most lines, and most bytes of them, that are kept between two [`take_log`].
const MOST_LOG_LINES: usize = 1_000;
const MOST_LOG_BYTES: usize = 1 << 20;

/// What scripts printed, and how many further lines were not kept.
#[derive(Default)]
struct PrintLog {
    lines: Vec<String>,
    bytes: usize,
    more: usize,
}

/// What scripts of this thread printed since the last call. The last line says how many lines were not kept.
#[must_use]
pub fn take_log() -> Vec<String> {
    let PrintLog { mut lines, more, .. } = LOG.with_borrow_mut(std::mem::take);
    if more > 0 {
        lines.push(format!("… and {more} more lines, which are not kept: a build keeps {MOST_LOG_LINES} lines and {MOST_LOG_BYTES} bytes"));
    }
    lines
}

fn log(line: &str) {
    LOG.with_borrow_mut(|log| {
        if log.lines.len() < MOST_LOG_LINES && log.bytes.saturating_add(line.len()) <= MOST_LOG_BYTES {
            log.bytes += line.len();
            log.lines.push(line.to_owned());
        } else {
            log.more += 1;
        }
    });
}

fn harden(limits: ScriptLimits) -> Engine {
    // a raw engine cannot import
    let mut engine = Engine::new_raw();
    natives::register(&mut engine, limits);
    view::register(&mut engine);
    fuel::register(&mut engine, limits);
    // operators are functions with scales, too
    engine.set_fast_operators(false);
    // the optimizer moves all statements for each one that it removes
    engine.set_optimization_level(OptimizationLevel::None);
    // `this` is no variable that is looked at, and what `curry` holds is copied in each call
    for word in ["eval", "this", "curry"] {
        engine.disable_symbol(word);
    }
    engine.on_print(log);
    engine.on_debug(|text, _, at| log(&if at.is_none() { text.to_owned() } else { format!("{at:?}: {text}") }));
    engine.set_max_call_levels(limits.calls.saturating_add(LEVELS));
    engine.set_max_expr_depths(limits.depth, limits.depth / 2);
    // values are measured against the limits of the script afterwards, to which the sizes are added of what it is given
    engine.set_max_string_size(limits::OUTPUT_BYTES);
    engine.set_max_array_size(limits::VALUES);
    engine.set_max_map_size(limits::VALUES);
    engine.set_max_functions(256);
    engine.set_max_modules(32);
    engine.set_max_variables(256);
    engine
}
