//! How much memory the values of a TOML or JSON text take while it is read and checked: an estimate from its marks, made
//! before it is read, so that a text which would take too much is refused first.
//!
//! A value takes a hundred times as much as its text: the tokens and the tree of the parser, the tree with the places,
//! and the tree that a schema is checked with are in memory at once. The numbers below were measured on files of one
//! sort of value each. One scan serves both languages, because neither has the marks of the other outside of texts.

/// A table, with the space for its first fields.
const TABLE: usize = 900;
/// Any other mark, and a name, a number or a text beside its bytes.
const PART: usize = 110;

/// The memory that the values of a text are likely to take, in bytes, without the bytes of its texts.
#[must_use]
pub fn of(text: &[u8]) -> usize {
    let mut marks = ScanState { fresh: true, ..ScanState::default() };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        at += match rest.first() {
            Some(b'#') => {
                marks.sum += PART;
                rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
            }
            Some(b'"' | b'\'') => {
                marks.word(false);
                quoted_length(rest)
            }
            Some(byte) => {
                marks.step(*byte);
                1
            }
            None => break,
        };
    }
    marks.sum
}

/// Whether the values of a text are likely to take more than so many bytes.
#[must_use]
pub fn exceeds(text: &[u8], most: usize) -> bool {
    // no byte counts more than a table
    text.len() > most / TABLE && of(text) > most
}

/// The state of the scan.
#[derive(Default)]
struct ScanState {
    sum: usize,
    /// Open brackets.
    open: usize,
    /// Dots of a key, each of which makes a table.
    dots: usize,
    /// Whether there has only been white space since the line break.
    fresh: bool,
    in_header: bool,
    in_word: bool,
}

impl ScanState {
    fn word(&mut self, goes_on: bool) {
        self.sum += if self.in_word { 0 } else { PART };
        self.in_word = goes_on;
        self.fresh = false;
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'[' | b'{' => {
                let is_header = byte == b'[' && self.open == 0 && self.fresh;
                self.in_header |= is_header;
                self.sum += if is_header || byte == b'{' { TABLE } else { PART };
                self.open += 1;
                self.dots = 0;
            }
            b']' | b'}' => self.open = self.open.saturating_sub(1),
            b'=' | b':' => {
                self.sum += PART + self.dots * TABLE;
                self.dots = 0;
            }
            b',' => {
                self.sum += PART;
                self.dots = 0;
            }
            b'.' if self.in_header => self.sum += TABLE,
            b'.' => self.dots += 1,
            b'\n' => {
                self.sum += PART;
                (self.dots, self.fresh, self.in_header, self.in_word) = (0, true, false, false);
                return;
            }
            b' ' | b'\t' | b'\r' => {
                self.in_word = false;
                return;
            }
            _ => {
                self.word(true);
                return;
            }
        }
        (self.fresh, self.in_word) = (false, false);
    }
}

/// The length in bytes of the quoted text at the start of `rest`, in one or three quotes; up to the end if it is not
/// closed, or of its line if it must be closed there.
pub fn quoted_length(rest: &[u8]) -> usize {
    let quote = rest.first().copied().unwrap_or(b'"');
    let long = rest.get(..3).is_some_and(|b| b.iter().all(|x| *x == quote));
    let mut at = if long { 3 } else { 1 };
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !long => return at,
            b if b == quote => {
                if !long {
                    return at + 1;
                }
                if rest.get(at..at + 3).is_some_and(|b| b.iter().all(|x| *x == quote)) {
                    // up to two quotes may stand right before the closing three
                    let extra = rest.iter().skip(at + 3).take(2).take_while(|x| **x == quote).count();
                    return at + 3 + extra;
                }
            }
            _ => {}
        }
        at += 1;
    }
    rest.len()
}
