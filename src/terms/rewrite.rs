//! Rewriting scripts: rows of data (a pattern and its replacement) that are applied to a text one after another.
//!
//! The numbers in a replacement refer to the arguments that JavaScript passes to a replacement function: the match,
//! its groups, its offset, the whole text. The pack decides which scripts run and how macros in them are read: a
//! query chooses the rows and may change them, and `then` lists steps that are applied to the text inserted for each
//! match.

use std::sync::Arc;

use crate::diag::Code;
use crate::model::Value;
use crate::text::pattern::{Captures, Pattern, SearchedText};
use crate::text::surrogates;

use super::steps::{self, TextStep};
use super::{Env, EvalFault, Expr};

/// The step `scripts`.
#[derive(Debug, Clone)]
pub struct ScriptsStep {
    /// The scripts: rows with `find` and `with`.
    pub rows: Expr,
    /// Steps that are applied to the text inserted for each match.
    pub then: Vec<TextStep>,
}

impl ScriptsStep {
    /// Whether the rows or a step depend on the item `depth` levels up.
    pub(super) fn refers(&self, depth: u8) -> bool {
        self.rows.refers(depth) || self.then.iter().any(|step| step.refers(depth))
    }

    /// Whether the inserted text is read for macros.
    pub(super) fn expands_macros(&self) -> bool {
        self.then.iter().any(TextStep::expands_macros)
    }

    /// The text after all scripts. A script that cannot be used raises a warning and leaves the text unchanged.
    pub(super) fn rewrite(&self, mut text: Arc<str>, env: &Env<'_>) -> Result<Arc<str>, EvalFault> {
        let rows = env.eval(&self.rows)?;
        for row in rows.elements().iter().filter(|row| !row.is_empty()) {
            let script = RewriteScript::read(row);
            let new = self.replace(&script, &text, env)?;
            if *new != *text {
                env.st.rewritten(&script.name, &text, &new);
            }
            text = new;
        }
        Ok(text)
    }

