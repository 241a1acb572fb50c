//! Expressions that say what tables say, read as these tables: `first(name, $user)` is `{ first = ["@name", "$user"] }`. So the rest
//! of the program knows them as it knows tables, and a lower layer's expression can be patched as its tables can.
//!
//! In such an expression a comparison of different kinds does not hold, and a bare name counts as true or false as it does in
//! tables. What no table says stays an expression as a whole; `src/syntax/expression.rs` compiles it.
//!
//! Nothing here needs the rest of the crate: `build.rs` reads the expressions of the shipped packs with it.

use std::sync::Arc;

use pest::Parser;
use pest::iterators::Pair;

use super::expression_grammar::{
    ExpressionGrammar, LENGTH, Rule, WrittenNumber, check_nesting, is_word, read_atom, read_number, read_string,
};

/// What stands where the expression does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpressionPlace {
    /// A value.
    Value,
    /// A condition, in which names with this mark (`$` or `@`) are written without one.
    Condition(Option<char>),
    /// A condition, of which a part that no test says stays an expression.
    Parts,
}

/// A node of the table that an expression says.
#[derive(Debug, Clone, PartialEq)]
pub struct TableNode {
    /// Where it stands in the text, in bytes.
    pub at: usize,
    /// Its content.
    pub data: TableData,
}

/// The content of a [`TableNode`].
#[derive(Debug, Clone, PartialEq)]
pub enum TableData {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text, which may be a reference.
    Text(String),
    /// A list.
    List(Vec<TableNode>),
    /// A table.
    Table(Vec<(String, TableNode)>),
}

/// The table that an expression says, without the `=` before it; `None` if no table says it. Names that are `taken` are variables
/// around it, which tables do not know.
#[must_use]
pub fn read_tables(text: &str, place: ExpressionPlace, taken: &[Arc<str>]) -> Option<TableNode> {
    if text.len() > LENGTH || check_nesting(text).is_err() {
        return None;
    }
    let expression = ExpressionGrammar::parse(Rule::expression, text).ok()?.next()?.into_inner().next()?;
    let is_partial = place == ExpressionPlace::Parts;
    let mut writer = TableWriter { variables: Vec::new(), taken, bare: None, is_partial, calls: 0 };
    match place {
        // a name or a literal alone is the same either way, and may be meant as a condition
        ExpressionPlace::Value => writer.value(expression).filter(|node| match &node.data {
            TableData::Text(text) => text.contains("{{"),
            data => matches!(data, TableData::List(_) | TableData::Table(_)),
        }),
        ExpressionPlace::Condition(bare) => writer.condition(bare, expression),
        ExpressionPlace::Parts => writer.condition(None, expression),
    }
}

/// Names of functions of CEL that are functions of the library too. Those of the library take values by name.
pub const SHARED_NAMES: [&str; 8] = ["distinct", "join", "replace", "reverse", "split", "string", "trim", "merge"];
/// Functions, groups and words of tables that are no functions of the library.
pub const CEL_NAMES: [&str; 48] = [
    "all",
    "bool",
    "cel",
    "charAt",
    "contains",
    "count",
    "double",
    "dyn",
    "endsWith",
    "exists",
    "existsOne",
    "exists_one",
    "fact",
    "filter",
    "first",
    "flatten",
    "format",
    "has",
    "hasValue",
    "indexOf",
    "int",
    "isEmpty",
    "last",
    "lastIndexOf",
    "list",
    "lowerAscii",
    "map",
    "matches",
    "math",
    "optFlatMap",
    "optMap",
    "optional",
    "or",
    "orValue",
    "regex",
    "size",
    "skip",
    "slice",
    "sortBy",
    "startsWith",
    "strings",
    "substring",
    "sum",
    "take",
    "transformList",
    "transformMap",
    "upperAscii",
    "value",
];
/// The first words of functions that stand in a group.
pub const GROUPS: [&str; 5] = ["cel", "math", "strings", "optional", "regex"];
/// The most calls in one expression that is read as tables.
const MOST_CALLS: usize = 400;
/// Calls that tables say; `first` with one value is one of CEL.
pub const TABLE_WORDS: [&str; 11] = ["list", "first", "lookup", "read", "try", "form", "table", "calc", "cost", "render", "template"];
/// Keys of conditions that are no paths.
const COMBINING: [&str; 12] = ["all", "any", "not", "and", "or", "fact", "of", "script", "host", "rhai", "op", "path"];
/// Keys with which a table is no table of values.
const FORM_KEYS: [&str; 17] =
    ["of", "lookup", "first", "merge", "if", "calc", "=", "read", "fn", "none", "form", "table", "fold", "script", "is", "try", "value"];

struct TableWriter<'p> {
    taken: &'p [Arc<str>],
    /// The variables of the queries around a position; the item of the rule lies below them.
    variables: Vec<&'p str>,
    /// The mark that names have not, where a condition is written.
    bare: Option<char>,
    is_partial: bool,
    /// The calls so far: each may nest the table once more.
    calls: usize,
}

