//! What the harness prints and writes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use crate::case::{Case, Check};
use crate::report::options::Options;
use crate::suites;
use crate::suites::{Suite, Tally};

/// One line a suite; diffs of failing cases where asked for.
pub(crate) fn print(results: &BTreeMap<String, Tally>, options: &Options) {
    for (suite, tally) in results {
        println!("{suite}: {}/{}", tally.passed, tally.total);
        let Some(wanted) = &options.diff else { continue };
        for (case, check) in tally.failed.iter().filter(|(case, _)| case.contains(wanted.as_str())) {
            println!("--- {suite} {case}\n{}", diff(check));
        }
    }
}

fn diff(check: &Check) -> String {
    let text = |value: &Json| match value {
        Json::String(why) => format!("{why}\n"),
        other => format!("{other:#}\n"),
    };
    let (expected, actual) = (text(&check.expected), text(&looked_at(&check.expected, &check.actual)));
    similar::TextDiff::from_lines(&expected, &actual).unified_diff().context_radius(2).header("expected", "actual").to_string()
}

/// What of `actual` the recorded answer speaks of; all of it where they have nothing in common.
fn looked_at(expected: &Json, actual: &Json) -> Json {
    match (expected, actual) {
        (Json::Object(want), Json::Object(have)) if want.keys().any(|key| have.contains_key(key)) => {
            let shared = want.iter().filter_map(|(key, value)| Some((key.clone(), looked_at(value, have.get(key)?))));
            Json::Object(shared.collect())
        }
        (Json::Array(want), Json::Array(have)) if want.len() == have.len() => {
            want.iter().zip(have).map(|(want, have)| looked_at(want, have)).collect()
        }
        _ => actual.clone(),
    }
}

/// The results as JSON.
pub(crate) fn write(results: &BTreeMap<String, Tally>, file: &Path) {
    let suites: serde_json::Map<String, Json> = results
        .iter()
        .map(|(suite, tally)| {
            let failed: Vec<&str> = tally.failed.iter().map(|(case, _)| case.as_str()).collect();
            (suite.clone(), json!({ "passed": tally.passed, "total": tally.total, "failed": failed }))
        })
        .collect();
    if let Some(folder) = file.parent() {
        // a folder that cannot be made shows in the write below
        let _ = std::fs::create_dir_all(folder);
    }
    if let Err(e) = std::fs::write(file, format!("{:#}\n", json!({ "suites": suites }))) {
        println!("cannot write {}: {e}", file.display());
    }
}

// Floors: what share of a suite must pass. They may only rise.

const HEAD: &str = "# What share of each suite must pass: passed/total when the floor was set. Floors may only rise:
# `cargo test --test conformance -- --raise` writes better results here. A suite without a line has floor 0.

";

/// A share: passed of total.
pub(crate) type Floors = BTreeMap<String, (usize, usize)>;

/// The floors of a file.
pub(crate) fn read(file: &Path) -> Floors {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let table: BTreeMap<String, String> = match toml::from_str(&text) {
        Ok(table) => table,
        Err(e) => {
            println!("{}: {e}", file.display());
            std::process::exit(1);
        }
    };
    table.into_iter().map(|(suite, share)| (suite, parse(&share))).collect()
}

fn parse(share: &str) -> (usize, usize) {
    let parts = share.split_once('/').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    // a share that cannot be read is held to be all, so that it is noticed
    parts.unwrap_or((1, 1))
}

fn reached(tally: &Tally, (passed, total): (usize, usize)) -> bool {
    tally.passed * total >= passed * tally.total
}

/// The suites below their floor.
pub(crate) fn below(floors: &Floors, results: &BTreeMap<String, Tally>) -> Vec<String> {
    let low = results.iter().filter_map(|(suite, tally)| {
        let floor = *floors.get(suite)?;
        (!reached(tally, floor)).then(|| format!("{suite} {}/{}, floor {}/{}", tally.passed, tally.total, floor.0, floor.1))
    });
    low.collect()
}

/// Writes every result that is above its floor.
pub(crate) fn raise(file: &Path, results: &BTreeMap<String, Tally>) {
    let mut floors = read(file);
    for (suite, tally) in results.iter().filter(|(_, t)| t.passed > 0) {
        let floor = floors.entry(suite.clone()).or_insert((0, 1));
        if reached(tally, *floor) {
            *floor = (tally.passed, tally.total);
        }
    }
    let lines: String = floors.iter().map(|(suite, (passed, total))| format!("\"{suite}\" = \"{passed}/{total}\"\n")).collect();
    if let Err(e) = std::fs::write(file, format!("{HEAD}{lines}")) {
        println!("cannot write {}: {e}", file.display());
    }
}

