//! Why a build gave no plan: the kind of the error, the stage that it happened in, and the token counts where the
//! prompt did not fit. And the warnings of a run with their places: the pass that raised each, and the row of a table
//! that it follows from.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, Diagnostic, DiagnosticCode, Span};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::terms::ledger::whole_tokens;
use crate::terms::{BuildState, EvalFault, FaultKind};
use crate::text::script::ScriptPlace;
use crate::text::work;
use crate::verbs::ProgramInterrupt;

/// What kind of error a [`BuildError`] is. [`as_str`](Self::as_str) gives the stable word that JSON output uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `max_tokens_exceeded`: the blocks that must be sent cost more tokens than the budget holds.
    MaxTokensExceeded,
    /// `strict_mode`: the scene is strict, and a warning was raised.
    StrictMode,
    /// `pipeline`: a pass, a script, a hook or a function failed.
    Pipeline,
    /// `template`: a text of a template language cannot be read or rendered.
    Template,
    /// `bound.exceeded`: a limit on work, size or depth was reached.
    Bound,
    /// `unknown_dialect`: the pack has no dialect of the requested name.
    UnknownDialect,
    /// `call`: the caller named a program, list, format, task or template that the pack does not have.
    Call,
    /// A `require` pass of the pack failed; the text is the code that its term `error` names, if it is not one of the above.
    Pack(Arc<str>),
}

impl ErrorKind {
    /// The stable word of the kind; for [`ErrorKind::Pack`], the pack's own code.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pack(code) => code,
            known => known.registered().map_or("", Code::as_str),
        }
    }

    /// The kind as the code of a diagnostic.
    #[must_use]
    pub fn code(&self) -> DiagnosticCode {
        match self {
            Self::Pack(code) => DiagnosticCode::Pack(code.clone()),
            known => known.registered().unwrap_or(Code::Pipeline).into(),
        }
    }

    fn registered(&self) -> Option<Code> {
        Some(match self {
            Self::MaxTokensExceeded => Code::MaxTokens,
            Self::StrictMode => Code::StrictMode,
            Self::Pipeline => Code::Pipeline,
            Self::Template => Code::TemplateFailed,
            Self::Bound => Code::BoundExceeded,
            Self::UnknownDialect => Code::DialectUnknown,
            Self::Call => Code::CallUnknown,
            Self::Pack(_) => return None,
        })
    }

    /// The kind of an error whose code a `require` pass names. A pack may name a kind of the engine, such as `call` for a
    /// task that it does not have.
    fn named(code: &str) -> Self {
        let known =
            [Self::MaxTokensExceeded, Self::StrictMode, Self::Pipeline, Self::Template, Self::Bound, Self::UnknownDialect, Self::Call];
        known.into_iter().find(|kind| kind.as_str() == code).unwrap_or_else(|| Self::Pack(code.into()))
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for ErrorKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Why a build, a single program or a payload failed. `Display` gives the stage and the message on one line;
/// [`diagnostic`](Self::diagnostic) adds the file and line of the pass. Source of the fields: `wave4-contracts.md`,
/// Failure mode and Stage naming.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[error("{}{message}", stage.as_ref().map(|s| format!("stage `{s}`: ")).unwrap_or_default())]
#[non_exhaustive]
pub struct BuildError {
    /// The kind of error. Serialised as its word.
    pub kind: ErrorKind,
    /// The name of the stage or pass that failed; `None` where no pass was running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Box<str>>,
    /// What happened, on one line; the middle of an overlong message is left out.
    pub message: String,
    /// The size of the context window in tokens; only if the prompt did not fit and the pack states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How many tokens of the window are reserved for the answer; only if the prompt did not fit and the pack states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// How many tokens the blocks cost that must be sent, rounded up; only if the prompt did not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_tokens: Option<u64>,
    /// Where it happened, as far as that is more than the stage.
    #[serde(skip)]
    at: Option<Box<ErrorLocation>>,
}

/// Where an error happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ErrorLocation {
    /// The pass by its full name.
    pass: Option<String>,
    /// The line of a script.
    script: Option<Arc<ScriptPlace>>,
}

impl BuildError {
    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The pack has no dialect of the requested name.
    pub(crate) fn unknown_dialect(message: impl Into<String>) -> Self {
        Self::plain(ErrorKind::UnknownDialect, None, message)
    }

    /// A limit was reached outside of a pass.
    pub(crate) fn bound(message: impl Into<String>) -> Self {
        Self::plain(ErrorKind::Bound, None, message)
    }

    /// The caller named something that the pack does not have.
    pub(crate) fn call(message: impl Into<String>) -> Self {
        Self::plain(ErrorKind::Call, None, message)
    }

    /// A bound of the work was reached, which some part of the build may have handled.
    pub(crate) fn if_spent(stage: Option<&str>) -> Result<(), Self> {
        work::check().map_err(|exceeded| Self::plain(ErrorKind::Bound, stage, exceeded.to_string()))
    }

    fn plain(kind: ErrorKind, stage: Option<&str>, message: impl Into<String>) -> Self {
        Self {
            kind,
            stage: stage.map(Box::from),
            message: crate::diag::short::cut(message),
            max_tokens: None,
            reserve_tokens: None,
            estimated_tokens: None,
            at: None,
        }
    }

