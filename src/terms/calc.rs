//! `calc`: arithmetic on references, and nothing else.
//!
//! Grammar: `expr = sum [cmp sum]`, `sum = product { (+|-) product }`, `product = unary { (*|/) unary }`,
//! `unary = [-] atom`, `atom = number | $ref | @ref | name(expr, …) | (expr)`, `cmp = < <= > >= == !=`;
//! names: `min max round floor ceil abs if`. Missing and non-numbers are 0; dividing by 0 gives 0; `round` rounds
//! halves up, as JavaScript does. Nesting is limited to 64.

use crate::model::Value;
use crate::text::{TextError, truth};

use super::eval::{Env, Fault};
use super::expr::Expr;

/// A compiled arithmetic expression.
#[derive(Debug, Clone)]
pub enum Calc {
    /// A number.
    Number(f64),
    /// A reference.
    Ref(Expr),
    /// `-x`.
    Neg(Box<Calc>),
    /// Two operands.
    Binary(Op, Box<Calc>, Box<Calc>),
    /// A function.
    Call(Name, Vec<Calc>),
}

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
}

/// A function name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Nearest whole number, halves up.
    Round,
    /// Next lower.
    Floor,
    /// Next higher.
    Ceil,
    /// Without sign.
    Abs,
    /// `if(condition, then, else)`.
    If,
}

/// The function names, for messages and `tapster ops`.
pub const NAMES: &[(&str, Name)] = &[
    ("min", Name::Min),
    ("max", Name::Max),
    ("round", Name::Round),
    ("floor", Name::Floor),
    ("ceil", Name::Ceil),
    ("abs", Name::Abs),
    ("if", Name::If),
];

impl Calc {
    /// Whether any reference looks at the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        match self {
            Calc::Number(_) => false,
            Calc::Ref(e) => e.refers(depth),
            Calc::Neg(c) => c.refers(depth),
            Calc::Binary(_, a, b) => a.refers(depth) || b.refers(depth),
            Calc::Call(_, args) => args.iter().any(|a| a.refers(depth)),
        }
    }

    /// The result: a whole number where it is one.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, Fault> {
        let n = self.number(env)?;
        #[allow(clippy::cast_possible_truncation)]
        Ok(if n.fract() == 0.0 && n.abs() < 9e15 { Value::Int(n as i64) } else { Value::Num(n) })
    }

    fn number(&self, env: &Env<'_>) -> Result<f64, Fault> {
        Ok(match self {
            Calc::Number(n) => *n,
            Calc::Ref(e) => match e.eval(env)? {
                Value::Bool(b) => f64::from(u8::from(b)),
                other => other.as_f64().filter(|n| !n.is_nan()).unwrap_or(0.0),
            },
            Calc::Neg(c) => -c.number(env)?,
            Calc::Binary(op, a, b) => {
                let (a, b) = (a.number(env)?, b.number(env)?);
                let truth = |b: bool| f64::from(u8::from(b));
                match op {
                    Op::Add => a + b,
                    Op::Sub => a - b,
                    Op::Mul => a * b,
                    Op::Div => {
                        if b == 0.0 {
                            0.0
                        } else {
                            a / b
                        }
                    }
                    Op::Lt => truth(a < b),
                    Op::Le => truth(a <= b),
                    Op::Gt => truth(a > b),
                    Op::Ge => truth(a >= b),
                    #[allow(clippy::float_cmp)]
                    Op::Eq => truth(a == b),
                    #[allow(clippy::float_cmp)]
                    Op::Ne => truth(a != b),
                }
            }
            Calc::Call(name, args) => call(*name, args, env)?,
        })
    }
}

fn call(name: Name, args: &[Calc], env: &Env<'_>) -> Result<f64, Fault> {
    if name == Name::If {
        let [cond, yes, no] = args else { return Ok(0.0) };
        return if truth::calc(cond.number(env)?) { yes.number(env) } else { no.number(env) };
    }
    let values = args.iter().map(|a| a.number(env)).collect::<Result<Vec<_>, _>>()?;
    let first = values.first().copied().unwrap_or(0.0);
    Ok(match name {
        Name::Min => values.into_iter().reduce(f64::min).unwrap_or(0.0),
        Name::Max => values.into_iter().reduce(f64::max).unwrap_or(0.0),
        Name::Round => (first + 0.5).floor(),
        Name::Floor => first.floor(),
        Name::Ceil => first.ceil(),
        Name::Abs => first.abs(),
        Name::If => 0.0,
    })
}

