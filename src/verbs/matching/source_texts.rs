//! The texts of the elements of a source, made once: a chat has the same messages in each round, and in the next build of a
//! session.

use std::sync::Arc;

use crate::model::Value;
use crate::model::item::core;
use crate::terms::expr::CalledFunction;
use crate::terms::{BuildState, EvalFault, Expr};
use crate::text::functions::FUNCTIONS;
use crate::text::work::{self, BudgetScope};

/// The texts of one source, by the places of their elements.
#[derive(Default)]
pub(super) struct SourceTexts {
    known: Vec<Option<KnownText>>,
    /// Behind the last place that this build has asked for.
    used: usize,
}

/// The text of an element.
struct KnownText {
    element: Value,
    text: Arc<str>,
    /// The work of making it: steps and bytes.
    cost: (u64, u64),
}

impl SourceTexts {
    /// Begins another build.
    pub(super) fn begin_build(&mut self) {
        self.known.truncate(self.used);
        self.used = 0;
    }

    /// The text of the element at a place: the known one if this element was there before, or else what `make` gives. Its work
    /// is paid each time.
    pub(super) fn text_of(
        &mut self,
        element: &Value,
        place: usize,
        st: &BuildState,
        make: impl FnOnce() -> Result<Arc<str>, EvalFault>,
    ) -> Result<Arc<str>, EvalFault> {
        self.used = self.used.max(place + 1);
        if self.known.len() <= place {
            self.known.resize_with(place + 1, || None);
        }
        let Some(slot) = self.known.get_mut(place) else { return make() };
        if let Some(known) = slot.as_ref().filter(|known| known.element.is_same(element)) {
            work::pay(known.cost.0, known.cost.1)?;
            return Ok(known.text.clone());
        }
        let (door, warned) = (BudgetScope::join(), st.warnings.raised.borrow().len());
        let text = make()?;
        // a compiled cell may give something else next time, and every build warns by itself
        let has_cells = element.as_map().is_some_and(|fields| fields.values().any(|value| matches!(value, Value::Rule(_))));
        let stays = !has_cells && st.warnings.raised.borrow().len() == warned;
        *slot = stays.then(|| KnownText { element: element.clone(), text: text.clone(), cost: door.spent() });
        Ok(text)
    }
}

/// Whether the value for an element, and the work of making it, depend on the fields of that element alone.
pub(super) fn reads_element_alone(of: &Expr) -> bool {
    match of {
        Expr::Const(_) => true,
        Expr::Field(field) => field.up == 0 && field.rest.is_empty() && field.field.as_ref().is_some_and(|(id, _)| *id != core::INDEX),
        Expr::First(list) | Expr::List(list) | Expr::Text(list) => list.iter().all(reads_element_alone),
        Expr::Fn(call) => match call.function {
            // one with more arguments may take a pattern, which is paid once in a build
            CalledFunction::Text(n) if FUNCTIONS.get(n).is_some_and(|function| function.args.len() == 1) => {
                call.args.iter().all(|(_, arg)| reads_element_alone(arg))
            }
            _ => false,
        },
        _ => false,
    }
}
