//! The file of results: one line for each cell, written as soon as the cell is done.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::diag::{Code, Diagnostic};
use crate::inputs::files::{bytes_of, no_link, shown};
use crate::output::OutputStreams;
use crate::run::eval::{CellOutcome, finished};
use crate::stop::EarlyExit;

/// A file of results, open for more; or none.
pub(super) struct ResultsFile {
    /// What it held before.
    pub(super) finished: BTreeMap<String, CellOutcome>,
    file: Mutex<Option<File>>,
    failed: Mutex<Option<std::io::Error>>,
    name: String,
}

impl ResultsFile {
    /// Reads a file of results, and opens it for more.
    pub(super) fn open(path: Option<&Path>, show: &mut OutputStreams<'_, '_>) -> Result<Self, EarlyExit> {
        let mut results = Self { finished: BTreeMap::new(), file: Mutex::default(), failed: Mutex::default(), name: String::new() };
        let Some(path) = path else { return Ok(results) };
        results.name = shown(path);
        no_link(path)?;
        let mut torn = false;
        if path.exists() {
            let text = String::from_utf8_lossy(&bytes_of(path, show)?).into_owned();
            torn = !text.is_empty() && !text.ends_with('\n');
            let (found, broken) = finished(&text);
            results.finished = found;
            if broken > 0 {
                let message = format!("{broken} lines of `{}` are no results and are left out", results.name);
                show.note(Diagnostic::warning(Code::SyntaxJson, message).help("the last line is cut off if an evaluation was killed"));
            }
        }
        let unwritable = |error: std::io::Error| {
            let message = format!("`{}` cannot be written: {error}", results.name);
            EarlyExit::could_not(Code::FileMissing, message, "check the folder and its permissions")
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(unwritable)?;
        if torn {
            file.write_all(b"\n").map_err(unwritable)?;
        }
        results.file = Mutex::new(Some(file));
        Ok(results)
    }

    /// Whether results are written to a file.
    pub(super) fn is_kept(&self) -> bool {
        !self.name.is_empty()
    }

    /// Appends a result. What goes wrong is told at the end.
    pub(super) fn write(&self, outcome: &CellOutcome) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        let mut line = serde_json::to_string(outcome).unwrap_or_default();
        line.push('\n');
        if let Err(error) = open.write_all(line.as_bytes()).and_then(|()| open.flush()) {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            *file = None;
        }
    }

    /// Whether everything could be written.
    pub(super) fn ended(&self) -> Result<(), EarlyExit> {
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => {
                let message = format!("`{}` cannot be written: {error}", self.name);
                Err(EarlyExit::could_not(Code::FileMissing, message, "free some space; what was written before is kept"))
            }
        }
    }
}
