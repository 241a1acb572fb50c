//! Reads a pattern in JavaScript's grammar: the strict one with the flag `u`, else the lenient one of browsers.

use std::sync::Arc;

use super::PatternError;
use super::tree::{CharSet, PatternFlags, PatternNode, PatternTree};
use crate::diag::limits;

pub(super) fn parse(source: &str, flags: PatternFlags) -> Result<PatternTree, PatternError> {
    if source.len() > limits::LONG_TEXT {
        return Err(PatternError::too_costly(limits::LONG_TEXT, format!("the pattern is longer than {} bytes", limits::LONG_TEXT)));
    }
    let mut parser =
        PatternParser { chars: source.char_indices().collect(), at: 0, end: source.len(), flags, groups: Vec::new(), opened: 0 };
    parser.groups = parser.group_names()?;
    let root = parser.disjunction(0)?;
    match parser.peek() {
        None => Ok(PatternTree { root, names: parser.groups }),
        Some(_) => parser.bad("a `)` has no `(`"),
    }
}

struct PatternParser {
    chars: Vec<(usize, char)>,
    at: usize,
    end: usize,
    flags: PatternFlags,
    groups: Vec<Option<Arc<str>>>,
    opened: usize,
}

impl PatternParser {
    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).map(|(_, c)| *c)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(n, c)| self.peek_at(n) == Some(c));
        if found {
            self.at += text.chars().count();
        }
        found
    }

    fn offset(&self) -> usize {
        self.chars.get(self.at).map_or(self.end, |(offset, _)| *offset)
    }

    fn bad<T>(&self, reason: impl Into<String>) -> Result<T, PatternError> {
        Err(PatternError::bad(self.offset(), reason))
    }

    /// A first look over the whole pattern: how many groups there are, since `\2` may stand before group 2.
    fn group_names(&mut self) -> Result<Vec<Option<Arc<str>>>, PatternError> {
        let mut names = Vec::new();
        let mut in_class = false;
        while let Some(c) = self.next() {
            match c {
                '\\' => self.at += 1,
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class => {
                    if self.peek() != Some('?') {
                        names.push(None);
                    } else if self.peek_at(1) == Some('<') && !matches!(self.peek_at(2), Some('=' | '!')) {
                        self.at += 2;
                        let name = self.name()?;
                        if names.iter().any(|n| n.as_ref() == Some(&name)) {
                            return self.bad(format!("two groups are named `{name}`"));
                        }
                        names.push(Some(name));
                    }
                }
                _ => {}
            }
        }
        self.at = 0;
        Ok(names)
    }

    /// A group's name up to its `>`.
    fn name(&mut self) -> Result<Arc<str>, PatternError> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some('>') if !name.is_empty() => return Ok(name.into()),
                Some(c) if c == '_' || c == '$' || if name.is_empty() { c.is_alphabetic() } else { c.is_alphanumeric() } => name.push(c),
                _ => {
                    self.at -= 1;
                    return self.bad("a group's name is letters, digits, `_` and `$`, between `<` and `>`");
                }
            }
        }
    }

    fn disjunction(&mut self, depth: usize) -> Result<PatternNode, PatternError> {
        if depth > limits::NESTING {
            return Err(PatternError::too_costly(self.offset(), format!("groups are nested deeper than {}", limits::NESTING)));
        }
        let mut branches = vec![self.alternative(depth)?];
        while self.eat("|") {
            branches.push(self.alternative(depth)?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { PatternNode::Alt(branches) })
    }

    fn alternative(&mut self, depth: usize) -> Result<PatternNode, PatternError> {
        let mut items: Vec<PatternNode> = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let (node, repeatable) = self.atom(depth)?;
            let node = self.quantified(node, repeatable)?;
            let pair = match (items.last(), &node) {
                (Some(PatternNode::Set(high)), PatternNode::Set(low)) => CharSet::pair(high, low),
                _ => None,
            };
            match pair {
                Some(pair) => {
                    items.pop();
                    items.push(PatternNode::Set(pair));
                }
                None => items.push(node),
            }
        }
        Ok(if items.len() == 1 { items.remove(0) } else { PatternNode::Concat(items) })
    }

    /// One atom or assertion, and whether a quantifier may follow it.
    fn atom(&mut self, depth: usize) -> Result<(PatternNode, bool), PatternError> {
        let Some(c) = self.peek() else { return self.bad("the pattern ends too early") };
        match c {
            '*' | '+' | '?' => return self.bad("there is nothing to repeat"),
            '{' if self.flags.unicode || self.counts().is_some() => return self.bad("there is nothing to repeat"),
            ']' | '}' if self.flags.unicode => return self.bad(format!("a lone `{c}` must be written `\\{c}`")),
            _ => {}
        }
        self.at += 1;
        Ok(match c {
            '^' => (PatternNode::Start, false),
            '$' => (PatternNode::End, false),
            '(' => {
                let open = self.at - 1;
                self.group(open, depth)?
            }
            '.' => (PatternNode::Set(CharSet::dot(self.flags)), true),
            '[' => (PatternNode::Set(self.class()?), true),
            '\\' => self.escape()?,
            c => (self.literal(u32::from(c)), true),
        })
    }

    fn literal(&self, c: u32) -> PatternNode {
        PatternNode::Set(CharSet::one(c).finish(self.flags))
    }

    fn group(&mut self, open: usize, depth: usize) -> Result<(PatternNode, bool), PatternError> {
        let look = [("?=", true, false), ("?!", true, true), ("?<=", false, false), ("?<!", false, true)];
        if let Some((_, ahead, negative)) = look.into_iter().find(|(text, ..)| self.eat(text)) {
            let node = Box::new(self.body(open, depth)?);
            return Ok((PatternNode::Look { ahead, negative, node }, ahead && !self.flags.unicode));
        }
        if self.eat("?:") {
            return Ok((self.body(open, depth)?, true));
        }
        if self.eat("?<") {
            self.name()?;
        } else if self.peek() == Some('?') {
            return self.bad("no kind of group begins like this");
        }
        self.opened += 1;
        let index = self.opened;
        Ok((PatternNode::Capture(index, Box::new(self.body(open, depth)?)), true))
    }

    fn body(&mut self, open: usize, depth: usize) -> Result<PatternNode, PatternError> {
        let node = self.disjunction(depth + 1)?;
        if self.eat(")") {
            return Ok(node);
        }
        self.at = open;
        self.bad("a `(` has no `)`")
    }

    fn quantified(&mut self, node: PatternNode, repeatable: bool) -> Result<PatternNode, PatternError> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts() {
                Some((min, max, length)) => {
                    self.at += length - 1;
                    (min, max)
                }
                None if self.flags.unicode => return self.bad("a `{` is no count; write `\\{`"),
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        if !repeatable {
            return self.bad("this cannot be repeated");
        }
        if max.is_some_and(|max| max < min) {
            return self.bad("the counts are in the wrong order");
        }
        self.at += 1;
        let lazy = self.eat("?");
        Ok(PatternNode::Repeat { node: Box::new(node), min, max, lazy })
    }

    /// `{2}`, `{2,}` or `{2,5}` at this place: least, most, length in characters.
    fn counts(&self) -> Option<(u32, Option<u32>, usize)> {
        let mut at = 1;
        let min = self.digits(&mut at)?;
        let max = if self.peek_at(at) == Some(',') {
            at += 1;
            self.digits(&mut at)
        } else {
            Some(min)
        };
        (self.peek_at(at) == Some('}')).then_some((min, max, at + 1))
    }

    fn digits(&self, at: &mut usize) -> Option<u32> {
        let mut n: Option<u32> = None;
        while let Some(d) = self.peek_at(*at).and_then(|c| c.to_digit(10)) {
            n = Some(n.unwrap_or(0).saturating_mul(10).saturating_add(d));
            *at += 1;
        }
        n
    }

    /// What follows a backslash outside a class.
    fn escape(&mut self) -> Result<(PatternNode, bool), PatternError> {
        match self.peek() {
            Some(c @ ('b' | 'B')) => {
                self.at += 1;
                Ok((PatternNode::Boundary(c == 'b'), false))
            }
            Some('1'..='9') => {
                let mut length = 0;
                let n = self.digits(&mut length).unwrap_or(u32::MAX) as usize;
                if n <= self.groups.len() {
                    self.at += length;
                    return Ok((PatternNode::Backref(n), true));
                }
                if self.flags.unicode {
                    return self.bad(format!("there is no group {n}"));
                }
                Ok((self.char_escape(false).map(|c| self.literal(c))?, true))
            }
            Some('k') if self.flags.unicode || self.groups.iter().any(Option::is_some) => {
                self.at += 1;
                if !self.eat("<") {
                    return self.bad("`\\k` needs a group's name, as in `\\k<name>`");
                }
                let name = self.name()?;
                match self.groups.iter().position(|g| g.as_ref() == Some(&name)) {
                    Some(index) => Ok((PatternNode::Backref(index + 1), true)),
                    None => self.bad(format!("no group is named `{name}`")),
                }
            }
            _ => Ok((PatternNode::Set(self.set_escape(false)?.finish(self.flags)), true)),
        }
    }

    /// An escape that stands for one of some characters.
    fn set_escape(&mut self, in_class: bool) -> Result<CharSet, PatternError> {
        let Some(c) = self.peek() else { return self.bad("a `\\` ends the pattern") };
        if let Some(set) = CharSet::shorthand(c, self.flags) {
            self.at += 1;
            return Ok(set);
        }
        if matches!(c, 'p' | 'P') && self.flags.unicode {
            self.at += 1;
            return self.property(c);
        }
        self.char_escape(in_class).map(CharSet::one)
    }

    fn property(&mut self, letter: char) -> Result<CharSet, PatternError> {
        if !self.eat("{") {
            return self.bad(format!("`\\{letter}` needs a property, as in `\\{letter}{{L}}`"));
        }
        let mut text = format!("\\{letter}{{");
        loop {
            match self.next() {
                Some('}') if !text.ends_with('{') => break,
                Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '=') => text.push(c),
                _ => return self.bad("a property is letters, digits, `_` and `=`, up to a `}`"),
            }
        }
        text.push('}');
        Ok(CharSet { props: vec![text], ..CharSet::default() })
    }

    /// An escape that stands for one character.
    fn char_escape(&mut self, in_class: bool) -> Result<u32, PatternError> {
        let Some(c) = self.next() else { return self.bad("a `\\` ends the pattern") };
        let strict = self.flags.unicode;
        Ok(match c {
            'f' => 0xc,
            'n' => 0xa,
            'r' => 0xd,
            't' => 0x9,
            'v' => 0xb,
            'b' if in_class => 0x8,
            '-' if in_class => 0x2d,
            'c' => match self.peek() {
                Some(l) if l.is_ascii_alphabetic() || (in_class && !strict && (l.is_ascii_digit() || l == '_')) => {
                    self.at += 1;
                    u32::from(l) % 32
                }
                _ if strict => return self.bad("`\\c` needs a letter"),
                _ => {
                    self.at -= 1;
                    0x5c
                }
            },
            '0' if !self.peek().is_some_and(|d| d.is_ascii_digit()) => 0,
            '0'..='7' if !strict => self.octal(c),
            'x' => self.hex(2).map_or_else(|| self.itself(c), Ok)?,
            'u' => self.unicode_escape()?,
            c if strict && !"^$\\.*+?()[]{}|/".contains(c) => {
                self.at -= 1;
                return self.bad(format!("`\\{c}` means nothing with the flag `u`"));
            }
            c => u32::from(c),
        })
    }

    fn itself(&self, c: char) -> Result<u32, PatternError> {
        if self.flags.unicode { self.bad(format!("`\\{c}` needs hexadecimal digits")) } else { Ok(u32::from(c)) }
    }

    fn octal(&mut self, first: char) -> u32 {
        let mut n = first.to_digit(8).unwrap_or(0);
        let most = if first <= '3' { 2 } else { 1 };
        for _ in 0..most {
            let Some(d) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            n = n * 8 + d;
            self.at += 1;
        }
        n
    }

    fn hex(&mut self, length: usize) -> Option<u32> {
        let n = (0..length).try_fold(0, |n, at| self.peek_at(at)?.to_digit(16).map(|d| n * 16 + d))?;
        self.at += length;
        Some(n)
    }

    fn unicode_escape(&mut self) -> Result<u32, PatternError> {
        if self.flags.unicode && self.eat("{") {
            let mut n: u32 = 0;
            let start = self.at;
            while let Some(d) = self.peek().and_then(|c| c.to_digit(16)) {
                n = n.saturating_mul(16).saturating_add(d);
                self.at += 1;
            }
            return if self.at > start && n <= super::tree::LAST && self.eat("}") { Ok(n) } else { self.bad("no such code point") };
        }
        let Some(high) = self.hex(4) else { return self.itself('u') };
        let start = self.at;
        if self.flags.unicode && (0xd800..0xdc00).contains(&high) && self.eat("\\u") {
            match self.hex(4) {
                Some(low) if (0xdc00..0xe000).contains(&low) => return Ok(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
                _ => self.at = start,
            }
        }
        Ok(high)
    }

    fn class(&mut self) -> Result<CharSet, PatternError> {
        let open = self.at - 1;
        let negated = self.eat("^");
        let mut set = CharSet::default();
        loop {
            if self.eat("]") {
                break;
            }
            let begin = self.at;
            let from = self.class_atom(open)?;
            if self.peek() != Some('-') || matches!(self.peek_at(1), None | Some(']')) {
                set.add(&from);
                continue;
            }
            self.at += 1;
            let to = self.class_atom(open)?;
            match (single(&from), single(&to)) {
                (Some(a), Some(b)) if a <= b => set.ranges.push((a, b)),
                (Some(_), Some(_)) => {
                    self.at = begin;
                    return self.bad("a range is in the wrong order");
                }
                _ if self.flags.unicode => {
                    self.at = begin;
                    return self.bad("a range goes from one character to another");
                }
                _ => {
                    set.add(&from);
                    set.add(&to);
                    set.ranges.push((0x2d, 0x2d));
                }
            }
        }
        set = set.finish(self.flags);
        set.negated = negated;
        Ok(set)
    }

    fn class_atom(&mut self, open: usize) -> Result<CharSet, PatternError> {
        match self.next() {
            Some('\\') => self.set_escape(true),
            Some(c) => Ok(CharSet::one(u32::from(c))),
            None => {
                self.at = open;
                self.bad("a `[` has no `]`")
            }
        }
    }
}

/// The one character that an atom of a class stands for, if it stands for one.
fn single(set: &CharSet) -> Option<u32> {
    match set.ranges.as_slice() {
        [(a, b)] if a == b && set.props.is_empty() => Some(*a),
        _ => None,
    }
}
