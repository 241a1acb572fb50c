//! What is not compiled with a pack: programs and foreign formats of one without mistakes, compiled when they are first run, and
//! expressions that are evaluated alone.

use std::sync::{Arc, Mutex, PoisonError};

use crate::diag::{Code, DocumentNode, NodeValue, Span};
use crate::model::Pack;
use crate::syntax::CompileContext;
use crate::syntax::context::{CompileBasis, ItemScope};
use crate::terms::Expr;
use crate::text::work;

/// Compiles the rest of a pack, piece by piece.
pub(super) struct DeferredCompiler {
    pack: Arc<Pack>,
    basis: Mutex<CompileBasis>,
}

impl DeferredCompiler {
    pub(super) fn of(pack: &Arc<Pack>, cx: &CompileContext<'_>) -> Self {
        Self { pack: pack.clone(), basis: Mutex::new(cx.basis()) }
    }

    /// Compiles a piece. A build that is the first to need it pays no more than those that find it compiled.
    pub(super) fn compile<T>(&self, piece: impl FnOnce(&mut CompileContext<'_>) -> T) -> T {
        let mut basis = self.basis.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cx = CompileContext::over(&self.pack, basis.clone());
        cx.tested = true;
        let made = work::without_budget(|| piece(&mut cx));
        let compiled = cx.basis();
        debug_assert!(basis.has_fields_of(&compiled), "a field is used that was not known");
        *basis = compiled;
        made
    }

    /// Compiles an expression, as [`Programs::compile_expression`](super::Programs::compile_expression) says.
    pub(super) fn compile_expression(&self, expression: &str) -> Result<Expr, String> {
        let basis = self.basis.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut cx = CompileContext::over(&self.pack, basis);
        cx.scopes.push(ItemScope::Any);
        let compiled = cx.expression(&DocumentNode { span: Span::default(), data: NodeValue::Text(expression.into()) });
        let error = cx.report.items().iter().find(|error| error.code == Code::ExpressionBad);
        error.map_or(Ok(compiled), |error| Err(error.message.clone()))
    }
}
