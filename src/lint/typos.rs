//! Words that are probably typos: names that the language leaves open, such as those below an open table or the keys of
//! a request, are defined nowhere, so that a misspelt one is not an unknown name. But a word that occurs a single time
//! in all rules, and is one letter away from one that occurs often, is most likely that one.
//!
//! That is a guess about rules that may be right, so it belongs to `tapster check` and not to every load. The schemas say
//! which keys hold free texts, and which tables use another program's words (`x-free`).

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report, SourceId, Span, limits, source, suggest};
use crate::model::Pack;
use crate::terms::names::is_reference;

/// The fewest letters of a word that may be a slip.
const SHORTEST_SLIP: usize = 5;
/// The fewest letters of a word that another one may be a slip of.
const SHORTEST_KNOWN: usize = 4;
/// The length from which words are seldom alike by chance, and that from which they never are.
const LONG: usize = 10;
const VERY_LONG: usize = 20;
/// Names of properties that the engine itself gives, which no schema lists.
const PROPERTIES: &[&str] = &["spent", "left", "size", "count", "last", "index", "outer", "element", "so_far", "hits", "done"];

/// How often a word of so many letters must occur for another one to be a slip of it.
fn often(letters: usize) -> usize {
    match letters {
        VERY_LONG.. => 1,
        LONG.. => 2,
        _ => 3,
    }
}

/// How often a word occurs, and where if it may be a slip.
#[derive(Default)]
struct WordCount {
    times: usize,
    place: Option<Span>,
}

struct WordCounter<'p> {
    pack: &'p Pack,
    language: &'p SchemaWords,
    words: FxHashMap<Arc<str>, WordCount>,
    /// Words are only counted: they may be anything.
    foreign: bool,
    places: source::PlaceFinder,
}

/// Warns of words that are probably typos, except where something is reported already.
pub(crate) fn check(pack: &Pack, language: &SchemaWords, told: &Report, report: &mut Report) {
    let spans: HashSet<(SourceId, u32)> = told.items().iter().filter_map(|d| d.span).map(|span| (span.source, span.start)).collect();
    // a reference is told with its `$`, a text with its quote
    let is_told = |at: Span| (0..=1).any(|more| spans.contains(&(at.source, at.start.saturating_sub(more))));
    let mut count = WordCounter { pack, language, words: FxHashMap::default(), foreign: false, places: source::PlaceFinder::default() };
    let foreign_files = foreign_files(pack, language);
    for (table, rows) in &pack.tables {
        for row in rows.values() {
            count.foreign = language.tables.contains(&**table) || foreign_files.contains(&row.span.source);
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
    // in their order, so that every run compares the same ones
    let mut words: Vec<(Arc<str>, WordCount)> = count.words.into_iter().collect();
    words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let known = words.iter().filter(|(word, seen)| word.len() >= SHORTEST_KNOWN && seen.times >= often(word.len()));
    let known: Vec<(&str, usize, u64)> = known.take(limits::RECORDED).map(|(word, seen)| (&**word, seen.times, letters(word))).collect();
    let once = words.iter().filter(|(word, seen)| {
        let is_rare = seen.times == 1 && word.len() >= SHORTEST_SLIP;
        is_rare && !language.words.contains(&**word) && !PROPERTIES.contains(&&**word)
    });
    let mut slips: Vec<(Span, &str, &str, usize)> = Vec::new();
    for (word, seen) in once.take(limits::RECORDED) {
        let Some(place) = seen.place.filter(|at| !is_told(*at)) else { continue };
        let own = letters(word);
        let near = known.iter().filter(|(other, _, bits)| (bits ^ own).count_ones() <= 2 && suggest::is_slip_of_one(word, other));
        // the most frequent one, and of equals the first
        if let Some((other, times, _)) = near.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0))) {
            slips.push((place, word, other, *times));
        }
    }
    slips.sort_unstable();
    for (place, word, other, times) in slips.into_iter().take(limits::WARNED) {
        let message = format!("`{word}` occurs nowhere else in the rules, and is nearly `{other}`, which occurs {times} times");
        let help = format!("write `{other}` if that is meant; otherwise choose a word that is less like it");
        report.push(Diagnostic::new(Code::NameNearly, message).at(place).help(help));
    }
}

