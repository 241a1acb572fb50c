//! Why a script does not compile or stopped, with the file and the line, also of a script that it imports.

use std::sync::Arc;

use rhai::{Array, Dynamic, EvalAltResult, Map, Position};

use super::fuel::{self, LazyMap};
use super::values::from_dynamic;
use crate::diag::short;

/// Why a script does not compile or stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(.file, *.line, *.column))]
pub struct ScriptError {
    /// What is wrong.
    pub message: String,
    /// The file; empty if the script is in none.
    pub file: Arc<str>,
    /// Line, from 1; 0 where none is known.
    pub line: usize,
    /// Column in characters, from 1; 0 where none is known.
    pub column: usize,
}

/// A place in a file with scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPlace {
    /// The file, as messages name it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

fn place(file: &str, line: usize, column: usize) -> String {
    match (file, line) {
        ("", 0) => String::new(),
        ("", _) => format!(" (line {line}, column {column})"),
        (_, 0) => format!(" ({file})"),
        _ => format!(" ({file}, line {line}, column {column})"),
    }
}

impl ScriptError {
    pub(super) fn new(message: impl Into<String>, at: Position) -> Self {
        Self { message: message.into(), file: "".into(), line: at.line().unwrap_or(0), column: at.position().unwrap_or(0) }
    }

    /// The same error in a file, if none is known.
    pub(super) fn within(self, file: &Arc<str>) -> Self {
        if self.file.is_empty() { Self { file: file.clone(), ..self } } else { self }
    }

    /// Where it is, if the file and the line are known.
    #[must_use]
    pub fn place(&self) -> Option<ScriptPlace> {
        let known = !self.file.is_empty() && self.line > 0;
        known.then(|| ScriptPlace { file: self.file.clone(), line: self.line, column: self.column.max(1) })
    }

    /// The same error of an expression that stands at this place of a file.
    pub(super) fn from(self, origin: Option<&ScriptPlace>) -> Self {
        let Some(origin) = origin.filter(|_| self.file.is_empty()) else { return self };
        let (line, column) = (self.line.max(1), self.column.max(1));
        let column = if line == 1 { origin.column + column - 1 } else { column };
        Self { file: origin.file.clone(), line: origin.line + line - 1, column, ..self }
    }

    /// What the interpreter says about a run of the script in `file`.
    pub(super) fn ran(error: EvalAltResult, file: &Arc<str>) -> Self {
        let (mut inner, at, file) = innermost(error, file);
        inner.clear_position();
        let message = match inner {
            EvalAltResult::ErrorRuntime(value, _) => thrown(value),
            EvalAltResult::ErrorTerminated(..) => fuel::stopped(),
            EvalAltResult::ErrorDataRace(..) => "a variable is used while it is being changed".into(),
            EvalAltResult::ErrorStackOverflow(_) => "functions call each other too deeply".into(),
            other => other.to_string(),
        };
        Self { file, ..Self::new(message, at) }
    }
}

/// A value that a script throws, as text. Tables and lists are written as JSON, as far as the script may read them.
fn thrown(value: Dynamic) -> String {
    if !(value.is::<LazyMap>() || value.is::<Map>() || value.is::<Array>()) {
        return value.to_string();
    }
    let text = from_dynamic(value, 0, false).and_then(|value| match fuel::reading(&value) {
        Ok(()) => Ok(value.to_text().to_string()),
        Err(_) => Err(crate::text::work::excess_message()),
    });
    short::cut(text.unwrap_or_else(|message| message))
}

/// The innermost error, its place, and the file of that place.
fn innermost(mut error: EvalAltResult, file: &Arc<str>) -> (EvalAltResult, Position, Arc<str>) {
    let mut here = file.clone();
    let (mut at, mut found) = (Position::NONE, file.clone());
    loop {
        if !error.position().is_none() {
            (at, found) = (error.position(), here.clone());
        }
        error = match error {
            // the source is the file of the function that was called
            EvalAltResult::ErrorInFunctionCall(_, source, inner, _) => {
                if !source.is_empty() {
                    here = source.into();
                }
                *inner
            }
            EvalAltResult::ErrorInModule(_, inner, _) => *inner,
            other => return (other, at, found),
        };
    }
}
