//! The walk over a tree: macros in the order of the text, each after its arguments.
//!
//! Bounded in depth, in macros and in what they add. A macro whose arguments are passed unevaluated gets [`TextBranch`]es,
//! and asks the walk to evaluate those that it needs.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::parser::{MacroNode, MacroText, MacroTree};
use super::{MacroHost, MacroResult, TextOffset};
use crate::diag::limits;
use crate::text::{StepBound, StepCounter, TextLimits, js, work};

/// A limit was reached; the text is left as it was.
struct WalkStop;

/// A range of a text that has not been evaluated: an argument, a body, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct TextBranch<'a> {
    source: &'a Arc<str>,
    /// The list that contains its macros, and their range in it.
    nodes: &'a [MacroNode],
    first: usize,
    end: usize,
    from: usize,
    to: usize,
}

impl<'a> TextBranch<'a> {
    fn part(source: &'a Arc<str>, part: &'a MacroText) -> Self {
        Self { source, nodes: &part.nodes, first: 0, end: part.nodes.len(), from: part.from, to: part.to }
    }

    /// Its text as written.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.source.get(self.from..self.to).unwrap_or_default()
    }

    /// The same without white space at its ends.
    #[must_use]
    pub fn trimmed(self) -> Self {
        let text = self.text();
        let from = self.from + (text.len() - js::trim_start(text).len());
        let to = (from + js::trim(text).len()).min(self.to);
        Self { from, to, ..self }
    }

    /// The same without its first `bytes`, which belong to no macro.
    #[must_use]
    pub fn behind(self, bytes: usize) -> Self {
        Self { from: (self.from + bytes).min(self.to), ..self }
    }

    /// Splits it at the first macro `marker` that is not inside an inner block `block`; both names must have exactly
    /// this spelling.
    #[must_use]
    pub fn split(self, marker: &str, block: &str) -> (Self, Option<Self>) {
        let mut open = 0_usize;
        for (n, node) in self.nodes.iter().enumerate().take(self.end).skip(self.first) {
            match node.name.as_ref() {
                name if name == block && node.closes => open = open.saturating_sub(1),
                name if name == block && node.takes_body() => open += 1,
                name if name == marker && !node.closes && open == 0 => {
                    return (Self { end: n, to: node.start, ..self }, Some(Self { first: n + 1, from: node.end, ..self }));
                }
                _ => {}
            }
        }
        (self, None)
    }
}

/// One call of a macro.
pub struct MacroCall<'a> {
    /// The name, as written; `.` and `$` for a variable shorthand.
    pub name: &'a str,
    /// The number that the host assigned; `None` for a macro that its grammar does not know.
    pub id: Option<u32>,
    /// The arguments, expanded, without the white space written around them; those that are passed unevaluated are empty.
    pub args: &'a [Arc<str>],
    /// What stands between its braces, as far as that is known: with what was expanded in it, where it is read with a stack.
    pub written: &'a str,
    /// The arguments that are passed unevaluated, as written; empty if there are none.
    pub branches: &'a [TextBranch<'a>],
    /// Whether the last argument was written as a body.
    pub block: bool,
    /// The flag `#`: white space is kept.
    pub keeps: bool,
    /// The position of its `{{` in `source`.
    pub at: TextOffset,
    /// An offset of `source` in UTF-16 units from which its place is counted, and the place of that offset.
    pub origin: (usize, usize),
    /// The text that contains it, after the rewriting before parsing.
    pub source: &'a Arc<str>,
    /// The walk that evaluates branches; `None` if there are no branches.
    pub walk: Option<&'a MacroWalk<'a>>,
}

impl MacroCall<'_> {
    /// The place of the macro in UTF-16 units: in the whole text, or as a text in it was resolved with its own.
    #[must_use]
    pub fn place(&self) -> usize {
        let (from, place) = self.origin;
        let units = match self.walk {
            Some(walk) => walk.units(self.source, self.at),
            None => self.source.get(..self.at).map_or(0, js::length),
        };
        place + units.saturating_sub(from)
    }
}