/// The files that speak of another program's documents: they use its words in rows of any table.
fn foreign_files(pack: &Pack, language: &SchemaWords) -> HashSet<SourceId> {
    language.files.iter().flat_map(|table| pack.rows(table)).map(|row| row.span.source).collect()
}

impl WordCounter<'_> {
    fn field(&mut self, key: &str, at: Span, node: &DocumentNode) {
        self.words_of(key, Some(at));
        let language = self.language;
        if language.names.contains(key) {
            // names for a text language, which belong to the text
            let before = std::mem::replace(&mut self.foreign, true);
            self.node(node);
            self.foreign = before;
        } else if let Some(text) = node.as_text().filter(|_| language.texts.contains(key)) {
            self.references(text, node, false);
        } else {
            self.node(node);
        }
    }

    fn node(&mut self, node: &DocumentNode) {
        match &node.data {
            NodeValue::Table(table) => table.iter().for_each(|(key, field)| self.field(key, field.key, &field.node)),
            NodeValue::List(list) => list.iter().for_each(|node| self.node(node)),
            NodeValue::Text(text) => self.text(text, node),
            _ => {}
        }
    }

    /// A text: a name or a path as a whole, or one with references in it.
    fn text(&mut self, text: &str, node: &DocumentNode) {
        if is_reference(text) || text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c)) {
            self.words_of(text, Some(node.span));
        } else {
            self.references(text, node, true);
        }
    }

    fn references(&mut self, text: &str, node: &DocumentNode, may_be_slips: bool) {
        for (at, _) in text.char_indices().filter(|(_, c)| matches!(c, '$' | '@')) {
            let rest = text.get(at + 1..).unwrap_or_default();
            let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
            let place = may_be_slips.then(|| self.places.place(&self.pack.sources, node, at));
            self.words_of(rest.get(..len).unwrap_or_default(), place);
        }
    }

    fn words_of(&mut self, text: &str, place: Option<Span>) {
        let place = place.filter(|_| !self.foreign);
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            if word.len() < SHORTEST_KNOWN || word.chars().any(|c| c.is_ascii_digit()) {
                continue;
            }
            match self.words.get_mut(word) {
                Some(seen) => seen.times += 1,
                None => drop(self.words.insert(word.into(), WordCount { times: 1, place })),
            }
        }
    }
}

/// The letters of a word as bits: words one edit apart differ in two bits at most.
fn letters(word: &str) -> u64 {
    word.bytes().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase).fold(0, |bits, byte| bits | 1 << (byte - b'a'))
}

/// What the schemas of rule files say about words.
#[derive(Default)]
pub(crate) struct SchemaWords {
    /// The words of the rule language itself: keys and values.
    words: HashSet<String>,
    /// Keys whose texts are prose, or words that are compared with nothing (`"x-free": "text"`).
    texts: HashSet<String>,
    /// Keys with names that only one text uses (`"x-free": "names"`).
    names: HashSet<String>,
    /// Tables whose words are those of another program (`"x-free": "table"`).
    tables: HashSet<String>,
    /// Tables whose rows stand in files that are all about another program (`"x-free": "file"`).
    files: HashSet<String>,
}

impl SchemaWords {
    pub(crate) fn of<'s>(schemas: impl Iterator<Item = &'s Json>) -> Self {
        let mut language = Self::default();
        let mut open: Vec<&Json> = schemas.collect();
        while let Some(value) = open.pop() {
            match value {
                Json::Object(table) => {
                    language.table(table);
                    open.extend(table.values());
                }
                Json::Array(list) => open.extend(list),
                _ => {}
            }
        }
        language
    }

    fn table(&mut self, table: &serde_json::Map<String, Json>) {
        for (key, schema) in table.get("properties").and_then(Json::as_object).into_iter().flatten() {
            self.words.insert(key.clone());
            match schema.get("x-free").and_then(Json::as_str) {
                Some("names") => drop(self.names.insert(key.clone())),
                Some("table") => drop(self.tables.insert(key.clone())),
                Some("file") => drop(self.files.insert(key.clone())),
                Some("text") => drop(self.texts.insert(key.clone())),
                _ => {}
            }
        }
        let values = table.get("enum").and_then(Json::as_array).into_iter().flatten();
        self.words.extend(values.chain(table.get("const")).filter_map(|v| v.as_str().map(str::to_owned)));
    }
}
