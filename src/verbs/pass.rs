//! A compiled pass, and how it is run: gate, reach, selection, verb.

use std::sync::Arc;

use crate::diag::{Code, Node, Span, Table, suggest};
use crate::syntax::CompileContext;
use crate::syntax::conditions::Mode;
use crate::syntax::context::Scope;
use crate::terms::ledger::Headroom;
use crate::terms::select::{Seq, pass_env};
use crate::terms::{Cond, Fault, Memo, Select, State};

use super::reason::{self, Reason};
use super::{Caller, Info, SHARED, VERBS};
use super::{add, admit, drop, evict, matching, merge, misuse, order, place, reach, repeat, require, reserve, run, set, shape, split};

/// What a failing script, filter or program means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// A warning; the item is not selected.
    Spare,
    /// A warning; what the pass has done so far stands.
    Keep,
    /// An error.
    Error,
}

/// Why a program ended early.
#[derive(Debug, Clone, PartialEq)]
pub enum Halt {
    /// `then = "stop"` or `level = "stop"`: no error.
    Stop,
    /// Something could not be worked out.
    Fault(Fault),
    /// A warning, where warnings are errors.
    Warned,
    /// A function of the embedding program failed: its own mistake, which no pass forgives.
    Host(String),
    /// A requirement of the pack is not met.
    Refused {
        /// The code that the pass names.
        code: String,
        /// What is wrong.
        message: String,
        /// What there was room for, where it is about room.
        room: Option<Headroom>,
    },
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// A verb with its terms.
pub enum Verb {
    /// Makes items.
    Add(add::Add),
    /// Removes items.
    Drop,
    /// Sets fields.
    Set(set::Set),
    /// Changes texts.
    Shape(shape::Shape),
    /// Moves items.
    Place(place::Place),
    /// Sorts items.
    Order,
    /// Joins neighbours.
    Merge(merge::Merge),
    /// Cuts items up.
    Split(split::Split),
    /// Finds keys.
    Match(matching::Match),
    /// Spends.
    Reserve(reserve::Reserve),
    /// Lets in.
    Admit(admit::Admit),
    /// Takes out.
    Evict(evict::Evict),
    /// Insists.
    Require(require::Require),
    /// Goes round.
    Repeat(repeat::Repeat),
    /// Calls.
    Run(run::Run),
}

/// What queries read of lists.
#[derive(Default)]
pub struct Reads {
    /// Lists that are read whole.
    pub whole: Vec<usize>,
    /// What is left of an account is asked for, which counts the whole current list.
    pub account: bool,
    /// The place of an item in its list is asked for, which takes the whole list.
    pub index: bool,
    /// Lists of which only the newest end is looked at, and by which selection.
    pub tails: Vec<(usize, Select)>,
}

impl Reads {
    pub(super) fn take(cx: &mut CompileContext<'_>) -> Self {
        Self {
            whole: std::mem::take(&mut cx.reads),
            account: std::mem::take(&mut cx.reads_account),
            index: std::mem::take(&mut cx.reads_index),
            tails: std::mem::take(&mut cx.tails),
        }
    }

