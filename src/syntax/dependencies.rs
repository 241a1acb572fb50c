//! Which values and rows of a pack depend on the current item, so that no pass evaluates them once for all items.
//!
//! `@` in such a cell means the item of the term that reads the cell. Cells are analysed in their source form before
//! any is compiled, because a cell may refer to another one that is defined later. The parts of a term that depend on no item
//! become memo cells.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::context::CompileContext;
use super::named::names_a_value;
use super::values::is_pipe;
use crate::diag::{DocumentNode, FieldMap, NodeValue, limits};
use crate::model::{Pack, Value};
use crate::terms::cond::{Cond, CondTest};
use crate::terms::expr::{Expr, ExprCall, ItemQuery, ScriptCall, TableLookup, ValueChoice, ValueFold};
use crate::terms::expression::{Comprehension, Operation};
use crate::terms::names::{is_form, is_reference, is_script};
use crate::terms::select::Select;
use crate::terms::steps::StepPipe;

/// The maximum dependency level of a cell: 1 for the current item, 2 for the item around it.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// By the path of a value, and by each path above it, the highest level there.
    values: FxHashMap<String, u8>,
    tables: FxHashMap<Arc<str>, u8>,
    /// Named conditions and values: rows of `fact` and `value`.
    named: FxHashMap<RowName, u8>,
}

/// A row of table `fact` or `value`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RowName {
    Fact(Arc<str>),
    Value(Arc<str>),
}

/// The dependencies of one cell.
#[derive(Default)]
struct CellDependencies {
    own: u8,
    /// The `$` paths in it, and how many queries enclose each.
    reads: Vec<(String, u8)>,
    /// The named conditions and values in it, and how many queries enclose each.
    names: Vec<(RowName, u8)>,
}

impl Dependencies {
    /// Dependencies through the values and rows of a pack, but for the tables that no pass reads.
    #[must_use]
    pub fn of(pack: &Pack, engine_tables: &[&str]) -> Self {
        let mut values = Vec::new();
        leaves("", &pack.values, 0, &mut values);
        for (name, row) in pack.tables.get("path").into_iter().flatten() {
            if let Some(default) = row.fields.get("default") {
                values.push((name.trim_end_matches(".*").to_owned(), CellDependencies::of(&default.node)));
            }
        }
        let mut tables: Vec<(Arc<str>, CellDependencies)> = Vec::new();
        for (name, rows) in pack.tables.iter().filter(|(name, _)| !engine_tables.contains(&&***name)) {
            let mut cell = CellDependencies::default();
            rows.values().flat_map(|row| row.fields.values()).for_each(|f| cell.add(&f.node, 0, 0));
            tables.push((name.clone(), cell));
        }
        let named =
            |table: &str| pack.tables.get(table).into_iter().flatten().filter_map(|(_, row)| Some((row, &row.fields.get("is")?.node)));
        let facts = named("fact").map(|(row, is)| {
            let mut cell = CellDependencies::default();
            cell.condition(is, row.fields.contains_key("over"), 0, 0);
            (RowName::Fact(row.name.clone()), cell)
        });
        let named: Vec<(RowName, CellDependencies)> =
            facts.chain(named("value").map(|(row, is)| (RowName::Value(row.name.clone()), CellDependencies::of(is)))).collect();
        let mut found = Self::default();
        for _ in 0..limits::EXPRESSION_NESTING {
            let mut more = false;
            for (path, cell) in &values {
                let far = found.far(cell);
                more |= far > 0 && found.raise(path, far);
            }
            for (name, cell) in &tables {
                let far = found.far(cell);
                more |= far > 0 && found.tables.insert(name.clone(), far) != Some(far);
            }
            for (name, cell) in &named {
                let far = found.far(cell);
                more |= far > 0 && found.named.insert(name.clone(), far) != Some(far);
            }
            if !more {
                break;
            }
        }
        found
    }

    /// The dependency level of a scene path: that of the value there, or the highest of those below.
    #[must_use]
    pub fn path(&self, path: &str) -> u8 {
        self.values.get(path).copied().unwrap_or(0)
    }

    /// Records the level of the value at a path, for all paths above it too; whether that is news.
    fn raise(&mut self, path: &str, far: u8) -> bool {
        let mut at = Some(path);
        let mut more = false;
        while let Some(name) = at {
            match self.values.get_mut(name) {
                Some(known) if *known >= far => break,
                Some(known) => *known = far,
                None => drop(self.values.insert(name.to_owned(), far)),
            }
            more = true;
            at = if name.is_empty() { None } else { Some(name.rsplit_once('.').map_or("", |(above, _)| above)) };
        }
        more
    }

