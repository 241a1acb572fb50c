//! `{ fold = list, from = value, give = value }`: one value made of all elements of a list, one after another.
//!
//! Each step sees what the steps before it have made. The number of steps, and the size of what they make, are bounded.

use std::sync::{Arc, LazyLock};

use crate::diag::limits;
use crate::model::{Map, Value};

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::ValueFold;
use super::sizes;

/// How many steps may go by until the value is measured: each may nest it deeper.
const STEPS: usize = 16;

/// The names that `give` knows.
static NAMES: LazyLock<Arc<[Arc<str>]>> = LazyLock::new(|| ["so_far", "element", "index"].map(Arc::from).into());

/// The names that `give` knows.
#[must_use]
pub fn names() -> Arc<[Arc<str>]> {
    NAMES.clone()
}

impl ValueFold {
    /// The value after the last element.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let list = self.of.eval(env)?;
        let elements = list.elements();
        env.st.visit(elements.len())?;
        let mut so_far = self.from.eval(env)?;
        let measure = |so_far: &Value| sizes::kept(so_far, env.st.rules.limits.text_bytes, &env.st.scene).map(|_| ()).map_err(grown);
        for (n, element) in elements.iter().enumerate() {
            let index = Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
            let values = [so_far, element.clone(), index];
            let here: Map = NAMES.iter().cloned().zip(values).collect();
            let here = Value::map(here);
            so_far = env.inner(CurrentItem::Value(&here, n)).eval(&self.give)?;
            // a step may double the list, so the check cannot wait for the end
            let own = so_far.elements().len().max(so_far.as_map().map_or(0, Map::len));
            if own > limits::VALUES {
                return Err(grown(format!("hold more than {} values; keep fewer in it", limits::VALUES)));
            }
            if n % STEPS == STEPS - 1 && own > 0 {
                measure(&so_far)?;
            }
        }
        if !elements.is_empty() {
            measure(&so_far)?;
        }
        Ok(so_far)
    }
}

fn grown(would: String) -> EvalFault {
    EvalFault::bound(format!("the value of a `fold` would {would}"))
}
