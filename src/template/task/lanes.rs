//! Lanes for attachments: what a task offers besides sources, and the requests for places in each lane.

use std::sync::Arc;

use crate::model::pack::PackRow;
use crate::model::{Map, Value};
use crate::terms::select::pass_env;
use crate::terms::{CompiledRules, Env, EvalFault, PassMemo};

use super::halves;

/// A lane that a task offers.
#[derive(Debug)]
pub struct TaskLane {
    /// The name of its row, `TASK/LANE`.
    pub whole: Arc<str>,
    /// The task that it belongs to.
    pub task: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    cells: Value,
}

/// The lanes of a task over one state and the requests for them, in the form of a template's own `attachments`.
#[derive(Debug, Default)]
pub struct OfferedLanes {
    /// The lanes.
    pub lanes: Vec<Value>,
    /// The requests: tables with `lane`.
    pub requests: Vec<Value>,
}

impl TaskLane {
    pub(super) fn compile(rules: &CompiledRules, row: &PackRow) -> Self {
        let (task, id) = halves(row);
        Self { whole: row.name.clone(), task, id, cells: rules.row("lane", &row.name).unwrap_or_default() }
    }

    /// Adds the lane and its requests to what a task offers; does nothing if its `when` does not hold.
    ///
    /// # Errors
    /// A cell cannot be evaluated.
    pub fn offer(&self, env: &Env<'_>, to: &mut OfferedLanes) -> Result<(), EvalFault> {
        let memo = PassMemo::of(env.memo.pass);
        let env = pass_env(env.st, &memo);
        if !env.applies(self.cells.get("when"))? {
            return Ok(());
        }
        let mut lane = Map::default();
        lane.insert("id".into(), Value::Text(self.id.clone()));
        for (key, cell) in self.cells.as_map().into_iter().flatten() {
            let key = match key.as_ref() {
                "name" | "doc" | "about" | "when" | "each" => continue,
                "reserve" => Arc::from("reserveTokens"),
                "budget" => {
                    lane.insert("budget".into(), budget(env.settle(cell.clone())?));
                    continue;
                }
                _ => key.clone(),
            };
            lane.insert(key, env.settle(cell.clone())?);
        }
        to.lanes.push(Value::map(lane));
        let each = self.cells.get("each").map(|cell| env.settle(cell.clone())).transpose()?.unwrap_or_default();
        let asks = each.as_list().unwrap_or(&[]);
        env.st.visit(asks.len())?;
        for ask in asks {
            let mut request = ask.as_map().cloned().unwrap_or_default();
            request.insert("lane".into(), Value::Text(self.id.clone()));
            to.requests.push(Value::map(request));
        }
        Ok(())
    }
}

fn budget(most: Value) -> Value {
    Value::map([(Arc::from("maxTokens"), most)].into_iter().collect())
}
