//! Untrusted scripts: one Rhai engine without access to the outside, and with a limit on everything that grows.
//!
//! One call of a script has a bound of operations, callbacks included, and everything that it copies or makes is paid
//! from the work of the build (`script/paid.rs`). No file, no clock, no randomness, no `eval`, no waiting; `import` finds only the modules that the engine was given.
//! A script that exceeds a limit or throws gives an error with its line; its output is written to a log. Tables come
//! back with their keys sorted, since that is how Rhai keeps them.

mod callbacks;
mod calls;
mod compiling;
mod error;
mod growing;
mod json;
mod large;
mod letters;
mod literals;
mod moved;
mod natives;
mod paid;
mod payments;
mod place;
mod printing;
mod shown;
mod sorting;
mod tokens;
mod values;
mod view;
mod words;
mod written;

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use rhai::packages::{
    BasicArrayPackage, BasicBlobPackage, BasicMapPackage, BasicMathPackage, BitFieldPackage, CorePackage, LogicPackage, MoreStringPackage,
    Package,
};
use rhai::{AST, Dynamic, Engine, EvalAltResult, Position, Scope};

pub use crate::model::rights::Rights;
use crate::model::{Map, Value};
use crate::text::work::{self, Door};
use calls::{Found, LEVELS, Mentions};
use compiling::compiled;
use error::Texts;
pub use error::{ScriptError, ScriptPlace};
use paid::Running;
use shown::{Guard, View};
use values::{from_dynamic, to_dynamic};
use written::Written;

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
    // the product of operations and text bounds the memory, because Rhai does not check every way to fill a table
    fn default() -> Self {
        Self { operations: 100_000, calls: 32, depth: 64, text: 16 << 10, list: 1_000, map: 1_000 }
    }
}

/// A hardened engine, with the modules its scripts may import. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Scripts {
    engine: Arc<Engine>,
    limits: ScriptLimits,
    /// The texts of the modules.
    texts: Arc<Texts>,
}

