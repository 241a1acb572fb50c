//! The data that a template can ask for while it is rendered: the sources of its task, and the reserved names.
//!
//! A render asks a source once for the same arguments, so thirty slots over one history share one list. A source that
//! fails is absent and gives a warning, each time that it is asked.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::form::DataRef;
use super::super::view::SourceValue;
use crate::diag::{Span, limits};
use crate::model::{Map, Value};
use crate::text::leaf::{self, Leaf, LeafScope, PrintedLeaf, TooLong};

/// The sources of a task, provided by the caller.
pub trait SourceProvider {
    /// The value of a source; `None` is absent, which is not the same as `null`. An unknown name is absent too. Within
    /// one render the same name and arguments must give the same value.
    ///
    /// # Errors
    /// Why the source cannot be read: it is absent then, and the render has a warning.
    fn resolve(&self, name: &str, args: Option<&Value>) -> Result<Option<Value>, String>;

    /// The same, for a list that is another one in reverse, or a part of it: loops read it where it is, as far as they get.
    /// Default: what [`SourceProvider::resolve`] gives.
    ///
    /// # Errors
    /// As there.
    fn see(&self, name: &str, args: Option<&Value>) -> Result<Option<SourceValue>, String> {
        Ok(self.resolve(name, args)?.map(SourceValue::from))
    }

    /// Whether the condition of the rule language that is written at this place holds for a table of values.
    ///
    /// # Errors
    /// Why it cannot be evaluated, which ends the render. Without a pack that is always so.
    fn holds(&self, place: Span, values: &Value) -> Result<bool, String> {
        let _ = (place, values);
        Err("the condition is one of the rule language, which only a build of a pack can evaluate".to_owned())
    }
}

/// A warning: a source could not be read and was absent for the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadSource {
    /// The name of the source in the template.
    pub source: Arc<str>,
    /// The reason.
    pub why: String,
}

impl fmt::Display for UnreadSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source `{}` cannot be read: {}", self.source, self.why)
    }
}

/// What a source gave.
struct SourceAnswer {
    seen: Result<Option<SourceValue>, String>,
    /// All of it, if that was asked for.
    value: OnceCell<Option<Value>>,
}

/// The data of one render.
pub(super) struct RenderData<'a> {
    context: &'a Value,
    sources: &'a dyn SourceProvider,
    frames: Vec<LoopFrame>,
    answers: Vec<SourceAnswer>,
    /// Indexes of `answers` by name and arguments, and by the reference.
    known: FxHashMap<(Arc<str>, String), usize>,
    asked: FxHashMap<usize, usize>,
    paths: FxHashMap<usize, Option<leaf::LeafPath>>,
    pub(super) warnings: Vec<UnreadSource>,
}

/// One iteration of a loop.
struct LoopFrame {
    item: Value,
    index: usize,
}

impl<'a> RenderData<'a> {
    pub(super) fn new(context: &'a Value, sources: &'a dyn SourceProvider) -> Self {
        let (known, asked, paths) = Default::default();
        Self { context, sources, frames: Vec::new(), answers: Vec::new(), known, asked, paths, warnings: Vec::new() }
    }

    /// Begins an iteration of a loop.
    pub(super) fn push(&mut self, item: Value, index: usize) {
        self.frames.push(LoopFrame { item, index });
    }

    /// Ends an iteration.
    pub(super) fn pop(&mut self) {
        self.frames.pop();
    }

    /// The value of a reference.
    pub(super) fn resolve(&mut self, of: &DataRef) -> Option<Value> {
        self.reserved(of).unwrap_or_else(|| {
            let answer = self.ask(of)?;
            answer.value.get_or_init(|| Some(answer.seen.as_ref().ok()?.as_ref()?.to_value())).clone()
        })
    }

    /// The value of a reference, of which nothing is copied.
    pub(super) fn see(&mut self, of: &DataRef) -> Option<SourceValue> {
        match self.reserved(of) {
            Some(value) => value.map(SourceValue::from),
            None => self.ask(of)?.seen.clone().ok()?,
        }
    }

