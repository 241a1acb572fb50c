//! Arithmetic that a text holds, such as `2 * (3 + $hp)`: what is not a number is left out instead of refused. The grammar of
//! a line without parentheses is `grammar/arithmetic.pest`.
//!
//! Parentheses are computed first, from the innermost, and their result takes their place as text. So the line itself is
//! flat, and nothing here recurses.

use std::borrow::Cow;

use pest::Parser;

use super::TextLimits;
use super::function::{Function, FunctionArgs, FunctionRefusal, of};
use super::js::leading_number;
use super::js_number::power;
use super::work;
use super::written::ToText as _;
use crate::model::{Value, value::number_text};

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/arithmetic.pest"]
struct ArithmeticGrammar;

pub(super) const ARITHMETIC: Function = Function {
    name: "arithmetic",
    doc: "the result of the arithmetic that a text holds, with JavaScript's numbers: `!`, `^`, `*` `/` `%`, `+` `-`, then comparisons, `&&` and `||`, from left to right; operands that are no numbers are left out; `names` has tables of numbers by the character in front of their names",
    args: &[("of", true), ("names", false)],
    run,
};

/// Operators of two characters, each with the one that the grammar knows.
const SHORT: [(&str, &str); 6] = [("&&", "&"), ("||", "|"), ("<=", "≤"), (">=", "≥"), ("==", "="), ("!=", "≠")];

fn run(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    if of(args).is_null() {
        return Err("there is no text to compute".into());
    }
    let text = of(args).shown();
    checked(&text)?;
    let names = args.get("names").unwrap_or(&Value::Null);
    let mut open = vec![String::new()];
    for c in text.chars() {
        let put = match c {
            '(' => {
                open.push(String::new());
                continue;
            }
            ')' if open.len() > 1 => match line(&open.pop().unwrap_or_default(), names)? {
                Some(result) => Cow::Owned(number_text(result)),
                None => Cow::Borrowed("undefined"),
            },
            c => {
                if let Some(outer) = open.last_mut() {
                    outer.push(c);
                }
                continue;
            }
        };
        if let Some(outer) = open.last_mut() {
            outer.push_str(&put);
        }
    }
    match line(&open.concat(), names)? {
        Some(number) => Ok(Value::Num(number)),
        None => Err("the last operator has no operand".into()),
    }
}

fn checked(text: &str) -> Result<(), String> {
    let most = TextLimits::CALC.length;
    if text.len() > most { Err(format!("the text is longer than {most} bytes")) } else { Ok(()) }
}

/// The result of a line; nothing if its last operator gives a missing operand.
fn line(text: &str, names: &Value) -> Result<Option<f64>, String> {
    let mut text = text.to_owned();
    for (mark, table) in names.as_map().into_iter().flatten() {
        text = named(&text, mark, table);
        // a number may be longer than its name, and hold what marks another one
        checked(&text)?;
    }
    work::spend((text.len() as u64).saturating_mul(work::STEPS_PER_COMPILED))?;
    for (long, short) in SHORT {
        text = text.replace(long, short);
    }
    let text: String = without_null(&text).chars().filter(|c| !super::js::is_space(*c)).collect();
    let mut parsed = ArithmeticGrammar::parse(Rule::line, &text).map_err(|e| e.to_string())?;
    let (mut values, mut operators) = (Vec::new(), Vec::<&str>::new());
    let mut operand = Some("0");
    for pair in parsed.next().into_iter().flat_map(pest::iterators::Pair::into_inner) {
        match pair.as_rule() {
            Rule::operand => operand = Some(pair.as_str()),
            Rule::operator => {
                put(operand.replace("0"), &mut values, &mut operators);
                operate(pair.as_str(), &mut values, &mut operators);
            }
            _ => {}
        }
    }
    put(operand, &mut values, &mut operators);
    while let Some(operator) = operators.pop() {
        apply(operator, &mut values);
    }
    Ok(values.pop().unwrap_or(Some(0.0)))
}

/// Puts an operator, after those that bind more have been applied.
fn operate<'t>(operator: &'t str, values: &mut Vec<Option<f64>>, operators: &mut Vec<&'t str>) {
    while let Some(other) = operators.pop_if(|other| binds(other) > binds(operator) - u8::from(operator != "!")) {
        apply(other, values);
    }
    operators.push(operator);
}

/// An operand counts if it begins with a number other than zero, or is `0`. A sign alone is an operator.
fn put<'t>(operand: Option<&'t str>, values: &mut Vec<Option<f64>>, operators: &mut Vec<&'t str>) {
    let Some(operand) = operand else { return };
    if operand == "-" {
        return operate(operand, values, operators);
    }
    let number = leading_number(operand);
    if operand == "0" || (number != 0.0 && !number.is_nan()) {
        values.push(Some(number));
    }
}

fn binds(operator: &str) -> u8 {
    match operator {
        "!" => 5,
        "^" => 4,
        "*" | "/" | "%" => 3,
        "+" | "-" => 2,
        _ => 1,
    }
}

/// Takes two operands, of which either may be missing, and puts the result.
fn apply(operator: &str, values: &mut Vec<Option<f64>>) {
    let b = values.pop().flatten();
    let a = values.pop().flatten();
    let truth = |yes: bool| Some(f64::from(u8::from(yes)));
    let holds = |n: Option<f64>| n.is_some_and(|n| n != 0.0 && !n.is_nan());
    let (x, y) = (a.unwrap_or(f64::NAN), b.unwrap_or(f64::NAN));
    values.push(match operator {
        "+" => Some(x + y),
        "-" => Some(x - y),
        "*" => Some(x * y),
        "/" => Some(x / y),
        "%" => Some(x % y),
        "^" => Some(power(x, y)),
        "<" => truth(x < y),
        ">" => truth(x > y),
        "≤" => truth(x <= y),
        "≥" => truth(x >= y),
        "=" => truth(a == b),
        "≠" => truth(a != b),
        "!" => truth(!holds(b)),
        "&" if holds(a) => b,
        "&" => a,
        _ if holds(a) => a,
        _ => b,
    });
}

/// The text with each name behind `mark` replaced by the number of that name; 0 if there is none.
fn named(text: &str, mark: &str, table: &Value) -> String {
    let mut pieces = text.split(mark);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, rest) = piece.split_at_checked(end).unwrap_or((piece, ""));
        if name.is_empty() {
            out.push_str(mark);
        } else {
            let number = table.get(name).map_or(f64::NAN, |value| leading_number(&value.shown()));
            out.push_str(&number_text(if number.is_nan() { 0.0 } else { number }));
        }
        out.push_str(rest);
    }
    out
}

/// The text with each `null`, in upper or lower case, as 0.
fn without_null(text: &str) -> Cow<'_, str> {
    if text.len() < 4 || !text.bytes().any(|b| b.eq_ignore_ascii_case(&b'u')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("null")) {
            out.push('0');
            rest = rest.get(4..).unwrap_or_default();
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    Cow::Owned(out)
}
