//! The tree of a template, and how its expressions are read: values, ranges, operators, filters.

use std::sync::Arc;

use super::val::Val;
use super::{DEEPEST, filters};
use crate::model::Value;
use crate::text::js;

/// Something wrong at a place of the template, in bytes.
#[derive(Debug)]
pub(super) struct Trouble {
    pub at: usize,
    pub message: String,
    /// A limit was reached.
    pub bound: bool,
}

impl Trouble {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), bound: false }
    }

    pub(super) fn bound(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), bound: true }
    }
}

/// A part of a template and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub at: usize,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Text(Box<str>),
    Output(Filtered),
    Assign { name: Arc<str>, value: Filtered },
    Capture { name: Arc<str>, body: Vec<Node> },
    If { arms: Vec<Arm>, otherwise: Vec<Node> },
    Case { target: Filtered, arms: Vec<(Vec<Operand>, Vec<Node>)>, otherwise: Vec<Node> },
    Loop(Box<Loop>),
    Cycle { group: Option<Operand>, items: Vec<Operand>, written: Box<str> },
    Count { name: Arc<str>, by: i64 },
    Break,
    Continue,
}

/// One arm of `if` or `unless`.
#[derive(Debug)]
pub(super) struct Arm {
    pub when: Filtered,
    /// What `when` must be.
    pub wanted: bool,
    pub body: Vec<Node>,
}

/// `for` and `tablerow`.
#[derive(Debug)]
pub(super) struct Loop {
    pub name: Arc<str>,
    pub over: Operand,
    /// How `over` is written: `offset: continue` goes by it.
    pub written: Box<str>,
    pub limit: Option<Operand>,
    pub offset: Option<Offset>,
    pub reversed: bool,
    /// Of a `tablerow`: its columns, all in one row if not given.
    pub table: Option<Option<Operand>>,
    pub body: Vec<Node>,
    pub otherwise: Vec<Node>,
}

#[derive(Debug)]
pub(super) enum Offset {
    Given(Operand),
    Continue,
}

/// A value and what is done with it.
#[derive(Debug)]
pub(super) struct Filtered {
    pub at: usize,
    /// Operands and operators, each operator behind its operands.
    pub postfix: Vec<Step>,
    pub filters: Vec<Filter>,
}

#[derive(Debug)]
pub(super) enum Step {
    Operand(Operand),
    Op(Op),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Contains,
    Not,
    And,
    Or,
}

impl Op {
    fn binds(self) -> u8 {
        match self {
            Op::And | Op::Or => 0,
            Op::Not => 1,
            _ => 2,
        }
    }
}

#[derive(Debug)]
pub(super) enum Operand {
    Literal(Val),
    Range(Box<(Operand, Operand)>, usize),
    Path { root: Root, keys: Vec<Operand>, at: usize },
}

#[derive(Debug)]
pub(super) enum Root {
    Name(Arc<str>),
    Value(Box<Operand>),
    /// `[key]` at the start: a name that is worked out.
    Computed,
}

#[derive(Debug)]
pub(super) struct Filter {
    pub at: usize,
    pub call: filters::Call,
    pub args: Vec<Operand>,
    pub named: Vec<(Box<str>, Operand)>,
}

