//! Distinguishes a missing value from null. The rule language treats both alike; an import report about foreign data,
//! the test `given` and the `given` keys of a form must distinguish them.

use std::sync::Arc;

use crate::model::Value;
use crate::model::value::RuleRef;
use crate::text::written::ToText as _;

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::{Expr, FieldRef, PathSegment, TableLookup};

impl Env<'_> {
    /// [`Env::settle`], which distinguishes a missing value from null.
    pub(crate) fn settle_present(&self, cell: &Value) -> Result<Option<Value>, EvalFault> {
        match cell {
            Value::Rule(RuleRef::Expr(n)) => {
                self.saw_value(*n);
                self.cell(|| self.present(self.st.rules.expr(*n)))
            }
            literal => Ok(Some(literal.clone()).filter(|value| !value.is_null())),
        }
    }

    /// Evaluates an expression. `None` means that there is no value; `Some(Null)` is a null that the data itself
    /// contains at the end of a reference or a lookup.
    pub fn present(&self, expr: &Expr) -> Result<Option<Value>, EvalFault> {
        let value = self.eval(expr)?;
        if !value.is_null() {
            return Ok(Some(value));
        }
        let said = match expr {
            Expr::Path(path) => {
                let scene = |names: &[Arc<str>]| says_null(&self.st.set.borrow(), names) || says_null(&self.st.scene, names);
                path.names().is_some_and(scene)
            }
            Expr::Field(field) => self.field_is_null(field),
            Expr::Lookup(lookup) => self.lookup_is_null(lookup)?,
            Expr::Memo(_, inner) => return self.present(inner),
            Expr::Shared(shared) => return self.present(&shared.of),
            _ => false,
        };
        Ok(said.then_some(Value::Null))
    }

    fn field_is_null(&self, field: &FieldRef) -> bool {
        let mut env = self;
        for _ in 0..field.up {
            let Some(outer) = env.outer else { return false };
            env = outer;
        }
        let Some((id, name)) = &field.field else { return false };
        let names: Option<Vec<Arc<str>>> =
            field.rest.iter().map(|seg| if let PathSegment::Name(name) = seg { Some(name.clone()) } else { None }).collect();
        let Some(names) = names else { return false };
        match env.cur {
            CurrentItem::None => false,
            CurrentItem::Item(item, _) if names.is_empty() => item.says_null(*id),
            CurrentItem::Item(item, _) => item.get(*id).is_some_and(|value| says_null(value, &names)),
            CurrentItem::Value(value, _) => value.get(name).is_some_and(|value| says_null(value, &names)),
        }
    }

    fn lookup_is_null(&self, lookup: &TableLookup) -> Result<bool, EvalFault> {
        let (key, table) = (self.eval(&lookup.key)?, self.eval(&lookup.table)?);
        Ok(lookup.get.is_none() && says_null(&table, &[key.shown()]))
    }
}

fn says_null(value: &Value, names: &[Arc<str>]) -> bool {
    names.iter().try_fold(value, |at, name| at.get(name)).is_some_and(Value::is_null)
}

#[cfg(test)]
mod tests {
    use super::{Arc, Value, says_null};

    #[test]
    fn only_a_null_that_is_there_counts() {
        let value = Value::from(&serde_json::json!({ "a": { "b": null, "c": 0 } }));
        let asks = |path: &str| says_null(&value, &path.split('.').map(Arc::from).collect::<Vec<_>>());
        assert!(asks("a.b"));
        assert!(!asks("a.c") && !asks("a.d") && !asks("a.b.c"));
    }
}
