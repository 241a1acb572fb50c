//! Two ways that must agree, on mutated scenes and documents: targets of `fuzz/`, some hundred inputs each, other ones than
//! the driver tries in CI.

#![expect(clippy::panic, reason = "helpers of tests may panic")]

use tapster_fuzz::{find, run_mutations};

const SEED: u64 = 1;

#[track_caller]
fn agree(name: &str, count: u32) {
    let target = find(name).unwrap_or_else(|| panic!("there is no target `{name}`"));
    let taken = run_mutations(target, SEED, count, target.run);
    let taken = taken.unwrap_or_else(|(input, why)| panic!("{why}: {}", String::from_utf8_lossy(&input)));
    assert!(taken * 4 > count, "only {taken} of {count} inputs were taken");
}

#[test]
fn a_build_without_shortcuts_gives_the_same() {
    agree("same-shortcuts", 100);
}

#[test]
fn a_build_gives_the_same_twice_and_in_another_thread() {
    agree("same-twice", 100);
}

#[test]
fn documents_that_are_written_are_read_as_they_were() {
    agree("same-card", 300);
}

#[test]
fn rule_files_mean_the_same_when_they_are_laid_out() {
    agree("format", 500);
}

#[test]
fn keys_are_found_together_as_they_are_found_alone() {
    agree("keys", 2_000);
}
