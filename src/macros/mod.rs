//! Macros of a pack: rows of table `macro`, each a value, a text, or a function of the library under a name.
//!
//! The [`MacroTable`] is compiled with the ruleset. [`Macros`] is that table over one text of one build, which is expanded in
//! one of three flavours: nested, as a tree that is read once; ordered, pass by pass; or with a stack.

pub mod call;
pub mod chance;
pub mod engine;
pub mod functions;
pub mod host;
pub mod passes;
pub mod syntax;
pub mod table;
pub mod vars;

mod blocks;
mod rewrites;
mod rows;
mod stack;

use std::sync::Arc;

use crate::diag::{Code, short};
use crate::macros::syntax::expand;
use crate::model::Value;
use crate::model::term::RowTerms;
use crate::terms::usage::TextNesting;
use crate::text::TextLimits;

use engine::ExpansionFlavour;

pub use host::Macros;
pub use host::OutletHost;
pub use table::MacroTable;

/// The keys of rows about macros.
pub(crate) const ROWS: &[RowTerms] = &[
    ("macro", &[rows::RESULT, rows::MACRO]),
    ("macro_pass", &[rows::RESULT, rows::MACRO_PASS]),
    ("macro_block", &[blocks::MACRO_BLOCK]),
    ("macro_operator", &[blocks::MACRO_OPERATOR]),
    ("rewrite", &[rewrites::REWRITE]),
];

impl Macros<'_> {
    /// Expands the text.
    #[must_use]
    pub fn run(&self) -> Arc<str> {
        let inside = match self.st.usage.begin_text(self.given.len()) {
            TextNesting::Refused(first) => return self.stays(first),
            begun => begun == TextNesting::Inside,
        };
        let limits = TextLimits::MACROS.with_output(self.st.rules.limits.text_bytes);
        let of_scene = if self.flavour.is_none() { self.st.lookup(&self.table.engine.flavour_path, None) } else { Value::Null };
        let flavour = self.flavour.or(of_scene.as_str()).and_then(ExpansionFlavour::named);
        let outside = self.begin_stores();
        let done = match flavour.unwrap_or(self.table.engine.flavour) {
            ExpansionFlavour::Passes => host::run_passes(self, limits, inside),
            ExpansionFlavour::Nested => expand(&self.given, self, &limits),
            ExpansionFlavour::Stack => stack::run(self, limits),
        };
        self.end_stores(outside, inside);
        // of an inner text that is left as it is, one warning is enough
        if !(inside && self.st.usage.has_refused()) {
            for warning in done.warnings {
                self.st.warn(Code::MacroFailed, warning);
            }
        }
        match self.st.usage.end_text(done.text.len()) {
            Ok(()) => done.text,
            Err(first) => self.stays(first),
        }
    }

    /// The text as it was given, because a bound of texts inside texts has been reached. That is told once for the
    /// outermost text.
    fn stays(&self, first: bool) -> Arc<str> {
        if first {
            self.tell_bound();
        }
        self.given.clone()
    }

    /// Whether the macros of this text stay as they are written, because a bound of texts inside texts has been reached;
    /// that is told, too.
    fn is_spent(&self) -> bool {
        let spent = self.st.usage.is_spent();
        if spent && self.st.usage.refuse() {
            self.tell_bound();
        }
        spent
    }

    fn tell_bound(&self) {
        let why = format!(
            "texts are expanded inside texts too deeply or too often, or give too much; macros of the inner texts stay as written, from \
             `{}` on",
            short::word(&self.given)
        );
        let help = "let texts and macros refer to fewer others, or to shorter ones (docs/reference/limits.md)";
        self.st.warn_with(Code::MacroFailed, why, Some(help.into()), None);
    }
}
