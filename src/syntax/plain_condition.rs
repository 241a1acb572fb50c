//! Expressions that say what a table of tests says: they compile to the same tests, so that all that is known of tests (checks,
//! memos, coverage, remedies) holds for them.
//!
//! In such a condition a comparison of different kinds does not hold, and a bare name counts as true or false as it does in tables.

use std::sync::Arc;

use pest::Parser;
use pest::iterators::{Pair, Pairs};

use super::expression_grammar::{ExpressionGrammar, Rule, check_nesting, read_number, read_string};
use crate::diag::{DocumentNode, FieldMap, NodeValue, Sources, Span, TableField, source};
use crate::model::Value;
use crate::text::pattern::Pattern;

/// The condition of an expression as a table. A field or a path whose mark is `bare` has none, as authors write tables. A part that no
/// test says is `{ "=" = "…" }`; with `whole`, there is no table then.
#[must_use]
pub fn condition_table(sources: &Sources, node: &DocumentNode, bare: Option<char>, whole: bool) -> Option<DocumentNode> {
    let text = node.as_text()?;
    let start = usize::from(text.starts_with('='));
    let text = text.get(start..)?;
    check_nesting(text).ok()?;
    let expression = ExpressionGrammar::parse(Rule::expression, text).ok()?.next()?.into_inner().next()?;
    ConditionWriter { sources, node, start, bare, whole }.write_conditional(expression)
}

/// Keys of conditions that are no paths.
const COMBINING: [&str; 12] = ["all", "any", "not", "and", "or", "fact", "of", "script", "host", "rhai", "op", "path"];

struct ConditionWriter<'t> {
    sources: &'t Sources,
    /// The text of the file.
    node: &'t DocumentNode,
    /// Where the expression begins in it.
    start: usize,
    bare: Option<char>,
    whole: bool,
}

/// An operand: a path or a field as a key of a condition, a literal, or anything else.
enum Operand<'p> {
    Key(Arc<str>),
    Literal(NodeValue),
    Other(Pair<'p, Rule>),
}

