//! Misspelt rules and scenes: a key, value, name, path or reference with one slip is told as an error or a warning that
//! names the place.
//!
//! A slip is told if something new is said whose place, or another place that it names, is the line of the slip. So it is
//! if something new is said that quotes the misspelt word and has a place elsewhere, such as that of a name which lost its
//! row, or, for a scene, the path of a value. The test prints how many there are of each.
//!
//! The mutants are chosen by a fixed hash of where the word stands, so an edit elsewhere does not change them. Words that
//! may be anything, such as another program's keys or the names of new rows, are left out and counted. Slips that
//! are not told are listed in `tests/mutants/judged.toml`, each with the reason why nothing can or need be said;
//! `UPDATE=1 cargo test --test all mutants::` adds new ones without a reason.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};
use tapster::diag::{Diagnostic, DocumentNode, NodeValue, Report, Sources};
use tapster::machinery::pack::{Overlay, PackFiles, PackLibrary, PackShelf, RuleFile, Start};
use tapster::{Ruleset, Scene};

use crate::examples::copy;
use crate::support::tapster;

/// How many mutants are made of rule files of packs, of overlays, and of scenes.
const OF_PACKS: usize = 160;
const OF_OVERLAYS: usize = 80;
const OF_SCENES: usize = 60;
/// The share of them that is told, in percent.
const TOLD: usize = 97;
const SCENE: &str = "scene.toml";

/// How a slip is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// At its line.
    Place,
    /// By the word, with another place.
    Word,
    Silent,
}

/// A diagnostic as this test sees it: what tells it from another one, its places as file and line, and its texts.
struct Said {
    id: String,
    places: Vec<(String, usize)>,
    texts: Vec<String>,
}

fn shipped(name: &str) -> PackFiles {
    let mut report = Report::default();
    let found = PackShelf::default().find(name, &mut report).unwrap();
    assert!(report.is_empty());
    found
}

/// A scene that most rules have something to do with.
fn scene() -> Scene {
    Scene::new(&json!({
        "now": "2026-01-31T20:15:00Z", "context": { "window": 4096, "reserve": 300 }, "names": { "char": "Ann", "user": "Bo" },
        "card": { "name": "Ann", "description": "A smith.", "scenario": "A forge.", "mes_example": "<START>\nBo: Hi.\nAnn: Hm." },
        "history": [{ "id": "1", "role": "user", "name": "Bo", "text": "Is that a dragon, {{char}}?" }, { "id": "2", "role": "assistant", "name": "Ann", "text": "It is." }],
        "books": [{ "id": "b", "entries": [{ "id": "e", "keys": ["dragon"], "text": "Dragons hoard." }] }],
        "injections": [{ "id": "i", "position": "chat", "depth": 1, "role": "system", "text": "Be brief." }],
    }))
}

/// What checking and building say.
fn said(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary) -> Vec<Said> {
    match Ruleset::load(start, overlays, library) {
        Err(rejected) => rejected.report.items().iter().map(|d| Said::of(d, &rejected.sources)).collect(),
        Ok(rules) => {
            let suspicions = rules.suspicions();
            let mut all: Vec<Diagnostic> = rules.warnings().items().iter().chain(suspicions.items()).cloned().collect();
            match tapster::build(&rules, &scene()) {
                Ok(plan) => {
                    all.extend(plan.warnings.iter().cloned());
                    if let Ok(emitted) = tapster::emit(&rules, &plan, "openai") {
                        all.extend(emitted.warnings);
                    }
                }
                Err(error) => all.push(error.diagnostic(&rules)),
            }
            all.iter().map(|d| Said::of(d, rules.sources())).collect()
        }
    }
}

impl Said {
    fn of(d: &Diagnostic, sources: &Sources) -> Self {
        let spans = d.span.into_iter().chain(d.related.iter().map(|(span, _)| *span));
        let places = spans.filter_map(|span| sources.place(span)).map(|place| (place.file.to_string(), place.line)).collect();
        let texts = std::iter::once(&d.message).chain(&d.help).chain(d.related.iter().map(|(_, text)| text)).cloned().collect();
        Self { id: format!("{} {}", d.code, d.message), places, texts }
    }

    /// A line of the command line: `file:line:column: warning[code]: message`.
    fn of_line(line: &str) -> Self {
        let mut parts = line.splitn(4, ':');
        let (file, number) = (parts.next().unwrap_or_default(), parts.next().and_then(|n| n.parse().ok()));
        let file = file.rsplit('/').next().unwrap_or_default();
        Self { id: line.to_owned(), places: number.map(|line| (file.to_owned(), line)).into_iter().collect(), texts: vec![line.to_owned()] }
    }

