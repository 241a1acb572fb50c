//! Where things stand in a script: from the places in the changed text, as the interpreter counts them, to those in the
//! script as it was written.
//!
//! A line of the script ends with a line feed. For the interpreter, one also ends with a carriage return that ends a comment
//! or begins a text in back-ticks.

/// The lines of the changed text as the interpreter counts them, from 1.
#[derive(Debug, Default)]
pub(super) struct Moved {
    lines: Vec<Line>,
}

#[derive(Debug, Default)]
struct Line {
    /// The line of the script, and how many of its characters stand before.
    line: usize,
    before: usize,
    /// The columns at which something was inserted, in the changed text, and how many characters.
    inserted: Vec<(usize, usize)>,
}

impl Moved {
    /// A script with insertions at their offsets, in order, and the way back. `breaks` are the offsets of the carriage
    /// returns with which a line of the interpreter ends, in order.
    pub(super) fn new<'a>(source: &str, insertions: impl Iterator<Item = (usize, &'a str)>, breaks: &[usize]) -> (String, Self) {
        let mut text = String::with_capacity(source.len() * 2);
        let mut lines = vec![Line::default()];
        let mut last = Line { line: 1, ..Line::default() };
        let (mut done, mut column, mut line, mut before) = (0, 1, 1, 0);
        for (at, what) in insertions.chain([(source.len(), "")]) {
            let piece = source.get(done..at).unwrap_or_default();
            for (n, c) in piece.char_indices() {
                (line, before) = if c == '\n' { (line + 1, 0) } else { (line, before + 1) };
                column += 1;
                if c == '\n' || breaks.binary_search(&(done + n)).is_ok() {
                    lines.push(std::mem::replace(&mut last, Line { line, before, inserted: Vec::new() }));
                    column = 1;
                }
            }
            text.push_str(piece);
            text.push_str(what);
            last.inserted.push((column, what.len()));
            column += what.len();
            done = at;
        }
        lines.push(last);
        (text, Self { lines })
    }

    /// The line and column of the script as it was written; 0 stays 0, which says that it is not known.
    pub(super) fn place(&self, line: usize, column: usize) -> (usize, usize) {
        let Some(found) = self.lines.get(line).filter(|_| line > 0) else { return (line, column) };
        if column == 0 {
            return (found.line, 0);
        }
        let inserted = found.inserted.iter().take_while(|(at, _)| *at < column);
        let own = inserted.fold(column, |left, (at, length)| left - (*length).min(column - at));
        (found.line, found.before + own)
    }
}
