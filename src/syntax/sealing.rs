//! Memo cells: every part of a term that depends on no item is wrapped, so that a pass evaluates it once.

use crate::model::Value;
use crate::terms::cond::{Cond, CondTest};
use crate::terms::expr::ScriptCall;
use crate::terms::expr::{Expr, ExprCall, ItemQuery, TableLookup, ValueChoice, ValueFold};
use crate::terms::select::Select;
use crate::terms::steps::StepPipe;

use super::context::CompileContext;

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
            Expr::Query(q) => Expr::Query(Box::new(self.sealed_query(*q))),
            Expr::Fold(f) => {
                let ValueFold { of, from, give } = *f;
                let (of, from) = (self.sealed(of), self.sealed(from));
                Expr::Fold(Box::new(ValueFold { of, from, give: self.in_branch(|cx| cx.sealed(give)) }))
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
