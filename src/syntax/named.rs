//! Facts and values: conditions and values that a row names once, and that are compiled at each use.
//!
//! The meaning of `@` in them depends on the place of use, so each use is compiled separately. Rows that refer to
//! each other in a circle are reported once, and the total size of nested uses is bounded.

use std::sync::Arc;

use crate::diag::{Code, Data, Diagnostic, Node, Span, Table};
use crate::model::Pack;
use crate::model::Value;
use crate::terms::cond::Cond;
use crate::terms::expr::Expr;

use indexmap::IndexMap;

use super::conditions::Mode;
use super::context::{CompileContext, Scope};

/// Maximum number of values and conditions that all uses of names in one pack may expand to.
const MOST: usize = 1_000_000;

/// The content of a row of table `fact` or `value`.
#[derive(Debug, Clone)]
pub struct Named {
    /// The condition or value.
    pub is: Option<Node>,
    /// It is about an item.
    pub over: bool,
}

/// A name that is being compiled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpenName {
    /// A row of table `fact`.
    Fact(Arc<str>),
    /// A row of table `value`.
    Value(Arc<str>),
}

/// The rows of a table of names.
pub(super) fn rows(pack: &Pack, table: &str) -> IndexMap<Arc<str>, Named> {
    let named =
        |row: &crate::model::pack::Row| Named { is: row.fields.get("is").map(|f| f.node.clone()), over: row.fields.contains_key("over") };
    pack.tables.get(table).into_iter().flatten().map(|(name, row)| (name.clone(), named(row))).collect()
}

impl CompileContext<'_> {
    /// `{ fact = "name" }`: the conditions that the rows name.
    pub(super) fn fact(&mut self, node: &Node) -> Cond {
        let names: Vec<(Arc<str>, Span)> = match &node.data {
            Data::List(l) => l.iter().filter_map(|n| Some((n.as_text()?.into(), n.span))).collect(),
            Data::Text(t) => vec![(t.clone(), node.span)],
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
                all.push(self.named_fact(&name, &fact));
            }
        }
        Cond::All(all.into())
    }

    /// The condition of the fact `name`. A bare path in it is a field of the item if the fact has `over`.
    pub fn named_fact(&mut self, name: &Arc<str>, fact: &Named) -> Cond {
        let Some(is) = &fact.is else { return Cond::Const(false) };
        self.open.push(OpenName::Fact(name.clone()));
        let cond = self.cond(is, if fact.over { Mode::Item } else { Mode::Scene });
        self.open.pop();
        cond
    }

    /// `{ value = "name" }`: the value that the row names.
    pub(super) fn value_named(&mut self, node: &Node) -> Expr {
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
            let help = Some(format!("use it where an item is at hand, or take `over` out of value `{name}`"));
            self.fail(Code::ReferenceBad, node.span, format!("value `{name}` is about an item, but there is none here"), help);
            return nothing;
        }
        self.named_value(&name, &value)
    }

    /// The value of the row `name`. Without `over` it is about the scene, and there is no current item in it.
    pub fn named_value(&mut self, name: &Arc<str>, value: &Named) -> Expr {
        let Some(is) = &value.is else { return Expr::Const(Value::Null) };
        self.open.push(OpenName::Value(name.clone()));
        let expr = if value.over { self.expr(is) } else { self.within(Scope::None, |cx| cx.expr(is)) };
        self.open.pop();
        expr
    }

    /// Counts one more value or condition inside a name.
    pub(super) fn spend(&mut self) {
        self.spent += usize::from(!self.open.is_empty());
    }

    fn is_too_much(&mut self, span: Span) -> bool {
        let told = |d: &Diagnostic| d.code == Code::BoundExceeded;
        if self.spent > MOST && !self.report.items().iter().any(told) {
            let message = format!("facts and values that name each other come to more than {MOST} parts");
            self.fail(Code::BoundExceeded, span, message, Some("name fewer of them in each other".into()));
        }
        self.spent > MOST
    }

    /// Whether a name is being compiled already: then rows refer to each other in a circle, which `span` closes. Each
    /// circle is found from all of its rows and reported once, from the first by name.
    fn is_open(&mut self, name: &OpenName, span: Span) -> bool {
        let Some(at) = self.open.iter().position(|open| open == name) else { return false };
        let chain = self.open.get(at..).unwrap_or(&[]);
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
pub(super) fn names_a_value(table: &Table) -> Option<&Node> {
    table.get("value").map(|f| &f.node).filter(|_| table.len() == 1)
}
