//! What is typed: an editor with a history of lines if a person types, and plain lines otherwise.

use std::io::IsTerminal;
use std::path::Path;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::diag::Code;
use crate::inputs::lines::LineReader;
use crate::output::OutputStreams;
use crate::stop::EarlyExit;

use super::interrupts::InterruptListener;

/// What Ctrl-C is answered with while nothing can be interrupted.
const HOW_TO_END: &str = "(`/quit` or Ctrl-D ends the chat)\n";

/// Where lines come from.
pub(super) enum LineSource {
    /// A person at a terminal.
    Terminal(Box<DefaultEditor>),
    /// A file or another program.
    Piped(LineReader),
}

impl LineSource {
    pub(super) fn open(show: &mut OutputStreams<'_, '_>) -> Result<Self, EarlyExit> {
        // tests bring streams of their own, and say that nobody sits there
        if show.io.terminal && std::io::stdin().is_terminal() && !show.is_json() {
            let editor = DefaultEditor::new().map_err(|error| {
                EarlyExit::could_not(Code::FileMissing, format!("the terminal cannot be read: {error}"), "send one message with `--once`")
            })?;
            return Ok(Self::Terminal(Box::new(editor)));
        }
        Ok(Self::Piped(LineReader::open(Path::new("-"), show)?))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The next line that is not blank; `None` at the end.
    pub(super) fn next(&mut self, interrupts: &InterruptListener, show: &mut OutputStreams<'_, '_>) -> Result<Option<String>, EarlyExit> {
        let editor = match self {
            Self::Piped(lines) => return Ok(lines.next(show)?.map(|line| line.trim_end_matches(['\n', '\r']).to_owned())),
            Self::Terminal(editor) => editor,
        };
        loop {
            if interrupts.between() {
                show.result(HOW_TO_END);
            }
            show.flush();
            match editor.readline("> ") {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // the history of lines is a convenience
                    let _ = editor.add_history_entry(&line);
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => show.result(HOW_TO_END),
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => {
                    let message = format!("the terminal cannot be read: {error}");
                    return Err(EarlyExit::could_not(Code::FileMissing, message, "send one message with `--once`"));
                }
            }
        }
    }
}
