//! Macros (`{{…}}`, blocks as a whole) and tags of Liquid (`{%…%}`, raw ones as a whole).

use std::collections::HashMap;

use memchr::memmem;

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