/// A part of an expression.
enum Part<'p> {
    /// A path or a field: `$a.b`, `@a.b`.
    Reference(String),
    Literal(TableData),
    /// A query of which more may follow.
    Query(ItemsQuery),
    /// Any other value.
    Value(TableData),
    /// A condition.
    Condition(TableNode),
    Brackets(Pair<'p, Rule>),
}

/// A query: `{ of = … }`.
#[derive(Default)]
struct ItemsQuery {
    keys: Vec<(String, TableNode)>,
    /// It gives one item.
    is_single: bool,
    /// It asks whether there is an item.
    is_test: bool,
}

impl ItemsQuery {
    fn has(&self, keys: &[&str]) -> bool {
        self.keys.iter().any(|(known, _)| keys.contains(&known.as_str()))
    }

    fn add(&mut self, key: &str, at: usize, data: TableData) {
        self.keys.push((key.to_owned(), TableNode { at, data }));
    }
}

fn table<const N: usize>(at: usize, fields: [(&str, TableNode); N]) -> TableNode {
    TableNode { at, data: TableData::Table(fields.into_iter().map(|(key, node)| (key.to_owned(), node)).collect()) }
}

fn node(at: usize, data: TableData) -> TableNode {
    TableNode { at, data }
}

fn text(at: usize, text: &str) -> TableNode {
    node(at, TableData::Text(text.to_owned()))
}

fn children<'p>(pair: &Pair<'p, Rule>) -> Vec<Pair<'p, Rule>> {
    pair.clone().into_inner().collect()
}

fn start(pair: &Pair<'_, Rule>) -> usize {
    pair.as_span().start()
}

impl<'p> TableWriter<'p> {
    /// A condition in which names with a mark stand bare.
    fn condition(&mut self, bare: Option<char>, pair: Pair<'p, Rule>) -> Option<TableNode> {
        let around = std::mem::replace(&mut self.bare, bare);
        let condition = self.tests(pair);
        self.bare = around;
        condition
    }

    /// A value or condition in which a variable is the item.
    fn with_variable<T>(&mut self, variable: &Pair<'p, Rule>, write: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let name = variable.as_str().trim();
        if !is_word(name) || matches!(name, "outer" | "item" | "this" | "true" | "false" | "null") {
            return None;
        }
        self.variables.push(name);
        let written = write(self);
        self.variables.pop();
        written
    }

    // ---- conditions ------------------------------------------------------------------------------------------------------

    /// A part that no test says.
    fn remainder(&self, pair: &Pair<'p, Rule>) -> Option<TableNode> {
        self.is_partial.then(|| table(start(pair), [("=", text(start(pair), pair.as_str().trim()))]))
    }

    fn tests(&mut self, pair: Pair<'p, Rule>) -> Option<TableNode> {
        match children(&pair).as_slice() {
            [chain] if chain.as_rule() == Rule::chain => self.alternatives(chain),
            _ => self.remainder(&pair),
        }
    }

    fn alternatives(&mut self, chain: &Pair<'p, Rule>) -> Option<TableNode> {
        let parts = children(chain);
        if parts.iter().any(|part| part.as_rule() == Rule::or) {
            let sides = parts.split(|part| part.as_rule() == Rule::or);
            let list = sides.map(|side| self.conjunction(side)).collect::<Option<Vec<_>>>()?;
            return Some(table(start(chain), [("any", node(start(chain), TableData::List(list)))]));
        }
        self.conjunction(&parts)
    }

