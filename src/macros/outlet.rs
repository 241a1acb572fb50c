//! Outlets alone: for the pass that fills them before macros are expanded.

use crate::terms::BuildState;
use crate::macros::syntax::{KnownMacro, MacroCall, MacroGrammar, MacroHost, MacroResult, MacroSyntax};

use super::{MacroTable, text};

/// Only `{{outlet::name}}`, under the names that the pack gives it: for the pass that fills outlets before macros are expanded.
pub struct OutletHost<'a> {
    st: &'a BuildState,
    table: &'a MacroTable,
}

impl<'a> OutletHost<'a> {
    /// A host over a state.
    #[must_use]
    pub fn new(st: &'a BuildState, table: &'a MacroTable) -> Self {
        Self { st, table }
    }
}

impl MacroGrammar for OutletHost<'_> {
    fn find(&self, _name: &str) -> Option<KnownMacro> {
        None
    }

    fn syntax(&self) -> &MacroSyntax {
        self.table.syntax()
    }

    // blocks are for the macros, which are expanded later: their ends must still be there
    fn has_blocks(&self) -> bool {
        false
    }
}

impl MacroHost for OutletHost<'_> {
    fn call(&self, called: &MacroCall<'_>) -> MacroResult {
        let named = |name: &str| self.table.syntax().outlets.iter().any(|outlet| **outlet == *name);
        match called.args {
            [key, ..] if !called.block && named(&called.name.to_ascii_lowercase()) => MacroResult::Text(text::outlet_text(self.st, key)),
            _ => MacroResult::Unknown,
        }
    }
}
