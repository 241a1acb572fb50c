//! A test that measures its process needs one of its own, since all tests of this binary share one.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::process::Command;

/// Whether this process runs the test of that name alone. If it does not, a process that does is started here, and
/// fails the test where it fails.
pub(crate) fn is(name: &str) -> bool {
    const ALONE: &str = "TAPSTER_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|given| given == name) {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let ran = Command::new(program).args(["--exact", name, "--nocapture"]).env(ALONE, name).output().unwrap();
    let out = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("1 passed"), "{out}");
    false
}