    /// Has the lists read as far as the queries will look.
    pub fn ready(&self, st: &State) -> Result<(), Fault> {
        for list in &self.whole {
            st.force(*list)?;
        }
        if self.account {
            st.force(st.current.get())?;
        }
        let memo = Memo::default();
        for (list, select) in &self.tails {
            reach::read_tail(select, st, *list, &memo)?;
        }
        Ok(())
    }
}

/// A compiled pass.
pub struct Pass {
    /// `program/pass`.
    pub id: Arc<str>,
    /// Where its name is written.
    pub span: Span,
    /// The verb's word.
    pub word: &'static str,
    /// On the scene: whether it runs at all.
    pub when: Option<Cond>,
    /// Which items.
    pub select: Select,
    /// The list, if not the program's own.
    pub list: Option<usize>,
    /// After this pass the program ends.
    pub stop: bool,
    /// What a failure means.
    pub failing: Failing,
    /// What a trace gives as the reason for what it does to items.
    pub reason: Option<Reason>,
    /// What its gate reads of lists.
    pub gate_reads: Reads,
    /// What its other terms read of lists.
    pub reads: Reads,
    /// What its memo cells hold, to be filled at once when the pass is queued.
    pub cells: Vec<crate::terms::memo::Cell>,
    /// What it does.
    pub verb: Verb,
}

impl Pass {
    /// Reads a pass. `list` is the list of its program. `None` after a complaint that leaves nothing to run.
    pub fn parse(cx: &mut CompileContext<'_>, id: &Arc<str>, span: Span, fields: &Table, list: usize) -> Option<Self> {
        let node = |key: &str| fields.get(key).map(|f| &f.node);
        let Some(word) = node("do") else {
            cx.fail(Code::NoVerb, span, format!("pass `{id}` has no verb"), Some("add `do = \"…\"`; `tapster ops` lists the verbs".into()));
            return None;
        };
        let name = word.as_text().unwrap_or("");
        let Some(info) = VERBS.iter().find(|v| v.name == name) else {
            let help = suggest::help(name, VERBS.iter().map(|v| v.name));
            cx.fail(Code::NoVerb, word.span, format!("there is no verb `{name}`"), help);
            return None;
        };
        check_terms(cx, info, fields);
        misuse::check(cx, info.name, fields);
        cx.memo = Some(0);
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
        let when = node("when").map(|n| cx.cond(n, Mode::Scene));
        let gate_reads = Reads::take(cx);
        let select = cx.select(fields, scope.clone());
        let mut select = cx.sealed_select(select);
        if select.stream.is_empty() {
            select.stream = id.clone();
        }
        let verb = parse_verb(cx, info, fields, word.span, &scope)?;
        let failing = match node("failing").and_then(Node::as_text) {
            Some("spare") => Failing::Spare,
            Some("keep") => Failing::Keep,
            _ => Failing::Error,
        };
        let stop = node("then").and_then(Node::as_text) == Some("stop");
        let (reads, cells) = (Reads::take(cx), std::mem::take(&mut cx.cells));
        let reason = Reason::parse(cx, fields, &scope);
        cx.memo = None;
        Some(Self { id: id.clone(), span, word: info.name, when, select, list: own, stop, failing, reason, gate_reads, reads, cells, verb })
    }

    /// Runs the pass over `list` (its own list wins).
    pub fn run(self: &Arc<Self>, st: &mut State, list: usize, caller: &dyn Caller) -> Result<(), Halt> {
        *st.pass.borrow_mut() = self.id.clone();
        let memo = Memo::default();
        if let Some(when) = &self.when {
            self.gate_reads.ready(st)?;
            if !pass_env(st, &memo).holds(when)? {
                return Ok(());
            }
        }
        self.reads.ready(st)?;
        st.sparing.set(self.failing == Failing::Spare);
        let list = self.list.unwrap_or(list);
        reason::begin(self.reason.as_ref(), st)?;
        let result = self.work(st, list, caller);
        *st.because.borrow_mut() = None;
        st.sparing.set(false);
        *st.pass.borrow_mut() = self.id.clone();
        if st.refuses() {
            return Err(Halt::Warned);
        }
        let result = match result {
            Err(Halt::Refused { code, message, .. }) if self.failing == Failing::Keep => {
                st.warn_as(&code, message);
                Ok(())
            }
            Err(Halt::Fault(f)) if self.failing != Failing::Error && !f.bound => {
                st.warn(Code::FilterFailed, f.message);
                Ok(())
            }
            other => other,
        };
        if st.trail.is_some() {
            let items = st.list(list).items.len();
            st.stats.borrow_mut().push(crate::terms::state::Stat { pass: self.id.clone(), items });
        }
        if st.refuses() {
            return Err(Halt::Warned);
        }
        result?;
        if self.stop { Err(Halt::Stop) } else { Ok(()) }
    }

