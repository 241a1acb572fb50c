//! Parses TOML text to a tree of [`DocumentNode`]s with their places. All mistakes of a file are reported, not only the first.
//!
//! The place of a key is its own span, that of a `[table]` or `[[row]]` is its header, and that of a value is its text
//! with quotes. Dates become texts. Nesting is checked before the parser runs, so that the parser cannot overflow the
//! stack.

use std::sync::Arc;

use ::toml::de::{DeTable, DeValue};

use crate::diag::memory::{self, quoted_length};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, SourceId, Span, TableField, limits};

/// Reads a whole file. `None` if it is not TOML; the report has every reason.
#[must_use]
pub fn parse(source: SourceId, text: &str, report: &mut Report) -> Option<DocumentNode> {
    if let Some(at) = too_deep(text) {
        let message = format!("values are nested deeper than {} levels", limits::RULE_NESTING);
        let help = "use fewer dots in keys and fewer brackets inside brackets";
        report.push(Diagnostic::new(Code::FileTooDeep, message).at(Span::new(source, at, at + 1)).help(help));
        return None;
    }
    // all syntax errors are looked for up to an eighth of what a file may have: the parser keeps each of them
    let is_long = memory::exceeds(text.as_bytes(), limits::INPUT_MEMORY / 8);
    let read = if is_long { DeTable::parse(text).map(|root| (root, Vec::new())) } else { Ok(DeTable::parse_recoverable(text)) };
    let (root, errors) = match read {
        Ok(read) => read,
        Err(first) => {
            let told = complaint(source, text, &first);
            let help = told.help.as_deref().unwrap_or_default();
            let help = format!("{help}; of so large a file, only the first mistake is shown");
            report.push(told.help(help));
            return None;
        }
    };
    for error in errors.iter().take(limits::WARNED) {
        let told = complaint(source, text, error);
        // only the one mistake of a file can be tried
        let same = told.span.filter(|_| errors.len() == 1 && told.code == Code::SyntaxDuplicate).and_then(|at| same_line(text, at));
        report.push(match same {
            Some(line) => told.fix(Span::new(source, line.start, line.end), ""),
            None => told,
        });
    }
    let mut reader = TomlReader { source, report, sound: errors.is_empty() };
    let span = reader.span(&root.span());
    let table = reader.table(root.get_ref());
    reader.sound.then_some(DocumentNode { span, data: NodeValue::Table(table) })
}

fn complaint(source: SourceId, text: &str, error: &::toml::de::Error) -> Diagnostic {
    let range = error.span().unwrap_or(0..0);
    // an error at the very end has nothing to underline; a span that ends inside a character would have no text
    let end = (range.end.max(range.start + 1)).min(text.len());
    let end = (end..=text.len()).find(|n| text.is_char_boundary(*n)).unwrap_or(text.len());
    let span = Span::new(source, range.start.min(end), end);
    let message = error.message().replace('\n', ", ");
    let duplicate = message.starts_with("duplicate key");
    let code = if duplicate { Code::SyntaxDuplicate } else { Code::SyntaxToml };
    let message = match text.get(range.clone()).filter(|_| duplicate) {
        Some(key) => format!("`{key}` is written twice"),
        None => message,
    };
    let help = match message.as_str() {
        _ if duplicate => "keep one of them; rows of a list begin with `[[name]]`",
        m if m.contains("string values must be quoted") || m.contains("invalid unquoted") => "put texts in quotes",
        m if m.contains("basic string") || m.contains("literal string") => {
            "close the text on its own line, or put one of several lines between `\"\"\"`"
        }
        _ => "see https://toml.io for how TOML is written",
    };
    Diagnostic::new(code, message).at(span).help(help)
}

/// The line of a key that is written twice, if it can go: its table has the same line before, and whichever of the two is
/// taken out, the document says the same.
fn same_line(text: &str, second: Span) -> Option<std::ops::Range<usize>> {
    let at = second.start as usize;
    let start = text.get(..at)?.rfind('\n').map_or(0, |n| n + 1);
    let end = text.get(at..)?.find('\n').map_or(text.len(), |n| at + n + 1);
    let line = text.get(start..end)?.trim();
    let above = text.get(..start)?;
    let table = above.rfind("\n[").map_or(0, |n| n + 1);
    let mut first = table;
    for other in above.get(table..)?.split_inclusive('\n') {
        if other.trim() == line {
            let without = |from: usize, to: usize| Some(format!("{}{}", text.get(..from)?, text.get(to..)?).parse::<::toml::Table>().ok());
            let (one, two) = (without(start, end)??, without(first, first + other.len())??);
            return (one == two).then_some(start..end);
        }
        first += other.len();
    }
    None
}

