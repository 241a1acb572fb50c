//! Programs: ordered passes over lists, compiled once and run over the state of a build.
//!
//! [`compile()`] turns a merged [`Pack`] into a [`Program`] table with every name resolved; [`Machine`] runs them.
//! The build itself is such a program (`build`), so this room knows no stage by name.

pub mod cells;
pub mod compile;
mod deferred;
pub mod foreign;
pub mod machine;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use crate::model::Pack;
use crate::model::term::RowTerms;
use crate::terms::{CompiledRules, Expr};
use crate::verbs::CompiledPass;

pub use crate::syntax::expression::place_table;
pub use crate::syntax::expression_tables::{ExpressionPlace, read_tables};
pub(crate) use crate::syntax::values::function_names;
pub use crate::verbs::condition_terms;
pub(crate) use crate::verbs::pass_schema;
pub(crate) use compile::ENGINE_TABLES;
pub use compile::{DetachedCondition, compile};
use deferred::DeferredCompiler;
pub use machine::{HookRequest, Machine};

/// The programs that the engine starts itself, in addition to those of the dialects.
const STARTED: &[&str] = &["build", "lint", "macros"];

/// The keys of rows that programs read.
pub(crate) const ROWS: &[&[RowTerms]] = &[compile::ROWS, foreign::ROWS, crate::verbs::ROWS];

/// A compiled program.
pub struct Program {
    /// Its name.
    pub name: Arc<str>,
    /// The list that it works on by itself.
    pub list: usize,
    passes: OnceLock<Vec<Arc<CompiledPass>>>,
    /// What compiles its passes, and their names.
    deferred: Option<(Arc<DeferredCompiler>, Vec<Arc<str>>)>,
}

impl Program {
    fn new(name: Arc<str>, list: usize, passes: Vec<Arc<CompiledPass>>) -> Self {
        Self { name, list, passes: passes.into(), deferred: None }
    }

    /// A program whose passes are compiled when they are first asked for.
    fn defer(name: Arc<str>, list: usize, compiler: Arc<DeferredCompiler>, passes: Vec<Arc<str>>) -> Self {
        Self { name, list, passes: OnceLock::new(), deferred: Some((compiler, passes)) }
    }

    /// Its passes, in order.
    pub fn passes(&self) -> &[Arc<CompiledPass>] {
        self.passes.get_or_init(|| {
            let Some((compiler, passes)) = &self.deferred else { return Vec::new() };
            compiler.compile(|cx| {
                let pack = cx.pack;
                compile::passes_of(cx, self.list, passes.iter().filter_map(|pass| pack.row("pass", pass)))
            })
        })
    }
}

/// All programs of a pack, with the rules that they share.
pub struct Programs {
    /// Tables, values, accounts …
    pub rules: Arc<CompiledRules>,
    /// The programs, in the order of their rows.
    pub list: Vec<Program>,
    /// The foreign formats that the pack reads.
    pub formats: foreign::FormatList,
    /// Compiles what is not compiled with the pack.
    compiler: Arc<DeferredCompiler>,
    /// How many of the fields rows of the pack declare; they have the first numbers.
    declared_fields: usize,
}

impl Programs {
    /// The number of a program.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|p| p.name.as_ref() == name)
    }

    /// The names of fields that they use and no row of the pack declares, one a line and in the order in which they are compiled.
    pub(crate) fn undeclared_fields(&self) -> String {
        self.rules.fields.iter().skip(self.declared_fields).map(|field| format!("{field}\n")).collect()
    }

    /// Compiles an expression over an item of any fields. Nothing but its syntax is checked.
    ///
    /// # Errors
    /// What cannot be read, as a sentence without a full stop.
    pub(crate) fn compile_expression(&self, expression: &str) -> Result<Expr, String> {
        self.compiler.compile_expression(expression)
    }

    /// The programs that a build or a payload of the pack runs.
    pub(crate) fn run_by_builds<'p>(&'p self, pack: &'p Pack) -> HashSet<&'p str> {
        let dialects = pack.rows("form").filter_map(|row| row.name.strip_suffix("/payload"));
        let mut open: Vec<&str> = STARTED.iter().copied().chain(dialects).collect();
        let mut run = HashSet::new();
        while let Some(name) = open.pop() {
            let Some(program) = self.find(name).and_then(|n| self.list.get(n)) else { continue };
            if run.insert(&*program.name) {
                let called = program.passes().iter().filter_map(|pass| self.list.get(pass.verb.callee()?));
                open.extend(called.map(|program| &*program.name));
            }
        }
        run
    }

    /// A pass, to be changed in place. `None` if there is no such pass, or if it is shared.
    pub fn pass_mut(&mut self, name: &str) -> Option<&mut crate::verbs::CompiledPass> {
        let program = self.list.iter_mut().find(|program| program.passes().iter().any(|pass| *pass.id == *name))?;
        Arc::get_mut(program.passes.get_mut()?.iter_mut().find(|pass| *pass.id == *name)?)
    }
}
