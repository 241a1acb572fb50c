//! Complaints whose codes come from a pack: what a build warns of or refuses.

use serde_json::{Value as Json, json};

use crate::diag::Span;
use crate::engine::BuildError;
use crate::model::plan::Warning;
use crate::pack::Ruleset;

use super::layout::one_line;

/// A complaint whose code comes from a pack: what a build warns of or refuses.
#[derive(Debug)]
pub(super) struct Note {
    /// `error`, `warning`, `note`.
    word: &'static str,
    code: String,
    pub(super) message: String,
    place: Option<String>,
    rule: Option<String>,
    help: Option<String>,
    more: Json,
}

impl Note {
    pub(super) fn of_build(error: &BuildError, rules: Option<&Ruleset>) -> Self {
        let place = rules.and_then(|r| place_of(r, error.stage.as_deref()?));
        let help = error.estimated_tokens.map(|n| {
            let window = error.max_tokens.unwrap_or_default();
            let reserve = error.reserve_tokens.unwrap_or_default();
            format!("{n} tokens must be sent, {window} fit, {reserve} of them are kept for the answer")
        });
        Self {
            word: "error",
            code: error.kind().to_owned(),
            message: error.message.clone(),
            place,
            rule: error.stage.as_ref().map(|s| format!("stage `{s}`")),
            help,
            more: error.to_json(),
        }
    }

    pub(super) fn of_warning(warning: &Warning, rules: &Ruleset) -> Self {
        Self {
            word: "warning",
            code: warning.code.clone(),
            message: warning.message.clone(),
            place: place_of(rules, &warning.pass),
            rule: (!warning.pass.is_empty()).then(|| rule_of(warning, rules)),
            help: warning.help.clone().or_else(|| remedy(&warning.code).map(str::to_owned)),
            more: Json::Null,
        }
    }

    /// Something worth knowing that nothing is wrong with.
    pub(super) fn told(code: &str, message: String) -> Self {
        Self { word: "note", code: code.to_owned(), message, place: None, rule: None, help: None, more: Json::Null }
    }

    pub(super) fn text(&self, human: bool, paint: bool) -> String {
        let head = format!("{}[{}]", self.word, self.code);
        let message = one_line(&self.message);
        if !human {
            let place = self.place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
            return format!("{place}{head}: {message}\n");
        }
        let color = |code: &str, text: &str| if paint { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() };
        let head = color(if self.word == "error" { "1;31" } else { "1;33" }, &head);
        let mut out = format!("{head}{}\n", color("1", &format!(": {message}")));
        if let Some(place) = &self.place {
            out.push_str(&format!(" {} {place}\n", color("1;34", "┌─")));
        }
        for (name, text) in [("rule", &self.rule), ("help", &self.help)] {
            if let Some(text) = text {
                out.push_str(&format!(" {} {}\n", color("1;34", &format!("= {name}:")), one_line(text)));
            }
        }
        out
    }

    pub(super) fn json(&self) -> Json {
        let mut out = json!({
            "severity": self.word, "code": self.code, "message": self.message,
            "place": self.place, "rule": self.rule, "help": self.help,
        });
        if let (Json::Object(out), Json::Object(more)) = (&mut out, &self.more) {
            for (key, value) in more {
                out.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        out
    }
}

/// What to do about a warning that is about what a file brought.
fn remedy(code: &str) -> Option<&'static str> {
    match code {
        "regex.bad" => Some("correct the pattern in the file that brought it"),
        "regex.unsafe" => Some("write the pattern without repeats inside repeats, or as plain words"),
        "template.data" => Some("correct the data, or the row of the source"),
        _ => None,
    }
}

/// The pass that warned, and the row that it went by.
fn rule_of(warning: &Warning, rules: &Ruleset) -> String {
    let pass = format!("pass `{}`", warning.pass);
    let Some((table, name)) = warning.row.as_deref().and_then(|row| row.split_once('/')) else { return pass };
    let row = rules.pack().tables.get(table).and_then(|rows| rows.get(name));
    let place = row.and_then(|row| rules.pack().sources.place(*row.patched.last().unwrap_or(&row.span)));
    let place = place.map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
    format!("{pass}, by {table} `{name}`{place}")
}

/// `file:line` of a pass; nothing for a pass that the pack does not have.
pub(super) fn place_of(rules: &Ruleset, pass: &str) -> Option<String> {
    let place = rules.pack().sources.place(pass_span(rules, pass)?)?;
    Some(format!("{}:{}", place.file, place.line))
}

/// The span of a pass in the compiled pack, by its name or by the name of a stage of `build`.
pub(super) fn pass_span(rules: &Ruleset, name: &str) -> Option<Span> {
    let mut passes = rules.programs().list.iter().flat_map(|p| &p.passes);
    let stage = format!("build/{name}");
    passes.find(|p| p.id.as_ref() == name || p.id.as_ref() == stage).map(|p| p.span)
}
