//! Facts and values: conditions and values that a row names once.
//!
//! The meaning of `@` in them depends on the place of use, so they are compiled for each meaning, and once for all places
//! that give them the same one. A small one is then written out in each place; a large one is shared
//! ([`crate::terms::memo`]), so that names which name each other twice do not double what is compiled. Rows that refer to
//! each other in a circle are reported once, and the total size of nested uses is bounded.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, limits};
use crate::model::Pack;
use crate::model::Value;
use crate::terms::cond::Cond;
use crate::terms::expr::Expr;
use crate::terms::memo::SharedValue;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::conditions::PathMode;
use super::context::{CompileContext, ItemScope};

/// A name of more parts is shared by the places that use it, instead of being written out in each.
const SHARED_FROM: usize = 256;

/// The content of a row of table `fact` or `value`.
#[derive(Debug, Clone)]
pub struct NamedRow {
    /// The condition or value.
    pub is: Option<DocumentNode>,
    /// It is about an item.
    pub over: bool,
}

/// A name that is being compiled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum OpenName {
    /// A row of table `fact`.
    Fact(Arc<str>),
    /// A row of table `value`.
    Value(Arc<str>),
}

/// The facts and values of a pack, as far as they are compiled.
#[derive(Debug, Default)]
pub(super) struct NamedRules {
    /// Those that are being compiled, each inside the previous one.
    open: Vec<OpenName>,
    /// For each of these, how many meanings of `@` there are at the place that uses it.
    floors: Vec<usize>,
    /// How many values and conditions were compiled inside facts and named values.
    spent: usize,
    /// How many the current one has that are written out.
    size: usize,
    /// What is being compiled names itself: it is complete only where it begins with another row.
    circle: bool,
    known: FxHashMap<OpenName, Vec<ScopedRow>>,
    /// Shared ones whose parts that depend on no item are in memo cells, outside and inside of branches.
    sealed: FxHashMap<(u32, bool), CompiledRow>,
    /// How many are shared, which gives each a number.
    pub(super) shared: u32,
}

/// A compiled fact or value.
#[derive(Debug, Clone)]
enum CompiledRow {
    Fact(Cond),
    Value(Expr),
}

/// A compiled fact or value, and the meaning of `@` that it is compiled for.
#[derive(Debug, Clone)]
struct ScopedRow {
    scopes: Vec<ItemScope>,
    made: CompiledRow,
    /// Its parts, as far as they are written out in the place of use.
    size: usize,
    /// How deep its parts are nested.
    height: usize,
    /// It asks for the index of an item.
    index: bool,
}

impl NamedRules {
    pub(super) fn numbered_from(shared: u32) -> Self {
        Self { shared, ..Self::default() }
    }

    /// Whether a fact or value is being compiled.
    pub(super) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a meaning of `@`, by its number from the outermost, is one of the place that uses the innermost name.
    pub(super) fn is_around(&self, scope: usize) -> bool {
        self.floors.last().is_some_and(|floor| scope < *floor)
    }
}

/// The rows of a table of names.
pub(super) fn rows(pack: &Pack, table: &str) -> IndexMap<Arc<str>, NamedRow> {
    let named = |row: &crate::model::pack::PackRow| NamedRow {
        is: row.fields.get("is").map(|f| f.node.clone()),
        over: row.fields.contains_key("over"),
    };
    pack.tables.get(table).into_iter().flatten().map(|(name, row)| (name.clone(), named(row))).collect()
}

