//! The verbs: what a pass does with the items that its selection chose.
//!
//! One file is one verb: its row of the [table](VERBS), its terms as compiled, how they are read, how much of an unread
//! history it needs, and what it does. `repeat` and `run` need other programs, which they reach through [`ProgramRunner`].
//! Here is how a pass of any verb is read, and how it is run: its gate, then its reads, then its verb.

pub mod add;
pub mod admit;
pub mod drop;
mod elements;
pub mod evict;
pub mod matching;
pub mod merge;
pub mod order;
pub mod pass;
pub mod place;
pub mod reach;
pub mod repeat;
pub mod require;
pub mod reserve;
pub mod run;
mod schema;
pub mod set;
pub mod shape;
pub mod split;

pub use pass::{CompiledPass, FailurePolicy, PassRun, ProgramInterrupt, ProgramRunner};
pub use schema::pass_schema;

use std::sync::{Arc, LazyLock};

use indexmap::IndexSet;

use crate::diag::{Code, DiagnosticCode, DocumentNode, FieldMap, Help, Span};
use crate::model::pack::{ABOUT, LAYERING};
use crate::model::term::{RowTerms, names};
use crate::model::{Term, TermType};
use crate::syntax::conditions::PathMode;
use crate::syntax::{CompileContext, selections};
use crate::terms::select::pass_env;
use crate::terms::state::RunStat;
use crate::terms::{BuildState, PassContext, PassMemo, PassReasons};
use crate::text::work;

use pass::{CODE_OF_REASON, ListReads, ReasonTerms, VerbInfo, WrittenPass};

/// All verbs. A verb file that is missing here is dead code, which the compiler refuses.
pub const VERBS: &[&VerbInfo] = &[
    &add::INFO,
    &drop::INFO,
    &set::INFO,
    &shape::INFO,
    &place::INFO,
    &order::INFO,
    &merge::INFO,
    &split::INFO,
    &matching::INFO,
    &reserve::INFO,
    &admit::INFO,
    &evict::INFO,
    &require::INFO,
    &repeat::INFO,
    &run::INFO,
];

/// Terms that a pass of any verb may have.
pub const SHARED: &[Term] = &[
    Term::json(
        "name",
        r#"{ "type": "string", "minLength": 1, "pattern": "^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_]+$" }"#,
        "`program/pass`, or the short name of a pass of the file's own `program`",
    ),
    ABOUT,
    Term::text("do", "the verb. A pass without one patches the pass of that name in a lower layer"),
    Term::defined("when", "gate", "whether the pass runs at all: a condition on the scene. `false` switches it off"),
    Term::word("on_run", &["next", "stop"], "`stop`: if this pass ran, the program ends here").default("next"),
    Term::text("list", "the list that this pass works on").default("the list of its program"),
    Term::word(
        "on_error",
        &["skip", "keep", "error"],
        "what happens if a script or a condition of the data fails: `skip` (a warning, and the item is not selected), `keep` (a \
             warning, and what the pass has done stays), `error`",
    )
    .default("error"),
    Term::new("reason", CODE_OF_REASON, "a code for why the pass changes its items; a trace gives it as their reason"),
    Term::defined(
        "reason_details",
        "value",
        "with `reason`: a table that a trace adds to the details of an item (`@field` is the item). It may not draw",
    ),
];

/// The keys of rows that verbs read.
pub const ROWS: &[RowTerms] = &[
    ("round", &[repeat::ROUND]),
    ("scan_source", &[matching::SCAN_SOURCE]),
    ("matcher", &[matching::MATCHER]),
    ("logic", &[matching::LOGIC]),
];

/// The terms of passes that are conditions, each once.
pub fn condition_terms() -> impl Iterator<Item = &'static str> {
    static NAMES: LazyLock<IndexSet<&'static str>> = LazyLock::new(|| {
        let own = VERBS.iter().flat_map(|verb| verb.terms);
        let all = SHARED.iter().chain(selections::TERMS).chain(own);
        all.filter(|term| matches!(term.kind, TermType::Defined("condition" | "gate"))).map(|term| term.name).collect()
    });
    NAMES.iter().copied()
}

impl CompiledPass {
    /// Reads a pass. `list` is the list of its program. `None` after an error that leaves nothing to run.
    pub fn parse(cx: &mut CompileContext<'_>, id: &Arc<str>, span: Span, fields: &FieldMap, list: usize) -> Option<Self> {
        let node = |key: &str| fields.get(key).map(|f| &f.node);
        let Some(word) = node("do") else {
            cx.fail(Code::NoVerb, span, format!("pass `{id}` has no verb"), Some("add `do = \"…\"`; `tapster ops` lists the verbs".into()));
            return None;
        };
        let name = word.as_text().unwrap_or("");
        let Some(info) = VERBS.iter().copied().find(|v| v.name == name) else {
            let near = cx.report.words.help(name, VERBS.iter().map(|v| v.name));
            let help = near.unwrap_or_else(|| "`tapster ops` lists the verbs".into());
            cx.fail(Code::NoVerb, word.span, format!("there is no verb `{name}`"), Some(help));
            return None;
        };
        check_terms(cx, info, fields);
        cx.memo = Some(0);
        cx.forget_names();
        cx.cells.clear();
        cx.reads.clear();
        cx.tails.clear();
        cx.reads_account = false;
        cx.reads_index = false;
        cx.scopes.clear();
        let own = node("list").map(|n| {
            let name = n.as_text().unwrap_or("").to_owned();
            cx.list(&name, n.span)
        });
        let scope = cx.rows_of(own.unwrap_or(list));
        let when = node("when").map(|n| cx.cond(n, PathMode::Scene));
        let gate_reads = ListReads::take(cx);
        let elements = elements::is_about_elements(info, fields);
        let (select, changes) = if elements {
            let (select, verb) = elements::parse(cx, info, fields, word.span, &scope)?;
            (select, Some(verb))
        } else {
            (cx.select(fields, scope.clone()), None)
        };
        let mut select = cx.sealed_select(select);
        if select.stream.is_empty() {
            select.stream = id.clone();
        }
        let verb = match changes {
            Some(verb) => verb,
            None => (info.parse)(cx, &WrittenPass { fields, info, span: word.span, scope: &scope })?,
        };
        let failing = match node("on_error").and_then(DocumentNode::as_text) {
            Some("skip") => FailurePolicy::Spare,
            Some("keep") => FailurePolicy::Keep,
            _ => FailurePolicy::Error,
        };
        let stop = node("on_run").and_then(DocumentNode::as_text) == Some("stop");
        let (reads, cells) = (ListReads::take(cx), std::mem::take(&mut cx.cells));
        let reason = ReasonTerms::parse(cx, fields, &scope);
        cx.memo = None;
        cx.forget_names();
        Some(Self { id: id.clone(), span, info, when, select, list: own, stop, failing, reason, gate_reads, reads, cells, verb })
    }
}