    fn tells(&self, mutant: &Mutant, file: &str) -> Told {
        let line = mutant.text[..mutant.word.start].matches('\n').count() + 1;
        // what a pack says of the data of a scene names the path of a value, which is its place there
        let is_scene = file == SCENE;
        // every second piece stands between backticks
        let mut quoted = self.texts.iter().flat_map(|text| text.split('`').skip(1).step_by(2));
        let is_whole = |text: &str| text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == mutant.to);
        if self.places.iter().any(|(of, at)| of == file && *at == line) {
            Told::Place
        } else if (is_scene || !self.places.is_empty()) && quoted.any(is_whole) {
            Told::Word
        } else {
            Told::Silent
        }
    }
}

/// How a slip in a file is told by what is new in what is said.
fn told(mutant: &Mutant, file: &str, said: &[Said], before: &[Said]) -> Told {
    let is_new = |found: &&Said| before.iter().all(|old| old.id != found.id);
    let all: Vec<Told> = said.iter().filter(is_new).map(|found| found.tells(mutant, file)).collect();
    [Told::Place, Told::Word].into_iter().find(|told| all.contains(told)).unwrap_or(Told::Silent)
}

/// Overlays of this repository, each with the pack that it is laid over.
fn overlays() -> Vec<(PathBuf, String)> {
    crate::support::in_checkout();
    let folders = ["examples/hello", "examples/cache-friendly", "examples/new-provider"].map(PathBuf::from).into_iter();
    let recorded = std::fs::read_dir("tests/replay").unwrap().map(|entry| entry.unwrap().path());
    let files = folders.chain(recorded).filter(|path| path.is_dir()).flat_map(|path| std::fs::read_dir(path).unwrap());
    let mut files: Vec<PathBuf> =
        files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    let over = |path: PathBuf| {
        let text: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let is_overlay = text.get("kind").and_then(toml::Value::as_str) == Some("overlay");
        let pack = text.get("extends").and_then(toml::Value::as_str)?.to_owned();
        is_overlay.then_some((path, pack))
    };
    files.into_iter().filter_map(over).collect()
}

