//! Leaf strings: the texts of a template, with tags that print what the context holds.
//!
//! Two syntaxes have one compiled form: tags that are paths, and tags that are expressions or blocks. Compiling never
//! fails: a text that cannot be parsed is literal. Values that hold tags are compiled and printed too, up to a depth.

mod expression;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::diag::limits;
use crate::model::value::number_text;
use crate::model::{Map, Value};
use crate::text::{TextLimits, js, truthiness, work};

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
        let values = compared.saturating_add(run.out.values);
        let steps = (self.code.steps.len() as u64).saturating_mul(work::STEPS_PER_OPERATION).saturating_add(values as u64);
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
        self.spend(text.len() / work::BYTES_PER_STEP)?;
        let code = LeafCode::read(text, self.syntax);
        if code.steps.is_empty() {
            return self.out.push(text);
        }
        self.spend(code.steps.len().saturating_mul(usize::try_from(work::STEPS_PER_COMPILED).unwrap_or(1)))?;
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

// Paths of leaf strings, and their resolution: only own properties, as in JavaScript.

/// A path, split into steps. Without steps it means the whole scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafPath {
    steps: Box<[PathStep]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PathStep {
    name: Box<str>,
    /// The name as an index of a list.
    index: Option<u32>,
}

/// Parses a path: names between dots, and the literal text between brackets. Empty pieces are dropped.
#[must_use]
pub fn path(text: &str) -> LeafPath {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['.', '[']) {
        let (name, tail) = rest.split_at(at);
        let bracket = tail.strip_prefix('[');
        match bracket.map(|inner| inner.split_once(']')) {
            Some(Some((inner, behind))) => {
                steps.extend([name, inner]);
                rest = behind;
            }
            // a bracket that is not closed is an ordinary character
            Some(None) => break,
            None => {
                steps.push(name);
                rest = tail.strip_prefix('.').unwrap_or(tail);
            }
        }
    }
    steps.push(rest);
    LeafPath::of_steps(steps)
}

impl LeafPath {
    /// A path of these steps; empty ones are dropped.
    pub(super) fn of_steps<'t>(steps: impl IntoIterator<Item = &'t str>) -> Self {
        let steps = steps.into_iter().filter(|s| !s.is_empty());
        Self { steps: steps.map(|s| PathStep { name: s.into(), index: js::index_key(s) }).collect() }
    }

    /// The first step; empty if the path has none.
    #[must_use]
    pub fn first(&self) -> &str {
        self.steps.first().map_or("", |step| &step.name)
    }

    /// The path without its first step.
    #[must_use]
    pub fn rest(&self) -> LeafPath {
        LeafPath { steps: self.steps.iter().skip(1).cloned().collect() }
    }

    /// Whether it has no steps and means the whole scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The value at the path in a scope; if there is none, the path is tried again in the scope's globals. `None` if it
    /// is absent, which is not the same as `null`. A new value is only made for the length of a list and for the whole
    /// scope.
    #[must_use]
    pub fn find<'v>(&self, scope: &LeafScope<'v>) -> Option<Cow<'v, Value>> {
        let Some((first, rest)) = self.steps.split_first() else { return Some(Cow::Owned(whole(scope))) };
        let direct = match scope.first(&first.name) {
            Some(None) if rest.is_empty() => return None,
            Some(value) => value.and_then(|value| walk(rest, value)),
            None => None,
        };
        direct.or_else(|| scope.globals?.get(&*first.name).and_then(|value| walk(rest, value)))
    }

    /// The value at the path below a value; the value itself if the path has no steps.
    #[must_use]
    #[inline]
    pub fn below<'v>(&self, value: &'v Value) -> Option<Cow<'v, Value>> {
        walk(&self.steps, value)
    }
}

impl<'v> LeafScope<'v> {
    /// The value of a name; the inner `None` is a name without a value.
    fn first(&self, name: &str) -> Option<Option<&'v Value>> {
        let over = self.over.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let root = || self.root.and_then(|root| root.get(name)).map(Some);
        over.or_else(root).or_else(|| self.under.iter().find(|(key, _)| *key == name).map(|(_, value)| Some(*value)))
    }
}

#[inline]
fn walk<'v>(steps: &[PathStep], from: &'v Value) -> Option<Cow<'v, Value>> {
    let mut at = from;
    for (n, step) in steps.iter().enumerate() {
        at = match (at, step.index) {
            (Value::Map(map), _) => map.get(&*step.name)?,
            (Value::List(list), Some(index)) => list.get(usize::try_from(index).ok()?)?,
            (Value::List(list), None) if &*step.name == "length" && n + 1 == steps.len() => {
                return Some(Cow::Owned(Value::Int(i64::try_from(list.len()).ok()?)));
            }
            _ => return None,
        };
    }
    Some(Cow::Borrowed(at))
}

/// The scope as one table: a name keeps its first position, and has the value that hides the others.
fn whole(scope: &LeafScope<'_>) -> Value {
    let mut all = Map::default();
    for (name, value) in scope.under {
        all.insert((*name).into(), (*value).clone());
    }
    for (name, value) in scope.root.into_iter().flatten() {
        all.insert(name.clone(), value.clone());
    }
    for (name, value) in scope.over {
        match value {
            Some(value) => drop(all.insert((*name).into(), (*value).clone())),
            None => drop(all.shift_remove(*name)),
        }
    }
    Value::map(all)
}

// Values as leaf strings print them: as JavaScript does, into one text of bounded length.

/// Whole numbers beyond this are not exact in JavaScript.
const EXACT: u64 = 1 << 53;