    /// The dependency level of the rows of a table.
    #[must_use]
    pub fn table(&self, name: &str) -> u8 {
        self.tables.get(name).copied().unwrap_or(0)
    }

    fn far(&self, cell: &CellDependencies) -> u8 {
        let read = cell.reads.iter().map(|(path, depth)| {
            let fixed = path.split(".[").next().unwrap_or(path);
            let far = match fixed.split_once('.') {
                Some(("table", rest)) => self.table(rest.split('.').next().unwrap_or(rest)),
                Some(("code", _)) => self.table("code"),
                _ => self.path(fixed),
            };
            far.saturating_sub(*depth)
        });
        let named = cell.names.iter().map(|(name, depth)| self.named.get(name).copied().unwrap_or(0).saturating_sub(*depth));
        read.chain(named).max().unwrap_or(0).max(cell.own)
    }
}

fn leaves(prefix: &str, table: &FieldMap, depth: usize, out: &mut Vec<(String, CellDependencies)>) {
    for (key, field) in table {
        let path = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
        match &field.node.data {
            NodeValue::Table(inner) if depth < limits::EXPRESSION_NESTING && !is_form(inner) => leaves(&path, inner, depth + 1, out),
            _ => out.push((path, CellDependencies::of(&field.node))),
        }
    }
}

impl CellDependencies {
    fn of(node: &DocumentNode) -> Self {
        let mut cell = Self::default();
        cell.add(node, 0, 0);
        cell
    }

    /// `within`: how many queries enclose the node.
    fn add(&mut self, node: &DocumentNode, within: u8, level: usize) {
        if level > limits::EXPRESSION_NESTING {
            return;
        }
        match &node.data {
            NodeValue::Text(text) => self.text(text, within),
            NodeValue::List(list) => list.iter().for_each(|n| self.add(n, within, level + 1)),
            NodeValue::Table(table) if table.contains_key("if") || (table.len() == 1 && table.contains_key("is")) => {
                for (key, field) in table {
                    match key.as_ref() {
                        "if" | "is" => self.condition(&field.node, false, within, level + 1),
                        _ => self.add(&field.node, within, level + 1),
                    }
                }
            }
            NodeValue::Table(table) => {
                if let Some(name) = names_a_value(table).and_then(DocumentNode::as_text) {
                    self.names.push((RowName::Value(name.into()), within));
                }
                let query = table.contains_key("of") && !table.contains_key("fn") && !is_pipe(table);
                let called = is_script(table) && !table.contains_key("args");
                if let Some(expression) = table.get("=") {
                    return self.expression(&expression.node, within);
                }
                if table.contains_key("form") || table.contains_key("read") || called {
                    self.own = self.own.max(1_u8.saturating_sub(within));
                }
                for (key, field) in table {
                    let inside = match table.contains_key("fold") {
                        true => key.as_ref() == "give",
                        false => query && !matches!(key.as_ref(), "of" | "append_to" | "join" | "skip" | "take"),
                    };
                    let within = within.saturating_add(u8::from(inside));
                    if key.starts_with(['$', '@']) {
                        self.text(key, within);
                    }
                    if key.as_ref() == "fact" {
                        self.facts(&field.node, within);
                    }
                    self.add(&field.node, within, level + 1);
                }
            }
            _ => {}
        }
    }

    /// A condition whose bare paths are fields of the `item`, or otherwise paths of the scene.
    fn condition(&mut self, node: &DocumentNode, item: bool, within: u8, level: usize) {
        let Some(table) = node.as_table().filter(|_| level <= limits::EXPRESSION_NESTING) else { return };
        if table.contains_key("of") {
            return self.add(node, within, level + 1);
        }
        for (key, field) in table {
            match key.as_ref() {
                "all" | "any" => {
                    field.node.as_list().unwrap_or(&[]).iter().for_each(|n| self.condition(n, item, within, level + 1));
                }
                "not" => self.condition(&field.node, item, within, level + 1),
                "fact" => self.facts(&field.node, within),
                "rhai" | "host" | "script" => self.own = self.own.max(1_u8.saturating_sub(within)),
                "=" => self.expression(&field.node, within),
                path => {
                    match path.starts_with(['$', '@']) {
                        true => self.text(path, within),
                        false if item => self.own = self.own.max(1_u8.saturating_sub(within)),
                        false => self.reads.push((path.to_owned(), within)),
                    }
                    self.add(&field.node, within, level + 1);
                }
            }
        }
    }

