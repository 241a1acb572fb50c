//! The same rules and the same scene give the same bytes: in any process, folder, language, time zone and thread. What
//! differs from run to run (the seeds of hash tables, addresses, the order of threads) must not show. The driver of `fuzz/`
//! makes a thousand builds (`determinism`); here it is some.

use std::process::Command;

use tapster_fuzz::determinism::{children, digest, threads};

/// Asks a child for its digest.
const CHILD: &str = "TAPSTER_DETERMINISM_CHILD";

/// Prints the digest for the test below, which runs this test in processes of its own.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        println!("digest {}", digest());
    }
}

#[test]
fn every_process_and_thread_says_the_same() {
    let expected = digest();
    let program = std::env::current_exe().unwrap();
    let child = || {
        let mut command = Command::new(&program);
        command.args(["--exact", "determinism::child", "--nocapture"]).env(CHILD, "1");
        command
    };
    let said = children(3, child).unwrap_or_else(|printed| panic!("no digest: {printed}"));
    assert!(said.iter().all(|one| *one == expected), "processes: {said:?}, not {expected}");
    let said = threads(3, 3);
    assert!(said.iter().all(|one| *one == expected), "threads: {said:?}, not {expected}");
}
