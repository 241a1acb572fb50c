//! A compiled pass, what every verb must declare about itself, and what verbs read their terms with.

use std::sync::Arc;

use crate::diag::{Code, DocumentNode, FieldMap, Span};
use crate::model::term::names;
use crate::model::{FieldId, Item, Term, TermType, Value};
use crate::syntax::conditions::PathMode;
use crate::syntax::context::{ItemScope, TailQuery};
use crate::syntax::{CompileContext, selections};
use crate::terms::ledger::BudgetNumbers;
use crate::terms::memo::MemoCell;
use crate::terms::select::{SelectSequence, pass_env};
use crate::terms::state::PassReason;
use crate::terms::{BuildState, Cond, Env, EvalFault, Expr, PassContext, PassMemo, PassReasons, Select};
use crate::text::work::BudgetExceeded;

/// What a failing script, filter or program means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// A warning; the item is not selected.
    Spare,
    /// A warning; what the pass has done so far stands.
    Keep,
    /// An error.
    Error,
}

/// Why a program ended early.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramInterrupt {
    /// `then = "stop"` or `level = "stop"`: no error.
    Stop,
    /// An evaluation failed.
    Fault(EvalFault),
    /// A warning, where warnings are errors.
    Warned,
    /// A hook or a function of the embedding program failed, which no pass handles.
    Host(EvalFault),
    /// A requirement of the pack is not met.
    Refused {
        /// The code that the pass names.
        code: String,
        /// What is wrong.
        message: String,
        /// What there was room for, where it is about room.
        room: Option<BudgetNumbers>,
    },
}

impl From<BudgetExceeded> for ProgramInterrupt {
    fn from(exceeded: BudgetExceeded) -> Self {
        ProgramInterrupt::Fault(exceeded.into())
    }
}

impl From<EvalFault> for ProgramInterrupt {
    fn from(fault: EvalFault) -> Self {
        ProgramInterrupt::Fault(fault)
    }
}

/// A verb as the table knows it: one row for each file of this room that is a verb.
#[derive(Clone, Copy)]
pub struct VerbInfo {
    /// The word in `do = "…"`.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Its own terms, beside those that every pass may have.
    pub terms: &'static [Term],
    /// What it costs.
    pub cost: &'static str,
    /// What the trail says that it did to an item.
    pub did: &'static str,
    /// Reads its terms; `None` after an error that leaves nothing to run.
    pub parse: fn(&mut CompileContext<'_>, &WrittenPass<'_>) -> Option<Box<dyn Verb>>,
}

/// A pass as it is written.
pub struct WrittenPass<'a> {
    /// Its terms.
    pub fields: &'a FieldMap,
    /// Its verb, as the table knows it.
    pub info: &'static VerbInfo,
    /// Where its verb stands.
    pub span: Span,
    /// What `@` means in its terms.
    pub scope: &'a ItemScope,
}

impl<'a> WrittenPass<'a> {
    /// What is written under a term.
    pub fn node(&self, term: &str) -> Option<&'a DocumentNode> {
        self.fields.get(term).map(|f| &f.node)
    }

    /// The text under a term.
    pub fn text(&self, term: &str) -> Option<&'a str> {
        self.node(term)?.as_text()
    }

    /// Whether a term is `true`.
    pub fn flag(&self, term: &str) -> bool {
        self.node(term).and_then(DocumentNode::as_bool).unwrap_or(false)
    }

    /// The word under a term, or the one that the verb declares as its default.
    pub fn word(&self, term: &str) -> &'a str {
        let default = || self.info.terms.iter().find(|declared| declared.name == term).map_or("", |declared| declared.default);
        self.text(term).unwrap_or_else(default)
    }

    /// The value under a term.
    pub fn value(&self, cx: &mut CompileContext<'_>, term: &str) -> Option<Expr> {
        self.node(term).map(|node| cx.expr(node))
    }

    /// The condition on items of the pass that is under a term.
    pub fn condition(&self, cx: &mut CompileContext<'_>, term: &str) -> Option<Cond> {
        let cond = self.node(term).map(|node| cx.within(self.scope.clone(), |cx| cx.cond(node, PathMode::Item)))?;
        Some(cx.sealed_cond(cond))
    }

    /// The field of items of the pass that a term names.
    pub fn field(&self, cx: &mut CompileContext<'_>, term: &str) -> Option<FieldId> {
        let node = self.node(term)?;
        let name = node.as_text()?;
        cx.within(self.scope.clone(), |cx| cx.check_field(0, name, node.span));
        Some(cx.fields.intern(name))
    }

    /// The list that a term names.
    pub fn list(&self, cx: &mut CompileContext<'_>, term: &str) -> Option<usize> {
        let node = self.node(term)?;
        Some(cx.list(node.as_text()?, node.span))
    }
}

