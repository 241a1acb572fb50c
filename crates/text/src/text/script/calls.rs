//! How a script is compiled, and how a function or a script is run by the interpreter.
//!
//! The interpreter finds the function behind every name, operator and type of argument by a search, and remembers what it
//! has found within one run only. A filter runs a small function for each of a thousand items, so here the finds are kept
//! from run to run. That is safe for a script without `import`, because its names then always mean the same functions.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rhai::{
    AST, ASTNode, Caches, Dynamic, Engine, EvalAltResult, EvalContext, Expr, GlobalRuntimeState, ImmutableString, Position, Scope, Stmt,
};

use super::error::ScriptError;
use super::fuel::{ScriptResult, ScriptSize, hold_constants};
use crate::diag::limits;

/// The most bytes of one script, and a third of those of all scripts of a pack: the interpreter compares the variables, fields and cases of a script with each other.
const MOST_BYTES: usize = 64 << 10;
/// The most arguments of a call: the interpreter looks for a function by each choice of their types.
const MOST_ARGUMENTS: usize = 8;
/// How much deeper the interpreter counts calls that begin here than a script sees them.
pub(super) const LEVELS: usize = 2;

/// Compiles a script. `bytes` are those of all scripts so far; `shares`: closures of its modules hold variables.
pub(super) fn compiled(
    engine: &Engine,
    source: &str,
    file: &Arc<str>,
    bytes: &mut usize,
    shares: bool,
) -> Result<(AST, ScriptMentions), ScriptError> {
    let refused = |message: String, at: Position| Err(ScriptError::new(message, at).within(file));
    let start = Position::new(1, 1);
    if source.len() > MOST_BYTES {
        return refused(format!("the script has more than {MOST_BYTES} bytes; make several scripts of it"), start);
    }
    *bytes = bytes.saturating_add(source.len());
    let most = 3 * MOST_BYTES;
    if *bytes > most {
        let message = "bytes together; move what is data in them into rows of the pack";
        return refused(format!("the scripts up to this one have more than {most} {message}"), start);
    }
    let compiled = engine.compile(source);
    let mut ast = compiled.map_err(|error| ScriptError::new(error.err_type().to_string(), error.position()).within(file))?;
    let mentions = ScriptMentions::of(&ast);
    if let Some(at) = mentions.long_call {
        return refused(format!("a call has more than {MOST_ARGUMENTS} arguments; give it one table"), at);
    }
    // the interpreter sleeps before it tells of a variable that a closure reads while it is changed, and no step counts that
    if mentions.catches && (shares || mentions.shares) {
        let message = "a script that catches errors, or what it imports, has no closures that use variables from around them";
        return refused(format!("{message}; take `try` away, or loop with `for`"), start);
    }
    if !file.is_empty() {
        ast.set_source(&**file);
    }
    Ok((ast, mentions))
}

/// What a script mentions.
#[derive(Default)]
pub(super) struct ScriptMentions {
    /// The names behind dots, sorted.
    pub(super) fields: BTreeSet<ImmutableString>,
    imports: bool,
    /// It catches errors, and its closures hold variables.
    pub(super) catches: bool,
    pub(super) shares: bool,
    /// A call with too many arguments.
    long_call: Option<Position>,
}

impl ScriptMentions {
    fn of(ast: &AST) -> Self {
        let mut found = Self::default();
        ast.walk(&mut |path| {
            match path.last() {
                Some(ASTNode::Expr(Expr::Property(property, _))) => {
                    found.fields.insert(property.2.clone());
                }
                Some(ASTNode::Expr(Expr::FnCall(call, at) | Expr::MethodCall(call, at)) | ASTNode::Stmt(Stmt::FnCall(call, at)))
                    if call.args.len() > MOST_ARGUMENTS =>
                {
                    found.long_call = Some(*at);
                }
                Some(ASTNode::Stmt(Stmt::Import(..))) => found.imports = true,
                Some(ASTNode::Stmt(Stmt::TryCatch(..))) => found.catches = true,
                Some(ASTNode::Stmt(Stmt::Share(..))) => found.shares = true,
                _ => {}
            }
            true
        });
        found
    }
}

