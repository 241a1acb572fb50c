//! Packs and schemas are embedded in the library. A debug build of a checkout reads them from its folders instead, so that
//! an edit of a rule does not compile anything.
//!
//! The rule tests of packs are not embedded: what is embedded is a copy of `rules/` without the folders `cases`.

use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rustc-check-cfg=cfg(rules_on_disk)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=grammar");
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    // a published package has no `.git`
    if is_debug && Path::new(".git").exists() {
        println!("cargo:rustc-cfg=rules_on_disk");
        return Ok(());
    }
    println!("cargo:rerun-if-changed=rules");
    println!("cargo:rerun-if-changed=schemas");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    copy_without_cases(Path::new("rules"), &out.join("rules"))
}

/// Replaces the folder `to` by a copy of `from` without the folders named `cases`.
pub(crate) fn copy_without_cases(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            fs::copy(entry.path(), copy)?;
        } else if entry.file_name() != "cases" {
            copy_without_cases(&entry.path(), &copy)?;
        }
    }
    Ok(())
}
