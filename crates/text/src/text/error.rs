//! The one error of the text languages: what is wrong with a text, and where in it.

use crate::diag::short;

/// Why a text cannot be read or rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TextError {
    /// Where in the text, in bytes.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in the line, from 1, in characters.
    pub column: usize,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// A limit was reached; the text itself may be sound.
    pub bound: bool,
}

impl TextError {
    /// A mistake at a byte of `text`. An offset beyond its end or inside a character is moved back to a character
    /// boundary.
    #[must_use]
    pub fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let offset = text.floor_char_boundary(offset);
        let before = text.get(..offset).unwrap_or_default();
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { offset, line, column, message: short::cut(message), bound: false }
    }

    /// A limit that is reached at a byte of `text`.
    #[must_use]
    pub fn bound(text: &str, offset: usize, message: impl Into<String>) -> Self {
        Self { bound: true, ..Self::at(text, offset, message) }
    }

    /// Refuses a text of more than `most` bytes before it is parsed; the error is placed at its start.
    ///
    /// # Errors
    /// The text is too long.
    pub fn refuse_long(text: &str, most: usize) -> Result<(), Self> {
        if text.len() > most { Err(Self::bound(text, 0, format!("the text is longer than {most} bytes"))) } else { Ok(()) }
    }

    /// The place and the mistake in one sentence, with what stands there in `text`.
    #[must_use]
    pub fn in_text(&self, text: &str, what: &str) -> String {
        let rest = short::first(text.get(self.offset..).unwrap_or_default().split('\n').next().unwrap_or_default(), 40);
        let here = if rest.is_empty() { "at its end".to_owned() } else { format!("at `{rest}`") };
        let Self { line, column, message, .. } = self;
        format!("line {line}, column {column} of the {what}, {here}: {message}")
    }
}

/// A mistake of which only the offset is known so far; [`Mistake::within`] converts it to the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Where in the text, in bytes.
    pub(crate) offset: usize,
    /// What is wrong: lower case, no full stop.
    pub(crate) message: String,
    /// A limit was reached.
    pub(crate) bound: bool,
}

impl Mistake {
    /// A mistake.
    pub(crate) fn at(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), bound: false }
    }

    /// A limit that was reached.
    pub(crate) fn bound(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), bound: true }
    }

    /// The error, with its place in `text`.
    pub(crate) fn within(self, text: &str) -> TextError {
        TextError { bound: self.bound, ..TextError::at(text, self.offset, self.message) }
    }
}
