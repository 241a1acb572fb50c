//! Code as CommonMark has it: fenced blocks and code spans.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;

/// Code in a text.
pub(super) struct CodeZones<'a> {
    text: &'a str,
    /// Whether fences are zones; a fence then ends a paragraph.
    fences: bool,
    spans: Option<CodeSpans>,
}

/// Where runs of backticks and ends of paragraphs stand.
struct CodeSpans {
    /// The starts of the runs of a length, ascending.
    runs: HashMap<usize, Vec<usize>>,
    /// The starts of the lines that end a paragraph, ascending.
    breaks: Vec<usize>,
}

/// A line that opens or closes a fenced block.
struct FenceLine {
    mark: u8,
    length: usize,
    /// Whether nothing but blanks stands behind the marks.
    bare: bool,
}

impl<'a> CodeZones<'a> {
    pub(super) fn new(text: &'a str, fences: bool) -> Self {
        Self { text, fences, spans: None }
    }

    /// The end of the fenced block that begins at the start of a line, with its indentation.
    pub(super) fn fence(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1).and_then(|n| self.text.as_bytes().get(n));
        if before.is_some_and(|b| !matches!(b, b'\n' | b'\r')) {
            return None;
        }
        let mut lines = TextLines { text: self.text, at };
        let opening = fence(lines.next().and_then(|line| self.text.get(line))?)?;
        let closes = |line: &str| fence(line).is_some_and(|f| f.bare && f.mark == opening.mark && f.length >= opening.length);
        let closing = lines.find(|line| self.text.get(line.clone()).is_some_and(closes));
        Some(closing.map_or(self.text.len(), |line| line.end))
    }

    /// The end of the code span whose opening run of backticks stands here.
    pub(super) fn inline(&mut self, at: usize) -> Option<usize> {
        let fences = self.fences;
        let spans = self.spans.get_or_insert_with(|| CodeSpans::of(self.text, fences));
        let length = self.text.as_bytes().iter().skip(at).take_while(|b| **b == b'`').count();
        let starts = spans.runs.get(&length)?;
        let closing = *starts.get(starts.partition_point(|start| *start < at + length))?;
        let end = spans.breaks.get(spans.breaks.partition_point(|start| *start <= at));
        end.is_none_or(|end| closing < *end).then_some(closing + length)
    }
}

impl CodeSpans {
    fn of(text: &str, fences: bool) -> Self {
        let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut start = None;
        for (at, byte) in text.bytes().chain([0]).enumerate() {
            match (byte, start) {
                (b'`', None) => start = Some(at),
                (b'`', Some(_)) => {}
                (_, Some(from)) => {
                    runs.entry(at - from).or_default().push(from);
                    start = None;
                }
                (_, None) => {}
            }
        }
        let lines = TextLines { text, at: 0 };
        let ends = |line: &Range<usize>| {
            let line = text.get(line.clone()).unwrap_or_default();
            line.bytes().all(|b| matches!(b, b' ' | b'\t')) || (fences && fence(line).is_some())
        };
        Self { runs, breaks: lines.filter(ends).map(|line| line.start).collect() }
    }
}

/// The fence that a line is: at most three blanks, three or more backticks or tildes, and behind backticks no backtick.
fn fence(line: &str) -> Option<FenceLine> {
    let rest = line.trim_start_matches(' ');
    let mark = *rest.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = rest.bytes().take_while(|b| *b == mark).count();
    let behind = rest.get(length..)?;
    if line.len() - rest.len() > 3 || length < 3 || (mark == b'`' && behind.contains('`')) {
        return None;
    }
    Some(FenceLine { mark, length, bare: behind.bytes().all(|b| matches!(b, b' ' | b'\t')) })
}

/// The lines of a text from a place on, without their ends (`\n`, `\r\n`, `\r`).
struct TextLines<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for TextLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.as_bytes().get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = self.at..self.at + length;
        let ending = match (rest.get(length), rest.get(length + 1)) {
            (Some(b'\r'), Some(b'\n')) => 2,
            (Some(_), _) => 1,
            (None, _) => 0,
        };
        self.at = line.end + ending;
        Some(line)
    }
}

