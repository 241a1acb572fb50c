//! What fuzzing once found: every input of `fuzz/found`, named after its target, is given to its door again. It must not
//! panic, nor make two ways disagree, and its door must still look at it: an input that is refused before anything is
//! compared shows nothing. The driver of `fuzz/` begins with the same inputs, and ends what takes too much time or memory.

#![expect(clippy::panic, reason = "a test that panics has failed")]

use tapster_fuzz::{TARGETS, find, run_mutations, seeds};

/// Inputs that end with an error; all others are taken.
const REFUSED: &[&str] = &["build/name-that-quotes-itself.json", "script/key-that-holds-its-table.rhai", "script/nested-callbacks.rhai"];
/// A debug build needs a larger stack than the driver's.
const STACK: usize = 16 << 20;

#[test]
fn nothing_that_was_found_is_wrong_again() {
    let run = std::thread::Builder::new().stack_size(STACK).spawn(replay).unwrap();
    run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn replay() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for target in TARGETS {
        for path in seeds::paths(&format!("fuzz/found/{}", target.name), "", u64::MAX) {
            count += 1;
            let name = format!("{}/{}", target.name, path.file_name().unwrap_or_default().to_string_lossy());
            match ((target.run)(&std::fs::read(&path).unwrap_or_default()), REFUSED.contains(&name.as_str())) {
                (Err(why), _) => wrong.push(format!("{name}: {why}")),
                (Ok(false), false) => wrong.push(format!("{name} is refused, so nothing is compared")),
                (Ok(true), true) => wrong.push(format!("{name} ends without an error")),
                _ => {}
            }
        }
    }
    assert!(count > 0, "fuzz/found is empty");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_folder_of_inputs_is_that_of_a_target() {
    for kind in ["seeds", "found"] {
        let folder = seeds::root().join("fuzz").join(kind);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(tapster_fuzz::find(&name).is_some(), "fuzz/{kind}/{name}: there is no target of this name");
        }
    }
}

// Two ways that must agree, on mutated scenes and documents: targets of `fuzz/`, some hundred inputs each, other ones than
// the driver tries in CI.

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