/// Reads a stretch of the template.
pub(super) struct Reader<'t> {
    pub text: &'t str,
    pub at: usize,
    pub end: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, at: usize, end: usize) -> Self {
        Self { text, at, end, depth: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn skip_blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - js::trim_start(rest).len();
    }

    pub(super) fn is_done(&mut self) -> bool {
        self.skip_blank();
        self.at >= self.end
    }

    pub(super) fn take(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    /// `what` behind blanks.
    pub(super) fn next(&mut self, what: &str) -> bool {
        self.skip_blank();
        self.take(what)
    }

    /// A word of letters, digits, `_`, `-`, `?` and everything beyond ASCII; may be empty.
    pub(super) fn word(&mut self) -> &'t str {
        self.skip_blank();
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '?') || js::is_space(c));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        word
    }

    /// A word that stands by itself.
    fn keyword(&mut self, word: &str) -> bool {
        let start = self.at;
        let found = self.word() == word;
        if !found {
            self.at = start;
        }
        found
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Trouble> {
        Err(Trouble::new(self.at, message))
    }

    /// A value with operators and filters, to the end of the stretch.
    pub(super) fn filtered(&mut self, unknown: &mut Vec<String>) -> Result<Filtered, Trouble> {
        self.skip_blank();
        let at = self.at;
        let postfix = self.expression()?;
        let mut filters = Vec::new();
        while !self.is_done() {
            if !self.take("|") {
                return self.fail("a value has ended here; only `|` and a filter may follow");
            }
            filters.push(self.filter(unknown)?);
        }
        Ok(Filtered { at, postfix, filters })
    }

    /// A value with operators, as far as it goes.
    pub(super) fn expression(&mut self) -> Result<Vec<Step>, Trouble> {
        let (mut postfix, mut waiting): (Vec<Step>, Vec<Op>) = (Vec::new(), Vec::new());
        loop {
            self.skip_blank();
            if let Some(op) = self.operator() {
                while let Some(last) = waiting.pop_if(|last| last.binds() > op.binds()) {
                    postfix.push(Step::Op(last));
                }
                waiting.push(op);
            } else if let Some(operand) = self.operand()? {
                postfix.push(Step::Operand(operand));
            } else {
                break;
            }
        }
        postfix.extend(waiting.into_iter().rev().map(Step::Op));
        if postfix.is_empty() { self.fail("a value is missing here") } else { Ok(postfix) }
    }

    fn operator(&mut self) -> Option<Op> {
        const SIGNS: &[(&str, Op)] =
            &[("==", Op::Equal), ("!=", Op::Unequal), ("<=", Op::LessEqual), (">=", Op::GreaterEqual), ("<", Op::Less), (">", Op::Greater)];
        const WORDS: &[(&str, Op)] = &[("contains", Op::Contains), ("not", Op::Not), ("and", Op::And), ("or", Op::Or)];
        if let Some((_, op)) = SIGNS.iter().find(|(sign, _)| self.take(sign)) {
            return Some(*op);
        }
        WORDS.iter().find(|(word, _)| self.keyword(word)).map(|(_, op)| *op)
    }

    /// One value, if one stands here.
    pub(super) fn operand(&mut self) -> Result<Option<Operand>, Trouble> {
        self.skip_blank();
        if self.depth >= DEEPEST {
            return self.fail(format!("brackets are nested deeper than {DEEPEST}"));
        }
        self.depth += 1;
        let value = self.operand_inside();
        self.depth -= 1;
        value
    }

    fn operand_inside(&mut self) -> Result<Option<Operand>, Trouble> {
        let at = self.at;
        let value = match self.rest().bytes().next() {
            None => return Ok(None),
            Some(b'"' | b'\'') => Some(Operand::Literal(Val::text(self.quoted()?))),
            Some(b'(') => Some(self.range()?),
            Some(b'[') => None,
            _ => match self.number().or_else(|| self.literal()) {
                Some(value) => Some(Operand::Literal(value)),
                None => {
                    let name = self.word();
                    if name.is_empty() {
                        return Ok(None);
                    }
                    let keys = self.keys()?;
                    return Ok(Some(Operand::Path { root: Root::Name(name.into()), keys, at }));
                }
            },
        };
        let keys = self.keys()?;
        Ok(match value {
            Some(value) if keys.is_empty() => Some(value),
            Some(value) => Some(Operand::Path { root: Root::Value(Box::new(value)), keys, at }),
            None => Some(Operand::Path { root: Root::Computed, keys, at }),
        })
    }

    fn keys(&mut self) -> Result<Vec<Operand>, Trouble> {
        let mut keys = Vec::new();
        loop {
            if self.take("[") {
                let Some(key) = self.operand()? else { return self.fail("a key is missing between `[` and `]`") };
                if !self.next("]") {
                    return self.fail("`]` is missing here");
                }
                keys.push(key);
            } else if self.rest().starts_with('.') && !self.rest().starts_with("..") {
                self.at += 1;
                let key = self.word();
                if key.is_empty() {
                    return self.fail("a name is missing behind the dot");
                }
                keys.push(Operand::Literal(Val::text(key)));
            } else {
                return Ok(keys);
            }
        }
    }

    fn range(&mut self) -> Result<Operand, Trouble> {
        let at = self.at;
        self.at += 1;
        let from = self.operand()?;
        let dots = self.next("..");
        let to = self.operand()?;
        match (from, to) {
            (Some(from), Some(to)) if dots && self.next(")") => Ok(Operand::Range(Box::new((from, to)), at)),
            _ => Err(Trouble::new(at, "a range is written `(1..3)`")),
        }
    }

    fn literal(&mut self) -> Option<Val> {
        let words = [
            ("true", Val::bool(true)),
            ("false", Val::bool(false)),
            ("nil", Val::Nil),
            ("null", Val::Nil),
            ("empty", Val::Empty),
            ("blank", Val::Blank),
        ];
        let found = words.into_iter().find(|(word, _)| self.keyword(word));
        found.map(|(_, value)| value)
    }

    fn number(&mut self) -> Option<Val> {
        let rest = self.rest();
        let digits = |from: usize| rest.bytes().skip(from).take_while(u8::is_ascii_digit).count();
        let sign = usize::from(rest.starts_with('-'));
        let whole = digits(sign);
        let mut end = sign + whole;
        let dot = rest.get(end..).is_some_and(|r| r.starts_with('.'));
        if dot && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        let value = rest.get(..end).filter(|_| whole > 0)?.parse::<f64>().ok()?;
        self.at += end;
        Some(Val::number(value))
    }

    /// A text in quotes, with JavaScript's escapes.
    pub(super) fn quoted(&mut self) -> Result<String, Trouble> {
        let start = self.at;
        let mut chars = self.rest().chars();
        let quote = chars.next();
        let mut out = String::new();
        loop {
            match chars.next() {
                None => return Err(Trouble::new(start, "the quote that begins here has no end")),
                c if c == quote => break,
                Some('\\') => escape(&mut chars, &mut out),
                Some(c) => out.push(c),
            }
        }
        self.at = self.end - chars.as_str().len();
        Ok(out)
    }

    fn filter(&mut self, unknown: &mut Vec<String>) -> Result<Filter, Trouble> {
        self.skip_blank();
        let at = self.at;
        let name = self.word();
        if name.is_empty() {
            return self.fail("the name of a filter is missing behind `|`");
        }
        let call = filters::find(name);
        if matches!(call, filters::Call::Unknown) && !unknown.iter().any(|n| n == name) {
            unknown.push(name.to_owned());
        }
        let (mut args, mut named) = (Vec::new(), Vec::new());
        if self.next(":") {
            loop {
                self.skip_blank();
                let start = self.at;
                let word = self.word();
                if !word.is_empty() && self.next(":") {
                    let Some(value) = self.operand()? else { return self.fail(format!("a value is missing behind `{word}:`")) };
                    named.push((word.into(), value));
                } else {
                    self.at = start;
                    args.extend(self.operand()?);
                }
                if !self.next(",") {
                    break;
                }
            }
        }
        Ok(Filter { at, call, args, named })
    }
}

fn escape(chars: &mut std::str::Chars<'_>, out: &mut String) {
    match chars.next() {
        Some('n') => out.push('\n'),
        Some('r') => out.push('\r'),
        Some('t') => out.push('\t'),
        Some('b') => out.push('\u{8}'),
        Some('f') => out.push('\u{c}'),
        Some('v') => out.push('\u{b}'),
        Some('u') => {
            let digits: String = chars.clone().take(4).take_while(char::is_ascii_hexdigit).collect();
            match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                Some(c) => {
                    out.push(c);
                    *chars = chars.as_str().get(digits.len()..).unwrap_or_default().chars();
                }
                None => out.push('u'),
            }
        }
        Some(c) => out.push(c),
        None => {}
    }
}

/// A whole number of a value, for limits and the like.
#[expect(clippy::cast_possible_truncation, reason = "saturates, which is what a bound wants")]
pub(super) fn whole(value: &Val) -> i64 {
    match value {
        Val::Is(Value::Int(n)) => *n,
        other => other.to_number().trunc() as i64,
    }
}
