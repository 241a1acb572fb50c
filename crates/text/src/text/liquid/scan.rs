//! The pre-scan of a template for the crate's parser: it splits the template into texts and tags, and enforces the
//! bounds.
//!
//! The crate's parser is quadratic in runs of blanks, overflows the stack on deeply nested blocks and panics on some
//! inputs. So texts become constants and never reach it, blocks that do not match or nest too deeply are refused here,
//! and the rest is tags of plain words (`words.rs`). The scan takes linear time and does not recurse.

use super::val::LiquidValue;
use super::words::{LiquidReader, TranslatedText};
use crate::diag::suggest;
use crate::text::TextLimits;
use crate::text::{Mistake, js};

/// Tags that open something or stand alone, sorted.
pub(super) const TAGS: &[&str] = &[
    "#",
    "assign",
    "break",
    "capture",
    "case",
    "comment",
    "continue",
    "cycle",
    "decrement",
    "echo",
    "for",
    "if",
    "increment",
    "liquid",
    "raw",
    "tablerow",
    "unless",
];

type ScanResult = Result<(), Mistake>;

/// A block that is not closed yet.
struct OpenTag {
    at: usize,
    word: &'static str,
    /// Whether its `else` has occurred.
    in_else: bool,
}

struct TemplateScan<'t> {
    words: LiquidReader<'t>,
    /// The text before the next tag loses the blanks at its start.
    trims: bool,
    /// The start of the open comment.
    comment: Option<usize>,
    open: Vec<OpenTag>,
}

/// A whole template, as the inside of one block.
pub(super) fn template(text: &str) -> Result<TranslatedText, Mistake> {
    let mut scan = TemplateScan { words: LiquidReader::new(text, 0), trims: false, comment: None, open: Vec::new() };
    scan.page()?;
    Ok(scan.words.written)
}

/// A single expression as the only tag, `word`, reported at the position `at`; its constants begin at the slot `first`.
pub(super) fn expression(text: &str, word: &str, at: usize, first: usize) -> Result<TranslatedText, Mistake> {
    let mut words = LiquidReader::new(text, first);
    words.open(word);
    words.piece(0, at)?;
    words.all(true)?;
    words.close()?;
    Ok(words.written)
}

impl<'t> TemplateScan<'t> {
    fn page(&mut self) -> ScanResult {
        let text = self.words.text;
        while let Some((start, output)) = self.opener() {
            self.literal(start)?;
            let (inside, end, right) = self.inside(start, output)?;
            (self.words.at, self.words.end) = inside;
            match (output, self.comment) {
                (_, Some(_)) => self.in_comment(),
                (true, None) => self.value(start)?,
                (false, None) => self.tag(start)?,
            }
            // `raw` extends beyond its own tag
            if self.words.end == inside.1 {
                (self.words.at, self.trims) = (end, right);
            }
            self.words.end = text.len();
        }
        self.literal(text.len())?;
        if let Some(at) = self.comment {
            return Err(Mistake::at(at, "this `comment` has no `{% endcomment %}`"));
        }
        if let Some(open) = self.open.pop() {
            return Err(Mistake::at(open.at, format!("this `{0}` has no `{{% end{0} %}}`", open.word)));
        }
        Ok(())
    }

    /// The next `{{` (true) or `{%`.
    fn opener(&self) -> Option<(usize, bool)> {
        let rest = self.words.rest();
        let found = rest.match_indices('{').find_map(|(n, _)| match rest.as_bytes().get(n + 1) {
            Some(b'{') => Some((n, true)),
            Some(b'%') => Some((n, false)),
            _ => None,
        });
        found.map(|(n, output)| (self.words.at + n, output))
    }

    /// The text up to a place becomes a constant that is printed.
    fn literal(&mut self, end: usize) -> ScanResult {
        let at = self.words.at;
        let mut text = self.words.text.get(at..end).unwrap_or_default();
        if self.trims {
            text = js::trim_start(text);
        }
        if self.words.text.get(end + 2..).is_some_and(|t| t.starts_with('-')) {
            text = js::trim_end(text);
        }
        if text.is_empty() || self.comment.is_some() {
            return Ok(());
        }
        let slot = self.words.constant(LiquidValue::text(text));
        self.begin("echo", at)?;
        self.words.piece(at, slot)?;
        self.words.close()
    }

    /// The contents of the tag that begins at `start`, the end of the tag, and whether it trims what follows.
    fn inside(&self, start: usize, output: bool) -> Result<((usize, usize), usize, bool), Mistake> {
        let text = self.words.text;
        let from = start + 2 + usize::from(text.get(start + 2..).is_some_and(|t| t.starts_with('-')));
        let rest = text.get(from..).unwrap_or_default();
        let close = if output { closing_output(rest) } else { rest.find("%}") };
        let Some(length) = close else {
            let (open, close) = if output { ("{{", "}}") } else { ("{%", "%}") };
            return Err(Mistake::at(start, format!("this `{open}` has no `{close}`")));
        };
        let trims = rest.get(..length).is_some_and(|inside| inside.ends_with('-'));
        Ok(((from, from + length - usize::from(trims)), from + length + 2, trims))
    }

    fn in_comment(&mut self) {
        if self.words.word() == "endcomment" {
            self.comment = None;
        }
    }

