//! Macros of a pack: rows of table `macro`, each a value, a text, or a function of the library under a name.
//!
//! The [`Table`] is compiled with the ruleset. [`Macros`] is that table over one text of one build, which is expanded in
//! one of two flavours: nested, as a tree that is read once, or ordered, pass by pass.

pub mod call;
pub mod chance;
pub mod draw;
pub mod flow;
pub mod functions;
pub mod host;
pub mod passes;
pub mod table;
pub mod text;
pub mod time;
pub mod vars;

mod ordered;
mod outlet;
mod rewrites;
mod rows;

use std::sync::Arc;

use crate::diag::Code;
use crate::text::Limits;
use crate::text::macros::expand;

pub use host::Macros;
pub use outlet::OutletHost;
pub use table::Table;

impl Macros<'_> {
    /// Expands the text.
    #[must_use]
    pub fn run(&self) -> Arc<str> {
        let Some(inside) = self.st.nesting.begin_text() else {
            self.st.warn(Code::MacroFailed, "texts are expanded inside texts too deeply or too often; one is left as it is");
            return self.given.clone();
        };
        let limits = Limits::MACROS.with_output(self.st.rules.limits.text_bytes);
        let of_scene = self.st.lookup(&["macro_flavour".into()], None);
        let done = match self.table.is_ordered(self.flavour.or(of_scene.as_str()).unwrap_or_default()) {
            true => ordered::run(self, limits, inside),
            false => expand(&self.given, self, &limits),
        };
        self.st.nesting.end_text();
        for warning in done.warnings {
            self.st.warn(Code::MacroFailed, warning);
        }
        done.text
    }
}
