//! Untrusted scripts: one Rhai engine without access to the outside, and with a limit on everything that grows.
//!
//! One call of a script has a bound of operations, callbacks included, and everything that it copies or makes is paid
//! from the work of the build (`script/paid.rs`). No file, no clock, no randomness, no `eval`, no waiting; `import` finds only the modules that the engine was given.
//! A script that exceeds a limit or throws gives an error with its line; its output is written to a log. Tables come
//! back with their keys sorted, since that is how Rhai keeps them.

mod paid;
mod written;

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use rhai::packages::{
    BasicArrayPackage, BasicBlobPackage, BasicMapPackage, BasicMathPackage, BitFieldPackage, CorePackage, LogicPackage, MoreStringPackage,
    Package,
};
use rhai::{AST, CallFnOptions, Dynamic, Engine, EvalAltResult, Position, Scope};

use crate::model::{Map, Value, value::MAX_DEPTH};
use crate::text::work::{self, Door};
use paid::Running;
use written::{Unreadable, Written};

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

/// Why a script does not compile or stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(*.line, *.column))]
pub struct ScriptError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1; 0 where none is known.
    pub line: usize,
    /// Column in characters, from 1; 0 where none is known.
    pub column: usize,
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(" (line {line}, column {column})") }
}

impl ScriptError {
    fn new(message: impl Into<String>, at: Position) -> Self {
        Self { message: message.into(), line: at.line().unwrap_or(0), column: at.position().unwrap_or(0) }
    }
}

impl ScriptError {
    /// The same error at its place in the script as it was written.
    fn of(self, written: &Written) -> Self {
        Self { column: written.column(self.line, self.column), ..self }
    }
}

impl From<Box<EvalAltResult>> for ScriptError {
    fn from(error: Box<EvalAltResult>) -> Self {
        let (mut inner, at) = innermost(*error);
        inner.clear_position();
        let message = match inner {
            EvalAltResult::ErrorRuntime(value, _) => value.to_string(),
            EvalAltResult::ErrorTerminated(..) => paid::stopped(),
            EvalAltResult::ErrorDataRace(..) => {
                paid::wait();
                "a variable is used while it is being changed".into()
            }
            EvalAltResult::ErrorStackOverflow(_) => "functions call each other too deeply".into(),
            other => other.to_string(),
        };
        Self::new(message, at)
    }
}

/// The innermost error, and its place in this script (not in a module that it imports).
fn innermost(mut error: EvalAltResult) -> (EvalAltResult, Position) {
    let mut at = error.position();
    let mut here = true;
    loop {
        error = match error {
            EvalAltResult::ErrorInFunctionCall(_, source, inner, _) => {
                here &= source.is_empty();
                *inner
            }
            EvalAltResult::ErrorInModule(_, inner, _) => {
                here = false;
                *inner
            }
            other => return (other, at),
        };
        if here && !error.position().is_none() {
            at = error.position();
        }
    }
}

/// A hardened engine, with the modules its scripts may import. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Scripts {
    engine: Arc<Engine>,
    limits: ScriptLimits,
}

impl Scripts {
    /// An engine with these limits, without modules.
    #[must_use]
    pub fn new(limits: ScriptLimits) -> Self {
        Self { engine: Arc::new(harden(limits)), limits }
    }

    /// An engine whose scripts may `import` these modules by name; a module may import those before it.
    ///
    /// # Errors
    /// The name of the module that does not compile or run, and why.
    pub fn with_modules(limits: ScriptLimits, modules: &[(&str, &str)]) -> Result<Self, (String, ScriptError)> {
        let mut engine = harden(limits);
        let mut resolver = rhai::module_resolvers::StaticModuleResolver::new();
        for (name, source) in modules {
            let named = |error: ScriptError| ((*name).to_string(), error);
            let (ast, written) = compiled(&engine, source).map_err(named)?;
            let module = {
                let _door = Door::join();
                let _running = Running::begin(limits.operations);
                rhai::Module::eval_ast_as_new(Scope::new(), &ast, &engine).map_err(|e| named(ScriptError::from(e).of(&written)))?
            };
            resolver.insert(*name, module);
            engine.set_module_resolver(resolver.clone());
        }
        Ok(Self { engine: Arc::new(engine), limits })
    }