/// One expansion of a text.
pub struct MacroWalk<'a> {
    host: &'a dyn MacroHost,
    limits: TextLimits,
    /// Bytes that macros may still add.
    left: Cell<usize>,
    steps: Cell<StepCounter>,
    depth: Cell<usize>,
    stopped: Cell<bool>,
    origin: Cell<(usize, usize)>,
    /// The last requested place in the text, and its UTF-16 units, because the next request is usually near it.
    seen: Cell<(TextOffset, usize)>,
    pub(super) warnings: RefCell<Vec<String>>,
}

impl<'a> MacroWalk<'a> {
    pub(super) fn new(host: &'a dyn MacroHost, limits: TextLimits) -> Self {
        Self {
            host,
            limits,
            left: Cell::new(limits.output),
            steps: Cell::new(limits.counter(work::STEPS_PER_OPERATION)),
            depth: Cell::new(0),
            stopped: Cell::new(false),
            origin: Cell::default(),
            seen: Cell::default(),
            warnings: RefCell::default(),
        }
    }

    /// The expanded text; `None` if a limit was reached.
    pub(super) fn whole(&self, source: &Arc<str>, tree: &MacroTree) -> Option<String> {
        let mut out = String::with_capacity(source.len());
        self.list(TextBranch::part(source, &tree.whole), &mut out).ok()?;
        (!self.stopped.get()).then_some(out)
    }

    /// Evaluates a branch as a text of its own that begins at `place`: with the rewriting that follows.
    #[must_use]
    pub fn resolve(&self, branch: TextBranch<'_>, place: usize) -> String {
        let mut out = String::new();
        let outside = self.origin.replace((self.units(branch.source, branch.from), place));
        let done = self.list(branch, &mut out);
        self.origin.set(outside);
        // the limit is reported once, by the outermost text
        if done.is_err() {
            return String::new();
        }
        self.host.after(&out).unwrap_or(out)
    }

    /// The UTF-16 units of the text before `at`.
    fn units(&self, source: &str, at: TextOffset) -> usize {
        let (known, units) = self.seen.get();
        let between = |from: usize, to: usize| source.get(from..to).map_or(0, js::length);
        let units = if at < known { units.saturating_sub(between(at, known)) } else { units + between(known, at) };
        self.seen.set((at, units));
        units
    }

    /// Evaluates a branch and only trims the result.
    #[must_use]
    pub fn value(&self, branch: TextBranch<'_>) -> String {
        let mut out = String::new();
        if self.list(branch, &mut out).is_err() {
            return String::new();
        }
        js::trim(&out).to_owned()
    }

    fn stop(&self, why: String) -> WalkStop {
        if !self.stopped.replace(true) {
            self.warn(why);
        }
        WalkStop
    }

    #[cold]
    fn too_long(&self) -> WalkStop {
        self.stop(format!("macros would add more than {} bytes; the text is left as it was", self.limits.output))
    }

    #[cold]
    fn too_much(&self, bound: StepBound) -> WalkStop {
        let most = self.limits.steps;
        self.stop(bound.message(|| format!("the text holds more than {most} macros and is left as it was")))
    }

    #[cold]
    fn warn_of_depth(&self) {
        self.warn(format!("macros nested deeper than {} are left as text", self.limits.depth));
    }

