//! What fuzzing once found: every input of `fuzz/found`, named after its target, is given to its door again. What it must
//! not do any more is to panic, or to make two ways disagree; bounds of work are counted by tests of their own.

use tapster_fuzz::{TARGETS, Verdict, seeds};

/// A debug build needs a larger stack than the driver's.
const STACK: usize = 16 << 20;

#[test]
fn nothing_that_was_found_is_wrong_again() {
    let run = std::thread::Builder::new().stack_size(STACK).spawn(replay);
    if let Err(panic) = run.and_then(|run| Ok(run.join())).unwrap_or(Ok(())) {
        std::panic::resume_unwind(panic);
    }
}

fn replay() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for target in TARGETS {
        for (path, input) in seeds::written("found", target.name) {
            count += 1;
            if let Verdict::Wrong(why) = (target.run)(&input) {
                wrong.push(format!("{}: {why}", path.display()));
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