    /// Begins a tag for the crate; its first word is its place in the template.
    fn begin(&mut self, word: &str, at: usize) -> ScanResult {
        self.words.open(word);
        self.words.piece(at, at)
    }

    fn value(&mut self, at: usize) -> ScanResult {
        self.begin("echo", at)?;
        self.words.all(false)?;
        self.words.close()
    }

    fn tag(&mut self, at: usize) -> ScanResult {
        self.words.skip_blank();
        if self.words.take("#") {
            return Ok(());
        }
        let word = self.words.word();
        match word {
            "comment" => {
                self.comment = Some(at);
                return Ok(());
            }
            "raw" => return self.raw(at),
            "liquid" => return self.lines(),
            "if" | "unless" | "case" | "for" | "tablerow" | "capture" => self.opens(at, word)?,
            "elsif" | "when" | "else" => self.continues(at, word)?,
            _ if word.starts_with("end") => return self.ends(at, word),
            _ if !TAGS.contains(&word) => return Err(unknown_tag(at, word)),
            _ => {}
        }
        self.begin(word, at)?;
        if matches!(word, "for" | "tablerow" | "capture" | "assign" | "increment" | "decrement") {
            self.words.name()?;
        }
        if word != "else" {
            self.words.all(false)?;
        }
        self.words.close()
    }

    fn opens(&mut self, at: usize, word: &str) -> ScanResult {
        if self.open.len() >= TextLimits::LIQUID.depth {
            return Err(Mistake::bound(at, format!("blocks are nested deeper than {}", TextLimits::LIQUID.depth)));
        }
        let word = TAGS.iter().find(|tag| **tag == word).copied().unwrap_or_default();
        self.open.push(OpenTag { at, word, in_else: false });
        Ok(())
    }

    fn continues(&mut self, at: usize, word: &str) -> ScanResult {
        let (fits, said): (fn(&str) -> bool, _) = match word {
            "elsif" => (|open| matches!(open, "if" | "unless"), "`elsif` belongs into an `if` or `unless`, before its `else`"),
            "when" => (|open| open == "case", "`when` belongs into a `case`, before its `else`"),
            _ => (|open| open != "capture", "`else` belongs into an `if`, `unless`, `case` or `for`, once"),
        };
        match self.open.last_mut() {
            Some(open) if fits(open.word) && (!open.in_else || word == "else" && matches!(open.word, "case" | "unless")) => {
                open.in_else = word == "else";
                Ok(())
            }
            _ => Err(Mistake::at(at, said)),
        }
    }

    fn ends(&mut self, at: usize, word: &str) -> ScanResult {
        let Some(open) = self.open.pop() else {
            return Err(Mistake::at(at, format!("`{word}` closes nothing")));
        };
        if word.strip_prefix("end") != Some(open.word) {
            return Err(Mistake::at(at, format!("`{word}` cannot close the `{0}` that is open; write `end{0}`", open.word)));
        }
        self.words.open(word);
        self.words.close()
    }

    /// Everything up to `{% endraw %}` is text.
    fn raw(&mut self, at: usize) -> ScanResult {
        let text = self.words.text;
        let from = self.words.end + text.get(self.words.end..).and_then(|t| t.find("%}")).unwrap_or_default() + 2;
        let left = text.get(..from).is_some_and(|t| t.ends_with("-%}"));
        let rest = text.get(from..).unwrap_or_default();
        for (n, _) in rest.match_indices("{%") {
            (self.words.at, self.words.end) = (from + n + 2, text.len());
            self.words.take("-");
            if self.words.word() == "endraw" {
                self.words.skip_blank();
                let trims = self.words.take("-");
                if self.words.take("%}") {
                    let end = self.words.at;
                    (self.words.at, self.trims) = (from, left);
                    self.literal(from + n)?;
                    (self.words.at, self.trims) = (end, trims);
                    return Ok(());
                }
            }
        }
        Err(Mistake::at(at, "this `raw` has no `{% endraw %}`"))
    }

    /// `{% liquid %}`: each line is a tag.
    fn lines(&mut self) -> ScanResult {
        let (text, end) = (self.words.text, self.words.end);
        let mut from = self.words.at;
        for line in text.get(from..end).unwrap_or_default().split('\n') {
            let line_end = from + line.len();
            let start = line_end - js::trim_start(line).len();
            (self.words.at, self.words.end) = (start, line_end);
            match (self.comment, self.words.word()) {
                _ if start == line_end => {}
                (Some(_), word) => self.comment = self.comment.filter(|_| word != "endcomment"),
                (None, word @ ("raw" | "liquid")) => {
                    return Err(Mistake::at(start, format!("`{word}` cannot stand inside `liquid`")));
                }
                (None, _) => {
                    self.words.at = start;
                    self.tag(start)?;
                }
            }
            from = line_end + 1;
        }
        self.words.end = end;
        Ok(())
    }
}

/// The position of the `}}` of an output; one in quotes is text.
fn closing_output(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut quote = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'}') if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn unknown_tag(at: usize, word: &str) -> Mistake {
    let said = match word {
        "render" | "include" | "layout" | "block" => "; there are no other templates to call from here".to_owned(),
        _ => suggest::help(word, TAGS.iter().copied()).map(|help| format!("; {help}")).unwrap_or_default(),
    };
    Mistake::at(at, format!("there is no tag `{word}`{said}"))
}