    /// Compiles a script or an expression.
    ///
    /// # Errors
    /// What cannot be read, with its line and column.
    pub fn compile(&self, source: &str) -> Result<Script, ScriptError> {
        let (ast, written) = compiled(&self.engine, source)?;
        Ok(Script { engine: self.engine.clone(), operations: self.limits.operations, ast, written })
    }
}

/// Compiles a script with its payments.
fn compiled(engine: &Engine, source: &str) -> Result<(AST, Written), ScriptError> {
    let compile = |text: &str| engine.compile(text).map_err(|e| ScriptError::new(e.err_type().to_string(), e.position()));
    let written = match Written::new(source) {
        Ok(written) => written,
        Err(why) => {
            // the interpreter says what is wrong, and where
            compile(source)?;
            let message = match why {
                Unreadable::Name => "names that begin with `__` belong to the engine",
                Unreadable::Deep => "brackets are nested too deeply",
                Unreadable::Syntax => "a text, a comment or a bracket is not closed",
            };
            return Err(ScriptError::new(message, Position::NONE));
        }
    };
    let ast = compile(&written.text).map_err(|error| error.of(&written))?;
    Ok((ast, written))
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
    written: Written,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
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

    /// The names of the functions it defines, sorted, with their numbers of arguments.
    #[must_use]
    pub fn functions(&self) -> Vec<(String, usize)> {
        let mut list: Vec<_> = self.ast.iter_functions().map(|f| (f.name.to_string(), f.params.len())).collect();
        list.sort_unstable();
        list
    }

    /// Runs the script as an expression over the names in `scope`.
    ///
    /// # Errors
    /// A limit, a throw, a mistake of the script, or a value that is none.
    pub fn eval(&self, scope: &Map) -> Result<Value, ScriptError> {
        let _door = Door::join();
        let mut names = Scope::new();
        let _running = Running::begin(self.operations);
        for (name, value) in scope {
            given(value)?;
            names.push_dynamic(&**name, to_dynamic(value));
        }
        let result = self.engine.eval_ast_with_scope::<Dynamic>(&mut names, &self.ast);
        to_value(result.map_err(|error| ScriptError::from(error).of(&self.written))?)
    }

    /// [`Script::eval`] for a condition.
    ///
    /// # Errors
    /// As there, and a value that is not `true` or `false`.
    pub fn eval_condition(&self, scope: &Map) -> Result<bool, ScriptError> {
        match self.eval(scope)? {
            Value::Bool(b) => Ok(b),
            other => Err(ScriptError::new(format!("a condition must give true or false, not `{}`", other.to_text()), Position::NONE)),
        }
    }

    /// Calls a function of the script. Its top level does not run.
    ///
    /// # Errors
    /// As [`Script::eval`], and a function that does not exist with so many arguments.
    pub fn call(&self, function: &str, args: &[Value]) -> Result<Value, ScriptError> {
        let _door = Door::join();
        let _piece = work::piece("script function", function);
        let _running = Running::begin(self.operations);
        args.iter().try_for_each(given)?;
        let args: Vec<Dynamic> = args.iter().map(to_dynamic).collect();
        let options = CallFnOptions::new().eval_ast(false);
        let result = self.engine.call_fn_with_options::<Dynamic>(options, &mut Scope::new(), &self.ast, function, args);
        to_value(result.map_err(|error| ScriptError::from(error).of(&self.written))?)
    }
}

/// Most lines that are kept between two [`take_log`].
const MOST_LOG: usize = 1_000;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What scripts of this thread printed since the last call.
#[must_use]
pub fn take_log() -> Vec<String> {
    LOG.with_borrow_mut(std::mem::take)
}

