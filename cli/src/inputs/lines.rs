//! Lines of a file or of standard input, one at a time, as they arrive.

use std::path::Path;

use crate::diag::Code;

use crate::inputs::files::{bytes_of, shown};
use crate::output::OutputStreams;
use crate::stop::EarlyExit;

/// The longest line, in bytes (16 MiB).
const MAX_LINE: usize = 16 << 20;
/// How much is read at once.
const CHUNK: usize = 8 << 10;

/// Lines that are read one at a time. Blank lines are passed over.
pub(crate) struct LineReader {
    name: String,
    number: usize,
    /// What has been read.
    read: Vec<u8>,
    /// Where in it the next line begins.
    start: usize,
    /// Up to here there is no end of a line behind `start`.
    searched: usize,
    /// Whether more may come from standard input.
    open: bool,
}

impl LineReader {
    /// The lines of a file; `-` is standard input.
    pub(crate) fn open(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Self, EarlyExit> {
        let open = path == Path::new("-");
        let read = if open { Vec::new() } else { bytes_of(path, show)? };
        Ok(Self { name: shown(path), number: 0, read, start: 0, searched: 0, open })
    }

    /// The place of the line that was handed out last, for messages.
    pub(crate) fn place(&self) -> String {
        format!("line {} of `{}`", self.number, self.name)
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self, show: &mut OutputStreams<'_, '_>) -> Result<Option<String>, EarlyExit> {
        loop {
            let behind = self.read.get(self.searched..).unwrap_or_default();
            let end = behind.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at + 1);
            self.searched = end.unwrap_or(self.read.len());
            if end.is_none() && self.open {
                self.more(show)?;
                continue;
            }
            let line = self.read.get(self.start..self.searched).unwrap_or_default().to_vec();
            if line.is_empty() {
                return Ok(None);
            }
            self.start = self.searched;
            self.number += 1;
            let line = String::from_utf8(line).map_err(|_| {
                EarlyExit::could_not(Code::FileEncoding, format!("{} is not valid UTF-8", self.place()), "save it as UTF-8")
            })?;
            if !line.trim().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn more(&mut self, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        // only the beginning of a line is left
        self.read.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        let mut chunk = [0; CHUNK];
        let read = show.io.input.read(&mut chunk).map_err(|error| {
            EarlyExit::could_not(Code::FileMissing, format!("`{}` cannot be read: {error}", self.name), "check the program that writes it")
        })?;
        self.open = read > 0;
        self.read.extend(chunk.iter().take(read));
        if self.read.len() > MAX_LINE {
            let message = format!("a line of `{}` is longer than {} MiB", self.name, MAX_LINE >> 20);
            return Err(EarlyExit::could_not(Code::FileTooLarge, message, "write one turn a line"));
        }
        Ok(())
    }
}