impl ConditionWriter<'_> {
    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        source::place_in_text(self.sources, self.node, self.start + pair.as_span().start())
    }

    fn single_table(span: Span, key: &str, value: NodeValue) -> DocumentNode {
        let field = TableField { key: span, node: DocumentNode { span, data: value } };
        DocumentNode { span, data: NodeValue::Table(FieldMap::from_iter([(Arc::from(key), field)])) }
    }

    /// The test of a path or a field.
    fn write_test(&self, span: Span, key: &str, test: NodeValue) -> DocumentNode {
        let bare = self.bare.and_then(|mark| key.strip_prefix(mark)).filter(|name| !COMBINING.contains(name));
        Self::single_table(span, bare.unwrap_or(key), test)
    }

    /// A part that is no test.
    fn write_remainder(&self, pair: &Pair<'_, Rule>) -> Option<DocumentNode> {
        (!self.whole).then(|| Self::single_table(self.span(pair), "=", NodeValue::Text(pair.as_str().trim().into())))
    }

    fn write_conditional(&self, pair: Pair<'_, Rule>) -> Option<DocumentNode> {
        let mut inner = pair.clone().into_inner();
        match (inner.next(), inner.next()) {
            (Some(chain), None) if chain.as_rule() == Rule::chain => self.write_chain(chain),
            _ => self.write_remainder(&pair),
        }
    }

    fn write_chain(&self, chain: Pair<'_, Rule>) -> Option<DocumentNode> {
        let parts: Vec<Pair<'_, Rule>> = chain.clone().into_inner().collect();
        // a comparison stands between two operands, and joins stand between comparisons
        if parts.iter().any(|part| part.as_rule() == Rule::or) {
            let list =
                parts.split(|part| part.as_rule() == Rule::or).map(|side| self.write_conjunction(side)).collect::<Option<Vec<_>>>()?;
            return Some(Self::single_table(self.span(&chain), "any", NodeValue::List(list)));
        }
        self.write_conjunction(&parts)
    }

    /// A row of operands without `||`.
    fn write_conjunction(&self, parts: &[Pair<'_, Rule>]) -> Option<DocumentNode> {
        if parts.iter().any(|part| part.as_rule() == Rule::and) {
            let list =
                parts.split(|part| part.as_rule() == Rule::and).map(|side| self.write_conjunction(side)).collect::<Option<Vec<_>>>()?;
            return Some(join_tests(self.span(parts.first()?), list));
        }
        match parts {
            [operand] => self.write_truth(operand.clone()),
            [left, comparison, right] => {
                self.write_comparison(left, comparison.as_rule(), right).or_else(|| self.write_remaining_row(parts))
            }
            _ => self.write_remaining_row(parts),
        }
    }

    fn write_remaining_row(&self, parts: &[Pair<'_, Rule>]) -> Option<DocumentNode> {
        let (first, last) = (parts.first()?, parts.last()?);
        let text = first.get_input().get(first.as_span().start()..last.as_span().end())?;
        (!self.whole).then(|| Self::single_table(self.span(first), "=", NodeValue::Text(text.trim().into())))
    }

    /// An operand that is true or false.
    fn write_truth(&self, pair: Pair<'_, Rule>) -> Option<DocumentNode> {
        let mut inner: Vec<Pair<'_, Rule>> = pair.clone().into_inner().collect();
        let operand = inner.pop()?;
        if let Some(sign) = inner.pop() {
            // `!!a` and `-a` are written by nobody
            if sign.as_rule() != Rule::not || !inner.is_empty() {
                return self.write_remainder(&pair);
            }
            let mut positive = self.write_operand(&operand)?;
            if positive.get("=").is_some() {
                return self.write_remainder(&pair);
            }
            return Some(if negate_test(&mut positive) { positive } else { Self::single_table(self.span(&pair), "not", positive.data) });
        }
        self.write_operand(&operand)
    }

    fn write_operand(&self, operand: &Pair<'_, Rule>) -> Option<DocumentNode> {
        let span = self.span(operand);
        match read_operand(operand.clone()) {
            Operand::Key(key) => Some(self.write_test(span, &key, NodeValue::Bool(true))),
            Operand::Literal(NodeValue::Bool(truth)) => Some(DocumentNode { span, data: NodeValue::Bool(truth) }),
            Operand::Literal(_) => self.write_remainder(operand),
            Operand::Other(operand) => {
                let parts: Vec<Pair<'_, Rule>> = operand.clone().into_inner().collect();
                match parts.as_slice() {
                    // in brackets
                    [inner] if inner.as_rule() == Rule::conditional => self.write_conditional(inner.clone()),
                    [call] if call.as_rule() == Rule::call => self.write_fact(call).or_else(|| self.write_remainder(&operand)),
                    _ => self.write_method(&operand, &parts).or_else(|| self.write_remainder(&operand)),
                }
            }
        }
    }

    /// `fact('name')`.
    fn write_fact(&self, call: &Pair<'_, Rule>) -> Option<DocumentNode> {
        let mut inner = call.clone().into_inner();
        let (name, arguments) = (inner.next()?, inner.next()?);
        let fact = only_literal(&arguments).filter(|fact| name.as_str() == "fact" && value_text(fact).is_some())?;
        Some(Self::single_table(self.span(call), "fact", fact))
    }

    /// `text.isEmpty()`, `text.startsWith('a')`, `text.matches('/a/')`.
    fn write_method(&self, operand: &Pair<'_, Rule>, parts: &[Pair<'_, Rule>]) -> Option<DocumentNode> {
        let (select, of) = parts.split_last()?;
        let key = read_key(of)?;
        let mut inner = select.clone().into_inner();
        let (name, arguments) = (inner.next()?, inner.next()?);
        if name.as_rule() != Rule::field || arguments.as_rule() != Rule::arguments {
            return None;
        }
        let (test, value) = match (name.as_str(), only_literal(&arguments)) {
            ("isEmpty", None) if arguments.into_inner().next().is_none() => ("nonempty", NodeValue::Bool(false)),
            ("matches", Some(pattern)) if value_text(&pattern).is_some_and(Pattern::is_written) => ("matches", pattern),
            ("startsWith", Some(start @ NodeValue::Text(_))) if is_plain_text(&start) => ("starts", start),
            _ => return None,
        };
        let span = self.span(operand);
        Some(self.write_test(span, &key, Self::single_table(span, test, value).data))
    }

    fn write_comparison(&self, left: &Pair<'_, Rule>, comparison: Rule, right: &Pair<'_, Rule>) -> Option<DocumentNode> {
        let span = self.span(left);
        let test = |test: &str, value: NodeValue| Self::single_table(span, test, value).data;
        let (Operand::Key(key), right) = (read_unary(left)?, read_unary(right)?) else { return None };
        let test = match (comparison, right) {
            (Rule::eq, Operand::Literal(NodeValue::Null)) => test("exists", NodeValue::Bool(false)),
            (Rule::ne, Operand::Literal(NodeValue::Null)) => test("exists", NodeValue::Bool(true)),
            (Rule::eq, Operand::Literal(value)) if !matches!(value, NodeValue::Bool(_)) && is_plain_text(&value) => value,
            (Rule::ne, Operand::Literal(value)) if !matches!(value, NodeValue::Bool(_)) && is_plain_text(&value) => test("ne", value),
            (rule, Operand::Literal(value @ (NodeValue::Int(_) | NodeValue::Float(_)))) => {
                let word = [(Rule::lt, "lt"), (Rule::le, "le"), (Rule::gt, "gt"), (Rule::ge, "ge")];
                test(word.into_iter().find(|(known, _)| *known == rule)?.1, value)
            }
            (Rule::within, Operand::Other(operand)) => NodeValue::List(literal_list(&operand, self.span(left))?),
            _ => return None,
        };
        Some(self.write_test(span, &key, test))
    }
}

