//! Words that are probably slips: names that the language leaves open, such as those below an open table or the keys of
//! a request, are defined nowhere, so that a misspelt one is not an unknown name. But a word that occurs a single time
//! in all rules, and is one letter away from one that occurs often, is most likely that one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::diag::{Code, Data, Diagnostic, Node, Report, Span, inside, suggest};
use crate::model::Pack;
use crate::terms::names::is_reference;

use super::Schemas;

/// How often a word occurs that another one may be a slip of.
const OFTEN: usize = 3;
/// The same for words of so many letters and more, which are seldom alike by chance.
const LONG: (usize, usize) = (10, 2);
/// The fewest letters of a word that may be a slip, and of the word that it is compared with.
const SHORTEST: [usize; 2] = [5, 4];
/// The same for words that are longer still.
const LONGEST: (usize, usize) = (20, 1);
/// The most words that are compared with each other in one pack.
const MOST: usize = 4_000;
/// The most slips that are reported.
const MOST_TOLD: usize = 20;
/// Names of properties that the engine itself gives, which no schema lists.
const PROPERTIES: &[&str] = &["spent", "left", "size", "count", "last", "index", "outer", "element", "so_far", "hits", "done"];
/// Keys whose texts are prose, or words that are compared with nothing.
const PROSE: &[&str] = &["about", "doc", "message", "help", "because", "admitted", "aliases", "text", "default"];
/// Tables that speak of another program's documents.
const FOREIGN: &[&str] = &["map", "format", "code", "reply", "reply_part", "template"];

/// How often a word occurs, and where if it may be a slip.
#[derive(Default)]
struct Seen {
    times: usize,
    place: Option<Span>,
}

struct Count<'p> {
    pack: &'p Pack,
    words: HashMap<Arc<str>, Seen>,
    /// Words are only counted: they may be anything.
    foreign: bool,
    places: inside::Finder,
}

/// Warns of words that are probably slips.
pub(super) fn check(pack: &Pack, report: &mut Report) {
    let mut count = Count { pack, words: HashMap::new(), foreign: false, places: inside::Finder::default() };
    for (table, rows) in &pack.tables {
        for row in rows.values() {
            // files about another program's documents use its words in rows of any table
            let file = pack.sources.place(row.span).map(|place| place.file);
            count.foreign = FOREIGN.contains(&&**table) || file.is_some_and(|file| file.contains("/foreign/"));
            count.words_of(&row.name, None);
            for (key, field) in &row.fields {
                count.field(key, field.key, &field.node);
            }
        }
    }
    count.foreign = false;
    for (key, field) in &pack.values {
        count.field(key, field.key, &field.node);
    }
    let known = vocabulary();
    // in order, so that every run of a very large pack compares the same words
    let mut words: Vec<(&Arc<str>, &Seen)> = count.words.iter().collect();
    words.sort_unstable_by_key(|(word, _)| *word);
    let often: Vec<(&str, usize)> = words
        .iter()
        .filter(|(word, seen)| {
            seen.times
                >= match word.len() {
                    len if len >= LONGEST.0 => LONGEST.1,
                    len if len >= LONG.0 => LONG.1,
                    _ => OFTEN,
                }
        })
        .map(|(word, seen)| (&***word, seen.times))
        .collect();
    let often: Vec<(&str, usize, u64)> = often.into_iter().take(MOST).map(|(word, times)| (word, times, letters(word))).collect();
    let once = words.iter().filter(|(word, seen)| {
        seen.times == 1 && word.len() >= SHORTEST[0] && !known.contains(&***word) && !PROPERTIES.contains(&&***word)
    });
    let mut told: Vec<(Span, &str, &str, usize)> = Vec::new();
    for (word, seen) in once.take(MOST) {
        let Some(place) = seen.place else { continue };
        let own = letters(word);
        let near = often.iter().filter(|(other, _, bits)| {
            other.len() >= SHORTEST[1]
                && other.len().abs_diff(word.len()) <= 1
                && (bits ^ own).count_ones() <= 2
                && suggest::is_slip_of_one(word, other)
        });
        // the most frequent one, and of equals the first, so that every run says the same
        if let Some((other, times, _)) = near.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0))) {
            told.push((place, word, other, *times));
        }
    }
    told.sort_unstable();
    for (place, word, other, times) in told.into_iter().take(MOST_TOLD) {
        let message = format!("`{word}` occurs nowhere else in the rules, and is nearly `{other}`, which occurs {times} times");
        let help = format!("write `{other}` if that is meant; otherwise choose a word that is less like it");
        report.push(Diagnostic::new(Code::NameNearly, message).at(place).help(help));
    }
}