    fn work(self: &Arc<Self>, st: &mut State, list: usize, caller: &dyn Caller) -> Result<(), Halt> {
        match &self.verb {
            Verb::Add(add) => add.run(st, list),
            Verb::Require(require) => require.run(self, st, list),
            Verb::Repeat(repeat) => repeat.run(self, st, caller),
            Verb::Run(run) => run.run(self, st, list, caller),
            Verb::Evict(evict) => evict.run(self, st, list),
            Verb::Admit(admit) => admit.run(self, st, list),
            _ => {
                let memo = Memo::default();
                reach::prepare(self, st, list, &memo)?;
                match &self.verb {
                    Verb::Drop => drop::run(self, st, list, &memo),
                    Verb::Set(set) => set.run(self, st, list, &memo),
                    Verb::Shape(shape) => shape.run(self, st, list, &memo),
                    Verb::Place(place) => place.run(self, st, list, &memo),
                    Verb::Order => order::run(self, st, list, &memo),
                    Verb::Merge(merge) => merge.run(self, st, list, &memo),
                    Verb::Split(split) => split.run(self, st, list, &memo),
                    Verb::Match(m) => m.run(self, st, list, &memo),
                    Verb::Reserve(reserve) => reserve.run(self, st, list, &memo),
                    _ => Ok(()),
                }
            }
        }
    }

    /// The chosen items of the list, by index, in visiting order.
    pub fn chosen(&self, st: &State, list: usize, memo: &Memo) -> Result<Vec<usize>, Fault> {
        let list = st.list(list);
        st.telling.set(st.tells());
        self.select.run(Seq::Items(&list.items), &pass_env(st, memo))
    }

    /// Whether one item, looked at alone, is chosen: for selections that judge each item by itself.
    pub fn chooses(&self, env: &crate::terms::Env<'_>, enabled: bool) -> Result<bool, Fault> {
        self.select.chooses(env, enabled)
    }
}

fn check_terms(cx: &mut CompileContext<'_>, info: &Info, fields: &Table) {
    let shared = SHARED.iter().chain(crate::syntax::selections::WORDS);
    let known: Vec<&str> = shared.chain(info.terms).copied().collect();
    for (key, field) in fields {
        if known.contains(&key.as_ref()) {
            continue;
        }
        let owners: Vec<&str> = VERBS.iter().filter(|v| v.terms.contains(&key.as_ref())).map(|v| v.name).collect();
        let help = suggest::nearest(key, known.iter().copied()).map(|n| format!("did you mean `{n}`?")).or_else(|| {
            (!owners.is_empty())
                .then(|| format!("`{key}` is a term of {}", owners.iter().map(|o| format!("`{o}`")).collect::<Vec<_>>().join(", ")))
        });
        let help = help.or_else(|| Some(format!("`{}` takes {}", info.name, info.terms.join(", "))));
        cx.fail(Code::TwoMeanings, field.key, format!("`{key}` is no term of `{}`", info.name), help);
    }
}

fn parse_verb(cx: &mut CompileContext<'_>, info: &Info, fields: &Table, span: Span, scope: &Scope) -> Option<Verb> {
    Some(match info.name {
        "add" => Verb::Add(add::Add::parse(cx, fields, span)?),
        "drop" => Verb::Drop,
        "set" => Verb::Set(set::Set::parse(cx, fields, span, scope)?),
        "shape" => Verb::Shape(shape::Shape::parse(cx, fields, span, scope)?),
        "place" => Verb::Place(place::Place::parse(cx, fields, scope)),
        "order" => Verb::Order,
        "merge" => Verb::Merge(merge::Merge::parse(cx, fields, scope)),
        "split" => Verb::Split(split::Split::parse(cx, fields, span, scope)?),
        "match" => Verb::Match(matching::Match::parse(cx, fields, span, scope)?),
        "reserve" => Verb::Reserve(reserve::Reserve::parse(cx, fields, span)),
        "admit" => Verb::Admit(admit::Admit::parse(cx, fields, span, scope)),
        "evict" => Verb::Evict(evict::Evict::parse(cx, fields, span, scope)),
        "require" => Verb::Require(require::Require::parse(cx, fields, span, scope)?),
        "repeat" => Verb::Repeat(repeat::Repeat::parse(cx, fields, span)?),
        _ => Verb::Run(run::Run::parse(cx, fields, span)?),
    })
}