/// All of these must hold: one table, if they have different keys.
fn join_tests(span: Span, list: Vec<DocumentNode>) -> DocumentNode {
    let mut joined = FieldMap::default();
    for tests in &list {
        for (key, field) in tests.as_table().into_iter().flatten() {
            joined.insert(key.clone(), field.clone());
        }
    }
    let parts = list.iter().map(|tests| tests.as_table().map_or(usize::MAX, FieldMap::len)).fold(0, usize::saturating_add);
    if joined.len() == parts && !joined.contains_key("=") {
        return DocumentNode { span, data: NodeValue::Table(joined) };
    }
    ConditionWriter::single_table(span, "all", NodeValue::List(list))
}

/// Turns a test into its opposite. `false` if tables have no word for it.
fn negate_test(tests: &mut DocumentNode) -> bool {
    let NodeValue::Table(table) = &mut tests.data else { return false };
    let (1, Some((key, test))) = (table.len(), table.first_mut()) else { return false };
    if COMBINING.contains(&&**key) {
        return false;
    }
    match &mut test.node.data {
        NodeValue::Bool(truth) => *truth = !*truth,
        list @ NodeValue::List(_) => {
            let several = std::mem::replace(list, NodeValue::Null);
            let field = TableField { key: test.key, node: DocumentNode { span: test.key, data: several } };
            *list = NodeValue::Table(FieldMap::from_iter([("ne".into(), field)]));
        }
        NodeValue::Table(words) => match words.first_mut() {
            Some((word, TableField { node: DocumentNode { data: NodeValue::Bool(truth), .. }, .. })) if &**word == "nonempty" => {
                *truth = !*truth;
            }
            _ => return false,
        },
        _ => return false,
    }
    true
}

/// Whether a text means itself as the value of a table.
fn is_plain_text(value: &NodeValue) -> bool {
    value_text(value).is_none_or(|text| !text.starts_with(['$', '@', '=']) && !text.contains("{{"))
}

fn value_text(value: &NodeValue) -> Option<&str> {
    if let NodeValue::Text(text) = value { Some(text) } else { None }
}

