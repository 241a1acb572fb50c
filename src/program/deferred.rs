//! Programs and foreign formats of a pack without mistakes, compiled when they are first run.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::Pack;
use crate::syntax::CompileContext;
use crate::syntax::context::CompileBasis;
use crate::text::work;

/// Compiles the rest of a tested pack, piece by piece.
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
}
