//! Rewriting of whole texts: the rows of table `rewrite`, before macros are read and after all are evaluated.

use aho_corasick::AhoCorasick;

use crate::diag::Code;
use crate::model::{Term, Value};
use crate::text::keys::finder;
use crate::text::pattern::Pattern;
use crate::text::written::ToText as _;

use super::rows::RowMistake;

/// Cells of `rewrite`.
pub(super) const REWRITE: &[Term] = &[
    Term::text("find", "what is searched for: a text, or `/pattern/flags`"),
    Term::text("with", "the replacement; `$1` is the first group of the pattern (a text that begins with `$` is written with `$$`)"),
    Term::text("needs", "a text that every match contains, in upper or lower case: the pattern is tried only if the text contains it")
        .default("`find`"),
    Term::word("when", &["before", "after"], "before macros are read (default), or after they are expanded"),
];

/// A rewriting of whole texts.
pub(super) struct RewriteRule {
    find: Pattern,
    with: Value,
    /// The text must hold this, in any letter case, for the pattern to be tried.
    needs: AhoCorasick,
}

impl RewriteRule {
    fn apply(&self, text: &str) -> Option<String> {
        if !self.needs.is_match(text) {
            return None;
        }
        let with = self.with.shown();
        let put = |hit: &crate::text::pattern::Captures, out: &mut String| {
            let mut rest = with.as_ref();
            while let Some((before, after)) = rest.split_once('$') {
                out.push_str(before);
                let group = after.chars().next().and_then(|c| c.to_digit(10)).filter(|n| *n > 0);
                match group {
                    Some(n) => {
                        let group = hit.groups.get(n as usize - 1).copied().flatten();
                        out.push_str(group.map_or("", |m| m.of(text)));
                        rest = after.get(1..).unwrap_or_default();
                    }
                    None => {
                        out.push('$');
                        rest = after;
                    }
                }
            }
            out.push_str(rest);
        };
        self.find.replace(text, None, put).ok().flatten()
    }
}

/// Rewritings, in their order.
#[derive(Default)]
pub(super) struct RewriteRules {
    list: Vec<RewriteRule>,
    needs: Vec<String>,
    /// Finds whether a text contains what any of them needs, which is rare.
    any: Option<AhoCorasick>,
}

impl RewriteRules {
    /// Adds a rewriting, and what it needs.
    pub(super) fn add(&mut self, rewrite: RewriteRule, needs: String) {
        self.list.push(rewrite);
        self.needs.push(needs);
    }

    /// To be called when all have been added.
    pub(super) fn ready(&mut self) {
        self.any = finder(&self.needs, true).ok();
    }

    /// The text with all of them applied; nothing if none applies.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        if self.any.as_ref().is_some_and(|any| !any.is_match(text)) {
            return None;
        }
        let mut done: Option<String> = None;
        for rewrite in &self.list {
            if let Some(next) = rewrite.apply(done.as_deref().unwrap_or(text)) {
                done = Some(next);
            }
        }
        done
    }
}

/// A row of table `rewrite`, and the text that every match holds.
pub(super) fn rewrite(cells: &Value, tested: bool) -> Result<(RewriteRule, String), RowMistake> {
    let find = cells.get("find").map(Value::shown).unwrap_or_default();
    let pattern = Pattern::of_rules(&find, tested).map_err(|e| RowMistake {
        cell: "find",
        code: Code::SchemaValue,
        message: format!("the pattern cannot be used: {}", e.reason),
        help: Some("see docs/reference/language/conditions.md for the patterns that there are".into()),
    })?;
    let needs = cells.get("needs").map_or_else(|| find.clone(), Value::shown);
    if needs.is_empty() {
        let message = "a rewriting needs a text to look for".to_owned();
        return Err(RowMistake {
            cell: "needs",
            code: Code::TermMissing,
            message,
            help: Some("add `needs = …`: what every match holds".into()),
        });
    }
    let needs = needs.to_string();
    let found = finder(std::slice::from_ref(&needs), true).map_err(|e| RowMistake {
        cell: "needs",
        code: Code::SchemaValue,
        message: format!("the text cannot be looked for: {e}"),
        help: Some("write a shorter text that every match holds".into()),
    })?;
    Ok((RewriteRule { find: pattern, with: cells.get("with").cloned().unwrap_or_default(), needs: found }, needs))
}