/// A value as a text: a text as it is, numbers and truth as JavaScript writes them, lists and tables as compact JSON in
/// JavaScript's order of keys, and nothing for `null`. Tags in texts are not evaluated.
///
/// # Errors
/// More than `most` bytes; a value that nests too deep.
pub fn value_text(value: &Value, most: usize) -> Result<Cow<'_, str>, TooLong> {
    if let Value::Text(text) = value {
        return if text.len() > most { Err(TooLong::Text(most)) } else { Ok(Cow::Borrowed(text)) };
    }
    let mut out = BoundedText::new(most);
    out.value(value)?;
    Ok(Cow::Owned(out.text))
}

/// Whether two values are the same without coercion; lists and tables by their JSON text, so that the order of keys
/// counts. An absent value equals only an absent one, and `null` only `null`. Each compared value takes a step of
/// `left`, and long texts take more.
///
/// # Errors
/// The values need more steps than are left, or nest too deep.
pub fn same(a: Option<&Value>, b: Option<&Value>, left: &mut usize) -> Result<bool, TooLong> {
    match (a, b) {
        (Some(a), Some(b)) => ComparisonWriter { left, inside: false }.same(a, b, limits::OUTPUT_NESTING),
        (a, b) => Ok(a.is_none() && b.is_none()),
    }
}

struct ComparisonWriter<'l> {
    left: &'l mut usize,
    /// Writes a value inside a list or table, where JSON has `null` for NaN and infinity.
    inside: bool,
}

impl ComparisonWriter<'_> {
    fn spend(&mut self, steps: usize) -> Result<(), TooLong> {
        *self.left = self.left.checked_sub(steps).ok_or(TooLong::Work)?;
        Ok(())
    }

    fn same(&mut self, a: &Value, b: &Value, depth: usize) -> Result<bool, TooLong> {
        let bytes = if let Value::Text(text) = a { text.len() } else { 0 };
        self.spend(1 + bytes / work::BYTES_PER_STEP)?;
        let below = || depth.checked_sub(1).ok_or(TooLong::Deep);
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                let depth = below()?;
                self.inside = true;
                Ok(a.len() == b.len() && self.all(a.iter().zip(b.iter()), depth)?)
            }
            (Value::Map(a), Value::Map(b)) => {
                let depth = below()?;
                self.inside = true;
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.spend(a.len() / work::READ_PER_STEP)?;
                let (a, b) = (js::fields(a), js::fields(b));
                let names = a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
                Ok(names && self.all(a.iter().zip(&b).map(|((_, a), (_, b))| (*a, *b)), depth)?)
            }
            (Value::Text(a), Value::Text(b)) => Ok(a == b),
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::Int(_) | Value::Num(_), Value::Int(_) | Value::Num(_)) => {
                let (a, b) = (js::to_number(a), js::to_number(b));
                #[expect(clippy::float_cmp, reason = "the same number, to the bit")]
                Ok(a == b || (self.inside && !a.is_finite() && !b.is_finite()))
            }
            (Value::Null | Value::Rule(_), Value::Null | Value::Rule(_)) => Ok(true),
            _ => Ok(false),
        }
    }

    fn all<'v>(&mut self, mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>, depth: usize) -> Result<bool, TooLong> {
        pairs.try_fold(true, |same, (a, b)| Ok(same && self.same(a, b, depth)?))
    }
}

/// A text of bounded length.
pub(super) struct BoundedText {
    pub(super) text: String,
    /// How many values of lists and tables it holds.
    pub(super) values: usize,
    most: usize,
}

impl BoundedText {
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), values: 0, most }
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TooLong::Text(self.most));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Prints a value unchanged; what a list or a table holds is counted.
    pub(super) fn value(&mut self, value: &Value) -> Result<(), TooLong> {
        match value {
            Value::Null | Value::Rule(_) => Ok(()),
            Value::Text(text) => self.push(text),
            Value::Num(n) if !n.is_finite() => self.push(&number_text(*n)),
            other => self.json(other, limits::OUTPUT_NESTING),
        }
    }

    fn json(&mut self, value: &Value, depth: usize) -> Result<(), TooLong> {
        let below = || depth.checked_sub(1).ok_or(TooLong::Deep);
        self.values += 1;
        match value {
            Value::Null | Value::Rule(_) => self.push("null"),
            Value::Bool(b) => self.push(if *b { "true" } else { "false" }),
            Value::Int(n) if n.unsigned_abs() <= EXACT => self.push(&n.to_string()),
            Value::Int(_) | Value::Num(_) => match js::to_number(value) {
                n if n.is_finite() => self.push(&number_text(n)),
                _ => self.push("null"),
            },
            Value::Text(text) => self.quoted(text),
            Value::List(list) => {
                let depth = below()?;
                self.push("[")?;
                for (n, value) in list.iter().enumerate() {
                    self.push(if n == 0 { "" } else { "," })?;
                    self.json(value, depth)?;
                }
                self.push("]")
            }
            Value::Map(map) => {
                let depth = below()?;
                // its names are sorted first
                self.values += map.len();
                self.push("{")?;
                for (n, (key, value)) in js::fields(map).into_iter().enumerate() {
                    self.push(if n == 0 { "" } else { "," })?;
                    self.quoted(key)?;
                    self.push(":")?;
                    self.json(value, depth)?;
                }
                self.push("}")
            }
        }
    }

    fn quoted(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TooLong::Text(self.most));
        }
        self.push(&serde_json::Value::from(text).to_string())
    }
}