fn log(line: &str) {
    LOG.with_borrow_mut(|lines| {
        if lines.len() < MOST_LOG {
            lines.push(line.to_owned());
        }
    });
}

/// Pays for a value that a script is given.
fn given(value: &Value) -> Result<(), ScriptError> {
    let nodes = value.nodes_within(MAX_DEPTH, usize::MAX).unwrap_or(usize::MAX);
    paid::give(value);
    let paid = work::spend((nodes as u64).saturating_mul(STEPS_PER_VALUE));
    paid.map_err(|exceeded| ScriptError::new(exceeded, Position::NONE))
}

fn harden(limits: ScriptLimits) -> Engine {
    let mut engine = bare(limits);
    paid::register(&mut engine, bare(limits), limits);
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
    engine.disable_symbol("eval");
    // the core package has `sleep`, which no limit on steps stops
    engine.register_fn("sleep", |_: i64| no_waiting());
    engine.register_fn("sleep", |_: f64| no_waiting());
    engine.on_print(log);
    engine.on_debug(|text, _, at| log(&if at.is_none() { text.to_owned() } else { format!("{at:?}: {text}") }));
    engine.set_max_call_levels(limits.calls);
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

/// The work of a part of a value that is handed to a script, in steps. Its memory is free again after the call.
const STEPS_PER_VALUE: u64 = 4;

fn no_waiting() -> Result<(), Box<EvalAltResult>> {
    Err("scripts may not wait".into())
}

fn to_dynamic(value: &Value) -> Dynamic {
    match value {
        Value::Null | Value::Rule(_) => Dynamic::UNIT,
        Value::Bool(b) => Dynamic::from(*b),
        Value::Int(n) => Dynamic::from(*n),
        Value::Num(n) => Dynamic::from(*n),
        Value::Text(t) => Dynamic::from(rhai::ImmutableString::from(&**t)),
        Value::List(list) => Dynamic::from_array(list.iter().map(to_dynamic).collect()),
        Value::Map(map) => Dynamic::from_map(map.iter().map(|(k, v)| ((&**k).into(), to_dynamic(v))).collect()),
    }
}

/// The deepest nesting of a value that a script returns.
const DEEPEST: usize = 64;

fn to_value(value: Dynamic) -> Result<Value, ScriptError> {
    from_dynamic(value, 0).map_err(|message| ScriptError::new(message, Position::NONE))
}

fn from_dynamic(value: Dynamic, depth: usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err(format!("a value is nested deeper than {DEEPEST}"));
    }
    let value = value.flatten();
    if value.is_unit() {
        return Ok(Value::Null);
    }
    if let Ok(b) = value.as_bool() {
        return Ok(Value::Bool(b));
    }
    if let Ok(n) = value.as_int() {
        return Ok(Value::Int(n));
    }
    if let Ok(n) = value.as_float() {
        return Ok(Value::Num(n));
    }
    if let Ok(c) = value.as_char() {
        return Ok(Value::text(c.to_string()));
    }
    if value.is_string() {
        return Ok(Value::text(value.into_immutable_string().unwrap_or_default().as_str()));
    }
    if value.is_array() {
        let list = value.into_array().unwrap_or_default();
        return list.into_iter().map(|v| from_dynamic(v, depth + 1)).collect::<Result<Vec<_>, _>>().map(Value::list);
    }
    let kind = value.type_name();
    match value.try_cast::<rhai::Map>() {
        Some(map) => {
            let fields = map.into_iter().map(|(k, v)| Ok((Arc::from(k.as_str()), from_dynamic(v, depth + 1)?)));
            fields.collect::<Result<Map, String>>().map(Value::map)
        }
        None => Err(format!("a script may give back texts, numbers, truth values, lists and tables, not a `{kind}`")),
    }
}
