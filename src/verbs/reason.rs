//! The reasons of a pass: its code `because`, and the details `why` about each item. They are evaluated only for a
//! trace.

use std::sync::Arc;

use crate::diag::{Code, DocumentNode, FieldMap};
use crate::model::TermType;
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::state::PassReason;
use crate::terms::{BuildState, EvalFault};

use super::reads::ListReads;

/// The code of a reason, which nothing is compared with.
pub(super) const CODE_OF_REASON: TermType = TermType::Json(r#"{ "x-free": "text", "type": "string" }"#);

/// The terms `because` and `why` of a pass.
pub struct ReasonTerms {
    because: Arc<PassReason>,
    /// What `why` reads of lists.
    reads: ListReads,
}

impl ReasonTerms {
    /// Reads the terms; `None` for a pass without `because`.
    pub(super) fn parse(cx: &mut CompileContext<'_>, fields: &FieldMap, scope: &ItemScope) -> Option<Self> {
        let why = fields.get("why");
        let Some(code) = fields.get("because").and_then(|f| f.node.as_text()) else {
            if let Some(why) = why {
                let help = Some("add `because = \"…\"`, the code that `why` belongs to".into());
                cx.fail(Code::TermMissing, why.key, "`why` needs `because`", help);
            }
            return None;
        };
        // it has a separate memo: without a trace nothing of it is evaluated
        cx.memo = Some(0);
        let mut told = |node: &DocumentNode| {
            let expr = cx.within(scope.clone(), |cx| cx.expr(node));
            cx.sealed(expr)
        };
        let expr = why.map(|f| (told(&f.node), f.node.span));
        if let Some((_, span)) = expr.as_ref().filter(|(e, _)| e.draws()) {
            let help = Some("a build must come out alike with and without a trace; the draws of a selection are told by themselves".into());
            cx.fail(Code::TermType, *span, "`why` may not draw", help);
        }
        let because = Arc::new(PassReason { code: code.into(), why: expr.map(|(e, _)| e) });
        cx.cells.clear();
        Some(Self { because, reads: ListReads::take(cx) })
    }
}

/// Sets the reason of the running pass, or none.
pub(super) fn begin(reason: Option<&ReasonTerms>, st: &BuildState) -> Result<(), EvalFault> {
    if let (Some(reason), true) = (reason, st.trail.is_some()) {
        reason.reads.ready(st)?;
    }
    st.begin_reasons(reason.map(|r| r.because.clone()));
    Ok(())
}

/// A code that a verb names in one of its own terms.
pub(super) fn code(node: Option<&DocumentNode>) -> Option<Arc<PassReason>> {
    node.and_then(DocumentNode::as_text).map(|code| Arc::new(PassReason { code: code.into(), why: None }))
}
