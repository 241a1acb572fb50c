//! The words of rule files that may be misspelt, and slips in them.

use std::collections::BTreeSet;

use tapster::Ruleset;
use tapster::diag::{DocumentNode, NodeValue, Report, Sources};

const SEED: &str = "tapster mutants, first edition";
/// Keys whose values are prose for readers or content: what a person calls things and says.
const PROSE: &[&str] = &[
    "about", "doc", "$schema", "licence", "authors", "homepage", "release", "engine", "help", "message", "persona", "names", "text",
    "content", "title",
];
/// Rows whose words are another program's: keys of a request, fields of a foreign document, codes. No rule can know them.
const FOREIGN: &[&str] = &["map", "format", "code"];

/// A word of a file, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// The file, as the list of judgements names it.
    pub(super) file: String,
    /// The keys that lead to it.
    pub(super) path: String,
    /// What kind of word it is.
    pub(super) kind: &'static str,
    /// Its bytes in the file.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The words of a set of files, and how many others were left out because they may be anything.
#[derive(Default)]
pub(super) struct Population {
    pub(super) words: Vec<(Word, String)>,
    pub(super) left_out: usize,
}

/// A word with a slip.
#[derive(Debug, Clone)]
pub(super) struct Mutant {
    pub(super) word: Word,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) text: String,
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)).rotate_left(17)
        ^ text.bytes().rev().fold(0x9e37_79b9_7f4a_7c15, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether a text is one word of the rule language: a name, a path or a reference.
fn is_word(text: &str) -> bool {
    let bare = text.trim_start_matches(['$', '@', '-']);
    bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c))
        && letters(bare) >= 4
}

fn letters(text: &str) -> usize {
    text.chars().filter(char::is_ascii_alphabetic).count()
}

/// The words of a file, and how many are left out.
fn words(file: &str, text: &str) -> (Vec<Word>, usize) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let id = sources.add(file, "", text);
    let root = tapster::machinery::pack::toml::parse(id, text, &mut report).unwrap_or_else(|| panic!("{file} is no TOML"));
    let mut found = (Vec::new(), 0);
    walk(&root, &mut Vec::new(), text, file, &mut found);
    found
}

impl Population {
    /// Adds the words of a file, except the names of rows that the file defines.
    pub(super) fn add(&mut self, file: &str, text: &str, own: &BTreeSet<String>) {
        let (words, free) = words(file, text);
        let all = words.len();
        let words: Vec<Word> = words.into_iter().filter(|word| !own.contains(&word.path)).collect();
        self.left_out += free + all - words.len();
        self.words.extend(words.into_iter().map(|word| (word, text.to_owned())));
    }
}

/// Whether the words at a path are content or another program's words.
fn is_free(path: &[String], file: &str) -> bool {
    let at = |n: usize| path.get(n).map_or("", String::as_str);
    let request = at(0) == "form" && matches!(at(2), "keys" | "present" | "given");
    // what a scene calls its entries, and which words its entries are found by
    let said = file.ends_with("scene.toml") && at(0) == "scene" && path.last().is_some_and(|last| matches!(last.as_str(), "id" | "name"));
    let searched = at(0) == "scene" && path.iter().any(|key| key == "keys") && path.last().is_some_and(|last| last != "keys");
    // a file's own name
    let own = path.len() == 1 && at(0) == "name";
    FOREIGN.contains(&at(0)) || file.contains("/foreign/") || request || said || searched || own
}

/// The names of the rows that a file defines, as `table.row.name`. There any name is right; what can be misspelt is a name
/// that is used, or that of a row of a lower layer.
pub(super) fn defined(rules: &Ruleset, file: &str) -> BTreeSet<String> {
    let rows = rules.pack().tables.iter().flat_map(|(table, rows)| rows.values().map(move |row| (table, row)));
    let here = rows.filter(|(_, row)| rules.sources().place(row.name_span).is_some_and(|place| place.file.ends_with(file)));
    here.flat_map(|(table, row)| {
        let short = row.name.rsplit('/').next().unwrap_or(&row.name).to_owned();
        [format!("{table}.{}.name", row.name), format!("{table}.{short}.name")]
    })
    .collect()
}

