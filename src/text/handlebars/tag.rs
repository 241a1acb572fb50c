//! One tag of a template, read from `{{` to `}}`: what kind it is, what it calls, and which white space it takes.

use super::{Arg, Call, LIMITS, Path};
use crate::model::Value;
use crate::text::Mistake;

/// A tag.
pub(super) struct Tag {
    pub kind: Kind,
    pub strip: Strip,
    /// Where it ends, in bytes.
    pub end: usize,
}

pub(super) enum Kind {
    Comment,
    Put(Call),
    /// `{{#name}}`
    Open(Call),
    /// `{{^name}}`
    OpenInverse(Call),
    /// `{{else}}` or `{{^}}`
    Else,
    /// `{{else name}}`
    Chain(Call),
    Close(Path),
}

/// Which sides a `~` stands on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Strip {
    pub open: bool,
    pub close: bool,
}

/// Reads the tag at `at`.
pub(super) fn read(text: &str, at: usize) -> Result<Tag, Mistake> {
    let mut r = Reader { text, at: at + 2, start: at };
    if r.rest().starts_with("{{") {
        return Err(r.refused("raw blocks are not supported"));
    }
    let mut strip = Strip { open: r.take("~"), close: false };
    if r.take("!") {
        return r.comment(strip);
    }
    if r.rest().starts_with('>') || r.rest().starts_with("#>") {
        return Err(r.refused("partials are not supported"));
    }
    if r.rest().starts_with('*') || r.rest().starts_with("#*") {
        return Err(r.refused("decorators are not supported"));
    }
    let mut raw = false;
    let kind = if r.take("#") {
        Kind::Open(r.call()?)
    } else if r.take("/") {
        Kind::Close(r.close_path()?)
    } else if r.take("^") {
        r.blank();
        if r.at_end() { Kind::Else } else { Kind::OpenInverse(r.call()?) }
    } else if r.take_else() {
        r.blank();
        if r.at_end() { Kind::Else } else { Kind::Chain(r.call()?) }
    } else {
        raw = r.take("{");
        if !raw {
            r.take("&");
        }
        let call = r.call()?;
        r.blank();
        if r.rest().starts_with("}}}}") || (raw && !r.take("}")) {
            return Err(r.unreadable());
        }
        Kind::Put(call)
    };
    r.blank();
    // the end of `{{{name}}}` ends nothing else
    if !raw && !matches!(kind, Kind::Else) && (r.rest().starts_with("}}}") || r.rest().starts_with("}~}}")) {
        return Err(r.unreadable());
    }
    strip.close = r.take("~");
    if !r.take("}}") {
        return Err(r.unreadable());
    }
    Ok(Tag { kind, strip, end: r.at })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    start: usize,
}

