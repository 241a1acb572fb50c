//! Evaluates a lookup: a row of a table, or an element of a list, by its key.

use std::sync::Arc;

use super::eval::{Env, EvalFault};
use super::expr::{Expr, PathRoot, TableLookup};
use crate::model::Value;
use crate::text::written::{self, ToText as _};

impl TableLookup {
    /// The row or element that the key names.
    pub(super) fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let key = self.key.eval(env)?;
        let found = match self.named_table() {
            Some(table) => env.st.rules.row(table, &key.shown()),
            None => match self.table.eval(env)? {
                Value::Map(m) => m.get(key.shown().as_ref()).cloned(),
                Value::List(l) => match key.as_i64() {
                    Some(n) => usize::try_from(n).ok().and_then(|n| l.get(n).cloned()),
                    None => {
                        let mut found = None;
                        for row in l.iter() {
                            if row.get(&self.by).map_or(Ok(false), |value| written::same(value, &key))? {
                                found = Some(row.clone());
                                break;
                            }
                        }
                        found
                    }
                },
                _ => None,
            },
        };
        let found = match (found, &self.get) {
            (Some(row), Some(field)) => row.get(field).cloned(),
            (found, _) => found,
        };
        match (found, &self.default) {
            (Some(v), _) if !v.is_null() => env.settle(v),
            (_, Some(e)) => e.eval(env),
            _ => Ok(Value::Null),
        }
    }

    /// A plain `$table.NAME` that is looked up by name, answered from the index.
    fn named_table(&self) -> Option<&Arc<str>> {
        match &self.table {
            Expr::Path(p) => match &p.root {
                PathRoot::Table(name) if p.segs.is_empty() && self.by.as_ref() == "name" => Some(name),
                _ => None,
            },
            _ => None,
        }
    }
}
