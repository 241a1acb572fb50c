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

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

mod words;

use super::edits::copy;
use crate::program::tapster;
use serde_json::{Value as Json, json};
use tapster::diag::{Diagnostic, Report, Sources};
use tapster::machinery::pack::{Overlay, PackFiles, PackLibrary, PackShelf, RuleFile, Start};
use tapster::{Ruleset, Scene};
use words::{Mutant, Population, chosen, defined};

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
    crate::program::in_checkout();
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