/// The text of a script, and what it is called.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
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
        Self { engine: Arc::new(harden(limits)), limits, texts: Arc::default() }
    }

    /// [`Scripts::with_sources`] of texts that are no files.
    ///
    /// # Errors
    /// As there.
    #[cfg(any(test, feature = "unstable_machinery"))]
    pub fn with_modules(limits: ScriptLimits, modules: &[(&str, &str)]) -> Result<Self, (String, ScriptError)> {
        let modules: Vec<Source<'_>> = modules.iter().map(|(name, text)| Source { name, file: name, text }).collect();
        Self::with_sources(limits, &modules, &mut 0)
    }

    /// An engine whose scripts may `import` these modules by name; a module may import those before it. Their tokens are added
    /// to those of all scripts so far.
    ///
    /// # Errors
    /// The name of the module that does not compile or run, and why.
    pub fn with_sources(limits: ScriptLimits, modules: &[Source<'_>], tokens: &mut usize) -> Result<Self, (String, ScriptError)> {
        let mut engine = harden(limits);
        let mut texts = Texts::default();
        let mut resolver = rhai::module_resolvers::StaticModuleResolver::new();
        // the statements of a module are not run from inside of a call
        engine.set_max_call_levels(limits.calls);
        for Source { name, file, text } in modules {
            let named = |error: ScriptError| ((*name).to_string(), error);
            let file: Arc<str> = Arc::from(*file);
            let (ast, written) = compiled(&engine, text, &file, tokens).map_err(named)?;
            view::register_fields(&mut engine, Mentions::of(&ast).fields);
            let module = {
                let _door = Door::join();
                let _running = Running::begin(limits.operations, 0);
                let module = rhai::Module::eval_ast_as_new(Scope::new(), &ast, &engine);
                module.map_err(|error| named(ScriptError::ran(*error, &file, &written, &texts)))?
            };
            texts.insert(file, Arc::new(written));
            resolver.insert(*name, module);
            engine.set_module_resolver(resolver.clone());
        }
        engine.set_max_call_levels(limits.calls.saturating_add(LEVELS));
        Ok(Self { engine: Arc::new(engine), limits, texts: Arc::new(texts) })
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

    /// [`Scripts::compile_file`] of one of many scripts, whose tokens are added to those of all scripts so far.
    fn compile_among(&self, file: &str, source: &str, tokens: &mut usize) -> Result<Script, ScriptError> {
        let file: Arc<str> = file.into();
        let (ast, written) = compiled(&self.engine, source, &file, tokens)?;
        let (engine, found) = (self.engine.clone(), Found::new(&ast));
        Ok(Script {
            engine,
            operations: self.limits.operations,
            ast,
            found,
            written,
            file,
            texts: self.texts.clone(),
            rights: None,
            origin: None,
        })
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
    engine: Arc<Engine>,
    operations: u64,
    ast: AST,
    found: Found,
    written: Written,
    file: Arc<str>,
    texts: Arc<Texts>,
    rights: Option<Arc<Rights>>,
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
pub enum Argument {
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

impl Argument {
    fn dynamic(&self, rights: Option<&Arc<Rights>>) -> Result<Dynamic, Box<EvalAltResult>> {
        let guard = |list: &Arc<str>, item: bool| {
            let rights = rights.filter(|_| !list.is_empty())?;
            Some(Guard { rights: rights.clone(), path: list.clone(), item })
        };
        match self {
            Self::Value(value) => {
                paid::handed(value).map_err(|_| paid::terminated(Position::NONE))?;
                Ok(to_dynamic(value))
            }
            Self::Scene(value) => Ok(View::scene(value, rights)),
            Self::Item(list, value) => View::of(value, guard(list, false)),
            Self::Items(list, values) => {
                let values = values.elements();
                let paid = work::spend((values.len() as u64).saturating_mul(paid::STEPS_PER_VALUE));
                paid.map_err(|_| paid::terminated(Position::NONE))?;
                let guard = guard(list, true).and_then(Guard::needed);
                values.iter().map(|value| View::of(value, guard.clone())).collect::<Result<Vec<_>, _>>().map(Dynamic::from_array)
            }
        }
    }

    fn give(&self) {
        match self {
            Self::Value(value) | Self::Scene(value) | Self::Item(_, value) | Self::Items(_, value) => paid::give(value),
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

    /// [`Script::compile`] of one of the scripts of a pack, whose tokens are added to those of all of them so far.
    ///
    /// # Errors
    /// As there, and too many tokens of all scripts together.
    pub fn compile_among(source: &str, tokens: &mut usize) -> Result<Self, ScriptError> {
        Scripts::default().compile_among("", source, tokens)
    }

    /// The same script, which may read and write only what its pack declares.
    #[must_use]
    pub fn within(self, rights: Option<Arc<Rights>>) -> Self {
        Self { rights, ..self }
    }

    /// The same expression, whose errors are told with their place in the file of rules in which it begins here.
    #[must_use]
    pub fn written_at(self, origin: Option<ScriptPlace>) -> Self {
        Self { origin, ..self }
    }

    /// What its pack declares.
    #[must_use]
    pub fn rights(&self) -> Option<&Rights> {
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
        self.written.text.lines().position(begins).map_or(0, |n| n + 1)
    }

    /// Runs the script as an expression over the names in `scope`.
    ///
    /// # Errors
    /// A limit, a throw, a mistake of the script, or a value that is none.
    pub fn eval(&self, scope: &Map) -> Result<Value, ScriptError> {
        let names: Vec<(&str, Argument)> = scope.iter().map(|(name, value)| (&**name, Argument::Value(value.clone()))).collect();
        self.eval_over(&names)
    }

    /// [`Script::eval`] over names that are converted as far as they are read.
    ///
    /// # Errors
    /// As there.
    pub fn eval_over(&self, scope: &[(&str, Argument)]) -> Result<Value, ScriptError> {
        let _door = Door::join();
        let mut names = Scope::new();
        let _running = Running::begin(self.operations, self.written.text.len());
        for (name, argument) in scope {
            argument.give();
            names.push_dynamic(
                *name,
                argument.dynamic(self.rights.as_ref()).map_err(|error| self.error(*error).from(self.origin.as_ref()))?,
            );
        }
        let result = self.found.eval(&self.engine, &self.ast, &mut names);
        self.given_back(result, false).map_err(|error| error.from(self.origin.as_ref()))
    }

    /// [`Script::eval`] for a condition.
    ///
    /// # Errors
    /// As there, and a value that is not `true` or `false`.
    pub fn eval_condition(&self, scope: &Map) -> Result<bool, ScriptError> {
        self.truth(self.eval(scope)?)
    }

    /// [`Script::eval_over`] for a condition.
    ///
    /// # Errors
    /// As there, and a value that is not `true` or `false`.
    pub fn holds(&self, scope: &[(&str, Argument)]) -> Result<bool, ScriptError> {
        self.truth(self.eval_over(scope)?)
    }

    fn truth(&self, value: Value) -> Result<bool, ScriptError> {
        match value {
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
        let args: Vec<Argument> = args.iter().cloned().map(Argument::Value).collect();
        self.call_with(function, &args)
    }

    /// Calls a function of the script. What the script imports, and its constants, are known to it.
    ///
    /// # Errors
    /// As [`Script::eval`], and a function that does not exist with so many arguments.
    pub fn call_with(&self, function: &str, args: &[Argument]) -> Result<Value, ScriptError> {
        let _door = Door::join();
        let _piece = work::piece("script function", function);
        let _running = Running::begin(self.operations, self.written.text.len());
        args.iter().for_each(Argument::give);
        let given = args.iter().map(|argument| argument.dynamic(self.rights.as_ref())).collect::<Result<Vec<_>, _>>();
        let mut given = given.map_err(|error| self.error(*error))?;
        let result = self.found.call(&self.engine, &self.ast, function, &mut given);
        let back = self.given_back(result, args.iter().any(|argument| matches!(argument, Argument::Items(..))));
        // an error without a place has the line of the function
        back.map_err(|error| if error.line > 0 { error } else { ScriptError { line: self.line_of(function), ..error } })
    }

    fn given_back(&self, result: Result<Dynamic, Box<EvalAltResult>>, items: bool) -> Result<Value, ScriptError> {
        let value = result.map_err(|error| self.error(*error))?;
        from_dynamic(value, 0, items).map_err(|message| ScriptError::new(message, Position::NONE).within(&self.file))
    }

    fn error(&self, error: EvalAltResult) -> ScriptError {
        ScriptError::ran(error, &self.file, &self.written, &self.texts)
    }
}

/// Most lines that are kept between two [`take_log`].
const MOST_LOG: usize = 1_000;

/// Most bytes of lines that are kept between two [`take_log`].
const MOST_LOG_BYTES: usize = 1 << 20;

/// What scripts printed, and how many further lines were not kept.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    bytes: usize,
    more: usize,
}

thread_local! {
    static LOG: RefCell<Log> = RefCell::default();
}

/// What scripts of this thread printed since the last call. The last line says how many lines were not kept.
#[must_use]
pub fn take_log() -> Vec<String> {
    let Log { mut lines, more, .. } = LOG.with_borrow_mut(std::mem::take);
    if more > 0 {
        lines.push(format!("… and {more} more lines, which are not kept: a build keeps {MOST_LOG} lines and {MOST_LOG_BYTES} bytes"));
    }
    lines
}

fn log(line: &str) {
    LOG.with_borrow_mut(|log| {
        if log.lines.len() < MOST_LOG && log.bytes.saturating_add(line.len()) <= MOST_LOG_BYTES {
            log.bytes += line.len();
            log.lines.push(line.to_owned());
        } else {
            log.more += 1;
        }
    });
}

fn harden(limits: ScriptLimits) -> Engine {
    let mut engine = bare(limits);
    let plain = Arc::new(bare(limits));
    paid::register(&mut engine, &plain, limits);
    letters::register(&mut engine, &plain);
    growing::register(&mut engine);
    payments::register(&mut engine, limits);
    sorting::register(&mut engine, limits);
    callbacks::register(&mut engine, limits);
    engine
}

fn bare(limits: ScriptLimits) -> Engine {
    // a raw engine cannot import; all packages but the one with the clock
    let mut engine = Engine::new_raw();
    CorePackage::new().register_into_engine(&mut engine);
    BitFieldPackage::new().register_into_engine(&mut engine);
    LogicPackage::new().register_into_engine(&mut engine);
    BasicMathPackage::new().register_into_engine(&mut engine);
    BasicArrayPackage::new().register_into_engine(&mut engine);
    BasicBlobPackage::new().register_into_engine(&mut engine);
    BasicMapPackage::new().register_into_engine(&mut engine);
    MoreStringPackage::new().register_into_engine(&mut engine);
    view::register(&mut engine);
    engine.disable_symbol("eval");
    words::RESERVED.iter().for_each(|word| {
        engine.disable_symbol(*word);
    });
    // the core package has `sleep`, which no limit on steps stops
    engine.register_fn("sleep", |_: i64| no_waiting());
    engine.register_fn("sleep", |_: f64| no_waiting());
    engine.on_print(log);
    engine.on_debug(|text, _, at| log(&if at.is_none() { text.to_owned() } else { format!("{at:?}: {text}") }));
    engine.set_max_call_levels(limits.calls.saturating_add(LEVELS));
    // the calls that pay nest, too
    engine.set_max_expr_depths(limits.depth * 3, limits.depth * 3 / 2);
    engine.set_max_string_size(limits.text);
    engine.set_max_array_size(limits.list);
    engine.set_max_map_size(limits.map);
    engine.set_max_functions(256);
    engine.set_max_modules(32);
    engine.set_max_variables(256);
    engine
}

fn no_waiting() -> Result<(), Box<EvalAltResult>> {
    Err("scripts may not wait".into())
}