fn read_unary<'p>(pair: &Pair<'p, Rule>) -> Option<Operand<'p>> {
    let mut inner: Vec<Pair<'p, Rule>> = pair.clone().into_inner().collect();
    let operand = inner.pop()?;
    match (read_operand(operand), inner.as_slice()) {
        (operand, []) => Some(operand),
        (Operand::Literal(NodeValue::Int(n)), [sign]) if sign.as_rule() == Rule::neg => {
            Some(Operand::Literal(NodeValue::Int(n.checked_neg()?)))
        }
        (Operand::Literal(NodeValue::Float(n)), [sign]) if sign.as_rule() == Rule::neg => Some(Operand::Literal(NodeValue::Float(-n))),
        _ => None,
    }
}

fn read_operand(operand: Pair<'_, Rule>) -> Operand<'_> {
    let parts: Vec<Pair<'_, Rule>> = operand.clone().into_inner().collect();
    if let [atom] = parts.as_slice()
        && let Some(literal) = read_literal(atom)
    {
        return Operand::Literal(literal);
    }
    read_key(&parts).map_or(Operand::Other(operand), Operand::Key)
}

/// A path or a field with plain steps.
fn read_key(parts: &[Pair<'_, Rule>]) -> Option<Arc<str>> {
    let (atom, steps) = parts.split_first()?;
    let mut key = match atom.as_rule() {
        Rule::path => atom.as_str().to_owned(),
        // `item` may be the item around an element
        Rule::name if !matches!(atom.as_str(), "true" | "false" | "null" | "item") => format!("@{}", atom.as_str()),
        _ => return None,
    };
    for step in steps {
        let mut inner = step.clone().into_inner();
        let field = inner.next().filter(|field| step.as_rule() == Rule::select && field.as_rule() == Rule::field)?;
        if inner.next().is_some() || field.as_str().starts_with('`') {
            return None;
        }
        key.push('.');
        key.push_str(field.as_str());
    }
    Some(key.into())
}

fn read_literal(atom: &Pair<'_, Rule>) -> Option<NodeValue> {
    match (atom.as_rule(), atom.as_str()) {
        (Rule::name, "true") => Some(NodeValue::Bool(true)),
        (Rule::name, "false") => Some(NodeValue::Bool(false)),
        (Rule::name, "null") => Some(NodeValue::Null),
        (Rule::number, text) => match read_number(text)? {
            Value::Int(n) => Some(NodeValue::Int(n)),
            Value::Num(n) => Some(NodeValue::Float(n)),
            _ => None,
        },
        (Rule::string, _) => Some(NodeValue::Text(read_string(atom).ok()?.into())),
        _ => None,
    }
}

/// The only argument, if it is a literal.
fn only_literal(arguments: &Pair<'_, Rule>) -> Option<NodeValue> {
    let mut inner: Pairs<'_, Rule> = arguments.clone().into_inner();
    let only = inner.next().filter(|_| inner.next().is_none())?;
    literal_of(only)
}

/// The literal that a conditional is.
fn literal_of(pair: Pair<'_, Rule>) -> Option<NodeValue> {
    let mut inside = pair;
    while matches!(inside.as_rule(), Rule::conditional | Rule::chain | Rule::element) {
        let mut inner = inside.into_inner();
        inside = inner.next().filter(|_| inner.next().is_none())?;
    }
    match read_unary(&inside)? {
        Operand::Literal(value) => Some(value),
        _ => None,
    }
}

/// The literals of a list: texts and numbers that mean themselves.
fn literal_list(operand: &Pair<'_, Rule>, span: Span) -> Option<Vec<DocumentNode>> {
    let mut inner = operand.clone().into_inner();
    let list = inner.next().filter(|list| list.as_rule() == Rule::list && inner.next().is_none())?;
    let values = list.into_inner().map(|element| {
        let value = literal_of(element)?;
        let is_meant = matches!(value, NodeValue::Text(_) | NodeValue::Int(_) | NodeValue::Float(_)) && is_plain_text(&value);
        is_meant.then_some(DocumentNode { span, data: value })
    });
    values.collect::<Option<Vec<_>>>().filter(|values| !values.is_empty())
}
