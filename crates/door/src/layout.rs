//! The layout of texts for a terminal: tables, texts on one line, and beginnings of texts.

use crate::diag::Span;
use crate::diag::short::{self, is_unseen};
use crate::pack::Ruleset;

/// Aligns rows in columns; the width of the last column is not limited.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |n: usize| rows.iter().filter_map(|r| r.get(n)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!(" {cell:width$} "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A text for a terminal. What the terminal would obey, and what nobody would see, is shown by its number: `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) && !matches!(c, '\n' | '\t') { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    visible(text).replace('\n', "⏎").replace('\t', " ")
}

/// The first `most` characters of a text, on one line.
pub fn head(text: &str, most: usize) -> String {
    one_line(&short::head(text, most))
}

/// `file:line` of a pass; `None` for a pass that the pack does not have.
pub fn place_of(rules: &Ruleset, pass: &str) -> Option<String> {
    place_at(rules, rules.span_of_pass(pass)?)
}

/// `file:line` of a place in the rules.
pub fn place_at(rules: &Ruleset, span: Span) -> Option<String> {
    let place = rules.sources().place(span)?;
    Some(format!("{}:{}", place.file, place.line))
}

/// A number of things: `1 error`, `2 errors`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
