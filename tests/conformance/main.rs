//! The proof harness: runs every recorded case under `$TAPSTER_CONFORMANCE` and holds each suite to its floor.
//!
//! `cargo test --test conformance` prints one line a suite (`suite: passed/total`), writes
//! `target/conformance.json`, and fails if a suite is below its floor in `floors.toml`. A suite is a case file.
//! Adapters (`adapters/`) turn a recorded form into a scene and an outcome back into the recorded form: they rename
//! fields and never decide anything. Which adapter runs is told by a case's `kind` alone. A kind or field that no adapter
//! reads (`fields.toml`) fails the run with its name. Suites of our own are in `tests/recorded`.
//!
//! Arguments (behind `--`): words select suites by substring; `--diff NAME` (or `$TAPSTER_DIFF`) shows expected and
//! actual of failing cases whose name contains NAME; `--raise` writes what passes now into `floors.toml`, upwards only.

#![expect(clippy::indexing_slicing, reason = "a JSON value answers null for a key that it does not have; nothing else is indexed")]

mod adapters;
mod case;
mod engine;
#[path = "../all/store/postgres.rs"]
#[allow(dead_code, reason = "the tests of stores use more of it")]
mod postgres;
mod report;
mod suites;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = report::options::Options::read();
    // cargo starts tests in the folder of their package
    let root = Path::new(env!("CHECKOUT"));
    if let Err(error) = std::env::set_current_dir(root) {
        println!("{}: {error}", root.display());
        return ExitCode::FAILURE;
    }
    if options.worker {
        return suites::worker::serve();
    }
    if options.list {
        println!("conformance: test\n\n1 test, 0 benchmarks");
        return ExitCode::SUCCESS;
    }
    let folder = std::env::var("TAPSTER_CONFORMANCE").map_or_else(|_| root.join("../shared/conformance"), Into::into);
    // suites of our own, recorded from the same programs, run without the folder of others
    let own = suites::find(&root.join("tests/recorded"), "recorded/");
    if !folder.is_dir() {
        println!("the cases recorded from other programs are not part of this repository: only those of tests/recorded run");
        println!("(TAPSTER_CONFORMANCE names a folder of further cases; {} does not exist)", folder.display());
    }
    let all = suites::find(&folder, "").into_iter().chain(own).chain(report::fault_suites(&folder));
    let all = all.chain(adapters::expression::suites(&folder));
    let chosen = all.filter(|s| options.selects(&s.name)).collect::<Vec<_>>();
    let unread = case::unread(&chosen);
    // it stops when it goes out of scope
    let about_stores = |suite: &suites::Suite| suite.cases.iter().any(|case| case.kind == "contract-artifact-store");
    let server = chosen.iter().any(about_stores).then(|| postgres::Server::start("conformance")).flatten();
    if let Some(server) = &server {
        suites::worker::POSTGRES.get_or_init(|| server.database());
    }
    let results = suites::run(&chosen);
    drop(server);
    report::print(&results, &options);
    if options.is_whole() {
        report::write(&results, &root.join("target/conformance.json"));
    }
    let floors_file = root.join("tests/conformance/floors.toml");
    if options.raise {
        report::raise(&floors_file, &results);
    }
    let below = report::below(&report::read(&floors_file), &results);
    for line in &below {
        println!("below its floor: {line}");
    }
    for line in &unread {
        println!("read by no adapter: {line}");
    }
    println!("conformance: {} passed, {} failed", results.len() - below.len(), below.len());
    if below.is_empty() && unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
