//! Outlets alone: for the pass that fills them before macros are expanded.

use crate::terms::State;
use crate::text::macros::{Called, Found, Grammar, MacroHost, MacroResult};

use super::text;

/// Only `{{slot::name}}` and `{{outlet::name}}`: for the pass that fills outlets before macros are expanded.
pub struct OutletHost<'a> {
    st: &'a State,
}

impl<'a> OutletHost<'a> {
    /// A host over a state.
    #[must_use]
    pub fn new(st: &'a State) -> Self {
        Self { st }
    }
}

impl Grammar for OutletHost<'_> {
    fn find(&self, _name: &str) -> Option<Found> {
        None
    }

    // blocks are for the macros, which are expanded later: their ends must still be there
    fn has_blocks(&self) -> bool {
        false
    }
}

impl MacroHost for OutletHost<'_> {
    fn call(&self, called: &Called<'_>) -> MacroResult {
        match (called.name.to_ascii_lowercase().as_str(), called.args) {
            ("slot" | "outlet", [key, ..]) if !called.block => MacroResult::Text(text::outlet_text(self.st, key)),
            _ => MacroResult::Unknown,
        }
    }
}