    fn replace(&self, script: &RewriteScript, text: &Arc<str>, env: &Env<'_>) -> Result<Arc<str>, EvalFault> {
        let pattern = match script.pattern(env) {
            Ok(pattern) => pattern,
            Err(reason) => {
                env.st.warn_once(Code::RegexBad, format!("script `{}` is passed over: {reason}", script.name));
                return Ok(text.clone());
            }
        };
        let mut fault = None;
        let names = pattern.names();
        let done = pattern.rewrite(text, None, |searched, found, out| {
            let filled = script.filled(&ScriptMatch { searched, found, names });
            if self.then.is_empty() {
                return out.push_str(&filled);
            }
            match steps::text_through(&self.then, filled.into(), env) {
                Ok(text) => out.push_str(&text),
                Err(f) => fault = Some(f),
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        match done {
            Ok(new) => Ok(new.map_or_else(|| text.clone(), Arc::from)),
            Err(bound) => {
                env.st.warn_once(Code::RegexUnsafe, format!("script `{}`: {bound}", script.name));
                Ok(text.clone())
            }
        }
    }
}

/// One script, read from its row.
struct RewriteScript {
    name: Arc<str>,
    find: Arc<str>,
    /// `find` is a bare pattern with these flags; otherwise it may be `/pattern/flags`.
    flags: Option<Arc<str>>,
    with: Arc<str>,
    /// Texts that are removed from each captured text.
    trim: Vec<Arc<str>>,
}

impl RewriteScript {
    fn read(row: &Value) -> Self {
        let field = |key: &str| row.get(key).map(Value::to_text).unwrap_or_default();
        let flags = row.get("flags").filter(|f| !f.is_null()).map(Value::to_text);
        let trim = row.get("trim").and_then(Value::as_list).unwrap_or(&[]);
        let trim = trim.iter().map(Value::to_text).filter(|t| !t.is_empty()).collect();
        Self { name: field("name"), find: field("find"), flags, with: field("with"), trim }
    }

    fn pattern(&self, env: &Env<'_>) -> Result<Pattern, String> {
        env.st.pattern(&self.find, self.flags.as_deref()).map_err(|e| e.reason)
    }

    /// The replacement for a match, with `$1`, `$<name>` and `{{match}}` filled in.
    fn filled(&self, found: &ScriptMatch<'_>) -> String {
        let mut out = String::with_capacity(self.with.len());
        let mut rest: &str = &self.with;
        while let Some((at, mark)) = next_mark(rest) {
            out.push_str(rest.get(..at).unwrap_or_default());
            match mark {
                ReplacementMark::Number(digits) => out.push_str(&self.trimmed(found, &found.numbered(digits))),
                ReplacementMark::Name(name) => out.push_str(&self.trimmed(found, &found.named(name))),
                ReplacementMark::Whole => out.push_str(&self.trimmed(found, &found.numbered("0"))),
            }
            rest = rest.get(at + mark.len()..).unwrap_or_default();
        }
        out.push_str(rest);
        out
    }

    /// A captured text without what the script removes from it. The text can be one of halves.
    fn trimmed(&self, found: &ScriptMatch<'_>, text: &str) -> String {
        let text = if found.searched.apart { surrogates::joined(text) } else { text.into() }.into_owned();
        self.trim.iter().fold(text, |text, piece| if text.contains(piece.as_ref()) { text.replace(piece.as_ref(), "") } else { text })
    }
}

/// A part of a replacement that is filled in from the match.
enum ReplacementMark<'t> {
    /// `$` and all following digits.
    Number(&'t str),
    /// `$<name>`.
    Name(&'t str),
    /// `{{match}}`, in any letter case.
    Whole,
}

const WHOLE: &str = "{{match}}";

impl ReplacementMark<'_> {
    fn len(&self) -> usize {
        match self {
            ReplacementMark::Number(digits) => 1 + digits.len(),
            ReplacementMark::Name(name) => 3 + name.len(),
            ReplacementMark::Whole => WHOLE.len(),
        }
    }
}

/// The first such part in a text, and its position.
fn next_mark(text: &str) -> Option<(usize, ReplacementMark<'_>)> {
    text.char_indices().filter(|(_, c)| matches!(c, '$' | '{')).find_map(|(at, _)| Some((at, mark(text.get(at..)?)?)))
}

fn mark(text: &str) -> Option<ReplacementMark<'_>> {
    if text.get(..WHOLE.len()).is_some_and(|t| t.eq_ignore_ascii_case(WHOLE)) {
        return Some(ReplacementMark::Whole);
    }
    let rest = text.strip_prefix('$')?;
    if let Some((name, _)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
        return (!name.is_empty()).then_some(ReplacementMark::Name(name));
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (digits > 0).then(|| ReplacementMark::Number(rest.get(..digits).unwrap_or_default()))
}

/// A match, as JavaScript passes it to a replacement function.
struct ScriptMatch<'t> {
    searched: &'t SearchedText<'t>,
    found: &'t Captures,
    names: &'t [Option<Arc<str>>],
}

impl ScriptMatch<'_> {
    /// The argument of that number: the match, a group, then the offset (nothing if it is 0), then the text.
    fn numbered(&self, digits: &str) -> String {
        let groups = self.found.groups.len();
        match digits.parse::<usize>() {
            Ok(0) => self.found.whole.of(self.searched.text).to_owned(),
            Ok(n) if n <= groups => self.group(n - 1),
            Ok(n) if n == groups + 1 => {
                match self.searched.text.get(..self.found.whole.start).map_or(0, |before| before.encode_utf16().count()) {
                    0 => String::new(),
                    offset => offset.to_string(),
                }
            }
            Ok(n) if n == groups + 2 => self.searched.text.to_owned(),
            _ => String::new(),
        }
    }

    fn named(&self, name: &str) -> String {
        let place = self.names.iter().position(|n| n.as_deref() == Some(name));
        place.map(|n| self.group(n)).unwrap_or_default()
    }

    fn group(&self, n: usize) -> String {
        self.found.groups.get(n).and_then(|g| *g).map_or_else(String::new, |m| m.of(self.searched.text).to_owned())
    }
}
