//! Macros: `{{name::argument}}` in prompts, expanded in one walk from left to right, arguments first.
//!
//! The engine knows no macro. A text is read once into a tree (`parse`); a [`MacroHost`] declares the names and their
//! arguments, and evaluates each macro in the order of the text ([`walk`]). The result of a macro is inserted and not
//! expanded again. A text without macros is returned unchanged, at the cost of a scan.

pub mod parser;
pub mod passes;
pub mod stack;
pub mod walk;

use std::cell::Ref;
use std::sync::Arc;

use crate::text::TextLimits;

pub use crate::text::macro_syntax::MacroSyntax;
pub use parser::{ArgumentShape, KnownMacro, MacroGrammar, MacroTree};
pub use walk::{MacroCall, MacroWalk, TextBranch};

/// A place in the text that is expanded, in bytes.
pub type TextOffset = usize;

/// The answer of a host.
#[derive(Debug, Clone, PartialEq)]
pub enum MacroResult {
    /// The text that replaces the macro.
    Text(Arc<str>),
    /// There is no such macro with these arguments: it stays as written, but macros inside it stay expanded.
    Unknown,
    /// It stays as written, and this is the warning.
    Failed(String),
}

/// Declares and evaluates the macros.
pub trait MacroHost: MacroGrammar {
    /// Evaluates one macro.
    fn call(&self, called: &MacroCall<'_>) -> MacroResult;

    /// What a macro gives that is called without arguments, if that is known and no trace records the call; the walk then does
    /// not [`call`](Self::call) it.
    fn known_text(&self, _id: u32) -> Option<Ref<'_, Arc<str>>> {
        None
    }

    /// What becomes of a macro that is called with a number of arguments that it does not take.
    fn misfit(&self, _found: KnownMacro, _name: &str, _args: &[Arc<str>], _at: TextOffset) -> MacroResult {
        MacroResult::Unknown
    }

    /// Rewrites a text before it is parsed; `None` if nothing changes.
    fn before(&self, _text: &str) -> Option<String> {
        None
    }

    /// The text that a macro has given as the value of the whole text, which ends there.
    fn ended(&self) -> Option<Arc<str>> {
        None
    }

    /// Rewrites a text whose macros have been expanded; `None` if nothing changes.
    fn after(&self, _text: &str) -> Option<String> {
        None
    }

    /// Parses a text. A host may cache the result.
    fn reading(&self, text: &Arc<str>, limits: &TextLimits) -> Arc<ParsedText>
    where
        Self: Sized,
    {
        let marked: Option<Arc<str>> = self.before(text).map(Arc::from);
        let tree = MacroTree::parse(marked.as_ref().unwrap_or(text), self, limits);
        Arc::new(ParsedText { marked, tree })
    }
}

/// A parsed text.
#[derive(Debug)]
pub struct ParsedText {
    /// The text after the rewriting before parsing; `None` if that changed nothing.
    pub marked: Option<Arc<str>>,
    /// The tree of the rewritten text.
    pub tree: MacroTree,
}

/// An expanded text.
#[derive(Debug, Clone)]
pub struct ExpandedText {
    /// The text; the very same `Arc` if nothing changed.
    pub text: Arc<str>,
    /// The warnings, one sentence each. A text that exceeds a limit is left unchanged.
    pub warnings: Vec<String>,
}

/// Expands all macros of a text.
pub fn expand<H: MacroHost>(text: &Arc<str>, host: &H, limits: &TextLimits) -> ExpandedText {
    let mut warnings = Vec::new();
    let done = work(text, host, limits, &mut warnings).filter(|done| **done != **text);
    ExpandedText { text: done.map_or_else(|| text.clone(), Arc::from), warnings }
}

/// The expanded text; `None` if it stays unchanged.
fn work<H: MacroHost>(text: &Arc<str>, host: &H, limits: &TextLimits, warnings: &mut Vec<String>) -> Option<String> {
    // most texts are not worth caching
    if !has_braces(text) && host.before(text).is_none() {
        return host.after(text);
    }
    let reading = host.reading(text, limits);
    let source = reading.marked.as_ref().unwrap_or(text);
    if reading.tree.too_deep {
        warnings.push(format!("macros nested deeper than {} are left as text", limits.depth));
    }
    let done = if let Some(refused) = reading.tree.tally.told(limits) {
        warnings.push(refused);
        None
    } else {
        let walk = MacroWalk::new(host, *limits);
        let done = walk.whole(source, &reading.tree);
        warnings.append(&mut walk.warnings.take());
        done
    };
    let done = host.ended().map(|whole| whole.to_string()).or(done)?;
    Some(host.after(&done).unwrap_or(done))
}

/// Whether a text may hold a macro.
fn has_braces(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"{{").is_some()
}
