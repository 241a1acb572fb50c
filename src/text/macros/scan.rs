//! The walk itself: which braces belong together, what is a name, what are arguments.

use std::sync::Arc;

use super::{LegacyMarker, MacroHost, MacroResult, Offset};
use crate::text::js;

/// A `{{` and the `}}` that closes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    open: usize,
    close: usize,
}

/// Most warnings about one text.
const MOST_WARNINGS: usize = 20;

pub(super) struct TooLong;

/// An expanded text before its last touches.
pub(super) struct Walked {
    pub text: String,
    /// Places where line ends are eaten on both sides.
    pub eaters: Vec<usize>,
}

/// The text with its legacy markers replaced; nothing if it has none.
pub(super) fn replace_markers(text: &str, markers: &[LegacyMarker]) -> Option<String> {
    let firsts: Vec<u8> = markers.iter().filter_map(|m| m.find.bytes().next()).collect();
    if firsts.is_empty() || !text.bytes().any(|b| firsts.contains(&b)) {
        return None;
    }
    let mut out = String::new();
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if at < copied || !firsts.contains(&byte) {
            continue;
        }
        let here = |m: &&LegacyMarker| text.get(at..at + m.find.len()).is_some_and(|t| t.eq_ignore_ascii_case(&m.find));
        if let Some(marker) = markers.iter().filter(|m| !m.find.is_empty()).find(here) {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(&marker.with);
            copied = at + marker.find.len();
        }
    }
    (copied > 0).then(|| out + text.get(copied..).unwrap_or_default())
}

/// Which braces belong together, by the place of the opening ones. Of an odd run of opening braces the first is
/// text; braces without a partner are text; so are macros nested deeper than `depth`.
pub(super) fn pairs(text: &str, depth: usize, warnings: &mut Vec<String>) -> Vec<Pair> {
    let bytes = text.as_bytes();
    let run = |at: usize| bytes.iter().skip(at).take_while(|b| bytes.get(at) == Some(b)).count();
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut too_deep = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => {
                let length = run(at);
                open.extend((at + length % 2..at + length).step_by(2));
                at += length;
            }
            b'}' => {
                let length = run(at);
                for close in (at..at + length - 1).step_by(2) {
                    let Some(start) = open.pop() else { break };
                    if open.len() < depth {
                        found.push(Pair { open: start, close });
                    } else {
                        too_deep = true;
                    }
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    if too_deep {
        warnings.push(format!("macros nested deeper than {depth} are left as text"));
    }
    found.sort_unstable_by_key(|pair| pair.open);
    found
}

/// A macro whose end is not reached yet.
struct Frame {
    pair: Pair,
    /// What stands inside so far, inner macros expanded.
    inside: String,
    /// Stretches of `inside` that came out of macros: nothing in them separates arguments.
    inserted: Vec<(usize, usize)>,
}

pub(super) struct Walk<'a> {
    text: &'a str,
    pairs: &'a [Pair],
    host: &'a mut dyn MacroHost,
    /// Bytes that macros may still add.
    left: usize,
    warnings: &'a mut Vec<String>,
    frames: Vec<Frame>,
    out: Walked,
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a str, pairs: &'a [Pair], host: &'a mut dyn MacroHost, left: usize, warnings: &'a mut Vec<String>) -> Self {
        let out = Walked { text: String::with_capacity(text.len()), eaters: Vec::new() };
        Self { text, pairs, host, left, warnings, frames: Vec::new(), out }
    }

    pub(super) fn run(mut self) -> Result<Walked, TooLong> {
        let mut at = 0;
        let mut next = 0;
        loop {
            let open = self.pairs.get(next).copied();
            let close = self.frames.last().map(|frame| frame.pair.close);
            match (open, close) {
                (Some(pair), close) if close.is_none_or(|close| pair.open < close) => {
                    self.copy(at, pair.open);
                    if let Some(torn) = self.torn() {
                        // a macro cannot build the name of another: all of it is text
                        at = torn.close + 2;
                        self.frames.pop();
                        self.copy(torn.open, at);
                        next += self.pairs.iter().skip(next).take_while(|p| p.open < at).count();
                    } else {
                        self.frames.push(Frame { pair, inside: String::new(), inserted: Vec::new() });
                        at = pair.open + 2;
                        next += 1;
                    }
                }
                (_, Some(close)) => {
                    self.copy(at, close);
                    at = close + 2;
                    self.finish()?;
                }
                _ => break,
            }
        }
        self.copy(at, self.text.len());
        Ok(self.out)
    }

    fn copy(&mut self, from: usize, to: usize) {
        let part = self.text.get(from..to).unwrap_or_default();
        self.target().push_str(part);
    }

    fn target(&mut self) -> &mut String {
        self.frames.last_mut().map_or(&mut self.out.text, |frame| &mut frame.inside)
    }

    /// The innermost macro, if what stands in it so far is a name that has not ended.
    fn torn(&self) -> Option<Pair> {
        let frame = self.frames.last()?;
        let name = js::trim_start(&frame.inside);
        let unfinished = !name.is_empty() && name != "//" && name_of(name).len() == name.len();
        (frame.inserted.is_empty() && unfinished).then_some(frame.pair)
    }

    /// Evaluates the innermost macro and puts its result where it stood.
    fn finish(&mut self) -> Result<(), TooLong> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let result = match header(&frame) {
            Some((name, args)) => self.host.call(&name, &args, frame.pair.open),
            None => MacroResult::Unknown,
        };
        let top = self.frames.is_empty();
        let start = self.target().len();
        match result {
            MacroResult::Text(text) => {
                self.left = self.left.checked_sub(text.len()).ok_or(TooLong)?;
                self.target().push_str(&text);
            }
            MacroResult::EatNewlines if top => self.out.eaters.push(start),
            other => {
                match other {
                    MacroResult::Failed(why) if self.warnings.len() < MOST_WARNINGS => self.warnings.push(why),
                    _ => {}
                }
                let target = self.target();
                target.push_str("{{");
                target.push_str(&frame.inside);
                target.push_str("}}");
            }
        }
        if let Some(parent) = self.frames.last_mut() {
            let end = parent.inside.len();
            parent.inserted.push((start, end));
        }
        Ok(())
    }
}

