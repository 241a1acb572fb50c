//! Sources: the names that templates use, and the values that answer them.

use std::sync::Arc;

use crate::diag::Report;
use crate::model::pack::PackRow;
use crate::model::{Map, Value};
use crate::terms::eval::CurrentItem;
use crate::terms::{BuildState, CompiledRules, Env, EvalFault, PassContext, PassMemo};

use super::halves;
use super::steps::{self, TaskStep};

/// A named source of data.
#[derive(Debug)]
pub struct TaskSource {
    /// The name of its row, `TASK/SOURCE`.
    pub whole: Arc<str>,
    /// The task that it belongs to.
    pub task: Arc<str>,
    /// Its name in templates.
    pub name: Arc<str>,
    /// Arguments that have a default value.
    defaults: Vec<(Arc<str>, Value)>,
    /// A literal value, or a compiled cell.
    value: Value,
    /// The condition on which it returns anything: a truth value, or a compiled cell.
    when: Option<Value>,
    steps: Vec<TaskStep>,
}

impl TaskSource {
    pub(super) fn compile(rules: &CompiledRules, row: &PackRow, report: &mut Report) -> Self {
        let (task, name) = halves(row);
        let cells = rules.row("source", &row.name).unwrap_or_default();
        let declared = cells.get("args").and_then(Value::as_map).into_iter().flatten();
        let defaults = declared.filter_map(|(arg, shape)| Some((arg.clone(), shape.get("default")?.clone()))).collect();
        let list = row.fields.get("list").and_then(|f| f.node.as_list()).unwrap_or(&[]);
        let steps = list.iter().filter_map(|node| TaskStep::compile(node, row, report)).collect();
        let value = cells.get("value").cloned().unwrap_or_default();
        Self { whole: row.name.clone(), task, name, defaults, value, when: cells.get("when").cloned(), steps }
    }

    /// The value of the source for these arguments; `None` is absent, which is not the same as `null`.
    ///
    /// # Errors
    /// A cell cannot be evaluated, a value that should be changed by steps is not a list, or a bound is reached.
    pub fn resolve(&self, args: Option<&Value>, pass: PassContext, st: &BuildState) -> Result<Option<Value>, EvalFault> {
        let mut given = args.and_then(Value::as_map).cloned().unwrap_or_default();
        for (name, default) in &self.defaults {
            if given.get(name).is_none_or(Value::is_null) {
                given.insert(name.clone(), default.clone());
            }
        }
        let args = Value::map(given);
        let memo = PassMemo::of(pass);
        let env = Env { st, cur: CurrentItem::Value(&args, 0), outer: None, memo: &memo, part: None };
        if !env.applies(self.when.as_ref())? {
            return Ok(None);
        }
        let value = env.settle_present(&self.value)?;
        st.visit(value.as_ref().and_then(Value::as_list).map_or(0, <[Value]>::len))?;
        let nothing = Map::default();
        steps::apply(&self.steps, value, args.as_map().unwrap_or(&nothing))
    }
}