/// Does the work on all processors.
fn on_all<T: Sync, R: Send>(work: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(8) {
            scope.spawn(|| {
                while let Some((n, one)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, work.get(n)?))) {
                    let result = run(one);
                    done.lock().unwrap().insert(n, result);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

fn mutants_of_packs() -> (Vec<(Mutant, Told)>, usize) {
    let mut all = Population::default();
    for name in PackShelf::default().names() {
        let rules = Ruleset::load(&Start::Name(name.clone()), &[], &PackShelf::default()).unwrap();
        for file in shipped(&name).files.iter().filter(|file| file.path_in_pack.ends_with(".toml")) {
            let text = String::from_utf8(file.bytes.clone()).unwrap();
            let path = format!("rules/{name}/{}", file.path_in_pack);
            all.add(&path, &text, &defined(&rules, &path));
        }
    }
    let before: BTreeMap<String, Vec<Said>> =
        PackShelf::default().names().into_iter().map(|name| (name.clone(), said(&Start::Name(name), &[], &PackShelf::default()))).collect();
    let mutants = chosen(all.words, OF_PACKS);
    let told = on_all(&mutants, |mutant| {
        let (name, path) = mutant.word.file.strip_prefix("rules/").unwrap().split_once('/').unwrap();
        let mut pack = shipped(name);
        let file = pack.files.iter_mut().find(|file| file.path_in_pack == path).unwrap();
        file.bytes = mutant.text.clone().into_bytes();
        let shown = file.name.clone();
        told(
            mutant,
            &shown,
            &said(&Start::Name(name.to_owned()), &[], &PackShelf { packs: vec![pack], ..PackShelf::default() }),
            &before[name],
        )
    });
    (mutants.into_iter().zip(told).collect(), all.left_out)
}

fn mutants_of_overlays() -> (Vec<(Mutant, Told)>, usize) {
    let mut all = Population::default();
    let over = |name: &str, bytes: Vec<u8>| [Overlay::File(RuleFile { name: name.to_owned(), path_in_pack: name.to_owned(), bytes })];
    let mut before = BTreeMap::new();
    for (path, pack) in overlays() {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let quiet = said(&Start::Name(pack.clone()), &over(&file, text.clone().into_bytes()), &PackShelf::default());
        let rules = Ruleset::load(&Start::Name(pack.clone()), &over(&file, text.clone().into_bytes()), &PackShelf::default()).unwrap();
        all.add(&file, &text, &defined(&rules, &file));
        before.insert(file, (pack, quiet));
    }
    let mutants = chosen(all.words, OF_OVERLAYS);
    let told = on_all(&mutants, |mutant| {
        let file = &mutant.word.file;
        let (pack, quiet) = &before[file];
        let changed = over(file, mutant.text.clone().into_bytes());
        told(mutant, file, &said(&Start::Name(pack.clone()), &changed, &PackShelf::default()), quiet)
    });
    (mutants.into_iter().zip(told).collect(), all.left_out)
}

/// What the command line writes to standard error for a scene, with its exit code.
fn built(folder: &Path) -> (u8, Vec<String>) {
    let (exit, _, err) = tapster(&["build", &folder.display().to_string(), "--error-format", "plain"]);
    (exit, err.lines().map(str::to_owned).collect())
}

fn mutants_of_scenes() -> (Vec<(Mutant, Told)>, usize) {
    let here = std::env::temp_dir().join(format!("tapster-mutants-{}", std::process::id()));
    let mut all = Population::default();
    let mut before = BTreeMap::new();
    let lines = |folder: &Path| built(folder).1.iter().map(|line| Said::of_line(line)).collect::<Vec<Said>>();
    for name in ["hello", "hybrid", "cache-friendly", "new-provider", "directives", "template-in-pack"] {
        let file = format!("examples/{name}/scene.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let folder = here.join(name);
        copy(Path::new(&format!("examples/{name}")), &folder);
        before.insert(file.clone(), lines(&folder));
        all.add(&file, &text, &BTreeSet::new());
    }
    let mutants = chosen(all.words, OF_SCENES);
    let numbered: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
    let told = on_all(&numbered, |(n, mutant)| {
        let folder = here.join(format!("mutant-{n}"));
        copy(Path::new(&mutant.word.file).parent().unwrap(), &folder);
        std::fs::write(folder.join(SCENE), &mutant.text).unwrap();
        let found = lines(&folder);
        let _ = std::fs::remove_dir_all(&folder);
        told(mutant, SCENE, &found, &before[&mutant.word.file])
    });
    let _ = std::fs::remove_dir_all(&here);
    (mutants.into_iter().zip(told).collect(), all.left_out)
}

const JUDGED: &str = "tests/mutants/judged.toml";

#[test]
fn nearly_every_slip_is_told() {
    let (mut all, mut left_out) = (Vec::new(), 0);
    for (what, (mutants, free)) in [("packs", mutants_of_packs()), ("overlays", mutants_of_overlays()), ("scenes", mutants_of_scenes())] {
        let of = |wanted: Told| mutants.iter().filter(|(_, told)| *told == wanted).count();
        println!(
            "{what}: {} slips, {} told at their line, {} by the word, {} silent; {free} words may be anything",
            mutants.len(),
            of(Told::Place),
            of(Told::Word),
            of(Told::Silent)
        );
        all.extend(mutants);
        left_out += free;
    }
    assert!(all.len() >= 300, "only {} words were found", all.len());
    let text = std::fs::read_to_string(JUDGED).unwrap();
    let judged: Json = toml::from_str(&text).unwrap();
    let judged: Vec<&Json> = judged["silent"].as_array().into_iter().flatten().collect();
    let is_of = |row: &Json, m: &Mutant| {
        row["file"] == json!(m.word.file) && row["at"] == json!(m.word.path) && row["from"] == json!(m.from) && row["to"] == json!(m.to)
    };
    let is_judged = |m: &Mutant| judged.iter().any(|row| is_of(row, m) && row["why"].as_str().is_some_and(|why| !why.is_empty()));
    let silent: Vec<&Mutant> = all.iter().filter(|(_, told)| *told == Told::Silent).map(|(m, _)| m).collect();
    let unjudged: Vec<&&Mutant> = silent.iter().filter(|m| !is_judged(m)).collect();
    let mut rows = String::new();
    for m in &unjudged {
        let Mutant { word, from, to, .. } = m;
        rows += &format!(
            "\n[[silent]]\nfile = {:?}\nat = {:?}\nkind = {:?}\nfrom = {from:?}\nto = {to:?}\nwhy = \"\"\n",
            word.file, word.path, word.kind
        );
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(JUDGED, format!("{text}{rows}")).unwrap();
    }
    let told = all.len() - silent.len();
    println!("{told} of {} slips are told; {left_out} words were left out", all.len());
    let idle: Vec<&&Json> = judged.iter().filter(|row| !silent.iter().any(|m| is_of(row, m))).collect();
    assert!(idle.is_empty(), "rows of {JUDGED} about slips that are told, or are no mutants: {idle:?}");
    assert!(told * 100 >= all.len() * TOLD, "only {told} of {} slips are told; silent:{rows}", all.len());
    assert!(unjudged.is_empty(), "these slips are silent, and {JUDGED} does not say why that is right:{rows}");
}

// The words of rule files that may be misspelt, and slips in them.

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