impl CompileContext<'_> {
    /// `{ fact = "name" }`: the conditions that the rows name.
    pub(super) fn fact(&mut self, node: &DocumentNode) -> Cond {
        let names: Vec<(Arc<str>, Span)> = match &node.data {
            NodeValue::List(l) => l.iter().filter_map(|n| Some((n.as_text()?.into(), n.span))).collect(),
            NodeValue::Text(t) => vec![(t.clone(), node.span)],
            _ => Vec::new(),
        };
        let mut all = Vec::new();
        for (name, span) in names {
            let Some(fact) = self.facts.get(&name).cloned() else {
                let known: Vec<Arc<str>> = self.facts.keys().cloned().collect();
                self.unknown("fact", &name, span, known.iter().map(AsRef::as_ref));
                continue;
            };
            if self.is_open(&OpenName::Fact(name.clone()), span) || self.is_too_much(span) {
                continue;
            }
            if fact.is.is_some() {
                all.push(self.named_fact(&name, &fact, span));
            }
        }
        Cond::All(all.into())
    }

    /// The condition of the fact `name`, which is used at `span`. A bare path in it is a field of the item if the fact has
    /// `over`.
    pub fn named_fact(&mut self, name: &Arc<str>, fact: &NamedRow, span: Span) -> Cond {
        let Some(is) = &fact.is else { return Cond::Const(false) };
        let mode = if fact.over { PathMode::Item } else { PathMode::Scene };
        match self.used(OpenName::Fact(name.clone()), span, |cx| CompiledRow::Fact(cx.cond(is, mode))) {
            CompiledRow::Fact(cond) => cond,
            CompiledRow::Value(_) => Cond::Const(false),
        }
    }

    /// `{ value = "name" }`: the value that the row names.
    pub(super) fn value_named(&mut self, node: &DocumentNode) -> Expr {
        let nothing = Expr::Const(Value::Null);
        let Some(name) = node.as_text().map(Arc::<str>::from) else {
            let help = Some("write `{ value = \"name\" }`".into());
            self.fail(Code::TermType, node.span, format!("`value` takes the name of a [[value]] row, not {}", node.kind()), help);
            return nothing;
        };
        let Some(value) = self.values.get(&name).cloned() else {
            let known: Vec<Arc<str>> = self.values.keys().cloned().collect();
            self.unknown("value", &name, node.span, known.iter().map(AsRef::as_ref));
            return nothing;
        };
        if self.is_open(&OpenName::Value(name.clone()), node.span) || self.is_too_much(node.span) {
            return nothing;
        }
        if value.over && !self.has_item() {
            let help = Some(format!("use it where an item is at hand, or take `over` out of value `{name}`").into());
            self.fail(Code::ReferenceBad, node.span, format!("value `{name}` is about an item, but there is none here"), help);
            return nothing;
        }
        self.named_value(&name, &value, node.span)
    }

    /// The value of the row `name`, which is used at `span`. Without `over` it is about the scene, and there is no current
    /// item in it.
    pub fn named_value(&mut self, name: &Arc<str>, value: &NamedRow, span: Span) -> Expr {
        let Some(is) = &value.is else { return Expr::Const(Value::Null) };
        let compile =
            |cx: &mut Self| CompiledRow::Value(if value.over { cx.expr(is) } else { cx.within(ItemScope::None, |cx| cx.expr(is)) });
        match self.used(OpenName::Value(name.clone()), span, compile) {
            CompiledRow::Value(expr) => expr,
            CompiledRow::Fact(_) => Expr::Const(Value::Null),
        }
    }

    /// A fact or value for the meaning that `@` has here: compiled now, or before.
    fn used(&mut self, name: OpenName, span: Span, compile: impl FnOnce(&mut Self) -> CompiledRow) -> CompiledRow {
        let known = self.naming.known.get(&name).and_then(|all| all.iter().find(|known| known.scopes == self.scopes)).cloned();
        let known = match known {
            Some(known) => {
                self.naming.spent += known.size;
                self.naming.size += known.size;
                known
            }
            None => self.compiled(name, compile),
        };
        self.reads_index |= known.index;
        self.deepest = self.deepest.max(self.depth + known.height);
        if self.depth + known.height > limits::EXPRESSION_NESTING {
            let help = Some("let fewer facts and values stand in each other".into());
            self.fail(Code::FileTooDeep, span, "values are nested too deeply", help);
        }
        known.made
    }

    /// Compiles a fact or value, and keeps it.
    fn compiled(&mut self, name: OpenName, compile: impl FnOnce(&mut Self) -> CompiledRow) -> ScopedRow {
        let (index, deepest, size) = (std::mem::take(&mut self.reads_index), self.deepest, self.naming.size);
        self.deepest = self.depth;
        self.naming.open.push(name.clone());
        self.naming.floors.push(self.scopes.len());
        let mut made = compile(self);
        self.naming.floors.pop();
        self.naming.open.pop();
        let mut own = self.naming.size - size;
        if own > SHARED_FROM {
            let id = self.naming.shared;
            made = match made {
                // a literal may be written out in each place, so its parts count in each
                CompiledRow::Value(Expr::Const(_)) | CompiledRow::Fact(Cond::Const(_)) => made,
                CompiledRow::Value(expr) => {
                    CompiledRow::Value(Expr::Shared(Arc::new(SharedValue::new(id, expr, Expr::refers, Expr::draws))))
                }
                CompiledRow::Fact(cond) => CompiledRow::Fact(Cond::Shared(Arc::new(SharedValue::new(id, cond, Cond::refers, Cond::draws)))),
            };
            if !matches!(made, CompiledRow::Value(Expr::Const(_)) | CompiledRow::Fact(Cond::Const(_))) {
                self.naming.shared += 1;
                own = 1;
            }
        }
        self.naming.size = size + own;
        let height = std::mem::replace(&mut self.deepest, deepest) - self.depth;
        let known =
            ScopedRow { scopes: self.scopes.clone(), made, size: own, height, index: std::mem::replace(&mut self.reads_index, index) };
        if self.naming.circle {
            self.naming.circle = self.naming.is_inside();
        } else {
            let meanings = self.naming.known.entry(name).or_default();
            if meanings.len() < limits::CACHE_ENTRIES {
                meanings.push(known.clone());
            }
        }
        known
    }

    /// Forgets the compiled names, because what they read belongs to another part of a pass.
    pub fn forget_names(&mut self) {
        self.naming.known.clear();
        self.naming.sealed.clear();
    }

    /// Enters a value or condition; inside a name it is counted.
    pub(super) fn deeper(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.naming.is_inside() {
            self.naming.spent += 1;
            self.naming.size += 1;
        }
    }

    /// A shared value with its parts that depend on no item in memo cells.
    pub(super) fn sealed_share(&mut self, shared: &SharedValue<Expr>) -> Expr {
        let key = (shared.id, self.branches > 0);
        if let Some(CompiledRow::Value(known)) = self.naming.sealed.get(&key) {
            return known.clone();
        }
        let of = self.sealed(shared.of.clone());
        let sealed = Expr::Shared(Arc::new(SharedValue { of, ..*shared }));
        self.naming.sealed.insert(key, CompiledRow::Value(sealed.clone()));
        sealed
    }

    /// The same for a condition.
    pub(super) fn sealed_shared_cond(&mut self, shared: &SharedValue<Cond>) -> Cond {
        let key = (shared.id, self.branches > 0);
        if let Some(CompiledRow::Fact(known)) = self.naming.sealed.get(&key) {
            return known.clone();
        }
        let of = self.sealed_cond(shared.of.clone());
        let sealed = Cond::Shared(Arc::new(SharedValue { of, ..*shared }));
        self.naming.sealed.insert(key, CompiledRow::Fact(sealed.clone()));
        sealed
    }

    fn is_too_much(&mut self, span: Span) -> bool {
        let told = |d: &Diagnostic| d.code == Code::BoundExceeded;
        if self.naming.spent > limits::RULE_PARTS && !self.report.items().iter().any(told) {
            let message = format!("facts and values that name each other come to more than {} parts", limits::RULE_PARTS);
            self.fail(Code::BoundExceeded, span, message, Some("name fewer of them in each other".into()));
        }
        self.naming.spent > limits::RULE_PARTS
    }

    /// Whether a name is being compiled already: then rows refer to each other in a circle, which `span` closes. Each
    /// circle is found from all of its rows and reported once, from the first by name.
    fn is_open(&mut self, name: &OpenName, span: Span) -> bool {
        let Some(at) = self.naming.open.iter().position(|open| open == name) else { return false };
        self.naming.circle = true;
        let chain = self.naming.open.get(at..).unwrap_or(&[]);
        if chain.iter().any(|other| other < name) {
            return true;
        }
        let facts = chain.iter().filter(|open| matches!(open, OpenName::Fact(_))).count();
        let what = if facts == chain.len() {
            "fact"
        } else if facts == 0 {
            "value"
        } else {
            "facts and value"
        };
        let names: Vec<&str> = chain.iter().map(OpenName::name).collect();
        let message = match names.as_slice() {
            [one] => format!("{what} `{one}` names itself"),
            _ => format!("{what}s name each other in a circle: `{}` → `{}`", names.join("` → `"), name.name()),
        };
        let told = |d: &Diagnostic| d.code == Code::CycleText && d.span == Some(span);
        if !self.report.items().iter().any(told) {
            self.fail(Code::CycleText, span, message, Some("take one of them out".into()));
        }
        true
    }
}

impl OpenName {
    fn name(&self) -> &str {
        match self {
            OpenName::Fact(name) | OpenName::Value(name) => name,
        }
    }
}

/// The row that `{ value = "name" }` names; `None` for any other table.
pub(super) fn names_a_value(table: &FieldMap) -> Option<&DocumentNode> {
    table.get("value").map(|f| &f.node).filter(|_| table.len() == 1)
}
