//! Builds anew when a shipped rule or schema appears or goes: `include_dir!` alone sees only changes inside known files.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=rules");
    println!("cargo:rerun-if-changed=schemas");
}
