//! Expressions as text: CEL in which `$path` is the scene and a bare name is a field of the item. The grammar is
//! `grammar/expression.pest`; the result is made of the same terms as values that are written as tables.
//!
//! The parser recurses at brackets, which are therefore counted before, and the compiled form is bounded as it is made.

use std::sync::Arc;

use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::{Pair, Pairs};

use super::context::{CompileContext, ItemScope};
use super::expression_grammar::{
    self, ExpressionGrammar, PRECEDENCE, Rule, WrittenNumber, check_nesting, is_word, read_atom, read_number, read_string,
};
use super::expression_tables::{ExpressionPlace, GROUPS, TABLE_WORDS, TableData, TableNode, read_tables};
use crate::diag::{Code, DocumentNode, NodeValue, Sources, Span, TableField, limits, source};
use crate::model::Value;
use crate::terms::expr::{CalledFunction, Expr, ExprCall, FieldRef, ItemQuery, PathRoot, PathSegment, QuerySource};
use crate::terms::expression::{Comprehension, ComprehensionKind, Operation};
use crate::terms::{Cond, CondTest, Select};
use crate::text::{TextError, functions, methods};

/// Functions with variables, and others that the compiler knows itself; the words of tables are [`TABLE_WORDS`].
const FORMS: [&str; 14] = [
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
    "count",
    "sortBy",
    "transformList",
    "transformMap",
    "optMap",
    "optFlatMap",
    "orValue",
    "fact",
    "value",
];

/// The most steps of an operand in which a beginning is sought that tables say.
const MOST_STEPS: usize = 40;

/// The node of a rule file that an expression says, which begins at a byte of the text of `expression`.
pub fn place_table(sources: &Sources, expression: &DocumentNode, start: usize, node: TableNode) -> DocumentNode {
    // in most texts nothing is escaped
    let verbatim = expression.as_text().and_then(|text| sources.snippet(expression.span).find(text));
    let place = |at: usize| match verbatim {
        Some(begin) => {
            let letter = expression.as_text().and_then(|text| text.get(start + at..)?.chars().next());
            let at = expression.span.start as usize + begin + start + at;
            Span::new(expression.span.source, at, at + letter.map_or(0, char::len_utf8))
        }
        None => source::place_in_text(sources, expression, start + at),
    };
    place_node(&place, node)
}

fn place_node(place: &dyn Fn(usize) -> Span, node: TableNode) -> DocumentNode {
    let span = place(node.at);
    let below = |node| place_node(place, node);
    let data = match node.data {
        TableData::Bool(truth) => NodeValue::Bool(truth),
        TableData::Int(number) => NodeValue::Int(number),
        TableData::Float(number) => NodeValue::Float(number),
        TableData::Text(text) => NodeValue::Text(text.into()),
        TableData::List(list) => NodeValue::List(list.into_iter().map(below).collect()),
        TableData::Table(fields) => {
            let fields = fields.into_iter().map(|(key, node)| (Arc::from(key), below(node)));
            NodeValue::Table(fields.map(|(key, node)| (key, TableField { key: node.span, node })).collect())
        }
    };
    DocumentNode { span, data }
}

const _: () = assert!(expression_grammar::NESTING == limits::EXPRESSION_NESTING);

impl CompileContext<'_> {
    /// An expression; the `=` before it is left out or not.
    pub fn expression(&mut self, node: &DocumentNode) -> Expr {
        let Some(text) = node.as_text().map(str::to_owned) else {
            let message = format!("an expression is a text, not {}", node.kind());
            self.fail(Code::ExpressionBad, node.span, message, Some("write `\"= a + 1\"` in a file of version 2".into()));
            return Expr::Const(Value::Null);
        };
        let start = usize::from(text.starts_with('='));
        let mut compiler = ExpressionCompiler {
            text: text.get(start..).unwrap_or_default(),
            start,
            node,
            cx: self,
            names: Vec::new(),
            has_optional: false,
        };
        match compiler.compile() {
            Ok(expr) => expr,
            Err(error) => {
                let span = source::place_in_text(&self.pack.sources, node, error.offset + start);
                let help = "docs/reference/language/expressions.md has the operators and functions";
                self.fail(Code::ExpressionBad, span, error.message, Some(help.into()));
                Expr::Const(Value::Null)
            }
        }
    }
}

