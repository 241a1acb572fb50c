//! The text of every complaint, as its reader sees it: each file of `tests/diagnostics/` makes a mistake and holds the
//! whole answer. `UPDATE=1 cargo test --test all diagnostics::` writes the answers anew; read them before you keep them.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster::diag::suggest::{help, is_one_off, is_slip_of_one, nearest};
use tapster::diag::{Certainty, Code, Report, Sources, render};
use tapster::machinery::pack::{Overlay, PackFiles, PackLibrary, PackShelf, RuleFile, Start};
use tapster::{Ruleset, Scene};

/// Codes that have no file here, and where they are tested.
const ELSEWHERE: &[(&str, &str)] = &[
    ("share.archive", "tests/all/share/archive.rs: it takes an archive"),
    ("share.digest", "tests/all/share/install.rs: it takes installed packs"),
    ("share.signature", "tests/all/share/trust.rs: it takes a signature"),
    ("share.taken", "tests/all/share/install.rs: it takes installed packs"),
    ("share.unmet", "tests/all/share/install.rs: it takes an index"),
    ("share.unreachable", "tests/all/share/install.rs: it takes a server"),
    ("share.index", "tests/all/share/install.rs: it takes an index"),
    ("share.left_out", "tests/all/share/archive.rs: it takes a folder on disk"),
    ("share.unsigned", "tests/all/share/trust.rs: it takes an archive"),
    ("layer.beaten", "tests/cli/cases.toml: it takes a scene with an overlay"),
    ("pack.stale", "tests/all/door.rs: it takes a file that changes"),
    ("serve.address", "tests/cli/cases.toml: it takes `serve`"),
    ("serve.gateway", "tests/cli/cases.toml: it takes `serve`"),
    ("case.not_run", "tests/cli/run.toml: it takes `check`"),
    ("operation.failed", "cli/tests/program/living_world.rs: it takes a store"),
    ("operation.waiting", "cli/tests/program/living_world.rs: a build that waits"),
    ("artifact.refused", "tests/all/session.rs: it takes a store"),
    ("artifact_conflict", "docs/reference/sessions.md: it takes a store"),
    ("cache.unchanged", "tests/cli/cases.toml: it takes a plan of an earlier build"),
    ("dialect.unsent", "tests/cli/cases.toml: it takes a payload"),
    ("import.role", "tests/cli/cases.toml: the caller makes the mistake, not a pack"),
    ("call", "tests/all/tasks.rs: the caller makes the mistake, not a pack"),
    ("feature.missing", ".ci/run: it takes a program that was built without features"),
    ("file.missing", "tests/all/pack/bad_input.rs: it takes a folder on disk"),
    ("file.outside", "tests/all/pack/bad_input.rs: it takes a link on disk"),
    ("file.too_large", "tests/all/pack/bad_input.rs and tests/all/import: it takes a large file"),
    ("group.unknown_member", "tests/cases/contract/groups.toml: it takes a decision of the application"),
    ("format.long_line", "tests/cli/cases.toml: it takes `fmt`"),
    ("format.refused", "cli/src/format/mod.rs: only a defect of the formatter raises it"),
    ("format.skipped", "tests/cli/cases.toml: it takes `fmt`"),
    ("pipeline", "tests/all/hooks.rs: it takes a hook or a function that fails"),
    ("strict_mode", "tests/all/hooks.rs: it takes a strict scene"),
    ("layer.drops", "tests/all/authors.rs: it takes an overlay over a shipped pack"),
    ("macro.unknown", "tests/cli/authors.toml: it takes a preset or a card"),
    ("cache.unstable", "tests/cli/authors.toml: it takes a preset or a card"),
    ("regex.slow", "tests/cli/authors.toml: it takes a preset or a card"),
    ("share.other_index", "tests/all/share/owners.rs: it takes two indexes"),
    ("share.busy", "cli/src/verbs/share/installed.rs: it takes another process"),
    ("pack.shadow", "tests/cli/check.toml: it takes a folder of packs"),
    ("store.name", "tests/all/store/folder.rs: it takes a folder on disk"),
    ("store.taken", "tests/all/store/folder.rs: it takes a folder on disk"),
    ("store.busy", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.confirm", "tests/all/cli/artifact.rs: it takes a database"),
    ("store.damaged", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.failed", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.full", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.newer", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.read_only", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.too_large", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.unreachable", "tests/all/store/bad_input.rs: it takes a database"),
    ("store.url", "tests/all/store/bad_input.rs: it takes a database"),
    ("template.data", "tests/all/tasks.rs: it takes a template of its own"),
    ("unknown_dialect", "tests/cli/cases.toml: the caller makes the mistake, not a pack"),
];

/// What a pack of a case says where it has no `pack.toml` of its own.
const MANIFEST: &str = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n";

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CHECKOUT")).join("tests/diagnostics");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// The bytes of a text of a case: `latin1 = true` means one byte a character, for files that are no UTF-8.
fn bytes(case: &Json, text: &Json) -> Vec<u8> {
    let text = text.as_str().unwrap();
    if case["latin1"] == json!(true) { text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect() } else { text.into() }
}

fn files<'a>(case: &'a Json, table: &str) -> Vec<(&'a str, Vec<u8>)> {
    let files = case[table].as_object().into_iter().flatten();
    files.map(|(path, text)| (path.as_str(), bytes(case, text))).collect()
}

