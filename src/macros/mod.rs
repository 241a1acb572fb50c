//! Macros of a pack: rows of table `macro`, each a value, a text, or a function of the library under a name.
//!
//! The [`Table`] is compiled with the ruleset. [`Macros`] is that table over one text of one build, which is expanded in
//! one of three flavours: nested, as a tree that is read once; ordered, pass by pass; or with a stack.

pub mod call;
pub mod chance;
pub mod draw;
pub mod engine;
pub mod flow;
pub mod functions;
pub mod host;
pub mod passes;
pub mod table;
pub mod text;
pub mod time;
pub mod vars;

mod blocks;
mod ordered;
mod outlet;
mod rewrites;
mod rows;
mod stack;
mod stores;

use std::sync::Arc;

use crate::diag::Code;
use crate::text::Limits;
use crate::text::macros::expand;

use engine::Flavour;

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
        let flavour = self.flavour.or(of_scene.as_str()).and_then(Flavour::named);
        let outside = self.begin_stores();
        let done = match flavour.unwrap_or(self.table.engine.flavour) {
            Flavour::Passes => ordered::run(self, limits, inside),
            Flavour::Nested => expand(&self.given, self, &limits),
            Flavour::Stack => stack::run(self, limits),
        };
        self.end_stores(outside, inside);
        self.st.nesting.end_text();
        for warning in done.warnings {
            self.st.warn(Code::MacroFailed, warning);
        }
        done.text
    }
}
