//! Warnings of a run with their places: the pass that raised each, and the row of a table that it follows from.

use rustc_hash::FxHashMap;

use crate::diag::{Code, Diagnostic, DiagnosticCode, Span};
use crate::pack::Ruleset;
use crate::terms::BuildState;

/// The warnings of a run, in order, with their places.
pub(crate) fn placed(rules: &Ruleset, st: &BuildState) -> Vec<Diagnostic> {
    let mut warnings = st.warnings.borrow().clone();
    place(rules, &mut warnings);
    warnings
}

/// Adds to each warning the span of the script or else of the pass that raised it, the rule in words, and what to do where
/// the engine knows it.
/// Warnings that a rule file allows are taken out.
pub(crate) fn place(rules: &Ruleset, warnings: &mut Vec<Diagnostic>) {
    // a build can warn once per message, of a few passes
    let mut spans: FxHashMap<String, Option<Span>> = FxHashMap::default();
    for warning in warnings.iter_mut().filter(|w| w.span.is_none()) {
        if !warning.pass.is_empty() {
            let span = spans.entry(warning.pass.clone()).or_insert_with(|| rules.span_of_pass(&warning.pass));
            warning.span = *span;
            warning.rule = Some(crate::diag::short::cut(rule(rules, warning)));
        }
        let script = warning.script.as_ref();
        if let Some(span) = script.and_then(|(file, line, column)| rules.sources().span_at(file, *line, *column)) {
            warning.move_into_script(span);
        }
        if warning.help.is_none() {
            warning.help = remedy(&warning.code).map(str::to_owned);
        }
    }
    warnings.retain(|warning| !rules.allows(warning));
}

/// The pass that warned, and the row that it follows from, with the row's file and line.
fn rule(rules: &Ruleset, warning: &Diagnostic) -> String {
    let pass = format!("pass `{}`", warning.pass);
    let Some((table, name)) = warning.row.as_deref().and_then(|row| row.split_once('/')) else { return pass };
    let row = rules.pack().tables.get(table).and_then(|rows| rows.get(name));
    let place = row.and_then(|row| rules.sources().place(*row.patched.last().unwrap_or(&row.span)));
    let place = place.map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
    format!("{pass}, by {table} `{name}`{place}")
}

/// What to do about a warning that is about the content of a file of the caller.
fn remedy(code: &DiagnosticCode) -> Option<&'static str> {
    match code.known()? {
        Code::RegexBad => Some("correct the pattern in the file that it comes from"),
        Code::RegexUnsafe => Some("write the pattern without repeats inside repeats, or as plain words"),
        Code::TemplateData => Some("correct the data, or the row of the source"),
        _ => None,
    }
}