/// What the command line asks for; arguments of the usual test harness are understood and ignored.
pub(crate) mod options {

    /// The arguments.
    #[derive(Debug, Default)]
    pub(crate) struct Options {
        /// Run cases that are named on standard input (the harness calls itself so).
        pub(crate) worker: bool,
        /// Only name the test.
        pub(crate) list: bool,
        /// Write better results into the floors.
        pub(crate) raise: bool,
        /// Show expected and actual of failing cases whose name contains this.
        pub(crate) diff: Option<String>,
        /// Suites whose name contains one of these; empty is all.
        words: Vec<String>,
    }

    impl Options {
        /// Reads the arguments and the environment.
        pub(crate) fn read() -> Self {
            let mut options = Self { diff: std::env::var("TAPSTER_DIFF").ok().filter(|d| !d.is_empty()), ..Self::default() };
            let mut args = std::env::args().skip(1);
            while let Some(arg) = args.next() {
                match arg.as_str() {
                    "--worker" => options.worker = true,
                    "--list" => options.list = true,
                    "--raise" => options.raise = true,
                    "--diff" => options.diff = args.next(),
                    "--skip" | "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => {
                        args.next();
                    }
                    flag if flag.starts_with('-') => {}
                    // `cargo test conformance` filters by the name of the one test that this is
                    "conformance" => {}
                    word => options.words.push(word.to_owned()),
                }
            }
            options
        }

        /// Whether a suite is asked for.
        pub(crate) fn selects(&self, suite: &str) -> bool {
            self.words.is_empty() || self.words.iter().any(|w| suite.contains(w.as_str()))
        }

        /// Whether all suites are asked for.
        pub(crate) fn is_whole(&self) -> bool {
            self.words.is_empty()
        }
    }
}

// Faults that users of the product found, with what the other programs answer: the folder `faults` beside that of
// recordings. The cases of `others.json` say the same as recordings in a shorter form, and some are command lines.

/// Fields of a message list or a request body that tell what is sent, and not with which settings.
const SENT: &[&str] = &["model", "messages", "system", "contents", "systemInstruction", "message", "chat_history", "preamble"];

/// The suites of faults beside a folder of recordings, with a notice for each that is not there.
pub(crate) fn fault_suites(recordings: &Path) -> impl Iterator<Item = Suite> {
    let folder = recordings.parent().unwrap_or(recordings).join("faults");
    ["others", "sillytavern"].into_iter().filter_map(move |name| {
        let file = folder.join(format!("{name}.json"));
        let suite = suites::read(&file, format!("faults/{name}"));
        if suite.is_none() {
            println!("{} is not there: its cases do not run", file.display());
        }
        suite
    })
}

/// The cases of such a file as recordings. Those without a command line or an input are in words: `tests/all` has them.
pub(crate) fn fault_cases(file: &Path) -> Option<Vec<Case>> {
    let faults: Vec<Map<String, Json>> = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let cases: Vec<Case> = faults.iter().filter_map(case).collect();
    (!cases.is_empty()).then_some(cases)
}

/// The input with ids of messages where RisuAI itself puts them: in front.
fn numbered(mut input: Json) -> Json {
    for (n, message) in input["chat"]["message"].as_array_mut().into_iter().flatten().enumerate() {
        let mut fields = Map::from_iter([("chatId".to_owned(), json!(format!("m{n}")))]);
        fields.extend(message.as_object().cloned().unwrap_or_default());
        *message = Json::Object(fields);
    }
    input
}

fn case(fault: &Map<String, Json>) -> Option<Case> {
    let field = |key: &str| fault.get(key).cloned().unwrap_or_default();
    let kind = field("kind").as_str()?.to_owned();
    let (input, expected) = match kind.as_str() {
        "risuai-cbs" => (numbered(field("input")), json!({ "output": field("expected") })),
        "risuai-prompt" => {
            let mut input = field("input");
            input["bodyPick"] = json!(SENT);
            (input, json!({ "body": field("expected") }))
        }
        _ if field("command").is_array() => {
            (json!({ "command": field("command"), "files": field("files") }), json!({ "sent": field("expected") }))
        }
        _ => return None,
    };
    let name = format!("{} {}", field("id").as_str()?, field("cause").as_str()?);
    Some(Case { name, kind, input, pins: field("pins"), expected, accept: None })
}