struct TomlReader<'a> {
    source: SourceId,
    report: &'a mut Report,
    sound: bool,
}

impl TomlReader<'_> {
    fn span(&self, range: &std::ops::Range<usize>) -> Span {
        Span::new(self.source, range.start, range.end)
    }

    /// Recursion is bounded by [`limits::RULE_NESTING`], which is checked first.
    fn table(&mut self, table: &DeTable<'_>) -> FieldMap {
        let fields = table.iter().map(|(key, value)| {
            let node = self.node(value.get_ref(), self.span(&value.span()));
            (Arc::from(key.get_ref().as_ref()), TableField { key: self.span(&key.span()), node })
        });
        fields.collect()
    }

    fn node(&mut self, value: &DeValue<'_>, span: Span) -> DocumentNode {
        let data = match value {
            DeValue::String(text) => NodeValue::Text(Arc::from(text.as_ref())),
            DeValue::Boolean(b) => NodeValue::Bool(*b),
            DeValue::Datetime(date) => NodeValue::Text(Arc::from(date.to_string())),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(n) => NodeValue::Int(n),
                Err(_) => self.bad(span, "a whole number is too large", "it must fit into 64 bits"),
            },
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(n) if n.is_finite() => NodeValue::Float(n),
                _ => self.bad(span, "a number is not finite", "`inf` and `nan` have no meaning in rules"),
            },
            DeValue::Array(list) => NodeValue::List(list.iter().map(|item| self.node(item.get_ref(), self.span(&item.span()))).collect()),
            DeValue::Table(table) => NodeValue::Table(self.table(table)),
        };
        DocumentNode { span, data }
    }

    fn bad(&mut self, span: Span, message: &str, help: &str) -> NodeValue {
        self.sound = false;
        self.report.push(Diagnostic::new(Code::SyntaxToml, message).at(span).help(help));
        NodeValue::Null
    }
}

/// The offset at which nesting first exceeds [`limits::RULE_NESTING`], counting brackets and the dots of keys outside of texts and
/// comments.
fn too_deep(text: &str) -> Option<usize> {
    let mut scan = NestingDepth { fresh: true, ..NestingDepth::default() };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        let step = match rest.as_bytes().first()? {
            b'#' => rest.find('\n').unwrap_or(rest.len()),
            b'"' | b'\'' => quoted_length(rest.as_bytes()),
            byte => {
                scan.step(*byte);
                rest.chars().next().map_or(1, char::len_utf8)
            }
        };
        if scan.now() > limits::RULE_NESTING {
            return Some(at);
        }
        at += step;
    }
    None
}

/// The nesting depth at the current position of the scan.
#[derive(Default)]
struct NestingDepth {
    /// The depth inside of each open bracket.
    open: Vec<usize>,
    /// The depth that the last `[header]` has set for the keys after it.
    header: usize,
    /// Dots since the last bracket, comma or line break.
    dots: usize,
    /// Whether there has only been white space since the line break.
    fresh: bool,
    /// Whether the outermost open bracket is a header's.
    in_header: bool,
}

impl NestingDepth {
    fn now(&self) -> usize {
        self.open.last().copied().unwrap_or(self.header) + self.dots
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'[' | b'{' => {
                if self.open.is_empty() && self.fresh && byte == b'[' {
                    self.in_header = true;
                    self.header = 0;
                }
                let inside = self.now() + 1;
                self.open.push(inside);
                self.dots = 0;
            }
            b']' | b'}' => {
                if self.in_header && self.open.len() == 1 {
                    self.header = self.now();
                    self.in_header = false;
                }
                let inner = self.open.pop().unwrap_or(0) + self.dots;
                // `[[row.name]]`: the outer bracket closes with the depth of the inner one
                self.dots = if self.in_header { inner - self.open.last().copied().unwrap_or(0).min(inner) } else { 0 };
            }
            b'.' => self.dots += 1,
            b',' => self.dots = 0,
            b'\n' => {
                self.dots = 0;
                self.fresh = true;
                return;
            }
            b' ' | b'\t' | b'\r' => return,
            _ => {}
        }
        self.fresh = false;
    }
}