pub(super) fn is_flag(c: char) -> bool {
    matches!(c, '!' | '?' | '~' | '#' | '>' | '/')
}

/// The name at the start of a text: `//`, or a letter and then letters, digits, `_`, `-`.
pub(super) fn name_of(text: &str) -> &str {
    if text.starts_with("//") {
        return "//";
    }
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return "";
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// The name in lower case and the arguments; nothing if this is no macro.
fn header(frame: &Frame) -> Option<(String, Vec<Arc<str>>)> {
    let inside = frame.inside.as_str();
    let start = inside.len() - js::trim_start(inside).len();
    let name = name_of(inside.get(start..)?);
    let name_end = start + name.len();
    let literal = frame.inserted.first().map_or(inside.len(), |(from, _)| *from);
    if name.is_empty() || name_end > literal {
        return None;
    }
    let rest = inside.get(name_end..)?;
    let before_mark = name_end + (rest.len() - js::trim_start(rest).len());
    let after_name = inside.get(before_mark..)?;
    let args = if after_name.starts_with("::") && before_mark + 2 <= literal {
        split(inside, before_mark + 2, &frame.inserted)
    } else if after_name.starts_with(':') && before_mark < literal {
        vec![js::trim(inside.get(before_mark + 1..)?).into()]
    } else if after_name.is_empty() && literal == inside.len() {
        Vec::new()
    } else if before_mark > name_end || name == "//" {
        vec![js::trim(rest).into()]
    } else {
        return None;
    };
    Some((name.to_ascii_lowercase(), args))
}

/// The arguments from `from` on, separated by `::` outside inserted texts.
fn split(inside: &str, from: usize, inserted: &[(usize, usize)]) -> Vec<Arc<str>> {
    let mut args = Vec::new();
    let mut start = from;
    let mut inserted = inserted.iter().peekable();
    let mut at = from;
    while let Some(found) = inside.get(at..).and_then(|rest| rest.find("::")).map(|n| at + n) {
        while inserted.next_if(|(_, end)| *end <= found).is_some() {}
        if let Some((_, end)) = inserted.peek().filter(|(begin, _)| *begin < found + 2) {
            at = *end;
            continue;
        }
        args.push(js::trim(inside.get(start..found).unwrap_or_default()).into());
        start = found + 2;
        at = start;
    }
    args.push(js::trim(inside.get(start..).unwrap_or_default()).into());
    args
}

/// `\{` and `\}` lose their backslash.
pub(super) fn unescape(walked: &mut Walked) {
    if !walked.text.contains("\\{") && !walked.text.contains("\\}") {
        return;
    }
    let mut out = String::with_capacity(walked.text.len());
    let mut eaters = walked.eaters.iter_mut().peekable();
    let mut chars = walked.text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        while let Some(eater) = eaters.next_if(|eater| **eater <= at) {
            *eater = out.len();
        }
        if c != '\\' || !matches!(chars.peek(), Some((_, '{' | '}'))) {
            out.push(c);
        }
    }
    eaters.for_each(|eater| *eater = out.len());
    walked.text = out;
}

/// Removes the line ends around each place that eats them.
pub(super) fn eat_newlines(walked: Walked) -> String {
    if walked.eaters.is_empty() {
        return walked.text;
    }
    let mut out = String::with_capacity(walked.text.len());
    let mut from = 0;
    for eater in walked.eaters.iter().map(Some).chain([None]) {
        let to: Offset = eater.copied().unwrap_or(walked.text.len());
        let mut part = walked.text.get(from..to).unwrap_or_default();
        if from > 0 || walked.eaters.first() == Some(&0) {
            part = without_first_line_ends(part);
        }
        if eater.is_some() {
            part = without_last_line_ends(part);
        }
        out.push_str(part);
        from = to;
    }
    out
}

fn without_first_line_ends(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')) {
        text = rest;
    }
    text
}

fn without_last_line_ends(mut text: &str) -> &str {
    while let Some(rest) = text.strip_suffix('\n') {
        text = rest.strip_suffix('\r').unwrap_or(rest);
    }
    text
}