/// Packs by name: `q:lore.toml` is a file of pack `q`; without a name it is of pack `p`, which is opened.
pub(crate) fn packs(case: &Json) -> Vec<PackFiles> {
    let mut packs = vec![("p", Vec::<(String, Vec<u8>)>::new())];
    for (path, bytes) in files(case, "files") {
        let (pack, path) = path.split_once(':').unwrap_or(("p", path));
        match packs.iter_mut().find(|(name, _)| *name == pack) {
            Some((_, files)) => files.push((path.to_owned(), bytes)),
            None => packs.push((pack, vec![(path.to_owned(), bytes)])),
        }
    }
    for (name, files) in &mut packs {
        if *name == "p" && !files.iter().any(|(path, _)| path.starts_with("pack.")) {
            files.push(("pack.toml".into(), MANIFEST.into()));
        }
    }
    packs.into_iter().map(|(name, files)| PackFiles::of(name, files)).collect()
}

pub(crate) fn overlays(case: &Json) -> Vec<Overlay> {
    let files = files(case, "overlays").into_iter();
    files.map(|(name, bytes)| Overlay::File(RuleFile { name: name.into(), path_in_pack: name.into(), bytes })).collect()
}

pub(crate) fn answer(case: &Json) -> String {
    if let Some((name, bytes)) = files(case, "import").into_iter().next() {
        let mut report = Report::default();
        let read = tapster_exchange::import::read(name, &bytes);
        match read {
            Ok(found) => report.extend(found.report),
            Err(found) => report.extend(found),
        }
        return render::human(&report, &Sources::default(), false);
    }
    let library = PackShelf { packs: packs(case), ..PackShelf::default() };
    let start = Start::Name(case["open"].as_str().unwrap_or("p").to_owned());
    let rules = match Ruleset::load(&start, &overlays(case), &library) {
        Ok(rules) => rules,
        Err(rejected) => return render::human(&rejected.report, &rejected.sources, false),
    };
    let mut warnings = rules.warnings().clone();
    warnings.extend(rules.suspicions());
    let mut out = render::human(&warnings, &rules.pack().sources, false);
    if case.get("scene").is_some() {
        out.push_str(&built(&rules, case));
    }
    out
}

/// What a build warns of, or why it fails.
fn built(rules: &Ruleset, case: &Json) -> String {
    let scene = Scene::new(&case["scene"]);
    let run: Vec<&str> = case["run"].as_array().into_iter().flatten().map(|p| p.as_str().unwrap()).collect();
    let (warnings, error) = if run.is_empty() {
        match tapster::build(rules, &scene) {
            Ok(plan) => (plan.warnings, None),
            Err(error) => (Vec::new(), Some(error)),
        }
    } else {
        match tapster::run_all(rules, &run, &scene, &[]) {
            Ok(outcome) => (outcome.warnings(), None),
            Err(error) => (Vec::new(), Some(error)),
        }
    };
    let report: Report = warnings.into_iter().chain(error.map(|error| error.diagnostic(rules))).collect();
    render::human(&report, rules.sources(), false)
}

/// An answer without the line numbers of shipped rule files, so that a rule can be edited without changing answers.
pub(crate) fn stable(answer: &str) -> String {
    let mut out = String::new();
    let mut shipped = false;
    for line in answer.lines() {
        let body = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        shipped = if body.starts_with("-->") { body.starts_with("--> rules/") } else { shipped && !body.starts_with(char::is_alphabetic) };
        let gutter = match line.starts_with(|c: char| c.is_ascii_digit()) {
            true => "N ",
            false if body.starts_with("-->") => " ",
            false => "  ",
        };
        let line = if shipped { format!("{gutter}{body}") } else { line.to_owned() };
        let mut pieces = line.split("rules/");
        out.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let numbered = piece.split_once(".toml:").map(|(file, rest)| (file, rest.trim_start_matches(|c: char| c.is_ascii_digit())));
            out.push_str(&numbered.map_or_else(|| format!("rules/{piece}"), |(file, rest)| format!("rules/{file}.toml:N{rest}")));
        }
        out.push('\n');
    }
    out
}