/// A part of an expression, with how deep it nests.
struct CompiledPart {
    expr: Expr,
    depth: usize,
}

impl CompiledPart {
    fn of(expr: Expr) -> Self {
        Self { expr, depth: 1 }
    }
}

type PartResult = Result<CompiledPart, TextError>;

struct ExpressionCompiler<'c, 'p, 't> {
    cx: &'c mut CompileContext<'p>,
    node: &'t DocumentNode,
    text: &'t str,
    /// Where the text begins in that of the node.
    start: usize,
    /// The variables of the comprehensions around a position; an item of the scene lies below them.
    names: Vec<Arc<str>>,
    /// A part may give an optional value.
    has_optional: bool,
}

impl ExpressionCompiler<'_, '_, '_> {
    fn compile(&mut self) -> Result<Expr, TextError> {
        TextError::refuse_long(self.text, expression_grammar::LENGTH)?;
        check_nesting(self.text).map_err(|at| TextError::bound(self.text, at, "the expression is nested too deeply"))?;
        let mut pairs = ExpressionGrammar::parse(Rule::expression, self.text).map_err(|error| {
            let (InputLocation::Pos(at) | InputLocation::Span((at, _))) = error.location;
            syntax_error(self.text, at)
        })?;
        let whole = pairs.next().and_then(|whole| whole.into_inner().next()).ok_or_else(|| syntax_error(self.text, 0))?;
        let part = self.conditional(whole)?;
        self.settle(part).map(|part| part.expr)
    }

    /// The value itself of what may be an optional one, for whoever knows only values.
    fn settle(&self, part: CompiledPart) -> PartResult {
        if self.has_optional { self.method(0, "…", vec![part]) } else { Ok(part) }
    }

    fn fault<T>(&self, pair: &Pair<'_, Rule>, message: impl Into<String>) -> Result<T, TextError> {
        Err(TextError::at(self.text, pair.as_span().start(), message))
    }

    /// An expression made of parts, unless it nests too deeply.
    fn nest_parts(&self, at: usize, parts: Vec<CompiledPart>, make: impl FnOnce(Vec<Expr>) -> Expr) -> PartResult {
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0) + 1;
        if depth > limits::EXPRESSION_NESTING {
            return Err(TextError::bound(self.text, at, "the expression is nested too deeply; name a part of it as a [[value]] row"));
        }
        Ok(CompiledPart { expr: make(parts.into_iter().map(|part| part.expr).collect()), depth })
    }

    fn operation(&self, at: usize, parts: Vec<CompiledPart>, make: impl FnOnce(Vec<Expr>) -> Operation) -> PartResult {
        self.nest_parts(at, parts, |parts| Expr::Operation(Box::new(make(parts))))
    }

    /// A method that is known by name.
    fn method(&self, at: usize, name: &str, parts: Vec<CompiledPart>) -> PartResult {
        let Some(method) = methods::find(name) else { return Err(TextError::at(self.text, at, format!("there is no function `{name}`"))) };
        self.operation(at, parts, |args| Operation::Call(method, args))
    }

    fn conditional(&mut self, pair: Pair<'_, Rule>) -> PartResult {
        let at = pair.as_span().start();
        if pair.as_rule() == Rule::named {
            return self.fault(&pair, "only functions of the library take values by name");
        }
        let mut parts = Vec::new();
        for inner in pair.into_inner() {
            parts.push(if inner.as_rule() == Rule::chain { self.chain(inner.into_inner())? } else { self.conditional(inner)? });
        }
        if parts.len() == 1 {
            return parts.pop().ok_or_else(|| syntax_error(self.text, at));
        }
        self.operation(at, parts, |parts| Operation::Choice(parts.into()))
    }

    fn chain(&mut self, pairs: Pairs<'_, Rule>) -> PartResult {
        // operands are compiled in the order in which they are written, and joined by precedence
        let operands = pairs.clone().filter(|pair| pair.as_rule() == Rule::unary);
        let mut parts = operands.map(|pair| self.unary(pair)).collect::<Result<Vec<_>, _>>()?.into_iter();
        let this = &*self;
        PRECEDENCE
            .map_primary(|pair| parts.next().ok_or_else(|| syntax_error(this.text, pair.as_span().start())))
            .map_infix(|left: PartResult, operator, right: PartResult| this.binary(&operator, left?, right?))
            .parse(pairs)
    }

    fn binary(&self, operator: &Pair<'_, Rule>, left: CompiledPart, right: CompiledPart) -> PartResult {
        let at = operator.as_span().start();
        // a long row of the same operator is one operation
        let joins = |list: &Operation| match (list, operator.as_rule()) {
            (Operation::All(_), Rule::and) | (Operation::Any(_), Rule::or) => true,
            (Operation::Call(method, _), Rule::add) => method.name == "+",
            _ => false,
        };
        if let Expr::Operation(mut list) = left.expr {
            let depth = left.depth.max(right.depth + 1);
            if joins(&list) && depth <= limits::EXPRESSION_NESTING {
                list.push(right.expr);
                return Ok(CompiledPart { expr: Expr::Operation(list), depth });
            }
            let left = CompiledPart { expr: Expr::Operation(list), depth: left.depth };
            return self.join_operands(operator, at, left, right);
        }
        self.join_operands(operator, at, left, right)
    }

    fn join_operands(&self, operator: &Pair<'_, Rule>, at: usize, left: CompiledPart, right: CompiledPart) -> PartResult {
        let parts = vec![left, right];
        match operator.as_rule() {
            Rule::and => self.operation(at, parts, Operation::All),
            Rule::or => self.operation(at, parts, Operation::Any),
            _ => self.method(at, operator.as_str().trim(), parts),
        }
    }

    fn unary(&mut self, pair: Pair<'_, Rule>) -> PartResult {
        let mut inner: Vec<Pair<'_, Rule>> = pair.into_inner().collect();
        let Some(operand) = inner.pop() else { return Err(syntax_error(self.text, 0)) };
        let at = operand.as_span().start();
        // the smallest number has no positive one
        let is_least = operand.as_str().trim() == "9223372036854775808" && inner.last().is_some_and(|sign| sign.as_rule() == Rule::neg);
        let mut part = if is_least {
            inner.pop();
            CompiledPart::of(Expr::Const(Value::Int(i64::MIN)))
        } else {
            self.operand(operand)?
        };
        // signs before a number are its own
        if let Expr::Const(Value::Int(_) | Value::Num(_)) = part.expr {
            while inner.last().is_some_and(|sign| sign.as_rule() == Rule::neg) {
                let negated = match part.expr {
                    Expr::Const(Value::Int(n)) => n.checked_neg().map(Value::Int),
                    Expr::Const(Value::Num(n)) => Some(Value::Num(-n)),
                    _ => None,
                };
                let Some(negated) = negated else { break };
                part.expr = Expr::Const(negated);
                inner.pop();
            }
        }
        for sign in inner.into_iter().rev() {
            part = self.method(at, if sign.as_rule() == Rule::neg { "-x" } else { "!" }, vec![part])?;
        }
        Ok(part)
    }

    fn operand(&mut self, pair: Pair<'_, Rule>) -> PartResult {
        if let Some((of, steps)) = self.operand_of_tables(&pair) {
            return self.steps(of, steps);
        }
        let mut inner = pair.into_inner().peekable();
        let Some(atom) = inner.next().map(read_atom) else { return Err(syntax_error(self.text, 0)) };
        let at = atom.as_span().start();
        let is_free = |this: &Self, name: &str| !this.names.iter().any(|known| &**known == name);
        let part = match atom.as_rule() {
            Rule::name if !matches!(atom.as_str(), "true" | "false" | "null") => {
                let word = atom.as_str();
                // `math.abs(…)`
                let call = inner.peek().filter(|_| GROUPS.contains(&word) && is_free(self, word)).and_then(read_selection);
                if let Some(FieldSelection { field, arguments: Some(arguments), optional: false }) = call {
                    inner.next();
                    self.function(at, &format!("{word}.{field}"), None, arguments)?
                } else {
                    let mut steps = vec![word.to_owned()];
                    // `index` of a variable is a field, and not its place in a list
                    while let Some(field) = inner.peek().and_then(|pair| read_selection(pair)?.step().filter(|step| step != "index")) {
                        steps.push(field);
                        inner.next();
                    }
                    self.name(&steps, at)
                }
            }
            Rule::path => {
                let mut path = atom.as_str().to_owned();
                while let Some(field) = inner.peek().and_then(|pair| read_selection(pair)?.step()) {
                    path.push('.');
                    path.push_str(&field);
                    inner.next();
                }
                let expr = self.cx.reference(&path, self.node, self.start + at);
                // a value of the pack may say something of the item, which is no variable
                let is_about_item = matches!(&expr, Expr::Path(path) if path.depends > 0);
                let part = CompiledPart::of(expr);
                if is_about_item { self.about_item(part) } else { part }
            }
            _ => self.atom(atom)?,
        };
        self.steps(part, inner)
    }

    /// What only tables say: the longest beginning of an operand that is such a call, and the steps behind it.
    fn operand_of_tables<'t>(&mut self, operand: &Pair<'t, Rule>) -> Option<(CompiledPart, std::vec::IntoIter<Pair<'t, Rule>>)> {
        // each beginning is tried
        let parts: Vec<Pair<'t, Rule>> = operand.clone().into_inner().take(MOST_STEPS + 1).collect();
        if parts.len() > MOST_STEPS {
            return None;
        }
        let calls = |part: &Pair<'t, Rule>| {
            let mut inner = part.clone().into_inner();
            let word = inner.next().map_or("", |name| name.as_str());
            let is_word = part.as_rule() == Rule::call && TABLE_WORDS.contains(&word);
            is_word || inner.flat_map(Pair::into_inner).any(|argument| argument.as_rule() == Rule::named)
        };
        let least = parts.iter().position(|part| matches!(part.as_rule(), Rule::call | Rule::select) && calls(part))?;
        let at = operand.as_span().start();
        let (written, steps) = (least + 1..=parts.len()).rev().find_map(|count| {
            let end = parts.get(count - 1)?.as_span().end();
            let written = read_tables(self.text.get(at..end)?, ExpressionPlace::Value, &self.names)?;
            Some((written, parts.get(count..)?.to_vec()))
        })?;
        let table = place_table(&self.cx.pack.sources, self.node, self.start + at, written);
        let part = CompiledPart::of(self.cx.expr(&table));
        Some((self.about_item(part), steps.into_iter()))
    }

    /// What is about the item of the rule, and not about the variables here.
    fn about_item(&self, part: CompiledPart) -> CompiledPart {
        match i8::try_from(self.names.len()).unwrap_or(i8::MAX) {
            0 => part,
            levels => CompiledPart { expr: Expr::Operation(Box::new(Operation::OuterPath(levels, part.expr))), ..part },
        }
    }

    fn steps<'t>(&mut self, of: CompiledPart, steps: impl Iterator<Item = Pair<'t, Rule>>) -> PartResult {
        let mut part = of;
        for step in steps {
            let at = step.as_span().start();
            part = match read_selection(&step) {
                Some(FieldSelection { field, arguments: Some(arguments), .. }) => self.function(at, &field, Some(part), arguments)?,
                Some(FieldSelection { field, optional, .. }) => {
                    self.has_optional |= optional;
                    let key = CompiledPart::of(Expr::text(&field));
                    self.method(at, if optional { "[?]" } else { "[]" }, vec![part, key])?
                }
                None => {
                    let optional = step.clone().into_inner().any(|inner| inner.as_rule() == Rule::optional);
                    let Some(key) = step.into_inner().find(|inner| inner.as_rule() == Rule::conditional) else { continue };
                    let key = self.conditional(key)?;
                    self.has_optional |= optional;
                    self.method(at, if optional { "[?]" } else { "[]" }, vec![part, key])?
                }
            };
        }
        Ok(part)
    }

    /// A variable or a field, with plain steps behind it.
    fn name(&mut self, steps: &[String], at: usize) -> CompiledPart {
        let [first, rest @ ..] = steps else { return CompiledPart::of(Expr::Const(Value::Null)) };
        let is_variable = self.names.iter().any(|known| **known == *first);
        // how many levels up an item is that a word means
        let levels = match first.as_str() {
            _ if is_variable => None,
            "this" => Some(0),
            "item" => self.cx.item_around(),
            _ => None,
        };
        if let Some(levels) = levels.filter(|_| rest.is_empty() && self.cx.has_item()) {
            let up = u8::try_from(self.names.len() + levels).unwrap_or(u8::MAX);
            return CompiledPart::of(Expr::Field(FieldRef { up, field: None, rest: Box::new([]) }));
        }
        let (first, rest) = match rest {
            [field, rest @ ..] if levels.is_some() => (field, rest),
            _ => (first, rest),
        };
        let outer = u8::try_from(levels.unwrap_or(0)).unwrap_or(u8::MAX);
        let mut rest = rest.iter().map(|step| Arc::<str>::from(step.as_str()));
        let known = self.names.iter().rev().position(|known| **known == **first).filter(|_| levels.is_none());
        let (up, name) = match known {
            Some(up) => (up, rest.next()),
            None => {
                let span = source::place_in_text(&self.cx.pack.sources, self.node, self.start + at);
                if self.cx.has_item() {
                    self.cx.check_field(outer, first, span);
                } else {
                    let help = format!("a path of the scene is written `${first}`");
                    self.cx.fail(
                        Code::ReferenceBad,
                        span,
                        format!("`{first}` is no variable, and there is no item here"),
                        Some(help.into()),
                    );
                }
                (self.names.len() + usize::from(outer), Some(first.as_str().into()))
            }
        };
        let field = name.map(|name| (self.cx.fields.intern(&name), name));
        let up = u8::try_from(up).unwrap_or(u8::MAX);
        CompiledPart::of(Expr::Field(FieldRef { up, field, rest: rest.map(PathSegment::Name).collect() }))
    }

    fn atom(&mut self, pair: Pair<'_, Rule>) -> PartResult {
        let at = pair.as_span().start();
        match pair.as_rule() {
            Rule::number => self.number(&pair),
            Rule::string => self.string(&pair),
            Rule::name => Ok(CompiledPart::of(Expr::Const(match pair.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::Null,
            }))),
            Rule::call => {
                let mut inner = pair.into_inner();
                let name = inner.next().map_or("", |name| name.as_str()).to_owned();
                let arguments = inner.next().map(Pair::into_inner).into_iter().flatten().collect();
                self.function(at, &name, None, arguments)
            }
            Rule::list => {
                let (mut parts, mut optional) = (Vec::new(), false);
                for element in pair.into_inner() {
                    let (flag, mut values) = self.entry(element)?;
                    optional |= flag;
                    parts.push(CompiledPart::of(Expr::Const(Value::Bool(flag))));
                    parts.append(&mut values);
                }
                if optional || self.has_optional {
                    return self.method(at, "[…]", parts);
                }
                let values = parts.into_iter().skip(1).step_by(2).collect();
                self.nest_parts(at, values, |list| Expr::List(list.into()))
            }
            Rule::table => {
                let mut parts = Vec::new();
                for entry in pair.into_inner() {
                    let (flag, mut values) = self.entry(entry)?;
                    parts.push(CompiledPart::of(Expr::Const(Value::Bool(flag))));
                    parts.append(&mut values);
                }
                self.method(at, "{…}", parts)
            }
            _ => self.conditional(pair),
        }
    }

    /// An element of a list or an entry of a table: whether it is left out where it is missing, and its values.
    fn entry(&mut self, pair: Pair<'_, Rule>) -> Result<(bool, Vec<CompiledPart>), TextError> {
        let (mut flag, mut values) = (false, Vec::new());
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::optional => flag = true,
                _ => values.push(self.conditional(inner)?),
            }
        }
        Ok((flag, values))
    }

    fn number(&self, pair: &Pair<'_, Rule>) -> PartResult {
        let text = pair.as_str();
        match read_number(text) {
            Some(WrittenNumber::Int(n)) => Ok(CompiledPart::of(Expr::Const(Value::Int(n)))),
            Some(WrittenNumber::Float(n)) => Ok(CompiledPart::of(Expr::Const(Value::Num(n)))),
            None => self.fault(pair, format!("the number `{text}` is too large")),
        }
    }

    fn string(&self, pair: &Pair<'_, Rule>) -> PartResult {
        match read_string(pair) {
            Ok(text) => Ok(CompiledPart::of(Expr::text(&text))),
            Err((at, message)) => Err(TextError::at(self.text, at, message)),
        }
    }

    /// A call: a form with variables, a method, or a function of the library.
    fn function(&mut self, at: usize, name: &str, of: Option<CompiledPart>, arguments: Vec<Pair<'_, Rule>>) -> PartResult {
        match (name, of, arguments.as_slice()) {
            ("has", None, [one]) => self.has(at, one),
            ("cel.bind", None, [variable, value, body]) => {
                let value = self.conditional(value.clone())?;
                let names = vec![self.variable(variable)?];
                let body = self.within(names, body)?;
                self.operation(at, vec![value, body], |parts| Operation::Bind(parts.into()))
            }
            ("optMap" | "optFlatMap", Some(of), [variable, body]) => {
                let names = vec![self.variable(variable)?];
                let body = self.within(names, body)?;
                let flat = name == "optFlatMap";
                self.has_optional = true;
                self.operation(at, vec![of, body], |parts| Operation::OptionalMap(parts.into(), flat))
            }
            ("fact" | "value", None, [row] | [row, _]) => self.named_row(at, name, row, arguments.get(1)),
            ("or" | "orValue", Some(of), [other]) => {
                let other = self.conditional(other.clone())?;
                self.operation(at, vec![of, other], |parts| Operation::Fallback(parts.into(), name == "orValue"))
            }
            (_, Some(of), arguments) => match ComprehensionKind::of_method(name, arguments.len()) {
                Some((kind, variables)) => self.comprehension(at, kind, of, variables, arguments),
                None => self.call(at, name, Some(of), arguments),
            },
            (_, of, arguments) => self.call(at, name, of, arguments),
        }
    }

    /// `fact('name')` and `value('name')`: a row of the pack, which is about the item or about the value behind its name.
    fn named_row(&mut self, at: usize, table: &str, row: &Pair<'_, Rule>, about: Option<&Pair<'_, Rule>>) -> PartResult {
        let Expr::Const(Value::Text(name)) = self.conditional(row.clone())?.expr else {
            return self.fault(row, format!("`{table}` takes the name of a [[{table}]] row: write `{table}('name')`"));
        };
        let span = source::place_in_text(&self.cx.pack.sources, self.node, self.start + row.as_span().start());
        let node = DocumentNode { span, data: NodeValue::Text(name) };
        let compile = |cx: &mut CompileContext<'_>| match table {
            "fact" => Expr::Is(Box::new(cx.fact(&node))),
            _ => cx.value_named(&node),
        };
        let Some(about) = about else {
            let part = CompiledPart::of(compile(self.cx));
            return Ok(self.about_item(part));
        };
        let about = self.conditional(about.clone())?;
        let about = self.settle(about)?;
        let row = CompiledPart::of(self.cx.within(ItemScope::Any, compile));
        self.operation(at, vec![about, row], |parts| Operation::Bind(parts.into()))
    }

    fn call(&mut self, at: usize, name: &str, of: Option<CompiledPart>, arguments: &[Pair<'_, Rule>]) -> PartResult {
        let span = source::place_in_text(&self.cx.pack.sources, self.node, self.start + at);
        let has_names = arguments.iter().any(|argument| argument.as_rule() == Rule::named);
        let function = functions::FUNCTIONS.iter().enumerate().find(|(_, function)| function.name == name);
        let method = methods::find(name).filter(|method| method.is_named() && !(has_names && function.is_some()));
        if method.is_none() && function.is_none() && TABLE_WORDS.contains(&name) {
            let help = "name this value as a [[value]] row, or a part of it; one item of a list is `.first()`, not `.take(1)`";
            let message = format!("`{name}` cannot stand here with these values: it takes only what tables say");
            self.cx.fail(Code::ExpressionBad, span, message.clone(), Some(help.into()));
            return self.operation(at, Vec::new(), |_| Operation::Fault(message.into()));
        }
        if method.is_none() && function.is_none() {
            let known = methods::METHODS.iter().filter(|method| method.is_named()).map(|method| method.name);
            let known = known.chain(functions::FUNCTIONS.iter().map(|function| function.name)).chain(FORMS).chain(TABLE_WORDS);
            let help = self.cx.report.words.help(name, known);
            self.cx.fail(Code::NameUnknown, span, format!("there is no function `{name}`"), help);
            return self.operation(at, Vec::new(), |_| Operation::Fault(format!("there is no function `{name}`").into()));
        }
        if let (true, Some((n, function))) = (has_names, function) {
            return self.call_by_name(at, n, function, of, arguments);
        }
        let mut parts: Vec<CompiledPart> = of.into_iter().collect();
        for argument in arguments {
            parts.push(self.conditional(argument.clone())?);
        }
        if let Some(method) = method {
            self.has_optional |= name.starts_with("optional.");
            if method.takes(parts.len()) {
                return self.operation(at, parts, |args| Operation::Call(method, args));
            }
            let message = format!("`{name}` does not take {} values", parts.len());
            self.cx.fail(Code::TermType, span, message.clone(), Some(format!("an example is `{}`", method.example).into()));
            return self.operation(at, Vec::new(), |_| Operation::Fault(message.into()));
        }
        let Some((n, function)) = function else { return Err(syntax_error(self.text, at)) };
        if parts.len() > function.args.len() || function.args.iter().skip(parts.len()).any(|(_, must)| *must) {
            let names: Vec<&str> = function.args.iter().map(|(name, _)| *name).collect();
            return Err(TextError::at(self.text, at, format!("`{name}` takes {}, not {} values", names.join(", "), parts.len())));
        }
        let parts = parts.into_iter().map(|part| self.settle(part)).collect::<Result<Vec<_>, _>>()?;
        let args = function.args.iter().map(|(name, _)| Arc::<str>::from(*name));
        self.nest_parts(at, parts, |parts| {
            Expr::Fn(Box::new(ExprCall { function: CalledFunction::Text(n), args: args.zip(parts).collect() }))
        })
    }

    /// A function of the library that takes values by name, all but the first.
    fn call_by_name(
        &mut self,
        at: usize,
        number: usize,
        function: &functions::Function,
        of: Option<CompiledPart>,
        arguments: &[Pair<'_, Rule>],
    ) -> PartResult {
        let known: Vec<&str> = function.args.iter().map(|(name, _)| *name).collect();
        let (mut names, mut parts): (Vec<Arc<str>>, Vec<CompiledPart>) = (Vec::new(), Vec::new());
        if let Some(of) = of {
            names.push("of".into());
            parts.push(of);
        }
        for argument in arguments {
            let mut inner = argument.clone().into_inner();
            let (name, value) = match (argument.as_rule(), inner.next(), inner.next()) {
                (Rule::named, Some(name), Some(value)) => (name.as_str().trim(), value),
                _ => ("of", argument.clone()),
            };
            if !known.contains(&name) || names.iter().any(|taken| **taken == *name) {
                return self.fault(argument, format!("`{}` takes each of {} once", function.name, known.join(", ")));
            }
            names.push(name.into());
            let value = self.conditional(value)?;
            parts.push(self.settle(value)?);
        }
        if let Some((name, _)) = function.args.iter().find(|(name, must)| *must && !names.iter().any(|given| **given == **name)) {
            return Err(TextError::at(self.text, at, format!("`{}` needs `{name}`", function.name)));
        }
        self.nest_parts(at, parts, |parts| {
            Expr::Fn(Box::new(ExprCall { function: CalledFunction::Text(number), args: names.into_iter().zip(parts).collect() }))
        })
    }

    /// `has(a.b)`: whether a table has a field.
    fn has(&mut self, at: usize, argument: &Pair<'_, Rule>) -> PartResult {
        // a selection alone, and nothing that is made of it
        let mut inside = argument.clone();
        while let (Some(only), true) = (inside.clone().into_inner().next(), inside.clone().into_inner().len() == 1) {
            inside = only;
        }
        let last = inside.into_inner().last().and_then(|last| read_selection(&last));
        if last.is_none_or(|selection| selection.arguments.is_some()) {
            return self.fault(argument, "`has` asks for a field: write `has(item.field)`");
        }
        let whole = self.conditional(argument.clone())?;
        self.operation(at, vec![whole], |mut parts| Operation::Presence(parts.pop().unwrap_or(Expr::Const(Value::Null))))
    }

    /// The name of a variable.
    fn variable(&self, pair: &Pair<'_, Rule>) -> Result<Arc<str>, TextError> {
        let name = pair.as_str().trim();
        if is_word(name) { Ok(name.into()) } else { self.fault(pair, format!("`{name}` is not the name of a variable")) }
    }

    /// A part in which more names are known.
    fn within(&mut self, names: Vec<Arc<str>>, pair: &Pair<'_, Rule>) -> PartResult {
        let before = self.names.len();
        self.names.extend(names);
        let part = if self.names.len() > limits::EXPRESSION_NESTING {
            Err(TextError::bound(self.text, pair.as_span().start(), "the expression has too many variables"))
        } else {
            self.conditional(pair.clone())
        };
        self.names.truncate(before);
        part
    }

    fn comprehension(
        &mut self,
        at: usize,
        kind: ComprehensionKind,
        over: CompiledPart,
        variables: usize,
        arguments: &[Pair<'_, Rule>],
    ) -> PartResult {
        let (names, bodies) = arguments.split_at(variables.min(arguments.len()));
        let names = names.iter().map(|pair| self.variable(pair)).collect::<Result<Vec<_>, _>>()?;
        let mut parts = vec![over];
        for body in bodies {
            parts.push(self.within(names.clone(), body)?);
        }
        let pairs = variables > 1;
        let list = parts.first().and_then(|over| whole_list(&over.expr)).filter(|_| !pairs);
        let alone = self.cx.memo.is_none();
        let mut reads = None;
        let part = self.nest_parts(at, parts, |parts| {
            let mut parts = parts.into_iter();
            let over = parts.next().unwrap_or(Expr::Const(Value::Null));
            let bodies: Vec<Expr> = parts.collect();
            match list.and_then(|list| query(kind, list, &bodies, alone)) {
                Some(query) => {
                    reads = list;
                    query
                }
                None => Expr::Operation(Box::new(Operation::Comprehension(Comprehension { kind, over, pairs, bodies: bodies.into() }))),
            }
        });
        if let Some(list) = reads.filter(|list| !self.cx.reads.contains(list)) {
            self.cx.reads.push(list);
        }
        part
    }
}

/// The list of the build that a path leads to as a whole.
fn whole_list(expr: &Expr) -> Option<usize> {
    let Expr::Path(path) = expr else { return None };
    let PathRoot::Scene { list: Some((list, used)) } = path.root else { return None };
    (path.segs.len() == used).then_some(list)
}

/// A comprehension over a list of the build as a query, which makes no value of the list.
fn query(kind: ComprehensionKind, list: usize, bodies: &[Expr], alone: bool) -> Option<Expr> {
    let holds = |test: &Expr| Cond::test(Expr::Operation(Box::new(Operation::All(vec![test.clone()]))), CondTest::Is(true), false);
    let (filter, get) = match (kind, bodies) {
        (ComprehensionKind::Filter | ComprehensionKind::Exists | ComprehensionKind::Count, [test]) => (Some(holds(test)), None),
        (ComprehensionKind::Map, [give]) => (None, Some(give.clone())),
        (ComprehensionKind::Map, [test, give]) => (Some(holds(test)), Some(give.clone())),
        _ => return None,
    };
    let select = Select { filter, off: true, ..Select::default() };
    let query = ItemQuery { get, count: kind == ComprehensionKind::Count, ..ItemQuery::of_items(QuerySource::List(list), select, alone) };
    Some(match kind {
        ComprehensionKind::Exists => Expr::Is(Box::new(Cond::Query(Box::new(query), CondTest::Nonempty(true)))),
        _ => Expr::Query(Box::new(query)),
    })
}

/// What `.field`, `.?field` or `.method(…)` selects.
struct FieldSelection<'p> {
    field: String,
    arguments: Option<Vec<Pair<'p, Rule>>>,
    optional: bool,
}

impl FieldSelection<'_> {
    /// The field, if it is a plain step of a path.
    fn step(self) -> Option<String> {
        (self.arguments.is_none() && !self.optional && is_word(&self.field)).then_some(self.field)
    }
}

/// Reads a selection; `None` for `[…]`.
fn read_selection<'p>(pair: &Pair<'p, Rule>) -> Option<FieldSelection<'p>> {
    if pair.as_rule() != Rule::select {
        return None;
    }
    let (mut field, mut arguments, mut optional) = (String::new(), None, false);
    for inner in pair.clone().into_inner() {
        match inner.as_rule() {
            Rule::optional => optional = true,
            Rule::field => field = inner.as_str().trim_matches('`').to_owned(),
            _ => arguments = Some(inner.into_inner().collect()),
        }
    }
    Some(FieldSelection { field, arguments, optional })
}

/// The error at a position where parsing failed.
fn syntax_error(text: &str, at: usize) -> TextError {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c @ ('\'' | '"')) => TextError::at(text, at, format!("the text that begins with {c} is not closed, or not expected here")),
        Some(c) => TextError::at(text, at, format!("`{c}` is not expected here")),
        None => TextError::at(text, at, "the expression is not finished"),
    }
}
