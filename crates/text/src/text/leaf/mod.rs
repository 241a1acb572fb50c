//! Leaf strings: the texts of a template, with tags that print what the context holds.
//!
//! Two syntaxes have one compiled form: tags that are paths, and tags that are expressions or blocks. Compiling never
//! fails: a text that cannot be parsed is literal. Values that hold tags are compiled and printed too, up to a depth.

mod expression;
mod path;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use path::BoundedText;

use crate::model::{Map, Value};
use crate::text::{TextLimits, js, truthiness, work};

pub use path::{LeafPath, path, same, value_text};

/// Which tags a leaf may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeafSyntax {
    /// Only `{{path}}`; a tag that is not a path is literal, and the other tags still count.
    Paths,
    /// `{{ expression }}` and `{{#if …}} … {{#else}} … {{#endif}}`; one mistake makes the whole text literal.
    Expressions,
}

/// The names that the paths of a leaf are resolved in. The first step is searched in `over`, `root`, `under`, in this
/// order.
#[derive(Debug, Clone, Copy)]
pub struct LeafScope<'a> {
    /// Names that hide all others, even if they have no value (`item` outside of a loop).
    pub over: &'a [(&'a str, Option<&'a Value>)],
    /// The names of the context.
    pub root: Option<&'a Map>,
    /// Names that all others hide (`ctx`).
    pub under: &'a [(&'a str, &'a Value)],
    /// A table in which a whole path is tried again if it was not found.
    pub globals: Option<&'a Map>,
}

/// A compiled leaf; immutable.
#[derive(Debug, Clone)]
pub struct Leaf {
    written: Arc<str>,
    syntax: LeafSyntax,
    code: Arc<LeafCode>,
    /// UTF-16 units of its literal parts; `None` if it prints more than those and paths.
    literal: Option<usize>,
}

/// The result of printing a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedLeaf {
    /// The text.
    pub text: Arc<str>,
    /// There is a tag, and one of them printed something that is not blank.
    pub produced: bool,
    /// The steps that it took for values that hold tags and for comparisons, in addition to those of the leaf itself.
    pub work: usize,
}

/// Why a text was not printed, or values were not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// The text would be longer than so many bytes.
    #[error("the text is longer than {0} bytes")]
    Text(usize),
    /// Values that hold tags multiply, or there is too much to compare.
    #[error("the values in the text take too many steps")]
    Work,
    /// A value nests deeper than any that a file may hold.
    #[error("a value in the text is nested too deep")]
    Deep,
}

impl Leaf {
    /// Compiles a text. Never fails.
    #[must_use]
    pub fn compile(text: &str, syntax: LeafSyntax) -> Self {
        let code = LeafCode::read(text, syntax);
        let literal = literal(text, &code);
        Self { written: text.into(), syntax, code: Arc::new(code), literal }
    }

    /// The text as written.
    #[must_use]
    pub fn written(&self) -> &Arc<str> {
        &self.written
    }

    /// There is a tag; otherwise the text is printed as written.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        !self.code.steps.is_empty()
    }

    /// The place of the first `{{` that begins no tag, in bytes: it is printed as it is written.
    #[must_use]
    pub fn broken(&self) -> Option<usize> {
        let literal = |part: &std::ops::Range<usize>| Some(part.start + self.written.get(part.clone())?.find("{{")?);
        if self.code.steps.is_empty() {
            return literal(&(0..self.written.len()));
        }
        self.code.steps.iter().find_map(|step| if let LeafStep::Text(part) = step { literal(part) } else { None })
    }

    /// All paths that it may look up, in the order written.
    #[must_use]
    pub fn paths(&self) -> &[LeafPath] {
        &self.code.paths
    }

    /// The length of what it prints: the UTF-16 units of its literal parts, and the paths that are each printed once (a
    /// text at a path that holds `{{` is evaluated too, so its own length says nothing). `None` if the leaf has blocks,
    /// operators, or the path of the whole scope.
    #[must_use]
    pub fn parts(&self) -> Option<(usize, &[LeafPath])> {
        self.literal.map(|units| (units, &*self.code.paths))
    }

    /// Prints the leaf. Tags in a text at a path are evaluated too, with the same syntax, up to five levels deep.
    ///
    /// # Errors
    /// The text exceeds `most` bytes, or values multiply each other or nest too deep.
    pub fn render(&self, scope: &LeafScope<'_>, most: usize) -> Result<PrintedLeaf, TooLong> {
        if !self.has_tags() {
            let text = self.written.clone();
            return if text.len() > most { Err(TooLong::Text(most)) } else { Ok(PrintedLeaf { text, produced: false, work: 0 }) };
        }
        let mut run = LeafRun::new(scope, self.syntax, most);
        let produced = run.text(&self.written, &self.code, 0);
        let compared = run.work();
        let steps = (self.code.steps.len() as u64).saturating_mul(work::STEPS_PER_TAG).saturating_add(compared as u64);
        // a run that failed has been paid for too
        work::spend(steps).map_err(|_| TooLong::Work)?;
        let produced = produced?;
        Ok(PrintedLeaf { text: run.out.text.into(), produced, work: compared })
    }
}

