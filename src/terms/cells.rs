//! Memo cells in compiled form: what each one holds, so that all cells of a pass can be filled at once.

use crate::model::Value;

use super::eval::{Env, EvalFault};
use super::{Cond, Expr};

/// What one memo cell of a pass holds.
#[derive(Debug, Clone)]
pub struct MemoCell {
    slot: u32,
    what: CellContent,
    /// It is inside a branch that may not be chosen.
    branch: bool,
}

#[derive(Debug, Clone)]
enum CellContent {
    Expr(Expr),
    Cond(Cond),
}

impl MemoCell {
    /// The cell of an expression.
    #[must_use]
    pub fn of_expr(slot: u32, expr: Expr, branch: bool) -> Self {
        Self { slot, what: CellContent::Expr(expr), branch }
    }

    /// The cell of a condition.
    #[must_use]
    pub fn of_cond(slot: u32, cond: Cond, branch: bool) -> Self {
        Self { slot, what: CellContent::Cond(cond), branch }
    }

    /// Evaluates the cell now. An error inside a branch that may not be chosen is raised only if the branch is
    /// chosen.
    pub fn fill(&self, env: &Env<'_>) -> Result<(), EvalFault> {
        let value = match &self.what {
            CellContent::Expr(e) => env.eval(e),
            CellContent::Cond(c) => env.holds(c).map(Value::Bool),
        };
        match value {
            Ok(value) => env.memo.put(self.slot, value),
            Err(_) if self.branch => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}
