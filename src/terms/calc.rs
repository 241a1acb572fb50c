//! `calc`: arithmetic on references, and nothing else. The grammar is `grammar/calc.pest`.
//!
//! Missing values and anything that is not a number count as 0; dividing by 0 gives 0; `round` rounds halves up, as
//! JavaScript does. Brackets, operators and the length are bounded before the text is parsed, because both the parser
//! and the compiled form recurse.

use std::sync::{Arc, LazyLock};

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::{Pair, Pairs};
use pest::pratt_parser::{Assoc, Op as Precedence, PrattParser};

use crate::diag::limits;
use crate::model::{Map, Value};
use crate::text::{TextError, TextLimits, truthiness};

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::{Expr, ValueFold};

/// The limits on one expression.
const LIMITS: TextLimits = TextLimits::CALC;

#[derive(pest_derive::Parser)]
#[grammar = "grammar/calc.pest"]
struct CalcGrammar;

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
    Binary(CalcOperator, Box<Calc>, Box<Calc>),
    /// A function.
    Call(CalcFunction, Vec<Calc>),
}

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalcOperator {
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
pub enum CalcFunction {
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
pub const NAMES: &[(&str, CalcFunction)] = &[
    ("min", CalcFunction::Min),
    ("max", CalcFunction::Max),
    ("round", CalcFunction::Round),
    ("floor", CalcFunction::Floor),
    ("ceil", CalcFunction::Ceil),
    ("abs", CalcFunction::Abs),
    ("if", CalcFunction::If),
];

impl Calc {
    /// Whether any reference depends on the item `depth` levels up.
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

    /// The result: an integer if the number is whole.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let n = self.number(env)?;
        #[allow(clippy::cast_possible_truncation)]
        Ok(if n.fract() == 0.0 && n.abs() < 9e15 { Value::Int(n as i64) } else { Value::Num(n) })
    }

    fn number(&self, env: &Env<'_>) -> Result<f64, EvalFault> {
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
                    CalcOperator::Add => a + b,
                    CalcOperator::Sub => a - b,
                    CalcOperator::Mul => a * b,
                    CalcOperator::Div => {
                        if b == 0.0 {
                            0.0
                        } else {
                            a / b
                        }
                    }
                    CalcOperator::Lt => truth(a < b),
                    CalcOperator::Le => truth(a <= b),
                    CalcOperator::Gt => truth(a > b),
                    CalcOperator::Ge => truth(a >= b),
                    #[allow(clippy::float_cmp)]
                    CalcOperator::Eq => truth(a == b),
                    #[allow(clippy::float_cmp)]
                    CalcOperator::Ne => truth(a != b),
                }
            }
            Calc::Call(name, args) => call(*name, args, env)?,
        })
    }
}

fn call(name: CalcFunction, args: &[Calc], env: &Env<'_>) -> Result<f64, EvalFault> {
    if name == CalcFunction::If {
        let [cond, yes, no] = args else { return Ok(0.0) };
        return if truthiness::calc(cond.number(env)?) { yes.number(env) } else { no.number(env) };
    }
    let values = args.iter().map(|a| a.number(env)).collect::<Result<Vec<_>, _>>()?;
    let first = values.first().copied().unwrap_or(0.0);
    Ok(match name {
        CalcFunction::Min => values.into_iter().reduce(f64::min).unwrap_or(0.0),
        CalcFunction::Max => values.into_iter().reduce(f64::max).unwrap_or(0.0),
        CalcFunction::Round => (first + 0.5).floor(),
        CalcFunction::Floor => first.floor(),
        CalcFunction::Ceil => first.ceil(),
        CalcFunction::Abs => first.abs(),
        CalcFunction::If => 0.0,
    })
}

/// The precedence of the operators, weakest first.
static PRECEDENCE: LazyLock<PrattParser<Rule>> = LazyLock::new(|| {
    let left = |rule| Precedence::infix(rule, Assoc::Left);
    PrattParser::new()
        .op(left(Rule::le) | left(Rule::ge) | left(Rule::eq) | left(Rule::ne) | left(Rule::lt) | left(Rule::gt))
        .op(left(Rule::add) | left(Rule::sub))
        .op(left(Rule::mul) | left(Rule::div))
        .op(Precedence::prefix(Rule::neg))
});

