//! Macros: `{{name::argument}}` in prompts, expanded in one walk from left to right, arguments first.
//!
//! The engine knows no macro. A [`MacroHost`] is asked for each one, in the order of the text, and answers with a
//! text, with "unknown" (the macro stays as written, with what was expanded inside it) or with a failure. What a
//! macro gives is inserted and not read again. A text without macros is handed back as it came, at the cost of a scan.

mod scan;

use std::hash::BuildHasher;
use std::sync::Arc;

/// A place in the text that is expanded, in bytes.
pub type Offset = usize;

/// What a host answers.
#[derive(Debug, Clone, PartialEq)]
pub enum MacroResult {
    /// The text in its place.
    Text(Arc<str>),
    /// No such macro, or not with these arguments: it stays as written.
    Unknown,
    /// It stays as written, and this is the warning.
    Failed(String),
    /// Nothing in its place, and the line ends next to it go too. Inside an argument it stays as written.
    EatNewlines,
}

/// A marker of an older syntax and the macro that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyMarker {
    /// What is looked for, in ASCII and any letter case: `<USER>`.
    pub find: Arc<str>,
    /// What is put there before macros are expanded: `{{user}}`.
    pub with: Arc<str>,
}

/// Who knows the macros.
pub trait MacroHost {
    /// Evaluates one macro. `name` is in lower case (`//` for a comment), `args` are expanded and trimmed, `at` is where
    /// its `{{` stands in the text (after legacy markers were replaced).
    fn call(&mut self, name: &str, args: &[Arc<str>], at: Offset) -> MacroResult;

    /// Markers to be replaced beforehand, in this order of precedence.
    fn legacy_markers(&self) -> &[LegacyMarker] {
        &[]
    }

    /// Whether `\{` and `\}` lose their backslash in the end, also those that came out of macros.
    fn unescapes(&self) -> bool {
        false
    }
}

/// How far an expansion may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacroLimits {
    /// Nesting; deeper macros stay as text.
    pub depth: usize,
    /// Macros of one text.
    pub steps: usize,
    /// Bytes that macros may add.
    pub output: usize,
}

impl Default for MacroLimits {
    fn default() -> Self {
        Self { depth: 64, steps: 100_000, output: 8 << 20 }
    }
}

/// An expanded text.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// The text; the very same `Arc` if nothing changed.
    pub text: Arc<str>,
    /// Whether it differs from what was given.
    pub changed: bool,
    /// What went wrong, one sentence each. A text beyond a limit is left as it was.
    pub warnings: Vec<String>,
}

/// Expands all macros of a text.
pub fn expand(text: &Arc<str>, host: &mut dyn MacroHost, limits: &MacroLimits) -> Expanded {
    let mut warnings = Vec::new();
    let done = work(text, host, limits, &mut warnings).filter(|done| **done != **text);
    let changed = done.is_some();
    Expanded { text: done.map_or_else(|| text.clone(), Arc::from), changed, warnings }
}

/// The expanded text, or nothing if it is to stay as it is.
fn work(text: &str, host: &mut dyn MacroHost, limits: &MacroLimits, warnings: &mut Vec<String>) -> Option<String> {
    let marked = scan::replace_markers(text, host.legacy_markers());
    let source = marked.as_deref().unwrap_or(text);
    let unescapes = host.unescapes() && source.contains('\\');
    if !source.contains("{{") {
        let mut plain = scan::Walked { text: marked.or_else(|| unescapes.then(|| text.to_owned()))?, eaters: Vec::new() };
        if unescapes {
            scan::unescape(&mut plain);
        }
        return Some(plain.text);
    }
    let unescapes = host.unescapes();
    let pairs = scan::pairs(source, limits.depth, warnings);
    if pairs.len() > limits.steps {
        warnings.push(format!("the text holds more than {} macros and is left as it was", limits.steps));
        return None;
    }
    let Ok(mut walked) = scan::Walk::new(source, &pairs, host, limits.output, warnings).run() else {
        warnings.push(format!("macros would add more than {} bytes; the text is left as it was", limits.output));
        return None;
    };
    if unescapes {
        scan::unescape(&mut walked);
    }
    Some(scan::eat_newlines(walked))
}

/// Whether a text can hold neither a macro nor a marker of an older syntax.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !text.contains("{{") && !text.contains('<')
}

/// Whether a text may call one of the macros `names` (in lower case), judged by a scan. A variable shorthand such
/// as `{{.name = 1}}` counts as the macro `.`, `{{$name}}` as `$`. May say yes for a macro that is never reached.
#[must_use]
pub fn may_have_effects<S: BuildHasher>(text: &str, names: &std::collections::HashSet<Arc<str>, S>) -> bool {
    // most messages hold no brace at all, and a long chat has many
    text.contains('{')
        && text.match_indices("{{").any(|(at, _)| {
            let inside =
                text.get(at + 2..).unwrap_or_default().trim_start_matches(|c: char| c == '{' || scan::is_flag(c) || c.is_whitespace());
            let name = match inside.chars().next() {
                Some('.') => ".".to_owned(),
                Some('$') => "$".to_owned(),
                _ => scan::name_of(inside).to_ascii_lowercase(),
            };
            !name.is_empty() && names.contains(name.as_str())
        })
}
