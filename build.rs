//! Packs and schemas are embedded in the library: when one changes, it is built again.

fn main() {
    println!("cargo:rerun-if-changed=rules");
    println!("cargo:rerun-if-changed=schemas");
    println!("cargo:rerun-if-changed=grammar");
}