    /// An expression, in which any bare name may be a field.
    fn expression(&mut self, node: &DocumentNode, within: u8) {
        let words = node.as_text().unwrap_or_default().split(|c: char| !(c.is_alphanumeric() || "_.$".contains(c)));
        let far = if words.clone().any(|word| word == "item" || word.starts_with("item.")) { 2_u8 } else { 1 };
        self.own = self.own.max(far.saturating_sub(within));
        self.reads.extend(words.filter_map(|word| word.strip_prefix('$')).map(|path| (path.to_owned(), within)));
    }

    fn facts(&mut self, node: &DocumentNode, within: u8) {
        let one = std::slice::from_ref(node);
        let names = node.as_list().unwrap_or(one).iter().filter_map(DocumentNode::as_text);
        self.names.extend(names.map(|name| (RowName::Fact(name.into()), within)));
    }

    /// The references in a text: the whole of it, its holes, or the words of a calculation.
    fn text(&mut self, text: &str, within: u8) {
        if !text.contains(['$', '@']) {
            return;
        }
        let word = |c: char| c.is_alphanumeric() || "_.[]$@-".contains(c);
        for part in text.split(|c: char| !word(c)).filter(|part| is_reference(part)) {
            if let Some(path) = part.strip_prefix('$') {
                self.reads.push((path.to_owned(), within));
            }
            if part.contains('@') {
                let far = if part.contains("@outer") { 2_u8 } else { 1 };
                self.own = self.own.max(far.saturating_sub(within));
            }
        }
    }
}

