//! What fuzzing once found: every input of `fuzz/found`, named after its target, is given to its door again. It must not
//! panic, nor make two ways disagree, and its door must still look at it: an input that is refused before anything is
//! compared shows nothing. The driver of `fuzz/` begins with the same inputs, and ends what takes too much time or memory.

use tapster_fuzz::{TARGETS, seeds};

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