/// Parses an expression; `reference` compiles a `$x` or `@x` at a byte offset.
///
/// # Errors
/// The text is not an expression, a function is unknown or has the wrong number of arguments, or a limit is reached.
pub fn parse(text: &str, reference: &mut dyn FnMut(&str, usize) -> Expr) -> Result<Calc, TextError> {
    bounded(text)?;
    let mut calc = CalcGrammar::parse(Rule::calc, text).map_err(|error| {
        let (InputLocation::Pos(at) | InputLocation::Span((at, _))) = error.location;
        let wanted = if let ErrorVariant::ParsingError { positives, .. } = &error.variant { &positives[..] } else { &[] };
        unexpected(text, at, wanted)
    })?;
    let expression = calc.next().and_then(|calc| calc.into_inner().next());
    let expression = expression.ok_or_else(|| unexpected(text, 0, &[Rule::number]))?;
    CalcCompiler { text, reference }.expression(expression.into_inner())
}

/// Refuses text that would nest too deeply, either for the parser or in the compiled form.
fn bounded(text: &str) -> Result<(), TextError> {
    TextError::refuse_long(text, LIMITS.length)?;
    let (mut depth, mut signs, mut steps) = (0_usize, 0_usize, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        // consecutive signs nest like brackets
        signs = if c == '-' { signs + 1 } else { signs * usize::from(c.is_whitespace()) };
        steps += usize::from("+-*/<>=!,(".contains(c));
        if depth > LIMITS.depth || signs > LIMITS.depth {
            return Err(TextError::bound(text, at, format!("nested more than {} deep", LIMITS.depth)));
        }
        if steps > LIMITS.steps {
            return Err(TextError::bound(text, at, format!("more than {} operators and arguments in one expression", LIMITS.steps)));
        }
    }
    Ok(())
}

/// The error at a position where parsing failed; `wanted` are the grammar rules that were tried there.
fn unexpected(text: &str, at: usize, wanted: &[Rule]) -> TextError {
    let rest = text.get(at..).unwrap_or_default();
    let word = word(rest);
    // if no part of a rule matches at its start, the rule itself represents its parts
    let operands = [Rule::calc, Rule::expression, Rule::neg, Rule::number, Rule::reference, Rule::call];
    if wanted.iter().any(|rule| operands.contains(rule)) {
        return match word {
            "" => TextError::at(text, at, "a number, a reference or `(` is expected"),
            known if named(known).is_some() => TextError::at(text, at + known.len(), format!("`(` is expected behind `{known}`")),
            unknown => no_function(text, at, unknown),
        };
    }
    let open = open_bracket(text.get(..at).unwrap_or_default());
    match (open, rest.chars().next()) {
        (Some(of), _) if named(of).is_some() => TextError::at(text, at, "`)` or `,` is expected"),
        (Some(_), _) => TextError::at(text, at, "`)` is expected"),
        (None, Some(c)) => TextError::at(text, at, format!("`{c}` is not expected here")),
        (None, None) => TextError::at(text, at, "the expression is not finished"),
    }
}

/// The word before the innermost bracket that is still open; empty if there is none.
fn open_bracket(before: &str) -> Option<&str> {
    let mut closed = 0_usize;
    let at = before.char_indices().rev().find(|(_, c)| match c {
        ')' => {
            closed += 1;
            false
        }
        '(' if closed > 0 => {
            closed -= 1;
            false
        }
        c => *c == '(',
    })?;
    let before = before.get(..at.0)?.trim_end();
    let start = before.char_indices().rev().take_while(|(_, c)| is_letter(*c)).last().map_or(before.len(), |(n, _)| n);
    before.get(start..)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    text.get(..text.find(|c| !is_letter(c)).unwrap_or(text.len())).unwrap_or_default()
}

fn named(word: &str) -> Option<CalcFunction> {
    NAMES.iter().find(|(name, _)| *name == word).map(|(_, name)| *name)
}

fn no_function(text: &str, at: usize, word: &str) -> TextError {
    let known = crate::diag::suggest::help(word, NAMES.iter().map(|(n, _)| *n)).unwrap_or_default();
    TextError::at(text, at, format!("`{word}` is not a number, reference or function; {known}"))
}

/// Converts the parse tree to the compiled form; the depth is bounded by [`bounded`].
struct CalcCompiler<'t, 'r> {
    text: &'t str,
    reference: &'r mut dyn FnMut(&str, usize) -> Expr,
}

