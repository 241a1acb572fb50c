//! Writes a tree in the syntax of the other engines, with every class spelled out, so that none of their own
//! ideas of `\w`, `.`, `$` or letter case takes part.

use std::fmt::Write;

use super::size;
use super::tree::{CharSet, LAST, PatternFlags, PatternNode, PatternTree, caseless_gaps, without_surrogates, word};

/// Who will read it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternReader {
    /// `regex`; line ends are `\n` only, so the text may hold no other.
    Automaton,
    /// `fancy-regex`: has look-around, and needs it for what the other has built in.
    Backtracker,
    /// `regress`, with the flag `u`: assertions are its own, sets are spelled out here too.
    JavaScript,
}

const LINE_END: &str = r"[\n\r\x{2028}\x{2029}]";

pub(super) fn print(tree: &PatternTree, flags: PatternFlags, reader: PatternReader) -> String {
    let mut out = String::new();
    // without `u` the sets hold all letter cases already
    let mut printer = PatternPrinter { out: &mut out, flags, reader, behind: false };
    printer.count_step();
    if printer.folds() {
        printer.out.push_str("(?i)");
    }
    printer.node(&tree.root);
    out
}

struct PatternPrinter<'a> {
    out: &'a mut String,
    flags: PatternFlags,
    reader: PatternReader,
    /// Inside of a look-behind.
    behind: bool,
}

impl PatternPrinter<'_> {
    fn node(&mut self, node: &PatternNode) {
        match node {
            PatternNode::Set(set) => self.set(set),
            PatternNode::Concat(items) if items.is_empty() => self.out.push_str("(?:)"),
            PatternNode::Concat(items) => items.iter().for_each(|item| self.item(item)),
            PatternNode::Alt(branches) => {
                if size::is_wide(node, self.flags.ignore_case) {
                    self.count_step();
                }
                for (n, branch) in branches.iter().enumerate() {
                    if n > 0 {
                        self.out.push('|');
                    }
                    self.node(branch);
                }
            }
            PatternNode::Capture(_, node) => self.wrapped("(", node),
            PatternNode::Repeat { node, min, max, lazy } => {
                self.out.push_str("(?:");
                self.count_step();
                self.item(node);
                self.out.push(')');
                self.count(*min, *max);
                if *lazy {
                    self.out.push('?');
                }
            }
            PatternNode::Start => self.start(),
            PatternNode::End => self.end(),
            PatternNode::Boundary(inside) => self.boundary(*inside),
            PatternNode::Look { ahead, negative, node } => {
                let open = match (ahead, negative) {
                    (true, false) => "(?=",
                    (true, true) => "(?!",
                    (false, false) => "(?<=",
                    (false, true) => "(?<!",
                };
                let behind = std::mem::replace(&mut self.behind, !ahead);
                self.wrapped(open, node);
                self.behind = behind;
            }
            PatternNode::Backref(n) => self.write(format_args!("(?:\\{n})")),
        }
    }

    /// Makes the backtracking engine take what follows in steps that it counts, and not leave it to an automaton: loops, and
    /// what an automaton has very many states for. It cannot do so in a look-behind.
    fn count_step(&mut self) {
        if self.reader == PatternReader::Backtracker && !self.behind {
            self.out.push_str("(?=)");
        }
    }

    /// A part of a sequence: branches need brackets there.
    fn item(&mut self, node: &PatternNode) {
        if matches!(node, PatternNode::Alt(_)) { self.wrapped("(?:", node) } else { self.node(node) }
    }

    fn wrapped(&mut self, open: &str, node: &PatternNode) {
        self.out.push_str(open);
        self.node(node);
        self.out.push(')');
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // writing to a String cannot fail
        let _ = self.out.write_fmt(text);
    }

    fn count(&mut self, min: u32, max: Option<u32>) {
        match (min, max) {
            (0, None) => self.out.push('*'),
            (1, None) => self.out.push('+'),
            (0, Some(1)) => self.out.push('?'),
            (min, None) => self.write(format_args!("{{{min},}}")),
            (min, Some(max)) => self.write(format_args!("{{{min},{max}}}")),
        }
    }

    fn start(&mut self) {
        match (self.flags.multiline, self.reader) {
            (_, PatternReader::JavaScript) => self.out.push('^'),
            (false, _) => self.out.push_str(r"\A"),
            (true, PatternReader::Automaton) => self.out.push_str("(?m:^)"),
            (true, PatternReader::Backtracker) => self.write(format_args!(r"(?:\A|(?<={LINE_END}))")),
        }
    }

    fn end(&mut self) {
        match (self.flags.multiline, self.reader) {
            (_, PatternReader::JavaScript) => self.out.push('$'),
            (false, _) => self.out.push_str(r"\z"),
            (true, PatternReader::Automaton) => self.out.push_str("(?m:$)"),
            (true, PatternReader::Backtracker) => self.write(format_args!(r"(?:(?={LINE_END})|\z)")),
        }
    }

    fn boundary(&mut self, inside: bool) {
        if self.reader == PatternReader::Automaton {
            // the choice of engines gives it neither `\B` nor the wider words of the flags i and u together
            return self.out.push_str(r"(?-u:\b)");
        }
        if self.reader == PatternReader::JavaScript {
            return self.out.push_str(if inside { r"\b" } else { r"\B" });
        }
        let mut w = String::from("[");
        for (a, b) in word(self.flags) {
            let _ = write!(w, r"\x{{{a:x}}}-\x{{{b:x}}}");
        }
        w.push(']');
        if inside {
            self.write(format_args!("(?:(?<={w})(?!{w})|(?<!{w})(?={w}))"));
        } else {
            self.write(format_args!("(?:(?<={w})(?={w})|(?<!{w})(?!{w}))"));
        }
    }

    fn set(&mut self, set: &CharSet) {
        let mut ranges = set.ranges.clone();
        without_surrogates(&mut ranges);
        if let ([(a, b)], false, true) = (ranges.as_slice(), set.negated, set.props.is_empty())
            && a == b
        {
            return self.char(*a);
        }
        if ranges.is_empty() && set.props.is_empty() {
            self.out.push_str(if set.negated { "[" } else { "[^" });
            self.char(0);
            self.out.push('-');
            self.char(LAST);
            return self.out.push(']');
        }
        let gaps = if self.folds() && !set.negated && set.props.is_empty() { caseless_gaps(&ranges) } else { None };
        if gaps.as_ref().is_some_and(Vec::is_empty) {
            return self.out.push_str("(?s:.)");
        }
        self.out.push_str(if set.negated || gaps.is_some() { "[^" } else { "[" });
        for (a, b) in gaps.unwrap_or(ranges) {
            self.char(a);
            if b > a {
                self.out.push('-');
                self.char(b);
            }
        }
        set.props.iter().for_each(|p| self.out.push_str(p));
        self.out.push(']');
    }

    /// Whether the reader adds the other cases of letters.
    fn folds(&self) -> bool {
        self.flags.ignore_case && self.flags.unicode && self.reader != PatternReader::JavaScript
    }

    fn char(&mut self, c: u32) {
        match char::from_u32(c) {
            Some(c) if c.is_ascii_alphanumeric() => self.out.push(c),
            _ if self.reader == PatternReader::JavaScript => self.write(format_args!(r"\u{{{c:x}}}")),
            _ => self.write(format_args!(r"\x{{{c:x}}}")),
        }
    }
}
