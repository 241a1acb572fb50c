//! Parses JSON text to a tree of [`DocumentNode`]s with their places. Strict JSON: no comments, no trailing commas.
//!
//! This is our own parser because no JSON crate both keeps places and reports duplicate keys. The first syntax error
//! ends parsing; duplicate keys are reported, and the later one counts, as in JavaScript.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, Severity, SourceId, Span, TableField, limits};

/// Parses a whole text. `None` if it is not JSON; the report says why.
#[must_use]
pub fn parse(source: SourceId, text: &str, report: &mut Report) -> Option<DocumentNode> {
    let mut reader = JsonReader { source, text, at: 0, depth: 0, told: 0, report };
    let root = reader.document();
    match root {
        Ok(node) => Some(node),
        Err(complaint) => {
            report.push(*complaint);
            None
        }
    }
}

/// Boxed, because it is the rare result.
type JsonResult<T> = Result<T, Box<Diagnostic>>;

struct JsonReader<'a> {
    source: SourceId,
    text: &'a str,
    at: usize,
    depth: usize,
    told: usize,
    report: &'a mut Report,
}

impl JsonReader<'_> {
    fn document(&mut self) -> JsonResult<DocumentNode> {
        self.space();
        let root = self.value()?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.wrong("text after the end of the value", "a JSON file holds one value"));
        }
        Ok(root)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.source, start, self.at)
    }

    /// The diagnostic about the current character.
    fn wrong(&self, message: &str, help: &str) -> Box<Diagnostic> {
        let width = self.text.get(self.at..).and_then(|t| t.chars().next()).map_or(0, char::len_utf8);
        let span = Span::new(self.source, self.at, self.at + width);
        Box::new(Diagnostic::new(Code::SyntaxJson, message).at(span).help(help))
    }

    fn value(&mut self) -> JsonResult<DocumentNode> {
        let start = self.at;
        let data = match self.peek() {
            Some(b'{') => NodeValue::Table(self.nested(Self::table)?),
            Some(b'[') => NodeValue::List(self.nested(Self::list)?),
            Some(b'"') => NodeValue::Text(Arc::from(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true", NodeValue::Bool(true))?,
            Some(b'f') => self.literal("false", NodeValue::Bool(false))?,
            Some(b'n') => self.literal("null", NodeValue::Null)?,
            None => return Err(self.wrong("the text ends where a value is expected", "is the file complete?")),
            Some(_) => return Err(self.wrong("a value is expected here", HELP_VALUE)),
        };
        Ok(DocumentNode { span: self.span(start), data })
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> JsonResult<T>) -> JsonResult<T> {
        if self.depth >= limits::NESTING {
            let message = format!("values are nested deeper than {} levels", limits::NESTING);
            let span = Span::new(self.source, self.at, self.at + 1);
            return Err(Box::new(Diagnostic::new(Code::FileTooDeep, message).at(span).help("use fewer brackets inside brackets")));
        }
        self.depth += 1;
        self.at += 1;
        let out = read(self);
        self.depth -= 1;
        out
    }

    fn list(&mut self) -> JsonResult<Vec<DocumentNode>> {
        let mut out = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(out);
        }
        loop {
            self.space();
            out.push(self.value()?);
            if !self.more(b']', "a list continues with `,` or ends with `]`")? {
                return Ok(out);
            }
        }
    }

    fn table(&mut self) -> JsonResult<FieldMap> {
        let mut out = FieldMap::default();
        self.space();
        if self.take(b'}') {
            return Ok(out);
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key in double quotes is expected here", "keys are quoted, and no comma follows the last one"));
            }
            let start = self.at;
            let name: Arc<str> = Arc::from(self.string()?);
            let key = self.span(start);
            self.space();
            if !self.take(b':') {
                return Err(self.wrong("a `:` is expected after the key", "write `\"key\": value`"));
            }
            self.space();
            let field = TableField { key, node: self.value()? };
            if let Some(old) = out.insert(name.clone(), field) {
                self.twice(&name, old.key, key);
            }
            if !self.more(b'}', "a table continues with `,` or ends with `}`")? {
                return Ok(out);
            }
        }
    }

    fn twice(&mut self, name: &str, first: Span, second: Span) {
        let complaint = Diagnostic::new(Code::SyntaxDuplicate, format!("key `{name}` is written twice in one table"));
        self.tell(complaint.at(second).label("again here").related(first, "first written here").help("keep one of them"));
    }

    fn tell(&mut self, complaint: Diagnostic) {
        self.told += 1;
        if self.told <= limits::REPORTED {
            self.report.push(complaint);
        }
    }

    /// Whether another element follows; consumes the comma or the closing bracket.
    fn more(&mut self, close: u8, help: &str) -> JsonResult<bool> {
        self.space();
        if self.take(close) {
            return Ok(false);
        }
        if self.take(b',') {
            return Ok(true);
        }
        let message =
            if self.peek().is_none() { "the text ends inside a list or table" } else { "a comma or a closing bracket is expected here" };
        Err(self.wrong(message, help))
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn literal(&mut self, word: &str, data: NodeValue) -> JsonResult<NodeValue> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let tail = rest.strip_prefix(word);
        if tail.is_none_or(|t| t.starts_with(|c: char| c.is_alphanumeric())) {
            return Err(self.wrong("a value is expected here", HELP_VALUE));
        }
        self.at += word.len();
        Ok(data)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> JsonResult<NodeValue> {
        let start = self.at;
        self.take(b'-');
        let zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (zero && whole > 1) {
            self.at = start;
            return Err(self.wrong("a number is not written as JSON has it", "no leading zeros, and a digit after the sign"));
        }
        let mut exact = true;
        if self.take(b'.') {
            exact = false;
            self.some_digits("a digit is expected after the point")?;
        }
        if self.take(b'e') || self.take(b'E') {
            exact = false;
            let _ = self.take(b'+') || self.take(b'-');
            self.some_digits("a digit is expected in the exponent")?;
        }
        let text = self.text.get(start..self.at).unwrap_or("");
        if let (true, Ok(n)) = (exact, text.parse::<i64>()) {
            return Ok(NodeValue::Int(n));
        }
        match text.parse::<f64>() {
            Ok(n) if n.is_finite() => Ok(NodeValue::Float(n)),
            _ => {
                let span = self.span(start);
                let complaint = Diagnostic::new(Code::SyntaxJson, "a number is too large").at(span);
                Err(Box::new(complaint.help("numbers go up to about 1.8e308")))
            }
        }
    }

    fn some_digits(&mut self, message: &str) -> JsonResult<()> {
        if self.digits() == 0 { Err(self.wrong(message, "numbers look like `1`, `-0.5` or `1e3`")) } else { Ok(()) }
    }

    /// Parses and decodes the string that begins at the current quote.
    fn string(&mut self) -> JsonResult<String> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or("");
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or(""));
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.wrong("a text holds a raw control character", "write a line break as `\\n`, a tab as `\\t`")),
                None => {
                    let span = Span::new(self.source, open, open + 1);
                    let complaint = Diagnostic::new(Code::SyntaxJson, "a text is not closed").at(span).label("opened here");
                    return Err(Box::new(complaint.help("end it with a double quote")));
                }
            }
        }
    }

    fn escape(&mut self) -> JsonResult<char> {
        let start = self.at;
        let mark = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match mark {
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(self.wrong("an escape is not one that JSON has", "a backslash itself is written `\\\\`")),
        };
        self.at += 2;
        Ok(plain)
    }

    /// `\uXXXX`, or two of them for a character beyond 16 bits.
    fn unicode(&mut self, start: usize) -> JsonResult<char> {
        let first = self.unit()?;
        if (0xD800..0xDC00).contains(&first) && self.text.get(self.at..).is_some_and(|t| t.starts_with("\\u")) {
            let before = self.at;
            let second = self.unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let mut complaint = Diagnostic::new(Code::SyntaxJson, "half a surrogate pair is read as U+FFFD").at(self.span(start));
        complaint.severity = Severity::Warning;
        self.tell(complaint.help("write both halves, or the character itself"));
        Ok(char::REPLACEMENT_CHARACTER)
    }

    /// The number of one `\uXXXX` at the current position.
    fn unit(&mut self) -> JsonResult<u32> {
        let hex = self.text.get(self.at + 2..self.at + 6).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(code) = hex.and_then(|h| u32::from_str_radix(h, 16).ok()) else {
            return Err(self.wrong("an escape `\\u` needs four hexadecimal digits", "for example `\\u00e9`"));
        };
        self.at += 6;
        Ok(code)
    }
}

const HELP_VALUE: &str = "a value is a text in double quotes, a number, `true`, `false`, `null`, `[…]` or `{…}`";