// Macros (`{{…}}`, blocks as a whole) and tags of Liquid (`{%…%}`, raw ones as a whole).

/// What stands in braces in a text.
pub(super) struct BraceZones<'a> {
    text: &'a str,
    /// Where a macro begins, and where it ends; for a block, where the block ends.
    macros: Option<HashMap<usize, usize>>,
    /// Where a tag of Liquid begins, and where it ends; for a raw one, where its closing tag ends.
    liquid: Option<HashMap<usize, usize>>,
}

impl<'a> BraceZones<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, macros: None, liquid: None }
    }

    /// The end of the macro or block that begins here.
    pub(super) fn macro_at(&mut self, at: usize) -> Option<usize> {
        self.macros.get_or_insert_with(|| macros(self.text)).get(&at).copied()
    }

    /// The end of the tag of Liquid that begins here.
    pub(super) fn liquid(&mut self, at: usize) -> Option<usize> {
        self.liquid.get_or_insert_with(|| liquid(self.text)).get(&at).copied()
    }
}

fn macros(text: &str) -> HashMap<usize, usize> {
    let mut tags = pairs(text.as_bytes());
    tags.sort_unstable();
    let mut ends: HashMap<usize, usize> = tags.iter().copied().collect();
    let mut open: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (start, end) in tags {
        let inside = text.get(start..end).unwrap_or_default().trim_start_matches('{');
        let inside = inside.trim_start_matches('~');
        if let Some(name) = inside.strip_prefix(['#', '^']).map(name).filter(|name| !name.is_empty()) {
            open.entry(name).or_default().push((start, end));
        } else if let Some(blocks) = inside.strip_prefix('/').and_then(|rest| open.get_mut(name(rest)))
            // a closing tag that stands inside the opening one closes nothing
            && blocks.last().is_some_and(|(_, opened)| *opened <= start)
            && let Some((from, _)) = blocks.pop()
        {
            ends.insert(from, end);
        }
    }
    ends
}

/// The name of a block, at the start of what stands behind `#` or `/`.
fn name(rest: &str) -> &str {
    let rest = rest.trim_start().trim_start_matches(['*', '>']).trim_start();
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ':' | '~' | '(')).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// Pairs of double braces, from the inside outwards; `{{{` is paired with `}}}` where there is one.
fn pairs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let (Some(one), Some(two)) = (bytes.get(at), bytes.get(at + 1)) {
        match (one, two) {
            (b'{', b'{') => {
                open.push(at);
                at += 2;
            }
            (b'}', b'}') => {
                at += 2;
                if let Some(start) = open.pop() {
                    at += usize::from(bytes.get(start + 2) == Some(&b'{') && bytes.get(at) == Some(&b'}'));
                    pairs.push((start, at));
                }
            }
            _ => at += 1,
        }
    }
    pairs
}

fn liquid(text: &str) -> HashMap<usize, usize> {
    let mut ends = HashMap::new();
    let mut closers = memmem::find_iter(text.as_bytes(), b"%}").peekable();
    let mut raw: Vec<usize> = Vec::new();
    for start in memmem::find_iter(text.as_bytes(), b"{%") {
        while closers.next_if(|closer| *closer < start + 2).is_some() {}
        let Some(end) = closers.peek().map(|closer| closer + 2) else { break };
        ends.insert(start, end);
        let inside = text.get(start + 2..end - 2).unwrap_or_default();
        let word = inside.strip_prefix('-').unwrap_or(inside).trim_start();
        let word = word.split(|c: char| c.is_whitespace() || c == '-').next().unwrap_or_default();
        match word {
            "raw" => raw.push(start),
            // all raw tags before the first closing one go up to it
            "endraw" => raw.drain(..).for_each(|from| {
                if ends.get(&from).is_some_and(|opened| *opened <= start) {
                    ends.insert(from, end);
                }
            }),
            _ => {}
        }
    }
    ends
}