fn literal(text: &str, code: &LeafCode) -> Option<usize> {
    if code.steps.is_empty() {
        return Some(js::length(text));
    }
    code.steps.iter().try_fold(0, |units, step| match step {
        LeafStep::Text(part) => Some(units + js::length(text.get(part.clone()).unwrap_or_default())),
        LeafStep::Tag(place) if code.paths.get(*place).is_some_and(|path| !path.is_empty()) => Some(units),
        _ => None,
    })
}

// The compiled form of both syntaxes: a list of steps with jumps, so that nesting needs no recursion.

/// The program that prints a text. Without steps the text is literal.
#[derive(Debug, Clone, Default)]
struct LeafCode {
    steps: Vec<LeafStep>,
    paths: Vec<LeafPath>,
}

/// One step. Those that make a value push it, those that need one pop it.
#[derive(Debug, Clone)]
enum LeafStep {
    /// Prints a part of the text, in bytes.
    Text(Range<usize>),
    /// Prints the value at a path.
    Tag(usize),
    /// Pushes the value at a path.
    Path(usize),
    /// Pushes a constant.
    Constant(Value),
    /// Negates the truth of a value.
    Not,
    /// Pops the right value, then the left one.
    Binary(BinaryOperator),
    /// Prints a value.
    Print,
    /// Jumps unless a value is true.
    Unless(usize),
    /// Jumps.
    Jump(usize),
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BinaryOperator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl LeafCode {
    fn read(text: &str, syntax: LeafSyntax) -> Self {
        if !text.contains("{{") {
            return Self::default();
        }
        match syntax {
            LeafSyntax::Paths => Self::of_paths(text),
            LeafSyntax::Expressions => self::expression::read(text).unwrap_or_default(),
        }
    }

    /// A tag is two braces, something without braces, and two braces; all else is literal.
    fn of_paths(text: &str) -> Self {
        let mut code = Self::default();
        let (mut done, mut at) = (0, 0);
        while let Some(open) = find(text, at, "{{") {
            let inner = open + 2;
            let end = text.get(inner..).and_then(|rest| rest.find(['{', '}'])).map_or(text.len(), |n| inner + n);
            let tag = text.get(inner..end).filter(|tag| !tag.is_empty());
            let closed = text.get(end..).is_some_and(|rest| rest.starts_with("}}"));
            let Some(tag) = tag.filter(|_| closed) else {
                // the next tag may open with the second brace of this one
                at = if end == inner { open + 1 } else { end };
                continue;
            };
            code.text(done..open);
            let place = code.path(path(js::trim(tag)));
            code.steps.push(LeafStep::Tag(place));
            (done, at) = (end + 2, end + 2);
        }
        if !code.steps.is_empty() {
            code.text(done..text.len());
        }
        code
    }

    fn text(&mut self, part: Range<usize>) {
        if !part.is_empty() {
            self.steps.push(LeafStep::Text(part));
        }
    }

    /// Stores a path and returns its index.
    fn path(&mut self, path: LeafPath) -> usize {
        self.paths.push(path);
        self.paths.len() - 1
    }
}

/// The next position of `what`, from a byte on.
fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|n| from + n)
}

// Printing: runs the steps of a leaf to make one text; values that hold tags are run like leaves, up to a depth.

/// Tags in values are evaluated up to a depth below the authored text; deeper values are printed unchanged. Steps in
/// values count, and so do comparing and compiling values.
const LIMITS: TextLimits = TextLimits::LEAF;
/// The cost of compiling a value, in steps: one per this many bytes, and this many per compiled step.
const BYTES_A_STEP: usize = 64;
const STEPS_A_STEP: usize = 32;

/// One rendering.
struct LeafRun<'r> {
    out: BoundedText,
    scope: &'r LeafScope<'r>,
    syntax: LeafSyntax,
    work: usize,
}

type ValueStack<'s> = Vec<Option<Cow<'s, Value>>>;