fn is_name(c: char) -> bool {
    !(c.is_whitespace() || matches!(c, '!' | '"' | '#' | '%'..=',' | '.' | '/' | ';'..='>' | '@' | '['..='^' | '`' | '{'..='~'))
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn at_end(&self) -> bool {
        self.rest().starts_with("}}") || self.rest().starts_with("~}}")
    }

    fn unreadable(&self) -> Mistake {
        Mistake::at(self.at.min(self.text.len()), "the tag cannot be read here")
    }

    fn refused(&self, why: &str) -> Mistake {
        Mistake::at(self.start, why)
    }

    fn comment(&mut self, mut strip: Strip) -> Result<Tag, Mistake> {
        let long = self.rest().starts_with("--");
        let ends: [(&str, bool); 2] = if long { [("--~}}", true), ("--}}", false)] } else { [("~}}", true), ("}}", false)] };
        let found = ends.iter().filter_map(|(end, tilde)| Some((self.rest().find(end)?, end.len(), *tilde))).min_by_key(|f| f.0);
        let Some((place, length, tilde)) = found else {
            return Err(self.refused("the comment is not closed"));
        };
        strip.close = tilde;
        Ok(Tag { kind: Kind::Comment, strip, end: self.at + place + length })
    }

    fn take_else(&mut self) -> bool {
        let before = self.at;
        self.blank();
        let word = self.rest().strip_prefix("else");
        if word.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')) {
            self.at += 4;
            return true;
        }
        self.at = before;
        false
    }

    /// A name or path, and what it is given.
    fn call(&mut self) -> Result<Call, Mistake> {
        self.call_within(0)
    }

    fn call_within(&mut self, depth: usize) -> Result<Call, Mistake> {
        self.blank();
        let offset = self.at;
        let path = match self.arg(depth)? {
            Arg::Path(path) => path,
            // a literal that stands first is a name like any other
            Arg::Value(Value::Text(name)) => plain(&name),
            Arg::Value(_) => plain(self.text.get(offset..self.at).unwrap_or_default()),
            Arg::Call(_) => return Err(Mistake::at(offset, "a call cannot name a helper")),
        };
        let mut call = Call { path, args: Vec::new(), named: Vec::new(), offset };
        loop {
            self.blank();
            if self.rest().is_empty() || self.rest().starts_with(['}', '~', ')']) {
                return Ok(call);
            }
            if let Some(key) = self.key() {
                self.blank();
                let value = self.arg(depth)?;
                call.named.push((key, value));
            } else if call.named.is_empty() {
                let arg = self.arg(depth)?;
                call.args.push(arg);
            } else {
                return Err(self.unreadable());
            }
        }
    }

    /// `name =`, if that is what follows.
    fn key(&mut self) -> Option<Box<str>> {
        let before = self.at;
        let key = self.name();
        self.blank();
        if key.is_some() && self.take("=") {
            return key.map(Into::into);
        }
        self.at = before;
        None
    }

    fn arg(&mut self, depth: usize) -> Result<Arg, Mistake> {
        if depth >= LIMITS.depth {
            return Err(Mistake::bound(self.at, format!("calls are nested deeper than {}", LIMITS.depth)));
        }
        if self.take("(") {
            let call = self.call_within(depth + 1)?;
            self.blank();
            return if self.take(")") { Ok(Arg::Call(Box::new(call))) } else { Err(self.unreadable()) };
        }
        for quote in ['"', '\''] {
            if self.rest().starts_with(quote) {
                return self.quoted(quote).map(Arg::Value);
            }
        }
        if let Some(value) = self.literal() {
            return Ok(Arg::Value(value));
        }
        self.path().map(Arg::Path)
    }

    fn quoted(&mut self, quote: char) -> Result<Value, Mistake> {
        let mut out = String::new();
        let mut escaped = false;
        for (n, c) in self.rest().char_indices().skip(1) {
            match (escaped, c) {
                (true, c) => {
                    if c != quote {
                        out.push('\\');
                    }
                    out.push(c);
                    escaped = false;
                }
                (false, '\\') => escaped = true,
                (false, c) if c == quote => {
                    self.at += n + 1;
                    return Ok(Value::text(out));
                }
                (false, c) => out.push(c),
            }
        }
        Err(Mistake::at(self.at, "the quoted text is not closed"))
    }

    /// A number, `true`, `false`, `null` or `undefined`.
    fn literal(&mut self) -> Option<Value> {
        let rest = self.rest();
        let end = rest.find(|c: char| c == '~' || c == '}' || c == ')' || c == ']' || c.is_whitespace()).unwrap_or(rest.len());
        let word = rest.get(..end)?;
        let digits = word.strip_prefix('-').unwrap_or(word);
        let number = digits.split('.').count() <= 2 && digits.split('.').all(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "undefined" => Value::Null,
            _ if number => word.parse::<i64>().map(Value::Int).or_else(|_| word.parse().map(Value::Num)).ok()?,
            _ => return None,
        };
        self.at += end;
        Some(value)
    }

    fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let name = rest.get(..end).filter(|n| !n.is_empty())?;
        let follows = rest.get(end..).and_then(|r| r.chars().next());
        if follows.is_some_and(|c| !(c.is_whitespace() || matches!(c, '=' | '~' | '}' | '/' | '.' | ')' | ']' | '|'))) {
            return None;
        }
        self.at += end;
        Some(name)
    }

    fn path(&mut self) -> Result<Path, Mistake> {
        let data = self.take("@");
        let (mut up, mut parts, mut name) = (0, Vec::<Box<str>>::new(), String::new());
        let mut scoped = false;
        loop {
            let (part, literal) = self.segment()?;
            scoped |= name.is_empty() && part.starts_with('.') && !literal;
            name.push_str(&part);
            match (&*part, literal) {
                ("." | "this" | "..", false) if !parts.is_empty() => {
                    return Err(Mistake::at(self.at, format!("`{name}` is no path")));
                }
                ("..", false) => up += 1,
                ("." | "this", false) => scoped = true,
                _ => parts.push(part),
            }
            match self.rest().chars().next() {
                Some(c @ ('.' | '/')) => {
                    self.at += 1;
                    name.push(c);
                }
                _ => break,
            }
        }
        let simple = parts.len() == 1 && up == 0 && !scoped;
        let helper = simple && is_helper(&name);
        Ok(Path { up, parts, data, simple, helper, name: name.into() })
    }

    /// One step of a path, and whether it stood in brackets.
    fn segment(&mut self) -> Result<(Box<str>, bool), Mistake> {
        if self.take("[") {
            let rest = self.rest();
            let Some(end) = rest.find(']') else { return Err(self.unreadable()) };
            self.at += end + 1;
            return Ok((rest.get(..end).unwrap_or_default().into(), true));
        }
        if self.take("..") {
            return Ok(("..".into(), false));
        }
        if self.rest().starts_with('.') {
            let follows = self.rest().chars().nth(1);
            if follows.is_none_or(|c| c.is_whitespace() || matches!(c, '=' | '~' | '}' | '/' | '.' | ')' | ']' | '|')) {
                self.at += 1;
                return Ok((".".into(), false));
            }
        }
        self.name().map(|n| (n.into(), false)).ok_or_else(|| self.unreadable())
    }

    fn close_path(&mut self) -> Result<Path, Mistake> {
        let call = self.call()?;
        if call.args.is_empty() && call.named.is_empty() { Ok(call.path) } else { Err(self.unreadable()) }
    }
}

/// A path of one name.
fn plain(name: &str) -> Path {
    Path { up: 0, parts: vec![name.into()], data: false, simple: true, helper: is_helper(name), name: name.into() }
}

fn is_helper(name: &str) -> bool {
    ["if", "unless", "each", "with", "lookup", "log", "trim"].contains(&name)
}
