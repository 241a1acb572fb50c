//! Zones between escape tags, whose names are options.

use std::collections::{HashMap, HashSet};

/// The escape tags of a text.
pub(super) struct EscapeZones<'a> {
    text: &'a str,
    names: HashSet<&'a str>,
    /// The longest name, in bytes.
    longest: usize,
    /// Where an opening tag begins, and where the zone ends.
    pairs: Option<HashMap<usize, usize>>,
}

impl<'a> EscapeZones<'a> {
    pub(super) fn new(text: &'a str, names: &'a [String]) -> Self {
        let names: HashSet<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
        Self { text, names, longest, pairs: None }
    }

    /// The end of the zone whose opening tag stands here.
    pub(super) fn at(&mut self, at: usize) -> Option<usize> {
        if self.names.is_empty() {
            return None;
        }
        if self.pairs.is_none() {
            self.pairs = Some(self.paired());
        }
        self.pairs.as_ref()?.get(&at).copied()
    }

    /// Tags of one name are paired from the inside outwards.
    fn paired(&self) -> HashMap<usize, usize> {
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut pairs = HashMap::new();
        for (start, _) in self.text.match_indices('<') {
            let Some(rest) = self.text.get(start + 1..) else { continue };
            let inside = rest.strip_prefix('/').unwrap_or(rest);
            let Some(length) = inside.bytes().take(self.longest + 1).position(|b| b == b'>') else { continue };
            let Some(name) = inside.get(..length).and_then(|name| self.names.get(name)) else { continue };
            if inside.len() == rest.len() {
                open.entry(name).or_default().push(start);
            } else if let Some(from) = open.get_mut(name).and_then(Vec::pop) {
                pairs.insert(from, start + length + 3);
            }
        }
        pairs
    }
}