/// What a verb does with its terms.
pub trait Verb: Send + Sync {
    /// How much of an unread history it needs.
    fn reach(&self, pass: &CompiledPass) -> HistoryDemand<'_>;
    /// Runs the verb. The list has been read as far as [`Verb::reach`] requires.
    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
    /// The program that it runs, by number.
    fn callee(&self) -> Option<usize> {
        None
    }
}

/// How much of an unread history a verb needs.
pub enum HistoryDemand<'a> {
    /// It reads what it needs by itself.
    Own,
    /// It looks at no item.
    Nothing,
    /// Each selected item is changed by itself, whatever the others are.
    Each(&'a dyn ItemChange),
    /// The selected items.
    Selected,
    /// The selected items and those beside them.
    Neighbours,
}

/// A change of one item that looks at no other, so that it can wait until the item is read.
pub trait ItemChange {
    /// Changes the item; false if it is gone. `nth`: how many were changed before it. A change that fails leaves the item as it
    /// was.
    fn change(&self, item: &mut Item, place: usize, nth: usize, env: &Env<'_>) -> Result<bool, EvalFault>;
    /// The fields that it may change.
    fn fields(&self) -> Vec<FieldId>;
    /// The change depends on how many items were visited before.
    fn numbers(&self) -> bool;
    /// It may write or draw, so that the order of items matters.
    fn has_effects(&self) -> bool;
    /// It may drop an item.
    fn leaves_out(&self) -> bool {
        false
    }
}

/// Runs other programs; implemented by the room above.
pub trait ProgramRunner {
    /// Runs a program by number, over `list` if given.
    fn program(&self, program: usize, list: Option<usize>, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
    /// The list that a program works on by itself.
    fn list_of(&self, program: usize) -> usize;
    /// Runs a script of the pack over the list of a pass.
    fn script(&self, function: &str, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
    /// Runs the hooks `before_NAME` now, and those of `after_NAME` when the current program ends.
    fn event(&self, name: &str, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt>;
}

/// A compiled pass.
pub struct CompiledPass {
    /// `program/pass`.
    pub id: Arc<str>,
    /// Where its name is written.
    pub span: Span,
    /// Its verb, as the table knows it.
    pub info: &'static VerbInfo,
    /// A condition on the scene that decides whether the pass runs at all.
    pub when: Option<Cond>,
    /// Which items.
    pub select: Select,
    /// The list, if not the program's own.
    pub list: Option<usize>,
    /// After this pass the program ends.
    pub stop: bool,
    /// What a failure means.
    pub failing: FailurePolicy,
    /// What a trace gives as the reason for what it does to items.
    pub reason: Option<ReasonTerms>,
    /// What its gate reads of lists.
    pub gate_reads: ListReads,
    /// What its other terms read of lists.
    pub reads: ListReads,
    /// What its memo cells hold, to be filled at once when the pass is queued.
    pub cells: Vec<MemoCell>,
    /// What it does.
    pub verb: Box<dyn Verb>,
}

/// One run of a pass: what its verb is given besides the state of the build.
pub struct PassRun<'r> {
    /// The pass.
    pub pass: &'r Arc<CompiledPass>,
    /// The list that it works on.
    pub list: usize,
    /// What it has evaluated.
    pub memo: PassMemo,
    /// The reasons that it gives, where a trace is kept.
    pub reasons: Option<PassReasons>,
    /// What runs other programs.
    pub runner: &'r dyn ProgramRunner,
}

impl PassRun<'_> {
    /// The environment of its terms, without a current item.
    pub fn env<'e>(&'e self, st: &'e BuildState) -> Env<'e> {
        pass_env(st, &self.memo)
    }

    /// A memo for terms that are evaluated anew, because the state has changed.
    pub fn fresh_memo(&self) -> PassMemo {
        PassMemo::of(self.memo.pass)
    }

    /// The chosen items of the list, by index, in visiting order.
    pub fn chosen(&self, st: &BuildState) -> Result<Vec<usize>, EvalFault> {
        self.pass.select.run_for(SelectSequence::Items(&st.list(self.list).items), &self.env(st), self.reasons.as_ref())
    }

    /// Records what it did to an item and why, when a trace is kept.
    pub fn note(&self, item: &Item, did: &'static str, st: &BuildState) {
        st.note(item, did, self.reasons.as_ref());
    }

    /// Keeps what decided about an item for the reason that it gives.
    pub fn tell<const N: usize>(&self, item: &Item, facts: [(&str, Value); N]) {
        if let Some(reasons) = &self.reasons {
            reasons.tell(item, facts);
        }
    }
}

impl CompiledPass {
    /// Whether one item, looked at alone, is chosen: for selections that judge each item by itself.
    pub fn chooses(&self, env: &Env<'_>, enabled: bool) -> Result<bool, EvalFault> {
        self.select.chooses(env, enabled)
    }
}

/// Refuses the words of selections.
pub(super) fn selection(cx: &mut CompileContext<'_>, fields: &FieldMap, why: &str, help: &str) {
    for word in names(selections::TERMS) {
        refuse(cx, fields, word, &format!("`{word}` has no meaning here: {why}"), help);
    }
}

/// Refuses a term, if the pass has it.
pub(super) fn refuse(cx: &mut CompileContext<'_>, fields: &FieldMap, key: &str, message: &str, help: &str) {
    if let Some(field) = fields.get(key) {
        cx.fail(Code::TwoMeanings, field.key, message, Some(help.into()));
    }
}

/// The code of a reason, which nothing is compared with.
pub(super) const CODE_OF_REASON: TermType = TermType::Json(r#"{ "x-free": "text", "type": "string" }"#);

/// The term of the verbs that can change elements.
pub(super) const EACH: Term = Term::text(
    "each",
    "a field that is a list: its elements are changed instead of the items. Then `where` (for `order`: `by`, `end`, `draw`) is about the elements, whose \
     fields have bare names; `item.role` is a field of the item. All items that have the field are changed",
);

/// The terms `reason` and `reason_details` of a pass.
pub struct ReasonTerms {
    because: Arc<PassReason>,
    /// What `reason_details` reads of lists.
    reads: ListReads,
}

impl ReasonTerms {
    /// Reads the terms; `None` for a pass without `reason`.
    pub(super) fn parse(cx: &mut CompileContext<'_>, fields: &FieldMap, scope: &ItemScope) -> Option<Self> {
        let why = fields.get("reason_details");
        let Some(code) = fields.get("reason").and_then(|f| f.node.as_text()) else {
            if let Some(why) = why {
                let help = Some("add `reason = \"…\"`, the code that `reason_details` belongs to".into());
                cx.fail(Code::TermMissing, why.key, "`reason_details` needs `reason`", help);
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
            cx.fail(Code::TermType, *span, "`reason_details` may not draw", help);
        }
        let because = Arc::new(PassReason { code: code.into(), why: expr.map(|(e, _)| e) });
        cx.cells.clear();
        Some(Self { because, reads: ListReads::take(cx) })
    }

    /// Has the lists read that `reason_details` looks at. Called where a trace is kept.
    pub(super) fn ready(&self, pass: PassContext, st: &BuildState) -> Result<(), EvalFault> {
        self.reads.ready(pass, st)
    }

    /// What a run of the pass over a list gives as its reasons; `None` where no trace is kept.
    pub(super) fn begin(&self, list: usize, st: &BuildState) -> Option<PassReasons> {
        PassReasons::begin(Some(&self.because), list, st)
    }
}

/// A code that a verb names in one of its own terms.
pub(super) fn code_of_reason(node: Option<&DocumentNode>) -> Option<Arc<PassReason>> {
    node.and_then(DocumentNode::as_text).map(|code| Arc::new(PassReason { code: code.into(), why: None }))
}

/// What queries read of lists.
#[derive(Default)]
pub struct ListReads {
    /// Lists that are read whole.
    pub whole: Vec<usize>,
    /// What is left of an account is asked for, which counts the whole current list.
    pub account: bool,
    /// The place of an item in its list is asked for, which takes the whole list.
    pub index: bool,
    /// Lists of which only the newest end is looked at, and by which selection.
    pub tails: Vec<TailQuery>,
}

impl ListReads {
    pub(super) fn take(cx: &mut CompileContext<'_>) -> Self {
        // a name that is compiled once and used again reports what it reads only once
        cx.forget_names();
        Self {
            whole: std::mem::take(&mut cx.reads),
            account: std::mem::take(&mut cx.reads_account),
            index: std::mem::take(&mut cx.reads_index),
            tails: std::mem::take(&mut cx.tails),
        }
    }

    /// Has the lists read as far as the queries of a pass will look.
    pub fn ready(&self, pass: PassContext, st: &BuildState) -> Result<(), EvalFault> {
        for list in &self.whole {
            st.load_all(*list)?;
        }
        if self.account {
            st.load_all(pass.list)?;
        }
        let memo = PassMemo::of(pass);
        for TailQuery { list, select, index } in &self.tails {
            st.read_tail(*list, select, *index, &pass_env(st, &memo))?;
        }
        Ok(())
    }
}
