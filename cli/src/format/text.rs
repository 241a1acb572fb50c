//! Texts and comments that are longer than a line. A text keeps its value: it is broken with a backslash at the end of
//! the line, which removes the line break and the white space that follows, or at a line break of its own.

use super::tree::{ScalarKind, TomlScalar};

/// The least number of characters on a line of a text, whatever the available width is.
const LEAST: usize = 8;

/// A comment in lines of at most `most` characters. Instructions to editors (`#:schema …`) stay whole.
pub(super) fn wrap(comment: &str, most: usize) -> Vec<String> {
    let body = comment.trim_start_matches('#');
    let marks = comment.get(..comment.len() - body.len()).unwrap_or("#");
    let gap: String = body.chars().take_while(|c| c.is_whitespace()).collect();
    let head = format!("{marks}{}", if gap.is_empty() { " " } else { &gap });
    if body.starts_with([':', '!']) || comment.chars().count() <= most {
        return vec![comment.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = format!("{marks}{gap}");
    let mut used = line.chars().count();
    let mut fresh = true;
    for piece in body.trim_start().split_inclusive(' ') {
        let word = piece.trim_end();
        let wide = word.chars().count();
        if !fresh && !word.is_empty() && used + wide > most {
            lines.push(line.trim_end().to_owned());
            line = head.clone();
            used = line.chars().count();
        }
        line.push_str(piece);
        used += piece.chars().count();
        fresh = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// One step of a text: a character, or an escape with its backslash.
fn units(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.chars();
        let length = match chars.next()? {
            '\\' => {
                let kind = chars.next();
                let digits = match kind {
                    Some('u') => 4,
                    Some('U') => 8,
                    _ => 0,
                };
                1 + kind.map_or(0, char::len_utf8) + digits
            }
            c => c.len_utf8(),
        };
        let unit = rest.get(..length).unwrap_or(rest);
        rest = rest.get(unit.len()..).unwrap_or("");
        Some(unit)
    })
}

/// The contents of the quotes, as a basic text of several lines writes them.
fn basic(text: &TomlScalar<'_>) -> String {
    let inner = text.text.get(1..text.text.len().saturating_sub(1)).unwrap_or("");
    if text.kind == ScalarKind::Literal {
        return plain_quotes(&inner.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t"));
    }
    plain_quotes(inner)
}

/// A quote between other characters needs no backslash among three quotes.
fn plain_quotes(text: &str) -> String {
    const QUOTE: &str = "\\\"";
    let mut out = String::with_capacity(text.len());
    let mut rest = units(text).peekable();
    let mut before = "";
    while let Some(unit) = rest.next() {
        let alone = before != QUOTE && rest.peek().is_some_and(|next| *next != QUOTE);
        out.push_str(if unit == QUOTE && alone { "\"" } else { unit });
        before = unit;
    }
    out
}

/// A text of one line over several lines, each indented by `pad`. `after` characters follow its closing quotes.
pub(super) fn split(text: &TomlScalar<'_>, pad: usize, after: usize, most: usize, newline: &str) -> String {
    let inner = basic(text);
    let indent = " ".repeat(pad);
    // a line break of the text can only be written as one if nothing is indented
    let real = pad == 0 && newline == "\n";
    let mut out = String::from(if pad == 0 { "\"\"\"" } else { "\"\"\"\\" });
    let paragraphs: Vec<&str> = if real { paragraphs(&inner) } else { vec![&inner] };
    for (n, paragraph) in paragraphs.iter().enumerate() {
        let is_last = n + 1 == paragraphs.len();
        let end = if is_last { after + 3 } else { 0 };
        let lines = broken(paragraph, most.saturating_sub(pad), end, pad > 0 && n == 0);
        for (n, line) in lines.iter().enumerate() {
            out.push_str(if n > 0 { "\\" } else { "" });
            out.push_str(newline);
            out.push_str(&indent);
            out.push_str(line);
        }
    }
    out.push_str("\"\"\"");
    out
}

/// The pieces between the line breaks of a text. A line break after white space stays an escape, because editors remove
/// white space at the end of a line.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut blank = false;
    for unit in units(text) {
        if unit == "\\n" && !blank {
            found.extend(text.get(start..at));
            start = at + unit.len();
        }
        at += unit.len();
        blank = matches!(unit, " " | "\t");
    }
    found.extend(text.get(start..));
    found
}

/// Breaks a piece of a text into lines of at most `most` characters, including the backslash at the end of each line
/// but the last. `end` characters follow the last line. `trimmed`: white space at the beginning would be lost.
fn broken(text: &str, most: usize, end: usize, trimmed: bool) -> Vec<String> {
    let most = most.max(LEAST + 4);
    let mut lines = Vec::new();
    let mut line: Vec<&str> = Vec::new();
    let mut used = 0;
    let mut rest = units(text).peekable();
    // the remaining length decides whether a line may be the last, so the whole is measured once
    let mut left = text.chars().count();
    if trimmed && let Some(space) = rest.next_if(|unit| matches!(*unit, " " | "\t")) {
        line.push(if space == " " { "\\u0020" } else { "\\t" });
        used += 6;
        left -= 1;
    }
    loop {
        if used + left + end <= most {
            line.extend(rest.by_ref());
            lines.push(line.concat());
            return lines;
        }
        let Some(unit) = rest.next() else {
            // the text has ended, but what follows it does not fit, so part of the text moves to one more line
            let mut room = most.saturating_sub(end);
            let fits = line.iter().rev().take_while(|unit| {
                let wide = unit.chars().count();
                let ok = wide <= room;
                room = room.saturating_sub(wide);
                ok
            });
            let at = cut(&line, line.len() - fits.count());
            let last = line.split_off(at);
            lines.extend(Some(line.concat()).filter(|line| !line.is_empty()));
            lines.push(last.concat());
            return lines;
        };
        let wide = unit.chars().count();
        if used + wide + 1 > most {
            let kept = line.split_off(cut(&line, 0));
            lines.push(std::mem::replace(&mut line, kept).concat());
            used = line.iter().map(|unit| unit.chars().count()).sum();
        }
        // white space at the beginning of a line would be lost
        if line.is_empty() && !lines.is_empty() && matches!(unit, " " | "\t") {
            line.push(if unit == " " { "\\u0020" } else { "\\t" });
            used += if unit == " " { 6 } else { 2 };
        } else {
            line.push(unit);
            used += wide;
        }
        left -= wide;
    }
}

/// Where a line is cut, at `from` or after it: after its last white space, else before a group or a `|` of a pattern or
/// after a comma, else at the limit. The rest does not begin with white space, which would be lost.
fn cut(line: &[&str], from: usize) -> usize {
    let half = line.len() / 2;
    let blank = |n: usize| matches!(line.get(n), Some(&(" " | "\t")));
    let space = |n: usize| (blank(n - 1) || line.get(n - 1) == Some(&"\\n")) && !blank(n);
    let group = |n: usize| line.get(n) == Some(&"(");
    let sign = |n: usize| line.get(n) == Some(&"|") || line.get(n - 1) == Some(&",") && !blank(n);
    let last = |wanted: &dyn Fn(usize) -> bool, least: usize| (least.max(from).max(1)..line.len()).rev().find(|n| wanted(*n));
    let nice = last(&space, half / 2).or_else(|| last(&group, half)).or_else(|| last(&sign, half));
    let must = || if from == 0 { None } else { (from..line.len()).find(|n| !blank(*n)) };
    nice.or_else(must).unwrap_or(line.len())
}

/// Whether a line of a text ends with the backslash that removes the line break and the white space behind it.
fn continues(line: &str) -> bool {
    let line = line.trim_end_matches('\r');
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// A text that its author wrote over several lines, with those of its lines broken that are too long. What is left of such
/// a line stands in front of the line that it continues with.
pub(super) fn rewrap(text: &str, column: usize, most: usize, newline: &str) -> String {
    let body = |line: &str| line.trim_end_matches('\r').chars().count();
    if text.split('\n').enumerate().all(|(n, line)| body(line) + if n == 0 { column } else { 0 } <= most) {
        return text.to_owned();
    }
    let (text, close) = text.strip_suffix("\"\"\"").map_or((text, ""), |text| (text, "\"\"\""));
    let mut out = String::new();
    let mut lines = text.split('\n').enumerate().peekable();
    let mut left: Option<String> = None;
    // whether white space at the beginning of a line is no part of the value
    let mut is_layout = false;
    while let Some((n, line)) = lines.next() {
        out.push_str(if n > 0 { "\n" } else { "" });
        let joined = left.take().map(|left| left + line.trim_start_matches([' ', '\t']));
        let line = joined.as_deref().unwrap_or(line);
        let was_layout = std::mem::replace(&mut is_layout, continues(line));
        // at least a comma may follow the closing quotes
        let end = if lines.peek().is_none() { close.len() + 1 } else { 0 };
        if n == 0 || body(line) + end <= most {
            out.push_str(line);
            continue;
        }
        let (line, end_of_line) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
        let inner = if was_layout { line.trim_start_matches([' ', '\t']) } else { line };
        let indent = line.get(..line.len() - inner.len()).unwrap_or_default();
        let mut pieces = broken(inner, most.saturating_sub(indent.chars().count()), end, false);
        if is_layout && pieces.len() > 1 && lines.peek().is_some_and(|(_, next)| !next.trim().is_empty()) {
            left = pieces.pop().map(|last| format!("{indent}{}", last.strip_suffix('\\').unwrap_or(&last)));
        }
        let ending = format!("\\{newline}");
        out.push_str(&pieces.iter().map(|piece| format!("{indent}{piece}")).collect::<Vec<_>>().join(&ending));
        out.push_str(if left.is_some() { "\\" } else { "" });
        out.push_str(end_of_line);
    }
    out.push_str(close);
    out
}