impl<'r> LeafRun<'r> {
    fn new(scope: &'r LeafScope<'r>, syntax: LeafSyntax, most: usize) -> Self {
        Self { out: BoundedText::new(most), scope, syntax, work: LIMITS.steps }
    }

    /// Runs a text that is `depth` values below the authored one. Returns whether a tag printed anything but blanks.
    fn text(&mut self, text: &str, code: &LeafCode, depth: usize) -> Result<bool, TooLong> {
        let mut stack: ValueStack<'_> = Vec::new();
        let mut produced = false;
        let mut at = 0;
        while let Some(step) = code.steps.get(at) {
            at += 1;
            if depth > 0 {
                self.spend(1)?;
            }
            match step {
                LeafStep::Text(part) => self.out.push(text.get(part.clone()).unwrap_or_default())?,
                LeafStep::Tag(place) => produced |= self.print(value_at(code, *place, self.scope), depth)?,
                LeafStep::Print => produced |= self.print(stack.pop().flatten(), depth)?,
                LeafStep::Path(place) => stack.push(value_at(code, *place, self.scope)),
                LeafStep::Constant(value) => stack.push(Some(Cow::Borrowed(value))),
                LeafStep::Not => {
                    let truth = truthy(stack.pop());
                    push(&mut stack, !truth);
                }
                LeafStep::Binary(operator) => {
                    let (right, left) = (stack.pop().flatten(), stack.pop().flatten());
                    push(&mut stack, decide(*operator, left.as_deref(), right.as_deref(), &mut self.work)?);
                }
                LeafStep::Unless(to) if truthy(stack.pop()) => {}
                LeafStep::Unless(to) | LeafStep::Jump(to) => at = *to,
            }
        }
        Ok(produced)
    }

    /// Prints a value and returns whether it is anything but blanks.
    fn print(&mut self, value: Option<Cow<'_, Value>>, depth: usize) -> Result<bool, TooLong> {
        let Some(value) = value else { return Ok(false) };
        let start = self.out.text.len();
        match &*value {
            Value::Text(text) if depth < LIMITS.depth && text.contains("{{") => self.value(text, depth + 1)?,
            other => self.out.value(other)?,
        }
        Ok(self.out.text.get(start..).is_some_and(|printed| !js::trim(printed).is_empty()))
    }

    fn value(&mut self, text: &str, depth: usize) -> Result<(), TooLong> {
        self.spend(text.len() / BYTES_A_STEP)?;
        let code = LeafCode::read(text, self.syntax);
        if code.steps.is_empty() {
            return self.out.push(text);
        }
        self.spend(code.steps.len().saturating_mul(STEPS_A_STEP))?;
        self.text(text, &code, depth).map(drop)
    }

    /// The steps that values have taken so far.
    fn work(&self) -> usize {
        LIMITS.steps - self.work
    }

    fn spend(&mut self, steps: usize) -> Result<(), TooLong> {
        self.work = self.work.checked_sub(steps).ok_or(TooLong::Work)?;
        Ok(())
    }
}

fn value_at<'r>(code: &LeafCode, place: usize, scope: &'r LeafScope<'r>) -> Option<Cow<'r, Value>> {
    code.paths.get(place).and_then(|path| path.find(scope))
}

fn push(stack: &mut ValueStack<'_>, truth: bool) {
    stack.push(Some(Cow::Owned(Value::Bool(truth))));
}

fn truthy(value: Option<Option<Cow<'_, Value>>>) -> bool {
    value.flatten().is_some_and(|value| truthiness::javascript(&value))
}

/// `<`, `>` and the like need two numbers.
fn decide(operator: BinaryOperator, left: Option<&Value>, right: Option<&Value>, work: &mut usize) -> Result<bool, TooLong> {
    let truth = |value: Option<&Value>| value.is_some_and(truthiness::javascript);
    let numbers = || left.and_then(Value::as_f64).zip(right.and_then(Value::as_f64));
    Ok(match operator {
        BinaryOperator::Or => truth(left) || truth(right),
        BinaryOperator::And => truth(left) && truth(right),
        BinaryOperator::Equal => same(left, right, work)?,
        BinaryOperator::Unequal => !same(left, right, work)?,
        BinaryOperator::Less => numbers().is_some_and(|(a, b)| a < b),
        BinaryOperator::AtMost => numbers().is_some_and(|(a, b)| a <= b),
        BinaryOperator::Greater => numbers().is_some_and(|(a, b)| a > b),
        BinaryOperator::AtLeast => numbers().is_some_and(|(a, b)| a >= b),
    })
}