fn check_terms(cx: &mut CompileContext<'_>, info: &VerbInfo, fields: &FieldMap) {
    let known: Vec<&str> = names(SHARED).chain(names(selections::TERMS)).chain(names(info.terms)).collect();
    // these never come this far, so what is near to one of them was meant for it
    let meant: Vec<&str> = known.iter().copied().chain(names(LAYERING)).collect();
    for (key, field) in fields {
        if known.contains(&key.as_ref()) {
            continue;
        }
        let owners: Vec<&str> = VERBS.iter().filter(|v| names(v.terms).any(|term| term == key.as_ref())).map(|v| v.name).collect();
        let help = cx.report.words.nearest(key, meant.iter().copied()).map(Help::from).or_else(|| {
            (!owners.is_empty())
                .then(|| format!("`{key}` is a term of {}", owners.iter().map(|o| format!("`{o}`")).collect::<Vec<_>>().join(", ")).into())
        });
        let terms = if info.terms.is_empty() { "no terms of its own".to_owned() } else { names(info.terms).collect::<Vec<_>>().join(", ") };
        let shared = names(SHARED).collect::<Vec<_>>().join(", ");
        let help = help.or_else(|| Some(format!("`{}` takes {terms}, and what every pass may have: {shared}", info.name).into()));
        // a key of no verb is told as the schema tells it
        if owners.is_empty() {
            cx.fail(Code::SchemaUnknownKey, field.key, format!("unknown key `{key}` in a pass of `{}`", info.name), help);
        } else {
            cx.fail(Code::TwoMeanings, field.key, format!("`{key}` is no term of `{}`", info.name), help);
        }
    }
}

impl CompiledPass {
    /// Runs the pass over `list` (its own list wins).
    pub fn run(self: &Arc<Self>, st: &mut BuildState, list: usize, runner: &dyn ProgramRunner) -> Result<(), ProgramInterrupt> {
        let _rule = work::rule(&self.id);
        work::spend(work::STEPS_PER_OPERATION)?;
        self.is_running(st);
        let list = self.list.unwrap_or(list);
        if let Some(when) = &self.when {
            let gate = PassContext { list, spares: false };
            self.gate_reads.ready(gate, st)?;
            let held = pass_env(st, &PassMemo::of(gate)).holds(when)?;
            if let Some(seen) = &st.coverage {
                seen.pass(&self.id, &self.select, held);
            }
            if !held {
                st.skipped(&self.id);
                return Ok(());
            }
        } else if let Some(seen) = &st.coverage {
            seen.pass(&self.id, &self.select, true);
        }
        let context = PassContext { list, spares: self.failing == FailurePolicy::Spare };
        self.reads.ready(context, st)?;
        let reasons = match &self.reason {
            Some(reason) if st.trace.is_some() => {
                reason.ready(context, st)?;
                reason.begin(list, st)
            }
            _ => PassReasons::begin(None, list, st),
        };
        let run = PassRun { pass: self, list, memo: PassMemo::of(context), reasons, runner };
        let result = reach::prepare(&run, st).map_err(Into::into).and_then(|()| self.verb.run(&run, st));
        self.is_running(st);
        // whatever the pass and its caller do about a failure, nothing goes on when the work is spent
        work::check()?;
        if st.refuses() {
            return Err(ProgramInterrupt::Warned);
        }
        let result = match result {
            Err(ProgramInterrupt::Refused { code, message, .. }) if self.failing == FailurePolicy::Keep => {
                st.warn_with(DiagnosticCode::named(&code), message, None, None);
                Ok(())
            }
            Err(ProgramInterrupt::Fault(f)) if self.failing != FailurePolicy::Error && !f.is_bound() => {
                st.warn_failed(format!("pass `{}` fails: {}", self.id, f.message), &f);
                Ok(())
            }
            other => other,
        };
        if let Some(trace) = &st.trace {
            let items = st.list(list).items.len();
            trace.runs.borrow_mut().push(RunStat { pass: self.id.clone(), items });
        }
        if st.refuses() {
            return Err(ProgramInterrupt::Warned);
        }
        result?;
        if self.stop { Err(ProgramInterrupt::Stop) } else { Ok(()) }
    }

    /// Notes that the pass runs.
    #[inline]
    fn is_running(&self, st: &BuildState) {
        let mut running = st.pass.borrow_mut();
        if !Arc::ptr_eq(&running, &self.id) {
            *running = self.id.clone();
        }
    }
}
