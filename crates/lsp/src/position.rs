//! Places in a text, as bytes and as the protocol counts them: lines from 0, and units of UTF-16 in a line.

use std::ops::Range;

use lsp_types::{Position, Range as LspRange};

/// Where the lines of a text begin. A line ends with `\n`, `\r\n` or `\r`, as the protocol says.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Self { starts }
    }

    /// The place of a byte; one past the end, or inside of a character, is moved to the nearest place before it.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        self.position_after(text, (0, Position::default()), offset)
    }

    /// [`position`](Self::position), counted from a known byte and its place if they are before it in the same line: many
    /// places in a long line would each count it from its start.
    pub(crate) fn position_after(&self, text: &str, known: (usize, Position), offset: usize) -> Position {
        let offset = text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let (from, before) = if (start..=offset).contains(&known.0) { (known.0, known.1.character) } else { (start, 0) };
        let units = text.get(from..offset).unwrap_or_default().encode_utf16().count();
        Position::new(clip(line), clip(units).saturating_add(before))
    }

    /// The byte of a place; one behind the end of a line is its end, one behind the last line is the end of the text.
    pub(crate) fn offset(&self, text: &str, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line as usize).copied() else { return text.len() };
        let end = self.starts.get(position.line as usize + 1).copied().unwrap_or(text.len());
        let line = text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let mut units = position.character as usize;
        let mut offset = start;
        for letter in line.chars() {
            if units < letter.len_utf16() {
                break;
            }
            units -= letter.len_utf16();
            offset += letter.len_utf8();
        }
        offset
    }

    pub(crate) fn range(&self, text: &str, bytes: &Range<usize>) -> LspRange {
        LspRange::new(self.position(text, bytes.start), self.position(text, bytes.end.max(bytes.start)))
    }

    pub(crate) fn bytes(&self, text: &str, range: LspRange) -> Range<usize> {
        let (start, end) = (self.offset(text, range.start), self.offset(text, range.end));
        start.min(end)..end.max(start)
    }
}

fn clip(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_utf16_and_all_ends_of_lines_count() {
        let text = "a😀b\r\nc\rd\ne";
        let lines = LineIndex::new(text);
        let mut known = (0, Position::default());
        for (offset, line, unit) in [(0, 0, 0), (1, 0, 1), (5, 0, 3), (6, 0, 4), (8, 1, 0), (10, 2, 0), (12, 3, 0), (13, 3, 1)] {
            let position = Position::new(line, unit);
            assert_eq!(lines.position(text, offset), position, "{offset}");
            assert_eq!(lines.position_after(text, known, offset), position, "{offset}");
            known = (offset, position);
            assert_eq!(lines.offset(text, position), offset, "{position:?}");
        }
        // inside of the emoji, behind a line, behind the text
        assert_eq!(lines.offset(text, Position::new(0, 2)), 1);
        assert_eq!(lines.offset(text, Position::new(0, 99)), 6);
        assert_eq!(lines.offset(text, Position::new(9, 9)), text.len());
        assert_eq!(lines.position(text, 3), Position::new(0, 1));
    }
}