fn walk(node: &DocumentNode, path: &mut Vec<String>, text: &str, file: &str, found: &mut (Vec<Word>, usize)) {
    let mut word = |kind, start: usize, end: usize, path: &[String]| {
        if kind != "key" && is_free(path, file) || kind == "key" && is_free(&path[..path.len() - 1], file) {
            found.1 += 1;
            return;
        }
        found.0.push(Word { file: file.to_owned(), path: path.join("."), kind, start, end });
    };
    match &node.data {
        NodeValue::Table(table) => {
            for (key, field) in table {
                path.push(key.to_string());
                let (start, end) = (field.key.start as usize, field.key.end as usize);
                if letters(key) >= 4 && text.get(start..end).is_some_and(|t| t.contains(&**key)) {
                    word("key", start, end, path);
                }
                path.pop();
            }
            for (key, field) in table.iter().filter(|(key, _)| !PROSE.contains(&&***key)) {
                path.push(key.to_string());
                walk(&field.node, path, text, file, found);
                path.pop();
            }
        }
        NodeValue::List(list) => {
            for (n, node) in list.iter().enumerate() {
                let name = node.get("name").and_then(DocumentNode::as_text).map_or_else(|| n.to_string(), str::to_owned);
                path.push(name);
                walk(node, path, text, file, found);
                path.pop();
            }
        }
        NodeValue::Text(value) => {
            let (start, end) = (node.span.start as usize, node.span.end as usize);
            let Some(written) = text.get(start..end) else { return };
            if is_word(value) && written.contains(&**value) {
                word(if value.starts_with(['$', '@']) { "reference" } else { "value" }, start, end, path);
                return;
            }
            // references inside of texts and arithmetic
            let calc = path.last().is_some_and(|key| key == "calc");
            for (at, _) in written.char_indices().filter(|(_, c)| matches!(c, '$' | '@')) {
                let rest = &written[at + 1..];
                let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
                let in_hole = written[..at].ends_with("{{") && rest[len..].starts_with("}}");
                if letters(&rest[..len]) >= 4 && (calc || in_hole) {
                    word("hole", start + at + 1, start + at + 1 + len, path);
                }
            }
        }
        _ => {}
    }
}

/// A slip in one of the longer parts of a word: two letters change places, or one is lost, doubled or another one.
fn slip(word: &Word, text: &str) -> Option<Mutant> {
    let written = &text[word.start..word.end];
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut at = None;
    for (n, c) in written.char_indices().chain([(written.len(), '.')]) {
        match (c.is_ascii_alphanumeric() || c == '_', at) {
            (true, None) => at = Some(n),
            (false, Some(start)) => {
                parts.push((start, n));
                at = None;
            }
            _ => {}
        }
    }
    parts.retain(|(start, end)| letters(&written[*start..*end]) >= 4);
    let dice = hash(&format!("{SEED}|{}|{}|slip", word.path, written));
    let pick = |n: usize, by: u64| usize::try_from((dice / by) % (n as u64)).unwrap();
    let (start, end) = *parts.get(pick(parts.len().max(1), 1))?;
    let part: Vec<char> = written[start..end].chars().collect();
    let mut changed = part.clone();
    for turn in 0..12 {
        let at = (pick(part.len() - 1, 7) + turn) % (part.len() - 1);
        if !part[at].is_ascii_alphabetic() || !part[at + 1].is_ascii_alphabetic() {
            continue;
        }
        match pick(4, 101) {
            0 => changed.swap(at, at + 1),
            1 => drop(changed.remove(at + 1)),
            2 => changed.insert(at, part[at]),
            _ => changed[at + 1] = if part[at + 1] == 'x' { 'y' } else { 'x' },
        }
        if changed != part {
            break;
        }
    }
    let changed: String = changed.into_iter().collect();
    let made = format!("{}{changed}{}", &written[..start], &written[end..]);
    let text = format!("{}{made}{}", &text[..word.start], &text[word.end..]);
    (changed != written[start..end]).then(|| Mutant { word: word.clone(), from: written[start..end].to_owned(), to: changed, text })
}

/// The words with the smallest hashes, each with a slip.
pub(super) fn chosen(mut all: Vec<(Word, String)>, count: usize) -> Vec<Mutant> {
    all.sort_by_key(|(word, text)| hash(&format!("{SEED}|{}|{}|{}|{}", word.file, word.path, word.kind, &text[word.start..word.end])));
    all.iter().filter_map(|(word, text)| slip(word, text)).take(count).collect()
}