    /// A row of operands without `||`.
    fn conjunction(&mut self, parts: &[Pair<'p, Rule>]) -> Option<TableNode> {
        if parts.iter().any(|part| part.as_rule() == Rule::and) {
            let sides = parts.split(|part| part.as_rule() == Rule::and);
            let list = sides.map(|side| self.conjunction(side)).collect::<Option<Vec<_>>>()?;
            return Some(join_tests(start(parts.first()?), list));
        }
        let written = match parts {
            [operand] => return self.truth(operand),
            [left, comparison, right] => self.comparison(left, comparison.as_rule(), right),
            _ => None,
        };
        let (first, last) = (parts.first()?, parts.last()?);
        let whole = first.get_input().get(start(first)..last.as_span().end())?;
        written.or_else(|| self.is_partial.then(|| table(start(first), [("=", text(start(first), whole.trim()))])))
    }

    /// The test of a path or a field.
    fn test(&self, at: usize, key: &str, test: TableData) -> TableNode {
        // `$name` alone is a path, also where a list of the pack and a field have the name
        let is_marked = key.starts_with('$') && matches!(test, TableData::Bool(_));
        let bare = self.bare.filter(|_| !is_marked).and_then(|mark| key.strip_prefix(mark));
        let bare = bare.filter(|name| !name.is_empty() && !COMBINING.contains(name) && !name.starts_with("outer"));
        table(at, [(bare.unwrap_or(key), node(at, test))])
    }

    /// The test of any value.
    fn test_value(&self, at: usize, tested: Part<'p>, test: TableData) -> Option<TableNode> {
        let is = ("is".to_owned(), node(at, test));
        Some(match tested {
            Part::Reference(key) => self.test(at, &key, is.1.data),
            Part::Query(mut query) if !query.is_test => {
                query.keys.push(is);
                node(at, TableData::Table(query.keys))
            }
            Part::Value(data) => {
                let list = TableData::List(vec![node(at, data)]);
                table(at, [("of", node(at, list)), ("take", node(at, TableData::Int(1))), ("is", is.1)])
            }
            _ => return None,
        })
    }

    /// An operand that is true or false.
    fn truth(&mut self, pair: &Pair<'p, Rule>) -> Option<TableNode> {
        let mut parts = children(pair);
        let (operand, at) = (parts.pop()?, start(pair));
        let is_negated = match parts.as_slice() {
            [] => false,
            [sign] if sign.as_rule() == Rule::not => true,
            // `!!a` and `-a` are written by nobody
            _ => return self.remainder(pair),
        };
        let written = match self.operand(&operand) {
            Some(Part::Reference(key)) => Some(self.test(at, &key, TableData::Bool(true))),
            Some(Part::Literal(TableData::Bool(truth))) => Some(node(at, TableData::Bool(truth))),
            Some(Part::Query(query)) if query.is_test => Some(node(at, TableData::Table(query.keys))),
            Some(Part::Query(query)) if query.is_single => self.test_value(at, Part::Query(query), TableData::Bool(true)),
            Some(Part::Value(data @ TableData::Table(_))) => self.test_value(at, Part::Value(data), TableData::Bool(true)),
            Some(Part::Condition(condition)) => Some(condition),
            Some(Part::Brackets(inside)) => self.tests(inside),
            _ => None,
        };
        match written {
            Some(mut positive) if is_negated => {
                let is_open = matches!(&positive.data, TableData::Table(fields) if fields.iter().any(|(key, _)| key == "="));
                if is_open {
                    return self.remainder(pair);
                }
                Some(if negate_test(&mut positive) { positive } else { table(at, [("not", positive)]) })
            }
            Some(positive) => Some(positive),
            None => self.remainder(pair),
        }
    }

    fn comparison(&mut self, left: &Pair<'p, Rule>, comparison: Rule, right: &Pair<'p, Rule>) -> Option<TableNode> {
        let at = start(left);
        let tested = self.unary(left)?;
        let compared = self.unary(right)?;
        let word = |word: &str, data: TableData| TableData::Table(vec![(word.to_owned(), node(start(right), data))]);
        let test = match (comparison, compared) {
            (Rule::eq, Part::Literal(TableData::Table(none))) if is_none(&none) => word("exists", TableData::Bool(false)),
            (Rule::ne, Part::Literal(TableData::Table(none))) if is_none(&none) => word("exists", TableData::Bool(true)),
            // a truth of another kind is no comparison, and a table or a list of tests is none
            (Rule::ne, Part::Literal(truth @ TableData::Bool(_))) => word("ne", truth),
            (_, Part::Literal(TableData::Bool(_) | TableData::Table(_)) | Part::Condition(_)) => return None,
            (_, Part::Value(TableData::Table(fields))) if fields.iter().all(|(key, _)| !FORM_KEYS.contains(&key.as_str())) => return None,
            (Rule::within, Part::Value(TableData::List(list))) if !list.is_empty() => TableData::List(list),
            (_, Part::Value(TableData::List(_))) => return None,
            (rule, compared) => {
                let is_text = matches!(compared, Part::Literal(TableData::Text(_)));
                let value = self.finish(compared)?;
                match rule {
                    Rule::eq => value,
                    Rule::ne => word("ne", value),
                    Rule::within if !is_text => word("in", value),
                    _ if is_text => return None,
                    Rule::lt => word("lt", value),
                    Rule::le => word("le", value),
                    Rule::gt => word("gt", value),
                    Rule::ge => word("ge", value),
                    _ => return None,
                }
            }
        };
        self.test_value(at, tested, test)
    }

    // ---- values ----------------------------------------------------------------------------------------------------------

    /// A value. Conditions in it are about the scene.
    fn value(&mut self, pair: Pair<'p, Rule>) -> Option<TableNode> {
        let around = (self.bare.replace('$'), std::mem::replace(&mut self.is_partial, false));
        let value = self.choice(&pair);
        (self.bare, self.is_partial) = around;
        value
    }

    fn choice(&mut self, pair: &Pair<'p, Rule>) -> Option<TableNode> {
        let parts = children(pair);
        let at = start(pair);
        match parts.as_slice() {
            [chain] if chain.as_rule() == Rule::chain => self.chain(chain),
            [chain, then, other] => {
                let condition = self.alternatives(chain)?;
                let then = if then.as_rule() == Rule::chain { self.chain(then)? } else { self.value(then.clone())? };
                let other = self.value(other.clone())?;
                if matches!(&other.data, TableData::Table(fields) if is_none(fields)) {
                    return Some(table(at, [("if", condition), ("then", then)]));
                }
                Some(table(at, [("if", condition), ("then", then), ("else", other)]))
            }
            _ => None,
        }
    }

    fn chain(&mut self, chain: &Pair<'p, Rule>) -> Option<TableNode> {
        let parts = children(chain);
        let at = start(chain);
        if let [operand] = parts.as_slice() {
            if children(operand).len() == 1 {
                let part = self.operand(&children(operand).pop()?)?;
                return self.finish(part).map(|data| node(at, data));
            }
            let is_signed = children(operand).first().is_some_and(|sign| sign.as_rule() == Rule::neg);
            if let Some(Part::Literal(number)) = is_signed.then(|| self.unary(operand)).flatten() {
                return Some(node(at, number));
            }
        }
        if parts.len() > 1 && parts.iter().skip(1).step_by(2).all(|operator| operator.as_rule() == Rule::add) {
            return self.text_with_holes(at, &parts);
        }
        let condition = self.alternatives(chain)?;
        // `= a` is a field and no condition
        Some(table(at, [("is", condition)]))
    }

    /// `'a ' + b`: a text with holes.
    fn text_with_holes(&mut self, at: usize, parts: &[Pair<'p, Rule>]) -> Option<TableNode> {
        let (mut joined, mut has_text) = (String::new(), false);
        for operand in parts.iter().step_by(2) {
            match self.unary(operand)? {
                Part::Literal(TableData::Text(piece)) => {
                    has_text = true;
                    joined.push_str(piece.strip_prefix("$$").map_or(&*piece, |_| piece.get(1..).unwrap_or_default()));
                    if joined.ends_with('{') {
                        return None;
                    }
                }
                Part::Reference(reference) => joined.push_str(&format!("{{{{{reference}}}}}")),
                _ => return None,
            }
        }
        let is_text = has_text && !joined.starts_with("$$") && !is_reference(&joined);
        is_text.then(|| node(at, TableData::Text(joined)))
    }

    /// What a part is as a value.
    fn finish(&mut self, part: Part<'p>) -> Option<TableData> {
        Some(match part {
            Part::Reference(reference) => TableData::Text(reference),
            Part::Literal(data) | Part::Value(data) => data,
            Part::Query(query) if query.is_test => {
                let at = query.keys.first().map_or(0, |(_, of)| of.at);
                table(at, [("is", node(at, TableData::Table(query.keys)))]).data
            }
            Part::Query(query) => TableData::Table(query.keys),
            Part::Condition(condition) => {
                let at = condition.at;
                table(at, [("is", condition)]).data
            }
            Part::Brackets(pair) => self.value(pair)?.data,
        })
    }

    /// An operand with a sign that is its own.
    fn unary(&mut self, pair: &Pair<'p, Rule>) -> Option<Part<'p>> {
        let mut parts = children(pair);
        let operand = self.operand(&parts.pop()?)?;
        match (operand, parts.as_slice()) {
            (Part::Brackets(pair), []) => Some(Part::Value(self.value(pair)?.data)),
            (operand, []) => Some(operand),
            (Part::Literal(TableData::Int(n)), [sign]) if sign.as_rule() == Rule::neg => {
                Some(Part::Literal(TableData::Int(n.checked_neg()?)))
            }
            (Part::Literal(TableData::Float(n)), [sign]) if sign.as_rule() == Rule::neg => Some(Part::Literal(TableData::Float(-n))),
            _ => None,
        }
    }

    fn operand(&mut self, pair: &Pair<'p, Rule>) -> Option<Part<'p>> {
        let mut steps = pair.clone().into_inner().peekable();
        let atom = read_atom(steps.next()?);
        // functions in groups are those of CEL
        if atom.as_rule() == Rule::name && GROUPS.contains(&atom.as_str()) && steps.peek().is_some() {
            let (select, None) = (steps.next()?, steps.next()) else { return None };
            return self.bind(atom.as_str(), &select);
        }
        let mut part = self.atom(atom)?;
        for step in steps {
            part = self.step(part, &step)?;
        }
        Some(part)
    }

    /// `cel.bind(name, value, body)`: a query of one element.
    fn bind(&mut self, group: &str, select: &Pair<'p, Rule>) -> Option<Part<'p>> {
        let [name, arguments] = children(select).try_into().ok()?;
        let [variable, value, body] = children(&arguments).try_into().ok()?;
        if (group, name.as_str()) != ("cel", "bind") {
            return None;
        }
        let at = start(&value);
        let value = self.value(value)?;
        let body = self.with_variable(&variable, |this| this.value(body))?;
        let mut query = ItemsQuery { is_single: true, ..ItemsQuery::default() };
        query.add("of", at, TableData::List(vec![value]));
        query.add("take", at, TableData::Int(1));
        query.keys.push(("get".into(), body));
        Some(Part::Query(query))
    }

    fn atom(&mut self, atom: Pair<'p, Rule>) -> Option<Part<'p>> {
        let at = start(&atom);
        Some(match (atom.as_rule(), atom.as_str()) {
            (Rule::name, "true") => Part::Literal(TableData::Bool(true)),
            (Rule::name, "false") => Part::Literal(TableData::Bool(false)),
            (Rule::name, "null") => Part::Literal(TableData::Table(vec![("none".into(), node(at, TableData::Bool(true)))])),
            (Rule::name, name) => Part::Reference(self.field(name)?),
            (Rule::path, path) => Part::Reference(path.to_owned()),
            (Rule::number, number) => Part::Literal(match read_number(number)? {
                WrittenNumber::Int(n) => TableData::Int(n),
                WrittenNumber::Float(n) => TableData::Float(n),
            }),
            (Rule::string, _) => Part::Literal(TableData::Text(plain_text(read_string(&atom).ok()?)?)),
            (Rule::list, _) => {
                let elements = atom.into_inner().map(|element| {
                    let [element] = children(&element).try_into().ok()?;
                    self.value(element)
                });
                Part::Value(TableData::List(elements.collect::<Option<Vec<_>>>()?))
            }
            (Rule::table, _) => {
                let mut fields: Vec<(String, TableNode)> = Vec::new();
                for entry in atom.into_inner() {
                    let [key, value] = children(&entry).try_into().ok()?;
                    let key = read_string(&only_string(&key)?).ok()?;
                    let is_plain = !key.starts_with(['$', '@']) && !FORM_KEYS.contains(&key.as_str());
                    if !is_plain || fields.iter().any(|(known, _)| *known == key) {
                        return None;
                    }
                    fields.push((key, self.value(value)?));
                }
                Part::Value(TableData::Table(fields))
            }
            (Rule::call, _) => {
                let [name, arguments] = children(&atom).try_into().ok()?;
                return self.call(at, name.as_str(), None, &children(&arguments));
            }
            (Rule::conditional, _) => Part::Brackets(atom),
            _ => return None,
        })
    }

    /// A variable or a field, as tables write it.
    fn field(&self, name: &str) -> Option<String> {
        let outer = |levels: usize| format!("@{}", "outer.".repeat(levels));
        match self.variables.iter().rev().position(|variable| *variable == name) {
            Some(levels) => Some(outer(levels).trim_end_matches('.').to_owned()),
            // the item as a whole
            None if name == "this" => Some(outer(self.variables.len()).trim_end_matches('.').to_owned()),
            // `item` may be the item around an element
            None if matches!(name, "item" | "outer") || self.taken.iter().any(|taken| **taken == *name) => None,
            None => Some(format!("{}{name}", outer(self.variables.len()))),
        }
    }

    fn step(&mut self, part: Part<'p>, step: &Pair<'p, Rule>) -> Option<Part<'p>> {
        let parts = children(step);
        let at = start(step);
        if parts.iter().any(|part| part.as_rule() == Rule::optional) {
            return None;
        }
        match (step.as_rule(), parts.as_slice()) {
            (Rule::select, [field]) => {
                let field = Some(field.as_str()).filter(|field| is_word(field) && *field != "outer")?;
                self.select(at, part, field)
            }
            (Rule::select, [method, arguments]) => self.call(at, method.as_str(), Some(part), &children(arguments)),
            (Rule::index, [index]) => {
                let Part::Reference(reference) = part else { return None };
                let key = only_string(index).and_then(|key| read_string(&key).ok());
                let index = match (key, self.value(index.clone())?.data) {
                    (Some(key), _) => {
                        let is_step = !key.is_empty() && key != "outer" && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
                        Some(key).filter(|_| is_step)?
                    }
                    (None, TableData::Int(n @ 0..)) => n.to_string(),
                    (None, TableData::Text(text)) if is_reference(&text) && !text.contains([']', '[']) => format!("[{text}]"),
                    _ => return None,
                };
                Some(Part::Reference(extend(&reference, &index)))
            }
            _ => None,
        }
    }

    /// `.field` of a part.
    fn select(&mut self, at: usize, part: Part<'p>, field: &str) -> Option<Part<'p>> {
        match part {
            Part::Reference(reference) => Some(Part::Reference(extend(&reference, field))),
            Part::Query(mut query) if query.is_single => {
                match query.keys.iter_mut().find(|(key, _)| key == "get") {
                    Some((_, TableNode { data: TableData::Text(get), .. })) if get.starts_with('@') => *get = extend(get, field),
                    Some(_) => return None,
                    None => query.add("get", at, TableData::Text(format!("@{field}"))),
                }
                Some(Part::Query(query))
            }
            _ => None,
        }
    }

    /// A call of a function, or of a method of a part.
    fn call(&mut self, at: usize, name: &str, of: Option<Part<'p>>, arguments: &[Pair<'p, Rule>]) -> Option<Part<'p>> {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return None;
        }
        let named = arguments.iter().filter(|argument| argument.as_rule() == Rule::named);
        let positional: Vec<Pair<'p, Rule>> = arguments.iter().filter(|argument| argument.as_rule() != Rule::named).cloned().collect();
        let by_name = named.map(|argument| <[Pair<'p, Rule>; 2]>::try_from(children(argument)).ok()).collect::<Option<Vec<_>>>()?;
        let is_plain = by_name.is_empty();
        if let Some(Part::Query(query)) = of {
            if (query.is_single || query.has(&["join"])) && is_plain && is_test(name, positional.len()) {
                let test = self.method_test(at, name, &positional)?;
                return self.test_value(at, Part::Query(query), test).map(Part::Condition);
            }
            return self.query(at, name, query, &positional, &by_name);
        }
        match (name, of, positional.as_slice()) {
            ("list", None, [of]) => self.list(of, &by_name),
            ("fact", None, [row, about @ ..]) if is_plain && self.is_about_item(about) => {
                let row = self.value(row.clone()).filter(|row| is_literal_text(&row.data))?;
                Some(Part::Condition(table(at, [("fact", row)])))
            }
            ("value" | "form", None, [row, about @ ..]) if is_plain && self.is_about_item(about) => {
                let row = self.value(row.clone()).filter(|row| is_literal_text(&row.data))?;
                Some(Part::Value(table(at, [(name, row)]).data))
            }
            // the names in it are those of tables
            ("calc", None, [calculation]) if is_plain => {
                let calculation = read_string(&only_string(calculation)?).ok()?;
                Some(Part::Value(table(at, [("calc", text(at, &calculation))]).data))
            }
            ("read" | "try", None, [one]) if is_plain => {
                let one = self.value(one.clone())?;
                Some(Part::Value(table(at, [(name, one)]).data))
            }
            ("first", None, [_, _, ..]) | ("merge", None, [_, ..]) if is_plain => {
                let list = positional.into_iter().map(|value| self.value(value)).collect::<Option<Vec<_>>>()?;
                Some(Part::Value(table(at, [(name, node(at, TableData::List(list)))]).data))
            }
            ("lookup" | "table", None, [first]) if !is_plain || name == "table" => {
                let is_name = |name: &Pair<'p, Rule>| matches!(name.as_str().trim(), "get" | "key" | "column");
                if by_name.iter().any(|[name, value]| is_name(name) && only_string(value).is_none()) {
                    return None;
                }
                let first = (name.to_owned(), self.value(first.clone())?);
                self.table_by_name(first, &by_name)
            }
            (test, Some(of), arguments)
                if is_plain && matches!(of, Part::Reference(_) | Part::Value(_)) && is_test(test, arguments.len()) =>
            {
                let test = self.method_test(at, test, arguments)?;
                self.test_value(at, of, test).map(Part::Condition)
            }
            (name, of, positional) if !CEL_NAMES.contains(&name) => {
                if is_plain && SHARED_NAMES.contains(&name) {
                    return None;
                }
                let main = match (of, positional) {
                    (Some(of), []) => Some(node(at, self.finish(of)?)),
                    (None, [of]) => Some(self.value(of.clone())?),
                    (None, []) => None,
                    _ => return None,
                };
                let Part::Value(TableData::Table(mut fields)) = self.table_by_name(("fn".into(), text(at, name)), &by_name)? else {
                    return None;
                };
                if main.is_some() && fields.iter().any(|(key, _)| key == "of") {
                    return None;
                }
                if let Some(main) = main {
                    fields.insert(1, ("of".into(), main));
                }
                Some(Part::Value(TableData::Table(fields)))
            }
            _ => None,
        }
    }

    /// A table of a first key and of values by name.
    fn table_by_name(&mut self, first: (String, TableNode), by_name: &[[Pair<'p, Rule>; 2]]) -> Option<Part<'p>> {
        let mut fields = vec![first];
        for [name, value] in by_name {
            let name = name.as_str().trim();
            if fields.iter().any(|(known, _)| known == name) {
                return None;
            }
            fields.push((name.to_owned(), self.value(value.clone())?));
        }
        Some(Part::Value(TableData::Table(fields)))
    }

    /// Whether a row that is named here is about the item of the table: the only one, or the variable that is named.
    fn is_about_item(&self, about: &[Pair<'p, Rule>]) -> bool {
        match about {
            [] => self.variables.is_empty(),
            [about] => self.variables.last().is_some_and(|variable| *variable == about.as_str().trim()),
            _ => false,
        }
    }

    /// The test that a method of a value is; `at` is where it stands.
    fn method_test(&mut self, at: usize, name: &str, arguments: &[Pair<'p, Rule>]) -> Option<TableData> {
        let word = |word: &str, test: TableNode| TableData::Table(vec![(word.to_owned(), test)]);
        let argument = match arguments {
            [] => None,
            [argument] => Some(self.value(argument.clone())?),
            _ => None,
        };
        Some(match (name, argument) {
            ("isEmpty", None) => word("nonempty", node(at, TableData::Bool(false))),
            ("given", None) => word("given", node(at, TableData::Bool(true))),
            ("matches", Some(pattern)) => {
                let is_pattern = matches!(&pattern.data, TableData::Text(text)
                    if is_reference(text) || is_pattern(text));
                word("matches", Some(pattern).filter(|_| is_pattern)?)
            }
            ("startsWith", Some(start)) => word("starts", start),
            ("contains" | "meets" | "every", Some(value)) => word(name, value),
            ("between", None) => {
                let bounds = arguments.iter().map(|bound| self.value(bound.clone())).collect::<Option<Vec<_>>>()?;
                word("between", node(at, TableData::List(bounds)))
            }
            _ => return None,
        })
    }

    /// `list('name')`: the items of a list of the pack; `list(value)`: those of a value.
    fn list(&mut self, of: &Pair<'p, Rule>, by_name: &[[Pair<'p, Rule>; 2]]) -> Option<Part<'p>> {
        let mut query = ItemsQuery::default();
        query.keys.push(("of".into(), self.value(of.clone())?));
        for [name, value] in by_name {
            let name = name.as_str().trim();
            if name != "include_disabled" || query.has(&[name]) {
                return None;
            }
            query.keys.push((name.to_owned(), self.value(value.clone())?));
        }
        Some(Part::Query(query))
    }

    /// A method of a query.
    fn query(
        &mut self,
        at: usize,
        name: &str,
        mut query: ItemsQuery,
        arguments: &[Pair<'p, Rule>],
        by_name: &[[Pair<'p, Rule>; 2]],
    ) -> Option<Part<'p>> {
        let is_over = query.is_test || query.has(&["count", "join", "append_to"]);
        // what has to come before what there is already is asked of the result
        let later: &[&str] = match (name, arguments.len()) {
            ("filter" | "exists" | "count", 2) => &["where", "get", "skip", "take"],
            ("groupBy", _) => &["group_by", "by", "get", "skip", "take"],
            ("sortBy", _) => &["by", "get", "skip", "take"],
            ("skip", _) | ("last", 1) => &["skip", "take"],
            ("take" | "first", _) => &["take"],
            ("last", _) => &["skip", "take"],
            ("map", _) => &["get"],
            _ => &[],
        };
        if !is_over && !query.is_single && query.has(later) {
            let of = node(query.keys.first().map_or(at, |(_, of)| of.at), TableData::Table(std::mem::take(&mut query.keys)));
            query.keys.push(("of".into(), of));
        }
        match (name, arguments) {
            ("isEmpty", []) if by_name.is_empty() && !query.is_test && !query.has(&["count"]) => {
                let test = TableData::Table(vec![("nonempty".into(), node(at, TableData::Bool(false)))]);
                return self.test_value(at, Part::Query(query), test).map(Part::Condition);
            }
            _ if is_over => return None,
            ("join", [separator]) if !query.is_single => {
                query.keys.push(("join".into(), self.value(separator.clone())?));
                for [name, value] in by_name {
                    if name.as_str().trim() != "trim" {
                        return None;
                    }
                    query.keys.push(("trim".into(), self.value(value.clone())?));
                }
            }
            _ if !by_name.is_empty() => return None,
            ("appendTo", [list]) if !query.is_single => query.keys.push(("append_to".into(), self.value(list.clone())?)),
            ("filter" | "exists" | "count", [variable, condition]) if !query.is_single => {
                let condition = self.with_variable(variable, |this| this.condition(Some('@'), condition.clone()))?;
                query.keys.push(("where".into(), condition));
                match name {
                    "exists" => query.is_test = true,
                    "count" => query.add("count", at, TableData::Bool(true)),
                    _ => {}
                }
            }
            ("count", []) if !query.is_single => query.add("count", at, TableData::Bool(true)),
            ("groupBy", [variable, value]) if !query.is_single => {
                let value = self.with_variable(variable, |this| this.value(value.clone()))?;
                query.keys.push(("group_by".into(), value));
            }
            ("sortBy", [variable, key]) if !query.is_single => {
                let keys = self.with_variable(variable, |this| this.sort_keys(key.clone()))?;
                query.keys.push(("by".into(), node(start(key), TableData::List(keys))));
            }
            ("skip", [count]) if !query.is_single => query.keys.push(("skip".into(), self.value(count.clone())?)),
            ("take", [count]) if !query.is_single => {
                let count = self.value(count.clone())?;
                query.keys.push(("take".into(), take_count(&query, count)?));
            }
            ("last", [count]) if !query.is_single => {
                query.add("end", at, TableData::Text("last".into()));
                let count = self.value(count.clone())?;
                query.keys.push(("take".into(), take_count(&query, count)?));
            }
            ("first" | "last", []) if !query.is_single && !query.has(&["group_by"]) => {
                if name == "last" {
                    query.add("end", at, TableData::Text("last".into()));
                }
                query.add("take", at, TableData::Int(1));
                query.is_single = true;
            }
            ("map", [variable, value]) if !query.has(&["get"]) => {
                let value = self.with_variable(variable, |this| this.value(value.clone()))?;
                query.keys.push(("get".into(), value));
            }
            _ => return None,
        }
        Some(Part::Query(query))
    }

    /// `-e.order`, `[e.order, e.name]`.
    fn sort_keys(&mut self, pair: Pair<'p, Rule>) -> Option<Vec<TableNode>> {
        let [chain] = children(&pair).try_into().ok()?;
        let [unary] = children(&chain).try_into().ok()?;
        let mut parts = children(&unary);
        let (operand, at) = (parts.pop()?, start(&unary));
        if let ([list], []) = (children(&operand).as_slice(), parts.as_slice())
            && list.as_rule() == Rule::list
        {
            let keys = list.clone().into_inner().map(|element| self.sort_keys(children(&element).pop()?)?.pop());
            return keys.collect();
        }
        let Part::Reference(key) = self.operand(&operand)? else { return None };
        let key = key.strip_prefix('@').filter(|key| !key.is_empty() && !key.starts_with("outer"))?;
        match parts.as_slice() {
            [] => Some(vec![text(at, key)]),
            [sign] if sign.as_rule() == Rule::neg => Some(vec![text(at, &format!("-{key}"))]),
            _ => None,
        }
    }
}

/// Whether a method of so many values is a test.
fn is_test(name: &str, arguments: usize) -> bool {
    match name {
        "isEmpty" | "given" => arguments == 0,
        "between" => arguments == 2,
        name => arguments == 1 && matches!(name, "matches" | "startsWith" | "contains" | "meets" | "every"),
    }
}

/// The string that a value is.
fn only_string<'p>(value: &Pair<'p, Rule>) -> Option<Pair<'p, Rule>> {
    let mut inside = value.clone();
    while matches!(inside.as_rule(), Rule::conditional | Rule::chain | Rule::unary | Rule::operand) {
        [inside] = children(&inside).try_into().ok()?;
    }
    (inside.as_rule() == Rule::string).then_some(inside)
}

/// How many items are taken: with one, tables mean the item and not a list of it, unless they count in groups.
fn take_count(query: &ItemsQuery, count: TableNode) -> Option<TableNode> {
    (query.has(&["group_by"]) || count.data != TableData::Int(1)).then_some(count)
}

fn is_none(fields: &[(String, TableNode)]) -> bool {
    matches!(fields, [(key, _)] if key == "none")
}

fn is_literal_text(data: &TableData) -> bool {
    matches!(data, TableData::Text(text) if !text.starts_with(['$', '@']) && !text.contains("{{"))
}

/// A reference with a step more.
fn extend(reference: &str, step: &str) -> String {
    if reference == "@" { format!("@{step}") } else { format!("{reference}.{step}") }
}

/// A text that means itself, as tables write it.
fn plain_text(text: String) -> Option<String> {
    match text.starts_with('$') {
        _ if text.contains("{{$") || text.contains("{{@") => None,
        true if is_reference(&text) || text.starts_with("$$") => Some(format!("${text}")),
        false if is_reference(&text) => None,
        _ => Some(text),
    }
}

/// Whether a text is a pattern with its flags, and not one of CEL.
fn is_pattern(text: &str) -> bool {
    let written = text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    written.is_some_and(|(_, flags)| flags.chars().all(|flag| "gimsuy".contains(flag)))
}

/// Whether tables read a text as a path or a field.
fn is_reference(text: &str) -> bool {
    let Some(name) = text.strip_prefix(['$', '@']) else { return false };
    let mut letters = name.chars();
    let is_begun = letters.next().is_some_and(|c| c.is_alphanumeric() || "_[".contains(c));
    text == "@" || is_begun && letters.all(|c| c.is_alphanumeric() || "_.[]$@-".contains(c))
}

/// All of these must hold: one table, if they have different keys.
fn join_tests(at: usize, list: Vec<TableNode>) -> TableNode {
    let mut joined: Vec<(String, TableNode)> = Vec::new();
    for tests in &list {
        let TableData::Table(fields) = &tests.data else { return table(at, [("all", node(at, TableData::List(list)))]) };
        for (key, field) in fields {
            let is_own = matches!(key.as_str(), "=" | "of" | "take" | "get" | "is") || joined.iter().any(|(known, _)| known == key);
            if is_own {
                return table(at, [("all", node(at, TableData::List(list)))]);
            }
            joined.push((key.clone(), field.clone()));
        }
    }
    node(at, TableData::Table(joined))
}

/// Turns a test into its opposite. `false` if tables have no word for it.
fn negate_test(tests: &mut TableNode) -> bool {
    let TableData::Table(fields) = &mut tests.data else { return false };
    if let Some((_, of)) = fields.iter().find(|(key, _)| key == "of") {
        let at = of.at;
        if fields.iter().all(|(key, _)| key != "is") {
            let empty = TableData::Table(vec![("nonempty".into(), node(at, TableData::Bool(false)))]);
            fields.push(("is".into(), node(at, empty)));
            return true;
        }
        return false;
    }
    let [(key, test)] = fields.as_mut_slice() else { return false };
    if COMBINING.contains(&key.as_str()) {
        return false;
    }
    match &mut test.data {
        TableData::Bool(truth) => *truth = !*truth,
        TableData::List(list) => {
            let several = node(test.at, TableData::List(std::mem::take(list)));
            test.data = TableData::Table(vec![("ne".into(), several)]);
        }
        TableData::Table(words) => match words.as_mut_slice() {
            [(word, TableNode { data: TableData::Bool(truth), .. })] if word == "nonempty" => *truth = !*truth,
            _ => return false,
        },
        _ => return false,
    }
    true
}