    fn warn(&self, why: String) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < limits::WARNED {
            warnings.push(why);
        }
    }

    fn add(&self, text: &str, out: &mut String) -> Result<(), WalkStop> {
        match self.left.get().checked_sub(text.len()) {
            Some(left) => self.left.set(left),
            None => return Err(self.too_long()),
        }
        out.push_str(text);
        Ok(())
    }

    fn list(&self, of: TextBranch<'_>, out: &mut String) -> Result<(), WalkStop> {
        let copy = |from: usize, to: usize, out: &mut String| out.push_str(of.source.get(from..to).unwrap_or_default());
        // ends of blocks that are not closed properly stay as text
        let mut torn = FxHashSet::default();
        let (mut at, mut n) = (of.from, of.first);
        while let Some(node) = of.nodes.get(n).filter(|_| n < of.end) {
            copy(at, node.start, out);
            at = node.end;
            let closer = node.closer.filter(|c| *c < of.end && !torn.contains(c));
            match closer.and_then(|c| of.nodes.get(c).map(|closer| (c, closer))) {
                Some((c, closer)) if node.takes_body() && !node.closes => {
                    let body = TextBranch { first: n + 1, end: c, from: node.end, to: closer.start, ..of };
                    self.node(of.source, node, Some(body), out)?;
                    at = closer.end;
                    n = c;
                }
                Some((c, _)) if node.is_macro() && !node.closes => {
                    torn.insert(c);
                    copy(node.start, node.end, out);
                }
                _ if node.closes => copy(node.start, node.end, out),
                _ => self.node(of.source, node, None, out)?,
            }
            n += 1;
        }
        copy(at, of.to, out);
        Ok(())
    }

    /// Evaluates one macro.
    fn node(&self, source: &Arc<str>, node: &MacroNode, body: Option<TextBranch<'_>>, out: &mut String) -> Result<(), WalkStop> {
        if self.stopped.get() {
            return Err(WalkStop);
        }
        let mut steps = self.steps.get();
        let counted = steps.count(1);
        self.steps.set(steps);
        counted.map_err(|bound| self.too_much(bound))?;
        if self.depth.get() > self.limits.depth {
            self.warn_of_depth();
            let end = body.map_or(node.end, |b| b.to);
            return self.add(source.get(node.start..end).unwrap_or_default(), out);
        }
        self.depth.set(self.depth.get() + 1);
        let done = self.inside(source, node, body, out);
        self.depth.set(self.depth.get() - 1);
        done
    }

    fn inside(&self, source: &Arc<str>, node: &MacroNode, body: Option<TextBranch<'_>>, out: &mut String) -> Result<(), WalkStop> {
        let count = node.args.len() + usize::from(body.is_some());
        if let (Some(found), None, 0) = (node.found, &node.variable, count)
            && found.shape.takes(0)
            && let Some(text) = self.host.known_text(found.id)
        {
            return self.add(&text, out);
        }
        let fits = match (node.found, &node.variable) {
            (Some(found), None) => found.shape.takes(count),
            _ => node.is_macro(),
        };
        let mut given = CallArguments::default();
        for (n, part) in node.args.iter().enumerate() {
            let raw = fits && self.is_raw(node, n);
            self.argument(TextBranch::part(source, part), node, raw, &mut given)?;
        }
        if let Some(body) = body {
            if fits && self.is_raw(node, node.args.len()) {
                given.raw(body, node.args.len());
            } else {
                let mut text = String::new();
                self.list(body, &mut text)?;
                given.args.push(if node.keeps { text.as_str().into() } else { dedent(&text).into() });
                given.body = text;
            }
        }
        let result = match (node.found, &node.variable) {
            _ if fits => self.call(source, node, body.is_some(), &mut given),
            (Some(found), None) => self.host.misfit(found, &node.name, &given.args, node.start),
            _ => MacroResult::Unknown,
        };
        if self.host.ended().is_some() {
            self.stopped.set(true);
        }
        if self.stopped.get() {
            return Err(WalkStop);
        }
        match result {
            MacroResult::Text(text) => return self.add(&text, out),
            MacroResult::Failed(why) => self.warn(why),
            MacroResult::Unknown => {}
        }
        self.as_written(source, node, body, &given, out)
    }

    fn is_raw(&self, node: &MacroNode, n: usize) -> bool {
        let n = if node.variable.is_some() { n + 2 } else { n };
        node.found.is_some_and(|f| f.shape.is_raw(n))
    }

    /// Evaluates an argument, or keeps it as a branch. White space at its ends as written does not belong to it; what inner
    /// macros give there does, except in the value of a variable shorthand.
    fn argument<'b>(&self, part: TextBranch<'b>, node: &MacroNode, raw: bool, given: &mut CallArguments<'b>) -> Result<(), WalkStop> {
        let trims = self.host.syntax().trim;
        if raw {
            given.raw(if trims { part.trimmed() } else { part }, given.args.len());
            return Ok(());
        }
        let written = part.text();
        let own = if trims { js::trim(written) } else { written };
        if part.nodes.is_empty() {
            given.args.push(own.into());
            return Ok(());
        }
        let mut text = String::new();
        self.list(part, &mut text)?;
        // what is written outside of its macros is in the text as it is
        let lead = if trims { written.len() - js::trim_start(written).len() } else { 0 };
        let kept = text.get(lead..text.len().saturating_sub(written.len() - own.len() - lead)).unwrap_or_default();
        given.written.resize(given.args.len(), None);
        given.args.push(if node.variable.is_some() && trims { js::trim(kept) } else { kept }.into());
        given.written.push(Some(text));
        Ok(())
    }

    fn call(&self, source: &Arc<str>, node: &MacroNode, block: bool, given: &mut CallArguments<'_>) -> MacroResult {
        if let Some([name, operator]) = &node.variable {
            // what follows the operator is the third argument
            let shift = [name.clone(), operator.clone()];
            let args: Vec<Arc<str>> = shift.into_iter().chain(given.args.iter().cloned()).collect();
            let mut branches = given.branches.clone();
            if let Some(first) = branches.first().copied() {
                branches.insert(0, first);
                branches.insert(0, first);
            }
            return self.ask(source, node, block, &args, &branches);
        }
        self.ask(source, node, block, &given.args, &given.branches)
    }

    fn ask(&self, source: &Arc<str>, node: &MacroNode, block: bool, args: &[Arc<str>], branches: &[TextBranch<'_>]) -> MacroResult {
        let id = node.found.map(|f| f.id);
        let (at, origin) = (node.start, self.origin.get());
        let written = source.get(node.start + 2..node.end.saturating_sub(2)).unwrap_or_default();
        let keeps = node.keeps;
        self.host.call(&MacroCall { name: &node.name, id, args, written, branches, block, keeps, at, origin, source, walk: Some(self) })
    }

    /// The macro as written, with the macros inside it expanded, and with the body that it has not taken.
    fn as_written(
        &self,
        source: &Arc<str>,
        node: &MacroNode,
        body: Option<TextBranch<'_>>,
        given: &CallArguments<'_>,
        out: &mut String,
    ) -> Result<(), WalkStop> {
        let mut at = node.start;
        for (n, part) in node.args.iter().enumerate() {
            out.push_str(source.get(at..part.from).unwrap_or_default());
            match given.written.get(n) {
                Some(Some(text)) => self.add(text, out)?,
                _ => out.push_str(source.get(part.from..part.to).unwrap_or_default()),
            }
            at = part.to;
        }
        out.push_str(source.get(at..node.end).unwrap_or_default());
        let Some(body) = body else { return Ok(()) };
        let raw = given.branches.get(node.args.len()).map(TextBranch::text);
        if self.host.syntax().short_ends {
            self.add(raw.unwrap_or(given.args.last().map_or("", AsRef::as_ref)), out)?;
            out.push_str(if body.from < body.to { "}}" } else { "" });
            return Ok(());
        }
        self.add(raw.unwrap_or(&given.body), out)?;
        let end = body.nodes.get(body.end).map_or(body.to, |closer| closer.end);
        out.push_str(source.get(body.to..end).unwrap_or_default());
        Ok(())
    }
}

/// The arguments of a macro, as far as they have been evaluated.
#[derive(Default)]
struct CallArguments<'a> {
    args: Vec<Arc<str>>,
    branches: Vec<TextBranch<'a>>,
    /// The expanded body, with its white space.
    body: String,
    /// The expanded text of each argument in which something was expanded, with its white space.
    written: Vec<Option<String>>,
}

impl<'a> CallArguments<'a> {
    fn raw(&mut self, branch: TextBranch<'a>, place: usize) {
        self.branches.resize(place, branch);
        self.branches.push(branch);
        self.args.push(Arc::default());
    }
}

/// The body of a block as its author meant it. Removes as much indentation from each line as the first line that is not blank has (a tab counts as one; a line with
/// less loses what it has), then trims the whole.
#[must_use]
pub fn dedent(body: &str) -> String {
    let depth = |line: &str| line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let first = body.split('\n').find(|line| !js::trim(line).is_empty()).map_or(0, depth);
    if first == 0 {
        return js::trim(body).to_owned();
    }
    let lines: Vec<&str> = body.split('\n').map(|line| line.get(depth(line).min(first)..).unwrap_or_default()).collect();
    js::trim(&lines.join("\n")).to_owned()
}