#[test]
fn every_answer_is_as_written() {
    let mut wrong = Vec::new();
    for path in cases() {
        let text = std::fs::read_to_string(&path).unwrap();
        let case: Json = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let got = stable(&answer(&case));
        if case["expected"] == json!(got) {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            let (before, rest) = text.split_once("expected = '''\n").unwrap();
            let (_, after) = rest.split_once("'''\n").unwrap();
            std::fs::write(&path, format!("{before}expected = '''\n{got}'''\n{after}")).unwrap();
        } else {
            wrong.push(format!("{}\n--- got\n{got}--- expected\n{}", path.display(), case["expected"].as_str().unwrap_or("")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file is named after its code, with `-more` where a code has several.
fn code_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap().to_string_lossy();
    stem.split('-').next().unwrap().to_owned()
}

/// The rule files of the shipped packs.
fn shipped_rules() -> impl Iterator<Item = String> {
    let names = PackShelf::default().names();
    let packs = names.into_iter().filter_map(|name| PackShelf::default().find(&name, &mut Report::default()));
    packs.flat_map(|pack| pack.files).map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
}

#[test]
fn every_code_has_an_answer_here_or_a_test_elsewhere() {
    let here: Vec<String> = cases().iter().map(|p| code_of(p)).collect();
    let known: Vec<&str> = Code::ALL.iter().map(|c| c.as_str()).collect();
    for code in &known {
        let elsewhere = ELSEWHERE.iter().filter(|(name, why)| name == code && !why.is_empty()).count();
        let found = here.iter().any(|h| h == code);
        assert_eq!(usize::from(found) + elsewhere, 1, "`{code}` needs a file in tests/diagnostics, or one line of ELSEWHERE");
    }
    let of_a_pack = |code: &str| shipped_rules().any(|text| text.contains(&format!("error = \"{code}\"")));
    let stray: Vec<&String> = here.iter().filter(|h| !known.contains(&h.as_str()) && !of_a_pack(h)).collect();
    assert!(stray.is_empty(), "files of no code: {stray:?}");
}

#[test]
fn an_answer_shows_its_code_and_a_remedy() {
    for path in cases() {
        let case: Json = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let text = case["expected"].as_str().unwrap();
        assert!(text.contains(&format!("[{}]", code_of(&path))), "{}: another code", path.display());
        let asks = case.get("scene").is_some() || case["no_help"].as_str().is_some();
        assert!(asks || text.contains("= help: "), "{}: no remedy", path.display());
    }
}

// A pack with mistakes planted all over it: one run tells every one of them at its line, and nothing else.

#[test]
fn one_run_tells_every_planted_mistake() {
    let root = Path::new(env!("CHECKOUT")).join("tests/planted");
    let pack = root.join("pack").display().to_string();
    let Err(rejected) = Ruleset::open(&pack, &[]) else { panic!("the planted pack was accepted") };
    let mut found: Vec<String> = rejected
        .report
        .items()
        .iter()
        .map(|d| {
            let place = d.span.and_then(|s| rejected.sources.place(s)).map(|p| format!("{}:{}", p.file, p.line)).unwrap_or_default();
            format!("{} {}", place.strip_prefix(&format!("{pack}/")).unwrap_or(&place), d.code.as_str())
        })
        .collect();
    found.sort();
    let planted = std::fs::read_to_string(root.join("mistakes.txt")).unwrap();
    let mut planted: Vec<&str> = planted.lines().map(|l| l.split_once("  ").map_or(l, |(mistake, _)| mistake)).collect();
    planted.sort_unstable();
    assert_eq!(planted.len(), 24);
    assert_eq!(found, planted, "{rejected}");
}

// The word that was probably meant.

/// All words of up to so many letters.
fn words(letters: &str, most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut longer = all.clone();
    for _ in 0..most {
        longer = longer.iter().flat_map(|word| letters.chars().map(move |letter| format!("{word}{letter}"))).collect();
        all.extend(longer.iter().cloned());
    }
    all
}

#[test]
fn one_edit_is_what_the_distance_says() {
    let words = words("abA", 4);
    for written in &words {
        for known in &words {
            // the nearest word to one of up to five letters is at most one edit away, in any letter case
            let is_near = nearest(written, [known.as_str()]).is_some() && !written.eq_ignore_ascii_case(known);
            assert_eq!(is_one_off(written, known), is_near, "{written} {known}");
        }
    }
}

#[test]
fn a_word_is_certain_if_no_other_is_near() {
    let certainty = |word: &str, known: &[&str]| nearest(word, known.iter().copied()).map(|near| near.certainty);
    assert_eq!(certainty("scenaro", &["scenario", "system"]), Some(Certainty::Certain));
    assert_eq!(certainty("slot_c", &["slot_a", "slot_b"]), Some(Certainty::Possible), "two words are near");
    assert_eq!(certainty("unheard", &["scenario"]), None);
    let told = help("dpeth", ["depth", "role"]).unwrap_or_default();
    assert_eq!(told.text, "did you mean `depth`?");
    let near = told.suggestion.map(|near| (near.word, near.replacement, near.certainty));
    assert_eq!(near, Some(("dpeth".to_owned(), "depth".to_owned(), Certainty::Certain)));
}

#[test]
fn a_last_letter_is_lost_where_no_other_word_is_likely() {
    for (written, known) in [("conten", "content"), ("messag", "message"), ("descriptio", "description")] {
        assert!(is_slip_of_one(written, known), "{written}");
    }
    for (written, known) in [("slot", "slots"), ("place", "placed"), ("throw", "thrown"), ("local", "locale"), ("rol", "role")] {
        assert!(!is_slip_of_one(written, known), "{written}");
    }
    assert!(!is_slip_of_one("content", "conten"), "the longer one is no slip");
}