/// Parses an expression; `reference` compiles a `$x` or `@x` at a byte offset.
pub fn parse(text: &str, reference: &mut dyn FnMut(&str, usize) -> Expr) -> Result<Calc, TextError> {
    let mut p = Parser { text, at: 0, reference, depth: 0 };
    let calc = p.comparison()?;
    p.blank();
    if p.at < text.len() {
        return Err(p.error(format!("`{}` is not expected here", p.rest().chars().next().unwrap_or(' '))));
    }
    Ok(calc)
}

struct Parser<'t, 'r> {
    text: &'t str,
    at: usize,
    reference: &'r mut dyn FnMut(&str, usize) -> Expr,
    depth: usize,
}

impl<'t> Parser<'t, '_> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn error(&self, message: impl Into<String>) -> TextError {
        TextError::at(self.text, self.at, message)
    }

    fn blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.blank();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn comparison(&mut self) -> Result<Calc, TextError> {
        self.depth += 1;
        if self.depth > 64 {
            return Err(self.error("nested more than 64 deep"));
        }
        let left = self.sum()?;
        let ops = [("<=", Op::Le), (">=", Op::Ge), ("==", Op::Eq), ("!=", Op::Ne), ("<", Op::Lt), (">", Op::Gt)];
        let op = ops.iter().find(|(token, _)| self.eat(token)).map(|(_, op)| *op);
        let result = match op {
            Some(op) => Calc::Binary(op, Box::new(left), Box::new(self.sum()?)),
            None => left,
        };
        self.depth -= 1;
        Ok(result)
    }

    fn sum(&mut self) -> Result<Calc, TextError> {
        let mut left = self.product()?;
        loop {
            let op = if self.eat("+") {
                Op::Add
            } else if self.eat("-") {
                Op::Sub
            } else {
                return Ok(left);
            };
            left = Calc::Binary(op, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Calc, TextError> {
        let mut left = self.unary()?;
        loop {
            let op = if self.eat("*") {
                Op::Mul
            } else if self.eat("/") {
                Op::Div
            } else {
                return Ok(left);
            };
            left = Calc::Binary(op, Box::new(left), Box::new(self.unary()?));
        }
    }

    fn unary(&mut self) -> Result<Calc, TextError> {
        if self.eat("-") {
            self.depth += 1;
            if self.depth > 64 {
                return Err(self.error("nested more than 64 deep"));
            }
            let inner = self.unary()?;
            self.depth -= 1;
            return Ok(Calc::Neg(Box::new(inner)));
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Calc, TextError> {
        self.blank();
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Err(self.error("a number, a reference or `(` is expected")) };
        if first == '(' {
            self.at += 1;
            let inner = self.comparison()?;
            return if self.eat(")") { Ok(inner) } else { Err(self.error("`)` is expected")) };
        }
        if first == '$' || first == '@' {
            let length =
                1 + rest.chars().skip(1).take_while(|c| c.is_alphanumeric() || "_.[]$@".contains(*c)).map(char::len_utf8).sum::<usize>();
            let word = rest.get(..length).unwrap_or(rest).trim_end_matches('.');
            let at = self.at;
            self.at += word.len();
            return Ok(Calc::Ref((self.reference)(word, at)));
        }
        if first.is_ascii_digit() || first == '.' {
            let length = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.' || *c == '_').count();
            let word = rest.get(..length).unwrap_or(rest);
            let number = word.replace('_', "").parse().map_err(|_| self.error(format!("`{word}` is no number")))?;
            self.at += length;
            return Ok(Calc::Number(number));
        }
        self.function(rest)
    }

    fn function(&mut self, rest: &str) -> Result<Calc, TextError> {
        let length = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum::<usize>();
        let word = rest.get(..length).unwrap_or("");
        let Some((_, name)) = NAMES.iter().find(|(n, _)| *n == word) else {
            let known = crate::diag::suggest::help(word, NAMES.iter().map(|(n, _)| *n)).unwrap_or_default();
            return Err(self.error(format!("`{}` is no number, reference or function; {known}", if word.is_empty() { rest } else { word })));
        };
        self.at += length;
        if !self.eat("(") {
            return Err(self.error(format!("`(` is expected behind `{word}`")));
        }
        let mut args = vec![self.comparison()?];
        while self.eat(",") {
            args.push(self.comparison()?);
        }
        if !self.eat(")") {
            return Err(self.error("`)` or `,` is expected"));
        }
        let wanted = match name {
            Name::If => 3,
            Name::Round | Name::Floor | Name::Ceil | Name::Abs => 1,
            Name::Min | Name::Max => args.len(),
        };
        if args.len() != wanted {
            return Err(self.error(format!("`{word}` takes {wanted} values, not {}", args.len())));
        }
        Ok(Calc::Call(*name, args))
    }
}