impl CalcCompiler<'_, '_> {
    fn expression(&mut self, pairs: Pairs<'_, Rule>) -> Result<Calc, TextError> {
        PRECEDENCE
            .map_primary(|pair| self.atom(pair))
            .map_prefix(|_, inner| Ok(Calc::Neg(Box::new(inner?))))
            .map_infix(|left, pair, right| Ok(Calc::Binary(operator(pair.as_rule()), Box::new(left?), Box::new(right?))))
            .parse(pairs)
    }

    fn atom(&mut self, pair: Pair<'_, Rule>) -> Result<Calc, TextError> {
        let (written, at) = (pair.as_str(), pair.as_span().start());
        match pair.as_rule() {
            Rule::reference => Ok(Calc::Ref((self.reference)(written, at))),
            Rule::number => {
                let number = written.replace('_', "").parse();
                number.map(Calc::Number).map_err(|_| TextError::at(self.text, at, format!("`{written}` is not a number")))
            }
            Rule::call => self.call(pair.into_inner(), at),
            _ => self.expression(pair.into_inner()),
        }
    }

    fn call(&mut self, mut pairs: Pairs<'_, Rule>, at: usize) -> Result<Calc, TextError> {
        let word = pairs.next().map_or("", |name| name.as_str());
        let name = named(word).ok_or_else(|| no_function(self.text, at, word))?;
        let args = pairs.map(|pair| self.expression(pair.into_inner())).collect::<Result<Vec<_>, _>>()?;
        let wanted = match name {
            CalcFunction::If => 3,
            CalcFunction::Round | CalcFunction::Floor | CalcFunction::Ceil | CalcFunction::Abs => 1,
            CalcFunction::Min | CalcFunction::Max => args.len(),
        };
        if args.len() != wanted {
            return Err(TextError::at(self.text, at, format!("`{word}` takes {wanted} values, not {}", args.len())));
        }
        Ok(Calc::Call(name, args))
    }
}

fn operator(rule: Rule) -> CalcOperator {
    match rule {
        Rule::sub => CalcOperator::Sub,
        Rule::mul => CalcOperator::Mul,
        Rule::div => CalcOperator::Div,
        Rule::lt => CalcOperator::Lt,
        Rule::le => CalcOperator::Le,
        Rule::gt => CalcOperator::Gt,
        Rule::ge => CalcOperator::Ge,
        Rule::eq => CalcOperator::Eq,
        Rule::ne => CalcOperator::Ne,
        _ => CalcOperator::Add,
    }
}

/// How many steps may go by until the value is measured: each may nest it deeper.
const STEPS: usize = 16;

/// The names that `give` knows.
static FOLD_NAMES: LazyLock<Arc<[Arc<str>]>> = LazyLock::new(|| ["so_far", "element", "index"].map(Arc::from).into());

/// The names that `give` knows.
#[must_use]
pub fn names() -> Arc<[Arc<str>]> {
    FOLD_NAMES.clone()
}

impl ValueFold {
    /// The value after the last element.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let list = self.of.eval(env)?;
        let elements = list.elements();
        env.st.visit(elements.len())?;
        let mut so_far = self.from.eval(env)?;
        let measure =
            |so_far: &Value| super::usage::check_kept(so_far, env.st.rules.limits.text_bytes, &env.st.scene).map(|_| ()).map_err(grown);
        for (n, element) in elements.iter().enumerate() {
            let index = Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
            let values = [so_far, element.clone(), index];
            let here: Map = FOLD_NAMES.iter().cloned().zip(values).collect();
            let here = Value::map(here);
            so_far = env.inner(CurrentItem::Value(&here, n)).eval(&self.give)?;
            // a step may double the list, so the check cannot wait for the end
            let own = so_far.elements().len().max(so_far.as_map().map_or(0, Map::len));
            if own > limits::VALUES {
                return Err(grown(format!("hold more than {} values; keep fewer in it", limits::VALUES)));
            }
            if n % STEPS == STEPS - 1 && own > 0 {
                measure(&so_far)?;
            }
        }
        if !elements.is_empty() {
            measure(&so_far)?;
        }
        Ok(so_far)
    }
}

fn grown(would: String) -> EvalFault {
    EvalFault::bound(format!("the value of a `fold` would {would}"))
}
