//! Packs and schemas are embedded in the library. A debug build of a checkout reads them from its folders instead, so that
//! an edit of a rule does not compile anything.

use std::path::Path;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(rules_on_disk)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=grammar");
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    // a published package has no `.git`
    if is_debug && Path::new(".git").exists() {
        println!("cargo:rustc-cfg=rules_on_disk");
    } else {
        println!("cargo:rerun-if-changed=rules");
        println!("cargo:rerun-if-changed=schemas");
    }
}