impl Count<'_> {
    fn field(&mut self, key: &str, at: Span, node: &Node) {
        self.words_of(key, Some(at));
        if key == "with" {
            // local names for a text language, which belong to the text
            let before = std::mem::replace(&mut self.foreign, true);
            self.node(node);
            self.foreign = before;
        } else if !PROSE.contains(&key) {
            self.node(node);
        } else if let Some(text) = node.as_text() {
            self.references(text, None, node);
        } else {
            self.node(node);
        }
    }

    fn node(&mut self, node: &Node) {
        match &node.data {
            Data::Table(table) => table.iter().for_each(|(key, field)| self.field(key, field.key, &field.node)),
            Data::List(list) => list.iter().for_each(|node| self.node(node)),
            Data::Text(text) => self.text(text, Some(node)),
            _ => {}
        }
    }

    /// A text: a name or a path as a whole, or one with references in it.
    fn text(&mut self, text: &str, node: Option<&Node>) {
        if is_reference(text) || text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c)) {
            self.words_of(text, node.map(|node| node.span));
        } else if let Some(node) = node {
            self.references(text, Some(()), node);
        }
    }

    fn references(&mut self, text: &str, may_be_slips: Option<()>, node: &Node) {
        for (at, _) in text.char_indices().filter(|(_, c)| matches!(c, '$' | '@')) {
            let rest = text.get(at + 1..).unwrap_or_default();
            let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
            let place = may_be_slips.map(|()| self.places.place(&self.pack.sources, node, at));
            self.words_of(rest.get(..len).unwrap_or_default(), place);
        }
    }

    fn words_of(&mut self, text: &str, place: Option<Span>) {
        let place = place.filter(|_| !self.foreign);
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            if word.len() < SHORTEST[1] || word.chars().any(|c| c.is_ascii_digit()) {
                continue;
            }
            match self.words.get_mut(word) {
                Some(seen) => seen.times += 1,
                None => drop(self.words.insert(word.into(), Seen { times: 1, place })),
            }
        }
    }
}

/// The letters of a word as bits: words one edit apart differ in two bits at most.
fn letters(word: &str) -> u64 {
    word.bytes().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase).fold(0, |bits, byte| bits | 1 << (byte - b'a'))
}

/// The words of the rule language itself: keys and values that the schemas name.
fn vocabulary() -> &'static HashSet<String> {
    static WORDS: OnceLock<HashSet<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let schemas = Schemas::shipped();
        let mut words = HashSet::new();
        let mut open: Vec<&serde_json::Value> = schemas.names().filter_map(|name| schemas.get(name)).collect();
        while let Some(value) = open.pop() {
            match value {
                serde_json::Value::Object(table) => {
                    let names = table.get("properties").and_then(serde_json::Value::as_object).into_iter().flat_map(|p| p.keys());
                    words.extend(names.cloned());
                    let values = table.get("enum").and_then(serde_json::Value::as_array).into_iter().flatten();
                    words.extend(values.chain(table.get("const")).filter_map(|v| v.as_str().map(str::to_owned)));
                    open.extend(table.values());
                }
                serde_json::Value::Array(list) => open.extend(list),
                _ => {}
            }
        }
        words
    })
}
