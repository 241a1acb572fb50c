//! The same rules and the same scene give the same bytes: in any process, folder, language, time zone and thread. What
//! differs from run to run (the seeds of hash tables, addresses, the order of threads) must not show. The driver of `fuzz/`
//! makes a thousand builds (`determinism`); here it is some.

use std::process::Command;

use tapster_fuzz::determinism::{children, digest, threads};
use tapster_fuzz::strangers;

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

/// The strange scenes do what they are for: draws are made, lore is found, and each bound is reached and named.
#[test]
fn strange_scenes_draw_and_reach_bounds() {
    let said = strangers::said();
    assert_eq!(said.len(), strangers::BUILDS);
    let one = |name: &str| said.iter().find(|said| said.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{name}: {said:?}"));
    assert!(!one("chance").contains("{{"), "{}", one("chance"));
    assert!(one("lore").matches("word").count() > 20, "{}", one("lore"));
    assert!(one("doubling").contains("stay as written"), "{}", one("doubling"));
    assert!(one("script").contains("takes too many steps"), "{}", one("script"));
    assert!(one("group").contains("mention"), "{}", one("group"));
    for name in ["steps", "bytes"] {
        assert!(one(name).contains("bound.exceeded") && one(name).contains("it ended in rule"), "{}", one(name));
    }
}