    /// The value of a reserved name; `None` for a source of the task.
    fn reserved(&mut self, of: &DataRef) -> Option<Option<Value>> {
        let last = self.frames.len();
        Some(match &*of.source {
            "$item" => self.within(self.frame(last, 1).map(|f| f.item.clone()), of),
            "$index" => self.frame(last, 1).and_then(|f| i64::try_from(f.index).ok()).map(Value::Int),
            "$parent" => self.within(level(of.args.as_ref()).and_then(|n| self.frame(last, n + 1)).map(|f| f.item.clone()), of),
            "$globals" => self.within(self.context.as_map().and_then(|m| m.get("globals")).cloned(), of),
            "$ctx" => self.within(Some(self.context.clone()), of),
            _ => return None,
        })
    }

    fn frame(&self, last: usize, out: usize) -> Option<&LoopFrame> {
        self.frames.get(last.checked_sub(out)?)
    }

    /// The value at the path in the argument `path`, if there is one. The path is parsed once for each reference.
    fn within(&mut self, value: Option<Value>, of: &DataRef) -> Option<Value> {
        let read = || {
            let path = of.args.as_ref().and_then(|a| a.as_map()?.get("path")?.as_str());
            path.filter(|path| !path.is_empty()).map(leaf::path)
        };
        match self.paths.entry(identity(of)).or_insert_with(read) {
            Some(path) => path.below(&value?).map(Cow::into_owned),
            None => value,
        }
    }

    /// The answer of a source; `None` if it fails.
    fn ask(&mut self, of: &DataRef) -> Option<&SourceAnswer> {
        // arguments are serialised once for each reference, not for each item of a loop
        let place = match self.asked.entry(identity(of)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let args = of.args.as_ref().map(|a| a.to_json().to_string()).unwrap_or_default();
                let answers = &mut self.answers;
                *free.insert(*self.known.entry((of.source.clone(), args)).or_insert_with(|| {
                    answers.push(SourceAnswer { seen: self.sources.see(&of.source, of.args.as_ref()), value: OnceCell::new() });
                    answers.len() - 1
                }))
            }
        };
        let answer = self.answers.get(place)?;
        if let Err(why) = &answer.seen {
            if self.warnings.len() < limits::RECORDED {
                self.warnings.push(UnreadSource { source: of.source.clone(), why: why.clone() });
            }
            return None;
        }
        Some(answer)
    }

    /// Prints a leaf of a plan or of the layout. The item of the innermost loop hides a name `item` of the context,
    /// also outside of loops, where there is no item; `ctx` is the whole context unless that has a field `ctx`.
    pub(super) fn print(&self, leaf: &Leaf, most: usize) -> Result<PrintedLeaf, TooLong> {
        let root = self.context.as_map();
        let scope = LeafScope {
            over: &[("item", self.frames.last().map(|f| &f.item))],
            root,
            under: &[("ctx", self.context)],
            globals: root.and_then(|m| m.get("globals")).and_then(Value::as_map),
        };
        leaf.render(&scope, most)
    }

    /// Prints a leaf of a lane, which sees the whole context as `ctx`, and `payload`.
    pub(super) fn print_payload(&self, leaf: &Leaf, payload: Map, most: usize) -> Result<PrintedLeaf, TooLong> {
        let payload = Value::map(payload);
        let under = [("ctx", self.context), ("payload", &payload)];
        leaf.render(&LeafScope { over: &[], root: None, under: &under, globals: None }, most)
    }
}

/// The identity of a reference: references belong to the template, which does not move while it is rendered.
fn identity(of: &DataRef) -> usize {
    std::ptr::from_ref(of).addr()
}

/// The argument `level` of `$parent`, at least 1; `None` if it is not a whole number, because no such loop exists.
fn level(args: Option<&Value>) -> Option<usize> {
    let level = args.and_then(|a| a.as_map()?.get("level")).and_then(Value::as_f64).filter(|n| n.is_finite()).unwrap_or(1.0).max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, at least 1, and far below the limit")]
    (level.fract() == 0.0 && level < 1e6).then_some(level as usize)
}