/// The parts of values that stand outside of all functions.
pub(super) fn parts<'v>(values: impl Iterator<Item = &'v Dynamic>) -> ScriptResult<u64> {
    values.map(|value| Ok(ScriptSize::of(value)?.parts() as u64 - 1)).sum()
}

/// What runs of a script have looked up; nothing if nothing may be kept.
pub(super) struct ScriptLookups {
    kept: Mutex<Option<Caches>>,
    keeps: bool,
    /// The file of the script.
    source: Option<ImmutableString>,
}

impl ScriptLookups {
    pub(super) fn new(ast: &AST, mentions: &ScriptMentions) -> Self {
        Self { kept: Mutex::default(), keeps: !mentions.imports, source: ast.source().map(Into::into) }
    }

    fn global(&self, engine: &Engine, ast: &AST) -> GlobalRuntimeState {
        let mut global = engine.new_global_runtime_state();
        global.source.clone_from(&self.source);
        global.lib.push(ast.shared_lib().clone());
        global
    }

    /// Runs something with the finds of earlier runs. A run inside of a run, or on another thread at the same time, begins
    /// with none.
    fn lend(&self, run: impl FnOnce(&mut Caches) -> ScriptResult<Dynamic>) -> ScriptResult<Dynamic> {
        let mut caches = self.kept.try_lock().ok().and_then(|mut kept| kept.take()).unwrap_or_default();
        let outcome = run(&mut caches);
        if self.keeps
            && caches.fn_resolution_cache_mut().dict.len() <= limits::RECORDED
            && let Ok(mut kept) = self.kept.try_lock()
        {
            *kept = Some(caches);
        }
        outcome
    }

    /// Runs the statements of a script.
    pub(super) fn eval(&self, engine: &Engine, ast: &AST, scope: &mut Scope<'_>) -> ScriptResult<Dynamic> {
        let mut global = self.global(engine, ast);
        global.level = LEVELS;
        self.lend(|caches| statements(engine, ast, &mut global, caches, scope))
    }

    /// Calls a function of a script. What the script imports, and its constants, are known to it.
    pub(super) fn call(&self, engine: &Engine, ast: &AST, function: &str, args: &mut [Dynamic]) -> ScriptResult<Dynamic> {
        let mut global = self.global(engine, ast);
        let mut scope = Scope::new();
        let outcome = self.lend(|caches| {
            // imports and constants are statements
            if !ast.statements().is_empty() {
                let _ = statements(engine, ast, &mut global, caches, &mut scope)?;
                hold_constants(parts(scope.iter_raw().map(|(.., value)| value))?);
                scope.clear();
            }
            if ast.shared_lib().get_script_fn(function, args.len()).is_none() {
                return Err(EvalAltResult::ErrorFunctionNotFound(function.into(), Position::NONE).into());
            }
            let mut args: Vec<&mut Dynamic> = args.iter_mut().collect();
            EvalContext::new(engine, &mut global, caches, &mut scope, None).call_fn_raw(function, false, false, &mut args)
        });
        outcome.or_else(|error| match *error {
            EvalAltResult::Exit(value, _) => Ok(value),
            // the caller knows which function it has called
            EvalAltResult::ErrorInFunctionCall(name, _, inner, _) if name == function => Err(inner),
            other => Err(other.into()),
        })
    }
}

#[expect(deprecated, reason = "the one way to run statements with finds that are kept; the version of the interpreter is fixed")]
fn statements(
    engine: &Engine,
    ast: &AST,
    global: &mut GlobalRuntimeState,
    caches: &mut Caches,
    scope: &mut Scope<'_>,
) -> ScriptResult<Dynamic> {
    engine.eval_statements_raw(global, caches, scope, ast.statements())
}