impl CompileContext<'_> {
    /// Wraps the parts that depend on no item into memo cells, as high up in the tree as possible.
    pub fn sealed(&mut self, expr: Expr) -> Expr {
        let trivial = matches!(expr, Expr::Const(_) | Expr::Field(_) | Expr::Form(_));
        if trivial {
            return expr;
        }
        if !expr.refers(0) && !expr.draws() {
            return self.remember(expr);
        }
        if let Expr::If(choice) = expr {
            let ValueChoice { cond, then, other } = *choice;
            let cond = self.sealed_cond(cond);
            let (then, other) = self.in_branch(|cx| (cx.sealed(then), cx.sealed(other)));
            return Expr::If(Box::new(ValueChoice { cond, then, other }));
        }
        if let Expr::Shared(shared) = expr {
            return self.sealed_share(&shared);
        }
        if let Expr::Try(inner) = expr {
            return Expr::Try(Box::new(self.in_branch(|cx| cx.sealed(*inner))));
        }
        let mut each = |list: Box<[Expr]>| -> Box<[Expr]> { list.into_vec().into_iter().map(|e| self.sealed(e)).collect() };
        match expr {
            Expr::Text(l) => Expr::Text(each(l)),
            Expr::List(l) => Expr::List(each(l)),
            Expr::First(l) => Expr::First(each(l)),
            Expr::Over(l) => Expr::Over(each(l)),
            Expr::Table(t) => Expr::Table(t.into_vec().into_iter().map(|(k, e)| (k, self.sealed(e))).collect()),
            Expr::Lookup(l) => {
                let TableLookup { key, table, by, get, default } = *l;
                // a table by name is answered from its index: a memo cell would only copy it
                let table = if matches!(table, Expr::Path(_)) { table } else { self.sealed(table) };
                let default = default.map(|e| self.sealed(e));
                Expr::Lookup(Box::new(TableLookup { key: self.sealed(key), table, by, get, default }))
            }
            Expr::Fn(c) => {
                let ExprCall { function, args } = *c;
                let args = args.into_vec().into_iter().map(|(k, e)| (k, self.sealed(e))).collect();
                Expr::Fn(Box::new(ExprCall { function, args }))
            }
            Expr::Is(c) => Expr::Is(Box::new(self.sealed_cond(*c))),
            // the steps were sealed when they were read
            Expr::Pipe(p) => Expr::Pipe(Box::new(StepPipe { of: self.sealed(p.of), steps: p.steps })),
            Expr::Script(s) => {
                let args = s.args.map(|args| args.into_vec().into_iter().map(|e| self.sealed(e)).collect());
                Expr::Script(Box::new(ScriptCall { args, ..*s }))
            }
            Expr::Operation(operation) => Expr::Operation(Box::new(self.sealed_operation(*operation))),
            Expr::Query(q) => Expr::Query(Box::new(self.sealed_query(*q))),
            Expr::Fold(f) => {
                let ValueFold { of, from, give } = *f;
                let (of, from) = (self.sealed(of), self.sealed(from));
                Expr::Fold(Box::new(ValueFold { of, from, give: self.in_branch(|cx| cx.sealed(give)) }))
            }
            other => other,
        }
    }

    /// The same for an operation. What may not be evaluated, or fails beside others, must not fail earlier.
    fn sealed_operation(&mut self, operation: Operation) -> Operation {
        match operation {
            Operation::Call(method, args) => Operation::Call(method, args.into_iter().map(|e| self.sealed(e)).collect()),
            Operation::All(list) if list.len() == 1 => Operation::All(list.into_iter().map(|e| self.sealed(e)).collect()),
            Operation::Comprehension(each) => {
                let over = self.sealed(each.over);
                let bodies = each.bodies.into_vec();
                let bodies = self.in_branch(|cx| bodies.into_iter().map(|e| cx.sealed(e)).collect());
                Operation::Comprehension(Comprehension { over, bodies, ..each })
            }
            other => other,
        }
    }

    /// The same for a query.
    pub fn sealed_query(&mut self, mut query: ItemQuery) -> ItemQuery {
        query.select = self.sealed_select(query.select);
        query.get = query.get.map(|e| self.sealed(e));
        query
    }

    /// The same for a selection.
    pub fn sealed_select(&mut self, mut select: Select) -> Select {
        select.filter = select.filter.map(|c| self.sealed_cond(c));
        select.since = select.since.map(|c| self.sealed_cond(c));
        select.run = select.run.map(|c| self.sealed_cond(c));
        for key in &mut select.by {
            if let crate::terms::select::KeyComparison::Ranks(e) = &mut key.how {
                let ranks = std::mem::replace(e, Expr::Const(Value::Null));
                *e = self.sealed(ranks);
            }
        }
        select
    }

    /// The same for a condition.
    pub fn sealed_cond(&mut self, cond: Cond) -> Cond {
        if matches!(cond, Cond::Const(_)) {
            return cond;
        }
        if !cond.refers(0) && !cond.draws() {
            return self.remember_cond(cond);
        }
        if let Cond::Shared(shared) = cond {
            return self.sealed_shared_cond(&shared);
        }
        match cond {
            Cond::All(l) => Cond::All(l.into_vec().into_iter().map(|c| self.sealed_cond(c)).collect()),
            Cond::Any(l) => Cond::Any(l.into_vec().into_iter().map(|c| self.sealed_cond(c)).collect()),
            Cond::Not(c) => Cond::Not(Box::new(self.sealed_cond(*c))),
            Cond::Test { subject, test, condition } => {
                Cond::Test { subject: self.sealed(subject), test: self.sealed_test(test), condition }
            }
            Cond::Query(q, test) => Cond::Query(Box::new(self.sealed_query(*q)), self.sealed_test(test)),
            other => other,
        }
    }

    fn sealed_test(&mut self, test: CondTest) -> CondTest {
        match test {
            CondTest::Eq(e) => CondTest::Eq(self.sealed(e)),
            CondTest::In(e) => CondTest::In(self.sealed(e)),
            CondTest::Between(bounds) => CondTest::Between(Box::new(bounds.map(|e| self.sealed(e)))),
            CondTest::Cmp(c, e) => CondTest::Cmp(c, self.sealed(e)),
            CondTest::Contains(e) => CondTest::Contains(self.sealed(e)),
            CondTest::Meets(e) => CondTest::Meets(self.sealed(e)),
            CondTest::Starts(l) => CondTest::Starts(l.into_vec().into_iter().map(|e| self.sealed(e)).collect()),
            CondTest::Ne(l) => CondTest::Ne(l.into_vec().into_iter().map(|e| self.sealed(e)).collect()),
            CondTest::And(l) => CondTest::And(l.into_vec().into_iter().map(|t| self.sealed_test(t)).collect()),
            other => other,
        }
    }
}