    /// The same error of this pass, given by its full name.
    pub(crate) fn in_pass(mut self, pass: &str) -> Self {
        self.at.get_or_insert_default().pass = Some(pass.to_owned());
        self
    }

    fn in_script(mut self, script: Option<Arc<ScriptPlace>>) -> Self {
        if script.is_some() {
            self.at.get_or_insert_default().script = script;
        }
        self
    }

    /// The first warning, where warnings are errors.
    fn strict(st: &BuildState, stage: Option<&str>) -> Self {
        let warning = st.refused().map(|w| format!("{} ({})", w.message, w.code)).unwrap_or_default();
        Self::plain(ErrorKind::StrictMode, stage, warning)
    }

    /// The error of a fault outside of a pass.
    pub(crate) fn fault(fault: EvalFault) -> Self {
        Self::faulty(fault, None)
    }

    fn faulty(fault: EvalFault, stage: Option<&str>) -> Self {
        // whatever failed last, the work of the build was spent first
        if let Err(spent) = Self::if_spent(stage) {
            return spent;
        }
        let kind = match fault.kind {
            FaultKind::Failed => ErrorKind::Pipeline,
            FaultKind::Template => ErrorKind::Template,
            FaultKind::Bound | FaultKind::TextBound => ErrorKind::Bound,
            FaultKind::Call => ErrorKind::Call,
        };
        Self::plain(kind, stage, fault.message).in_script(fault.place)
    }

    pub(crate) fn of(halt: ProgramInterrupt, stage: Option<&str>, st: &BuildState) -> Self {
        if let Err(spent) = Self::if_spent(stage) {
            return spent;
        }
        match halt {
            ProgramInterrupt::Stop => Self::plain(ErrorKind::Pipeline, stage, "the program stopped itself"),
            ProgramInterrupt::Warned => Self::strict(st, stage),
            ProgramInterrupt::Host(fault) => Self::plain(ErrorKind::Pipeline, stage, fault.message).in_script(fault.place),
            ProgramInterrupt::Fault(fault) => Self::faulty(fault, stage),
            ProgramInterrupt::Refused { code, message, room } => {
                let mut error = Self::plain(ErrorKind::named(&code), stage, message);
                if let Some(room) = room {
                    error.max_tokens = room.window.map(whole_tokens);
                    error.reserve_tokens = room.reserve.map(whole_tokens);
                    error.estimated_tokens = Some(whole_tokens(room.estimated));
                }
                error
            }
        }
    }

    /// The error as a diagnostic, placed at the line of the script or else at the pass that failed: its span points into
    /// [`Ruleset::sources`]. A pass that the pack does not have gives no place. Its JSON also holds the fields of this error.
    #[must_use]
    pub fn diagnostic(&self, rules: &Ruleset) -> Diagnostic {
        let mut out = Diagnostic::error(self.kind.code(), self.message.as_str());
        if let Some(stage) = &self.stage {
            out = out.rule(format!("stage `{stage}`"));
            let pass = self.at.as_ref().and_then(|at| at.pass.as_deref()).unwrap_or(stage);
            out.span = rules.span_of_pass(pass);
        }
        let script = self.at.as_ref().and_then(|at| at.script.as_ref());
        if let Some(span) = script.and_then(|place| rules.sources().span_at(&place.file, place.line, place.column)) {
            out.move_into_script(span);
            out.help = self.missing_operand(rules, span);
        }
        if let Some(estimated) = self.estimated_tokens {
            let window = self.max_tokens.map(|n| format!("; the context window holds {n}")).unwrap_or_default();
            let reserve = self.reserve_tokens.map(|n| format!("; {n} are reserved for the answer")).unwrap_or_default();
            out = out.help(format!("the prompt needs {estimated} tokens{window}{reserve}"));
        }
        if let serde_json::Value::Object(fields) = self.to_json() {
            out.details = fields;
        }
        out
    }

    /// What to do about a function or an operator of a script that is given a value which is not there, `()`.
    fn missing_operand(&self, rules: &Ruleset, span: Span) -> Option<String> {
        let (_, values) = self.message.split_once("Function not found: ")?;
        if !values.contains("()") {
            return None;
        }
        let text = &rules.sources().get(span.source)?.text;
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let before = text.get(..span.start as usize)?.trim_end().trim_end_matches('.');
        let path = before.rsplit(|c| !is_path(c)).next()?;
        let path = path.trim_start_matches('.');
        let path = if path.contains('.') { format!("`{path}`") } else { "a value that it is given".to_owned() };
        Some(format!("{path} is not there, which a script sees as `()`: write `item.text ?? \"\"`, or test `item.text != ()` first"))
    }

    /// The error as a JSON object: `kind`, `message`, and the other fields that are present.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_else(|_| Value::text(self.message.as_str()).to_json())
    }
}

/// The warnings of a run, in order, with their places.
pub(crate) fn placed_warnings(rules: &Ruleset, st: &BuildState) -> Vec<Diagnostic> {
    let mut warnings = st.warnings.raised.borrow().clone();
    place_warnings(rules, &mut warnings);
    warnings
}

/// Adds to each warning the span of the script or else of the pass that raised it, the rule in words, and what to do where
/// the engine knows it.
/// Warnings that a rule file allows are taken out.
pub(crate) fn place_warnings(rules: &Ruleset, warnings: &mut Vec<Diagnostic>) {
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
